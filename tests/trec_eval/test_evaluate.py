"""What trec_eval computes, on random data and by hand; test_lines.py has how it is printed.

pytrec_eval runs trec_eval 9. Where version 10 differs, its definition stands here.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from math import exp, fsum, isclose, log, log2
from typing import Any

import polars as pl
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from rankframe.core.errors import RankframeError
from rankframe.trec_eval.evaluate import TrecOptions, TrecResult, evaluate_trec, exit_code
from rankframe.trec_eval.measures import MEASURES
from tests.support.oracles import Case, Ranking, Table, about, cases, one_list, random_case

EVERYTHING = [
    name for name, one in MEASURES.items() if one.reads == ("qrels",) and name != "relstring"
]
# trec_eval 9 rounds recall points in another way; it has no dcg and what follows.
ROUNDED_OTHERWISE = ("iprec_at_recall", "11pt_avg")
ONLY_10 = ("dcg", "ideal_dcg", "yaap", "rbp", "rbp_resid", "unj")
IN_9 = [name for name in EVERYTHING if name not in (*ROUNDED_OTHERWISE, *ONLY_10)]
POINTS = [i / 10 for i in range(11)]


def per_query(found: TrecResult) -> Table:
    """Values before they are printed, by query and label."""
    rows = found.values.select(pl.exclude(r"^\x00.*$")).to_dicts()
    return {row.pop("query_id"): row for row in rows}


def values(case: Case, measures: list[str], **options: Any) -> Table:
    every = TrecOptions(complete=True, **options)
    return per_query(evaluate_trec(case.qrels, case.run, measures, every))


def oracle(case: Case, measures: list[str], level: int = 1, *, judged_only: bool = False) -> Table:
    """trec_eval 9's values for the queries that both sides have.

    Queries with negative grades only are left out: it then reads the levels of the query before.
    """
    qrels = {q: docs for q, docs in case.qrels.items() if max(docs.values()) >= 0}
    if not qrels:
        return {}
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, set(measures), relevance_level=level, judged_docs_only_flag=judged_only
    )
    return evaluator.evaluate(case.run)


def assert_same(ours: Table, theirs: Table) -> None:
    different = {
        (query, label): (ours[query][label], value)
        for query, found in theirs.items()
        for label, value in found.items()
        if not isclose(_logged(label, ours[query][label]), value, rel_tol=0, abs_tol=1e-9)
    }
    assert not different


def _logged(label: str, value: float) -> float:
    return log(max(value, 1e-5)) if label.startswith("gm_") else value


@settings(max_examples=7, deadline=None)
@given(cases(), st.integers(1, 3))
def test_same_values_as_trec_eval_9_at_every_level(case: Case, level: int) -> None:
    assert_same(values(case, IN_9, level=level), oracle(case, IN_9, level))


@settings(max_examples=7, deadline=None)
@given(cases(), st.integers(1, 2))
def test_same_values_of_judged_documents_only(case: Case, level: int) -> None:
    ours = values(case, IN_9, level=level, judged_only=True)
    theirs = oracle(case, IN_9, level, judged_only=True)
    empty = {q for q, found in theirs.items() if not found["num_ret"]}
    # Of an empty list trec_eval 9 says nan where it divides by its length.
    assert_same(ours, {q: found for q, found in theirs.items() if q not in empty})
    assert all(ours[q]["P_5"] == ours[q]["set_P"] == 0 for q in empty)


@pytest.mark.parametrize("deepest", [1, 3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_the_top_alone_is_what_a_cut_run_has(seed: int, deepest: int) -> None:
    case = random_case(seed)
    cut = {
        query: dict(
            sorted(docs.items(), key=lambda item: (item[1], item[0].encode()), reverse=True)[
                :deepest
            ]
        )
        for query, docs in case.run.items()
    }
    ours = values(case, IN_9, deepest=deepest)
    assert_same(ours, oracle(Case(case.qrels, cut), IN_9))


@pytest.mark.parametrize("seed", range(3))
def test_parameters_reach_the_measures(seed: int) -> None:
    case = random_case(seed)
    asked = ["P.3,7", "recall.2", "ndcg_cut.4,9", "map_cut.6", "success.2,3", "relative_P.4",
             "Rprec_mult.0.35,5"]  # fmt: skip
    assert_same(values(case, asked), oracle(case, asked))
    ours = values(case, ["utility.2,-1,0.5,0.25", "set_F.3", "num_ret", "num_rel", "num_rel_ret",
                         "set_P", "set_recall"], collection=500)  # fmt: skip
    for found in ours.values():
        n, total, hit = (found[name] for name in ("num_ret", "num_rel", "num_rel_ret"))
        assert found["utility_2,-1,0.5,0.25"] == about(
            2 * hit - (n - hit) + 0.5 * (total - hit) + 0.25 * (500 + hit - n - total)
        )
        p, r = found["set_P"], found["set_recall"]
        assert found["set_F_3"] == about(4 * p * r / (r + 3 * p) if hit else 0)


# What only version 10 has, or does otherwise


def rounded(number: float) -> int:
    """What C's lround makes of it."""
    return int(Decimal(number).quantize(Decimal(1), ROUND_HALF_UP))


