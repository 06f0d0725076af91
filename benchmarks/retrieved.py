"""Measure accuracy and retrieved documents, in one call: `python -m benchmarks.retrieved FOLDER`.

1M users, each shown 20 of 200k items, with 5M rows of train and items of one to three of 20 genres.
Items are drawn with a skew, as people choose. Each set of metrics is evaluated in a process of its
own, from Parquet files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ACCURACY = ["ndcg@10", "recall@20", "mrr@10"]
LISTS = [
    "novelty@10", "popularity@10", "long_tail@10", "repeated@20", "diversity(by=genre)@10",
    "calibration(by=genre)@10", "exposure_share(by=genre, value=g1)@10", "serendipity@10",
    "epc@10", "efd@10",
]  # fmt: skip
DOCUMENTS = ["coverage@10", "gini@10", "entropy@10", "personalisation@10"]
SETS = {
    "accuracy": ACCURACY,
    "five": ["coverage@10", "novelty@10", "popularity@10", "serendipity@10", "personalisation@10"],
    "all but two": [*ACCURACY, *LISTS, *DOCUMENTS],
    "all": [*ACCURACY, *LISTS, *DOCUMENTS, "exposure_gap(by=genre)@10", "unexpectedness@10"],
}
_ITEMS, _SHOWN, _TRAINED, _GENRES = 200_000, 20, 5, 20
_SKEW = 0.8


def make(folder: Path, users: int) -> Path:
    """Write the inputs of `users` users, unless they exist; return their folder."""
    made = folder / f"shown-{users}"
    if (made / "items.parquet").exists():
        return made
    made.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(0)
    weights = 1 / np.arange(1, _ITEMS + 1) ** _SKEW
    weights /= weights.sum()
    items = draw.permutation(_ITEMS)

    def pairs(of: np.ndarray) -> pl.DataFrame:
        chosen = items[draw.choice(_ITEMS, len(of), p=weights)]
        ids = {"query_id": pl.Series(of), "doc_id": pl.Series(chosen)}
        return pl.DataFrame(ids).select(
            query_id=pl.format("u{}", "query_id"), doc_id=pl.format("item-{}", "doc_id")
        )

    def run() -> pl.DataFrame:
        lists = pairs(np.repeat(draw.permutation(users), _SHOWN)).unique(maintain_order=True)
        return lists.with_columns(score=pl.Series(draw.random(lists.height)))

    shown = run()
    liked = pl.concat(
        [
            shown.sample(fraction=0.05, seed=1).select("query_id", "doc_id"),
            pairs(draw.integers(0, users, users)),
        ]
    ).unique()
    genres = draw.integers(0, _GENRES, (_ITEMS, 3))
    count = draw.integers(1, 4, _ITEMS)
    frames = {
        "run": shown,
        "reference": run(),
        "qrels": liked.with_columns(relevance=1),
        "train": pairs(draw.integers(0, users, _TRAINED * users)),
        "items": pl.DataFrame(
            {"doc_id": np.arange(_ITEMS), "genre": genres, "count": count}
        ).select(
            pl.format("item-{}", "doc_id").alias("doc_id"),
            pl.col("genre")
            .arr.to_list()
            .list.head("count")
            .list.unique()
            .list.eval(pl.format("g{}", pl.element())),
        ),
    }
    for name, frame in frames.items():
        frame.write_parquet(made / f"{name}.parquet")
    return made


def evaluated(folder: Path, asked: str, max_memory: str | None) -> dict[str, Any]:
    """Evaluate a set of metrics; return seconds, peak memory and values."""
    import rankframe as rf

    metrics = SETS[asked]
    beside: dict[str, Any] = {"reference": folder / "base.parquet"} if asked == "all" else {}
    if asked != "accuracy":
        beside |= {name: folder / f"{name}.parquet" for name in ("train", "items")}
    wall, cpu = time.perf_counter(), time.process_time()
    found = rf.evaluate(
        folder / "qrels.parquet", folder / "run.parquet", metrics, max_memory=max_memory, **beside
    )
    taken = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    # Of this process alone: what the kernel counts for `getrusage` is also of whoever started it.
    status = Path("/proc/self/status").read_text("utf-8")
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
    values = dict(found.summary.select("metric", "value").iter_rows())
    return {"asked": asked, "metrics": len(metrics), **taken, "peak": peak, "values": values}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for inputs")
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--set", choices=list(SETS), action="append", help="else all")
    parser.add_argument("--max-memory")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--output", type=Path, help="a JSON file for all numbers")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    made = make(given.folder, given.users)
    if given.here:
        print(json.dumps(evaluated(made, given.set[0], given.max_memory)))
        return
    found = []
    for _ in range(given.repeat):
        for asked in given.set or list(SETS):
            limit = ["--max-memory", given.max_memory] if given.max_memory else []
            command = [
                sys.executable,
                "-m",
                "benchmarks.retrieved",
                os.fspath(given.folder),
                "--here",
            ]
            command += ["--users", str(given.users), "--set", asked, *limit]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            one = json.loads(said) | {"users": given.users, "max_memory": given.max_memory}
            print({key: one[key] for key in one if key != "values"}, file=sys.stderr, flush=True)
            found.append(one)
    if given.output is not None:
        given.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
