"""Split queries into folds, and compute out-of-fold values.

For each fold, the fusion that is best on the other folds is applied to the fold. So each query has
the value of a fusion that was chosen without the query.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankframe.core.arrays import Flags, Ints
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, number_of
from rankframe.core.options import Check, is_count
from rankframe.engine.accumulator import Terms
from rankframe.stats.bootstrap import Hashes, random_words
from rankframe.stats.exact import Exact, exact_sum

# The valid values of the option `folds`.
FOLDS = Check(lambda value: is_count(value) and value >= 2, "a whole number of at least 2")
# An offset beyond all random words of replicates, so that folds and replicates are independent.
_FAR = 1 << 40
_ROUNDING = 1e-12  # more than the rounding error of an average


def deal(hashes: Hashes, folds: int, seed: int) -> Ints:
    """Return the fold number of each query, drawn by the hashes of the query ids.

    Folds do not depend on the order of queries, and their sizes differ by one query at most.

    >>> deal(np.arange(5, dtype=np.uint64), 2, 0).tolist().count(0)
    3
    """
    drawn = random_words(hashes, 1, seed, _FAR)[:, 0]
    numbers = np.empty(len(hashes), np.int64)
    numbers[np.argsort(drawn, kind="stable")] = np.arange(len(hashes)) % folds
    return numbers


@dataclass(frozen=True, eq=False)
class QueryValues:
    """Hold the values of a fusion, or of a run, in every query.

    The value of a trained fusion in a query is that of the fusion trained without the query's fold.
    """

    terms: Terms
    # for a trained fusion, by fold: its values if that fold is also left out of training
    without: tuple[Terms, ...] | None = None


@dataclass(frozen=True, eq=False)
class Folds:
    """Hold the fold number of each query; queries that are not complete do not count."""

    numbers: Ints
    count: int
    # for each query, whether all values that are compared are defined
    complete: Flags

    def limit_to(self, values: Sequence[QueryValues]) -> Folds:
        """Return these folds, with queries where any of `values` is undefined marked incomplete."""
        defined = (terms.defined for v in values for terms in (v.terms, *(v.without or ())))
        return replace(self, complete=np.logical_and.reduce([self.complete, *defined]))

    def refuse_empty(self) -> None:
        """Refuse more folds than there are queries."""
        if self.count > (queries := int(self.complete.sum())):
            raise OptionError(
                Option("folds", self.count),
                f" is too many for {number_of(queries, 'query')}: every fold needs at least one "
                "query.",
            )

    @cached_property
    def _inside(self) -> list[Flags]:
        return [(self.numbers == fold) & self.complete for fold in range(self.count)]

    @property
    def sizes(self) -> list[int]:
        """Return the number of queries in each fold."""
        return [int(inside.sum()) for inside in self._inside]

    def averages(self, values: QueryValues) -> list[float]:
        """Return for each fold the average over all other folds, then the average over all queries.

        An average over no query is NaN.
        """
        sums = [_sums(values.terms, inside) for inside in self._inside]
        above, below = (sum(side, Exact()) for side in zip(*sums, strict=True))
        if values.without is None:
            rest = [(above - fold_above, below - fold_below) for fold_above, fold_below in sums]
        else:
            rest = [
                _sums(terms, self.complete & ~inside)
                for terms, inside in zip(values.without, self._inside, strict=True)
            ]
        return [_ratio(*sides) for sides in (*rest, (above, below))]

    def average_in(self, fold: int, values: QueryValues) -> float:
        """Return the average of `values` over the queries in one fold; NaN if it has none."""
        return _ratio(*_sums(values.terms, self._inside[fold]))

    def join(self, terms: Sequence[Terms]) -> Terms:
        """Combine one `Terms` per fold into a single one: each query's values are from its fold."""
        queries = np.arange(len(self.numbers))

        def pick(sides: Sequence[NDArray[Any]]) -> NDArray[Any]:
            return np.stack(sides)[self.numbers, queries]

        values = pick([side.values for side in terms])
        plain = all(side.above is side.values for side in terms)
        whole = all(side.below is None for side in terms)
        return Terms(
            values,
            pick([side.defined for side in terms]),
            values if plain else pick([side.above for side in terms]),
            None if whole else pick([side.divisor for side in terms]),
        )


def best_of(averages: Sequence[float], *, higher: bool) -> int:
    """Return the index of the best average; the first one if several are equal.

    Averages that differ by rounding errors only are equal. NaN is worse than any number.

    >>> best_of([0.1, math.nan, 0.3, 0.1 + 0.2], higher=True)
    2
    """
    goodnesses = [goodness(average, higher=higher) for average in averages]
    best = max(goodnesses)
    enough = best - _ROUNDING * max(abs(best), 1.0) if math.isfinite(best) else best
    return next(place for place, good in enumerate(goodnesses) if good >= enough)


def goodness(average: float, *, higher: bool) -> float:
    """Return an average, negated if lower is better; NaN is the worst value."""
    if math.isnan(average):
        return -math.inf
    return average if higher else -average


def _sums(terms: Terms, rows: Flags) -> tuple[Exact, Exact]:
    """Return the sums of the numerators and denominators of the defined queries in `rows`."""
    rows = rows & terms.defined
    below = (
        Exact.from_integer(int(rows.sum())) if terms.below is None else exact_sum(terms.below[rows])
    )
    return exact_sum(terms.above[rows]), below


def _ratio(above: Exact, below: Exact) -> float:
    return float(above) / float(below) if float(below) else math.nan
