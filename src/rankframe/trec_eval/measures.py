"""Declare trec_eval's measures under its own names, with their metrics, parameters and lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any, Final, Literal, TypeAlias, get_args

import polars as pl

from rankframe.core.columns import RANK, RELEVANCE
from rankframe.core.errors import OptionError, RankframeError
from rankframe.core.messages import did_you_mean
from rankframe.core.options import Average
from rankframe.core.records import record
from rankframe.metrics import REGISTRY
from rankframe.metrics.gain import discounted
from rankframe.metrics.names import Metric
from rankframe.metrics.order import iprec
from rankframe.metrics.parts import constant, power, where
from rankframe.trec_eval.groups import PREFERENCE_VALUES

# How a line's value is printed: with four decimals, as a whole number, or in a way of its own.
Style = Literal["number", "count", "relstring", "runid", "num_q"]
# Kinds of parameters: none; cutoffs (whole numbers) or points, each with a line of its own; or a
# text that gives one line.
Takes = Literal["nothing", "cutoffs", "points", "text"]
# Kinds of judgments, as -R names them.
RelFormat: TypeAlias = Literal["qrels", "prefs", "qrels_prefs", "qrels_jg"]
_PREFS: Final[tuple[RelFormat, ...]] = ("prefs", "qrels_prefs")
_JUDGMENT_GROUPS: Final[tuple[RelFormat, ...]] = ("qrels_jg",)

_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_POINTS = tuple(i / 10 for i in range(11))
_MULTIPLES = tuple(i / 5 for i in range(1, 11))
# A relstring is computed as floats: four bits per document, as many documents as a float can hold
# exactly.
DOCUMENTS_A_NUMBER: Final = 13
# The characters of a relstring: not judged, in the pool but not judged, the grade, a larger grade.
CODES: Final = "-.0123456789>"
# The column with the number of documents of a query.
RETRIEVED: Final = "\0retrieved"


class UnknownMeasureError(OptionError):
    """Raised if trec_eval has no such measure."""


@record
class Measure:
    """Describe a measure of trec_eval: its metric, its parameters, and where it is printed."""

    name: str
    metric: str | None = None
    takes: Takes = "nothing"
    # the parameter that cutoffs, points or numbers set (or several, with commas); default values
    sets: str = "k"
    defaults: tuple[float, ...] = ()
    style: Style = "number"
    # how values are averaged, if not as by the metric
    average: Average | None = None
    per_query: bool = True
    summary: bool = True
    # the kinds of judgments that it evaluates
    reads: tuple[RelFormat, ...] = ("qrels",)
    # a function that makes the line from the text after the dot, if that does not set parameters
    build: Callable[[_Request], Line] | None = None


@record
class Line:
    """Describe a line of the output: for every query, for the summary, or for both."""

    label: str
    measure: Measure
    # the metrics that are printed: one; several for a relstring; none for runid, num_q and
    # measures of preferences
    metrics: tuple[Metric, ...] = ()
    # the number of documents in a relstring
    depth: int = 0

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns whose values the line prints."""
        if self.measure.style == "relstring":
            return [RETRIEVED, *(metric.label for metric in self.metrics)]
        return [self.label]

    @property
    def average(self) -> str:
        """Return the kind of average over queries."""
        if self.metrics:
            return self.metrics[0].average
        return "sum" if self.measure.style == "count" else "macro"


