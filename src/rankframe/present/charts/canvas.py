"""Apply the look of a chart: size, title and theme; draw panels, and lines for curves."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, get_args

import polars as pl

from rankframe.analysis.curves.area import downsample_curve
from rankframe.core.errors import OptionError
from rankframe.core.messages import did_you_mean, shown
from rankframe.core.options import ChartTheme, check_choice, is_count
from rankframe.core.records import record
from rankframe.core.wording import plain_text
from rankframe.present.charts import marks
from rankframe.present.charts.chart_inputs import in_words
from rankframe.present.charts.marks import alt
from rankframe.present.charts.palette import GROUNDS, Ground

if TYPE_CHECKING:
    import altair

    Chart: TypeAlias = altair.Chart | altair.LayerChart | altair.FacetChart
else:
    Chart = Any  # altair is optional

WIDTH, HEIGHT = 420, 300
_MOST_POINTS = 4_000  # points of all curves in one chart
_SMALLEST, _LARGEST = 40, 4_000  # width and height of a chart, in dots
# Approximate width of a letter in a title and a subtitle, in dots; and the width of the axis, which
# titles may take in addition to the plot.
_TITLE_LETTER, _SUBTITLE_LETTER, _AXIS = 7.2, 5.4, 50
_LONGEST_LINE = 90  # letters of a line in a title: `offline_charts` cuts longer lines


class Look(TypedDict, total=False):
    """Declare the keyword options for the look that every chart takes.

    title: replaces the chart's own title; with "", the chart has neither title nor subtitle.
    width, height: the size of the plot without axes, in dots; height is of all panels together.
    theme: "light" or "dark".
    """

    title: str | None
    width: int | None
    height: int | None
    theme: ChartTheme


@record
class Canvas:
    """Hold the look of a chart (title, size, theme), and build charts with it."""

    title: str | None = None
    width: int | None = None
    height: int | None = None
    theme: ChartTheme = "light"

    @classmethod
    def from_look(cls, look: Look) -> Canvas:
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
        check_choice("theme", canvas.theme, get_args(ChartTheme))
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
        """Return the width that the user chose, else the usual width."""
        return usual if self.width is None else self.width

    def high(self, usual: float = HEIGHT) -> float:
        """Return the height that the user chose, else the usual height."""
        return usual if self.height is None else self.height

    def sized(self, chart: Any, width: float = WIDTH, height: float = HEIGHT) -> Any:
        """Set the size of a chart: the user's choice, or else `width` and `height`."""
        return chart.properties(width=self.wide(width), height=self.high(height))

    def panels(
        self, chart: Any, column: str, order: Sequence[str], usual: float, minimum: float,
        width: float | None = None, alone: float | None = None,
    ) -> Any:  # fmt: skip
        """Draw a panel for each value of a column, in this order, with the value as its title.

        usual: the height of all panels together; minimum: of each panel.
        alone: the usual height if there is only one value; the chart then has no panels.
        """
        width = self.wide() if width is None else width
        if alone is not None and len(order) == 1:
            return chart.properties(width=width, height=max(self.high(alone), minimum))
        height = max(self.high(usual) / len(order), minimum)
        header = alt.Header(orient="top", labelAnchor="start", labelPadding=3)
        row = alt.Row(f"{column}:N", title=None, sort=list(order), header=header)
        return marks.in_rows(chart.properties(width=width, height=height), row, spacing=22)

    def lines(
        self, curves: Mapping[str, pl.DataFrame], x: str, y: str, titles: tuple[str, str],
        *, shares: bool, zero: bool = False,
    ) -> Any:  # fmt: skip
        """Draw a line for each curve, downsampled if it has too many points to tell apart.

        shares: whether both axes go from 0 to 1, and points are joined in the order of the rows.
        zero: whether the axis of values begins at 0.
        """
        if not curves:
            raise OptionError("there is no curve to draw.")
        for name, points in curves.items():
            if missing := [column for column in (x, y) if column not in points.columns]:
                raise OptionError(
                    f"the points of {name!r} have no column {missing[0]!r}: they are of another "
                    f"kind of curve. They have {', '.join(points.columns)}."
                )
        names = list(curves)
        if all(points.is_empty() for points in curves.values()):
            raise OptionError(f"the curves have no points to draw: {in_words(names)}.")
        limit = max(_MOST_POINTS // len(curves), 100)
        thinned = {
            name: downsample_curve(points, limit).with_row_index("place")
            for name, points in curves.items()
        }
        horizontal = {"domain": [0, 1]} if shares else {"zero": False, "nice": False}
        vertical = {"domain": [0, 1]} if shares else {"zero": zero}
        # A curve with a single point has no line: draw the point.
        lonely = any(points.height == 1 for points in curves.values())
        drawn = (
            marks.chart_of(marks.named(thinned, ["place", x, y]))
            .mark_line(strokeWidth=2, clip=not lonely, point=lonely)
            .encode(
                x=marks.across(f"{x}:Q", titles[0], scale=horizontal),
                y=marks.up(f"{y}:Q", titles[1], scale=vertical),
                color=marks.colour(names),
                tooltip=[
                    "system:N",
                    alt.Tooltip(f"{x}:Q", title=titles[0]),
                    marks.tip(f"{y}:Q", title=titles[1]),
                ],
                **({"order": "place:O"} if shares else {}),
                **marks.dashes(names),
            )
        )
        return self.sized(drawn)

    def diagonal(self, x: str, y: str, ends: tuple[float, float] = (0.0, 1.0)) -> Any:
        """Draw the dashed line on which both fields are equal."""
        line = marks.chart_of([{x: end, y: end} for end in ends])
        return line.mark_line(strokeDash=[4, 4], color=self.ink)

    def finished(self, chart: Any, title: str, subtitle: Iterable[str] = ()) -> Any:
        """Return the chart with its title, a subtitle of these lines, and the colours of the theme.

        Vega's limit on the length of labels is off: texts are short, and drawing fails if Vega cuts
        a text inside an emoji.
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
        text = title if self.title is None else self.title
        if not text.strip():
            return chart
        room = self.wide() + _AXIS
        above = _folded([text], room / _TITLE_LETTER)
        below = _folded(subtitle, room / _SUBTITLE_LETTER)
        return chart.properties(title=alt.TitleParams(text=above, subtitle=below))


def _folded(texts: Iterable[str], letters: float) -> list[str]:
    """Wrap texts into lines of at most `letters` letters."""
    width = max(min(int(letters), _LONGEST_LINE), 12)
    return [
        line
        for text in texts
        for line in textwrap.wrap(plain_text(text), width, break_on_hyphens=False)
    ]
