"""Rank the documents of each query: by score descending, else by rank, else in order of the rows.

A run that is already in descending order of scores is not sorted at all. In other runs, only the
scores are sorted, within each query. Ids are compared only to break ties of rows whose ranks are
needed: mostly the judged rows, which are few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints
from rankframe.core.columns import QUERY, RANK, SCORE, SCORE_REST
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import JudgedTies, Ranks
from rankframe.core.records import record
from rankframe.kernel.batch import Batch, Ids, as_text, text_order_within
from rankframe.kernel.segments import (
    ascending,
    descending_bits,
    number_segments,
    order_by_lead,
    position,
    ranges,
    segment_lengths,
    segment_starts,
)
from rankframe.kernel.tables import FACTORS

_LARGEST_RANK = np.iinfo(np.int32).max
# Ties are broken by comparing pairs of ids, up to this number of pairs per row of the batch; beyond
# that, sorting is faster.
_PATIENCE = 4
# Candidates for ties are found by this number of bits of a hash of query and score, before query
# and score themselves are compared.
_MARK_BITS = 17


@record
class DocumentRanks:
    """Hold ranks of rows of a batch, and counts of ties and contradictions in the whole batch."""

    rank: Ints
    # the ranks of the first and the last document with the same score
    first: Ints
    last: Ints
    # documents with the same score as the document ranked just above them
    tied: int = 0
    # queries whose ranks contradict their scores; None: the batch has only one of the two
    contradicting: int | None = None
    # queries whose ranks are not 1, 2, 3, …; None: ranks do not decide the order
    renumbered: int | None = None
    # rows that are better, by score or rank, than the row before them in the input, of the same
    # query; 0 if the batch has both scores and ranks: the order of the rows then means nothing
    rising: int = 0

    def take(self, rows: Ints) -> DocumentRanks:
        """Return the ranks of the given rows; the counts stay those of the whole batch."""
        return replace(self, rank=self.rank[rows], first=self.first[rows], last=self.last[rows])


def rank_documents(
    batch: Batch, rows: Ints | None = None, *, ties: JudgedTies, ranks: Ranks = "renumbered"
) -> DocumentRanks:
    """Rank rows of a batch among all documents of their queries.

    Args:
        batch: The documents, without duplicates.
        rows: The rows to rank. None: all.
        ties: How equal scores are ordered. "best" and "worst" depend on grades, which are not known
            here: both order ties by id, as "doc_desc" does. A caller with grades then reorders the
            ties between `first` and `last`.
        ranks: "kept" returns the ranks of the batch, and refuses numbers that cannot be ranks.
    """
    if ranks == "kept":
        rank = kept_ranks(batch).astype(np.int64)
        rank = rank if rows is None else rank[rows]
        return DocumentRanks(rank, rank, rank)
    scores, result = _sort_values(batch, ties), None
    if rows is not None and scores is not None:
        result = _rank_rows(batch, rows, scores, ties)
    if result is None:
        result = _rank_all(_order(batch, scores, ties), scores)
        result = result if rows is None else result.take(rows)
    if RANK not in batch.numbers:
        return result
    if SCORE in batch.numbers:
        return replace(result, rising=0)
    return replace(result, renumbered=_count_renumbered(batch))


@dataclass(eq=False)
class RankedBatch:
    """Hold the rows of a batch, sorted by query and rank, and truncated at a depth."""

    batch: Batch
    # the number of rows of each query, after truncation
    lengths: Ints
    # the batch row of each ranked row; None: all rows of the batch, in their order
    rows: Ints | None
    # flags of rows with the same score as the row above; None: there are no ties
    same: Flags | None
    # before truncation: documents with the same score as the document ranked just above them
    tied: int
    # rows with a better score than the row before them in the batch, of the same query
    rising: int = 0

    def __post_init__(self) -> None:
        self.starts = self.batch.starts
        self.height = self.batch.height
        if self.rows is not None:
            self.starts = np.cumsum(self.lengths) - self.lengths
            self.height = len(self.rows)

    @classmethod
    def from_batch(cls, batch: Batch, ties: JudgedTies, k_max: int | None = None) -> RankedBatch:
        """Rank the documents of a batch, and keep the top `k_max` of each query."""
        ranked = _order(batch, _sort_values(batch, ties), ties)
        if k_max is None or int(batch.lengths.max(initial=0)) <= k_max:
            return ranked
        lengths = np.minimum(batch.lengths, k_max)
        kept = ranges(batch.starts, lengths)
        rows = kept if ranked.rows is None else ranked.rows[kept]
        same = None if ranked.same is None else ranked.same[kept]
        return cls(batch, lengths, rows, same, ranked.tied, ranked.rising)

    @cached_property
    def rank(self) -> Codes:
        """Return the rank of each row."""
        rank = position(self.starts, self.height)
        rank += 1
        return rank

    @cached_property
    def tie_bounds(self) -> tuple[AnyInts, AnyInts]:
        """Return, for each row, the first and last rank of the documents with the same score."""
        if self.same is None:
            return self.rank, self.rank
        starts = np.flatnonzero(~self.same)
        lengths = segment_lengths(starts, self.height)
        first = self.rank[starts].astype(np.int64)
        last = first + lengths - 1
        return np.repeat(first, lengths), np.repeat(last, lengths)

    @cached_property
    def tied_rank(self) -> Floats:
        """Return, for each row, the mean rank of the documents with the same score."""
        first, last = self.tie_bounds
        return (first + last) / 2

    @property
    def docs(self) -> pl.Series:
        """Return the document ids of the ranked rows."""
        docs = self.batch.docs
        return docs.all() if self.rows is None else docs.take(self.rows)

    @cached_property
    def score(self) -> Floats | None:
        """Return the score of each ranked row, or None if the batch has no scores."""
        return self.take(self.batch.numbers[SCORE]) if SCORE in self.batch.numbers else None

    @cached_property
    def places(self) -> Ints | None:
        """Return each batch row's ranked position; -1: cut off. None: the order is the same."""
        if self.rows is None:
            return None
        places = np.full(self.batch.height, -1)
        places[self.rows] = np.arange(len(self.rows))
        return places

    @cached_property
    def renumbered(self) -> int | None:
        """Count the queries whose ranks in the input are not 1, 2, 3, …

        Returns None if ranks do not decide the order.
        """
        if SCORE in self.batch.numbers or RANK not in self.batch.numbers:
            return None
        differs = self.take(self.batch.numbers[RANK]) != self.rank
        return int(np.count_nonzero(np.logical_or.reduceat(differs, self.starts)))

    def take(self, values: NDArray[Any]) -> NDArray[Any]:
        """Put an array with one value per batch row into ranked order, without rows cut off."""
        return values if self.rows is None else values[self.rows]


