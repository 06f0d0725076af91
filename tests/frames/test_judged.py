"""The judged frame from what was found: columns on demand, and an order that settles itself."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.engine.lookup import Lookup
from rankframe.frames.judged import JudgedFrame
from rankframe.io.opening import open_table

QRELS = {"q": {"c": 1, "f": 0, "a": 2, "b": 0, "d": -1, "e": 3, "g": 0.5}, "p": {"a": 0, "z": 1}}
RUN = {"q": {"a": 8.0, "b": 7.0, "c": 6.0, "d": 6.0, "g": 4.0, "x": 9.0, "y": 5.0}}


def judged(qrels: Any = QRELS, run: Any = RUN, **options: Any) -> JudgedFrame:
    columns = ["tied_rank", "pooled_wins"]
    found = Lookup.from_inputs(
        open_table(qrels, "qrels"), open_table(run, "run"), Policies(), columns
    ).found()
    return JudgedFrame(found.select(), **options)


def test_rows_are_by_query_and_rank_and_then_by_grade() -> None:
    some = judged()
    assert some.queries.to_list() == ["q", "p"]
    assert some.starts.tolist() == [0, 7]
    assert some.rank.tolist() == [2, 3, 4, 5, 7, 0, 0, 0, 0]
    assert some.grade.tolist() == [2, 0, -1, 1, 0.5, 3, 0, 1, 0]
    assert some.retrieved.tolist() == [7, 0]
    assert some.missing.tolist() == [False, True]
    assert some.matched == 5
    assert some.max_grade == 3
    assert judged(max_grade=7.0).max_grade == 7


@pytest.mark.parametrize(("rel", "relevant"), [(None, "acegz"), (1, "acez"), (0, "abcefgz")])
def test_rel_says_what_is_relevant(rel: float | None, relevant: str) -> None:
    some = judged(rel=rel, settle=True)
    docs = some.frame(["doc_id", "relevant"]).filter("relevant")["doc_id"].to_list()
    assert set(docs) == set(relevant)


def test_what_is_not_asked_for_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("computed")

    for maker in ("_tied_rank", "_pooled", "_ideal_rank_retrieved", "_judged_by_ideal_rank"):
        monkeypatch.setattr(JudgedFrame, maker, refuse)
    frame = rf.judge(QRELS, RUN)
    assert frame.select("rank", "found").collect().height == 9
    with pytest.raises(AssertionError, match="computed"):
        frame.select("tied_rank").collect()


def test_ids_settle_the_order_of_what_was_not_retrieved() -> None:
    qrels = {"q": dict.fromkeys("cab", 1) | {"z": 2}}
    run = {"q": {"x": 1.0}, "p": {"a": 1.0}}
    frame = judged(qrels, run, settle=True).frame(["doc_id"])
    assert frame["doc_id"].to_list() == ["z", "a", "b", "c"]


def test_grades_that_are_no_small_whole_numbers_are_in_order() -> None:
    grades = {"a": 1e99, "b": -1e99, "c": 0.25, "d": 2.0**40, "e": 0.0}
    some = judged({"q": grades}, {"q": {"x": 1.0}}, settle=True)
    assert some.frame(["doc_id"])["doc_id"].to_list() == ["a", "d", "c", "e", "b"]
    assert some.ideal_rank.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("columns", [[], ["pooled_wins"]], ids=str)
def test_pooled_columns_need_scores(columns: list[str], refusal) -> None:
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"]})
    refusal(judged(QRELS, run).frame, ["pooled_nonrelevant", *columns])
