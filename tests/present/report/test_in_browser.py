"""The page in a real browser: pages, searches, CSV, both colours, a phone, and nothing harmful.

One browser for all, and two pages.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.present.report.conftest import HOSTILE
from tests.support.browser import chromium, needs_browser, opened

pytestmark = needs_browser
# What is cut off: wider than the window, and in nothing that scrolls.
CUT = """
const wide = document.documentElement.clientWidth + 1;
const scrolls = e => e && (getComputedStyle(e).overflowX === 'auto' || scrolls(e.parentElement));
return [...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width && box.right > wide && !e.closest('.skip') && !scrolls(e.parentElement);
}).map(e => e.tagName + '.' + e.getAttribute('class') + ' ' + e.textContent.slice(0, 40));
"""


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def page(chrome: Any, shop: Path) -> Any:
    opened(chrome, shop)
    return chrome


def rows(browser: Any, table: str) -> list[list[str]]:
    return browser.execute_script(
        f"return [...document.querySelectorAll('#{table} tbody tr')].filter(row => !row.hidden)"
        ".map(row => [...row.cells].map(cell => cell.textContent))"
    )


def sized(browser: Any, width: int, *, phone: bool = False) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": phone},
    )


def test_tables_turn_pages_sort_and_search(page: Any) -> None:
    def click(table: str, at: int) -> str:
        head = f"document.querySelectorAll('#{table} thead th')[{at}]"
        page.execute_script(f"{head}.querySelector('button').click()")
        return page.execute_script(f"return {head}.getAttribute('aria-sort')")

    def turn(button: int) -> str:
        bar = "document.getElementById('sample').closest('.scroll').nextElementSibling"
        page.execute_script(f"{bar}.querySelectorAll('button')[{button}].click()")
        return page.execute_script(f"return {bar}.querySelector('span').textContent")

    before = rows(page, "sample")
    assert len(before) == 20
    assert turn(1) == "21–40 of 500"
    assert not {row[0] for row in before} & {row[0] for row in rows(page, "sample")}
    assert turn(0) == "1–20 of 500"
    assert rows(page, "sample") == before
    assert turn(2) == "1–500 of 500"
    every = rows(page, "sample")
    assert turn(2) == "1–20 of 500"
    assert click("sample", 2) == "descending"
    highest = sorted((float(row[2]) for row in every), reverse=True)
    assert [float(row[2]) for row in rows(page, "sample")] == highest[:20]
    assert click("sample", 2) == "ascending"
    assert [float(row[2]) for row in rows(page, "sample")] == highest[::-1][:20]
    assert click("sample", 0) == "ascending"
    assert rows(page, "sample") == before

    box = page.find_element("id", "sample-search")
    box.send_keys("KAFFEE")
    found = [row for row in every if "kaffee" in " ".join(row).lower()]
    assert rows(page, "sample") == found[:20]
    assert page.find_element("id", "sample-count").text == f"{len(found)} found"
    box.clear()
    box.send_keys(" ")
    assert not page.get_log("browser")


def test_both_colour_schemes_and_no_width_cuts_anything(page: Any) -> None:
    def colours() -> tuple[str, str]:
        return page.execute_script(
            "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
        )

    page.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true })")
    seen = {}
    for scheme in ("light", "dark"):
        page.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        seen[scheme] = colours()
    assert seen["light"] == ["rgb(255, 255, 255)", "rgb(28, 30, 33)"]
    assert seen["dark"] == ["rgb(20, 23, 26)", "rgb(232, 234, 237)"]
    page.find_element("id", "theme").click()
    assert colours() == seen["light"]
    for width, phone in ((1280, False), (390, True)):
        sized(page, width, phone=phone)
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
        assert page.execute_script(CUT) == []
    # What is wider than a phone scrolls, and looks so; letters of drawings can be read.
    time.sleep(0.2)
    shown = page.execute_script(
        "return [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > "
        "e.clientWidth + 2).map(e => e.classList.contains('more-right'))"
    )
    assert shown
    assert all(shown)
    smallest = page.execute_script(
        "return Math.min(...[...document.querySelectorAll('figure svg text')]"
        ".filter(e => e.textContent.trim()).map(e => e.getBoundingClientRect().height))"
    )
    assert smallest > 8
    sized(page, 1200)


def test_the_page_is_sane_for_keyboards_and_screen_readers(page: Any) -> None:
    script = """
    const named = e => (e.getAttribute('aria-label') || e.textContent).trim();
    return {
      lang: document.documentElement.lang,
      heads: document.querySelectorAll('h1').length,
      nameless: [...document.querySelectorAll('button, a, summary')].filter(e => !named(e)).length,
      unlabelled: [...document.querySelectorAll('input')].filter(e => !e.labels.length).length,
      drawings: [...document.querySelectorAll('figure [role=img]')].filter(e => !named(e)).length,
      twice: [...document.querySelectorAll('main [id]')].map(e => e.id)
        .filter((id, at, all) => all.indexOf(id) !== at),
    }
    """
    assert page.execute_script(script) == {
        "lang": "en", "heads": 1, "nameless": 0, "unlabelled": 0, "drawings": 0, "twice": [],
    }  # fmt: skip


def test_hostile_names_are_harmless_and_saved_as_they_are(
    chrome: Any,
    hostile: Path,
    tmp_path: Path,
) -> None:
    opened(chrome, hostile)
    assert chrome.title == HOSTILE["close"]
    assert chrome.execute_script("return document.querySelectorAll('img, h1').length") == 1
    text = chrome.execute_script("return document.body.textContent")
    for name in ("tag", "image", "quotes", "emoji"):
        assert HOSTILE[name] in text, name
    sized(chrome, 390, phone=True)
    chrome.execute_script(
        "document.querySelectorAll('details').forEach(one => { one.open = true })"
    )
    assert chrome.execute_script(CUT) == []
    chrome.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    chrome.execute_script("document.querySelector('button.save[data-table=sample]').click()")
    saved = tmp_path / "sample.csv"
    for _ in range(100):
        if saved.exists():
            break
        time.sleep(0.1)
    with saved.open(encoding="utf-8-sig", newline="") as file:
        header, *found = csv.reader(file)
    assert header == ["query", "text", HOSTILE["tag"], HOSTILE["quotes"]]
    ids = [row[0] for row in found]
    assert len(ids) == len(HOSTILE)
    assert {HOSTILE["tag"], HOSTILE["image"], HOSTILE["quotes"], HOSTILE["emoji"]} <= set(ids)
    assert all(float(cell) <= 1 for row in found for cell in row[2:])
    assert not chrome.get_log("browser")
