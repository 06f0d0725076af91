"""Compute many metrics in one pass: sums that metrics share are computed once, in a fixed order.

Expressions per row run in polars; their sums per query run in numpy over rows sorted by query and
rank, so that the same input gives the same bits on any number of threads.

Values per query are a frame: query_id, then a column for each metric. For metrics that are averaged
over their sums (`average="micro"`), columns whose names end in `ABOVE` and `BELOW` follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import QUERY, FrameColumns
from rankframe.core.errors import MetricParameterError
from rankframe.core.records import record
from rankframe.kernel.batch import text_order
from rankframe.metrics.metric import ABOVE, BELOW, Expressions, Metric
from rankframe.metrics.parts import Parts

# How many parts are computed at a time: bounds the memory of many metrics and cutoffs.
_PARTS_AT_ONCE = 12
_REDUCE = {"sum": np.add.reduceat, "max": np.maximum.reduceat, "first": np.take}
_CODE = "\0query"
_SIDES = ("", ABOVE, BELOW)


class Rows(Protocol):
    """Define a frame with the rows of many queries, sorted by query, such as the judged frame."""

    @property
    def queries(self) -> pl.Series:
        """Return the ids of the queries."""
        ...

    @property
    def starts(self) -> NDArray[np.int64]:
        """Return the first row of each query."""
        ...

    @property
    def code(self) -> NDArray[np.int32]:
        """Return, for each row, the index of its query."""
        ...

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """Return the rows as a DataFrame with the given columns."""
        ...


@record
class Plan:
    """Hold compiled metrics: the sums that they share, and expressions over sums and over rows.

    Expressions that cannot be split into parts (user-defined metrics, and a few that depend on the
    list as a whole) are computed over the rows of each query.
    """

    metrics: tuple[Metric, ...]
    parts: Parts
    over_parts: Expressions
    over_rows: Expressions
    # the columns of the values
    names: Sequence[str]
    # the plan of metrics over subtopics of the same queries
    subtopics: Plan | None = None

    @cached_property
    def columns(self) -> set[str]:
        """Return the columns of the frame that the metrics need."""
        names: set[str] = set()
        for expression, _ in self.parts.values():
            names.update(expression.meta.root_names())
        for expression in self.over_rows.values():
            names.update(expression.meta.root_names())
        return names

    @property
    def labels(self) -> list[str]:
        """Return the labels of the metrics, in order."""
        return [metric.label for metric in self.metrics]

    @property
    def whole_input(self) -> bool:
        """Tell whether a metric needs all queries at once, so that they cannot be partitioned."""
        return any(map(attrgetter("whole_input"), self.metrics))


def compile_plan(metrics: Sequence[Metric], columns: FrameColumns) -> Plan:
    """Compile metrics into a plan that computes the sums that they share once.

    `columns`: the columns of the frame that the metrics look at.
    """
    parts: Parts = {}
    over_parts: Expressions = {}
    over_rows: Expressions = {}
    for metric in metrics:
        compiled = metric.compiled
        parts |= compiled.parts
        over_parts |= compiled.over_parts
        over_rows |= compiled.over_rows
    check_columns(over_rows, columns)
    labels = [metric.label for metric in metrics]
    names = _order_columns(labels, {**over_parts, **over_rows})
    return Plan(tuple(metrics), parts, over_parts, over_rows, names)


def check_columns(expressions: Expressions, columns: FrameColumns) -> None:
    """Refuse expressions over columns that a frame does not have, and name their labels."""
    for label, expression in expressions.items():
        unknown = [name for name in expression.meta.root_names() if columns.find(name) is None]
        if unknown:
            raise MetricParameterError(
                f"expression {label!r} uses {unknown[0]!r}, which is not a column of the "
                f"{columns.kind} frame. It has {', '.join(columns.columns)}."
            )


def compute_values(plan: Plan, source: Rows) -> pl.DataFrame:
    """Compute the metrics of a plan for each query of a frame, in the order of its queries."""
    rows = source.frame(sorted(plan.columns))
    reduced: dict[str, NDArray[np.float64]] = {}
    names = list(plan.parts)
    for start in range(0, len(names), _PARTS_AT_ONCE):
        batch = names[start : start + _PARTS_AT_ONCE]
        # On this thread alone: blocks of queries have a thread each, and handing over costs more.
        terms = rows.select_seq([plan.parts[name][0].alias(name) for name in batch])
        for name in batch:
            numbers, how = terms[name].to_numpy(), plan.parts[name][1]
            reduced[name] = _REDUCE[how](numbers, source.starts)
    columns: dict[str, pl.Series] = {}
    if plan.over_parts:
        sums = [pl.Series(name, numbers) for name, numbers in reduced.items()]
        columns = pl.DataFrame(sums).select_seq(plan.over_parts.values()).to_dict()
    if plan.over_rows:
        columns |= _aggregate_rows(plan.over_rows, rows, source.code).to_dict()
    values = [source.queries.alias(QUERY)]
    for name in plan.names:
        column = columns[name]
        values.append(column if column.dtype == pl.Float64 else column.cast(pl.Float64))
    return pl.DataFrame(values)


def _aggregate_rows(
    expressions: Expressions, rows: pl.DataFrame, code: NDArray[np.int32]
) -> pl.DataFrame:
    """Compute expressions over the rows of each query; `code` has the number of a row's query."""
    # With the sorted flag, polars sums each group in row order, independent of threads.
    numbered = pl.DataFrame({_CODE: pl.Series(code).set_sorted()}).hstack(rows)
    try:
        values = (
            numbered.lazy()
            .group_by(_CODE, maintain_order=True)
            .agg(expressions.values())
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


# Frames of values ------------------------------------------------------------------------------


def empty_values(metrics: Sequence[Metric]) -> pl.DataFrame:
    """Return a frame of values per query, without rows."""
    labels = [metric.label for metric in metrics]
    summed = [m.label + side for m in metrics if m.average == "micro" for side in _SIDES]
    columns = _order_columns(labels, {*labels, *summed})
    return pl.DataFrame(schema={QUERY: pl.String, **dict.fromkeys(columns, pl.Float64)})


def metric_values(values: pl.DataFrame) -> pl.DataFrame:
    """Return query_id and the value of each metric, without numerators and denominators."""
    names = [name for name in values.columns if not name.endswith((ABOVE, BELOW))]
    return values if len(names) == values.width else values[names]


def label_of(column: str) -> str:
    """Return the label of the metric that a column belongs to."""
    return column.removesuffix(ABOVE).removesuffix(BELOW)


def concat_values(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate frames of values of different queries, in byte order of query ids."""
    whole = pl.concat(parts)
    if whole[QUERY].is_sorted():
        return whole
    return whole[pl.Series(text_order(whole[QUERY]).astype(np.uint32))]


def copy_values(values: pl.DataFrame, rows: NDArray[np.int64], queries: pl.Series) -> pl.DataFrame:
    """Copy values to more queries: `rows` has the row of `values` for each of `queries`."""
    return values[pl.Series(rows)].with_columns(queries.alias(QUERY))


def combine_values(
    values: pl.DataFrame, other: pl.DataFrame, labels: Sequence[str]
) -> pl.DataFrame:
    """Join the values per query of metrics over two frames, columns in order of `labels`.

    Values are null where only one of the frames has a query.
    """
    if values[QUERY].equals(other[QUERY]):
        rows = values.hstack(other.drop(QUERY).get_columns())
    else:
        rows = values.join(other, on=QUERY, how="full", coalesce=True)
        rows = rows[text_order(rows[QUERY])]
    return rows[[QUERY, *_order_columns(labels, rows.columns)]]


def _order_columns(labels: Sequence[str], columns: Collection[str]) -> list[str]:
    """Sort the columns of metrics by `labels`: all values, then numerators and denominators."""
    return [label + side for side in _SIDES for label in labels if label + side in columns]
