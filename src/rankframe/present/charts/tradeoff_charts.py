"""Draw two metrics against each other, one dot per system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Unpack

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.core.errors import OptionError
from rankframe.core.messages import listing
from rankframe.core.wording import distinct_texts
from rankframe.engine.result import Result
from rankframe.present.charts import marks
from rankframe.present.charts.canvas import Canvas, Chart, Look
from rankframe.present.charts.chart_inputs import better, between, by_name, unknown, with_direction
from rankframe.present.charts.marks import across, alt, tip, up
from rankframe.present.charts.registry import chart

__all__ = ["tradeoff"]

# Results of several systems: a mapping by name, or a comparison.
Systems: TypeAlias = Mapping[str, Result] | Comparison
_LABEL = 24  # characters of a name
# Width of a letter, height of a line, and distance from a dot to its name, in dots.
_LETTER, _LINE, _BESIDE = 6.2, 14.0, 7.0
_MARGIN = 0.09  # share of the plot that is left free beyond the outermost dot or interval
# Positions of a name relative to its dot, the best first: right or left, above or below.
_CORNERS = ((1, -1), (1, 1), (-1, -1), (-1, 1))


@chart(
    several=True,
    inputs=lambda source: (source.evaluated(source.two_metrics), *source.two_metrics),
    demo=(
        "ratings.parquet popular.parquet item_based.parquet als.parquet --rel 4 "
        "--items items.parquet"
    ),
)
def tradeoff(
    results: Systems, y: str | None = None, x: str | None = None, **look: Unpack[Look]
) -> Chart:
    """Draw two metrics against each other, such as accuracy against coverage.

    Takes `{name: rf.evaluate(qrels, run, ["ndcg@10", "coverage@10"], …)}`, or a comparison. A dot
    per system, with its intervals both ways. A dot is hollow if another system is at least as good
    in both metrics, and better in one.

    y, x: the metrics of the vertical and the horizontal axis (default: the first two of the
        results).

    >>> qrels, items = {"u": {"a": 1}, "v": {"b": 1}}, ["a", "b", "c"]
    >>> runs = {"same": {"u": ["a"], "v": ["a"]}, "own": {"u": ["a"], "v": ["b"]}}
    >>> names = ["recall@1", "coverage@1"]
    >>> found = {name: rf.evaluate(qrels, run, names, items=items) for name, run in runs.items()}
    >>> drawn = rf.plot.tradeoff(found).to_dict()
    >>> dots = drawn["layer"][0]["data"]["values"]
    >>> [(dot["system"], dot["y"], dot["beaten"]) for dot in dots]
    [('same', 0.5, True), ('own', 1.0, False)]
    """
    on = Canvas.from_look(look)
    tables = _tables(results)
    y, x = _two_metrics(tables, y, x)
    rows = _values(tables, y, x)
    compared = all(better(metric) for metric in (y, x))
    for row in rows:
        row["beaten"] = compared and any(_beats(other, row, y, x) for other in rows)
    size = (on.wide(), on.high())
    ends = {axis: _ends(rows, axis) for axis in ("x", "y")}
    own = marks.colour([row["system"] for row in rows], labelled=False)
    base = marks.chart_of(rows).encode(color=own)

    def position(**fields: str) -> dict[str, Any]:
        """Encode both metrics as positions; `fields` replaces the field of an axis."""
        return {
            axis: place(f"{fields.get(axis, axis)}:Q", with_direction(metric),
                        scale={"domain": list(ends[axis]), "nice": False, "zero": False})
            for axis, place, metric in (("x", across, x), ("y", up, y))
        }  # fmt: skip

    layers: list[Any] = []
    ranged = [axis for axis in ("x", "y") if any(row[f"{axis}_low"] is not None for row in rows)]
    for axis in ranged:
        whiskers = base.mark_rule(strokeWidth=1.5, opacity=0.7)
        far = {f"{axis}2": f"{axis}_high:Q"}
        layers.append(whiskers.encode(**position(**{axis: f"{axis}_low"}), **far))
    points = base.mark_point(size=90, opacity=1, strokeWidth=2).encode(
        **position(),
        fill=alt.condition("datum.beaten", alt.value(on.ground.background), own),
        tooltip=["system:N", tip("y:Q", title=y), tip("x:Q", title=x), "queries:Q"],
    )
    layers.append(points)
    corners = _names_at(rows, ends, size)
    for corner in _CORNERS:
        labelled = [row for row, own in zip(rows, corners, strict=True) if own == corner]
        if labelled:
            right, down = corner
            label = marks.chart_of(labelled).mark_text(
                align="left" if right > 0 else "right", dx=right * _BESIDE, dy=down * _LINE * 0.7,
                fontSize=11, color=on.ink,
            )  # fmt: skip
            layers.append(label.encode(**position(), text="system:N"))
    subtitle = [between([row["queries"] for row in rows])]
    if ranged:
        subtitle.append("lines: intervals")
    if any(row["beaten"] for row in rows):
        subtitle.append("hollow: another system is at least as good in both, and better in one")
    drawn = on.sized(marks.layered(*layers))
    return on.finished(drawn, f"{y} against {x}", ["; ".join(subtitle[:2]), *subtitle[2:]])


def _tables(results: Systems) -> dict[str, pl.DataFrame]:
    """Return a frame for each system, with a row per metric."""
    if isinstance(results, Comparison):
        whole = results.systems.filter(pl.col("by").is_null())
        return {name: whole.filter(pl.col("system") == name) for name in results.names}
    needed = "results by name, {name: rf.evaluate(qrels, run, metrics)}, or of a comparison"
    return {name: result.summary for name, result in by_name(results, Result, needed).items()}


def _two_metrics(
    tables: Mapping[str, pl.DataFrame], y: str | None, x: str | None
) -> tuple[str, str]:
    """Return the two metrics to draw; refuse a metric that any system lacks."""
    common = [
        metric
        for metric in next(iter(tables.values()))["metric"]
        if all(metric in table["metric"] for table in tables.values())
    ]
    for requested in (y, x):
        if requested is not None and requested not in common:
            raise unknown(f"not every system has {requested!r}.", requested, common)
    defaults = [metric for metric in common if metric not in (y, x)]
    if len(defaults) < (y is None) + (x is None):
        raise OptionError(
            "two metrics are drawn against each other, and the systems share "
            f"{listing(common) or 'none'}."
        )
    up = defaults.pop(0) if y is None else y
    return up, defaults.pop(0) if x is None else x


def _values(tables: Mapping[str, pl.DataFrame], y: str, x: str) -> list[dict[str, Any]]:
    """Return a row per system: both values and their intervals."""
    names = distinct_texts(list(tables), _LABEL)
    rows = []
    for name, table in tables.items():
        row: dict[str, Any] = {"system": names[name]}
        for axis, metric in (("y", y), ("x", x)):
            average = table.row(by_predicate=pl.col("metric") == metric, named=True)
            low, high = average["ci_low"], average["ci_high"]
            if low is not None and low == high:  # an interval without width is left out
                low = high = None
            row |= {axis: average["value"], f"{axis}_low": low, f"{axis}_high": high,
                    "queries": average["queries"]}  # fmt: skip
        if row["x"] is not None and row["y"] is not None:
            rows.append(row)
    if not rows:
        raise OptionError(f"no system has a value of both {y!r} and {x!r}: no dot to draw.")
    return rows


def _beats(system: Mapping[str, Any], other: Mapping[str, Any], y: str, x: str) -> bool:
    """Return whether a system is at least as good as another in both metrics, and better in one."""
    gains = [
        (system[axis] - other[axis]) * (1 if better(metric) == "higher is better" else -1)
        for axis, metric in (("y", y), ("x", x))
    ]
    return min(gains) >= 0 and max(gains) > 0


def _ends(rows: Sequence[Mapping[str, Any]], axis: str) -> tuple[float, float]:
    """Return the lower and the upper end of an axis, with room for all intervals."""
    numbers = [
        row[name]
        for row in rows
        for name in (axis, f"{axis}_low", f"{axis}_high")
        if row[name] is not None
    ]
    low, high = min(numbers), max(numbers)
    beyond = (high - low) * _MARGIN or abs(high) * _MARGIN or 0.1
    return (0.0 if 0 <= low <= beyond else low - beyond), high + beyond


def _names_at(
    rows: Sequence[Mapping[str, Any]],
    ends: Mapping[str, tuple[float, float]],
    size: tuple[float, float],
) -> list[tuple[int, int]]:
    """Choose for each dot the first corner where its name overlaps nothing and is not cut off."""
    (left, right), (low, high) = ends["x"], ends["y"]
    width, height = size
    lefts = [(row["x"] - left) / (right - left) * width for row in rows]
    tops = [(high - row["y"]) / (high - low) * height for row in rows]
    # Areas that are already occupied: left, right, top, bottom.
    taken = [(x - 6, x + 6, y - 6, y + 6) for x, y in zip(lefts, tops, strict=True)]
    chosen = []
    for own, (row, x, y) in enumerate(zip(rows, lefts, tops, strict=True)):
        length = len(row["system"]) * _LETTER + _BESIDE
        boxes = {
            (across, down): (
                *((x + 3, x + length) if across > 0 else (x - length, x - 3)),
                *((y - 1.3 * _LINE, y - 0.2 * _LINE) if down < 0
                  else (y + 0.2 * _LINE, y + 1.3 * _LINE)),
            )
            for across, down in _CORNERS
        }  # fmt: skip
        obstacles = [box for index, box in enumerate(taken) if index != own]
        free = (
            corner
            for corner, box in boxes.items()
            if box[0] >= 0 and box[1] <= width + 40
            and not any(box[0] < b[1] and b[0] < box[1] and box[2] < b[3] and b[2] < box[3]
                        for b in obstacles)
        )  # fmt: skip
        chosen.append(next(free, _CORNERS[0]))
        taken.append(boxes[chosen[-1]])
    return chosen
