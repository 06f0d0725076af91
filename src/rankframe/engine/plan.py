"""Many metrics in one pass: the sums they share are computed once, in a fixed order.

Expressions per judgment run in polars; their sums per query run in numpy over rows sorted by query
and rank, so that the same input gives the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.base.columns import JUDGED_FRAME, QUERY, FrameColumns
from rankframe.base.errors import MetricParameterError
from rankframe.metrics.names import Metric
from rankframe.metrics.parts import Parts, Ratio, Reduction, collecting

# How many parts are computed at a time: bounds the memory of many metrics and cutoffs.
_PARTS_AT_ONCE = 12
_REDUCE = {"sum": np.add.reduceat, "max": np.maximum.reduceat}
_CODE = "_query"


class Rows(Protocol):
    """A frame with the rows of many queries, sorted by query: the judged or the pair frame."""

    queries: pl.Series
    code: NDArray[np.int32]
    starts: NDArray[np.int64]

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """It, with these columns."""
        ...


@dataclass(frozen=True)
class Plan:
    """What is computed for a set of metrics: parts, values over the parts, and the expressions
    that cannot be split into parts (users' own, and a few that look at the list as a whole).
    """

    metrics: tuple[Metric, ...]
    parts: Parts
    over_parts: dict[str, pl.Expr]
    over_rows: dict[str, pl.Expr]

    @cached_property
    def columns(self) -> set[str]:
        """The columns of the judged frame that are needed."""
        rows = [rows for rows, _ in self.parts.reductions.values()]
        return {n for e in (*rows, *self.over_rows.values()) for n in e.meta.root_names()}

    @cached_property
    def labels(self) -> list[str]:
        """The columns of the values, in the order of the metrics."""
        return [label for metric in self.metrics for label, _ in _values(metric)]

    @property
    def metric_labels(self) -> list[str]:
        """The columns that users see: without the sums that micro averages need."""
        return [metric.label for metric in self.metrics]

    @property
    def whole_input(self) -> bool:
        """Whether some metric looks at all queries at once, so that they cannot come in pieces."""
        return any(metric.whole_input for metric in self.metrics)

    def no_values(self) -> pl.DataFrame:
        """The values of no query at all."""
        return pl.DataFrame(schema={QUERY: pl.String, **dict.fromkeys(self.labels, pl.Float64)})


def numerator(label: str) -> str:
    """The column with the numerators of a metric that is averaged over its sums."""
    return f"{label}\0numerator"


def denominator(label: str) -> str:
    """The column with the denominators of a metric that is averaged over its sums."""
    return f"{label}\0denominator"


def compile_plan(metrics: Sequence[Metric], columns: FrameColumns = JUDGED_FRAME) -> Plan:
    """Take metrics apart into what they share.

    `columns` are those of the frame that they look at.
    """
    parts = Parts()
    over_parts: dict[str, pl.Expr] = {}
    over_rows: dict[str, pl.Expr] = {}
    for metric in metrics:
        if metric.definition is None:
            over_rows.update(_values(metric))
            continue
        tentative = Parts(dict(parts.reductions), dict(parts.names))
        with collecting(tentative):
            values = dict(_values(metric))
        if all(set(e.meta.root_names()) <= set(tentative.reductions) for e in values.values()):
            parts = tentative
            over_parts.update(values)
        else:
            over_rows.update(_values(metric))
    plan = Plan(tuple(metrics), parts, over_parts, over_rows)
    _check_columns(plan, columns)
    return plan


def per_query_values(plan: Plan, judged: Rows) -> pl.DataFrame:
    """One row per judged query, in byte order: query_id and a Float64 column for each value."""
    rows = judged.frame(sorted(plan.columns))
    reduced: dict[str, NDArray[np.float64]] = {}
    names = list(plan.parts.reductions)
    for start in range(0, len(names), _PARTS_AT_ONCE):
        some = names[start : start + _PARTS_AT_ONCE]
        reduced |= _reduced({n: plan.parts.reductions[n] for n in some}, rows, judged.starts)
    values = [judged.queries.to_frame()]
    if plan.over_parts:
        values.append(
            pl.DataFrame(reduced).select(e.alias(label) for label, e in plan.over_parts.items())
        )
    if plan.over_rows:
        values.append(_grouped(plan.over_rows, rows, judged.code))
    whole = pl.concat(values, how="horizontal")
    return whole.select(QUERY, pl.col(plan.labels).cast(pl.Float64))


def _values(metric: Metric) -> Iterator[tuple[str, pl.Expr]]:
    value = metric.build()
    yield metric.label, value.expr if isinstance(value, Ratio) else value
    if metric.average == "micro" and isinstance(value, Ratio):
        yield numerator(metric.label), value.numerator
        yield denominator(metric.label), value.denominator


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


def _grouped(
    expressions: dict[str, pl.Expr], rows: pl.DataFrame, code: NDArray[np.int32]
) -> pl.DataFrame:
    # Told that the rows are sorted, polars adds up each group in their order, not by threads.
    numbered = pl.DataFrame({_CODE: pl.Series(code).set_sorted()}).hstack(rows)
    try:
        values = (
            numbered.lazy()
            .group_by(_CODE, maintain_order=True)
            .agg(e.alias(label) for label, e in expressions.items())
            .drop(_CODE)
            .collect(engine="in-memory")
        )
    except pl.exceptions.PolarsError as error:
        problem = str(error).split("\n")[0]
        raise MetricParameterError(
            f"one of the expressions {', '.join(map(repr, expressions))} failed: {problem}."
        ) from error
    for label, dtype in values.schema.items():
        if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
            raise MetricParameterError(
                f"expression {label!r} gives {dtype} per query, not one number. "
                "Aggregate it, for instance with .sum(), .any() or .mean()."
            )
    return values


def _check_columns(plan: Plan, columns: FrameColumns) -> None:
    for label, expression in plan.over_rows.items():
        unknown = [n for n in expression.meta.root_names() if columns.type_of(n) is None]
        if unknown:
            raise MetricParameterError(
                f"expression {label!r} uses {unknown[0]!r}, which is not a column of the "
                f"{columns.kind} frame. It has {', '.join(columns.columns)}."
            )