@record
class _Request:
    """Hold a measure and the text after its dot, as in -m P.5."""

    measure: Measure
    params: str = ""
    collection: int = 0

    @property
    def label(self) -> str:
        """Return the label of the line."""
        return f"{self.measure.name}_{self.params}" if self.params else self.measure.name

    def error(self, problem: object) -> OptionError:
        """Return an error that quotes the request."""
        dot = "." if self.params else ""
        return OptionError(f"-m {self.measure.name}{dot}{self.params}: {problem}")

    def metric(self, label: str | None = None, **params: Any) -> Metric:
        """Return the measure's metric with these parameters; refuse invalid ones."""
        definition = REGISTRY[self.measure.metric or ""]
        average = self.measure.average or definition.average
        metric = Metric(label or self.label, average, definition, params)
        try:
            metric.build()
        except RankframeError as error:
            raise self.error(error) from error
        return metric

    def line(self, *metrics: Metric, label: str | None = None, depth: int = 0) -> Line:
        """Return the output line that prints these metrics."""
        return Line(label or self.label, self.measure, metrics, depth)

    def numbers(self, count: int | None = None) -> list[float]:
        """Parse numbers separated by commas; refuse any other number of them than `count`."""
        try:
            numbers = [float(part) for part in self.params.split(",")]
        except ValueError:
            numbers = [math.nan]
        if not all(map(math.isfinite, numbers)):
            raise self.error("numbers belong behind the dot, with commas between them.")
        if count not in (None, len(numbers)):
            raise self.error(f"it takes {count} number{'s' * (count != 1)}, not {len(numbers)}.")
        return numbers

    def pairs(self) -> dict[str, float]:
        """Parse NAME=NUMBER pairs, separated by commas."""
        pairs = {}
        for part in self.params.split(","):
            key, equals, value = part.partition("=")
            if not equals:
                problem = f"it takes NAME=NUMBER, with commas between them, not {key!r}."
                raise self.error(problem)
            (pairs[key],) = _Request(self.measure, value).numbers(1)
        return pairs


def _one_a_number(measure: Measure, params: str) -> list[Line]:
    """Make an output line for each cutoff or recall point of a measure, as in -m P.5,10."""
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
    """Make the line of a measure without parameters."""
    return request.line(*([request.metric()] if request.measure.metric else []))


def _relstring(request: _Request) -> Line:
    """Make the line with the grades of the first documents: -m relstring.20."""
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


def _numbered(request: _Request) -> Line:
    """Make the line of a measure whose numbers set parameters: -m utility.1,-1,0,0."""
    names = request.measure.sets.split(",")
    params: dict[str, Any] = {}
    if request.params:
        params = dict(zip(names, request.numbers(len(names)), strict=True))
    if request.measure.name == "utility":
        params["collection"] = request.collection
    return request.line(request.metric(**params))


def _eleven_point(request: _Request) -> Line:
    """Make the line of mean interpolated precision at levels of recall: -m 11pt_avg.0.5,1."""
    if not request.params:
        return _plain(request)
    points = request.numbers()
    try:
        precisions = [iprec(recall=point) for point in points]
    except RankframeError as error:
        raise request.error(error) from error
    mean = reduce(add, precisions) / constant(len(points))
    return request.line(Metric(request.label, expression=mean))


def _gained(request: _Request) -> Line:
    """Make the output line of a measure whose name has gains of grades, as in -m ndcg.1=3,2=9.

    The gain of any other grade is the grade itself. Gains may fall as grades rise. The ideal list
    is ordered by gain, the largest first, and leaves out documents without gain.
    """
    if not request.params:
        return _plain(request)
    gains: dict[float, float] = {}
    for level, gain in request.pairs().items():
        if not level.isdigit():
            raise request.error(f"{level!r} is no grade: gains read 1=3,2=9.")
        gains[float(level)] = gain
    grade = pl.col(RELEVANCE)
    gain = pl.when(grade >= 0).then(grade.replace(gains)).otherwise(0.0)
    dcg = where(pl.col(RANK).is_not_null(), discounted(gain, RANK)).sum()
    best = gain.filter(gain > 0).sort(descending=True)
    ideal = (best / (pl.int_range(best.len()) + 2).log(2)).sum()
    ndcg = pl.when(ideal > 0).then(dcg / ideal).otherwise(0.0)
    values = {"dcg": dcg, "ideal_dcg": ideal, "ndcg": ndcg}
    return request.line(Metric(request.label, expression=values[request.measure.name]))


