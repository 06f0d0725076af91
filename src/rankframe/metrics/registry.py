"""The registry of metrics: `@metric` turns one function into a documented, named metric.

The name parser, the command line's reference, the documentation and the common tests read it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, ParamSpec, Union, get_args, get_origin, get_type_hints

import polars as pl

from rankframe.base.errors import MetricParameterError
from rankframe.base.options import Average
from rankframe.metrics.parts import Ratio, check_cutoff

P = ParamSpec("P")
# In the order in which the reference shows them.
Family = Literal[
    "Hits in the top k",
    "Order of the relevant",
    "Graded gain",
    "trec_eval's experiments",
    "Counts",
    "Two rankings",
]
Frame = Literal["judged", "pair"]


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
    def frame(self) -> Frame:
        """Whether it looks at a run beside judgments, or at two rankings."""
        return "pair" if self.family == "Two rankings" else "judged"

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


def names_over(frame: Frame) -> list[str]:
    """The metrics that look at this kind of frame."""
    return [name for name, definition in REGISTRY.items() if definition.frame == frame]


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
        name = function.__name__

        @functools.wraps(function)
        def build(*args: P.args, **kwargs: P.kwargs) -> pl.Expr | Ratio:
            bound = inspect.signature(function).bind(*args, **kwargs)
            for key, value in bound.arguments.items():
                bound.arguments[key] = _checked(key, value, REGISTRY[name].types[key])
            check_cutoff(bound.arguments.get("k"))
            return function(*bound.args, **bound.kwargs)

        @functools.wraps(function)
        def expression(*args: P.args, **kwargs: P.kwargs) -> pl.Expr:
            value = build(*args, **kwargs)
            return value.expr if isinstance(value, Ratio) else value

        REGISTRY[name] = Definition(
            name, family, formula, build, synonyms, *bounds, average, higher_is_better
        )
        return expression

    return register


def _checked(key: str, value: Any, kind: Any) -> Any:
    """The value as the parameter's type has it, or an error that says what it takes."""
    kinds = _flatten(kind)
    choices = [c for kind in kinds if get_origin(kind) is Literal for c in get_args(kind)]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if int in kinds and number and float(value).is_integer():
        return int(value)
    if (
        (isinstance(value, str) and value in choices)
        or (isinstance(value, bool) and bool in kinds)
        or (number and float in kinds)
        or (value is None and type(None) in kinds)
        or (isinstance(value, Mapping) and any(get_origin(kind) is Mapping for kind in kinds))
    ):
        return value
    wanted = [repr(c) for c in choices]
    wanted += ["true or false"] if bool in kinds else []
    wanted += ["a whole number"] if int in kinds else []
    wanted += ["a number"] if float in kinds else []
    raise MetricParameterError(f"{key} must be {' or '.join(wanted)}, not {value!r}.")


def _flatten(kind: Any) -> list[Any]:
    if get_origin(kind) in (Union, UnionType):
        return [k for part in get_args(kind) for k in _flatten(part)]
    return [kind]


def _docstring(function: Callable[..., Any]) -> str:
    return inspect.getdoc(function) or ""
