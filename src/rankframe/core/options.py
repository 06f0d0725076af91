"""Every option that says what counts, declared once: its choices, default and check, its sentence
in the documentation, its line in the ledger, and its flag.

Functions and commands that take a group of options take all of its fields, under these names and
with these defaults: `python docs/make.py` writes their signatures, a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, Literal, TypeAlias

from rankframe.core.checks import is_count, is_number
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown
from rankframe.core.option import Options, option

Order: TypeAlias = Literal["columns", "rows"]
Ranks: TypeAlias = Literal["renumbered", "kept"]
Ties: TypeAlias = Literal["doc_desc", "doc_asc", "as_given"]
Duplicates: TypeAlias = Literal["error", "keep_best"]
# What documents are part of: a table, its file, a mapping, or an expression over doc_id.
Unit: TypeAlias = Any
Gaps: TypeAlias = Literal["closed", "kept"]
# A table of any readable form.
Table: TypeAlias = Any
Missing: TypeAlias = Literal["zero", "skip", "error"]
MissingAmong: TypeAlias = Literal["zero_if_few", "zero", "skip", "error"]
NoRelevant: TypeAlias = Literal["zero", "skip"]
NoOverlap: TypeAlias = Literal["error", "zero"]
Unshared: TypeAlias = Literal["shared", "bottom"]
Lone: TypeAlias = Literal["keep", "skip"]
Unpaired: TypeAlias = Literal["error", "skip", "zero"]
Method: TypeAlias = Literal["bootstrap", "t"]
Test: TypeAlias = Literal["t", "wilcoxon", "sign", "randomisation", "tukey"]
Correction: TypeAlias = Literal["holm", "bonferroni", "bh", "none"]
# What `rankframe plot` draws: the names of the charts in `plot`.
ChartKind: TypeAlias = Literal[
    "roc", "precision_recall", "metric_at_k", "cumulative_gain", "discounts", "reciprocal_rank",
    "strip", "grades", "precision_at", "heatmap", "bump", "calibration", "per_query",
    "distribution", "differences", "scatter", "slices", "slice_map", "forest", "significance",
    "agreement", "history", "fusion_weights", "exposure", "popularity", "tradeoff",
]  # fmt: skip
ChartTheme: TypeAlias = Literal["light", "dark"]
# The largest less the least of several means, or the mean difference of two of them.
GapKind: TypeAlias = Literal["range", "mean"]
Average: TypeAlias = Literal[
    "macro", "micro", "geometric", "weighted", "sum", "median", "min", "quantile",
]  # fmt: skip

_FEWEST_REPLICATES = 100
_MOST_REPLICATES = 100_000


def check_count(name: str, value: Any) -> None:
    """Refuse what is no number of things, where one was given."""
    if value is not None and not is_count(value):
        raise OptionError(
            Option(name, bare=True), f" must be a whole number of at least 1, not {shown(value)}."
        )


def _whole(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise OptionError(Option(name, bare=True), f" must be a whole number, not {shown(value)}.")


def _share(name: str, value: Any) -> None:
    if not is_number(value) or not 0.5 <= value < 1:
        raise OptionError(
            Option(name, bare=True),
            f" must be a number from 0.5 to below 1, such as 0.95, not {shown(value)}.",
        )


def check_replicates(name: str, value: Any) -> None:
    """Refuse what is too little to say anything, or too much to draw."""
    if not is_count(value) or not _FEWEST_REPLICATES <= value <= _MOST_REPLICATES:
        raise OptionError(
            Option(name, bare=True),
            f" must be a whole number from {_FEWEST_REPLICATES} to {_MOST_REPLICATES:,}, "
            f"not {shown(value)}.",
        )


_ORDER = partial(
    option,
    "columns",
    "documents are ordered by score, or else distance or rank, and a run without such a column is "
    'refused, unless it has lists ("columns"); or "rows": as the rows stand, whatever the columns.',
    "By score, distance or rank; or as the rows stand.",
    ledger=None,  # which column it was stands there
)
_TIES = partial(
    option,
    "doc_desc",
    'equal scores are ordered by doc_id descending ("doc_desc", as trec_eval), "doc_asc" or '
    '"as_given".',
    "Order of equal scores.",
)
_DUPLICATES = partial(
    option,
    "error",
    'the same document twice for a query is an "error", or "keep_best" keeps the best.',
    "A document twice for a query.",
)
_K_MAX = partial(
    option,
    None,
    "look at the top so many documents only, counted before unjudged ones are dropped, and after "
    "duplicates are.",
    "Look at the top so many only, before unjudged ones are dropped, after duplicates are.",
    ledger=lambda k: "the whole list" if k is None else f"the top {k}",
    check=check_count,
)


@dataclass(frozen=True)
class Policies(Options):
    """What counts when a run is evaluated against judgments."""

    rel: float | None = option(
        None,
        "the grade from which a document counts as relevant (default: any above 0). Graded metrics "
        "use the grades themselves.",
        "Grade from which a document is relevant; else any above 0.",
        ledger=lambda rel: "any grade above 0" if rel is None else f"grade of at least {rel:g}",
    )
    relevance: float | None = option(
        None,
        "the grade of every pair, for judgments that are pairs of query and document without "
        "grades; refused where they have grades.",
        "Grade of every pair, where judgments have no grades.",
        ledger=lambda grade: None if grade is None else f"{grade:g} for every pair",
    )
    missing: Missing = option(
        "zero",
        'a judged query that the run lacks scores 0 ("zero"), is left out ("skip") or is an '
        '"error".',
        "Judged queries that a run lacks.",
        of_averages=True,
    )
    no_relevant: NoRelevant = option(
        "zero",
        'a query without relevant documents scores 0 ("zero") or is left out ("skip").',
        "Queries without relevant documents.",
        of_averages=True,
    )
    no_overlap: NoOverlap = option(
        "error",
        'a run without one judged document is an "error", or scores "zero".',
        "A run without any judged document.",
        ledger=None,
        of_averages=True,
    )
    order: Order = _ORDER()
    ranks: Ranks = option(
        "renumbered",
        'given ranks say the order, and documents are numbered from 1 ("renumbered"); or "kept": '
        "they are the ranks, whatever the scores, as if unjudged documents stood in the gaps.",
        "Given ranks: the order alone, or ranks as they are, gaps and all.",
    )
    ties: Ties = _TIES()
    duplicates: Duplicates = _DUPLICATES()
    k_max: int | None = _K_MAX()
    unit: Unit = option(
        None,
        "what is judged, where it is more than what is retrieved (chunks of documents): a frame or "
        "file with doc_id and unit, a dict, or an expression over doc_id such as "
        'pl.col("doc_id").str.split("#").list.first(). A unit has the best rank and score of its '
        "chunks; equal scores are ordered by unit.",
        "Batch to document: a file with doc_id and unit.",
        ledger=lambda unit: None if unit is None else "documents are rolled up to units",
    )
    gaps: Gaps = option(
        "closed",
        'with `unit`, units are numbered from 1 ("closed"), or have the rank of their best chunk '
        '("kept").',
        "With --unit: units numbered from 1, or by their best chunk.",
    )
    train: Table = option(
        None,
        "interactions from before (query_id, doc_id, and how often: count), for metrics of what "
        "was shown: popularity, what a query has had.",
        "Interactions from before: a file with query_id and doc_id.",
        ledger=lambda train: None if train is None else "given",
    )
    exclude_seen: bool = option(
        False,  # noqa: FBT003 (a default)
        "drop documents from the run that its query has in `train`, before anything is ranked.",
        "Drop what the query has in --train, before anything is ranked.",
        ledger=lambda seen: "yes" if seen else None,
    )
    items: Table = option(
        None,
        "the documents that could be shown, with their attributes: a frame with doc_id and any "
        "other columns.",
        "Documents that could be shown: a file with doc_id and attributes.",
        ledger=lambda items: None if items is None else "given",
        of_averages=True,
    )
    catalogue: Table = option(
        None,
        "the documents that could be shown, where these are not `items` (else those in `train`).",
        "Documents that could be shown, if not all in --items.",
        ledger=lambda given: None if given is None else "given",
        of_averages=True,
    )
    base: Table = option(
        None,
        "another run, which `unexpectedness` compares with.",
        "Another run, which unexpectedness compares with.",
        ledger=lambda base: None if base is None else "given",
        of_averages=True,
    )
    judged_only: bool = option(
        False,  # noqa: FBT003 (a default)
        "drop unjudged documents, and those of negative grade, from the run and close the gaps; "
        "after it was cut at `k_max`.",
        "Drop unjudged documents, and those of negative grade, after the cut.",
        ledger=lambda only: "yes" if only else "no",
    )

    def described(self) -> dict[str, str]:
        """As the ledger shows them: of gaps only where there may be any."""
        lines = super().described()
        return lines if self.unit is not None else {k: v for k, v in lines.items() if k != "gaps"}

    @property
    def run_duplicates(self) -> Duplicates:
        """Of a run: of the documents of a unit, the best is kept, whatever else there is twice."""
        return self.duplicates if self.unit is None else "keep_best"

    @property
    def shows(self) -> bool:
        """Whether there is anything that only what is shown is compared with."""
        return any(one is not None for one in (self.train, self.items, self.catalogue, self.base))

    @property
    def judging(self) -> Policies:
        """The same of a run that was opened, for those who look at judgments alone."""
        tables = dict.fromkeys(("train", "items", "catalogue", "base"))
        return Policies(**{**vars(self), **tables, "exclude_seen": False})

    @property
    def keeps_gaps(self) -> bool:
        """Whether units have the ranks of their best chunks."""
        return self.unit is not None and self.gaps == "kept" and self.ranks != "kept"


@dataclass(frozen=True)
class SharedPolicies(Policies):
    """The same where several runs are evaluated to be compared."""

    missing: MissingAmong = option(  # pyright: ignore[reportIncompatibleVariableOverride]
        "zero_if_few",
        'a judged query that a run lacks scores 0 ("zero_if_few": refused where two systems share '
        'less than half of their queries; "zero": whatever they share), is left out ("skip") or is '
        'an "error".',
        "Judged queries that a run lacks; zero_if_few: systems share half.",
        of_averages=True,
    )

    @property
    def each(self) -> Policies:
        """Those by which each run is evaluated."""
        missing: Missing = "zero" if self.missing == "zero_if_few" else self.missing
        return Policies(**{**vars(self), "missing": missing})


@dataclass(frozen=True)
class PairPolicies(Options):
    """What is compared of two rankings."""

    order: Order = _ORDER()
    ties: Ties = _TIES()
    duplicates: Duplicates = _DUPLICATES()
    missing: Unshared = option(
        "shared",
        'correlations compare the documents that both rankings have ("shared"), or all, where a '
        'document that a ranking lacks stands below all that it has ("bottom").',
        "Correlations: shared documents only, or absent ones at the bottom.",
    )
    k_max: int | None = _K_MAX()
    lone: Lone = option(
        "keep",
        'a query that only one side has is kept ("keep"; it shares nothing) or left out ("skip").',
        "Queries that only one side has.",
        of_averages=True,
    )


@dataclass(frozen=True)
class Intervals(Options):
    """How intervals of averages are made."""

    ci: Method | None = option(
        "bootstrap",
        'intervals of the averages, by "bootstrap" over queries, by Student\'s "t", or None. The '
        "bootstrap is drawn from hashes of query ids: the same on every machine, for the same "
        "seed.",
        "How intervals are made.",
    )
    confidence: float = option(0.95, "of the intervals.", "Of the intervals.", check=_share)
    replicates: int = option(
        1_000, "of the bootstrap.", "Of the bootstrap.", check=check_replicates
    )
    seed: int = option(0, "of all that is drawn.", "Of all that is drawn.", check=_whole)

    def described(self) -> dict[str, str]:
        """As the ledger shows them: in one line."""
        if self.ci is None:
            return {"ci": "none"}
        how = "Student's t"
        if self.ci == "bootstrap":
            how = f"bootstrap, {self.replicates:,} replicates, seed {self.seed}"
        return {"ci": f"{100 * self.confidence:g}%, {how}"}


@dataclass(frozen=True)
class Comparing(Options):
    """How systems are compared."""

    test: Test = option(
        "t",
        'paired "t"; "wilcoxon" (signed rank); "sign"; "randomisation" (Fisher\'s); "tukey" '
        "(honest significant difference of all systems at once, by randomisation).",
        "The paired test.",
    )
    correction: Correction = option(
        "holm",
        'of p values: "holm", "bonferroni", "bh" (Benjamini–Hochberg) or "none". All queries are '
        "one family (metrics × pairs), each way of slicing another (metrics × pairs × slices). "
        "Tukey's are corrected over pairs already.",
        "Of p values; each way of slicing apart.",
    )
    unpaired: Unpaired = option(
        "error",
        'a query that not every system has is an "error", left out ("skip") or worth 0 ("zero"; '
        "undefined where lower is better). Counted in the ledger.",
        "Queries that not every system has.",
    )
    permutations: int = option(
        10_000,
        "of the tests by randomisation.",
        "Of tests by randomisation.",
        check=check_replicates,
    )
