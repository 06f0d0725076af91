"""The executors: partitions with all rows of their queries → values and sums.

The work itself is the one that is done on one machine (`Evaluation.evaluate_partition`). What a
partition finds wrong is sent back as a row of its own: a task that fails would be tried again, and
end in a Java trace.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from uuid import uuid4

import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import DuplicateError, RankframeError, naming_the_run
from rankframe.engine.accumulator import SliceKey, SliceSums
from rankframe.engine.evaluation import Evaluation, RunEvaluation
from rankframe.engine.plan import metric_values
from rankframe.engine.result import SMALL
from rankframe.frames.side_inputs import combine_sides
from rankframe.io.batches import first_broken, quoted_keys
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.inputs import in_units

if TYPE_CHECKING:
    import pyarrow as pa

# The kind of a row of an answer: values (of a query, as a rule), sums to merge with other
# partitions, or a problem.
VALUES, SUMS, PROBLEM = 0, 1, 2
# The column of the rows that executors are sent that says of which side they are.
SIDE: Final = "side"
_ROWS_AT_ONCE = 100_000  # of an answer: its strings stay far below what an Arrow array can hold
_METRICS_AT_ONCE = 4  # of sums: up to half a megabyte a metric and slice, twice for some

# What is wrong with an input: "is" says how, the rest what is needed to raise the error.
Problem = dict[str, Any]
# Which sums these are: counts (None), of a slice the metrics from a place on, or of a run.
SumsKey = tuple[SliceKey, int] | int | None
Function = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


class SentSide(NamedTuple):
    """Hold an input whose rows are sent to executors."""

    # what errors call it
    role: str
    # canonical column → column of the rows that are sent
    columns: Mapping[str, str]
    # the name of the run that it is, where there are several
    run: str | None = None


class Answer(NamedTuple):
    """Hold the answer for a partition: values that stay on the cluster, and sums that merge."""

    values: pl.DataFrame | None
    sums: Iterable[tuple[SumsKey, Any]] = ()


class Work(Protocol):
    """Something that is done with every partition."""

    def answer(self, frames: Sequence[pl.DataFrame]) -> Answer:
        """Process the rows of each input, which come in any order, and return the result."""
        ...


@dataclass(frozen=True)
class Task:
    """Hold the work for an executor and the description of its input rows."""

    work: Work
    sides: tuple[SentSide, ...]
    # Two tasks are never the same to Spark, which would answer the second from what it kept of the
    # first, though a file may have changed since.
    number: str = field(default_factory=lambda: uuid4().hex)


@dataclass(frozen=True)
class EvaluatePartition:
    """Evaluate a partition."""

    evaluation: Evaluation
    # the roles of the sides, in order
    roles: tuple[str, ...]

    def answer(self, frames: Sequence[pl.DataFrame]) -> Answer:
        """Return values per query, and the accumulator in parts of a few megabytes.

        (The JVM takes larger rows, but not many of them.)
        """
        left, right = frames[0], frames[-1]
        evaluation = self.evaluation
        if isinstance(evaluation, RunEvaluation) and evaluation.retrieved is not None:
            by_role = dict(zip(self.roles, frames, strict=True))
            sides = (by_role.get(role) for role in ("qrels", "train", "reference"))
            tables = [None if side is None else part_of(side, "qrels") for side in sides]
            left, right = combine_sides(*tables).frame.collect(), by_role["run"]
        unit = getattr(evaluation.policies, "unit", None)
        if unit is not None:
            right = run_part(right, unit).frame.collect()
        accumulator = evaluation.evaluate_partition(left, right)
        sums: list[tuple[SumsKey, Any]] = [(None, accumulator.counts)]
        for key, of_slice in accumulator.slices.items():
            parts = of_slice.split(_METRICS_AT_ONCE)
            sums += [((key, part.first), part) for part in parts]
        return Answer(metric_values(accumulator.join()), sums)


def run_part(frame: pl.DataFrame, unit: Any, name: str | None = None) -> InputTable:
    """Return a partition's rows of a run as an input, rolled up if documents belong to units."""
    part = part_of(frame, "run")
    if unit is None:
        return part
    with nullcontext() if name is None else naming_the_run(repr(name)):
        return in_units(part, unit)


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
    """Return what `mapInArrow` takes, which calls a function of this module.

    It is sent as it is and refers to nothing of rankframe, so that it can say that an executor
    lacks rankframe, or has another version, before anything of it is read.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib  # noqa: PLC0415
        import os  # noqa: PLC0415
        import pickle  # noqa: PLC0415

        import pyarrow as pa  # noqa: PLC0415

        # Every core has a worker of its own. To be said before polars is imported.
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        found = {}
        for name in versions:
            try:
                found[name] = importlib.import_module(name).__version__
            except ImportError:
                found[name] = None
        if found != versions:
            problem = pickle.dumps((None, {"is": "versions", "found": found}))
            row = {"kind": 2, "rest": problem}
            yield pa.RecordBatch.from_pylist([row], schema=schema)
            return
        worker = importlib.import_module("rankframe.spark.worker")
        yield from getattr(worker, function)(payload, schema, batches)

    return run


def work_on_partition(
    payload: bytes, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Do the work of a task on one partition, and return its answer."""
    task: Task = pickle.loads(payload)  # noqa: S301 (the driver sent it)
    frames = _split_sides(batches, task.sides)
    if not frames:
        return
    problems = _broken_rules(task.sides, frames)
    if not problems:
        try:
            values, sums = task.work.answer(frames)
            if values is not None:
                yield from _value_rows(values, schema)
            yield from (_answer_row(schema, SUMS, key, content) for key, content in sums)
        except Exception as error:  # noqa: BLE001 (whatever it is, the driver raises it)
            problems = [_problem(error, task.sides, frames)]
    yield from (_answer_row(schema, PROBLEM, None, problem) for problem in problems)


