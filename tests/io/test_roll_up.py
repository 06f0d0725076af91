"""Chunks are retrieved, documents are judged: a run in units, by definition and in every way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.io.inputs import open_run, units_of

BEFORE = pl.col("doc_id").str.split("#").list.first()
METRICS = ["ndcg@5", "map", "mrr", "precision@3", "recall@5"]


def chunked(seed: int, queries: int = 60) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judged documents, and a run of their chunks with many ties, in any order."""
    random = Random(seed)
    judged, shown = [], []
    for query in range(queries):
        documents = [f"d{at}" for at in range(random.randint(1, 9))]
        judged += [(f"q{query}", one, random.randint(-1, 3)) for one in documents[::2]]
        chunks = {f"{one}#{random.randint(0, 5)}" for one in documents for _ in range(4)}
        shown += [(f"q{query}", one, random.randint(0, 6) / 4) for one in sorted(chunks)]
    random.shuffle(shown)
    return (
        pl.DataFrame(judged, ["query_id", "doc_id", "relevance"], orient="row"),
        pl.DataFrame(shown, ["query_id", "doc_id", "score"], orient="row"),
    )


def by_definition(run: pl.DataFrame, gaps: str) -> dict[tuple[str, str], int]:
    """Rank chunks one by one; a unit has the place of its first, among units or among chunks."""
    ranks: dict[tuple[str, str], int] = {}
    rows = [(query, doc.split("#")[0], score) for query, doc, score in run.rows()]
    for query in {row[0] for row in rows}:
        listed = sorted(((score, unit) for one, unit, score in rows if one == query), reverse=True)
        seen: list[str] = []
        for place, (_, unit) in enumerate(listed, start=1):
            if unit not in seen:
                seen.append(unit)
                ranks[query, unit] = place if gaps == "kept" else len(seen)
    return ranks


@pytest.mark.parametrize("gaps", ["renumbered", "kept"])
@pytest.mark.parametrize("seed", range(4))
def test_ranks_by_definition(seed: int, gaps: Any) -> None:
    qrels, run = chunked(seed)
    judged = set(qrels.select("query_id", "doc_id").rows())
    expected = by_definition(run, gaps)
    found = rf.judge(qrels, run, unit=BEFORE, unit_ranks=gaps).collect()
    assert {
        (query, doc): rank
        for query, doc, rank in found.select("query_id", "doc_id", "rank").rows()
        if rank is not None
    } == {key: rank for key, rank in expected.items() if key in judged}


@pytest.mark.parametrize("gaps", ["renumbered", "kept"])
def test_all_forms_layouts_and_pieces_give_the_same_bits(gaps: Any, tmp_path: Path) -> None:
    qrels, run = chunked(7, 400)
    table = run.select(chunk_id="doc_id", doc_id=BEFORE).unique()
    table.write_parquet(tmp_path / "units.parquet")
    whole = rf.evaluate(qrels, run, METRICS, unit=BEFORE, unit_ranks=gaps)
    mapping = dict(table.rows())
    named = table.rename({"chunk_id": "item_id", "doc_id": "parent_id"})
    for unit in (table, mapping, named.lazy(), tmp_path / "units.parquet"):
        assert whole.summary.equals(
            rf.evaluate(qrels, run, METRICS, unit=unit, unit_ranks=gaps).summary
        )
    for rows in (run.sort("query_id"), run.sort("score"), run.sort("query_id", "score")):
        rows.write_parquet(tmp_path / "run.parquet")
        for limit in (None, "1MB"):
            found = rf.evaluate(
                qrels,
                tmp_path / "run.parquet",
                METRICS,
                unit=table,
                unit_ranks=gaps,
                max_memory=limit,
            )
            assert found.per_query.equals(whole.per_query)
            assert found.summary.equals(whole.summary)


def test_what_is_done_by_hand_before_gives_the_same() -> None:
    qrels, run = chunked(3)
    best = run.with_columns(doc_id=BEFORE).group_by("query_id", "doc_id").agg(pl.col("score").max())
    assert (
        rf.evaluate(qrels, run, METRICS, unit=BEFORE).means
        == rf.evaluate(qrels, best, METRICS).means
    )


def test_lists_are_in_order_of_their_first_chunks() -> None:
    qrels = {"q": {"b": 1}}
    run = pl.DataFrame({"query_id": ["q"], "retrieved": [["a#1", "a#2", "b#1", "a#3"]]})
    assert rf.evaluate(qrels, run, "mrr", unit=BEFORE)["mrr"] == 1 / 2
    assert rf.evaluate(qrels, run, "mrr", unit=BEFORE, unit_ranks="kept")["mrr"] == 1 / 3


