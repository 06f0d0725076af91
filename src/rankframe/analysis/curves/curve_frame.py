"""Curves that show themselves in a notebook: their points as a small drawing, and as a table."""

from __future__ import annotations

import html
from typing import Final

import polars as pl

from rankframe.analysis.curves.area import downsample_curve
from rankframe.core.columns import QUERY

# What a curve runs along, what it shows, and the band around it, by the columns that it has.
_AXES: Final = (
    ("fpr", ("tpr",)),
    ("recall", ("precision",)),
    ("k", ("value",)),
    ("k", ("dcg", "ideal_dcg")),
)
_COLOURS: Final = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#b15928",
)  # fmt: skip
_GREY: Final = "#7f7f7f"
_MOST_CURVES, _MOST_POINTS = len(_COLOURS), 400
_WIDE, _HIGH, _EDGE = 420, 240, 44


class Curve(pl.DataFrame):
    """The points of a curve: a polars frame that a notebook also draws.

    >>> from rankframe.analysis.curves.curve import curve
    >>> points = curve({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, "metric_at_k", ks=[1, 2])
    >>> isinstance(points, pl.DataFrame), "<svg" in points._repr_html_()
    (True, True)
    """

    @classmethod
    def of(cls, points: pl.DataFrame) -> Curve:
        """Wrap points."""
        same = cls.__new__(cls)
        same._df = points._df
        return same

    def _repr_html_(self, *, _from_series: bool = False) -> str:
        return _drawing(self) + super()._repr_html_(_from_series=_from_series)


def _drawing(points: pl.DataFrame) -> str:
    """A line for each curve, or nothing where there are too many, or no points."""
    axes = next(
        ((x, ys) for x, ys in _AXES if {x, *ys} <= set(points.columns)), None
    )  # fmt: skip
    if axes is None or points.is_empty():
        return ""
    x, ys = axes
    owners = [name for name in ("by", "slice", QUERY) if name in points.columns]
    parts = (
        points.partition_by(owners, as_dict=True, maintain_order=True) if owners else {(): points}
    )
    if len(parts) * len(ys) > _MOST_CURVES:
        return ""
    lines = {
        ", ".join([*map(str, owner), *([y] if len(ys) > 1 else [])]): _thinned(part, x, y)
        for owner, part in parts.items()
        for y in ys
    }
    left, right = _span([frame[x] for frame in lines.values()], share=x != "k")
    low, high = _span([frame["y"] for frame in lines.values()], share=x != "k")
    place = {
        "x": lambda value: _EDGE + (value - left) / ((right - left) or 1) * (_WIDE - _EDGE - 8),
        "y": lambda value: _HIGH - 30 - (value - low) / ((high - low) or 1) * (_HIGH - 42),
    }
    drawn = []
    for (name, frame), colour in zip(lines.items(), _COLOURS, strict=False):
        path = " ".join(
            f"{place['x'](a):.1f},{place['y'](b):.1f}"
            for a, b in zip(frame[x], frame["y"], strict=True)
        )
        drawn.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2">'
            f"<title>{html.escape(name)}</title></polyline>"
        )
    ends = [
        (_EDGE, _HIGH - 14, "start", f"{left:g}"), (_WIDE - 8, _HIGH - 14, "end", f"{right:g}"),
        ((_WIDE + _EDGE) / 2, _HIGH - 2, "middle", x), (_EDGE - 4, _HIGH - 30, "end", f"{low:.3g}"),
        (_EDGE - 4, 16, "end", f"{high:.3g}"), (_EDGE + 4, 10, "start", " / ".join(ys)),
    ]  # fmt: skip
    texts = "".join(
        f'<text x="{across:.1f}" y="{down:.1f}" text-anchor="{side}">{html.escape(label)}</text>'
        for across, down, side, label in ends
    )
    frame = f'<path d="M{_EDGE},12V{_HIGH - 30}H{_WIDE - 8}" fill="none" stroke="{_GREY}"/>'
    legend = "".join(
        f'<span style="color:{colour}">■</span> {html.escape(name)} '
        for name, colour in zip(lines, _COLOURS, strict=False)
        if name
    )
    return (
        f'<svg width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}" role="img" '
        f'font-family="sans-serif" font-size="11" fill="{_GREY}">{frame}{texts}{"".join(drawn)}'
        f"</svg><p><small>{legend}</small></p>"
    )


def _thinned(part: pl.DataFrame, x: str, y: str) -> pl.DataFrame:
    """Finite points of one curve, no more than anybody sees."""
    points = part.select(pl.col(x).cast(pl.Float64), pl.col(y).cast(pl.Float64).alias("y"))
    points = points.filter(pl.all_horizontal(pl.all().is_finite())).drop_nulls()
    if points.height > _MOST_POINTS and (x, y) in (("fpr", "tpr"), ("recall", "precision")):
        return downsample_curve(points.rename({"y": y}), _MOST_POINTS).rename({y: "y"})
    return points


def _span(columns: list[pl.Series], *, share: bool) -> tuple[float, float]:
    """From the lowest to the highest; shares from 0 to 1."""
    if share:
        return 0.0, 1.0
    values = pl.concat([column.cast(pl.Float64).alias("") for column in columns])
    if values.is_empty():
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())  # type: ignore[arg-type]
    return (low, high) if low < high else (low - 0.5, high + 0.5)
