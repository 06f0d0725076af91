"""`SparkResult`: values per query that stay on the cluster, and their summary, which does not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl

from rankframe.columns import QUERY
from rankframe.errors import OutputError, SparkError
from rankframe.result import Result
from rankframe.spark_inputs import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TYPES = {
    pl.String: "string",
    pl.Float64: "double",
    pl.Int64: "bigint",
    pl.Boolean: "boolean",
}


class SparkResult:
    """The outcome of an evaluation on Spark.

    per_query: a Spark DataFrame: query_id and one column a metric, in no order.
    summary, ledger, slices: polars frames, those of `rf.evaluate` to the last bit.
    """

    def __init__(self, result: Result, per_query: DataFrame, kept: DataFrame) -> None:
        self.summary = result.summary
        self.ledger = result.ledger
        self.slices = result.slices
        self.per_query = per_query
        self._result, self._kept = result, kept

    def __getitem__(self, label: str) -> float | None:
        """The value of a metric."""
        return self._result[label]

    @property
    def means(self) -> dict[str, float | None]:
        """The value of every metric."""
        return self._result.means

    def count(self, item: str) -> float | None:
        """An entry of the ledger."""
        return self._result.count(item)

    @property
    def no_values(self) -> pl.DataFrame:
        """The columns of `per_query`, without rows."""
        return self._result.per_query

    def to_result(self) -> Result:
        """The same with the values per query on this machine, in byte order of query_id."""
        with spark_errors():
            values = pl.DataFrame(self.per_query.toArrow())
        return Result(self.summary, values.sort(QUERY), self.ledger, self.slices)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write Parquet to any place that Spark can write to.

        `per_query` is written by the executors, a file a partition; `summary`, `slices` and
        `ledger` follow, in this order: where `ledger` is there, everything is.
        """
        place = os.fspath(path).rstrip("/")
        mode = "overwrite" if overwrite else "error"
        spark = self.per_query.sparkSession
        with _writing(place):
            self.per_query.write.mode(mode).parquet(f"{place}/per_query")
            for name in ("summary", "slices", "ledger"):
                frame: pl.DataFrame = getattr(self, name)
                schema = ", ".join(f"`{c}` {_TYPES[type(t)]}" for c, t in frame.schema.items())
                small = spark.createDataFrame(frame.rows(), schema)  # allowed: a row a metric
                small.coalesce(1).write.mode(mode).parquet(f"{place}/{name}")

    def unpersist(self) -> None:
        """Let the cluster forget the values; `per_query` is evaluated again if it is used."""
        self._kept.unpersist()

    def __repr__(self) -> str:
        return repr(self._result).replace("rankframe result", "rankframe result on Spark", 1)

    def _repr_html_(self) -> str:
        return self._result._repr_html_()


@contextmanager
def _writing(place: str) -> Iterator[None]:
    try:
        with spark_errors():
            yield
    except SparkError as error:
        if "PATH_ALREADY_EXISTS" in str(error):
            raise OutputError(
                f"{place} holds a result already. Pass overwrite=True to replace it."
            ) from None
        raise OutputError(f"cannot write {place}: {error}") from None
