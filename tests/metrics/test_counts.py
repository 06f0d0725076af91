"""Counts and shares of what was retrieved and judged."""

from __future__ import annotations

from statistics import fmean

import pytest
from hypothesis import given, settings

import rankframe as rf
from tests.support.oracles import Case, about, cases, value

# Two relevant, one judged non-relevant, one pooled only, two not judged at all; n = 6, R = 3.
LIST, MISSING = [1, None, 0, -1, None, 2], [1, 0]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("judged@1", 1),
        ("judged@2", 1 / 2),
        ("judged@6", 4 / 6),
        ("judged@100", 4 / 6),
        ("judged", 4 / 6),
        ("unjudged@1", 0),
        ("unjudged@2", 1 / 2),
        ("unjudged@100", 2 / 6),
        ("unjudged", 2 / 6),
        ("hole@2", 1 / 2),
        ("num_retrieved", 6),
        ("num_relevant", 3),
        ("num_relevant(rel=2)", 1),
        ("num_relevant(rel=0)", 5),
        ("num_relevant_retrieved", 2),
        ("num_relevant_retrieved-l2", 1),
        ("num_nonrelevant_judged_retrieved", 1),
        ("num_nonrelevant_judged_retrieved(rel=2)", 2),
    ],
)
def test_values_by_hand(metric: str, expected: float) -> None:
    assert value(metric, LIST, MISSING) == about(expected)


@settings(max_examples=12, deadline=None)
@given(cases())
def test_values_by_definition(case: Case) -> None:
    case.assert_defined_as(
        {
            "judged@3": lambda r: fmean(g is not None for g in r.grades[:3]) if r.grades else 0,
            "unjudged@3": lambda r: fmean(g is None for g in r.grades[:3]) if r.grades else 0,
            "num_retrieved": lambda r: len(r.grades),
            "num_relevant": lambda r: r.relevant_total,
        }
    )


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("judged@3", 0),
        ("unjudged@3", 0),
        ("num_retrieved", 0),
        ("num_relevant", 1),
        ("num_relevant_retrieved", 0),
        ("num_nonrelevant_judged_retrieved", 0),
    ],
)
def test_values_where_nothing_was_retrieved(metric: str, expected: float) -> None:
    assert value(metric, [], [1, 0]) == expected


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("num_retrieved", 3),
        ("num_relevant", 4),
        ("num_relevant_retrieved", 1),
        ("num_nonrelevant_judged_retrieved", 1),
        ("num_relevant(average=macro)", 4 / 3),
        ("judged@2", (1 / 2 + 1 + 0) / 3),
        ("judged(average=micro)@2", (1 + 1) / (2 + 1)),
        ("unjudged(average=micro)@2", 1 / 3),
        ("hits(average=sum)", 1),
    ],
)
def test_counts_are_summed_and_shares_are_averaged(metric: str, expected: float) -> None:
    qrels = {"q1": {"a": 1, "b": 1}, "q2": {"c": 0, "d": 1}, "q3": {"e": 1}}
    run = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"c": 1.0}}
    result = rf.evaluate(qrels, run, metric)
    assert result[metric] == about(expected)
    assert result.summary["queries"].to_list() == [3]


def test_judged_and_unjudged_add_up() -> None:
    assert value("judged@4", LIST) + value("unjudged@4", LIST) == about(1)
