"""The metrics that ranx also has, under ranx's own names.

ranx has no rule for equal scores, so no scores are equal here; it takes a query that the run lacks
for a mistake, so no query is missing; and it knows no negative grades.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from tests.support.oracles import Case, Table, about, random_case

# Compiling ranx takes minutes; as plain Python it needs a second for these few queries.
os.environ["NUMBA_DISABLE_JIT"] = "1"

import ranx

SEEDS = (1, 2)
NAMES = (
    "hits@5",
    "hit_rate@2",
    "precision@5",
    "recall@5",
    "f1@5",
    "r-precision",
    "mrr@3",
    "map",
    "map@5",
    "ndcg@5",
    "ndcg_burges@5",
)
LEVELLED = (
    "precision@5-l2",
    "recall@5-l2",
    "f1@5-l2",
    "r-precision-l2",
    "mrr-l2",
    "map@5-l2",
    "ndcg@5-l2",
    "ndcg_burges@5-l3",
)


@cache
def case_of(seed: int) -> Case:
    return random_case(seed, lowest=0, tied=False, missing=False)


def ranx_values(case: Case, names: tuple[str, ...]) -> Table:
    """ranx's values by name and query."""
    run = ranx.Run(case.run)
    ranx.evaluate(ranx.Qrels(case.qrels), run, list(names))
    return run.scores


@pytest.mark.parametrize("seed", SEEDS)
def test_same_values_as_ranx(seed: int) -> None:
    case = case_of(seed)
    names = (*NAMES, *LEVELLED)
    ours, theirs = case.values(names), ranx_values(case, names)
    for name in names:
        assert {q: ours[q][name] for q in ours} == about(theirs[name]), name


@pytest.mark.parametrize("seed", SEEDS)
def test_same_bpref_as_ranx_where_something_is_judged_non_relevant(seed: int) -> None:
    # With nothing judged non-relevant ranx divides by 0; here every relevant document counts 1.
    both = {q: docs for q, docs in case_of(seed).qrels.items() if min(docs.values()) == 0}
    case = Case(both, {q: case_of(seed).run[q] for q in both})
    ours = {q: values["bpref"] for q, values in case.values("bpref").items()}
    assert ours == about(ranx_values(case, ("bpref",))["bpref"])


@pytest.mark.parametrize("seed", SEEDS)
def test_same_rbp_as_ranx_for_binary_grades(seed: int) -> None:
    case = case_of(seed)
    binary = {q: {d: min(g, 1) for d, g in docs.items()} for q, docs in case.qrels.items()}
    case = Case(binary, case.run)
    ours = {q: values["rbp.80"] for q, values in case.values("rbp.80").items()}
    assert ours == about(ranx_values(case, ("rbp.80",))["rbp.80"])


@pytest.mark.parametrize("seed", SEEDS)
def test_graded_rbp_of_ranx_is_ours_times_the_largest_grade(seed: int) -> None:
    # ranx multiplies by the grade as it is; here grades are scaled to at most 1.
    case = case_of(seed)
    graded = "rbp(p=0.8,gain=linear)"
    ours = {q: 3 * values[graded] for q, values in case.values(graded).items()}
    assert ours == about(ranx_values(case, ("rbp.80",))["rbp.80"])
