"""Metrics of subtopics against ndeval, the program of TREC's diversity tracks, through pyndeval."""

from __future__ import annotations

import math

import pyndeval
import pytest

import rankframe as rf
from tests.support.subtopics import frame, random_run, random_topics

AT_K = ("ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG", "P-IA", "strec")
# ndeval does not normalise at k = 1, and knows no more than 20 ranks.
MEASURES = [*(f"{name}@{k}" for name in AT_K for k in (2, 5, 20)), "NRBP", "nNRBP", "MAP-IA"]
SINGLE = ["nERR-IA@1", "alpha-nDCG@1", "P-IA@1", "strec@1"]


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.5), (0.25, 0.75)])
@pytest.mark.parametrize("seed", range(3))
def test_the_values_of_every_measure(seed: int, alpha: float, beta: float, level: int) -> None:
    rows = random_topics(seed, graded=level > 1)
    run = random_run(seed, rows)
    asked = [*MEASURES, *SINGLE]
    oracle = pyndeval.RelevanceEvaluator(
        [(r["query_id"], r["subtopic"], r["doc_id"], max(r["relevance"], 0)) for r in rows],
        asked, relevance_level=level, alpha=alpha, beta=beta,
    )  # fmt: skip
    theirs = oracle.evaluate((r["query_id"], r["doc_id"], r["score"]) for r in run)

    def ours_of(name: str) -> str:
        base, at, k = name.partition("@")
        params = [f"alpha={alpha}"] if base not in ("P-IA", "strec", "MAP-IA") else []
        params += [f"beta={beta}"] if "NRBP" in base else []
        return f"{base}({', '.join([*params, f'rel={level}'])}){at}{k}"

    judged = frame(rows).drop("weight")
    # Of equal scores, pyndeval takes the smaller id first.
    names = [ours_of(name) for name in asked]
    values = rf.evaluate(judged, frame(run), names, missing="skip", ties="doc_asc")
    assert values.per_query.height == len(theirs)
    for row in values.per_query.to_dicts():
        expected = theirs[row["query_id"]]
        found = {name: row[ours_of(name)] for name in asked}
        # Where nothing is relevant, it divides 0 by 0.
        numbers = {n: 0.0 if math.isnan(expected[n]) else expected[n] for n in asked}
        assert found == pytest.approx(numbers, abs=1e-9)
