"""Methods over scores after a norm: Fox and Shaw's comb family, and weighted sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankframe.analysis.fusion.norms import Normed
from rankframe.analysis.fusion.registry import Floats, Limits, registered, worth


@registered(family="Scores", formula="min s", scored=True, synonyms=("comb_min", "combmin"))
def min_of(docs: Normed) -> Floats:
    """The least of a document's scores."""
    found = np.full(docs.stack.height, np.inf)
    for run in docs.runs:
        np.minimum(found, docs.score(run), out=found, where=docs.holds(run))
    return found


@registered(family="Scores", formula="max s", scored=True, synonyms=("comb_max", "combmax"))
def max_of(docs: Normed) -> Floats:
    """The best of a document's scores."""
    found = np.full(docs.stack.height, -np.inf)
    for run in docs.runs:
        np.maximum(found, docs.score(run), out=found, where=docs.holds(run))
    return found


@registered(
    family="Scores", formula="median s", scored=True, synonyms=("comb_med", "combmed", "median")
)
def med(docs: Normed) -> Floats:
    """The median of a document's scores; of an even number, the mean of the middle two."""
    every = np.array([np.where(docs.holds(run), docs.score(run), np.inf) for run in docs.runs])
    every.sort(axis=0)
    count = docs.count.astype(np.int64)
    at = np.arange(docs.stack.height)
    return (every[(count - 1) // 2, at] + every[count // 2, at]) / 2


@registered(family="Scores", formula="Σs", scored=True, synonyms=("comb_sum", "combsum"))
def sum_of(docs: Normed) -> Floats:
    """The sum of a document's scores."""
    return _total(docs)


@registered(family="Scores", formula="Σs / n", scored=True, synonyms=("comb_anz", "combanz"))
def anz(docs: Normed) -> Floats:
    """The mean of a document's scores over the runs that have it (average of non-zeros)."""
    return _total(docs) / docs.count


@registered(family="Scores", formula="n · Σs", scored=True, synonyms=("comb_mnz", "combmnz"))
def mnz(docs: Normed) -> Floats:
    """The sum of a document's scores, times how many runs have it (multiplied by non-zeros)."""
    return _total(docs) * docs.count


@registered(
    family="Scores",
    formula="n^γ · Σs",
    scored=True,
    synonyms=("comb_gmnz", "combgmnz"),
    limits={"gamma": Limits(-100, 100)},
)
def gmnz(docs: Normed, *, gamma: float) -> Floats:
    """The sum of a document's scores, times a power of how many runs have it.

    With gamma=0 it is `sum`, with 1 `mnz`, with -1 `anz`.
    """
    return _total(docs) * worth(lambda n: float(n) ** gamma, docs.count)


@registered(
    family="Scores", formula="Σ w·s", scored=True, synonyms=("weighted_sum", "linear", "convex")
)
def wsum(docs: Normed, *, weights: Sequence[float]) -> Floats:
    """The weighted sum of a document's scores: hybrid search's convex combination."""
    return _total(docs, weights)


@registered(family="Scores", formula="(Σw of the runs that have it) · Σs", scored=True)
def wmnz(docs: Normed, *, weights: Sequence[float]) -> Floats:
    """The sum of a document's scores, times the weights of the runs that have it."""
    having = np.zeros(docs.stack.height)
    for run, weight in zip(docs.runs, weights, strict=True):
        having += np.where(docs.holds(run), weight, 0.0)
    return _total(docs) * having


@registered(family="Scores", formula="√n · Σ w·s", scored=True)
def mixed(docs: Normed, *, weights: Sequence[float]) -> Floats:
    """The weighted sum of a document's scores, times the root of how many runs have it."""
    return _total(docs, weights) * worth(math.sqrt, docs.count)


def _total(docs: Normed, weights: Sequence[float] | None = None) -> Floats:
    """The (weighted) sum of scores, in the order of the runs."""
    total = np.zeros(docs.stack.height)
    for run in docs.runs:
        score = docs.score(run)
        total += score if weights is None else score * weights[run]
    return total
