"""Systems side by side: families of tests, slices, bounds, the ledger, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.comparison import PAIR_SCHEMA, SYSTEM_SCHEMA
from rankframe.stats.significance import correct_p_values
from tests.support.compared import (
    ATTRIBUTES,
    FAST,
    METRICS,
    MICRO,
    NAMES,
    QRELS,
    RUNS,
    WEIGHTED,
    compared,
)

# --- the family of tests


@pytest.mark.parametrize("how", ["holm", "bonferroni", "bh"])
@pytest.mark.parametrize("baseline", [None, "old"])
def test_the_whole_is_a_family_and_each_way_of_slicing_another(how: Any, baseline: Any) -> None:
    options: Any = {"baseline": baseline, "correction": how}
    ways = ["locale", ("locale", "w")]
    table = compared(**options, queries=ATTRIBUTES, by=ways).table
    families = table.partition_by("by", maintain_order=True)
    assert [family["by"][0] for family in families] == [None, "locale", "locale × w"]
    for family in families:
        assert family["p_corrected"].to_list() == correct_p_values(family["p_value"].to_list(), how)
    assert families[1].height == len(METRICS) * 3 * (2 if baseline else 3)
    # what is said of all queries does not depend on what else is looked at
    assert families[0].equals(compared(**options).table)


def test_without_a_correction_p_values_are_as_they_are() -> None:
    found = compared(correction="none", queries=ATTRIBUTES, by="locale")
    assert found.table["p_corrected"].equals(found.table["p_value"], check_names=False)
    assert found.note("policy_significant") == "p below 0.05"


def test_as_many_permutations_are_drawn_as_the_correction_needs() -> None:
    # three metrics and three pairs: 9 / 101 is not rare, and 360 is twice what it takes
    assert "360 permutations" in compared(test="randomisation").note("policy_test")
    bh = compared(test="randomisation", correction="bh")
    assert "100 permutations" in bh.note("policy_test")
    sliced = compared(["map"], test="tukey", queries=ATTRIBUTES, by="locale", permutations=100)
    assert "100 permutations" in sliced.note("policy_test")  # three slices: 3 / 101 is rare enough
    twice = compared(["map", "mrr"], test="tukey", queries=ATTRIBUTES, by="locale")
    assert "100 permutations" in twice.note("policy_test")  # over all queries
    (in_slice, *_) = twice.table.drop_nulls("by")["p_value"] * 241  # in slices, 240 are drawn
    assert in_slice == pytest.approx(round(in_slice), abs=1e-9)


def test_what_no_number_of_permutations_can_show_is_said() -> None:
    table = pl.DataFrame(
        {"query_id": [f"q{n}" for n in range(9)], "map": [n / 9 for n in range(9)]}
    )
    systems = {f"s{n}": table.with_columns(pl.col("map") * n / 126) for n in range(126)}
    with pytest.warns(rf.RankframeWarning, match="7,875 tests, .* need 157,500 permutations"):
        found = rf.compare(None, systems, test="randomisation", permutations=100, ci=None)
    assert "too_few_permutations" in [caveat.code for caveat in found.caveats]
    assert not found.table["significant"].any()
    fewer = rf.compare(None, systems, baseline="s0", test="randomisation", ci=None)
    assert not fewer.caveats


def test_few_queries_have_no_star() -> None:
    queries = [f"q{i}" for i in range(6)]
    before = pl.DataFrame({"query_id": queries, "map": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]})
    after = before.with_columns(pl.col("map") + pl.Series([0.1, 0.11, 0.1, 0.11, 0.1, 0.11]))
    for rows, starred in ((6, True), (5, False), (2, False)):
        systems = {"a": before[:rows], "b": after[:rows]}
        (row,) = rf.compare(None, systems, ci=None).table.to_dicts()
        assert row["p_value"] < 0.05 or rows == 2
        assert row["significant"] is starred
    same = rf.compare(None, {"a": before, "b": before.with_columns(pl.col("map") + 0.1)}, ci=None)
    (row,) = same.table.to_dicts()
    assert row["p_value"] == 2**-5
    assert row["effect_size"] is None
    assert (row["wins"], row["ties"], row["losses"]) == (6, 0, 0)


def test_significance_goes_with_the_confidence() -> None:
    for confidence in (0.5, 0.95):
        table = compared(confidence=confidence).table
        assert table["significant"].to_list() == [p < 1 - confidence for p in table["p_corrected"]]
    assert compared(confidence=0.5).note("policy_significant") == "corrected p below 0.5"


@pytest.mark.parametrize("how", ["holm", "bonferroni"])
def test_tukey_is_corrected_over_what_it_does_not_know_of(how: Any) -> None:
    table = compared(test="tukey", correction=how, queries=ATTRIBUTES, by="locale").table
    for family in table.partition_by("by"):
        families = len(METRICS) * (3 if family["by"][0] else 1)
        expected = [min(p * families, 1.0) for p in family["p_value"]]
        assert family["p_corrected"].to_list() == expected
    one = compared(["map"], test="tukey").table
    assert one["p_corrected"].equals(one["p_value"].alias("p_corrected"))
    bh = compared(test="tukey", correction="bh").table
    assert bh["p_corrected"].to_list() == correct_p_values(bh["p_value"].to_list(), "bh")


# --- slices


@pytest.mark.parametrize("test", ["t", "randomisation", "tukey"])
def test_a_slice_is_what_its_queries_alone_give(test: Any) -> None:
    metrics = [*METRICS, MICRO] if test != "tukey" else METRICS
    options: Any = {"metrics": metrics, "test": test, "correction": "bh"}
    whole = compared(**options, queries=ATTRIBUTES, by=["locale"])
    corrected_ones = ("by", "slice", "small", "p_corrected", "significant")
    columns = {"table": list(PAIR_SCHEMA), "systems": list(SYSTEM_SCHEMA)}
    assert whole.table["slice"].unique(maintain_order=True).to_list() == [
        None, "de", "en", "(none)",
    ]  # fmt: skip
    for name in ("(none)", "de", "en"):
        some = ATTRIBUTES.filter(pl.col("locale").fill_null("(none)") == name)["query_id"]
        qrels = {q: QRELS[q] for q in some}
        alone = rf.compare(qrels, RUNS, **(FAST | options))
        for frame in ("table", "systems"):
            here = getattr(whole, frame).filter(pl.col("slice") == name)
            there = getattr(alone, frame)
            # of all queries, and only where judged shares lie apart
            here, there = (table.select(columns[frame]) for table in (here, there))
            assert here.drop(corrected_ones, strict=False).equals(
                there.drop(corrected_ones, strict=False)
            ), (name, frame)
    plain = compared(**options)
    assert (
        whole.table.filter(pl.col("by").is_null())
        .drop("p_corrected", "significant")
        .equals(plain.table.drop("p_corrected", "significant"))
    )


def test_rows_come_by_metric_and_then_by_slice() -> None:
    found = compared(["map", "mrr"], baseline="old", queries=ATTRIBUTES, by="locale")
    assert found.table.select("metric", "slice", "system").rows() == [
        (metric, name, system)
        for metric in ("map", "mrr")
        for name in (None, "de", "en", "(none)")
        for system in NAMES[1:]
    ]
    assert found.systems.height == 2 * 4 * 3
    assert found.table.filter(pl.col("slice") == "de")["small"].all()
    assert not found.table.filter(pl.col("slice").is_null())["small"].any()


# --- what goes beside


def test_bounds_and_what_all_or_none_would_give() -> None:
    metrics = ["precision@3", WEIGHTED]
    found = compared(metrics, bounds=True, queries=ATTRIBUTES, by="locale", weight="w").systems
    for name, run in RUNS.items():
        filled = []
        for grade in (0, 3):
            qrels = {
                q: dict.fromkeys(top(run.get(q, {}), 3), grade) | judged
                for q, judged in QRELS.items()
            }
            filled.append(rf.evaluate(qrels, run, "precision@3", ci=None)["precision@3"])
        row = found.filter(
            pl.col("metric") == "precision@3", pl.col("system") == name, pl.col("by").is_null()
        ).row(0, named=True)
        assert [row["if_none_relevant"], row["if_all_relevant"]] == pytest.approx(filled, abs=1e-12)
        assert [row["lower_bound"], row["upper_bound"]] == pytest.approx(filled, abs=1e-12)
        assert row["lower_bound"] <= row["value"] <= row["upper_bound"]
    whole, slices = (found.filter(pl.col("by").is_null() == is_) for is_ in (True, False))
    assert whole["if_all_relevant"].null_count() == 0
    assert slices["if_all_relevant"].null_count() == slices.height
    assert slices["upper_bound"].null_count() == slices.height
    assert "if_all_relevant" not in compared().systems.columns


def top(scores: dict[str, float], k: int) -> Sequence[str]:
    return sorted(scores, key=lambda doc: (scores[doc], doc.encode()), reverse=True)[:k]


def test_the_ledger_says_what_was_done() -> None:
    found = compared(test="randomisation", correction="bh", seed=3, baseline="old")
    whole = found.ledger.filter(
        pl.col("system").is_null(), ~pl.col("item").str.starts_with("caveat_")
    )
    assert dict(whole.select("item", "note").rows()) == {
        "queries_compared": "queries that are compared",
        "queries_unpaired": "not in every system",
        "policy_baseline": "old",
        "policy_test": "randomisation, hypothesis: equal means (strictly: exchangeable systems), "
        "100 permutations, seed 3",
        "policy_correction": "bh",
        "policy_significant": "corrected p below 0.05",
        "policy_fewest_queries": "6: with fewer, nothing is called significant",
        "policy_unpaired": "error",
        "policy_ci": "95%, bootstrap, 100 replicates, seed 3",
    }
    for name, run in RUNS.items():
        # Caveats depend on the metrics.
        no_caveat = ~pl.col("item").str.starts_with("caveat_")
        alone = rf.evaluate(QRELS, run, "map").ledger.filter(
            pl.col("item") != "policy_ci", no_caveat
        )
        became = "" if name == "old" else ": scored 0, but left out of lag"
        note = pl.when(item="queries_missing").then(pl.col("note") + became).otherwise("note")
        alone = alone.with_columns(note)
        here = found.ledger.filter(pl.col("system") == name, no_caveat).drop("system")
        assert here.row(0) == ("queries_lacking", 0.0, "that other systems have")
        assert here[1:].equals(alone)


def test_pieces_and_the_order_of_rows_and_systems_do_not_show(tmp_path: Path) -> None:
    whole = compared()
    paths = {}
    for at, (name, run) in enumerate({"qrels": QRELS, **RUNS}.items()):
        rows = [(q, d, float(x)) for q, docs in run.items() for d, x in docs.items()]
        column = "relevance" if name == "qrels" else "score"
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", column], orient="row")
        path = tmp_path / f"{at}.parquet"
        frame.sample(fraction=1, shuffle=True, seed=at).write_parquet(path)
        paths[name] = path
    qrels = paths.pop("qrels")
    seen: list[Any] = []
    found = rf.compare(qrels, paths, METRICS, max_memory="50kB", progress=seen.append, **FAST)
    assert found.table.equals(whole.table)
    assert found.systems.equals(whole.systems)
    assert found.ledger.equals(whole.ledger)
    assert {done.stage.split(":")[0] for done in seen} == {*NAMES, "comparing"}
    turned = compared(runs=dict(reversed(RUNS.items())))
    pair = (pl.col("baseline") == "new") & (pl.col("system") == "old")
    one = turned.table.filter(pair).row(0, named=True)
    other = whole.table.row(0, named=True)
    assert (one["baseline"], one["system"]) == (other["system"], other["baseline"])
    assert one["difference"] == -other["difference"]
    assert one["p_value"] == other["p_value"]
    assert (one["wins"], one["losses"]) == (other["losses"], other["wins"])


# --- what is refused


@pytest.mark.parametrize(
    "options",
    [
        {"baseline": "oldd"},
        {"baseline": "zzzzz"},
        {"runs": {"old": RUNS["old"]}},
        {"runs": {}},
        {"runs": {1: RUNS["old"]}},
        {"runs": {"": RUNS["old"]}},
        {"metrics": MICRO, "test": "sign"},
        {"metrics": "precision(average=micro)", "test": "tukey"},
        {"metrics": ["map", "map"]},
        {"metrics": "mapp"},
        {"metrics": WEIGHTED},
        {"metrics": WEIGHTED, "queries": ATTRIBUTES.head(39), "weight": "w"},
        {"by": "locale"},
        {"ci": "x"},
        {"replicates": 5},
    ],
    ids=str,
)  # fmt: skip
def test_what_makes_no_sense_is_refused(options: dict, refusal) -> None:
    refusal(compared, **options)


def test_systems_are_given_by_name(refusal) -> None:
    refusal(rf.compare, QRELS, ["a.run", "b.run"], "map")
