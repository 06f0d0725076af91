"""What all charts share: colours, axes, data inside the chart, and saving without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from rankframe.base.errors import MissingExtraError, OptionError
from rankframe.curves.area import thin

if TYPE_CHECKING:
    import altair

    Chart: TypeAlias = altair.Chart | altair.LayerChart | altair.FacetChart

# Told apart by people with any kind of colour vision (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#b15928")
GREY = "#7f7f7f"  # readable on white and on black
WIDTH, HEIGHT = 420, 300
_MOST_POINTS = 4_000  # in one chart


def load_altair() -> Any:
    """Altair, or an error that says how to get it."""
    try:
        import altair  # noqa: PLC0415 (an optional part)
        import vl_convert  # noqa: F401, PLC0415
    except ImportError as error:
        raise MissingExtraError("a chart", "report") from error
    return altair


def chart_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A chart of rows that travel inside it."""
    alt = load_altair()
    from rankframe.plot.whole import WholeChart  # noqa: PLC0415 (imports altair)

    return WholeChart(alt.Data(values=list(rows)))


def layered(*charts: Any) -> Any:
    """Charts on top of each other."""
    from rankframe.plot.whole import WholeLayerChart  # noqa: PLC0415 (imports altair)

    return WholeLayerChart(layer=charts)


def in_rows(chart: Any, row: Any, *, spacing: int | None = None) -> Any:
    """A chart for each value of a column, below each other."""
    alt = load_altair()
    from rankframe.plot.whole import WholeFacetChart  # noqa: PLC0415 (imports altair)

    parts = chart.facet(row=row)
    space = alt.Undefined if spacing is None else spacing
    return WholeFacetChart(parts.data, parts.spec, parts.facet, spacing=space)


def named(frames: Mapping[str, pl.DataFrame], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Frames by name, as the rows of one chart."""
    return [
        {"system": name, **row}
        for name, frame in frames.items()
        for row in frame.select(columns).to_dicts()
    ]


def lines(
    curves: Mapping[str, pl.DataFrame],
    x: str,
    y: str,
    titles: tuple[str, str],
    *,
    shares: bool,
) -> Any:
    """A line for each curve, thinned where nobody would see the difference.

    `shares`: both axes go from 0 to 1, and points are joined in the order in which they come.
    """
    alt = load_altair()
    if not curves:
        raise OptionError("there is no curve to draw.")
    for name, points in curves.items():
        if missing := [column for column in (x, y) if column not in points.columns]:
            raise OptionError(
                f"the points of {name!r} have no column {missing[0]!r}: they are of another kind "
                f"of curve. They have {', '.join(points.columns)}."
            )
    most = max(_MOST_POINTS // len(curves), 100)
    thinned = {
        name: thin(points, most).with_row_index("place") if points.height > most
        else points.with_row_index("place")
        for name, points in curves.items()
    }  # fmt: skip
    scale = alt.Scale(domain=[0, 1]) if shares else alt.Scale(zero=False, nice=False)
    encoded = {"order": "place:O"} if shares else {}
    return (
        chart_of(named(thinned, ["place", x, y]))
        .mark_line(strokeWidth=2, clip=True, point=False)
        .encode(
            x=alt.X(f"{x}:Q", title=titles[0], scale=scale),
            y=alt.Y(f"{y}:Q", title=titles[1], scale=alt.Scale(domain=[0, 1]) if shares else
                    alt.Scale(zero=False)),
            color=colour(list(curves)),
            tooltip=["system:N", f"{x}:Q", alt.Tooltip(f"{y}:Q", format=".4f")],
            **encoded,
        )
        .properties(width=WIDTH, height=HEIGHT)
    )  # fmt: skip


def scale_of(names: Sequence[str]) -> Any:
    """A colour for each name."""
    colours = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    return load_altair().Scale(domain=list(names), range=colours)


def colour(names: Sequence[str]) -> Any:
    """The same as a legend."""
    alt = load_altair()
    legend = alt.Legend(title=None, orient="bottom", labelLimit=0, columns=3)
    return alt.Color("system:N", scale=scale_of(names), legend=legend)


def shades(count: int) -> list[str]:
    """From nearly white to dark green: the first for the lowest grade."""
    scale = ("#f7fcf5", "#c7e9c0", "#74c476", "#238b45", "#00441b")
    last = len(scale) - 1
    return [scale[round(at * last / max(count - 1, 1))] for at in range(count)]


def styled(chart: Any) -> Any:
    """A chart in the house style.

    Labels have no limit: texts are short, and where Vega cuts one inside an emoji, drawing fails.
    """
    return (
        chart.configure(background="white")
        .configure_view(strokeWidth=0)
        .configure_axis(
            gridColor="#88888833", domainColor=GREY, tickColor=GREY, labelColor=GREY,
            titleColor=GREY, titleFontWeight="normal", labelLimit=0,
        )
        .configure_legend(labelColor=GREY, titleColor=GREY, labelLimit=0)
        .configure_header(labelColor=GREY, titleColor=GREY, labelAngle=0, labelAlign="left",
                          labelLimit=0)
    )  # fmt: skip
