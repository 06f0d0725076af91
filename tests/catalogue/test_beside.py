"""What lies beside a run: one table of rows that say what they are."""

from __future__ import annotations

import polars as pl

from rankframe.catalogue.beside import BASE, JUDGED, TRAINED, WHAT, Sides, beside
from rankframe.inputs.scan import scan
from rankframe.inputs.train import open_train

QRELS = scan({"u": {"a": 2}}, "qrels")
TRAIN = open_train({"u": ["a", "b"]})


def test_rows_say_what_they_are() -> None:
    both = beside(QRELS, TRAIN, None)
    assert both.frame.collect().sort(WHAT, "doc_id").rows() == [
        ("u", "a", 2.0, JUDGED), ("u", "a", 1.0, TRAINED), ("u", "b", 1.0, TRAINED),
    ]  # fmt: skip
    assert not both.seekable
    assert beside(None, None, None).frame.collect().height == 0


def test_another_run_is_ranked_by_whatever_orders_it() -> None:
    for base in (
        pl.DataFrame({"query_id": ["u"] * 3, "doc_id": ["b", "c", "a"], "score": [1.0, 2.0, 1.0]}),
        pl.DataFrame({"query_id": ["u"] * 3, "doc_id": ["b", "c", "a"], "rank": [2, 1, 3]}),
        {"u": ["c", "b", "a"]},
    ):
        rows = beside(None, None, scan(base, "run", called="base")).frame.collect()
        indexed = Sides.of(rows, [BASE], "doc_desc").base
        assert indexed is not None
        docs = indexed.ids["doc_id"].to_list()
        assert dict(zip(docs, indexed.grades, strict=True)) == {"c": 1.0, "b": 2.0, "a": 3.0}


def test_only_what_is_asked_for_is_indexed() -> None:
    found = Sides.of(beside(QRELS, TRAIN, None).frame.collect(), [TRAINED], "doc_desc")
    assert found.judged is None
    assert found.trained is not None
    assert found.trained.height == 2
