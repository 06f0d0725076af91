"""List all documents that a run has for judged queries, with and without a judgment."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, RANK, SCORE
from rankframe.core.options import Policies
from rankframe.frames.judgments import IndexedJudgments, SubtopicRows
from rankframe.kernel.batch import Batch, as_text, taken
from rankframe.kernel.duplicates import deduplicate_batch
from rankframe.kernel.matching import match_documents
from rankframe.kernel.ranking import DocumentRanks, rank_documents
from rankframe.kernel.segments import (
    ascending,
    number_segments,
    position,
    segment_lengths,
    segment_starts,
    sort_order,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Listed:
    """Hold documents of judged queries, in any order."""

    # the number of the query, and of the judgment; -1: not judged
    query: NDArray[np.integer]
    judgment: NDArray[np.integer]
    rank: NDArray[np.int32]
    # score, or else rank, as given; None where rows say the order
    value: Floats | None = None
    # the mean rank of those with the same score; the ids: where these are asked for
    tied_rank: Floats | None = None
    docs: pl.Series | None = None

    def some(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Listed:
        """Select documents."""

        def taken(values: Floats | None) -> Floats | None:
            return None if values is None else values[rows]

        docs = None if self.docs is None else self.docs.gather(np.arange(len(self.rank))[rows])
        return Listed(
            self.query[rows],
            self.judgment[rows],
            self.rank[rows],
            taken(self.value),
            taken(self.tied_rank),
            docs,
        )


@dataclass
class Listing:
    """Collect documents, batch by batch."""

    tied_rank: bool = False
    docs: bool = False
    # no deeper than this
    k_max: int | None = None
    _parts: list[pl.DataFrame] = field(default_factory=list)

    def add(
        self, chunk: Batch, numbers: Ints, rows: Ints, judged: Ints, found: DocumentRanks
    ) -> None:
        """Add the documents of a batch.

        `numbers`: of its queries, -1 where not judged; `rows` and which judgments these are;
        `found`: the places of all rows.
        """
        query = numbers.astype(np.int32)[chunk.code]
        judgment = np.full(chunk.height, -1, np.int32)
        judgment[rows] = judged
        columns = {"query": query, "judgment": judgment, "rank": found.rank.astype(np.int32)}
        value = next((chunk.numbers[name] for name in (SCORE, RANK) if name in chunk.numbers), None)
        if value is not None:
            columns["value"] = value
        if self.tied_rank:
            last = found.last if self.k_max is None else np.minimum(found.last, self.k_max)
            columns["tied_rank"] = (found.first + last) / 2
        part = pl.DataFrame(columns)
        if self.docs:
            part = part.with_columns(as_text(chunk.docs.every).alias(DOC))
        keep = query >= 0
        if self.k_max is not None:
            keep &= found.rank <= self.k_max
        self._parts.append(part if keep.all() else part.filter(pl.Series(keep)))

    def all(self) -> Listed:
        """Return the documents of all batches."""
        if not self._parts:
            nothing = np.empty(0, np.int64)
            ids = pl.Series(DOC, [], pl.String) if self.docs else None
            return Listed(nothing, nothing, nothing.astype(np.int32), docs=ids)
        whole = pl.concat(self._parts, rechunk=True)
        self._parts = [whole]

        def column(name: str) -> Floats | None:
            return whole[name].to_numpy() if name in whole.columns else None

        return Listed(
            whole["query"].to_numpy(),
            whole["judgment"].to_numpy(),
            whole["rank"].to_numpy(),
            column("value"),
            column("tied_rank"),
            whole[DOC] if self.docs else None,
        )


def unlisted_holes(starts: Ints, rank: NDArray[np.int32], retrieved: Ints) -> Listed:
    """Return documents without a judgment: the ranks that judged documents leave.

    `rank`: of each judgment (0: not retrieved); `retrieved`: how many documents each query has.
    """
    code = number_segments(starts, len(rank))
    firsts = np.cumsum(retrieved) - retrieved
    total = int(retrieved.sum())
    free = np.ones(total, np.bool_)
    found = np.flatnonzero(rank > 0)
    free[firsts[code[found]] + rank[found] - 1] = False
    holes = np.flatnonzero(free)
    some = np.flatnonzero(retrieved)
    place = position(firsts[some], total)
    query = np.repeat(some, retrieved[some])
    return Listed(query[holes], np.full(len(holes), -1), place[holes] + 1)


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass
class Seen:
    """Count what a run has."""

    rows: int = 0
    queries: int = 0
    # documents with the same score as the one ranked just above them
    tied: int = 0
    # queries whose ranks contradict their scores; None where the run has only one of them
    disagreeing: int | None = None
    # queries whose ranks are not 1, 2, 3, …; None where ranks do not say the order
    anew: int | None = None
    # rows of documents of which a better one was kept
    dropped: int = 0
    # judged documents, before the run is cut at `k_max` or condensed
    overlap: int = 0


class Found:
    """Collect every judgment's rank in a run."""

    def __init__(
        self,
        judgments: IndexedJudgments,
        policies: Policies,
        *,
        tied_rank: bool = False,
        scores: bool = False,
        listing: Listing | None = None,
    ) -> None:
        """Begin; `tied_rank`, `scores`: collect these too; `listing`: collects all documents."""
        self.judgments = judgments
        self.policies = policies
        # 0: not retrieved
        self.rank = np.zeros(judgments.height, np.int32)
        self.tied_rank = np.zeros(judgments.height) if tied_rank else None
        self.score = np.zeros(judgments.height) if scores else None
        self.listing = listing
        self.retrieved = np.zeros(len(judgments.starts), np.int64)
        self.in_run = np.zeros(len(judgments.starts), np.bool_)
        self.seen = Seen()
        # scores of all documents of judged queries, where these are asked for
        self._pool: list[Floats] = []
        self._lock = threading.Lock()

    @property
    def pool(self) -> Floats | None:
        """Return the scores of all documents of judged queries, ascending."""
        if self.score is None:
            return None
        if self.policies.judged_only:
            return np.sort(self.score[(self.rank > 0) & (self.judgments.grades >= 0)])
        return np.sort(np.concatenate([np.empty(0), *self._pool]))

    def add(self, batch: Batch) -> None:
        """Look up a batch."""
        numbers = self.judgments.find(batch)
        known = np.flatnonzero(numbers >= 0)
        self.in_run[numbers[known]] = True
        matches = match_documents(batch, self.judgments, numbers)
        height, lengths, above, ranks = batch.height, batch.lengths, None, self.policies.ranks
        if matches is None:
            batch, ranks, above = deduplicate_batch(batch, self.policies)
            matches = match_documents(batch, self.judgments, numbers)
            assert matches is not None  # what was there twice was dropped
        rows, judged = matches.batch_rows, matches.index_rows
        ranked = rows if self.listing is None else None
        found = rank_documents(batch, ranked, ties=self.policies.ties, ranks=ranks)
        if above is not None:  # what was counted of chunks
            found = replace(found, tied=above.tied, contradicting=above.contradicting,
                            renumbered=above.renumbered)  # fmt: skip
        if self.listing is not None:
            self.listing.add(batch, numbers, rows, judged, found)
            found = found.take(rows)
        self._keep(batch, rows, judged, found.rank, found.first, found.last)
        lengths = _lengths(batch, self.policies, None if above is None else lengths)
        self.retrieved[numbers[known]] = lengths[known]
        if self.score is not None:
            self._pool += _top_scores(batch, numbers >= 0, self.policies.k_max)
        with self._lock:
            seen = self.seen
            seen.rows += height
            seen.dropped += height - batch.height
            seen.queries += len(batch.starts)
            seen.tied += found.tied
            seen.overlap += len(rows)
            if found.contradicting is not None:
                seen.disagreeing = (seen.disagreeing or 0) + found.contradicting
            if found.renumbered is not None:
                seen.anew = (seen.anew or 0) + found.renumbered

    def put(
        self, chunk: Batch, numbers: Ints, rows: Ints, judged: Ints, where: DocumentRanks
    ) -> None:
        """Keep where the documents of a chunk stand that were looked up before.

        `numbers`: of its queries, all of which are judged; `rows`, `judged`: which of its rows are,
        and by which judgments.
        """
        self._keep(chunk, rows, judged, where.rank, where.first, where.last)
        self.retrieved[numbers] = _lengths(chunk, self.policies)
        self.in_run[numbers] = True

    def _keep(
        self, chunk: Batch, rows: Ints, judged: Ints, rank: Ints, first: Ints, last: Ints
    ) -> None:
        most = self.policies.k_max
        if most is not None:
            kept = np.flatnonzero(rank <= most)
            rows, judged, rank = rows[kept], judged[kept], rank[kept]
            first, last = first[kept], np.minimum(last[kept], most)
        self.rank[judged] = rank
        if self.tied_rank is not None:
            self.tied_rank[judged] = (first + last) / 2
        if self.score is not None:
            self.score[judged] = chunk.numbers[SCORE][rows]


