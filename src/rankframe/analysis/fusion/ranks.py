"""Methods over ranks alone, which need no norm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankframe.analysis.fusion.norms import Normed
from rankframe.analysis.fusion.registry import Floats, Limits, registered, worth

_BORDA = "points N − r + 1, and (N − L + 1)/2 where the run lacks the document"


@registered(
    family="Ranks",
    formula="Σ 1/(k + r)",
    synonyms=("reciprocal_rank_fusion",),
    limits={"k": Limits(0, 1e9)},
)
def rrf(docs: Normed, *, k: float = 60) -> Floats:
    """Reciprocal rank fusion: what most hybrid search does.

    Cormack, Clarke and Büttcher (2009). The larger k, the less the first ranks stand out.
    """
    return _total(docs, lambda rank: 1.0 / (k + rank), exact=True)


@registered(
    family="Ranks",
    formula="Σ (1 − φ)·φ^(r−1)",
    synonyms=("rank_biased_centroid",),
    limits={"phi": Limits(0, 1, below=True)},
)
def rbc(docs: Normed, *, phi: float) -> Floats:
    """Rank-biased centroid: a reader goes on to the next rank with probability phi.

    Bailey and others (2017).
    """
    return _total(docs, lambda rank: (1.0 - phi) * phi ** (rank - 1))


@registered(family="Ranks", formula="n · Σ 1/r²")
def isr(docs: Normed) -> Floats:
    """Inverse square ranks, times how many runs have the document."""
    return _total(docs, _inverse_square, exact=True) * docs.stack.runs_with


@registered(family="Ranks", formula="ln(n) · Σ 1/r²")
def log_isr(docs: Normed) -> Floats:
    """Inverse square ranks, times the logarithm of how many runs have the document.

    What one run alone has scores 0.
    """
    return _total(docs, _inverse_square, exact=True) * worth(math.log, docs.stack.runs_with)


@registered(family="Ranks", formula="ln(n + σ) · Σ 1/r²", limits={"sigma": Limits(0, 1)})
def logn_isr(docs: Normed, *, sigma: float = 0.01) -> Floats:
    """The same as `log_isr`, but what one run alone has still counts a little, by sigma."""
    factor = worth(lambda n: math.log(n + sigma), docs.stack.runs_with)
    return _total(docs, _inverse_square, exact=True) * factor


@registered(family="Ranks", formula=f"Σ points: {_BORDA}", synonyms=("borda_fuse",))
def bordafuse(docs: Normed) -> Floats:
    """Borda's count: each run gives its first of N documents N points, the next one less.

    What a run lacks shares the points that are left.
    """
    return _points(docs, [1.0] * len(docs.runs))


@registered(
    family="Ranks", formula=f"Σ w·points: {_BORDA}", synonyms=("weighted_bordafuse", "wbordafuse")
)
def w_bordafuse(docs: Normed, *, weights: Sequence[float]) -> Floats:
    """Borda's count with a weight for each run's points."""
    return _points(docs, weights)


def _inverse_square(rank: Any) -> Any:
    return 1.0 / (rank * rank)


def _total(docs: Normed, value: Callable[[Any], Any], *, exact: bool = False) -> Floats:
    """The sum of what each rank is worth, in the order of the runs."""
    total = np.zeros(docs.stack.height)
    for run in docs.runs:
        total += worth(value, docs.rank(run), exact=exact)
    return total


def _points(docs: Normed, weights: Sequence[float]) -> Floats:
    stack = docs.stack
    candidates = stack.on_documents(stack.lengths)
    total = np.zeros(stack.height)
    for run, weight in zip(stack.runs, weights, strict=True):
        lengths = run.of_queries(run.last_ranks, len(stack.starts))
        left = stack.on_documents((stack.lengths - lengths + 1) / 2)
        total += np.where(run.holds, candidates - run.rank + 1.0, left) * weight
    return total
