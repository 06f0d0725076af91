"""What a list of documents makes of their attributes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.catalogue.attributes import Mix, Values, Vectors, cosines, divergence, rows_above

GENRES = Values.of(pl.Series("genres", [["a", "b", "b"], ["b"], [], None, ["c"]]))
# Two lists: documents 0, 1, an unknown one, 2; and 1, 4, 0.
CODE = np.array([0, 0, 0, 0, 1, 1, 1])
DOCS = np.array([0, 1, -1, 2, 1, 4, 0])
MIX = Mix(GENRES, CODE, DOCS)


def test_values_of_lists_count_once() -> None:
    assert GENRES.names.to_list() == ["a", "b", "c"]
    assert GENRES.lengths.tolist() == [2, 1, 0, 0, 1]
    assert GENRES.several


def test_what_a_list_makes_of_them() -> None:
    assert MIX.counts.tolist() == [2, 1, 0, 0, 1, 1, 2]
    assert MIX.new().tolist() == [2, 0, 0, 0, 1, 1, 1]
    assert MIX.pairs().tolist() == [0, 1, 0, 0, 0, 1, 2]
    # Of {a, b} and {b}: half in common. Of {a, b}, {b} and {c}: half, and nothing.
    assert MIX.unlike().tolist() == [0, 0.5, 0, 0, 0, 1, 1.5]
    assert MIX.crowd().tolist() == [0, 2, 0, 0, 0, 0, 2]


def test_which_documents_have_a_value() -> None:
    assert GENRES.with_value("b").tolist() == [True, True, False, False, False]
    assert not GENRES.with_value("z").any()


def test_single_values_differ_or_not() -> None:
    single = Mix(Values.of(pl.Series("g", ["x", "y", "x", None])), np.zeros(4, int), np.arange(4))
    assert single.unlike().tolist() == [0, 1, 1, 0]
    assert single.pairs().tolist() == [0, 1, 2, 0]


def test_vectors_have_length_1_or_none() -> None:
    vectors = Vectors.of(pl.Series("v", [[3.0, 4.0], None, [0.0, 0.0], [0.0, 2.0]]))
    known = vectors.of_rows(np.array([0, 1, -1, 2, 3]))
    assert known.tolist() == [True, False, False, False, True]
    found = cosines(vectors, known, np.zeros(5, int), np.array([0, 1, -1, 2, 3]))
    assert found.tolist() == [0, 0, 0, 0, 0.8]


def test_rows_above() -> None:
    known = np.array([True, False, True, True, True])
    assert rows_above(known, np.array([0, 0, 0, 1, 1])).tolist() == [0, 0, 1, 0, 1]


def test_divergence_by_hand() -> None:
    values = Values.of(pl.Series("g", ["x", "y"]))
    shown = (np.array([0, 0]), np.array([0, 1]))
    train = (np.array([0, 1]), np.array([0, -1]), np.array([2.0, 1.0]))
    found = divergence(values, shown, train, 2)
    assert found[0] == pytest.approx(-np.log(0.505), abs=1e-15)
    assert np.isnan(found[1])  # of what it has in train, nothing is known


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([[1.0, 2.0], [1.0]], "different lengths"),
        ([["a"]], "no column of vectors"),
        ([[1.0, float("nan")]], "no finite number"),
        ([1.0], "no column of vectors"),
    ],
)
def test_what_is_no_vector_is_refused(column: list, said: str) -> None:
    with pytest.raises(rf.RankframeError, match=said):
        Vectors.of(pl.Series("v", column))


def test_structs_are_no_values() -> None:
    with pytest.raises(rf.RankframeError, match="neither values nor lists"):
        Values.of(pl.Series("s", [{"a": 1}]))
