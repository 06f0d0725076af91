"""The list of charts in docs/charts.md, the gallery of all of them, and every chart, drawn: of
lists as textbooks have them, and of the demo data.

python docs/make_charts.py [--out DIR] [--screenshot]    (only draws; with a picture of the report,
for which Chromium is needed)
"""

from __future__ import annotations

import argparse
import inspect
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from generated import DOCS, ROOT, table, with_sections

import rankframe as rf
from rankframe.core.options import ChartKind
from rankframe.present.charts.canvas import Look
from rankframe.present.charts.chart_source import Material
from rankframe.present.charts.draw import draw
from rankframe.present.charts.registry import CHARTS, Definition

# From curves to systems, as the command line lists them.
ORDERED = [CHARTS[kind] for kind in get_args(ChartKind)]
SHOP = ROOT / "data" / "shop"
RUNS = {name: SHOP / f"{name}.parquet" for name in ("bm25", "dense", "hybrid")}
# By how many runs a chart takes.
SHOWN = {None: list(RUNS), 0: [], 1: ["hybrid"], 2: ["bm25", "hybrid"]}
# What is shown of a catalogue is drawn of films.
MOVIES = ROOT / "data" / "movies"
FILMS = Material(
    MOVIES / "ratings.parquet",
    {name: MOVIES / f"{name}.parquet" for name in ("popular", "item_based", "als")},
    k=10,
    policies={"rel": 4, "train": MOVIES / "train.parquet", "items": MOVIES / "items.parquet"},
)
# As textbooks have them.
RELEVANT = [1, 0, 1, 0, 1, 0, 0, 1, 0, 1]
GRADES = [3, 2, 3, 0, 1, 2, 0, 1, 0, 3]
FIRST, SECOND = list(range(1, 11)), [1, 3, 2, 4, 6, 5, 7, 9, 8, 10]
RANKINGS = {"second": SECOND, "swapped halves": [*FIRST[5:], *FIRST[:5]], "reversed": FIRST[::-1]}
OTHERWISE = {
    "strip": Material(grades=RELEVANT),
    "grades": Material(grades=GRADES),
    "precision_at": Material(grades=RELEVANT),
    "reciprocal_rank": Material(grades=[0, 0, 1, 0, 1], k=10),
    "bump": Material(FIRST, {"second": SECOND}, reference="first"),
    "agreement": Material(FIRST, RANKINGS, reference="first"),
    "discounts": Material(),
    "exposure": FILMS,
    "popularity": FILMS,
    "tradeoff": FILMS,
}
# What is asked for beside files, on the shell and here.
MORE: dict[str, dict[str, Any]] = {
    "slice_map": {"metrics": ["ndcg@10", "map", "mrr@10", "lag"]},
    "forest": {"metrics": ["ndcg@10", "map"]},
}
ONE = {"slice_map"}  # drawn of one run, though it takes several
SLICED = "--queries queries.parquet --by locale"
SHELL = {
    "strip": "--list 1,0,1,0,1,0,0,1,0,1",
    "grades": "--list 3,2,3,0,1,2,0,1,0,3",
    "precision_at": "--list 1,0,1,0,1,0,0,1,0,1",
    "reciprocal_rank": "--list 0,0,1,0,1 -k 10",
    "discounts": "",
    "bump": "first.parquet second.parquet --query q0017",
    "agreement": "bm25.parquet dense.parquet hybrid.parquet",
    "slices": f"qrels.parquet bm25.parquet dense.parquet {SLICED}",
    "slice_map": f"qrels.parquet hybrid.parquet -m ndcg@10 -m map {SLICED}",
    "forest": f"qrels.parquet bm25.parquet dense.parquet -m ndcg@10 {SLICED}",
    "history": "results/monday results/tuesday -m ndcg@10 --margin=-1%",
    "exposure": "popular.parquet als.parquet -k 10 --items items.parquet",
    "popularity": "popular.parquet als.parquet -k 10 --train train.parquet",
    "tradeoff": "ratings.parquet popular.parquet als.parquet --rel 4 --items items.parquet",
}
FILES = {None: "bm25.parquet dense.parquet", 1: "hybrid.parquet", 2: "bm25.parquet hybrid.parquet"}
PAGE, GALLERY = DOCS / "charts.md", DOCS / "gallery.md"
HEADER = """<!-- Written by docs/make.py. -->

# All charts

Every chart by its name, which is that of a function in `rf.plot` and of a `KIND` for
`rankframe plot`. All take `title=`, `width=`, `height=` and `theme=` (`--title`, `--width`,
`--height`, `--theme`), and save as SVG, PNG, PDF or HTML without a network. Lists are those of
textbooks; the rest is the demo data, `rf.example("shop")`, and of what is shown of a catalogue
`rf.example("movies")`.
"""


def written() -> dict[Path, str]:
    """What the pages should hold."""
    rows = [(f"[`{one.name}`](gallery.md#{one.name})", _sentence(one)) for one in ORDERED]
    entries = map(_entry, ORDERED)
    return {
        PAGE: with_sections(PAGE, {"charts": table(["chart", "shows"], rows)}),
        GALLERY: "\n".join([HEADER, *entries]),
    }


def _sentence(definition: Definition) -> str:
    return definition.summary.split(". ")[0].rstrip(".:") + "."


def _entry(definition: Definition) -> str:
    """A chart in the gallery: its picture, what it is, and how it is drawn."""
    name = definition.name
    own = list(inspect.signature(definition.function).parameters)
    given = ", ".join(one for one in own if one not in Look.__annotations__)
    files = SHELL.get(name)
    if files is None:
        files = f"qrels.parquet {FILES[definition.runs]}"
    shell = f"rankframe plot {name} {files}".rstrip()
    return (
        f"## {name}\n\n![{name}](charts/{name}.svg)\n\n{definition.summary}\n\n"
        f"- `rf.plot.{name}({given})`\n- `{shell}`\n"
    )


def draw_all(into: Path) -> None:
    """Every chart, into a folder."""
    into.mkdir(parents=True, exist_ok=True)
    with stored_results() as folders:
        for definition in ORDERED:
            name = definition.name
            count = 1 if name in ONE else definition.runs
            material = OTHERWISE.get(name) or Material(
                SHOP / "qrels.parquet",
                {run: RUNS[run] for run in SHOWN[count]},
                queries=SHOP / "queries.parquet",
                by=["locale", "device"],
                folders=folders,
                margin="-1%",
                **MORE.get(name, {}),
            )
            draw(name, material, into / f"{name}.svg")


@contextmanager
def stored_results() -> Iterator[dict[str, Path]]:
    """Results of a week, each written on its day."""
    days = {"monday": "dense", "tuesday": "hybrid", "wednesday": "bm25", "thursday": "hybrid"}
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for at, (day, run) in enumerate(days.items(), start=1):
            result = rf.evaluate(SHOP / "qrels.parquet", RUNS[run], ["ndcg@10", "mrr@10"])
            found[day] = result.write(Path(folder) / day)
            then = datetime(2026, 3, 1 + at, 9, tzinfo=UTC).timestamp()
            os.utime(found[day] / "summary.parquet", (then, then))
        yield found


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
