"""Run evaluations on Spark from the driver: send work to executors, merge sums, raise errors.

Data whose size grows with the input stays on the executors. They merge the sums of their partitions
in several rounds, separately for each slice. The last round computes the confidence intervals. The
driver receives a few numbers for each metric and slice.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import polars as pl

from rankframe.core.columns import DOC, QUERY
from rankframe.core.errors import (
    EmptyInputError,
    MetricParameterError,
    SparkError,
    in_vocabulary,
)
from rankframe.core.options import COUNT, PairPolicies, Policies
from rankframe.engine.accumulator import SliceKey, SliceSums
from rankframe.engine.evaluation import Evaluation
from rankframe.engine.finish import finish, replicates_for_gaps
from rankframe.engine.pair_evaluation import PAIR_COUNTS, PairEvaluation
from rankframe.io.memory import long_ids
from rankframe.spark.inputs import Input
from rankframe.spark.result import SparkResult
from rankframe.spark.session import settings, spark_errors
from rankframe.spark.worker import (
    OTHER_VERSIONS,
    PROBLEM,
    SIDE,
    VALUES,
    Problem,
    SentSide,
    SumsKey,
    Task,
    Work,
    answer_schema,
    evaluate_partition,
    on_executors,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Size of a partition, as the bytes that `rf.evaluate` would need for its rows: about a million
# retrieved documents with short ids. The Python worker also holds some copies of the rows.
_BYTES_PER_PARTITION = 140_000_000
# If cores would be idle, partitions are smaller than that, but not smaller than this: starting a
# partition would then cost more than it saves.
_FEWEST_ROWS = 100_000
_SAMPLE = 1_000
# The number of partitions whose sums are merged in one task.
_FAN_IN = 32
SETTINGS = {
    # Partitions already have the right size.
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # The sums of a slice take megabytes: an Arrow array of many of them would exceed its limit.
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
}
_BUCKET = "bucket"
_DDL = {"double": "double", "int64": "bigint", "string": "string"}


def evaluate_on_cluster(
    sides: Sequence[Input],
    evaluation: Evaluation,
    left: Input | None,
    right: Input,
    *,
    partitions: int | None,
    policies: Policies | PairPolicies,
) -> SparkResult:
    """Evaluate every partition once, cache the values on executors, and finish the merged sums.

    Args:
        sides: the inputs whose rows are sent to executors.
        evaluation: the evaluation that executors run on each partition.
        left: the judgments, if there are any, or the first of two rankings.
        right: the run, or the second ranking.
        partitions: the number of partitions; None: derived from the memory of workers.
        policies: the user's policies, for the ledger. Executors do not receive their tables.
    """
    if partitions is None:
        partitions = partitions_for(sides, evaluation.row_bytes)
    pairs = PAIR_COUNTS if isinstance(evaluation, PairEvaluation) else ()
    values = {**dict.fromkeys(pairs, "int64"), **dict.fromkeys(evaluation.labels, "double")}
    _refuse_alike(values)
    for side in sides:
        side.refuse_text()
    work = partial(evaluate_partition, evaluation, [side.scanned.role for side in sides])
    averages = evaluation.averages
    last_round = averages.metrics, averages.intervals, replicates_for_gaps(evaluation)
    opened = None if left is None else left.scanned, right.scanned
    with (
        in_vocabulary(evaluation.vocabulary(opened)),
        kept_answers(sides, work, values, partitions) as answers,
    ):
        accumulator = evaluation.empty()
        parts: dict[SliceKey, list[SliceSums]] = {}
        for key, content in merged_sums(answers, partitions, last_round):
            if isinstance(key, tuple):
                parts.setdefault(key[0], []).append(content)
            else:
                accumulator.counts = content
        _refuse_empty(sides, accumulator.counts.rows)
        accumulator.slices = {key: SliceSums.unite(shares) for key, shares in parts.items()}
        evaluated = replace(evaluation, policies=policies)
        result = finish(evaluated, accumulator, opened, partial(_find_ids, left, right))
    return SparkResult(result, select_values(answers, values), answers)


def _find_ids(left: Input | None, right: Input, key: str) -> tuple[list[str], list[str]]:
    """Return a few ids of both inputs for an error; for documents, of queries that both have."""
    assert left is not None  # errors about ids need two inputs
    shared = (left, right) if key == DOC else (None, None)
    return left.some_ids(key, shared[1]), right.some_ids(key, shared[0])


def check_partitions(partitions: int | None) -> None:
    """Refuse an invalid number of partitions."""
    if partitions is not None:
        COUNT.refuse("partitions", partitions)


def partitions_for(sides: Sequence[Input], row_bytes: Sequence[int]) -> int:
    """Return the number of partitions that fits workers' memory and keeps all cores busy."""
    rows = [side.rows for side in sides]
    sizes = [*row_bytes, row_bytes[0], row_bytes[0]][: len(rows)]
    need = sum(
        count * (size + long_ids(side.id_lengths(_SAMPLE)))
        for side, count, size in zip(sides, rows, sizes, strict=True)
    )
    cores = 1
    with suppress(Exception):  # Spark Connect does not expose this
        cores = sides[0].frame.sparkSession.sparkContext.defaultParallelism
    busy = min(cores, math.ceil(sum(rows) / _FEWEST_ROWS))
    return max(math.ceil(need / _BYTES_PER_PARTITION), busy, 1)


@contextmanager
def kept_answers(
    sides: Sequence[Input], work: Work, columns: Mapping[str, str], partitions: int
) -> Iterator[DataFrame]:
    """Run `map_partitions`, and cache its result on the cluster; drop it if the block raises."""
    with spark_errors(), settings(sides[0].frame.sparkSession, SETTINGS):
        answers = map_partitions(sides, work, columns, partitions)
        answers.persist()
        try:
            yield answers
        except BaseException:
            answers.unpersist()
            raise


