"""What charts share: lines that are thinned, colours, and what is missing."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.present.charts import marks
from rankframe.present.charts.canvas import Canvas
from rankframe.present.charts.palette import COLOURS, GREY, GROUNDS
from tests.support.chart_cases import DRAWN, rows, said


def test_long_curves_are_thinned() -> None:
    many = pl.DataFrame({"fpr": [n / 99_999 for n in range(100_000)]}).with_columns(
        tpr=pl.col("fpr").sqrt(), threshold=-pl.col("fpr"), fp=pl.lit(0), tp=pl.lit(0)
    )
    assert len(rows(rf.plot.roc({"a": many, "b": many}), 1)) <= 4_000


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, refusal) -> None:
    import builtins

    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name == "altair":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    refusal(marks.load_altair)


def test_short_curves_are_drawn_as_they_are() -> None:
    points = pl.DataFrame({"x": [0.0, 0.5, 1.0], "y": [0.0, 1.0, 1.0]})
    chart = Canvas().lines({"a": points, "b": points}, "x", "y", ("X", "Y"), shares=True)
    spec = chart.to_dict()
    assert [(row["system"], row["place"], row["x"]) for row in rows(chart)] == [
        (name, at, x) for name in "ab" for at, x in enumerate((0.0, 0.5, 1.0))
    ]
    assert spec["encoding"]["x"]["scale"]["domain"] == [0, 1]
    assert spec["encoding"]["x"]["title"] == "X"
    free = Canvas().lines({"a": points}, "x", "y", ("X", "Y"), shares=False).to_dict()
    assert "domain" not in free["encoding"]["x"]["scale"]
    assert "order" not in free["encoding"]


def test_points_of_another_kind_are_refused(refusal) -> None:
    points = pl.DataFrame({"k": [1], "value": [0.5]})
    refusal(Canvas().lines, {"mine": points}, "k", "tpr", ("", ""), shares=False)
    refusal(Canvas().lines, {}, "k", "value", ("", ""), shares=False)


def test_every_name_has_a_colour_and_they_begin_again() -> None:
    names = [f"s{at}" for at in range(10)]
    scale = marks.colour(names).to_dict()["scale"]
    assert scale["domain"] == names
    assert scale["range"][:2] == list(COLOURS[:2]) == scale["range"][8:]
    assert len(set(scale["range"][:8])) == 8


def test_rows_travel_inside_and_carry_their_system() -> None:
    frames = {"a": pl.DataFrame({"x": [1], "y": [2]}), "b": pl.DataFrame({"y": [4], "x": [3]})}
    named = marks.named(frames, ["x"])
    assert named == [{"system": "a", "x": 1}, {"system": "b", "x": 3}]
    assert rows(marks.chart_of(named).mark_point()) == named


def test_a_curve_of_one_point_is_seen() -> None:
    points = pl.DataFrame({"k": [1], "value": [0.5]})
    mark = Canvas().lines({"a": points}, "k", "value", ("", ""), shares=False).to_dict()["mark"]
    assert mark["point"] is True
    longer = pl.DataFrame({"k": [1, 2], "value": [0.5, 0.6]})
    mark = Canvas().lines({"a": longer}, "k", "value", ("", ""), shares=False).to_dict()["mark"]
    assert mark["point"] is False


def test_curves_without_points_are_refused(refusal) -> None:
    nothing = pl.DataFrame(schema={"k": pl.Int64, "value": pl.Float64})
    refusal(Canvas().lines, {"mine": nothing}, "k", "value", ("", ""), shares=False)


def test_more_systems_than_colours_have_other_lines() -> None:
    points = pl.DataFrame({"k": [1, 2], "value": [0.5, 0.6]})
    many = (
        Canvas()
        .lines({f"s{at}": points for at in range(9)}, "k", "value", ("", ""), shares=False)
        .to_dict()
    )
    scale = many["encoding"]["strokeDash"]["scale"]
    assert scale["range"][0] == [1, 0] != scale["range"][8]


@pytest.mark.parametrize("name", sorted(set(DRAWN) - {"plain"}))
def test_every_chart_has_a_title_and_takes_its_look(name: str) -> None:
    chart = DRAWN[name](title="Mine", width=333, height=222, theme="dark")
    spec = chart.to_dict()
    assert spec["title"]["text"] == ["Mine"]
    assert spec["title"]["subtitle"]
    assert spec["config"]["background"] == GROUNDS["dark"].background
    assert GREY not in str(spec)
    assert (spec.get("spec") or spec)["width"] == 333


def test_a_chart_is_light_unless_told_otherwise_and_may_have_no_title() -> None:
    own = rf.plot.discounts(3).to_dict()
    assert own["title"]["text"] == ["The weight of each rank"]
    assert own["config"]["background"] == "white"
    assert own["config"]["axis"]["labelColor"] == GREY
    assert "title" not in rf.plot.discounts(3, title="").to_dict()


def test_what_the_look_cannot_be_is_refused(refusal) -> None:
    wrong: list[dict[str, Any]] = [
        {"width": 3},
        {"height": "tall"},
        {"theme": "sepia"},
        {"title": 3},
    ]
    for look in wrong:
        refusal(rf.plot.discounts, 3, **look)
    with pytest.raises(TypeError, match="titel"):
        rf.plot.discounts(3, titel="x")  # pyright: ignore[reportCallIssue]


def test_long_titles_are_folded_and_none_is_cut() -> None:
    words = " ".join(f"word{at}" for at in range(40))
    spec = rf.plot.discounts(3, title=words).to_dict()
    assert len(spec["title"]["text"]) > 3
    assert " ".join(spec["title"]["text"]) == words
    lines = rf.plot.discounts(3, title="x" * 500, width=200).to_dict()["title"]["text"]
    assert "".join(lines) == "x" * 500
    assert max(map(len, lines)) <= 34


def test_a_title_is_plain_text() -> None:
    assert said(rf.plot.discounts(3, title="a\nb\x1b[1m\u202e")).startswith(r"a\nb\x1b[1m\u202e")


def test_sizes_are_those_of_the_look_or_the_usual_ones() -> None:
    assert (Canvas().wide(10), Canvas().high(20)) == (10, 20)
    assert (Canvas(width=50).wide(10), Canvas(height=60).high(20)) == (50, 60)
