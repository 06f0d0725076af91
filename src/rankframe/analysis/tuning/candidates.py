"""Candidates: the fusions that are tried, by method, norm, parameters and weights.

A grid has the values of parameters, and the weights, that are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

import polars as pl

from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.fusion.names import define_method, norm_named, parse, resolve
from rankframe.analysis.fusion.norms import RAW
from rankframe.analysis.fusion.registry import Definition, Method
from rankframe.analysis.tuning.weights import denominator_of, simplex, simplex_size, weights_of
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, did_you_mean, listing, shown
from rankframe.core.options import is_listed, is_number, take_all

# Values by the name of a parameter; for weights their step, or lists of them.
Grid: TypeAlias = Mapping[str, Any]
Weights: TypeAlias = tuple[float, ...]

WEIGHTS = "weights"
# Steps of weights: if all weights are tried, and if they are searched for.
_STEP, _FINE_STEP = 0.1, 0.01
# The values of a parameter that are tried by default.
VALUES: dict[str, tuple[float, ...]] = {
    "k": (1, 5, 10, 20, 30, 60, 100, 200),
    "phi": (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99),
    "gamma": (-1, -0.5, 0, 0.5, 1, 2),
    "sigma": (0.001, 0.01, 0.05, 0.1, 0.5, 1),
    "window": (1, 2, 5, 10, 20),
    "segments": (5, 10, 20, 50, 100),
}
_FEWEST_TRAINED = 3  # folds: one to be valued by, one to choose for, and one to learn from


@dataclass(frozen=True)
class Candidate:
    """Describe a fusion that is tried."""

    method: str
    # None: the method looks at ranks alone
    norm: str | None = None
    # in the order in which the method has them
    parameters: tuple[tuple[str, Any], ...] = ()
    weights: tuple[float, ...] | None = None
    # a user's own method, with the name `method`
    expression: pl.Expr | None = field(default=None, compare=False)
    # how many steps make 1, where other weights are searched for
    denominator: int | None = None

    @property
    def method_like(self) -> str | pl.Expr:
        """Return the method as `rf.fuse` takes it."""
        return self.name if self.expression is None else self.expression

    @property
    def name(self) -> str:
        """Return the name that `rf.fuse` reads, or that of a user's own method.

        >>> Candidate("wsum", "min_max", weights=(0.25, 0.75)).name
        'wsum(weights=[0.25, 0.75])'
        """
        values = [f"{name}={value}" for name, value in self.parameters]
        if self.weights is not None:
            values.append(f"weights={list(self.weights)}")
        return f"{self.method}({', '.join(values)})" if values else self.method

    def resolve(self, runs: Sequence[str]) -> Method:
        """Return the method for runs with these names."""
        return resolve(self.method_like, runs, norm=self.norm)


def list_candidates(
    methods: object,
    norms: object,
    grid: Grid | None,
    runs: Sequence[str],
    *,
    budget: int,
    folds: int,
) -> list[Candidate]:
    """List what is tried, ordered by method, norm and parameters; refuse what is no fusion."""
    if grid is not None and not isinstance(grid, Mapping):
        example = '{"k": [10, 60]}'
        problem = f" maps parameters of fusion to values, such as {example}, and is {shown(grid)}."
        raise OptionError(Option("grid", bare=True), problem)
    varied, grid = _methods(methods, folds), grid or {}
    named = [norm_named(name) for name in _texts("norms", norms)]
    norm_names = [RAW if norm is None else norm.name for norm in named]
    _check_grid(grid, varied)
    all_weights, denominator = _all_weights(grid, len(runs), budget)
    candidates: list[Candidate] = []
    for definition, fixed in varied:
        choices, steps = (all_weights, denominator) if definition.weighted else ((None,), None)
        if WEIGHTS in fixed:
            choices, steps = _weight_lists([fixed[WEIGHTS]], len(runs)), None
        names = [name for name in definition.parameters if name != WEIGHTS]
        values = [[fixed[n]] if n in fixed else _parameter_values(n, grid) for n in names]
        for norm, *combination in product(norm_names if definition.scored else [None], *values):
            parameters = tuple(zip(names, combination, strict=True))
            candidates += [
                Candidate(definition.name, norm, parameters, weights, definition.expression, steps)
                for weights in choices
            ]
    for candidate in candidates:
        candidate.resolve(runs)
    return candidates


def _methods(methods: object, folds: int) -> list[tuple[Definition, dict[str, Any]]]:
    """Return each method with the parameters that are fixed: names first, then expressions."""
    listed = _as_tuple("methods", methods)
    expressions = [method for method in listed if isinstance(method, pl.Expr)]
    names = [method for method in listed if not isinstance(method, pl.Expr)]
    if expressions and not all(isinstance(name, str) for name in names):
        raise OptionError(
            Option("methods", bare=True), f" are names and expressions, not {shown(methods)}."
        )
    named = dict.fromkeys(names) if expressions else _texts("methods", methods)
    varied = [parse(name) for name in named]
    for definition, _ in varied:
        if definition.trained and folds < _FEWEST_TRAINED:
            raise OptionError(
                f"{definition.name} is trained: it needs at least {_FEWEST_TRAINED} folds, one to "
                "be valued by, one to choose for and one to learn from, not ",
                Option("folds", folds),
                ".",
            )
    for expression in expressions:
        # Its name is its alias, or else how it is written.
        plain = expression.meta.eq(expression.meta.undo_aliases())
        name = str(expression) if plain else expression.meta.output_name()
        definition = define_method(expression, name)
        if name in METHODS or name in (other.name for other, _ in varied):
            raise OptionError(
                f"two methods are called {shown(name)}. Give the expression another name, with "
                '.alias("…").'
            )
        varied.append((definition, {}))
    return varied


def _texts(option: str, value: object) -> list[str]:
    """Return a list of names, each once; a single name is such a list."""
    texts = _as_tuple(option, value)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise OptionError(
            Option(option, bare=True), f" are names, one or several, not {shown(value)}."
        )
    return list(dict.fromkeys(texts))


def _check_grid(grid: object, varied: Sequence[tuple[Definition, Mapping[str, Any]]]) -> None:
    """Refuse a grid with a parameter that no method leaves open."""
    if not isinstance(grid, Mapping):
        raise OptionError(
            Option("grid", bare=True),
            ' has values by the names of parameters, {"k": [10, 60], "weights": 0.05}, '
            f"not {shown(grid)}.",
        )
    free = (name for method, fixed in varied for name in method.parameters if name not in fixed)
    names = list(dict.fromkeys(free))
    for name in grid:
        if name not in names:
            methods = listing([method.name for method, _ in varied])
            raise OptionError(
                Option("grid", bare=True),
                f" has {shown(name)}, and no method that is tried ({methods}) has such a "
                "parameter to vary. ",
                f"{did_you_mean(str(name), names)} There is {listing(names)}.".lstrip(),
            )


def _parameter_values(name: str, grid: Grid) -> tuple[Any, ...]:
    """Return the values of a parameter that are tried, each once."""
    if name not in grid:
        return VALUES[name]
    values = _as_tuple("grid", grid[name])
    if not values or not all(is_number(value) for value in values):
        raise OptionError(
            Option("grid", bare=True), f" has numbers to try for {name!r}, not {shown(grid[name])}."
        )
    return tuple(dict.fromkeys(values))


def _all_weights(grid: Grid, runs: int, budget: int) -> tuple[tuple[Weights, ...], int | None]:
    """Return all weights that are tried; or, if they exceed the budget, equal weights and the
    number of steps in which to search for others.
    """
    step = grid.get(WEIGHTS)
    if step is not None and not is_number(step):
        return _weight_lists(step, runs), None
    denominator = denominator_of(_STEP if step is None else step)
    if simplex_size(runs, denominator) > budget:
        fine = denominator_of(_FINE_STEP) if step is None else denominator
        return ((1 / runs,) * runs,), fine
    return tuple(weights_of(point, denominator) for point in simplex(runs, denominator)), None


def _weight_lists(lists: object, runs: int) -> tuple[Weights, ...]:
    """Return lists of weights, a weight for each run, each list once."""
    rows = []
    for row in _as_tuple("grid", lists):
        numbers = _as_tuple("grid", row)
        if len(numbers) != runs or not all(is_number(number) for number in numbers):
            raise OptionError(
                f"weights are a step such as 0.05, or lists of {runs} numbers, one for each run, "
                f"not {shown(row)}."
            )
        rows.append(tuple(map(float, numbers)))
    if not rows:
        raise OptionError("there are no weights to try: give a step such as 0.05, or lists.")
    return tuple(dict.fromkeys(rows))


def parse_grid(texts: Iterable[str]) -> dict[str, Any]:
    """Return the grid that a shell gives as NAME=X,X,…; a single number for weights is their step.

    >>> parse_grid(["k=10,60", "weights=0.05"])
    {'k': [10, 60], 'weights': 0.05}
    """
    grid: dict[str, Any] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip()
        numbers = [_parse_number(value) for value in values.split(",")]
        if not (name and equals) or None in numbers:
            raise OptionError(
                Option("grid"), f" reads NAME=X,X, e.g. k=10,60,100 or weights=0.05, not {text!r}."
            )
        if name in grid:
            raise OptionError(Option("grid"), f" names {name!r} twice. Leave one of them out.")
        grid[name] = numbers
        if name == WEIGHTS:
            grid[name] = numbers[0] if len(numbers) == 1 else [numbers]
    return grid


def _as_tuple(option: str, values: Any) -> tuple[Any, ...]:
    """Return the elements of an iterable; anything else, and text, is a single element."""
    if isinstance(values, Mapping):
        return tuple(values)
    return tuple(take_all(option, values)) if is_listed(values) else (values,)


def _parse_number(text: str) -> float | int | None:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return None
