"""Count rows that are read, matched and left out; list the counts and policies in the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, field, fields
from operator import add
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.caveats import Caveat, find_caveat
from rankframe.core.messages import Option, listing
from rankframe.core.options import Policies
from rankframe.core.records import record
from rankframe.core.vocabulary import Vocabulary
from rankframe.engine.tie_range import TieRanges
from rankframe.frames.catalogue import Catalogue
from rankframe.frames.exposure import Exposure
from rankframe.frames.judged import JudgedFrame
from rankframe.frames.judgments import Fingerprint
from rankframe.frames.matches import RunMatches
from rankframe.frames.sample import Sample
from rankframe.io.input_table import InputTable
from rankframe.stats.exact import Exact, exact_sum

if TYPE_CHECKING:
    from rankframe.frames.pair import PairFrame

TOP = 10
_NOTHING = Exact()


def first() -> Any:
    """Declare a field with an example of the counted rows; merging keeps the first in order."""
    return field(default=None, metadata={"merge": min})


@record
class Counts:
    """Hold counts of rows and queries, which add up; None means not counted."""

    _: KW_ONLY
    # rows of all inputs except the run, or of the first ranking
    left_rows: int = 0
    # rows of the run, or of the second ranking
    right_rows: int = 0
    # queries with values, how many the frame of queries lacks, and how many have no proper weight
    evaluated: int = 0
    absent: int = 0
    unweighted: int = 0
    weightless: str | None = first()

    @property
    def rows(self) -> tuple[int, int]:
        """Return how many rows of each of the two inputs were read."""
        return self.left_rows, self.right_rows

    def merge(self, other: Self) -> Self:
        """Return the sum of the counts in `self` and in `other`, which has other queries."""
        merged: dict[str, Any] = {}
        for column in fields(self):
            count, added = getattr(self, column.name), getattr(other, column.name)
            if count is None or added is None:
                merged[column.name] = added if count is None else count
            else:
                merged[column.name] = column.metadata.get("merge", add)(count, added)
        return type(self)(**merged)


@record
class RunCounts(Counts):
    """Count the rows and queries of an evaluation of a run and its side inputs."""

    _: KW_ONLY
    # the run against the judgments
    qrels_rows: int = 0
    qrels_queries: int = 0
    run_queries: int = 0
    judged_evaluated: int = 0
    judged_answered: int = 0  # of the evaluated queries, those that the run has
    missing: int = 0
    lacking: str | None = first()  # a judged query that the run lacks
    without_relevant: int = 0
    judged_retrieved: int = 0
    filled: int = 0  # places of the top 10 of these queries that have a document
    judged_shares: Exact = _NOTHING  # judged@10 of the evaluated queries, added up
    tied: int = 0
    # None: the run does not have both a score and a rank
    disagreeing: int | None = None
    # rows that are better than the row before them in the input, of the same query
    rising: int = 0
    # judged documents in the run, before it is cut at `k_max` or condensed
    overlap: int = 0
    # judged documents that are not relevant, and those graded below the best of all
    nonrelevant: int = 0
    below_best: int = 0
    # queries whose ranks are not 1, 2, 3, …; None: ranks do not say the order
    renumbered: int | None = None
    # rows that were dropped as duplicates of better rows; None: duplicates are refused
    qrels_dropped: int | None = None
    run_dropped: int | None = None
    # the number of documents after roll-up of passages; None: there was no roll-up
    run_units: int | None = None
    # the number of subtopics, of documents judged for subtopics, and of judgments without a
    # subtopic; None: judgments have no subtopics
    subtopics: int | None = None
    documents: int | None = None
    without_subtopic: int | None = None
    fingerprint: Fingerprint | None = None  # of the judgments that counted
    sample: Sample | None = field(default=None, metadata={"merge": Sample.merge})
    # how far the order of ties moves values; None: the order was chosen
    tie_ranges: TieRanges | None = None

    # what was retrieved: queries with any documents, documents, and those not in the catalogue
    lists: int = 0
    retrieved: int = 0
    unknown: int = 0
    # documents that their query has in train; None: they are removed, or there is no train
    seen: int | None = None
    exposure: Exposure | None = field(default=None, metadata={"merge": Exposure.merge})

    @classmethod
    def from_run(cls, found: RunMatches) -> RunCounts:
        """Return the counts of the judgments and the matched run."""
        judgments, matches = found.judgments, found.counts
        groups = judgments.subtopics
        best, units = found.policies.duplicates == "keep_best", found.policies.unit is not None
        return cls(
            left_rows=judgments.read,
            qrels_rows=judgments.read,
            right_rows=matches.rows,
            run_queries=matches.queries,
            tied=matches.tied,
            disagreeing=matches.contradicting,
            rising=matches.rising,
            overlap=matches.overlap,
            renumbered=matches.renumbered,
            qrels_dropped=judgments.dropped if best else None,
            run_dropped=matches.dropped if best or units else None,
            run_units=matches.rows - matches.dropped if units else None,
            subtopics=None if groups is None else groups.count(judgments.starts, judgments.height),
            documents=None if groups is None else judgments.height,
            without_subtopic=None if groups is None else groups.without,
            fingerprint=judgments.fingerprint,
            sample=found.sampler.finish(found.policies.ties),
        )

    @classmethod
    def from_judged(
        cls,
        judged: JudgedFrame,
        *,
        evaluated: NDArray[np.bool_],
        relevant: NDArray[np.bool_],
        tie_ranges: TieRanges | None,
    ) -> RunCounts:
        """Count judged queries and their documents.

        Args:
            judged: the judged queries.
            evaluated: which of them are evaluated.
            relevant: which of their judged documents are relevant.
            tie_ranges: how far the order of ties moves their values.
        """
        has_relevant = np.logical_or.reduceat(relevant, judged.starts)
        lacking = None
        if judged.missing.any():
            lacking = cast("str", judged.queries.filter(pl.Series(judged.missing)).min())
        return cls(
            qrels_queries=len(judged.queries),
            judged_evaluated=int(evaluated.sum()),
            judged_answered=int(np.count_nonzero(evaluated & ~judged.missing)),
            missing=int(judged.missing.sum()),
            lacking=lacking,
            without_relevant=int((~has_relevant).sum()),
            judged_retrieved=judged.matched,
            filled=int(np.minimum(judged.retrieved, TOP)[evaluated].sum()),
            judged_shares=exact_sum(judged.judged_shares(TOP)[evaluated]),
            nonrelevant=int(np.count_nonzero(~relevant)),
            below_best=int(np.count_nonzero(judged.grade < judged.max_grade)),
            tie_ranges=tie_ranges,
        )


@record
class PairCounts(Counts):
    """Count the rows, queries and documents in a comparison of two rankings."""

    _: KW_ONLY
    a_queries: int = 0
    b_queries: int = 0
    shared_queries: int = 0
    documents: int = 0
    shared: int = 0
    tied_a: int = 0
    tied_b: int = 0
    # queries whose ranks are not 1, 2, 3, …; None: ranks do not say the order
    renumbered_a: int | None = None
    renumbered_b: int | None = None
    # rows of documents of which a better one was kept; None: duplicates are refused
    dropped_a: int | None = None
    dropped_b: int | None = None

    @classmethod
    def from_pairs(cls, pairs: PairFrame, *, drops: bool) -> PairCounts:
        """Count queries and documents of two rankings; `drops`: duplicates were dropped."""
        in_a, in_b = pairs.a.length > 0, pairs.b.length > 0
        a, b = pairs.ranked
        return cls(
            left_rows=pairs.read[0],
            right_rows=pairs.read[1],
            a_queries=int(np.count_nonzero(in_a)),
            b_queries=int(np.count_nonzero(in_b)),
            shared_queries=int(np.count_nonzero(in_a & in_b)),
            documents=pairs.rows,
            shared=pairs.matched,
            tied_a=a.tied,
            tied_b=b.tied,
            renumbered_a=a.renumbered,
            renumbered_b=b.renumbered,
            dropped_a=pairs.read[0] - a.batch.height if drops else None,
            dropped_b=pairs.read[1] - b.batch.height if drops else None,
        )


POLICY = "policy_"
# The item whose note is the fingerprint of the judgments.
FINGERPRINT = "qrels_fingerprint"
# The item whose value is how many documents a list has in its top 10.
LENGTH = f"length_top_{TOP}"
_LENGTH = f"documents in a query's top {TOP}; mean over the evaluated queries of the run"
# The item whose note has ids of unjudged documents.
EXAMPLES = "unjudged_examples"
# The suffix of items whose note names the column that orders a run.
ORDER = "_order"
_RENUMBERED = "ranks other than 1, 2, 3, …: numbered anew"
_DROPPED = "rows of documents of which a better one was kept"
# How many metrics have no values per query, because they are over documents, or gaps.
OVER_DOCUMENTS = "metrics_over_documents"
GAPS = "metrics_gaps"
_ABSENT = "evaluated, but not in the frame of queries"
_UNKNOWN = "of these, in neither train nor items nor the catalogue"
# Fewer neighbouring rows say nothing about the order in which a run is stored.
ENOUGH_NEIGHBOURS: Final = 20
_UPSIDE_DOWN: Final = {
    "score": {"moves": "rises", "good": "small", "other": "distance"},
    "distance": {"moves": "falls", "good": "large", "other": "score"},
    "rank": {"moves": "falls", "good": "large", "other": "score"},
}
_BEST_GRADE = "judged documents, each by the best of its grades unless metrics use subtopics"
LEDGER_SCHEMA = {"item": pl.String, "value": pl.Float64, "note": pl.String}

# A row: what was counted, how often, and what it means.
Item: TypeAlias = tuple[str, float | None, str]


def make_ledger(
    items: Iterable[Item], policies: Mapping[str, object], vocabulary: Vocabulary
) -> pl.DataFrame:
    """Make a ledger: counts, with notes in the words of `vocabulary`, then policies."""
    rows = [(item, value, vocabulary.render(note)) for item, value, note in items]
    policies = {**policies, **vocabulary.described()}
    rows += [(f"{POLICY}{name}", None, str(value)) for name, value in policies.items()]
    return pl.DataFrame(rows, schema=LEDGER_SCHEMA, orient="row")


def evaluated_item(counts: RunCounts) -> Item:
    """Return the ledger row that says how many queries have values."""
    return "queries_evaluated", counts.evaluated, "queries in the per-query results"


def judged_items(counts: RunCounts, *, subtopics: str | None, retrieved: bool) -> list[Item]:
    """Return the ledger rows with the counts of a run and its judgments.

    Args:
        counts: the counts of all queries.
        subtopics: the column of the judgments with the subtopic.
        retrieved: whether metrics use documents of unjudged queries, too.
    """
    shared = counts.qrels_queries - counts.missing
    share = (
        float(counts.judged_shares) / counts.judged_evaluated if counts.judged_evaluated else None
    )
    unjudged = (
        "in the run, but not judged: only metrics of retrieved documents count them"
        if retrieved
        else "in the run, but not judged: left out"
    )
    judged_share = f"judged@{TOP}: of a query's top {TOP}, how many were judged; mean over queries"
    tied = "same score as the document above: placed by the tie rule"
    items: list[Item] = [
        ("qrels_rows", counts.qrels_rows, "judgments read"),
        ("qrels_queries", counts.qrels_queries, "queries with judgments"),
        ("run_rows", counts.right_rows, "retrieved documents read"),
        ("run_queries", counts.run_queries, "queries in the run"),
        evaluated_item(counts),
        ("queries_missing", counts.missing, "judged, but not in the run"),
        ("queries_unjudged", counts.run_queries - shared, unjudged),
        ("queries_without_relevant", counts.without_relevant, "judged, but nothing is relevant"),
        ("judged_retrieved", counts.judged_retrieved, "judged documents that the run retrieved"),
        (f"judged_share_top_{TOP}", share, judged_share),
        ("tied_documents", counts.tied, tied),
    ]
    if counts.judged_answered:
        items.insert(-1, (LENGTH, counts.filled / counts.judged_answered, _LENGTH))
    if counts.fingerprint is not None:
        items.append((FINGERPRINT, None, str(counts.fingerprint)))
    if counts.sample is not None and counts.sample.examples:
        items.append((EXAMPLES, None, counts.sample.describe_examples()))
    units, by = counts.run_units, "" if subtopics is None else f", by {subtopics!r}"
    return items + _counted_items(
        ("rank_score_disagree", counts.disagreeing, "queries whose ranks contradict scores"),
        ("queries_renumbered", counts.renumbered, _RENUMBERED),
        ("qrels_duplicates_dropped", counts.qrels_dropped, _DROPPED),
        ("run_units", units, "units that the documents are part of"),
        ("run_duplicates_dropped", counts.run_dropped if units is None else None, _DROPPED),
        ("qrels_subtopics", counts.subtopics, f"subtopics of the judgments{by}"),
        ("qrels_documents", counts.documents, _BEST_GRADE),
        (
            "qrels_without_subtopic",
            counts.without_subtopic or None,
            "judgments without a subtopic",
        ),
        ("queries_without_attributes", counts.absent or None, _ABSENT),
    )


def run_caveats(
    counts: RunCounts,
    policies: Policies,
    *,
    has_catalogue: bool = False,
    ordered_by: tuple[str, str] = ("score", "score"),
) -> list[Caveat]:
    """Return the caveats of a run: facts that can mislead a reader of its values.

    Args:
        counts: the counts of all queries.
        policies: the options that decide what is counted.
        has_catalogue: whether it is known which documents could be retrieved.
        ordered_by: the kind of number that orders the run (score, distance or rank), and the name
            of its column.
    """
    found: list[Caveat] = []
    neighbours = counts.right_rows - counts.run_queries
    if neighbours >= ENOUGH_NEIGHBOURS and policies.order == "columns":
        kind, column = ordered_by
        facts = _UPSIDE_DOWN[kind]
        option = Option("columns", {facts["other"]: column}).text()
        share = counts.rising / neighbours
        found += find_caveat("stored_worst_first", share, column=column, option=option, **facts)
    if counts.tie_ranges is not None:
        found += counts.tie_ranges.caveats()
    if counts.run_queries and counts.disagreeing is not None:
        found += find_caveat("ranks_contradict_scores", counts.disagreeing / counts.run_queries)
    if counts.judged_answered and not policies.judged_only:
        # Queries that the run lacks say nothing of what was judged.
        judged = float(counts.judged_shares) / counts.judged_answered
        examples = "" if counts.sample is None else counts.sample.describe_examples()
        facts = {"judged": judged, "examples": examples and f". {examples}"}
        found += find_caveat("few_judged", 1 - judged, **facts)
    fit = None if counts.sample is None else counts.sample.fit()
    if fit is not None:
        found += find_caveat("judgments_of_others", fit.share, **fit._asdict())
    if counts.qrels_queries:
        done = "are left out" if policies.missing == "skip" else "score 0"
        found += find_caveat("queries_missing", counts.missing / counts.qrels_queries, done=done)
    if counts.retrieved:
        unknown = counts.unknown if has_catalogue else 0
        found += find_caveat("unknown_documents", unknown / counts.retrieved)
        found += find_caveat("seen_documents", (counts.seen or 0) / counts.retrieved)
    if policies.rel is None and counts.below_best and not counts.nonrelevant:
        found += find_caveat("all_relevant", counts.qrels_rows)
    return found


def retrieved_items(
    counts: RunCounts, catalogue: Catalogue, over_documents: int, depth: int | None
) -> list[Item]:
    """Return the ledger rows with the counts of retrieved documents.

    `over_documents`: the number of metrics over documents; `depth`: the last rank for items slices.
    """
    has_documents, trained = len(catalogue.docs) > 0, catalogue.train_queries is not None
    documents = "documents retrieved for these queries, down to the deepest cutoff of the metrics"
    return _counted_items(
        ("retrieved_lists", counts.lists, "queries for which documents are retrieved"),
        ("retrieved_documents", counts.retrieved, documents),
        ("retrieved_unknown", counts.unknown if has_documents else None, _UNKNOWN),
        (
            "catalogue_documents",
            catalogue.size if has_documents else None,
            "documents that could be retrieved",
        ),
        ("train_queries", catalogue.train_queries, "queries in train"),
        (
            "train_interactions",
            catalogue.train_interactions if trained else None,
            "interactions in train",
        ),
        (
            OVER_DOCUMENTS,
            over_documents or None,
            "over all queries at once: without values per query",
        ),
        ("items_k", depth, "slices of items look at so much of each list"),
    )


def _counted_items(*items: Item) -> list[Item]:
    """Return the ledger rows whose value is not None."""
    return [item for item in items if item[1] is not None]


def pair_items(counts: PairCounts, a: InputTable, b: InputTable) -> list[Item]:
    """Return the ledger rows with the counts of two rankings."""
    share = counts.shared / counts.documents if counts.documents else None
    return [
        ("a_rows", counts.left_rows, "documents read, first ranking"),
        ("a_queries", counts.a_queries, "queries in the first ranking"),
        ("b_rows", counts.right_rows, "documents read, second ranking"),
        ("b_queries", counts.b_queries, "queries in the second ranking"),
        ("queries_compared", counts.evaluated, "queries in the per-query results"),
        ("queries_shared", counts.shared_queries, "queries that both rankings have"),
        ("queries_only_a", counts.a_queries - counts.shared_queries, "not in the second"),
        ("queries_only_b", counts.b_queries - counts.shared_queries, "not in the first"),
        ("documents_shared", counts.shared, "documents that both have for a query"),
        ("share_shared", share, "of the documents that either has, how many both have"),
        ("tied_documents_a", counts.tied_a, "same score as the one above, first ranking"),
        ("tied_documents_b", counts.tied_b, "same score as the one above, second ranking"),
        *_counted_items(
            ("queries_renumbered_a", counts.renumbered_a, _RENUMBERED),
            ("queries_renumbered_b", counts.renumbered_b, _RENUMBERED),
            ("a_duplicates_dropped", counts.dropped_a, _DROPPED),
            ("b_duplicates_dropped", counts.dropped_b, _DROPPED),
        ),
        *column_items(a, "a"),
        *column_items(b, "b"),
    ]


def column_items(run: InputTable, name: str) -> list[Item]:
    """Return ledger rows on the column that orders a run, rows excluded and columns ignored."""
    items: list[Item] = [(f"{name}{ORDER}", None, run.ordered)]
    if run.excluded is not None:
        note = "rows of documents that their query has in train: dropped"
        items.append((f"{name}_seen_dropped", run.excluded(), note))
    if run.unused:
        note = f"not looked at: {listing(run.unused)}"
        items.append((f"{name}_columns_unused", len(run.unused), note))
    return items
