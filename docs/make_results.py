"""docs/reference/results.md: the columns of every frame that a result holds, from real frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from generated import DOCS, table, write

import rankframe as rf

PAGE = DOCS / "reference" / "results.md"
HEADER = """<!-- Written by docs/make.py. -->

# Result frames

Every frame is a polars `DataFrame`; a stored result has the same columns in Parquet.
"""
QRELS = {f"q{n}": {"a": 2, "b": 1, "c": 0} for n in range(8)}
RUNS = {
    "old": {query: {"x": 3.0, "a": 2.0, "b": 1.0} for query in QRELS},
    "new": {query: {"a": 3.0, "x": 2.0, "c": 1.0} for query in QRELS},
}
QUERIES = pl.DataFrame({"query_id": list(QRELS), "locale": ["de", "en"] * 4})

# What a column means, in whatever frame it is; of one frame alone: "frame.column".
MEANINGS = {
    "metric": "the metric, as you wrote it",
    "value": "the average over queries",
    "ci_low": "lower end of its interval; null without one",
    "ci_high": "upper end",
    "std": "standard deviation over queries",
    "queries": "how many queries were averaged",
    "query_id": "the query",
    "by": "the attribute, or attributes, that slices are made by; null for all queries",
    "slice": "the value of the attribute; null for all queries",
    "small": "too few queries to rely on",
    "Result.items.by": "the attribute of documents",
    "Result.items.slice": "its value; `(none)`: documents without one",
    "Result.items.k": "how much of each list is looked at",
    "Result.items.documents": "documents of the catalogue that are in the slice",
    "Result.items.documents_shown": "documents retrieved for any query, in the catalogue or not",
    "coverage": "the share of the catalogue's documents that is retrieved",
    "times_shown": "how often these documents are retrieved",
    "share_of_places": "the share of all retrieved rows",
    "share_of_exposure": "the share of exposure: rank r counts 1 / log2(r + 1)",
    "hits": "how many retrieved rows are relevant; null without judgments",
    "share_of_hits": "the share of all hits",
    "item": "what was counted, or the policy that was in force (`policy_…`)",
    "Result.ledger.value": "how many, or which share; null for policies",
    "Comparison.ledger.value": "how many, or which share; null for policies",
    "note": "what that means; of a policy, its value",
    "system": "the system",
    "Comparison.ledger.system": "the system; null for the comparison as a whole",
    "baseline": "the system that it is compared with",
    "baseline_value": "the baseline's average",
    "difference": "value − baseline_value",
    "relative": "the difference as a share of the baseline's average",
    "Comparison.table.ci_low": "lower end of the interval of the difference",
    "Comparison.table.ci_high": "upper end",
    "p_value": "of the paired test",
    "p_corrected": "the p value, corrected over its family of tests",
    "significant": "p_corrected is below 1 − confidence",
    "effect_size": "Cohen's d of the queries' differences",
    "wins": "queries in which the system is better",
    "ties": "queries in which neither is",
    "losses": "queries in which the baseline is better",
    "Comparison.table.queries": "queries that were compared",
    "undefined": "queries left out because the metric is undefined for one of the two",
    "judged_baseline": "the baseline's judged@k: how much of its top k was judged",
    "judged": "the system's judged@k; k is the metric's own, or 10",
    "lower_bound": "the least that the value could be, whatever unjudged documents are",
    "upper_bound": "the most that it could be",
    "if_none_relevant": "what it would be if no unjudged document were relevant",
    "if_all_relevant": "what it would be if all were",
    "n_a": "documents that the first ranking has",
    "n_b": "documents that the second has",
    "n_shared": "documents that both have",
    "mean_a": "the average of run a",
    "mean_b": "the average of run b",
    "Diff.summary.difference": "mean_b − mean_a",
    "Diff.summary.wins": "queries in which b is better",
    "Diff.summary.losses": "queries in which a is",
    "Diff.summary.undefined": "queries without a value in one run, or in both",
    "Diff.summary.queries": "all of them",
    "a": "its value in run a",
    "b": "its value in run b",
    "delta": "b − a",
    "better": '"b", "a" or "same"; null where undefined',
    "doc_id": "a document in the top k of either run",
    "relevance": "its grade; null: unjudged",
    "rank_a": "its place in run a; null: not retrieved",
    "rank_b": "its place in run b",
    "change": '"entered" or "left" the top k, or "up", "down" or "same" within it',
    "fusion": "the method with its parameters, as `rf.fuse` reads it",
    "norm": "the norm of scores; null for methods over ranks",
    "method": "the method alone",
    "weights": "of the runs, in their order; null for methods without",
    "Tuning.candidates.difference": "from the value of the best",
    "difference_low": "lower end of the paired interval of that difference",
    "difference_high": "upper end",
    "as_good": "it cannot be told apart from the best: that interval contains 0",
    "folds": "for how many folds it was chosen",
    "Tuning.against.baseline": "the best single run, chosen for each fold by the others; plain RRF",
    "Tuning.against.value": "the average of the tuned fusion, out of fold",
    "Tuning.against.ci_low": "lower end of the interval of the difference",
    "Tuning.against.ci_high": "upper end",
    "single": "whether that is a run by itself",
    "improved": "significant, and in the direction that is better",
    "Tuning.against.queries": "queries that were compared",
    "fold": "the number of the fold, from 1",
    "Tuning.folds.queries": "queries in the fold",
    "value_on_others": "the average of what was chosen, on all other folds",
    "Tuning.folds.value": "its average in the fold",
    "run": "the run",
    "Tuning.folds.run": "the run that is best by itself on all other folds",
    "run_value": "its average in the fold",
    "tuned": "the value of what was chosen without this query",
    "best_run": "the value of the best single run, chosen without this query",
    "rrf": "the value of plain RRF",
    "rule": "the rule, as you wrote it",
    "Verdict.checks.change": "the change, such that more is better",
    "bound": "its lower confidence bound: it passes if this is at or above the margin",
    "margin": "what the rule allows, or asks for",
    "Verdict.checks.relative": "change, bound and margin are shares of the baseline's value",
    "confidence": "of the bound",
    "Verdict.checks.queries": "queries that were tested",
    "Verdict.checks.value": "the candidate's average",
    "undefined_baseline": "queries that are undefined for the baseline only",
    "undefined_candidate": "queries that are undefined for the candidate only",
    "differing": "queries in which the two differ",
    "status": '"pass", "fail", "undecided" or "skipped"',
    "reason": "why, where it did not pass",
    "threshold": "what scores at least this is taken",
    "fpr": "share of the non-relevant documents that are taken",
    "tpr": "share of the relevant ones",
    "fp": "how many of the non-relevant",
    "tp": "how many of the relevant",
    "precision": "share of those taken that is relevant",
    "recall": "share of the relevant that is taken",
    "k": "the cutoff",
    "cg": "mean gain down to k",
    "dcg": "the same, discounted",
    "ideal_dcg": "the most that it could be",
    "result": "the stored result, by its name or folder",
    "date": "when its summary was last written; null of a result that is no folder",
    "same_judgments": "whether the judgments equal those of the previous result; null: unknown",
}  # fmt: skip


def frames() -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Every frame of every kind of result: its name, what a row is, and a real one."""
    result = rf.evaluate(QRELS, RUNS["new"], ["ndcg@10"], queries=QUERIES, by="locale")
    yield (
        "Result.summary",
        "One row per metric. `result.means` is a dict of the values.",
        result.summary,
    )
    yield (
        "Result.per_query",
        "A row a query, in byte order of query_id; a column a metric, under its name.",
        result.per_query,
    )
    yield "Result.slices", "A row a slice and metric; empty without `by=`.", result.slices
    yield (
        "Result.items",
        (
            "A row a slice of the items; empty without `items_by=`. A document with several values "
            "is in the slice of each; of shares, each gets an equal part of it."
        ),
        result.items,
    )
    yield "Result.ledger", "What was counted, and under which policies.", result.ledger
    alike = rf.agree(RUNS["old"], RUNS["new"], ["rbo"])
    yield (
        "Result.per_query (rf.agree)",
        "One row per query of two rankings; summary and ledger are as above.",
        alike.per_query,
    )
    found = rf.compare(QRELS, RUNS, ["ndcg@10"], baseline="old", bounds=True)
    yield "Comparison.table", "One row per metric, slice and pair of systems.", found.table
    yield (
        "Comparison.systems",
        "One row per metric, slice and system; the last four columns with `bounds=True`.",
        found.systems,
    )
    yield "Comparison.ledger", "The ledgers of all systems, and of the comparison.", found.ledger
    yield (
        "Comparison.per_query[name]",
        "The values that were compared: by name of the system, the same queries in the same order.",
        found.per_query["new"],
    )
    tuning = rf.tune(QRELS, RUNS, ["wsum"], "ndcg@10", folds=2)
    yield "Tuning.candidates", "A row a fusion, the best first.", tuning.candidates
    yield "Tuning.against", "The tuned fusion, out of fold, against others.", tuning.against
    yield "Tuning.folds", "A row a fold: what was chosen without it.", tuning.folds
    yield "Tuning.runs", "A row a run by itself.", tuning.runs
    yield "Tuning.per_query", "The values that were tested.", tuning.per_query
    change = rf.diff(QRELS, RUNS["old"], RUNS["new"], "ndcg@10")
    yield "Diff.summary", "One row.", change.summary
    yield "Diff.per_query", "One row per query.", change.per_query
    yield "Diff.movers", "The queries that changed most, the largest change first.", change.movers
    yield "Diff.documents", "For the movers, what is in the top k of either run.", change.documents
    baseline = rf.evaluate(QRELS, RUNS["old"], ["ndcg@10"])
    verdict = rf.gate(None, result, baseline, "ndcg@10: no worse than -1%", min_queries=2)
    yield "Verdict.checks", "A row a rule and slice.", verdict.checks
    for kind in ("roc", "precision_recall", "metric_at_k", "cumulative_gain"):
        asked = {"metric": "ndcg", "ks": [1, 2]} if kind == "metric_at_k" else {}
        points = rf.curve(QRELS, RUNS["new"], kind, **asked)
        yield f'rf.curve(…, "{kind}")', "A row a point.", points
    yield (
        "rf.history",
        "A row a result and metric, by date.",
        rf.history({"old": baseline, "new": result}),
    )


def written() -> dict[Path, str]:
    """What the page should hold."""
    parts = [HEADER]
    for name, said, frame in frames():
        rows = [(f"`{c}`", str(kind), _meaning(name, c)) for c, kind in frame.schema.items()]
        parts += [f"## `{name}`\n", f"{said}\n", table(["column", "type", "meaning"], rows), ""]
    ledger = rf.evaluate(QRELS, RUNS["new"], "mrr").ledger.filter(pl.col("value").is_not_null())
    rows = [(f"`{item}`", note) for item, _, note in ledger.iter_rows()]
    parts += ["## What the ledger counts\n", table(["item", "what it is"], rows), ""]
    return {PAGE: "\n".join(parts)}


def _meaning(frame: str, column: str) -> str:
    if column in ("ndcg@10", "rbo"):
        return "its value for the query; null where undefined"
    said = MEANINGS.get(f"{frame}.{column}") or MEANINGS.get(column)
    if said is None:
        raise SystemExit(f"{PAGE.name}: what is the column {column!r} of {frame}? See MEANINGS.")
    return said


if __name__ == "__main__":
    write(written())
