"""Define all colours of charts: of systems, grades and changes, and of the light and dark themes.

The colours can be told apart with any kind of colour vision, in both themes.
"""

from __future__ import annotations

from typing import Final

from rankframe.core.options import ChartTheme
from rankframe.core.records import record

# Based on the palette of Okabe and Ito.
COLOURS: Final = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#b15928",
)  # fmt: skip
# Text and axes in the light theme. The report replaces this grey by the page's own text colour.
GREY: Final = "#6b6b6b"
BETTER, WORSE, SAME = COLOURS[0], COLOURS[1], "#a6a6a6"
RELEVANT, OTHER = COLOURS[0], "#b8bcc2"
# Neither white nor the colour of any grade.
UNJUDGED: Final = "#a9a9a9"
# Darker with each grade; neither white nor black, which would vanish in the background of a theme.
_GRADES: Final = ("#ead77f", "#86bf78", "#3a9f8a", "#2b7a99", "#35508f")
_DARK_TEXT, _LIGHT_TEXT = "#1c1c1c", "#ffffff"


@record
class Ground:
    """Hold the colours of a theme."""

    background: str
    # text, axes, and lines other than data
    ink: str
    grid: str
    # a cell with a value that is neither better nor worse
    neutral: str


GROUNDS: Final[dict[ChartTheme, Ground]] = {
    "light": Ground("white", GREY, "#88888833", "#ececec"),
    "dark": Ground("#16191d", "#c9ccd1", "#88888855", "#3a3f46"),
}


def shades(count: int) -> list[str]:
    """Return a colour for each of `count` grades, lowest first, from sand over green to dark blue.

    >>> shades(2)
    ['#ead77f', '#35508f']
    """
    last = len(_GRADES) - 1
    places = [place * last / max(count - 1, 1) for place in range(count)]
    return [
        mixed(_GRADES[int(place)], _GRADES[min(int(place) + 1, last)], place - int(place))
        for place in places
    ]


def mixed(start: str, end: str, share: float) -> str:
    """Mix two colours; share 0 is the first colour, share 1 the second.

    >>> mixed("#000000", "#ffffff", 0.5)
    '#808080'
    """
    parts = zip(bytes.fromhex(start[1:]), bytes.fromhex(end[1:]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in parts)


def text_on(colour: str) -> str:
    """Return near-black or white, whichever is easier to read on a colour.

    >>> text_on("#ead77f"), text_on("#35508f")
    ('#1c1c1c', '#ffffff')
    """
    dark, light = (contrast(colour, text) for text in (_DARK_TEXT, _LIGHT_TEXT))
    return _DARK_TEXT if dark >= light else _LIGHT_TEXT


def contrast(colour: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as defined by WCAG.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    low, high = sorted(map(_luminance, (colour, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    shares = [part / 255 for part in bytes.fromhex(colour[1:])]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    red, green, blue = linear
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