def interpolated(ranking: Ranking, point: float) -> float:
    ranks = ranking.relevant_ranks
    wanted = max(rounded(point * ranking.relevant_total), 1)
    return max((i / rank for i, rank in enumerate(ranks, 1) if i >= wanted), default=0.0)


def discounted(gains: list[int]) -> float:
    return fsum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))


def unjudged(ranking: Ranking) -> list[int]:
    return [i for i, grade in enumerate(ranking.grades) if grade is None or grade < 0]


def residual(ranking: Ranking, p: float) -> float:
    places = unjudged(ranking)
    tail = p ** len(ranking.grades)
    return tail + (1 - p) * fsum(p**i for i in places) if places else 0.0


def persistence(ranking: Ranking, p: float) -> float:
    highest = max([1, *ranking.ideal])
    return (1 - p) * fsum(gain / highest * p**i for i, gain in enumerate(ranking.gains))


DEFINITIONS: dict[str, Callable[[Ranking], float]] = {
    **{f"iprec_at_recall_{x:.2f}": (lambda r, x=x: interpolated(r, x)) for x in POINTS},
    "11pt_avg": lambda r: fsum(interpolated(r, x) for x in POINTS) / 11,
    "dcg": lambda r: discounted(r.gains),
    "ideal_dcg": lambda r: discounted(r.ideal),
    "rbp": lambda r: persistence(r, 0.9),
    "rbp_resid": lambda r: residual(r, 0.9),
    **{f"unj_{k}": (lambda r, k=k: sum(i < k for i in unjudged(r)) / k) for k in (5, 10, 20)},
}


@settings(max_examples=7, deadline=None)
@given(cases(), st.integers(1, 3))
def test_what_version_10_has_is_what_its_definition_says(case: Case, level: int) -> None:
    graded = ["dcg", "ideal_dcg", "rbp", "rbp_resid", "unj"]
    ours = values(case, [*graded, *ROUNDED_OTHERWISE], level=level)
    for query, ranking in case.rankings().items():
        binary = Ranking(
            [None if g is None else int(g >= level) for g in ranking.grades],
            [int(g >= level) for g in ranking.judged],
            1,
        )
        for label, define in DEFINITIONS.items():
            levelled = label.startswith(ROUNDED_OTHERWISE)
            expected = define(binary if levelled else ranking)
            assert ours[query][label] == about(expected), (query, label)


