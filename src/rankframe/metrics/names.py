"""Parse metric names: `"ndcg(gain=exp2)@10"`, `"nDCG@10"`, `"ndcg_cut_10"`, `"ndcg@10-l2"`.

rankframe, ranx, ir_measures and trec_eval spell names in different ways, and all four are accepted.
`"gap(ndcg@10, by=group)"` is the gap between the averages of a metric over slices of queries. The
label of a metric in results is its name as the user wrote it.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from operator import attrgetter
from typing import Any, TypeAlias, cast, get_args

import polars as pl

from rankframe.core.columns import QUERY, is_pattern
from rankframe.core.errors import MetricParameterError, RankframeError, UnknownMetricError
from rankframe.core.messages import did_you_mean, nearest, shorten, shown
from rankframe.core.options import Average, GapKind, is_listed, take_all
from rankframe.metrics import REGISTRY, Definition
from rankframe.metrics.metric import Frame, Gap, Metric, read_average, refuse_long_name
from rankframe.metrics.parts import Ratio

# Names, expressions, and metrics that `rf.metric` defines.
MetricLike: TypeAlias = str | pl.Expr | Metric
Metrics: TypeAlias = MetricLike | Iterable[MetricLike]

# Names that other tools have for a parameter, or for a value of a parameter.
_PARAMETER_SYNONYMS = {"cutoff": "k", "gains": "gain"}
# What other tools call the relevance level, which drops lower grades as ranx's `-l2` does.
_LEVELS = ("min_rel", "rel_lvl")
_IR_MEASURES_DCG = {"log2": "linear", "exp-log2": "exp2"}

# Advice on a metric that the function does not take, by the frame of the metric.
_ELSEWHERE = {
    "pair": "compares two rankings without judgments: see rf.agree, or `rankframe agree`.",
    "subtopic": "compares a run with judgments: see rf.evaluate, or `rankframe evaluate`.",
    "judged": "compares a run with judgments: see rf.evaluate, or `rankframe evaluate`.",
    "retrieved": "is about retrieved documents: see rf.evaluate, rf.compare, rf.gate, rf.report.",
    "documents": "has no values per query, because it counts documents over all queries: "
    "use it with rf.evaluate or rf.compare.",
    "gap": "has no values per query, because a gap is between slices: use it with rf.evaluate or "
    "rf.compare.",
}

_LEVEL = re.compile(r"(?P<rest>.+)-l(?P<level>\d+(\.\d+)?)")
_NAME = re.compile(r"(?P<name>[^()@]+)(\((?P<params>.*)\))?(@(?P<at>[^()@]*))?", re.DOTALL)
# Where a second name begins; commas in brackets stand between parameters.
_SEVERAL, _IN_BRACKETS = re.compile(r"\s*,\s*(?=[A-Za-z])"), re.compile(r"\([^()]*\)")
_SUFFIXED = re.compile(r"(?P<name>.*?[^_.\d][^_.]*)(?P<sep>[_.])(?P<numbers>\d[\d.,]*)")
_GAP = re.compile(r"gap\s*\((?P<inside>.*)\)", re.DOTALL | re.IGNORECASE)
# What stands between commas that are outside of brackets, braces and quotes.
_ITEM = re.compile(
    r"(?:\((?:[^()]|\([^()]*\))*\)|\{[^}]*\}|\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[^,])+", re.DOTALL
)


def resolve(
    metrics: Metrics, *frames: Frame, any_average: bool = False, inner: bool = True
) -> list[Metric]:
    """Return metrics from names and expressions; refuse a label that occurs twice.

    Args:
        metrics: names, expressions, and metrics that `rf.metric` defines.
        frames: the frames that the metrics may look at (default: the frames of judgments).
        any_average: accept averages that are not made of sums, such as a median.
        inner: add the metric of each gap.

    >>> [m.label for m in resolve(["ndcg@1,10", "map"])]
    ['ndcg@1', 'ndcg@10', 'map']
    """
    alone = isinstance(metrics, str | pl.Expr | Metric)
    if not (alone or is_listed(metrics) or isinstance(metrics, Mapping)):
        raise MetricParameterError(
            f"metrics are names or polars expressions, not {shown(metrics)}."
        )
    requests = [metrics] if alone else take_all("metrics", metrics)
    if not requests:
        raise MetricParameterError("no metric was asked for. See `rankframe metrics`.")
    resolved: list[Metric] = []
    for request in requests:
        if isinstance(request, str):
            resolved += parse(request)
        elif isinstance(request, pl.Expr | Metric):
            resolved.append(request if isinstance(request, Metric) else metric(request))
        else:
            raise MetricParameterError(
                "a metric is a name or a polars expression, not "
                f"{type(request).__name__} {shown(request)}."
            )
    resolved = add_inner_metrics(resolved) if inner else resolved
    labels: set[str] = set()
    for each in resolved:
        label = repr(each.label)
        is_computed = each.definition is not None or each.gap is not None
        if is_computed and each.frame not in (frames or ("judged", "subtopic")):
            raise MetricParameterError(f"{label} {_ELSEWHERE[each.frame]}")
        if not is_computed and each.expression is None:
            raise MetricParameterError(f"{label} is a column of stored values: give a name.")
        if each.level is not None and not any_average:
            raise MetricParameterError(
                f"{label}: average={each.average} is not a mean, and this function compares means. "
                "Use it with evaluate or agree."
            )
        if label in labels:
            raise MetricParameterError(f"metric {label} is named more than once.")
        labels.add(label)
    return resolved


def metric(
    expression: pl.Expr,
    name: str | None = None,
    *,
    higher_is_better: bool | None = None,
    average: Average | str | None = None,
    frame: Frame | None = None,
) -> Metric:
    """Define a metric of your own, accepted wherever the name of a metric is.

    expression: one number for each query, over the judged frame (`rf.judge`); for `agree`, which
        compares two rankings, over the pair frame (`rf.pair`).
    name: its name in results (default: the name of the expression, `.alias("…")`).
    higher_is_better: whether `compare`, `diff`, `gate` and `report` count higher values as better
        (default: they do).
    average: how the values of queries become one number: by their mean ("macro", the default),
        "geometric" mean, weighted mean ("weighted") or "sum". `evaluate` and `agree` also take
        their "median", minimum ("min") or a quantile, such as "quantile(q=0.1)".
    frame: the frame that has the columns of the expression: "judged", "subtopic", "retrieved"
        (`rf.retrieved`), or "documents", for one number over all queries (default: the first of
        these frames that has all columns).

    An expression with a name is a metric even without `rf.metric`; higher values are then better.
    Expressions of metric functions, such as `rf.ndcg(k=10)`, have a name ("ndcg@10"). Under any
    other name, they keep the direction, the average and the frame of the metric.

    >>> first = rf.metric(pl.col("rank").min(), "first_rank", higher_is_better=False)
    >>> before, after = {"q": {"x": 2.0, "a": 1.0}}, {"q": {"a": 2.0, "x": 1.0}}
    >>> rf.diff({"q": {"a": 1}}, before, after, first)
    rankframe diff, first_rank: 2.0000 → 1.0000 (-1.0000)
      1 query: 1 better in b, 0 the same, 0 worse
      query_id       a       b    delta  better
      q         2.0000  1.0000  -1.0000  b
    """
    if not isinstance(expression, pl.Expr):
        problem = f"a metric of your own is an expression, not {shown(expression)}."
        raise MetricParameterError(problem)
    if not isinstance(higher_is_better, bool | None):
        raise MetricParameterError(f"higher_is_better is True or False, not {higher_is_better!r}.")
    label = _label_of(expression, name)
    registered = _find_registered(expression) or _find_registered(_without_alias(expression))
    how, q = (None, None) if average is None else read_average(average, label)
    if how == "micro" and (registered is None or not isinstance(registered.build(), Ratio)):
        raise MetricParameterError(
            f"{label!r}: an expression is no ratio of sums, so it has no micro average."
        )
    if frame is not None and (not isinstance(frame, str) or frame not in get_args(Frame)):
        raise MetricParameterError(
            f"{label!r}: frame={frame!r} is not one of {', '.join(get_args(Frame))}."
        )
    if registered is None:
        lower = higher_is_better is False
        return Metric(
            label, how or "macro", expression=expression, lower_is_better=lower, q=q,
            looks_at=frame,
        )  # fmt: skip
    if higher_is_better not in (None, registered.higher_is_better):
        way = "lower" if higher_is_better else "higher"
        raise MetricParameterError(
            f"higher_is_better={higher_is_better}: {way} values of the metric {label!r} are better."
        )
    if frame not in (None, registered.frame):
        raise MetricParameterError(
            f"{label!r} looks at the {registered.frame} frame, not at frame={frame!r}."
        )
    return replace(registered, label=label, average=how or registered.average, q=q)


def _label_of(expression: pl.Expr, name: str | None) -> str:
    """Return the label of a user's expression; refuse names that no column can have."""
    if not isinstance(name, str | None):
        raise MetricParameterError(f"the name of a metric is text, not {name!r}.")
    label = name
    if label is None:
        with suppress(pl.exceptions.PolarsError):  # it has none
            label = expression.meta.output_name()
    if not label:
        raise MetricParameterError('an expression needs a name: .alias("...").')
    if expression.meta.has_multiple_outputs():
        raise MetricParameterError(
            f"expression {label!r} stands for several columns. Give one expression for each."
        )
    if name is None and _without_alias(expression) is None:
        raise MetricParameterError(
            f'an expression needs its own name: .alias("..."). polars would call it '
            f"{shorten(label)!r}, like its first part."
        )
    refuse_long_name(label)
    if is_pattern(label):
        raise MetricParameterError(
            f"polars would read the name {label!r} as a pattern: give the expression another name."
        )
    if label == QUERY:
        raise MetricParameterError(
            f"{QUERY!r} is the name of the query column: give the expression another name."
        )
    return label


