"""Collect the ranks of judged documents in a run, batch by batch, in any order of batches.

On demand, all documents of judged queries are listed, and unjudged documents are inserted among the
judgments with assumed grades.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints
from rankframe.core.columns import RANK, SCORE
from rankframe.core.options import JudgedTies, Policies
from rankframe.core.records import record
from rankframe.frames.judgments import IndexedJudgments, SubtopicRows
from rankframe.frames.sample import Sampler
from rankframe.kernel.batch import Batch, as_text, taken
from rankframe.kernel.duplicates import deduplicate_batch
from rankframe.kernel.matching import match_documents
from rankframe.kernel.ranking import DocumentRanks, rank_documents
from rankframe.kernel.segments import (
    ascending,
    number_segments,
    position,
    ranges,
    segment_lengths,
    segment_starts,
    sort_order,
    spread,
)

TieOrder: TypeAlias = Literal["best", "worst"]

_PER_QUERY = ("queries", "retrieved", "in_run")
_PER_ROW = ("grades", "rank", "tied_rank", "score", "ids", "tied_first", "tied_last")


def _select(record: object, names: Sequence[str], rows: slice | AnyInts) -> dict[str, Any]:
    """Return the named fields of a record, cut to `rows`; a field is an array, a series or None."""
    selected: dict[str, Any] = {}
    for name in names:
        values = getattr(record, name)
        if isinstance(values, pl.Series) and not isinstance(rows, slice):
            values = taken(values, rows)
        elif values is not None:
            values = values[rows]
        selected[name] = values
    return selected


@record
class Listed:
    """Hold retrieved documents of judged queries, judged or not, in any order."""

    # the number of each document's query, and of its judgment (-1: unjudged)
    query: AnyInts
    judgment: AnyInts
    rank: Codes
    # the score, or else the rank, in the run; None: the order of rows is the ranking
    value: Floats | None = None
    # on demand: the mean rank of the documents with the same score, and the ids
    tied_rank: Floats | None = None
    docs: pl.Series | None = None

    def select(self, rows: AnyInts | Flags) -> Listed:
        """Return the documents at the positions, or with the flags, `rows`."""
        places = np.arange(len(self.rank))[rows]
        return Listed(**_select(self, [column.name for column in fields(self)], places))


@dataclass
class Listing:
    """Collect the retrieved documents of judged queries, judged or not, batch by batch."""

    tied_rank: bool = False
    docs: bool = False
    # the last rank to collect; None: all
    k_max: int | None = None
    _parts: list[pl.DataFrame] = field(default_factory=list)

    def add(
        self, batch: Batch, numbers: Ints, rows: Ints, judged: Ints, ranks: DocumentRanks
    ) -> None:
        """Add the retrieved documents of a batch, as far as their queries are judged.

        Args:
            batch: The documents.
            numbers: For each query of the batch, its number in the judgments; -1: not judged.
            rows: The batch rows of judged documents.
            judged: The number of the judgment of each of these rows.
            ranks: The ranks of all batch rows.
        """
        query = numbers.astype(np.int32)[batch.code]
        judgment = np.full(batch.height, -1, np.int32)
        judgment[rows] = judged
        columns: dict[str, Any] = {"query": query, "judgment": judgment}
        columns["rank"] = ranks.rank.astype(np.int32)
        value = next((name for name in (SCORE, RANK) if name in batch.numbers), None)
        if value is not None:
            columns["value"] = batch.numbers[value]
        if self.tied_rank:
            last = ranks.last if self.k_max is None else np.minimum(ranks.last, self.k_max)
            columns["tied_rank"] = (ranks.first + last) / 2
        if self.docs:
            columns["docs"] = as_text(batch.docs.all())
        keep = query >= 0
        if self.k_max is not None:
            keep &= ranks.rank <= self.k_max
        part = pl.DataFrame(columns)
        self._parts.append(part if keep.all() else part.filter(pl.Series(keep)))

    def all(self) -> Listed:
        """Return the documents collected from all batches."""
        if not self._parts:
            none = np.empty(0, np.int32)
            return Listed(none, none, none, docs=pl.Series([], dtype=pl.String))
        whole = pl.concat(self._parts, rechunk=True)
        self._parts = [whole]
        columns = {name: whole[name].to_numpy() for name in whole.columns if name != "docs"}
        return Listed(**columns, docs=whole["docs"] if self.docs else None)


@dataclass
class MatchCounts:
    """Count rows, queries, ties and matches of a run."""

    rows: int = 0
    queries: int = 0
    # documents with the same score as the one ranked just above them
    tied: int = 0
    # queries whose ranks contradict their scores; None: the run has only ranks or only scores
    contradicting: int | None = None
    # queries whose ranks are not 1, 2, 3, …; None: ranks do not decide the order
    renumbered: int | None = None
    # rows that were dropped as duplicates of better rows
    dropped: int = 0
    # judged documents in the run, before the run is truncated at `k_max` or condensed
    overlap: int = 0
    # rows that are better than the row before them in the input, of the same query
    rising: int = 0


class RunMatches:
    """Match a run with judgments: collect the rank of each judged document, batch by batch."""

    def __init__(
        self,
        judgments: IndexedJudgments,
        policies: Policies,
        *,
        tied_rank: bool = False,
        scores: bool = False,
        listing: Listing | None = None,
    ) -> None:
        """Create empty arrays for the ranks of all judged documents, which batches fill.

        Args:
            judgments: The judgments to join the run with.
            policies: The policies of the evaluation.
            tied_rank: Whether to collect the mean ranks of ties.
            scores: Whether to collect scores.
            listing: Collects all documents of judged queries; None: collect judged documents only.
        """
        self.judgments = judgments
        self.policies = policies
        self.listing = listing
        self.counts = MatchCounts()
        self.sampler = Sampler(judgments)
        # all judgments, whose arrays are filled as batches are added
        self.whole = MatchedJudgments(
            queries=as_text(judgments.queries),
            starts=judgments.starts,
            grades=judgments.grades,
            rank=np.zeros(judgments.height, np.int32),
            tied_rank=np.zeros(judgments.height) if tied_rank else None,
            retrieved=np.zeros(len(judgments.starts), np.int64),
            in_run=np.zeros(len(judgments.starts), np.bool_),
            score=np.zeros(judgments.height) if scores else None,
            judgments=judgments,
            subtopics=judgments.subtopics,
            tied_first=np.zeros(judgments.height, np.int32),
            tied_last=np.zeros(judgments.height, np.int32),
        )
        # scores of all documents of judged queries, on demand
        self._pool: list[Floats] = []
        self._lock = threading.Lock()

    @cached_property
    def pool(self) -> Floats | None:
        """Return the scores of all retrieved documents of judged queries, ascending.

        Returns None if scores are not collected.
        """
        whole = self.whole
        if whole.score is None:
            return None
        if self.policies.judged_only:
            return np.sort(whole.score[(whole.rank > 0) & (whole.grades >= 0)])
        return np.sort(np.concatenate([np.empty(0), *self._pool]))

    def add(self, batch: Batch) -> None:
        """Match a batch with the judgments and rank its judged documents."""
        numbers = self.judgments.find(batch)
        judged_queries = numbers >= 0
        matches = match_documents(batch, self.judgments, numbers)
        height, lengths, above, ranks = batch.height, batch.lengths, None, self.policies.ranks
        if matches is None:
            batch, ranks, above = deduplicate_batch(batch, self.policies)
            matches = match_documents(batch, self.judgments, numbers)
            assert matches is not None  # duplicates were dropped
        if above is None:
            lengths = batch.lengths
        rows, judged = matches.batch_rows, matches.index_rows
        self.sampler.add(batch, numbers)
        ranked = rows if self.listing is None else None
        found = rank_documents(batch, ranked, ties=self.policies.ties, ranks=ranks)
        if self.listing is not None:
            self.listing.add(batch, numbers, rows, judged, found)
            found = found.take(rows)
        self.put(batch, numbers, rows, judged, found, lengths)
        if self.whole.score is not None:
            self._pool += _top_scores(batch, judged_queries, self.policies.k_max)
        counted = found if above is None else above  # of passages, before they were rolled up
        with self._lock:
            counts = self.counts
            counts.rows += height
            counts.dropped += height - batch.height
            counts.queries += len(batch.starts)
            counts.tied += counted.tied
            counts.overlap += len(rows)
            counts.rising += counted.rising
            for name in ("contradicting", "renumbered"):
                number = getattr(counted, name)
                if number is not None:
                    setattr(counts, name, (getattr(counts, name) or 0) + number)

    def put(
        self,
        batch: Batch,
        numbers: Ints,
        rows: Ints,
        judged: Ints,
        ranks: DocumentRanks,
        lengths: Ints | None = None,
    ) -> None:
        """Store the ranks of the judged documents of a batch.

        Args:
            batch: The documents.
            numbers: For each query of the batch, its number in the judgments; -1: not judged.
            rows: The batch rows of judged documents.
            judged: The number of the judgment of each of these rows.
            ranks: The ranks of these rows.
            lengths: The number of documents of each query; None: the number in the batch.
        """
        lengths, k_max = batch.lengths if lengths is None else lengths, self.policies.k_max
        if self.policies.ranks == "kept" and batch.height:  # a list is as long as its last rank
            lengths = np.maximum.reduceat(batch.numbers[RANK], batch.starts).astype(np.int64)
        rank, last = ranks.rank, ranks.last
        whole, tied = self.whole, np.flatnonzero(ranks.first < last)
        if len(tied):
            assert whole.tied_first is not None
            assert whole.tied_last is not None
            whole.tied_first[judged[tied]] = ranks.first[tied]
            whole.tied_last[judged[tied]] = last[tied]
        if k_max is not None:
            lengths, last = np.minimum(lengths, k_max), np.minimum(last, k_max)
            kept = np.flatnonzero(rank <= k_max)
            rows, judged = rows[kept], judged[kept]
            ranks, rank, last = ranks.take(kept), rank[kept], last[kept]
        queries = np.flatnonzero(numbers >= 0)
        whole.rank[judged] = rank
        if whole.tied_rank is not None:
            whole.tied_rank[judged] = (ranks.first + last) / 2
        if whole.score is not None:
            whole.score[judged] = batch.numbers[SCORE][rows]
        whole.retrieved[numbers[queries]] = lengths[queries]
        whole.in_run[numbers[queries]] = True

    def select(
        self,
        first: int = 0,
        end: int | None = None,
        *,
        queries: Ints | None = None,
        ties: JudgedTies | None = None,
    ) -> MatchedJudgments:
        """Return the judgments of some queries, with ranks. Call this after the last batch.

        Args:
            first: the number of the first query.
            end: the number of the query after the last one; None: up to the last query.
            queries: the numbers of the queries to keep among these; None: all.
            ties: the order of documents with equal scores (default: the order of the policies).
        """
        part, ties = replace(self.whole, pool=self.pool), ties or self.policies.ties
        if end is not None:
            part = part.slice_queries(first, end)
        if queries is not None:
            part = part.select(queries)
        if ties in ("best", "worst"):
            part = order_ties(part, ties, self.policies.k_max)
        return condensed(part) if self.policies.judged_only else part


def _top_scores(batch: Batch, queries: Flags, k_max: int | None) -> list[Floats]:
    """Return the scores of the top `k_max` documents of the queries that `queries` flags."""
    if k_max is None:
        return [batch.numbers[SCORE][np.repeat(queries, batch.lengths)]]
    best = ascending(-batch.numbers[SCORE], batch.starts, batch.lengths)
    tops = (group.values[queries[group.queries], :k_max] for group in best)
    return [-top[np.isfinite(top)] for top in tops]


@record
class MatchedJudgments:
    """Hold judgments of whole queries, query by query, with the ranks of their documents."""

    # the ids of the queries, as text
    queries: pl.Series
    # the first judgment of each query
    starts: Ints
    grades: Floats
    # the rank of each judged document; 0: not retrieved
    rank: Codes
    tied_rank: Floats | None
    # for each query: the number of documents in the run, and whether the run has the query
    retrieved: Ints
    in_run: Flags
    # the score of each retrieved document
    score: Floats | None
    judgments: IndexedJudgments
    # the scores of all documents of judged queries, ascending
    pool: Floats | None = None
    # the number of the first of these judgments in `judgments`
    first: int = 0
    # the subtopics of the documents; None: the judgments have no subtopics
    subtopics: SubtopicRows | None = None
    # the ids of the documents, as text; None: look them up in `judgments`
    ids: pl.Series | None = None
    # the ranks of the first and the last document with the same score; 0 for documents without a
    # tie; None: not collected
    tied_first: Codes | None = None
    tied_last: Codes | None = None

    @cached_property
    def docs(self) -> pl.Series:
        """Return the ids of the judged documents, as text."""
        if self.ids is not None:
            return self.ids
        rows = np.arange(self.first, self.first + len(self.rank))
        return as_text(self.judgments.docs.take(rows))

    def slice_queries(self, first: int, end: int) -> MatchedJudgments:
        """Return the judgments of the queries from `first` up to, not including, `end`."""
        last = self.starts[end] if end < len(self.starts) else len(self.rank)
        rows, queries = slice(int(self.starts[first]), int(last)), slice(first, end)
        return replace(
            self,
            starts=self.starts[queries] - rows.start,
            first=self.first + rows.start,
            subtopics=self.subtopics and self.subtopics.slice_documents(rows.start, rows.stop),
            **_select(self, _PER_QUERY, queries),
            **_select(self, _PER_ROW, rows),
        )

    def select(self, queries: Ints) -> MatchedJudgments:
        """Return the judgments of the queries at the indices `queries`, without subtopics."""
        lengths = segment_lengths(self.starts, len(self.rank))[queries]
        return replace(
            self,
            starts=np.cumsum(lengths) - lengths,
            subtopics=None,
            **_select(self, _PER_QUERY, queries),
            **_select(self, _PER_ROW, ranges(self.starts[queries], lengths)),
        )


def order_ties(part: MatchedJudgments, order: TieOrder, k_max: int | None) -> MatchedJudgments:
    """Rank documents with equal scores by their grades: the best first, or the worst first.

    The run does not decide the order of tied documents, so the two orders bound the values of
    metrics. In each tie, unjudged documents come last in the best order, and first in the worst.
    """
    assert part.tied_first is not None  # collected with the ranks
    assert part.tied_last is not None
    rows = np.flatnonzero(part.tied_last)
    if not len(rows):
        return part
    code = number_segments(part.starts, len(part.rank))[rows]
    ascending_grades = np.lexsort((part.grades[rows], part.tied_first[rows], code))
    rows = rows[ascending_grades]
    starts = segment_starts(code[ascending_grades], part.tied_first[rows])
    place = position(starts, len(rows))
    # the number of judged documents in the tie with larger grades (equal grades in a fixed order)
    above = spread(segment_lengths(starts, len(rows)), starts, len(rows)) - 1 - place
    rank = part.rank.copy()
    if order == "best":  # fill the ranks of the tie from the first one, largest grade first
        rank[rows] = part.tied_first[rows] + above
    else:  # fill the ranks of the tie from the last one, largest grade last
        rank[rows] = part.tied_last[rows] - above
    if k_max is not None:
        rank[rank > k_max] = 0
    return replace(part, rank=rank)


def ties_matter(part: MatchedJudgments) -> Flags:
    """Flag the queries in which relevant and non-relevant documents have equal scores.

    Relevant means a grade above 0 here, whatever the `rel` option is, since graded metrics depend
    on grades.
    """
    assert part.tied_first is not None  # collected with the ranks
    assert part.tied_last is not None
    flags = np.zeros(len(part.starts), np.bool_)
    rows = np.flatnonzero(part.tied_last)
    if not len(rows):
        return flags
    code = number_segments(part.starts, len(part.rank))[rows]
    order = np.lexsort((part.grades[rows], part.tied_first[rows], code))
    rows, code = rows[order], code[order]
    starts = segment_starts(code, part.tied_first[rows])
    lengths, grades = segment_lengths(starts, len(rows)), part.grades[rows]
    tied = (part.tied_last - part.tied_first + 1)[rows[starts]]
    best, worst = grades[starts + lengths - 1], grades[starts]
    flags[code[starts[(best > 0) & ((lengths < tied) | (worst < best))]]] = True
    return flags


def condensed(part: MatchedJudgments) -> MatchedJudgments:
    """Rank judged documents among themselves, as if unjudged documents were not in the run.

    As in trec_eval, a negative grade means "in the pool, but not judged".
    """
    grades = part.grades
    code = number_segments(part.starts, len(grades)).astype(np.int64)
    kept = np.flatnonzero((part.rank > 0) & (grades >= 0))
    kept = kept[sort_order(code[kept], part.rank[kept])]
    place = position(segment_starts(code[kept]), len(kept)) + 1
    rank = np.zeros_like(part.rank)
    rank[kept] = place
    tied_rank = None
    if part.tied_rank is not None:
        tied_rank = np.zeros(len(grades))
        blocks = segment_starts(code[kept], part.tied_rank[kept])
        ends = np.append(blocks[1:], len(kept))
        mean = (place[blocks] + place[ends - 1]) / 2 if len(kept) else np.empty(0)
        tied_rank[kept] = np.repeat(mean, ends - blocks)
    retrieved = np.bincount(code[kept], minlength=len(part.starts))
    return replace(part, rank=rank, tied_rank=tied_rank, retrieved=retrieved)


def unlisted_holes(starts: Ints, rank: Codes, retrieved: Ints) -> Listed:
    """Return an unjudged document for each rank of a list at which no judged document is.

    Args:
        starts: The first judgment of each query.
        rank: The rank of each judged document; 0: not retrieved.
        retrieved: The number of documents that the run has for each query.
    """
    code = number_segments(starts, len(rank))
    firsts = np.cumsum(retrieved) - retrieved
    free = np.ones(int(retrieved.sum()), np.bool_)
    judged = np.flatnonzero(rank > 0)
    free[firsts[code[judged]] + rank[judged] - 1] = False
    holes = np.flatnonzero(free)
    query = np.repeat(np.arange(len(retrieved)), retrieved)[holes]
    ranks = (holes - firsts[query] + 1).astype(np.int32)
    return Listed(query, np.full(len(holes), -1), ranks)


@record
class WithHoles:
    """Hold judgments and unjudged retrieved documents ("holes"), with a joint order by query."""

    part: MatchedJudgments
    holes: Listed
    # the permutation of the concatenated rows (judgments, then holes) that groups them by query
    order: Ints
    # the first row of each query in this order
    starts: Ints

    @classmethod
    def from_listed(cls, part: MatchedJudgments, holes: Listed) -> WithHoles:
        """Group judgments and unjudged retrieved documents (`holes`) by query."""
        code = number_segments(part.starts, len(part.rank))
        lengths = segment_lengths(part.starts, len(part.rank))
        lengths = lengths + np.bincount(holes.query, minlength=len(lengths))
        order = sort_order(np.concatenate([code, holes.query]))
        return cls(part, holes, order, np.cumsum(lengths) - lengths)

    def filled(self, grades: Floats) -> MatchedJudgments:
        """Return judgments that include the unjudged documents, with the grades in `grades`."""
        part, holes = self.part, self.holes
        columns = {
            "grades": (part.grades, grades),
            "rank": (part.rank, holes.rank),
            "tied_rank": (part.tied_rank, holes.tied_rank),
            "score": (part.score, holes.value),
        }
        joined: dict[str, Any] = {
            name: None if own is None or added is None else np.concatenate([own, added])[self.order]
            for name, (own, added) in columns.items()
        }
        if holes.docs is not None:
            joined["ids"] = taken(pl.concat([part.docs, holes.docs], rechunk=True), self.order)
        return replace(part, starts=self.starts, subtopics=None, **joined)
