"""Parse names of methods: `"rrf(k=60)"`, `"wsum(weights=[.3, .7])"` → a method with its parameters.

A user's own method is an expression over the stacked frame, grouped by document.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import polars as pl

from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.fusion.norms import NORMS, RAW
from rankframe.analysis.fusion.registry import Definition, Method
from rankframe.analysis.fusion.stack import Norm, Stack
from rankframe.core.arrays import Floats
from rankframe.core.columns import STACKED_FRAME
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, did_you_mean, listing, number_of, shown
from rankframe.core.options import LARGEST_WEIGHT, LONGEST_NAME, is_number
from rankframe.metrics.metric import refuse_long_name
from rankframe.metrics.names import read_literal, split_parameters

# A method as users pass it: a name, or an expression over the stacked frame.
MethodLike: TypeAlias = str | pl.Expr
# The weights of the runs, in order of the runs or by name.
Weights: TypeAlias = Sequence[float] | Mapping[str, float]

_NAME = re.compile(r"\s*(?P<name>[^()]+?)\s*(\((?P<params>.*)\))?\s*", re.DOTALL)
_DEFAULT_NORM = "min_max"
_ALIKE = 0.6  # low, because names are short: two swapped letters change a third of a name


def resolve(
    method: MethodLike,
    runs: Sequence[str],
    *,
    norm: str | None = None,
    weights: Weights | None = None,
) -> Method:
    """Return a method, given by name or expression, with all its parameters, for runs by name.

    >>> method = resolve("rrf", ["bm25", "dense"])
    >>> method.definition.name, method.params
    ('rrf', {'k': 60})
    """
    if isinstance(method, pl.Expr):
        if weights is not None:
            raise _refusal(": an expression has its own. Write them into it.")
        definition = define_method(method)
        return Method(definition.name, norm_for(definition, norm), definition)
    if not isinstance(method, str):
        raise OptionError(f"a method is a name or a polars expression, not {shown(method)}.")
    definition, params = parse(method)
    if weights is not None and not definition.weighted:
        names = [other.name for other in METHODS.values() if other.weighted]
        raise _refusal(f": {definition.name} has none. Methods that do: {', '.join(names)}.")
    if weights is not None and "weights" in params:
        raise OptionError(f"{method!r} has weights, and so has ", Option("weights"), ".")
    if definition.weighted:
        params = params if weights is None else {**params, "weights": weights}
        if "weights" not in params:
            raise OptionError(
                f"{definition.name} needs a weight for each of {len(runs)} runs: pass ",
                Option("weights", ",".join([f"{1 / len(runs):.2g}"] * len(runs))),
                ", or write them into its name.",
            )
        params["weights"] = _check_weights(params["weights"], runs)
    for name, parameter in definition.parameters.items():
        if name not in params:
            if parameter.default is parameter.empty:
                example = "0.5" if name in ("phi", "gamma") else "5"
                raise OptionError(
                    f"{definition.name} needs {name}: write {definition.name}({name}={example})."
                )
            params[name] = parameter.default
    return Method(method.strip(), norm_for(definition, norm), definition, params)


def parse(text: str) -> tuple[Definition, dict[str, Any]]:
    """Parse a name: return the method and the parameters in the name.

    >>> parse("rbc(phi=0.8)")[1]
    {'phi': 0.8}
    """
    refuse_long_name(text)
    parsed = _NAME.fullmatch(text)
    if parsed is None:
        raise OptionError(f"cannot read the method {shown(text)}. See `rankframe fusions`.")
    definition = _look_up(parsed["name"])
    params: dict[str, Any] = {}
    for item in split_parameters(parsed["params"] or ""):
        name, equals, value = item.partition("=")
        name = definition.parameter_synonyms.get(name.strip(), name.strip())
        parameters = list(definition.parameters)
        if not equals:
            raise OptionError(f"{text!r}: parameters read name=value, not {item!r}.")
        if name not in parameters:
            near = did_you_mean(name, parameters)
            raise OptionError(
                f"{text!r}: {definition.name} has no parameter {name!r}. "
                + f"{near} It takes {', '.join(parameters) or 'none'}.".lstrip()
            )
        if name in params:
            raise OptionError(f"{text!r} sets {name} twice.")
        params[name] = _check_parameter(text, definition, name, read_literal(value.strip()))
    return definition, params


def norm_named(name: str) -> Norm | None:
    """Return a norm by its name; None for the name that leaves scores unchanged."""
    if not isinstance(name, str):
        raise OptionError(Option("norm", bare=True), f" must be a name, not {shown(name)}.")
    key = name.strip().lower().replace("-", "_")
    if key == RAW:
        return None
    if key not in NORMS:
        raise OptionError.choice("norm", name, [*NORMS, RAW])
    return NORMS[key]


def _look_up(name: str) -> Definition:
    key = name.strip().lower().replace("-", "_")
    for definition in METHODS.values():
        if key == definition.name or key in definition.synonyms:
            return definition
    names = [*METHODS, *(synonym for other in METHODS.values() for synonym in other.synonyms)]
    near = difflib.get_close_matches(key[:LONGEST_NAME], names, n=2, cutoff=_ALIKE)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise OptionError(f"unknown method {shown(name)}.{hint} See `rankframe fusions`.")


def _check_parameter(text: str, definition: Definition, name: str, value: Any) -> Any:
    if name == "weights":
        return value  # checked when the number of runs is known
    limits = definition.limits[name]
    number = isinstance(value, int | float) and is_number(value)
    if not number or not limits.allow(value):
        raise OptionError(f"{text!r}: {name} must be {limits}, not {shown(value)}.")
    return int(value) if limits.whole else value


def _check_weights(weights: Any, runs: Sequence[str]) -> list[float]:
    """Return a weight for each run, in their order."""
    if isinstance(weights, Mapping):
        if odd := [name for name in weights if name not in runs]:
            raise _refusal(f" speak of {odd[0]!r}, and the runs are {listing(list(runs))}.")
        if left := [name for name in runs if name not in weights]:
            raise _refusal(f" have none for {left[0]!r}.")
        weights = [weights[name] for name in runs]
    listed = list(weights) if isinstance(weights, list | tuple) else None
    if listed is None or not all(is_number(w) and abs(w) <= LARGEST_WEIGHT for w in listed):
        raise _refusal(f" are finite numbers, one for each run, not {shown(weights)}.")
    if len(listed) != len(runs):
        raise _refusal(
            f": {len(listed)} for {number_of(len(runs), 'run')}, {listing(list(runs))}. "
            "Give one for each."
        )
    if not any(listed):
        raise _refusal(" are all 0: all documents would be equal.")
    return [float(weight) for weight in listed]


def _refusal(problem: str) -> OptionError:
    """Return an error about the option `weights`."""
    return OptionError(Option("weights", bare=True), problem)


def norm_for(definition: Definition, norm: str | None) -> Norm | None:
    """Return the norm of a method; refuse one that the method does not use."""
    if definition.scored or definition.expression is not None:
        return norm_named(_DEFAULT_NORM if norm is None else norm)
    if norm is not None:
        norm_named(norm)  # an unknown name is refused as such
        raise OptionError(
            Option("norm", norm),
            f" changes nothing: {definition.name} looks at ranks alone. Leave it out.",
        )
    return None


def define_method(expression: pl.Expr, name: str = "an expression") -> Definition:
    """Define a method by an expression; refuse one that cannot be computed."""
    if expression.meta.has_multiple_outputs():
        raise OptionError("the expression stands for several columns. Give one that is a score.")
    roots, columns = sorted(set(expression.meta.root_names())), list(STACKED_FRAME.columns)
    for column in roots:
        if column not in columns:
            near = did_you_mean(column, columns)
            raise OptionError(
                f"the stacked frame has no column {column!r}. "
                + f"{near} It has {', '.join(columns)}.".lstrip()
            )
    return Definition(
        name=name,
        family=None,
        formula=str(expression),
        scored="normalised" in roots,
        function=partial(_evaluate, expression, roots),
        expression=expression,
    )


def _evaluate(expression: pl.Expr, columns: list[str], stack: Stack) -> Floats:
    """Evaluate an expression over rows of the stacked frame, for each document of a stack."""
    rows = stack.frame(columns)
    try:
        # With sorted keys, polars sums each group in row order, whatever the number of threads.
        scores = (
            rows.with_columns(pl.col("_document").set_sorted())
            .lazy()
            .group_by("_document", maintain_order=True)
            .agg(expression.alias("_fused"))
            .collect(engine="in-memory")["_fused"]
        )
    except pl.exceptions.PolarsError as error:
        problem = str(error).split("\n")[0]
        raise OptionError(f"the expression failed: {problem}.") from error
    if not (scores.dtype.is_numeric() or scores.dtype in (pl.Boolean, pl.Null)):
        raise OptionError(
            f"the expression gives {scores.dtype} per document, not one number. Aggregate it "
            "over the runs, for instance with .sum(), .max() or .mean()."
        )
    return scores.cast(pl.Float64).fill_null(float("nan")).to_numpy()
