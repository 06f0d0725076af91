"""Several runs of the same queries → the stacked frame: one row per run and document.

As flat arrays it lies the other way round: each document of a query once, and of each run, which of
its rows that is. What is computed of a document is then a sum over a few columns, in the order of
the runs, with nothing to group. Documents are matched by their keys, and what the keys say is
compared by the ids themselves: no collision of hashes changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.core.columns import DOC, QUERY, RANK, SCORE
from rankframe.frames.pair_sides import Side
from rankframe.kernel.batch import Batch, Column, as_text, taken
from rankframe.kernel.duplicates import deduplicate_batch, may_repeat
from rankframe.kernel.matching import group_equal
from rankframe.kernel.ranking import RankedBatch, kept_ranks, order_by_score
from rankframe.kernel.segments import number_segments, position, ranges, segment_lengths, spread

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Listed:
    """One of the runs: its rows of some queries, best first, beside the documents of all runs."""

    ranked: RankedBatch
    # which of the queries it has; None: all
    has: Ints | None
    # of its rows
    ranks: NDArray[np.int32]
    # how many documents all runs have for the query of each of its lists
    candidates: Ints
    # of each document of the stack, which row that is; one beyond the last: it lacks it
    place: Ints

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.ranks)

    @property
    def score(self) -> Floats | None:
        """Of its rows; None where it has none."""
        return self.ranked.score

    @cached_property
    def last_ranks(self) -> Ints:
        """How long each of its lists is, gaps in given ranks included."""
        ends = self.ranked.starts + self.ranked.lengths
        return self.ranks[ends - 1].astype(np.int64)

    @cached_property
    def holds(self) -> NDArray[np.bool_]:
        """Which documents of the stack it has."""
        return self.place < self.rows

    @cached_property
    def rank(self) -> NDArray[np.int32]:
        """Of each document of the stack; 0 where it lacks it."""
        return self.on_documents(self.ranks)

    def on_documents(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of its rows on the documents of the stack; 0 where it lacks them."""
        return np.append(values, values.dtype.type(0)).take(self.place)

    def on_rows(self, per_list: NDArray[Any]) -> NDArray[Any]:
        """A value of each of its lists, on their rows."""
        return spread(per_list, self.ranked.starts, self.rows)

    def of_queries(self, per_list: NDArray[Any], queries: int) -> NDArray[Any]:
        """A value of each of its lists, for all queries; 0 for those that it lacks."""
        if self.has is None:
            return per_list
        whole = np.zeros(queries, per_list.dtype)
        whole[self.has] = per_list
        return whole


@dataclass(frozen=True)
class Stack:
    """The documents of some queries, each once, query by query, and what runs say of them."""

    # of the runs, in their order
    names: tuple[str, ...]
    queries: pl.Series
    # the first document of each query
    starts: Ints
    # the ids of all rows of all runs, and which of these each document is
    ids: pl.Series
    heads: Ints
    runs: tuple[Listed, ...]

    @property
    def height(self) -> int:
        """How many documents there are."""
        return len(self.heads)

    @cached_property
    def lengths(self) -> Ints:
        """How many documents each query has in all runs."""
        return segment_lengths(self.starts, self.height)

    @cached_property
    def code(self) -> NDArray[np.int32]:
        """The number of each document's query."""
        return number_segments(self.starts, self.height)

    @cached_property
    def docs(self) -> pl.Series:
        """The documents, as text."""
        return as_text(taken(self.ids, self.heads))

    def taken(self, rows: NDArray[np.integer]) -> pl.Series:
        """Some of the documents, as text."""
        return as_text(taken(self.ids, self.heads[rows]))

    @cached_property
    def runs_with(self) -> NDArray[np.int32]:
        """How many runs have each document."""
        count = np.zeros(self.height, np.int32)
        for run in self.runs:
            count += run.holds
        return count

    def on_documents(self, per_query: NDArray[Any]) -> NDArray[Any]:
        """A value of each query, on its documents."""
        return spread(per_query, self.starts, self.height)

    def ordered(self, scores: Floats, k_max: int | None = None) -> tuple[Ints, Ints]:
        """The documents of each query by their scores, the best first and no more than `k_max`;
        and how many there are of each query. Equal ones by doc_id, descending.
        """
        order, _ = order_by_score(self, self.code, self.starts, scores, "doc_desc")
        if k_max is None or int(self.lengths.max(initial=0)) <= k_max:
            return order, self.lengths
        lengths = np.minimum(self.lengths, k_max)
        return order[ranges(self.starts, lengths)], lengths

    def ranking(self, scores: Floats, k_max: int | None = None) -> pl.DataFrame:
        """The documents by such scores, as a run: query_id, doc_id, rank, score."""
        order, lengths = self.ordered(scores, k_max)
        rank = position(np.cumsum(lengths) - lengths, len(order)).astype(np.int64)
        rank += 1
        return pl.DataFrame(
            {
                QUERY: taken(self.queries, self.code[order]),
                DOC: self.taken(order),
                RANK: rank,
                SCORE: scores[order],
            }
        )


