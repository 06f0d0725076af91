"""Many metrics in one pass: the sums they share are computed once, in a fixed order.

Expressions per judgment run in polars; their sums per query run in numpy over rows sorted by query
and rank, so that the same input gives the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import QUERY, FrameColumns
from rankframe.core.errors import MetricParameterError
from rankframe.kernel.batch import taken, text_order
from rankframe.metrics.names import Metric
from rankframe.metrics.parts import Parts, Ratio, Reduction

# How many parts are computed at a time: bounds the memory of many metrics and cutoffs.
_PARTS_AT_ONCE = 12
_REDUCE = {"sum": np.add.reduceat, "max": np.maximum.reduceat}
_CODE = "_query"
# How names of columns end that have what is above and below the line.
ABOVE, BELOW = "\0above", "\0below"
_SIDES = ("", ABOVE, BELOW)
# By the name of a column (see `PerQuery`).
Expressions: TypeAlias = dict[str, pl.Expr]


class Rows(Protocol):
    """A frame with the rows of many queries, sorted by query: the judged or the pair frame."""

    @property
    def queries(self) -> pl.Series:
        """The queries."""
        ...

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first row of each query."""
        ...

    @property
    def code(self) -> NDArray[np.int32]:
        """The number of each row's query."""
        ...

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """It, with these columns."""
        ...


@dataclass(frozen=True)
class Plan:
    """Hold what a set of metrics is computed from: parts, values over the parts, and expressions
    that cannot be split into parts (users' own, and a few that look at the list as a whole).
    """

    metrics: tuple[Metric, ...]
    parts: Parts
    over_parts: Expressions
    over_rows: Expressions
    # the plan of metrics that look at another frame of the same queries
    beside: Plan | None = None

    @cached_property
    def columns(self) -> set[str]:
        """The columns of the frame that are needed."""
        rows = [rows for rows, _ in self.parts.values()]
        return {n for e in (*rows, *self.over_rows.values()) for n in e.meta.root_names()}

    @property
    def labels(self) -> list[str]:
        """Return the labels of the metrics, in order."""
        return [metric.label for metric in self.metrics]

    @property
    def whole_input(self) -> bool:
        """Return whether a metric looks at all queries at once: they cannot be partitioned."""
        return any(metric.whole_input for metric in self.metrics)


@dataclass(frozen=True)
class PerQuery:
    """Hold what was computed for each query."""

    # query_id, then a column a metric; of metrics that are averaged over their sums, also what is
    # above and below the line, in columns whose names end in `ABOVE` and `BELOW`
    rows: pl.DataFrame

    @classmethod
    def empty(cls, metrics: Sequence[Metric]) -> PerQuery:
        """Return the values of no query at all."""
        summed = {m.label + side for m in metrics if m.average == "micro" for side in _SIDES}
        labels = [metric.label for metric in metrics]
        columns = _in_order(labels, {*labels, *summed})
        return cls(pl.DataFrame(schema={QUERY: pl.String, **dict.fromkeys(columns, pl.Float64)}))

    @property
    def values(self) -> pl.DataFrame:
        """Return query_id and a column a metric."""
        names = (name for name in self.rows.columns if not name.endswith((ABOVE, BELOW)))
        return self.rows.select(names)

    @property
    def queries(self) -> pl.Series:
        """Return the ids of the queries."""
        return self.rows[QUERY]

    @property
    def height(self) -> int:
        """Return the number of queries."""
        return self.rows.height

    def kept(self, keep: NDArray[np.bool_]) -> PerQuery:
        """Return the values of the queries that a mask keeps."""
        return self if keep.all() else PerQuery(self.rows.filter(pl.Series(keep)))

    def spread(self, rows: NDArray[np.int64], queries: pl.Series) -> PerQuery:
        """Return the values of other queries; `rows` has the row here that each of them copies."""
        copies = pl.DataFrame([taken(column, rows) for column in self.rows])
        return PerQuery(copies.with_columns(queries.alias(QUERY)))

    def beside(self, other: PerQuery, labels: Sequence[str]) -> PerQuery:
        """Return what was computed over two frames, in the order of labels; null where only one of
        the frames has a query.
        """
        if self.queries.equals(other.queries):
            rows = self.rows.hstack(other.rows.drop(QUERY).get_columns())
        else:
            rows = self.rows.join(other.rows, on=QUERY, how="full", coalesce=True)
            rows = rows[text_order(rows[QUERY])]
        return PerQuery(rows.select(QUERY, *_in_order(labels, rows.columns)))

    @staticmethod
    def joined(parts: Sequence[PerQuery], *, ordered: bool) -> PerQuery:
        """Concatenate the values of different queries, in byte order; `ordered`: they come so."""
        whole = pl.concat([part.rows for part in parts])
        if not ordered:
            order = text_order(whole[QUERY])
            whole = pl.DataFrame([taken(column.rechunk(), order) for column in whole])
        return PerQuery(whole)