def _persistent(request: _Request) -> Line:
    """Make the line of rank-biased precision: -m rbp.p=0.8, or -m rbp.0.8."""
    if not request.params:
        return _plain(request)
    pairs = request.pairs() if "=" in request.params else {"p": request.numbers(1)[0]}
    if set(pairs) != {"p"}:
        raise request.error("it takes p, as in p=0.8, and no gains.")
    return request.line(request.metric(p=pairs["p"]))


# In the order in which trec_eval prints them.
MEASURES: Final = {
    measure.name: measure
    for measure in (
        Measure("runid", style="runid", per_query=False, reads=get_args(RelFormat)),
        Measure("num_q", style="num_q", per_query=False, reads=get_args(RelFormat)),
        Measure("num_ret", "num_retrieved", style="count"),
        Measure("num_rel", "num_relevant", style="count"),
        Measure("num_rel_ret", "num_relevant_retrieved", style="count"),
        Measure("map", "average_precision"),
        Measure("gm_map", "average_precision", average="geometric", per_query=False),
        Measure("Rprec", "r_precision"),
        Measure("bpref", "bpref"),
        Measure("recip_rank", "reciprocal_rank"),
        Measure("iprec_at_recall", "iprec", "points", "recall", _POINTS),
        Measure("P", "precision", "cutoffs", defaults=_CUTOFFS),
        Measure("relstring", takes="text", style="relstring", summary=False, build=_relstring),
        Measure("recall", "recall", "cutoffs", defaults=_CUTOFFS),
        Measure("infAP", "infap"),
        Measure("gm_bpref", "bpref", average="geometric", per_query=False),
        Measure("Rprec_mult", "r_precision", "points", "multiple", _MULTIPLES),
        Measure("utility", "utility", "text", "a,b,c,d", build=_numbered),
        Measure("11pt_avg", "eleven_point", "text", build=_eleven_point),
        Measure("binG", "bin_g"),
        Measure("G", "g_measure"),
        Measure("dcg", "dcg", "text", build=_gained),
        Measure("ideal_dcg", "ideal_dcg", "text", build=_gained),
        Measure("ndcg", "ndcg", "text", build=_gained),
        Measure("ndcg_rel", "ndcg_rel"),
        Measure("Rndcg", "rndcg"),
        Measure("ndcg_cut", "ndcg", "cutoffs", defaults=_CUTOFFS),
        Measure("map_cut", "average_precision", "cutoffs", defaults=_CUTOFFS),
        Measure("relative_P", "relative_precision", "cutoffs", defaults=_CUTOFFS),
        Measure("success", "hit_rate", "cutoffs", defaults=(1, 5, 10)),
        Measure("set_P", "set_precision"),
        Measure("set_relative_P", "relative_precision"),
        Measure("set_recall", "set_recall"),
        Measure("set_map", "set_map"),
        Measure("set_F", "set_f", "text", "x", build=_numbered),
        Measure("num_nonrel_judged_ret", "num_nonrelevant_judged_retrieved", style="count"),
        *(
            Measure(name, style="count" if "_num_" in name else "number", reads=_PREFS)
            for name in PREFERENCE_VALUES
        ),
        Measure("map_avgjg", "average_precision", reads=_JUDGMENT_GROUPS),
        Measure("P_avgjg", "precision", "cutoffs", defaults=_CUTOFFS, reads=_JUDGMENT_GROUPS),
        Measure(
            "Rprec_mult_avgjg", "r_precision", "points", "multiple", _MULTIPLES,
            reads=_JUDGMENT_GROUPS,
        ),
        Measure("yaap", "yaap"),
        Measure("rbp", "trec_rbp", "text", build=_persistent),
        Measure("rbp_resid", "trec_rbp_resid", "text", build=_persistent),
        Measure("unj", "trec_unj", "cutoffs", defaults=(5, 10, 20)),
    )
}  # fmt: skip
NICKNAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "official": (
        "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref",
        "recip_rank", "iprec_at_recall", "P",
    ),
    "set": (
        "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_recall",
        "set_relative_P", "set_map", "set_F",
    ),
    # trec_eval 10 prints these three only if they are asked for by name
    "all_trec": tuple(
        name for name, measure in MEASURES.items()
        if "qrels" in measure.reads and name not in ("dcg", "ideal_dcg", "yaap")
    ),
    "all_prefs": tuple(name for name, measure in MEASURES.items() if "prefs" in measure.reads),
    "prefs": (
        "runid", "num_q", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret",
        "prefs_simp", "prefs_pair", "prefs_avgjg",
    ),
    "qrels_jg": tuple(name for name, measure in MEASURES.items() if "qrels_jg" in measure.reads),
}  # fmt: skip
# Default measures, without -m. (trec_eval fails to compute its official measures of preferences.)
DEFAULTS: Final[Mapping[RelFormat, tuple[str, ...]]] = {
    "qrels": ("official",),
    "prefs": ("prefs",),
    "qrels_prefs": ("prefs",),
    "qrels_jg": ("qrels_jg",),
}


