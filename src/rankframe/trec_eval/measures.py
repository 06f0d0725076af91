"""trec_eval's measures under its own names: the metric that each is, and what -m may say of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from rankframe.core.errors import OptionError
from rankframe.core.messages import did_you_mean
from rankframe.core.options import Average

# How a line's value is printed: with four decimals, as a whole number, or in a way of its own.
Style = Literal["number", "count", "relstring", "runid", "num_q"]
# Parameters of a measure: none; cutoffs (whole) or points, each with its own line; numbers, or
# names with numbers, for one line.
Takes = Literal["nothing", "cutoffs", "points", "numbers", "pairs"]
# Kinds of judgments, as -R names them.
RelFormat: TypeAlias = Literal["qrels", "prefs", "qrels_prefs", "qrels_jg"]
_PREFS: Final[tuple[RelFormat, ...]] = ("prefs", "qrels_prefs")
_JUDGMENT_GROUPS: Final[tuple[RelFormat, ...]] = ("qrels_jg",)

_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_POINTS = tuple(i / 10 for i in range(11))
_MULTIPLES = tuple(i / 5 for i in range(1, 11))


class UnknownMeasureError(OptionError):
    """A measure that trec_eval does not have."""


@dataclass(frozen=True)
class Measure:
    """A measure of trec_eval: the metric behind it, and its parameters."""

    name: str
    metric: str | None = None
    takes: Takes = "nothing"
    # the parameter that a cutoff or a point sets, and the default cutoffs or points
    sets: str = "k"
    defaults: tuple[float, ...] = ()
    style: Style = "number"
    # how it is averaged, if not as the metric
    average: Average | None = None
    # where it is printed
    per_query: bool = True
    summary: bool = True
    # the kinds of judgments that it evaluates
    reads: tuple[RelFormat, ...] = ("qrels",)


def _count_of_prefs(name: str) -> Measure:
    return Measure(name, style="count", average="sum", reads=_PREFS)


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
        Measure("relstring", takes="numbers", style="relstring", summary=False),
        Measure("recall", "recall", "cutoffs", defaults=_CUTOFFS),
        Measure("infAP", "infap"),
        Measure("gm_bpref", "bpref", average="geometric", per_query=False),
        Measure("Rprec_mult", "r_precision", "points", "multiple", _MULTIPLES),
        Measure("utility", "utility", "numbers"),
        Measure("11pt_avg", "eleven_point", "numbers"),
        Measure("binG", "bin_g"),
        Measure("G", "g_measure"),
        Measure("dcg", "dcg", "pairs"),
        Measure("ideal_dcg", "ideal_dcg", "pairs"),
        Measure("ndcg", "ndcg", "pairs"),
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
        Measure("set_F", "set_f", "numbers"),
        Measure("num_nonrel_judged_ret", "num_nonrelevant_judged_retrieved", style="count"),
        _count_of_prefs("prefs_num_prefs_poss"),
        _count_of_prefs("prefs_num_prefs_ful"),
        _count_of_prefs("prefs_num_prefs_ful_ret"),
        Measure("prefs_simp", reads=_PREFS),
        Measure("prefs_pair", reads=_PREFS),
        Measure("prefs_avgjg", reads=_PREFS),
        Measure("prefs_avgjg_Rnonrel", reads=_PREFS),
        Measure("prefs_simp_ret", reads=_PREFS),
        Measure("prefs_pair_ret", reads=_PREFS),
        Measure("prefs_avgjg_ret", reads=_PREFS),
        Measure("prefs_avgjg_Rnonrel_ret", reads=_PREFS),
        Measure("prefs_simp_imp", reads=_PREFS),
        Measure("prefs_pair_imp", reads=_PREFS),
        Measure("prefs_avgjg_imp", reads=_PREFS),
        Measure("map_avgjg", reads=_JUDGMENT_GROUPS),
        Measure("P_avgjg", takes="cutoffs", defaults=_CUTOFFS, reads=_JUDGMENT_GROUPS),
        Measure(
            "Rprec_mult_avgjg",
            takes="points",
            sets="multiple",
            defaults=_MULTIPLES,
            reads=_JUDGMENT_GROUPS,
        ),
        Measure("yaap", "yaap"),
        Measure("rbp", "trec_rbp", "pairs"),
        Measure("rbp_resid", "trec_rbp_resid", "pairs"),
        Measure("unj", "trec_unj", "cutoffs", defaults=(5, 10, 20)),
    )
}
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
# Measures without -m. (trec_eval would fail to compute its official measures of preferences.)
DEFAULTS: Final[Mapping[RelFormat, tuple[str, ...]]] = {
    "qrels": ("official",),
    "prefs": ("prefs",),
    "qrels_prefs": ("prefs",),
    "qrels_jg": ("qrels_jg",),
}


def parse_measures(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return the measures that -m asks for, each with the texts that followed its dot.

    Text behind the dot of a measure that takes nothing is ignored, as in trec_eval.

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
    """Refuse measures of another kind of judgments than -R names."""
    for name in requests:
        reads = MEASURES[name].reads
        if rel_format not in reads:
            raise OptionError(
                f"-m {name} looks at other judgments than -R {rel_format}: it needs "
                f"{' or '.join(f'-R {form}' for form in reads)}."
            )


def written_as(label: str) -> str | None:
    """Return how -m asks for the line with this label; None if no measure has such a line.

    >>> written_as("map_cut_10"), written_as("map"), written_as("nothing")
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
    written = written_as(name)
    if written is not None:
        return f"Did you mean -m {written}?"
    return did_you_mean(name, [*MEASURES, *NICKNAMES])
