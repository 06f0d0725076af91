"""Evaluate fusions of runs that are in memory, without reading, ranking or matching them again.

Documents are stacked and matched with judgments once for many fusions, and scores are normalised
once for each norm. Of a fusion, only the ranks of judged documents are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from rankframe.analysis.fusion.registry import Method
from rankframe.analysis.fusion.runs import LoadedRuns, PartitionedRuns
from rankframe.analysis.fusion.stack import Stack
from rankframe.core.arrays import Floats, Ints
from rankframe.core.columns import DOC, QUERY, SCORE
from rankframe.core.options import Policies, Progress, Report
from rankframe.core.threads import workers
from rankframe.engine.accumulator import Terms
from rankframe.engine.judged_metrics import JudgedMetrics, check_grades_in_memory, judged_plan
from rankframe.engine.lookup import read_judgments
from rankframe.frames.judgments import IndexedJudgments
from rankframe.frames.matches import RunMatches
from rankframe.io.input_table import InputTable
from rankframe.kernel.batch import Batch, as_text, hashed, taken
from rankframe.kernel.matching import match_documents
from rankframe.kernel.ranking import DocumentRanks, rank_documents
from rankframe.metrics.names import Metric

# The largest number of rows of runs for which stacked blocks are cached for further fusions.
_KEPT_ROWS = 4_000_000
# A limit in bytes for the ranks of fusions that are evaluated together.
_RANK_BYTES = 1 << 28


class JudgedBlock:
    """Match the stacked documents of judged queries with the judgments."""

    def __init__(self, stack: Stack, judgments: IndexedJudgments) -> None:
        self.stack = stack
        table = pl.DataFrame({QUERY: taken(stack.queries, stack.code), DOC: stack.docs})
        table = hashed(table.lazy()).collect(engine="in-memory")
        self.batch = Batch.from_hashed(table, starts=stack.starts)
        # the number of each query in the judgments
        self.numbers = judgments.find(self.batch)
        matches = match_documents(self.batch, judgments, self.numbers)
        assert matches is not None  # a stack has no duplicates
        order = np.argsort(matches.batch_rows)
        # the judged documents of the stack, and their rows in the judgments
        self.rows, self.judged = matches.batch_rows[order], matches.index_rows[order]

    def rank(self, scores: Floats) -> DocumentRanks:
        """Return the ranks of the judged documents by score, then doc_id, both descending."""
        batch = replace(self.batch, numbers={SCORE: scores})
        return rank_documents(batch, self.rows, ties="doc_desc")


class Evaluator:
    """Evaluate any number of fusions of the same runs.

    Args:
        runs: the runs that are fused.
        qrels: the judgments.
        metric: the metric to evaluate.
        policies: the policies, as in `evaluate`.
        weights: the weights of the judged queries, in byte order, for a weighted average.
        on_progress: a callback, called with a `Progress` on the way.
        rank_bytes: a limit for the ranks of fusions that are evaluated together.
    """

    def __init__(
        self,
        runs: LoadedRuns | PartitionedRuns,
        qrels: InputTable,
        metric: Metric,
        policies: Policies,
        weights: Floats | None = None,
        on_progress: Report | None = None,
        rank_bytes: int | None = None,
    ) -> None:
        plan = judged_plan([metric])
        self.runs, self.metric, self.weights = runs, metric, weights
        self.on_progress = on_progress
        self._judgments = read_judgments(qrels, qrels.frame, policies.duplicates)
        highest = check_grades_in_memory(plan.metrics, self._judgments.grades)
        self._judged = JudgedMetrics(plan, policies, highest)
        limit = _RANK_BYTES if rank_bytes is None else min(rank_bytes, _RANK_BYTES)
        size = 4 * self._judgments.height + 32 * len(self._judgments.starts)
        self._at_once = max(limit // max(size, 1), 1)
        self._blocks: dict[int, JudgedBlock] = {}

    def evaluate(self, methods: Sequence[Method]) -> Iterator[Terms]:
        """Yield the values of each fusion in every query, in byte order of the queries."""
        for first in range(0, len(methods), self._at_once):
            part = methods[first : first + self._at_once]
            stage = f"{first + len(part):,} of {len(methods):,} fusions"
            for matches in self._rank(part, stage):
                yield Terms.from_values(self.metric, self._judged.values(matches), self.weights)

    def _rank(self, methods: Sequence[Method], stage: str) -> list[RunMatches]:
        """Return the ranks of judged documents in each fusion."""
        tied = "tied_rank" in self._judged.plan.columns
        # The ranks of fused documents have no gaps, even if runs keep their ranks.
        policies = replace(self._judged.policies, ranks="renumbered")
        matches = [RunMatches(self._judgments, policies, tied_rank=tied) for _ in methods]
        rows = 0
        with ThreadPoolExecutor(workers()) as pool:
            for runs in self.runs.partitions():
                judged = runs.queries.is_in(as_text(self._judgments.queries).implode())
                blocks = runs.blocks(np.flatnonzero(judged.to_numpy()))
                done = rows
                rank = partial(self._rank_block, runs, methods, matches)
                for count in pool.map(rank, range(len(blocks)), blocks):
                    done += count
                    if self.on_progress is not None:
                        work, total = (n * len(methods) for n in (done, self.runs.rows))
                        self.on_progress(Progress(stage, work, total, 0, "documents"))
                rows += runs.rows
        return matches

    def _rank_block(
        self,
        runs: LoadedRuns,
        methods: Sequence[Method],
        matches: Sequence[RunMatches],
        number: int,
        queries: Ints,
    ) -> int:
        """Rank the judged documents of a block of queries by each fusion, and add the ranks to
        `matches`.

        Returns the number of rows of the block.
        """
        block = self._blocks.get(number)
        if block is None:
            block = JudgedBlock(runs.stack(queries), self._judgments)
            if runs is self.runs and runs.rows <= _KEPT_ROWS:
                self._blocks[number] = block
        norms = {method.norm for method in methods}
        stacks = {norm: block.stack.with_norm(norm) for norm in norms}
        for method, ranks in zip(methods, matches, strict=True):
            by_score = block.rank(method.scores(stacks[method.norm]))
            ranks.put(block.batch, block.numbers, block.rows, block.judged, by_score)
        return int(runs.lengths[queries].sum())
