"""The list of charts in docs/charts.md, and every chart of the demo data, drawn.

python docs/make_charts.py [--out DIR] [--screenshot]    (only draws; with a picture of the report,
for which Chromium is needed)
"""

from __future__ import annotations

import argparse
import inspect
import shutil
import subprocess
import tempfile
from pathlib import Path

from generated import DOCS, ROOT, table, with_sections

import rankframe as rf
from rankframe.plot.draw import draw
from rankframe.plot.material import Material
from rankframe.plot.registry import CHARTS, Definition

SHOP = ROOT / "data" / "shop"
RUNS = {name: SHOP / f"{name}.parquet" for name in ("bm25", "dense", "hybrid")}
# By how many runs a chart takes.
SHOWN = {None: list(RUNS), 0: [], 1: ["hybrid"], 2: ["bm25", "hybrid"]}
PAGE = DOCS / "charts.md"


def written() -> dict[Path, str]:
    """What the page should hold."""
    rows = map(_row, CHARTS.values())
    return {PAGE: with_sections(PAGE, {"charts": table(["chart", "shows"], rows)})}


def _row(definition: Definition) -> tuple[str, str]:
    name = definition.name
    given = ", ".join(inspect.signature(definition.function).parameters)
    return f"![{name}](charts/{name}.svg)", f"`rf.plot.{name}({given})`: {definition.summary}"


def draw_all(into: Path) -> None:
    """Every chart of the demo data, into a folder."""
    into.mkdir(parents=True, exist_ok=True)
    for definition in CHARTS.values():
        material = Material(
            SHOP / "qrels.parquet",
            {name: RUNS[name] for name in SHOWN[definition.runs]},
            queries=SHOP / "queries.parquet",
            by=["locale", "device"],
        )
        draw(definition.name, material, into / f"{definition.name}.svg")


def screenshot(target: Path) -> None:
    """The top of the report of the demo data, as Chromium shows it."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("the picture of the report needs Chromium")
    with tempfile.TemporaryDirectory() as folder:
        page = rf.report(
            SHOP / "qrels.parquet",
            RUNS,
            ["ndcg@10", "map", "mrr@10", "lag"],
            output=Path(folder) / "report.html",
            title="Shop search: dense and hybrid against bm25",
            queries=SHOP / "queries.parquet",
            by=["locale"],
        )
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                 "--disable-background-networking", "--window-size=1200,1500",
                 f"--user-data-dir={folder}/profile", f"--screenshot={target}"]  # fmt: skip
        command = [chromium, *flags, page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 (all of it is ours)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--screenshot", action="store_true")
    asked = parser.parse_args()
    draw_all(asked.out / "charts")
    if asked.screenshot:
        screenshot(asked.out / "report.png")
