"""Provide judgments and a run for tests on Spark, and functions that send and compare them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.oracles import ODD_IDS, random_case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'rankframe[spark]'")
MARKS = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("java") or os.environ.get("JAVA_HOME")),
        reason="Spark needs Java, which is not installed (Debian: default-jre-headless)",
    ),
    # pyspark 4 does not know pandas 3 yet, and leaves sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SCHEMAS = {
    "relevance": "query_id string, doc_id string, relevance double",
    "score": "query_id string, doc_id string, score double",
}
SHOP = Path(__file__).parents[2] / "data" / "shop"


def table(values: dict[str, dict[str, Any]], number: str) -> pl.DataFrame:
    rows = [(query, doc, float(n)) for query, docs in values.items() for doc, n in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", number], orient="row")


def odd(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with ids that careless comparisons confuse, such as 7 and 07."""
    queries = {f"q{at}": name for at, name in enumerate(ODD_IDS)}
    docs = {f"d{at}": name for at, name in enumerate(ODD_IDS)}
    return frame.with_columns(pl.col("query_id").replace(queries), pl.col("doc_id").replace(docs))


CASE = random_case(8, queries=120)
QRELS, RUN = odd(table(CASE.qrels, "relevance")), odd(table(CASE.run, "score"))
QUERIES = (
    pl.concat([QRELS, RUN], how="diagonal")
    .select(pl.col("query_id").unique().sort())
    .with_row_index("n")
    .select(
        "query_id",
        # null for some
        locale=(pl.col("n") % 4).replace_strict({0: "de", 1: "en", 2: "fr"}, default=None),
        device=pl.when(pl.col("n") % 3 == 0).then(pl.lit("phone")).otherwise(pl.lit("desk")),
        weight=pl.col("n") % 7 + 0.1,
    )
)


def sent(spark: SparkSession, frame: pl.DataFrame) -> DataFrame:
    return spark.createDataFrame(frame.rows(), SCHEMAS[frame.columns[2]])


def assert_same(found: rf.spark.SparkResult, expected: rf.Result) -> None:
    collected = found.to_result()
    for name in ("per_query", "summary", "ledger", "slices"):
        assert_frame_equal(getattr(collected, name), getattr(expected, name), check_exact=True)
    found.unpersist()


def with_row(frame: pl.DataFrame, *row: Any) -> pl.DataFrame:
    return frame.vstack(pl.DataFrame([row], schema=frame.schema, orient="row"))


def in_another_process(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr
