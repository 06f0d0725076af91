"""The same evaluation on a Spark cluster: the same code on every partition, the same bits. Needs
the extra `spark`, there and here.

Rows of both inputs are sent to the same partition by a hash of query_id. Each partition is a piece
of the evaluation as any other (`piece.py`); what adds up is added up here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from rankframe import errors
from rankframe.agree import DEFAULT_METRICS as PAIR_METRICS
from rankframe.agree import PAIR_COUNTS, Agreement, pair_plan, pairs_summed_up
from rankframe.attributes import By, read_attributes
from rankframe.columns import DOC, QUERY
from rankframe.errors import (
    BadValueError,
    DuplicateError,
    EmptyInputError,
    NoOverlapError,
    OptionError,
    RankframeError,
    SparkError,
)
from rankframe.evaluate import DEFAULT_METRICS, refuse_grades, refuse_whole_input, summed_up
from rankframe.intervals import Intervals, Method
from rankframe.names import resolve
from rankframe.piece import Job, Piece, Work
from rankframe.plan import compile_plan
from rankframe.policies import (
    Lone,
    Missing,
    NoOverlap,
    NoRelevant,
    PairPolicies,
    Policies,
    Unshared,
    is_count,
)
from rankframe.rank import Ties
from rankframe.read import Columns, Scanned, Source, scan, scan_ranking
from rankframe.result import Result
from rankframe.spark_inputs import (
    Input,
    find_session,
    first_row,
    is_spark_frame,
    open_input,
    refuse_row_order,
    spark_errors,
)
from rankframe.spark_result import SparkResult
from rankframe.spark_worker import Task, Trouble, answer_schema, gathered, on_executors
from rankframe.validate import Duplicates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkResult", "agree", "evaluate"]

# A partition of so many rows takes some 0.6 GB in its Python worker.
ROWS_PER_PARTITION = 1_000_000
# Where cores are free, partitions may be smaller, down to where starting one costs more.
_FEWEST_ROWS = 100_000
# What adds up of more partitions than these is added up on executors first.
_FAN_IN = 32
_SAMPLE = 1_000
_SETTINGS = {
    # Partitions are as large as they should be.
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}
_BUCKET = "bucket"
_ORDER = ("versions", "bad", "duplicates", "error", "failed")


def evaluate(
    qrels: Source,
    run: Source,
    metrics: str | pl.Expr | Iterable[str | pl.Expr] = DEFAULT_METRICS,
    *,
    spark: SparkSession | None = None,
    partitions: int | None = None,
    columns: Columns | None = None,
    rel: float | None = None,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    no_overlap: NoOverlap = "error",
    ties: Ties = "doc_desc",
    duplicates: Duplicates = "error",
    k_max: int | None = None,
    judged_only: bool = False,
    queries: Source | None = None,
    by: By | Sequence[By] | None = None,
    weight: str | None = None,
    ci: Method | None = "bootstrap",
    confidence: float = 0.95,
    replicates: int = 1_000,
    seed: int = 0,
) -> SparkResult:
    """Evaluate a run against judgments on Spark: the numbers of `rf.evaluate`, to the last bit.

    qrels, run: Spark DataFrames (of a classic session or of Spark Connect), or paths to Parquet
        that the executors can read.
    spark: the session; else that of the inputs, the active one, or a new one.
    partitions: how many; by default about a million rows each.
    queries: what is known of queries, in any form that `rf.evaluate` reads, or as a Spark
        DataFrame; it is sent to every executor.

    All else is as in `rf.evaluate`. Rows have no order on Spark: `ties="as_given"` is refused, and
    so is a run with neither score nor rank. The values are kept on the cluster until the result's
    `unpersist` is called or the session ends.
    """
    wanted = resolve(metrics)
    policies = Policies(rel, missing, no_relevant, no_overlap, ties, duplicates, k_max, judged_only)
    intervals = Intervals(ci, confidence, replicates, seed)
    plan = compile_plan(wanted)
    refuse_whole_input(plan)
    _check_partitions(partitions)
    session = find_session(spark, (qrels, run))
    known = _collected(queries) if is_spark_frame(queries) else queries
    attributes = read_attributes(known, by=by, weight=weight, metrics=wanted, columns=columns)
    sides = (
        open_input(qrels, session, _named(qrels, lambda f: scan(f, "qrels", columns)), "qrels"),
        open_input(run, session, _named(run, lambda f: scan(f, "run", columns)), "run"),
    )
    refuse_row_order(sides[1], ties)
    rows, highest = _grades(sides[0])

    def without_gain(known: Sequence[float]) -> tuple[int, float | None]:
        listed = ", ".join(f"double('{grade!r}')" for grade in known)
        bad = sides[0].rows().where(f"n0 > 0 and n0 not in ({listed})")
        count, example = first_row(bad.selectExpr("count(1)", "min(n0)"))
        return count, example

    refuse_grades(wanted, highest, without_gain)
    job = Job(plan, policies, highest, attributes, intervals)
    values = dict.fromkeys(plan.metric_labels, "double")

    def no_overlap_seen(*, shared_queries: bool) -> NoReturn:
        _refuse_no_overlap(*sides, shared_queries=shared_queries)

    return _work(
        sides,
        job,
        values,
        lambda piece: summed_up(piece, job, no_overlap_seen),
        partitions=partitions or _partitions(session, rows + _count(sides[1])),
    )


def agree(
    a: Source,
    b: Source,
    metrics: str | pl.Expr | Iterable[str | pl.Expr] = PAIR_METRICS,
    *,
    spark: SparkSession | None = None,
    partitions: int | None = None,
    columns: Columns | None = None,
    ties: Ties = "doc_desc",
    missing: Unshared = "shared",
    lone: Lone = "keep",
    duplicates: Duplicates = "error",
    k_max: int | None = None,
    ci: Method | None = "bootstrap",
    confidence: float = 0.95,
    replicates: int = 1_000,
    seed: int = 0,
) -> SparkResult:
    """Compare two rankings of the same queries on Spark: the numbers of `rf.agree`.

    Inputs, `spark` and `partitions` are as in `evaluate`, all else as in `rf.agree`.
    """
    plan = pair_plan(metrics)
    policies = PairPolicies(ties, duplicates, missing, k_max, lone)
    job = Agreement(plan, policies, Intervals(ci, confidence, replicates, seed))
    _check_partitions(partitions)
    session = find_session(spark, (a, b))
    sides = (
        open_input(a, session, _named(a, lambda f: scan_ranking(f, "a", columns)), "ranking"),
        open_input(b, session, _named(b, lambda f: scan_ranking(f, "b", columns)), "ranking"),
    )
    for side in sides:
        refuse_row_order(side, ties)
    values = {**dict.fromkeys(PAIR_COUNTS, "int64"),
              **dict.fromkeys(plan.metric_labels, "double")}  # fmt: skip
    return _work(
        sides,
        job,
        values,
        lambda piece: pairs_summed_up(piece, job, lambda: [_some(s, QUERY) for s in sides]),
        partitions=partitions or _partitions(session, sum(map(_count, sides))),
    )


def _work(
    sides: tuple[Input, Input],
    work: Work,
    values: Mapping[str, str],
    finish: Callable[[Piece], Result],
    *,
    partitions: int,
) -> SparkResult:
    """Do the work on every partition once, keep the values there, and sum up here.

    `values`: the columns of the values and their Arrow types.
    """
    for side in sides:
        side.refuse_text()
    with spark_errors(), _settings(sides[0].frame.sparkSession):
        answers = _answers(sides, work, values, partitions)
        answers.persist()
        try:
            rest = _added_up(answers.where("kind <> 0").select("kind", "rest"), partitions)
            piece, troubles = gathered(rest.collect())
            _raise(troubles)
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
    sides: tuple[Input, Input], work: Work, values: Mapping[str, str], partitions: int
) -> DataFrame:
    """What every partition answers."""
    from pyspark import cloudpickle  # noqa: PLC0415 (an optional part)

    numbers = max(len(side.sent) for side in sides) - 2
    both = sides[0].rows(0, numbers).unionAll(sides[1].rows(1, numbers))
    bucket = f"cast(pmod(xxhash64({QUERY}), {partitions}L) as int) as {_BUCKET}"
    rows = both.selectExpr("*", bucket).repartitionById(partitions, _BUCKET).drop(_BUCKET)
    left, right = ((side.scanned.role, side.sent) for side in sides)
    payload = cloudpickle.dumps(Task(work, (left, right)))
    schema = answer_schema(values)
    columns = ", ".join(f"v{at} {_DDL[kind]}" for at, kind in enumerate(values.values()))
    function = on_executors("evaluated", payload, schema, _versions())
    return rows.mapInArrow(function, f"kind tinyint, {QUERY} string, {columns}, rest binary")


_DDL = {"double": "double", "int64": "bigint"}


def _added_up(rest: DataFrame, partitions: int) -> DataFrame:
    """What adds up, brought down to what one machine can hold."""
    import pyarrow as pa  # noqa: PLC0415 (an optional part)

    schema = pa.schema([("kind", pa.int8()), ("rest", pa.binary())])
    function = on_executors("added_up", b"", schema, _versions())
    while partitions > _FAN_IN:
        partitions = math.ceil(partitions / _FAN_IN)
        rest = rest.repartition(partitions).mapInArrow(function, "kind tinyint, rest binary")
    return rest


def _versions() -> dict[str, str]:
    """What must be the same on all machines for the bits to be."""
    from rankframe import __version__  # noqa: PLC0415 (this module is part of it)

    return {"rankframe": __version__, "polars": pl.__version__}


@contextmanager
def _settings(session: SparkSession) -> Iterator[None]:
    """Settings for this work only."""
    before = {name: session.conf.get(name, None) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)


def _raise(troubles: Sequence[Trouble]) -> None:
    """Say of the whole input what partitions found wrong."""
    if not troubles:
        return
    kind = next(kind for kind in _ORDER if any(one["is"] == kind for one in troubles))
    some = [one for one in troubles if one["is"] == kind]
    first = min(some, key=lambda one: (one.get("order", ()), str(one.get("example", one))))
    count = sum(one["count"] for one in some if one["order"] == first["order"]) if (
        "order" in first
    ) else 0  # fmt: skip
    match kind:
        case "versions":
            raise SparkError(_other_versions(first["found"]))
        case "bad":
            raise BadValueError(
                first["role"], first["problem"], count, first["example"], first["advice"]
            )
        case "duplicates":
            raise DuplicateError(first["role"], count, first["example"], [])
        case "error":
            raised: type[RankframeError] = getattr(errors, first["type"], RankframeError)
            raise raised.__new__(raised, first["message"])
        case _:
            raise SparkError(
                f"a partition with {first['queries']:,} queries, one of them {first['query']!r}, "
                f"failed: {first['message']}"
            )


def _other_versions(found: Mapping[str, str | None]) -> str:
    here = ", ".join(f"{name} {version}" for name, version in _versions().items())
    there = ", ".join(
        f"no {name}" if version is None else f"{name} {version}" for name, version in found.items()
    )
    return (
        f"an executor has {there}; here it is {here}. "
        "Install the same versions there: pip install 'rankframe[spark]'."
    )


def _named(source: Source, find: Callable[[pl.LazyFrame], Scanned]) -> Callable[..., Scanned]:
    """How the columns of a side are found; errors call it by its path, if it has one."""

    def found(frame: pl.LazyFrame) -> Scanned:
        scanned = find(frame)
        path = isinstance(source, str | os.PathLike)
        return replace(scanned, name=str(source) if path else f"the {scanned.role} DataFrame")

    return found


def _check_partitions(partitions: int | None) -> None:
    if partitions is not None and not is_count(partitions):
        raise OptionError(f"partitions must be a whole number of at least 1, not {partitions!r}.")


def _partitions(session: SparkSession, rows: int) -> int:
    """How many: what a worker's memory asks for, or what keeps all cores at work."""
    cores = 1
    with suppress(Exception):  # Spark Connect does not tell
        cores = session.sparkContext.defaultParallelism
    return max(math.ceil(rows / ROWS_PER_PARTITION), min(cores, math.ceil(rows / _FEWEST_ROWS)), 1)


