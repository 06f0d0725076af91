"""Judgments of subtopics and facts, from wherever they come: the same bits, and clear refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.engine.convert import convert_file
from rankframe.metrics import names_over
from tests.support.pieces import assert_same, in_pieces
from tests.support.subtopics import frame, random_run, random_topics

ROWS = random_topics(3, graded=True, queries=60)
JUDGED, RUN = frame(ROWS), frame(random_run(3, ROWS))
OWN = (pl.col("subtopic").n_unique() - pl.col("above").max().fill_null(0)).alias("own")
METRICS = [*names_over("subtopic"), "alpha_ndcg(alpha=0.3)@10", "ndcg@10", "map", "mrr",
           "precision_ia(average=micro)@5", OWN]  # fmt: skip


def best_grades() -> pl.DataFrame:
    """One judgment a document, as metrics without groups see it."""
    return JUDGED.group_by("query_id", "doc_id").agg(pl.col("relevance").max())


def test_metrics_without_groups_see_the_best_grade_of_a_document(message) -> None:
    metrics = [*names_over("judged"), "auc(pool=true)"]
    found, expected = (rf.evaluate(q, RUN, metrics) for q in (JUDGED, best_grades()))
    assert found.per_query.equals(expected.per_query)
    assert found.summary.equals(expected.summary)
    groups = JUDGED.select(pl.struct("query_id", "subtopic").n_unique()).item()
    assert found.count("qrels_rows") == JUDGED.height
    assert found.count("qrels_subtopics") == groups
    assert found.count("qrels_documents") == best_grades().height
    said = found.ledger.filter(item="qrels_subtopics")["note"].item()
    message(said)
    prints = {
        one.ledger.filter(item="qrels_fingerprint")["note"].item() for one in (found, expected)
    }
    assert len(prints) == 2


@pytest.mark.parametrize("policies", [{}, {"judged_only": True, "k_max": 7, "rel": 2}])
def test_the_same_bits_in_pieces_and_in_any_order(policies: Any, tmp_path: Path) -> None:
    in_order = JUDGED.sort("query_id"), RUN.sort("query_id")
    whole = in_pieces(JUDGED, RUN, 1, METRICS, **policies)
    for qrels, run in ((JUDGED, RUN), in_order):
        assert_same(in_pieces(qrels, run, 4, METRICS, **policies), whole)
        numbers = qrels.with_columns(pl.col("doc_id").str.slice(1).cast(pl.Int64))
        listed = run.filter(pl.col("doc_id").str.starts_with("d"))
        as_text = numbers.with_columns(pl.col("doc_id").cast(pl.String))
        ints = listed.with_columns(pl.col("doc_id").str.slice(1).cast(pl.Int64))
        texts = ints.with_columns(pl.col("doc_id").cast(pl.String))
        assert_same(in_pieces(numbers, ints, 1, METRICS), in_pieces(as_text, texts, 1, METRICS))
    qrels, run = tmp_path / "qrels.parquet", tmp_path / "run.parquet"
    JUDGED.write_parquet(qrels)
    RUN.write_parquet(run)
    written = rf.evaluate(
        qrels, run, METRICS, max_memory="1MB", output=tmp_path / "out", **policies
    )
    assert written.per_query.equals(whole.per_query)


def test_every_form_that_has_columns(tmp_path: Path) -> None:
    plain = JUDGED.drop("weight")
    expected = rf.evaluate(plain, RUN, METRICS)
    forms = {"csv": plain.write_csv, "parquet": plain.write_parquet, "jsonl": plain.write_ndjson}
    for form, write in forms.items():
        write(tmp_path / f"qrels.{form}")
        found = rf.evaluate(tmp_path / f"qrels.{form}", RUN, METRICS)
        assert found.per_query.equals(expected.per_query)
    assert rf.evaluate(plain.to_dicts(), RUN, METRICS).per_query.equals(expected.per_query)
    assert rf.evaluate(plain.to_arrow(), RUN, METRICS).per_query.equals(expected.per_query)
    lists = plain.group_by("query_id", "subtopic").agg("doc_id", "relevance")
    assert rf.evaluate(lists, RUN, METRICS).per_query.equals(expected.per_query)
    named = plain.rename({"subtopic": "what"})
    asked = {"qrels": {"subtopic": "what"}}
    assert rf.evaluate(named, RUN, METRICS, columns=asked).per_query.equals(expected.per_query)


def test_trec_diversity_judgments(tmp_path: Path, refusal) -> None:
    plain = JUDGED.drop("weight")
    expected = rf.evaluate(plain, RUN, METRICS)
    plain.write_parquet(tmp_path / "qrels.parquet")
    convert_file(tmp_path / "qrels.parquet", tmp_path / "qrels.trec")
    assert len((tmp_path / "qrels.trec").read_text().split("\n")[0].split(" ")) == 4
    for limit in (None, "1MB"):
        found = rf.evaluate(tmp_path / "qrels.trec", RUN, METRICS, max_memory=limit)
        assert found.per_query.equals(expected.per_query)
    convert_file(tmp_path / "qrels.trec", tmp_path / "again.parquet")
    again = pl.read_parquet(tmp_path / "again.parquet")
    assert again.select(plain.columns).sort(pl.all()).equals(plain.sort(pl.all()))
    # Any iterations, where no document has two of them.
    lone = tmp_path / "lone.trec"
    lone.write_text("q 1 a 1\nq 2 b 0\n")
    result = rf.evaluate(lone, {"q": ["a"]}, "map")
    assert result["map"] == 1
    assert "qrels_subtopics" not in result.ledger["item"]
    refusal(rf.evaluate, lone, {"q": ["a"]}, ["map", "strec@5"])
    asked = {"qrels": {"subtopic": "iteration"}}
    assert rf.evaluate(lone, {"q": ["a"]}, "strec@5", columns=asked)["strec@5"] == 1
    weighted = tmp_path / "weighted.parquet"
    JUDGED.write_parquet(weighted)
    refusal(convert_file, weighted, tmp_path / "weighted.trec")


def test_what_is_wrong_with_groups(refusal) -> None:
    twice = pl.concat([JUDGED, JUDGED.head(3)])
    refusal(rf.evaluate, twice, RUN, "strec@5")
    kept = rf.evaluate(twice, RUN, METRICS, duplicates="keep_best")
    assert kept.per_query.equals(rf.evaluate(JUDGED, RUN, METRICS).per_query)
    assert kept.count("qrels_duplicates_dropped") == 3
    weight = pl.when(pl.int_range(pl.len()) == 5).then(9.0).otherwise("weight").alias("weight")
    refusal(rf.evaluate, JUDGED.with_columns(weight), RUN, "strec@5")
    refusal(rf.evaluate, JUDGED.with_columns(weight=pl.lit(0.0)), RUN, "strec@5")
    none = JUDGED.with_columns(subtopic=pl.lit(None, pl.String))
    result = rf.evaluate(none.unique(["query_id", "doc_id"]), RUN, ["all_of@10", "hit_rate"])
    assert result["all_of@10"] == 0
    assert result["hit_rate"]
    assert result.count("qrels_without_subtopic") == best_grades().height


def test_decisions_look_at_groups_too() -> None:
    other = RUN.with_columns(-pl.col("score"))
    metrics = ["alpha_ndcg@10", "all_of@10", "ndcg@10"]
    found = rf.compare(JUDGED, {"a": RUN, "b": other}, metrics, baseline="a")
    whole = rf.evaluate(JUDGED, other, metrics)
    assert found.table["value"].to_list() == [whole[name] for name in metrics]
    seen, expected = (rf.diff(q, RUN, other, "ndcg@10") for q in (JUDGED, best_grades()))
    assert repr(seen) == repr(expected)
    assert seen.documents.equals(expected.documents)
    changed = rf.diff(JUDGED, RUN, other, "all_of@10")
    assert f"{whole['all_of@10']:.4f}" in repr(changed)


def test_a_ranking_has_no_groups(refusal) -> None:
    refusal(rf.agree, JUDGED, RUN, "rbo")
    lone = JUDGED.unique(["query_id", "doc_id"], maintain_order=True)
    found, expected = (rf.agree(q, RUN, "rbo") for q in (lone, lone.drop("subtopic", "weight")))
    assert found.per_query.equals(expected.per_query)
