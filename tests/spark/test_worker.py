"""What executors do, on this machine: a partition's answer, sums in rounds, and what is wrong."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.engine.accumulator import WHOLE, SliceSums
from rankframe.engine.evaluation import Evaluation, prepare_evaluation
from rankframe.engine.plan import metric_values
from rankframe.io.opening import open_table
from rankframe.metrics.names import resolve
from rankframe.spark.worker import (
    PROBLEM,
    SIDE,
    SUMS,
    VALUES,
    EvaluatePartition,
    SentSide,
    Task,
    answer_schema,
    merge_sums,
    on_executors,
    read_answers,
    work_on_partition,
)
from tests.support.pieces import MICRO, shop_like

METRICS = ["ndcg@5", "lag", MICRO, "map", "mrr"]
LEFT, RIGHT = (
    open_table(side, role).frame.collect()
    for side, role in zip(shop_like(), ("qrels", "run"), strict=True)
)  # pyright: ignore[reportArgumentType]
SENT = {"query_id": "query_id", "doc_id": "doc_id"}
SCHEMA = answer_schema(dict.fromkeys(METRICS, "double"))


def evaluation(**policies: Any) -> Evaluation:
    return prepare_evaluation(resolve(METRICS), Policies(**policies)).with_max_grade(3.0)


def payload(work: Any = None) -> bytes:
    columns = {"qrels": SENT | {"relevance": "n0"}, "run": SENT | {"score": "n0"}}
    sides = tuple(SentSide(role, names) for role, names in columns.items())
    return pickle.dumps(Task(work or EvaluatePartition(evaluation(), ("qrels", "run")), sides))


def batches(left: pl.DataFrame, right: pl.DataFrame) -> list[pa.RecordBatch]:
    """Rows of both sides as they are sent, a few at a time."""
    both = pl.concat(
        side.select(
            pl.lit(at, pl.Int8).alias(SIDE),
            "query_id",
            "doc_id",
            pl.col(side.columns[2]).alias("n0"),
        )
        for at, side in enumerate((left, right))
    )
    return both.to_arrow().to_batches(max_chunksize=100)


def answer(left: pl.DataFrame, right: pl.DataFrame, work: Any = None) -> pa.Table:
    found = work_on_partition(payload(work), SCHEMA, batches(left, right))
    return pa.Table.from_batches(list(found), SCHEMA)


def of_kind(answered: pa.Table, kind: int) -> pl.DataFrame:
    return pl.DataFrame(answered).filter(pl.col("kind") == kind)


def rounds(tables: Iterable[pa.Table], last_round: bytes) -> pa.Table:
    sums = [pl.DataFrame(table).filter(pl.col("kind") != VALUES) for table in tables]
    together = pl.concat(some.select("kind", "query_id", "rest") for some in sums)
    schema = answer_schema({})
    return pa.Table.from_batches(
        list(merge_sums(last_round, schema, together.to_arrow().to_batches())), schema
    )


def driven(tables: Iterable[pa.Table], last_round: bytes = b"") -> tuple[dict[Any, Any], list]:
    sums, problems = read_answers(pl.DataFrame(rounds(tables, last_round)).rows())
    return dict(sums), problems


def test_a_partition_answers_with_values_and_sums() -> None:
    found = answer(LEFT, RIGHT)
    values = of_kind(found, VALUES).drop("kind", "rest")
    expected = metric_values(evaluation().evaluate_partition(LEFT, RIGHT).join())
    values.columns = expected.columns
    assert values.equals(expected)
    keys = of_kind(found, SUMS)["query_id"].to_list()
    # counts, and of all queries the metrics four at a time
    assert keys == ["None", f"({WHOLE}, 0)", f"({WHOLE}, 4)"]
    assert of_kind(found, PROBLEM).is_empty()


def test_a_partition_without_rows_answers_nothing() -> None:
    assert list(work_on_partition(payload(), SCHEMA, [])) == []
    assert list(work_on_partition(payload(), SCHEMA, batches(LEFT.head(0), RIGHT.head(0)))) == []


@pytest.mark.parametrize("partitions", [1, 3])
def test_sums_of_partitions_are_those_of_all_queries_in_any_rounds(partitions: int) -> None:
    number = pl.col("query_id").cast(pl.Int64) % partitions
    tables = [
        answer(LEFT.filter(number == at), RIGHT.filter(number == at)) for at in range(partitions)
    ]
    averages = evaluation().averages
    last_round = pickle.dumps((averages.metrics, averages.intervals, {}))
    # once in one round, once with a round before it
    for some in (tables, [rounds(tables[:2], b""), *(rounds([t], b"") for t in tables[2:])]):
        sums, problems = driven(some, last_round)
        alone = evaluation().evaluate_partition(LEFT, RIGHT)
        assert problems == []
        assert sums.pop(None) == alone.counts
        whole = SliceSums.unite(sums.values())
        assert whole == alone.slices[WHOLE].finish(averages.metrics, averages.intervals)
        assert whole.buckets is None


def problems(left: pl.DataFrame, right: pl.DataFrame, work: Any = None) -> list[dict[str, Any]]:
    found = answer(left, right, work)
    assert of_kind(found, VALUES).is_empty()
    sums, found = driven([found])
    assert not sums
    return found


def test_bad_rows_of_both_sides_are_counted_and_shown() -> None:
    left = LEFT.with_columns(
        relevance=pl.when(pl.int_range(pl.len()) < 2).then(None).otherwise("relevance")
    )
    right = RIGHT.with_columns(
        score=pl.when(pl.int_range(pl.len()) == 5).then(float("nan")).otherwise("score")
    )
    one, other = problems(left, right)
    assert (one["is"], one["role"], one["count"]) == ("bad", "qrels", 2)
    assert (other["role"], other["count"], other["problem"]) == ("run", 1, "a NaN score")
    query, doc, _ = RIGHT.row(5)
    assert other["example"] == f"query_id {query!r}, doc_id {doc!r}"
    assert one["order"] < other["order"]


def test_duplicates_are_counted_not_raised() -> None:
    (one,) = problems(LEFT, pl.concat([RIGHT, RIGHT.head(3)]))
    assert (one["is"], one["role"], one["count"]) == ("duplicates", "run", 3)
    assert set(one["example"]) == {"query_id", "doc_id"}


class Fails:
    """Work that fails in a way of its own."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def answer(self, _: Any) -> Any:
        raise self.error


