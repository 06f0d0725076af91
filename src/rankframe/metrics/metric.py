"""Define what a metric is: a registered function, and the metric that a user asks for.

`@registered(…)` turns a function into a documented metric with a name. It declares every property
of the metric once, for public names, the name parser, the command line, the documentation and the
common tests. A `Metric` is a registered metric with parameters, or an expression of the user's.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeAlias, Union, get_args, get_origin, get_type_hints

import polars as pl

from rankframe.core.columns import JUDGED_FRAME, SUBTOPIC_FRAME
from rankframe.core.errors import MetricParameterError
from rankframe.core.messages import is_text, shorten, shown
from rankframe.core.options import LARGEST_WEIGHT, LONGEST_NAME, Average, GapKind, is_number
from rankframe.core.records import record
from rankframe.metrics.parts import Parts, Ratio, collecting

P = ParamSpec("P")
# Whole numbers of 64 bits, and those up to which floats hold all.
_LARGEST, _EXACT = (1 << 63) - 1, 1 << 53
# In the order in which the reference shows them.
Family = Literal[
    "Hits in the top k",
    "Order of relevant documents",
    "Graded gain",
    "Subtopics and facts",
    "trec_eval's experiments",
    "Counts",
    "Retrieved documents",
    "The catalogue",
    "Two rankings",
]
# A gap looks at slices of another metric.
Frame = Literal["judged", "subtopic", "retrieved", "documents", "gap", "pair"]
# Always, never, or with these values of its parameters: {"gain": "exp2"}.
Condition: TypeAlias = bool | Mapping[str, object]
_QUANTILE = re.compile(r"quantile\(\s*q\s*=\s*(?P<q>[^()]+)\)")


@record
class Facts:
    """Hold the declared properties of a metric: family, frame, names, bounds, average and more."""

    _: KW_ONLY
    family: Family
    # the frame that it is an expression over
    frame: Frame = "judged"
    # other names that the parser accepts; aliases are functions of rankframe as well
    synonyms: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    # names that mean the metric with some of its parameters set
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # the parameter that a number in the name sets: `ndcg@10`, `P_5`, `IPrec@0.1`
    number: str = "k"
    # the parameter, a share, that digits after a dot set, if it is not `number`: ranx's `rbp.95`
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
    # it compares documents of different queries: the input is evaluated as a whole, and the average
    # is a ratio of sums over queries
    pooled: Condition = False
    # it computes 2 to the power of a grade
    exponential: Condition = False
    # over documents: its frame has a row for each value of the attribute `by` (the values frame)
    by_value: bool = False
    # over documents: it counts distinct documents, so that a jackknife overstates its error
    distinct: bool = False


@record
class Definition(Facts):
    """Describe a registered metric."""

    _: KW_ONLY
    name: str
    # returns its value for one query, from checked parameters
    build: Callable[..., pl.Expr | Ratio]
    # the public function, which returns the value as an expression
    function: Callable[..., pl.Expr]

    def __reduce__(self) -> tuple[Callable[[str], Definition], tuple[str]]:
        return registered_metric, (self.name,)  # functions are not pickled: look the name up

    def holds(self, condition: Condition, params: Mapping[str, Any]) -> bool:
        """Tell whether a condition of the metric is met by the parameters `params`."""
        if isinstance(condition, bool):
            return condition
        for name, value in condition.items():
            if params.get(name, self.parameters[name].default) != value:
                return False
        return True

    @property
    def other_names(self) -> tuple[str, ...]:
        """Return the other names of the metric, with and without preset parameters."""
        return (*self.synonyms, *self.presets)

    @property
    def summary(self) -> str:
        """Return the first sentence of the docstring."""
        return self._paragraphs[0]

    @property
    def formula(self) -> str:
        """Return the formula, which follows the first sentence of the docstring."""
        return self._paragraphs[1].removeprefix("> ")

    @property
    def notes(self) -> str:
        """Return the docstring between the formula and the example."""
        paragraphs = (p for p in self._paragraphs[2:] if not p.lstrip().startswith(">>>"))
        return "\n\n".join(paragraphs).strip()

    @property
    def _paragraphs(self) -> list[str]:
        """Return the paragraphs of the docstring: the summary, the formula, and what follows."""
        first, formula, *rest = f"{inspect.getdoc(self.build) or ''}\n\n".split("\n\n")
        return [" ".join(first.split()), " ".join(formula.split()), *rest]

    @functools.cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Return the parameters by name."""
        return dict(inspect.signature(self.build).parameters)

    def write_name(self, params: Mapping[str, Any]) -> str:
        """Return the name that the parser reads as the metric with the parameters `params`.

        >>> REGISTRY["ndcg"].write_name({"k": 10, "gain": "exp2", "ideal": "all"})
        'ndcg(gain=exp2)@10'
        """
        written: list[str] = []
        for key, parameter in self.parameters.items():
            value = params.get(key, parameter.default)
            if key != "k" and value != parameter.default:
                written.append(f"{key}={_written(value)}")
        k = params.get("k", self.parameters["k"].default) if "k" in self.parameters else None
        in_brackets = f"({', '.join(written)})" if written else ""
        return f"{self.name}{in_brackets}{'' if k is None else f'@{k}'}"

    @functools.cached_property
    def level(self) -> str:
        """Return the parameter that other tools' relevance level sets: `min_grade` or `rel`."""
        return "min_grade" if "min_grade" in self.parameters else "rel"

    @functools.cached_property
    def types(self) -> dict[str, Any]:
        """Return the type of each parameter."""
        return get_type_hints(self.build)


