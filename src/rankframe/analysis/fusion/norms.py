"""Define norms, which make the scores of different runs comparable, list by list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from rankframe.analysis.fusion.stack import Norm, StackedRun
from rankframe.core.arrays import Floats

# Divisors are at least this, as in ranx.
_LEAST = 1e-9
# The name that leaves scores unchanged.
RAW: Final = "none"


NORMS: dict[str, Norm] = {}


def norm(
    formula: str, *, scored: bool = True, absent: Callable[[Floats, Floats], Floats] | None = None
) -> Callable[[Callable[[StackedRun], Floats]], Callable[[StackedRun], Floats]]:
    """Register a function as a norm of scores, under its own name and with its formula."""

    def register(listed: Callable[[StackedRun], Floats]) -> Callable[[StackedRun], Floats]:
        name = listed.__name__.removesuffix("_norm")
        NORMS[name] = Norm(name, formula, scored, listed, absent)
        return listed

    return register


@norm("(s − min) / (max − min)")
def min_max(run: StackedRun) -> Floats:
    """Map the least score of the list to 0 and the best to 1."""
    best, lowest = _bounds(run)
    return _divide(run, run.row_scores - run.spread_to_rows(lowest), best - lowest)


@norm("(max − s) / (max − min)")
def min_max_inverted(run: StackedRun) -> Floats:
    """Map the best score of the list to 0 and the least to 1, for scores where less is better."""
    best, lowest = _bounds(run)
    return _divide(run, run.spread_to_rows(best) - run.row_scores, best - lowest)


@norm("s / max")
def max_norm(run: StackedRun) -> Floats:
    """Divide by the best score of the list."""
    best, _ = _bounds(run)
    return _divide(run, run.row_scores, best)


@norm("(s − min) / (Σs − L·min)")
def sum_norm(run: StackedRun) -> Floats:
    """Subtract the least score of the list, then scale all scores so that they add up to 1."""
    scores, (_, lowest) = run.row_scores, _bounds(run)
    total = np.add.reduceat(scores, run.ranked.starts) if len(scores) else lowest
    divisors = total - lowest * run.ranked.lengths
    return _divide(run, scores - run.spread_to_rows(lowest), divisors)


@norm("(s − mean) / σ")
def zmuv(run: StackedRun) -> Floats:
    """Count standard deviations above the mean score of the list: zero mean, unit variance."""
    scores, (_, lowest) = run.row_scores, _bounds(run)
    if not len(scores):
        return scores
    starts, lengths = run.ranked.starts, run.ranked.lengths
    mean = np.add.reduceat(scores, starts) / lengths
    # The mean of equal scores is rounded, and none of them is above it.
    mean = np.where(scores[starts] == lowest, lowest, mean)
    deviation = scores - run.spread_to_rows(mean)
    sigma = np.sqrt(np.add.reduceat(deviation * deviation, starts) / lengths)
    return _divide(run, deviation, sigma)


@norm("1 − (r − 1)/L", scored=False)
def rank_norm(run: StackedRun) -> Floats:
    """Score documents by rank alone, from 1 at rank 1 down to 1/L at the last rank."""
    return 1.0 - (run.row_ranks - 1) / run.spread_to_rows(run.list_lengths)


def _borda_of_absent(lengths: Floats, candidates: Floats) -> Floats:
    return 0.5 - (lengths - 1.0) / (2.0 * candidates)


@norm(
    "1 − (r − 1)/N; .5 − (L − 1)/2N where the run lacks the document",
    scored=False,
    absent=_borda_of_absent,
)
def borda(run: StackedRun) -> Floats:
    """Score 1 at rank 1, less by 1/N per rank; documents that the run lacks share the remainder."""
    return 1.0 - (run.row_ranks - 1) / run.spread_to_rows(run.candidates)


def _bounds(run: StackedRun) -> tuple[Floats, Floats]:
    """Return the best and the least score of each list."""
    starts, scores = run.ranked.starts, run.row_scores
    return scores[starts], scores[starts + run.ranked.lengths - 1]


def _divide(run: StackedRun, values: Floats, divisors: Floats) -> Floats:
    """Divide the value of each row by the divisor of its list, which is at least 1e-9."""
    return values / run.spread_to_rows(np.maximum(divisors, _LEAST))
