"""Measure the peak memory of every command under a limit: `python -m benchmarks.memory_commands`.

Prints a table with the peak of each command as a multiple of the limit, or the error with which the
limit was refused. Every command runs in a process of its own, whose peak the kernel counts. Fails
if a peak is larger than allowed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ALLOWED = 1.3  # times the limit
DEPTH = 50  # documents of each query


def main() -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory_commands")
    parser.add_argument("--rows", type=int, default=20_000_000, help="of each run, and of train")
    parser.add_argument("--limit", default="0.5GiB")
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=tuple(COMMANDS))
    parser.add_argument("--folder", type=Path, help="where the inputs are, or are written to")
    options = parser.parse_args()
    print(f"| command | peak, times {options.limit} | seconds |")
    print("| --- | --- | --- |", flush=True)
    held = True
    for found in measure(options.folder, options.rows, options.limit, options.commands):
        share = found["peak"] / found["limit"]
        held = held and share <= ALLOWED
        refused = f" (refused: {found['error']})" if found["error"] else ""
        print(f"| {found['name']} | {share:.2f}{refused} | {found['seconds']:.0f} |", flush=True)
    sys.exit(not held)


def measure(
    folder: Path | None, rows: int, limit: str, commands: Iterable[str] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the peak of each command, the limit, the seconds and the error, if any.

    Args:
        folder: where the inputs are, or are written to; None: a temporary folder.
        rows: the rows of each run, and of train.
        limit: the limit, as text.
        commands: the commands to run; none: all.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = folder or Path(temporary)
        if not (folder / "items.parquet").exists():
            folder.mkdir(exist_ok=True, parents=True)
            # In another process: a child's peak is never less than what its parent had.
            prepare = [sys.executable, "-m", "benchmarks.memory_commands", "--prepare", folder]
            subprocess.run([*prepare, str(rows)], check=True)
        for name in commands or COMMANDS:
            child = [sys.executable, "-m", "benchmarks.memory_commands", "--child", folder, name]
            done = subprocess.run([*child, limit], stdout=subprocess.PIPE, text=True, check=True)
            yield {"name": name, **json.loads(done.stdout)}


def prepare(folder: Path, rows: int) -> None:
    """Write two runs, their shuffled rows, judgments, train and items as Parquet files."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    documents = max(rows // 20, 1_000)

    def ids(prefix: str, numbers: Any) -> pl.Expr:
        return pl.lit(prefix) + pl.Series(numbers).cast(pl.String)

    # A permutation that never repeats a document within a query.
    number = np.arange(rows)
    query, place = number // DEPTH, number % DEPTH
    for name, step in (("a", 7_919), ("b", 7_927)):
        run = pl.select(
            query_id=ids("user-", query),
            doc_id=ids("item-", (query * 31 + place * step) % documents),
            score=pl.Series(-(place.astype(np.float32)) - rng.random(rows, np.float32)),
        )
        run.write_parquet(folder / f"{name}.parquet", row_group_size=1 << 17)
        if name == "a":
            run.gather_every(10).select("query_id", "doc_id", relevance=pl.lit(1.0)).write_parquet(
                folder / "qrels.parquet", row_group_size=1 << 17
            )
            run.sample(fraction=1, shuffle=True, seed=1).write_parquet(
                folder / "shuffled.parquet", row_group_size=1 << 17
            )
    # Popular items have many interactions; most have few.
    train = pl.select(
        query_id=ids("user-", rng.integers(0, rows // DEPTH, rows)),
        doc_id=ids("item-", (documents * rng.random(rows) ** 3).astype(np.int64)),
    )
    train.write_parquet(folder / "train.parquet", row_group_size=1 << 17)
    genres = pl.Series([f"genre {number}" for number in range(40)])
    pl.select(
        doc_id=ids("item-", np.arange(documents)),
        genre=genres.gather(rng.integers(0, 40, documents)),
    ).write_parquet(folder / "items.parquet", row_group_size=1 << 17)


def _evaluate(folder: Path, metrics: list[str], **options: Any) -> Callable[[], object]:
    import rankframe as rf

    judgments = None if options.pop("unjudged", False) else folder / "qrels.parquet"
    run = folder / options.pop("run", "a.parquet")
    with_paths = {
        name: folder / value if str(value).endswith(".parquet") else value
        for name, value in options.items()
    }
    return lambda: rf.evaluate(judgments, run, metrics, **with_paths)


def _call(function: str, *arguments: Any, **options: Any) -> Callable[[], object]:
    import rankframe as rf

    return lambda: getattr(rf, function)(*arguments, **options)


def _runs(folder: Path) -> dict[str, Path]:
    return {"a": folder / "a.parquet", "b": folder / "b.parquet"}


RANKED, SHOWN = ["ndcg@10", "map", "recall@50"], ["novelty@10", "coverage@10"]
# Each returns a function that runs the command with a limit.
COMMANDS: Mapping[str, Callable[[Path, Path, str], Callable[[], object]]] = {
    "evaluate": lambda d, o, m: _evaluate(d, RANKED, max_memory=m, output=o),
    "evaluate, shuffled": lambda d, o, m: _evaluate(
        d, RANKED, run="shuffled.parquet", max_memory=m, output=o
    ),
    "compare": lambda d, _, m: _call(
        "compare", d / "qrels.parquet", _runs(d), RANKED, max_memory=m
    ),
    "agree": lambda d, o, m: _call("agree", *_runs(d).values(), max_memory=m, output=o),
    "fuse": lambda d, o, m: _call(
        "fuse", _runs(d), "rrf", max_memory=m, output=o.with_suffix(".parquet")
    ),
    "tune": lambda d, _, m: _call(
        "tune", d / "qrels.parquet", _runs(d), "wsum", metric="ndcg@10", max_memory=m
    ),
    "novelty, coverage": lambda d, o, m: _evaluate(
        d, SHOWN, unjudged=True, train="train.parquet", max_memory=m, output=o
    ),
    "popularity": lambda d, o, m: _evaluate(
        d, ["popularity@10"], unjudged=True, train="train.parquet", max_memory=m, output=o
    ),
    "exclude_seen": lambda d, o, m: _evaluate(
        d, RANKED, train="train.parquet", exclude_seen=True, max_memory=m, output=o
    ),
    "items": lambda d, o, m: _evaluate(
        d, ["coverage@10", "diversity(by=genre)@10"], unjudged=True, items="items.parquet",
        max_memory=m, output=o,
    ),
}  # fmt: skip


def run_command(folder: Path, name: str, limit: str) -> None:
    """Run a command, and print the peak of this process, the limit and the seconds as JSON."""
    from rankframe.core.errors import RankframeError
    from rankframe.io.memory import parse_size

    warnings.simplefilter("ignore")
    error, start = "", time.perf_counter()
    with tempfile.TemporaryDirectory() as output:
        command = COMMANDS[name](folder, Path(output) / "result", limit)
        try:
            command()
        except RankframeError as refusal:
            error = str(refusal)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None
    found = {
        "peak": int(peak[1]) * 1024,
        "limit": parse_size(limit),
        "seconds": time.perf_counter() - start,
        "error": error,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--prepare"]:
        prepare(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--child"]:
        run_command(Path(sys.argv[2]), sys.argv[3], sys.argv[4])
    else:
        main()
