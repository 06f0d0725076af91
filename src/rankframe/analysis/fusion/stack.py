"""Stack the documents of several runs, and rank documents by fused scores.

A stack holds the data of the stacked frame (one row per run and document) as flat arrays in wide
form: one entry per document of a query, and for each run the row of that document. A fused score
is then a sum over a few arrays, in the order of the runs, without a group-by.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints
from rankframe.core.columns import DOC, QUERY, RANK, SCORE, STACKED_FRAME
from rankframe.core.records import record
from rankframe.frames.pair_sides import Side
from rankframe.kernel.batch import Batch, Ids, as_text, taken
from rankframe.kernel.duplicates import deduplicate_batch
from rankframe.kernel.matching import group_equal
from rankframe.kernel.ranking import RankedBatch, kept_ranks, order_by_score
from rankframe.kernel.segments import number_segments, position, ranges, segment_lengths, spread

# A depth beyond every list.
_ALL = np.iinfo(np.int64).max


@record
class Norm:
    """Define a norm of scores: its name, formula and function."""

    name: str
    formula: str
    # whether the norm uses scores, not ranks alone
    scored: bool
    # returns the normalised scores of a run's rows, which are best first
    listed: Callable[[StackedRun], Floats]
    # returns for each query the score of documents that the run lacks, from the length of the run's
    # list (0 without a list) and the number of documents in all runs; None: such documents have no
    # score
    absent: Callable[[Floats, Floats], Floats] | None

    @property
    def summary(self) -> str:
        """Return the docstring as one line."""
        return (inspect.getdoc(self.listed) or "").replace("\n", " ")


@record
class StackedRun:
    """Hold one run of a `Stack`: its lists, and the rank and score of each of the stack's
    documents.

    Rows belong to the run and are ordered by rank; documents belong to the stack.
    """

    name: str
    ranked: RankedBatch
    # the numbers of the queries that have a list in the run; None: all queries
    queries: Ints | None
    # the rank of each row
    row_ranks: Codes
    # for each document of the stack, its row; `height` if the run lacks the document
    rows: Ints
    # the offset of the first document of each query of the stack
    starts: Ints
    # the number of chunks of each list, if units keep the ranks of their best chunks
    chunks: Ints | None
    # None: scores are unchanged
    norm: Norm | None = None

    @property
    def height(self) -> int:
        """Return the number of rows."""
        return len(self.row_ranks)

    @property
    def row_scores(self) -> Floats:
        """Return the score of each row; the run must have scores."""
        assert self.ranked.score is not None
        return self.ranked.score

    @cached_property
    def list_lengths(self) -> Ints:
        """Return the last rank of each list: its length, including gaps of kept ranks."""
        ends = self.ranked.starts + self.ranked.lengths
        return self.row_ranks[ends - 1].astype(np.int64)

    @property
    def candidates(self) -> Ints:
        """Return for each list the number of distinct documents that its query has in all runs."""
        lengths = segment_lengths(self.starts, len(self.rows))
        return lengths if self.queries is None else lengths[self.queries]

    def spread_to_rows(self, list_values: NDArray[Any]) -> NDArray[Any]:
        """Repeat a value per list for every row of the list."""
        return spread(list_values, self.ranked.starts, self.height)

    @cached_property
    def has_document(self) -> Flags:
        """Return a flag for each document: whether the run has the document."""
        return self.rows < self.height

    @cached_property
    def ranks(self) -> Codes:
        """Return the rank of each document; 0 where the run lacks the document."""
        return self.spread_to_documents(self.row_ranks)

    @cached_property
    def scores(self) -> Floats:
        """Return the normalised score of each document; 0 where the document has no score."""
        if self.norm is None:
            return self.spread_to_documents(self.row_scores)
        scores = self.spread_to_documents(self.norm.listed(self))
        if self.norm.absent is None:
            return scores
        candidates = segment_lengths(self.starts, len(self.rows)).astype(np.float64)
        lengths = self._spread_to_queries(self.list_lengths).astype(np.float64)
        absent = spread(self.norm.absent(lengths, candidates), self.starts, len(self.rows))
        return np.where(self.has_document, scores, absent)

    @property
    def has_score(self) -> Flags:
        """Flag the documents that have a score. Some norms give every document a score."""
        if self.norm is not None and self.norm.absent is not None:
            return np.ones(len(self.rows), np.bool_)
        return self.has_document

    def lengths(self, *, chunks: bool = False) -> Ints:
        """Return for each document the length of its query's list in the run; 0 without a list.

        `chunks`: if units keep the ranks of their best chunks, count all chunks of a list. The
        judged frame, which methods are trained on, counts them too.
        """
        lengths = self.chunks if chunks and self.chunks is not None else self.list_lengths
        return spread(self._spread_to_queries(lengths), self.starts, len(self.rows))

    def spread_to_documents(self, row_values: NDArray[Any]) -> NDArray[Any]:
        """Return the value of each document's row; 0 where the run lacks the document."""
        return np.append(row_values, row_values.dtype.type(0)).take(self.rows)

    def _spread_to_queries(self, list_values: Ints) -> Ints:
        """Return the value of each query's list; 0 for queries that the run lacks."""
        if self.queries is None:
            return list_values
        values = np.zeros(len(self.starts), np.int64)
        values[self.queries] = list_values
        return values


