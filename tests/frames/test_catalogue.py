"""What is known of documents: popularity, attributes, and what the catalogue is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.core.columns import ColumnRequest
from rankframe.frames.catalogue import Catalogue, Trained
from rankframe.io.inputs import open_train
from rankframe.kernel.batch import text_hashes

TRAIN = pl.DataFrame(
    {"user": ["u", "u", "v", "v", "w"], "item": ["a", "a", "a", "b", "c"], "count": [1, 2, 1, 1, 5]}
)
TRAINED = Trained.from_train(open_train(TRAIN))
KNOWN = Catalogue.from_inputs(TRAINED, pl.DataFrame({"sku": ["c", "d"], "price": [1.0, 2.0]}), None)


def test_counts_of_train() -> None:
    assert KNOWN.docs.to_list() == ["a", "b", "c", "d"]
    assert KNOWN.popularity.tolist() == [2, 1, 1, 0]
    assert KNOWN.interactions.tolist() == [4, 1, 5, 0]
    assert (KNOWN.train_queries, KNOWN.train_interactions) == (3, 10.0)
    assert KNOWN.popularity_rank.tolist() == [1, 2, 2, 0]
    assert KNOWN.more_popular.tolist() == [0.5, 0.9, 0.0, 1.0]


def test_train_is_counted_the_same_within_a_limit_and_where_keys_are_equal_by_chance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    within = Trained.from_train(open_train(TRAIN, limit=1 << 30))
    assert within.queries == TRAINED.queries
    assert within.documents.sort("doc_id").equals(TRAINED.documents.sort("doc_id"))
    real = pl.Expr.hash
    monkeypatch.setattr(pl.Expr, "hash", lambda self, seed=0: real(self, seed) * 0)
    poor = Trained.from_train(open_train(TRAIN))
    assert poor.documents.sort("doc_id").equals(TRAINED.documents.sort("doc_id"))


def test_the_catalogue_is_items_or_train_or_what_is_given() -> None:
    assert KNOWN.inside.tolist() == [False, False, True, True]
    assert Catalogue.from_inputs(TRAINED, None, None).inside.all()
    given = Catalogue.from_inputs(TRAINED, ["c"], ["a", "q"])
    assert dict(zip(given.docs, given.inside, strict=True)) == {
        "a": True, "b": False, "c": False, "q": True,
    }  # fmt: skip
    assert not Catalogue.from_inputs(None, None, None).is_listed


def test_documents_are_found_by_their_text() -> None:
    asked = pl.Series("doc_id", ["d", "x", "a"])
    assert KNOWN.find(text_hashes("doc_id", asked), asked).tolist() == [3, -1, 0]
    # Hashes that are equal by chance: the text decides.
    assert KNOWN.find(text_hashes("doc_id", pl.Series(["a"] * 3)), asked).tolist() == [3, -1, 0]
    assert (
        Catalogue.from_inputs(None, None, None).find(np.zeros(2, np.uint64), asked[:2]).tolist()
        == [-1] * 2
    )


def test_attributes(refusal) -> None:
    assert KNOWN.attribute("price").to_list() == [None, None, 1.0, 2.0]
    refusal(KNOWN.attribute, "prize")


def test_an_attribute_may_be_called_like_a_column_with_a_parameter() -> None:
    items = {"doc_id": ["a", "b"], "genre": ["x", "y"], "new": [1, 2], "genre_top10": [1, 1]}
    frame = Catalogue.from_inputs(None, pl.DataFrame(items), None).frame
    whole = ColumnRequest("divergence", attribute="genre_top10")
    assert frame.request("divergence_of_genre_top10") == whole
    cut = ColumnRequest("divergence", attribute="genre", k=5)
    assert frame.request("divergence_of_genre_top5") == cut
    assert frame.request("new") == ColumnRequest("new")
    assert frame.request("new_of_genre") == ColumnRequest("new", attribute="genre")
    found = rf.evaluate(None, {"q": ["a", "b"]}, "diversity(by=genre)@2", items=pl.DataFrame(items))
    assert found["diversity(by=genre)@2"] == 1.0


def test_columns_can_be_named(refusal) -> None:
    items = pl.DataFrame({"code": ["a"], "doc_id": [5]})
    found = Catalogue.from_inputs(None, items, None, {"items": {"doc_id": "code"}})
    assert found.docs.to_list() == ["a"]
    refusal(Catalogue.from_inputs, None, pl.DataFrame({"doc_id": ["a", None]}), None)
