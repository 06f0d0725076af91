"""The documentation is true: what is generated is up to date, links and names lead somewhere."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics import REGISTRY

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "rankframe"
NAVIGATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
PACKAGES = ("plot", "spark")
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def make(root: Path, *flags: str, code: str = "make.main()") -> tuple[int, str]:
    """What `docs/make.py` of a copy of the repository ends with and says."""
    code = f"import sys; sys.path[0:0] = ['docs', 'src']; import make\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", code, *flags], cwd=root, capture_output=True, check=False, text=True
    )
    return done.returncode, done.stdout + done.stderr


# What is generated


def test_what_is_generated_is_up_to_date() -> None:
    assert make(ROOT, "--check") == (0, "")


def test_what_is_stale_is_named_and_mended(tmp_path: Path) -> None:
    for folder in ("src", "docs", "tests/contracts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    damages = {
        "docs/metrics.md": ("## Counts", "## Countesses"),
        "src/rankframe/__init__.pyi": ("ndcg,", "ndgc,"),
        "docs/how_it_works.md": ("| `engine` |", "| `motor` |"),
        "docs/charts.md": ("gallery.md#roc", "gallery.md#rock"),
        "docs/gallery.md": ("charts/roc.svg", "charts/rock.svg"),
        "docs/reference/index.md": ("`rf.evaluate`", "`rf.evalute`"),
        "docs/reference/evaluation.md": ("rf.evaluate", "rf.evalute"),
        "docs/reference/results.md": ("| Float64 |", "| Float32 |"),
        "docs/reference/columns.md": ("`qid`", "`quid`"),
        "docs/reference/formats.md": ("`.parquet`", "`.parket`"),
        "docs/reference/command_line.md": ("`--k-max`", "`--max-k`"),
    }

    def texts() -> list[str]:
        return [(tmp_path / name).read_text(encoding="utf-8") for name in damages]

    right = texts()
    for name, damage in damages.items():
        path = tmp_path / name
        path.write_text(path.read_text(encoding="utf-8").replace(*damage), encoding="utf-8")
    wrong = texts()
    said = f"stale: {', '.join(damages)}. Run python docs/make.py.\n"
    assert make(tmp_path, "--check") == (1, said)
    assert texts() == wrong
    make(tmp_path, code="for maker in make.MAKERS: make.write(maker.written())")
    assert texts() == right


def test_charts_are_drawn_by_one_command(tmp_path: Path) -> None:
    code = [sys.executable, ROOT / "docs" / "make_charts.py", "--out", tmp_path]
    subprocess.run(code, check=True, capture_output=True)
    drawn, kept = (
        sorted(path.name for path in (of / "charts").iterdir()) for of in (tmp_path, ROOT / "docs")
    )
    assert drawn == kept
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert all(f"charts/{name}" in page for name in kept)


# What is written by hand


def test_the_example_of_how_it_works_runs() -> None:
    page = (ROOT / "docs" / "how_it_works.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    exec(code.replace("values.collect()", "values = values.collect()"), names)
    values = names["values"]
    assert isinstance(values, pl.DataFrame)
    dcg, ideal = 2 + 1 / 2, 2 + 1 / math.log2(3)
    rows = [("q1", 1.0, dcg, pytest.approx(dcg / ideal, abs=1e-15)), ("q2", 0.0, 0.0, 0.0)]
    assert values.rows() == rows


def links(text: str) -> Iterator[str]:
    """What a page links to, code left out."""
    plain = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return (found[1] for found in re.finditer(r"\]\(([^)\s]+)\)", plain))


def anchors(page: Path) -> set[str]:
    """Its headings as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    named = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return named | set(re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE))


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in links(page.read_text(encoding="utf-8")):
            if "://" in link:
                continue
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), f"{page}: {link}"
            assert not anchor or anchor in anchors(target), f"{page}: {link}"


def test_the_files_that_a_page_names_are_there() -> None:
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    for page in PAGES:
        for name in re.findall(r"`([a-z_./]+/[a-z_]+\.pyi?)`", page.read_text(encoding="utf-8")):
            within = SOURCE if name.split("/")[0] in rooms else ROOT
            assert (within / name).exists(), f"{page}: {name}"


def test_the_names_that_a_page_uses_are_public() -> None:
    public = {*dir(rf)}
    for page in PAGES:
        for name in re.findall(r"\brf\.(\w+(?:\.\w+)?)", page.read_text(encoding="utf-8")):
            first, _, second = name.partition(".")
            assert first in public, f"{page}: {name}"
            assert not second or hasattr(getattr(rf, first), second), f"{page}: {name}"


def test_every_page_has_its_place_on_the_site() -> None:
    placed = set(re.findall(r"^ +- .*?(\S+\.md)$", NAVIGATION, re.MULTILINE))
    assert placed == {page.relative_to(ROOT / "docs").as_posix() for page in PAGES[3:]}
    notebooks = set(re.findall(r"(\S+\.ipynb)$", NAVIGATION, re.MULTILINE))
    found = (ROOT / "docs").rglob("*.ipynb")
    assert notebooks == {page.relative_to(ROOT / "docs").as_posix() for page in found}


def test_the_readme_leads_to_the_site_and_to_who_works_on_it() -> None:
    linked = set(links((ROOT / "README.md").read_text(encoding="utf-8")))
    assert {"docs/index.md", "CONTRIBUTING.md", "SECURITY.md"} <= linked


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference").glob("*"))
    for name in dir(rf):
        if name in ("__version__", "map", "mrr", "success"):  # other names of metrics
            continue
        names = (
            [f"{name}.{one}" for one in getattr(rf, name).__all__] if name in PACKAGES else [name]
        )
        for one in names:
            heading, entry = f'heading: "rf.{one}"', f"[`rf.{one}`]("
            assert entry in text, one
            assert one in REGISTRY or heading in text, one


def test_every_metric_has_its_entry() -> None:
    assert set(REGISTRY) <= anchors(ROOT / "docs" / "metrics.md")