def _without_alias(expression: pl.Expr) -> pl.Expr | None:
    """Return the expression to which `.alias(…)` gave a name; None if there is no alias."""
    inputs = expression.meta.pop()
    with suppress(pl.exceptions.PolarsError):
        if len(inputs) == 1 and inputs[0].alias(expression.meta.output_name()).meta.eq(expression):
            return inputs[0]
    return None


def _find_registered(expression: pl.Expr | None) -> Metric | None:
    """Return the registered metric that an expression is, found by its name; None if none is."""
    if expression is None:
        return None
    with suppress(RankframeError, ValueError, pl.exceptions.PolarsError):  # not a metric's name
        (named,) = parse(expression.meta.output_name())
        definition = named.definition
        if definition is not None and definition.function(**named.params).meta.eq(expression):
            return named
    return None


def add_inner_metrics(metrics: Sequence[Metric]) -> list[Metric]:
    """Insert the metric of each gap before the gap, unless the list has it already."""
    labels = set(map(attrgetter("label"), metrics))
    complete: list[Metric] = []
    for each in metrics:
        if each.gap is not None and each.gap.metric.label not in labels:
            labels.add(each.gap.metric.label)
            complete.append(each.gap.metric)
        complete.append(each)
    return complete


@lru_cache(4096)
def parse(text: str) -> Sequence[Metric]:
    """Parse a name: return one metric, or one for each cutoff in `@1,3,5`.

    >>> parse("nDCG(dcg='exp-log2')@10")[0].params
    {'gain': 'exp2', 'k': 10}
    """
    refuse_long_name(text)
    written = text.strip()
    if gap := _GAP.fullmatch(written):
        return _parse_gap(gap["inside"], written)
    level = _LEVEL.fullmatch(written)
    name = level["rest"] if level else written
    several = _SEVERAL.split(_IN_BRACKETS.sub("", name))
    if len(several) > 1 and all(_lookup(part.split("@")[0])[0] for part in several):
        problem = f"{shorten(text)!r} is {len(several)} names in one: give each by itself"
        raise UnknownMetricError(text, [], problem)
    parsed = _NAME.fullmatch(name)
    if parsed is None:
        raise UnknownMetricError(text, [], f"cannot read the metric name {text!r}")
    base, mark, numbers = parsed["name"].strip(), "@", parsed["at"]
    definition, presets = _lookup(base)
    suffixed = _SUFFIXED.fullmatch(base) if definition is None and numbers is None else None
    if suffixed:
        definition, presets = _lookup(suffixed["name"])
        mark, numbers = "", suffixed["numbers"]
    if definition is None:
        raise UnknownMetricError(text, _suggest(base, text))
    in_brackets = parsed["params"] or ""
    for parameter, other in definition.becomes.items():
        definition = REGISTRY[other] if parameter in in_brackets else definition
    params = _parameters(in_brackets, definition, text) if in_brackets else {}
    number = definition.decimals if suffixed and definition.decimals else definition.number
    outside = {definition.level: float(level["level"])} if level else {}
    if twice := params.keys() & {*outside, *([] if numbers is None else [number])}:
        raise MetricParameterError(f"{text!r} sets {min(twice)} twice.")
    params = presets | params | outside
    if numbers is None:
        return [_metric(written, definition, params, text)]
    is_share = suffixed is not None and definition.decimals is not None and suffixed["sep"] == "."
    metrics: list[Metric] = []
    for digits in map(str.strip, numbers.split(",")):
        value = _number(f"0.{digits}" if is_share and digits.isdigit() else digits, text)
        label = written.replace(mark + numbers, mark + digits)
        metrics.append(_metric(label, definition, {**params, number: value}, text))
    return metrics


