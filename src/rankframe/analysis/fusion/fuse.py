"""Fuse runs: open, load, stack, normalise, combine, rank; then return or write the fused run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from rankframe.analysis.fusion.fuser import RUN_SCHEMA, Fuser, check_judged, refuse_unscored
from rankframe.analysis.fusion.names import Method, MethodLike, Weights, resolve
from rankframe.analysis.fusion.options import FuseOptions, FusionPolicies
from rankframe.analysis.fusion.partitions import fuse_runs
from rankframe.analysis.fusion.recorded import about_fusion
from rankframe.analysis.fusion.runs import named_runs, open_runs, unscored
from rankframe.analysis.fusion.training import columns_needed, judge_runs
from rankframe.core.columns import RANK
from rankframe.core.errors import OutputError
from rankframe.core.messages import Option
from rankframe.core.options import Storage, takes_options
from rankframe.core.progress import Report
from rankframe.engine.memory import limit_of
from rankframe.frames.lazy_frame import lazy_frame
from rankframe.io.formats.registry import PARQUET
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, open_judgments, refuse_absent_columns
from rankframe.io.opening import open_table
from rankframe.io.output_paths import file_place, in_place, refuse_inputs
from rankframe.io.outputs import format_of, write_as


@takes_options(FuseOptions, FusionPolicies, Storage)
def fuse(
    runs: Mapping[str, Source] | Sequence[Source],
    method: MethodLike = "rrf",
    *,
    norm: str | None = None,
    weights: Weights | None = None,
    qrels: Source | None = None,
    columns: Columns | None = None,
    max_memory: str | int | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Report | None = None,
    **options: Unpack[FuseOptions],
) -> pl.LazyFrame:
    """Fuse several runs of the same queries into one: query_id, doc_id, rank, score.

    Rows are ordered by query and rank; documents with equal fused scores by doc_id, descending. The
    result is lazy: runs are opened now, and read when it is collected. A query that some runs lack
    is fused from the others.

    Args:
        runs: runs by name, each whatever `evaluate` reads; or a list of them, named by their files.
        method: a name (`rankframe fusions` lists them) with its parameters, `"rrf(k=60)"`,
            `"wsum(weights=[.3, .7])"`; or an expression over the stacked frame (`rf.stack`) for
            the score of a document, `(pl.col("normalised") / pl.col("rank")).sum()`.
        norm: how scores are made comparable, for methods that use scores: "min_max" (the default),
            "min_max_inverted", "max", "sum", "zmuv", "rank", "borda"; or "none" to leave them.
        weights: one for each run, in their order or by their names, for methods with weights.
        qrels: judgments for methods that are trained, best of other queries than the fused ones.
        columns: names in your data, as in `evaluate`.
        max_memory: the approximate memory limit, such as "2GiB" (default: what the machine has).
            Larger runs are fused in partitions of queries, with temporary files in TMPDIR; the
            result is the same, bit for bit. The fused run must fit, unless it goes to an output in
            Parquet.
        output: a file for the fused run, or its address; its ending chooses the format. It is
            written now, all or nothing, and the result reads it.
        overwrite: replace the file that is in `output`.
        progress: a function called with a `Progress` (stage, rows, total_rows, queries) on the way.

    >>> bm25 = {"q1": {"a": 12.0, "b": 9.0, "c": 3.0}}
    >>> dense = {"q1": {"c": 0.9, "b": 0.8, "d": 0.1}}
    >>> rf.fuse({"bm25": bm25, "dense": dense}, "wsum", weights=[0.4, 0.6]).collect()
    shape: (4, 4)
    ┌──────────┬────────┬──────┬──────────┐
    │ query_id ┆ doc_id ┆ rank ┆ score    │
    │ ---      ┆ ---    ┆ ---  ┆ ---      │
    │ str      ┆ str    ┆ i64  ┆ f64      │
    ╞══════════╪════════╪══════╪══════════╡
    │ q1       ┆ b      ┆ 1    ┆ 0.791667 │
    │ q1       ┆ c      ┆ 2    ┆ 0.6      │
    │ q1       ┆ a      ┆ 3    ┆ 0.4      │
    │ q1       ┆ d      ┆ 4    ┆ 0.0      │
    └──────────┴────────┴──────┴──────────┘
    """
    policies = FusionPolicies.from_options(options)
    named = named_runs(runs)
    chosen = resolve(method, list(named), norm=norm, weights=weights)
    fusion = Fusion.open(
        named, chosen, policies, qrels=qrels, columns=columns, max_memory=max_memory
    )
    if output is None:
        return lazy_frame(RUN_SCHEMA, lambda _: fusion.collect(progress))
    return fusion.write(output, overwrite=overwrite, on_progress=progress).frame


@dataclass(frozen=True)
class Written:
    """Hold a fused run that was written."""

    rows: int
    queries: int
    frame: pl.LazyFrame


@dataclass(frozen=True)
class Fusion:
    """Hold opened runs and how they are fused."""

    # as they came, to be refused as outputs
    sources: tuple[Source, ...]
    runs: Mapping[str, InputTable]
    qrels: InputTable | None
    method: Method
    policies: FusionPolicies
    max_memory: str | int | None = None

    @classmethod
    def open(
        cls,
        runs: Mapping[str, Source],
        method: Method,
        policies: FusionPolicies,
        *,
        qrels: Source | None = None,
        columns: Columns | None = None,
        max_memory: str | int | None = None,
    ) -> Fusion:
        """Open runs by name, and judgments; refuse what cannot be fused."""
        check_judged(method, judged=qrels is not None)
        limit = limit_of(max_memory)
        opened = open_runs(runs, policies, columns, limit)
        refuse_unscored(method, unscored(opened))
        judgments = None
        if qrels is not None:
            judgments = open_judgments(qrels, columns, relevance=policies.relevance, limit=limit)
        inputs = [*opened.values(), *([] if judgments is None else [judgments])]
        refuse_absent_columns(columns, *inputs)
        sources = (*runs.values(), *([] if qrels is None else [qrels]))
        return cls(sources, opened, judgments, method, policies, max_memory)

    def collect(self, on_progress: Report | None = None) -> pl.DataFrame:
        """Return the fused run."""
        with self._fused(on_progress) as fused:
            return fused if isinstance(fused, pl.DataFrame) else fused.collect(engine="streaming")

    def write(
        self,
        target: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        on_progress: Report | None = None,
    ) -> Written:
        """Write the fused run, in the format of the target's ending."""
        form = format_of(Path(target), any_table=False)
        path = file_place(target)
        refuse_inputs(target, self.sources)
        if path.exists() and not overwrite and not in_place(path):
            raise OutputError(
                f"{target} is there already. Pass ",
                Option("overwrite", value=True),
                " to replace it.",
            )
        about = about_fusion(self.method, self.policies, self.runs)
        with self._fused(on_progress) as fused:
            counts = fused.lazy().select(pl.len(), (pl.col(RANK) == 1).sum())
            rows, queries = counts.collect(engine="streaming").row(0)
            table: Any = fused  # Parquet is written by row groups, other formats at once
            if isinstance(fused, pl.LazyFrame) and form is not PARQUET:
                table = fused.collect(engine="streaming")
            write_as(form, table, Path(target), about)
            if isinstance(fused, pl.DataFrame) and in_place(path):  # it may be no file to read
                return Written(rows, queries, fused.lazy())
        written = open_table(os.fspath(target), "run").frame
        columns = (pl.col(name).cast(dtype) for name, dtype in RUN_SCHEMA.items())
        return Written(rows, queries, written.select(columns))

    def _fused(
        self, on_progress: Report | None
    ) -> AbstractContextManager[pl.DataFrame | pl.LazyFrame]:
        hits = None
        if self.qrels is not None:
            needed = columns_needed(self.method)
            judged = judge_runs(self.qrels, self.runs, self.policies, **needed)
            hits = [run.count() for run in judged]
        fuser = Fuser.train(self.method, hits, self.policies.k_max)
        return fuse_runs(self.runs, fuser, self.policies, self.max_memory, on_progress)
