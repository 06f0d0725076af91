"""Methods trained on judgments: each learns a small table of what the ranks of a run are worth.

They learn from `Hits`: the number of relevant documents at each rank of lists of each length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankframe.analysis.fusion.hits import Hits, Ints
from rankframe.analysis.fusion.normalised import NormalisedStack
from rankframe.analysis.fusion.registry import Floats, Learned, Limits, registered

# The ends of Aslam and Montague's segments of ranks, and of Shokouhi's.
_BAYES = np.array([5, 10, 15, 20, 30, 100, 200, 500, 1000])
_SEGMENTS = np.array([10 * 2**j - 5 for j in range(10)])
# What bayesfuse takes for a probability of 0, or for an unknown one.
_LEAST = 0.001
_ABSENT = math.log(_LEAST / (1 - _LEAST))


def _maps(hits: Sequence[Hits]) -> Learned:
    return [np.array([run.map]) for run in hits]


@registered(family="Trained on judgments", formula="Σ MAP of the run / r", learns=_maps)
def mapfuse(documents: NormalisedStack, learned: Learned) -> Floats:
    """The mean average precision of each run that has the document, divided by its rank there."""

    def share(run: int) -> Floats:
        rank, (precision,) = documents.ranks(run), learned[run]
        return np.where(rank > 0, precision / np.maximum(rank, 1), 0.0)

    return documents.add_up(share)


def _chances(hits: Sequence[Hits], **_: object) -> Learned:
    return [run.chances() for run in hits]


@registered(family="Trained on judgments", formula="Σ P(relevant at r)", learns=_chances)
def posfuse(documents: NormalisedStack, learned: Learned) -> Floats:
    """The share of judged queries for which the run has a relevant document at this rank.

    Lists that end before the rank do not count; beyond the longest list it is 0.
    """

    def chance(run: int) -> Floats:
        padded = np.concatenate([[0.0], learned[run], [0.0]])  # rank 0: the run lacks it
        return padded[np.minimum(documents.ranks(run), len(learned[run]) + 1)]

    return documents.add_up(chance)


@registered(
    family="Trained on judgments",
    formula="Σ mean of P(relevant at r − w … r + w)",
    learns=_chances,
    parameter_synonyms={"w": "window"},
    limits={"window": Limits(0, 1e9, whole=True)},
)
def slidefuse(documents: NormalisedStack, learned: Learned, *, window: int) -> Floats:
    """The mean chance of `posfuse` over a window of ranks on both sides, within the list."""

    def mean_chance(run: int) -> Floats:
        rank, last_known = documents.ranks(run).astype(np.int64), len(learned[run])
        first = np.maximum(rank - window, 1)
        last = np.minimum(rank + window, documents.list_lengths(run))
        # Sums up to each rank; beyond the last known one there is nothing.
        upto = np.concatenate([[0.0], np.cumsum(learned[run])])
        inside = upto[np.minimum(last, last_known)] - upto[np.minimum(first - 1, last_known)]
        return np.where(rank > 0, inside / np.maximum(last - first + 1, 1), 0.0)

    return documents.add_up(mean_chance)


def _segment_chances(hits: Sequence[Hits], *, segments: int) -> Learned:
    learned: list[Floats] = []
    for run in hits:
        length, rank, count = run.relevant.values()
        size = -(-length // segments)
        segment = (rank - 1) // size
        # The last segment of a list may be shorter.
        width = np.minimum(size, length - segment * size)
        chances = np.zeros(segments)
        keys, group = np.unique(np.stack([segment, width]), axis=1, return_inverse=True)
        counts = np.bincount(group.ravel(), count, minlength=keys.shape[1])
        np.add.at(chances, keys[0], counts / keys[1])  # in order of the keys: the same bits
        learned.append(chances / max(run.queries, 1))
    return learned


@registered(
    family="Trained on judgments",
    formula="Σ P(relevant in the segment) / number of the segment",
    learns=_segment_chances,
    parameter_synonyms={"n_segments": "segments", "x": "segments"},
    limits={"segments": Limits(1, 100_000, whole=True)},
)
def probfuse(documents: NormalisedStack, learned: Learned, *, segments: int) -> Floats:
    """Each list is cut into so many segments; the mean precision of a document's segment counts.

    Divided by the segment's number. Lillis and others (2006).
    """

    def chance(run: int) -> Floats:
        rank = documents.ranks(run)
        size = np.maximum(-(-documents.list_lengths(run) // segments), 1)
        segment = np.maximum(rank - 1, 0) // size
        return np.where(rank > 0, learned[run][segment] / (segment + 1), 0.0)

    return documents.add_up(chance)


def _precisions(hits: Sequence[Hits], ends: Ints) -> list[Floats]:
    """Return the mean precision of each run in segments of ranks that end at `ends`."""
    sizes = np.diff(ends, prepend=0)
    return [run.in_segments(ends) / sizes / max(run.queries, 1) for run in hits]


def _doubling(hits: Sequence[Hits]) -> Learned:
    return _precisions(hits, _SEGMENTS)


@registered(
    family="Trained on judgments",
    formula="Σ P(relevant in the segment) · (1 + s), segments up to 5, 15, 35, 75, …, 5115",
    learns=_doubling,
    scored=True,
)
def segfuse(documents: NormalisedStack, learned: Learned) -> Floats:
    """The precision of a document's segment of ranks, where segments double, times 1 + score.

    Shokouhi (2007).
    """
    return documents.add_up(
        lambda run: (
            _in_segment(learned[run], _SEGMENTS, documents.ranks(run))
            * (1.0 + documents.scores(run))
        )
    )


def _odds(hits: Sequence[Hits]) -> Learned:
    learned: list[Floats] = []
    for precision in _precisions(hits, _BAYES):
        relevant = np.where(precision == 0, _LEAST, precision)
        other = np.where(relevant == 1, _LEAST, 1 - relevant)
        learned.append(np.array([math.log(p / q) for p, q in zip(relevant, other, strict=True)]))
    return learned


@registered(
    family="Trained on judgments",
    formula="Σ ln(p/(1 − p)), p the mean precision at ranks 1–5, 6–10, 11–15, 16–20, 21–30, "
    "31–100, 101–200, 201–500, 501–1000; ln(.001/.999) where the run lacks the document",
    learns=_odds,
)
def bayesfuse(documents: NormalisedStack, learned: Learned) -> Floats:
    """The log odds of relevance in each run, as if these were independent.

    Aslam and Montague (2001). Beyond rank 1000, as if the run lacked the document.
    """

    def odds(run: int) -> Floats:
        rank = documents.ranks(run)
        inside = (rank > 0) & (rank <= _BAYES[-1])
        return np.where(inside, _in_segment(learned[run], _BAYES, rank), _ABSENT)

    return documents.add_up(odds)


def _in_segment(values: Floats, ends: Ints, rank: NDArray[np.int32]) -> Floats:
    """Return the value of each rank's segment; 0 beyond the last, and where there is no rank."""
    padded = np.append(values, 0.0)
    return np.where(rank > 0, padded[np.searchsorted(ends, rank)], 0.0)
