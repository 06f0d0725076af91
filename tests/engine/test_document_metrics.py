"""Metrics over documents and slices of documents: counts that add up, and their intervals."""

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.engine.document_metrics import Aggregate, OverDocuments
from rankframe.engine.result import Result
from rankframe.metrics.names import resolve
from tests.support import retrieved_by_definition as by
from tests.support.retrieved import shop
from tests.support.retrieved_by_definition import Case
from tests.support.retrieved_cases import frames, recorded_cases, with_gaps
from tests.support.retrieved_pieces import everywhere

SHOP = shop(5)
NAMES = ["coverage@5", "gini@5", "entropy@5", "entropy"]


def counted(run: Any) -> OverDocuments:
    found: Result = rf.evaluate(None, run, NAMES, items=SHOP.items)
    assert found.over_documents is not None
    return found.over_documents


WHOLE = counted(SHOP.run)
METRICS = resolve(NAMES, "documents")


def test_counts_of_different_queries_add_up_and_travel() -> None:
    first = SHOP.run["query_id"] < "u2"
    parts = [counted(SHOP.run.filter(some)).exposure for some in (first, ~first)]
    sent = [pickle.loads(pickle.dumps(part)) for part in parts]
    both = OverDocuments(sent[0].merge(sent[1]), WHOLE.catalogue)
    assert both.aggregate(METRICS, groups=True) == WHOLE.aggregate(METRICS, groups=True)


def test_an_interval_is_about_the_value() -> None:
    coverage, *others = WHOLE.aggregate(METRICS, groups=True)
    assert coverage.bounds(0.95) is None  # all documents are shown
    for one in others:
        low, high = one.bounds(0.95) or pytest.fail("there is none")
        assert one.value is not None
        assert low <= one.value <= high
    assert all(one.bounds(0.95) is None for one in WHOLE.aggregate(METRICS))


def test_the_error_is_that_of_a_mean_where_it_is_one() -> None:
    # Of equal groups, leaving out each in turn gives the usual standard error of a mean.
    groups = np.array([1.0, 4.0, 2.0, 7.0])
    without = tuple((groups.sum() - groups) / 3)
    one = Aggregate(float(groups.mean()), 40, without, (10,) * 4)
    assert one.error == pytest.approx(groups.std(ddof=1) / 2, abs=1e-12)
    assert one.less(one).value == 0.0
    assert one.less(one).p_value == 1.0
    assert one.less(Aggregate(None, 0)).value is None


def test_few_lists_have_no_interval() -> None:
    found = rf.evaluate(None, {"u": ["a"], "v": ["b"]}, "entropy")
    assert found.summary.select("value", "ci_low", "ci_high").row(0) == (1.0, None, None)


ITEMS = pl.DataFrame(
    {
        "doc_id": list("abcdef"),
        "genre": [["x"], ["x", "y"], ["y"], None, [], ["z"]],
        "year": [10, 2, 2, 10, None, 3],
    }
)
RUN = {"q1": {"a": 4.0, "b": 3.0, "e": 2.0, "strange": 1.0}, "q2": {"b": 2.0, "a": 1.0}}
QRELS = {"q1": {"a": 1, "strange": 1, "c": 1}, "q3": {"c": 1}}
TRAIN = pl.DataFrame(
    {"query_id": ["q1", "q1", "q2", "q3", "q4"], "doc_id": ["a", "b", "a", "a", "a"]}
)


def test_by_hand() -> None:
    asked: dict[str, Any] = {"items": ITEMS, "train": TRAIN, "items_by": ["genre", "year"]}
    found = rf.evaluate(QRELS, RUN, ["ndcg@3"], **asked)
    second, third = 1 / math.log2(3), 1 / 2
    whole = 2 + 2 * second + third
    columns = ["slice", "documents", "documents_retrieved", "coverage", "times_retrieved", "hits"]
    genres = found.items.filter(by="genre")
    assert genres.select(columns).rows() == [
        ("x", 2, 2, 1.0, 4, 1), ("y", 2, 1, 0.5, 2, 0), ("z", 1, 0, 0.0, 0, 0),
        ("(none)", 2, 1, 0.5, 1, 0),
    ]  # fmt: skip
    assert genres["share_of_places"].to_list() == [0.6, 0.2, 0.0, 0.2]
    half = (1 + second) / 2  # of b, which has two genres
    assert genres["share_of_exposure"].to_list() == pytest.approx(
        [(1 + second + half) / whole, half / whole, 0, third / whole]
    )
    assert genres["share_of_hits"].to_list() == [1.0, 0.0, 0.0, 0.0]
    assert found.items.filter(by="year")["slice"].to_list() == ["2", "3", "10", "(none)"]
    # Unjudged queries have no values because of slices of items, and the cutoff is said.
    assert found.per_query["query_id"].to_list() == ["q1", "q3"]
    assert found.count("items_k") == 3
    assert rf.evaluate(QRELS, RUN, "map", items=ITEMS, items_by="year").count("items_k") == 10