@record
class Stack:
    """Hold the distinct documents that several runs have for some queries, query by query."""

    queries: pl.Series
    # the offset of the first document of each query
    starts: Ints
    # the doc_ids of all rows of all runs, concatenated, and the first row of each document
    ids: pl.Series
    heads: Ints
    runs: tuple[StackedRun, ...]

    @property
    def height(self) -> int:
        """Return the number of documents."""
        return len(self.heads)

    @cached_property
    def lengths(self) -> Ints:
        """Return the number of documents of each query."""
        return segment_lengths(self.starts, self.height)

    @cached_property
    def code(self) -> Codes:
        """Return for each document the number of its query."""
        return number_segments(self.starts, self.height)

    @cached_property
    def docs(self) -> pl.Series:
        """Return the id of each document."""
        return as_text(taken(self.ids, self.heads))

    def taken(self, rows: AnyInts) -> pl.Series:
        """Return the ids of the documents numbered `rows`."""
        return as_text(taken(self.ids, self.heads[rows]))

    @cached_property
    def runs_with(self) -> Codes:
        """Return the number of runs that have each document."""
        return self._count(run.has_document for run in self.runs)

    @property
    def score_counts(self) -> Codes:
        """Return for each document the number of runs in which it has a score."""
        return self._count(run.has_score for run in self.runs)

    def _count(self, flags: Iterable[Flags]) -> Codes:
        count = np.zeros(self.height, np.int32)
        for own in flags:
            count += own
        return count

    def spread_to_documents(self, query_values: NDArray[Any]) -> NDArray[Any]:
        """Repeat a value per query for every document of the query."""
        return spread(query_values, self.starts, self.height)

    def with_norm(self, norm: Norm | None) -> Stack:
        """Return this stack with scores normalised by a norm (None: unchanged scores)."""
        return replace(self, runs=tuple(replace(run, norm=norm) for run in self.runs))

    @property
    def scores(self) -> Iterator[Floats]:
        """Yield an array for each run: the normalised scores of all documents."""
        return (run.scores for run in self.runs)

    def add_up(
        self, values: Iterable[NDArray[Any]], weights: Sequence[float] | None = None
    ) -> Floats:
        """Return for each document the weighted sum of one value per run, in order of the runs."""
        total = np.zeros(self.height)
        for number, own in enumerate(values):
            total += own if weights is None else own * weights[number]
        return total

    def order(self, scores: Floats, k_max: int | None = None) -> tuple[Ints, Ints]:
        """Order the documents of each query by score, then doc_id, both descending.

        Returns the numbers of the documents in this order, at most `k_max` per query, and how many
        documents each query keeps.
        """
        order, _ = order_by_score(
            Ids(self.ids, self.heads), self.code, self.starts, scores, "doc_desc"
        )
        if k_max is None or int(self.lengths.max(initial=0)) <= k_max:
            return order, self.lengths
        lengths = np.minimum(self.lengths, k_max)
        return order[ranges(self.starts, lengths)], lengths

    def make_run(self, scores: Floats, k_max: int | None = None) -> pl.DataFrame:
        """Rank the documents by scores, and return them as a run: query_id, doc_id, rank, score."""
        order, lengths = self.order(scores, k_max)
        ranks = position(np.cumsum(lengths) - lengths, len(order)).astype(np.int64)
        ranks += 1
        return pl.DataFrame(
            {
                QUERY: taken(self.queries, self.code[order]),
                DOC: self.taken(order),
                RANK: ranks,
                SCORE: scores[order],
            }
        )

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """Return `columns` of the stacked frame, and `_document`, the number of each row's
        document.

        Rows are ordered by document, then by run.
        """
        parts = [self._frame_of_run(run, columns) for run in self.runs]
        return pl.concat(parts).sort("_document", maintain_order=True)

    def _frame_of_run(self, run: StackedRun, columns: Collection[str]) -> pl.DataFrame:
        rows, score = np.flatnonzero(run.has_document), run.ranked.score
        makers: dict[str, Callable[[], Any]] = {
            QUERY: lambda: taken(self.queries, self.code[rows]),
            DOC: lambda: self.taken(rows),
            "run": lambda: run.name,
            RANK: lambda: run.ranks[rows],
            SCORE: lambda: None if score is None else run.spread_to_documents(score)[rows],
            "normalised": lambda: run.scores[rows],
            "length": lambda: run.lengths()[rows],
            "runs_with": lambda: self.runs_with[rows],
            "candidates": lambda: self.lengths[self.code[rows]],
        }
        with np.errstate(over="ignore", invalid="ignore"):
            values = {column: makers[column]() for column in columns}
        types = {column: STACKED_FRAME.columns[column].type for column in columns}
        return pl.DataFrame({"_document": rows, **values}).cast({"_document": pl.Int64, **types})


