"""Charts save themselves without a network, whatever their texts are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import altair
import polars as pl
import pytest

import rankframe as rf
from rankframe.present.charts.offline_charts import (
    InScript,
    OfflineChart,
    OfflineFacetChart,
    OfflineLayerChart,
    drawable,
)
from tests.support.browser import needs_browser, opened
from tests.support.chart_cases import DRAWN, rows

# Ids that end the script they stand in, end the process that draws them, or take it long.
SCRIPT = "</script><script>document.title = 'owned'</script>"
HOSTILE = [
    SCRIPT, "<!--<script>", "<img src=x onerror=\"document.title='owned'\">", "😀" * 50,
    "x" * 40_000, "x" * 40_001, *(f"q{c}" for c in "\0\x01\x07\v\f\x1b\n\u2028\u2029\ufffe"),
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile() -> Any:
    """A chart of such queries."""
    qrels = {query: {"a": 1, query: 2} for query in HOSTILE}
    run = {query: {query: 2.0, "b": 1.0} for query in HOSTILE}
    return rf.plot.heatmap(rf.judge(qrels, run))


@pytest.mark.parametrize("name", ["roc", "strip", "slices"])
def test_a_chart_saves_itself(name: str, tmp_path: Path) -> None:
    chart: Any = DRAWN[name]().properties(title="Mine")
    for ending, start in (
        (".png", b"\x89PNG"), (".svg", b"<svg"), (".pdf", b"%PDF"), (".html", b"<!DOCTYPE html>"),
    ):  # fmt: skip
        target = tmp_path / f"x{ending}"
        chart.save(str(target))
        content = target.read_bytes()
        assert content.lstrip().startswith(start)
        if ending == ".html":
            assert b'src="http' not in content
            assert len(content) > 500_000  # its scripts are inside


@pytest.mark.parametrize("how", [{}, {"format": "html"}], ids=str)
def test_scripts_are_brought_along_unless_told_otherwise(
    how: dict[str, str], tmp_path: Path
) -> None:
    target = tmp_path / ("x" if how else "x.html")
    chart: Any = rf.plot.discounts(3)
    chart.save(str(target), **how)
    whole = target.read_text(encoding="utf-8")
    assert 'src="http' not in whole
    chart.save(str(target), inline=False, **how)
    assert 'src="http' in target.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["roc", "strip", "slices", "discounts"])
def test_a_notebook_is_shown_a_drawing_that_fetches_nothing(name: str) -> None:
    chart: Any = DRAWN[name]()
    bundle = chart._repr_mimebundle_()
    assert list(bundle) == ["image/svg+xml"]
    drawn = bundle["image/svg+xml"]
    assert drawn.startswith("<svg")
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", drawn))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "<script" not in drawn


def test_who_asked_altair_for_another_way_to_show_charts_gets_it() -> None:
    chart: Any = rf.plot.discounts(3)
    with altair.renderers.enable("mimetype"):
        shown = str(chart._repr_mimebundle_())
    assert "application/vnd.vegalite" in shown
    assert "image/svg" not in shown
    assert altair.renderers.active == "default"


def test_charts_stay_whole_when_they_are_changed() -> None:
    charts: list[Any] = [DRAWN[name]() for name in ("precision_recall", "roc", "slices")]
    for chart, kind in zip(
        charts, (OfflineChart, OfflineLayerChart, OfflineFacetChart), strict=True
    ):
        assert isinstance(chart, kind)
        assert isinstance(chart.properties(title="mine").configure_axis(grid=False), kind)


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_any_text_can_be_drawn(hostile: Any, ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"x{ending}"
    hostile.save(str(target))
    assert target.stat().st_size > 5_000


def test_texts_are_plain_and_short_and_those_that_differ_still_do(hostile: Any) -> None:
    drawn = rows(hostile)
    for column in ("query_id", "label"):
        texts = {row[column] for row in drawn}
        assert len(texts) == len(HOSTILE)
        assert all(text.isprintable() for text in texts)
        assert max(map(len, texts)) < 70
    assert r"q\x1b" in {row["label"] for row in drawn}
    order = hostile.to_dict()["layer"][0]["encoding"]["y"]["sort"]
    assert [row["label"] for row in drawn if row["rank"] == 1] == order


def test_names_of_systems_keep_their_colours(tmp_path: Path) -> None:
    points = pl.DataFrame({"recall": [0.0, 1.0], "precision": [1.0, 0.5]})
    names = ["\x1b[1m", "b" * 100, "b" * 101, "plain"]
    chart: Any = rf.plot.precision_recall(dict.fromkeys(names, points))
    domain = chart.to_dict()["encoding"]["color"]["scale"]["domain"]
    assert domain == [r"\x1b[1m", "b" * 59 + "…", "b" * 59 + "… (2)", "plain"]
    assert [row["system"] for row in rows(chart)][::2] == domain
    chart.properties(title="\0").save(str(tmp_path / "x.svg"))


def test_a_chart_of_plain_texts_is_left_alone() -> None:
    spec = {"a": ["x", {"b": 1.5, "c": None}], "d": "😀 ü"}
    assert drawable(spec) is spec


def test_json_in_a_script_says_the_same() -> None:
    content = {"a": [SCRIPT, "<!--", 1.5, None, "\u2028"]}
    text = json.dumps(content, cls=InScript)
    assert not set("<>") & set(text)
    assert json.loads(text) == content


def test_no_page_has_a_text_that_ends_its_script(hostile: Any, tmp_path: Path) -> None:
    hostile.save(str(tmp_path / "x.html"), json_kwds={"indent": 1}, inline=False)
    with altair.renderers.enable("html"):
        shown = hostile._repr_mimebundle_()["text/html"]
    pages = [
        (tmp_path / "x.html").read_text(encoding="utf-8"),
        hostile.to_html(),
        shown,
    ]
    for page in pages:
        assert "owned" in page
        assert "<script>document" not in page
        assert "<img" not in page
        assert "<!--" not in page


@needs_browser
def test_a_page_runs_no_text_in_a_browser(hostile: Any, browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver import ActionChains

    page = tmp_path / "x.html"
    hostile.save(str(page))
    opened(browser, page)
    browser.implicitly_wait(20)
    # Whoever points at a document is told its query.
    told = []
    for mark in browser.find_elements("css selector", "#vis svg .mark-rect path")[:12]:
        ActionChains(browser).move_to_element(mark).perform()
        told.append(browser.find_element("id", "vg-tooltip-element").text)
    assert any(SCRIPT in text for text in told)
    assert browser.title == ""
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0


NAMES = ['"quoted"', "</script><script>x", "a\nb", "x" * 500, "עברית \u202e", "a.b[0]['c']", "🎈"]


@pytest.fixture(scope="module")
def systems() -> dict[str, pl.DataFrame]:
    """Values under names that mean harm, of queries that do."""
    values = [at / len(HOSTILE) for at in range(len(HOSTILE))]
    frame = pl.DataFrame({"query_id": HOSTILE, "m.x['y']": values})
    return dict.fromkeys(NAMES, frame)


def test_any_name_can_be_drawn_in_charts_of_queries(
    systems: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    charts: list[Any] = [
        rf.plot.per_query(systems),
        rf.plot.per_query(systems[NAMES[0]]),
        rf.plot.distribution(systems),
        rf.plot.scatter(systems, None, (NAMES[3], NAMES[4])),
    ]
    for at, chart in enumerate(charts):
        chart.save(str(tmp_path / f"{at}.svg"))
        assert "NaN" not in (tmp_path / f"{at}.svg").read_text(encoding="utf-8")


def test_any_name_can_be_drawn_in_charts_of_lists_and_rankings(tmp_path: Path) -> None:
    alike = rf.agree([1, 2, 3], [1, 3, 2], ["kendall_tau", "rbo"])
    charts: list[Any] = [
        rf.plot.strip({key: [1, 0, None] for key in NAMES}),
        rf.plot.bump(dict.fromkeys(NAMES, HOSTILE), k=20),
        rf.plot.agreement(dict.fromkeys(NAMES, alike), SCRIPT),
        rf.plot.strip([1, 0], title=SCRIPT * 10),
    ]
    for at, chart in enumerate(charts):
        chart.save(str(tmp_path / f"{at}.svg"))
    page = charts[-1].to_html()
    assert "<script>document" not in page


def test_any_name_can_be_drawn_in_charts_of_systems(tmp_path: Path) -> None:
    qrels = {query: {"a": 1} for query in HOSTILE}
    runs = {name: {query: {"a": 1.0, "b": float(at)} for query in HOSTILE}
            for at, name in enumerate(NAMES)}  # fmt: skip
    attributes = pl.DataFrame({"query_id": HOSTILE, "k.x[0]": HOSTILE})
    options: dict[str, Any] = {"ci": "t", "queries": attributes, "by": "k.x[0]"}
    found = rf.compare(qrels, runs, "mrr", baseline=NAMES[0], **options)
    result = rf.evaluate(qrels, runs[NAMES[1]], "mrr", **options)
    charts: list[Any] = [
        rf.plot.significance(found), rf.plot.forest(found), rf.plot.slice_map(result),
        rf.plot.history(rf.history(dict.fromkeys(NAMES, result))),
    ]  # fmt: skip
    for at, chart in enumerate(charts):
        chart.save(str(tmp_path / f"{at}.svg"))
        assert "NaN" not in (tmp_path / f"{at}.svg").read_text(encoding="utf-8")
