"""Try every candidate once; train what is trained without the folds that it must not see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement

import numpy as np
import polars as pl

from rankframe.analysis.fusion.registry import Method
from rankframe.analysis.fusion.training import Hits, JudgedRun
from rankframe.analysis.tuning.candidates import Candidate
from rankframe.analysis.tuning.evaluator import Evaluator
from rankframe.analysis.tuning.folds import Folds, QueryValues, goodness
from rankframe.analysis.tuning.weights import (
    Point,
    climb,
    climb_together,
    starting_points,
    weights_of,
)


@dataclass(frozen=True)
class Trial:
    """Hold a candidate that was tried, its values, and the folds for which it may be chosen.

    These are the folds that did not help to find it.
    """

    candidate: Candidate
    values: QueryValues
    folds: frozenset[int]


@dataclass(frozen=True, eq=False)
class Trials:
    """Try candidates, and hold their values in every query."""

    # of the runs
    names: Sequence[str]
    evaluator: Evaluator
    queries: pl.Series
    folds: Folds
    # judges the runs, which trained candidates learn from
    judge: Callable[[], Sequence[JudgedRun]]
    budget: int
    seed: int
    values: dict[Candidate, QueryValues] = field(default_factory=dict)

    def run(self, candidates: Sequence[Candidate], baseline: Candidate) -> list[Trial]:
        """Try a baseline and all candidates, and search for weights that are not listed."""
        listed = [candidate for candidate in candidates if candidate.denominator is None]
        self.evaluate([baseline, *listed])
        everywhere = frozenset(range(self.folds.count))
        known_to: dict[Candidate, frozenset[int]] = dict.fromkeys(listed, everywhere)
        for searched in candidates:
            if searched.denominator is not None:
                for candidate, folds in self._search(searched, searched.denominator):
                    known_to[candidate] = known_to.get(candidate, frozenset()) | folds
        return [Trial(c, self.values[c], folds) for c, folds in known_to.items()]

    def evaluate(self, candidates: Sequence[Candidate]) -> None:
        """Evaluate the candidates that have no values yet."""
        new = {
            candidate: candidate.resolve(self.names)
            for candidate in candidates
            if candidate not in self.values
        }
        plain = {c: method for c, method in new.items() if not method.definition.trained}
        terms = self.evaluator.evaluate(list(plain.values()))
        self.values.update(zip(plain, map(QueryValues, terms), strict=True))
        for candidate, method in new.items():
            if candidate not in plain:
                self.values[candidate] = self._train(method)

    def _train(self, method: Method) -> QueryValues:
        """Train a method without the fold of each query; and without every other fold as well.

        So it is chosen for a fold by what saw neither that fold nor the queries that it is valued
        by.
        """
        folds = range(self.folds.count)
        unseen = [frozenset(pair) for pair in combinations_with_replacement(folds, 2)]
        judged = self.judge()
        trained = [
            method.train(count_hits_without(pair, judged, self.queries, self.folds))
            for pair in unseen
        ]
        terms = dict(zip(unseen, self.evaluator.evaluate(trained), strict=True))
        without = (
            self.folds.join([terms[frozenset((fold, other))] for other in folds]) for fold in folds
        )
        return QueryValues(
            self.folds.join([terms[frozenset((fold,))] for fold in folds]), tuple(without)
        )

    def _search(
        self, searched: Candidate, denominator: int
    ) -> Iterator[tuple[Candidate, frozenset[int]]]:
        """Yield the candidates of a search for each fold without it, and of one over all folds.

        With each come the folds whose search found it.
        """
        folds, higher = self.folds.count, self.evaluator.metric.higher_is_better
        runs = len(self.names)
        points = starting_points(runs, denominator, self.budget, self.seed)
        averages: dict[Point, list[float]] = {}

        def candidate_at(point: Point) -> Candidate:
            return replace(searched, weights=weights_of(point, denominator), denominator=None)

        def evaluate(points: Sequence[Point]) -> None:
            new = {point: candidate_at(point) for point in points if point not in averages}
            self.evaluate(list(new.values()))
            for point, candidate in new.items():
                averages[point] = self.folds.averages(self.values[candidate])

        climbs = {fold: climb(points, denominator, self.budget) for fold in range(folds + 1)}
        visited = climb_together(
            climbs, evaluate, lambda fold, point: goodness(averages[point][fold], higher=higher)
        )
        sets = {fold: set(points) for fold, points in visited.items()}
        for point in averages:
            found_by = (fold for fold in range(folds) if point in sets[fold])
            yield candidate_at(point), frozenset(found_by)


def count_hits_without(
    unseen: Collection[int], runs: Sequence[JudgedRun], queries: pl.Series, folds: Folds
) -> list[Hits]:
    """Return the hits of each run in the queries of all but the unseen folds."""
    training_queries = queries.filter(pl.Series(~np.isin(folds.numbers, list(unseen))))
    return [run.count(training_queries) for run in runs]
