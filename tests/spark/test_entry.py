"""The same bits on Spark as on one machine, and the same errors, without a Java trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.metrics import names_over
from rankframe.spark import driver as on_spark
from tests.support import bits
from tests.support.on_spark import (
    MARKS,
    QRELS,
    QUERIES,
    RUN,
    SHOP,
    assert_same,
    in_another_process,
    sent,
    with_row,
)
from tests.support.subtopics import frame, random_run, random_topics

pytestmark = MARKS


AVERAGES = [
    "precision(average=micro)@10",
    "map(average=geometric)",
    "ndcg(average=weighted, gain=exp2)@10",
    "num_relevant(average=sum)",
    "map(average=median)",
    "ndcg(average=quantile(q=0.1))@10",
    "mrr(average=min)",
]
TOP3 = ((pl.col("rank") <= 3) & pl.col("relevant")).any().alias("top3")


@pytest.mark.parametrize("partitions", [1, 3, 8])
def test_every_metric_to_the_last_bit(spark, partitions: int) -> None:
    metrics = [*names_over("judged"), *AVERAGES, TOP3, rf.r_score(half_life=3).alias("mine")]
    options: Any = {
        "queries": QUERIES,
        "by": ["locale", ("locale", "device")],
        "weight": "weight",
    }
    found = rf.spark.evaluate(
        sent(spark, QRELS), sent(spark, RUN), metrics, partitions=partitions, **options
    )
    assert_same(found, rf.evaluate(QRELS, RUN, metrics, **options))


@pytest.mark.parametrize("order", ["scattered", "sorted"])
def test_orders_and_partitions_have_the_hash_of_one_machine(
    spark, order: str, tmp_path: Path
) -> None:
    tables = bits.tables()
    one_machine = bits.of_result(rf.evaluate(*tables, bits.METRICS))
    arranged = [bits.ORDERS[order](rows) for rows in tables]
    files = [bits.held(rows, ".parquet", tmp_path / str(at)) for at, rows in enumerate(arranged)]
    frames = [sent(spark, rows.with_columns(pl.last().cast(pl.Float64))) for rows in arranged]
    for (qrels, run), partitions in ((files, 2), (frames, 5)):
        found = rf.spark.evaluate(qrels, run, bits.METRICS, spark=spark, partitions=partitions)
        assert bits.of_result(found.to_result()) == one_machine
        found.unpersist()


@pytest.mark.parametrize(
    "options",
    [
        {"ci": "t", "queries": QUERIES.head(100), "by": "device"},
        {"missing": "skip", "no_relevant": "skip", "rel": 2, "ci": None},
        {"judged_only": True, "k_max": 5, "ties": "doc_asc", "seed": 7, "replicates": 200},
    ],
    ids=["t, some queries unknown", "skip", "condensed"],
)
def test_policies_to_the_last_bit(spark, options: Any) -> None:
    metrics = ["ndcg@10", "map", "err@5", "bpref"]
    found = rf.spark.evaluate(sent(spark, QRELS), sent(spark, RUN), metrics, **options)
    assert_same(found, rf.evaluate(QRELS, RUN, metrics, **options))


def test_groups_to_the_last_bit(spark, refusal) -> None:
    rows = random_topics(5, graded=True)
    judged, run = frame(rows), frame(random_run(5, rows))
    metrics = [*names_over("subtopic"), "ndcg@10", "precision_ia(average=micro)@5"]
    expected = rf.evaluate(judged, run, metrics)
    sides: list[Any] = [spark.createDataFrame(one.rows(), one.columns) for one in (judged, run)]
    assert_same(rf.spark.evaluate(sides[0], sides[1], metrics, partitions=3), expected)
    lists = judged.group_by("query_id", "subtopic", "weight").agg("doc_id", "relevance")
    listed = spark.createDataFrame(lists.rows(), lists.columns)
    assert_same(rf.spark.evaluate(listed, sides[1], metrics, partitions=2), expected)
    plain = sides[0].drop("subtopic", "weight")
    refusal(rf.spark.evaluate, plain, sides[1], "all_of@10", duplicates="keep_best")


@pytest.mark.parametrize("gaps", ["renumbered", "kept"])
def test_units_to_the_last_bit(spark, gaps: Any) -> None:
    chunks = pl.concat(
        RUN.with_columns(pl.col("doc_id") + f"#{at}", pl.col("score") - at / 8) for at in range(3)
    )
    before = pl.col("doc_id").str.split("#").list.first()
    table = chunks.select("doc_id", unit=before).unique()
    metrics = ["ndcg@10", "map", "mrr"]
    expected = rf.evaluate(QRELS, chunks, metrics, unit=before, unit_ranks=gaps)
    for unit in (before, table):
        found = rf.spark.evaluate(
            sent(spark, QRELS),
            sent(spark, chunks),
            metrics,
            unit=unit,
            unit_ranks=gaps,
            partitions=3,
        )
        assert_same(found, expected)


def test_partitions_follow_from_bytes(spark, monkeypatch) -> None:
    monkeypatch.setattr(on_spark, "_BYTES_PER_PARTITION", 150_000)
    monkeypatch.setattr(on_spark, "_FEWEST_ROWS", 10**9)
    counts = []
    for end in ("", "x" * 100):
        qrels, run = (frame.with_columns(pl.col("doc_id") + end) for frame in (QRELS, RUN))
        found = rf.spark.evaluate(sent(spark, qrels), sent(spark, run), ["map"])
        counts.append(found.per_query.rdd.getNumPartitions())
        found.unpersist()
    assert counts[0] * 150_000 >= QRELS.height * 120 + RUN.height * 140
    assert counts[1] > counts[0]


def test_attributes_may_be_a_spark_frame(spark) -> None:
    known = QUERIES.select("query_id", "device")
    queries = spark.createDataFrame(known.rows(), "query_id string, device string")
    both = sent(spark, QRELS), sent(spark, RUN)
    found = rf.spark.evaluate(*both, ["map"], queries=queries, by="device")
    assert_same(found, rf.evaluate(QRELS, RUN, ["map"], queries=known, by="device"))


def test_agreement_to_the_last_bit(spark) -> None:
    metrics = list(names_over("pair"))
    some: list[Any] = [{}, {"unmatched_queries": "skip", "missing": "bottom", "ci": "t"}]
    for options in some:
        found = rf.spark.agree(
            sent(spark, QRELS), sent(spark, RUN), metrics, partitions=3, **options
        )
        assert_same(found, rf.agree(QRELS, RUN, metrics, **options))


# --- what is refused ---


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        (QRELS, with_row(RUN, "q1", "new", float("nan"))),
        (QRELS, with_row(RUN, "q1", "new", None)),
        (QRELS, with_row(with_row(RUN, None, "x", 1.0), None, "y", 1.0)),
        (QRELS, with_row(RUN, "q1", "", 1.0)),
        (with_row(QRELS, "q1", "new", float("inf")), RUN),
        (QRELS, pl.concat([RUN, RUN.filter(query_id="q50")])),
        (pl.concat([QRELS, QRELS]), pl.concat([RUN, RUN])),
        (QRELS.head(0), RUN),
        (QRELS, RUN.head(0)),
        (QRELS, RUN.with_columns(pl.col("query_id") + "x")),
        (QRELS, RUN.with_columns(pl.col("doc_id") + "x")),
    ],
    ids=["NaN", "null", "null ids", "empty id", "infinite", "duplicates", "both", "no qrels",
         "no run", "no query", "no document"],
)  # fmt: skip
def test_bad_rows_are_refused_as_on_one_machine(spark, qrels, run, refusal) -> None:
    both = sent(spark, qrels), sent(spark, run)
    refusal(rf.spark.evaluate, *both, ["map"], partitions=3)
    with pytest.raises(rf.RankframeError) as caught:
        rf.evaluate(qrels, run, ["map"])
    with pytest.raises(type(caught.value)):
        rf.spark.evaluate(*both, ["map"])


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (lambda run: run, {"ties": "as_given"}),
        (lambda run: run.drop("score"), {}),
        (lambda run: run.drop("doc_id"), {}),
        (lambda run: run.selectExpr("cast(1.5 as double) query_id", "doc_id", "score"), {}),
        (lambda run: run.selectExpr("query_id", "array(1) as doc_id", "score"), {}),
        (lambda run: run.selectExpr("query_id", "doc_id", "'7x' as score"), {}),
        (lambda run: run, {"partitions": 0}),
        (lambda run: run, {"metrics": "auc(pool=true)"}),
        (lambda run: run, {"metrics": "err(max_grade=2)"}),
        (lambda run: run, {"metrics": "dcg(gain={1:1,2:3})"}),
        (lambda run: run, {"missing": "error"}),
        (lambda run: run, {"columns": {"score": "points"}}),
        (lambda _: {"q": {"a": 1.0}}, {}),
        (lambda _: "no/such.parquet", {}),
        (lambda _: __file__, {}),
        (lambda run: run, {"metrics": ["map", "MAP"]}),
        (lambda run: run.selectExpr("query_id", "doc_id", "raise_error('no') score"), {}),
    ],
)  # fmt: skip
def test_what_is_refused(spark, change: Any, options: Any, refusal) -> None:
    options = {"metrics": "map", **options}
    said = refusal(rf.spark.evaluate, sent(spark, QRELS), change(sent(spark, RUN)), **options)
    assert "\n" not in said


def test_an_expression_that_fails_is_named(spark, refusal) -> None:
    wrong = pl.col("doc_id").str.to_integer().sum().alias("wrong")
    both = sent(spark, QRELS), sent(spark, RUN)
    refusal(rf.spark.evaluate, *both, [wrong], partitions=2)


CONNECT = """
import rankframe as rf
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert not hasattr(spark, "_jvm")
qrels, run = (spark.read.parquet(f"{shop}/{name}.parquet") for name in ("qrels", "bm25"))
options = {"queries": f"{shop}/queries.parquet", "by": "locale"}
result = rf.spark.evaluate(qrels, run, ["ndcg@10", "map"], partitions=3, **options)
result.to_result().write(f"{folder}/collected")
result.write(f"{folder}/written")
result.unpersist()
try:
    rf.spark.evaluate(qrels, run.unionAll(run.limit(5)), "map")
