"""Hold results that stay on the cluster: values per query (not their summary), and fused runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

import polars as pl

from rankframe.core.caveats import Caveat
from rankframe.core.columns import QUERY, RANK
from rankframe.core.errors import OutputError, SparkError
from rankframe.core.messages import Option
from rankframe.core.records import record
from rankframe.engine.result import RESULT_FILES, Result
from rankframe.spark.session import collect, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SMALL = ("summary", "slices", "items", "ledger")
_TYPES = {
    pl.String: "string",
    pl.Float64: "double",
    pl.Int64: "bigint",
    pl.Boolean: "boolean",
}


class SparkResult:
    """Hold the outcome of an evaluation on Spark.

    per_query: a Spark DataFrame: query_id and one column per metric, in no order.
    summary, ledger, slices, items: polars frames, bit for bit as from `rf.evaluate`.
    """

    def __init__(self, result: Result, per_query: DataFrame, kept: DataFrame) -> None:
        self.summary = result.summary
        self.ledger = result.ledger
        self.slices = result.slices
        self.items = result.items
        self.inputs = result.inputs
        self.per_query = per_query
        self._result, self._kept = result, kept

    def __getitem__(self, label: str) -> float | None:
        """Return the value of a metric."""
        return self._result[label]

    @property
    def means(self) -> dict[str, float | None]:
        """Return the value of every metric."""
        return self._result.means

    @property
    def caveats(self) -> list[Caveat]:
        """Return the caveats, each with code, value and text: facts that can mislead a reader."""
        return self._result.caveats

    def count(self, item: str) -> float | None:
        """Return the value of an item of the ledger; raise a KeyError if there is no such item."""
        return self._result.count(item)

    @property
    def no_values(self) -> pl.DataFrame:
        """Return the columns of `per_query`, without rows."""
        return self._result.per_query

    def to_result(self) -> Result:
        """Return the result on this machine, with values per query in byte order of query_id."""
        return Result(
            self.summary, collect(self.per_query).sort(QUERY), self.ledger, self.slices,
            self.inputs, items=self.items,
        )  # fmt: skip

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write Parquet to any place that Spark can write to.

        `per_query` is written by the executors, one per partition; `summary`, `slices`, `items`
        and `ledger` follow, in this order: if `ledger` has rows, the result is complete. An
        existing result is replaced only with `overwrite`, part by part, and its `ledger` is emptied
        first, so that parts of two results are never read as one; anything else is never touched.
        """
        spark = self.per_query.sparkSession
        place = refuse_target(spark, path, overwrite=overwrite)
        mode = "overwrite" if overwrite else "error"

        def write(name: str, frame: pl.DataFrame) -> None:
            schema = ", ".join(f"`{c}` {_TYPES[type(t)]}" for c, t in frame.schema.items())
            small = spark.createDataFrame(frame.rows(), schema)  # allowed: a row per metric
            small.coalesce(1).write.mode(mode).parquet(f"{place}/{name}")

        with _writing(place):
            if overwrite and _exists(spark, f"{place}/ledger"):
                write("ledger", self.ledger.clear())
            self.per_query.write.mode(mode).parquet(f"{place}/per_query")
            for name in _SMALL:
                write(name, getattr(self, name))

    def unpersist(self) -> None:
        """Drop the values from the cluster; `per_query` is evaluated again if it is used."""
        self._kept.unpersist()

    def __repr__(self) -> str:
        return repr(self._result).replace("rankframe result", "rankframe result on Spark", 1)

    def _repr_html_(self) -> str:
        return self._result._repr_html_()


@record
class SparkRun:
    """Hold a fused run that is kept on the cluster.

    frame: a Spark DataFrame: query_id, doc_id, rank, score, in no order.
    """

    frame: DataFrame
    kept: DataFrame = field(repr=False)

    def to_polars(self) -> pl.DataFrame:
        """Return the run on this machine, as `rf.fuse` does: by query and rank."""
        return collect(self.frame).sort(QUERY, RANK)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write Parquet to any place that Spark can write to, one file per partition."""
        place = os.path.expanduser(os.fspath(path)).rstrip("/")  # noqa: PTH111 (as elsewhere)
        with _writing(place):
            self.frame.write.mode("overwrite" if overwrite else "error").parquet(place)

    def unpersist(self) -> None:
        """Drop the run from the cluster; it is fused again if it is used."""
        self.kept.unpersist()


def refuse_target(
    spark: SparkSession, path: str | os.PathLike[str], *, overwrite: bool = False
) -> str:
    """Return the address of a result; refuse an address whose content must not be replaced."""
    place = os.path.expanduser(os.fspath(path)).rstrip("/")  # noqa: PTH111 (as elsewhere)
    if not place:
        raise OutputError(f"{os.fspath(path)!r} cannot be a folder for a result.")
    parts = [name for name in ("per_query", *_SMALL) if _exists(spark, f"{place}/{name}")]
    foreign = [name for name in RESULT_FILES if _exists(spark, f"{place}/{name}")]
    # An interrupted write may have left only one of these.
    if foreign or (parts and not {"per_query", "ledger"} & set(parts)):
        what = (foreign or parts)[0]
        raise OutputError(f"{place} holds {what}, which Spark did not write. Nothing written.")
    if parts and not overwrite:
        raise OutputError(
            f"{place} holds a result already. Pass ",
            Option("overwrite", value=True),
            " to replace it.",
        )
    return place


def _exists(spark: SparkSession, path: str) -> bool:
    """Return whether Spark finds anything at an address."""
    try:
        with spark_errors():
            _ = spark.read.text(path).schema
    except SparkError as error:
        if "PATH_NOT_FOUND" in str(error):
            return False
        raise OutputError(f"cannot write {path}: {error}") from None
    return True


@contextmanager
def _writing(place: str) -> Iterator[None]:
    """Turn Spark errors inside the block into errors about an output at this address."""
    try:
        with spark_errors():
            yield
    except SparkError as error:
        if "PATH_ALREADY_EXISTS" not in str(error):
            raise OutputError(f"cannot write {place}: {error}") from None
        option = Option("overwrite", value=True)
        raise OutputError(f"{place} already exists. Pass ", option, " to replace it.") from None
