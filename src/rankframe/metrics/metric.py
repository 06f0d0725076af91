"""A metric as somebody asks for it: one of the registry with its parameters, or a user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, get_args

import polars as pl

from rankframe.core.checks import LONGEST_NAME, is_pattern
from rankframe.core.columns import GROUPED_FRAME, JUDGED_FRAME, QUERY
from rankframe.core.errors import MetricParameterError
from rankframe.core.messages import shorten
from rankframe.core.options import Average, GapKind
from rankframe.metrics.parts import Ratio
from rankframe.metrics.registry import Definition, Frame

_QUANTILE = re.compile(r"quantile\(\s*q\s*=\s*(?P<q>[^()]+)\)")


@dataclass(frozen=True)
class Gap:
    """Describe the gap between the averages of a metric over slices of queries."""

    of: Metric
    # an attribute of the queries
    by: str
    kind: GapKind = "range"


@dataclass(frozen=True)
class Metric:
    """A metric with its parameters, under the label that the user gave it."""

    label: str
    average: Average = "macro"
    definition: Definition | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    # a user's own, where there is no definition; stored values have neither
    expression: pl.Expr | None = None
    lower_is_better: bool = False
    # of average="quantile": the share of queries that are below
    q: float | None = None
    # the frame that a user's own looks at; None: as its columns say
    looks_at: Frame | None = None
    # of a gap between slices, which has neither
    gap: Gap | None = None

    @property
    def frame(self) -> Frame:
        """The frame that it looks at; a user's own, the first of them that has its columns."""
        if self.definition is not None:
            return self.definition.frame
        if self.gap is not None:
            return "gap"
        if self.looks_at is not None or self.expression is None:
            return self.looks_at or "judged"
        names = self.expression.meta.root_names()
        if all(map(JUDGED_FRAME.find, names)):
            return "judged"
        return "grouped" if all(map(GROUPED_FRAME.find, names)) else "shown"

    @property
    def of_judgments(self) -> bool:
        """Tell whether the metric looks at judgments, of documents or of groups."""
        return self.frame in ("judged", "grouped")

    @property
    def level(self) -> float | None:
        """The share of queries whose values are below its average, where that is what it is: a
        median, a quantile or the least value. None: it is made of sums.
        """
        return {"median": 0.5, "min": 0.0, "quantile": self.q}.get(self.average)

    @property
    def higher_is_better(self) -> bool:
        """Tell whether higher values are better (the default for users' own metrics)."""
        if self.definition is None:
            return not self.lower_is_better
        return self.definition.higher_is_better

    @property
    def whole_input(self) -> bool:
        """Tell whether the metric needs all queries at once and so cannot be partitioned."""
        if self.definition is not None:
            return self.definition.holds(self.definition.pooled, self.params)
        looked_at = [] if self.expression is None else self.expression.meta.root_names()
        return any(map(JUDGED_FRAME.of_whole_input, looked_at))

    @property
    def grouped(self) -> bool:
        """Tell whether the metric looks at groups of judgments."""
        return self.frame == "grouped"

    @property
    def exponential(self) -> bool:
        """Tell whether the metric computes 2 to the power of a grade."""
        found = self.definition
        return found is not None and found.holds(found.exponential, self.params)

    def build(self) -> pl.Expr | Ratio:
        """Its value for one query, over the frame that it looks at."""
        if self.definition is None:
            assert self.expression is not None  # nobody builds what is stored
            return self.expression
        return self.definition.build(**self.params)

    def expr(self) -> pl.Expr:
        """Return the metric's value as one expression."""
        value = self.build()
        return value.expr if isinstance(value, Ratio) else value