except rf.RankframeError as error:
    print(type(error).__name__, error)
padded = rf.spark.evaluate(f"{folder}/qrels.parquet", f"{folder}/run", "map", spark=spark)
print(padded.to_result().per_query.rows())
spark.stop()
"""


def test_spark_connect_gives_the_same_bits_and_errors(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs pip install 'pyspark[connect]'")
    pl.DataFrame(
        {"query_id": ["7", "007"], "doc_id": ["a", "a"], "relevance": [1, 1]}
    ).write_parquet(tmp_path / "qrels.parquet")
    run = tmp_path / "run" / "query_id=007"
    run.mkdir(parents=True)
    pl.DataFrame({"doc_id": ["a"], "score": [1.0]}).write_parquet(run / "a.parquet")
    settings = f"shop, folder = {str(SHOP)!r}, {str(tmp_path)!r}\n"
    python = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    said = in_another_process(settings + CONNECT, **python)
    *_, error, padded = said.splitlines()
    assert error.startswith("DuplicateError run has 5 duplicate (query_id, doc_id)")
    assert padded == "[('007', 1.0), ('7', 0.0)]"
    expected = rf.evaluate(
        SHOP / "qrels.parquet",
        SHOP / "bm25.parquet",
        ["ndcg@10", "map"],
        queries=SHOP / "queries.parquet",
        by="locale",
    )
    collected = rf.Result.read(tmp_path / "collected")
    for name in ("per_query", "summary", "ledger", "slices"):
        assert_frame_equal(getattr(collected, name), getattr(expected, name), check_exact=True)
    stored = pl.read_parquet(tmp_path / "written" / "per_query" / "*.parquet").sort("query_id")
    assert_frame_equal(stored, expected.per_query, check_exact=True)


def on_the_command_line(*options: str) -> subprocess.CompletedProcess[str]:
    paths = [str(SHOP / f"{name}.parquet") for name in ("qrels", "bm25")]
    code = "from rankframe.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "evaluate", *paths, "-m", "ndcg@10", *options],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_line_takes_an_engine(tmp_path: Path) -> None:
    here = on_the_command_line("--format", "json", "--per-query", str(tmp_path / "here.parquet"))
    target = str(tmp_path / "spark.parquet")
    there = on_the_command_line(
        *("--format", "json", "--per-query", target, "-o", str(tmp_path / "out")),
        *("--engine", "spark", "--master", "local[2,4]", "--partitions", "2"),
    )
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout
    frames = [pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("here", "spark")]
    assert_frame_equal(*frames, check_exact=True)
    assert (tmp_path / "out" / "ledger" / "_SUCCESS").exists()


def test_the_command_line_says_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "per_query").mkdir()
    (tmp_path / "per_query" / "a.parquet").write_text("x")
    spark = ("--engine", "spark", "--master")
    for options, said in (
        ((*spark, "local[2]", "-o", str(tmp_path)), "holds a result already. Pass --overwrite"),
        ((*spark, "nonsense"), "begins with one of local, spark://, yarn, k8s://: not 'nonsense'."),
    ):
        found = on_the_command_line(*options)
        assert found.returncode == 2
        assert said in " ".join(found.stderr.split())
        assert ".scala:" not in found.stderr


def test_the_command_line_refuses_options_of_the_other_engine() -> None:
    said = on_the_command_line("--master", "local")
    assert said.returncode == 2
    assert "--master has no effect with --engine polars." in " ".join(said.stderr.split())
