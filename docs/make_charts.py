"""Draw the charts of the demo data into docs/charts, and with --screenshot the report as well.

python docs/make_charts.py [--out DIR] [--screenshot]    (the picture of the report needs Chromium)
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import rankframe as rf
from rankframe.plot.draw import Picture, draw

DOCS = Path(__file__).resolve().parent
SHOP = DOCS.parent / "data" / "shop"
RUNS = {name: SHOP / f"{name}.parquet" for name in ("bm25", "dense", "hybrid")}


def main() -> None:
    """Draw all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--screenshot", action="store_true")
    asked = parser.parse_args()
    target = asked.out / "charts"
    target.mkdir(parents=True, exist_ok=True)
    for kind, runs in {
        "roc": RUNS,
        "precision_recall": RUNS,
        "metric_at_k": RUNS,
        "cumulative_gain": {"hybrid": RUNS["hybrid"]},
        "differences": {name: RUNS[name] for name in ("bm25", "hybrid")},
        "distribution": RUNS,
        "slices": RUNS,
        "heatmap": {"hybrid": RUNS["hybrid"]},
        "discounts": {},
    }.items():
        picture = Picture(
            kind,
            SHOP / "qrels.parquet",
            runs,
            queries=SHOP / "queries.parquet",
            by=["locale", "device"],
        )
        draw(picture, target / f"{kind}.svg")
    if asked.screenshot:
        screenshot(asked.out / "report.png")


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
    main()
