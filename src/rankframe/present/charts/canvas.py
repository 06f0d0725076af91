"""What all charts share: how one is to look, its title and what stands below that, axes and
legends, and data inside the chart.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, get_args

import polars as pl

from rankframe.analysis.curves.area import downsample_curve
from rankframe.core.checks import is_count
from rankframe.core.errors import MissingExtraError, OptionError
from rankframe.core.messages import did_you_mean, shown
from rankframe.core.options import ChartTheme
from rankframe.core.wording import plain_text
from rankframe.present.charts.palette import COLOURS, GREY, GROUNDS, Ground

if TYPE_CHECKING:
    import altair

    Chart: TypeAlias = altair.Chart | altair.LayerChart | altair.FacetChart

__all__ = ["GREY", "Canvas", "Look", "chart_of", "colour", "in_rows", "layered", "lines",
           "load_altair", "named", "numbered", "panels", "scale_of"]  # fmt: skip
WIDTH, HEIGHT = 420, 300
_MOST_POINTS = 4_000  # in one chart
_SMALLEST, _LARGEST = 40, 4_000  # dots across and down
# Dots that a letter takes, about; beyond the plot, titles have the room of its axis.
_TITLE_LETTER, _SAID_LETTER, _BESIDE = 7.2, 5.4, 50
_LONGEST_LINE = 90  # letters: `whole.py` cuts titles that are longer
_NAME = 24  # letters of a name in a sentence
_NAMED = 4  # systems in a sentence


class Look(TypedDict, total=False):
    """How a chart is to look: what every chart takes by keyword.

    title: instead of its own; "" for none, and nothing below it.
    width, height: of what is plotted, in dots; of panels, the height of all together.
    theme: "light" or "dark".
    """

    title: str | None
    width: int | None
    height: int | None
    theme: ChartTheme


@dataclass(frozen=True)
class Canvas:
    """How one chart is to look."""

    title: str | None = None
    width: int | None = None
    height: int | None = None
    theme: ChartTheme = "light"

    @classmethod
    def of(cls, look: Look) -> Canvas:
        """As the user said, if that can be drawn."""
        known = list(Look.__annotations__)
        for name in look:
            if name not in known:
                hint = did_you_mean(name, known)
                raise TypeError(f"no chart takes {name!r}. {hint}".rstrip())
        canvas = cls(**look)
        for name, size in (("width", canvas.width), ("height", canvas.height)):
            if size is not None and not (is_count(size) and _SMALLEST <= size <= _LARGEST):
                raise OptionError(
                    f"{name} must be a whole number from {_SMALLEST} to {_LARGEST:,}, "
                    f"not {shown(size)}."
                )
        if canvas.theme not in get_args(ChartTheme):
            raise OptionError.choice("theme", canvas.theme, get_args(ChartTheme))
        if canvas.title is not None and not isinstance(canvas.title, str):
            raise OptionError(f"title must be a text, not {shown(canvas.title)}.")
        return canvas

    @property
    def ground(self) -> Ground:
        """What it stands on."""
        return GROUNDS[self.theme]

    @property
    def ink(self) -> str:
        """The colour of text and axes."""
        return self.ground.ink

    def wide(self, usual: float = WIDTH) -> float:
        """How wide it is, unless the user said otherwise."""
        return usual if self.width is None else self.width

    def high(self, usual: float = HEIGHT) -> float:
        """How high it is, likewise."""
        return usual if self.height is None else self.height

    def sized(self, chart: Any, width: float = WIDTH, height: float = HEIGHT) -> Any:
        """The chart in its size."""
        return chart.properties(width=self.wide(width), height=self.high(height))

    def finished(self, chart: Any, title: str, said: Iterable[str] = ()) -> Any:
        """The chart in the house style, under its title; below that what it is of, a line each.

        Labels have no limit: texts are short, and where Vega cuts one inside an emoji, drawing
        fails.
        """
        ink, grid = self.ink, self.ground.grid
        return (
            self._titled(chart, title, said)
            .configure(background=self.ground.background, padding=10)
            .configure_view(strokeWidth=0)
            .configure_axis(
                gridColor=grid, domainColor=ink, tickColor=ink, labelColor=ink, titleColor=ink,
                titleFontWeight="normal", labelLimit=0,
            )
            .configure_legend(labelColor=ink, titleColor=ink, titleFontWeight="normal",
                              labelLimit=0)
            .configure_header(labelColor=ink, titleColor=ink, labelAngle=0, labelAlign="left",
                              labelLimit=0, labelFontWeight="bold")
            .configure_title(color=ink, subtitleColor=ink, anchor="start", fontSize=14,
                             subtitleFontSize=11, subtitlePadding=5, offset=12, limit=0,
                             subtitleLineHeight=14, lineHeight=17)
        )  # fmt: skip

    def _titled(self, chart: Any, title: str, said: Iterable[str]) -> Any:
        shown_title = title if self.title is None else self.title
        if not shown_title.strip():
            return chart
        room = self.wide() + _BESIDE
        text = _folded([shown_title], room / _TITLE_LETTER)
        below = _folded(said, room / _SAID_LETTER)
        return chart.properties(title=load_altair().TitleParams(text=text, subtitle=below))


def _folded(texts: Iterable[str], letters: float) -> list[str]:
    """Texts on lines that are not too long."""
    most = max(min(int(letters), _LONGEST_LINE), 12)
    return [
        line
        for text in texts
        for line in textwrap.wrap(plain_text(text), most, break_on_hyphens=False)
    ]


def in_words(names: Sequence[str]) -> str:
    """Systems by name, the first few of many.

    >>> in_words(["a", "b"]), in_words(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    short = [plain_text(name, _NAME) for name in names]
    if len(short) <= _NAMED:
        return ", ".join(short)
    return f"{', '.join(short[: _NAMED - 1])} and {len(short) - _NAMED + 1:,} more"


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
    from rankframe.present.charts.offline_charts import WholeChart  # noqa: PLC0415 (imports altair)

    return WholeChart(alt.Data(values=list(rows)))


def layered(*charts: Any) -> Any:
    """Charts on top of each other."""
    from rankframe.present.charts.offline_charts import WholeLayerChart  # noqa: PLC0415 (imports altair)

    return WholeLayerChart(layer=charts)


def numbered(cells: Any, *numbers: Any) -> Any:
    """Cells with numbers in them, whose colours are their own and in no legend."""
    return layered(cells, *numbers).resolve_scale(color="independent")


def in_rows(chart: Any, row: Any, *, spacing: int | None = None) -> Any:
    """A chart for each value of a column, below each other."""
    alt = load_altair()
    from rankframe.present.charts.offline_charts import WholeFacetChart  # noqa: PLC0415 (imports altair)

    parts = chart.facet(row=row)
    space = alt.Undefined if spacing is None else spacing
    return WholeFacetChart(parts.data, parts.spec, parts.facet, spacing=space)


def panels(chart: Any, column: str, order: Sequence[str]) -> Any:
    """A chart for each value of a column, each below its name and nearer to it than to others."""
    alt = load_altair()
    header = alt.Header(orient="top", labelAnchor="start", labelPadding=3)
    return in_rows(chart, alt.Row(f"{column}:N", title=None, sort=list(order), header=header),
                   spacing=22)  # fmt: skip


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
    zero: bool = False,
    on: Canvas | None = None,
) -> Any:
    """A line for each curve, thinned where nobody would see the difference.

    `shares`: both axes go from 0 to 1, and points are joined in the order in which they come.
    `zero`: the values begin there.
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
    if all(points.is_empty() for points in curves.values()):
        raise OptionError(f"the curves have no points to draw: {in_words(list(curves))}.")
    most = max(_MOST_POINTS // len(curves), 100)
    thinned = {
        name: downsample_curve(points, most).with_row_index("place") if points.height > most
        else points.with_row_index("place")
        for name, points in curves.items()
    }  # fmt: skip
    scale = alt.Scale(domain=[0, 1]) if shares else alt.Scale(zero=False, nice=False)
    encoded: dict[str, Any] = {"order": "place:O"} if shares else {}
    # A point alone is no line: it is seen as a point.
    lonely = any(points.height == 1 for points in curves.values())
    return (on or Canvas()).sized(
        chart_of(named(thinned, ["place", x, y]))
        .mark_line(strokeWidth=2, clip=not lonely, point=lonely)
        .encode(
            x=alt.X(f"{x}:Q", title=titles[0], scale=scale),
            y=alt.Y(f"{y}:Q", title=titles[1], scale=alt.Scale(domain=[0, 1]) if shares else
                    alt.Scale(zero=zero)),
            color=colour(list(curves)),
            tooltip=["system:N", f"{x}:Q", alt.Tooltip(f"{y}:Q", format=".4f")],
            **encoded,
            **dashes(list(curves)),
        )
    )  # fmt: skip


def scale_of(names: Sequence[str]) -> Any:
    """A colour for each name."""
    colours = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    return load_altair().Scale(domain=list(names), range=colours)


def colour(names: Sequence[str]) -> Any:
    """The same as a legend; none of a single system without a name."""
    alt = load_altair()
    return alt.Color("system:N", scale=scale_of(names), legend=legend(names))


def dashes(names: Sequence[str]) -> dict[str, Any]:
    """Other lines for those whose colours came before."""
    alt = load_altair()
    if len(names) <= len(COLOURS):
        return {}
    kinds = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2])
    ways = [kinds[at // len(COLOURS) % len(kinds)] for at in range(len(names))]
    scale = alt.Scale(domain=list(names), range=ways)
    return {"strokeDash": alt.StrokeDash("system:N", scale=scale, legend=legend(names))}


def legend(names: Sequence[str]) -> Any:
    """Below the chart, in as many columns as names leave room for."""
    longest = max((len(name) for name in names), default=0)
    columns = 1 if longest > 34 else 2 if longest > 18 else 3
    return load_altair().Legend(
        title=None, orient="bottom", labelLimit=0, columns=columns, symbolOpacity=1
    )
