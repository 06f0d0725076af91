"""Provide the building blocks of metrics: sums over a query's judgments, and ratios of them.

A metric is one polars expression for use in `judged.group_by("query_id").agg(...)`. When many
metrics are evaluated together, the same functions are called while `collecting()`: each sum then
becomes a named *part* that is computed once, however many metrics use it, in a fixed order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import Final, Literal, TypeAlias

import polars as pl

from rankframe.core.columns import RANK, RELEVANCE, ColumnRequest
from rankframe.core.errors import MetricParameterError
from rankframe.core.messages import shown
from rankframe.core.options import is_number
from rankframe.core.records import record

Reduction = Literal["sum", "max", "first"]


# Per-judgment expressions that are reduced to one value per query, by the names of the results.
Parts: TypeAlias = dict[str, tuple[pl.Expr, Reduction]]
_collected: ContextVar[Parts | None] = ContextVar("parts", default=None)


@contextmanager
def collecting() -> Iterator[Parts]:
    """Let metrics share sums: inside the block, each sum becomes a named entry of a dict."""
    parts: Parts = {}
    token = _collected.set(parts)
    try:
        yield parts
    finally:
        _collected.reset(token)


def total(rows: pl.Expr) -> pl.Expr:
    """Sum the expression `rows` over each query's judgments."""
    return _reduce(rows.cast(pl.Float64), "sum")


def largest(rows: pl.Expr) -> pl.Expr:
    """Return the largest value of the expression `rows` over each query's judgments."""
    return _reduce(rows.cast(pl.Float64), "max")


def of_query(column: str) -> pl.Expr:
    """Return, for each query, the value of a column that has one value per query."""
    return _reduce(pl.col(column).cast(pl.Float64), "first")


def _reduce(rows: pl.Expr, how: Reduction) -> pl.Expr:
    """Reduce a value per judgment to one per query or, inside `collecting()`, to a named sum."""
    parts = _collected.get()
    if parts is None:
        return {"sum": rows.sum, "max": rows.max, "first": rows.first}[how]()
    # Equal parts of different metrics have equal names.
    name = f"_{how}_{blake2b(rows.meta.serialize(), digest_size=16).hexdigest()}"
    parts.setdefault(name, (rows, how))
    return pl.col(name)


@record
class Ratio:
    """Hold a metric that is a ratio of two sums, so that the sums can also be averaged."""

    numerator: pl.Expr
    denominator: pl.Expr
    # the value where the denominator is 0; None: the metric is undefined there
    empty: float | None = 0.0

    @property
    def expr(self) -> pl.Expr:
        """Return the ratio as one expression, with the value `empty` where the denominator is 0."""
        return (
            pl.when(self.denominator != 0)
            .then(self.numerator / self.denominator)
            .otherwise(pl.lit(self.empty, pl.Float64))
        )


def where(condition: pl.Expr, value: pl.Expr | float = 1.0) -> pl.Expr:
    """Return `value` on rows where `condition` holds, 0 elsewhere (also where it is null)."""
    return pl.when(condition).then(value).otherwise(0.0)


# What a metric returns.
Value: TypeAlias = pl.Expr | Ratio


def relevant(rel: float | None) -> pl.Expr:
    """Tell which rows are relevant: by a grade of at least `rel` or, if None, as the frame says."""
    return pl.col("relevant") if rel is None else pl.col(RELEVANCE) >= rel


def within(k: int | None, rank: str = RANK) -> pl.Expr:
    """Tell which rows have a rank in the top k or, if k is None, any rank."""
    return pl.col(rank).is_not_null() if k is None else pl.col(rank) <= k


def found(rel: float | None) -> pl.Expr:
    """Return, for each row, the number of relevant documents at or above its rank."""
    return ColumnRequest("found", rel=rel).expr


def sum_hits(k: int | None, rel: float | None, value: pl.Expr | float = 1.0) -> pl.Expr:
    """Sum `value` over the relevant documents in the top k; by default, count these documents."""
    return total(where(relevant(rel) & within(k), value))


def relevant_count(rel: float | None) -> pl.Expr:
    """Count the relevant judged documents: R."""
    return total(where(relevant(rel)))


def retrieved() -> pl.Expr:
    """Return n, the number of documents that the run returned for each query."""
    return of_query("retrieved")


def depth(k: int | None) -> pl.Expr:
    """Return the length of the list down to k: min(k, n)."""
    return retrieved() if k is None else pl.min_horizontal(retrieved(), pl.lit(float(k)))


def length(k: int | None) -> pl.Expr:
    """Return a divisor of each query's value: k or, if k is None, the number of documents."""
    return retrieved() if k is None else constant(k)


def constant(value: float, column: str = "retrieved") -> pl.Expr:
    """Return `value` as a column, by which polars divides each query's value exactly.

    Polars divides by a literal by multiplying by its reciprocal: 3 / 10 becomes
    0.30000000000000004. A column divides exactly; `column` is any one of the frame without nulls.
    """
    return of_query(column) * 0 + value


def row_constant(value: float) -> pl.Expr:
    """Return `value` as a column, by which polars divides each judgment's value exactly."""
    return pl.col(RELEVANCE) * 0 + value


def largest_grade(max_grade: float | None) -> pl.Expr:
    """Return, for each judgment, `max_grade` or, if it is None, the largest grade of all."""
    return pl.col("max_grade") if max_grade is None else row_constant(max_grade)


def power(base: float, exponent: pl.Expr) -> pl.Expr:
    """Raise a number to the power of a column, with the same bits for a column of any length.

    The last bit of polars' `pow` differs in columns of a few rows. Whole powers of 2 are exact.
    """
    if base != 2:
        return (exponent * math.log(base)).exp()
    whole = exponent.cast(pl.Float64).floor()
    return pl.lit(2.0).pow(whole) * ((exponent - whole) * math.log(2)).exp()


# Parameters up to here can be squared, multiplied and added up.
LARGEST: Final = 1e100


def check_between(
    name: str, value: float, low: float, high: float, *, closed: bool = False
) -> None:
    """Refuse a parameter that is not between `low` and `high`."""
    if not is_number(value):
        raise MetricParameterError(f"{name} must be a number, not {shown(value)}.")
    if low < value < high or (closed and value in (low, high)):
        return
    kind = "from" if closed else "strictly between"
    join = "to" if closed else "and"
    raise MetricParameterError(f"{name} must be {kind} {low:g} {join} {high:g}, not {value:g}.")
