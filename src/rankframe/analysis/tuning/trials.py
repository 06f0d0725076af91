"""Try every candidate once; train what is trained without the folds that it must not see."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
import polars as pl

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.registry import Method
from rankframe.analysis.fusion.training import Hits, JudgedRun, judge_runs
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
from rankframe.io.input_table import InputTable


@dataclass(frozen=True, eq=False)
class Training:
    """Hold what trained candidates learn from; runs are judged when that is first needed."""

    qrels: InputTable
    runs: Mapping[str, InputTable]
    policies: FusionPolicies
    queries: pl.Series
    folds: Folds

    def hits_without(self, folds: Collection[int]) -> list[Hits]:
        """Return the hits of each run in the queries of all other folds."""
        other = self.queries.filter(pl.Series(~np.isin(self.folds.numbers, list(folds))))
        return [run.count(other) for run in self._judged]

    @cached_property
    def _judged(self) -> list[JudgedRun]:
        return judge_runs(self.qrels, self.runs, self.policies)


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
    """Hold the values of candidates that were tried."""

    # of the runs
    names: Sequence[str]
    evaluator: Evaluator
    folds: Folds
    training: Training
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
        trained = [method.train(self.training.hits_without(pair)) for pair in unseen]
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
