"""Subclass altair's charts so that they need no network, and treat texts in them as untrusted.

HTML contains its scripts, and a notebook gets an SVG. No text in a chart can crash the renderer or
run as a script in the page. This module is imported with the first chart: altair is optional.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import altair

from rankframe.core.vocabulary import Vocabulary
from rankframe.core.wording import distinct_texts

_LONGEST = 60  # most characters of a name or an id
_INNER = re.compile(r'\bid="([^"]+)"')
_LONGEST_TITLE = 90  # most characters of a line in a title
_VOCABULARY = "vocabulary"  # key of a chart's metadata: words for queries and documents
_NO_TITLES = ("data", "datasets", "usermeta", "sort", "transform")


class InScript(json.JSONEncoder):
    """Encode JSON for a script element of a page: no text in the JSON can end the script."""

    def encode(self, o: Any) -> str:
        """Encode an object, with the characters that are special in HTML escaped."""
        return super().encode(o).replace("<", "\\u003c").replace(">", "\\u003e")


class _Offline:
    def save(self, fp: Any, *args: Any, **options: Any) -> None:
        """Save the chart, with altair's arguments."""
        kind = next(iter(args), None) or options.get("format") or Path(str(fp)).suffix[1:]
        if kind == "html":
            options.setdefault("inline", True)
            options["json_kwds"] = {"cls": InScript, **(options.get("json_kwds") or {})}
        if kind != "svg":
            super().save(fp, *args, **options)  # type: ignore[misc]
            return
        drawn = StringIO()
        options.pop("format", None)
        super().save(drawn, kind, *args[1:], **options)  # type: ignore[misc]
        text = renumbered(drawn.getvalue())
        if hasattr(fp, "write"):
            fp.write(text)
        else:
            Path(fp).write_text(text, encoding="utf-8")

    def to_html(self, *args: Any, **options: Any) -> str:
        """Return the chart as HTML, with altair's arguments."""
        options["json_kwds"] = {"cls": InScript, **(options.get("json_kwds") or {})}
        return super().to_html(*args, **options)  # type: ignore[misc]

    def to_dict(self, *args: Any, **options: Any) -> dict[str, Any]:
        """Return the Vega-Lite specification of the chart. altair calls this to draw or save it."""
        spec = super().to_dict(*args, **options)  # type: ignore[misc]
        inner = not (options.get("context") or {}).get("top_level", True)
        return spec if inner else drawable(_with_titles(spec))

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        """Return an SVG for notebooks, which needs no network; altair's page would fetch scripts.

        If the user has enabled another renderer, return the output of that renderer.
        """
        if altair.renderers.active == "default":
            drawn = StringIO()
            self.save(drawn, format="svg")
            return {"image/svg+xml": drawn.getvalue()}
        bundle = super()._repr_mimebundle_(*args, **options)  # type: ignore[misc]
        page = bundle.get("text/html") if isinstance(bundle, dict) else None
        if page is None:
            return bundle
        spec = self.to_dict(context={"pre_transform": False})
        return {**bundle, "text/html": page.replace(json.dumps(spec), InScript().encode(spec))}


class OfflineChart(_Offline, altair.Chart):
    """Make altair's single charts work without a network."""


class OfflineLayerChart(_Offline, altair.LayerChart):
    """Make altair's charts with layers work without a network."""


class OfflineFacetChart(_Offline, altair.FacetChart):
    """Make altair's charts with several panels work without a network."""


def in_words(chart: Any, vocabulary: Vocabulary, *, titled: bool = False) -> Any:
    """Replace "query" and "document" in the texts of a chart by the words of the vocabulary.

    The titles of axes and legends are replaced when the chart is drawn.

    titled: whether the user chose the title, which is then kept.
    """
    if vocabulary == Vocabulary():
        return chart
    title = chart.title
    if isinstance(title, altair.TitleParams):
        below = [vocabulary.render(line) for line in title.subtitle]  # pyright: ignore[reportGeneralTypeIssues]
        above = title.text if titled else [vocabulary.render(line) for line in title.text]  # pyright: ignore[reportGeneralTypeIssues]
        chart = chart.properties(title=altair.TitleParams(text=above, subtitle=below))
    return chart.properties(usermeta={_VOCABULARY: [vocabulary.query, vocabulary.document]})


def _with_titles(spec: dict[str, Any]) -> dict[str, Any]:
    """Replace the titles of axes, legends and tooltips by the words of the chart's vocabulary."""
    nouns = (spec.get("usermeta") or {}).get(_VOCABULARY)
    if nouns is None:
        return spec
    render = Vocabulary(*nouns).render

    def titled(part: Any) -> Any:
        if isinstance(part, list):
            return list(map(titled, part))
        if not isinstance(part, dict):
            return part
        part = {key: inner if key in _NO_TITLES else titled(inner) for key, inner in part.items()}
        # Without a title, Vega-Lite shows the name of the field.
        title = part.get("title", part.get("field") if "type" in part else None)
        if isinstance(title, str) and render(title) != title:
            part["title"] = render(title)
        return part

    return {key: part if key in _NO_TITLES else titled(part) for key, part in spec.items()}


def renumbered(svg: str, start: str = "part") -> str:
    """Return an SVG whose internal ids count from 0 and begin with `start`.

    The renderer's ids count on from drawing to drawing: the same chart would have different bytes
    each time, and two charts on one page could share ids.

    >>> renumbered('<clipPath id="clip7"/><g clip-path="url(#clip7)"/>')
    '<clipPath id="part0"/><g clip-path="url(#part0)"/>'
    """
    for index, inner in enumerate(dict.fromkeys(_INNER.findall(svg))):
        svg = re.sub(rf'(id="|url\(#){re.escape(inner)}(?=["\)])', rf"\g<1>{start}{index}", svg)
    return svg


def drawable(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the specification of a chart with plain, short texts; different texts stay different.

    Some characters crash the renderer, and a text of 40,000 characters takes it 15 seconds.
    """
    title = spec.get("title", "")
    rest = {key: part for key, part in spec.items() if key != "title"}
    shown = distinct_texts(_texts(rest), _LONGEST)
    titles = distinct_texts(_texts(title), _LONGEST_TITLE)
    if all(text == label for texts in (shown, titles) for text, label in texts.items()):
        return spec
    above = {"title": _each(title, titles.get)} if "title" in spec else {}
    return _each(rest, shown.get) | above


def _texts(spec: Any) -> Iterator[str]:
    if isinstance(spec, str):
        yield spec
    elif isinstance(spec, dict | list):
        for part in spec.values() if isinstance(spec, dict) else spec:
            yield from _texts(part)


def _each(spec: Any, shown: Callable[[str], str | None]) -> Any:
    if isinstance(spec, dict):
        return {key: _each(part, shown) for key, part in spec.items()}
    if isinstance(spec, list):
        return [_each(part, shown) for part in spec]
    return shown(spec) if isinstance(spec, str) else spec
