"""Evaluate partitions on Spark's executors: rows of whole queries to values and sums.

A partition is evaluated by the code for one machine (`Evaluation.evaluate_partition`). An error in
a partition is sent back as a row of the answer: Spark would retry a task that fails, and then
report a Java stack trace.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from uuid import uuid4

import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import (
    BadValueError,
    DuplicateError,
    RankframeError,
    SparkError,
    naming_the_run,
)
from rankframe.core.messages import number_of
from rankframe.core.records import record
from rankframe.engine.accumulator import SliceKey, SliceSums
from rankframe.engine.evaluation import Evaluation, RunEvaluation
from rankframe.engine.ledger import RunCounts
from rankframe.engine.plan import metric_values
from rankframe.engine.result import SMALL
from rankframe.frames.side_inputs import combine_sides
from rankframe.io.batches import first_broken, quoted_keys
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.inputs import in_units

if TYPE_CHECKING:
    import pyarrow as pa

# The kinds of rows in an answer: values (mostly one row per query), sums to merge with the sums of
# other partitions, and problems.
VALUES, SUMS, PROBLEM = 0, 1, 2
# The column in the rows sent to executors that says which input a row is from.
SIDE: Final = "side"
_ROWS_AT_ONCE = 100_000  # rows of an answer, whose strings then fit into an Arrow array
_METRICS_AT_ONCE = 4  # sums take up to half a megabyte per metric and slice, some twice that

# The key of sums: None for counts, a slice with the index of its first metric, or a run.
SumsKey: TypeAlias = tuple[SliceKey, int] | int | None
Function: TypeAlias = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


class SentSide(NamedTuple):
    """Describe an input whose rows are sent to executors."""

    # the name of the input for errors
    role: str
    # the columns of the input
    columns: Sequence[str]
    # the name of the run for errors, if there are several runs
    run: str = ""


class Answer(NamedTuple):
    """Hold what an executor computes for a partition: values that stay there, sums to merge."""

    values: pl.DataFrame | None
    sums: Iterable[tuple[SumsKey, Any]] = ()


@record
class Problem:
    """Describe what is wrong with a partition, so that the driver can raise an error."""

    # the kind of problem, the number of the input, the number of the rule: the driver raises the
    # problem with the least tuple
    order: tuple[int, ...]
    # the error; or a function that returns the error, called with the count of bad rows in all
    # partitions
    error: RankframeError | partial[Any]
    count: int = 0
    # the name of the run with these rows for errors, if there are several runs
    run: str = ""


# The kinds of problems, in order of severity, the worst first.
OTHER_VERSIONS, BAD_VALUE, DUPLICATES, REFUSED, FAILED = range(5)

# A function that processes one frame of rows per input; rows are in any order.
Work: TypeAlias = Callable[[Sequence[pl.DataFrame]], Answer]


@record
class Task:
    """Hold the work for an executor and the description of its input rows."""

    work: Work
    sides: tuple[SentSide, ...]
    # Makes each task different for Spark. Spark would otherwise reuse the cached answer of an equal
    # task, although a file may have changed since.
    number: str = field(default_factory=lambda: uuid4().hex)


def evaluate_partition(
    evaluation: Evaluation, roles: Sequence[str], frames: Sequence[pl.DataFrame]
) -> Answer:
    """Evaluate a partition: return values per query, and the accumulator in parts of a few MB.

    The JVM can take larger rows, but not many of them.
    """
    left, right = frames[0], frames[-1]
    if isinstance(evaluation, RunEvaluation) and evaluation.retrieved is not None:
        by_role = dict(zip(roles, frames, strict=True))
        right = by_role.pop("run")
        tables = {role: part_of(frame, "qrels") for role, frame in by_role.items()}
        left = combine_sides(*map(tables.get, ("qrels", "train", "reference"))).frame.collect()
    unit = getattr(evaluation.policies, "unit", None)
    if unit is not None:
        right = run_part(right, unit).frame.collect()
    accumulator = evaluation.evaluate_partition(left, right)
    counts = accumulator.counts
    if isinstance(counts, RunCounts):
        counts = replace(counts, rising=0)  # rows have no order on Spark
    sums: list[tuple[SumsKey, Any]] = [(None, counts)]
    for key, of_slice in accumulator.slices.items():
        sums += [((key, part.first), part) for part in of_slice.split(_METRICS_AT_ONCE)]
    return Answer(metric_values(accumulator.join()), sums)


def run_part(frame: pl.DataFrame, unit: Any, run: str = "") -> InputTable:
    """Return a partition's rows of a run as an input, rolled up if documents belong to units.

    `run`: the name of the run for errors, if there are several runs.
    """
    part = part_of(frame, "run")
    with naming_the_run(run):
        return part if unit is None else in_units(part, unit)


def answer_schema(columns: Mapping[str, str]) -> pa.Schema:
    """Return the Arrow schema of an answer, given the columns of its values and their types.

    Columns are numbered: a metric's name may be anything.
    """
    import pyarrow as pa  # noqa: PLC0415 (an optional part)

    numbers = [(f"v{number}", kind) for number, kind in enumerate(columns.values())]
    fields = [("kind", "int8"), (QUERY, "string"), *numbers, ("rest", "binary")]
    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in fields])


def on_executors(
    function: str, payload: bytes, schema: pa.Schema, versions: Mapping[str, str]
) -> Function:
    """Return a callback for `mapInArrow` that calls a function of this module.

    The callback is pickled by value and does not refer to rankframe. It can therefore check that
    the executor has rankframe, in the right version, before it unpickles any object of rankframe.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib  # noqa: PLC0415
        import os  # noqa: PLC0415
        import pickle  # noqa: PLC0415

        import pyarrow as pa  # noqa: PLC0415

        # Each core has its own worker. This must be set before polars is imported.
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        found = {}
        for name in versions:
            try:
                found[name] = importlib.import_module(name).__version__
            except ImportError:
                found[name] = None
        if found != versions:
            row = {"kind": 2, "rest": pickle.dumps((None, found))}
            yield pa.RecordBatch.from_pylist([row], schema=schema)
            return
        worker = importlib.import_module("rankframe.spark.worker")
        yield from getattr(worker, function)(payload, schema, batches)

    return run


