"""The shown frame: one row per document shown, and only the columns there is something for."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.support.shown import NAMES, shop

SHOP = shop(3, users=40)


def test_metrics_are_expressions_over_it() -> None:
    frame = rf.retrieved(
        SHOP.run, SHOP.qrels, train=SHOP.train, items=SHOP.items, reference=SHOP.base
    )
    own = {
        "novelty@10": rf.novelty(k=10),
        "repeated@3": rf.repeated(k=3),
        "diversity(by=genres, kind=pairs)@10": rf.diversity(k=10, by="genres", kind="pairs"),
        "ild(vector=vector)@10": rf.ild(k=10, vector="vector"),
        "serendipity@10": rf.serendipity(k=10),
        "calibration(by=genre)": rf.calibration(by="genre"),
        "revenue": pl.col("price").sum(),
    }
    found = frame.group_by("query_id").agg(**own).sort("query_id").collect()
    names = [one for one in own if one in NAMES]
    wanted = SHOP.evaluated(names).per_query.select("query_id", *names)
    wanted = wanted.filter(pl.col("query_id").is_in(found["query_id"].implode()))
    assert_frame_equal(found.select("query_id", *names), wanted, abs_tol=1e-12)


def test_it_has_the_columns_that_there_is_something_for() -> None:
    bare = rf.retrieved({"u": ["a", "b"]}, k=1)
    assert bare.collect_schema().names() == ["query_id", "doc_id", "rank", "score", "retrieved"]
    assert bare.collect().rows() == [("u", "a", 1, None, 2)]
    trained = rf.retrieved({"u": ["a"]}, train={"u": ["a"]}).collect_schema()
    assert {"seen", "popularity", "in_catalogue"} <= set(trained)
    assert not {"relevance", "reference_rank"} & set(trained)


def test_attributes_that_are_called_like_its_columns() -> None:
    items = pl.DataFrame({"doc_id": ["a"], "score": [7], "values": ["x"]})
    frame = rf.retrieved({"u": {"a": 1.0}}, items=items).collect()
    assert frame.select("score", "items.score", "values", "new_of_values").row(0) == (
        1.0,
        7,
        "x",
        1,
    )


def test_a_cutoff_that_is_none() -> None:
    with pytest.raises(rf.RankframeError, match="k must be a whole number"):
        rf.retrieved({"u": ["a"]}, k=0)