def _parse_gap(inside: str, text: str) -> list[Metric]:
    """Parse the text inside `gap(…)`; return a gap for each metric that its first part names.

    >>> parse("gap(ndcg(gain=exp2)@10, by=group, kind=mean)")[0].gap.by
    'group'
    """
    problem = f"{shorten(text)!r}: a gap reads gap(ndcg@10, by=group)"
    items = [*_ITEM.finditer(inside)]
    # A cutoff may be several: ndcg@1,3.
    cutoffs = takewhile(lambda item: item[0].replace(".", "").strip().isdigit(), items[1:])
    metric_items = items[: 1 + len([*cutoffs])]
    inner = inside[: metric_items[-1].end()].strip() if metric_items else ""
    if not inner or inner.startswith(","):
        raise MetricParameterError(f"{problem}: it lacks the metric first.")
    params = {"kind": "range"}
    for item in items[len(metric_items) :]:
        key, _, value = (part.strip() for part in item[0].partition("="))
        if key not in ("by", "kind") or not value:
            raise MetricParameterError(f"{problem} or kind=mean, not {item[0].strip()!r}.")
        params[key] = value.strip("'\"")
    if "by" not in params:
        raise MetricParameterError(f"{problem}: it lacks by=, an attribute of the queries.")
    by, kind = params["by"], params["kind"]
    if kind not in get_args(GapKind):
        raise MetricParameterError(
            f"{shorten(text)!r}: kind is 'range', the largest less the least, or 'mean', of all "
            f"pairs, not {kind!r}."
        )
    if _GAP.fullmatch(inner):
        raise MetricParameterError(f"{shorten(text)!r}: a gap of gaps is no gap between slices.")
    gaps: list[Metric] = []
    for each in parse(inner):
        if each.frame == "documents" or each.average == "sum":
            why = "has no values per query" if each.frame == "documents" else "grows with a slice"
            raise MetricParameterError(f"{text!r}: {each.label!r} {why}, so it has no gap.")
        if each.level is not None:
            raise MetricParameterError(
                f"{text!r}: average={each.average} is not a mean, and a gap is between means."
            )
        gap = Gap(each, by, cast("GapKind", kind))
        label = text.replace(inner, each.label, 1)
        gaps.append(Metric(label, lower_is_better=True, gap=gap))
    return gaps