def test_errors_of_ours_travel_and_others_are_told_with_a_query() -> None:
    ours = rf.RankframeError("as it is.")
    (one,) = problems(LEFT, RIGHT, Fails(ours))
    assert (one["is"], type(one["error"]), str(one["error"])) == (
        "error",
        rf.RankframeError,
        "as it is.",
    )
    (one,) = problems(LEFT, RIGHT, Fails(ZeroDivisionError("by nothing")))
    queries = pl.concat([LEFT["query_id"], RIGHT["query_id"]])
    assert one == {
        "is": "failed",
        "message": "ZeroDivisionError: by nothing",
        "query": queries.min(),
        "queries": queries.n_unique(),
    }


def test_problems_pass_through_the_rounds_beside_sums() -> None:
    good, bad = answer(LEFT, RIGHT), answer(LEFT, pl.concat([RIGHT, RIGHT.head(1)]))
    sums, found = driven([good, bad])
    assert sums
    assert [one["is"] for one in found] == ["duplicates"]


def test_another_version_is_said_before_anything_is_read(monkeypatch) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "1")  # as executors do
    here = {"rankframe": rf.__version__, "polars": pl.__version__}
    run = on_executors("work_on_partition", payload(), SCHEMA, here)
    assert pa.Table.from_batches(list(run(batches(LEFT, RIGHT))), SCHEMA).equals(
        answer(LEFT, RIGHT)
    )
    others: list[tuple[str, str | None]] = [("polars", pl.__version__), ("no_such_package", None)]
    for name, version in others:
        (row,) = on_executors("work_on_partition", b"no pickle at all", SCHEMA, {name: "0.1"})([])
        assert row["kind"].to_pylist() == [PROBLEM]
        _, found = pickle.loads(row["rest"][0].as_py())
        assert found == {"is": "versions", "found": {name: version}}


def test_two_tasks_are_never_the_same() -> None:
    assert payload() != payload()


def test_values_are_numbered_and_keep_their_types() -> None:
    schema = answer_schema({"any name": "double", "n_a": "int64"})
    assert schema.names == ["kind", "query_id", "v0", "v1", "rest"]
    assert [schema.field(name).type for name in ("v0", "v1")] == [pa.float64(), pa.int64()]
