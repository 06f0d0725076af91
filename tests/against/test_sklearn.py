"""nDCG and the area under the ROC curve against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import ndcg_score, roc_auc_score

import rankframe as rf
from tests.support.oracles import Case, about, random_case


def labels_and_scores(case: Case, query: str, rel: int = 1) -> tuple[list[int], list[float]]:
    """Of each document retrieved for a query: whether it is relevant, and its score."""
    grades, scores = case.qrels[query], case.run[query]
    return [int(grades.get(doc, 0) >= rel) for doc in scores], list(scores.values())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [None, 1, 5])
def test_same_ndcg_where_every_judged_document_is_retrieved(seed: int, k: int | None) -> None:
    # scikit-learn knows neither unjudged documents nor judged ones that were not retrieved, and it
    # averages over the orders of equal scores.
    random = np.random.default_rng(seed)
    grades = random.integers(0, 4, (20, 12))
    scores = random.permuted(np.tile(np.arange(12.0), (20, 1)), axis=1)
    qrels, run = (
        {f"q{q:02}": {f"d{d}": row[d].item() for d in range(12)} for q, row in enumerate(side)}
        for side in (grades, scores)
    )
    name = "ndcg" if k is None else f"ndcg@{k}"
    theirs = [ndcg_score(grades[[q]], scores[[q]], k=k) for q in range(20)]
    assert rf.evaluate(qrels, run, name).per_query[name].to_list() == about(theirs)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_same_auc_of_each_query(seed: int, tied: bool) -> None:
    case = random_case(seed, tied=tied, missing=False)
    ours = case.values("auc")
    undefined = 0
    for query in case.qrels:
        labels, scores = labels_and_scores(case, query)
        if len(set(labels)) < 2:
            assert ours[query]["auc"] is None
            undefined += 1
        else:
            assert ours[query]["auc"] == about(roc_auc_score(labels, scores))
    assert 0 < undefined < len(case.qrels)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rel", [1, 2])
def test_same_auc_pooled_over_all_judged_queries(seed: int, tied: bool, rel: int) -> None:
    case = random_case(seed, tied=tied)
    judged = [labels_and_scores(case, query, rel) for query in case.run if query in case.qrels]
    labels, scores = (np.concatenate(side) for side in zip(*judged, strict=True))
    metric = f"auc(pool=true,rel={rel})"
    assert rf.evaluate(case.qrels, case.run, metric)[metric] == about(roc_auc_score(labels, scores))
