"""Methods over scores after a norm: Fox and Shaw's comb family, and weighted sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankframe.analysis.fusion.normalised import NormalisedStack
from rankframe.analysis.fusion.registry import Floats, Limits, compute_distinct, registered


@registered(family="Scores", formula="min s", scored=True, synonyms=("comb_min", "combmin"))
def min_of(documents: NormalisedStack) -> Floats:
    """The least of a document's scores."""
    lowest = np.full(documents.height, np.inf)
    for run in documents.runs:
        np.minimum(lowest, documents.scores(run), out=lowest, where=documents.has_score(run))
    return lowest


@registered(family="Scores", formula="max s", scored=True, synonyms=("comb_max", "combmax"))
def max_of(documents: NormalisedStack) -> Floats:
    """The best of a document's scores."""
    best = np.full(documents.height, -np.inf)
    for run in documents.runs:
        np.maximum(best, documents.scores(run), out=best, where=documents.has_score(run))
    return best


@registered(
    family="Scores", formula="median s", scored=True, synonyms=("comb_med", "combmed", "median")
)
def med(documents: NormalisedStack) -> Floats:
    """The median of a document's scores; of an even number, the mean of the middle two."""
    scores = np.array(
        [
            np.where(documents.has_score(run), documents.scores(run), np.inf)
            for run in documents.runs
        ]
    )
    scores.sort(axis=0)
    counts = documents.score_counts.astype(np.int64)
    column = np.arange(documents.height)
    return (scores[(counts - 1) // 2, column] + scores[counts // 2, column]) / 2


@registered(family="Scores", formula="Σs", scored=True, synonyms=("comb_sum", "combsum"))
def sum_of(documents: NormalisedStack) -> Floats:
    """The sum of a document's scores."""
    return _total(documents)


@registered(family="Scores", formula="Σs / n", scored=True, synonyms=("comb_anz", "combanz"))
def anz(documents: NormalisedStack) -> Floats:
    """The mean of a document's scores over the runs that have it (average of non-zeros)."""
    return _total(documents) / documents.score_counts


@registered(family="Scores", formula="n · Σs", scored=True, synonyms=("comb_mnz", "combmnz"))
def mnz(documents: NormalisedStack) -> Floats:
    """The sum of a document's scores, times how many runs have it (multiplied by non-zeros)."""
    return _total(documents) * documents.score_counts


@registered(
    family="Scores",
    formula="n^γ · Σs",
    scored=True,
    synonyms=("comb_gmnz", "combgmnz"),
    limits={"gamma": Limits(-100, 100)},
)
def gmnz(documents: NormalisedStack, *, gamma: float) -> Floats:
    """The sum of a document's scores, times a power of how many runs have it.

    With gamma=0 it is `sum`, with 1 `mnz`, with -1 `anz`.
    """
    factor = compute_distinct(lambda n: float(n) ** gamma, documents.score_counts)
    return _total(documents) * factor


@registered(
    family="Scores", formula="Σ w·s", scored=True, synonyms=("weighted_sum", "linear", "convex")
)
def wsum(documents: NormalisedStack, *, weights: Sequence[float]) -> Floats:
    """The weighted sum of a document's scores: hybrid search's convex combination."""
    return _total(documents, weights)


@registered(family="Scores", formula="(Σw of the runs that have it) · Σs", scored=True)
def wmnz(documents: NormalisedStack, *, weights: Sequence[float]) -> Floats:
    """The sum of a document's scores, times the weights of the runs that have it."""
    having = documents.add_up(lambda run: np.where(documents.has_score(run), weights[run], 0.0))
    return _total(documents) * having


@registered(family="Scores", formula="√n · Σ w·s", scored=True)
def mixed(documents: NormalisedStack, *, weights: Sequence[float]) -> Floats:
    """The weighted sum of a document's scores, times the root of how many runs have it."""
    return _total(documents, weights) * compute_distinct(math.sqrt, documents.score_counts)


def _total(documents: NormalisedStack, weights: Sequence[float] | None = None) -> Floats:
    """Return the (weighted) sum of scores."""
    if weights is None:
        return documents.add_up(documents.scores)
    return documents.add_up(lambda run: documents.scores(run) * weights[run])