def kept_ranks(batch: Batch) -> Codes:
    """Return the ranks in the input; refuse fractions, ranks below 1 and shared ranks."""
    rank = batch.numbers[RANK]
    wrong = np.flatnonzero((rank != np.floor(rank)) | (rank < 1) | (rank > _LARGEST_RANK))
    order = np.lexsort((rank, batch.code))
    ordered, code = rank[order], batch.code[order]
    again = order[:-1][(ordered[1:] == ordered[:-1]) & (code[1:] == code[:-1])]
    if len(wrong):
        row, need, problem = int(wrong[0]), "whole numbers from 1", "a rank of"
    elif len(again):
        row, need, problem = int(again[0]), "a rank of its own for each", "two documents of rank"
    else:
        return rank.astype(np.int32)
    query = as_text(batch.queries)[int(batch.code[row])]
    raise OptionError(
        Option("ranks", "kept"),
        f" needs {need}, and the run has {problem} {rank[row]:g}, for {QUERY} {query!r}. "
        "Without it, ranks only say the order.",
    )


def order_by_score(
    docs: Ids, code: Codes, starts: Ints, scores: Floats, ties: JudgedTies
) -> tuple[Ints, Flags]:
    """Sort the rows of each query by score, descending.

    Returns the permutation, and flags of the sorted rows that may tie with a neighbour.
    """
    lead = descending_bits(scores)
    order, unsure = order_by_lead(lead, starts, segment_lengths(starts, len(lead)))
    positions = np.flatnonzero(unsure)
    if not len(positions):
        return order, unsure
    # The rows at `positions` share the leading bits of their scores with a neighbour.
    rows = order[positions]
    values, owner = scores[rows] + 0.0, code[rows]
    rises = (values[1:] > values[:-1]) & (owner[1:] == owner[:-1])
    if rises.any():
        # Some scores are equal only in their leading bits. Rows with equal scores stay in order.
        mixed = np.isin(owner, np.unique(owner[1:][rises]))
        table = pl.DataFrame({"code": owner[mixed], "score": values[mixed], "row": rows[mixed]})
        table = table.sort("code", "score", "row", descending=[False, True, False])
        rows[mixed], values[mixed] = table["row"].to_numpy(), table["score"].to_numpy()
    if ties != "as_given":
        segments = segment_starts(owner, values)
        rows = text_order_within(docs, rows, segments, descending=ties != "doc_asc")
    order[positions] = rows
    return order, unsure


