"""Lists that take next what adds most: the greedy ideal of documents that are about several things.

All queries take their next document at the same time: a loop over ranks, not over queries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankframe.kernel.segments import (
    number_segments,
    ranges,
    segment_lengths,
    segment_starts,
    spread,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# What a group is worth is a whole number of so many bits, and a document may be about 2^17 of them:
# sums of whole numbers are the same in any order, so that equal worth is seen to be equal.
_BITS = 46
# When this share of the documents is left, the documents that were taken are dropped.
_FEW = 0.5
_TAKEN = -1


@dataclass(frozen=True)
class Greedy:
    """Hold the rank of each document, and what is above it."""

    # one a document, from 1; 0: below what was asked for
    rank: Ints
    # one a row: documents above it that are about the same
    above: Ints


@dataclass(frozen=True)
class About:
    """Hold what documents are about: a row for each document and subtopic, document by document."""

    # the query of each document, ascending; of equal ones, the first document is taken first
    query: Ints
    # the first row of each document, and of each row the number of its group among all queries'
    starts: Ints
    group: Ints

    def some(self, documents: NDArray[np.bool_]) -> tuple[About, Ints]:
        """Select documents; return also the rows that are theirs."""
        kept = np.flatnonzero(documents)
        lengths = segment_lengths(self.starts, len(self.group))[kept]
        rows = ranges(self.starts[kept], lengths)
        starts = np.cumsum(lengths) - lengths
        return replace(self, query=self.query[kept], starts=starts, group=self.group[rows]), rows


def greedy(about: About, weights: Floats, alpha: float, deepest: int | None = None) -> Greedy:
    """Take, again and again, the document of each query whose subtopics are worth most.

    A group is worth its weight, (1 − α) times as much each time that it was seen. `weights`: of the
    groups. `deepest`: how many documents are taken at the most.

    >>> three = About(np.zeros(3, int), np.array([0, 1, 3]), np.array([0, 0, 1, 1]))
    >>> greedy(three, np.ones(2), 0.5).rank
    array([2, 1, 3])
    """
    rank = np.zeros(len(about.query), np.int64)
    above = np.zeros(len(about.group), np.int64)
    seen = np.zeros(len(weights), np.int64)
    scaled = _scaled(about, weights)
    worth = np.rint(scaled).astype(np.int64)
    # The documents and rows that are left, as numbered at first.
    documents, rows = np.arange(len(rank)), np.arange(len(above))
    left, free = len(rank), np.ones(len(rank), np.bool_)
    at = 0
    while left and (deepest is None or at < deepest):
        at += 1
        if left < _FEW * len(documents):
            about, kept = about.some(free)
            documents, rows = documents[free], rows[kept]
            free = np.ones(len(documents), np.bool_)
        gain = np.add.reduceat(worth[about.group], about.starts)
        gain[~free] = _TAKEN
        taken = _best(gain, about.query)
        taken = taken[free[taken]]
        lengths = segment_lengths(about.starts, len(about.group))[taken]
        theirs = ranges(about.starts[taken], lengths)
        groups = about.group[theirs]
        rank[documents[taken]] = at
        above[rows[theirs]] = seen[groups]
        seen[groups] += 1
        worth[groups] = np.rint(scaled[groups] * _powers(1 - alpha, at)[seen[groups]])
        free[taken] = False
        left -= len(taken)
    return Greedy(rank, above)


def _scaled(about: About, weights: Floats) -> Floats:
    """Weights as parts of the largest one of their query, which takes all bits; by a power of 2,
    so that no weight is rounded because of another.
    """
    if not len(about.query):
        return weights
    document = number_segments(about.starts, len(about.group))
    starts = segment_starts(about.query[document])
    largest = np.maximum.reduceat(weights[about.group], starts)
    scale = np.ones(len(weights))
    exponent = np.frexp(largest)[1]
    scale[about.group] = spread(np.ldexp(1.0, _BITS - exponent), starts, len(document))
    return weights * scale


def _best(gain: Ints, query: Ints) -> Ints:
    """The first document of the largest gain, of each query."""
    starts = segment_starts(query)
    largest = spread(np.maximum.reduceat(gain, starts), starts, len(gain))
    best = np.flatnonzero(gain == largest)
    return best[segment_starts(query[best])]


def _powers(base: float, most: int) -> Floats:
    """1, base, base², …"""
    powers = np.full(most + 1, base)
    powers[0] = 1.0
    return np.cumprod(powers, dtype=np.float64)