REGISTRY: dict[str, Definition] = {}


def registered_metric(name: str) -> Definition:
    """Return the registered metric called `name`."""
    return REGISTRY[name]


def names_over(frame: Frame) -> list[str]:
    """Return the names of the registered metrics over a frame."""
    return [name for name, definition in REGISTRY.items() if definition.frame == frame]


class Registration(Facts):
    """Decorate a function to register it as a metric; users call what returns its expression.

    The expression is named as the parser names the metric: `rf.ndcg(k=10)` is "ndcg@10".
    """

    def __call__(self, function: Callable[P, pl.Expr | Ratio]) -> Callable[P, pl.Expr]:
        """Register a function, and return the function that users call."""
        name, signature = function.__name__, inspect.signature(function)

        def bind(*args: P.args, **kwargs: P.kwargs) -> inspect.BoundArguments:
            bound = signature.bind(*args, **kwargs)
            for key, value in bound.arguments.items():
                bound.arguments[key] = _checked(key, value, REGISTRY[name].types[key])
            if (k := bound.arguments.get("k")) is not None and k < 1:
                raise MetricParameterError(f"a cutoff must be at least 1, not {k}.")
            return bound

        @functools.wraps(function)
        def build(*args: P.args, **kwargs: P.kwargs) -> pl.Expr | Ratio:
            bound = bind(*args, **kwargs)
            try:
                return function(*bound.args, **bound.kwargs)
            except OverflowError:
                passed = (f"{key}={shown(value)}" for key, value in bound.arguments.items())
                problem = f"{name} computes too large a number of {', '.join(passed)}."
                raise MetricParameterError(problem) from None

        @functools.wraps(function)
        def expression(*args: P.args, **kwargs: P.kwargs) -> pl.Expr:
            value = build(*args, **kwargs)
            params = bind(*args, **kwargs).arguments
            label = REGISTRY[name].write_name(params)
            return (value.expr if isinstance(value, Ratio) else value).alias(label)

        REGISTRY[name] = Definition(name=name, build=build, function=expression, **vars(self))
        return expression


