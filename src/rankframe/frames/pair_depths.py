"""Compute the overlap of two rankings at each depth, with ties treated in RBO's three ways.

The documents of a tie group share the ranks from the first to the last of the group. Corsi and
Urbano (2024) define how much a document contributes at a depth inside its group. In variant `w`, it
contributes wholly from the first rank of the group on. In `a`, it contributes in proportion to how
far the depth reaches into the group. Variant `b` also corrects for the information that ties lose.
A depth cuts at most one group of each ranking, so counts of whole documents suffice: there is no
loop over depths or groups.

Variant `a` is the mean overlap over all orders of the ties. Below the end of the shorter ranking,
each document that this ranking lacks contributes as much as a document that only the longer ranking
has: partly, if inside a tie. The mean over all orders counts such documents wholly: that is the sum
of `agreement_a` and `unseen` or `unseen_most`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints
from rankframe.core.columns import ColumnRequest
from rankframe.core.records import record
from rankframe.frames.pair_sides import Ranking
from rankframe.kernel.segments import segment_lengths, segment_starts, spread


@record
class TieGroups:
    """Hold, for each row of the pair frame, the tie groups at its depth and of its document.

    A row of the pair frame stands for a depth and for a document: one group is at this depth, the
    other has this document.
    """

    # first and last rank of the group at each row's depth; 0 below the end of the ranking
    top: Ints
    bottom: Ints
    # first and last rank of the group of each row's document; 0 if the ranking lacks the document
    own_top: Ints
    own_bottom: Ints
    # the contribution, at each depth, of a document in the group at this depth; 1 below the end
    share: Floats

    @classmethod
    def from_ranking(cls, ranking: Ranking, begin: Ints, depth: Codes) -> TieGroups:
        """Find the tie groups of a ranking; `begin`: for each row, the first row of its query."""
        rows = len(depth)
        present = np.flatnonzero(ranking.present)
        places = begin[present] + ranking.rank[present] - 1
        mean = np.zeros(rows)
        mean[places] = ranking.tied_rank[present]
        filled = np.zeros(rows, np.bool_)
        filled[places] = True
        firsts = segment_starts(begin, mean)
        lengths = segment_lengths(firsts, rows)
        top = np.where(filled, np.repeat(depth[firsts], lengths), 0)
        bottom = np.where(filled, top + np.repeat(lengths, lengths) - 1, 0)
        own_top, own_bottom = np.zeros((2, rows), np.int64)
        own_top[present], own_bottom[present] = top[places], bottom[places]
        share = np.where(bottom > 0, (depth - top + 1) / (bottom - top + 1), 1.0)
        return cls(top, bottom, own_top, own_bottom, share)

    def size(self, depth: Codes) -> Ints:
        """Count the documents down to each depth, with all of the tie group that the depth cuts."""
        return np.where(self.bottom > 0, self.bottom, depth)

    def squares(self, depth: Codes) -> Floats:
        """Sum, at each depth, the squared contributions of all documents to the overlap."""
        size = self.bottom - self.top + 1
        inside = self.top - 1 + size * self.share**2
        return np.where(self.bottom > 0, inside, depth)


class Overlaps:
    """Compute the overlap and the agreement of two rankings at each depth of each query."""

    def __init__(self, a: Ranking, b: Ranking, starts: Ints, depth: Codes) -> None:
        self._rankings, self._starts, self._depth = (a, b), starts, depth
        self._begin = spread(starts, starts, len(depth))
        self._shared = a.present & b.present

    @cached_property
    def _lengths(self) -> list[Ints]:
        """Return, for each row, how many documents each ranking has for the query."""
        return [spread(side.length, self._starts, len(self._depth)) for side in self._rankings]

    @cached_property
    def _groups(self) -> list[TieGroups]:
        sides = self._rankings
        return [TieGroups.from_ranking(side, self._begin, self._depth) for side in sides]

    @cached_property
    def untied(self) -> Ints:
        """Count the documents in the top d of both rankings at each depth d, with ties broken."""
        a, b = self._rankings
        return self._count(np.maximum(a.rank, b.rank)[self._shared], self._shared)

    def column(self, request: ColumnRequest) -> Floats:
        """Compute a column that RBO sums up: `agreement`, `unseen` or `unseen_most`."""
        ties, norm = request.ties, self._norm(request.ties)
        if request.column == "agreement":
            return self._overlap(ties) / norm
        unseen = self._unseen(request.column, ties, norm)
        if request.column == "unseen":
            return unseen
        return self._extrapolate(unseen, self._overlap(ties) / norm, request.k)

    def _unseen(self, what: str, ties: str | None, norm: Floats) -> Floats:
        """Return, at each depth, the agreement that continuing the shorter ranking could add.

        The agreement is 0 below the end of the longer ranking.
        """
        shorter, longer = np.minimum(*self._lengths), np.maximum(*self._lengths)
        if np.array_equal(shorter, longer):
            return np.zeros(len(self._depth))
        beyond = (self._depth > shorter) & (self._depth <= longer)
        reach = (self._depth - shorter).astype(np.float64)
        if ties in ("a", "b"):
            full, cut, share = self._only_longer
            if what == "unseen":
                within = np.maximum(full + cut, 1)
                reach = reach * (full + cut * share) / within
            else:
                whole = np.minimum(reach, full)
                reach = whole + np.clip(reach - full, 0, cut) * share
        return np.where(beyond, reach / norm, 0.0)

    def _extrapolate(self, unseen: Floats, agreement: Floats, k: int | None) -> Floats:
        """Return, at each depth, the most agreement that continuing both rankings could add.

        The extrapolation assumes that, below its end, either ranking continues with documents that
        the other ranking has already.
        """
        lengths = self._lengths
        end_a, end_b = lengths if k is None else (np.minimum(length, k) for length in lengths)
        end = np.maximum(end_a, end_b)
        shared = end * agreement[self._begin + end - 1]
        grown = np.minimum(self._depth, 2 * self._depth - end_a - end_b + shared)
        return np.where(self._depth <= end, unseen, (grown - shared) / self._depth)

    def _overlap(self, ties: str | None) -> Floats | Ints:
        if ties in ("a", "b"):
            return self._expected
        if ties != "w":
            return self.untied
        a, b = self._groups
        return self._count(np.maximum(a.own_top, b.own_top)[self._shared], self._shared)

    def _norm(self, ties: str | None) -> Floats:
        if ties not in ("w", "b"):
            return self._depth.astype(np.float64)
        a, b = self._groups
        if ties == "w":
            return (a.size(self._depth) + b.size(self._depth)) / 2
        return np.sqrt(a.squares(self._depth)) * np.sqrt(b.squares(self._depth))

    @cached_property
    def _expected(self) -> Floats:
        """Return the overlap at each depth, as the mean over all orders of tied documents."""
        (a, b), depth, begin, shared = self._groups, self._depth, self._begin, self._shared
        bottom = np.maximum(a.own_bottom, b.own_bottom)[shared]
        expected = self._count(bottom, shared).astype(np.float64)
        for own, other in ((a, b), (b, a)):
            rows = np.flatnonzero(depth < own.bottom)
            groups, targets = begin[shared] + own.own_top[shared], begin[rows] + own.top[rows]
            zero = np.zeros_like(rows)
            within = self._within(groups, other.own_bottom[shared], targets, zero, depth[rows])
            expected[rows] += own.share[rows] * within
        rows = np.flatnonzero((depth < a.bottom) & (depth < b.bottom))
        groups, targets = begin[shared] + a.own_top[shared], begin[rows] + a.top[rows]
        within = self._within(groups, b.own_top[shared], targets, b.top[rows], b.top[rows])
        expected[rows] += a.share[rows] * b.share[rows] * within
        return expected

    def _within(
        self, groups: Ints, values: Ints, targets: Ints, low: AnyInts, high: AnyInts
    ) -> Ints:
        """Count, for each of the tie groups `targets`, its `values` from `low` to `high`."""
        width = len(self._depth) + 1
        keys = np.sort(groups * width + values)
        upto = np.searchsorted(keys, targets * width + high, side="right")
        return upto - np.searchsorted(keys, targets * width + low, side="left")

    @cached_property
    def _only_longer(self) -> tuple[Ints, Ints, Floats]:
        """Count, at each depth, the documents that only the longer ranking has.

        Returns the number in tie groups above the depth, the number in the group that the depth
        cuts, and the contribution of each document in the cut group.
        """
        longer_is_a = np.greater_equal(*self._lengths)
        a, b = self._groups
        own = np.where(longer_is_a, a.own_bottom, b.own_bottom)
        top, bottom = np.where(longer_is_a, (a.top, a.bottom), (b.top, b.bottom))
        share = np.where(longer_is_a, a.share, b.share)
        alone = (own > 0) & ~self._shared
        full = self._count(own[alone], alone)
        cut = bottom > self._depth
        rows = np.flatnonzero(cut)
        upto = np.zeros(len(self._depth), np.int64)
        upto[rows] = full[(self._begin + bottom - 1)[rows]] - full[rows]
        return full, upto, np.where(cut & (top > 0), share, 1.0)

    def _count(self, depth: AnyInts, rows: Flags) -> Ints:
        """Count, for each row, the flagged rows of its query with a `depth` of at most its own."""
        places = self._begin[rows]
        places += depth
        places -= 1
        new = np.bincount(places, minlength=len(self._depth))
        reached = np.cumsum(new)
        reached -= spread(reached[self._starts] - new[self._starts], self._starts, len(reached))
        return reached