def work_on_partition(
    payload: bytes, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Unpickle a `Task`, do its work on the rows of one partition, and yield the answer."""
    task: Task = pickle.loads(payload)  # noqa: S301 (the driver sent it)
    frames = _split_sides(batches, task.sides)
    if not frames:
        return
    problems = list(_broken_rules(task.sides, frames))
    if not problems:
        try:
            values, sums = task.work(frames)
            if values is not None:
                yield from _value_rows(values, schema)
            yield from (_answer_row(schema, SUMS, key, content) for key, content in sums)
        except Exception as error:  # noqa: BLE001 (any error goes to the driver, which raises it)
            problems = [_problem(error, task.sides, frames)]
    yield from (_answer_row(schema, PROBLEM, None, problem) for problem in problems)


def _split_sides(
    batches: Iterable[pa.RecordBatch], sides: Sequence[SentSide]
) -> list[pl.DataFrame]:
    """Split the rows of a partition by input, each with its own columns; return [] without rows."""
    import pyarrow as pa  # noqa: PLC0415

    filled = [batch for batch in batches if batch.num_rows]
    if not filled:
        return []
    rows = pl.DataFrame(pa.Table.from_batches(filled)).rechunk()
    del filled
    return [
        rows.filter(pl.col(SIDE) == number).select(side.columns)
        for number, side in enumerate(sides)
    ]


def _broken_rules(sides: Sequence[SentSide], frames: Sequence[pl.DataFrame]) -> Iterator[Problem]:
    """Yield a problem for each input that has bad rows, for the first rule that a row breaks."""
    for number, (side, frame) in enumerate(zip(sides, frames, strict=True)):
        _, broken = first_broken(frame.lazy())
        if broken is not None:
            rule = broken.rule
            row = frame.filter(rule.broken).row(0, named=True)
            example = ", ".join(quoted_keys(row, rule.column))
            error = partial(
                BadValueError, side.role, rule.problem, example=example, advice=rule.advice
            )
            yield Problem((BAD_VALUE, number, broken.place), error, broken.rows, side.run)


def _problem(
    error: Exception, sides: Sequence[SentSide], frames: Sequence[pl.DataFrame]
) -> Problem:
    """Turn an error of a partition into a problem, which the driver raises for the whole input."""
    if isinstance(error, DuplicateError):
        number, side = next(
            (number, side)
            for number, side in enumerate(sides)
            if side.role == error.role and side.run in ("", error.run)
        )
        of_all = partial(DuplicateError, error.role, example=error.example, rows=[])
        return Problem((DUPLICATES, number), of_all, error.count, side.run)
    if isinstance(error, RankframeError):
        return Problem((REFUSED,), error)
    queries = pl.concat([frame[QUERY] for frame in frames])
    count = number_of(queries.n_unique(), "query")
    failed = f"failed: {type(error).__name__}: {error}"
    message = f"a partition with {count}, one of them {queries.min()!r}, {failed}"
    return Problem((FAILED,), SparkError(message))


def _value_rows(values: pl.DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield values per query as record batches with the schema that a worker returns to Spark."""
    numbered = values.rename(dict(zip(values.columns, schema.names[1:-1], strict=True)))
    kind, rest = pl.lit(VALUES, pl.Int8), pl.lit(None, pl.Binary)
    rows = numbered.select(kind.alias("kind"), pl.all(), rest.alias("rest"))
    for part in rows.iter_slices(_ROWS_AT_ONCE):  # allowed: many rows at a time
        # Spark accepts Arrow strings only, not the string views of polars.
        table = part.to_arrow(compat_level=pl.CompatLevel.oldest())
        yield from table.cast(schema).combine_chunks().to_batches()


def _answer_row(schema: pa.Schema, kind: int, key: SumsKey, content: Any) -> pa.RecordBatch:
    """Return sums or a problem as one row with the schema that a worker returns to Spark."""
    import pyarrow as pa  # noqa: PLC0415

    rest = pickle.dumps((key, content), protocol=5)
    return pa.RecordBatch.from_pylist(
        [{"kind": kind, QUERY: str(key), "rest": rest}], schema=schema
    )


def merge_sums(
    payload: bytes, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Merge the sums of several partitions by key; problems are passed on.

    The payload of the last round says which confidence intervals to compute.
    """
    sums: dict[SumsKey, Any] = {}
    for batch in batches:
        for row in batch.to_pylist():
            key, part = pickle.loads(row["rest"])  # noqa: S301 (an executor of ours sent it)
            if row["kind"] == PROBLEM:
                yield _answer_row(schema, PROBLEM, key, part)
            else:
                sums[key] = sums[key].merge(part) if key in sums else part
    last_round = pickle.loads(payload) if payload else None  # noqa: S301 (the driver sent it)
    for key, part in sums.items():
        merged = part
        if last_round is not None and isinstance(key, tuple):
            metrics, intervals, kept = last_round
            keep = _needed_by_gaps(part, kept.get(key[0][0], ()))
            merged = part.finish(metrics, intervals, keep)
        yield _answer_row(schema, SUMS, key, merged)


def _needed_by_gaps(part: SliceSums, kept: Collection[int]) -> set[int]:
    """Return which metrics in `kept` have enough queries in a slice to need replicates for gaps."""
    enough = {place for place, sums in enumerate(part.sums, part.first) if sums.queries >= SMALL}
    return enough & set(kept)
