"""What was counted: sums that add up over pieces, and the ledger that goes with every result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.messages import listing
from rankframe.engine.retrieved import ShownCounts
from rankframe.engine.work import Additive
from rankframe.frames.found import Found
from rankframe.frames.items import Catalogue
from rankframe.frames.judged import Judgments
from rankframe.io.input_table import InputTable
from rankframe.io.queries import Known
from rankframe.kernel.fingerprint import Fingerprint
from rankframe.stats.exact import Exact, exact_sum

_TOP = 10
_NOTHING = Exact()
POLICY = "policy_"
_ALL_RELEVANT = "all_judged_relevant"
EVERY_RELEVANT = "every judged document counts as relevant, whatever its grade"
# What tells the judgments from others, in its note.
FINGERPRINT = "qrels_fingerprint"
# How items end that say what orders a run, in their note.
ORDER = "_order"
RENUMBERED = "ranks other than 1, 2, 3, …: numbered anew"
DROPPED = "rows of documents of which a better one was kept"
# How many metrics are over documents, and have no values per query.
OVER_DOCUMENTS = "metrics_over_documents"
GAPS = "metrics_gaps"
# A line: what was counted, how often, and what to know of it.
Item: TypeAlias = tuple[str, float | None, str]
_EVALUATED = "queries_evaluated"
BEST_GRADE = "judged documents, each by the best of its grades where no group is asked for"
SCHEMA = {"item": pl.String, "value": pl.Float64, "note": pl.String}


@dataclass(frozen=True)
class Counts(Additive):
    """What was seen in some of the queries."""

    qrels_rows: int = 0
    qrels_queries: int = 0
    run_rows: int = 0
    run_queries: int = 0
    evaluated: int = 0
    missing: int = 0
    without_relevant: int = 0
    judged_retrieved: int = 0
    # judged@10 of the evaluated queries, added up
    judged_shares: Exact = _NOTHING
    tied: int = 0
    # None: the run does not have both a score and a rank
    disagreeing: int | None = None
    # judged documents in the run, before it is cut at `k_max` or condensed
    overlap: int = 0
    # judged documents that are not relevant, and those graded below the best of all
    nonrelevant: int = 0
    below_best: int = 0
    # evaluated queries that the frame of queries lacks, and those without a proper weight
    absent: int = 0
    unweighted: int = 0
    # a judged query that the run lacks, and one without a proper weight
    lacking: str | None = None
    weightless: str | None = None
    # queries whose ranks are not 1, 2, 3, …; None: ranks do not say the order
    anew: int | None = None
    # rows of documents of which a better one was kept; None: duplicates are refused
    qrels_dropped: int | None = None
    run_dropped: int | None = None
    # what the documents of a run were rolled up to; None: they were not
    run_units: int | None = None
    # where judgments are about groups: how many these are, of how many documents, and how many
    # judgments are about none; None: they are not
    groups: int | None = None
    documents: int | None = None
    ungrouped: int | None = None
    # of the judgments that counted
    fingerprint: Fingerprint | None = None

    @property
    def rows(self) -> tuple[int, int]:
        """Judgments and retrieved documents that were read."""
        return self.qrels_rows, self.run_rows

    @classmethod
    def of(
        cls,
        judged: Judgments,
        *,
        evaluated: NDArray[np.bool_],
        relevant: NDArray[np.bool_],
        without_relevant: int,
        known: Known,
    ) -> Counts:
        """What was seen of some judged queries.

        `evaluated`: which of them are; `relevant`: which of their judged documents are.
        """
        return cls(
            qrels_queries=len(judged.queries),
            evaluated=int(evaluated.sum()),
            missing=int(judged.missing.sum()),
            without_relevant=without_relevant,
            judged_retrieved=judged.matched,
            judged_shares=exact_sum(judged.judged_shares(_TOP)[evaluated]),
            nonrelevant=int(np.count_nonzero(~relevant)),
            below_best=int(np.count_nonzero(judged.grade < judged.max_grade)),
            absent=known.absent,
            unweighted=known.unweighted,
            lacking=cast("str | None", judged.queries.filter(pl.Series(judged.missing)).min()),
            weightless=known.example,
        )

    @classmethod
    def of_run(cls, found: Found) -> Counts:
        """What was seen of a run, and how many judgments were read."""
        judgments, seen = found.judgments, found.seen
        groups = judgments.groups
        best, units = found.policies.duplicates == "keep_best", found.policies.unit is not None
        return cls(
            qrels_rows=judgments.read,
            run_rows=seen.rows,
            run_queries=seen.queries,
            tied=seen.tied,
            disagreeing=seen.disagreeing,
            overlap=seen.overlap,
            anew=seen.anew,
            qrels_dropped=judgments.dropped if best else None,
            run_dropped=seen.dropped if best or units else None,
            run_units=seen.rows - seen.dropped if units else None,
            groups=None if groups is None else groups.count(judgments.starts, judgments.height),
            documents=None if groups is None else judgments.height,
            ungrouped=None if groups is None else groups.without,
            fingerprint=judgments.fingerprint,
        )


def make_ledger(
    counts: Counts,
    policies: Mapping[str, object],
    run: InputTable | None = None,
    *,
    groups: str | None = None,
    rel: float | None = None,
) -> pl.DataFrame:
    """The ledger: `item`, `value` (a count or a share) and `note` (what it means, or a policy).

    `run`: as opened, where it is to be said which of its columns were used; `groups`: the column of
    judgments that says what they are about; `rel`: the level from which documents are relevant,
    where somebody chose one.
    """
    shared = counts.qrels_queries - counts.missing
    share = float(counts.judged_shares) / counts.evaluated if counts.evaluated else None
    items: list[tuple[str, float | None, str]] = [
        ("qrels_rows", counts.qrels_rows, "judgments read"),
        ("qrels_queries", counts.qrels_queries, "queries with judgments"),
        ("run_rows", counts.run_rows, "retrieved documents read"),
        ("run_queries", counts.run_queries, "queries in the run"),
        (_EVALUATED, counts.evaluated, "queries in the per-query results"),
        ("queries_missing", counts.missing, "judged, but not in the run"),
        ("queries_unjudged", counts.run_queries - shared, "in the run, but not judged: left out"),
        ("queries_without_relevant", counts.without_relevant, "judged, but nothing is relevant"),
        ("judged_retrieved", counts.judged_retrieved, "judged documents that the run retrieved"),
        (
            f"judged_share_top_{_TOP}",
            share,
            f"judged@{_TOP}: of a query's top {_TOP}, how many were judged; mean over queries",
        ),
        ("tied_documents", counts.tied, "same score as the document above: placed by the tie rule"),
    ]
    if counts.fingerprint is not None:
        items.append((FINGERPRINT, None, str(counts.fingerprint)))
    if counts.disagreeing is not None:
        items.append(
            ("rank_score_disagree", counts.disagreeing, "queries whose ranks contradict scores")
        )
    if counts.anew is not None:
        items.append(("queries_renumbered", counts.anew, RENUMBERED))
    for side, dropped in (("qrels", counts.qrels_dropped), ("run", counts.run_dropped)):
        if dropped is not None and (side == "qrels" or counts.run_units is None):
            items.append((f"{side}_duplicates_dropped", dropped, DROPPED))
    if counts.run_units is not None:
        items.append(("run_units", counts.run_units, "units that the documents are part of"))
    if counts.groups is not None:
        by = "" if groups is None else f", by {groups!r}"
        items.append(("qrels_groups", counts.groups, f"groups that judgments are about{by}"))
        items.append(("qrels_documents", counts.documents, BEST_GRADE))
    if counts.ungrouped:
        items.append(("qrels_ungrouped", counts.ungrouped, "judgments that are about no group"))
    if counts.absent:
        note = "evaluated, but not in the frame of queries"
        items.append(("queries_without_attributes", counts.absent, note))
    if rel is None and counts.below_best and not counts.nonrelevant:
        note = f"{EVERY_RELEVANT}: rel= (--rel) says from which grade on"
        items.append((_ALL_RELEVANT, counts.qrels_rows, note))
    if run is not None:
        items += columns_of(run, "run")
    return described(items, policies)


def shown_items(
    counts: ShownCounts, catalogue: Catalogue, over_documents: int
) -> list[tuple[str, float | None, str]]:
    """What was counted of what is shown."""
    items: list[tuple[str, float | None, str]] = [
        ("shown_lists", counts.lists, "queries that are shown anything"),
        ("shown_documents", counts.shown, "documents shown to them, as deep as metrics look"),
    ]
    if len(catalogue.docs):
        note = "of these, in neither train nor items nor the catalogue"
        items.append(("shown_unknown", counts.unknown, note))
        items.append(("catalogue_documents", catalogue.size, "documents that could be shown"))
    if catalogue.train_queries is not None:
        items.append(("train_queries", catalogue.train_queries, "queries in train"))
        items.append(("train_interactions", catalogue.train_interactions, "interactions in train"))
    if over_documents:
        note = "over all queries at once: without values per query"
        items.append((OVER_DOCUMENTS, over_documents, note))
    return items


def shown_ledger(
    judged: pl.DataFrame | None,
    items: Sequence[tuple[str, float | None, str]],
    policies: Mapping[str, object],
    run: InputTable,
    *,
    evaluated: int,
) -> pl.DataFrame:
    """A ledger with what was shown before its policies; without one, that of a run alone.

    `evaluated`: queries that have any values.
    """
    note = "queries in the per-query results"
    if judged is None:
        own = [(_EVALUATED, float(evaluated), note), *items, *columns_of(run, "run")]
        return described(own, policies)
    item = pl.col("item")
    judged = judged.with_columns(
        pl.when(item == _EVALUATED).then(float(evaluated)).otherwise("value").alias("value"),
        pl.when(item == "queries_unjudged")
        .then(pl.lit("in the run, but not judged: what they are shown counts, nothing else"))
        .otherwise("note")
        .alias("note"),
    )
    return with_items(judged, items)


def with_items(ledger: pl.DataFrame, items: Sequence[Item]) -> pl.DataFrame:
    """A ledger with more that was counted, before the policies."""
    more = pl.DataFrame(list(items), schema=SCHEMA, orient="row")
    policy = pl.col("item").str.starts_with(POLICY)
    return pl.concat([ledger.filter(~policy), more, ledger.filter(policy)])


def says_every_relevant(ledger: pl.DataFrame | None) -> bool:
    """Whether all judged documents count as relevant, of several grades, and nobody said so."""
    return ledger is not None and _ALL_RELEVANT in ledger["item"]


def columns_of(run: InputTable, called: str) -> list[tuple[str, float | None, str]]:
    """What ordered a run, and which of its columns were not looked at."""
    items: list[tuple[str, float | None, str]] = [(f"{called}{ORDER}", None, run.ordered)]
    if run.excluded is not None:
        note = "rows of documents that their query has in train: dropped"
        items.append((f"{called}_seen_dropped", run.excluded(), note))
    if run.unused:
        note = f"not looked at: {listing(run.unused)}"
        items.append((f"{called}_columns_unused", len(run.unused), note))
    return items


def described(
    items: Sequence[tuple[str, float | None, str]], policies: Mapping[str, object]
) -> pl.DataFrame:
    """What was counted, then the policies in force, as a frame."""
    settings = [(f"{POLICY}{name}", None, str(value)) for name, value in policies.items()]
    return pl.DataFrame([*items, *settings], schema=SCHEMA, orient="row")
