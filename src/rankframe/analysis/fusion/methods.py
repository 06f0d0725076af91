"""Define all methods of fusion, by family: over scores, ranks and votes, and trained on judgments.

Each method is a function of a stack, which holds the documents of several runs, and is registered
with its formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rankframe.analysis.fusion.registry import (
    METHODS,
    Learned,
    Limits,
    compute_distinct,
    registered,
)
from rankframe.analysis.fusion.stack import Stack, StackedRun
from rankframe.analysis.fusion.training import Hits
from rankframe.core.arrays import Codes, Floats, Ints
from rankframe.kernel.segments import position, rectangles

__all__ = ["METHODS"]  # the decorators below fill METHODS

_BORDA = "points N − r + 1, and (N − L + 1)/2 where the run lacks the document"
# Tolerance when comparing sums of weights, as a share of all weights: .1 + .2 equals .3.
_EQUAL = 1e-12
# The ends of Aslam and Montague's segments of ranks, and of Shokouhi's.
_BAYES = np.array([5, 10, 15, 20, 30, 100, 200, 500, 1000])
_SEGMENTS = np.array([10 * 2**j - 5 for j in range(10)])
# The probability that bayesfuse uses in place of 0, or if the probability is unknown.
_LEAST = 0.001
_ABSENT = math.log(_LEAST / (1 - _LEAST))

_over_scores = partial(registered, family="Scores", scored=True)
_over_ranks = partial(registered, family="Ranks")
_by_votes = partial(registered, family="Votes")
_trained = partial(registered, family="Trained on judgments")


# Scores after a norm: Fox and Shaw's comb family, and weighted sums -------------------------------


@_over_scores("min s", "comb_min", "combmin")
def min_of(stack: Stack) -> Floats:
    """Take the least of a document's scores."""
    return _extreme(stack, np.minimum, np.inf)


@_over_scores("max s", "comb_max", "combmax")
def max_of(stack: Stack) -> Floats:
    """Take the best of a document's scores."""
    return _extreme(stack, np.maximum, -np.inf)


