"""Declare every option that decides what counts: choices, default and check, the sentence in the
documentation, the line in the ledger, and the help of the flag.

Each group is a dataclass, which checks its values, and a TypedDict of the same names and types, by
which editors complete the keyword arguments of public functions. A new option is a field and a line
here; functions, commands and documentation follow (tests/contracts/test_options.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal, TypeAlias, TypedDict

from rankframe.core.checks import is_count, is_number
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown
from rankframe.core.option import Options, option, same_option

Order: TypeAlias = Literal["columns", "rows"]
Ranks: TypeAlias = Literal["renumbered", "kept"]
Ties: TypeAlias = Literal["doc_desc", "doc_asc", "as_given"]
Duplicates: TypeAlias = Literal["error", "keep_best"]
# What documents are part of: a table, its file, a mapping, or an expression over doc_id.
Unit: TypeAlias = Any
UnitRanks: TypeAlias = Literal["renumbered", "kept"]
# A table in any form that can be read.
Table: TypeAlias = Any
Missing: TypeAlias = Literal["zero", "skip", "error"]
MissingAmong: TypeAlias = Literal["zero_if_few", "zero", "skip", "error"]
NoRelevant: TypeAlias = Literal["zero", "skip"]
NoOverlap: TypeAlias = Literal["error", "zero"]
Unshared: TypeAlias = Literal["shared", "bottom"]
UnmatchedQueries: TypeAlias = Literal["keep", "skip"]
Unpaired: TypeAlias = Literal["error", "skip", "zero"]
Method: TypeAlias = Literal["bootstrap", "t"]
Test: TypeAlias = Literal["t", "wilcoxon", "sign", "randomisation", "tukey"]
Correction: TypeAlias = Literal["holm", "bonferroni", "bh", "none"]
# What `rankframe plot` draws: the names of the charts in `plot`.
ChartTheme: TypeAlias = Literal["light", "dark"]
# The largest less the least of several means, or the mean difference of two of them.
GapKind: TypeAlias = Literal["range", "mean"]
Average: TypeAlias = Literal[
    "macro", "micro", "geometric", "weighted", "sum", "median", "min", "quantile",
]  # fmt: skip
# {"aws_region": "eu-central-1"}: under the names that polars has.
StorageSettings: TypeAlias = Mapping[str, str | int | float | bool]

_FEWEST_REPLICATES = 100
_MOST_REPLICATES = 100_000


# Checks beyond the type ---------------------------------------------------------------------------


def check_count(name: str, value: Any) -> None:
    """Refuse a value that is neither None nor a whole number of at least 1."""
    if value is not None and not is_count(value):
        raise OptionError(
            Option(name, bare=True), f" must be a whole number of at least 1, not {shown(value)}."
        )


def check_replicates(name: str, value: Any) -> None:
    """Refuse a number of replicates that is too small to be of use, or too large to be drawn."""
    if not is_count(value) or not _FEWEST_REPLICATES <= value <= _MOST_REPLICATES:
        raise OptionError(
            Option(name, bare=True),
            f" must be a whole number from {_FEWEST_REPLICATES} to {_MOST_REPLICATES:,}, "
            f"not {shown(value)}.",
        )


def _check_whole(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise OptionError(Option(name, bare=True), f" must be a whole number, not {shown(value)}.")


def _check_confidence(name: str, value: Any) -> None:
    if not is_number(value) or not 0.5 <= value < 1:
        raise OptionError(
            Option(name, bare=True),
            f" must be a number from 0.5 to below 1, such as 0.95, not {shown(value)}.",
        )


def _check_storage(name: str, value: Any) -> None:
    """Refuse what does not map names to values; values may be secret and are not shown."""
    if value is None or (
        isinstance(value, Mapping)
        and all(isinstance(key, str) for key in value)
        and all(isinstance(setting, str | int | float) for setting in value.values())
    ):
        return
    raise OptionError(
        Option(name, bare=True),
        ' takes a mapping of names to texts or numbers, such as {"aws_region": "eu-west-1"}, not ',
        "one of other things." if isinstance(value, Mapping) else f"{shown(value)}.",
    )


# Policies -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Policies(Options):
    """Decide what counts when a run is evaluated against judgments."""

    title: ClassVar[str] = "Policies"

    rel: float | None = option(
        None,
        "the lowest grade that counts as relevant (default: any grade above 0). Graded metrics use "
        "the grades themselves.",
        "Lowest grade that counts as relevant (default: any above 0).",
        ledger=lambda rel: "any grade above 0" if rel is None else f"grade of at least {rel:g}",
    )
    relevance: float | None = option(
        None,
        "the grade of every judged pair, for judgments without grades; an error if they have "
        "grades.",
        "Grade of every judged pair, for judgments without grades.",
        ledger=lambda grade: None if grade is None else f"{grade:g} for every pair",
    )
    missing: Missing = option(
        "zero",
        'a judged query that the run lacks scores 0 ("zero"), is left out ("skip") or is an '
        '"error".',
        "Judged queries that the run lacks: score 0, leave out, or fail.",
    )
    no_relevant: NoRelevant = option(
        "zero",
        'a query without relevant documents scores 0 ("zero") or is left out ("skip").',
        "Queries without relevant documents: score 0 or leave out.",
    )
    no_overlap: NoOverlap = option(
        "error",
        'a run in which no document is judged is an "error", or scores 0 ("zero").',
        "A run in which no document is judged: fail or score 0.",
        ledger=None,
    )
    order: Order = option(
        "columns",
        'what orders documents: the score, else distance or rank ("columns"; a run without such a '
        'column is an error, unless it has lists), or the order of the rows ("rows").',
        "Order documents by score, distance or rank, or as the rows stand.",
        ledger=None,  # the ledger has the column itself
    )
    ranks: Ranks = option(
        "renumbered",
        'ranks in the run only order documents, which are numbered from 1 ("renumbered"); or they '
        "are kept, gaps included, as if unjudged documents filled the gaps, whatever the scores "
        '("kept").',
        "Ranks in the run: only order documents, or keep them with their gaps.",
    )
    ties: Ties = option(
        "doc_desc",
        'documents with equal scores are ordered by doc_id, descending ("doc_desc", as in '
        'trec_eval) or ascending ("doc_asc"), or stay as they are ("as_given").',
        "Order of documents with equal scores.",
    )
    duplicates: Duplicates = option(
        "error",
        'a document that a query has twice is an "error", or the best of them is kept '
        '("keep_best").',
        "A document that a query has twice: fail or keep the best.",
    )
    k_max: int | None = option(
        None,
        "keep only the top N of each list, after duplicates and before unjudged documents are "
        "dropped.",
        "Keep only the top N of each list (after removing duplicates, before unjudged documents).",
        ledger=lambda k: "the whole list" if k is None else f"the top {k}",
        check=check_count,
    )
    unit: Unit = option(
        None,
        "the judged document that each retrieved chunk belongs to: a frame or file with doc_id and "
        "unit, a dict, or an expression over doc_id such as "
        'pl.col("doc_id").str.split("#").list.first(). A unit has the best rank and score of its '
        "chunks; units with equal scores are ordered by name.",
        "Map chunks to documents: a file with doc_id and unit.",
        ledger=lambda unit: None if unit is None else "documents are rolled up to units",
    )
    unit_ranks: UnitRanks = option(
        "renumbered",
        'with `unit`, units are numbered from 1 ("renumbered"), or have the rank of their best '
        'chunk ("kept").',
        "With --unit: number units from 1, or by the rank of their best chunk.",
    )
    train: Table = option(
        None,
        "earlier interactions (query_id, doc_id and optionally count), for metrics such as novelty "
        "that compare what was retrieved with popularity and history.",
        "Earlier interactions: a file with query_id and doc_id.",
        ledger=lambda train: None if train is None else "given",
    )
    exclude_seen: bool = option(
        False,  # noqa: FBT003 (a default)
        "remove documents that the query already has in `train`, before ranking.",
        "Remove documents that the query already has in --train before ranking.",
        ledger=lambda excluded: "yes" if excluded else None,
    )
    items: Table = option(
        None,
        "the documents that can be retrieved, with attributes: a frame with doc_id and any other "
        "columns.",
        "Documents that can be retrieved: a file with doc_id and attributes.",
        ledger=lambda items: None if items is None else "given",
    )
    catalogue: Table = option(
        None,
        "the documents that can be retrieved (default: those in `items`, else those in `train`).",
        "The catalogue (default: the documents in --items).",
        ledger=lambda catalogue: None if catalogue is None else "given",
    )
    reference: Table = option(
        None,
        "another run, with which `unexpectedness` compares.",
        "Another run, with which unexpectedness compares.",
        ledger=lambda run: None if run is None else "given",
    )
    judged_only: bool = option(
        False,  # noqa: FBT003 (a default)
        "remove unjudged documents, and those of negative grade, from the run and close the gaps, "
        "after it is cut at `k_max`.",
        "Remove unjudged documents, and those of negative grade, after --k-max.",
        ledger=lambda only: "yes" if only else "no",
    )

    def described(self) -> dict[str, str]:
        """Return the lines of the ledger; that of `unit_ranks` only with units."""
        lines = super().described()
        return (
            lines
            if self.unit is not None
            else {k: v for k, v in lines.items() if k != "unit_ranks"}
        )

    @property
    def run_duplicates(self) -> Duplicates:
        """Return the policy for duplicates in a run: of the chunks of a unit, the best is kept."""
        return self.duplicates if self.unit is None else "keep_best"

    @property
    def shows(self) -> bool:
        """Tell whether there is a table that only metrics of what was retrieved look at."""
        tables = (self.train, self.items, self.catalogue, self.reference)
        return any(table is not None for table in tables)

    @property
    def judging(self) -> Policies:
        """Return the policies for metrics of judgments alone, over a run that is open already."""
        tables = dict.fromkeys(("train", "items", "catalogue", "reference"))
        return Policies(**{**vars(self), **tables, "exclude_seen": False})

    @property
    def keeps_chunk_ranks(self) -> bool:
        """Tell whether units have the ranks of their best chunks."""
        return self.unit is not None and self.unit_ranks == "kept" and self.ranks != "kept"


@dataclass(frozen=True)
class SharedPolicies(Policies):
    """Decide what counts when several runs are evaluated to be compared."""

    missing: MissingAmong = option(  # pyright: ignore[reportIncompatibleVariableOverride]
        "zero_if_few",
        'a judged query that a run lacks scores 0 ("zero_if_few", an error if two systems share '
        'less than half of their queries; or "zero", however few they share), is left out ("skip") '
        'or is an "error".',
        "Judged queries that a run lacks; zero_if_few: score 0 if systems share half or more.",
    )

    @property
    def each(self) -> Policies:
        """Return the policies by which each run is evaluated."""
        missing: Missing = "zero" if self.missing == "zero_if_few" else self.missing
        return Policies(**{**vars(self), "missing": missing})


@dataclass(frozen=True)
class PairPolicies(Options):
    """Decide what counts when two rankings are compared with each other."""

    title: ClassVar[str] = "Policies"

    order: Order = same_option(Policies, "order")
    ties: Ties = same_option(Policies, "ties")
    duplicates: Duplicates = same_option(Policies, "duplicates")
    missing: Unshared = option(
        "shared",
        'correlations compare the documents that both rankings have ("shared"), or all, where a '
        'document that a ranking lacks stands below all that it has ("bottom").',
        "Correlations: shared documents only, or missing ones at the bottom.",
    )
    k_max: int | None = same_option(Policies, "k_max")
    unmatched_queries: UnmatchedQueries = option(
        "keep",
        'a query that only one side has is kept ("keep"; it shares nothing) or left out ("skip").',
        "Queries that only one side has: keep or leave out.",
    )


class OrderOptions(TypedDict, total=False):
    """Name the options of every ranking that is read."""

    order: Order
    ties: Ties
    duplicates: Duplicates
    k_max: int | None


class RunOptions(OrderOptions, total=False):
    """Name the options of a run, beside judgments or not."""

    ranks: Ranks
    unit: Unit
    unit_ranks: UnitRanks
    train: Table
    exclude_seen: bool


class CatalogueOptions(TypedDict, total=False):
    """Name the options of what can be retrieved."""

    items: Table
    catalogue: Table


class RetrievedOptions(RunOptions, CatalogueOptions, total=False):
    """Name the policies that decide what the retrieved frame holds."""

    rel: float | None
    relevance: float | None
    reference: Table


class JudgedOptions(RunOptions, total=False):
    """Name the policies that decide what the judged frame holds."""

    rel: float | None
    relevance: float | None
    judged_only: bool


class _MostPolicyOptions(RetrievedOptions, total=False):
    no_relevant: NoRelevant
    no_overlap: NoOverlap
    judged_only: bool


class PolicyOptions(_MostPolicyOptions, total=False):
    """Name the options of `Policies`."""

    missing: Missing


class SharedPolicyOptions(_MostPolicyOptions, total=False):
    """Name the options of `SharedPolicies`."""

    missing: MissingAmong


class PairedOptions(OrderOptions, total=False):
    """Name the policies that decide what the pair frame holds."""

    missing: Unshared


class PairPolicyOptions(PairedOptions, total=False):
    """Name the options of `PairPolicies`."""

    unmatched_queries: UnmatchedQueries


# Intervals and comparisons ------------------------------------------------------------------------


@dataclass(frozen=True)
class Intervals(Options):
    """Decide how confidence intervals of averages are computed."""

    title: ClassVar[str] = "Intervals"

    ci: Method | None = option(
        "bootstrap",
        'confidence intervals of the averages, by "bootstrap" over queries, by Student\'s "t", or '
        "None. The bootstrap is drawn from hashes of query ids: the same on every machine, for the "
        "same seed.",
        "Method of the confidence intervals.",
    )
    confidence: float = option(
        0.95,
        "the confidence level of the intervals.",
        "Confidence level of the intervals.",
        check=_check_confidence,
    )
    replicates: int = option(
        1_000,
        "the number of bootstrap replicates.",
        "Number of bootstrap replicates.",
        check=check_replicates,
    )
    seed: int = option(
        0,
        "the random seed of everything that is drawn.",
        "Random seed for bootstrap and randomisation tests.",
        check=_check_whole,
    )

    def described(self) -> dict[str, str]:
        """Return the one line of the ledger."""
        if self.ci is None:
            return {"ci": "none"}
        how = "Student's t"
        if self.ci == "bootstrap":
            how = f"bootstrap, {self.replicates:,} replicates, seed {self.seed}"
        return {"ci": f"{100 * self.confidence:g}%, {how}"}


@dataclass(frozen=True)
class Comparing(Options):
    """Decide how systems are compared."""

    title: ClassVar[str] = "Comparison"

    test: Test = option(
        "t",
        'the paired test: "t"; "wilcoxon" (signed rank); "sign"; "randomisation" (Fisher\'s); '
        '"tukey" (honest significant difference of all systems at once, by randomisation).',
        "The paired significance test.",
    )
    correction: Correction = option(
        "holm",
        'the correction of p values for multiple testing: "holm", "bonferroni", "bh" '
        '(Benjamini–Hochberg) or "none". Tests over all queries are one family (metrics × pairs), '
        "each slicing attribute another (metrics × pairs × slices). Tukey's p values are corrected "
        "over pairs already.",
        "Multiple-testing correction, applied separately per slicing attribute.",
    )
    unpaired: Unpaired = option(
        "error",
        'a query that not every system has is an "error", left out ("skip") or worth 0 ("zero"; '
        "undefined where lower is better). Counted in the ledger.",
        "Queries that not every system has: fail, leave out, or score 0.",
    )
    permutations: int = option(
        10_000,
        "the number of permutations of randomisation tests.",
        "Number of permutations of randomisation tests.",
        check=check_replicates,
    )


class IntervalOptions(TypedDict, total=False):
    """Name the options of `Intervals`."""

    ci: Method | None
    confidence: float
    replicates: int
    seed: int


class SignificanceOptions(TypedDict, total=False):
    """Name the options of a significance test."""

    test: Test
    correction: Correction
    permutations: int


class UnpairedOptions(TypedDict, total=False):
    """Name the option of systems that may have different queries."""

    unpaired: Unpaired


class ComparisonOptions(SignificanceOptions, UnpairedOptions, total=False):
    """Name the options of `Comparing`."""


# Storage ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Storage(Options):
    """Decide how remote storage is reached."""

    title: ClassVar[str] = "Storage"

    storage_options: StorageSettings | None = option(
        None,
        "settings of remote storage (`s3://…`): `endpoint_url`, `aws_region`, keys, and whatever "
        "else polars takes under this name (default: the environment, `AWS_ENDPOINT_URL`, …).",
        "Setting of remote storage (S3, GCS, …), e.g. aws_region=eu-central-1 (repeat).",
        ledger=None,  # there are keys among them
        check=_check_storage,
    )


class StorageOptions(TypedDict, total=False):
    """Name the options of `Storage`."""

    storage_options: StorageSettings | None


# What public functions take -----------------------------------------------------------------------


class EvaluateOptions(PolicyOptions, IntervalOptions, StorageOptions, total=False):
    """Name the options of `evaluate` and `curve`."""


class AgreeOptions(PairPolicyOptions, IntervalOptions, StorageOptions, total=False):
    """Name the options of `agree`."""


class CompareOptions(
    SharedPolicyOptions, ComparisonOptions, IntervalOptions, StorageOptions, total=False
):
    """Name the options of `compare` and `report`."""


class TuneOptions(
    SharedPolicyOptions, SignificanceOptions, IntervalOptions, StorageOptions, total=False
):
    """Name the options of `tune`."""


class GateOptions(SharedPolicyOptions, UnpairedOptions, StorageOptions, total=False):
    """Name the options of `gate`."""


class DiffOptions(PolicyOptions, StorageOptions, total=False):
    """Name the options of `diff`."""


class JudgeOptions(JudgedOptions, StorageOptions, total=False):
    """Name the options of `judge`."""


class RetrieveOptions(RetrievedOptions, StorageOptions, total=False):
    """Name the options of `retrieved`."""


class ExposureOptions(RunOptions, CatalogueOptions, StorageOptions, total=False):
    """Name the options of `exposure`."""


class PairOptions(PairedOptions, StorageOptions, total=False):
    """Name the options of `pair`."""


class SparkEvaluateOptions(PolicyOptions, IntervalOptions, total=False):
    """Name the options of `spark.evaluate`."""


class SparkAgreeOptions(PairPolicyOptions, IntervalOptions, total=False):
    """Name the options of `spark.agree`."""
