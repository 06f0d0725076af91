"""What Spark's executors do: a partition with all rows of its queries → values, and what adds up.

The work itself is the one that is done on one machine (`Work.piece`). What a partition finds wrong
is sent back as a row of its own: a task that fails would be tried again, and end in a Java trace.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import DuplicateError, RankframeError
from rankframe.engine.combined import Both
from rankframe.engine.plan import PerQuery
from rankframe.engine.summary import SMALL
from rankframe.engine.tally import SliceKey, Tally
from rankframe.engine.work import Piece, Work
from rankframe.frames.side_inputs import beside
from rankframe.io.input_table import part_of
from rankframe.io.roll_up import in_units
from rankframe.io.validate import first_broken, quoted_keys

if TYPE_CHECKING:
    import pyarrow as pa

# What a row of the answer is: a query's values, what adds up over partitions (of all queries, or of
# those of a slice), or what is wrong.
VALUES, SUMS, TROUBLE = 0, 1, 2
# Columns of the rows that executors are sent: of which side they are, the ids, then numbers.
SIDE: Final = "side"
_ROWS_AT_ONCE = 100_000  # of an answer: its strings stay far below what an Arrow array can hold
_METRICS_AT_ONCE = 4  # of sums: up to half a megabyte a metric and slice, twice for some

Trouble = dict[str, Any]
# What is added up: counts (None), or of a slice the metrics from a place on.
SumsKey = tuple[SliceKey, int] | None
Function = Callable[[Iterable["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


@dataclass(frozen=True)
class Task:
    """What is done with every partition."""

    work: Work
    # of each side: what errors call it, and its columns → those of the rows that are sent
    sides: tuple[tuple[str, Mapping[str, str]], ...]
    # Two tasks are never the same to Spark, which would answer the second from what it kept of the
    # first, though a file may have changed since.
    number: str = field(default_factory=lambda: uuid4().hex)


def answer_schema(columns: Mapping[str, str]) -> pa.Schema:
    """The answer of a partition, given the columns of the values and their Arrow types.

    They are numbered: a metric's name may be anything.
    """
    import pyarrow as pa  # noqa: PLC0415 (an optional part)

    numbers = [(f"v{at}", kind) for at, kind in enumerate(columns.values())]
    fields = [("kind", "int8"), (QUERY, "string"), *numbers, ("rest", "binary")]
    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in fields])


def on_executors(
    work: str, payload: bytes, schema: pa.Schema, versions: Mapping[str, str]
) -> Function:
    """A function for `mapInArrow`, which does what one of this module (or of another) does.

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
            trouble = pickle.dumps((None, {"is": "versions", "found": found}))
            row = {"kind": 2, "rest": trouble}
            yield pa.RecordBatch.from_pylist([row], schema=schema)
            return
        module, _, function = work.rpartition(".")
        worker = importlib.import_module(module or "rankframe.spark.worker")
        yield from getattr(worker, function)(payload, schema, batches)

    return run


