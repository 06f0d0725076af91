"""The ledger of a result: a row for everything that was counted, and for every policy in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import polars as pl

from rankframe.core.messages import listing
from rankframe.engine.counts import TOP, PairCounts, RunCounts
from rankframe.frames.catalogue import Catalogue
from rankframe.io.input_table import InputTable

POLICY = "policy_"
_ALL_RELEVANT = "all_judged_relevant"
EVERY_RELEVANT = "every judged document counts as relevant, whatever its grade"
# The item whose note tells the judgments from others.
FINGERPRINT = "qrels_fingerprint"
# The end of items whose note says what orders a run.
ORDER = "_order"
_RENUMBERED = "ranks other than 1, 2, 3, …: numbered anew"
_DROPPED = "rows of documents of which a better one was kept"
# How many metrics have no values per query, because they are over documents, or gaps.
OVER_DOCUMENTS = "metrics_over_documents"
GAPS = "metrics_gaps"
_BEST_GRADE = "judged documents, each by the best of its grades where no group is asked for"
SCHEMA = {"item": pl.String, "value": pl.Float64, "note": pl.String}

# A row: what was counted, how often, and what it means.
Item: TypeAlias = tuple[str, float | None, str]


def make_ledger(items: Iterable[Item], policies: Mapping[str, object]) -> pl.DataFrame:
    """Return a ledger: what was counted, then the policies in force."""
    settings = [(f"{POLICY}{name}", None, str(value)) for name, value in policies.items()]
    return pl.DataFrame([*items, *settings], schema=SCHEMA, orient="row")


def evaluated_item(counts: RunCounts) -> Item:
    """Return the row that says how many queries have values."""
    return "queries_evaluated", counts.evaluated, "queries in the per-query results"


def judged_items(
    counts: RunCounts, *, subtopics: str | None, rel: float | None, retrieved: bool
) -> list[Item]:
    """List what was counted of a run against judgments.

    Args:
        counts: of all queries.
        subtopics: the column of the judgments that says what they are about.
        rel: the grade from which documents are relevant, where somebody chose one.
        retrieved: whether metrics look at documents of unjudged queries, too.
    """
    shared = counts.qrels_queries - counts.missing
    share = (
        float(counts.judged_shares) / counts.judged_evaluated if counts.judged_evaluated else None
    )
    unjudged = (
        "in the run, but not judged: what they are shown counts, nothing else"
        if retrieved
        else "in the run, but not judged: left out"
    )
    judged_share = f"judged@{TOP}: of a query's top {TOP}, how many were judged; mean over queries"
    tied = "same score as the document above: placed by the tie rule"
    items: list[Item] = [
        ("qrels_rows", counts.qrels_rows, "judgments read"),
        ("qrels_queries", counts.qrels_queries, "queries with judgments"),
        ("run_rows", counts.run_rows, "retrieved documents read"),
        ("run_queries", counts.run_queries, "queries in the run"),
        evaluated_item(counts),
        ("queries_missing", counts.missing, "judged, but not in the run"),
        ("queries_unjudged", counts.run_queries - shared, unjudged),
        ("queries_without_relevant", counts.without_relevant, "judged, but nothing is relevant"),
        ("judged_retrieved", counts.judged_retrieved, "judged documents that the run retrieved"),
        (f"judged_share_top_{TOP}", share, judged_share),
        ("tied_documents", counts.tied, tied),
    ]
    if counts.fingerprint is not None:
        items.append((FINGERPRINT, None, str(counts.fingerprint)))
    if counts.disagreeing is not None:
        note = "queries whose ranks contradict scores"
        items.append(("rank_score_disagree", counts.disagreeing, note))
    if counts.renumbered is not None:
        items.append(("queries_renumbered", counts.renumbered, _RENUMBERED))
    if counts.qrels_dropped is not None:
        items.append(("qrels_duplicates_dropped", counts.qrels_dropped, _DROPPED))
    if counts.run_units is not None:
        items.append(("run_units", counts.run_units, "units that the documents are part of"))
    elif counts.run_dropped is not None:
        items.append(("run_duplicates_dropped", counts.run_dropped, _DROPPED))
    if counts.subtopics is not None:
        by = "" if subtopics is None else f", by {subtopics!r}"
        items.append(("qrels_groups", counts.subtopics, f"groups that judgments are about{by}"))
        items.append(("qrels_documents", counts.documents, _BEST_GRADE))
    if counts.without_subtopic:
        note = "judgments that are about no group"
        items.append(("qrels_ungrouped", counts.without_subtopic, note))
    if counts.absent:
        note = "evaluated, but not in the frame of queries"
        items.append(("queries_without_attributes", counts.absent, note))
    if rel is None and counts.below_best and not counts.nonrelevant:
        note = f"{EVERY_RELEVANT}: rel= (--rel) says from which grade on"
        items.append((_ALL_RELEVANT, counts.qrels_rows, note))
    return items


def retrieved_items(counts: RunCounts, catalogue: Catalogue, over_documents: int) -> list[Item]:
    """List what was counted of retrieved documents; so many metrics are over documents."""
    items: list[Item] = [
        ("shown_lists", counts.lists, "queries that are shown anything"),
        ("shown_documents", counts.retrieved, "documents shown to them, as deep as metrics look"),
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


def pair_items(counts: PairCounts) -> list[Item]:
    """List what was counted of two rankings."""
    share = counts.shared / counts.documents if counts.documents else None
    optional = (
        ("queries_renumbered_a", counts.renumbered_a, _RENUMBERED),
        ("queries_renumbered_b", counts.renumbered_b, _RENUMBERED),
        ("a_duplicates_dropped", counts.dropped_a, _DROPPED),
        ("b_duplicates_dropped", counts.dropped_b, _DROPPED),
    )
    return [
        ("a_rows", counts.a_rows, "documents read, first ranking"),
        ("a_queries", counts.a_queries, "queries in the first ranking"),
        ("b_rows", counts.b_rows, "documents read, second ranking"),
        ("b_queries", counts.b_queries, "queries in the second ranking"),
        ("queries_compared", counts.compared, "queries in the per-query results"),
        ("queries_shared", counts.shared_queries, "queries that both rankings have"),
        ("queries_only_a", counts.a_queries - counts.shared_queries, "not in the second"),
        ("queries_only_b", counts.b_queries - counts.shared_queries, "not in the first"),
        ("documents_shared", counts.shared, "documents that both have for a query"),
        ("share_shared", share, "of the documents that either has, how many both have"),
        ("tied_documents_a", counts.tied_a, "same score as the one above, first ranking"),
        ("tied_documents_b", counts.tied_b, "same score as the one above, second ranking"),
        *(item for item in optional if item[1] is not None),
    ]


def column_items(run: InputTable, name: str) -> list[Item]:
    """List what orders a run, what was excluded, and which columns were not looked at."""
    items: list[Item] = [(f"{name}{ORDER}", None, run.ordered)]
    if run.excluded is not None:
        note = "rows of documents that their query has in train: dropped"
        items.append((f"{name}_seen_dropped", run.excluded(), note))
    if run.unused:
        note = f"not looked at: {listing(run.unused)}"
        items.append((f"{name}_columns_unused", len(run.unused), note))
    return items


def says_every_relevant(ledger: pl.DataFrame | None) -> bool:
    """Return whether all judged documents, of several grades, count as relevant by default."""
    return ledger is not None and _ALL_RELEVANT in ledger["item"]
