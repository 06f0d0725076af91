"""Runs and judgments in memory: any fusion of the runs is evaluated on them without reading again.

What does not depend on the fusion is done once for many of them: documents are brought together and
matched with judgments block by block, and scores are normed once for each norm. Of a fusion, only
the ranks of judged documents are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.fusion.fuser import Fuser
from rankframe.analysis.fusion.normalised import NormalisedStack
from rankframe.analysis.fusion.partitions import PartitionedRuns
from rankframe.analysis.fusion.runs import LoadedRuns
from rankframe.analysis.fusion.stack import Stack
from rankframe.core.columns import DOC, QUERY, SCORE
from rankframe.core.progress import Progress, Report
from rankframe.engine.contiguous import workers
from rankframe.engine.judged_metrics import JudgedMetrics
from rankframe.engine.terms import Floats, Terms
from rankframe.frames.found import Found
from rankframe.kernel.batch import Batch, as_text, hashed, taken
from rankframe.kernel.judgments import IndexedJudgments
from rankframe.kernel.matching import match_documents
from rankframe.kernel.ranking import DocumentRanks, rank_documents
from rankframe.kernel.segments import ranges, spread
from rankframe.metrics.names import Metric

Ints = NDArray[np.int64]

# Rows of runs up to which blocks stay in memory, for fusions that are not known yet.
_KEPT_ROWS = 4_000_000
# Documents are compared with judged ones in so many times as many steps as there are documents.
_COMPARED = 4
# Bytes of what is found of fusions that are evaluated together.
_FOUND_BYTES = 1 << 28


@dataclass(frozen=True)
class Block:
    """The documents of some judged queries, and which of them are judged."""

    stack: Stack
    chunk: Batch
    # the judgments' number of each query
    numbers: Ints
    # documents that are judged, and which of the judgments these are
    rows: Ints
    judged: Ints

    @classmethod
    def of(cls, stack: Stack, judgments: IndexedJudgments) -> Block:
        """Look the documents up in the judgments; all queries are judged."""
        table = pl.DataFrame({QUERY: taken(stack.queries, stack.code), DOC: stack.docs})
        chunk = Batch.from_hashed(hashed(table.lazy()).collect(engine="in-memory"), stack.starts)
        numbers = judgments.find(chunk)
        matches = match_documents(chunk, judgments, numbers)
        assert matches is not None  # in a stack, each document is there once
        rows, judged = matches.batch_rows, matches.index_rows
        order = np.argsort(rows)
        return cls(stack, chunk, numbers, rows[order], judged[order])

    @cached_property
    def _peers(self) -> tuple[Ints, Ints] | None:
        """All documents of the query of each judged one, and where those of each begin; None where
        they are so many that to sort them takes less than to compare them.
        """
        code = self.chunk.code[self.rows]
        lengths = self.chunk.lengths[code]
        if not len(code) or int(lengths.sum()) > _COMPARED * self.chunk.height:
            return None
        return ranges(self.chunk.starts[code], lengths), np.cumsum(lengths) - lengths

    def places(self, scores: Floats) -> DocumentRanks:
        """Where the judged documents stand by such scores; equal ones by doc_id, descending."""
        if self._peers is not None:
            peers, starts = self._peers
            theirs, ours = scores[peers], spread(scores[self.rows], starts, len(peers))
            first = np.add.reduceat(theirs > ours, starts, dtype=np.int64) + 1
            last = np.add.reduceat(theirs >= ours, starts, dtype=np.int64)
            if np.array_equal(first, last):
                return DocumentRanks(first, first, last)
        return rank_documents(
            replace(self.chunk, numbers={SCORE: scores}), self.rows, ties="doc_desc"
        )


@dataclass(frozen=True, eq=False)
class Bench:
    """What fusions are evaluated on."""

    runs: LoadedRuns | PartitionedRuns
    judgments: IndexedJudgments
    metric: Metric
    judged: JudgedMetrics
    # of the evaluated queries, in byte order, where the metric is averaged by them
    weights: Floats | None = None
    report: Report | None = None
    # bytes of what is found of fusions that are evaluated together, where memory is short
    found_bytes: int | None = None
    _kept: dict[int, Block] = field(default_factory=dict)

    def terms(self, fusers: Sequence[Fuser]) -> Iterator[Terms]:
        """What each fusion is worth in every query, in byte order of these."""
        size = 4 * self.judgments.height + 32 * len(self.judgments.starts)
        most = _FOUND_BYTES if self.found_bytes is None else min(self.found_bytes, _FOUND_BYTES)
        at_once = max(most // max(size, 1), 1)
        done = 0
        for first in range(0, len(fusers), at_once):
            some = fusers[first : first + at_once]
            for found in self._found(some, done, len(fusers)):
                computed = self.judged.values(found)
                yield Terms.of(self.metric, computed, self.weights)
            done += len(some)

    def _found(self, fusers: Sequence[Fuser], done: int, total: int) -> list[Found]:
        tied = "tied_rank" in self.judged.plan.columns
        # Fused documents are numbered from 1, whatever was kept of the ranks in runs.
        policies = replace(self.judged.policies, ranks="renumbered")
        every = [Found(self.judgments, policies, tied_rank=tied) for _ in fusers]
        total_work, before = self.runs.rows * len(fusers), 0
        with ThreadPoolExecutor(workers()) as pool:
            for runs in self.runs.partitions():
                blocks, work = self._blocks(runs), before
                jobs = pool.map(
                    lambda at, runs=runs, blocks=blocks: self._fill(
                        runs, at, blocks[at], fusers, every
                    ),
                    range(len(blocks)),
                )
                for seen in jobs:
                    work += seen * len(fusers)
                    if self.report is not None:
                        stage = f"{done + len(fusers):,} of {total:,} fusions"
                        self.report(Progress(stage, work, total_work, 0, "documents"))
                before += runs.rows * len(fusers)
        return every

    def _blocks(self, runs: LoadedRuns) -> list[Ints]:
        """The judged queries of some runs, in stretches that are worked on together."""
        known = runs.queries.is_in(as_text(self.judgments.queries).implode())
        return runs.blocks(np.flatnonzero(known.to_numpy()))

    def _block(self, runs: LoadedRuns, at: int, numbers: Ints) -> Block:
        found = self._kept.get(at)
        if found is None:
            found = Block.of(runs.stack(numbers), self.judgments)
            if runs is self.runs and runs.rows <= _KEPT_ROWS:
                self._kept[at] = found
        return found

    def _fill(
        self,
        runs: LoadedRuns,
        at: int,
        numbers: Ints,
        fusers: Sequence[Fuser],
        every: Sequence[Found],
    ) -> int:
        """Put the ranks of a block's judged documents where they belong, for each fusion."""
        block = self._block(runs, at, numbers)
        normed: dict[str | None, NormalisedStack] = {}
        for fuser, found in zip(fusers, every, strict=True):
            norm = fuser.method.norm
            key = None if norm is None else norm.name
            if key not in normed:
                normed[key] = NormalisedStack(block.stack, norm)
            where = block.places(fuser.scores(normed[key]))
            found.put(block.chunk, block.numbers, block.rows, block.judged, where)
        return int(runs.lengths[numbers].sum())
