"""Curves show themselves, and stay frames."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.curves.curve import Curve
from tests.support.page_text import read_page

QRELS = {f"q{n}": {"a": 1, "b": 2} for n in range(12)}
RUN = {query: {"b": 3.0 + n, "x": 2.0, "a": 1.0 + n / 9} for n, query in enumerate(QRELS)}
KNOWN = pl.DataFrame({"query_id": list(QRELS), "kind": ["<b>", "y"] * 6})


@pytest.mark.parametrize(
    ("kind", "options", "lines"),
    [
        ("roc", {}, 1),
        ("roc", {"average": "vertical"}, 1),
        ("precision_recall", {}, 1),
        ("precision_recall", {"interpolated": True}, 1),
        ("metric_at_k", {"by": "kind", "queries": KNOWN}, 2),
        ("cumulative_gain", {}, 2),
        ("roc", {"per_query": True}, 0),
    ],
)
def test_every_kind_of_curve_is_drawn_unless_there_are_too_many(
    kind: Any, options: dict[str, Any], lines: int
) -> None:
    points = rf.curve(QRELS, RUN, kind, **options)
    assert isinstance(points, pl.DataFrame)
    html = points._repr_html_()
    assert html.count("<polyline") == lines
    assert "<b>" not in html
    assert points.filter(pl.lit(value=True)).equals(points)
    drawing = html.split("</svg>")[0] + "</svg>"
    if lines:
        read_page(drawing)


def test_no_points_are_no_drawing() -> None:
    assert "<svg" not in Curve.of(pl.DataFrame({"fpr": [], "tpr": []}))._repr_html_()
    assert "<svg" not in Curve.of(pl.DataFrame({"x": [1]}))._repr_html_()
    level = Curve.of(pl.DataFrame({"k": [1, 2], "value": [0.5, 0.5]}))
    assert "<polyline" in level._repr_html_()
