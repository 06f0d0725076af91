"""The pipeline: read, validate, rank, judge once, every metric in one pass, summarise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.columns import QUERY, RELEVANCE
from rankframe.errors import (
    BadValueError,
    MetricParameterError,
    MissingColumnError,
    OptionError,
)
from rankframe.ledger import make_ledger
from rankframe.names import Metric, resolve
from rankframe.piece import evaluate_piece
from rankframe.plan import compile_plan
from rankframe.policies import Missing, NoOverlap, NoRelevant, Policies
from rankframe.rank import Ties
from rankframe.read import Columns, Scanned, Source, scan
from rankframe.result import Result
from rankframe.summary import summarise
from rankframe.validate import Duplicates, load, load_one_of_each, refuse_no_overlap

_LARGEST_EXPONENT = 1000.0
DEFAULT_METRICS = ("ndcg@10", "map", "mrr@10", "precision@10", "recall@100", "judged@10")


def evaluate(
    qrels: Source,
    run: Source,
    metrics: str | pl.Expr | Iterable[str | pl.Expr] = DEFAULT_METRICS,
    *,
    columns: Columns | None = None,
    rel: float | None = None,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    no_overlap: NoOverlap = "error",
    ties: Ties = "doc_desc",
    duplicates: Duplicates = "error",
    k_max: int | None = None,
    judged_only: bool = False,
    queries: Source | None = None,
    weight: str | None = None,
) -> Result:
    """Evaluate a run against judgments.

    Truth first. `qrels` and `run` are whatever you have: a polars frame, a pyarrow table, anything
    with `__arrow_c_stream__` (pandas, DuckDB), a dict of dicts, or a path (Parquet file, glob or
    folder, CSV, TSV, JSON Lines, TREC text, each plain or gzipped).

    metrics: names (`rankframe metrics` lists them) or polars expressions over the judged frame.
    columns: names in your data, `{"query_id": "user_id"}`, or one such mapping for each side.
    rel: the grade from which a document counts as relevant (default: any above 0). Graded metrics
        use the grades themselves.
    missing: a judged query that the run lacks scores 0 ("zero"), is left out ("skip") or is an
        "error".
    no_relevant: a query without relevant documents scores 0 ("zero") or is left out ("skip").
    no_overlap: a run without one judged document is an "error", or scores "zero".
    ties: equal scores are ordered by doc_id descending ("doc_desc", as trec_eval), "doc_asc" or
        "as_given".
    duplicates: the same document twice for a query is an "error", or "keep_best" keeps the best.
    k_max: look at the top so many documents only.
    judged_only: drop unjudged documents from the run and close the gaps.
    queries, weight: a frame with query_id and a column of weights, for `average=weighted`.

    >>> result = rf.evaluate({"q1": {"a": 1}}, {"q1": {"x": 2.0, "a": 1.0}}, ["mrr", "recall@1"])
    >>> result["mrr"]
    0.5
    """
    wanted = resolve(metrics)
    policies = Policies(rel, missing, no_relevant, no_overlap, ties, duplicates, k_max, judged_only)
    weighting = _weighting(wanted, queries, weight, columns)
    judgments = scan(qrels, "qrels", columns)
    ranked = scan(run, "run", columns)
    return evaluate_scanned(judgments, ranked, wanted, policies, weighting)


def evaluate_scanned(
    qrels: Scanned,
    run: Scanned,
    metrics: Sequence[Metric],
    policies: Policies,
    weighting: pl.DataFrame | None = None,
) -> Result:
    """The same for inputs that were opened already."""
    plan = compile_plan(metrics)
    judgments, documents = load(qrels), load(run)
    _check_grades(metrics, judgments)
    piece = evaluate_piece(judgments, documents, plan, policies)
    if not piece.overlap and policies.no_overlap == "error":
        refuse_no_overlap(judgments, documents)
    return Result(
        summary=summarise(metrics, piece.values, _weights(piece.values, weighting)),
        per_query=piece.values.select(QUERY, *(m.label for m in metrics)),
        ledger=make_ledger(piece.counts, policies.described()),
    )


def _check_grades(metrics: Sequence[Metric], judgments: pl.DataFrame) -> None:
    """Refuse grades that a metric's parameters do not foresee."""
    highest = float(judgments[RELEVANCE].max())  # pyright: ignore[reportArgumentType]
    for metric in metrics:
        top, gain = metric.params.get("max_grade"), metric.params.get("gain")
        exponential = gain == "exp2" or (metric.definition and "err" in metric.definition.name)
        if exponential and highest > _LARGEST_EXPONENT:
            raise MetricParameterError(
                f"{metric.label!r}: 2 to the power of a grade of {highest:g} is too large a number."
            )
        if top is not None and top < highest:
            raise MetricParameterError(
                f"{metric.label!r}: max_grade is {top:g}, but qrels has a grade of {highest:g}."
            )
        if isinstance(gain, Mapping):
            grade = pl.col(RELEVANCE)
            bad = judgments.filter(grade > 0, ~grade.is_in([float(g) for g in gain]))
            if bad.height:
                raise BadValueError(
                    "qrels",
                    f"a grade that {metric.label!r} gives no gain",
                    bad.height,
                    f"{bad[RELEVANCE][0]:g}",
                    "Give every grade above 0 a gain",
                )


def _weighting(
    metrics: Sequence[Metric], queries: Source | None, weight: str | None, columns: Columns | None
) -> pl.DataFrame | None:
    """query_id and weight, where some metric is averaged by weight."""
    weighted = [m.label for m in metrics if m.average == "weighted"]
    if (queries is None) != (weight is None):
        raise OptionError("queries= (a frame with query_id) and weight= (its column) go together.")
    if queries is None or weight is None:
        if weighted:
            raise OptionError(
                f"{weighted[0]!r} is averaged by weight: pass queries= (a frame with query_id) "
                "and weight= (the name of its column of weights)."
            )
        return None
    scanned = scan(queries, "queries", columns)
    found = scanned.raw.collect_schema().names()
    if weight not in found:
        raise MissingColumnError("queries", "weight", found, asked=weight)
    return load_one_of_each(scanned.with_number("weight", weight)).frame


def _weights(values: pl.DataFrame, weighting: pl.DataFrame | None) -> NDArray[np.float64] | None:
    if weighting is None:
        return None
    weights = values.select(QUERY).join(weighting, on=QUERY, how="left", maintain_order="left")
    fit = pl.col("weight").is_finite() & (pl.col("weight") >= 0)
    bad = weights.filter(~fit.fill_null(value=False))
    if bad.height:
        raise OptionError(
            f"{bad.height:,} of {weights.height:,} evaluated queries have no weight, or one that "
            f"is negative or not finite, e.g. query_id {bad[QUERY][0]!r}. "
            "Give every judged query a weight of at least 0."
        )
    return weights["weight"].to_numpy()
