"""Methods by votes: each run votes on every pair of a query's documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankframe.analysis.fusion.normalised import NormalisedStack
from rankframe.analysis.fusion.registry import Floats, registered
from rankframe.kernel.segments import position, rectangles

# Sums of weights that differ by less, as a share of all weights, are equal: .1 + .2 and .3.
_EQUAL = 1e-12


@registered(family="Votes", formula="wins − losses over all pairs (Copeland)")
def condorcet(documents: NormalisedStack) -> Floats:
    """Condorcet's method: a document beats another one if more runs put it above than below.

    Scored as Copeland does: wins minus losses over all pairs of the query's documents. A document
    that a run lacks stands below its own, and ties with others that it lacks. Equal ones are
    ordered by all votes for them, which add less than half a point. (ranx sorts by the majority of
    each pair, which need not be in any order: a may beat b, b c, and c a.)
    """
    return _copeland(documents, None)


@registered(
    family="Votes",
    formula="wins − losses over all pairs by weighted votes",
    synonyms=("weighted_condorcet", "wcondorcet"),
)
def w_condorcet(documents: NormalisedStack, *, weights: Sequence[float]) -> Floats:
    """Condorcet's method with a weight for each run's votes."""
    return _copeland(documents, weights)


def _copeland(documents: NormalisedStack, weights: Sequence[float] | None) -> Floats:
    stack = documents.stack
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
) -> NDArray[np.int32]:
    """Return wins minus losses of each document (the first axis) of several queries.

    Each document is compared with all below it in every query at a time, so that nothing but their
    signs is in memory.

    Args:
        places: the place of each document in each run.
        weights: of the runs; None: all are 1.
        exists: which documents exist, if queries have different numbers of them.
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
