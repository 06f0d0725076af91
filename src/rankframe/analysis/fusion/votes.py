"""Methods by votes: each run votes on every pair of a query's documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankframe.analysis.fusion.normalised import NormalisedStack
from rankframe.analysis.fusion.registry import Floats, registered
from rankframe.kernel.orders import rectangles
from rankframe.kernel.segments import position

# Sums of weights that differ by less, as a share of all weights, are equal: .1 + .2 and .3.
_EQUAL = 1e-12


@registered(family="Votes", formula="wins − losses over all pairs (Copeland)")
def condorcet(documents: NormalisedStack) -> Floats:
    """Condorcet's method: a document beats another one if more runs put it above than below.

    Scored as Copeland does: wins minus losses over all pairs of the query's documents. A document
    that a run lacks stands below all that it has, and beside others that it lacks. Equal ones are
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
    """The same as `condorcet` with a weight for each run's votes."""
    return _copeland(documents, weights)


def _copeland(documents: NormalisedStack, weights: Sequence[float] | None) -> Floats:
    stack = documents.stack
    candidates = stack.on_documents(stack.lengths)
    votes, most = np.zeros(stack.height), 0.0
    places: list[NDArray[np.signedinteger]] = []
    for at, run in enumerate(stack.runs):
        weight = 1.0 if weights is None else weights[at]
        place = run.on_documents(position(run.ranked.starts, run.rows) + 1)
        votes += np.where(run.holds, candidates - place, 0) * weight
        most += abs(weight)
        below = int(place.max(initial=0)) + 1
        kind = np.int16 if below < np.iinfo(np.int16).max else np.int32
        places.append(np.where(run.holds, place, below).astype(kind))
    net = np.zeros(stack.height, np.int32)
    for some in rectangles(stack.starts, stack.lengths):
        columns = [np.ascontiguousarray(some.filled(place, 0).T) for place in places]
        there = None
        if some.cells is not None:
            there = np.ascontiguousarray(some.filled(np.ones(stack.height, np.int8), 0).T)
        some.put(net, _net_wins(columns, weights, there).T)
    return net + votes / (2.0 * most * candidates)


def _net_wins(
    places: Sequence[NDArray[np.signedinteger]],
    weights: Sequence[float] | None,
    there: NDArray[np.int8] | None,
) -> NDArray[np.int32]:
    """Wins minus losses of each document (the first axis) of several queries, given its place in
    each run; `there`: which documents there are, where queries have different numbers of them.

    One document of every query at a time, against all below it: nothing is held but their signs.
    """
    height, queries = places[0].shape
    net = np.zeros((height, queries), np.int32)
    least = 0.0 if weights is None else _EQUAL * sum(map(abs, weights))
    for at in range(height - 1):
        lead = np.zeros((height - at - 1, queries), np.int8 if weights is None else np.float64)
        for number, place in enumerate(places):
            ours, theirs = place[at], place[at + 1 :]
            above = (ours < theirs).view(np.int8) - (ours > theirs).view(np.int8)
            lead += above if weights is None else above * weights[number]
        wins = (lead > least).view(np.int8) - (lead < -least).view(np.int8)
        if there is not None:
            wins *= there[at + 1 :]
        net[at] += wins.sum(axis=0, dtype=np.int32)
        net[at + 1 :] -= wins
    return net
