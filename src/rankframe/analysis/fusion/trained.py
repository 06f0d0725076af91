"""Methods trained on judgments: what a run's ranks turned out to be worth, as a small table.

All that is learned is made of whole numbers that add up over queries: how many relevant documents
stood at each rank of lists of each length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankframe.analysis.fusion.norms import Normed
from rankframe.analysis.fusion.registry import Floats, Learned, Limits, registered

Ints = NDArray[np.int64]

# Where Aslam and Montague's, and Shokouhi's, segments end.
_BAYES = np.array([5, 10, 15, 20, 30, 100, 200, 500, 1000])
_SEGMENTS = np.array([10 * 2**j - 5 for j in range(10)])
# What bayesfuse takes for a probability of 0, or for one that is not known.
_LEAST = 0.001
_ABSENT = math.log(_LEAST / (1 - _LEAST))


@dataclass(frozen=True)
class Hits:
    """What judgments say of the lists of one run."""

    # judged queries, with those that the run lacks
    queries: int
    # of its lists: lengths, ascending, and how many lists have each
    lengths: Ints
    lists: Ints
    # how many relevant documents stood at a rank of lists of a length
    length: Ints
    rank: Ints
    count: Ints
    # mean average precision
    map: float

    @property
    def deepest(self) -> int:
        """The length of the longest list."""
        return int(self.lengths.max(initial=0))

    def at_ranks(self) -> Ints:
        """Relevant documents at each rank, from 1."""
        return np.bincount(self.rank - 1, self.count, minlength=self.deepest).astype(np.int64)

    def within(self, ends: Ints) -> Ints:
        """Relevant documents in each segment of ranks, given where these end; not beyond."""
        at = np.searchsorted(ends, self.rank)
        here = at < len(ends)
        return np.bincount(at[here], self.count[here], minlength=len(ends)).astype(np.int64)

    def chances(self) -> Floats:
        """The share of lists with a relevant document at each rank, of those that reach it."""
        reached = np.zeros(self.deepest + 1, np.int64)
        np.add.at(reached, self.lengths, self.lists)
        reaching = np.cumsum(reached[::-1])[::-1][1:]
        return self.at_ranks() / reaching


def _maps(hits: Sequence[Hits]) -> Learned:
    return [np.array([one.map]) for one in hits]


@registered(family="Trained on judgments", formula="Σ MAP of the run / r", learns=_maps)
def mapfuse(docs: Normed, learned: Learned) -> Floats:
    """The mean average precision of each run that has the document, divided by its rank there."""
    total = np.zeros(docs.stack.height)
    for run, (worth,) in zip(docs.runs, learned, strict=True):
        rank = docs.rank(run)
        total += np.where(rank > 0, worth / np.maximum(rank, 1), 0.0)
    return total


def _chances(hits: Sequence[Hits], **_: object) -> Learned:
    return [one.chances() for one in hits]


@registered(family="Trained on judgments", formula="Σ P(relevant at r)", learns=_chances)
def posfuse(docs: Normed, learned: Learned) -> Floats:
    """How often the run had a relevant document at this rank.

    Of the judged queries whose lists reach it; 0 beyond the longest of them.
    """
    total = np.zeros(docs.stack.height)
    for run, chances in zip(docs.runs, learned, strict=True):
        total += _at(chances, docs.rank(run))
    return total


@registered(
    family="Trained on judgments",
    formula="Σ mean of P(relevant at r − w … r + w)",
    learns=_chances,
    parameter_synonyms={"w": "window"},
    limits={"window": Limits(0, 1e9, whole=True)},
)
def slidefuse(docs: Normed, learned: Learned, *, window: int) -> Floats:
    """The same as `posfuse`, averaged over a window of ranks on both sides, within the list."""
    total = np.zeros(docs.stack.height)
    stack = docs.stack
    for run, chances in zip(stack.runs, learned, strict=True):
        rank = run.rank.astype(np.int64)
        length = stack.on_documents(run.of_queries(run.last_ranks, len(stack.starts)))
        first, last = np.maximum(rank - window, 1), np.minimum(rank + window, length)
        # Sums up to each rank; there is nothing beyond the last that is known.
        upto = np.concatenate([[0.0], np.cumsum(chances)])
        known = len(chances)
        inside = upto[np.minimum(last, known)] - upto[np.minimum(first - 1, known)]
        total += np.where(rank > 0, inside / np.maximum(last - first + 1, 1), 0.0)
    return total


def _segment_chances(hits: Sequence[Hits], *, segments: int) -> Learned:
    learned: list[Floats] = []
    for one in hits:
        size = -(-one.length // segments)
        segment = (one.rank - 1) // size
        # The last segment of a list may be shorter.
        width = np.minimum(size, one.length - segment * size)
        found = np.zeros(segments)
        keys, of = np.unique(np.stack([segment, width]), axis=1, return_inverse=True)
        counts = np.bincount(of.ravel(), one.count, minlength=keys.shape[1])
        np.add.at(found, keys[0], counts / keys[1])  # in order of their keys
        learned.append(found / max(one.queries, 1))
    return learned


@registered(
    family="Trained on judgments",
    formula="Σ P(relevant in the segment) / number of the segment",
    learns=_segment_chances,
    parameter_synonyms={"n_segments": "segments", "x": "segments"},
    limits={"segments": Limits(1, 100_000, whole=True)},
)
def probfuse(docs: Normed, learned: Learned, *, segments: int) -> Floats:
    """Each list is cut into so many segments; the mean precision of a document's segment counts.

    Divided by the segment's number. Lillis and others (2006).
    """
    stack = docs.stack
    total = np.zeros(stack.height)
    for run, chances in zip(stack.runs, learned, strict=True):
        length = stack.on_documents(run.of_queries(run.last_ranks, len(stack.starts)))
        size = np.maximum(-(-length // segments), 1)
        segment = np.maximum(run.rank - 1, 0) // size
        total += np.where(run.rank > 0, chances[segment] / (segment + 1), 0.0)
    return total


def _doubling(hits: Sequence[Hits]) -> Learned:
    sizes = np.diff(_SEGMENTS, prepend=0)
    return [one.within(_SEGMENTS) / sizes / max(one.queries, 1) for one in hits]


@registered(
    family="Trained on judgments",
    formula="Σ P(relevant in the segment) · (1 + s), segments up to 5, 15, 35, 75, …, 5115",
    learns=_doubling,
    scored=True,
)
def segfuse(docs: Normed, learned: Learned) -> Floats:
    """The precision of a document's segment of ranks, where segments double, times 1 + score.

    Shokouhi (2007).
    """
    total = np.zeros(docs.stack.height)
    for run, chances in zip(docs.runs, learned, strict=True):
        total += _in_segment(chances, _SEGMENTS, docs.rank(run)) * (1.0 + docs.score(run))
    return total


def _odds(hits: Sequence[Hits]) -> Learned:
    sizes = np.diff(_BAYES, prepend=0)
    learned: list[Floats] = []
    for one in hits:
        precision = one.within(_BAYES) / sizes / max(one.queries, 1)
        known = np.where(precision == 0, _LEAST, precision)
        other = np.where(known == 1, _LEAST, 1 - known)
        learned.append(np.array([math.log(p / q) for p, q in zip(known, other, strict=True)]))
    return learned


@registered(
    family="Trained on judgments",
    formula="Σ ln(p/(1 − p)), p the mean precision at ranks 1–5, 6–10, 11–15, 16–20, 21–30, "
    "31–100, 101–200, 201–500, 501–1000; ln(.001/.999) where the run lacks the document",
    learns=_odds,
)
def bayesfuse(docs: Normed, learned: Learned) -> Floats:
    """The log odds of relevance in each run, as if these were independent.

    Aslam and Montague (2001). Beyond rank 1000, as if the run lacked the document.
    """
    total = np.zeros(docs.stack.height)
    for run, odds in zip(docs.runs, learned, strict=True):
        rank = docs.rank(run)
        known = (rank > 0) & (rank <= _BAYES[-1])
        total += np.where(known, _in_segment(odds, _BAYES, rank), _ABSENT)
    return total


def _at(values: Floats, rank: NDArray[np.int32]) -> Floats:
    """The value of each rank; 0 beyond the last, and where there is none."""
    padded = np.concatenate([[0.0], values, [0.0]])
    return padded[np.minimum(rank, len(values) + 1)]


def _in_segment(values: Floats, ends: Ints, rank: NDArray[np.int32]) -> Floats:
    """The value of the segment that a rank is in; 0 beyond the last, and where there is none."""
    padded = np.append(values, 0.0)
    return np.where(rank > 0, padded[np.searchsorted(ends, rank)], 0.0)
