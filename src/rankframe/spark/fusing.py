"""`fuse` on a Spark cluster: the rows of a query of all runs are in one partition, and are fused
there as on one machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from rankframe.analysis.fusion.fuse import fuse_partitions
from rankframe.analysis.fusion.names import MethodLike, Weights, resolve
from rankframe.analysis.fusion.options import FusionPolicies, SparkFuseOptions
from rankframe.analysis.fusion.registry import Method
from rankframe.analysis.fusion.runs import ROW_BYTES, LoadedRuns, named_runs, unscored
from rankframe.core.columns import DOC, QUERY, RANK, SCORE
from rankframe.core.errors import OutputError, RankframeError
from rankframe.core.messages import Option
from rankframe.core.options import takes_options
from rankframe.core.wording import naming_the_run
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.inputs import (
    Columns,
    Source,
    in_units,
    open_judgments,
    refuse_absent_columns,
    units_of,
)
from rankframe.io.opening import open_table
from rankframe.spark.driver import SETTINGS, map_partitions, raise_problems, select_values
from rankframe.spark.entry import check_partitions, partitions_for
from rankframe.spark.fold_training import hits_on_spark
from rankframe.spark.inputs import Input, open_input, refuse_row_order
from rankframe.spark.session import find_session, settings, spark_errors
from rankframe.spark.worker import PROBLEM, Answer, read_answers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COLUMNS = {DOC: "string", RANK: "int64", SCORE: "double"}


@dataclass(frozen=True)
class SparkRun:
    """A fused run that is kept on the cluster.

    frame: a Spark DataFrame: query_id, doc_id, rank, score, in no order.
    """

    frame: DataFrame
    kept: DataFrame = field(repr=False)

    def to_polars(self) -> pl.DataFrame:
        """The run on this machine, as `rf.fuse` gives it: by query and rank."""
        with spark_errors():
            return pl.DataFrame(self.frame.toArrow()).sort(QUERY, RANK)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write Parquet to any place that Spark can write to, a file a partition."""
        place = os.path.expanduser(os.fspath(path)).rstrip("/")  # noqa: PTH111 (as elsewhere)
        try:
            with spark_errors():
                self.frame.write.mode("overwrite" if overwrite else "error").parquet(place)
        except RankframeError as error:
            if "PATH_ALREADY_EXISTS" in str(error):
                raise OutputError(
                    f"{place} is there already. Pass ",
                    Option("overwrite", value=True),
                    " to replace it.",
                ) from None
            raise OutputError(f"cannot write {place}: {error}") from None

    def unpersist(self) -> None:
        """Let the cluster forget the run; it is fused again if it is used."""
        self.kept.unpersist()


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
        qrels: judgments for methods that are trained, likewise.
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
    sides: dict[str, Input] = {}
    for name, source in named.items():
        with naming_the_run(repr(name)):
            sides[name] = open_input(
                source,
                session,
                lambda frame: open_table(frame, "run", columns, ranks=policies.ranks),
                "run",
            )
            refuse_row_order(sides[name], policies.ties, policies.order)
    judged = [] if qrels is None else [_judgments(qrels, session, columns, policies.relevance)]
    opened = {name: side.scanned for name, side in sides.items()}
    refuse_absent_columns(columns, *opened.values(), *(side.scanned for side in judged))
    chosen.refuse_unscored(unscored(opened))
    for name, side in sides.items():
        with naming_the_run(repr(name)):
            side.refuse_text()
            side.count()
    inputs = list(sides.values())
    parts = partitions or partitions_for(session, inputs, [ROW_BYTES] * len(inputs))
    for judgments in judged:
        chosen = chosen.train(hits_on_spark(chosen, judgments, sides, policies, parts))
    names = tuple(sides)
    with spark_errors(), settings(session, SETTINGS):
        work = FusePartition(names, chosen, policies)
        answers = map_partitions(inputs, work, _COLUMNS, parts, names)
        answers.persist()
        try:
            problems = answers.where(f"kind = {PROBLEM}").select("kind", QUERY, "rest").collect()
            raise_problems(read_answers(problems)[1])
        except BaseException:
            answers.unpersist()
            raise
    return SparkRun(select_values(answers, _COLUMNS), answers)


def _judgments(
    qrels: Source, session: SparkSession, columns: Columns | None, relevance: float | None
) -> Input:
    opened = open_input(
        qrels, session, lambda frame: open_judgments(frame, columns, relevance=relevance), "qrels"
    )
    opened.refuse_text()
    opened.count()
    return opened


@dataclass(frozen=True)
class FusePartition:
    """Fuse the queries of a partition."""

    # of the runs, in their order
    names: tuple[str, ...]
    method: Method
    policies: FusionPolicies

    def answer(self, frames: Sequence[pl.DataFrame]) -> Answer:
        """Return the fused run."""
        parts = {
            name: part_of(frame, "run") for name, frame in zip(self.names, frames, strict=True)
        }
        if (unit := self.policies.unit) is not None:
            parts = {name: _in_units(name, part, unit) for name, part in parts.items()}
        runs = LoadedRuns.read(parts, self.policies)
        return Answer(next(fuse_partitions(runs, self.method)))


def _in_units(name: str, part: InputTable, unit: Any) -> InputTable:
    """Roll the documents of a part of a run up to their units."""
    with naming_the_run(repr(name)):
        return part_of(in_units(part, unit).frame.collect(), "run")
