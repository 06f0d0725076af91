"""The site: built strictly, every parameter explained, and nothing on it asks another host."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.browser import needs_browser, opened

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole of it, built."""
    for package in ("mkdocs", "material", "mkdocstrings_handlers.python", "nbclient", "ipykernel"):
        pytest.importorskip(package, reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    code = "import sys; sys.path.insert(0, 'docs'); import make; make.site('-d', sys.argv[1])"
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return folder


class Page(HTMLParser):
    """What a page asks for, what it links to, and what can be linked to on it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.asked: set[str] = set()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        self.places |= {of[name] for name in ("id", "name") if name in of}
        if tag == "a" and "href" in of:
            self.links.add(of["href"])
        elif tag == "link" and "canonical" not in of.get("rel", ""):
            self.asked.add(of.get("href", ""))
        elif "src" in of:
            self.asked.add(of["src"])


@cache
def read(path: Path) -> Page:
    return Page(path)


def pages(site: Path) -> Iterator[Path]:
    return (page for page in sorted(site.rglob("*.html")) if page.name != "404.html")


def test_no_page_asks_another_host(site: Path) -> None:
    for page in pages(site):
        for address in read(page).asked:
            assert not urlsplit(address).netloc, (page, address)
            assert (page.parent / unquote(urlsplit(address).path)).exists(), (page, address)
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", text), sheet


def test_every_link_on_it_leads_to_a_page_and_a_place(site: Path) -> None:
    for page in pages(site):
        for link in read(page).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), (page, link)
            if parts.fragment and target.suffix == ".html" and not parts.fragment.startswith("__"):
                assert unquote(parts.fragment) in read(target).places, (page, link)


def test_every_parameter_of_every_function_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    griffe = pytest.importorskip("griffe", reason="needs the extra docs")
    monkeypatch.syspath_prepend(DOCS)
    style = import_module("docstrings").HouseStyle
    public = import_module("make_reference").public
    package: Any = griffe.load(
        "rankframe",
        search_paths=[ROOT / "src"],
        extensions=griffe.load_extensions(style),
    )
    functions = [
        package[home.removeprefix("rankframe.")] for names in public().values() for _, home in names
    ]
    functions = [one for one in functions if one.is_function]
    assert len(functions) > 20
    for function in functions:
        parts = function.docstring.parse("google", warn_unknown_params=False)
        said = {
            one.name: one.description
            for part in parts
            if part.kind.value == "parameters"
            for one in part.value
        }
        asked = [parameter.name for parameter in function.parameters]
        if function.module.path.startswith(
            "rankframe.present.charts"
        ):  # what they take is said in words
            continue
        assert [name for name in asked if not said.get(name)] == [], function.path


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_shown_with_drawings_that_fetch_nothing(site: Path, path: Path) -> None:
    drawings = sorted((site / "notebooks").glob(f"{path.stem}-*.svg"))
    assert len(drawings) >= 2
    page = (site / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
    assert page.count('class="output"') > 5
    for drawing in drawings:
        assert drawing.name in page
        text = drawing.read_text(encoding="utf-8")
        found = set(re.findall(r"https?://[^\s\"'<)]+", text))
        assert found <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


@needs_browser
def test_search_works_from_files_alone(site: Path, browser: Any) -> None:
    opened(browser, site / "index.html")
    browser.implicitly_wait(20)
    browser.find_element("css selector", "input.md-search__input").send_keys("reciprocal")
    found = browser.find_element("css selector", ".md-search-result__link").get_attribute("href")
    assert found.startswith("file://")
    asked = browser.execute_script(
        "return performance.getEntriesByType('resource').map(entry => entry.name)"
    )
    assert all(address.startswith(("file:", "data:", "blob:")) for address in asked)
