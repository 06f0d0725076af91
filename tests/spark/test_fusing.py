"""The same bits of a fused run on Spark as on one machine, and the same errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.errors import OptionError, OutputError, RankframeError
from rankframe.spark.fusing import fuse
from tests.support.fusing import random_runs
from tests.support.on_spark import MARKS, sent

pytestmark = MARKS

RUNS = random_runs(11, 3)
METHODS: list[tuple[Any, dict[str, Any]]] = [
    ("rrf", {"k_max": 5}),
    ("wsum", {"weights": {"run 2": 0.2, "run 0": 0.7, "run 1": 0.1}, "norm": "zmuv"}),
    ("condorcet", {"depth": 4}),
    (pl.col("normalised").sum() / pl.col("runs_with").first(), {"ties": "doc_asc"}),
]


def on_spark(spark: Any, runs: dict[str, pl.DataFrame]) -> dict[str, Any]:
    return {name: sent(spark, run) for name, run in runs.items()}


@pytest.mark.parametrize("at", range(len(METHODS)))
def test_the_bits_of_one_machine(spark, at: int) -> None:
    method, how = METHODS[at]
    expected = rf.fuse(RUNS, method, **how).collect()
    found = fuse(on_spark(spark, RUNS), method, partitions=3, **how)
    assert found.to_polars().equals(expected)
    found.unpersist()


def test_what_is_trained_and_units_have_the_bits_of_one_machine(spark, message) -> None:
    few = RUNS["run 2"].filter(pl.col("query_id") > "q3")
    runs = {**RUNS, "run 2": few}
    some = pl.concat(list(RUNS.values())).select("query_id", "doc_id").unique()
    judged = some.filter(pl.struct(pl.all()).hash(5) % 3 == 0).with_columns(
        relevance=(pl.col("doc_id").hash(6) % 3).cast(pl.Float64)
    )
    # a query that no run has, and one that nobody judged
    judged = pl.concat([judged, judged.head(1).with_columns(query_id=pl.lit("alone"))])
    judged = judged.filter(pl.col("query_id") != RUNS["run 0"]["query_id"][0])
    unit = pl.col("doc_id").str.slice(0, 2)
    here, qrels = on_spark(spark, runs), sent(spark, judged)
    in_units = judged.with_columns(unit).unique(["query_id", "doc_id"], keep="any")
    cases: list[tuple[str, dict[str, Any]]] = [
        ("mapfuse", {}), ("posfuse", {"rel": 2}), ("slidefuse(window=2)", {"depth": 5}),
        ("probfuse(segments=3)", {}), ("segfuse", {"norm": "zmuv"}), ("bayesfuse", {}),
    ]  # fmt: skip
    for method, how in cases:
        expected = rf.fuse(runs, method, qrels=judged, **how).collect()
        found = fuse(here, method, qrels=qrels, partitions=4, **how)
        assert found.to_polars().equals(expected), method
        found.unpersist()
    for method, how in (("rrf", {}), ("posfuse", {"qrels": in_units})):
        of = {"unit": unit, "unit_ranks": "kept"}
        expected = rf.fuse(runs, method, **how, **of).collect()
        there = {name: sent(spark, frame) for name, frame in how.items()}
        found = fuse(here, method, partitions=2, **there, **of)
        assert found.to_polars().equals(expected), method
        found.unpersist()
    twice = sent(spark, pl.concat([judged, judged[:7]]))
    with pytest.raises(RankframeError) as wrong:
        fuse(here, "posfuse", qrels=twice, partitions=2)
    message(str(wrong.value))


def test_paths_and_outputs(spark, tmp_path: Path, message) -> None:
    paths = [tmp_path / f"{n}.parquet" for n in range(2)]
    for path, run in zip(paths, RUNS.values(), strict=False):
        run.write_parquet(path)
    found = fuse([str(path) for path in paths], spark=spark)
    target = tmp_path / "fused"
    found.write(target)
    expected = rf.fuse(paths).collect()
    assert pl.read_parquet(target / "*.parquet").sort("query_id", "rank").equals(expected)
    with pytest.raises(OutputError) as refused:
        found.write(target)
    message(str(refused.value))
    found.write(target, overwrite=True)


def test_what_is_refused(spark) -> None:
    runs = on_spark(spark, RUNS)
    cases: list[tuple[dict[str, Any], str, dict[str, Any], str]] = [
        (runs, "mapfuse", {}, "mapfuse is trained on judgments. Pass them with qrels="),
        (runs, "rrf", {"qrels": runs}, "is for trained methods, and rrf is not"),
        (runs, "rff", {}, "unknown method 'rff'"),
        (runs, "rrf", {"ties": "as_given"}, "has no meaning on Spark"),
        (runs, "rrf", {"partitions": 0}, "partitions must be"),
    ]
    for given, method, how, said in cases:
        with pytest.raises(OptionError) as found:
            fuse(given, method, **how)
        assert said in str(found.value)


def test_mistakes_are_said_of_the_run(spark) -> None:
    name = "run 1"
    twice = {**RUNS, name: pl.concat([RUNS[name], RUNS[name][:30]])}
    null = {**RUNS, name: RUNS[name].with_columns(score=pl.lit(float("nan")))}
    empty = {**RUNS, name: RUNS[name].clear()}
    for runs, said in (
        (twice, "run 'run 1' has 30 duplicate (query_id, doc_id) pairs"),
        (null, f"run 'run 1' has {RUNS[name].height} rows with a NaN score"),
        (empty, "run 'run 1' is empty"),
    ):
        with pytest.raises(RankframeError) as found:
            fuse(on_spark(spark, runs), partitions=3)
        assert said in str(found.value)