def definition_of(name: str) -> Definition:
    """Return the registered metric of a name in any spelling; parameters may be left out.

    >>> definition_of("diversity").name, definition_of("map_cut_10").name
    ('diversity', 'average_precision')
    """
    definition = _lookup(name)[0]
    if definition is None:
        first = parse(name)[0]
        definition = (first if first.gap is None else first.gap.metric).definition
    assert definition is not None  # a name always has one
    return definition


def _lookup(base: str) -> tuple[Definition | None, dict[str, Any]]:
    """Return the registered metric of a name, and the parameters that the name presets, or None."""
    key = base.strip().lower()
    for definition in REGISTRY.values():
        if key == definition.name or key in definition.synonyms or key in definition.presets:
            return definition, dict(definition.presets.get(key, {}))
    return None, {}


def _metric(label: str, definition: Definition, params: dict[str, Any], text: str) -> Metric:
    """Make a `Metric` with the parameters `params`; refuse unknown, missing and invalid ones.

    `text`: the whole name, as errors quote it.
    """
    if "average" in params:
        average, q = read_average(params.pop("average"), text)
    else:
        pooled = definition.holds(definition.pooled, params)
        average, q = "micro" if pooled else definition.average, None
    for key in params:
        if key not in definition.parameters:
            what = "cutoff" if key == "k" else key
            raise MetricParameterError(f"{text!r}: {definition.name} takes no {what}.")
    for key, parameter in definition.parameters.items():
        if parameter.default is inspect.Parameter.empty and key not in params:
            needed = f"{key}: {definition.name}({key}=…)"
            needed = f"a cutoff: {definition.name}@10" if key == "k" else needed
            raise MetricParameterError(f"{text!r} needs {needed}.")
    requested = Metric(label, average, definition, params, q=q)
    try:
        value = requested.build()
    except MetricParameterError as error:
        raise MetricParameterError(f"{text!r}: {error}") from None
    if average == "micro" and not isinstance(value, Ratio):
        raise MetricParameterError(
            f"{text!r}: {definition.name} is not a ratio of sums, so it has no micro average."
        )
    return requested


