"""What executors do, on this machine: a partition's answer, sums in rounds, and what is wrong."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import rankframe as rf
from rankframe.core.errors import BadValueError, DuplicateError, SparkError
from rankframe.core.options import Policies
from rankframe.engine.accumulator import WHOLE, SliceSums
from rankframe.engine.evaluation import Evaluation, prepare_evaluation
from rankframe.engine.plan import metric_values
from rankframe.io.opening import open_table
from rankframe.metrics.names import resolve
from rankframe.spark.driver import read_answers
from rankframe.spark.worker import (
    PROBLEM,
    SIDE,
    SUMS,
    VALUES,
    SentSide,
    Task,
    answer_schema,
    evaluate_partition,
    merge_sums,
    on_executors,
    work_on_partition,
)
from tests.support.pieces import MICRO, shop_like

METRICS = ["ndcg@5", "lag", MICRO, "map", "mrr"]
LEFT, RIGHT = (
    open_table(side, role).frame.collect()
    for side, role in zip(shop_like(), ("qrels", "run"), strict=True)
)  # pyright: ignore[reportArgumentType]
SCHEMA = answer_schema(dict.fromkeys(METRICS, "double"))


def evaluation(**policies: Any) -> Evaluation:
    return prepare_evaluation(resolve(METRICS), Policies(**policies)).with_max_grade(3.0)


def payload(work: Any = None) -> bytes:
    sides = SentSide("qrels", LEFT.columns), SentSide("run", RIGHT.columns)
    default = partial(evaluate_partition, evaluation(), ("qrels", "run"))
    return pickle.dumps(Task(work or default, sides))


def batches(left: pl.DataFrame, right: pl.DataFrame) -> list[pa.RecordBatch]:
    """Rows of both sides as they are sent, a few at a time."""
    both = pl.concat(
        (
            side.with_columns(pl.lit(number, pl.Int8).alias(SIDE))
            for number, side in enumerate((left, right))
        ),
        how="diagonal",
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


def driven(tables: Iterable[pa.Table], last_round: bytes = b"") -> dict[Any, Any]:
    return dict(read_answers(pl.DataFrame(rounds(tables, last_round)).rows(named=True)))


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
        sums = driven(some, last_round)
        alone = evaluation().evaluate_partition(LEFT, RIGHT)
        assert sums.pop(None) == replace(alone.counts, rising=0)  # rows have no order on Spark
        whole = SliceSums.unite(sums.values())
        assert whole == alone.slices[WHOLE].finish(averages.metrics, averages.intervals)
        assert whole.buckets is None


def refused(*parts: tuple[pl.DataFrame, pl.DataFrame], work: Any = None) -> rf.RankframeError:
    """Return what the driver raises of partitions, in any order of them."""
    tables = [answer(left, right, work) for left, right in parts]
    errors = []
    for ordered in (tables, tables[::-1]):
        with pytest.raises(rf.RankframeError) as caught:
            driven(ordered)
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1])
    assert str(errors[0]) == str(errors[1])
    return errors[0]


def test_bad_rows_of_all_partitions_are_counted_and_shown() -> None:
    left = LEFT.with_columns(
        relevance=pl.when(pl.int_range(pl.len()) < 2).then(None).otherwise("relevance")
    )
    right = RIGHT.with_columns(
        score=pl.when(pl.int_range(pl.len()) == 5).then(float("nan")).otherwise("score")
    )
    bad = answer(left, right)
    assert of_kind(bad, VALUES).is_empty()
    assert of_kind(bad, PROBLEM).height == 2
    # the first input comes first, and what other inputs break is not counted
    error = refused((left, right), (LEFT, right), (left, RIGHT))
    assert isinstance(error, BadValueError)
    query, doc, _ = left.row(0)
    example = f"query_id {query!r}, doc_id {doc!r}"
    assert f"qrels has 4 rows with a null relevance, e.g. {example}." in str(error)
    query, doc, _ = RIGHT.row(5)
    example = f"query_id {query!r}, doc_id {doc!r}"
    error = refused((LEFT, right), (LEFT, pl.concat([RIGHT, RIGHT])))
    assert f"run has 1 row with a NaN score, e.g. {example}." in str(error)


def test_duplicates_of_all_partitions_are_counted() -> None:
    twice = LEFT, pl.concat([RIGHT, RIGHT.head(3)])
    assert of_kind(answer(*twice), VALUES).is_empty()
    error = refused(twice, (LEFT, RIGHT), (LEFT, pl.concat([RIGHT, RIGHT.head(1)])))
    assert isinstance(error, DuplicateError)
    assert (error.role, error.count, error.rows) == ("run", 4, [])
    assert set(error.example) == {"query_id", "doc_id"}


def fails(error: Exception, _: Any) -> Any:
    """Fail in a way of its own."""
    raise error


def test_errors_of_ours_travel_and_others_are_told_with_a_query() -> None:
    ours = rf.RankframeError("as it is.")
    error = refused((LEFT, RIGHT), work=partial(fails, ours))
    assert (type(error), str(error)) == (rf.RankframeError, "as it is.")
    error = refused((LEFT, RIGHT), work=partial(fails, ZeroDivisionError("by nothing")))
    queries = pl.concat([LEFT["query_id"], RIGHT["query_id"]])
    assert isinstance(error, SparkError)
    assert str(error) == (
        f"a partition with {queries.n_unique()} queries, one of them {queries.min()!r}, failed: "
        "ZeroDivisionError: by nothing"
    )


def test_problems_pass_through_the_rounds_beside_sums() -> None:
    good, bad = answer(LEFT, RIGHT), answer(LEFT, pl.concat([RIGHT, RIGHT.head(1)]))
    kinds = rounds([good, bad], b"")["kind"].to_pylist()
    assert sorted(kinds) == [SUMS] * 3 + [PROBLEM]


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
        assert found == {name: version}
        with pytest.raises(SparkError, match="an executor has"):
            read_answers(row.to_pylist())


def test_two_tasks_are_never_the_same() -> None:
    assert payload() != payload()


def test_values_are_numbered_and_keep_their_types() -> None:
    schema = answer_schema({"any name": "double", "n_a": "int64"})
    assert schema.names == ["kind", "query_id", "v0", "v1", "rest"]
    assert [schema.field(name).type for name in ("v0", "v1")] == [pa.float64(), pa.int64()]