def _lengths(chunk: Batch, policies: Policies, given: Ints | None = None) -> Ints:
    """Return the length of each query's list; where ranks are kept, the last rank.

    `given`: lengths before documents were rolled up, where ranks are kept.
    """
    lengths = chunk.lengths if given is None else given
    if policies.ranks == "kept" and chunk.height:
        lengths = np.maximum.reduceat(chunk.numbers[RANK], chunk.starts).astype(np.int64)
    return lengths if policies.k_max is None else np.minimum(lengths, policies.k_max)


def _top_scores(chunk: Batch, of: NDArray[np.bool_], most: int | None) -> list[Floats]:
    """Return the scores of the documents of flagged queries, down to `k_max`."""
    if most is None:
        return [chunk.numbers[SCORE][np.repeat(of, chunk.lengths)]]
    best = ascending(-chunk.numbers[SCORE], chunk.starts, chunk.lengths)
    tops = (some.values[of[some.queries], :most] for some in best)
    return [-top[np.isfinite(top)] for top in tops]


@dataclass(frozen=True)
class Matched:
    """Hold judgments of whole queries, query by query, and their ranks in a run."""

    # as text
    queries: pl.Series
    # the first judgment of each query
    starts: Ints
    grades: Floats
    rank: NDArray[np.int32]
    tied_rank: Floats | None
    # documents that the run has for each query, and whether it has the query at all
    retrieved: Ints
    in_run: NDArray[np.bool_]
    # of the retrieved; of all documents of judged queries, ascending
    score: Floats | None
    pool: Floats | None
    judgments: IndexedJudgments
    # the first of these judgments among all
    first: int
    # what the documents are about, where judgments say so
    groups: SubtopicRows | None = None

    def docs(self) -> pl.Series:
        """Return the judged documents, as text."""
        rows = np.arange(self.first, self.first + len(self.rank))
        return as_text(self.judgments.ids_of(DOC, rows))