@_over_scores("median s", "comb_med", "combmed", "median")
def med(stack: Stack) -> Floats:
    """Take the median of a document's scores; of an even number, the mean of the middle two."""
    scores = np.array([np.where(run.has_score, run.scores, np.inf) for run in stack.runs])
    scores.sort(axis=0)
    counts = stack.score_counts.astype(np.int64)
    column = np.arange(stack.height)
    return (scores[(counts - 1) // 2, column] + scores[counts // 2, column]) / 2


@_over_scores("Σs", "comb_sum", "combsum")
def sum_of(stack: Stack) -> Floats:
    """Add up a document's scores."""
    return stack.add_up(stack.scores)


@_over_scores("Σs / n", "comb_anz", "combanz")
def anz(stack: Stack) -> Floats:
    """Average a document's scores over the runs that have it (average of non-zeros)."""
    return stack.add_up(stack.scores) / stack.score_counts


@_over_scores("n · Σs", "comb_mnz", "combmnz")
def mnz(stack: Stack) -> Floats:
    """Multiply the sum of a document's scores by how many runs have it (non-zeros)."""
    return stack.add_up(stack.scores) * stack.score_counts


@_over_scores("n^γ · Σs", "comb_gmnz", "combgmnz", limits={"gamma": Limits(-100, 100)})
def gmnz(stack: Stack, *, gamma: float) -> Floats:
    """Multiply the sum of a document's scores by a power of how many runs have it.

    With gamma=0 it is `sum`, with 1 `mnz`, with -1 `anz`.
    """
    factor = compute_distinct(lambda n: float(n) ** gamma, stack.score_counts)
    return stack.add_up(stack.scores) * factor


@_over_scores("Σ w·s", "weighted_sum", "linear", "convex")
def wsum(stack: Stack, *, weights: Sequence[float]) -> Floats:
    """Add up a document's scores by weight: hybrid search's convex combination."""
    return stack.add_up(stack.scores, weights)


@_over_scores("(Σw of the runs that have it) · Σs")
def wmnz(stack: Stack, *, weights: Sequence[float]) -> Floats:
    """Multiply the sum of a document's scores by the weights of the runs that have it."""
    return stack.add_up(stack.scores) * stack.add_up((run.has_score for run in stack.runs), weights)


@_over_scores("√n · Σ w·s")
def mixed(stack: Stack, *, weights: Sequence[float]) -> Floats:
    """Multiply the weighted sum of a document's scores by the root of how many runs have it."""
    factor = compute_distinct(math.sqrt, stack.score_counts)
    return stack.add_up(stack.scores, weights) * factor


def _extreme(stack: Stack, better: np.ufunc, worst: float) -> Floats:
    """Reduce the scores of each document with `better`, starting from `worst`."""
    best = np.full(stack.height, worst)
    for run in stack.runs:
        better(best, run.scores, out=best, where=run.has_score)
    return best


# Ranks alone, which need no norm ------------------------------------------------------------------


@_over_ranks("Σ 1/(k + r)", "reciprocal_rank_fusion", limits={"k": Limits(0, 1e9)})
def rrf(stack: Stack, *, k: float = 60) -> Floats:
    """Add up reciprocal ranks (reciprocal rank fusion), as most hybrid search does.

    Cormack, Clarke and Büttcher (2009). The larger k, the less the first ranks stand out.
    """
    return _add_up_ranks(stack, lambda rank: 1.0 / (k + rank))


@_over_ranks("Σ (1 − φ)·φ^(r−1)", "rank_biased_centroid", limits={"phi": Limits(0, 1, below=True)})
def rbc(stack: Stack, *, phi: float) -> Floats:
    """Add up rank-biased weights: a reader goes on to the next rank with probability phi.

    Rank-biased centroids, by Bailey and others (2017).
    """
    return _add_up_ranks(stack, lambda rank: (1.0 - phi) * phi ** (rank - 1))


@_over_ranks("n · Σ 1/r²")
def isr(stack: Stack) -> Floats:
    """Add up inverse square ranks, times how many runs have the document."""
    return _inverse_squares(stack) * stack.runs_with


@_over_ranks("ln(n) · Σ 1/r²")
def log_isr(stack: Stack) -> Floats:
    """Add up inverse square ranks, times the logarithm of how many runs have the document.

    Documents that only one run has score 0.
    """
    factor = compute_distinct(math.log, stack.runs_with)
    return _inverse_squares(stack) * factor


@_over_ranks("ln(n + σ) · Σ 1/r²", limits={"sigma": Limits(0, 1)})
def logn_isr(stack: Stack, *, sigma: float = 0.01) -> Floats:
    """Add up inverse square ranks as `log_isr`; sigma > 0 lets documents of a single run count."""
    factor = compute_distinct(lambda n: math.log(n + sigma), stack.runs_with)
    return _inverse_squares(stack) * factor


@_over_ranks(f"Σ points: {_BORDA}", "borda_fuse")
def bordafuse(stack: Stack) -> Floats:
    """Count Borda points: of N documents, a run gives its first N points, the next N − 1, etc.

    The documents that a run lacks share the points that are left.
    """
    return _add_points(stack)


@_over_ranks(f"Σ w·points: {_BORDA}", "weighted_bordafuse", "wbordafuse")
def w_bordafuse(stack: Stack, *, weights: Sequence[float]) -> Floats:
    """Add up Borda points as `bordafuse` does, times a weight for each run."""
    return _add_points(stack, weights)


def _add_up_ranks(stack: Stack, value: Callable[[int], float]) -> Floats:
    """Add up, for each document, the value of its rank in each run."""
    return stack.add_up(compute_distinct(value, run.ranks) for run in stack.runs)


def _inverse_squares(stack: Stack) -> Floats:
    return _add_up_ranks(stack, lambda rank: 1.0 / (rank * rank))


def _add_points(stack: Stack, weights: Sequence[float] | None = None) -> Floats:
    candidates = stack.spread_to_documents(stack.lengths)

    def points(run: StackedRun) -> Floats:
        rest = (candidates - run.lengths() + 1) / 2
        return np.where(run.ranks > 0, candidates - run.ranks + 1.0, rest)

    return stack.add_up(map(points, stack.runs), weights)


# Votes: each run votes on every pair of a query's documents ---------------------------------------


@_by_votes("wins − losses over all pairs (Copeland)")
def condorcet(stack: Stack) -> Floats:
    """Count wins as Condorcet does: more runs put a document above another one than below.

    As in Copeland's method, the score is wins minus losses over all pairs of the query's documents.
    Documents that a run lacks are below all documents of the run, and tie with each other. All
    votes for a document add less than half a point, to order documents with equal scores. (ranx
    sorts by the majority of each pair, which can form cycles: a beats b, b beats c, c beats a.)
    """
    return _copeland(stack)


@_by_votes("wins − losses over all pairs by weighted votes", "weighted_condorcet", "wcondorcet")
def w_condorcet(stack: Stack, *, weights: Sequence[float]) -> Floats:
    """Count wins as Condorcet does, with a weight for each run's votes."""
    return _copeland(stack, weights)


def _copeland(stack: Stack, weights: Sequence[float] | None = None) -> Floats:
    candidates = stack.spread_to_documents(stack.lengths)
    weights_or_ones = [1.0] * len(stack.runs) if weights is None else weights
    votes = np.zeros(stack.height)
    places: list[NDArray[np.signedinteger]] = []
    for run, weight in zip(stack.runs, weights_or_ones, strict=True):
        place = run.spread_to_documents(position(run.ranked.starts, run.height) + 1)
        votes += np.where(run.has_document, candidates - place, 0) * weight
        below = int(place.max(initial=0)) + 1
        dtype = np.int16 if below < np.iinfo(np.int16).max else np.int32
        places.append(np.where(run.has_document, place, below).astype(dtype))
    net = np.zeros(stack.height, np.int32)
    for queries in rectangles(stack.starts, stack.lengths):
        columns = [np.ascontiguousarray(queries.filled(place, 0).T) for place in places]
        exists = None
        if queries.cells is not None:
            exists = np.ascontiguousarray(queries.filled(np.ones(stack.height, np.int8), 0).T)
        queries.put(net, _net_wins(columns, weights, exists).T)
    all_votes = sum(map(abs, weights_or_ones))
    return net + votes / (2.0 * all_votes * candidates)


def _net_wins(
    places: Sequence[NDArray[np.signedinteger]],
    weights: Sequence[float] | None,
    exists: NDArray[np.int8] | None,
) -> Codes:
    """Return wins minus losses of each document (the first axis) of several queries.

    Each step compares one document with all later documents, in all queries at once. Only the signs
    of that step are in memory.

    Args:
        places: for each run, the rank of each document, as documents × queries.
        weights: the weights of the runs; None: all are 1.
        exists: which documents exist, if queries have different numbers of documents.
    """
    height, queries = places[0].shape
    net = np.zeros((height, queries), np.int32)
    tolerance = 0.0 if weights is None else _EQUAL * sum(map(abs, weights))
    for row in range(height - 1):
        lead = np.zeros((height - row - 1, queries), np.int8 if weights is None else np.float64)
        for run, place in enumerate(places):
            own, rest = place[row], place[row + 1 :]
            above = (own < rest).view(np.int8) - (own > rest).view(np.int8)
            lead += above if weights is None else above * weights[run]
        wins = (lead > tolerance).view(np.int8) - (lead < -tolerance).view(np.int8)
        if exists is not None:
            wins *= exists[row + 1 :]
        net[row] += wins.sum(axis=0, dtype=np.int32)
        net[row + 1 :] -= wins
    return net


# Trained on judgments: what the ranks of a run are worth, learned from `Hits` ---------------------


def _maps(hits: Sequence[Hits]) -> Learned:
    return [np.array([run.map]) for run in hits]


@_trained("Σ MAP of the run / r", learns=_maps)
def mapfuse(stack: Stack, learned: Learned) -> Floats:
    """Add up the mean average precision of each run, divided by the document's rank there."""

    def share(run: StackedRun, precision: Floats) -> Floats:
        return np.where(run.ranks > 0, precision / np.maximum(run.ranks, 1), 0.0)

    return stack.add_up(map(share, stack.runs, learned))


def _chances(hits: Sequence[Hits], **_: object) -> Learned:
    return [run.chances() for run in hits]


@_trained("Σ P(relevant at r)", learns=_chances)
def posfuse(stack: Stack, learned: Learned) -> Floats:
    """Add up the share of judged queries with a relevant document at this rank of the run.

    Lists that end before the rank do not count; beyond the longest list, the share is 0.
    """

    def chance(run: StackedRun, chances: Floats) -> Floats:
        padded = np.concatenate([[0.0], chances, [0.0]])  # rank 0: the run lacks it
        return padded[np.minimum(run.ranks, len(chances) + 1)]

    return stack.add_up(map(chance, stack.runs, learned))


@_trained(
    "Σ mean of P(relevant at r − w … r + w)",
    learns=_chances,
    parameter_synonyms={"w": "window"},
    limits={"window": Limits(0, 1e9, whole=True)},
)
def slidefuse(stack: Stack, learned: Learned, *, window: int) -> Floats:
    """Add up the share of judged queries with a relevant document near this rank of the run.

    It is the share of `posfuse`, averaged over a window of ranks on both sides, within the list.
    """

    def mean_chance(run: StackedRun, chances: Floats) -> Floats:
        rank, last_known = run.ranks.astype(np.int64), len(chances)
        first = np.maximum(rank - window, 1)
        last = np.minimum(rank + window, run.lengths(chunks=True))
        # Cumulative sums by rank; ranks beyond the last known one add 0.
        upto = np.concatenate([[0.0], np.cumsum(chances)])
        inside = upto[np.minimum(last, last_known)] - upto[np.minimum(first - 1, last_known)]
        return np.where(rank > 0, inside / np.maximum(last - first + 1, 1), 0.0)

    return stack.add_up(map(mean_chance, stack.runs, learned))


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


@_trained(
    "Σ P(relevant in the segment) / number of the segment",
    learns=_segment_chances,
    parameter_synonyms={"n_segments": "segments", "x": "segments"},
    limits={"segments": Limits(1, 100_000, whole=True)},
)
def probfuse(stack: Stack, learned: Learned, *, segments: int) -> Floats:
    """Add up each run's mean precision in the document's segment, divided by the segment's number.

    Each list is cut into segments of equal length, numbered from 1. Lillis and others (2006).
    """

    def chance(run: StackedRun, chances: Floats) -> Floats:
        size = np.maximum(-(-run.lengths(chunks=True) // segments), 1)
        segment = np.maximum(run.ranks - 1, 0) // size
        return np.where(run.ranks > 0, chances[segment] / (segment + 1), 0.0)

    return stack.add_up(map(chance, stack.runs, learned))


def _precisions(hits: Sequence[Hits], ends: Ints) -> list[Floats]:
    """Return the mean precision of each run in segments of ranks that end at `ends`."""
    sizes = np.diff(ends, prepend=0)
    return [run.in_segments(ends) / sizes / max(run.queries, 1) for run in hits]


def _doubling(hits: Sequence[Hits]) -> Learned:
    return _precisions(hits, _SEGMENTS)


@_trained(
    "Σ P(relevant in the segment) · (1 + s), segments up to 5, 15, 35, 75, …, 5115",
    learns=_doubling,
    scored=True,
)
def segfuse(stack: Stack, learned: Learned) -> Floats:
    """Add up the precision of the document's segment of ranks in each run, times 1 + score.

    Each segment is twice as long as the one before. Shokouhi (2007).
    """
    return stack.add_up(
        _in_segment(precisions, _SEGMENTS, run.ranks) * (1.0 + run.scores)
        for run, precisions in zip(stack.runs, learned, strict=True)
    )


def _odds(hits: Sequence[Hits]) -> Learned:
    learned: list[Floats] = []
    for precision in _precisions(hits, _BAYES):
        relevant = np.where(precision == 0, _LEAST, precision)
        other = np.where(relevant == 1, _LEAST, 1 - relevant)
        learned.append(np.array([math.log(p / q) for p, q in zip(relevant, other, strict=True)]))
    return learned


@_trained(
    "Σ ln(p/(1 − p)), p the mean precision at ranks 1–5, 6–10, 11–15, 16–20, 21–30, "
    "31–100, 101–200, 201–500, 501–1000; ln(.001/.999) where the run lacks the document",
    learns=_odds,
)
def bayesfuse(stack: Stack, learned: Learned) -> Floats:
    """Add up the log odds of relevance at the document's rank in each run, as if independent.

    Aslam and Montague (2001). Beyond rank 1000, as if the run lacked the document.
    """

    def odds(run: StackedRun, log_odds: Floats) -> Floats:
        inside = (run.ranks > 0) & (run.ranks <= _BAYES[-1])
        return np.where(inside, _in_segment(log_odds, _BAYES, run.ranks), _ABSENT)

    return stack.add_up(map(odds, stack.runs, learned))


def _in_segment(values: Floats, ends: Ints, rank: Codes) -> Floats:
    """Return the value of each rank's segment; 0 beyond the last, and where there is no rank."""
    padded = np.append(values, 0.0)
    return np.where(rank > 0, padded[np.searchsorted(ends, rank)], 0.0)