def compile_plan(metrics: Sequence[Metric], columns: FrameColumns) -> Plan:
    """Compile metrics into a plan that computes shared parts once.

    `columns`: the columns of the frame that the metrics look at.
    """
    parts: Parts = {}
    over_parts: Expressions = {}
    over_rows: Expressions = {}
    for metric in metrics:
        value, own_parts = metric.over_parts
        values = _values(metric, value)
        is_split = all(own_parts.keys() >= set(e.meta.root_names()) for e in values.values())
        if metric.definition is not None and is_split:
            parts |= own_parts
            over_parts |= values
        else:
            over_rows |= _values(metric, metric.build())
    plan = Plan(tuple(metrics), parts, over_parts, over_rows)
    check_columns(over_rows, columns)
    return plan


def per_query_values(plan: Plan, source: Rows) -> PerQuery:
    """Compute the values of each query of the frame, in byte order."""
    rows = source.frame(sorted(plan.columns))
    reduced: dict[str, NDArray[np.float64]] = {}
    names = list(plan.parts)
    for start in range(0, len(names), _PARTS_AT_ONCE):
        part = names[start : start + _PARTS_AT_ONCE]
        reduced |= _reduced({n: plan.parts[n] for n in part}, rows, source.starts)
    found: dict[str, pl.Series] = {}
    if plan.over_parts:
        computed = pl.DataFrame(reduced).select(_numbered(plan.over_parts))
        found |= zip(plan.over_parts, computed, strict=True)
    if plan.over_rows:
        found |= zip(plan.over_rows, _grouped(plan.over_rows, rows, source.code), strict=True)
    names = _in_order(plan.labels, found)
    columns = (found[name].cast(pl.Float64).alias(name) for name in names)
    return PerQuery(source.queries.to_frame().with_columns(columns))


def label_of(column: str) -> str:
    """Return the label of the metric that a column belongs to."""
    return column.removesuffix(ABOVE).removesuffix(BELOW)


def _in_order(labels: Sequence[str], columns: Collection[str]) -> list[str]:
    """Return columns of metrics in the order of their labels: values first."""
    return [label + side for side in _SIDES for label in labels if label + side in columns]


def _values(metric: Metric, value: pl.Expr | Ratio) -> Expressions:
    if not isinstance(value, Ratio):
        return {metric.label: value}
    if metric.average != "micro":
        return {metric.label: value.expr}
    sides = (value.expr, value.numerator, value.denominator)
    return {metric.label + side: expr for side, expr in zip(_SIDES, sides, strict=True)}


def _numbered(expressions: Expressions) -> list[pl.Expr]:
    """Number the expressions: a label may be anything."""
    return [expression.alias(str(i)) for i, expression in enumerate(expressions.values())]


def _reduced(
    parts: dict[str, tuple[pl.Expr, Reduction]], rows: pl.DataFrame, starts: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    computed = rows.select(expression.alias(name) for name, (expression, _) in parts.items())
    return {
        name: _REDUCE[how](computed[name].to_numpy(), starts)
        if how != "first"
        else computed[name].to_numpy()[starts]
        for name, (_, how) in parts.items()
    }


def _grouped(expressions: Expressions, rows: pl.DataFrame, code: NDArray[np.int32]) -> pl.DataFrame:
    # Told that the rows are sorted, polars adds up each group in their order, not by threads.
    numbered = pl.DataFrame({_CODE: pl.Series(code).set_sorted()}).hstack(rows)
    try:
        values = (
            numbered.lazy()
            .group_by(_CODE, maintain_order=True)
            .agg(_numbered(expressions))
            .drop(_CODE)
            .collect(engine="in-memory")
        )
    except pl.exceptions.PolarsError as error:
        problem = str(error).split("\n")[0]
        labels = dict.fromkeys(map(label_of, expressions))
        raise MetricParameterError(
            f"one of the expressions {', '.join(map(repr, labels))} failed: {problem}."
        ) from error
    for label, dtype in zip(expressions, values.dtypes, strict=True):
        if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
            raise MetricParameterError(
                f"expression {label!r} gives {dtype} per query, not one number. "
                "Aggregate it, for instance with .sum(), .any() or .mean()."
            )
    return values


def check_columns(expressions: Expressions, columns: FrameColumns) -> None:
    """Refuse expressions, by their labels, over columns that a frame does not have."""
    for label, expression in expressions.items():
        unknown = [n for n in expression.meta.root_names() if columns.find(n) is None]
        if unknown:
            raise MetricParameterError(
                f"expression {label!r} uses {unknown[0]!r}, which is not a column of the "
                f"{columns.kind} frame. It has {', '.join(columns.columns)}."
            )
