"""The grouped frame: every column by hand, and the same from every order of rows."""

from __future__ import annotations

from typing import Any

import polars as pl

import rankframe as rf
from rankframe.core.columns import SUBTOPIC_FRAME

QRELS = pl.DataFrame(
    {
        "query_id": ["q"] * 6 + ["other"],
        "doc_id": ["a", "b", "b", "c", "d", "e", "z"],
        "subtopic": ["1", "1", "2", "2", "1", None, "1"],
        "relevance": [2, 1, 1, 1, 0, 3, -1],
        "weight": [1.0, 1.0, 3.0, 3.0, 1.0, None, 1.0],
    }
)
RUN = {"q": {"b": 5.0, "e": 4.5, "a": 4.0, "x": 3.0}}
# Of query q: b for 1 and 2, e for none, a for 1, then those not retrieved, group by group.
EXPECTED = {
    "doc_id": ["b", "b", "e", "a", "d", "c"],
    "subtopic": ["1", "2", None, "1", "1", "2"],
    "relevance": [1, 1, 3, 2, 0, 1],
    "relevant": [True, True, False, True, False, True],
    "relevant_rel2": [False, False, False, True, False, False],
    "rank": [1, 1, 2, 3, None, None],
    "above": [0, 0, 0, 1, None, None],
    "first": [True, True, False, False, False, False],
    "first_rel2": [False, False, False, True, False, False],
    "subtopics": [2] * 6,
    "subtopics_rel2": [1] * 6,
    "subtopic_relevant": [2, 2, 0, 2, 2, 2],
    "subtopic_weight": [1, 3, 1, 1, 1, 3],
    # of the largest grade, 3: (2^1 − 1) / 8 of those who want group 1 stop at b
    "unsatisfied": [1, 1, 1, 7 / 8, None, None],
    # b is worth 4; then c 3/2, a 1/2
    "ideal_rank": [1, 1, None, 3, None, 2],
    "ideal_above": [0, 0, None, 1, None, 1],
    "ideal_rank_alpha0.0": [1, 1, None, 3, None, 2],
    "ideal_dcg_top1": [2, 1, 0, 2, 2, 1],
    "ideal_dcg_exp2_top1": [3, 1, 0, 3, 3, 1],
    "retrieved": [4] * 6,
    "max_grade": [3] * 6,
}


def test_every_column() -> None:
    options: Any = {"subtopics": True, "levels": [2], "alphas": [0.0], "cutoffs": [1]}
    frame = rf.judge(QRELS, RUN, **options)
    schema = frame.collect_schema()
    assert {name: schema[name] for name in SUBTOPIC_FRAME.columns} == SUBTOPIC_FRAME.schema
    whole = frame.collect()
    assert whole["query_id"].to_list() == ["other", *["q"] * 6]
    found = whole.filter(query_id="q").select(*EXPECTED)
    assert found.to_dict(as_series=False) == EXPECTED
    assert whole.row(0, named=True)["subtopics"] == 0
    # Only what is used is computed, and no order of rows shows through.
    for seed in range(3):
        shuffled = rf.judge(QRELS.sample(fraction=1, shuffle=True, seed=seed), RUN, **options)
        assert shuffled.collect().equals(whole)
    assert frame.select("above").collect()["above"].to_list() == whole["above"].to_list()


def test_judgments_without_groups_have_no_such_frame(refusal) -> None:
    refusal(rf.judge, {"q": {"a": 1}}, RUN, subtopics=True)
