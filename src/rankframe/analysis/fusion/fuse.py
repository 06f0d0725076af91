"""Fuse runs: open, load, stack, normalise, combine, rank; then return or write the fused run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from rankframe.analysis.fusion.names import MethodLike, Weights, define_method, norm_named, resolve
from rankframe.analysis.fusion.options import FuseOptions, FusionPolicies, StackOptions
from rankframe.analysis.fusion.registry import METHODS, Method
from rankframe.analysis.fusion.runs import (
    LoadedRuns,
    PartitionedRuns,
    load_runs,
    named_runs,
    open_runs,
    unscored,
)
from rankframe.analysis.fusion.training import judge_runs
from rankframe.core.arrays import Ints
from rankframe.core.columns import DOC, QUERY, RANK, SCORE, STACKED_FRAME
from rankframe.core.errors import DuplicateError, in_vocabulary
from rankframe.core.options import Progress, Report, Storage, takes_options
from rankframe.core.records import record
from rankframe.core.threads import map_blocks
from rankframe.engine.partitions import MERGED_ROWS, merge_sorted_files
from rankframe.frames.column_frame import lazy_frame
from rankframe.io.formats.registry import PARQUET
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, describe, open_judgments, refuse_absent_columns
from rankframe.io.memory import limit_of
from rankframe.io.opening import open_table
from rankframe.io.output_paths import in_place
from rankframe.io.outputs import check_target, read_about, write_as
from rankframe.io.scratch import room_for

# The columns of a fused run.
RUN_SCHEMA = {name: STACKED_FRAME.columns[name].type for name in (QUERY, DOC, RANK, SCORE)}


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

    Rows are ordered by query and rank; documents with equal fused scores are ordered by doc_id,
    descending. The result is lazy: runs are opened now, and read when the result is collected. A
    query that some runs lack is fused from the other runs.

    Args:
        runs: runs by name, in any form that `evaluate` reads; or a list of runs, which get the
            names of their files.
        method: a name (`rankframe fusions` lists them) with its parameters, `"rrf(k=60)"`,
            `"wsum(weights=[.3, .7])"`; or an expression over the stacked frame (`rf.stack`) for
            the score of a document, `(pl.col("normalised") / pl.col("rank")).sum()`.
        norm: the norm that makes scores comparable, for methods that use scores: "min_max" (the
            default), "min_max_inverted", "max", "sum", "zmuv", "rank", "borda"; or "none" to use
            raw scores.
        weights: for methods with weights, one weight per run, in order of the runs or by name.
        qrels: judgments, for trained methods; preferably of other queries than the fused queries.
        columns: names in your data, as in `evaluate`.
        max_memory: the approximate memory limit, such as "2GiB" (default: what the machine has).
            Larger runs are fused in partitions of queries, with temporary files in TMPDIR; the
            result is the same, bit for bit. The fused run must fit, unless it goes to an output in
            Parquet.
        output: a file or an address for the fused run; the ending chooses the format. The file is
            written at once and atomically, and the returned frame reads it.
        overwrite: replace an existing file.
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
    fusion = Fusion(named, chosen, policies, qrels=qrels, columns=columns, max_memory=max_memory)
    if output is None:
        return lazy_frame(RUN_SCHEMA, lambda _: fusion.collect(progress))
    return fusion.write(output, overwrite=overwrite, on_progress=progress)


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
    definition = define_method(pl.col("normalised"))
    by = norm_named(norm)
    method = Method(f"the column normalised, {norm}", by, definition)
    opened = open_runs(named_runs(runs), policies, columns)
    refuse_absent_columns(columns, *opened.values())
    places = {name: place for place, name in enumerate(opened)}

    def make(needed: set[str]) -> pl.DataFrame:
        if "normalised" in needed:
            method.refuse_unscored(unscored(opened))
        loaded, columns = LoadedRuns(opened, policies), sorted({QUERY, RANK, "run", *needed})

        def frame(block: Ints) -> pl.DataFrame:
            rows = loaded.stack(block).with_norm(method.norm).frame(columns)
            rows = rows.drop("_document")
            return rows.sort(QUERY, pl.col("run").replace_strict(places), RANK)

        return pl.concat(map_blocks(frame, loaded.blocks()))

    return lazy_frame(STACKED_FRAME.schema, make)


class Fusion:
    """Open the runs and judgments of a fusion; `collect` and `write` fuse the runs."""

    def __init__(
        self,
        runs: Mapping[str, Source],
        method: Method,
        policies: FusionPolicies,
        *,
        qrels: Source | None = None,
        columns: Columns | None = None,
        max_memory: str | int | None = None,
    ) -> None:
        self.method, self.policies, self.max_memory = method, policies, max_memory
        method.check_judged(judged=qrels is not None)
        limit = limit_of(max_memory)
        self.runs = open_runs(runs, policies, columns, limit)
        method.refuse_unscored(unscored(self.runs))
        self.sources, inputs = [*runs.values()], [*self.runs.values()]
        self.qrels: InputTable | None = None
        if qrels is not None:
            self.qrels = open_judgments(qrels, columns, relevance=policies.relevance, limit=limit)
            self.sources.append(qrels)
            inputs.append(self.qrels)
        refuse_absent_columns(columns, *inputs)

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
    ) -> pl.LazyFrame:
        """Write the fused run, in the format of the target's ending; return what was written."""
        form, path = check_target(target, self.sources, overwrite=overwrite)
        about = _about_fusion(self.method, self.policies, self.runs)
        with self._fused(on_progress) as fused:
            table: Any = fused  # Parquet is written by row groups, other formats at once
            if isinstance(fused, pl.LazyFrame) and form is not PARQUET:
                table = fused.collect(engine="streaming")
            write_as(form, table, Path(target), about)
            if isinstance(fused, pl.DataFrame) and in_place(path):  # it may be no file to read
                return fused.lazy()
        written = open_table(os.fspath(target), "run").frame
        return written.select(pl.col(name).cast(dtype) for name, dtype in RUN_SCHEMA.items())

    @contextmanager
    def _fused(self, on_progress: Report | None) -> Iterator[pl.DataFrame | pl.LazyFrame]:
        """Yield the fused run: a frame, or a lazy frame over temporary files if memory is short."""
        method = self.method
        if self.qrels is not None:
            judged = judge_runs(self.qrels, self.runs, self.policies, method.definition.name)
            method = method.train([run.count() for run in judged])
        if on_progress is not None:
            on_progress(Progress("reading", 0, 0, 0))
        first = next(iter(self.runs.values()))
        with (
            in_vocabulary(first.vocabulary),
            load_runs(self.runs, self.policies, self.max_memory) as loaded,
        ):
            partitions = fuse_partitions(loaded, method, on_progress)
            if isinstance(loaded, LoadedRuns):
                yield next(partitions)
                return
            files: list[Path] = []
            for fused in partitions:
                files.append(loaded.folder / f"fused-{len(files):07}.parquet")
                with room_for(loaded.folder):
                    fused.write_parquet(files[-1], compression="lz4", row_group_size=MERGED_ROWS)
                del fused
            yield merge_sorted_files(files, ordered=False)


