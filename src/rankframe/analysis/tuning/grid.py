"""Grids: the values of parameters, and the weights, that are tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from rankframe.analysis.tuning.weights import denominator_of, simplex, simplex_size, weights_of
from rankframe.core.checks import is_number
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, did_you_mean, listing, shown

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


def check_grid(grid: object, parameters: Sequence[str], methods: Sequence[str]) -> None:
    """Refuse a grid with a parameter that no method leaves open."""
    if not isinstance(grid, Mapping):
        raise OptionError(
            Option("grid", bare=True),
            ' has values by the names of parameters, {"k": [10, 60], "weights": 0.05}, '
            f"not {shown(grid)}.",
        )
    for name in grid:
        if name not in parameters:
            near = did_you_mean(str(name), list(parameters))
            raise OptionError(
                Option("grid", bare=True),
                f" has {shown(name)}, and no method that is tried ({listing(list(methods))}) has "
                f"such a parameter to vary. {near}{' ' if near else ''}"
                f"There is {listing(list(parameters))}.",
            )


def parameter_values(name: str, grid: Grid) -> tuple[Any, ...]:
    """Return the values of a parameter that are tried, each once."""
    if name not in grid:
        return VALUES[name]
    values = _as_tuple(grid[name])
    if not values or not all(is_number(value) for value in values):
        raise OptionError(
            Option("grid", bare=True), f" has numbers to try for {name!r}, not {shown(grid[name])}."
        )
    return tuple(dict.fromkeys(values))


def all_weights(grid: Grid, runs: int, budget: int) -> tuple[tuple[Weights, ...], int | None]:
    """Return all weights that are tried; or, if they exceed the budget, equal weights and the
    number of steps in which to search for others.
    """
    step = grid.get(WEIGHTS)
    if step is not None and not is_number(step):
        return weight_lists(step, runs), None
    denominator = denominator_of(_STEP if step is None else step)
    if simplex_size(runs, denominator) > budget:
        fine = denominator_of(_FINE_STEP) if step is None else denominator
        return ((1 / runs,) * runs,), fine
    return tuple(weights_of(point, denominator) for point in simplex(runs, denominator)), None


def weight_lists(lists: object, runs: int) -> tuple[Weights, ...]:
    """Return lists of weights, a weight for each run, each list once."""
    rows = []
    for row in _as_tuple(lists):
        numbers = _as_tuple(row)
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


def _as_tuple(values: Any) -> tuple[Any, ...]:
    """Return the elements of an iterable; anything else, and text, is a single element."""
    several = isinstance(values, Iterable) and not isinstance(values, str)
    return tuple(values) if several else (values,)


def _parse_number(text: str) -> float | int | None:
    for kind in (int, float):
        try:
            return kind(text.strip())
        except ValueError:
            pass
    return None
