"""What is asked for: one metric, methods, norms and grids; refused where it makes no fusion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from rankframe.analysis.fusion.names import Method, norm_named, parse, resolve
from rankframe.analysis.fusion.norms import RAW
from rankframe.analysis.fusion.registry import METHODS
from rankframe.analysis.tuning.candidates import Candidate
from rankframe.analysis.tuning.grids import Family, Grid, Varied, families
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, shown
from rankframe.metrics.names import Metric, MetricLike
from rankframe.metrics.names import resolve as resolve_metrics

_FEWEST_TRAINED = 3  # folds: one to be valued by, one to choose for, and one to learn from


def one_metric(metric: MetricLike) -> Metric:
    """The one metric, if it has a value for each query."""
    found = resolve_metrics(metric)
    if len(found) > 1:
        labels = ", ".join(repr(one.label) for one in found)
        raise MetricParameterError(f"fusions are tuned for one metric, not for {labels}.")
    if found[0].whole_input:
        raise MetricParameterError(
            f"{found[0].label!r} compares the documents of all queries with each other: it has no "
            "value for each query to tune by. Take another metric."
        )
    return found[0]


def asked_families(
    methods: object,
    norms: object,
    grid: Grid | None,
    runs: Sequence[str],
    *,
    budget: int,
    folds: int,
) -> list[Family]:
    """What is tried; refused where some of it is no fusion of these runs."""
    varied = []
    for one in _methods(methods):
        if isinstance(one, pl.Expr):
            varied.append(_own(one, [other.name for other in varied]))
            continue
        definition, given = parse(one)
        varied.append(
            Varied(definition.name, tuple(definition.parameters), given, definition.scored)
        )
        if definition.trained and folds < _FEWEST_TRAINED:
            raise OptionError(
                f"{definition.name} is trained: it needs at least {_FEWEST_TRAINED} folds, one to "
                "be valued by, one to choose for and one to learn from, not ",
                Option("folds", folds),
                ".",
            )
    found = [norm_named(name) for name in _texts("norms", norms)]
    names = [RAW if one is None else one.name for one in found]
    tried = families(varied, names, grid or {}, runs=len(runs), budget=budget)
    for family in tried:
        for candidate in family.candidates():
            method_of(candidate, runs)
    return tried


def method_of(candidate: Candidate, runs: Sequence[str]) -> Method:
    """A candidate as `fuse` has it."""
    return resolve(candidate.method_like, runs, norm=candidate.norm)


def _methods(given: object) -> list[str | pl.Expr]:
    """Names and expressions, or one of them."""
    several = [given] if isinstance(given, str | pl.Expr) else given
    listed = list(several) if isinstance(several, Iterable) else []
    if not any(isinstance(one, pl.Expr) for one in listed):
        return [*_texts("methods", given)]
    if not all(isinstance(one, str | pl.Expr) for one in listed):
        raise OptionError(
            Option("methods", bare=True), f" are names and expressions, not {shown(given)}."
        )
    names = dict.fromkeys(one for one in listed if isinstance(one, str))
    return [*names, *(one for one in listed if isinstance(one, pl.Expr))]


def _own(method: pl.Expr, taken: Sequence[str]) -> Varied:
    """A user's own method: called by its alias, or else as it is written."""
    resolve(method, ())  # refuses what is no method
    plain = method.meta.undo_aliases()
    name = str(method) if method.meta.eq(plain) else method.meta.output_name()
    if name in taken or name in METHODS:
        raise OptionError(
            f"two methods are called {shown(name)}. Give the expression another name, with "
            '.alias("…").'
        )
    return Varied(name, (), {}, "normalised" in method.meta.root_names(), method)


def _texts(option: str, given: object) -> list[str]:
    """Names, or one of them."""
    texts = [given] if isinstance(given, str) else given
    several = list(texts) if isinstance(texts, Iterable) else []
    if not several or not all(isinstance(one, str) for one in several):
        raise OptionError(
            Option(option, bare=True), f" are names, one or several, not {shown(given)}."
        )
    return list(dict.fromkeys(several))
