"""Write docs/reference/results.md: the columns of every frame of results, from example frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from generated import DOCS, table, with_sections, write

import rankframe as rf

PAGE = DOCS / "reference" / "results.md"
GLOSSARY = DOCS / "glossary.md"
HEADER = """<!-- Written by docs/make.py. -->

# Result frames

Every frame is a polars `DataFrame`; a stored result has the same columns in Parquet.
Names do not depend on the input: ids of users are in `query_id`, too.
"""
QRELS = {f"q{n}": {"a": 2, "b": 1, "c": 0} for n in range(8)}
RUNS = {
    "old": {query: {"x": 3.0, "a": 2.0, "b": 1.0} for query in QRELS},
    "new": {query: {"a": 3.0, "x": 2.0, "c": 1.0} for query in QRELS},
}
QUERIES = pl.DataFrame({"query_id": list(QRELS), "locale": ["de", "en"] * 4})

# The meaning of each column; "frame.column" overrides it for one frame.
MEANINGS = {
    "metric": "the metric, as you wrote it",
    "value": "the average over queries",
    "ci_low": "lower end of the interval of the value; null without an interval",
    "ci_high": "upper end of the interval of the value",
    "std": "standard deviation over queries",
    "queries": "how many queries were averaged",
    "query_id": "the query",
    "by": "the attribute, or attributes, of the slice; null for all queries",
    "slice": "the value of the attribute; null for all queries",
    "small": "true if the slice has too few queries to rely on",
    "Result.items.by": "the attribute of documents",
    "Result.items.slice": "the value of the attribute; `(none)` for documents without a value",
    "Result.items.k": "how many ranks of each list are counted",
    "Result.items.documents": "documents of the catalogue in the slice",
    "Result.items.documents_retrieved": "retrieved documents, in the catalogue or not",
    "coverage": "share of the catalogue's documents that are retrieved",
    "times_retrieved": "how often documents of the slice are retrieved",
    "share_of_places": "share of all retrieved documents, counted once per list",
    "share_of_exposure": "share of exposure, where rank r counts 1 / log2(r + 1)",
    "hits": "how often relevant documents are retrieved; null without judgments",
    "share_of_hits": "share of all hits",
    "item": "the name of a count, or of a policy in force (`policy_…`)",
    "Result.ledger.value": "a count or a share; null for policies",
    "Comparison.ledger.value": "a count or a share; null for policies",
    "note": "the meaning of the count, or the value of the policy",
    "system": "the system",
    "Comparison.ledger.system": "the system; null for the comparison as a whole",
    "baseline": "the system that `system` is compared with",
    "baseline_value": "the baseline's average",
    "difference": "value − baseline_value",
    "relative": "the difference as a share of the baseline's average",
    "Comparison.table.ci_low": "lower end of the interval of the difference",
    "Comparison.table.ci_high": "upper end of the interval of the difference",
    "p_value": "p value of the paired test, not corrected",
    "Verdict.checks.p_value": "p value of the hypothesis that change is not better than margin",
    "p_corrected": "the p value, corrected over its family of tests",
    "significant": "true if p_corrected is below 1 − confidence",
    "effect_size": "Cohen's d of the differences per query",
    "wins": "queries in which the system is better",
    "ties": "queries in which system and baseline are equal",
    "losses": "queries in which the baseline is better",
    "Comparison.table.queries": "queries that were compared",
    "undefined": "queries left out because the metric is undefined for one of the two systems",
    "judged_baseline": "the baseline's judged@k: the share of its top k that is judged",
    "judged": "the system's judged@k; k is the metric's cutoff, or 10",
    "lower_bound": "the least value over all possible grades of unjudged documents",
    "upper_bound": "the largest value over all possible grades of unjudged documents",
    "if_none_relevant": "the value if no unjudged document were relevant",
    "if_all_relevant": "the value if every unjudged document were relevant",
    "condensed_value": "the value over judged documents alone; null if judged shares differ little",
    "n_a": "documents in the first ranking",
    "n_b": "documents in the second ranking",
    "n_shared": "documents in both rankings",
    "mean_a": "the average of run a",
    "mean_b": "the average of run b",
    "Diff.summary.difference": "mean_b − mean_a",
    "Diff.summary.ties": "queries in which both runs are equal",
    "Diff.summary.wins": "queries in which run b is better",
    "Diff.summary.losses": "queries in which run a is better",
    "Diff.summary.undefined": "queries without a value in run a, run b or both",
    "Diff.summary.queries": "all queries of both runs",
    "a": "the query's value in run a",
    "b": "the query's value in run b",
    "delta": "b − a",
    "better": '"b", "a" or "same"; null where the metric is undefined',
    "doc_id": "a document in the top k of either run",
    "relevance": "the grade of the document; null if unjudged",
    "rank_a": "the document's rank in run a; null if not retrieved",
    "rank_b": "the document's rank in run b; null if not retrieved",
    "change": '"entered" or "left" the top k, or "up", "down" or "same" within the top k',
    "fusion": "the fusion method with its parameters, as `rf.fuse` accepts it",
    "norm": "the norm of scores; null for methods over ranks",
    "method": "the fusion method without its parameters",
    "weights": "the weights of the runs, in their order; null for methods without weights",
    "Tuning.candidates.difference": "the candidate's value − the value of the best candidate",
    "difference_low": "lower end of the paired interval of the difference",
    "difference_high": "upper end of the paired interval of the difference",
    "as_good": "true if the interval of the difference from the best candidate contains 0",
    "folds": "for how many folds the candidate was chosen",
    "Tuning.runs.folds": "for how many folds the run was the best single run",
    "Tuning.against.baseline": "the best single run, chosen on the other folds; or plain RRF",
    "Tuning.against.value": "the average of the tuned fusion, out of fold",
    "Tuning.against.ci_low": "lower end of the interval of the difference",
    "Tuning.against.ci_high": "upper end of the interval of the difference",
    "single": "true if the baseline is a single run",
    "improved": "true if the difference is significant and an improvement",
    "Tuning.against.queries": "queries that were compared",
    "fold": "the number of the fold, from 1",
    "Tuning.folds.queries": "queries in the fold",
    "value_on_others": "the average of the chosen candidate on all other folds",
    "Tuning.folds.value": "the average of the chosen candidate in the fold",
    "run": "the run",
    "Tuning.folds.run": "the best single run on all other folds",
    "run_value": "the average of that single run in the fold",
    "tuned": "the value of the fusion that was chosen without this query",
    "best_run": "the value of the best single run, chosen without this query",
    "rrf": "the value of plain RRF",
    "rule": "the rule, as you wrote it",
    "Verdict.checks.change": "the change; positive is better",
    "bound": "lower confidence bound of the change: the rule holds if bound ≥ margin",
    "margin": "the change that the rule allows or requires",
    "Verdict.checks.relative": "true if the change is a share of the baseline's value",
    "confidence": "the confidence level of the bound",
    "Verdict.checks.queries": "queries that were tested",
    "Verdict.checks.value": "the candidate's average",
    "undefined_baseline": "queries that are undefined for the baseline only",
    "undefined_candidate": "queries that are undefined for the candidate only",
    "differing": "queries in which candidate and baseline differ",
    "status": '"pass", "fail", "undecided" or "skipped"',
    "reason": "why the rule did not pass, or a remark on a pass",
    "threshold": "documents with at least this score count as positive",
    "fpr": "false positive rate: the share of the non-relevant documents that are positive",
    "tpr": "true positive rate: the share of the relevant documents that are positive",
    "fp": "false positives",
    "tp": "true positives",
    "precision": "share of the positives that are relevant",
    "recall": "share of the relevant documents that are positive",
    "k": "the cutoff",
    "cg": "mean cumulative gain of the top k",
    "dcg": "mean discounted cumulative gain of the top k",
    "ideal_dcg": "mean dcg of the ideal ranking",
    "result": "the stored result, by its name or folder",
    "date": "when the result's summary was last written; null for a result in memory",
    "same_judgments": "true if the judgments equal those of the previous result; null if unknown",
}  # fmt: skip


def frames() -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Yield every frame of every kind of result: its name, a description, and an example."""
    result = rf.evaluate(QRELS, RUNS["new"], ["ndcg@10"], queries=QUERIES, by="locale")
    yield (
        "Result.summary",
        "One row per metric. `result.means` is a dict of the values.",
        result.summary,
    )
    yield (
        "Result.per_query",
        "One row per query, in byte order of query_id; one column per metric, named after it.",
        result.per_query,
    )
    yield "Result.slices", "One row per slice and metric; empty without `by=`.", result.slices
    yield (
        "Result.items",
        (
            "One row per slice of the items; empty without `items_by=`. A document with several "
            "values is in the slice of each value. Shares divide it equally among its slices."
        ),
        result.items,
    )
    yield "Result.ledger", "One row per count and per policy of the evaluation.", result.ledger
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
        "The values that were compared. All systems have the same queries, in the same order.",
        found.per_query["new"],
    )
    tuning = rf.tune(QRELS, RUNS, ["wsum"], "ndcg@10", folds=2)
    yield "Tuning.candidates", "One row per candidate, the best first.", tuning.candidates
    yield (
        "Tuning.against",
        "One row per test of the tuned fusion, out of fold, against a baseline.",
        tuning.against,
    )
    yield (
        "Tuning.folds",
        "One row per fold, with the candidate that was chosen on the other folds.",
        tuning.folds,
    )
    yield "Tuning.runs", "One row per single run.", tuning.runs
    yield "Tuning.per_query", "The values that were tested, one row per query.", tuning.per_query
    change = rf.diff(QRELS, RUNS["old"], RUNS["new"], "ndcg@10")
    yield "Diff.summary", "One row.", change.summary
    yield "Diff.per_query", "One row per query.", change.per_query
    yield "Diff.movers", "One row per query that changed, the largest change first.", change.movers
    yield (
        "Diff.documents",
        "One row per mover and document in the top k of either run.",
        change.documents,
    )
    baseline = rf.evaluate(QRELS, RUNS["old"], ["ndcg@10"])
    verdict = rf.gate(None, result, baseline, "ndcg@10: no worse than -1%", min_queries=2)
    yield "Verdict.checks", "One row per rule and slice.", verdict.checks
    for kind in ("roc", "precision_recall", "metric_at_k", "cumulative_gain"):
        asked = {"metric": "ndcg", "ks": [1, 2]} if kind == "metric_at_k" else {}
        points = rf.curve(QRELS, RUNS["new"], kind, **asked)
        yield f'rf.curve(…, "{kind}")', "One row per point.", points
    yield (
        "rf.history",
        "One row per result and metric, by date.",
        rf.history({"old": baseline, "new": result}),
    )


