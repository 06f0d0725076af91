"""Make the stacked frame for users: lazy, with the columns that a query uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.fusion.expression import define_method
from rankframe.analysis.fusion.fuser import refuse_unscored
from rankframe.analysis.fusion.names import Method, norm_named
from rankframe.analysis.fusion.normalised import NormalisedStack
from rankframe.analysis.fusion.options import FusionPolicies, StackOptions
from rankframe.analysis.fusion.runs import LoadedRuns, named_runs, open_runs, unscored
from rankframe.core.columns import QUERY, RANK, STACKED_FRAME
from rankframe.core.options import Storage, takes_options
from rankframe.frames.lazy_frame import lazy_frame
from rankframe.io.inputs import Columns, Source, refuse_absent_columns
from rankframe.kernel.reading import workers


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
    places = {name: place for place, name in enumerate(opened)}
    own = Method(f"the column normalised, {norm}", by, define_method(pl.col("normalised")))

    def make(needed: set[str]) -> pl.DataFrame:
        if "normalised" in needed:
            refuse_unscored(own, unscored(opened))
        loaded, columns = LoadedRuns.read(opened, policies), sorted({QUERY, RANK, "run", *needed})

        def frame(block: NDArray[np.int64]) -> pl.DataFrame:
            rows = NormalisedStack(loaded.stack(block), by).frame(columns).drop("_document")
            return rows.sort(QUERY, pl.col("run").replace_strict(places), RANK)

        with ThreadPoolExecutor(workers()) as pool:
            return pl.concat(pool.map(frame, loaded.blocks()))

    return lazy_frame(STACKED_FRAME.schema, make)