def _count(side: Input) -> int:
    with spark_errors():
        rows = side.frame.count()
    if not rows:
        raise EmptyInputError(side.scanned.role, side.scanned.name)
    return rows


def _grades(qrels: Input) -> tuple[int, float]:
    """How many judgments there are, and the largest grade; what is no grade is found later."""
    finite = "if(isnan(n0) or abs(n0) = double('Infinity'), null, n0)"
    rows, highest = first_row(qrels.rows().selectExpr("count(1)", f"max({finite})"))
    if not rows:
        raise EmptyInputError(qrels.scanned.role, qrels.scanned.name)
    return rows, highest or 0.0


def _refuse_empty(sides: tuple[Input, Input], piece: Piece | None) -> None:
    """Refuse a side without rows, where nobody counted them before."""
    counted = list(vars(piece.counts).values()) if piece else [0, 0, 0, 0]
    for side, rows in zip(sides, (counted[0], counted[2]), strict=True):
        if not rows:
            raise EmptyInputError(side.scanned.role, side.scanned.name)


def _refuse_no_overlap(qrels: Input, run: Input, *, shared_queries: bool) -> NoReturn:
    """Say what ids look like on each side when not one judged document was retrieved."""
    key = DOC if shared_queries else QUERY
    others = (qrels, run) if shared_queries else (None, None)
    examples = [_some(side, key, of) for side, of in zip((run, qrels), others, strict=True)]
    raise NoOverlapError(key, *examples)


def _some(side: Input, key: str, other: Input | None = None) -> list[str]:
    """Some ids of a side, of queries that the other has too."""
    rows = side.rows().select(QUERY, DOC)
    if other is not None:
        rows = rows.join(other.rows().select(QUERY), on=QUERY, how="left_semi")
    with spark_errors():
        return sorted({row[0] for row in rows.select(key).limit(_SAMPLE).collect()})[:3]


def _collected(frame: Any) -> pl.DataFrame:
    with spark_errors():
        return pl.DataFrame(frame.toArrow())
