"""What trained methods learn, on a Spark cluster: counted on every partition, added up exactly."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import polars as pl

from rankframe.analysis.fusion.hits import HIT_SCHEMA, Hits
from rankframe.analysis.fusion.names import Method
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.training import columns_needed, judge_runs
from rankframe.core.columns import QUERY
from rankframe.core.errors import DuplicateError, RankframeError
from rankframe.core.wording import naming_the_run
from rankframe.io.input_table import part_of
from rankframe.io.roll_up import in_units
from rankframe.spark.driver import SETTINGS, raise_troubles, sent_by, versions
from rankframe.spark.inputs import Input
from rankframe.spark.session import settings, spark_errors
from rankframe.spark.worker import (
    SUMS,
    TROUBLE,
    VALUES,
    Trouble,
    answer_row,
    answer_schema,
    answered,
    apart,
    broken_rules,
    on_executors,
)
from rankframe.stats.exact import Exact

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_RUN = "run"  # the number of a run, beside what is counted of it
_COLUMNS = dict.fromkeys((_RUN, *HIT_SCHEMA), "int64")
_NUMBERS = ", ".join(f"v{at} bigint" for at in range(len(_COLUMNS)))
_DDL = f"kind tinyint, {QUERY} string, {_NUMBERS}, rest binary"


@dataclass(frozen=True)
class _Task:
    """What is done with every partition."""

    names: tuple[str, ...]
    policies: FusionPolicies
    # what the method looks at
    needed: Mapping[str, bool]
    # of the judgments and of each run, its columns → those of the rows that are sent
    columns: tuple[Mapping[str, str], ...]
    # Two tasks are never the same to Spark (see `worker.Task`).
    number: str = field(default_factory=lambda: uuid4().hex)


def hits_on_spark(
    method: Method,
    qrels: Input,
    runs: Mapping[str, Input],
    policies: FusionPolicies,
    partitions: int,
) -> list[Hits]:
    """What judgments say of each run, as on one machine: to the last bit."""
    sides = [qrels, *runs.values()]
    task = _Task(tuple(runs), policies, columns_needed(method), tuple(side.sent for side in sides))
    with spark_errors(), settings(qrels.frame.sparkSession, SETTINGS):
        answers = _answers(sides, task, partitions)
        answers.persist()
        try:
            sums, troubles = _gathered(answers)
            raise_troubles(troubles)
            table = _table(answers)
        finally:
            answers.unpersist()
    return [
        Hits(table.filter(pl.col(_RUN) == run).select(*HIT_SCHEMA), total, queries)
        for run, (total, queries) in enumerate(sums)
    ]


def _answers(sides: Sequence[Input], task: _Task, partitions: int) -> DataFrame:
    from pyspark import cloudpickle  # noqa: PLC0415 (an optional part)

    numbers = max(len(side.sent) for side in sides) - 2
    tagged = [side.tagged(at, numbers) for at, side in enumerate(sides)]
    rows = reduce(lambda one, other: one.unionAll(other), tagged)
    function = on_executors(
        "rankframe.spark.fold_training.counted_here",
        cloudpickle.dumps(task),
        answer_schema(_COLUMNS),
        versions(),
    )
    return sent_by(rows, f"xxhash64({QUERY})", partitions).mapInArrow(function, _DDL)


def _gathered(answers: DataFrame) -> tuple[list[tuple[Exact, int]], list[Trouble]]:
    """Of each run, the sum of average precision and how many queries it is of; what is wrong."""
    sums: list[tuple[Exact, int]] = []
    troubles: list[Trouble] = []
    for row in answers.where(f"kind <> {VALUES}").select("kind", "rest").collect():
        _, content = pickle.loads(row["rest"])  # noqa: S301 (an executor of ours sent it)
        if row["kind"] == TROUBLE:
            troubles.append(content)
            continue
        sums = sums or [(Exact(), 0)] * len(content)
        sums = [(a + b, n + m) for (a, n), (b, m) in zip(sums, content, strict=True)]
    return sums, troubles


def _table(answers: DataFrame) -> pl.DataFrame:
    """What was counted, added up by Spark: whole numbers."""
    *keys, count = (f"v{at}" for at in range(len(_COLUMNS)))
    added = answers.where(f"kind = {VALUES} and {count} > 0").groupBy(*keys).agg({count: "sum"})
    return pl.DataFrame(added.toDF(*_COLUMNS).toArrow()).cast(pl.Int64)


def counted_here(
    payload: bytes, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """On an executor: count what the judgments of one partition say of each run."""
    task: _Task = pickle.loads(payload)  # noqa: S301 (the driver sent it)
    frames = apart(batches, task.columns)
    if not frames:
        return
    found = _worked_on(task, frames)
    if isinstance(found, list):
        yield from (answer_row(schema, TROUBLE, None, trouble) for trouble in found)
        return
    tables = [
        one.table.select(pl.lit(None, pl.String).alias(QUERY), pl.lit(at).alias(_RUN), *HIT_SCHEMA)
        for at, one in enumerate(found)
    ]
    yield from answered(pl.concat(tables), schema)
    sums: Any = [(one.precision, one.queries) for one in found]
    yield answer_row(schema, SUMS, None, sums)


def _worked_on(task: _Task, frames: Sequence[pl.DataFrame]) -> tuple[Hits, ...] | list[Trouble]:
    roles = ["qrels", *("run" for _ in task.names)]
    if bad := broken_rules(roles, frames):
        return [_named(one, task.names) for one in bad]
    qrels, *runs = frames
    try:
        return tuple(
            _counts(task, qrels, run, name) for name, run in zip(task.names, runs, strict=True)
        )
    except DuplicateError as error:
        of_run = error.role == "run"
        order = 1 + [repr(name) for name in task.names].index(error.run) if of_run else 0
        return [_named({"is": "duplicates", "order": (order,), "role": error.role,
                        "count": error.count, "example": error.example}, task.names)]  # fmt: skip
    except RankframeError as error:
        return [{"is": "error", "error": error}]
    except Exception as error:  # noqa: BLE001 (whatever it is, it is said on the driver)
        queries = pl.concat([frame[QUERY] for frame in frames])
        return [{"is": "failed", "message": f"{type(error).__name__}: {error}",
                 "query": queries.min(), "queries": queries.n_unique()}]  # fmt: skip


def _named(trouble: Trouble, names: Sequence[str]) -> Trouble:
    """With the run that it is of, if it is of one."""
    at = trouble["order"][0]
    return trouble if not at else {**trouble, "run": repr(names[at - 1])}


def _counts(task: _Task, qrels: pl.DataFrame, run: pl.DataFrame, name: str) -> Hits:
    queries = qrels[QUERY].n_unique()
    if not queries or run.is_empty():
        return Hits.from_missing_run(queries)
    part = part_of(run, "run")
    with naming_the_run(repr(name)):
        if task.policies.unit is not None:
            part = in_units(part, task.policies.unit)
    judged = part_of(qrels, "qrels")
    (found,) = judge_runs(judged, {name: part}, task.policies, **task.needed)
    return found.count()
