"""The data that ships is found, under names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.io.sources import examples

DATA = Path(__file__).parents[3] / "data"


@pytest.mark.parametrize("name", ["shop", "movies"])
def test_every_file_that_ships_has_a_name(name: Any) -> None:
    found = rf.example(name)
    tables = {found.queries, found.train, found.items} - {None}
    named = {found.qrels, *found.runs.values(), *tables}
    assert named == set(found.folder.iterdir())
    assert found.folder == DATA / name


def test_what_they_hold_is_read_as_it_is() -> None:
    movies = rf.example("movies")
    assert movies.queries is None
    values = {
        name: rf.evaluate(movies.qrels, run, "ndcg@10", rel=4, ci=None)["ndcg@10"] or 0.0
        for name, run in movies.runs.items()
    }
    assert 0 < values["item_based"] < values["popular"] < values["als"]
    train, items = pl.read_parquet(movies.train or ""), pl.read_parquet(movies.items or "")
    assert set(train["item_id"]) <= set(items["item_id"])
    # What users had rated is neither held out nor recommended.
    for path in (movies.qrels, *movies.runs.values()):
        again = pl.read_parquet(path).join(train, on=["user_id", "item_id"])
        assert again.is_empty(), path.name
    shop = rf.example("shop")
    assert shop.queries is not None
    assert {"query_id", "locale", "device"} <= set(pl.read_parquet_schema(shop.queries))


def test_in_an_installed_package_they_lie_inside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal
) -> None:
    package = tmp_path / "rankframe"
    (package / "io" / "sources").mkdir(parents=True)
    monkeypatch.setattr(examples, "__file__", str(package / "io" / "sources" / "examples.py"))
    refusal(rf.example, "shop")
    (package / "data").symlink_to(DATA)
    assert rf.example("shop").folder == package / "data" / "shop"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shops", "name='shops' is not one of 'shop', 'movies'. Did you mean 'shop'?"),
        ("", "name='' is not one of"),
        (["shop"], "name=['shop'] is not one of"),
    ],
)
def test_another_name_is_refused(name: Any, said: str) -> None:
    with pytest.raises(rf.RankframeError) as refused:
        rf.example(name)
    assert str(refused.value).startswith(said)
