"""The registry of metrics: `@registered` turns one function into a documented, named metric.

What a metric has to say of itself is said there, once. The public names, the name parser, the
command line's reference, the documentation and the common tests read it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Literal, ParamSpec, TypeAlias, Union, get_args, get_origin, get_type_hints

import polars as pl

from rankframe.core.checks import LARGEST_WEIGHT, is_number
from rankframe.core.errors import MetricParameterError
from rankframe.core.messages import shown
from rankframe.core.options import Average
from rankframe.metrics.parts import Ratio, check_cutoff

P = ParamSpec("P")
# Whole numbers of 64 bits, and those up to which floats hold all.
_LARGEST, _EXACT = (1 << 63) - 1, 1 << 53
# In the order in which the reference shows them.
Family = Literal[
    "Hits in the top k",
    "Order of the relevant",
    "Graded gain",
    "Subtopics and facts",
    "trec_eval's experiments",
    "Counts",
    "What was shown",
    "The catalogue",
    "Two rankings",
]
# A gap looks at slices of another metric.
Frame = Literal["judged", "grouped", "shown", "documents", "gap", "pair"]
# Always, never, or with these values of its parameters: {"gain": "exp2"}.
Condition: TypeAlias = bool | Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Hold what a metric declares about itself."""

    family: Family
    formula: str
    # what it looks at: a run beside judgments (of documents, or of groups), what it shows (of each
    # query, or of each document over all queries), or two rankings
    frame: Frame = "judged"
    # other names that are read; aliases are those of them that are functions of rankframe too
    synonyms: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    # names that mean the metric with some of its parameters set
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # the parameter that a number in the name sets: `ndcg@10`, `P_5`, `IPrec@0.1`
    number: str = "k"
    # the share that a number behind a dot sets, where that is another one: ranx's `rbp.95`
    decimals: str | None = None
    # what other tools call a parameter
    parameter_synonyms: Mapping[str, str] = field(default_factory=dict)
    # the metric that other tools mean by the same name with a parameter
    becomes: Mapping[str, str] = field(default_factory=dict)
    # the least and the largest value; None: there is no limit
    bounds: tuple[float | None, float | None] = (0.0, 1.0)
    # how per-query values become one number unless the user says otherwise
    average: Average = "macro"
    higher_is_better: bool = True
    # a higher grade in its cutoff never lowers a query's value, and an unjudged document is worth
    # what one of grade 0 is
    monotone: bool = False
    # it compares the documents of all queries with each other: the input must come as a whole, and
    # the average is over the sums
    pooled: Condition = False
    # it computes 2 to the power of a grade
    exponential: Condition = False
    # over documents: it looks at values of the attribute `by`, a row each (the values frame)
    by_value: bool = False
    # over documents: it counts distinct ones, of which a jackknife says too much
    distinct: bool = False


@dataclass(frozen=True, kw_only=True)
class Definition(Facts):
    """A registered metric."""

    name: str
    # its value for one query, from checked parameters
    build: Callable[..., pl.Expr | Ratio]
    # what users call: the same as an expression
    function: Callable[..., pl.Expr]

    def __reduce__(self) -> tuple[Callable[[str], Definition], tuple[str]]:
        return _named, (self.name,)  # wherever it is unpickled, it is the one of that name

    def holds(self, condition: Condition, params: Mapping[str, Any]) -> bool:
        """Tell whether the property holds with these parameters."""
        if isinstance(condition, bool):
            return condition
        defaults = {name: parameter.default for name, parameter in self.parameters.items()}
        return all((defaults | dict(params))[name] == value for name, value in condition.items())

    @property
    def other_names(self) -> tuple[str, ...]:
        """Return the other names of the metric, with and without preset parameters."""
        return (*self.synonyms, *self.presets)

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

    @property
    def level(self) -> str:
        """The parameter that other tools' relevance level is: lower grades are dropped by it."""
        return "min_grade" if "min_grade" in self.parameters else "rel"

    @functools.cached_property
    def types(self) -> dict[str, Any]:
        """The type of each parameter."""
        return get_type_hints(self.build)


