"""Many metrics in one pass: the sums they share are computed once, in a fixed order.

Expressions per judgment run in polars; their sums per query run in numpy over rows sorted by query
and rank, so that the same input gives the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

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
# Of a metric: its value; where it is averaged over its sums, what is above and below the line too.
Side: TypeAlias = Literal["value", "above", "below"]
Expressions: TypeAlias = dict[tuple[Side, str], pl.Expr]


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
    """Hold what was computed for each query, as rows of three frames."""

    # query_id, then a column a metric
    values: pl.DataFrame
    # of metrics that are averaged over their sums: what is above and below the line
    above: pl.DataFrame
    below: pl.DataFrame

    @classmethod
    def of(cls, values: pl.DataFrame) -> PerQuery:
        """Return values without sums."""
        return cls(values, pl.DataFrame(), pl.DataFrame())

    @classmethod
    def empty(cls, metrics: Sequence[Metric]) -> PerQuery:
        """Return the values of no query at all."""
        summed = {metric.label: pl.Float64 for metric in metrics if metric.average == "micro"}
        labels = {metric.label: pl.Float64 for metric in metrics}
        return cls(
            pl.DataFrame(schema={QUERY: pl.String, **labels}),
            pl.DataFrame(schema=summed),
            pl.DataFrame(schema=summed),
        )

    @property
    def queries(self) -> pl.Series:
        """Return the ids of the queries."""
        return self.values[QUERY]

    @property
    def height(self) -> int:
        """Return the number of queries."""
        return self.values.height

    def kept(self, keep: NDArray[np.bool_]) -> PerQuery:
        """Return the values of the queries that a mask keeps."""
        if keep.all():
            return self
        mask = pl.Series(keep)
        return PerQuery(*(frame.filter(mask) if frame.width else frame for frame in self.frames))

    def spread(self, rows: NDArray[np.int64], queries: pl.Series) -> PerQuery:
        """Return the values of other queries; `rows` has the row here that each of them copies."""
        whole = [pl.DataFrame([taken(c, rows) for c in frame]) for frame in self.frames]
        whole[0] = whole[0].with_columns(queries.alias(QUERY))
        return PerQuery(*whole)

    def with_beside(self, other: PerQuery, labels: Sequence[str]) -> PerQuery:
        """Add what was computed for the same queries over another frame, in the order of labels."""
        added = other.values.drop(QUERY), other.above, other.below
        frames = [pl.concat(p, how="horizontal") for p in zip(self.frames, added, strict=True)]
        return PerQuery(
            *(
                frame.select(name for name in (QUERY, *labels) if name in frame.columns)
                for frame in frames
            )
        )

    @staticmethod
    def joined(parts: Sequence[PerQuery], *, ordered: bool) -> PerQuery:
        """Concatenate the values of different queries, in byte order; `ordered`: they come so."""
        whole = [pl.concat(frames) for frames in zip(*(p.frames for p in parts), strict=True)]
        if not ordered:
            order = text_order(whole[0][QUERY])
            whole = [pl.DataFrame([taken(c.rechunk(), order) for c in frame]) for frame in whole]
        return PerQuery(*whole)

    @property
    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Return all three frames."""
        return self.values, self.above, self.below


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
    _check_columns(plan, columns)
    return plan


def per_query_values(plan: Plan, source: Rows) -> PerQuery:
    """Compute the values of each query of the frame, in byte order."""
    rows = source.frame(sorted(plan.columns))
    reduced: dict[str, NDArray[np.float64]] = {}
    names = list(plan.parts)
    for start in range(0, len(names), _PARTS_AT_ONCE):
        part = names[start : start + _PARTS_AT_ONCE]
        reduced |= _reduced({n: plan.parts[n] for n in part}, rows, source.starts)
    found: dict[tuple[Side, str], pl.Series] = {}
    if plan.over_parts:
        computed = pl.DataFrame(reduced).select(_numbered(plan.over_parts))
        found |= zip(plan.over_parts, computed, strict=True)
    if plan.over_rows:
        found |= zip(plan.over_rows, _grouped(plan.over_rows, rows, source.code), strict=True)

    def side(which: Side) -> list[pl.Series]:
        return [
            found[which, label].cast(pl.Float64).alias(label)
            for label in plan.labels
            if (which, label) in found
        ]

    return PerQuery(
        source.queries.to_frame().with_columns(side("value")),
        pl.DataFrame(side("above")),
        pl.DataFrame(side("below")),
    )


def _values(metric: Metric, value: pl.Expr | Ratio) -> Expressions:
    if not isinstance(value, Ratio):
        return {("value", metric.label): value}
    values: Expressions = {("value", metric.label): value.expr}
    if metric.average == "micro":
        values["above", metric.label] = value.numerator
        values["below", metric.label] = value.denominator
    return values


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
        labels = dict.fromkeys(label for _, label in expressions)
        raise MetricParameterError(
            f"one of the expressions {', '.join(map(repr, labels))} failed: {problem}."
        ) from error
    for (_, label), dtype in zip(expressions, values.dtypes, strict=True):
        if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
            raise MetricParameterError(
                f"expression {label!r} gives {dtype} per query, not one number. "
                "Aggregate it, for instance with .sum(), .any() or .mean()."
            )
    return values


def _check_columns(plan: Plan, columns: FrameColumns) -> None:
    for (_, label), expression in plan.over_rows.items():
        unknown = [n for n in expression.meta.root_names() if columns.find(n) is None]
        if unknown:
            raise MetricParameterError(
                f"expression {label!r} uses {unknown[0]!r}, which is not a column of the "
                f"{columns.kind} frame. It has {', '.join(columns.columns)}."
            )