def matched(found: Found, first: int, end: int) -> Matched:
    """Return the judgments of consecutive queries."""
    judgments = found.judgments
    rows = judgments.rows_of(first, end)

    def some(values: Floats | None) -> Floats | None:
        return None if values is None else values[rows]

    part = Matched(
        queries=as_text(judgments.queries[first:end]),
        starts=judgments.starts[first:end] - rows.start,
        grades=judgments.grades[rows],
        rank=found.rank[rows],
        tied_rank=some(found.tied_rank),
        retrieved=found.retrieved[first:end],
        in_run=found.in_run[first:end],
        score=some(found.score),
        pool=found.pool,
        judgments=judgments,
        first=rows.start,
        groups=None if judgments.groups is None else judgments.groups.some(rows.start, rows.stop),
    )
    return condensed(part) if found.policies.judged_only else part


def condensed(part: Matched) -> Matched:
    """Close the gaps that documents without a judgment leave.

    As in trec_eval, a negative grade says "in the pool, but not judged".
    """
    grades = part.grades
    code = number_segments(part.starts, len(grades)).astype(np.int64)
    kept = np.flatnonzero((part.rank > 0) & (grades >= 0))
    kept = kept[sort_order(code[kept], part.rank[kept])]
    starts = segment_starts(code[kept])
    place = position(starts, len(kept)) + 1
    rank = np.zeros_like(part.rank)
    rank[kept] = place
    tied_rank = None
    if part.tied_rank is not None:
        tied_rank = np.zeros(len(grades))
        blocks = segment_starts(_block_key(code[kept], part.tied_rank[kept]))
        ends = np.append(blocks[1:], len(kept))
        mean = (place[blocks] + place[ends - 1]) / 2 if len(kept) else np.empty(0)
        tied_rank[kept] = np.repeat(mean, ends - blocks)
    retrieved = np.bincount(code[kept], minlength=len(part.starts))
    return replace(part, rank=rank, tied_rank=tied_rank, retrieved=retrieved)