def test_the_ledger_says_what_became_of_chunks(message) -> None:
    qrels, run = {"q": {"b": 1}}, {"q": {"a#1": 3.0, "a#2": 2.0, "b#1": 1.0}}
    ledger = rf.evaluate(qrels, run, "mrr", unit=BEFORE, unit_ranks="kept").ledger
    counted = dict(zip(ledger["item"], ledger["value"], strict=True))
    notes = dict(zip(ledger["item"], ledger["note"], strict=True))
    assert (counted["run_rows"], counted["run_units"]) == (3, 2)
    assert notes["policy_unit_ranks"] == "kept"
    message(notes["policy_unit"])
    plain = rf.evaluate({"q": {"a#1": 1}}, run, "mrr").ledger["item"].to_list()
    assert not {"run_units", "policy_unit_ranks", "policy_unit"} & set(plain)


def test_comparisons_gates_curves_and_differences_take_units() -> None:
    qrels, run = chunked(5)
    _, other = chunked(6)
    runs = {"a": run, "b": other}
    by_hand = {
        name: one.with_columns(doc_id=BEFORE).group_by("query_id", "doc_id").agg(pl.max("score"))
        for name, one in runs.items()
    }
    options: dict[str, Any] = {"missing": "zero"}
    ways: tuple[tuple[dict[str, pl.DataFrame], dict[str, Any]], ...] = (
        (runs, {"unit": BEFORE}),
        (by_hand, {}),
    )
    found, expected = (rf.compare(qrels, given, ["map"], **how, **options) for given, how in ways)
    assert found.table.equals(expected.table)
    rules = ["map: no worse than -5%"]
    verdicts = [
        rf.gate(
            qrels,
            given["a"],
            rf.evaluate(qrels, given["b"], ["map"], **how),
            rules,
            **how,
            **options,
        ).checks
        for given, how in ways
    ]
    assert verdicts[0].equals(verdicts[1])
    curves = [
        rf.curve(qrels, given["a"], "metric_at_k", metric="ndcg", **how) for given, how in ways
    ]
    assert curves[0].equals(curves[1])


@pytest.mark.parametrize("gaps", ["renumbered", "kept"])
def test_lists_side_by_side_have_the_ranks_of_units(gaps: Any) -> None:
    qrels = {"q": {"b": 1, "c": 1}}
    old = {"q": {"a#1": 3.0, "a#2": 2.0, "b#1": 1.0}}
    new = {"q": {"b#1": 3.0, "a#2": 2.0, "a#1": 1.0, "c#7": 0.5}}
    found = rf.diff(qrels, old, new, "map", unit=BEFORE, unit_ranks=gaps).documents
    ranks = {doc: pair for doc, *pair in found.select("doc_id", "rank_a", "rank_b").rows()}
    assert ranks == {
        "a": [1, 2],
        "b": [2, 1] if gaps == "renumbered" else [3, 1],
        "c": [None, 3] if gaps == "renumbered" else [None, 4],
    }


@pytest.mark.parametrize(
    "unit",
    [
        {"a#1": "a"},
        pl.col("score"),
        pl.col("doc_id").first(),
        pl.col("doc_id").dt.year(),
        pl.DataFrame({"doc_id": ["a#1"]}),
        pl.DataFrame({"doc_id": ["a#1", "a#1"], "unit": ["a", "b"]}),
        pl.DataFrame({"doc_id": ["a#1", None], "unit": ["a", "b"]}),
        pl.DataFrame({"doc_id": [], "unit": []}),
        "no/such/file.parquet",
        7,
    ],
)  # fmt: skip
def test_what_says_nothing_of_units_is_refused(unit: Any, refusal: Callable[..., str]) -> None:
    run = {"q": {"a#1": 2.0, "b#1": 1.0}}
    refusal(rf.evaluate, {"q": {"a": 1}}, run, "map", unit=unit)


def test_bad_values_are_said_of_the_run_as_it_is(refusal: Callable[..., str]) -> None:
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a#1", "b#1"], "score": ["1", "high"]})
    refusal(rf.evaluate, {"q": {"a": 1}}, run, "map", unit=BEFORE)


def test_units_are_read_once_and_named_in_many_ways() -> None:
    usual = (
        ("doc_id", "unit"), ("chunk_id", "doc_id"), ("passage_id", "docno"), ("sku", "parent_id"),
    )  # fmt: skip
    for names in usual:
        table = pl.DataFrame({names[0]: ["c1", "c1", "c2"], names[1]: ["d", "d", "e"]})
        assert dict(units_of(table).rows()) == {"c1": "d", "c2": "e"}
    run = open_run({"q": {"c1": 1.0}}, Policies(unit={"c1": "d"}))
    assert open_run(run, Policies(unit={"c1": "other"})) is run