def test_popularity_is_an_attribute() -> None:
    """Head, tail and cold; what nobody knows is cold."""
    asked: dict[str, Any] = {"train": TRAIN, "items_by": "popularity"}
    found = rf.evaluate(None, RUN, ["novelty@4"], items=ITEMS, **asked).items
    columns = ["slice", "documents", "documents_retrieved", "times_retrieved", "hits"]
    assert found.select(columns).rows() == [
        ("head", 1, 1, 2, None), ("tail", 1, 1, 2, None), ("cold", 4, 2, 2, None),
    ]  # fmt: skip
    warm = rf.evaluate(None, RUN, ["novelty@4"], **asked).items
    assert warm.select(columns).row(2) == ("cold", 0, 2, 2, None)
    assert warm["coverage"].to_list() == [1.0, 1.0, None]


def plainly(case: Case, name: str, k: int) -> dict[str, list[float]]:
    """Of each value: documents, shown, times, places, exposure and hits, the last in parts."""
    found: dict[str, list[float]] = {}
    shown = {doc for docs in case["run"].values() for doc in docs[:k]}

    def add(doc: str, at: int, amount: float, *, parts: bool = False) -> None:
        values = by.values(case, doc, name) or {"(none)"}
        for value in values:
            row = found.setdefault(value, [0.0] * 6)
            row[at] += amount / (len(values) if parts else 1)

    for doc in case["items"]:
        add(doc, 0, 1)
    for doc in shown:
        add(doc, 1, 1)
    for user, docs in case["run"].items():
        for rank, doc in enumerate(docs[:k], 1):
            add(doc, 2, 1)
            add(doc, 3, 1, parts=True)
            add(doc, 4, 1 / math.log2(rank + 1), parts=True)
            add(doc, 5, case["qrels"].get(user, {}).get(doc, 0) > 0)
    return found


def test_counted_plainly_wherever_rows_are() -> None:
    for case in recorded_cases().values():
        gaps = with_gaps(case)
        tables = frames(gaps)
        asked = {"items": tables["items"], "items_by": ["genre", "genres"]}
        found = everywhere(tables["qrels"], tables["run"], ["ndcg@4", "coverage@2"], **asked)
        for name in ("genre", "genres"):
            expected = plainly(gaps, name, 4)
            rows = found.items.filter(by=name)
            assert sorted(rows["slice"]) == sorted(expected)
            sums = [sum(row[at] for row in expected.values()) for at in range(6)]
            for row in rows.to_dicts():
                whole = expected[row["slice"]]
                counts = [
                    row[c] for c in ("documents", "documents_retrieved", "times_retrieved", "hits")
                ]
                assert counts == [whole[0], whole[1], whole[2], whole[5]]
                assert row["share_of_places"] == pytest.approx(whole[3] / sums[3])
                assert row["share_of_exposure"] == pytest.approx(whole[4] / sums[4])


def test_written_and_read(tmp_path: Path) -> None:
    options: dict[str, Any] = {"items": ITEMS, "items_by": ["genre"]}
    found = rf.evaluate(QRELS, RUN, "ndcg@3", **options, output=tmp_path / "out")
    assert found.items.height == 4
    assert found.to_arrow("items").num_rows == 4
    plain = rf.evaluate(QRELS, RUN, "ndcg@3", output=tmp_path / "plain")
    assert plain.items.is_empty()
    assert not (tmp_path / "plain" / "items.parquet").exists()
    nothing = rf.evaluate(QRELS, RUN, "ndcg@3", no_overlap="zero", **options, k_max=1)
    assert nothing.items["times_retrieved"].sum() == 3  # a and b; b counts twice


@pytest.mark.parametrize(
    "asked",
    [
        "popularity",
        [],
        "color",
        ["year", "year"],
        3,
    ],
)
def test_what_makes_no_slices_is_refused(asked: Any, refusal) -> None:
    refusal(rf.evaluate, QRELS, RUN, "ndcg@3", items=ITEMS, items_by=asked)


def test_too_many_slices_are_refused(refusal) -> None:
    many = pl.DataFrame({"doc_id": [f"d{n}" for n in range(1_001)]}).with_columns(
        own=pl.col("doc_id"), none=pl.lit("(none)")
    )
    for name in ("own", "none"):
        refusal(rf.evaluate, QRELS, RUN, "ndcg@3", items=many, items_by=name)
