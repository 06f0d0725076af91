"""The documents frame: counts by hand, and what is known of documents."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.columns import DOCUMENTS_FRAME
from tests.support.oracles import random_case

CASE = random_case(3)
TRAIN = pl.DataFrame(
    {
        "user_id": ["u1", "u1", "u2", "u3"],
        "item_id": ["a", "b", "a", "z"],
        "count": [2, 1, 3, 1],
    }
)
RUN = {"u1": ["a", "b", "c"], "u2": ["b", "x"], "u3": ["a"]}


def rows(frame: pl.LazyFrame, *columns: str) -> list[tuple[Any, ...]]:
    return frame.select("doc_id", *columns).collect().rows()


@pytest.mark.parametrize("k", [None, 1, 3])
def test_counts_are_those_of_the_lists(k: int | None, tmp_path: Path) -> None:
    ordered = [sorted(docs, key=lambda doc: (docs[doc], doc))[::-1] for docs in CASE.run.values()]
    tops = [docs[:k] for docs in ordered if docs]
    expected = Counter(doc for top in tops for doc in top)
    found = rf.exposure(CASE.run, k=k)
    assert rows(found, "shown", "lists") == [
        (doc, expected[doc], len(tops)) for doc in sorted(expected)
    ]
    assert found.collect_schema()["in_catalogue"] == pl.Boolean
    known = found.select("in_catalogue", "popularity", "interactions").collect()
    assert known.null_count().row(0) == (len(expected),) * 3
    table = pl.DataFrame(
        [(q, doc, score) for q, docs in CASE.run.items() for doc, score in docs.items()],
        ["query_id", "doc_id", "score"],
        orient="row",
    )
    table.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(tmp_path / "run.parquet")
    assert rf.exposure(tmp_path / "run.parquet", k=k).collect().equals(found.collect())


def test_what_is_known_of_documents_stands_beside() -> None:
    found = rf.exposure(RUN, train=TRAIN, items=["a", "b", "c", "d"], k=2)
    assert rows(found, "in_catalogue", "popularity", "interactions", "shown") == [
        ("a", True, 2, 5.0, 2),
        ("b", True, 1, 1.0, 2),
        ("c", True, 0, 0.0, 0),
        ("d", True, 0, 0.0, 0),
        ("x", False, 0, 0.0, 1),
        ("z", False, 1, 1.0, 0),
    ]
    own = rf.exposure(RUN, train=TRAIN)
    assert own.filter("in_catalogue").select("doc_id").collect()["doc_id"].to_list() == [
        "a", "b", "z",
    ]  # fmt: skip
    few = rf.exposure(RUN, train=TRAIN, catalogue=["c"], exclude_seen=True)
    assert rows(few.filter(pl.col("shown") > 0), "in_catalogue", "shown") == [
        ("a", False, 1), ("b", False, 1), ("c", True, 1), ("x", False, 1),
    ]  # fmt: skip


def test_metrics_over_documents_are_expressions_over_it() -> None:
    names = ["coverage@2", "gini@2", "entropy@2", "personalisation@2"]
    result = rf.evaluate(None, RUN, names, train=TRAIN, ci=None)
    counted = rf.exposure(RUN, train=TRAIN, k=2)
    values = counted.select(
        rf.coverage(k=2),
        gini=rf.gini(k=2),
        entropy=rf.entropy(k=2),
        personalisation=rf.personalisation(k=2),
    ).collect()
    assert values.row(0) == tuple(result[name] for name in names)
    assert counted.select(rf.coverage()).collect().item() == values.row(0)[0]


def test_only_what_is_asked_for_is_there() -> None:
    assert rf.exposure(RUN).collect_schema().names() == list(DOCUMENTS_FRAME.columns)
    assert rf.exposure(RUN, k=3).collect_schema().names()[-2:] == ["shown_top3", "lists_top3"]


def test_what_is_wrong_is_refused(refusal) -> None:
    def documents(**options: Any) -> pl.LazyFrame:
        return rf.exposure(RUN, **options)

    assert "k must be a whole number of at least 1, not 0." in refusal(lambda: documents(k=0))
    assert "exclude_seen=True needs train." in refusal(lambda: documents(exclude_seen=True))
    assert "ties='best' is not one of" in refusal(lambda: documents(ties="best"))
    assert "items has no rows" in refusal(lambda: documents(items=[]).collect())
