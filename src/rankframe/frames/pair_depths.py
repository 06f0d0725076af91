"""How much two rankings have in common at each depth, with ties treated in RBO's three ways.

Tied documents share the places from the first to the last of their group. Corsi and Urbano (2024)
let each contribute to a depth inside its group: wholly from the first place on (`w`), or in
proportion to how far the depth reaches into the group (`a`, and `b`, which also makes up for the
information that ties lose). At any depth, at most one group of each ranking is cut, so all of it is
counted with whole numbers: no loop over depths or groups.

What both have seen is in `a` the mean over all orders of the ties. Below the end of the shorter
ranking, its unseen documents contribute as those do that only the longer one has: in part, inside a
tie. The mean over all orders counts them wholly: `agreement_a` with `unseen` and `unseen_most`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints
from rankframe.core.columns import ColumnRequest
from rankframe.frames.pair_sides import Ranking
from rankframe.kernel.segments import segment_lengths, spread


@dataclass(frozen=True)
class Groups:
    """The tie groups of a ranking, on each row of the pair frame as a depth."""

    # first and last place of the group that holds this depth; 0 below the end of the ranking
    top: Ints
    bottom: Ints
    # the same of the group of each row's document; 0 where the ranking lacks it
    own_top: Ints
    own_bottom: Ints

    def share(self, depth: Codes) -> Floats:
        """How much a document of the group at each depth contributes; 1 below the end."""
        size = self.bottom - self.top + 1
        return np.where(self.bottom > 0, (depth - self.top + 1) / size, 1.0)


class Overlaps:
    """Overlap and agreement at each depth of each query."""

    def __init__(self, a: Ranking, b: Ranking, starts: Ints, depth: Codes) -> None:
        self._starts, self._depth = starts, depth
        self._rows = len(depth)
        self._a, self._b = a, b
        self._shared = a.present & b.present

    @cached_property
    def _begin(self) -> Ints:
        return spread(self._starts, self._starts, self._rows)

    @cached_property
    def _length_a(self) -> Ints:
        return spread(self._a.length, self._starts, self._rows)

    @cached_property
    def _length_b(self) -> Ints:
        return spread(self._b.length, self._starts, self._rows)

    @cached_property
    def untied(self) -> Ints:
        """Documents that both have down to each depth, ties broken as in a run."""
        return self._count(np.maximum(self._a.rank, self._b.rank)[self._shared], self._shared)

    def column(self, request: ColumnRequest) -> Floats:
        """Compute `agreement`, `unseen` or `unseen_most`, which is what may follow below k."""
        ties, norm = request.ties, self._norm(request.ties)
        if request.column == "agreement":
            return self._seen(ties) / norm
        inside = self._inside(request.column, ties, norm)
        if request.column == "unseen":
            return inside
        return self._most(inside, self._seen(ties) / norm, request.k)

    def _inside(self, what: str, ties: str | None, norm: Floats) -> Floats:
        """What the shorter ranking's unseen documents add where the longer one goes on."""
        if np.array_equal(self._a.length, self._b.length):
            return np.zeros(self._rows)
        shorter, longer = (
            spread(choice(self._a.length, self._b.length), self._starts, self._rows)
            for choice in (np.minimum, np.maximum)
        )
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

    def _most(self, inside: Floats, agreement: Floats, k: int | None) -> Floats:
        """Below the ends of both, either ranking goes on with what the other has already."""
        end_a, end_b = (
            length if k is None else np.minimum(length, k)
            for length in (self._length_a, self._length_b)
        )
        end = np.maximum(end_a, end_b)
        shared = end * agreement[self._begin + end - 1]
        grown = np.minimum(self._depth, 2 * self._depth - end_a - end_b + shared)
        return np.where(self._depth <= end, inside, (grown - shared) / self._depth)

    def _seen(self, ties: str | None) -> Floats | Ints:
        match ties:
            case "w":
                tops = np.maximum(self._groups_a.own_top, self._groups_b.own_top)
                return self._count(tops[self._shared], self._shared)
            case "a" | "b":
                return self._expected
            case _:
                return self.untied

    def _norm(self, ties: str | None) -> Floats:
        depth = self._depth.astype(np.float64)
        if ties == "w":
            return (self._size(self._groups_a) + self._size(self._groups_b)) / 2
        if ties == "b":
            return np.sqrt(self._squares(self._groups_a)) * np.sqrt(self._squares(self._groups_b))
        return depth

    def _size(self, groups: Groups) -> Ints:
        """Documents down to each depth, all of a tie that begins there included."""
        return np.where(groups.bottom > 0, groups.bottom, self._depth)

    def _squares(self, groups: Groups) -> Floats:
        """The sum of squared contributions at each depth."""
        size = groups.bottom - groups.top + 1
        inside = groups.top - 1 + size * groups.share(self._depth) ** 2
        return np.where(groups.bottom > 0, inside, self._depth)

    @cached_property
    def _expected(self) -> Floats:
        """The mean overlap over all orders of the ties."""
        a, b, depth, shared = self._groups_a, self._groups_b, self._depth, self._shared
        bottom_a, bottom_b = a.own_bottom[shared], b.own_bottom[shared]
        expected = self._count(np.maximum(bottom_a, bottom_b), shared).astype(np.float64)
        cut_a, cut_b = depth < a.bottom, depth < b.bottom
        share_a, share_b = a.share(depth), b.share(depth)
        begin = self._begin
        group_a, group_b = begin[shared] + a.own_top[shared], begin[shared] + b.own_top[shared]
        at = np.flatnonzero(cut_a)
        expected[at] += share_a[at] * self._within(
            group_a, bottom_b, begin[at] + a.top[at], np.zeros_like(at), depth[at]
        )
        at = np.flatnonzero(cut_b)
        expected[at] += share_b[at] * self._within(
            group_b, bottom_a, begin[at] + b.top[at], np.zeros_like(at), depth[at]
        )
        at = np.flatnonzero(cut_a & cut_b)
        both = self._within(group_a, b.own_top[shared], begin[at] + a.top[at], b.top[at], b.top[at])
        expected[at] += share_a[at] * share_b[at] * both
        return expected

    def _within(self, group: Ints, value: Ints, of: Ints, low: Ints, high: AnyInts) -> Ints:
        """How many documents of each wanted group have a value from low to high."""
        width = self._rows + 1
        keys = np.sort(group * width + value)
        upto = np.searchsorted(keys, of * width + high, side="right")
        return upto - np.searchsorted(keys, of * width + low, side="left")

    @cached_property
    def _only_longer(self) -> tuple[Ints, Ints, Floats]:
        """Of the documents that only the longer ranking has: how many lie wholly above each depth,
        how many are in the group that it cuts, and the share of these.
        """
        longer_is_a = self._length_a >= self._length_b
        a, b = self._groups_a, self._groups_b
        own = np.where(longer_is_a, a.own_bottom, b.own_bottom)
        top = np.where(longer_is_a, a.top, b.top)
        bottom = np.where(longer_is_a, a.bottom, b.bottom)
        share = np.where(longer_is_a, a.share(self._depth), b.share(self._depth))
        alone = (own > 0) & ~self._shared
        full = self._count(own[alone], alone)
        cut = (bottom > self._depth) & (bottom > 0)
        at = np.flatnonzero(cut)
        upto = np.zeros(self._rows, np.int64)
        upto[at] = full[(self._begin + bottom - 1)[at]] - full[at]
        return full, upto, np.where(cut & (top > 0), share, 1.0)

    @cached_property
    def _groups_a(self) -> Groups:
        return self._groups(self._a)

    @cached_property
    def _groups_b(self) -> Groups:
        return self._groups(self._b)

    def _groups(self, ranking: Ranking) -> Groups:
        present = np.flatnonzero(ranking.present)
        at = self._begin[present] + ranking.rank[present] - 1
        mean = np.zeros(self._rows)
        mean[at] = ranking.tied_rank[present]
        held = np.zeros(self._rows, np.bool_)
        held[at] = True
        first = np.ones(self._rows, np.bool_)
        first[1:] = (mean[1:] != mean[:-1]) | (self._begin[1:] != self._begin[:-1])
        firsts = np.flatnonzero(first)
        lengths = segment_lengths(firsts, self._rows)
        top = np.where(held, spread(self._depth[firsts], firsts, self._rows), 0)
        bottom = np.where(held, top + spread(lengths, firsts, self._rows) - 1, 0)
        own_top, own_bottom = np.zeros((2, self._rows), np.int64)
        own_top[present], own_bottom[present] = top[at], bottom[at]
        return Groups(top, bottom, own_top, own_bottom)

    def _count(self, depth: Ints, of: Flags) -> Ints:
        """How many of the chosen rows have been reached at each depth, given where each is."""
        at = self._begin[of]
        at += depth
        at -= 1
        new = np.bincount(at, minlength=self._rows)
        reached = np.cumsum(new)
        reached -= spread(reached[self._starts] - new[self._starts], self._starts, self._rows)
        return reached
