"""Charts of what is shown of a catalogue: corners and shares by hand."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest

import rankframe as rf
from tests.support.chart_cases import counted, rows, said

RUN = {"u1": ["a", "b"], "u2": ["a", "c"], "u3": ["a", "b"], "u4": ["a", "x"]}
ITEMS = ["a", "b", "c", "d", "e"]
TRAIN = pl.DataFrame(
    [(f"u{n}", doc, 1 if doc == "a" else 2) for doc, users in (("a", 9), ("b", 3), ("c", 1))
     for n in range(users)],
    ["user_id", "item_id", "count"], orient="row",
)  # fmt: skip


def test_the_curve_has_a_corner_where_documents_are_shown_more_often(message) -> None:
    chart = rf.plot.exposure(rf.exposure(RUN, items=ITEMS, k=2))
    # d and e never, c once, b twice, a four times
    corners = rows(chart, 1)
    assert [row["documents"] for row in corners] == pytest.approx([0, 0.4, 0.6, 0.8, 1])
    assert [row["places"] for row in corners] == pytest.approx([0, 0, 1 / 7, 3 / 7, 1])
    message(said(chart))


def test_the_gini_is_that_of_the_metric_and_twice_the_area() -> None:
    frames = counted()
    for name, frame in frames.items():
        (label,) = {row["system"] for row in rows(rf.plot.exposure({name: frame}), 1)}
        value = frame.select(rf.gini(k=5)).collect().item()
        assert label == f"{name} (Gini {value:.3f})"
        corners = pl.DataFrame(rows(rf.plot.exposure({name: frame}), 1))
        x, y = corners["documents"], corners["places"]
        below = ((x - x.shift(1)) * (y + y.shift(1)) / 2).sum()
        assert value == pytest.approx(1 - 2 * below, abs=1e-12)


def test_without_a_catalogue_it_is_of_what_is_shown(message) -> None:
    chart = rf.plot.exposure({"mine": rf.exposure(RUN), "other": rf.exposure({"u1": ["a"]})})
    first = [row for row in rows(chart, 1) if row["system"].startswith("mine")]
    assert first[1] == {"system": "mine (Gini 0.417)", "place": 1, "documents": 0.5, "places": 0.25}
    # Of one document alone, there is no such coefficient.
    assert {row["system"] for row in rows(chart, 1)} == {"mine (Gini 0.417)", "other"}
    message(said(chart))
    axis = chart.to_dict()["layer"][1]["encoding"]["x"]["title"]
    message(axis)


def test_shares_by_popularity_add_up_beside_those_of_catalogue_and_train(message) -> None:
    chart = rf.plot.popularity({"mine": rf.exposure(RUN, train=TRAIN, items=ITEMS)})
    found: dict[str, dict[str, float]] = {}
    for row in rows(chart):
        found.setdefault(row["system"], {})[row["users"]] = row["share"]
    ranges = ["0", "1", "2–3", "4–7", "8–9"]
    assert [list(shares) for shares in found.values()] == [ranges] * 3
    assert list(found["mine"].values()) == pytest.approx([1 / 8, 1 / 8, 2 / 8, 0, 4 / 8])
    assert list(found["the catalogue"].values()) == pytest.approx([2 / 5, 1 / 5, 1 / 5, 0, 1 / 5])
    assert list(found["train"].values()) == pytest.approx([0, 2 / 17, 6 / 17, 0, 9 / 17])
    message(said(chart))
    assert "the catalogue (5 documents)" in said(chart)


def test_a_system_may_be_called_like_what_stands_beside() -> None:
    frame = rf.exposure(RUN, train=TRAIN)
    chart = rf.plot.popularity({"train": frame, "x": frame})
    systems = dict.fromkeys(row["system"] for row in rows(chart))
    assert list(systems) == ["train", "x", "the catalogue", "train's own"]


@pytest.mark.parametrize("highest", [1, 2, 2047, 2048, 10**7])
def test_ranges_are_few_whole_and_without_gaps(highest: int) -> None:
    frame = rf.exposure(RUN, train=TRAIN).collect()
    frame = frame.with_columns(popularity=pl.lit(highest))
    users = list(dict.fromkeys(row["users"] for row in rows(rf.plot.popularity(frame))))
    ends = [[int(part) for part in one.replace(",", "").split("–")] for one in users]
    assert len(users) <= 13
    assert ends[0] == [0]
    assert ends[-1][-1] == highest
    assert all(before[-1] + 1 == after[0] for before, after in pairwise(ends))


def test_what_cannot_be_drawn_is_refused(refusal) -> None:
    for draw in (rf.plot.exposure, rf.plot.popularity):
        refusal(draw, {})
        refusal(draw, {"x": [1]})
        lacking = pl.DataFrame({"doc_id": ["a"]})
        refusal(draw, {"x": lacking})
    refusal(rf.plot.popularity, rf.exposure(RUN))
    refusal(rf.plot.exposure, rf.exposure(RUN, items=["elsewhere"]))
    nothing = rf.exposure(RUN, train=TRAIN).with_columns(retrieved=pl.lit(0))
    refusal(rf.plot.popularity, nothing)
