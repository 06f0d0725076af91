"""The order of a run: by score, then by the tie rule, against plain `sorted`."""

import math
from collections import defaultdict
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf

Row = tuple[str, str, float]


def _ranks(
    run: pl.DataFrame, ties: Any = "doc_desc", column: str = "rank", order: Any = "columns"
) -> dict[Any, float]:
    """The rank of every document in the run: {(query, doc): rank}."""
    qrels = run.select("query_id", "doc_id", relevance=1)
    judged = rf.judge(qrels, run, ties=ties, order=order)
    judged = judged.select("query_id", "doc_id", column).collect()
    return {(query, doc): value for query, doc, value in judged.iter_rows()}


def _order(run: pl.DataFrame, ties: Any = "doc_desc") -> list[str]:
    """The documents of a run with one query, best first."""
    ranks = _ranks(run, ties)
    return [doc for _, doc in sorted(ranks, key=lambda pair: ranks[pair])]


def _run(scores: dict[str, float]) -> pl.DataFrame:
    columns = {"query_id": ["q"] * len(scores), "doc_id": list(scores)}
    return pl.DataFrame({**columns, "score": list(map(float, scores.values()))})


def _frame(rows: list[Row]) -> pl.DataFrame:
    schema = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _sorted_ranks(rows: list[Row], ties: str) -> dict[Any, int]:
    """The same by plain Python: three stable sorts, the least important first."""
    ordered = list(rows)
    if ties != "as_given":
        ordered.sort(key=lambda row: row[1].encode(), reverse=ties == "doc_desc")
    ordered.sort(key=lambda row: row[2], reverse=True)
    ranks, seen = {}, defaultdict(int)
    for query, doc, _ in ordered:
        seen[query] += 1
        ranks[query, doc] = seen[query]
    return ranks


TIED = ["10", "9", "b", "B", "a", "é", "z", "日本", "\U0001f600", "ab"]


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("doc_desc", sorted(TIED, key=str.encode, reverse=True)),
        ("doc_asc", sorted(TIED, key=str.encode)),
        ("as_given", TIED),
    ],
)
def test_equal_scores_are_ordered_by_the_tie_rule(ties: str, expected: list[str]) -> None:
    assert _order(_run(dict.fromkeys(TIED, 1.0)), ties) == expected


@pytest.mark.parametrize("given", list(permutations("abc")), ids="".join)
def test_ties_are_settled_in_whatever_order_they_come(given: tuple[str, ...]) -> None:
    run = _run({"z": 2.0} | dict.fromkeys(given, 1.0))
    assert _order(run, "doc_desc") == ["z", "c", "b", "a"]
    assert _order(run, "doc_asc") == ["z", "a", "b", "c"]
    assert _order(run, "as_given") == ["z", *given]


def test_doc_ids_are_compared_byte_by_byte_not_as_numbers() -> None:
    assert _order(_run({"10": 1, "9": 1, "100": 1})) == ["9", "100", "10"]


def test_an_unknown_tie_rule_is_refused(qrels, run, refusal) -> None:
    refusal(rf.evaluate, qrels, run, "map", ties="doc_dsc")


def test_zero_and_minus_zero_are_tied() -> None:
    assert _order(_run({"a": 0.0, "c": -0.0, "b": 0.0})) == ["c", "b", "a"]
    assert _order(_run({"c": -0.0, "x": 1.0, "a": 0.0}), "doc_asc") == ["x", "a", "c"]


def test_scores_are_compared_as_doubles() -> None:
    near = math.nextafter(1.0, 2.0)
    assert np.float32(near) == np.float32(1.0)
    assert _order(_run({"z": 1.0, "a": near})) == ["a", "z"]


def test_scores_of_any_sign_and_size_are_ordered() -> None:
    values = [1e308, 1.0, 5e-324, 0.0, -5e-324, -1e-300, -1.0, -1.7e308]
    scores = {f"d{place}": value for place, value in enumerate(values)}
    assert _order(_run(dict(sorted(scores.items(), reverse=True)))) == list(scores)


@pytest.mark.parametrize("ties", ["doc_desc", "doc_asc", "as_given"])
def test_a_run_in_order_gives_the_ranks_of_the_same_run_out_of_order(ties: str) -> None:
    random = np.random.default_rng(0)
    rows = [
        (f"q{query}", f"d{doc}", float(random.integers(3)))
        for query in range(20)
        for doc in random.permutation(10)
    ]
    expected = _sorted_ranks(rows, ties)
    in_order = sorted(rows, key=lambda row: (row[0], expected[row[:2]]))
    assert _ranks(_frame(in_order), ties) == expected
    assert _ranks(_frame(rows), ties) == expected


def test_rows_of_a_query_may_be_scattered() -> None:
    rows = [
        ("p", "a", 1),
        ("q", "a", 2),
        ("p", "b", 3),
        ("r", "x", 0),
        ("q", "b", 1),
        ("p", "c", 2),
    ]
    assert _ranks(_frame([(q, d, float(s)) for q, d, s in rows])) == {
        ("p", "b"): 1, ("p", "c"): 2, ("p", "a"): 3, ("q", "a"): 1, ("q", "b"): 2, ("r", "x"): 1,
    }  # fmt: skip


def test_without_scores_the_rank_column_counts() -> None:
    run = _run({"a": 3, "b": 1, "c": 2}).rename({"score": "rank"})
    assert _order(run) == ["b", "c", "a"]


