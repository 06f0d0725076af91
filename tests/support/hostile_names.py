"""Make files, ids and slices with names that contain terminal codes, line breaks or formulas."""

from __future__ import annotations

from pathlib import Path

import polars as pl

ESCAPE = "\x1b[2J\x1b]0;owned\x07"
FORGED = "x\t1.0000\nmap                   \tall\t1.0000"
FORMULA = "=HYPERLINK(1)"
IDS = (f"q{ESCAPE}", FORGED, FORMULA, "-q", "q\u2028\u202e\x9b1m", "[red]q[/red]")


def hostile_files(folder: Path) -> tuple[Path, Path, Path, Path]:
    """Write judgments, two runs and a table of queries, all with hostile names."""
    qrels = pl.DataFrame(
        [(query, doc, at % 2) for query in IDS for at, doc in enumerate(IDS)],
        schema=["query_id", "doc_id", "relevance"],
        orient="row",
    )
    run = qrels.select("query_id", "doc_id", score=pl.int_range(pl.len()).over("query_id") / 2)
    frames = {
        "qrels.parquet": qrels,
        f"={ESCAPE}a|<b>_x_.parquet": run.with_columns(run_id=pl.lit(FORGED)),
        "b\nmap\u2028.parquet": run.with_columns(-pl.col("score")),
        "queries.parquet": pl.DataFrame({"query_id": IDS, "kind": IDS}),
    }
    for name, frame in frames.items():
        frame.write_parquet(folder / name)
    first, second, third, fourth = (folder / name for name in frames)
    return first, second, third, fourth
