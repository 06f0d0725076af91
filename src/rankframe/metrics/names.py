"""Metric names: `"ndcg(gain=exp2)@10"`, `"nDCG@10"`, `"ndcg_cut_10"`, `"ndcg@10-l2"` → a metric.

Four spellings are read: rankframe's own, and those of ranx, ir_measures and trec_eval.
A label in the results is the name as it was typed.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import polars as pl

from rankframe.core.errors import MetricParameterError, UnknownMetricError
from rankframe.core.messages import did_you_mean, nearest, shorten, shown
from rankframe.core.options import GapKind
from rankframe.metrics import REGISTRY, Definition
from rankframe.metrics.gap import inside_gap
from rankframe.metrics.metric import Gap, Metric, metric, read_average, refuse_long
from rankframe.metrics.parts import Ratio
from rankframe.metrics.registry import Frame

# What users give where metrics are asked for: names, expressions, and what `rf.metric` makes.
MetricLike: TypeAlias = str | pl.Expr | Metric
Metrics: TypeAlias = MetricLike | Iterable[MetricLike]

# What other tools call a parameter of any metric, or a value of one.
_PARAMETER_SYNONYMS = {"cutoff": "k", "gains": "gain"}
# What they call the level that drops lower grades, as ranx's `-l2` does.
_LEVELS = ("min_rel", "rel_lvl")
_IR_MEASURES_DCG = {"log2": "linear", "exp-log2": "exp2"}

# What to say of a metric that does not belong here, by what it looks at.
_ELSEWHERE = {
    "pair": "compares two rankings without judgments: see rf.agree, or `rankframe agree`.",
    "grouped": "compares a run with judgments: see rf.evaluate, or `rankframe evaluate`.",
    "judged": "compares a run with judgments: see rf.evaluate, or `rankframe evaluate`.",
    "shown": "looks at what was shown: see rf.evaluate, rf.compare, rf.gate and rf.report.",
    "documents": "looks at documents over all queries: see rf.evaluate and rf.compare.",
    "gap": "has no values per query, being between slices: see rf.evaluate and rf.compare.",
}

_LEVEL = re.compile(r"(?P<rest>.+)-l(?P<level>\d+(\.\d+)?)")
_NAME = re.compile(r"(?P<name>[^()@]+)(\((?P<params>.*)\))?(@(?P<at>[^()@]*))?", re.DOTALL)
# Where a second name begins; commas in brackets stand between parameters.
_SEVERAL, _IN_BRACKETS = re.compile(r"\s*,\s*(?=[A-Za-z])"), re.compile(r"\([^()]*\)")
_SUFFIXED = re.compile(r"(?P<name>.*?[^_.\d][^_.]*)(?P<sep>[_.])(?P<numbers>\d[\d.,]*)")


def resolve(
    metrics: Metrics, *frames: Frame, any_average: bool = False, inner: bool = True
) -> list[Metric]:
    """Metrics over some frames (those of judgments) from names and expressions, each label once.

    `any_average`: also those that are no sums, such as a median. `inner`: also those that gaps are
    of.

    >>> [m.label for m in resolve(["ndcg@1,10", "map"])]
    ['ndcg@1', 'ndcg@10', 'map']
    """
    if not isinstance(metrics, str | pl.Expr | Metric | Iterable):
        raise MetricParameterError(
            f"metrics are names or polars expressions, not {shown(metrics)}."
        )
    given = [metrics] if isinstance(metrics, str | pl.Expr | Metric) else list(metrics)
    if not given:
        raise MetricParameterError("no metric was asked for. See `rankframe metrics`.")
    resolved: list[Metric] = []
    for one in given:
        if isinstance(one, Metric):
            resolved.append(one)
        elif isinstance(one, pl.Expr):
            resolved.append(metric(one))
        elif isinstance(one, str):
            resolved.extend(parse(one))
        else:
            raise MetricParameterError(
                f"a metric is a name or a polars expression, not {type(one).__name__} {one!r}."
            )
    resolved = with_inner(resolved) if inner else resolved
    for one in resolved:
        known = one.definition is not None or one.gap is not None
        if known and one.frame not in (frames or ("judged", "grouped")):
            raise MetricParameterError(f"{one.label!r} {_ELSEWHERE[one.frame]}")
        if not known and one.expression is None:
            raise MetricParameterError(f"{one.label!r} is a column of stored values: give a name.")
        if one.level is not None and not any_average:
            raise MetricParameterError(
                f"{one.label!r}: average={one.average} is no mean, and here means are compared. "
                "Only evaluate and agree take it."
            )
    labels = [m.label for m in resolved]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise MetricParameterError(f"metric {twice[0]!r} is asked for more than once.")
    return resolved


def with_inner(metrics: Sequence[Metric]) -> list[Metric]:
    """Metrics, and before a gap the one that it is of, where nobody asks for that itself."""
    labels, found = {one.label for one in metrics}, []
    for one in metrics:
        if one.gap is not None and one.gap.of.label not in labels:
            labels.add(one.gap.of.label)
            found.append(one.gap.of)
        found.append(one)
    return found


def parse(text: str) -> list[Metric]:
    """The metrics that one name stands for: one, or one for each cutoff in `@1,3,5`.

    >>> parse("nDCG(dcg='exp-log2')@10")[0].params
    {'gain': 'exp2', 'k': 10}
    """
    refuse_long(text)
    if gap := inside_gap(text):
        return _gaps(gap[0], text, **gap[1])
    name = text.strip()
    if level := _LEVEL.fullmatch(name):
        name = level["rest"]
    several = _SEVERAL.split(_IN_BRACKETS.sub("", name))
    if len(several) > 1 and all(_lookup(one.split("@")[0])[0] for one in several):
        said = f"{shorten(text)!r} is {len(several)} names in one: give each by itself"
        raise UnknownMetricError(text, [], said)
    parsed = _NAME.fullmatch(name)
    if parsed is None:
        raise UnknownMetricError(text, [], f"cannot read the metric name {text!r}")
    base, at = parsed["name"].strip(), parsed["at"]
    definition, presets = _lookup(base)
    numbers, write = [], str
    if definition is not None and at is not None:
        key = definition.number
        numbers = [(n.strip(), key, _number(n, text)) for n in at.split(",")]
        write = lambda n: text.strip().replace(f"@{at}", f"@{n}")  # noqa: E731
    elif definition is None and at is None and (suffixed := _SUFFIXED.fullmatch(base)):
        definition, presets = _lookup(suffixed["name"])
        if definition is not None:
            key = definition.decimals or definition.number
            point = definition.decimals is not None and suffixed["sep"] == "."
            numbers = [
                (n, key, _suffix_number(n, text, point=point))
                for n in suffixed["numbers"].split(",")
            ]
            write = lambda n: text.strip().replace(suffixed["numbers"], n)  # noqa: E731
    if definition is None:
        raise UnknownMetricError(text, _suggest(base, text))
    written = parsed["params"] or ""
    for parameter, other in definition.becomes.items():
        definition = REGISTRY[other] if parameter in written else definition
    own = _parameters(written, definition, text)
    params = {} if level is None else {definition.level: float(level["level"])}
    twice = set(own) & {*params, *(key for _, key, _ in numbers)}
    if twice:
        raise MetricParameterError(f"{text!r} sets {min(twice)} twice.")
    params = presets | own | params
    if not numbers:
        return [_metric(text.strip(), definition, params, text)]
    return [_metric(write(n), definition, {**params, key: v}, text) for n, key, v in numbers]


def _gaps(inner: str, text: str, by: str, kind: GapKind) -> list[Metric]:
    """The gap of a metric, or of each where its name stands for several."""
    made = []
    for of in parse(inner):
        if of.frame == "documents" or of.average == "sum":
            why = "has no values per query" if of.frame == "documents" else "grows with a slice"
            raise MetricParameterError(f"{text!r}: {of.label!r} {why}, so it has no gap.")
        if of.level is not None:
            raise MetricParameterError(
                f"{text!r}: average={of.average} is no mean, and a gap is one between means."
            )
        label = text.strip().replace(inner, of.label, 1)
        made.append(Metric(label, lower_is_better=True, gap=Gap(of, by, kind)))
    return made


def definition_of(name: str) -> Definition:
    """The metric of a name, in any spelling; what it needs may be left out.

    >>> definition_of("diversity").name, definition_of("map_cut_10").name
    ('diversity', 'average_precision')
    """
    found = _lookup(name)[0]
    if found is None:
        first = parse(name)[0]
        found = (first if first.gap is None else first.gap.of).definition
    assert found is not None  # a name always has one
    return found


def _lookup(base: str) -> tuple[Definition | None, dict[str, Any]]:
    """The metric of that name, and the parameters that the name sets."""
    key = base.strip().lower()
    for definition in REGISTRY.values():
        if key in (definition.name, *definition.other_names):
            return definition, dict(definition.presets.get(key, {}))
    return None, {}


def _metric(label: str, definition: Definition, params: dict[str, Any], text: str) -> Metric:
    params = dict(params)
    given, q = params.pop("average", None), None
    if given is None:
        pooled = definition.holds(definition.pooled, params)
        average = "micro" if pooled else definition.average
    else:
        average, q = read_average(given, text)
    if unknown := [key for key in params if key not in definition.parameters]:
        what = "cutoff" if unknown[0] == "k" else unknown[0]
        raise MetricParameterError(f"{text!r}: {definition.name} takes no {what}.")
    needed = [n for n, p in definition.parameters.items() if p.default is inspect.Parameter.empty]
    if lacking := [name for name in needed if name not in params]:
        how = "a cutoff: " if lacking[0] == "k" else ""
        example = f"{definition.name}@10" if how else f"{definition.name}({lacking[0]}=…)"
        raise MetricParameterError(f"{text!r} needs {how or f'{lacking[0]}: '}{example}.")
    made = Metric(label, average, definition, params, q=q)
    try:
        value = made.build()
    except MetricParameterError as error:
        raise MetricParameterError(f"{text!r}: {error}") from None
    if average == "micro" and not isinstance(value, Ratio):
        raise MetricParameterError(
            f"{text!r}: {definition.name} is not a ratio of sums, so it has no micro average."
        )
    return made


def _parameters(text: str, definition: Definition, whole: str) -> dict[str, Any]:
    params: dict[str, Any] = {}
    synonyms = _PARAMETER_SYNONYMS | dict.fromkeys(_LEVELS, definition.level)
    synonyms |= definition.parameter_synonyms
    for item in split_parameters(text):
        key, equals, value = item.partition("=")
        key = synonyms.get(key.strip(), key.strip())
        if not equals:
            raise MetricParameterError(f"{whole!r}: parameters read name=value, not {item!r}.")
        literal = read_literal(value.strip())
        if key == "dcg" and str(literal) in _IR_MEASURES_DCG:
            key, literal = "gain", _IR_MEASURES_DCG[literal]
        known = [*definition.parameters, "average"]
        if key not in known:
            near = did_you_mean(key, known)
            if key == "rel" != definition.level:
                near = f"Grades are used as they are; {definition.level}= drops those below."
            raise MetricParameterError(
                f"{whole!r}: {definition.name} has no parameter {key!r}. {near}"
                f"{' ' if near else ''}It takes {', '.join(known)}."
            )
        if key in params:
            raise MetricParameterError(f"{whole!r} sets {key} twice.")
        params[key] = literal
    return params


def split_parameters(text: str) -> list[str]:
    """Split at commas that are not inside braces, brackets or quotes."""
    items = re.findall(r"(?:\{[^}]*\}|\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[^,])+", text)
    return [item.strip() for item in items if item.strip()]


def read_literal(text: str) -> Any:
    """A value as Python writes it, or as text."""
    lowered = text.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _number(digits: str, text: str) -> float | int:
    value = read_literal(digits.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MetricParameterError(f"{text!r}: a cutoff is a whole number, not {shown(digits)}.")
    return value


def _suffix_number(digits: str, text: str, *, point: bool) -> float | int:
    if point and digits.isdigit():
        return float(f"0.{digits}")  # ranx: rbp.95
    try:
        return float(digits) if "." in digits else int(digits)
    except ValueError:
        raise MetricParameterError(f"{text!r}: {digits!r} is not a number.") from None


def _suggest(base: str, text: str) -> Sequence[str]:
    canonical = [*REGISTRY, *(name for d in REGISTRY.values() for name in d.other_names)]
    suffixed = _SUFFIXED.fullmatch(base)
    looked_up = suffixed["name"] if suffixed else base
    return [text.strip().replace(looked_up, name, 1) for name in nearest(looked_up, canonical, 2)]


def signature(definition: Definition) -> str:
    """Return how a name of this metric is written, with its parameters and their defaults.

    >>> signature(REGISTRY["rbp_residual"])
    'rbp_residual(p=0.8)'
    """
    shown = [
        f"{name}={_shown(parameter.default)}"
        for name, parameter in definition.parameters.items()
        if name not in ("k", "rel") and parameter.default is not inspect.Parameter.empty
    ]
    if "rel" in definition.parameters:
        shown.append("rel=…")
    body = f"({', '.join(shown)})" if shown else ""
    return f"{definition.name}{body}{'@k' if 'k' in definition.parameters else ''}"


def _shown(value: Any) -> str:
    if value is None:
        return "…"
    return f"{value:g}" if isinstance(value, float) else str(value).lower()
