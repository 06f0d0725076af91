"""Retrieved documents, on Spark: the same bits as here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.on_spark import MARKS
from tests.support.retrieved import NAMES, REVENUE, shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = MARKS
SHOP = shop(2, users=120)


def test_the_same_bits(spark: SparkSession, tmp_path: Path, refusal) -> None:
    paths = {name: str(tmp_path / f"{name}.parquet") for name in ("qrels", "run", "train", "base")}
    for name, path in paths.items():
        getattr(SHOP, name).write_parquet(path)
    beside: Any = {"train": paths["train"], "items": SHOP.items, "reference": paths["base"]}
    sliced: Any = {"queries": SHOP.users, "by": "segment", "no_overlap": "zero"}
    here = SHOP.evaluated()
    there = rf.spark.evaluate(
        paths["qrels"], paths["run"], [*NAMES, REVENUE], **beside, **sliced, spark=spark,
        partitions=3,
    )  # fmt: skip
    assert_frame_equal(there.summary, here.summary, check_exact=True)
    assert_frame_equal(there.slices, here.slices, check_exact=True)
    assert_frame_equal(there.to_result().per_query, here.per_query, check_exact=True)
    there.unpersist()
    items: Any = {
        "items": SHOP.items,
        "train": paths["train"],
        "items_by": ["genres", "popularity"],
    }
    names = ["ndcg@4", "exposure_gap(by=genres)@3", "coverage@4"]
    here = rf.evaluate(paths["qrels"], paths["run"], names, **items, no_overlap="zero")
    there = rf.spark.evaluate(
        paths["qrels"], paths["run"], names, **items, no_overlap="zero", spark=spark, partitions=3
    )
    assert_frame_equal(there.summary, here.summary, check_exact=True)
    assert_frame_equal(there.items, here.items, check_exact=True)
    there.write(tmp_path / "result")
    assert_frame_equal(rf.Result.read(tmp_path / "result").items, here.items, check_exact=True)
    few: Any = {"train": paths["train"], "exclude_seen": True}
    alone = rf.evaluate(None, paths["run"], ["coverage@5", "novelty@5"], **few)
    other = rf.spark.evaluate(None, paths["run"], ["coverage@5", "novelty@5"], **few, spark=spark)
    assert_frame_equal(other.summary, alone.summary, check_exact=True)
    assert other.count("run_seen_dropped") == alone.count("run_seen_dropped") != 0
    refusal(rf.spark.evaluate, None, paths["run"], "ndcg", spark=spark)


def test_gaps_have_the_same_bits(spark: SparkSession, tmp_path: Path, refusal) -> None:
    """Of metrics of judgments and of what is shown; replicates of slices come back for them."""
    names = [
        "gap(ndcg@4, by=segment)", "gap(novelty@4, by=segment, kind=mean)",
        "gap(map(average=geometric), by=segment)", "coverage@4",
    ]  # fmt: skip
    paths = {name: str(tmp_path / f"{name}.parquet") for name in ("qrels", "run", "train")}
    for name, path in paths.items():
        getattr(SHOP, name).write_parquet(path)
    how: Any = {"queries": SHOP.users, "train": paths["train"], "no_overlap": "zero"}
    for names_here, ci in ((names, "bootstrap"), (names[:1], "t")):
        some: Any = {**how, "ci": ci} | ({} if len(names_here) > 1 else {"train": None})
        here = rf.evaluate(paths["qrels"], paths["run"], names_here, **some)
        there = rf.spark.evaluate(
            paths["qrels"], paths["run"], names_here, **some, spark=spark, partitions=3
        )
        for frame in ("summary", "slices"):
            assert_frame_equal(getattr(there, frame), getattr(here, frame), check_exact=True)
        assert there.count("metrics_gaps") == len([n for n in names_here if n.startswith("gap")])
        assert (here.summary.filter(metric=names[0])["ci_low"].item() is None) == (ci == "t")
        there.unpersist()
    refusal(rf.spark.evaluate, paths["qrels"], paths["run"], names[0], spark=spark)
    alone: Any = {"queries": SHOP.users.with_columns(segment=1), "no_overlap": "zero"}
    refusal(rf.spark.evaluate, paths["qrels"], paths["run"], names[0], **alone, spark=spark)


def test_caveats_and_split_values_are_those_of_one_machine(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [(f"q{n}", f"d{(n * 7 + rank) % 40}", 1.0 - rank // 4) for n in range(50)
            for rank in range(12)]  # fmt: skip
    frames = {
        "run": pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row"),
        "train": pl.DataFrame(rows[::9], ["query_id", "doc_id", "score"], orient="row"),
        "qrels": pl.DataFrame(
            [(f"q{n}", f"d{(n * 3 + m) % 40}", 1 + m % 3) for n in range(60) for m in range(5)],
            ["query_id", "doc_id", "relevance"],
            orient="row",
        ),
    }
    for name, frame in frames.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    qrels, run, train = (str(tmp_path / f"{name}.parquet") for name in ("qrels", "run", "train"))
    genres = ["A|B", "B|C", "A", None]
    items = pl.DataFrame({"doc_id": [f"d{n}" for n in range(40)], "genres": genres * 10})
    sides: Any = {"items": items, "train": train, "items_by": ["genres", "popularity"]}
    sides["split"] = {"genres": "|"}
    names = ["ndcg@10", "diversity(by=genres)@5", "coverage@5"]
    with pytest.warns(rf.RankframeWarning) as here_warned:
        here = rf.evaluate(qrels, run, names, **sides)
    with pytest.warns(rf.RankframeWarning) as there_warned:
        there = rf.spark.evaluate(qrels, run, names, **sides, spark=spark, partitions=3)
    said, also = (
        [str(one.message) for one in warned if one.category is rf.RankframeWarning]
        for warned in (here_warned, there_warned)
    )
    assert also == said
    assert {caveat.code for caveat in there.caveats} == {
        "ties", "queries_missing", "seen_documents", "all_relevant",
    }  # fmt: skip
    for text in said:
        assert text in repr(there)
        assert text in there._repr_html_().replace("&gt;", ">")
    assert_frame_equal(there.summary, here.summary, check_exact=True)
    assert_frame_equal(there.items, here.items, check_exact=True)
    assert_frame_equal(there.to_result().per_query, here.per_query, check_exact=True)
    caveats = pl.col("item").str.starts_with("caveat_")
    assert_frame_equal(there.ledger.filter(caveats), here.ledger.filter(caveats), check_exact=True)
    assert set(there.ledger["item"]) == set(here.ledger["item"])
    silenced = rf.spark.evaluate(
        qrels, run, "ndcg@10", silence=[caveat.code for caveat in here.caveats], spark=spark
    )
    assert not silenced.caveats


def test_a_run_with_scores_and_ranks_is_ordered_as_on_one_machine(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [(f"q{n}", f"d{rank}", rank // 3 + 1.0, rank + 1) for n in range(9) for rank in range(9)]
    run = pl.DataFrame(rows, ["query_id", "doc_id", "score", "rank"], orient="row")
    run.write_parquet(tmp_path / "run.parquet")
    qrels = pl.DataFrame({"query_id": [f"q{n}" for n in range(9)], "doc_id": "d7", "relevance": 1})
    qrels.write_parquet(tmp_path / "qrels.parquet")
    paths = str(tmp_path / "qrels.parquet"), str(tmp_path / "run.parquet")
    for order in ("score", "rank"):
        here = rf.evaluate(*paths, "mrr", order=order)
        there = rf.spark.evaluate(*paths, "mrr", order=order, spark=spark)
        assert_frame_equal(there.summary, here.summary, check_exact=True)
        assert there.caveats == here.caveats
