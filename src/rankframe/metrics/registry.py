"""The registry of metrics: `@metric` turns one function into a documented, named metric.

The name parser, the command line's reference, the documentation and the common tests read it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, get_type_hints

import polars as pl

from rankframe.metrics.parts import Ratio, check_cutoff

P = ParamSpec("P")
# In the order in which the reference shows them.
Family = Literal[
    "Hits in the top k",
    "Order of the relevant",
    "Graded gain",
    "trec_eval's experiments",
    "Counts",
]
Average = Literal["macro", "micro", "geometric", "weighted", "sum"]


@dataclass(frozen=True)
class Definition:
    """What a metric is called, what it means and how it behaves."""

    name: str
    family: Family
    formula: str
    build: Callable[..., pl.Expr | Ratio]
    synonyms: tuple[str, ...]
    # the values it can take
    low: float | None
    high: float | None
    # how per-query values become one number unless the user says otherwise
    average: Average
    higher_is_better: bool

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return _docstring(self.build).split("\n\n")[0].replace("\n", " ")

    @property
    def notes(self) -> str:
        """The docstring between the first sentence and the example."""
        paragraphs = _docstring(self.build).split("\n\n")[1:]
        return "\n\n".join(p for p in paragraphs if not p.lstrip().startswith(">>>"))

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Its parameters by name."""
        return dict(inspect.signature(self.build).parameters)

    @functools.cached_property
    def types(self) -> dict[str, Any]:
        """The type of each parameter."""
        return get_type_hints(self.build)


REGISTRY: dict[str, Definition] = {}


def metric(
    *,
    family: Family,
    formula: str,
    synonyms: tuple[str, ...] = (),
    bounds: tuple[float | None, float | None] = (0.0, 1.0),
    average: Average = "macro",
    higher_is_better: bool = True,
) -> Callable[[Callable[P, pl.Expr | Ratio]], Callable[P, pl.Expr]]:
    """Register a function as a metric; what users call then returns its polars expression."""

    def register(function: Callable[P, pl.Expr | Ratio]) -> Callable[P, pl.Expr]:
        @functools.wraps(function)
        def build(*args: P.args, **kwargs: P.kwargs) -> pl.Expr | Ratio:
            check_cutoff(inspect.signature(function).bind(*args, **kwargs).arguments.get("k"))
            return function(*args, **kwargs)

        @functools.wraps(function)
        def expression(*args: P.args, **kwargs: P.kwargs) -> pl.Expr:
            value = build(*args, **kwargs)
            return value.expr if isinstance(value, Ratio) else value

        name = function.__name__
        REGISTRY[name] = Definition(
            name, family, formula, build, synonyms, *bounds, average, higher_is_better
        )
        return expression

    return register


def _docstring(function: Callable[..., Any]) -> str:
    return inspect.getdoc(function) or ""