def _sort_values(batch: Batch, ties: JudgedTies) -> Floats | None:
    """Return values whose descending order is the ranking: scores, or else negated ranks.

    Returns None if the batch has neither: then the order of the rows is the ranking.
    """
    if SCORE not in batch.numbers:
        return -batch.numbers[RANK] if RANK in batch.numbers else None
    keys = [batch.numbers[SCORE]]
    rest = batch.numbers.get(SCORE_REST)
    if rest is not None and rest.any():
        keys.append(rest)
    if ties == "rank" and RANK in batch.numbers:
        keys.append(-batch.numbers[RANK])
    if len(keys) == 1:
        return keys[0]
    # Replace several sort keys by one number: the dense rank in their lexicographic order.
    order = np.lexsort(keys[::-1])
    differs = np.zeros(len(order), np.bool_)
    for key in keys:
        ordered = key[order]
        differs[1:] |= ordered[1:] != ordered[:-1]
    levels = np.empty(len(order))
    levels[order] = np.cumsum(differs)
    return levels


def _rises(batch: Batch, values: Floats, *, between_queries: bool) -> Flags:
    """Flag the rows whose value is larger than in the row above; the first row has no flag.

    The first row of each further query is flagged if `between_queries` is true.
    """
    rises = values[1:] > values[:-1]
    rises[batch.starts[1:] - 1] = between_queries
    return rises


def _repeats_above(batch: Batch, values: Floats) -> Flags:
    """Flag rows with the same query and value as the row above; an extra False ends the array."""
    same = np.zeros(batch.height + 1, np.bool_)
    same[1:-1] = values[1:] == values[:-1]
    same[batch.starts] = False
    return same


def _order(batch: Batch, scores: Floats | None, ties: JudgedTies) -> RankedBatch:
    """Sort the rows of each query by `scores` (see `_sort_values`), descending, and break ties."""
    order, same, rising = None, None, 0
    if scores is not None:
        rising = int(np.count_nonzero(_rises(batch, scores, between_queries=False)))
    if scores is not None and rising:
        order, unsure = order_by_score(batch.docs, batch.code, batch.starts, scores, ties)
        # Only neighbours with the same leading bits can have the same score.
        same = np.zeros(batch.height, np.bool_)
        rows = np.flatnonzero(unsure)
        values, owners = scores[order[rows]], batch.code[rows]
        equal = (owners[1:] == owners[:-1]) & (values[1:] == values[:-1])
        same[rows[1:][equal & (rows[1:] == rows[:-1] + 1)]] = True
    elif scores is not None:
        same = _repeats_above(batch, scores)[:-1]
    tied = 0 if same is None else int(np.count_nonzero(same))
    if same is not None and tied and order is None and ties != "as_given":
        order = _order_ties(batch, same, ties)
    return RankedBatch(batch, batch.lengths, order, same if tied else None, tied, rising)


