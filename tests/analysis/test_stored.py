"""Stored values: whatever they were stored as, compared as if the runs had been evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.stored import read_systems, refuse_unknown, stored_metrics, with_directions
from rankframe.metrics.names import Metric, resolve
from tests.support.oracles import random_case

QRELS = random_case(0, queries=35, missing=False).qrels
RUNS = {
    "old": random_case(1, queries=35).run,
    "new": random_case(2, queries=35).run,
    "odd": random_case(3, queries=35).run,
}
METRICS = ["ndcg@10", "map", "lag", "judged@10"]
FAST: dict[str, Any] = {"replicates": 100, "permutations": 100}
A = pl.DataFrame({"query_id": ["a", "b", "c"], "map": [0.1, 0.2, 0.4]})
B = pl.DataFrame({"query_id": ["a", "b", "c"], "map": [0.3, 0.2, None]})


def results(**options: Any) -> dict[str, rf.Result]:
    return {name: rf.evaluate(QRELS, run, METRICS, **options) for name, run in RUNS.items()}


def stored(systems: Any, metrics: Any = None, **options: Any) -> rf.Comparison:
    return rf.compare(None, systems, metrics, **(FAST | options))


def as_stored(kind: str, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, result in results().items():
        values = result.per_query.sample(fraction=1, shuffle=True, seed=1)
        match kind:
            case "result":
                found[name] = result
            case "folder":
                found[name] = result.write(folder / name)
            case "file in a folder":
                found[name] = result.write(folder / name) / "per_query.parquet"
            case "frame":
                found[name] = values.rename({"query_id": "qid"})
            case "parquet":
                found[name] = folder / f"{name}.parquet"
                values.write_parquet(found[name])
            case "csv":
                found[name] = folder / f"{name}.csv"
                values.write_csv(found[name])
            case _:
                found[name] = folder / f"{name}.jsonl"
                values.write_ndjson(found[name])
    return found


KINDS = ["result", "folder", "file in a folder", "frame", "parquet", "jsonl"]


@pytest.mark.parametrize("kind", KINDS)
def test_stored_values_give_the_table_of_the_runs(kind: str, tmp_path: Path) -> None:
    live = rf.compare(QRELS, RUNS, METRICS, baseline="old", **FAST)
    found = stored(as_stored(kind, tmp_path), baseline="old")
    assert found.table.equals(live.table)
    assert found.systems.equals(live.systems)
    assert found.names == live.names
    assert [m.label for m in found.metrics] == METRICS
    if kind in ("result", "folder"):
        assert found.ledger.equals(live.ledger)
    else:
        assert found.ledger["system"].drop_nulls().to_list() == list(RUNS)


def test_values_stored_as_csv(tmp_path: Path) -> None:
    live = rf.compare(QRELS, RUNS, METRICS, baseline="old", **FAST)
    assert stored(as_stored("csv", tmp_path), baseline="old").table.equals(live.table)


def test_a_table_with_a_column_run_holds_a_system_for_each(tmp_path: Path) -> None:
    frames = [r.per_query.with_columns(run=pl.lit(name)) for name, r in results().items()]
    path = tmp_path / "values.parquet"
    pl.concat(frames).sample(fraction=1, shuffle=True, seed=1).sort("run").write_parquet(path)
    found = stored({"file": path}, baseline="old")
    live = rf.compare(QRELS, RUNS, METRICS, baseline="old", **FAST)
    assert sorted(found.names) == sorted(RUNS)
    order = ["metric", "system"]
    assert found.table.sort(order).equals(live.table.sort(order))


def test_a_table_of_one_run_is_called_as_it_was_given() -> None:
    one = A.with_columns(run=pl.lit("r1"))
    assert stored({"x": one, "y": B}).names == ("x", "y")
    two = pl.concat([one, B.with_columns(run=pl.lit("r2"))])
    assert stored({"x": two, "y": B}).names == ("r1", "r2", "y")


def test_different_kinds_go_together(tmp_path: Path) -> None:
    found = results()
    found["new"].write(tmp_path / "new")
    mixed = {
        "old": found["old"], "new": str(tmp_path / "new"), "odd": found["odd"].per_query,
    }  # fmt: skip
    assert stored(mixed).table.equals(stored(found).table)


def test_slices_and_weights_of_stored_values() -> None:
    label = "ndcg(average=weighted)@10"
    known = pl.DataFrame({"query_id": list(QRELS), "w": [1.0, 2.0, 0.5, 4.0, 3.0] * 7,
                          "half": ["x"] * 17 + ["y"] * 18})  # fmt: skip
    options: Any = {"queries": known, "weight": "w", "by": "half"}
    live = rf.compare(QRELS, RUNS, [label, "judged@10"], **options, **FAST)
    tables = {
        name: rf.evaluate(QRELS, run, [label, "judged@10"], queries=known, weight="w").per_query
        for name, run in RUNS.items()
    }
    assert stored(tables, **options).table.equals(live.table)


def test_every_query_needs_a_weight_if_an_average_takes_weights(refusal) -> None:
    label = "map(average=weighted)"
    tables = {name: table.rename({"map": label}) for name, table in (("x", A), ("y", A))}
    known: Any = {"queries": pl.DataFrame({"query_id": ["a", "b"], "w": [1.0, 2.0]}), "weight": "w"}
    refusal(stored, tables, **known)


def test_metrics_are_those_that_every_system_has() -> None:
    more = A.with_columns(mrr=pl.lit(0.5), own=pl.lit(2))
    assert [m.label for m in stored({"x": more, "y": B}).metrics] == ["map"]
    both = stored({"x": more, "y": more}, ["own", "map"])
    assert [m.label for m in both.metrics] == ["own", "map"]
    assert both.table["value"].to_list() == [2.0, pytest.approx(0.7 / 3)]


def test_text_columns_are_no_metrics() -> None:
    frame = A.with_columns(note=pl.lit("x"), day=pl.date(2024, 1, 1), ok=pl.lit(value=True))
    assert read_systems({"x": frame})["x"].labels == ["map"]


def test_labels_mean_what_they_say_and_others_nothing() -> None:
    frame = A.with_columns(lag=pl.lit(1.0), mine=pl.lit(1.0))
    by_label = {m.label: m for m in stored_metrics(read_systems({"x": frame, "y": frame}), None)}
    assert by_label["lag"].definition is not None
    assert not by_label["lag"].definition.higher_is_better
    assert by_label["mine"].definition is None
    worse = frame.with_columns(lag=pl.lit(2.0), mine=pl.lit(2.0))
    table = stored({"x": frame, "y": worse}, ["lag", "mine"]).table
    assert table.select("wins", "losses").rows() == [(0, 3), (3, 0)]


def test_values_that_are_empty_are_undefined() -> None:
    row = stored({"x": A, "y": B}).table.row(0, named=True)
    assert (row["queries"], row["undefined"]) == (2, 1)
    assert row["baseline_value"] == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("unpaired", "value", "queries"), [("skip", 0.15, 2), ("zero", 0.7 / 3, 3)]
)
def test_queries_that_a_table_lacks(unpaired: Any, value: float, queries: int, refusal) -> None:
    less = A.head(2)
    refusal(stored, {"x": A, "y": less})
    row = stored({"x": A, "y": less}, unpaired=unpaired).table.row(0, named=True)
    assert (row["baseline_value"], row["queries"]) == (pytest.approx(value), queries)


def test_how_much_was_judged_goes_beside_where_it_is_stored() -> None:
    judged = A.with_columns(**{"judged@10": pl.Series([1.0, 0.5, None])})
    found = stored({"x": judged, "y": judged}, ["map"]).table.row(0, named=True)
    assert (found["judged_baseline"], found["judged"]) == (0.75, 0.75)
    assert stored({"x": judged, "y": A}, ["map"]).table["judged"].to_list() == [None]


@pytest.mark.parametrize(
    "options",
    [{"k_max": 3},
     {"rel": 2},
     {"missing": "skip"}],
)  # fmt: skip
def test_values_under_other_policies_are_refused(options: dict, refusal, tmp_path: Path) -> None:
    other = rf.evaluate(QRELS, RUNS["new"], METRICS, **options)
    other.write(tmp_path / "new")
    for new in (other, tmp_path / "new"):
        refusal(stored, {"old": results()["old"], "new": new}, unpaired="skip")
    # a bare table says nothing of its policies
    stored({"old": results()["old"], "new": other.per_query}, unpaired="skip")


def test_how_intervals_were_made_does_not_matter() -> None:
    one, other = results(ci="t")["old"], results(ci=None)["new"]
    found = stored({"old": one, "new": other})
    assert found.table.equals(stored({n: results()[n] for n in ("old", "new")}).table)


@pytest.mark.parametrize(
    ("systems", "metrics"),
    [
        ({"x": A, "y": A}, "mapp"),
        ({"x": A, "y": A.rename({"map": "mrr"})}, None),
        ({"x": A, "y": A}, [3]),
        ({"x": A, "y": A}, []),
        ({"x": A, "y": A}, ["map", "map"]),
        ({"x": A}, None),
        ({"x": A, "y": A.select("query_id")}, None),
        ({"x": A, "y": A.rename({"query_id": "zz"})}, None),
        ({"x": A, "y": pl.concat([A, A.head(1)])}, None),
        ({"x": A, "y": A.with_columns(map=pl.Series([0.1, float("nan"), 0.2]))}, None),
        ({"x": A, "y": A.with_columns(query_id=pl.Series(["a", None, "c"]))}, None),
        ({"x": A, "y": A.head(0)}, None),
        ({"x": A, "y": "nowhere.parquet"}, None),
        ({"r": A, "y": pl.concat([A.with_columns(run=pl.lit("r")), A.with_columns(run=pl.lit("s"))
         ])}, None),
    ],
    ids=["metric", "none in common", "expression", "none", "twice", "one system", "no metric",
         "no key", "duplicate", "NaN", "null", "empty", "no file", "one name"],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(systems: Any, metrics: Any, refusal) -> None:
    refusal(stored, systems, metrics)


def test_what_stored_values_lack_is_refused(refusal) -> None:
    label = "recall(average=micro)@5"
    micro = {name: rf.evaluate(QRELS, run, [label, "map"]) for name, run in RUNS.items()}
    refusal(stored, micro)
    assert [m.label for m in stored(micro, "map").metrics] == ["map"]
    refusal(stored, {"x": A, "y": B}, bounds=True)
    weighted = A.rename({"map": "map(average=weighted)"})
    refusal(stored, {"x": weighted, "y": weighted})


def test_values_of_other_judgments_are_not_compared(tmp_path: Path, refusal) -> None:
    fewer = dict(list(QRELS.items())[:20])
    ours, theirs = (rf.evaluate(of, RUNS["new"], ["map"]) for of in (QRELS, fewer))
    ours.write(tmp_path / "a")
    refusal(stored, {"a": tmp_path / "a", "b": theirs}, unpaired="skip")
    rule = "map: better than 1%"
    for qrels, run in ((None, theirs), (fewer, RUNS["new"])):  # stored, or evaluated now
        refusal(rf.gate, qrels, run, ours, rule, min_queries=2)


def test_as_many_other_judgments_are_noticed(refusal) -> None:
    query, docs = next(iter(QRELS.items()))
    other = QRELS | {query: {**docs, next(iter(docs)): 17}}
    ours, theirs = (rf.evaluate(of, RUNS["new"], ["map"]) for of in (QRELS, other))
    refusal(stored, {"a": ours, "b": theirs})


def test_the_same_judgments_are_the_same_in_any_form() -> None:
    rows = [(q, d, float(g)) for q, docs in QRELS.items() for d, g in docs.items()]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "relevance"], orient="row")
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1).cast({"query_id": pl.Categorical})
    twice = pl.concat([shuffled, frame.head(3).cast(shuffled.schema)])
    forms = [rf.evaluate(of, RUNS["new"], ["map"], duplicates="keep_best")
             for of in (QRELS, shuffled, twice)]  # fmt: skip
    stored({str(at): one for at, one in enumerate(forms)})


def test_ledgers_without_a_fingerprint_are_compared_by_their_counts(refusal) -> None:
    """As versions wrote them that had none."""
    query, docs = next(iter(QRELS.items()))
    changed = QRELS | {query: {**docs, next(iter(docs)): 17}}
    fewer = dict(list(QRELS.items())[1:])
    ours, other, less = (rf.evaluate(of, RUNS["new"], ["map"]) for of in (QRELS, changed, fewer))
    old = rf.Result(
        ours.summary,
        ours.per_query,
        ours.ledger.filter(pl.col("item") != "qrels_fingerprint"),
    )
    stored({"a": old, "b": other})
    refusal(stored, {"a": old, "b": less}, unpaired="skip")


def test_results_hold_ids_and_numbers_of_any_type(refusal) -> None:
    run = {str(at): {"a": 1.0, "b": at / 10} for at in range(12)}
    qrels = {str(at): {"b": 1} for at in range(12)}
    ours = rf.evaluate(qrels, run, ["map"])

    def of(values: pl.DataFrame) -> rf.Result:
        return rf.Result(ours.summary, values, ours.ledger)

    typed = [
        ours.per_query,
        ours.per_query.cast({"query_id": pl.Int64}),
        ours.per_query.cast({"map": pl.String}),
    ]
    compared = stored({str(at): of(one) for at, one in enumerate(typed)})
    assert compared.systems["value"].n_unique() == 1
    text = ours.per_query.with_columns(pl.lit("high").alias("map"))
    refusal(stored, {"a": ours, "b": of(text)})
    for odd in (pl.concat_list("map"), pl.lit("2026-01-01").str.to_date().alias("map")):
        refusal(stored, {"a": ours, "b": of(ours.per_query.with_columns(odd))})
    strange = rf.Result(ours.summary, ours.per_query, pl.DataFrame({"item": [1], "x": [2]}))
    refusal(stored, {"a": ours, "b": strange})


def test_a_name_that_is_too_long_is_no_system(refusal) -> None:
    refusal(stored, {"a": "x" * 300, "b": "y" * 300})


def test_grades_that_were_given_are_those_of_a_column(refusal) -> None:
    pairs = pl.DataFrame({"query_id": ["a", "b"], "doc_id": ["x", "y"]})
    run = pairs.with_columns(score=1.0)
    graded, given = (
        rf.evaluate(pairs.with_columns(relevance=1), run, "map"),
        rf.evaluate(pairs, run, "map", relevance=1),
    )
    assert rf.compare(None, {"graded": graded, "given": given}, ci=None).table.height == 1
    other = rf.evaluate(pairs, run, "map", relevance=2)
    refusal(rf.compare, None, {"graded": graded, "other": other}, ci=None)


@pytest.mark.parametrize("label", ["^.*$", "*"])
def test_a_stored_column_that_polars_takes_for_several_is_refused(label: str, refusal) -> None:
    ours, odd = rf.evaluate(QRELS, RUNS["old"], "map"), A.rename({"map": label})
    for one in (odd, rf.Result(ours.summary, odd, ours.ledger)):
        refusal(stored, {"a": one, "b": A})


LATENCY, CLICKS = Metric("latency"), Metric("clicks")


def test_what_is_said_of_a_column_is_its_direction() -> None:
    found = with_directions([LATENCY, CLICKS, *resolve(["map", "lag"])], lower="latency")
    assert [metric.higher_is_better for metric in found] == [False, True, True, False]
    assert with_directions([LATENCY], higher=["latency"])[0].higher_is_better


@pytest.mark.parametrize(
    "options",
    [
        {"lower": ["latencies"]},
        {"lower": "latency", "higher": ["latency"]},
        {"lower": "map"},
        {"higher": "lag"},
        {"lower": [1]},
        {"lower": 3},
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(options: dict[str, Any], refusal) -> None:
    metrics = [LATENCY, *resolve(["map", "lag"])]
    refusal(with_directions, metrics, **options)
    assert with_directions(metrics, lower=["lag"], higher=["map"]) == metrics


def test_a_column_of_which_nothing_is_said_is_refused(refusal) -> None:
    refusal(refuse_unknown, [LATENCY])
    refuse_unknown([LATENCY], lower=["latency"])
    refuse_unknown([LATENCY], higher="latency")
    own = rf.metric(pl.col("rank").min(), "first", higher_is_better=False)
    refuse_unknown([own, *resolve(["map", "lag"])])


def test_compare_counts_wins_in_the_direction_that_is_said() -> None:
    queries = [f"q{i}" for i in range(8)]
    slow = pl.DataFrame({"query_id": queries, "latency": [10.0 + i for i in range(8)]})
    fast = slow.with_columns(pl.col("latency") / 2)
    wins = [
        rf.compare(None, {"slow": slow, "fast": fast}, lower_is_better=names).table["wins"][0]
        for names in ((), ["latency"], "latency")
    ]
    assert wins == [0, 8, 8]
