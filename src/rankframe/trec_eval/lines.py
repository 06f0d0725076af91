"""Make the lines that trec_eval prints: the label of each, and the metrics behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Final

import polars as pl

from rankframe.core.columns import RANK, RELEVANCE
from rankframe.core.errors import OptionError, RankframeError
from rankframe.metrics import REGISTRY
from rankframe.metrics.gain import discounted
from rankframe.metrics.names import Metric
from rankframe.metrics.order import iprec
from rankframe.metrics.parts import constant, power, where
from rankframe.metrics.trec import rndcg
from rankframe.trec_eval.measures import MEASURES, Measure, Style

# A relstring travels as numbers: four bits a document, for as many as a float is exact for.
DOCUMENTS_A_NUMBER: Final = 13
# The characters of a relstring: not judged, in the pool but not judged, the grade, a larger grade.
CODES: Final = "-.0123456789>"
# Lines without values of queries.
_ALONE: Final = ("runid", "num_q")


@dataclass(frozen=True)
class Line:
    """A line of the output: for every query, at the end for all of them, or both."""

    label: str
    style: Style
    # one metric; several for a relstring; none for runid and num_q
    metrics: tuple[Metric, ...]
    per_query: bool
    summary: bool
    # the number of documents in a relstring
    depth: int = 0
    # its measure in trec_eval
    measure: str = ""


def lines_of(
    requests: Mapping[str, Sequence[str]],
    *,
    collection: int | None = None,
    grades: Sequence[float] = (),
) -> list[Line]:
    """Return the lines of measures, in trec_eval's order.

    Args:
        requests: measures, each with the texts that followed its dot.
        collection: the number of documents in the collection.
        grades: the grades that occur.
    """
    lines: list[Line] = []
    for name, measure in MEASURES.items():
        if name not in requests:
            continue
        params = requests[name]
        if measure.takes in ("cutoffs", "points"):
            lines += _one_a_number(measure, ",".join(params))
        elif len(params) > 1:
            raise OptionError(f"-m {name} is asked for twice: .{' and .'.join(params)}.")
        else:
            request = _Request(measure, *params, collection=collection or 0, grades=grades)
            lines.append(_BUILDERS.get(name, _plain)(request))
    return lines


def has_gains(requests: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether a measure has gains, which need the grades that occur."""
    return any(_BUILDERS.get(name) is _gained and params for name, params in requests.items())


@dataclass(frozen=True)
class _Request:
    """A measure with the text that followed its dot."""

    measure: Measure
    params: str = ""
    collection: int = 0
    grades: Sequence[float] = ()

    @property
    def label(self) -> str:
        return f"{self.measure.name}_{self.params}" if self.params else self.measure.name

    def error(self, problem: object) -> OptionError:
        dot = "." if self.params else ""
        return OptionError(f"-m {self.measure.name}{dot}{self.params}: {problem}")

    def metric(self, label: str | None = None, **params: Any) -> Metric:
        if self.measure.metric is None:  # computed elsewhere, from judgments in groups
            return Metric(label or self.label, self.measure.average or "macro", params=params)
        definition = REGISTRY[self.measure.metric]
        average = self.measure.average or definition.average
        metric = Metric(label or self.label, average, definition, params)
        try:
            metric.build()
        except RankframeError as error:
            raise self.error(error) from error
        return metric

    def line(self, *metrics: Metric, label: str | None = None, depth: int = 0) -> Line:
        measure = self.measure
        return Line(
            label or self.label,
            measure.style,
            metrics,
            measure.per_query,
            measure.summary,
            depth,
            measure.name,
        )

    def numbers(self, count: int | None = None) -> list[float]:
        try:
            found = [float(part) for part in self.params.split(",")]
        except ValueError:
            found = [math.nan]
        if not all(map(math.isfinite, found)):
            raise self.error("numbers belong behind the dot, with commas between them.")
        if count not in (None, len(found)):
            raise self.error(f"it takes {count} number{'s' * (count != 1)}, not {len(found)}.")
        return found

    def pairs(self) -> dict[str, float]:
        parts = [part.partition("=") for part in self.params.split(",")]
        return {
            key: _Request(self.measure, value).numbers(1)[0] if equals else self._unpaired(key)
            for key, equals, value in parts
        }

    def _unpaired(self, text: str) -> float:
        raise self.error(f"it takes NAME=NUMBER, with commas between them, not {text!r}.")


def _one_a_number(measure: Measure, params: str) -> list[Line]:
    request = _Request(measure, params)
    numbers: Sequence[float] = request.numbers() if params else measure.defaults
    if measure.takes == "cutoffs":
        labelled = {f"{measure.name}_{int(n)}": int(n) for n in sorted(numbers)}
    else:
        labelled = {f"{measure.name}_{n:3.2f}": n for n in sorted(numbers)}
    return [
        request.line(request.metric(label, **{measure.sets: n}), label=label)
        for label, n in labelled.items()
    ]


