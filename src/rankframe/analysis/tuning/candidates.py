"""Candidates: the fusions that are tried, by method, norm, parameters and weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import polars as pl

from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.fusion.names import define_method, norm_named, parse, resolve
from rankframe.analysis.fusion.norms import RAW
from rankframe.analysis.fusion.registry import Definition, Method
from rankframe.analysis.tuning.grid import (
    WEIGHTS,
    Grid,
    all_weights,
    check_grid,
    parameter_values,
    weight_lists,
)
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown

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


@dataclass(frozen=True)
class Family:
    """Hold candidates that differ in nothing but their weights."""

    candidate: Candidate
    # the weights that are tried, or equal ones where they are searched for; None: no weights
    weights: tuple[tuple[float, ...], ...] | None = None
    # how many steps make 1, where weights are searched for
    denominator: int | None = None

    def candidates(self) -> Iterator[Candidate]:
        """Yield each candidate; a single one where weights are searched for."""
        if self.weights is None:
            yield self.candidate
        for weights in self.weights or ():
            yield replace(self.candidate, weights=weights)


def list_families(
    methods: object,
    norms: object,
    grid: Grid | None,
    runs: Sequence[str],
    *,
    budget: int,
    folds: int,
) -> list[Family]:
    """List what is tried, ordered by method, norm and parameters; refuse what is no fusion."""
    varied = _methods(methods, folds)
    named = [norm_named(name) for name in _texts("norms", norms)]
    grid = grid or {}
    free = (name for d, fixed in varied for name in d.parameters if name not in fixed)
    check_grid(grid, list(dict.fromkeys(free)), [definition.name for definition, _ in varied])
    listed, denominator = all_weights(grid, len(runs), budget)
    norm_names = [RAW if norm is None else norm.name for norm in named]
    families: list[Family] = []
    for definition, fixed in varied:
        for norm in norm_names if definition.scored else (None,):
            for parameters in _combine(definition, fixed, grid):
                family = Family(
                    Candidate(definition.name, norm, parameters, None, definition.expression)
                )
                if WEIGHTS in fixed:
                    family = replace(family, weights=weight_lists([fixed[WEIGHTS]], len(runs)))
                elif definition.weighted:
                    family = replace(family, weights=listed, denominator=denominator)
                families.append(family)
    for family in families:
        for candidate in family.candidates():
            candidate.resolve(runs)
    return families


def _methods(methods: object, folds: int) -> list[tuple[Definition, dict[str, Any]]]:
    """Return each method with the parameters that are fixed: names first, then expressions."""
    several = [methods] if isinstance(methods, str | pl.Expr) else methods
    listed = list(several) if isinstance(several, Iterable) else []
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


def _combine(
    definition: Definition, fixed: Mapping[str, Any], grid: Grid
) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Yield every combination of a method's parameters, without weights."""
    names = [name for name in definition.parameters if name != WEIGHTS]
    values = [(fixed[name],) if name in fixed else parameter_values(name, grid) for name in names]
    for combination in product(*values):
        yield tuple(zip(names, combination, strict=True))


def _texts(option: str, value: object) -> list[str]:
    """Return a list of names, each once; a single name is such a list."""
    texts = [value] if isinstance(value, str) else value
    several = list(texts) if isinstance(texts, Iterable) else []
    if not several or not all(isinstance(text, str) for text in several):
        raise OptionError(
            Option(option, bare=True), f" are names, one or several, not {shown(value)}."
        )
    return list(dict.fromkeys(several))
