"""The ranks of some rows of a chunk: those of judged documents, which are few beside the others.

A run in order of its scores is not sorted at all; in others only scores are, within each query.
Ids are looked at where scores tie, and there only for the rows that are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankframe.core.columns import RANK, SCORE, SCORE_REST
from rankframe.core.options import Ranks, Ties
from rankframe.kernel.batch import Batch, as_text
from rankframe.kernel.rank import (
    exact_order,
    kept_ranks,
    numbered_anew,
    order_within,
    rank_contradictions,
    same_as_above,
)
from rankframe.kernel.segments import number_segments, ranges, segment_lengths
from rankframe.kernel.within import ascending

Ints = NDArray[np.int64]
# Comparing ids may take so many times as many steps as there are rows; beyond it, they are sorted.
_PATIENCE = 4
# Rows are told apart by so many bits of a hash of query and score, before these are compared.
_MARK_BITS = 17
_FACTORS = np.array([0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9], np.uint64)


@dataclass(frozen=True)
class Places:
    """Where some rows of a chunk are ranked."""

    rank: Ints
    # the ranks of the first and the last document with the same score
    first: Ints
    last: Ints
    # of the whole chunk: documents with the same score as the one ranked just above them
    tied: int
    # of the whole chunk: queries whose ranks contradict their scores; None: not both are given
    disagreeing: int | None = None
    # of the whole chunk: queries whose ranks are not 1, 2, 3, …; None: they do not say the order
    anew: int | None = None

    def some(self, rows: Ints) -> Places:
        """Those of some of the rows."""
        return replace(self, rank=self.rank[rows], first=self.first[rows], last=self.last[rows])


def places(chunk: Batch, rows: Ints, ties: Ties, ranks: Ranks = "renumbered") -> Places:
    """Rank some rows of a chunk: by score descending, else by rank, else as given.

    Ranks that are to be kept are those of the rows.
    """
    if ranks == "kept":
        given = kept_ranks(chunk.numbers[RANK], chunk.code, lambda row: _query(chunk, row))
        rank = given[rows].astype(np.int64)
        return Places(rank, rank, rank, 0)
    found = _numbered(chunk, rows, ties)
    if SCORE in chunk.numbers or RANK not in chunk.numbers:
        return found
    return replace(found, anew=numbered_anew(chunk.numbers[RANK], chunk.code, chunk.starts))


def _query(chunk: Batch, row: int) -> str:
    return as_text(chunk.queries)[int(chunk.code[row])]


def _numbered(chunk: Batch, rows: Ints, ties: Ties) -> Places:
    code = chunk.code[rows]
    goodness = _goodness(chunk)
    if goodness is None:
        rank = rows - chunk.starts[code] + 1
        return Places(rank, rank, rank, 0)
    rises = goodness[1:] > goodness[:-1]
    rises[chunk.starts[1:] - 1] = False
    descending = not rises.any()
    both = SCORE in chunk.numbers and RANK in chunk.numbers
    if both and not (descending and _ranks_rise(chunk)):
        return _by_sorting(chunk, rows, goodness, ties)
    found = (_as_they_are if descending else _by_score)(chunk, rows, code, goodness, ties)
    if found is None:
        return _by_sorting(chunk, rows, goodness, ties)
    return Places(found.rank, found.first, found.last, found.tied, 0 if both else None)


def _goodness(chunk: Batch) -> NDArray[np.float64] | None:
    """A number per row that is larger for the better document; None for rows as given."""
    if SCORE in chunk.numbers:
        return exact_order(chunk.numbers[SCORE], chunk.numbers.get(SCORE_REST))
    return -chunk.numbers[RANK] if RANK in chunk.numbers else None


def _ranks_rise(chunk: Batch) -> bool:
    rank = chunk.numbers[RANK]
    rises = rank[1:] > rank[:-1]
    rises[chunk.starts[1:] - 1] = True
    return bool(rises.all())


def _as_they_are(
    chunk: Batch, rows: Ints, code: NDArray[np.int32], goodness: NDArray[np.float64], ties: Ties
) -> Places | None:
    """In a run in order, a rank is a place, but for ties."""
    same = np.zeros(chunk.height + 1, np.bool_)
    same[1:-1] = goodness[1:] == goodness[:-1]
    same[chunk.starts] = False
    tied = int(np.count_nonzero(same))
    starts = chunk.starts[code]
    rank = rows - starts + 1
    first, last = rank.copy(), rank.copy()
    among = np.flatnonzero(same[rows] | same[rows + 1]) if tied else rows[:0]
    if len(among):
        blocks = np.append(np.flatnonzero(~same[:-1]), chunk.height)
        of = np.searchsorted(blocks, rows[among], side="right") - 1
        begin, end = blocks[of], blocks[of + 1]
        first[among] = begin - starts[among] + 1
        last[among] = end - starts[among]
        if ties != "as_given":
            if int((end - begin).sum()) > _PATIENCE * chunk.height:
                return None
            others = ranges(begin, end - begin)
            owner = np.repeat(np.arange(len(among)), end - begin)
            rank[among] = first[among] + _above(chunk, rows[among], others, owner, ties)
    return Places(rank, first, last, tied)


def _by_score(
    chunk: Batch, rows: Ints, code: NDArray[np.int32], goodness: NDArray[np.float64], ties: Ties
) -> Places | None:
    """Scores sorted within each query; a rank is how many are better."""
    first, last = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    tied = 0
    place = np.empty(len(chunk.starts), np.int64)
    for some in ascending(-goodness, chunk.starts, chunk.lengths):
        repeats = some.repeats
        tied += repeats
        place[some.queries] = np.arange(len(some.queries))
        if len(some.queries) == len(chunk.starts):
            mine = slice(None)
        else:
            here = np.zeros(len(chunk.starts), np.bool_)
            here[some.queries] = True
            mine = np.flatnonzero(here[code])
        at, wanted = place[code[mine]], -goodness[rows[mine]]
        better = some.before(at, wanted, equal=False)
        upto = better + 1
        if repeats:
            again = np.flatnonzero(some.repeated(at, better))
            upto[again] = some.before(at[again], wanted[again], equal=True)
        first[mine], last[mine] = better + 1, upto
    rank = first.copy()
    among = np.flatnonzero(last > first)
    if len(among):
        if int((last - first + 1)[among].sum()) > _PATIENCE * chunk.height:
            return None
        others, owner = _peers(chunk, rows[among], goodness)
        rank[among] += _above(chunk, rows[among], others, owner, ties)
    return Places(rank, first, last, tied)


def _peers(chunk: Batch, rows: Ints, goodness: NDArray[np.float64]) -> tuple[Ints, Ints]:
    """All rows with the query and the score of some row, and which of the rows that is."""
    mixed = (goodness + 0.0).view(np.uint64) * _FACTORS[0]
    mixed += chunk.code.astype(np.uint64)
    mixed *= _FACTORS[1]
    mixed >>= np.uint64(64 - _MARK_BITS)
    slots = mixed.view(np.int64)
    marked = np.zeros(1 << _MARK_BITS, np.bool_)
    marked[slots[rows]] = True
    near = np.flatnonzero(marked[slots])
    code, value = chunk.code[near], goodness[near]
    order = np.lexsort((value, code))
    code, value = code[order], value[order]
    new = np.ones(len(near), np.bool_)
    new[1:] = (code[1:] != code[:-1]) | (value[1:] != value[:-1])
    starts = np.flatnonzero(new)
    block = np.empty(len(near), np.int64)
    block[order] = number_segments(starts, len(near))
    of = block[np.searchsorted(near, rows)]
    lengths = segment_lengths(starts, len(near))[of]
    return near[order][ranges(starts[of], lengths)], np.repeat(np.arange(len(rows)), lengths)


def _above(chunk: Batch, rows: Ints, others: Ints, owner: Ints, ties: Ties) -> Ints:
    """How many of the others, which have the same score, are ranked above each row.

    `owner`: which row each of the others is compared with.
    """
    if ties == "as_given":
        before = others < rows[owner]
    else:
        theirs, ours = as_text(chunk.docs.taken(others)), as_text(chunk.docs.taken(rows[owner]))
        before = (theirs > ours if ties == "doc_desc" else theirs < ours).to_numpy()
    return np.bincount(owner[before], minlength=len(rows))


def _by_sorting(chunk: Batch, rows: Ints, goodness: NDArray[np.float64], ties: Ties) -> Places:
    """Every row of the chunk in order."""
    order, unsure = order_within(chunk.docs, chunk.code, chunk.starts, goodness, ties)
    same = same_as_above(chunk.code, goodness, order, unsure)
    place = np.empty(chunk.height, np.int64)
    place[order] = np.arange(chunk.height)
    blocks = np.append(np.flatnonzero(~same), chunk.height)
    at = place[rows]
    of = np.searchsorted(blocks, at, side="right") - 1
    starts = chunk.starts[chunk.code[rows]]
    disagreeing = None
    if SCORE in chunk.numbers and RANK in chunk.numbers:
        rank = chunk.numbers[RANK][order]
        disagreeing = rank_contradictions(goodness[order], rank, chunk.code)
    return Places(
        at - starts + 1,
        blocks[of] - starts + 1,
        blocks[of + 1] - starts,
        int(same.sum()),
        disagreeing,
    )
