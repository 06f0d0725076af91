"""The pair frame: what each column says, and that expressions over it are what `agree` reports."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.core.columns import PAIR_FRAME
from rankframe.metrics import REGISTRY, names_over
from tests.support.rankings import two_rankings

A = {"q1": {"x": 3.0, "y": 2.0, "z": 2.0}, "q2": {"x": 1.0}}
B = {"q1": {"y": 9.0, "w": 9.0, "x": 1.0}}


def test_the_columns_of_a_small_pair() -> None:
    frame = rf.pair(A, B).filter(pl.col("query_id") == "q1").collect()
    assert frame["doc_id"].to_list() == ["x", "z", "y", "w"]
    for name, expected in {
        "rank_a": [1, 2, 3, None],
        "rank_b": [3, None, 1, 2],
        "score_a": [3.0, 2.0, 2.0, None],
        "score_b": [1.0, None, 9.0, 9.0],
        "n_a": [3] * 4,
        "n_b": [3] * 4,
        "n_shared": [2] * 4,
        "depth": [1, 2, 3, 4],
        "overlap": [0, 0, 2, 2],
        "compared": [True, False, True, False],
        "concordant": [0, 0, 0, 0],
        "discordant": [0, 0, 1, 0],
        "deviation_a": [0.5, None, -0.5, None],
    }.items():
        assert frame[name].to_list() == expected, name


def test_a_missing_document_may_stand_at_the_bottom() -> None:
    frame = rf.pair(A, B, missing="bottom").filter(pl.col("query_id") == "q1").collect()
    assert frame["compared"].all()
    # a: x, then z = y, then w; b: y = w, then x, then z
    assert dict(zip(frame["doc_id"], frame["mean_rank_b"], strict=True)) == {
        "x": 3.0, "z": 4.0, "y": 1.5, "w": 1.5,
    }  # fmt: skip
    assert frame["tied_in_b"].to_list() == [0, 0, 0, 1]


def under_ties(column: str) -> list[str]:
    ties = "wab" if "ties" in PAIR_FRAME.columns[column].parameters else ""
    return [column, *(f"{column}_{tie}" for tie in ties)]


def test_it_is_lazy_and_has_every_column() -> None:
    lazy = rf.pair(A, B, cutoffs=[2])
    assert isinstance(lazy, pl.LazyFrame)
    schema = lazy.collect_schema()
    assert list(schema) == [
        *(name for column in PAIR_FRAME.columns for name in under_ties(column)),
        *(
            f"{name}_top2"
            for column in PAIR_FRAME.columns
            if "k" in PAIR_FRAME.columns[column].parameters
            for name in under_ties(column)
        ),
    ]
    assert lazy.collect().schema == schema
    assert lazy.select("compared_top2").collect().to_series().to_list() == [False] * 5
    assert lazy.head(2).select("doc_id").collect().height == 2


@pytest.mark.parametrize("missing", ["shared", "bottom"])
@pytest.mark.parametrize("k", [None, 3])
def test_the_plain_expression_agrees_with_agree(missing, k: int | None) -> None:
    a, b = two_rankings()
    names = [n for n in names_over("pair") if k is None or "k" in REGISTRY[n].parameters]
    built = {n: getattr(rf, n)(**({} if k is None else {"k": k})) for n in names}
    plain = (
        rf.pair(a, b, missing=missing, cutoffs=[] if k is None else [k])
        .group_by("query_id")
        .agg(expression.alias(name) for name, expression in built.items())
        .sort("query_id")
        .collect()
    )
    labels = names if k is None else [f"{n}@{k}" for n in names]
    agreed = rf.agree(a, b, labels, missing=missing).per_query.drop("n_a", "n_b", "n_shared")
    agreed.columns = plain.columns
    assert_frame_equal(plain, agreed, rel_tol=0, abs_tol=1e-12)


def test_own_expressions_are_metrics() -> None:
    same_top = ((pl.col("rank_a") == 1) & (pl.col("rank_b") == 1)).any().alias("same top")
    result = rf.agree(A, A, [same_top, "rbo"])
    assert result.means == {"same top": 1.0, "rbo": pytest.approx(1.0)}


def test_bad_options_are_refused(refusal) -> None:
    assert refusal(rf.pair, A, B, missing="top").startswith("missing='top' is not one of 'shared'")
    assert refusal(rf.pair, A, B, cutoffs=[0]) == (
        "cutoffs are whole numbers of at least 1, not 0."
    )
    text = refusal(rf.agree, A, B, pl.col("relevance").sum().alias("x"))
    assert "'relevance', which is not a column of the pair frame. It has query_id, " in text