def fuse_partitions(
    runs: LoadedRuns | PartitionedRuns, method: Method, on_progress: Report | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the fused run of each partition."""
    rows, queries, k_max = 0, 0, runs.policies.k_max

    def fuse_blocks(loaded: LoadedRuns) -> pl.DataFrame:
        nonlocal rows, queries
        blocks, fused = loaded.blocks(), [pl.DataFrame(schema=RUN_SCHEMA)]
        fusing = map_blocks(lambda block: method.fuse(loaded.stack(block), k_max), blocks)
        for block, part in zip(blocks, fusing, strict=True):
            fused.append(part)
            rows += int(loaded.lengths[block].sum())
            queries += len(block)
            if on_progress is not None:
                on_progress(Progress("fusing", rows, runs.rows, queries))
        return pl.concat(fused)

    for loaded in runs.partitions():
        try:
            fused = fuse_blocks(loaded)
        except DuplicateError as error:
            raise runs.find_duplicates(error) from None
        del loaded  # free it before the next partition is read
        yield fused
        del fused
    if on_progress is not None and rows < runs.rows:  # rows beyond the depth were not counted
        on_progress(Progress("fusing", runs.rows, runs.rows, queries))


def _about_fusion(
    method: Method, policies: FusionPolicies, runs: Mapping[str, InputTable]
) -> dict[str, Any]:
    """Return the metadata for the file of a fused run."""
    definition, own = method.definition, method.definition.expression is not None
    return {
        "frame": "run",
        "fusion": {
            "name": None if own else definition.name,
            "method": definition.formula if own else method.label,
            "norm": None if method.norm is None else method.norm.name,
            "parameters": dict(method.params),
            "depth": policies.depth,
        },
        "policies": policies.described(),
        "inputs": {name: {"name": run.name} for name, run in runs.items()},
    }


@record
class Recorded:
    """Hold how `rf.fuse` made a run: its method, norm, weights, depth and source runs."""

    # the name of the registered method, and the method as it was written, with parameters
    name: str
    label: str
    norm: str | None
    weights: tuple[float, ...] | None
    depth: int | None
    # the source of each fused run, by name
    runs: Mapping[str, str]

    def parts(self, systems: Mapping[str, Source]) -> tuple[str, ...] | None:
        """Return the systems that were fused, in the order of weights; None if one is missing.

        A system matches a fused run if it has the same name, or was read from the same source.
        """
        by_place: dict[str, str] = {}
        for system, source in systems.items():
            if isinstance(source, str | os.PathLike):
                by_place.setdefault(describe(source, "run"), system)
        fused = [
            name if name in systems else by_place.get(place) for name, place in self.runs.items()
        ]
        parts = tuple(name for name in fused if name is not None)
        return parts if len(set(parts)) == len(self.runs) else None


def recorded(source: Source) -> Recorded | None:
    """Return how the run in a file was fused; None if `fuse` did not write it."""
    if not isinstance(source, str | os.PathLike):
        return None
    try:
        path = Path(os.path.expanduser(os.fspath(source)))  # noqa: PTH111 (as where it is opened)
        about = read_about(path) if path.is_file() else {}
    except (OSError, ValueError):  # no path at all
        return None
    fusion, inputs = about.get("fusion"), about.get("inputs")
    if not (isinstance(fusion, dict) and isinstance(inputs, dict)):
        return None
    if fusion.get("name") not in METHODS:
        return None
    weights = fusion.get("parameters", {}).get("weights")
    return Recorded(
        fusion["name"],
        str(fusion.get("method")),
        fusion.get("norm"),
        None if weights is None else tuple(weights),
        fusion.get("depth"),
        {name: str(run.get("name")) for name, run in inputs.items() if isinstance(run, dict)},
    )
