"""Attributes whose text lists values: refused where values count, split on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from tests.cli.shell import rankframe

QRELS = {"q": {"a": 1, "c": 1}}
RUN = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
ITEMS = pl.DataFrame(
    {
        "doc_id": ["a", "b", "c"],
        "genres": ["Action|Romance", "Action", "Romance | Drama|"],
        "place": ["Rome, Italy", "Paris, France", "Oslo, Norway"],
    }
)
LISTS = ITEMS.with_columns(
    pl.Series("genres", [["Action", "Romance"], ["Action"], ["Romance", "Drama"]])
)
TRAIN = [{"query_id": "q", "doc_id": "b"}]
METRICS = [
    "diversity(by=genres, kind=entropy)@3", "diversity(by=genres, kind=pairs)@3",
    "calibration(by=genres)@3", "exposure_share(by=genres, value=Action)@3",
    "exposure_gap(by=genres)@3",
]  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
def test_text_that_lists_values_is_refused_with_advice(metric: str, refusal) -> None:
    said = refusal(rf.evaluate, QRELS, RUN, metric, items=ITEMS, train=TRAIN)
    assert "2 of 3 distinct values have '|', e.g. 'Action|Romance'" in said
    assert 'split={"genres": "|"}' in said


@pytest.mark.parametrize("metric", METRICS)
def test_split_texts_are_lists(metric: str) -> None:
    sides: dict[str, Any] = {"train": TRAIN, "items_by": "genres"}
    expected = rf.evaluate(QRELS, RUN, metric, items=LISTS, **sides)
    split = rf.evaluate(QRELS, RUN, metric, items=ITEMS, split={"genres": "|"}, **sides)
    assert split.means == expected.means
    assert split.items.equals(expected.items)
    whole = rf.evaluate(QRELS, RUN, metric, items=ITEMS, split={"genres": None}, **sides)
    assert whole.items["slice"].to_list() == ["Action", "Action|Romance", "Romance | Drama|"]


def test_slices_of_items_are_refused_too(refusal) -> None:
    said = refusal(rf.evaluate, QRELS, RUN, "coverage@3", items=ITEMS, items_by="genres")
    assert "look like lists" in said


@pytest.mark.parametrize(
    ("values", "mark"),
    [
        (["x;y", "y;z", "x;z", "x;y;z"], ";"),
        (["x, y", "y, z", "x, z", "x,y,z"], ","),
        (["Rome, Italy", "Paris, France", "Lyon, France", "Oslo"], None),
        (["A|B", "C", "D"], None),
        (["Smith, Inc", "Jones, Inc", "Marx", "Wells"], None),
        ([None, None, None, None], None),
    ],
)
def test_what_looks_like_lists(values: list[str], mark: str | None, refusal) -> None:
    items = pl.DataFrame({"doc_id": list("abcd")[: len(values)], "tags": values})
    items = items.with_columns(pl.col("tags").cast(pl.String))
    if mark is None:
        rf.evaluate(QRELS, RUN, "diversity(by=tags)@3", items=items)
    else:
        said = refusal(rf.evaluate, QRELS, RUN, "diversity(by=tags)@3", items=items)
        assert f'split={{"tags": "{mark}"}}' in said


@pytest.mark.parametrize("split", [{"x": "|"}, 3, {"genres": ""}, {1: "|"}, {"doc_id": "|"}])
def test_what_cannot_be_split_is_refused(split: Any, refusal) -> None:
    said = refusal(rf.evaluate, QRELS, RUN, METRICS[0], items=ITEMS, split=split)
    assert "split" in said
    assert "is no text" in refusal(
        rf.evaluate, QRELS, RUN, METRICS[0], items=LISTS, split={"genres": "|"}
    )


def test_every_function_that_takes_items_splits_them() -> None:
    options: dict[str, Any] = {"items": ITEMS, "split": {"genres": "|"}}
    metrics = [METRICS[0], "ndcg@3"]
    rf.compare(QRELS, {"x": RUN, "y": RUN}, metrics, **options)
    frame = rf.retrieved(RUN, **options).collect()
    assert frame.height == 3
    assert rf.exposure(RUN, **options).collect().height == 3


def test_the_shell_splits(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.csv" for name in ("qrels", "run", "items")]
    rows = {"query_id": ["q"] * 3, "doc_id": list("abc")}
    pl.DataFrame({**rows, "relevance": [1, 0, 1]}).write_csv(paths[0])
    pl.DataFrame({**rows, "score": [3, 2, 1]}).write_csv(paths[1])
    ITEMS.write_csv(paths[2])
    call = ("evaluate", *paths[:2], "-m", METRICS[3], "--items", paths[2])
    assert "--split 'genres=|'" in rankframe(*call)[2]
    code, out, _ = rankframe(*call, "--split", "genres=|", "--format", "csv")
    whole = rankframe(*call, "--split", "genres=", "--format", "csv")
    assert code == whole[0] == 0
    assert "0.765" in out
    assert out != whole[1]
