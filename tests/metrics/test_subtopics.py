"""Metrics of subtopics and facts: by their definitions, in plain Python."""

from __future__ import annotations

from typing import Any

import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.metrics import names_over
from tests.support import subtopics as brute

# As it is written, the function that defines it, and its arguments.
ASKED: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    **{
        f"{name}@{k}": (name, (k,), {})
        for name in names_over("subtopic")
        if "nrbp" not in name
        for k in (1, 3, 25)
    },
    **{
        f"{name}(alpha={alpha}){at}": (name, (*k, alpha), {})
        for alpha in (0.0, 0.5, 0.75, 1.0)
        for name in ("alpha_dcg", "alpha_ndcg", "err_ia", "nerr_ia", "nrbp", "nnrbp")
        for at, k in ((("", ()),) if "nrbp" in name else (("@4", (4,)), ("@30", (30,))))
    },
    "nrbp(beta=0.8)": ("nrbp", (0.5, 0.8), {}),
    "nnrbp(beta=0.8)": ("nnrbp", (0.5, 0.8), {}),
    "alpha_dcg": ("alpha_dcg", (None,), {}),
    "alpha_dcg(norm=none)@7": ("alpha_dcg", (7,), {"norm": "none"}),
    "alpha_ndcg": ("alpha_ndcg", (None,), {}),
    "err_ia": ("err_ia", (None,), {}),
    "err_ia(norm=none)": ("err_ia", (None,), {"norm": "none"}),
    "err_ia(gain=exp2)": ("err_ia", (None,), {"gain": "exp2"}),
    "err_ia(gain=exp2)@5": ("err_ia", (5,), {"gain": "exp2"}),
    "nerr_ia": ("nerr_ia", (None,), {}),
    "map_ia": ("map_ia", (), {}),
    "precision_ia": ("precision_ia", (None,), {}),
    "ndcg_ia": ("ndcg_ia", (None,), {}),
    "ndcg_ia(gain=exp2)@6": ("ndcg_ia", (6,), {"gain": "exp2"}),
    "subtopic_recall": ("subtopic_recall", (None,), {}),
    "any_of": ("any_of", (None,), {}),
    "all_of": ("all_of", (None,), {}),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rel", [None, 2])
@pytest.mark.parametrize("seed", range(2))
def test_every_metric_is_what_its_definition_says(
    seed: int, rel: float | None, weighted: bool
) -> None:
    rows = brute.random_topics(seed, graded=True, depth=45)
    run = brute.random_run(seed, rows)
    judged = brute.frame(rows) if weighted else brute.frame(rows).drop("weight")
    values = rf.evaluate(judged, brute.frame(run), list(ASKED), rel=rel).per_query
    topics = brute.topics(rows, run, weighted=weighted, rel=rel)
    assert values["query_id"].to_list() == list(topics)
    for label, (name, args, more) in ASKED.items():
        expected = [getattr(brute, name)(topic, *args, **more) for topic in topics.values()]
        assert values[label].to_list() == pytest.approx(expected, abs=1e-12), label


def test_a_level_of_its_own_and_the_plain_expression() -> None:
    rows = brute.random_topics(7, graded=True)
    run = brute.random_run(7, rows)
    plain = {
        "alpha_ndcg(alpha=0.7,rel=2)@5": rf.alpha_ndcg(k=5, alpha=0.7, rel=2),
        "err_ia(rel=2)@5": rf.err_ia(k=5, rel=2),
        "all_of(rel=2)@9": rf.all_of(k=9, rel=2),
        "map_ia(rel=2)": rf.map_ia(rel=2),
        "ndcg_ia@5": rf.ndcg_ia(k=5),
    }
    judged, found = brute.frame(rows), brute.frame(run)
    frame = rf.judge(judged, found, subtopics=True, levels=[2], alphas=[0.7], cutoffs=[5])
    values = frame.group_by("query_id").agg(e.alias(n) for n, e in plain.items()).sort("query_id")
    evaluated = rf.evaluate(judged, found, list(plain)).per_query
    assert_frame_equal(values.collect(), evaluated, abs_tol=1e-12)
    by_policy = rf.evaluate(judged, found, ["alpha_ndcg(alpha=0.7)@5", "err_ia@5"], rel=2).per_query
    names = ["alpha_ndcg(alpha=0.7,rel=2)@5", "err_ia(rel=2)@5"]
    assert by_policy.rows() == evaluated.select("query_id", *names).rows()


@pytest.mark.parametrize(
    "name",
    [
        "alpha_ndcg(alpha=2)@5",
        "nrbp(beta=1)",
        "alpha_dcg(alpha=0)",
        "err_ia(gain=linear)",
    ],
)
def test_parameters_that_make_no_sense(name: str, refusal) -> None:
    rows = brute.random_topics(0)
    refusal(rf.evaluate, brute.frame(rows), {"q000": {"d000": 1.0}}, name)


def test_two_rankings_have_no_groups(refusal) -> None:
    refusal(rf.agree, {"q": ["a"]}, {"q": ["a"]}, "all_of@10")
