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
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeAlias, Union, get_args, get_origin, get_type_hints

import polars as pl

from rankframe.core.columns import JUDGED_FRAME, QUERY, SUBTOPIC_FRAME, is_pattern
from rankframe.core.errors import MetricParameterError
from rankframe.core.messages import shorten, shown
from rankframe.core.options import LARGEST_WEIGHT, LONGEST_NAME, Average, GapKind, is_number
from rankframe.metrics.parts import Parts, Ratio, collecting

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
    "Retrieved documents",
    "The catalogue",
    "Two rankings",
]
# A gap looks at slices of another metric.
Frame = Literal["judged", "subtopic", "retrieved", "documents", "gap", "pair"]
# Always, never, or with these values of its parameters: {"gain": "exp2"}.
Condition: TypeAlias = bool | Mapping[str, object]
_QUANTILE = re.compile(r"quantile\(\s*q\s*=\s*(?P<q>[^()]+)\)")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Hold what a metric declares about itself."""

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
    # it compares documents of different queries: the input is evaluated as a whole, and the average
    # is a ratio of sums over queries
    pooled: Condition = False
    # it computes 2 to the power of a grade
    exponential: Condition = False
    # over documents: its frame has a row for each value of the attribute `by` (the values frame)
    by_value: bool = False
    # over documents: it counts distinct documents, so that a jackknife overstates its error
    distinct: bool = False


@dataclass(frozen=True, kw_only=True)
class Definition(Facts):
    """Describe a registered metric."""

    name: str
    # returns its value for one query, from checked parameters
    build: Callable[..., pl.Expr | Ratio]
    # the public function, which returns the value as an expression
    function: Callable[..., pl.Expr]

    def __reduce__(self) -> tuple[Callable[[str], Definition], tuple[str]]:
        return registered_metric, (self.name,)  # functions are not pickled: look the name up

    def holds(self, condition: Condition, params: Mapping[str, Any]) -> bool:
        """Tell whether a property holds with these parameters."""
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
        first, formula, *rest = f"{inspect.getdoc(self.build) or ''}\n\n".split("\n\n")
        return [" ".join(first.split()), " ".join(formula.split()), *rest]

    @functools.cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Return the parameters by name."""
        return dict(inspect.signature(self.build).parameters)

    @functools.cached_property
    def level(self) -> str:
        """Return the parameter that other tools' relevance level is: it drops lower grades."""
        return "min_grade" if "min_grade" in self.parameters else "rel"

    @functools.cached_property
    def types(self) -> dict[str, Any]:
        """Return the type of each parameter."""
        return get_type_hints(self.build)


REGISTRY: dict[str, Definition] = {}


def registered_metric(name: str) -> Definition:
    """Return the registered metric of a name."""
    return REGISTRY[name]


def names_over(frame: Frame) -> list[str]:
    """List the metrics over a frame."""
    return [name for name, definition in REGISTRY.items() if definition.frame == frame]


class Registration(Facts):
    """Decorate a function to register it as a metric; users call what returns its expression."""

    def __call__(self, function: Callable[P, pl.Expr | Ratio]) -> Callable[P, pl.Expr]:
        """Return the function as users call it."""
        name, signature = function.__name__, inspect.signature(function)

        @functools.wraps(function)
        def build(*args: P.args, **kwargs: P.kwargs) -> pl.Expr | Ratio:
            bound = signature.bind(*args, **kwargs)
            values = bound.arguments
            for key, value in values.items():
                values[key] = _checked(key, value, REGISTRY[name].types[key])
            if (k := values.get("k")) is not None and k < 1:
                raise MetricParameterError(f"a cutoff must be at least 1, not {k}.")
            try:
                return function(*bound.args, **bound.kwargs)
            except OverflowError:
                passed = ", ".join(f"{key}={shown(value)}" for key, value in values.items())
                problem = f"{name} computes too large a number of {passed}."
                raise MetricParameterError(problem) from None

        @functools.wraps(function)
        def expression(*args: P.args, **kwargs: P.kwargs) -> pl.Expr:
            value = build(*args, **kwargs)
            return value.expr if isinstance(value, Ratio) else value

        REGISTRY[name] = Definition(name=name, build=build, function=expression, **vars(self))
        return expression


def _checked(key: str, value: Any, kind: Any) -> Any:
    """Return the value as the parameter's type has it, or refuse it and name what it takes."""
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


@dataclass(frozen=True)
class Gap:
    """Describe the gap between the averages of a metric over slices of queries."""

    metric: Metric
    # an attribute of the queries
    by: str
    kind: GapKind = "range"


