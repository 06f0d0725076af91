"""Grades that metrics do not foresee, refused before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from rankframe.core.columns import RELEVANCE
from rankframe.core.errors import BadValueError, MetricParameterError
from rankframe.metrics.names import Metric

_LARGEST_EXPONENT = 1000.0


def check_grades(metrics: Sequence[Metric], judgments: pl.LazyFrame) -> float:
    """The largest grade; refuse grades that a metric's parameters do not foresee."""
    grade = pl.col(RELEVANCE)
    highest = float(judgments.select(grade.max().fill_null(0)).collect(engine="streaming").item())

    def without_gain(valid: Sequence[float]) -> tuple[int, float | None]:
        bad = (
            judgments.select(grade)
            .filter(grade > 0, ~grade.is_in(valid))
            .collect(engine="streaming")[RELEVANCE]
        )
        return len(bad), next(iter(bad), None)

    refuse_grades(metrics, highest, without_gain)
    return highest


def refuse_grades(
    metrics: Sequence[Metric],
    highest: float,
    without_gain: Callable[[Sequence[float]], tuple[int, float | None]],
) -> None:
    """Refuse grades that a metric's parameters do not foresee.

    `without_gain`: how many grades above 0 are none of these, and one of them.
    """
    for metric in metrics:
        top, gain = metric.params.get("max_grade"), metric.params.get("gain")
        if metric.exponential and highest > _LARGEST_EXPONENT:
            raise MetricParameterError(
                f"{metric.label!r}: 2 to the power of a grade of {highest:g} is too large a number."
            )
        if top is not None and top < highest:
            raise MetricParameterError(
                f"{metric.label!r}: max_grade is {top:g}, but qrels has a grade of {highest:g}."
            )
        if isinstance(gain, Mapping):
            count, example = without_gain([float(g) for g in gain])
            if count:
                raise BadValueError(
                    "qrels",
                    f"a grade that {metric.label!r} gives no gain",
                    count,
                    f"{example:g}",
                    "Give every grade above 0 a gain",
                )
