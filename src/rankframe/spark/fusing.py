"""Fuse runs on a Spark cluster, with the same bits as on one machine.

All rows of a query, of all runs, are in one partition, and are fused there by the code for one
machine. A method that needs training is trained on counts that are summed over all partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

import polars as pl

from rankframe.analysis.fusion.fuse import fuse_partitions
from rankframe.analysis.fusion.names import MethodLike, Weights, resolve
from rankframe.analysis.fusion.options import FusionPolicies, SparkFuseOptions
from rankframe.analysis.fusion.registry import Method
from rankframe.analysis.fusion.runs import ROW_BYTES, LoadedRuns, named_runs, unscored
from rankframe.analysis.fusion.training import judge_runs
from rankframe.core.columns import DOC, QUERY, RANK, SCORE
from rankframe.core.errors import in_vocabulary, naming_the_run
from rankframe.core.options import takes_options
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.inputs import Columns, Source, refuse_absent_columns, units_of
from rankframe.spark.driver import (
    check_partitions,
    kept_answers,
    merged_sums,
    partitions_for,
    read_answers,
    select_values,
)
from rankframe.spark.inputs import Input, open_qrels, open_run
from rankframe.spark.result import SparkRun
from rankframe.spark.session import find_session
from rankframe.spark.worker import PROBLEM, Answer, run_part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = {DOC: "string", RANK: "int64", SCORE: "double"}


@takes_options(SparkFuseOptions, FusionPolicies)
def fuse(
    runs: Mapping[str, Source] | Sequence[Source],
    method: MethodLike = "rrf",
    *,
    norm: str | None = None,
    weights: Weights | None = None,
    qrels: Source | None = None,
    spark: SparkSession | None = None,
    partitions: int | None = None,
    columns: Columns | None = None,
    **options: Unpack[SparkFuseOptions],
) -> SparkRun:
    """Fuse several runs on Spark: the scores of `rf.fuse`, to the last bit.

    Rows have no order on Spark: `ties="as_given"` is refused, and so is a run with neither score
    nor rank. The fused run is kept on the cluster until its `unpersist` is called or the session
    ends.

    Args:
        runs: Spark DataFrames, or paths to Parquet that the executors can read, by name or in a
            list.
        method: as in `rf.fuse`.
        norm: as in `rf.fuse`.
        weights: as in `rf.fuse`.
        qrels: judgments for trained methods: a Spark DataFrame or a path to Parquet.
        spark: the session (default: that of the inputs, the active one, or a new one).
        partitions: the number of partitions (default: about a million rows each).
        columns: names in your data, as in `rf.evaluate`.
    """
    policies = FusionPolicies.from_options(options)
    if not isinstance(policies.unit, pl.Expr | None):
        policies = replace(policies, unit=units_of(policies.unit))  # sent to every executor
    named = named_runs(runs)
    chosen = resolve(method, list(named), norm=norm, weights=weights)
    chosen.check_judged(judged=qrels is not None)
    check_partitions(partitions)
    session = find_session(spark, [*named.values(), *([] if qrels is None else [qrels])])
    runs_by_name: dict[str, Input] = {}
    for name, source in named.items():
        with naming_the_run(repr(name)):
            run = open_run(source, session, columns, policies)
        runs_by_name[name] = replace(run, run=repr(name))
    judged = None if qrels is None else open_qrels(qrels, session, columns, policies.relevance)
    opened = {name: side.scanned for name, side in runs_by_name.items()}
    refuse_absent_columns(columns, *opened.values(), *([judged.scanned] if judged else []))
    chosen.refuse_unscored(unscored(opened))
    inputs = list(runs_by_name.values())
    for side in inputs:
        with naming_the_run(side.run):
            side.refuse_text()
            _ = side.rows  # refuses an input without rows
    parts = partitions or partitions_for(inputs, [ROW_BYTES] * len(inputs))
    if judged is not None:
        judged.refuse_text()
        _ = judged.rows
        count = partial(count_hits, list(named), chosen.definition.name, policies)
        with kept_answers([judged, *inputs], count, {}, parts) as answers:
            hits = dict(merged_sums(answers, parts))
            answers.unpersist()
        chosen = chosen.train([hits[number] for number in range(len(inputs))])
    work = partial(_fuse_partition, list(named), chosen, policies)
    with (
        in_vocabulary(inputs[0].scanned.vocabulary),
        kept_answers(inputs, work, _COLUMNS, parts) as answers,
    ):
        read_answers(answers.where(f"kind = {PROBLEM}").select("kind", QUERY, "rest").collect())
    return SparkRun(select_values(answers, _COLUMNS), answers)


def _fuse_partition(
    names: Sequence[str],
    method: Method,
    policies: FusionPolicies,
    frames: Sequence[pl.DataFrame],
) -> Answer:
    """Fuse the queries of a partition."""
    runs = LoadedRuns(_parts(names, policies, frames), policies)
    return Answer(next(fuse_partitions(runs, method)))


def count_hits(
    names: Sequence[str], method: str, policies: FusionPolicies, frames: Sequence[pl.DataFrame]
) -> Answer:
    """Return the counts of a partition that a trained method learns from, keyed by number of run.

    The counts are exact: their sums over partitions do not depend on the order of partitions.
    """
    qrels, *runs = frames
    if qrels.is_empty():
        return Answer(None)
    parts = _parts(names, policies, runs)
    judged = judge_runs(part_of(qrels, "qrels"), parts, policies, method)
    return Answer(None, [(number, run.count()) for number, run in enumerate(judged)])


def _parts(
    names: Sequence[str], policies: FusionPolicies, frames: Sequence[pl.DataFrame]
) -> dict[str, InputTable]:
    """Return the rows of each run as an input, by the name of the run."""
    return {
        name: run_part(frame, policies.unit, repr(name))
        for name, frame in zip(names, frames, strict=True)
    }