def test_every_measure_of_10_by_hand() -> None:
    # 2, not judged, 0, pooled but not judged, 1; one of grade 3 was not retrieved
    case = one_list([2, None, 0, -1, 1], [3])
    ours = values(case, ["rbp.p=0.5", "rbp_resid.p=0.5", "unj", "dcg", "ideal_dcg", "yaap",
                         "11pt_avg.0,0.5,1", "iprec_at_recall.0.5"])["q"]  # fmt: skip
    assert ours["rbp_p=0.5"] == about(0.5 * (2 / 3 + 1 / 3 / 16))
    assert ours["rbp_resid_p=0.5"] == about(1 / 32 + 0.5 * (1 / 2 + 1 / 8))
    assert (ours["unj_5"], ours["unj_10"], ours["unj_20"]) == (0.4, 0.2, 0.1)
    assert ours["dcg"] == about(2 + 1 / log2(6))
    assert ours["ideal_dcg"] == about(3 + 2 / log2(3) + 1 / 2)
    assert ours["yaap"] == about(log((1 + 1 + 2 / 5) / (1 + 3 - 1 - 2 / 5)))
    # 0.5 · 3 rounds to the second relevant document, at rank 5
    assert ours["iprec_at_recall_0.50"] == about(2 / 5)
    assert ours["11pt_avg_0,0.5,1"] == about((1 + 2 / 5 + 0) / 3)


def test_a_residual_is_0_where_all_that_was_retrieved_is_judged() -> None:
    assert values(one_list([1, 0, 2]), ["rbp_resid"])["q"]["rbp_resid"] == 0


def test_rbp_grades_below_2_are_not_scaled() -> None:
    assert values(one_list([1, 0], [1]), ["rbp.0.5"])["q"]["rbp_0.5"] == 0.5


@pytest.mark.parametrize(("multiple", "expected"), [(0.2, 1), (0.4, 1 / 2), (1, 2 / 3), (2, 3 / 6)])
def test_precision_at_a_multiple_of_r(multiple: float, expected: float) -> None:
    # R = 3: cutoffs ⌊1.5⌋ = 1, ⌊2.1⌋ = 2, 3 and 6
    label = f"Rprec_mult_{multiple:.2f}"
    found = values(one_list([1, 0, 1, 0, 1]), [f"Rprec_mult.{multiple}"])
    assert found["q"][label] == about(expected)


def test_gains_of_some_grades() -> None:
    case = one_list([1, 2, 3], [2])
    found = values(case, ["ndcg.1=2,3=9", "dcg.1=2,3=9"])["q"]
    dcg = 2 + 2 / log2(3) + 9 / 2
    assert found["dcg_1=2,3=9"] == about(dcg)
    assert found["ndcg_1=2,3=9"] == about(dcg / (9 + 2 / log2(3) + 2 / 2 + 2 / log2(5)))


FALLING = [
    {1: 3.0, 2: 9.0, 4: 4.5},
    {1: -2.0, 2: 5.0},
    {0: 2.0},
    {3: 0.0},
    {1: 7.0, 2: 7.0},
    {4: -1.0},
]


@pytest.mark.parametrize("gains", FALLING, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_gains_may_fall_as_grades_rise(gains: dict[int, float], seed: int) -> None:
    # As trec_eval does it: the best list has the largest gains first, as long as they are gains.
    case = random_case(seed)
    params = ",".join(f"{grade}={gain}" for grade, gain in gains.items())
    asked = [f"{name}.{params}" for name in ("dcg", "ideal_dcg", "ndcg")]
    ours = values(case, asked)
    for query, ranking in case.rankings().items():
        worth = [gains.get(g, g) if g is not None and g >= 0 else 0 for g in ranking.grades]
        best = sorted((gains.get(g, g) for g in ranking.judged if g >= 0), reverse=True)
        dcg = fsum(gain / log2(rank + 1) for rank, gain in enumerate(worth, 1))
        ideal = fsum(gain / log2(rank + 1) for rank, gain in enumerate(best, 1) if gain > 0)
        assert [ours[query][label.replace(".", "_", 1)] for label in asked] == about(
            [dcg, ideal, dcg / ideal if ideal else 0.0]
        )


# Order, grades, queries


def test_scores_are_compared_as_doubles_and_ties_go_by_id_descending() -> None:
    near = 1 + 2**-40  # the same float as 1 in single precision
    run = {"q": {"a": near, "b": 1.0, "c": 1.0}}
    found = {doc: values(Case({"q": {doc: 1}}, run), ["recip_rank"])["q"] for doc in "abc"}
    assert [found[doc]["recip_rank"] for doc in "abc"] == about([1, 1 / 3, 1 / 2])


def test_a_rank_column_is_not_even_looked_at() -> None:
    run = pl.DataFrame(
        {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0], "rank": [1, None]}
    )
    found = evaluate_trec({"q": {"a": 1}}, run, ["recip_rank"])
    assert found.summary["text"].to_list() == ["0.5000"]


