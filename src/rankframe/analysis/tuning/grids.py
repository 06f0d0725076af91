"""Grids: which parameters and weights are tried of each method, and what users may say of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeAlias

import polars as pl

from rankframe.analysis.tuning.candidates import Candidate
from rankframe.analysis.tuning.simplex import denominator_of, simplex, simplex_size, weights_of
from rankframe.core.checks import is_count, is_number
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, did_you_mean, listing, shown

# Values of a parameter by its name; of weights their step, or lists of them.
Grid: TypeAlias = Mapping[str, Any]

WEIGHTS = "weights"
# Steps of weights: of all that are tried, and where they are searched for.
_STEP, _FINE_STEP = 0.1, 0.01
# What is tried of a parameter unless somebody says otherwise.
VALUES: dict[str, tuple[float, ...]] = {
    "k": (1, 5, 10, 20, 30, 60, 100, 200),
    "phi": (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99),
    "gamma": (-1, -0.5, 0, 0.5, 1, 2),
    "sigma": (0.001, 0.01, 0.05, 0.1, 0.5, 1),
    "window": (1, 2, 5, 10, 20),
    "segments": (5, 10, 20, 50, 100),
}


@dataclass(frozen=True)
class Varied:
    """A method that is asked for, as far as a grid has to know it."""

    name: str
    # its parameters, in order, and those that were set
    parameters: tuple[str, ...]
    given: Mapping[str, Any]
    scored: bool
    # a user's own
    own: pl.Expr | None = None

    @property
    def free(self) -> list[str]:
        """The parameters that nobody set."""
        return [name for name in self.parameters if name not in self.given]


@dataclass(frozen=True)
class Family:
    """Candidates that differ in nothing but their weights."""

    candidate: Candidate
    # those that are tried, or one of them, where they are searched for; None: the method has none
    weights: tuple[tuple[float, ...], ...] | None = None
    # how many steps make 1, where they are searched for
    denominator: int | None = None

    def candidates(self) -> Iterator[Candidate]:
        """All of them, or one of them, where they are searched for."""
        if self.weights is None:
            yield self.candidate
        for weights in self.weights or ():
            yield replace(self.candidate, weights=weights)


def families(
    methods: Sequence[Varied], norms: Sequence[str], grid: Grid, *, runs: int, budget: int
) -> list[Family]:
    """What is tried, in order of the methods, norms and parameters, each once."""
    _refuse_strangers(grid, methods)
    listed, denominator = _tried_weights(grid.get(WEIGHTS), runs, budget)
    found: list[Family] = []
    for method in methods:
        for norm in norms if method.scored else (None,):
            for parameters in _combinations(method, grid):
                one = Candidate(method.name, norm, parameters, own=method.own)
                if WEIGHTS in method.free:
                    family = Family(one, listed, denominator)
                elif WEIGHTS in method.given:
                    family = Family(one, _weights([method.given[WEIGHTS]], runs))
                else:
                    family = Family(one)
                found.append(family)
    return found


def _tried_weights(
    given: object, runs: int, budget: int
) -> tuple[tuple[tuple[float, ...], ...], int | None]:
    """Weights that are all tried; or some, and the number of steps, where they are too many."""
    if given is not None and not is_number(given):
        return _weights(given, runs), None
    denominator = denominator_of(_STEP if given is None else given)
    if simplex_size(runs, denominator) > budget:
        fine = denominator_of(_FINE_STEP) if given is None else denominator
        return ((1 / runs,) * runs,), fine
    points = simplex(runs, denominator)
    return tuple(weights_of(point, denominator) for point in points), None


def _combinations(method: Varied, grid: Grid) -> Iterator[tuple[tuple[str, Any], ...]]:
    names = [name for name in method.parameters if name != WEIGHTS]
    tried = []
    for name in names:
        if name in method.given:
            tried.append((method.given[name],))
        elif name in grid:
            tried.append(_values(name, grid[name]))
        else:
            tried.append(VALUES[name])
    for values in product(*tried):
        yield tuple(zip(names, values, strict=True))


def _refuse_strangers(grid: Grid, methods: Sequence[Varied]) -> None:
    """Refuse a grid of what no method has, or has a value of already."""
    if not isinstance(grid, Mapping):
        raise OptionError(
            Option("grid", bare=True),
            ' has values by the names of parameters, {"k": [10, 60], "weights": 0.05}, '
            f"not {shown(grid)}.",
        )
    known = list(dict.fromkeys(name for method in methods for name in method.free))
    for name in grid:
        if name in known:
            continue
        near = did_you_mean(str(name), known)
        called = listing([method.name for method in methods])
        raise OptionError(
            Option("grid", bare=True),
            f" has {shown(name)}, and no method that is tried ({called}) has such a parameter to "
            f"vary. {near}{' ' if near else ''}There is {listing(known)}.",
        )


def _values(name: str, given: object) -> tuple[Any, ...]:
    values = (
        tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    )
    if not values or not all(is_number(value) for value in values):
        raise OptionError(
            Option("grid", bare=True), f" has numbers to try for {name!r}, not {shown(given)}."
        )
    return tuple(dict.fromkeys(values))


def _weights(given: object, runs: int) -> tuple[tuple[float, ...], ...]:
    """Lists of weights, one a run."""
    rows = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    found = []
    for row in rows:
        numbers = tuple(row) if isinstance(row, Iterable) and not isinstance(row, str) else ()
        if len(numbers) != runs or not all(is_number(number) for number in numbers):
            raise OptionError(
                f"weights are a step such as 0.05, or lists of {runs} numbers, one for each run, "
                f"not {shown(row)}."
            )
        found.append(tuple(map(float, numbers)))
    if not found:
        raise OptionError("there are no weights to try: give a step such as 0.05, or lists.")
    return tuple(dict.fromkeys(found))


def check_budget(budget: object) -> None:
    """Refuse what is no number of candidates."""
    if not is_count(budget):
        raise OptionError(
            Option("budget", bare=True),
            f" must be a whole number of at least 1, not {shown(budget)}.",
        )


def grid_of_texts(given: Iterable[str]) -> dict[str, Any]:
    """NAME=X,X,… as a shell gives them; one number of weights is their step.

    >>> grid_of_texts(["k=10,60", "weights=0.05"])
    {'k': [10, 60], 'weights': 0.05}
    """
    grid: dict[str, Any] = {}
    for item in given:
        name, equals, texts = item.partition("=")
        name = name.strip()
        numbers = [_number(text) for text in texts.split(",")]
        if not (name and equals) or None in numbers:
            raise OptionError(
                Option("grid"), f" reads NAME=X,X, e.g. k=10,60,100 or weights=0.05, not {item!r}."
            )
        if name in grid:
            raise OptionError(Option("grid"), f" names {name!r} twice. Leave one of them out.")
        grid[name] = numbers
        if name == WEIGHTS:
            grid[name] = numbers[0] if len(numbers) == 1 else [numbers]
    return grid


def _number(text: str) -> float | int | None:
    for kind in (int, float):
        try:
            return kind(text.strip())
        except ValueError:
            pass
    return None
