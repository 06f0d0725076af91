"""Compute the area under a curve, and reduce its points for a drawing."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankframe.core.arrays import Floats
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown
from rankframe.core.options import Check, is_count, is_number
from rankframe.kernel.segments import segment_starts, spread

_ROC, _PRECISION_RECALL = ("fpr", "tpr"), ("recall", "precision")
# For each kind of curve, the column of the x axis and the columns of the y axis.
AXES = (_ROC, _PRECISION_RECALL, ("k", "value"), ("k", "cg", "dcg", "ideal_dcg"))
# The columns that identify a curve in a frame of several.
OWNERS = (QUERY, "by", "slice")
_MAX_FPR = Check(lambda value: is_number(value) and 0 < value <= 1, "a number above 0 and up to 1")
_LIMIT = Check(lambda value: is_count(value) and value >= 10, "a whole number of at least 10")


def area_under(points: pl.DataFrame, *, max_fpr: float | None = None) -> float:
    """Compute the area under the points of one curve.

    For ROC points, this is the area by trapezoids, like scikit-learn's `roc_auc_score`. With
    `max_fpr`, the partial area is standardised (McClish), also like scikit-learn's: 0.5 for a
    diagonal, 1 for a perfect curve. For precision–recall points, this is the average precision
    Σ (Rₙ − Rₙ₋₁) Pₙ, like scikit-learn's `average_precision_score`. Interpolated points are
    refused: their mean is the metric `eleven_point`.

    Args:
        points: the points of one curve, as `rf.curve` returns them.
        max_fpr: for ROC points, the largest fpr of a partial area (default: 1).

    >>> from rankframe.analysis.curves.curve import curve
    >>> from rankframe.analysis.curves.area import area_under
    >>> area_under(curve({"q": {"a": 1}}, {"q": {"x": 3.0, "a": 2.0, "y": 1.0}}, "roc"))
    0.5
    """
    _check_points(points)
    axes = _axes_of(points, AXES[:2])
    x, y = (_numbers(points, name) for name in axes)
    _check_order(x, axes[0])
    if axes == _PRECISION_RECALL:
        if max_fpr is not None:
            raise OptionError(
                Option("max_fpr"), " is for ROC points; these points have precision and recall."
            )
        if "queries" in points.columns:
            raise OptionError(
                "these points are interpolated. Use the mean of their precision, which is the "
                "metric 'eleven_point', or the area under points that are not interpolated."
            )
        return float(np.sum(np.diff(x, prepend=0.0) * y))
    if x[0] != 0 or x[-1] != 1:
        raise OptionError(
            f"ROC points must go from fpr 0 to 1; these points go from {x[0]:g} to {x[-1]:g}. "
            "Pass all points; for a partial area, pass ",
            Option("max_fpr"),
            ".",
        )
    if max_fpr is None:
        return float(np.trapezoid(y, x))
    _MAX_FPR.refuse("max_fpr", max_fpr)
    if max_fpr == 1:  # standardising does not change the whole area
        return float(np.trapezoid(y, x))
    stop = int(np.searchsorted(x, max_fpr, side="right"))
    height = np.interp(max_fpr, x[stop - 1 : stop + 1], y[stop - 1 : stop + 1])
    part = np.trapezoid(np.append(y[:stop], height), np.append(x[:stop], max_fpr))
    diagonal = max_fpr**2 / 2  # the area below the diagonal
    return float((1 + (part - diagonal) / (max_fpr - diagonal)) / 2)


def downsample_curve(points: pl.DataFrame, limit: int = 2_000) -> pl.DataFrame:
    """Keep at most `limit` points of one curve, such that its drawing looks the same.

    The x axis is cut into bins. The first, last, lowest and highest point of each bin are kept, and
    both ends of the curve. A ROC curve is also steep, so its bins are of fpr + tpr: no dropped
    point lies further than 4 / limit above or below the line that is drawn. A curve of at most
    `limit` points is returned unchanged.

    Args:
        points: the points of one curve, as `rf.curve` returns them.
        limit: the largest number of points to keep.

    >>> from rankframe.analysis.curves.area import downsample_curve
    >>> line = pl.DataFrame({"fpr": [i / 99 for i in range(100)], "tpr": [1.0] * 100})
    >>> downsample_curve(line, 10).height
    10
    """
    _LIMIT.refuse("limit", limit)
    _check_points(points)
    if points.height <= limit:
        return points
    axes = _axes_of(points, AXES)
    x, *heights = (_numbers(points, name) for name in axes)
    _check_order(x, axes[0])
    if axes == _ROC:
        _check_order(heights[0], axes[1])
        # Bins are of fpr + tpr. Both increase, so the first and the last point of a bin are also
        # the lowest and the highest.
        x, heights = x + heights[0], []
    bins = int(limit) // (2 + 2 * len(heights))
    span = x[-1] - x[0]
    number = np.minimum((x - x[0]) / (span or 1.0) * bins, bins - 1).astype(np.int64)
    starts = segment_starts(number)
    keep = np.zeros(len(x), np.bool_)
    keep[starts] = True
    keep[starts - 1] = True  # the last point of each bin; index -1 is the end of the curve
    for height in heights:
        for extreme in (np.minimum.reduceat(height, starts), np.maximum.reduceat(height, starts)):
            here = np.flatnonzero(height == spread(extreme, starts, len(x)))
            keep[here[segment_starts(number[here])]] = True
    return points.filter(pl.Series(keep))


def _check_points(points: object) -> None:
    if not isinstance(points, pl.DataFrame):
        problem = f" must be a frame of points, as rf.curve returns them, not {shown(points)}."
        raise OptionError(Option("points", bare=True), problem)


def _axes_of(points: pl.DataFrame, choices: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    """Return the columns of the axes; refuse points that do not belong to a single curve."""
    axes = next((names for names in choices if set(names) <= set(points.columns)), None)
    if axes is None:
        needed = ", or ".join(" and ".join(names) for names in choices)
        raise OptionError(
            f"points need columns {needed}; these have {', '.join(points.columns) or 'none'}."
        )
    if points.is_empty():
        raise OptionError(
            "there are no points: a curve needs a relevant document, and a ROC curve also a "
            "non-relevant document."
        )
    owners = [name for name in OWNERS if name in points.columns]
    curves = points.select(owners).unique(maintain_order=True) if owners else points[:1]
    if curves.height > 1:
        example = ", ".join(
            f"{name}={value!r}" for name, value in curves.row(0, named=True).items()
        )
        raise OptionError(
            f"these are the points of {curves.height:,} curves: take one of them, for instance "
            f"with points.filter({example})."
        )
    return axes


def _numbers(points: pl.DataFrame, name: str) -> Floats:
    column = points[name].cast(pl.Float64)
    undefined = np.flatnonzero((column.is_null() | column.is_nan()).to_numpy())
    if len(undefined):
        raise OptionError(
            f"{len(undefined):,} of {len(column):,} points have no {name}, e.g. the one at row "
            f"{undefined[0] + 1:,}. Leave them out."
        )
    return column.to_numpy()


def _check_order(numbers: Floats, name: str) -> None:
    if (numbers[1:] < numbers[:-1]).any():
        row = int(np.flatnonzero(numbers[1:] < numbers[:-1])[0]) + 1
        raise OptionError(
            f"points must be sorted by {name}, ascending, but at row {row + 1:,}, "
            f"{numbers[row]:g} follows {numbers[row - 1]:g}. Pass them as curve() returns them."
        )
