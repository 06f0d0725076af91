"""Methods over ranks alone, which need no norm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankframe.analysis.fusion.normalised import NormalisedStack
from rankframe.analysis.fusion.registry import Floats, Limits, compute_distinct, registered

_BORDA = "points N − r + 1, and (N − L + 1)/2 where the run lacks the document"


@registered(
    family="Ranks",
    formula="Σ 1/(k + r)",
    synonyms=("reciprocal_rank_fusion",),
    limits={"k": Limits(0, 1e9)},
)
def rrf(documents: NormalisedStack, *, k: float = 60) -> Floats:
    """Reciprocal rank fusion: what most hybrid search does.

    Cormack, Clarke and Büttcher (2009). The larger k, the less the first ranks stand out.
    """
    return _total(documents, lambda rank: 1.0 / (k + rank), exact=True)


@registered(
    family="Ranks",
    formula="Σ (1 − φ)·φ^(r−1)",
    synonyms=("rank_biased_centroid",),
    limits={"phi": Limits(0, 1, below=True)},
)
def rbc(documents: NormalisedStack, *, phi: float) -> Floats:
    """Rank-biased centroid: a reader goes on to the next rank with probability phi.

    Bailey and others (2017).
    """
    return _total(documents, lambda rank: (1.0 - phi) * phi ** (rank - 1))


@registered(family="Ranks", formula="n · Σ 1/r²")
def isr(documents: NormalisedStack) -> Floats:
    """Inverse square ranks, times how many runs have the document."""
    return _total(documents, _inverse_square, exact=True) * documents.stack.runs_with


@registered(family="Ranks", formula="ln(n) · Σ 1/r²")
def log_isr(documents: NormalisedStack) -> Floats:
    """Inverse square ranks, times the logarithm of how many runs have the document.

    What one run alone has scores 0.
    """
    factor = compute_distinct(math.log, documents.stack.runs_with)
    return _total(documents, _inverse_square, exact=True) * factor


@registered(family="Ranks", formula="ln(n + σ) · Σ 1/r²", limits={"sigma": Limits(0, 1)})
def logn_isr(documents: NormalisedStack, *, sigma: float = 0.01) -> Floats:
    """Inverse square ranks as in `log_isr`; what one run alone has counts a little, by sigma."""
    factor = compute_distinct(lambda n: math.log(n + sigma), documents.stack.runs_with)
    return _total(documents, _inverse_square, exact=True) * factor


@registered(family="Ranks", formula=f"Σ points: {_BORDA}", synonyms=("borda_fuse",))
def bordafuse(documents: NormalisedStack) -> Floats:
    """Borda's count: each run gives its first of N documents N points, the next one less.

    What a run lacks shares the points that are left.
    """
    return _points(documents, [1.0] * len(documents.runs))


@registered(
    family="Ranks", formula=f"Σ w·points: {_BORDA}", synonyms=("weighted_bordafuse", "wbordafuse")
)
def w_bordafuse(documents: NormalisedStack, *, weights: Sequence[float]) -> Floats:
    """Borda's count with a weight for each run's points."""
    return _points(documents, weights)


def _inverse_square(rank: Any) -> Any:
    return 1.0 / (rank * rank)


def _total(
    documents: NormalisedStack, value: Callable[[Any], Any], *, exact: bool = False
) -> Floats:
    """Add up the value of each rank (`exact`: as in `compute_distinct`)."""
    return documents.add_up(lambda run: compute_distinct(value, documents.ranks(run), exact=exact))


def _points(documents: NormalisedStack, weights: Sequence[float]) -> Floats:
    candidates = documents.stack.spread_to_documents(documents.stack.lengths)

    def points(run: int) -> Floats:
        rank = documents.ranks(run)
        rest = (candidates - documents.list_lengths(run) + 1) / 2
        return np.where(rank > 0, candidates - rank + 1.0, rest) * weights[run]

    return documents.add_up(points)