QRELS = {"q1": {"a": 1}, "q2": {"b": 1, "c": 1}, "q3": {"d": 0}}
RUN = {"q1": {"x": 2.0, "a": 1.0}, "elsewhere": {"a": 1.0}}


def test_a_query_that_the_run_lacks_is_left_out_or_counts_0() -> None:
    measures = ["num_q", "num_ret", "num_rel", "map", "gm_map", "utility", "rbp_resid", "unj.5"]
    skipped = evaluate_trec(QRELS, RUN, measures)
    assert (skipped.missing, skipped.judged) == (2, 3)
    assert skipped.summary["text"].to_list() == [
        "1", "2", "1", "0.5000", "0.5000", "0.0000", "0.9100", "0.2000",
    ]  # fmt: skip
    counted = evaluate_trec(QRELS, RUN, measures, TrecOptions(complete=True))
    assert dict(counted.summary.iter_rows()) == {
        "num_q": "3",
        "num_ret": "2",
        "num_rel": "3",
        "map": f"{0.5 / 3:.4f}",
        "gm_map": f"{exp((log(0.5) + 2 * log(1e-5)) / 3):.4f}",
        "utility": "0.0000",
        "rbp_resid": f"{0.91 / 3:.4f}",
        "unj_5": f"{0.2 / 3:.4f}",
    }


def test_counts_add_up_and_the_rest_is_averaged() -> None:
    case = random_case(5)
    found = evaluate_trec(case.qrels, case.run, EVERYTHING)
    rows = per_query(found)
    summary = dict(found.summary.iter_rows())
    for line in found.lines:
        column = [row[line.label] for row in rows.values()]
        if line.measure.style == "count":
            assert summary[line.label] == str(int(sum(column)))
        elif line.label.startswith("gm_"):
            logs = [log(max(value, 1e-5)) for value in column]
            assert summary[line.label] == f"{exp(fsum(logs) / len(logs)):.4f}"
        else:
            assert summary[line.label] == f"{fsum(column) / len(column):.4f}"


def test_a_summary_is_summed_query_by_query_as_the_c_program_sums() -> None:
    hits = [int(digit) for digit in "14020333531030334053251402000540"]
    docs = "abcde"
    qrels = {f"q{i:02}": {d: int(at < n) for at, d in enumerate(docs)} for i, n in enumerate(hits)}
    run = {query: {d: -float(at) for at, d in enumerate(docs)} for query in qrels}
    found = evaluate_trec(qrels, run, ["P.5", "gm_map", "num_rel", "map"])
    total = 0.0
    for n in hits:
        total += n / 5
    text = dict(found.summary.iter_rows())
    assert text["P_5"] == f"{total / len(hits):.4f}"
    assert text["P_5"] != f"{fsum(n / 5 for n in hits) / len(hits):.4f}"
    assert (text["num_rel"], text["map"]) == (str(sum(hits)), f"{sum(map(bool, hits)) / 32:.4f}")
    logs = 0.0
    for n in hits:
        logs += log(1.0 if n else 1e-5)
    assert text["gm_map"] == f"{exp(logs / len(hits)):.4f}"


def test_no_documents_at_all_are_looked_at() -> None:
    measures = ["num_q", "num_ret", "num_rel", "map", "P.5", "recip_rank", "ndcg", "num_rel_ret"]
    found = evaluate_trec(QRELS, RUN, measures, TrecOptions(deepest=0))
    text = ["1", "0", "1", "0", "0.0000", "0.0000", "0.0000", "0.0000"]
    assert found.summary["text"].to_list() == text
    assert found.summary["measure"].to_list()[:4] == ["num_q", "num_ret", "num_rel", "num_rel_ret"]