def _order_ties(batch: Batch, same: Flags, ties: JudgedTies) -> Ints | None:
    """Return the permutation that breaks ties by id, for a batch sorted by score descending.

    Returns None if ties are in this order already.
    """
    lower = np.flatnonzero(same)
    above, below = (as_text(batch.docs.take(rows)) for rows in (lower - 1, lower))
    if (above > below if ties != "doc_asc" else above < below).all():
        return None
    among = same.copy()
    among[:-1] |= same[1:]
    rows = np.flatnonzero(among)
    starts = np.flatnonzero(~same[rows])
    order = np.arange(batch.height)
    order[rows] = text_order_within(batch.docs, rows, starts, descending=ties != "doc_asc")
    return order


def _rank_all(ranked: RankedBatch, scores: Floats | None) -> DocumentRanks:
    """Return the ranks of all rows of a sorted batch, and count ranks that contradict `scores`."""
    batch, contradicting = ranked.batch, None
    if scores is not None and SCORE in batch.numbers and RANK in batch.numbers:
        ranks = ranked.take(batch.numbers[RANK])
        contradicting = _count_contradictions(ranked.take(scores), ranks, batch.code)
    columns = np.array([ranked.rank, *ranked.tie_bounds], np.int64)
    if ranked.rows is not None:
        ordered, columns = columns, np.empty_like(columns)
        columns[:, ranked.rows] = ordered
    rank, first, last = columns
    return DocumentRanks(
        rank, first, last, ranked.tied, contradicting=contradicting, rising=ranked.rising
    )


def _rank_rows(batch: Batch, rows: Ints, scores: Floats, ties: JudgedTies) -> DocumentRanks | None:
    """Rank the given rows without sorting the whole batch; return None if this is not faster."""
    rising = int(np.count_nonzero(_rises(batch, scores, between_queries=False)))
    descending, contradicting = not rising, None
    if SCORE in batch.numbers and RANK in batch.numbers:
        if not (descending and _rises(batch, batch.numbers[RANK], between_queries=True).all()):
            return None
        contradicting = 0
    ranks = (_rank_descending if descending else _rank_by_counting)(batch, rows, scores, ties)
    if ranks is None:
        return None
    return replace(ranks, contradicting=contradicting, rising=rising)


def _rank_descending(
    batch: Batch, rows: Ints, scores: Floats, ties: JudgedTies
) -> DocumentRanks | None:
    """Rank rows of a batch that is sorted by score descending: by position, then break ties."""
    same = _repeats_above(batch, scores)
    tied = int(np.count_nonzero(same))
    starts = batch.starts[batch.code[rows]]
    rank: Ints | None = rows - starts + 1
    first, last = rank.copy(), rank.copy()
    among = np.flatnonzero(same[rows] | same[rows + 1]) if tied else rows[:0]
    if len(among):
        blocks = np.append(np.flatnonzero(~same[:-1]), batch.height)
        block = np.searchsorted(blocks, rows[among], side="right") - 1
        first[among] = blocks[block] - starts[among] + 1
        last[among] = blocks[block + 1] - starts[among]
        if ties != "as_given":
            rank = _break_ties(batch, rows, first, last, ties)
    return None if rank is None else DocumentRanks(rank, first, last, tied)


def _rank_by_counting(
    batch: Batch, rows: Ints, scores: Floats, ties: JudgedTies
) -> DocumentRanks | None:
    """Rank rows of a batch in any order: count the better scores, then break ties."""
    code = batch.code[rows]
    first, last = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    tied = 0
    place = np.empty(len(batch.starts), np.int64)
    for group in ascending(-scores, batch.starts, batch.lengths):
        repeats = group.repeats
        tied += repeats
        place[group.queries] = np.arange(len(group.queries))
        if len(group.queries) == len(batch.starts):
            mine = slice(None)
        else:
            here = np.zeros(len(batch.starts), np.bool_)
            here[group.queries] = True
            mine = np.flatnonzero(here[code])
        lists, targets = place[code[mine]], -scores[rows[mine]]
        better = group.before(lists, targets, equal=False)
        upto = better + 1
        if repeats:
            again = np.flatnonzero(group.repeated(lists, better))
            upto[again] = group.before(lists[again], targets[again], equal=True)
        first[mine], last[mine] = better + 1, upto
    rank = _break_ties(batch, rows, first, last, ties, scores)
    return None if rank is None else DocumentRanks(rank, first, last, tied)