def _plain(request: _Request) -> Line:
    return request.line(*([] if request.measure.style in _ALONE else [request.metric()]))


def _relstring(request: _Request) -> Line:
    depth = max(int(request.numbers(1)[0]), 0) if request.params else 10
    grade, place = pl.col(RELEVANCE), pl.col(RANK) - 1
    zero, last = CODES.index("0"), len(CODES) - 1
    code = pl.when(grade < 0).then(CODES.index(".")).otherwise((grade + zero).clip(0, last))
    numbers = []
    for first in range(0, depth, DOCUMENTS_A_NUMBER):
        inside = (place >= first) & (place < min(first + DOCUMENTS_A_NUMBER, depth))
        number = where(inside, code * power(2, 4 * (place - first))).sum()
        numbers.append(Metric(f"{request.label}\0{first}", "sum", expression=number))
    return request.line(*numbers, depth=depth)


def _utility(request: _Request) -> Line:
    a, b, c, d = request.numbers(4) if request.params else (1.0, -1.0, 0.0, 0.0)
    return request.line(request.metric(a=a, b=b, c=c, d=d, collection=request.collection))


def _eleven_point(request: _Request) -> Line:
    if not request.params:
        return _plain(request)
    points = request.numbers()
    try:
        precisions = [iprec(recall=point) for point in points]
    except RankframeError as error:
        raise request.error(error) from error
    mean = reduce(add, precisions) / constant(len(points))
    return request.line(Metric(request.label, expression=mean))


def _rndcg(request: _Request) -> Line:
    # The level plays no part in it, but if nothing reaches the level, trec_eval prints 0.
    value = pl.when(pl.col("relevant").any()).then(rndcg()).otherwise(0.0)
    return request.line(Metric(request.label, expression=value))


def _set_f(request: _Request) -> Line:
    return request.line(request.metric(x=request.numbers(1)[0] if request.params else 1.0))


def _gained(request: _Request) -> Line:
    """-m ndcg.1=3,2=9: gains of some grades; the others gain what they are."""
    if not request.params:
        return _plain(request)
    gains = {grade: grade for grade in request.grades if grade >= 0}
    for grade, gain in request.pairs().items():
        if not grade.isdigit():
            raise request.error(f"{grade!r} is no grade: gains read 1=3,2=9.")
        gains[float(grade)] = gain
    in_order = [gains[grade] for grade in sorted(gains)]
    if in_order == sorted(in_order) and not any(gains[g] for g in gains if g == 0):
        return request.line(request.metric(gain=gains))
    return request.line(Metric(request.label, expression=_freely_gained(request, gains)))


def _freely_gained(request: _Request, gains: Mapping[float, float]) -> pl.Expr:
    """Return a gained measure for any gains: falling with the grade, negative, or of grade 0.

    The ideal list has the documents of the largest gain first, and none without gain.
    """
    grade = pl.col(RELEVANCE)
    gain = grade.replace_strict(
        list(gains), list(gains.values()), default=0.0, return_dtype=pl.Float64
    )
    reached = where(pl.col(RANK).is_not_null(), discounted(gain, RANK, "log2")).sum()
    if request.measure.name == "dcg":
        return reached
    counts = {level: (grade == level).sum().cast(pl.Int64) for level in gains}
    ideal = pl.lit(0.0)
    before = pl.lit(0, pl.Int64)
    for level in sorted((g for g in gains if gains[g] > 0), key=lambda g: (-gains[g], -g)):
        # The ideal rank is by grade; here, documents of larger gains come before it.
        place = pl.col("ideal_rank") - (grade > level).sum().cast(pl.Int64) + before
        ideal = ideal + where(grade == level, gains[level] / (place + 1).log(2)).sum()
        before = before + counts[level]
    if request.measure.name == "ideal_dcg":
        return ideal
    return pl.when(ideal > 0).then(reached / ideal).otherwise(0.0)


def _persistent(request: _Request) -> Line:
    """-m rbp.p=0.8, or -m rbp.0.8."""
    if not request.params:
        return _plain(request)
    pairs = request.pairs() if "=" in request.params else {"p": request.numbers(1)[0]}
    if set(pairs) != {"p"}:
        raise request.error("it takes p, as in p=0.8, and no gains.")
    return request.line(request.metric(p=pairs["p"]))


_BUILDERS: Final[dict[str, Callable[[_Request], Line]]] = {
    "relstring": _relstring,
    "utility": _utility,
    "11pt_avg": _eleven_point,
    "Rndcg": _rndcg,
    "set_F": _set_f,
    "dcg": _gained,
    "ideal_dcg": _gained,
    "ndcg": _gained,
    "rbp": _persistent,
    "rbp_resid": _persistent,
}