def make_lines(
    requests: Mapping[str, Sequence[str]], *, collection: int | None = None
) -> list[Line]:
    """Return the lines of measures, in trec_eval's order.

    Args:
        requests: each measure with the texts after its dot, as `parse_measures` returns them.
        collection: the number of documents in the collection.
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
            request = _Request(measure, *params, collection=collection or 0)
            lines.append((measure.build or _plain)(request))
    return lines


def parse_measures(texts: Iterable[str]) -> dict[str, list[str]]:
    """Parse -m: return the measures, each with its parameters.

    If a measure takes no parameters, text after its dot is ignored, as in trec_eval.

    >>> parse_measures(["P.5,10", "map"])
    {'P': ['5,10'], 'map': []}
    """
    requests: dict[str, list[str]] = {}
    for text in texts:
        name, dot, params = text.strip().partition(".")
        if name not in MEASURES and name not in NICKNAMES:
            raise UnknownMeasureError(f"trec_eval has no measure {name!r}. {_hint(name)}".rstrip())
        if dot and not params:
            raise UnknownMeasureError(f"-m {text}: a parameter belongs behind the dot.")
        if name in NICKNAMES or MEASURES[name].takes == "nothing":
            params = ""
        for measure in NICKNAMES.get(name, (name,)):
            params_of_measure = requests.setdefault(measure, [])
            if params and params not in params_of_measure:
                params_of_measure.append(params)
    return requests


def refuse_other_judgments(requests: Iterable[str], rel_format: RelFormat) -> None:
    """Refuse measures that do not evaluate the kind of judgments that -R names."""
    for name in requests:
        reads = MEASURES[name].reads
        if rel_format not in reads:
            raise OptionError(
                f"-m {name} looks at other judgments than -R {rel_format}: it needs "
                f"{' or '.join(f'-R {form}' for form in reads)}."
            )


def format_measure(label: str) -> str | None:
    """Return the -m argument for the line with this label, or None if no measure has such a line.

    >>> format_measure("map_cut_10"), format_measure("map"), format_measure("nothing")
    ('map_cut.10', 'map', None)
    """
    if label in MEASURES:
        return label
    owners = [name for name in MEASURES if label.startswith(f"{name}_")]
    owner = max(owners, key=len, default=None)
    if owner is None or MEASURES[owner].takes == "nothing":
        return None
    return f"{owner}.{label.removeprefix(f'{owner}_')}"


def _hint(name: str) -> str:
    """Return advice for an unknown measure: the measure with parameters, or a similar name."""
    written = format_measure(name)
    if written is not None:
        return f"Did you mean -m {written}?"
    return did_you_mean(name, [*MEASURES, *NICKNAMES])