def stack_runs(
    names: tuple[str, ...], queries: pl.Series, sides: Sequence[Side], policies: FusionPolicies
) -> Stack:
    """Bring the rows of queries in all runs together; every query has rows in a run."""
    if policies.keeps_gaps:
        sides = [_with_gaps(side, policies) for side in sides]
    found = _stacked(names, queries, sides, policies)
    if found is None:
        sides = [side.unique("run", policies.run_duplicates) for side in sides]
        found = _stacked(names, queries, sides, policies, surely=True)
        assert found is not None  # each document is there once
    return found


def _stacked(
    names: tuple[str, ...],
    queries: pl.Series,
    sides: Sequence[Side],
    policies: FusionPolicies,
    *,
    surely: bool = False,
) -> Stack | None:
    """None where some document may be there twice for a query; `surely`: none is."""
    ranked, ranks = zip(*(_ranked(side, policies) for side in sides), strict=True)
    cut = any(one.height < one.batch.height for one in ranked)
    if cut and not surely and any(may_repeat(side.batch) for side in sides):
        return None
    heights = [one.height for one in ranked]
    code = np.concatenate([_codes(one, side) for one, side in zip(ranked, sides, strict=True)])
    ids = pl.concat([_ids(one) for one in ranked], rechunk=True)
    keys = np.concatenate([one.take(one.batch.key) for one in ranked])
    of = group_equal(keys, Column(ids), code)
    heads = np.flatnonzero(of == np.arange(len(of)))
    # Query by query, and of each query what the first run has, then what the second one adds, ….
    ends = np.cumsum(heights)
    added = [
        np.bincount(some, minlength=len(queries))
        for some in np.split(code[heads], np.searchsorted(heads, ends[:-1]))
    ]
    lengths = np.sum(added, axis=0)
    starts = np.cumsum(lengths) - lengths
    number = np.empty(len(of), np.int64)
    number[heads] = np.concatenate(
        [ranges(begins, some) for begins, some in zip(_begins(starts, added), added, strict=True)]
    )
    documents = number[of]
    order = np.empty(len(heads), np.int64)
    order[documents[heads]] = heads
    runs: list[Listed] = []
    for one, rank, side, end in zip(ranked, ranks, sides, ends.tolist(), strict=True):
        place = np.full(len(heads), one.height)
        place[documents[end - one.height : end]] = np.arange(one.height)
        if not surely and int(np.count_nonzero(place < one.height)) < one.height:
            return None
        candidates = lengths if side.has is None else lengths[side.has]
        runs.append(Listed(one, side.has, rank, candidates, place))
    return Stack(names, as_text(queries), starts, ids, order, tuple(runs))


def _begins(starts: Ints, added: Sequence[Ints]) -> Iterator[Ints]:
    """Of each run, where the documents of each query begin that it adds to those before."""
    begins = starts
    for some in added:
        yield begins
        begins = begins + some


def _ranked(side: Side, policies: FusionPolicies) -> tuple[RankedBatch, NDArray[np.int32]]:
    """The rows of a run best first, and their ranks."""
    kept = policies.ranks == "kept" or policies.keeps_gaps
    chunk = side.batch
    ranked = RankedBatch.from_batch(chunk, policies.ties, None if kept else policies.depth)
    if not (kept and chunk.height):
        return ranked, ranked.rank
    return ranked, ranked.take(kept_ranks(chunk))


def _with_gaps(side: Side, policies: FusionPolicies) -> Side:
    """Of each unit the best of its documents, with the rank that this has among all of them."""
    chunk = side.batch
    if not chunk.height:
        return side
    best, _, _ = deduplicate_batch(chunk, policies)
    if policies.depth is not None:
        best = Batch.from_table(best.frame().filter(pl.col(RANK) <= policies.depth))
    return replace(side, batch=best)


def _codes(ranked: RankedBatch, side: Side) -> NDArray[np.integer]:
    """The number of each row's query, among all."""
    code = number_segments(ranked.starts, ranked.height)
    return code if side.has is None else side.has[code]


def _ids(ranked: RankedBatch) -> pl.Series:
    return ranked.batch.docs.taken(ranked.take(np.arange(ranked.batch.height)))
