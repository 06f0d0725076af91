"""What lies beside a run: one table of rows that say what they are."""

from __future__ import annotations

import polars as pl

import rankframe as rf
from rankframe.frames.side_inputs import BASE, JUDGED, TRAINED, WHAT, SideIndexes, combine_sides
from rankframe.io.inputs import open_train
from rankframe.io.opening import open_table
from rankframe.kernel.batch import taken

QRELS = open_table({"u": {"a": 2}}, "qrels")
TRAIN = open_train({"u": ["a", "b"]})


def test_rows_say_what_they_are() -> None:
    both = combine_sides(QRELS, TRAIN, None)
    assert both.frame.collect().sort(WHAT, "doc_id").rows() == [
        ("u", "a", 2.0, JUDGED), ("u", "a", 1.0, TRAINED), ("u", "b", 1.0, TRAINED),
    ]  # fmt: skip
    assert not both.seekable
    assert (both.role, both.name) == ("qrels", f"{QRELS.name} and {TRAIN.name}")
    assert combine_sides(None, None, None).frame.collect().height == 0


def test_another_run_is_ranked_by_whatever_orders_it() -> None:
    for base in (
        pl.DataFrame({"query_id": ["u"] * 3, "doc_id": ["b", "c", "a"], "score": [1.0, 2.0, 1.0]}),
        pl.DataFrame({"query_id": ["u"] * 3, "doc_id": ["b", "c", "a"], "rank": [2, 1, 3]}),
        {"u": ["c", "b", "a"]},
    ):
        rows = combine_sides(
            None, None, open_table(base, "run", called="reference")
        ).frame.collect()
        indexed = SideIndexes.from_rows(rows, [BASE], "doc_desc", "error").base
        assert indexed is not None
        docs, ranks = indexed.docs.all().to_list(), indexed.numbers["relevance"]
        assert dict(zip(docs, ranks, strict=True)) == {
            "c": 1.0,
            "b": 2.0,
            "a": 3.0,
        }


def test_another_run_is_ranked_query_by_query_whatever_the_order_of_rows() -> None:
    rows = pl.DataFrame(
        {
            "query_id": [f"q{number % 7}" for number in range(70)],
            "doc_id": [f"d{number * 13 % 70}" for number in range(70)],
            "score": [float(number * 31 % 5) for number in range(70)],
        }
    )
    order = {"doc_desc": [True, True], "doc_asc": [True, False]}
    for ties, descending in order.items():
        ordered = rows.sort("score", "doc_id", descending=descending)
        places = ordered.with_columns(place=pl.int_range(1, pl.len() + 1).over("query_id"))
        table = combine_sides(
            None, None, open_table(rows, "run", called="reference")
        ).frame.collect()
        indexed = SideIndexes.from_rows(table, [BASE], ties, "error").base  # pyright: ignore[reportArgumentType]
        assert indexed is not None
        found = {
            (query, doc): place
            for query, doc, place in zip(
                taken(indexed.queries, indexed.code),
                indexed.docs.all(),
                indexed.numbers["relevance"],
                strict=True,
            )
        }
        assert found == {(query, doc): place for query, doc, _, place in places.rows()}


def test_a_document_twice_in_another_run_is_refused_or_the_best_kept(refusal) -> None:
    base = pl.DataFrame({"query_id": ["u"] * 3, "doc_id": ["b", "a", "b"], "score": [1, 2, 3]})
    asked = {"metrics": "unexpectedness@1", "reference": base}
    refusal(rf.evaluate, None, {"u": {"b": 1.0}}, **asked)
    found = rf.evaluate(None, {"u": {"b": 1.0}}, **asked, duplicates="keep_best")
    assert found["unexpectedness@1"] == 0  # it is the first


def test_only_what_is_asked_for_is_indexed() -> None:
    found = SideIndexes.from_rows(
        combine_sides(QRELS, TRAIN, None).frame.collect(), [TRAINED], "doc_desc", "error"
    )
    assert found.judged is None
    assert found.trained is not None
    assert found.trained.height == 2
