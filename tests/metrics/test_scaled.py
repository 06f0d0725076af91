"""Scaled dcg and compatibility."""

from __future__ import annotations

from math import fsum, log2

import pytest
from hypothesis import given, settings

import rankframe as rf
from tests.support.oracles import NOTHING_GAINED, Case, Ranking, about, cases, value

# Grades 1 and 2 at ranks 1 and 3 (A and B), rank 2 not judged, one of grade 3 (C) not retrieved.
LIST, MISSING = [1, None, 2, 0], [3, 0]
# The ideal list is C, B, A; so both lists have none in common in their top 1 and 2, then two:
# with p = 1/2, Σ p^(i - 1) X_i / i = 1/4 · 2/3 + 1/8 · 2/4.
SHARED = 1 / 6 + 1 / 16
IDEAL = 1 + 1 / 2 + 1 / 4 + 1 / 8 * 3 / 4


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("compat(p=0.5)", SHARED / IDEAL),
        ("compat.5", SHARED / IDEAL),
        ("Compat(p=0.5, normalize=false)", SHARED / 1.875),
        # A is not in the ideal list C, B, which both lists have read to their ends at rank 4
        ("compat(p=0.5, rel=2)", (1 / 4 / 3 + 1 / 8 / 4) / (1 + 1 / 2 + 1 / 4 * 2 / 3 + 1 / 16)),
        ("sdcg@3", (1 + 2 / 2) / (3 * (1 + 1 / log2(3) + 1 / 2))),
        ("sdcg@1", 1 / 3),
        ("sdcg", 2 / (3 * sum(1 / log2(i + 1) for i in range(1, 11)))),
        ("sdcg(max_grade=5)@1", 1 / 5),
        ("sdcg(gain=exp2)@1", 1 / 7),
        ("sdcg(gain={1: 2, 2: 5, 3: 8})@2", 2 / (8 + 8 / log2(3))),
    ],
)
def test_values_by_hand(metric: str, expected: float) -> None:
    assert value(metric, LIST, MISSING) == about(expected)


def likeness(ranking: Ranking, p: float, *, normalised: bool = True) -> float:
    """Rank by rank, with the ideal list closest to the run: equal grades in its order."""
    found = [(g, i) for i, g in enumerate(ranking.grades) if g is not None and g > 0]
    unseen = sorted((g for g in ranking.judged if g > 0), reverse=True)
    for grade, _ in found:
        unseen.remove(grade)
    last = len(ranking.grades)
    ideal = sorted(
        [*found, *((g, last + at) for at, g in enumerate(unseen))], key=lambda d: (-d[0], d[1])
    )
    depth = max(last, len(ideal))

    def overlap(run: set[int], depth: int) -> int:
        return len({place for _, place in ideal[:depth]} & run)

    shared = fsum(p**i * overlap(set(range(min(i + 1, last))), i + 1) / (i + 1)
                  for i in range(depth))  # fmt: skip
    most = fsum(p**i * (min(i + 1, len(ideal)) / (i + 1) if normalised else 1)
                for i in range(depth))  # fmt: skip
    return shared / most if most else 0.0


def scaled(ranking: Ranking, k: int) -> float:
    most = fsum(max(ranking.top_grade, 0) / log2(i + 1) for i in range(1, k + 1))
    found = fsum(gain / log2(i + 1) for i, gain in enumerate(ranking.gains[:k], 1))
    return found / most if most else 0.0


@settings(max_examples=10, deadline=None)
@given(cases())
def test_values_by_definition(case: Case) -> None:
    case.assert_defined_as(
        {
            "compat": lambda r: likeness(r, 0.95),
            "compat(p=0.3)": lambda r: likeness(r, 0.3),
            "compat(p=0.999)": lambda r: likeness(r, 0.999),
            "compat(normalised=false)": lambda r: likeness(r, 0.95, normalised=False),
            "sdcg@3": lambda r: scaled(r, 3),
            "sdcg@40": lambda r: scaled(r, 40),
        }
    )


@pytest.mark.parametrize("metric", ["compat", "compat(normalised=false)", "sdcg@2"])
@pytest.mark.parametrize(("grades", "missing"), NOTHING_GAINED)
def test_without_a_gain_the_value_is_zero(
    metric: str, grades: list[int | None], missing: list[int]
) -> None:
    assert value(metric, grades, missing) == 0


def test_documents_of_equal_grade_may_stand_in_any_order() -> None:
    assert value("compat", [2, 2, 1, 1, 0, None]) == 1
    assert value("compat", [2, 1, 2, 1, 0, None]) < 1


def test_deep_lists_weigh_next_to_nothing_at_their_ends() -> None:
    deep = [1] + [0] * 3000
    assert value("compat", deep) == about(1)
    assert value("compat", deep[::-1]) == about(0)


def test_scaled_dcg_is_scaled_alike_for_all_queries() -> None:
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 2}}, {"q1": {"a": 1.0}, "q2": {"b": 1.0}}
    assert rf.evaluate(qrels, run, "sdcg@1").per_query["sdcg@1"].to_list() == [0.5, 1.0]


@pytest.mark.parametrize(
    "metric",
    [
        "compat(p=1)",
        "sdcg@10000000",
        "sdcg(max_grade=1)",
    ],
)
def test_parameters_that_cannot_be_are_refused(metric: str, refusal) -> None:
    refusal(value, metric, [2])
