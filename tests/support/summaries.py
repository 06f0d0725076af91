"""Provide a case with undefined values, zeros and weights, and its averages by definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import rankframe as rf
from rankframe.core.options import Intervals, Policies
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.finish import evaluate_inputs
from rankframe.io.opening import open_table
from rankframe.metrics.names import resolve
from tests.support.oracles import Case, random_case

MICRO, WEIGHTED = "recall(average=micro)@5", "ndcg(average=weighted)@5"
# undefined for queries of which nothing relevant was retrieved
LAG = "lag"
METRICS = ["ndcg@10", LAG, "gm_map", "num_retrieved", MICRO, WEIGHTED]
CASE = random_case(11, queries=40)
Parts = tuple[np.ndarray, np.ndarray]


def weights_of(case: Case) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {"query_id": list(case.qrels), "w": rng.integers(0, 5, len(case.qrels)) + 0.25}
    )


def evaluated(case: Case = CASE, metrics: Any = METRICS, **options: Any) -> rf.Result:
    asked = {"queries": weights_of(case), "weight": "w"} if WEIGHTED in map(str, metrics) else {}
    return rf.evaluate(case.qrels, case.run, metrics, **asked, **options)


def summary(case: Case = CASE, metrics: Any = METRICS, **options: Any) -> dict[str, dict]:
    rows = evaluated(case, metrics, **options).summary.to_dicts()
    return {row.pop("metric"): row for row in rows}


def parts(label: str, case: Case = CASE) -> Parts:
    """Return the numerators and denominators of a metric's average, query by query."""
    values = evaluated(case, [label], ci=None).per_query
    known = values.drop_nulls(label)
    number = known[label].to_numpy()
    if label == MICRO:
        rankings = case.rankings()
        hits = [sum(r <= 5 for r in rankings[q].relevant_ranks) for q in known["query_id"]]
        totals = [rankings[q].relevant_total for q in known["query_id"]]
        return np.array(hits, float), np.array(totals, float)
    if label == WEIGHTED:
        weight = known.join(weights_of(case), on="query_id", maintain_order="left")["w"].to_numpy()
        return weight * number, weight
    if label == "gm_map":
        number = np.log(np.maximum(number, 1e-5))
    return number, np.ones(len(number))


def finish(label: str, ratio: Any, queries: int) -> Any:
    if label == "gm_map":
        return np.exp(ratio)
    return ratio * queries if label == "num_retrieved" else ratio


def frames(case: Case) -> tuple[pl.DataFrame, pl.DataFrame]:
    sides = []
    for table, name in ((case.qrels, "relevance"), (case.run, "score")):
        rows = [(q, d, float(x)) for q, docs in table.items() for d, x in docs.items()]
        sides.append(pl.DataFrame(rows, schema=["query_id", "doc_id", name], orient="row"))
    return sides[0], sides[1]


def in_pieces(qrels: pl.DataFrame, run: pl.DataFrame, pieces: int, **options: Any) -> rf.Result:
    from rankframe.io.queries import read_attributes

    metrics = resolve(METRICS)
    evaluation = prepare_evaluation(
        metrics,
        Policies(),
        attributes=read_attributes(weights_of(CASE), weight="w", metrics=metrics),
        intervals=Intervals(**options),
    )
    sides = open_table(qrels, "qrels"), open_table(run, "run")
    return evaluate_inputs(evaluation, *sides, partitions=pieces)


def same_for_all(queries: int, found: int = 1, of: int = 3) -> Case:
    """Return a case in which every query has the same recall."""
    judged = {f"d{i}": 1 for i in range(of)}
    return Case(
        {f"q{i}": judged for i in range(queries)},
        {f"q{i}": {f"d{j}": 1.0 for j in range(found)} for i in range(queries)},
    )
