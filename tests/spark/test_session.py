"""Sessions of Spark: what they need, what they give up on, and settings for a while."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rankframe.core.errors import SparkError
from rankframe.spark.session import is_spark_frame, settings, spark_errors
from tests.support.on_spark import MARKS, in_another_process

pytestmark = MARKS

START = """
import rankframe as rf
try:
    rf.spark.evaluate("a", "b", "map")
except rf.RankframeError as error:
    print(type(error).__name__, error)
"""


def test_without_java_it_says_so(tmp_path: Path, message) -> None:
    said = in_another_process(START, PATH="/nowhere", JAVA_HOME=str(tmp_path))
    message(said)


def test_without_pyspark_it_says_so(message) -> None:
    said = in_another_process("import sys; sys.modules['pyspark'] = None" + START)
    message(said)


def test_settings_hold_for_a_while(spark) -> None:
    name, other = "spark.sql.shuffle.partitions", "spark.rankframe.test"
    with settings(spark, {name: "3", other: "x"}):
        assert (spark.conf.get(name), spark.conf.get(other)) == ("3", "x")
    assert (spark.conf.get(name), spark.conf.get(other, None)) == ("2", None)


def test_what_spark_gives_up_on_is_said_in_one_line(spark) -> None:
    with pytest.raises(SparkError) as caught, spark_errors():
        spark.sql("select nonsense from nowhere")
    assert str(caught.value).startswith("Spark gave up: ")
    assert "\n" not in str(caught.value)


def test_only_frames_of_spark_are_taken_for_such(spark) -> None:
    assert is_spark_frame(spark.range(1))
    assert not any(map(is_spark_frame, (pl.DataFrame(), "x.parquet", None, spark)))