def _block_key(code: Ints, tied_rank: Floats) -> Ints:
    """Return a number that changes where the query or the (doubled) mean rank does."""
    return code * (int(tied_rank.max(initial=0)) * 2 + 2) + (tied_rank * 2).astype(np.int64)


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Some = TypeVar("Some", bound="NDArray[Any] | pl.Series")


@dataclass(frozen=True)
class Filled(Matched):
    """Hold the judgments of whole queries and, among them, documents that were given grades."""

    # where these are known
    ids: pl.Series | None = None

    def docs(self) -> pl.Series:
        """Return the documents, as text."""
        assert self.ids is not None  # documents were listed with their ids
        return self.ids

    def blocks(self, rows: int) -> list[tuple[int, int]]:
        """Divide the queries into blocks of about `rows` rows: the first query, and the end."""
        cuts = np.unique(np.searchsorted(self.starts, np.arange(0, len(self.rank), rows)))
        ends = [*cuts[1:].tolist(), len(self.starts)]
        return [(a, b) for a, b in zip(cuts.tolist(), ends, strict=True) if a < b]

    def some(self, first: int, end: int) -> Filled:
        """Select consecutive queries."""
        last = self.starts[end] if end < len(self.starts) else len(self.rank)
        rows = slice(int(self.starts[first]), int(last))

        def cut(values: Some | None) -> Some | None:
            return None if values is None else values[rows]  # pyright: ignore[reportReturnType]

        return replace(
            self,
            queries=self.queries[first:end],
            starts=self.starts[first:end] - rows.start,
            grades=self.grades[rows],
            rank=self.rank[rows],
            tied_rank=cut(self.tied_rank),
            retrieved=self.retrieved[first:end],
            in_run=self.in_run[first:end],
            score=cut(self.score),
            ids=cut(self.ids),
        )


@dataclass(frozen=True)
class WithHoles:
    """Hold judgments, documents without one, and where their rows go, query by query."""

    part: Matched
    holes: Listed
    # where each row was, the holes behind the judgments
    order: Ints
    starts: Ints

    @classmethod
    def of(cls, part: Matched, holes: Listed) -> WithHoles:
        """Bring the rows of each query together."""
        code = number_segments(part.starts, len(part.rank))
        lengths = segment_lengths(part.starts, len(part.rank))
        lengths = lengths + np.bincount(holes.query, minlength=len(lengths))
        order = sort_order(np.concatenate([code, holes.query]))
        return cls(part, holes, order, np.cumsum(lengths) - lengths)

    def filled(self, grades: Floats) -> Filled:
        """Give grades to the holes."""
        part, holes = self.part, self.holes

        def joined(ours: Floats | None, theirs: Floats | None) -> Floats | None:
            if ours is None or theirs is None:
                return None
            return np.concatenate([ours, theirs])[self.order]

        ids = None
        if holes.docs is not None:
            ids = taken(pl.concat([part.docs(), holes.docs], rechunk=True), self.order)
        return Filled(
            queries=part.queries,
            starts=self.starts,
            grades=np.concatenate([part.grades, grades])[self.order],
            rank=np.concatenate([part.rank, holes.rank])[self.order],
            tied_rank=joined(part.tied_rank, holes.tied_rank),
            retrieved=part.retrieved,
            in_run=part.in_run,
            score=joined(part.score, holes.value),
            pool=part.pool,
            judgments=part.judgments,
            first=part.first,
            ids=ids,
        )