def _split_sides(
    batches: Iterable[pa.RecordBatch], sides: Sequence[SentSide]
) -> list[pl.DataFrame]:
    """Return the rows of each input with our column names, or nothing without rows."""
    import pyarrow as pa  # noqa: PLC0415

    filled = [batch for batch in batches if batch.num_rows]
    if not filled:
        return []
    rows = pl.DataFrame(pa.Table.from_batches(filled)).rechunk()
    del filled
    return [
        rows.filter(pl.col(SIDE) == number).select(
            pl.col(sent).alias(column) for column, sent in side.columns.items()
        )
        for number, side in enumerate(sides)
    ]


def _broken_rules(sides: Sequence[SentSide], frames: Sequence[pl.DataFrame]) -> list[Problem]:
    """Return the first rule that rows of each input break."""
    problems: list[Problem] = []
    for number, (side, frame) in enumerate(zip(sides, frames, strict=True)):
        _, broken = first_broken(frame.lazy())
        if broken is not None:
            rule = broken.rule
            row = frame.filter(rule.broken).row(0, named=True)
            problems.append(
                {"is": "bad", "order": (number, broken.place), "count": broken.rows,
                 "example": ", ".join(quoted_keys(row, rule.column)),
                 "role": side.role, "problem": rule.problem, "advice": rule.advice,
                 **_run_name(side)}
            )  # fmt: skip
    return problems


def _problem(
    error: Exception, sides: Sequence[SentSide], frames: Sequence[pl.DataFrame]
) -> Problem:
    """Return what an error says, for the driver to raise of the whole input."""
    if isinstance(error, DuplicateError):
        number = next(
            number
            for number, side in enumerate(sides)
            if side.role == error.role and (side.run is None or repr(side.run) == error.run)
        )
        return {"is": "duplicates", "order": (number,), "role": error.role, "count": error.count,
                "example": error.example, **_run_name(sides[number])}  # fmt: skip
    if isinstance(error, RankframeError):
        return {"is": "error", "error": error}
    queries = pl.concat([frame[QUERY] for frame in frames])
    return {"is": "failed", "message": f"{type(error).__name__}: {error}",
            "query": queries.min(), "queries": queries.n_unique()}  # fmt: skip


def _run_name(side: SentSide) -> Problem:
    return {} if side.run is None else {"run": repr(side.run)}


def _value_rows(values: pl.DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Return values as rows of the answer."""
    import pyarrow as pa  # noqa: PLC0415

    for rows in values.iter_slices(_ROWS_AT_ONCE):  # allowed: many rows at a time
        # Spark takes plain strings only, not the views that polars has.
        table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
        kind = pa.repeat(pa.scalar(VALUES, pa.int8()), rows.height)
        rest = pa.nulls(rows.height, pa.binary())
        yield from (
            pa.Table.from_arrays([kind, *table.columns, rest], names=schema.names)
            .cast(schema)
            .combine_chunks()
            .to_batches()
        )


def _answer_row(schema: pa.Schema, kind: int, key: SumsKey, content: Any) -> pa.RecordBatch:
    """Return something else than values as a row of the answer."""
    import pyarrow as pa  # noqa: PLC0415

    rest = pickle.dumps((key, content), protocol=5)
    return pa.RecordBatch.from_pylist(
        [{"kind": kind, QUERY: str(key), "rest": rest}], schema=schema
    )


def merge_sums(
    payload: bytes, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Merge the sums of several partitions, slice by slice; problems stay as they are.

    In the last round, the payload says which intervals are drawn.
    """
    sums: dict[SumsKey, Any] = {}
    for batch in batches:
        for kind, rest in zip(batch["kind"].to_pylist(), batch["rest"].to_pylist(), strict=True):
            key, part = pickle.loads(rest)  # noqa: S301 (an executor of ours sent it)
            if kind == PROBLEM:
                yield _answer_row(schema, PROBLEM, key, part)
            else:
                sums[key] = sums[key].merge(part) if key in sums else part
    last_round = pickle.loads(payload) if payload else None  # noqa: S301 (the driver sent it)
    for key, merged in sums.items():
        part = merged
        if last_round is not None and isinstance(key, tuple):
            metrics, intervals, kept = last_round
            keep = _needed_by_gaps(part, kept.get(key[0][0], ()))
            part = part.finish(metrics, intervals, keep)
        yield _answer_row(schema, SUMS, key, part)


def _needed_by_gaps(part: SliceSums, kept: Collection[int]) -> set[int]:
    """Return the metrics whose gaps are computed here: none if there are too few queries."""
    enough = {place for place, sums in enumerate(part.sums, part.first) if sums.queries >= SMALL}
    return enough & set(kept)


def read_answers(rows: Iterable[Sequence[Any]]) -> tuple[list[tuple[SumsKey, Any]], list[Problem]]:
    """Read answers on the driver: all sums and errors."""
    sums: list[tuple[SumsKey, Any]] = []
    problems: list[Problem] = []
    for row in rows:
        key, content = pickle.loads(row[-1])  # noqa: S301 (an executor of ours sent it)
        if row[0] == PROBLEM:
            problems.append(content)
        else:
            sums.append((key, content))
    return sums, problems