def _written(value: Any) -> str:
    """Write a parameter's value for the name of a metric: text has quotes only if it needs them."""
    if isinstance(value, str):
        plain = value.isidentifier() and value.lower() not in ("true", "false", "none")
        return value if plain else repr(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _checked(key: str, value: Any, kind: Any) -> Any:
    """Convert the value of a metric's parameter to the parameter's type, or refuse it."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if is_number(value):
        if int in kinds and float(value).is_integer() and abs(value) <= _LARGEST:
            return int(value)
        if float in kinds:
            return value if isinstance(value, int) and abs(value) <= _EXACT else float(value)
    if kinds == (str,) and isinstance(value, bool | int):  # as it is written
        return str(value).lower()
    if value is None and NoneType in kinds:
        return value
    if isinstance(value, str) and not is_text(value):
        raise MetricParameterError(f"{key} is not proper Unicode: {shown(value)}.")
    accepted: dict[str, bool] = {}
    for part in kinds:
        if get_origin(part) is Literal:
            accepted |= {repr(c): isinstance(value, str) and value == c for c in get_args(part)}
        elif get_origin(part) is Sequence:
            listed = isinstance(value, list | tuple)
            accepted["a list of numbers"] = listed and all(map(is_number, value))
        elif get_origin(part) is Mapping:
            gains = isinstance(value, Mapping) and all(
                is_number(number) and abs(number) <= LARGEST_WEIGHT
                for number in (*value, *value.values())
            )
            accepted[f"a number of at most {LARGEST_WEIGHT:g} for each grade"] = gains
        elif part is not NoneType:
            takes = part in (str, bool) and isinstance(value, part) and value != ""
            accepted[_CALLED[part]] = takes
    if not any(accepted.values()):
        expected = " or ".join(accepted)
        raise MetricParameterError(f"{key} must be {expected}, not {shown(value)}.")
    return value


_CALLED = {str: "a name", bool: "true or false", int: "a whole number", float: "a number"}


@record
class Gap:
    """Describe the gap between the averages of a metric over slices of queries."""

    metric: Metric
    # an attribute of the queries
    by: str
    kind: GapKind = "range"


# Expressions by the names of the columns with their values.
Expressions: TypeAlias = dict[str, pl.Expr]
# The ends of the names of columns with the numerators and denominators of a metric.
ABOVE, BELOW = "\0above", "\0below"


@record
class Compiled:
    """Hold the expressions that the values of a metric are computed with."""

    # named sums over the rows of a query
    parts: Parts
    # over these sums
    over_parts: Expressions
    # over the rows of a query, where sums are not enough
    over_rows: Expressions


@dataclass(frozen=True)
class Metric:
    """Hold a metric with its parameters, under the label that the user gave it."""

    label: str
    average: Average = "macro"
    definition: Definition | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    # set for a user-defined metric, which has no definition; a stored metric has neither
    expression: pl.Expr | None = None
    lower_is_better: bool = False
    # with average="quantile": the share of queries with values below
    q: float | None = None
    # the frame of a user-defined metric; None: the first frame that has its columns
    looks_at: Frame | None = None
    # set for a gap between slices, which has neither definition nor expression
    gap: Gap | None = None

    # Derived from the fields above, once.
    frame: Frame = field(init=False)
    higher_is_better: bool = field(init=False)
    # its frame has judgments, of documents or of subtopics
    of_judgments: bool = field(init=False)
    # its frame has judgments of subtopics
    over_subtopics: bool = field(init=False)
    # it needs all queries at once and so cannot be partitioned
    whole_input: bool = field(init=False)
    # it computes 2 to the power of a grade
    exponential: bool = field(init=False)
    # the level of the quantile that its average is (a median, a quantile or the least value); None:
    # its average is made of sums
    level: float | None = field(init=False)

    def __post_init__(self) -> None:
        definition = self.definition
        names = [] if self.expression is None else self.expression.meta.root_names()
        frame: Frame = self.looks_at or "judged"
        whole_input, exponential = any(map(JUDGED_FRAME.of_whole_input, names)), False
        if definition is not None:
            frame = definition.frame
            whole_input = definition.holds(definition.pooled, self.params)
            exponential = definition.holds(definition.exponential, self.params)
        elif self.gap is not None:
            frame = "gap"
        elif self.looks_at is None and not all(map(JUDGED_FRAME.find, names)):
            frame = "subtopic" if all(map(SUBTOPIC_FRAME.find, names)) else "retrieved"
        vars(self).update(
            frame=frame,
            higher_is_better=(
                definition.higher_is_better if definition else not self.lower_is_better
            ),
            of_judgments=frame in ("judged", "subtopic"),
            over_subtopics=frame == "subtopic",
            whole_input=whole_input,
            exponential=exponential,
            level={"median": 0.5, "min": 0.0, "quantile": self.q}.get(self.average),
        )

    def build(self) -> pl.Expr | Ratio:
        """Return the metric's expression for the value of one query over its frame."""
        if self.definition is None:
            assert self.expression is not None  # nobody builds what is stored
            return self.expression
        return self.definition.build(**self.params)

    @functools.cached_property
    def compiled(self) -> Compiled:
        """Return the metric as expressions over named sums, or over rows where that is not enough.

        A metric that is averaged over its sums has columns for numerator and denominator, too.
        """
        with collecting() as parts:
            over_parts = self._columns(self.build())
        roots = set().union(*(each.meta.root_names() for each in over_parts.values()))
        if self.definition is not None and roots <= parts.keys():
            return Compiled(parts, over_parts, {})
        return Compiled({}, {}, self._columns(self.build()))

    def _columns(self, value: pl.Expr | Ratio) -> Expressions:
        """Return expressions by column: the metric's value and, for ratios of sums, both sums."""
        if not isinstance(value, Ratio):
            return {self.label: value.alias(self.label)}
        columns = {self.label: value.expr}
        if self.average == "micro":
            columns[self.label + ABOVE] = value.numerator
            columns[self.label + BELOW] = value.denominator
        return {name: expression.alias(name) for name, expression in columns.items()}

    def expr(self) -> pl.Expr:
        """Return the metric's value as one expression."""
        value = self.build()
        return value.expr if isinstance(value, Ratio) else value


def read_average(text: object, label: str) -> tuple[Average, float | None]:
    """Parse how values are averaged, and the q of a quantile.

    >>> read_average("median", "map"), read_average("quantile(q=0.1)", "map")
    (('median', None), ('quantile', 0.1))
    """
    if quantile := _QUANTILE.fullmatch(str(text)):
        with suppress(ValueError):
            q = float(quantile["q"])
            if 0 < q < 1:
                return "quantile", q
    averages: list[Average] = [name for name in get_args(Average) if name != "quantile"]
    for average in averages:
        if isinstance(text, str) and text == average:
            return average, None
    listed = ", ".join([*averages, "quantile(q=0.1)"])
    raise MetricParameterError(f"{label!r}: average={text!r} is not one of {listed}.")


def refuse_long_name(name: str) -> None:
    """Refuse the name of a metric if it is too long to be meant, before it is parsed."""
    if len(name) > LONGEST_NAME:
        raise MetricParameterError(
            f"the name of a metric has at most {LONGEST_NAME:,} characters, and this one "
            f"{len(name):,}: {shorten(name)!r}."
        )
