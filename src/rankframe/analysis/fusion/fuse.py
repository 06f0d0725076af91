"""Several runs into one: read, rank, bring together, norm and combine, rank again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from rankframe.analysis.fusion.names import Method, MethodLike, Weights, resolve
from rankframe.analysis.fusion.options import FuseOptions, FusionPolicies
from rankframe.analysis.fusion.pieces import count_pieces, fused, fused_in_pieces
from rankframe.analysis.fusion.prepared import RUN_SCHEMA, Fuser, learned, refuse_unscored
from rankframe.analysis.fusion.recorded import about_fusion
from rankframe.analysis.fusion.runs import named_runs, open_runs, unscored
from rankframe.analysis.fusion.training import check_judged, hits_for
from rankframe.core.checks import check_flag
from rankframe.core.columns import RANK
from rankframe.core.errors import OutputError
from rankframe.core.messages import Option
from rankframe.core.option import takes_options
from rankframe.core.options import Storage
from rankframe.core.progress import Report, check_progress
from rankframe.engine.memory import limit_of, limiting
from rankframe.frames.lazily import lazy_frame
from rankframe.io.formats.registry import PARQUET, Format
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, open_judgments, refuse_absent_columns
from rankframe.io.opening import open_table
from rankframe.io.output_paths import file_place, in_place, refuse_inputs
from rankframe.io.sources.writers import About, format_of, write_as
from rankframe.io.storage import reaching


@reaching
@limiting
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
    check_progress(progress)
    policies = FusionPolicies.from_options(options)
    named = named_runs(runs)
    chosen = resolve(method, list(named), norm=norm, weights=weights)
    fusion = Fusion.opened(
        named, chosen, policies, qrels=qrels, columns=columns, max_memory=max_memory
    )
    if output is None:
        return lazy_frame(RUN_SCHEMA, lambda _: fusion.collected(progress))
    written = fusion.written(output, overwrite=overwrite, progress=progress)
    return written.frame


@dataclass(frozen=True)
class Written:
    """A fused run that was written."""

    rows: int
    queries: int
    frame: pl.LazyFrame


@dataclass(frozen=True)
class Fusion:
    """Runs that were opened, and how they are fused."""

    # as given, to be known where something is written
    sources: tuple[Source, ...]
    runs: Mapping[str, InputTable]
    qrels: InputTable | None
    method: Method
    policies: FusionPolicies
    max_memory: str | int | None = None

    @classmethod
    def opened(
        cls,
        runs: Mapping[str, Source],
        method: Method,
        policies: FusionPolicies,
        *,
        qrels: Source | None = None,
        columns: Columns | None = None,
        max_memory: str | int | None = None,
    ) -> Fusion:
        """Open runs by name, and judgments, and refuse what cannot be fused."""
        check_judged(method, given=qrels is not None)
        limit = limit_of(max_memory)
        opened = open_runs(runs, policies, columns, limit)
        refuse_unscored(method, unscored(opened))
        judged = None
        if qrels is not None:
            judged = open_judgments(qrels, columns, relevance=policies.relevance, limit=limit)
        sides = [*opened.values(), *([] if judged is None else [judged])]
        refuse_absent_columns(columns, *sides)
        sources = (*runs.values(), *([] if qrels is None else [qrels]))
        return cls(sources, opened, judged, method, policies, max_memory)

    def collected(self, progress: Report | None = None) -> pl.DataFrame:
        """The fused run."""
        pieces, fuser = count_pieces(self.runs, self.max_memory), self._fuser()
        if pieces == 1:
            return fused(self.runs, fuser, self.policies, progress)
        with fused_in_pieces(self.runs, fuser, self.policies, pieces, progress) as lazy:
            return lazy.collect(engine="streaming")

    def written(
        self,
        target: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        progress: Report | None = None,
    ) -> Written:
        """Write the fused run, in the format of the target's ending."""
        check_flag("overwrite", overwrite)
        form = format_of(Path(target), any_table=False)
        path = file_place(target)
        refuse_inputs(target, self.sources)
        if path.exists() and not overwrite and not in_place(path):
            raise OutputError(
                f"{target} is there already. Pass ",
                Option("overwrite", value=True),
                " to replace it.",
            )
        pieces, fuser = count_pieces(self.runs, self.max_memory), self._fuser()
        if pieces == 1:
            frame = fused(self.runs, fuser, self.policies, progress)
            write_as(form, frame, Path(target), self._about())
            lazy = frame.lazy() if in_place(path) else _read_again(target)
            return Written(frame.height, int((frame[RANK] == 1).sum()), lazy)
        with fused_in_pieces(self.runs, fuser, self.policies, pieces, progress) as lazy:
            counts = lazy.select(pl.len(), (pl.col(RANK) == 1).sum()).collect(engine="streaming")
            rows, queries = counts.row(0)
            self._write_lazily(form, lazy, Path(target))
        return Written(rows, queries, _read_again(target))

    def _write_lazily(self, form: Format, lazy: pl.LazyFrame, target: Path) -> None:
        """A row group at a time, where the format has such."""
        frame: Any = lazy if form is PARQUET else lazy.collect(engine="streaming")
        write_as(form, frame, target, self._about())

    def _fuser(self) -> Fuser:
        hits = hits_for(self.method, self.qrels, self.runs, self.policies)
        names = tuple(self.runs)
        return Fuser(names, self.method, learned(self.method, hits), self.policies.k_max)

    def _about(self) -> About:
        """What the file says of itself."""
        return about_fusion(self.method, self.policies, self.runs)


def _read_again(target: str | os.PathLike[str]) -> pl.LazyFrame:
    """What was written, with the columns of a fused run."""
    written = open_table(os.fspath(target), "run").frame
    return written.select(pl.col(name).cast(kind) for name, kind in RUN_SCHEMA.items())
