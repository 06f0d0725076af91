"""The words metrics are written in: as expressions, and as parts that many metrics share."""

from __future__ import annotations

import math

import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics.parts import (
    Ratio,
    check_between,
    collecting,
    constant,
    depth,
    largest,
    of_query,
    power,
    relevant_count,
    row_constant,
    sum_hits,
    total,
    where,
    within,
)

# Two queries: p retrieves two relevant and one other, q nothing.
JUDGED = pl.DataFrame(
    {
        "query_id": ["p", "p", "p", "q"],
        "relevance": [2.0, 0.0, 1.0, 1.0],
        "relevant": [True, False, True, True],
        "rank": [1, 2, 5, None],
        "retrieved": [7, 7, 7, 0],
    }
)


def by_query(expression: pl.Expr) -> list[float | None]:
    return JUDGED.group_by("query_id", maintain_order=True).agg(x=expression)["x"].to_list()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (total(pl.col("relevance")), [3.0, 1.0]),
        (largest(pl.col("relevance")), [2.0, 1.0]),
        (of_query("retrieved"), [7.0, 0.0]),
        (sum_hits(None, None), [2.0, 0.0]),
        (sum_hits(4, None), [1.0, 0.0]),
        (sum_hits(None, 2), [1.0, 0.0]),
        (relevant_count(None), [2.0, 1.0]),
        (relevant_count(2), [1.0, 0.0]),
        (depth(None), [7.0, 0.0]),
        (depth(3), [3.0, 0.0]),
        (total(where(within(2), pl.col("relevance") + 1)), [4.0, 0.0]),
    ],
)
def test_words_by_hand(expression: pl.Expr, expected: list[float]) -> None:
    assert by_query(expression) == expected


def test_a_ratio_says_what_it_is_where_there_is_nothing_below() -> None:
    for empty in (0.0, 1.0, None):
        ratio = Ratio(sum_hits(None, None), of_query("retrieved"), empty)
        assert by_query(ratio.expr) == [2 / 7, empty]


def test_the_same_part_has_one_name_whoever_asks_for_it() -> None:
    with collecting() as parts:
        one, same, other = sum_hits(5, None), sum_hits(5, None), sum_hits(6, None)
        most, first = largest(pl.col("rank")), of_query("rank")
    assert one.meta.root_names() == same.meta.root_names() != other.meta.root_names()
    # of the same rows, but another reduction
    assert most.meta.root_names() != first.meta.root_names()
    assert [how for _, how in parts.values()] == ["sum", "sum", "max", "first"]


def test_parts_are_collected_only_while_they_are_asked_for() -> None:
    with collecting() as outer:
        with collecting() as inner:
            sum_hits(1, None)
        sum_hits(2, None)
        sum_hits(3, None)
    assert (len(inner), len(outer)) == (1, 2)
    assert by_query(sum_hits(1, None)) == [1.0, 0.0]
    with pytest.raises(ZeroDivisionError), collecting():
        raise ZeroDivisionError
    assert by_query(sum_hits(1, None)) == [1.0, 0.0]


def test_division_by_a_number_is_rounded_once() -> None:
    # polars' own division by a literal gives 0.30000000000000004
    assert by_query(total(pl.col("relevance")) / constant(10)) == [0.3, 0.1]
    assert JUDGED.select(pl.lit(3.0) / row_constant(10)).to_series().to_list() == [0.3] * 4


@pytest.mark.parametrize("base", [2, 0.8, 10])
def test_a_power_does_not_depend_on_the_length_of_its_column(base: float) -> None:
    exponents = [0.0, 1.0, 2.5, -3.0, 7.3]
    long = pl.DataFrame({"x": exponents * 50}).select(power(base, pl.col("x"))).to_series()
    for at, exponent in enumerate(exponents):
        alone = pl.DataFrame({"x": [exponent]}).select(power(base, pl.col("x"))).item()
        assert alone == long[at]
        assert alone == pytest.approx(base**exponent, rel=1e-14)


def test_whole_powers_of_2_are_exact() -> None:
    exponents = list(range(-20, 60))
    found = pl.DataFrame({"x": exponents}).select(power(2, pl.col("x"))).to_series()
    assert found.to_list() == [math.ldexp(1, exponent) for exponent in exponents]


def test_parameters_outside_their_interval_are_refused(refusal) -> None:
    refusal(rf.hits, 0)
    check_between("p", 0.5, 0, 1)
    check_between("recall", 1, 0, 1, closed=True)
    refusal(check_between, "p", 1, 0, 1)
    refusal(check_between, "recall", 1.5, 0, 1, closed=True)
    refusal(check_between, "p", math.nan, 0, 1)


@pytest.mark.parametrize(
    "metric",
    [
        "f(beta=1e200)",
        "set_f(x=1e308)",
        "r_precision(multiple=1e308)",
        "r_score(neutral=-1e308)",
        "utility(a=1e308, b=1e308)",
    ],
)
def test_parameters_that_cannot_be_computed_with_are_refused(metric: str, refusal) -> None:
    refusal(rf.evaluate, {"q": {"a": 1}}, {"q": {"a": 1.0}}, metric)
