"""The stacked frame for users: lazy, and no more of it than is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Unpack

import polars as pl

from rankframe.analysis.fusion.names import Method, norm_named
from rankframe.analysis.fusion.options import FusionPolicies, StackOptions
from rankframe.analysis.fusion.prepared import normalised, refuse_unscored
from rankframe.analysis.fusion.runs import HeldRuns, named_runs, open_runs, unscored
from rankframe.analysis.fusion.stack import Stack
from rankframe.core.columns import QUERY, RANK, STACKED_FRAME
from rankframe.core.option import takes_options
from rankframe.core.options import Storage
from rankframe.engine.contiguous import workers
from rankframe.frames.lazily import lazy_frame
from rankframe.io.inputs import Columns, Source, refuse_absent_columns
from rankframe.io.storage import reaching


@reaching
@takes_options(StackOptions, FusionPolicies, Storage)
def stack(
    runs: Mapping[str, Source] | Sequence[Source],
    *,
    norm: str = "min_max",
    columns: Columns | None = None,
    **options: Unpack[StackOptions],
) -> pl.LazyFrame:
    """Return the stacked frame of several runs, for your own methods: one row per run and document.

    The frame is lazy: inputs are read when it is collected, and only the columns that the query
    uses are computed. A method of fusion is an expression over it, grouped by query and document,
    which `fuse` takes.

    Args:
        runs: the runs, by name or as a list, as in `fuse`.
        norm: the norm of the column `normalised`, as in `fuse`.
        columns: names in your data, as in `evaluate`.

    >>> bm25, dense = {"q": {"a": 3.0, "b": 1.0}}, {"q": {"b": 0.9}}
    >>> columns = ["run", "doc_id", "rank", "normalised", "runs_with"]
    >>> rf.stack({"bm25": bm25, "dense": dense}).select(columns).collect()
    shape: (3, 5)
    ┌───────┬────────┬──────┬────────────┬───────────┐
    │ run   ┆ doc_id ┆ rank ┆ normalised ┆ runs_with │
    │ ---   ┆ ---    ┆ ---  ┆ ---        ┆ ---       │
    │ str   ┆ str    ┆ i64  ┆ f64        ┆ i64       │
    ╞═══════╪════════╪══════╪════════════╪═══════════╡
    │ bm25  ┆ a      ┆ 1    ┆ 1.0        ┆ 1         │
    │ bm25  ┆ b      ┆ 2    ┆ 0.0        ┆ 2         │
    │ dense ┆ b      ┆ 1    ┆ 0.0        ┆ 2         │
    └───────┴────────┴──────┴────────────┴───────────┘
    """
    policies = FusionPolicies.from_options(options)
    by = norm_named(norm)
    opened = open_runs(named_runs(runs), policies, columns)
    refuse_absent_columns(columns, *opened.values())
    names = tuple(opened)
    asked = Method(f"the column normalised, {norm}", by, expression=pl.col("normalised"))

    def make(needed: set[str]) -> pl.DataFrame:
        if "normalised" in needed:
            refuse_unscored(asked, unscored(opened))
        held = HeldRuns.of(opened, policies)

        def part(stack: Stack) -> pl.DataFrame:
            normed = normalised(stack, by) if "normalised" in needed else None
            frame = stack.frame(sorted({QUERY, RANK, "run", *needed}), names, normed)
            place = pl.col("run").replace_strict(dict(zip(names, range(len(names)), strict=True)))
            return frame.drop("_document").sort(QUERY, place, RANK)

        with ThreadPoolExecutor(workers()) as pool:
            parts = pool.map(lambda block: part(held.stack(block)), held.blocks())
            return pl.concat(parts)

    return lazy_frame(STACKED_FRAME.schema, make)
