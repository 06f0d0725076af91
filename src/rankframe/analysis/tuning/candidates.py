"""List the candidates of a tuning: fusions by method, norm, parameters and weights.

A grid lists the values of parameters, and the weights, to try.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import polars as pl

from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.fusion.names import define_method, norm_for, norm_named, parse, resolve
from rankframe.analysis.fusion.norms import RAW
from rankframe.analysis.fusion.registry import Definition, Method
from rankframe.analysis.tuning.weights import denominator_of, simplex, simplex_size, weights_of
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, did_you_mean, listing, shown
from rankframe.core.options import is_listed, is_number, take_all
from rankframe.core.records import record
from rankframe.metrics.names import read_literal

# The values to try by parameter name; for weights, the step size or lists of weights.
Grid: TypeAlias = Mapping[str, Any]
Weights: TypeAlias = tuple[float, ...]

WEIGHTS = "weights"
# The step size of weights, if all weights are tried, and if weights are searched for.
_STEP, _FINE_STEP = 0.1, 0.01
# The values of a parameter that are tried by default.
VALUES: dict[str, Sequence[Any]] = {
    "k": (1, 5, 10, 20, 30, 60, 100, 200),
    "phi": (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99),
    "gamma": (-1, -0.5, 0, 0.5, 1, 2),
    "sigma": (0.001, 0.01, 0.05, 0.1, 0.5, 1),
    "window": (1, 2, 5, 10, 20),
    "segments": (5, 10, 20, 50, 100),
}
_FEWEST_TRAINED = 3  # folds: one to evaluate on, one to choose on, and one to train on


@record
class Candidates:
    """Hold the fusions that are tried, ordered by method, norm and parameters."""

    listed: Sequence[Method]
    # fusions with equal weights, from which a search for better weights starts
    searched: Sequence[Method] = ()
    # the number of steps between a weight of 0 and a weight of 1 in a search
    steps: int = 0


def list_candidates(
    methods: object,
    norms: object,
    grid: Grid | None,
    runs: Sequence[str],
    *,
    budget: int,
    folds: int,
) -> Candidates:
    """List the fusions to try; refuse methods, norms and grids that make no fusion."""
    if grid is not None and not isinstance(grid, Mapping):
        example = '{"k": [10, 60]}'
        problem = f" maps parameters of fusion to values, such as {example}, and is {shown(grid)}."
        raise OptionError(Option("grid", bare=True), problem)
    varied, grid = _methods(methods, folds), grid or {}
    named = [norm_named(name) for name in _texts("norms", norms)]
    norm_names = [RAW if norm is None else norm.name for norm in named]
    _check_grid(grid, varied)
    weights, steps = _all_weights(grid, len(runs), budget)
    values: dict[str, Sequence[Any]] = {**VALUES, WEIGHTS: weights}
    values |= {name: _numbers(name, grid[name]) for name in grid if name != WEIGHTS}
    listed: list[Method] = []
    searched: list[Method] = []
    for definition, fixed in varied:
        choices = {name: values[name] for name in definition.parameters}
        choices |= {name: [value] for name, value in fixed.items()}
        if WEIGHTS in fixed:
            choices[WEIGHTS] = _weight_lists([fixed[WEIGHTS]], len(runs))
        searches = steps and definition.weighted and WEIGHTS not in fixed
        for norm, *combination in product(
            norm_names if definition.scored else [None], *choices.values()
        ):
            params = dict(zip(choices, combination, strict=True))
            candidate = make_candidate(definition, params, norm, runs)
            (searched if searches else listed).append(candidate)
    return Candidates(listed, searched, steps)


def make_candidate(
    definition: Definition, params: Mapping[str, Any], norm: str | None, runs: Sequence[str]
) -> Method:
    """Return a checked fusion whose label is the name that `rf.fuse` reads.

    >>> from rankframe.analysis.fusion.methods import METHODS
    >>> params = {"weights": (0.25, 0.75)}
    >>> make_candidate(METHODS["wsum"], params, "min_max", ["bm25", "dense"]).label
    'wsum(weights=[0.25, 0.75])'
    """
    if definition.expression is not None:
        return Method(definition.name, norm_for(definition, norm), definition)
    written = [
        f"{name}={list(value) if name == WEIGHTS else value}" for name, value in params.items()
    ]
    name = f"{definition.name}({', '.join(written)})" if written else definition.name
    return resolve(name, runs, norm=norm)


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
                f"{definition.name} is trained: it needs at least {_FEWEST_TRAINED} folds (one to "
                "train on, one to select on and one to evaluate on), not ",
                Option("folds", folds),
                ".",
            )
    for expression in expressions:
        # The name of an expression is its alias, or else its text.
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
    """Return the distinct names of an option that takes one name or several."""
    texts = _as_tuple(option, value)
    if not texts or not all(isinstance(text, str) for text in texts):
        raise OptionError(
            Option(option, bare=True), f" are names, one or several, not {shown(value)}."
        )
    return list(dict.fromkeys(texts))


def _check_grid(grid: Grid, varied: Sequence[tuple[Definition, Mapping[str, Any]]]) -> None:
    """Refuse a grid with a parameter that no method leaves open."""
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


def _numbers(name: str, values: object) -> list[Any]:
    """Return the distinct values of a parameter to try."""
    numbers = _as_tuple("grid", values)
    if not numbers or not all(is_number(number) for number in numbers):
        raise OptionError(
            Option("grid", bare=True), f" has numbers to try for {name!r}, not {shown(values)}."
        )
    return list(dict.fromkeys(numbers))


def _all_weights(grid: Grid, runs: int, budget: int) -> tuple[list[Weights], int]:
    """Return the lists of weights to try, and the number of steps of a search (0: no search).

    If there are more lists than the budget, return equal weights only, from which a search starts.
    """
    step = grid.get(WEIGHTS)
    if step is not None and not is_number(step):
        return _weight_lists(step, runs), 0
    denominator = denominator_of(_STEP if step is None else step)
    if simplex_size(runs, denominator) > budget:
        return [(1 / runs,) * runs], denominator_of(_FINE_STEP) if step is None else denominator
    return [weights_of(point, denominator) for point in simplex(runs, denominator)], 0


def _weight_lists(lists: object, runs: int) -> list[Weights]:
    """Return distinct lists of weights; refuse lists without a weight for each run."""
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
        raise OptionError(
            "there are no weights to try: pass a step such as 0.05, or lists such as [[0.3, 0.7]]."
        )
    return list(dict.fromkeys(rows))


def parse_grid(texts: Iterable[str]) -> dict[str, Any]:
    """Return the grid that a shell gives as NAME=X,X,…; a single number for weights is their step.

    >>> parse_grid(["k=10,60", "weights=0.05"])
    {'k': [10, 60], 'weights': 0.05}
    """
    grid: dict[str, Any] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip()
        numbers = [read_literal(value.strip()) for value in values.split(",")]
        if not (name and equals and all(map(is_number, numbers))):
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
