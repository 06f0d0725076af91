"""Every metric that trec_eval also has, on random data, query by query.

pytrec_eval runs trec_eval 9.0.8. Where the two differ by convention, a comment says so.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from itertools import product

import pytest
import pytrec_eval
from hypothesis import given, settings

from tests.support.oracles import Case, Table, about, cases, one_list, random_case

CUTOFFS = (1, 3, 10, 100)
# trec_eval's name and ours; a measure with cutoffs has `_k` on both sides.
NAMES = {
    "map": "map",
    "map_cut_k": "map@k",
    "P_k": "precision@k",
    "recall_k": "recall@k",
    "Rprec": "r_precision",
    "recip_rank": "mrr",
    "bpref": "bpref",
    "infAP": "infap",
    "ndcg": "ndcg",
    "ndcg_cut_k": "ndcg@k",
    "ndcg_rel": "ndcg_rel",
    "Rndcg": "rndcg",
    "G": "g_measure",
    "binG": "bin_g",
    "set_P": "set_precision",
    "set_recall": "set_recall",
    "set_F": "set_f",
    "set_map": "set_map",
    "set_relative_P": "relative_precision",
    "relative_P_k": "relative_precision@k",
    "success_k": "success@k",
    "num_ret": "num_retrieved",
    "num_rel": "num_relevant",
    "num_rel_ret": "num_relevant_retrieved",
    "num_nonrel_judged_ret": "num_nonrelevant_judged_retrieved",
    "utility": "utility",
}
PAIRS = {
    theirs.replace("_k", f"_{k}"): ours.replace("@k", f"@{k}")
    for (theirs, ours), k in product(NAMES.items(), CUTOFFS)
}
POINTS = tuple(i / 10 for i in range(11))


def trec_eval(case: Case, measures: set[str], level: int = 1) -> Table:
    """trec_eval's values for the queries that both sides have.

    Queries with negative grades only are left out: trec_eval then reads the levels of relevance
    of the query before (form_res_rels.c does not reset num_rel_levels), and may never return.
    """
    qrels = {q: docs for q, docs in case.qrels.items() if max(docs.values()) >= 0}
    if not qrels:
        return {}
    return pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=level).evaluate(case.run)


def all_measures() -> set[str]:
    cuts = ",".join(map(str, CUTOFFS))
    return {name.replace("_k", f".{cuts}") for name in NAMES}


def assert_same(ours: Table, theirs: Table, pairs: dict[str, str]) -> None:
    different = {
        (query, our): (ours[query][our], values[their])
        for query, values in theirs.items()
        for their, our in pairs.items()
        if ours[query][our] != about(values[their])
    }
    assert not different


@settings(max_examples=12, deadline=None)
@given(cases())
def test_same_values_as_trec_eval(case: Case) -> None:
    ours = case.values(set(PAIRS.values()))
    assert_same(ours, trec_eval(case, all_measures()), PAIRS)


@settings(max_examples=12, deadline=None)
@given(cases())
def test_same_values_at_relevance_level_2(case: Case) -> None:
    ours = case.values(set(PAIRS.values()), rel=2)
    theirs = trec_eval(case, all_measures(), level=2)
    assert_same(ours, theirs, {their: our for their, our in PAIRS.items() if their != "Rndcg"})
    # Graded metrics look at the grades alone, in trec_eval as well; only its Rndcg gives 0 where
    # nothing reaches the level.
    reached = {query: values for query, values in theirs.items() if values["num_rel"] > 0}
    assert_same(ours, reached, {"Rndcg": "rndcg"})


@settings(max_examples=10, deadline=None)
@given(cases())
def test_a_level_in_the_name_is_the_level_of_the_evaluation(case: Case) -> None:
    binary = ["map", "map@3", "precision@3", "recall@3", "f1@3", "mrr", "bpref", "infap", "bin_g"]
    by_name = case.values([f"{name}-l2" for name in binary])
    by_option = case.values(binary, rel=2)
    for query in case.qrels:
        assert list(by_name[query].values()) == list(by_option[query].values())


@pytest.mark.parametrize("seed", range(3))
def test_queries_that_the_run_lacks_score_zero(seed: int) -> None:
    # trec_eval leaves them out; with its option -c it averages them as zeros.
    case = random_case(seed)
    ours = case.values(set(PAIRS.values()) - {"num_relevant"})
    assert case.missing
    for query in case.missing:
        assert query not in trec_eval(case, {"map"})
        assert set(ours[query].values()) == {0.0}


@pytest.mark.parametrize("seed", range(6))
def test_interpolated_precision_where_both_roundings_ask_for_as_many(seed: int) -> None:
    # trec_eval 9 takes (long) (x·R + 0.9) relevant documents for the recall x, version 10 (and
    # rankframe) takes x·R rounded. None and one come to the same.
    case = random_case(seed, queries=60)
    theirs = trec_eval(case, {"iprec_at_recall", "11pt_avg", "num_rel"})
    ours = case.values([*(f"iprec(recall={x})" for x in POINTS), "eleven_point"])
    compared = 0
    for query, values in theirs.items():
        relevant = round(values["num_rel"])
        agreed = {
            x for x in POINTS if max(int(x * relevant + 0.9), 1) == max(rounded(x * relevant), 1)
        }
        for x in agreed:
            assert ours[query][f"iprec(recall={x})"] == about(values[f"iprec_at_recall_{x:.2f}"])
        if len(agreed) == len(POINTS):
            assert ours[query]["eleven_point"] == about(values["11pt_avg"])
            compared += 1
    assert compared


@settings(max_examples=12, deadline=None)
@given(cases())
def test_precision_at_multiples_of_r(case: Case) -> None:
    multiples = (0.2, 0.35, 0.6, 1.0, 1.4, 5.0)
    pairs = {f"Rprec_mult_{m:.2f}": f"r_precision(multiple={m})" for m in multiples}
    theirs = trec_eval(case, {f"Rprec_mult.{','.join(map(str, multiples))}"})
    assert_same(case.values(set(pairs.values())), theirs, pairs)


@pytest.mark.parametrize("relevant", range(1, 41))
def test_recall_points_are_rounded_half_away_from_zero(relevant: int) -> None:
    # Relevant ones at ranks 1, 3, 5, …: every count of them has a precision of its own.
    grades = [1, 0] * relevant
    names = [f"iprec(recall={x})" for x in POINTS]
    ours = one_list(grades).values(names)["q"]
    for x in POINTS:
        wanted = max(rounded(x * relevant), 1)
        best = max(count / (2 * count - 1) for count in range(wanted, relevant + 1))
        assert ours[f"iprec(recall={x})"] == about(best)


def rounded(number: float) -> int:
    """What C's lround makes of it."""
    return int(Decimal(number).quantize(Decimal(1), ROUND_HALF_UP))