def _parameters(text: str, definition: Definition, whole: str) -> dict[str, Any]:
    """Parse a metric's parameters in brackets; names of other tools become the metric's own."""
    params: dict[str, Any] = {}
    synonyms = _PARAMETER_SYNONYMS | dict.fromkeys(_LEVELS, definition.level)
    synonyms |= definition.parameter_synonyms
    names = [*definition.parameters, "average"]
    for item in split_parameters(text):
        key, equals, value = (part.strip() for part in item.partition("="))
        key = synonyms.get(key, key)
        if not equals:
            raise MetricParameterError(f"{whole!r}: parameters read name=value, not {item!r}.")
        literal = read_literal(value)
        if key == "dcg" and str(literal) in _IR_MEASURES_DCG:
            key, literal = "gain", _IR_MEASURES_DCG[literal]
        if key not in names:
            near = did_you_mean(key, names)
            if key == "rel" != definition.level:
                near = f"Grades are used as they are; {definition.level}= drops those below."
            raise MetricParameterError(
                f"{whole!r}: {definition.name} has no parameter {key!r}. {near}"
                f"{' ' if near else ''}It takes {', '.join(names)}."
            )
        if key in params:
            raise MetricParameterError(f"{whole!r} sets {key} twice.")
        params[key] = literal
    return params


def split_parameters(text: str) -> list[str]:
    """Split text at commas that are not inside brackets, braces or quotes."""
    return [item.strip() for item in _ITEM.findall(text) if item.strip()]


def read_literal(text: str) -> Any:
    """Read a literal of Python, such as 0.5 or {1: 3}; any other text stays text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _number(digits: str, text: str) -> float | int:
    """Read a number in a name: a cutoff, a share or a level of recall."""
    with suppress(ValueError):
        return int(digits)
    with suppress(ValueError):
        return float(digits)
    raise MetricParameterError(f"{text!r}: a cutoff is a whole number, not {shown(digits)}.")


def _suggest(base: str, text: str) -> Sequence[str]:
    """Return `text` with its unknown name replaced by each of the most similar known names."""
    canonical = [*REGISTRY, *(name for d in REGISTRY.values() for name in d.other_names)]
    suffixed = _SUFFIXED.fullmatch(base)
    looked_up = suffixed["name"] if suffixed else base
    return [text.strip().replace(looked_up, name, 1) for name in nearest(looked_up, canonical, 2)]


def signature(definition: Definition) -> str:
    """Return how a name of this metric is written, with its parameters and their defaults.

    >>> signature(REGISTRY["rbp_residual"])
    'rbp_residual(p=0.8)'
    """
    defaults: list[str] = []
    for name, parameter in definition.parameters.items():
        value = parameter.default
        if name not in ("k", "rel"):
            is_open = value is None or value is inspect.Parameter.empty
            text = f"{value:g}" if isinstance(value, float) else str(value).lower()
            defaults.append(f"{name}={'…' if is_open else text}")
    if "rel" in definition.parameters:
        defaults.append("rel=…")
    body = f"({', '.join(defaults)})" if defaults else ""
    return f"{definition.name}{body}{'@k' if 'k' in definition.parameters else ''}"