@dataclass(frozen=True)
class Metric:
    """Hold a metric with its parameters, under the label that the user gave it."""

    label: str
    average: Average = "macro"
    definition: Definition | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    # of a metric of the user's, which has no definition; stored values have neither
    expression: pl.Expr | None = None
    lower_is_better: bool = False
    # with average="quantile": the share of queries with values below
    q: float | None = None
    # the frame of a metric of the user's; None: the first frame that has its columns
    looks_at: Frame | None = None
    # of a gap between slices, which has neither definition nor expression
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
    def over_parts(self) -> tuple[pl.Expr | Ratio, Parts]:
        """Return the metric as an expression over named sums, and the named sums."""
        with collecting() as parts:
            return self.build(), parts

    def expr(self) -> pl.Expr:
        """Return the metric's value as one expression."""
        value = self.build()
        return value.expr if isinstance(value, Ratio) else value


def metric(
    expression: pl.Expr,
    name: str | None = None,
    *,
    higher_is_better: bool = True,
    average: Average | str = "macro",
    frame: Frame | None = None,
) -> Metric:
    """Define a metric of your own, accepted wherever the name of a metric is.

    expression: one number for each query, over the judged frame (`rf.judge`); for `agree`, which
        compares two rankings, over the pair frame (`rf.pair`).
    name: its name in results (default: the name of the expression, `.alias("…")`).
    higher_is_better: whether `compare`, `diff`, `gate` and `report` count higher values as better.
    average: how the values of queries become one number: by their mean ("macro"), "geometric"
        mean, weighted mean ("weighted") or "sum". `evaluate` and `agree` also take their "median",
        minimum ("min") or a quantile, such as "quantile(q=0.1)".
    frame: the frame that has the columns of the expression: "judged", "subtopic", "retrieved"
        (`rf.retrieved`), or "documents", for one number over all queries (default: the first of
        these frames that has all columns).

    An expression with a name is a metric too, without `rf.metric`; its higher values are better.

    >>> first = rf.metric(pl.col("rank").min(), "first_rank", higher_is_better=False)
    >>> before, after = {"q": {"x": 2.0, "a": 1.0}}, {"q": {"a": 2.0, "x": 1.0}}
    >>> rf.diff({"q": {"a": 1}}, before, after, first)
    rankframe diff, first_rank: 2.0000 → 1.0000 (-1.0000)
      1 query: 1 better in b, 0 the same, 0 worse
      query_id       a       b    delta  better
      q         2.0000  1.0000  -1.0000  b
    """
    if not isinstance(expression, pl.Expr):
        raise MetricParameterError(f"a metric of your own is an expression, not {expression!r}.")
    if not isinstance(name, str | None):
        raise MetricParameterError(f"the name of a metric is text, not {name!r}.")
    if not isinstance(higher_is_better, bool):
        raise MetricParameterError(f"higher_is_better is True or False, not {higher_is_better!r}.")
    label = name
    if label is None:
        with suppress(pl.exceptions.PolarsError):  # it has none
            label = expression.meta.output_name()
    if not label:
        raise MetricParameterError('an expression needs a name of its own: .alias("...").')
    if expression.meta.has_multiple_outputs():
        raise MetricParameterError(
            f"expression {label!r} stands for several columns. Give one expression for each."
        )
    refuse_long_name(label)
    if is_pattern(label):
        raise MetricParameterError(
            f"{label!r} is a pattern of names: give the expression another name."
        )
    if label == QUERY:
        raise MetricParameterError(f"{QUERY!r} is the key: give the expression another name.")
    how, q = read_average(average, label)
    if how == "micro":
        raise MetricParameterError(
            f"{label!r}: an expression is no ratio of sums, so it has no micro average."
        )
    if frame is not None and frame not in get_args(Frame):
        raise MetricParameterError(
            f"{label!r}: frame={frame!r} is not one of {', '.join(get_args(Frame))}."
        )
    lower = not higher_is_better
    return Metric(label, how, expression=expression, lower_is_better=lower, q=q, looks_at=frame)


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
        if text == average:
            return average, None
    listed = ", ".join([*averages, "quantile(q=0.1)"])
    raise MetricParameterError(f"{label!r}: average={text!r} is not one of {listed}.")


def refuse_long_name(name: str) -> None:
    """Refuse a name that is too long to be meant, before it is parsed."""
    if len(name) > LONGEST_NAME:
        raise MetricParameterError(
            f"the name of a metric has at most {LONGEST_NAME:,} characters, and this one "
            f"{len(name):,}: {shorten(name)!r}."
        )
