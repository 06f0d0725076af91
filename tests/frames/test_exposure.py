"""What the values of an attribute get of the attention: by hand, by definition, in any pieces."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.frames.attributes import Values, ValueSets
from rankframe.frames.exposure import ValueExposure, discounted_counts
from tests.support import retrieved_by_definition as by
from tests.support.retrieved_cases import frames, recorded_cases, with_gaps
from tests.support.retrieved_pieces import everywhere

ITEMS = pl.DataFrame({"doc_id": ["a", "b", "c", "d"], "genre": ["x", "x", "y", "y"]})
GAP = "exposure_gap(by=genre)@2"


def test_documents_are_grouped_by_their_sets_of_values() -> None:
    attribute = pl.Series([["y", "x"], ["x"], None, [], ["x", "y", "x"], ["z"]])
    sets = ValueSets.from_values(Values.from_series(attribute))
    assert sets.names.to_list() == ["x", "y", "z"]
    assert sets.of_documents[2] == sets.of_documents[3] == 0  # no values at all
    assert sets.of_documents[0] == sets.of_documents[4] != 0
    counted = sets.by_set(np.array([3, 1, 7, 1, 1, 2]))
    assert sets.wholes(counted).tolist() == [5, 4, 2]
    assert sets.shares(counted).tolist() == [3.0, 2.0, 2.0]
    assert sets.look_up(np.array([-1, 1])).tolist() == [0, sets.of_documents[1]]


def test_counts_add_up_and_are_cut_at_a_rank() -> None:
    ones = np.array([1, 2, 1, 2])
    parts = [ValueExposure.empty(2, 3, 2, hits=True) for _ in range(2)]
    for part, code in zip(parts, ([0, 0, 1, 1], [0, 0, 0, 0]), strict=True):
        part.add(
            np.array([0, 1, 2, 1]), ones, np.array(code), np.array([0, 1]), [np.array([4, 5])],
            np.array([True, False, True, False]),
        )  # fmt: skip
    both = parts[0] + parts[1]
    assert both.counts.sum(axis=0).tolist() == [[2, 0], [0, 4], [2, 0]]
    assert both.hits is not None
    assert both.hits.tolist() == [[2, 0], [0, 0], [2, 0]]
    assert both.select(0, 5)[0].tolist() == [[0, 0], [0, 1], [1, 0]]
    assert discounted_counts(both.counts.sum(axis=0), 2).tolist() == [2, 4 / math.log2(3), 2]
    assert discounted_counts(both.counts.sum(axis=0), 1).tolist() == [2, 0, 2]


def test_gap_by_hand() -> None:
    one_genre = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 2.0, "a": 1.0}}
    # p = (1, 0), t = m's other half: (½, ½), m = (¾, ¼)
    expected = math.sqrt((math.log2(4 / 3) + math.log2(2 / 3) / 2 + math.log2(2) / 2) / 2)
    assert rf.evaluate(None, one_genre, GAP, items=ITEMS)[GAP] == pytest.approx(expected, abs=1e-15)
    even = {"q1": {"a": 2.0, "c": 1.0}, "q2": {"d": 2.0, "b": 1.0}}
    assert rf.evaluate(None, even, GAP, items=ITEMS)[GAP] == 0.0
    # Nothing that is shown has a value.
    assert rf.evaluate(None, {"q1": {"e": 1.0}}, GAP, items=ITEMS)[GAP] is None


def test_gap_by_definition_wherever_rows_are() -> None:
    labels = [
        "exposure_gap(by=genre)@3", "exposure_gap(by=genres)@5",
        "exposure_gap(by=genres, target=train)@3",
    ]  # fmt: skip
    for case in recorded_cases().values():
        gaps = with_gaps(case)
        tables = frames(gaps)
        expected = [
            by.exposure_gap(gaps, 3, by="genre"),
            by.exposure_gap(gaps, 5, by="genres"),
            by.exposure_gap(gaps, 3, by="genres", target="train"),
        ]
        sides = {"train": tables["train"], "items": tables["items"]}
        users = tables["run"].select("query_id").unique().sort("query_id")
        users = users.with_columns(half=pl.col("query_id").hash(1) % 2)
        found = everywhere(None, tables["run"], labels, **sides, queries=users, by="half")
        assert [found[label] for label in labels] == pytest.approx(expected, abs=1e-12)
        for half in found.slices["slice"].unique():
            some = set(users.filter(pl.col("half") == int(half))["query_id"])
            run = {user: docs for user, docs in gaps["run"].items() if user in some}
            row = found.slices.filter(pl.col("slice") == half, pl.col("metric") == labels[0])
            of_half = by.exposure_gap({**gaps, "run": run}, 3, by="genre")
            assert row["value"].item() == pytest.approx(of_half, abs=1e-12)


@pytest.mark.parametrize(
    "metric",
    [
        "exposure_gap@2",
        "exposure_gap(by=genre)",
        "exposure_gap(by=color)@2",
        "exposure_gap(by=genre, target=train)@2",
        "exposure_gap(by=genre, target=me)@2",
    ],
)
def test_what_is_lacking_is_said(metric: str, refusal) -> None:
    refusal(rf.evaluate, None, {"q": {"a": 1.0}}, metric, items=ITEMS)
