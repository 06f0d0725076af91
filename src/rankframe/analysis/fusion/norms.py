"""Norms: functions that make the scores of different runs comparable, list by list."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rankframe.analysis.fusion.stack import Listed

Floats = NDArray[np.float64]

# Divisors are at least this, as in ranx.
_LEAST = 1e-9
# The name that stands for scores as they are.
RAW: Final = "none"


@dataclass(frozen=True)
class Norm:
    """Define a norm: name, formula and function."""

    name: str
    formula: str
    # whether it uses scores, not ranks alone
    scored: bool
    # the rows of a run, best first → their normalised scores
    listed: Callable[[Listed], Floats]
    # the length of a run's list (0: it has none) and the number of candidates of each query → the
    # score of documents that the run lacks; None: they have no score
    absent: Callable[[Floats, Floats], Floats] | None

    @property
    def summary(self) -> str:
        """Return the docstring as one line."""
        return (inspect.getdoc(self.listed) or "").replace("\n", " ")


NORMS: dict[str, Norm] = {}


def norm(
    formula: str,
    *,
    scored: bool = True,
    absent: Callable[[Floats, Floats], Floats] | None = None,
) -> Callable[[Callable[[Listed], Floats]], Callable[[Listed], Floats]]:
    """Register a function as a norm."""

    def register(listed: Callable[[Listed], Floats]) -> Callable[[Listed], Floats]:
        name = listed.__name__.removesuffix("_norm")
        NORMS[name] = Norm(name, formula, scored, listed, absent)
        return listed

    return register


@norm("(s − min) / (max − min)")
def min_max(run: Listed) -> Floats:
    """From 0, the least score of the list, to 1, the best."""
    scores, best, least = _bounds(run)
    return (scores - run.on_rows(least)) / run.on_rows(np.maximum(best - least, _LEAST))


@norm("(max − s) / (max − min)")
def min_max_inverted(run: Listed) -> Floats:
    """From 0, the best score of the list, to 1, the least: where less is better."""
    scores, best, least = _bounds(run)
    return (run.on_rows(best) - scores) / run.on_rows(np.maximum(best - least, _LEAST))


@norm("s / max")
def max_norm(run: Listed) -> Floats:
    """A share of the best score of the list."""
    scores, best, _ = _bounds(run)
    return scores / run.on_rows(np.maximum(best, _LEAST))


@norm("(s − min) / (Σs − L·min)")
def sum_norm(run: Listed) -> Floats:
    """From 0, the least score of the list, so that all add up to 1."""
    scores, _, least = _bounds(run)
    total = np.add.reduceat(scores, run.ranked.starts) if len(scores) else least
    divisor = np.maximum(total - least * run.ranked.lengths, _LEAST)
    return (scores - run.on_rows(least)) / run.on_rows(divisor)


@norm("(s − mean) / σ")
def zmuv(run: Listed) -> Floats:
    """How many standard deviations above the mean score of the list: zero mean, unit variance."""
    scores, _, least = _bounds(run)
    if not len(scores):
        return scores
    starts, lengths = run.ranked.starts, run.ranked.lengths
    mean = np.add.reduceat(scores, starts) / lengths
    # The mean of equal scores is rounded, and none of them is above it.
    mean = np.where(scores[starts] == least, least, mean)
    deviation = scores - run.on_rows(mean)
    sigma = np.sqrt(np.add.reduceat(deviation * deviation, starts) / lengths)
    return deviation / run.on_rows(np.maximum(sigma, _LEAST))


@norm("1 − (r − 1)/L", scored=False)
def rank_norm(run: Listed) -> Floats:
    """From 1 at rank 1 down to 1/L at the last, whatever the scores."""
    return 1.0 - (run.ranks - 1) / run.on_rows(run.last_ranks)


def _borda_of_absent(lengths: Floats, candidates: Floats) -> Floats:
    return 0.5 - (lengths - 1.0) / (2.0 * candidates)


@norm(
    "1 − (r − 1)/N; .5 − (L − 1)/2N where the run lacks the document",
    scored=False,
    absent=_borda_of_absent,
)
def borda(run: Listed) -> Floats:
    """From 1 at rank 1 down, in steps of 1/N; documents that the run lacks share what is left."""
    return 1.0 - (run.ranks - 1) / run.on_rows(run.candidates)


def _bounds(run: Listed) -> tuple[Floats, Floats, Floats]:
    """Return the scores of a run, and the best and the least of each list."""
    scores = run.score
    assert scores is not None  # whoever opened the run checked it
    starts = run.ranked.starts
    return scores, scores[starts], scores[starts + run.ranked.lengths - 1]
