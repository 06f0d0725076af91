"""Grades of holes that make AP and nDCG least and largest, beside all grades that there are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.analysis.unjudged import LEAST, MOST, extreme_grades
from rankframe.metrics.names import resolve

Grades = Sequence[float]
Marks = Sequence[float | None]
TOP = 3.0


def average_precision(
    listed: Grades, missing: Grades, k: int, level: float, denominator: str
) -> float:
    good = [grade >= level for grade in listed]
    precisions = [sum(good[:i]) / i for i in range(1, len(good[:k]) + 1) if good[i - 1]]
    relevant = sum(good) + sum(grade >= level for grade in missing)
    divisor = {"relevant": relevant, "min": min(relevant, k), "retrieved": len(precisions)}
    return sum(precisions) / (divisor[denominator] or 1)


def ndcg(
    listed: Grades,
    ideal: Grades,
    k: int,
    gain: Callable[[float], float],
    discount: Callable[[int], float],
) -> float:
    def dcg(grades: Grades) -> float:
        return math.fsum(gain(grade) / discount(i) for i, grade in enumerate(grades[:k], 1))

    best = dcg(sorted(ideal, reverse=True))
    return dcg(listed) / best if best else 0.0


def by_log(i: int) -> float:
    return math.log2(i + 1)


def jarvelin(i: int) -> float:
    return max(1.0, math.log(i, 3))


FAR = 99
# By name: the value of a list and of what was not retrieved.
DEFINED: dict[str, tuple[int, Callable[[Grades, Grades], float]]] = {
    "map": (FAR, lambda x, m: average_precision(x, m, FAR, 1, "relevant")),
    "map@3": (3, lambda x, m: average_precision(x, m, 3, 1, "relevant")),
    "map(rel=2)": (FAR, lambda x, m: average_precision(x, m, FAR, 2, "relevant")),
    "map(denominator=min)@3": (3, lambda x, m: average_precision(x, m, 3, 1, "min")),
    "map(denominator=retrieved)@4": (4, lambda x, m: average_precision(x, m, 4, 1, "retrieved")),
    "ndcg": (FAR, lambda x, m: ndcg(x, [*x, *m], FAR, lambda g: g, by_log)),
    "ndcg@3": (3, lambda x, m: ndcg(x, [*x, *m], 3, lambda g: g, by_log)),
    "ndcg(gain=exp2)": (FAR, lambda x, m: ndcg(x, [*x, *m], FAR, lambda g: 2**g - 1, by_log)),
    "ndcg(ideal=retrieved)@2": (2, lambda x, _: ndcg(x, x, 2, lambda g: g, by_log)),
    "ndcg(discount=jarvelin, base=3)@4": (
        4, lambda x, m: ndcg(x, [*x, *m], 4, lambda g: g, jarvelin),
    ),
    "ndcg(min_grade=2)": (
        FAR, lambda x, m: ndcg(x, [*x, *m], FAR, lambda g: g * (g >= 2), by_log),
    ),
    "ndcg(gain={1: 1, 2: 5, 3: 5})@3": (
        3, lambda x, m: ndcg(x, [*x, *m], 3, lambda g: (0, 1, 5, 5)[int(g)], by_log),
    ),
}  # fmt: skip


def frames(marks: Marks, missing: Grades) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The list and the judgments of one query, beside another that is not to touch it."""
    lists = pl.DataFrame(
        {
            "query_id": ["a", "a", *["q"] * len(marks)],
            "doc_id": ["x", "y", *(f"d{i}" for i in range(len(marks)))],
            "rank": [1, 2, *range(1, len(marks) + 1)],
            "relevance": [1.0, None, *marks],
        },
        schema_overrides={"relevance": pl.Float64},
    )
    lost = pl.DataFrame(
        {
            "query_id": ["q"] * len(missing),
            "doc_id": [f"m{i}" for i in range(len(missing))],
            "relevance": [float(grade) for grade in missing],
        },
        schema={"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Float64},
    )
    judged = lists.drop("rank").filter(pl.col("relevance").is_not_null())
    return lists, pl.concat([judged, lost])


def chosen(metric: str, marks: Marks, missing: Grades) -> list[dict[str, float]]:
    """The grades of the query's holes for the least value, and for the largest."""
    lists, qrels = frames(marks, [*missing, 0])  # a query with lists here is a judged one
    cutoff = DEFINED[metric][0]
    found = extreme_grades(resolve(metric)[0], lists, qrels, cutoff, TOP, None)
    assert found is not None
    own = found.filter(pl.col("query_id") == "q")
    return [dict(own.select("doc_id", which).iter_rows()) for which in (LEAST, MOST)]


@pytest.mark.parametrize("metric", DEFINED)
@given(
    marks=st.lists(st.sampled_from([None, None, 0, 1, 2, 3]), min_size=1, max_size=6),
    missing=st.lists(st.sampled_from([0, 1, 2, 3]), max_size=3),
)
def test_no_grades_give_less_or_more(metric: str, marks: Marks, missing: Grades) -> None:
    cutoff, define = DEFINED[metric]
    at = [i for i, mark in enumerate(marks[:cutoff]) if mark is None]
    grades = sorted({0.0, TOP, *(g for g in (*marks, *missing, 1.0) if g)})

    def value(filled: dict[int, float]) -> float:
        return define([filled.get(i, mark or 0.0) for i, mark in enumerate(marks)], missing)

    ways = [
        value(dict(zip(at, way, strict=True))) for way in itertools.product(grades, repeat=len(at))
    ]
    picked = chosen(metric, marks, missing)
    assert all([*one] == [f"d{i}" for i in at] for one in picked)
    least, most = (value({int(doc[1:]): grade for doc, grade in one.items()}) for one in picked)
    assert least == pytest.approx(min(ways), abs=1e-12)
    assert most == pytest.approx(max(ways), abs=1e-12)


def test_grades_by_hand() -> None:
    # a relevant document that comes late lowers AP, so the last is relevant for the least value
    assert chosen("map", [1, None, 0, None], []) == [{"d1": 0, "d3": 3}, {"d1": 0, "d3": 0}]
    # 1 fills the second place as the ideal has it; 3 would ask for the first
    assert chosen("ndcg", [1, None, 0], [1])[1] == {"d1": 1}


def test_what_is_not_known() -> None:
    lists, qrels = frames([1, None], [])
    assert extreme_grades(resolve("bpref")[0], lists, qrels, None, TOP, None) is None
    first = resolve(pl.col("rank").min().alias("first"))[0]
    assert extreme_grades(first, lists, qrels, None, TOP, None) is None
    many = pl.DataFrame({"query_id": "q", "doc_id": [f"m{i}" for i in range(60)],
                         "relevance": [i / 20 for i in range(60)]})  # fmt: skip
    assert extreme_grades(resolve("ndcg")[0], lists, many, None, TOP, None) is None
    assert extreme_grades(resolve("map")[0], lists, many, None, TOP, None) is not None