@pytest.mark.parametrize("level", [-1, -2, -7])
def test_a_level_below_0_is_0_where_every_document_is_judged(level: int) -> None:
    case = one_list([2, 0, 1], [0, 3])
    assert values(case, IN_9, level=level) == values(case, IN_9, level=0)
    assert values(case, ["num_rel"], level=level)["q"]["num_rel"] == 5
    unjudged = one_list([2, None, -1], [3])
    ours = values(unjudged, IN_9, level=level, judged_only=True)
    assert ours == values(unjudged, IN_9, level=0, judged_only=True)


def test_a_level_below_0_does_not_make_unjudged_documents_relevant(refusal) -> None:
    unjudged, pooled = one_list([2, None, 0], [3]), one_list([2, -1, 0], [3])
    refusal(values, unjudged, ["map"], level=-1)
    assert values(pooled, IN_9, level=-1) == values(pooled, IN_9, level=0)
    refusal(values, pooled, ["map"], level=-2)


def test_the_same_input_gives_the_same_bytes_in_any_order() -> None:
    case = random_case(2)
    frames = [
        pl.DataFrame(
            [(q, d, v) for q, docs in side.items() for d, v in docs.items()],
            schema=["query_id", "doc_id", name],
            orient="row",
        )
        for side, name in ((case.qrels, "relevance"), (case.run, "score"))
    ]
    shuffled = [frame.sample(fraction=1, shuffle=True, seed=4) for frame in frames]
    written = []
    for qrels, run in (frames, shuffled):
        file = io.BytesIO()
        evaluate_trec(qrels, run, ["all_trec"]).write(file, queries=True)
        written.append(file.getvalue())
    assert written[0] == written[1]
    assert written[0].count(b"\n") > 27 * 80


# What is refused


def test_judgments_that_cannot_be_are_refused_with_gains_too(refusal) -> None:
    bad = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [None]})
    refusal(evaluate_trec, bad, RUN, ["ndcg.1=3"])
    text = bad.with_columns(relevance=pl.lit("high"))
    refusal(evaluate_trec, text, RUN, ["ndcg.1=3"])


@pytest.mark.parametrize(
    "options",
    [
        {"deepest": -1},
        {"collection": -1},
    ],
)
def test_options_are_checked(options: dict[str, int], refusal) -> None:
    refusal(TrecOptions, **options)


@pytest.mark.parametrize(
    ("qrels", "run", "measure", "code"),
    [
        (QRELS, {"q9": {"a": 1.0}}, "map", 7),
        (
            QRELS,
            pl.DataFrame({"query_id": ["q1"] * 2, "doc_id": ["a"] * 2, "score": [1, 2]}),
            "map",
            4,
        ),
        (QRELS, "none.run", "map", 2),
        (QRELS, RUN, "P.0", 2),
        (QRELS, RUN, "none", 1),
        (QRELS, RUN, "P.", 1),
    ],
    ids=["nothing in common", "twice", "no file", "parameter", "measure", "no parameter"],
)
def test_errors_have_the_codes_that_trec_eval_ends_with(
    qrels: Any, run: Any, measure: str, code: int
) -> None:
    with pytest.raises(RankframeError) as caught:
        evaluate_trec(qrels, run, [measure])
    assert exit_code(caught.value) == code


def test_what_trec_eval_cannot_read_is_refused(refusal) -> None:
    refusal(evaluate_trec, QRELS, {"q9": {"a": 1.0}})
    twice = pl.DataFrame({"query_id": ["q"] * 2, "doc_id": ["a"] * 2, "score": [1.0, 2.0]})
    refusal(evaluate_trec, {"q": {"a": 1}}, twice)
    assert evaluate_trec(QRELS, {"q9": {"a": 1.0}}, options=TrecOptions(complete=True)).missing == 3
