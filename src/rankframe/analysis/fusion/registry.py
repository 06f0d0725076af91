"""The registry of methods: `@registered` turns one function into a documented, named method.

What a method has to say of itself is said there, once. Names, the command line's reference, the
documentation and the common tests read it.
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
# What was learned of each run.
Learned: TypeAlias = Sequence[Floats]

_DENSE = 1 << 12
# In the order in which the reference shows them.
Family = Literal["Scores", "Ranks", "Votes", "Trained on judgments"]


class Limits(NamedTuple):
    """Which values a number may have."""

    least: float
    most: float
    # whether it is less than the most
    below: bool = False
    whole: bool = False

    def allow(self, value: float) -> bool:
        """Whether a number is one of these."""
        if self.whole and not float(value).is_integer():
            return False
        return self.least <= value <= self.most and not (self.below and value == self.most)

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        below = "below " if self.below else ""
        return f"{kind} from {self.least:g} to {below}{self.most:g}"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a method says of itself."""

    family: Family
    formula: str
    # other names that are read
    synonyms: tuple[str, ...] = ()
    # what other tools call a parameter
    parameter_synonyms: Mapping[str, str] = field(default_factory=dict)
    # which values its numbers may have
    limits: Mapping[str, Limits] = field(default_factory=dict)
    # what it looks at: scores after a norm, or ranks alone
    scored: bool = False
    # what is learned of each run for it, from what judgments say of its ranks
    learns: Callable[..., Learned] | None = None


@dataclass(frozen=True, kw_only=True)
class Definition(Facts):
    """A registered method."""

    name: str
    # the score of each document, from how runs list it (and what was learned) and its parameters
    function: Callable[..., Floats]

    def __reduce__(self) -> tuple[Callable[[str], Definition], tuple[str]]:
        return _named, (self.name,)  # wherever it is unpickled, it is the one of that name

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Its parameters by name."""
        every = inspect.signature(self.function).parameters
        return {name: of for name, of in every.items() if of.kind is of.KEYWORD_ONLY}

    @property
    def weighted(self) -> bool:
        """Whether each run has a weight."""
        return "weights" in self.parameters

    @property
    def trained(self) -> bool:
        """Whether it needs judgments."""
        return self.learns is not None

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    @property
    def notes(self) -> str:
        """The docstring after the first sentence."""
        return "\n\n".join((inspect.getdoc(self.function) or "").split("\n\n")[1:])

    @property
    def signature(self) -> str:
        """How its name is written, with its parameters and their defaults."""
        shown = [
            f"{name}={'…' if of.default is of.empty else f'{of.default:g}'}"
            for name, of in self.parameters.items()
        ]
        return f"{self.name}({', '.join(shown)})" if shown else self.name


METHODS: dict[str, Definition] = {}


class registered(Facts):  # noqa: N801 (a decorator)
    """Register a function as a method."""

    def __call__(self, function: Callable[P, Floats]) -> Callable[P, Floats]:
        """The function as it is."""
        name = function.__name__.removesuffix("_of")
        METHODS[name] = Definition(name=name, function=function, **vars(self))
        return function


def worth(
    value: Callable[[Any], Any], numbers: NDArray[np.integer], *, exact: bool = False
) -> Floats:
    """A function of whole numbers from 1 on, 0 where they are 0.

    Computed once for each number, by itself: in a column of numpy, the last bit of a power or a
    logarithm can depend on where it stands. `exact`: it adds, multiplies and divides only, and so
    is computed for all numbers at once.
    """
    last = int(numbers.max(initial=0))
    if last > _DENSE + len(numbers):  # ranks as they were given, with gaps
        known, numbers = np.unique(numbers, return_inverse=True)
    else:
        known = np.arange(last + 1)
    if exact:
        values = np.zeros(len(known))
        values[known > 0] = value(known[known > 0].astype(np.float64))
    else:
        values = np.array([value(one) if one else 0.0 for one in known.tolist()])
    return values[numbers]


def _named(name: str) -> Definition:
    return METHODS[name]
