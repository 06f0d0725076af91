"""Build parts of charts: marks, positions, colours and legends, with the data inside the chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import polars as pl

from rankframe.core.errors import MissingExtraError
from rankframe.core.vocabulary import Vocabulary
from rankframe.present.charts.palette import COLOURS


def load_altair() -> Any:
    """Import altair, or raise an error that says how to install it."""
    try:
        import altair  # noqa: PLC0415 (an optional part)
        import vl_convert  # noqa: F401, PLC0415
    except ImportError as error:
        raise MissingExtraError("a chart", "report") from error
    return altair


class _Lazy:
    """Stand in for a module, and import it on first use: altair is optional and slow to import."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)


alt: Any = _Lazy(load_altair)
_offline: Any = _Lazy(lambda: import_module("rankframe.present.charts.offline_charts"))


def chart_of(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return a chart that contains `rows` as its data."""
    return _offline.OfflineChart(alt.Data(values=list(rows)))


def layered(*charts: Any) -> Any:
    """Draw charts on top of each other."""
    return _offline.OfflineLayerChart(layer=charts)


def in_words(chart: Any, vocabulary: Vocabulary, *, titled: bool = False) -> Any:
    """Replace "query" and "document" in the texts of a chart by the words of the vocabulary."""
    return _offline.in_words(chart, vocabulary, titled=titled)


def numbered(cells: Any, *numbers: Any) -> Any:
    """Draw numbers on top of cells; the colours of the numbers are in no legend."""
    return layered(cells, *numbers).resolve_scale(color="independent")


def in_rows(chart: Any, row: Any, *, spacing: int) -> Any:
    """Repeat a chart for each value of a column, one below the other."""
    parts = chart.facet(row=row)
    return _offline.OfflineFacetChart(parts.data, parts.spec, parts.facet, spacing=spacing)


def named(frames: Mapping[str, pl.DataFrame], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of all frames for one chart, with the name of the frame in each row."""
    return [
        {"system": name, **row}
        for name, frame in frames.items()
        for row in frame.select(columns).to_dicts()
    ]


def across(field: str, title: str | None = None, **options: Any) -> Any:
    """Encode a field as the horizontal position; see `_position` for the options."""
    return alt.X(field, title=title, **_position(options))


def up(field: str, title: str | None = None, **options: Any) -> Any:
    """Encode a field as the vertical position; see `_position` for the options."""
    return alt.Y(field, title=title, **_position(options))


def _position(options: dict[str, Any]) -> dict[str, Any]:
    """Split the options of a position into its own options, and those of its scale and axis."""
    parts = {name: options.pop(name) for name in ("sort", "aggregate", "bin", "axis")
             if name in options}  # fmt: skip
    if "scale" in options:
        parts["scale"] = alt.Scale(**options.pop("scale"))
    return parts | ({"axis": alt.Axis(**options)} if options else {})


def colours_of(count: int) -> list[str]:
    """Return a colour for each of `count` systems; colours repeat if there are too few."""
    return [COLOURS[index % len(COLOURS)] for index in range(count)]


def colour(names: Sequence[str], *, labelled: bool = True) -> Any:
    """Encode the system as colour, with a legend below the chart if it is labelled."""
    scale = alt.Scale(domain=list(names), range=colours_of(len(names)))
    return alt.Color("system:N", scale=scale, legend=legend(names) if labelled else None)


def categories(field: str, colours: Mapping[str, str], title: str | None = None) -> Any:
    """Encode a field with a colour for each value, and a legend below the chart."""
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(field, scale=scale, legend=alt.Legend(title=title, orient="bottom"))


def text_in_cells(base: Any, field: str = "text:N", **mark: Any) -> Any:
    """Write a field into cells, each in the colour of its column `ink`."""
    return base.mark_text(**mark).encode(
        text=field, color=alt.Color("ink:N", scale=None, legend=None)
    )


def dots(base: Any, size: int = 60, **mark: Any) -> Any:
    """Draw filled points."""
    return base.mark_point(filled=True, size=size, opacity=1, **mark)


def tip(field: str, format: str = ".4f", **options: Any) -> Any:  # noqa: A002 (altair's name)
    """Show a number of a row in its tooltip."""
    return alt.Tooltip(field, format=format, **options)


def dashes(names: Sequence[str]) -> dict[str, Any]:
    """Encode systems as dash patterns too, if there are more systems than colours."""
    if len(names) <= len(COLOURS):
        return {}
    kinds = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2])
    ways = [kinds[index // len(COLOURS) % len(kinds)] for index in range(len(names))]
    scale = alt.Scale(domain=list(names), range=ways)
    return {"strokeDash": alt.StrokeDash("system:N", scale=scale, legend=legend(names))}


def legend(names: Sequence[str]) -> Any:
    """Return a legend below the chart, with as many columns as the lengths of names permit."""
    longest = max((len(name) for name in names), default=0)
    columns = 1 if longest > 34 else 2 if longest > 18 else 3
    return alt.Legend(title=None, orient="bottom", labelLimit=0, columns=columns, symbolOpacity=1)
