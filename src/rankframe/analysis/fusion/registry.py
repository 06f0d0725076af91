"""Registry of fusion methods: `@registered` turns a function into a documented, named method.

A method declares its formula, synonyms and limits there, once. The name parser, the command line's
reference, the documentation and the common tests read them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, ParamSpec, TypeAlias

import numpy as np
from numpy.typing import NDArray

P = ParamSpec("P")
Floats: TypeAlias = NDArray[np.float64]
# What a trained method learned of each run.
Learned: TypeAlias = Sequence[Floats]

_DENSE = 1 << 12
# In the order in which the reference shows them.
Family = Literal["Scores", "Ranks", "Votes", "Trained on judgments"]


class Limits(NamedTuple):
    """Limit the values of a parameter."""

    low: float
    high: float
    # whether the value must be below `high`
    below: bool = False
    whole: bool = False

    def allow(self, value: float) -> bool:
        """Return whether a value is within the limits."""
        if self.whole and not float(value).is_integer():
            return False
        return self.low <= value <= self.high and not (self.below and value == self.high)

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        below = "below " if self.below else ""
        return f"{kind} from {self.low:g} to {below}{self.high:g}"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Describe a method; None for the family of a user's own."""

    family: Family | None
    formula: str
    # other names that are read
    synonyms: tuple[str, ...] = ()
    # what other tools call a parameter
    parameter_synonyms: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Limits] = field(default_factory=dict)
    # whether it uses normalised scores, not ranks alone
    scored: bool = False
    # learns from the hits of each run by rank (`hits.Hits`)
    learns: Callable[..., Learned] | None = None


@dataclass(frozen=True, kw_only=True)
class Definition(Facts):
    """Define a method: facts, name and function."""

    name: str
    # documents (and what was learned), parameters → the score of each document
    function: Callable[..., Floats]

    @property
    def own(self) -> bool:
        """Return whether a user wrote the method, as an expression."""
        return self.family is None

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Return the parameters by name."""
        parameters = inspect.signature(self.function).parameters
        return {name: p for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}

    @property
    def weighted(self) -> bool:
        """Return whether each run has a weight."""
        return "weights" in self.parameters

    @property
    def trained(self) -> bool:
        """Return whether the method needs judgments."""
        return self.learns is not None

    @property
    def summary(self) -> str:
        """Return the first sentence of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    @property
    def notes(self) -> str:
        """Return the docstring after the first sentence."""
        return "\n\n".join((inspect.getdoc(self.function) or "").split("\n\n")[1:])

    @property
    def signature(self) -> str:
        """Return the name as it is written, with the parameters and their defaults."""
        parameters = [
            f"{name}={'…' if p.default is p.empty else f'{p.default:g}'}"
            for name, p in self.parameters.items()
        ]
        return f"{self.name}({', '.join(parameters)})" if parameters else self.name


METHODS: dict[str, Definition] = {}


class registered(Facts):  # noqa: N801 (a decorator)
    """Register a function as a method."""

    def __call__(self, function: Callable[P, Floats]) -> Callable[P, Floats]:
        """Register the function, and return it as it is."""
        name = function.__name__.removesuffix("_of")
        METHODS[name] = Definition(name=name, function=function, **vars(self))
        return function


def compute_distinct(
    function: Callable[[Any], Any], numbers: NDArray[np.integer], *, exact: bool = False
) -> Floats:
    """Compute a function of whole numbers from 1 on; 0 where they are 0.

    Each distinct number is computed once, by itself: in a column of numpy, the last bit of a power
    or a logarithm can depend on where it stands. With `exact`, the function adds, multiplies and
    divides only, so that all numbers are computed at once.
    """
    last = int(numbers.max(initial=0))
    if last > _DENSE + len(numbers):  # ranks as they were given, with gaps
        distinct, numbers = np.unique(numbers, return_inverse=True)
    else:
        distinct = np.arange(last + 1)
    if exact:
        values = np.zeros(len(distinct))
        values[distinct > 0] = function(distinct[distinct > 0].astype(np.float64))
    else:
        values = np.array([function(number) if number else 0.0 for number in distinct.tolist()])
    return values[numbers]