def map_partitions(
    sides: Sequence[Input], work: Work, columns: Mapping[str, str], partitions: int
) -> DataFrame:
    """Send the rows of all inputs to executors, and process them partition by partition.

    Args:
        sides: the inputs; all rows of a query are in the same partition.
        work: processes the rows of one partition.
        columns: the names of the value columns, and their Arrow types.
        partitions: the number of partitions.
    """
    from pyspark import cloudpickle  # noqa: PLC0415 (an optional part)

    # A tag column says which input a row is from. Nulls do not: a null may be an error in the data.
    tagged = [
        side.canonical.selectExpr(f"cast({number} as tinyint) as {SIDE}", "*")
        for number, side in enumerate(sides)
    ]
    rows = reduce(lambda rows, other: rows.unionByName(other, allowMissingColumns=True), tagged)
    sent = [SentSide(side.scanned.role, list(side.scanned.mapping), side.run) for side in sides]
    payload = cloudpickle.dumps(Task(work, tuple(sent)))
    function = on_executors("work_on_partition", payload, answer_schema(columns), versions())
    values = "".join(f"v{number} {_DDL[kind]}, " for number, kind in enumerate(columns.values()))
    return _repartitioned(rows, f"xxhash64({QUERY})", partitions).mapInArrow(
        function, f"kind tinyint, {QUERY} string, {values}rest binary"
    )


def select_values(answers: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    """Select the values per query from the answers of executors, and name their columns."""
    numbers = [f"v{number}" for number in range(len(columns))]
    return answers.where(f"kind = {VALUES}").select(QUERY, *numbers).toDF(QUERY, *columns)


def merged_sums(
    answers: DataFrame, partitions: int, last_round: object = None
) -> list[tuple[SumsKey, Any]]:
    """Merge the sums of all partitions, in rounds on the cluster; raise the errors of executors.

    `last_round`: what the last round needs to compute the intervals of slices: the metrics, the
    options of intervals, and the metrics whose replicates are kept for gaps.
    """
    from pyspark import cloudpickle  # noqa: PLC0415 (an optional part)

    sums = answers.where(f"kind <> {VALUES}").select("kind", QUERY, "rest")
    while True:
        # The number of tasks per key in this round, and so of sums that are left after it.
        left = math.ceil(partitions / _FAN_IN)
        payload = cloudpickle.dumps(last_round) if left == 1 else b""
        function = on_executors("merge_sums", payload, answer_schema({}), versions())
        key = f"xxhash64({QUERY}, spark_partition_id() % {left})"
        sums = _repartitioned(sums, key, partitions).mapInArrow(
            function, f"kind tinyint, {QUERY} string, rest binary"
        )
        if left == 1:
            return read_answers(sums.collect())
        partitions = left


def read_answers(rows: Iterable[Any]) -> list[tuple[SumsKey, Any]]:
    """Return the sums that executors sent, or raise their worst problem, with counts over all."""
    sums: list[tuple[SumsKey, Any]] = []
    problems: list[Problem] = []
    for row in rows:
        key, content = pickle.loads(row["rest"])  # noqa: S301 (an executor of ours sent it)
        if row["kind"] != PROBLEM:
            sums.append((key, content))
        elif isinstance(content, Problem):
            problems.append(content)
        else:  # written without rankframe
            problems.append(Problem((OTHER_VERSIONS,), SparkError(_other_versions(content))))
    if not problems:
        return sums
    # Among equally bad problems, the first by text: the order of partitions must not matter.
    first = min(problems, key=lambda problem: (problem.order, str(problem.error)))
    error = first.error
    if isinstance(error, partial):
        error = error(count=sum(p.count for p in problems if p.order == first.order))
        error.run = first.run
    raise error


def _repartitioned(rows: DataFrame, key: str, partitions: int) -> DataFrame:
    """Distribute rows over partitions by key."""
    bucket = f"cast(pmod({key}, {partitions}L) as int) as {_BUCKET}"
    return rows.selectExpr("*", bucket).repartitionById(partitions, _BUCKET).drop(_BUCKET)


def versions() -> dict[str, str]:
    """Return the versions that must be equal on all machines, so that all compute the same bits."""
    from rankframe import __version__  # noqa: PLC0415 (this module is part of it)

    return {"rankframe": __version__, "polars": pl.__version__}


def _other_versions(found: Mapping[str, str | None]) -> str:
    """Return the error text for an executor whose versions differ; None means not installed."""
    here = ", ".join(f"{name} {version}" for name, version in versions().items())
    there = ", ".join(
        f"no {name}" if version is None else f"{name} {version}" for name, version in found.items()
    )
    return (
        f"an executor has {there}; here it is {here}. "
        "Install the same versions there: pip install 'rankframe[spark]'."
    )


def _refuse_alike(labels: Iterable[str]) -> None:
    """Refuse columns that differ only in case, which Spark ignores."""
    columns = {QUERY: QUERY}
    for label in labels:
        other = columns.setdefault(label.lower(), label)
        if other != label:
            raise MetricParameterError(
                f"Spark takes {other!r} and {label!r} for the same column: leave one of them out."
            )


def _refuse_empty(sides: Sequence[Input], rows: tuple[int, int]) -> None:
    """Refuse an input without rows: the first of two inputs, or the run."""
    runs = [side for side in sides if side.scanned.role == "run"]
    pairs = [(sides[0], rows[0])] if len(sides) == 2 else []
    for side, count in [*pairs, ((runs or sides[1:])[0], rows[1])]:
        if not count:
            raise EmptyInputError(side.scanned.role, side.scanned.name)
