"""Grades that metrics do not foresee."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from rankframe.engine.grades import check_grades
from rankframe.metrics.names import resolve

GRADES = pl.LazyFrame({"relevance": [0.0, 2.0, 3.0, -1.0]})


def test_the_largest_grade_is_found() -> None:
    assert check_grades(resolve(["ndcg", "map"]), GRADES) == 3
    assert check_grades(resolve("map"), GRADES.clear()) == 0


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("err(max_grade=2)", "max_grade is 2, but qrels has a grade of 3"),
        ("ndcg(gain={1: 1, 2: 5})", "1 row with a grade that 'ndcg(gain={1: 1, 2: 5})' gives no"),
    ],
)
def test_what_no_parameter_foresees_is_refused(
    metric: str, said: str, refusal: Callable[..., str]
) -> None:
    assert said in refusal(check_grades, resolve(metric), GRADES)


def test_powers_of_large_grades_are_refused(refusal: Callable[..., str]) -> None:
    large = pl.LazyFrame({"relevance": [2000.0]})
    assert "is too large a number" in refusal(check_grades, resolve("ndcg(gain=exp2)"), large)