def _break_ties(
    batch: Batch,
    rows: Ints,
    first: Ints,
    last: Ints,
    ties: JudgedTies,
    scores: Floats | None = None,
) -> Ints | None:
    """Return the rank of each row, given the ranks from `first` to `last` that its tie occupies.

    `scores` are the scores of all rows of the batch; None: the batch is sorted by score descending.
    Returns None if sorting is faster.
    """
    rank = first.copy()
    among = np.flatnonzero(last > first)
    if not len(among):
        return rank
    rows, lengths = rows[among], (last - first + 1)[among]
    if int(lengths.sum()) > _PATIENCE * batch.height:
        return None
    if scores is None:
        peers = ranges(batch.starts[batch.code[rows]] + first[among] - 1, lengths)
    else:
        peers = _find_peers(batch, rows, scores)
    owner = np.repeat(np.arange(len(rows)), lengths)
    if ties == "as_given":
        above = peers < rows[owner]
    else:
        peer_docs = as_text(batch.docs.take(peers))
        own_docs = as_text(batch.docs.take(rows[owner]))
        above = (peer_docs > own_docs if ties != "doc_asc" else peer_docs < own_docs).to_numpy()
    rank[among] += np.bincount(owner[above], minlength=len(rows))
    return rank


def _find_peers(batch: Batch, rows: Ints, scores: Floats) -> Ints:
    """Return, for each of the given rows in turn, all rows with the same query and score."""
    mixed = (scores + 0.0).view(np.uint64) * FACTORS[0]
    mixed += batch.code.astype(np.uint64)
    mixed *= FACTORS[1]
    mixed >>= np.uint64(64 - _MARK_BITS)
    slots = mixed.view(np.int64)
    marked = np.zeros(1 << _MARK_BITS, np.bool_)
    marked[slots[rows]] = True
    near = np.flatnonzero(marked[slots])
    code, value = batch.code[near], scores[near]
    order = np.lexsort((value, code))
    starts = segment_starts(code[order], value[order])
    block = np.empty(len(near), np.int64)
    block[order] = number_segments(starts, len(near))
    blocks = block[np.searchsorted(near, rows)]
    lengths = segment_lengths(starts, len(near))[blocks]
    return near[order][ranges(starts[blocks], lengths)]


def _count_renumbered(batch: Batch) -> int:
    """Count queries whose ranks, in any order, are not 1, 2, 3, …"""
    rank, code, starts = batch.numbers[RANK], batch.code, batch.starts
    if np.array_equal(rank, position(starts, len(rank)) + 1):
        return 0
    fits = (rank == np.floor(rank)) & (rank >= 1) & (rank <= batch.lengths[code])
    used = np.zeros(len(rank), np.bool_)
    used[starts[code[fits]] + rank[fits].astype(np.int64) - 1] = True
    return len(np.unique(code[~used]))


def _count_contradictions(score: Floats, rank: Floats, code: Codes) -> int:
    """Count queries in which a document has a better rank than one with a higher score.

    All arguments are in ranked order.
    """
    if not len(score):
        return 0
    # Compare the best rank of each block of equal scores with the worst rank of the blocks above.
    starts = segment_starts(code, score)
    code = code[starts]
    levels, places = np.unique(rank, return_inverse=True)
    best, worst = np.minimum.reduceat(places, starts), np.maximum.reduceat(places, starts)
    # Shift the ranks of each query above the ranks of earlier queries, so that one running maximum
    # serves all queries.
    lift = code.astype(np.int64) * len(levels)
    worst_above = np.maximum.accumulate(worst + lift)[:-1]
    contradicts = (code[1:] == code[:-1]) & (best[1:] + lift[1:] < worst_above)
    return len(np.unique(code[1:][contradicts]))
