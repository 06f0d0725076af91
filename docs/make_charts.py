"""Write the list of charts in docs/charts.md and the gallery, and draw the picture of every chart.

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
from contextlib import chdir, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from generated import DOCS, ROOT, table, with_sections

import rankframe as rf
from rankframe.cli.app import make_app
from rankframe.present.charts.canvas import Look
from rankframe.present.charts.registry import CHARTS, Definition

SHOP, MOVIES = ROOT / "data" / "shop", ROOT / "data" / "movies"
RUNS = {name: SHOP / f"{name}.parquet" for name in ("bm25", "dense", "hybrid")}
PAGE, GALLERY = DOCS / "charts.md", DOCS / "gallery.md"
HEADER = """<!-- Written by docs/make.py. -->

# All charts

Every chart by its name, which is that of a function in `rf.plot` and of a `KIND` for
`rankframe plot`. All take `title=`, `width=`, `height=` and `theme=` (`--title`, `--width`,
`--height`, `--theme`), and save as SVG, PNG, PDF or HTML without a network. The command below each
chart draws its picture, in a folder with the demo data: `rf.example("shop")` and
`rf.example("movies")`.
"""


def written() -> dict[Path, str]:
    """Return the text of docs/charts.md and of the gallery, by path."""
    rows = [(f"[`{name}`](gallery.md#{name})", one.sentence) for name, one in CHARTS.items()]
    entries = map(_entry, CHARTS.values())
    return {
        PAGE: with_sections(PAGE, {"charts": table(["chart", "shows"], rows)}),
        GALLERY: "\n".join([HEADER, *entries]),
    }


def _entry(definition: Definition) -> str:
    """Return a chart's entry in the gallery: its picture, what it shows, and how to draw it."""
    name = definition.name
    parameters = list(inspect.signature(definition.function).parameters)
    own = ", ".join(one for one in parameters if one not in Look.__annotations__)
    shell = f"rankframe plot {name} {definition.example}".rstrip()
    return (
        f"## {name}\n\n![{name}](charts/{name}.svg)\n\n{definition.summary}\n\n"
        f"- `rf.plot.{name}({own})`\n- `{shell}`\n"
    )


def draw_all(into: Path) -> None:
    """Draw every chart into a folder, by the command of its example."""
    into = into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    with demo_folder():
        for name, definition in CHARTS.items():
            options = ["-o", str(into / f"{name}.svg"), "--quiet"]
            make_app()(["plot", name, *definition.example.split(), *options], standalone_mode=False)


@contextmanager
def demo_folder() -> Iterator[Path]:
    """Change into a temporary folder with all demo files, and four dated results of a week."""
    days = {"monday": "dense", "tuesday": "hybrid", "wednesday": "bm25", "thursday": "hybrid"}
    with tempfile.TemporaryDirectory() as name, chdir(name):
        folder = Path(name)
        for file in (*SHOP.glob("*.parquet"), *MOVIES.glob("*.parquet")):
            (folder / file.name).symlink_to(file)
        (folder / "results").mkdir()
        for at, (day, run) in enumerate(days.items(), start=1):
            result = rf.evaluate(SHOP / "qrels.parquet", RUNS[run], ["ndcg@10", "mrr@10"])
            written = result.write(folder / "results" / day)
            then = datetime(2026, 3, 1 + at, 9, tzinfo=UTC).timestamp()
            os.utime(written / "summary.parquet", (then, then))
        yield folder


def screenshot(target: Path) -> None:
    """Take a screenshot of the top of the demo data's report in Chromium, and save it."""
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
