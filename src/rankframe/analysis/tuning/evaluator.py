"""Evaluate fusions of runs that are in memory, without reading, ranking or matching them again.

Documents are stacked and matched with judgments once for many fusions, and scores are normalised
once for each norm. Of a fusion, only the ranks of judged documents are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.fusion.norms import NormalisedStack
from rankframe.analysis.fusion.registry import Method
from rankframe.analysis.fusion.runs import LoadedRuns, PartitionedRuns
from rankframe.analysis.fusion.stack import Stack
from rankframe.core.columns import DOC, QUERY, RELEVANCE, SCORE
from rankframe.core.options import Policies, Progress, Report
from rankframe.engine.accumulator import Floats, Terms
from rankframe.engine.judged_metrics import JudgedMetrics, check_grades, judged_plan
from rankframe.engine.lookup import read_judgments
from rankframe.frames.judgments import IndexedJudgments
from rankframe.frames.matches import RunMatches
from rankframe.io.input_table import InputTable
from rankframe.kernel.batch import Batch, as_text, hashed, taken
from rankframe.kernel.matching import match_documents
from rankframe.kernel.ranking import DocumentRanks, rank_documents
from rankframe.kernel.reading import workers
from rankframe.kernel.segments import ranges, spread
from rankframe.metrics.names import Metric

Ints = NDArray[np.int64]

# Rows of runs up to which stacked blocks are kept for further fusions.
_KEPT_ROWS = 4_000_000
# Documents are compared with judged ones, instead of sorted, in at most this many times as many
# steps as there are documents.
_COMPARED = 4
# Bytes of ranks of fusions that are evaluated together.
_RANK_BYTES = 1 << 28


@dataclass(frozen=True)
class JudgedBlock:
    """Hold the stacked documents of judged queries, and which of them are judged."""

    stack: Stack
    batch: Batch
    # the number of each query in the judgments
    numbers: Ints
    # judged documents, and their rows in the judgments
    rows: Ints
    judged: Ints

    @classmethod
    def match(cls, stack: Stack, judgments: IndexedJudgments) -> JudgedBlock:
        """Match documents with judgments; all queries are judged."""
        table = pl.DataFrame({QUERY: taken(stack.queries, stack.code), DOC: stack.docs})
        batch = Batch.from_hashed(
            hashed(table.lazy()).collect(engine="in-memory"), starts=stack.starts
        )
        numbers = judgments.find(batch)
        matches = match_documents(batch, judgments, numbers)
        assert matches is not None  # in a stack, each document is there once
        order = np.argsort(matches.batch_rows)
        return cls(stack, batch, numbers, matches.batch_rows[order], matches.index_rows[order])

    @cached_property
    def _peers(self) -> tuple[Ints, Ints] | None:
        """Return the documents of each judged one's query, and where they begin.

        None: they are so many that sorting them takes less time than comparing them.
        """
        code = self.batch.code[self.rows]
        lengths = self.batch.lengths[code]
        if not len(code) or int(lengths.sum()) > _COMPARED * self.batch.height:
            return None
        return ranges(self.batch.starts[code], lengths), np.cumsum(lengths) - lengths

    def rank(self, scores: Floats) -> DocumentRanks:
        """Rank the judged documents by these scores; equal ones by doc_id, descending."""
        if self._peers is not None:
            peers, starts = self._peers
            peer_scores, own = scores[peers], spread(scores[self.rows], starts, len(peers))
            first = np.add.reduceat(peer_scores > own, starts, dtype=np.int64) + 1
            last = np.add.reduceat(peer_scores >= own, starts, dtype=np.int64)
            if np.array_equal(first, last):
                return DocumentRanks(first, first, last)
        batch = replace(self.batch, numbers={SCORE: scores})
        return rank_documents(batch, self.rows, ties="doc_desc")


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Hold runs and judgments, to evaluate any number of fusions."""

    runs: LoadedRuns | PartitionedRuns
    judgments: IndexedJudgments
    metric: Metric
    judged: JudgedMetrics
    # of the evaluated queries, in byte order, if the metric is averaged by them
    weights: Floats | None = None
    on_progress: Report | None = None
    # a limit for the ranks of fusions that are evaluated together, if memory is short
    rank_bytes: int | None = None
    _kept: dict[int, JudgedBlock] = field(default_factory=dict)

    @classmethod
    def prepare(
        cls,
        runs: LoadedRuns | PartitionedRuns,
        qrels: InputTable,
        metric: Metric,
        policies: Policies,
        weights: Floats | None,
        on_progress: Report | None,
        rank_bytes: int | None,
    ) -> Evaluator:
        """Index the judgments, to evaluate fusions of the runs."""
        plan, judgments = (
            judged_plan([metric]),
            read_judgments(qrels, qrels.frame, policies.duplicates),
        )
        highest = check_grades(plan.metrics, pl.LazyFrame({RELEVANCE: judgments.grades}))
        judged = JudgedMetrics(plan, policies, highest)
        return cls(runs, judgments, metric, judged, weights, on_progress, rank_bytes)

    def evaluate(self, methods: Sequence[Method]) -> Iterator[Terms]:
        """Yield the values of each fusion in every query, in byte order of the queries."""
        size = 4 * self.judgments.height + 32 * len(self.judgments.starts)
        limit = min(_RANK_BYTES if self.rank_bytes is None else self.rank_bytes, _RANK_BYTES)
        together = max(limit // max(size, 1), 1)
        for first in range(0, len(methods), together):
            part = methods[first : first + together]
            stage = f"{first + len(part):,} of {len(methods):,} fusions"
            for found in self._rank(part, stage):
                yield Terms.of(self.metric, self.judged.values(found), self.weights)

    def _rank(self, methods: Sequence[Method], stage: str) -> list[RunMatches]:
        """Return the ranks of judged documents in each fusion."""
        tied = "tied_rank" in self.judged.plan.columns
        # Fused documents are numbered from 1, even if runs keep their ranks.
        policies = replace(self.judged.policies, ranks="renumbered")
        found = [RunMatches(self.judgments, policies, tied_rank=tied) for _ in methods]
        rows = 0
        with ThreadPoolExecutor(workers()) as pool:
            for runs in self.runs.partitions():
                judged = runs.queries.is_in(as_text(self.judgments.queries).implode())
                blocks = runs.blocks(np.flatnonzero(judged.to_numpy()))
                done = rows
                rank = partial(self._rank_block, runs, methods, found)
                for count in pool.map(rank, range(len(blocks)), blocks):
                    done += count
                    if self.on_progress is not None:
                        work, total = (n * len(methods) for n in (done, self.runs.rows))
                        self.on_progress(Progress(stage, work, total, 0, "documents"))
                rows += runs.rows
        return found

    def _rank_block(
        self,
        runs: LoadedRuns,
        methods: Sequence[Method],
        found: Sequence[RunMatches],
        number: int,
        queries: Ints,
    ) -> int:
        """Put the ranks of a block's judged documents into each fusion's; return its rows."""
        block = self._kept.get(number)
        if block is None:
            block = JudgedBlock.match(runs.stack(queries), self.judgments)
            if runs is self.runs and runs.rows <= _KEPT_ROWS:
                self._kept[number] = block
        stacks: dict[str | None, NormalisedStack] = {}
        for method, ranks in zip(methods, found, strict=True):
            norm = method.norm
            name = None if norm is None else norm.name
            if name not in stacks:
                stacks[name] = NormalisedStack(block.stack, norm)
            by_score = block.rank(method.scores(stacks[name]))
            ranks.put(block.batch, block.numbers, block.rows, block.judged, by_score)
        return int(runs.lengths[queries].sum())