def evaluated(
    payload: bytes, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Do the work for one partition."""
    task: Task = pickle.loads(payload)  # noqa: S301 (the driver sent it)
    frames = apart(batches, [columns for _, columns in task.sides])
    if not frames:
        return
    found = _worked_on(task, frames)
    if isinstance(found, Piece):
        yield from answered(found.values, schema)
        yield from (answer_row(schema, SUMS, *part) for part in _parts(found))
    else:
        yield from (answer_row(schema, TROUBLE, None, trouble) for trouble in found)


def apart(
    batches: Iterable[pa.RecordBatch], sides: Sequence[Mapping[str, str]]
) -> list[pl.DataFrame]:
    """The rows of each side, under our names; nothing where there are none at all.

    `sides`: of each, our columns → those of the rows that were sent.
    """
    import pyarrow as pa  # noqa: PLC0415

    some = [batch for batch in batches if batch.num_rows]
    if not some:
        return []
    rows = pl.DataFrame(pa.Table.from_batches(some)).rechunk()
    del some
    return [
        rows.filter(pl.col(SIDE) == side).select(
            pl.col(sent).alias(ours) for ours, sent in columns.items()
        )
        for side, columns in enumerate(sides)
    ]


def _parts(piece: Piece) -> Iterator[tuple[SumsKey, Piece | Tally]]:
    """What adds up, in parts of a few megabytes: the JVM takes larger rows, but not many."""
    none = PerQuery(*(frame.clear() for frame in piece.computed.frames))
    yield None, replace(piece, computed=none, tallies={})
    for key, tally in piece.tallies.items():
        for part in tally.split(_METRICS_AT_ONCE):
            yield (key, part.first), part


def added_up(
    payload: bytes, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What adds up of several partitions, by slice; their troubles as they are.

    The payload of the last round: what intervals are drawn with.
    """
    sums: dict[SumsKey, Any] = {}
    for batch in batches:
        for kind, rest in zip(batch["kind"].to_pylist(), batch["rest"].to_pylist(), strict=True):
            key, part = pickle.loads(rest)  # noqa: S301 (an executor of ours sent it)
            if kind == TROUBLE:
                yield answer_row(schema, TROUBLE, key, part)
            else:
                sums[key] = sums[key] + part if key in sums else part
    settle = pickle.loads(payload) if payload else None  # noqa: S301 (the driver sent it)
    for key, added in sums.items():
        part = added
        if settle is not None and isinstance(part, Tally):
            assert key is not None  # only counts have none
            metrics, intervals, kept = settle
            part = part.settle(metrics, intervals, _looked_at(part, kept.get(key[0][0], ())))
        yield answer_row(schema, SUMS, key, part)


def _looked_at(part: Tally, kept: Collection[int]) -> set[int]:
    """Of these metrics, those that a gap looks at here: not where queries are too few."""
    enough = {at for at, some in enumerate(part.sums, part.first) if some.queries >= SMALL}
    return enough & set(kept)


def _worked_on(task: Task, frames: Sequence[pl.DataFrame]) -> Piece | list[Trouble]:
    roles = [role for role, _ in task.sides]
    if bad := broken_rules(roles, frames):
        return bad
    try:
        left, right = _left_and_right(task.work, dict(zip(roles, frames, strict=True)))
        unit = getattr(task.work, "unit", None)
        if unit is not None:
            right = in_units(part_of(right, "run"), unit).frame.collect()
        return task.work.piece(left, right)
    except DuplicateError as error:
        order = roles.index(error.role)
        return [{"is": "duplicates", "order": (order,), "role": error.role, "count": error.count,
                 "example": error.example}]  # fmt: skip
    except RankframeError as error:
        return [{"is": "error", "error": error}]
    except Exception as error:  # noqa: BLE001 (whatever it is, it is said on the driver)
        queries = pl.concat([frame[QUERY] for frame in frames])
        return [{"is": "failed", "message": f"{type(error).__name__}: {error}",
                 "query": queries.min(), "queries": queries.n_unique()}]  # fmt: skip


def _left_and_right(
    work: Work, frames: Mapping[str, pl.DataFrame]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of the two sides; what lies beside a run, as one."""
    if not isinstance(work, Both):
        left, right = frames.values()
        return left, right
    kinds = ("qrels", "train", "base")
    sides = [part_of(frames[kind], "qrels") if kind in frames else None for kind in kinds]
    return beside(*sides).frame.collect(), frames["run"]


def broken_rules(roles: Sequence[str], frames: Sequence[pl.DataFrame]) -> list[Trouble]:
    """What is wrong with rows of each side: the first rule that some of them break."""
    bad: list[Trouble] = []
    for at, (role, frame) in enumerate(zip(roles, frames, strict=True)):
        _, broken = first_broken(frame.lazy())
        if broken is not None:
            rule = broken.rule
            row = frame.filter(rule.broken).row(0, named=True)
            bad.append({"is": "bad", "order": (at, broken.place), "count": broken.rows,
                        "example": ", ".join(quoted_keys(row, rule.column)),
                        "role": role, "problem": rule.problem, "advice": rule.advice})  # fmt: skip
    return bad


def answered(values: pl.DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Values as rows of the answer."""
    import pyarrow as pa  # noqa: PLC0415

    for some in values.iter_slices(_ROWS_AT_ONCE):  # allowed: many rows at a time
        # Spark takes plain strings only, not the views that polars has.
        table = some.to_arrow(compat_level=pl.CompatLevel.oldest())
        kind = pa.repeat(pa.scalar(VALUES, pa.int8()), some.height)
        rest = pa.nulls(some.height, pa.binary())
        yield from (
            pa.Table.from_arrays([kind, *table.columns, rest], names=schema.names)
            .cast(schema)
            .combine_chunks()
            .to_batches()
        )


def answer_row(
    schema: pa.Schema, kind: int, key: SumsKey, content: Piece | Tally | Trouble
) -> pa.RecordBatch:
    """Something else than values as a row of the answer."""
    import pyarrow as pa  # noqa: PLC0415

    rest = pickle.dumps((key, content), protocol=5)
    return pa.RecordBatch.from_pylist(
        [{"kind": kind, QUERY: str(key), "rest": rest}], schema=schema
    )


def gathered(rows: Iterable[Sequence[Any]]) -> tuple[Piece | None, list[Trouble]]:
    """On the driver: all sums as one piece (None: there are none), and what is wrong."""
    whole: Piece | None = None
    parts: dict[SliceKey, list[Tally]] = {}
    troubles: list[Trouble] = []
    for kind, _, rest in rows:
        key, content = pickle.loads(rest)  # noqa: S301 (an executor of ours sent it)
        if kind == TROUBLE:
            troubles.append(content)
        elif key is None:
            whole = content
        else:
            parts.setdefault(key[0], []).append(content)
    tallies = {key: Tally.joined(some) for key, some in parts.items()}
    return (replace(whole, tallies=tallies) if whole else None), troubles