def written() -> dict[Path, str]:
    """Return the text of docs/reference/results.md, by its path."""
    parts = [HEADER]
    for name, said, frame in frames():
        rows = [(f"`{c}`", str(kind), _meaning(name, c)) for c, kind in frame.schema.items()]
        parts += [f"## `{name}`\n", f"{said}\n", table(["column", "type", "meaning"], rows), ""]
    ledger = rf.evaluate(QRELS, RUNS["new"], "mrr").ledger.filter(pl.col("value").is_not_null())
    rows = [(f"`{item}`", note) for item, _, note in ledger.iter_rows()]
    parts += ["## What the ledger counts\n", table(["item", "what it is"], rows), ""]
    glossary = with_sections(GLOSSARY, {"columns": _columns()})
    return {PAGE: "\n".join(parts), GLOSSARY: glossary}


def _columns() -> str:
    """Return the table of all columns of results, with every meaning that a column has."""
    meanings: dict[str, list[str]] = {}
    for key, meaning in MEANINGS.items():
        frame, _, column = key.rpartition(".")
        text = f"{meaning} (`{frame}`)" if frame else meaning
        meanings.setdefault(column, []).append(text)
    rows = [(f"`{column}`", "; ".join(texts)) for column, texts in sorted(meanings.items())]
    return table(["column", "meaning"], rows)


def _meaning(frame: str, column: str) -> str:
    if column in ("ndcg@10", "rbo"):
        return "its value for the query; null where undefined"
    said = MEANINGS.get(f"{frame}.{column}") or MEANINGS.get(column)
    if said is None:
        raise SystemExit(f"{PAGE.name}: what is the column {column!r} of {frame}? See MEANINGS.")
    return said


if __name__ == "__main__":
    write(written())
