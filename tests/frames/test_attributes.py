"""What a list of documents makes of their attributes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankframe.frames.attributes import (
    ListedValues,
    Values,
    Vectors,
    cosines,
    divergence,
    rows_above,
)

GENRES = Values.from_series(pl.Series("genres", [["a", "b", "b"], ["b"], [], None, ["c"]]))
# Two lists: documents 0, 1, an unknown one, 2; and 1, 4, 0.
CODE = np.array([0, 0, 0, 0, 1, 1, 1])
DOCS = np.array([0, 1, -1, 2, 1, 4, 0])
MIX = ListedValues(GENRES, CODE, DOCS)


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
    single = ListedValues(
        Values.from_series(pl.Series("g", ["x", "y", "x", None])), np.zeros(4, int), np.arange(4)
    )
    assert single.unlike().tolist() == [0, 1, 1, 0]
    assert single.pairs().tolist() == [0, 1, 2, 0]


def test_vectors_have_length_1_or_none() -> None:
    vectors = Vectors.from_series(pl.Series("v", [[3.0, 4.0], None, [0.0, 0.0], [0.0, 2.0]]))
    known = vectors.look_up(np.array([0, 1, -1, 2, 3]))
    assert known.tolist() == [True, False, False, False, True]
    found = cosines(vectors, known, np.zeros(5, int), np.array([0, 1, -1, 2, 3]))
    assert found.tolist() == [0, 0, 0, 0, 0.8]


def test_rows_above() -> None:
    known = np.array([True, False, True, True, True])
    assert rows_above(known, np.array([0, 0, 0, 1, 1])).tolist() == [0, 0, 1, 0, 1]


def test_divergence_by_hand() -> None:
    values = Values.from_series(pl.Series("g", ["x", "y"]))
    shown = (np.array([0, 0]), np.array([0, 1]))
    train = (np.array([0, 1]), np.array([0, -1]), np.array([2.0, 1.0]))
    found = divergence(values, shown, train, 2)
    assert found[0] == pytest.approx(-np.log(0.505), abs=1e-15)
    assert np.isnan(found[1])  # of what it has in train, nothing is known


def random_lists(
    seed: int, lists: int = 40
) -> tuple[Values, np.ndarray, np.ndarray, np.random.Generator]:
    """Values of 50 documents, lists of some of them or of unknown ones, and what users had."""
    draw = np.random.default_rng(seed)
    sets = [draw.choice(list("abcdefg"), draw.integers(0, 5)).tolist() for _ in range(50)]
    code = np.sort(draw.integers(0, lists, 300))
    return Values.from_series(pl.Series("v", sets)), code, draw.integers(-1, 50, 300), draw


@pytest.mark.parametrize("seed", range(5))
def test_new_values_are_the_same_by_bits_and_by_sorting(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, code, docs, _ = random_lists(seed)
    by_bits = ListedValues(values, code, docs).new()
    for name in ("_MOST_BITS", "_MOST_PLACES"):
        with monkeypatch.context() as patch:
            patch.setattr(f"rankframe.frames.attributes.{name}", 0)
            assert ListedValues(values, code, docs).new().tolist() == by_bits.tolist()
    met: dict[int, set[int]] = {}
    for list_, doc, found in zip(code.tolist(), docs.tolist(), by_bits.tolist(), strict=True):
        first = int(values.starts[doc])
        mine = (
            set(values.numbers[first : first + values.lengths[doc]].tolist()) if doc >= 0 else set()
        )
        assert found == len(mine - met.setdefault(list_, set()))
        met[list_] |= mine


def test_new_values_where_there_are_more_than_bits_of_a_number() -> None:
    values = Values.from_series(pl.Series("v", [f"{number:02}" for number in range(70)]))
    docs = np.array([*range(70), 3, 69])
    found = ListedValues(values, np.zeros(72, np.int64), docs).new()
    assert found.tolist() == [1] * 70 + [0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_divergence_has_the_same_bits_whatever_the_table_and_the_order_of_rows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, code, docs, draw = random_lists(seed)
    owner, had = draw.integers(0, 40, 500), draw.integers(-1, 50, 500)
    often = draw.integers(1, 4, 500).astype(np.float64)

    def found() -> np.ndarray:
        order = draw.permutation(500)
        return divergence(values, (code, docs), (owner[order], had[order], often[order]), 40)

    expected = found()
    assert np.array_equal(found(), expected, equal_nan=True)
    module = "rankframe.frames.attributes"
    monkeypatch.setattr(f"{module}._FEW_CELLS", -1)
    with monkeypatch.context() as patch:
        patch.setattr(f"{module}._ROOM", 0)  # sparse
        assert np.array_equal(found(), expected, equal_nan=True)
    # Where shares are no whole numbers: sorted first.
    monkeypatch.setattr(f"{module}._EXACT", 0.0)
    rounded = found()
    assert np.array_equal(found(), rounded, equal_nan=True)
    np.testing.assert_allclose(rounded, expected, rtol=1e-13)


@pytest.mark.parametrize(
    "column",
    [
        [[1.0, 2.0], [1.0]],
        [["a"]],
        [[1.0, float("nan")]],
        [1.0],
    ],
)
def test_what_is_no_vector_is_refused(column: list, refusal) -> None:
    refusal(Vectors.from_series, pl.Series("v", column))


def test_structs_are_no_values(refusal) -> None:
    refusal(Values.from_series, pl.Series("s", [{"a": 1}]))