def metric(
    expression: pl.Expr,
    name: str | None = None,
    *,
    higher_is_better: bool = True,
    average: Average | str = "macro",
    frame: Frame | None = None,
) -> Metric:
    """Define a metric of your own, accepted wherever the name of a metric is.

    expression: one number a query, over the judged frame (`rf.judge`), or, to compare two rankings
        with `agree`, over the pair frame (`rf.pair`).
    name: what results call it; without one, the expression has a name of its own: `.alias("…")`.
    higher_is_better: which way `compare`, `diff`, `gate` and `report` look at it.
    average: how the values of queries become one number: by their mean ("macro"), "geometric"
        mean, mean by weight ("weighted") or "sum"; for `evaluate` and `agree` also by their
        "median", the least of them ("min") or what a tenth is below, "quantile(q=0.1)".
    frame: what the expression looks at: "judged", "grouped", "shown" (`rf.retrieved`), or
        "documents", one number over all queries; by default the first of these that has all of
        its columns.

    A plain expression with a name is a metric too, of which more is better.

    >>> first = rf.metric(pl.col("rank").min(), "first_rank", higher_is_better=False)
    >>> before, after = {"q": {"x": 2.0, "a": 1.0}}, {"q": {"a": 2.0, "x": 1.0}}
    >>> rf.diff({"q": {"a": 1}}, before, after, first)
    rankframe diff, first_rank: 2.0000 → 1.0000 (-1.0000)
      1 query: 1 better in b, 0 the same, 0 worse
      q  2.0000 → 1.0000  -1.0000  b better
    """
    if not isinstance(expression, pl.Expr):
        raise MetricParameterError(f"a metric of your own is an expression, not {expression!r}.")
    if not isinstance(name, str | None):
        raise MetricParameterError(f"the name of a metric is text, not {name!r}.")
    if not isinstance(higher_is_better, bool):
        raise MetricParameterError(f"higher_is_better is True or False, not {higher_is_better!r}.")
    label = _own_name(expression) if name is None else name
    if not label:
        raise MetricParameterError('an expression needs a name of its own: .alias("...").')
    if expression.meta.has_multiple_outputs():
        raise MetricParameterError(
            f"expression {label!r} stands for several columns. Give one expression for each."
        )
    refuse_long(label)
    if is_pattern(label):
        raise MetricParameterError(
            f"{label!r} is a pattern of names: give the expression another name."
        )
    if label == QUERY:
        raise MetricParameterError(f"{QUERY!r} is the key: give the expression another name.")
    how, q = read_average(average, label)
    if how == "micro":
        raise MetricParameterError(
            f"{label!r}: an expression is no ratio of sums, so it has no micro average."
        )
    if frame is not None and frame not in get_args(Frame):
        raise MetricParameterError(
            f"{label!r}: frame={frame!r} is not one of {', '.join(get_args(Frame))}."
        )
    lower = not higher_is_better
    return Metric(label, how, expression=expression, lower_is_better=lower, q=q, looks_at=frame)


def read_average(given: object, label: str) -> tuple[Average, float | None]:
    """Parse how values are averaged, and the q of a quantile.

    >>> read_average("median", "map"), read_average("quantile(q=0.1)", "map")
    (('median', None), ('quantile', 0.1))
    """
    found = _QUANTILE.fullmatch(str(given))
    if found is not None:
        with suppress(ValueError):
            q = float(found["q"])
            if 0 < q < 1:
                return "quantile", q
    for average in get_args(Average):
        if given == average != "quantile":
            return average, None
    names = [*(name for name in get_args(Average) if name != "quantile"), "quantile(q=0.1)"]
    raise MetricParameterError(f"{label!r}: average={given!r} is not one of {', '.join(names)}.")


def refuse_long(name: str) -> None:
    """Refuse a name that is too long to be meant, before it is parsed."""
    if len(name) > LONGEST_NAME:
        raise MetricParameterError(
            f"the name of a metric has at most {LONGEST_NAME:,} characters, and this one "
            f"{len(name):,}: {shorten(name)!r}."
        )


def _own_name(expression: pl.Expr) -> str:
    """Return the output name of an expression, or an empty text."""
    try:
        return expression.meta.output_name()
    except pl.exceptions.PolarsError:
        return ""
