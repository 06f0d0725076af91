"""What Spark's driver does: it sends the work to executors, lets them add up, and raises what they
found wrong.

Whatever grows with the input stays on the executors. What adds up of their partitions is added up
there, in rounds, for each slice by itself, until the last round draws the intervals: what comes
back is a few numbers for each metric and slice.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, NoReturn

import polars as pl

from rankframe.core.columns import GROUP, QUERY, TEXTS
from rankframe.core.errors import (
    BadValueError,
    DuplicateError,
    EmptyInputError,
    MetricParameterError,
    SparkError,
)
from rankframe.core.messages import number_of
from rankframe.core.wording import naming_the_run
from rankframe.engine.combined import Both
from rankframe.engine.job import Job
from rankframe.engine.result import Result
from rankframe.engine.summary import gap_places
from rankframe.engine.work import Piece, Work
from rankframe.spark.inputs import Input
from rankframe.spark.result import SparkResult
from rankframe.spark.session import settings, spark_errors
from rankframe.spark.worker import (
    Task,
    Trouble,
    answer_schema,
    gathered,
    on_executors,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# So many partitions are added up at a time.
_FAN_IN = 32
SETTINGS = {
    # Partitions are as large as they should be.
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Sums of a slice are megabytes: an Arrow array of many would be beyond what one can hold.
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
}
_BUCKET = "bucket"
_DDL = {"double": "double", "int64": "bigint"}
_TROUBLES = ("versions", "bad", "duplicates", "error", "failed")  # the worst first


def do_work(
    sides: Sequence[Input],
    work: Work,
    values: Mapping[str, str],
    finish: Callable[[Piece], Result],
    *,
    partitions: int,
) -> SparkResult:
    """Do the work on every partition once, keep the values there, and sum up.

    `values`: the columns of the values and their Arrow types.
    """
    _refuse_alike(values)
    for side in sides:
        side.refuse_text()
    with spark_errors(), settings(sides[0].frame.sparkSession, SETTINGS):
        answers = _answers(sides, work, values, partitions)
        answers.persist()
        try:
            piece, troubles = gathered(_added_up(answers, work, partitions).collect())
            raise_troubles(troubles)
            _refuse_empty(sides, piece)
            assert piece is not None  # neither side is empty
            result = finish(piece)
        except BaseException:
            answers.unpersist()
            raise
    numbers = [f"v{at}" for at in range(len(values))]
    per_query = answers.where("kind = 0").select(QUERY, *numbers).toDF(QUERY, *values)
    return SparkResult(result, per_query, answers)


def _answers(
    sides: Sequence[Input], work: Work, values: Mapping[str, str], partitions: int
) -> DataFrame:
    """What every partition answers."""
    from pyspark import cloudpickle  # noqa: PLC0415 (an optional part)

    numbers = max(len(side.sent.keys() - TEXTS) for side in sides)
    groups = any(GROUP in side.sent for side in sides)
    tagged = [side.tagged(at, numbers, groups=groups) for at, side in enumerate(sides)]
    both = functools.reduce(lambda one, other: one.unionAll(other), tagged)
    sent = tuple((side.scanned.role, side.sent) for side in sides)
    payload = cloudpickle.dumps(Task(work, sent))
    function = on_executors("evaluated", payload, answer_schema(values), versions())
    columns = ", ".join(f"v{at} {_DDL[kind]}" for at, kind in enumerate(values.values()))
    return sent_by(both, f"xxhash64({QUERY})", partitions).mapInArrow(
        function, f"kind tinyint, {QUERY} string, {columns}, rest binary"
    )


def _added_up(answers: DataFrame, work: Work, partitions: int) -> DataFrame:
    """What adds up, of each slice once, with its intervals drawn."""
    from pyspark import cloudpickle  # noqa: PLC0415 (an optional part)

    settle = cloudpickle.dumps((work.plan.metrics, work.intervals, _kept(work)))
    sums = answers.where("kind <> 0").select("kind", QUERY, "rest")
    while True:
        # Of each slice, so many sums are left after this round.
        left = math.ceil(partitions / _FAN_IN)
        payload = settle if left == 1 else b""
        function = on_executors("added_up", payload, answer_schema({}), versions())
        key = f"xxhash64({QUERY}, spark_partition_id() % {left})"
        sums = sent_by(sums, key, partitions).mapInArrow(
            function, f"kind tinyint, {QUERY} string, rest binary"
        )
        if left == 1:
            return sums
        partitions = left


def _kept(work: Work) -> dict[int, set[int]]:
    """Of which metrics the replicates of slices are needed here, by the way of slicing."""
    if not isinstance(work, Job | Both) or work.attributes is None:
        return {}
    return gap_places(work.asked, work.plan.metrics, [by for by, _ in work.attributes.slices])


def sent_by(rows: DataFrame, key: str, partitions: int) -> DataFrame:
    """Rows with the same key in the same one of so many partitions."""
    bucket = f"cast(pmod({key}, {partitions}L) as int) as {_BUCKET}"
    return rows.selectExpr("*", bucket).repartitionById(partitions, _BUCKET).drop(_BUCKET)


def versions() -> dict[str, str]:
    """What must be the same on all machines for the bits to be."""
    from rankframe import __version__  # noqa: PLC0415 (this module is part of it)

    return {"rankframe": __version__, "polars": pl.__version__}


def raise_troubles(troubles: Sequence[Trouble]) -> None:
    """Say of the whole input what partitions found wrong."""
    if not troubles:
        return
    kind = min((one["is"] for one in troubles), key=_TROUBLES.index)
    some = [one for one in troubles if one["is"] == kind]
    first = min(some, key=lambda one: (one.get("order", ()), str(one.get("example", one))))
    alike = [one for one in some if one.get("order") == first.get("order")]
    with naming_the_run(first["run"]) if "run" in first else nullcontext():
        _raise_one(kind, first, alike)


def _raise_one(kind: str, first: Trouble, alike: Sequence[Trouble]) -> NoReturn:
    match kind:
        case "versions":
            raise SparkError(_other_versions(first["found"]))
        case "bad":
            count = sum(one["count"] for one in alike)
            raise BadValueError(
                first["role"], first["problem"], count, first["example"], first["advice"]
            )
        case "duplicates":
            count = sum(one["count"] for one in alike)
            raise DuplicateError(first["role"], count, first["example"], [])
        case "error":
            raise first["error"]
        case _:
            raise SparkError(
                f"a partition with {number_of(first['queries'], 'query')}, one of them "
                f"{first['query']!r}, failed: {first['message']}"
            )


def _other_versions(found: Mapping[str, str | None]) -> str:
    here = ", ".join(f"{name} {version}" for name, version in versions().items())
    there = ", ".join(
        f"no {name}" if version is None else f"{name} {version}" for name, version in found.items()
    )
    return (
        f"an executor has {there}; here it is {here}. "
        "Install the same versions there: pip install 'rankframe[spark]'."
    )


def _refuse_alike(labels: Iterable[str]) -> None:
    """Columns of Spark must differ in more than case."""
    seen = {QUERY: QUERY}
    for label in labels:
        other = seen.setdefault(label.lower(), label)
        if other != label:
            raise MetricParameterError(
                f"Spark takes {other!r} and {label!r} for the same column: leave one of them out."
            )


def _refuse_empty(sides: Sequence[Input], piece: Piece | None) -> None:
    """Refuse a side without rows, where nobody counted them before: one of two, or the run."""
    counted = piece.counts.rows if piece else (0, 0)
    runs = [side for side in sides if side.scanned.role == "run"]
    pairs = [(sides[0], counted[0])] if len(sides) == 2 else []
    for side, rows in [*pairs, ((runs or sides[1:])[0], counted[1])]:
        if not rows:
            raise EmptyInputError(side.scanned.role, side.scanned.name)