REGISTRY: dict[str, Definition] = {}


def names_over(frame: Frame) -> list[str]:
    """The metrics that look at this kind of frame."""
    return [name for name, definition in REGISTRY.items() if definition.frame == frame]


class registered(Facts):  # noqa: N801 (a decorator)
    """Register a function as a metric; what users call then returns its polars expression."""

    def __call__(self, function: Callable[P, pl.Expr | Ratio]) -> Callable[P, pl.Expr]:
        """The function as users call it."""
        name = function.__name__

        @functools.wraps(function)
        def build(*args: P.args, **kwargs: P.kwargs) -> pl.Expr | Ratio:
            bound = inspect.signature(function).bind(*args, **kwargs)
            for key, value in bound.arguments.items():
                bound.arguments[key] = _checked(key, value, REGISTRY[name].types[key])
            check_cutoff(bound.arguments.get("k"))
            try:
                return function(*bound.args, **bound.kwargs)
            except OverflowError:
                given = ", ".join(f"{key}={shown(one)}" for key, one in bound.arguments.items())
                raise MetricParameterError(
                    f"{name} computes too large a number of {given}."
                ) from None

        @functools.wraps(function)
        def expression(*args: P.args, **kwargs: P.kwargs) -> pl.Expr:
            value = build(*args, **kwargs)
            return value.expr if isinstance(value, Ratio) else value

        REGISTRY[name] = Definition(name=name, build=build, function=expression, **vars(self))
        return expression


def _named(name: str) -> Definition:
    return REGISTRY[name]


def _checked(key: str, value: Any, kind: Any) -> Any:
    """The value as the parameter's type has it, or an error that says what it takes."""
    kinds = _flatten(kind)
    choices = [c for kind in kinds if get_origin(kind) is Literal for c in get_args(kind)]
    number = _is_number(value)
    if int in kinds and number and float(value).is_integer() and abs(value) <= _LARGEST:
        return int(value)
    if float in kinds and number:
        return float(value) if abs(value) > _EXACT else value
    if kinds == [str] and isinstance(value, bool | int):  # as it is written
        return str(value).lower()
    if (
        (isinstance(value, str) and value in choices)
        or (isinstance(value, str) and value and str in kinds)
        or (isinstance(value, bool) and bool in kinds)
        or (value is None and type(None) in kinds)
    ):
        return value
    by_grade = any(get_origin(kind) is Mapping for kind in kinds)
    if by_grade and isinstance(value, Mapping) and all(map(_is_gain, value, value.values())):
        return value
    listed = any(get_origin(kind) is Sequence for kind in kinds)
    if listed and isinstance(value, list | tuple) and all(_is_number(one) for one in value):
        return value
    wanted = [repr(c) for c in choices]
    wanted += ["a list of numbers"] if listed else []
    wanted += ["a name"] if str in kinds else []
    wanted += [f"a number of at most {LARGEST_WEIGHT:g} for each grade"] if by_grade else []
    wanted += ["true or false"] if bool in kinds else []
    wanted += ["a whole number"] if int in kinds else []
    wanted += ["a number"] if float in kinds else []
    raise MetricParameterError(f"{key} must be {' or '.join(wanted)}, not {shown(value)}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and is_number(value)


def _is_gain(grade: Any, gain: Any) -> bool:
    """Tell whether both are finite numbers."""
    return all(_is_number(one) and abs(one) <= LARGEST_WEIGHT for one in (grade, gain))


def _flatten(kind: Any) -> list[Any]:
    if get_origin(kind) in (Union, UnionType):
        return [k for part in get_args(kind) for k in _flatten(part)]
    return [kind]


def _docstring(function: Callable[..., Any]) -> str:
    return inspect.getdoc(function) or ""