def stack_runs(
    names: tuple[str, ...], queries: pl.Series, sides: Sequence[Side], policies: FusionPolicies
) -> Stack:
    """Stack the rows that runs have for queries; every query must have rows in some run.

    A document that a run has twice for a query is refused, or its best row is kept, by the policy
    for duplicates.
    """
    chunks: list[Ints | None] = [None] * len(sides)
    if policies.keeps_chunk_ranks:
        chunks = [np.minimum(side.batch.lengths, policies.depth or _ALL) for side in sides]
        sides = [_keep_best_chunks(side, policies) for side in sides]
    stack = _stack_unique(names, queries, sides, policies, chunks)
    if stack is None:
        sides = [side.unique("run", policies.run_duplicates) for side in sides]
        stack = _stack_unique(names, queries, sides, policies, chunks, checked=True)
        assert stack is not None  # duplicates were dropped
    return stack


def _stack_unique(
    names: tuple[str, ...],
    queries: pl.Series,
    sides: Sequence[Side],
    policies: FusionPolicies,
    chunks: Sequence[Ints | None],
    *,
    checked: bool = False,
) -> Stack | None:
    """Stack runs; return None if a run may have a document twice, unless that was checked."""
    ranked, ranks = zip(*(_rank(side, policies) for side in sides), strict=True)
    cut = any(run.height < run.batch.height for run in ranked)
    if cut and not checked and any(side.batch.may_repeat() for side in sides):
        return None
    code = np.concatenate([_query_codes(*run) for run in zip(ranked, sides, strict=True)])
    ids = pl.concat([run.docs for run in ranked], rechunk=True)
    keys = np.concatenate([run.take(run.batch.key) for run in ranked])
    first_rows = group_equal(keys, ids, code)
    heads = np.flatnonzero(first_rows == np.arange(len(first_rows)))
    # Ordered by query; in a query first the documents of run 1, then the new documents of run 2, ….
    heads = heads[np.argsort(code[heads], kind="stable")]
    lengths = np.bincount(code[heads], minlength=len(queries))
    numbers = np.empty(len(first_rows), np.int64)
    numbers[heads] = np.arange(len(heads))
    documents = np.split(numbers[first_rows], np.cumsum([run.height for run in ranked[:-1]]))
    runs: list[StackedRun] = []
    starts = np.cumsum(lengths) - lengths
    columns = zip(names, ranked, ranks, sides, documents, chunks, strict=True)
    for name, run, run_ranks, side, own, run_chunks in columns:
        rows = np.full(len(heads), run.height)
        rows[own] = np.arange(run.height)
        if not checked and int(np.count_nonzero(rows < run.height)) < run.height:
            return None
        runs.append(StackedRun(name, run, side.has, run_ranks, rows, starts, run_chunks))
    return Stack(as_text(queries), starts, ids, heads, tuple(runs))


def _rank(side: Side, policies: FusionPolicies) -> tuple[RankedBatch, Codes]:
    """Return the rows of a run within the depth, best first per query, and their ranks."""
    kept = policies.ranks == "kept" or policies.keeps_chunk_ranks
    ranked = RankedBatch.from_batch(side.batch, policies.ties, None if kept else policies.depth)
    if not (kept and side.batch.height):
        return ranked, ranked.rank
    return ranked, ranked.take(kept_ranks(side.batch))


def _keep_best_chunks(side: Side, policies: FusionPolicies) -> Side:
    """Keep the best chunk of each unit, with its rank among all chunks, within the depth."""
    if not side.batch.height:
        return side
    best, _, _ = deduplicate_batch(side.batch, policies)
    if policies.depth is not None:
        best = Batch.from_table(best.frame().filter(pl.col(RANK) <= policies.depth))
    return replace(side, batch=best)


def _query_codes(ranked: RankedBatch, side: Side) -> AnyInts:
    """Return the number of each row's query, among the queries of all runs."""
    code = number_segments(ranked.starts, ranked.height)
    return code if side.has is None else side.has[code]
