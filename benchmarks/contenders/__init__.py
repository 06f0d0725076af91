"""Ways to get the same five numbers from the same two Parquet files.

A way is written "module:name". A module imports its library when it is imported itself and has
`WAYS`: by name, functions from the paths of qrels and run to the means by metric. A contender with
several ways takes the one that is fastest on a layout.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

METRICS = ("ndcg@10", "map", "mrr", "precision@10", "recall@10")
Values = dict[str, float]
Way = Callable[[Path, Path], Values]

OURS = "rankframe"
CONTENDERS: dict[str, tuple[str, ...]] = {
    "limit": ("with_polars:join", "with_duckdb:join"),
    OURS: ("with_rankframe:default",),
    "rankframe, ci=None": ("with_rankframe:no intervals",),
    "DuckDB": (
        "with_duckdb:window", "with_duckdb:qualify", "with_duckdb:numbered", "with_duckdb:pruned",
        "with_duckdb:counted", "with_duckdb:numbered_counted", "with_duckdb:numbered_lists",
    ),
    "naive polars": ("with_polars:window", "with_polars:sort", "with_polars:count"),
}  # fmt: skip
# Libraries that are fed by loops.
FED: dict[str, tuple[str, ...]] = {
    "pytrec_eval": ("with_pytrec_eval:dicts",),
    "ir_measures": ("with_ir_measures:frames",),
    "ranx": ("with_ranx:frames",),
}


def load(way: str) -> Way:
    """Import what a way needs."""
    module, _, name = way.partition(":")
    return import_module(f"benchmarks.contenders.{module}").WAYS[name]
