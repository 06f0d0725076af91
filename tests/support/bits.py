"""Hash the results of one evaluation and of comparisons, over formats, row orders and pieces.

`python -m tests.support.bits FOLDER [all]`: as JSON, in a process of its own; all combinations, or
so many that each pair comes together.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import polars as pl

import rankframe as rf
from rankframe.core.options import Test
from rankframe.kernel import reading
from tests.support.pieces import MICRO, in_pieces, shop_like

METRICS: list[str | pl.Expr] = [
    "ndcg@10", "map", "gm_map", "err", "lag", MICRO,
]  # fmt: skip
TESTS = get_args(Test)
PIECES = (1, 2, 4)


def tables(seed: int = 5) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return judgments and a run whose scores have ties and need all digits of a float."""
    qrels, run = shop_like(seed=seed)
    text = pl.col("query_id", "doc_id").cast(pl.String)
    return (
        qrels.with_columns(text, pl.col("relevance").cast(pl.Int64)),
        run.with_columns(text, pl.col("score") / 7),
    )


def digest(*frames: pl.DataFrame) -> str:
    """Return a hash of the schemas and rows of frames, which differs if any bit differs."""
    content = [(frame.schema, frame.rows()) for frame in frames]
    return hashlib.sha256(repr(content).encode()).hexdigest()


def of_result(found: rf.Result) -> str:
    return digest(found.summary, found.per_query)


def of_comparison(found: rf.Comparison) -> str:
    return digest(found.table, found.systems, *found.per_query.values())


# The orders of rows.
ORDERS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "sorted": lambda rows: rows.sort("query_id", "doc_id"),
    "reversed": lambda rows: rows.sort("query_id", "doc_id", descending=True),
    "grouped": lambda rows: rows.sort(pl.col("query_id").hash(1), "doc_id"),
    "scattered": lambda rows: rows.sample(fraction=1, shuffle=True, seed=3),
}


def nested(rows: pl.DataFrame) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for query, doc, number in rows.rows():
        found.setdefault(query, {})[doc] = number
    return found


# What holds the rows: objects, and files by their endings.
SOURCES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "frame": lambda rows: rows,
    "lazy": pl.DataFrame.lazy,
    "arrow": pl.DataFrame.to_arrow,
    "dict": nested,
}
WRITERS: dict[str, Callable[[pl.DataFrame, Any], object]] = {
    ".parquet": lambda rows, file: rows.write_parquet(file, row_group_size=50),
    ".csv": pl.DataFrame.write_csv,
    ".tsv": lambda rows, file: rows.write_csv(file, separator="\t"),
    ".jsonl": pl.DataFrame.write_ndjson,
    ".trec": lambda rows, file: _as_trec(rows).write_csv(file, separator=" ", include_header=False),
    ".csv.gz": lambda rows, file: _packed(file, rows.write_csv()),
    ".jsonl.gz": lambda rows, file: _packed(file, rows.write_ndjson()),
}
FORMATS = (*SOURCES, *WRITERS)


def held(rows: pl.DataFrame, form: str, path: Path) -> Any:
    """Return rows in a form: as an object of some type, or written to a file at `path`."""
    if form in SOURCES:
        return SOURCES[form](rows)
    target = Path(f"{path}{form}")
    WRITERS[form](rows, target)
    return target


def _as_trec(rows: pl.DataFrame) -> pl.DataFrame:
    query, doc, number = rows.get_columns()
    between = pl.Series("between", ["Q0"] * rows.height)
    if number.name == "relevance":
        return pl.DataFrame([query, between, doc, number])
    # Ranks that say nothing: what counts are the scores.
    places = pl.Series("place", range(1, rows.height + 1))
    return pl.DataFrame([query, between, doc, places, number, between.alias("tag")])


def _packed(file: Path, text: str) -> None:
    file.write_bytes(gzip.compress(text.encode()))


def evaluations(folder: Path, *, every: bool = False) -> dict[str, str]:
    """Return the hash of an evaluation for each format, row order and number of pieces. Without
    `every`, only a third of the combinations is evaluated, in which every pair occurs.
    """
    qrels, run = tables()
    found = {}
    for at, form in enumerate(FORMATS):
        for nth, (order, arranged) in enumerate(ORDERS.items()):
            truth = held(arranged(qrels), form, folder / f"qrels-{order}")
            ranked = held(arranged(run), form, folder / f"run-{order}")
            for which, pieces in enumerate(PIECES):
                if not every and (at + nth + which) % len(PIECES):
                    continue
                # Every second order is read in batches, the others whole.
                small = 0 if nth % 2 else reading.SMALL_INPUT
                with patch.object(reading, "SMALL_INPUT", small):
                    one = in_pieces(truth, ranked, pieces, METRICS, order="score")
                found[f"{form}, {order}, {pieces} pieces"] = of_result(one)
    return found


def comparisons(folder: Path) -> dict[str, dict[str, str]]:
    """Return for each significance test the hashes of a comparison in some formats and orders."""
    qrels, runs = tables()[0], [tables(seed)[1] for seed in (5, 6, 7)]
    found: dict[str, dict[str, str]] = {test: {} for test in TESTS}
    for at, (form, order) in enumerate(
        (("frame", "sorted"), (".parquet", "scattered"), (".jsonl", "reversed"))
    ):
        arranged = ORDERS[order]
        truth = held(arranged(qrels), form, folder / "compared")
        systems = {
            f"run{number}": held(arranged(run), form, folder / f"compared-{number}")
            for number, run in enumerate(runs)
        }
        for nth, test in enumerate(TESTS):
            # Frames, and one of the two files.
            if at == 0 or (at + nth) % 2:
                one = rf.compare(truth, systems, ["ndcg@10", "map"], test=test, permutations=100)
                found[test][f"{form}, {order}"] = of_comparison(one)
    return found


if __name__ == "__main__":
    into = Path(sys.argv[1])
    hashes = {
        "evaluations": evaluations(into, every="all" in sys.argv),
        "comparisons": comparisons(into),
    }
    print(json.dumps({**hashes, "threads": pl.thread_pool_size()}))
