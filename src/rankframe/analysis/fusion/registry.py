"""Register fusion methods: `@registered` turns a function into a documented, named method.

A method declares its formula, synonyms and limits in the decorator, once. The name parser, the
command line's reference, the documentation and the common tests read the declarations. A `Method`
is a definition with values of its parameters and a norm, ready to score the documents of any stack.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, field, replace
from typing import Any, Literal, NamedTuple, ParamSpec, TypeAlias

import numpy as np
import polars as pl

from rankframe.analysis.fusion.norms import RAW
from rankframe.analysis.fusion.stack import Norm, Stack
from rankframe.analysis.fusion.training import Hits
from rankframe.core.arrays import AnyInts, Floats
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.records import record

P = ParamSpec("P")
# The values that a trained method learned, one array per run.
Learned: TypeAlias = Sequence[Floats]

_DENSE = 1 << 12
# The families of methods, in the order of the reference.
Family = Literal["Scores", "Ranks", "Votes", "Trained on judgments"]


class Limits(NamedTuple):
    """Define the range of numbers that a parameter of a method accepts."""

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


@record
class Definition:
    """Define a method: name, function, and what the reference says about it."""

    _: KW_ONLY
    name: str
    # None: a user's own method
    family: Family | None
    formula: str
    # maps a stack (for trained methods also the learned values) and parameters to fused scores
    function: Callable[..., Floats]
    # the expression of a user's own method, which `function` evaluates
    expression: pl.Expr | None = None
    # other names that the parser accepts
    synonyms: tuple[str, ...] = ()
    # the parameter's name by the name that other tools have for it
    parameter_synonyms: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Limits] = field(default_factory=dict)
    # whether the method uses normalised scores, not ranks alone
    scored: bool = False
    # returns the learned values, from the hits of each run by rank (`training.Hits`)
    learns: Callable[..., Learned] | None = None

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


@record
class Method:
    """Hold a definition with parameter values, a norm, and learned values."""

    label: str
    norm: Norm | None
    definition: Definition
    params: Mapping[str, Any] = field(default_factory=dict)
    learned: Learned | None = None

    @property
    def norm_name(self) -> str | None:
        """Return the name of the norm; None for a method that uses no scores."""
        if not self.definition.scored:
            return None
        return RAW if self.norm is None else self.norm.name

    @property
    def needs_scores(self) -> bool:
        """Return whether every run must have scores."""
        return self.definition.scored and (self.norm is None or self.norm.scored)

    def check_judged(self, *, judged: bool) -> None:
        """Refuse judgments that no method learns from, and a trained method without judgments."""
        if judged and not self.definition.trained:
            raise OptionError(
                Option("qrels"), f" is for trained methods, and {self.label} is not trained."
            )
        if self.definition.trained and not judged:
            raise OptionError(
                f"{self.definition.name} is trained on judgments. Pass them with ",
                Option("qrels"),
                ", preferably judgments of other queries than the fused ones.",
            )

    def refuse_unscored(self, unscored: Sequence[str]) -> None:
        """Refuse runs without scores, given by their names, where the method needs scores."""
        if not (unscored and self.needs_scores):
            return
        norm = "without a norm" if self.norm is None else f"with the norm {self.norm.name}"
        raise OptionError(
            f"run {unscored[0]!r} has an order but no scores, and {self.label} {norm} needs "
            'scores. Choose the norm "rank" or "borda", or a method over ranks, such as rrf.'
        )

    def train(self, hits: Sequence[Hits]) -> Method:
        """Let the method learn from the hits of each run."""
        assert self.definition.learns is not None  # `check_judged` saw to it
        return replace(self, learned=self.definition.learns(hits, **self.params))

    def fuse(self, stack: Stack, k_max: int | None = None) -> pl.DataFrame:
        """Return the fused run of the queries of a stack."""
        return stack.make_run(self.scores(stack.with_norm(self.norm)), k_max)

    def scores(self, stack: Stack) -> Floats:
        """Return the fused score of each document of a stack that has the norm of this method."""
        learned = () if self.learned is None else (self.learned,)
        # Overflows are refused below.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.definition.function(stack, *learned, **self.params)
        bad = ~np.isfinite(scores)
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            query = stack.queries[int(stack.code[first])]
            raise OptionError(
                f"{self.label} gives no finite score to {int(bad.sum()):,} of {len(scores):,} "
                f"documents, e.g. {stack.docs[first]!r} of query {query!r}. "
                "Scale the scores, or choose another method."
            )
        return scores


METHODS: dict[str, Definition] = {}


def registered(
    formula: str, *synonyms: str, family: Family, **facts: Any
) -> Callable[[Callable[P, Floats]], Callable[P, Floats]]:
    """Register a function as a method; `facts` are further fields of its definition."""

    def register(function: Callable[P, Floats]) -> Callable[P, Floats]:
        name = function.__name__.removesuffix("_of")
        METHODS[name] = Definition(
            name=name, family=family, formula=formula, function=function, synonyms=synonyms, **facts
        )
        return function

    return register


def compute_distinct(function: Callable[[Any], float], numbers: AnyInts) -> Floats:
    """Apply a function to each whole number; return 0 where the number is 0.

    The function is called once per distinct number, not on arrays: in a vectorised numpy operation,
    the last bit of a power or logarithm can depend on the position in the array.
    """
    last = int(numbers.max(initial=0))
    if last > _DENSE + len(numbers):  # sparse numbers, such as kept ranks with gaps
        distinct, numbers = np.unique(numbers, return_inverse=True)
    else:
        distinct = np.arange(last + 1)
    values = np.array([function(number) if number else 0.0 for number in distinct.tolist()])
    return values[numbers]
