"""Shared parts of charts: look, titles, axes, legends and marks, and data inside the chart."""

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
from rankframe.present.charts.palette import COLOURS, GROUNDS, Ground

if TYPE_CHECKING:
    import altair

    Chart: TypeAlias = altair.Chart | altair.LayerChart | altair.FacetChart
else:
    Chart = Any  # altair is optional

WIDTH, HEIGHT = 420, 300
_MOST_POINTS = 4_000  # in one chart
_SMALLEST, _LARGEST = 40, 4_000  # dots across and down
# Dots that a letter takes, about; beyond the plot, titles have the room of its axis.
_TITLE_LETTER, _SAID_LETTER, _BESIDE = 7.2, 5.4, 50
_LONGEST_LINE = 90  # letters: `whole.py` cuts titles that are longer
_NAME = 24  # letters of a name in a sentence
_NAMED = 4  # systems in a sentence


class Look(TypedDict, total=False):
    """Name the options of looks that every chart takes by keyword.

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
    """Hold the look of one chart."""

    title: str | None = None
    width: int | None = None
    height: int | None = None
    theme: ChartTheme = "light"

    @classmethod
    def of(cls, look: Look) -> Canvas:
        """Check the look that a user passed."""
        options = list(Look.__annotations__)
        for name in look:
            if name not in options:
                hint = did_you_mean(name, options)
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
        """Return the colours of the theme."""
        return GROUNDS[self.theme]

    @property
    def ink(self) -> str:
        """Return the colour of text and axes."""
        return self.ground.ink

    def wide(self, usual: float = WIDTH) -> float:
        """Return the width that the user chose, else the usual one."""
        return usual if self.width is None else self.width

    def high(self, usual: float = HEIGHT) -> float:
        """Return the height that the user chose, else the usual one."""
        return usual if self.height is None else self.height

    def sized(self, chart: Any, width: float = WIDTH, height: float = HEIGHT) -> Any:
        """Give a chart its size."""
        return chart.properties(width=self.wide(width), height=self.high(height))

    def panels(
        self, chart: Any, column: str, order: Sequence[str], usual: float, minimum: float,
        width: float | None = None,
    ) -> Any:  # fmt: skip
        """Draw the chart for each value of a column, in this order.

        usual: the height of all panels together; minimum: of each panel.
        """
        height = max(self.high(usual) / len(order), minimum)
        sized = chart.properties(width=self.wide() if width is None else width, height=height)
        return panels(sized, column, order)

    def finished(self, chart: Any, title: str, subtitle: Iterable[str] = ()) -> Any:
        """Give a chart its title, a subtitle of these lines, and the colours of the theme.

        Labels have no limit: texts are short, and where Vega cuts one inside an emoji, drawing
        fails.
        """
        ink, grid = self.ink, self.ground.grid
        return (
            self._titled(chart, title, subtitle)
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

    def _titled(self, chart: Any, title: str, subtitle: Iterable[str]) -> Any:
        shown_title = title if self.title is None else self.title
        if not shown_title.strip():
            return chart
        room = self.wide() + _BESIDE
        text = _folded([shown_title], room / _TITLE_LETTER)
        below = _folded(subtitle, room / _SAID_LETTER)
        return chart.properties(title=alt.TitleParams(text=text, subtitle=below))


def _folded(texts: Iterable[str], letters: float) -> list[str]:
    """Wrap texts into lines that are not too long."""
    width = max(min(int(letters), _LONGEST_LINE), 12)
    return [
        line
        for text in texts
        for line in textwrap.wrap(plain_text(text), width, break_on_hyphens=False)
    ]


def in_words(names: Sequence[str]) -> str:
    """List systems by name, only the first few of many.

    >>> in_words(["a", "b"]), in_words(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    short = [plain_text(name, _NAME) for name in names]
    if len(short) <= _NAMED:
        return ", ".join(short)
    return f"{', '.join(short[: _NAMED - 1])} and {len(short) - _NAMED + 1:,} more"


def load_altair() -> Any:
    """Import altair, or raise an error that says how to install it."""
    try:
        import altair  # noqa: PLC0415 (an optional part)
        import vl_convert  # noqa: F401, PLC0415
    except ImportError as error:
        raise MissingExtraError("a chart", "report") from error
    return altair


class _Altair:
    """Import altair when it is first used, as it is optional and slow to import."""

    def __getattr__(self, name: str) -> Any:
        return getattr(load_altair(), name)


alt: Any = _Altair()


def chart_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Make a chart of rows, which are stored inside it."""
    from rankframe.present.charts.offline_charts import WholeChart  # noqa: PLC0415 (imports altair)

    return WholeChart(alt.Data(values=list(rows)))


def layered(*charts: Any) -> Any:
    """Draw charts on top of each other."""
    from rankframe.present.charts.offline_charts import WholeLayerChart  # noqa: PLC0415 (imports altair)

    return WholeLayerChart(layer=charts)


def numbered(cells: Any, *numbers: Any) -> Any:
    """Draw numbers in cells, in colours of their own that are in no legend."""
    return layered(cells, *numbers).resolve_scale(color="independent")


def in_rows(chart: Any, row: Any, *, spacing: int | None = None) -> Any:
    """Draw a chart for each value of a column, below each other."""
    from rankframe.present.charts.offline_charts import WholeFacetChart  # noqa: PLC0415 (imports altair)

    parts = chart.facet(row=row)
    space = alt.Undefined if spacing is None else spacing
    return WholeFacetChart(parts.data, parts.spec, parts.facet, spacing=space)


def panels(chart: Any, column: str, order: Sequence[str]) -> Any:
    """Draw a chart for each value of a column, each close below its name."""
    header = alt.Header(orient="top", labelAnchor="start", labelPadding=3)
    return in_rows(chart, alt.Row(f"{column}:N", title=None, sort=list(order), header=header),
                   spacing=22)  # fmt: skip


def named(frames: Mapping[str, pl.DataFrame], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return frames by name as the rows of one chart."""
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
    """Draw a line for each curve, downsampled where nobody would see the difference.

    `shares`: both axes go from 0 to 1, and points are joined in the order in which they come.
    `zero`: the values begin there.
    """
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
    limit = max(_MOST_POINTS // len(curves), 100)
    thinned = {
        name: downsample_curve(points, limit).with_row_index("place") if points.height > limit
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
    """Return a colour for each name."""
    return alt.Scale(domain=list(names), range=colours_of(len(names)))


def colours_of(count: int) -> list[str]:
    """Return colours of systems; after the last one they begin again."""
    return [COLOURS[index % len(COLOURS)] for index in range(count)]


def colour(names: Sequence[str]) -> Any:
    """Encode the system as colour, with a legend below the chart."""
    return alt.Color("system:N", scale=scale_of(names), legend=legend(names))


def categories(field: str, colours: Mapping[str, str], title: str | None = None) -> Any:
    """Encode a field in these colours, with a legend below the chart."""
    return alt.Color(
        field,
        scale=alt.Scale(domain=list(colours), range=list(colours.values())),
        legend=alt.Legend(title=title, orient="bottom"),
    )


def text_in_cells(base: Any, field: str = "text:N", **mark: Any) -> Any:
    """Write a field into cells, each in the colour of its column `ink`."""
    return base.mark_text(**mark).encode(
        text=field, color=alt.Color("ink:N", scale=None, legend=None)
    )


def dots(base: Any, size: int = 60) -> Any:
    """Mark filled points."""
    return base.mark_point(filled=True, size=size, opacity=1)


def tip(field: str, format: str = ".4f", title: Any = None) -> Any:  # noqa: A002 (altair's name)
    """Show a number of a row in its tooltip."""
    return alt.Tooltip(field, format=format, **({} if title is None else {"title": title}))


def diagonal(on: Canvas, x: str, y: str, dash: int = 4) -> Any:
    """Draw the dashed line from 0 to 1."""
    ends = [{x: 0.0, y: 0.0}, {x: 1.0, y: 1.0}]
    return (
        chart_of(ends)
        .mark_line(strokeDash=[dash, dash], color=on.ink)
        .encode(x=f"{x}:Q", y=f"{y}:Q")
    )


def dashes(names: Sequence[str]) -> dict[str, Any]:
    """Encode systems as dashes too, where there are more of them than colours."""
    if len(names) <= len(COLOURS):
        return {}
    kinds = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2])
    ways = [kinds[index // len(COLOURS) % len(kinds)] for index in range(len(names))]
    scale = alt.Scale(domain=list(names), range=ways)
    return {"strokeDash": alt.StrokeDash("system:N", scale=scale, legend=legend(names))}


def legend(names: Sequence[str]) -> Any:
    """Return a legend below the chart, in as many columns as names leave room for."""
    longest = max((len(name) for name in names), default=0)
    columns = 1 if longest > 34 else 2 if longest > 18 else 3
    return alt.Legend(title=None, orient="bottom", labelLimit=0, columns=columns, symbolOpacity=1)
