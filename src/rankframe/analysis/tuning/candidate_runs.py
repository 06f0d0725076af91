"""Every candidate is tried once; what is trained, once for all folds that it must not see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement

from rankframe.analysis.fusion.fuser import Fuser
from rankframe.analysis.tuning.candidates import Candidate
from rankframe.analysis.tuning.choosing import Contender, Split, goodness
from rankframe.analysis.tuning.evaluator import Bench
from rankframe.analysis.tuning.findings import Tried
from rankframe.analysis.tuning.fold_training import Lessons
from rankframe.analysis.tuning.grids import Family
from rankframe.analysis.tuning.request import method_of
from rankframe.analysis.tuning.search import climb, starting_points, together
from rankframe.analysis.tuning.simplex import Point, weights_of
from rankframe.engine.terms import Terms


@dataclass(frozen=True, eq=False)
class Trials:
    """Candidates that were tried, and what each is worth in every query."""

    bench: Bench
    # queries in folds, as far as it is known which of them count
    split: Split
    lessons: Lessons
    budget: int
    seed: int
    contenders: dict[Candidate, Contender] = field(default_factory=dict)

    def run(self, families: Sequence[Family], beside: Candidate) -> list[Tried]:
        """Try all candidates, and search for those that are not known yet; `beside` these, look at
        one more.
        """
        listed = [one for family in families for one in _listed(family)]
        self.look([beside, *listed])
        everywhere = frozenset(range(self.split.count))
        seen: dict[Candidate, frozenset[int]] = dict.fromkeys(listed, everywhere)
        for family in families:
            if family.denominator is not None:
                for candidate, folds in self._searched(family, family.denominator):
                    seen[candidate] = seen.get(candidate, frozenset()) | folds
        return [Tried(one, self.contenders[one], folds) for one, folds in seen.items()]

    def look(self, candidates: Sequence[Candidate]) -> None:
        """Evaluate those that were not yet."""
        new = [one for one in dict.fromkeys(candidates) if one not in self.contenders]
        plain = [one for one in new if not self._fuser(one).method.definition.trained]
        terms = self.bench.terms([self._fuser(one) for one in plain])
        self.contenders.update(
            (one, Contender(some)) for one, some in zip(plain, terms, strict=True)
        )
        for one in new:
            if one not in self.contenders:
                self.contenders[one] = self._trained(one)

    def _fuser(self, candidate: Candidate) -> Fuser:
        names = self.bench.runs.names
        return Fuser(method_of(candidate, names))

    def _trained(self, candidate: Candidate) -> Contender:
        """Trained without the fold of each query; and without every other fold as well, so that it
        is chosen for a fold by what saw nothing of that, nor of the queries that it is valued by.
        """
        fuser, folds = self._fuser(candidate), range(self.split.count)
        unseen = [frozenset(some) for some in combinations_with_replacement(folds, 2)]
        fusers = [Fuser.train(fuser.method, self.lessons.without(some)) for some in unseen]
        found: dict[frozenset[int], Terms] = dict(
            zip(unseen, self.bench.terms(fusers), strict=True)
        )
        within = [
            self.split.joined([found[frozenset((fold, other))] for other in folds])
            for fold in folds
        ]
        return Contender(
            self.split.joined([found[frozenset((one,))] for one in folds]), tuple(within)
        )

    def _searched(
        self, family: Family, denominator: int
    ) -> Iterator[tuple[Candidate, frozenset[int]]]:
        """What was found without looking at each fold, and by looking at all of them."""
        runs, whole = len(self.bench.runs.names), self.split.count
        points = starting_points(runs, denominator, self.budget, self.seed)
        averages: dict[Point, list[float]] = {}

        def named(point: Point) -> Candidate:
            return replace(family.candidate, weights=weights_of(point, denominator))

        def look(some: Sequence[Point]) -> None:
            new = [point for point in some if point not in averages]
            self.look([named(point) for point in new])
            averages.update(
                (point, self.split.averages(self.contenders[named(point)])) for point in new
            )

        def good(fold: int, point: Point) -> float:
            return goodness(averages[point][fold], higher=self.bench.metric.higher_is_better)

        climbs = {fold: climb(points, denominator, self.budget) for fold in range(whole + 1)}
        found = together(climbs, look, good)
        sets = {fold: set(some) for fold, some in found.items()}
        for point in averages:
            folds = frozenset(fold for fold in range(whole) if point in sets[fold])
            yield named(point), folds


def _listed(family: Family) -> Iterator[Candidate]:
    if family.denominator is None:
        yield from family.candidates()
