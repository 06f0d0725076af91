"""Evaluate every candidate once; train trained fusions without the folds they must not see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import TypeAlias

import numpy as np
import polars as pl

from rankframe.analysis.fusion.registry import Method
from rankframe.analysis.fusion.training import Hits, JudgedRun
from rankframe.analysis.tuning.candidates import WEIGHTS, Candidates, make_candidate
from rankframe.analysis.tuning.evaluator import Evaluator
from rankframe.analysis.tuning.folds import Folds, QueryValues, goodness
from rankframe.analysis.tuning.weights import (
    Point,
    climb,
    climb_together,
    starting_points,
    weights_of,
)
from rankframe.core.records import record

# The key of a fusion: its label, and the name of its norm.
Key: TypeAlias = tuple[str, str | None]


@record
class Trial:
    """Hold a fusion that was evaluated, its values, and the folds for which it may be chosen.

    A fusion may be chosen for a fold if it was listed, or found by a search without that fold.
    """

    method: Method
    values: QueryValues
    folds: frozenset[int]


@dataclass(frozen=True, eq=False)
class Trials:
    """Evaluate fusions, and cache their values in every query."""

    # the names of the runs
    names: Sequence[str]
    evaluator: Evaluator
    queries: pl.Series
    folds: Folds
    # a callback that judges the runs, for fusions that are trained
    judge: Callable[[], Sequence[JudgedRun]]
    budget: int
    seed: int
    values: dict[Key, QueryValues] = field(default_factory=dict)

    def run(self, candidates: Candidates, baseline: Method) -> list[Trial]:
        """Evaluate a baseline and all candidates, listed or searched; return their trials."""
        self._evaluate([baseline, *candidates.listed])
        every_fold = frozenset(range(self.folds.count))
        found = [(method, every_fold) for method in candidates.listed]
        for method in candidates.searched:
            found += self._search(method, candidates.steps)
        trials: dict[Key, Trial] = {}
        for method, folds in found:
            key = _key(method)
            earlier = trials[key].folds if key in trials else frozenset[int]()
            trials[key] = Trial(method, self.values[key], earlier | folds)
        return list(trials.values())

    def __getitem__(self, method: Method) -> QueryValues:
        return self.values[_key(method)]

    def _evaluate(self, methods: Sequence[Method]) -> None:
        """Evaluate the fusions whose values are not cached yet."""
        new = {_key(method): method for method in methods if _key(method) not in self.values}
        plain = {key: method for key, method in new.items() if not method.definition.trained}
        terms = self.evaluator.evaluate(list(plain.values()))
        self.values.update(zip(plain, map(QueryValues, terms), strict=True))
        for key, method in new.items():
            if method.definition.trained:
                self.values[key] = self._train(method)

    def _train(self, method: Method) -> QueryValues:
        """Evaluate a method, trained without each fold and without each pair of folds.

        The value of a query comes from training without its fold. When a candidate is chosen for
        another fold, the values come from training without both folds.
        """
        folds = range(self.folds.count)
        unseen = [frozenset(pair) for pair in combinations_with_replacement(folds, 2)]
        judged = self.judge()
        trained = [
            method.train(count_hits_without(pair, judged, self.queries, self.folds))
            for pair in unseen
        ]
        terms = dict(zip(unseen, self.evaluator.evaluate(trained), strict=True))
        without = [
            self.folds.join([terms[frozenset((fold, other))] for other in folds]) for fold in folds
        ]
        own = self.folds.join([terms[frozenset((fold,))] for fold in folds])
        return QueryValues(own, tuple(without))

    def _search(self, method: Method, steps: int) -> Iterator[tuple[Method, frozenset[int]]]:
        """Search for weights once without each fold, and once over all folds.

        Yields each evaluated fusion, with the folds whose search (without the fold) visited it.
        """
        count, higher = self.folds.count, self.evaluator.metric.higher_is_better
        points = starting_points(len(self.names), steps, self.budget, self.seed)
        methods: dict[Point, Method] = {}
        averages: dict[Point, list[float]] = {}

        def evaluate(points: Sequence[Point]) -> None:
            new = [point for point in points if point not in averages]
            for point in new:
                params = {**method.params, WEIGHTS: weights_of(point, steps)}
                methods[point] = make_candidate(
                    method.definition, params, method.norm_name, self.names
                )
            self._evaluate([methods[point] for point in new])
            for point in new:
                averages[point] = self.folds.averages(self[methods[point]])

        searches = {fold: climb(points, steps, self.budget) for fold in range(count + 1)}
        visited = climb_together(
            searches, evaluate, lambda fold, point: goodness(averages[point][fold], higher=higher)
        )
        points_of_fold = [set(visited[fold]) for fold in range(count)]
        for point, weighted in methods.items():
            folds = (fold for fold, found in enumerate(points_of_fold) if point in found)
            yield weighted, frozenset(folds)


def _key(method: Method) -> Key:
    return method.label, method.norm_name


def count_hits_without(
    unseen: Collection[int], runs: Sequence[JudgedRun], queries: pl.Series, folds: Folds
) -> list[Hits]:
    """Return the hits of each run in the queries of all folds except the unseen ones."""
    training_queries = queries.filter(pl.Series(~np.isin(folds.numbers, list(unseen))))
    return [run.count(training_queries) for run in runs]