def test_ranks_may_start_anywhere_and_have_gaps() -> None:
    run = _run({"a": 30, "b": 0, "c": 7.5, "d": -2}).rename({"score": "rank"})
    assert _ranks(run) == {("q", "d"): 1, ("q", "b"): 2, ("q", "c"): 3, ("q", "a"): 4}


def test_without_scores_and_ranks_the_order_of_rows_counts() -> None:
    run = pl.DataFrame({"query_id": ["q", "p", "q", "p"], "doc_id": ["b", "a", "a", "c"]})
    expected = {("q", "b"): 1, ("q", "a"): 2, ("p", "a"): 1, ("p", "c"): 2}
    assert _ranks(run, order="rows") == expected


def test_the_score_wins_over_the_rank() -> None:
    run = _run({"a": 1, "b": 2}).with_columns(rank=pl.Series([1, 2]))
    ranks = _ranks(run, order="score")
    assert ranks == {("q", "b"): 1, ("q", "a"): 2}


def _disagreeing(rows: list[tuple[str, str, float, float]]) -> float | None:
    # Most queries must agree, or the run is refused.
    agreeing = [
        (f"z{number}", doc, 3.0 - place, float(place))
        for number in range(9)
        for place, doc in enumerate("ab")
    ]
    schema = ["query_id", "doc_id", "score", "rank"]
    run = pl.DataFrame([*rows, *agreeing], schema=schema, orient="row")
    qrels = run.select("query_id", "doc_id", relevance=1)
    return rf.evaluate(qrels, run, "map").count("rank_score_disagree")


@pytest.mark.parametrize(
    ("ranks", "scores", "queries"),
    [
        ([1, 2, 3], [3, 2, 1], 0),
        ([3, 2, 1], [1, 2, 3], 0),
        ([1, 2, 3], [1, 2, 3], 1),
        ([1, 2, 3], [3, 1, 2], 1),
        ([1, 2, 3], [2, 2, 2], 0),
        ([2, 1, 3], [2, 2, 1], 0),
        ([1, 5, 3], [2, 2, 1], 1),
        ([5, 1, 3], [2, 2, 1], 1),
    ],
)
def test_a_query_is_counted_where_a_lower_score_has_a_better_rank(
    ranks: list[float], scores: list[float], queries: int
) -> None:
    assert _disagreeing(list(zip("qqq", "abc", scores, ranks, strict=True))) == queries


@given(st.lists(st.tuples(st.sampled_from("pq"), st.integers(0, 3), st.integers(0, 4))))
def test_queries_with_contradictions_are_counted_as_by_all_pairs(rows: list[Any]) -> None:
    table = [("o", "d", 1.0, 1.0)]
    table += [(q, f"d{n}", float(s), float(r)) for n, (q, s, r) in enumerate(rows)]
    contradicted = {q for q, _, s, r in table for p, _, t, u in table if q == p and s > t and r > u}
    equal = {q for q, _, s, r in table for p, _, t, u in table if q == p and s > t and r == u}
    counted = _disagreeing(table)
    assert counted is not None
    assert len(contradicted) <= counted <= len(contradicted | equal)


def test_tied_rank_is_the_mean_rank_of_equal_scores() -> None:
    run = _run({"a": 5, "b": 3, "c": 3, "d": 3, "e": 1, "f": 1}).reverse()
    ranks = _ranks(run, column="tied_rank")
    assert [ranks["q", doc] for doc in "abcdef"] == [1, 3, 3, 3, 5.5, 5.5]


def test_tied_rank_is_the_rank_where_there_are_no_scores() -> None:
    run = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["b", "a", "c"]})
    expected = {("q", "b"): 1, ("q", "a"): 2, ("q", "c"): 3}
    assert _ranks(run, column="tied_rank", order="rows") == expected


_ULP = math.ulp(1.0)
_scores = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e300, -1e-300]),
    st.integers(0, 15).map(lambda steps: 1.0 + steps * _ULP),
    st.integers(0, 15).map(lambda steps: -1.0 - steps * _ULP),
    st.floats(allow_nan=False, allow_infinity=False),
)
_docs = st.one_of(st.integers(0, 20).map(str), st.text(min_size=1, max_size=3))


@settings(max_examples=12, deadline=None)
@given(
    st.dictionaries(st.tuples(st.sampled_from("pqrst"), _docs), _scores, min_size=1, max_size=40),
    st.sampled_from(["doc_desc", "doc_asc", "as_given"]),
)
def test_any_run_is_ranked_as_sorted_ranks_it(scores: dict[Any, float], ties: str) -> None:
    rows = [(query, doc, score) for (query, doc), score in scores.items()]
    assert _ranks(_frame(rows), ties) == _sorted_ranks(rows, ties)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["doc_desc", "doc_asc", "as_given"]))
def test_scores_that_differ_in_their_last_bits_are_told_apart_among_many_queries(
    seed: int, ties: str
) -> None:
    random = np.random.default_rng(seed)
    queries = random.integers(0, 3000, 4000)
    queries[:200] = 7
    scores = random.choice([1.0, -1.0], 4000) * (1.0 + random.integers(0, 40, 4000) * _ULP)
    rows = [(f"q{q}", f"d{n}", s) for n, (q, s) in enumerate(zip(queries, scores, strict=True))]
    assert _ranks(_frame(rows), ties) == _sorted_ranks(rows, ties)
