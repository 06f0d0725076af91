"""Which of several is best, and what the best is worth on queries that it was not chosen by.

For each fold, the one that is best on the other folds is applied to it: every query has the value
of something that was chosen without it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankframe.analysis.tuning.folds import Folds
from rankframe.engine.terms import Terms
from rankframe.stats.exact import Exact, exact_sum

Flags = NDArray[np.bool_]

_ROUNDING = 1e-12  # more than what rounding takes from an average


@dataclass(frozen=True, eq=False)
class Contender:
    """What a fusion, or a run by itself, is worth in every query.

    What is trained on judgments was trained without the fold of each query.
    """

    terms: Terms
    # of what is trained, by fold: the same, trained without that fold as well
    within: tuple[Terms, ...] | None = None

    @property
    def all_terms(self) -> tuple[Terms, ...]:
        """Everything that is looked at."""
        return (self.terms, *(self.within or ()))


@dataclass(frozen=True, eq=False)
class Split:
    """Queries in folds, of which those count for which everything is defined."""

    folds: Folds
    count: int
    complete: Flags

    def limited(self, contenders: Sequence[Contender]) -> Split:
        """The same of the queries for which all of these are defined, too."""
        flags = (terms.defined for one in contenders for terms in one.all_terms)
        return replace(self, complete=np.logical_and.reduce([self.complete, *flags]))

    @cached_property
    def _inside(self) -> list[Flags]:
        return [(self.folds == fold) & self.complete for fold in range(self.count)]

    @property
    def sizes(self) -> list[int]:
        """How many queries of each fold count."""
        return [int(inside.sum()) for inside in self._inside]

    def averages(self, contender: Contender) -> list[float]:
        """Its average without each fold, and last that of all queries; NaN where there is none."""
        parts = [_sums(contender.terms, inside) for inside in self._inside]
        above, below = (sum(side, Exact()) for side in zip(*parts, strict=True))
        if contender.within is None:
            others = [(above - over, below - under) for over, under in parts]
        else:
            others = [
                _sums(terms, self.complete & ~inside)
                for terms, inside in zip(contender.within, self._inside, strict=True)
            ]
        return [*(_ratio(*one) for one in others), _ratio(above, below)]

    def applied(self, contender: Contender) -> list[float]:
        """Its average in each fold."""
        return [_ratio(*_sums(contender.terms, inside)) for inside in self._inside]

    def joined(self, terms: Sequence[Terms]) -> Terms:
        """In each fold the values of those that are given for it."""
        every = np.arange(len(self.folds))

        def picked(sides: Sequence[NDArray[Any]]) -> NDArray[Any]:
            return np.stack(sides)[self.folds, every]

        values = picked([one.values for one in terms])
        plain = all(one.above is one.values for one in terms)
        whole = all(one.below is None for one in terms)
        return Terms(
            values,
            picked([one.defined for one in terms]),
            values if plain else picked([one.above for one in terms]),
            None if whole else picked([one.divisor for one in terms]),
        )


def best_of(averages: Sequence[float], *, higher: bool) -> int:
    """The place of the best, of those that only rounding tells apart the first; what has no average
    is worse than any.

    >>> best_of([0.1, math.nan, 0.3, 0.1 + 0.2], higher=True)
    2
    """
    worth = [goodness(average, higher=higher) for average in averages]
    most = max(worth)
    least = most - _ROUNDING * max(abs(most), 1.0) if math.isfinite(most) else most
    return next(at for at, one in enumerate(worth) if one >= least)


def goodness(average: float, *, higher: bool) -> float:
    """An average as a number of which more is better."""
    if math.isnan(average):
        return -math.inf
    return average if higher else -average


def _sums(terms: Terms, rows: Flags) -> tuple[Exact, Exact]:
    """Σ above and Σ below over some queries, of those for which it is defined."""
    rows = rows & terms.defined
    below = Exact.of(int(rows.sum())) if terms.below is None else exact_sum(terms.below[rows])
    return exact_sum(terms.above[rows]), below


def _ratio(above: Exact, below: Exact) -> float:
    return float(above) / float(below) if float(below) else math.nan
