"""What charts share: lines that are thinned, colours, and what is missing."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.base.errors import MissingExtraError
from rankframe.plot import canvas
from tests.support.chart_cases import rows


def test_long_curves_are_thinned() -> None:
    many = pl.DataFrame({"fpr": [n / 99_999 for n in range(100_000)]}).with_columns(
        tpr=pl.col("fpr").sqrt(), threshold=-pl.col("fpr"), fp=pl.lit(0), tp=pl.lit(0)
    )
    assert len(rows(rf.plot.roc({"a": many, "b": many}), 1)) <= 4_000


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name == "altair":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankframe\[report\]'"):
        canvas.load_altair()


def test_short_curves_are_drawn_as_they_are() -> None:
    points = pl.DataFrame({"x": [0.0, 0.5, 1.0], "y": [0.0, 1.0, 1.0]})
    chart = canvas.lines({"a": points, "b": points}, "x", "y", ("X", "Y"), shares=True)
    spec = chart.to_dict()
    assert [(row["system"], row["place"], row["x"]) for row in rows(chart)] == [
        (name, at, x) for name in "ab" for at, x in enumerate((0.0, 0.5, 1.0))
    ]
    assert spec["encoding"]["x"]["scale"]["domain"] == [0, 1]
    assert spec["encoding"]["x"]["title"] == "X"
    free = canvas.lines({"a": points}, "x", "y", ("X", "Y"), shares=False).to_dict()
    assert "domain" not in free["encoding"]["x"]["scale"]
    assert "order" not in free["encoding"]


def test_points_of_another_kind_are_refused(refusal) -> None:
    points = pl.DataFrame({"k": [1], "value": [0.5]})
    assert refusal(canvas.lines, {"mine": points}, "k", "tpr", ("", ""), shares=False) == (
        "the points of 'mine' have no column 'tpr': they are of another kind of curve. "
        "They have k, value."
    )
    assert refusal(canvas.lines, {}, "k", "value", ("", ""), shares=False) == (
        "there is no curve to draw."
    )


def test_every_name_has_a_colour_and_they_begin_again() -> None:
    names = [f"s{at}" for at in range(10)]
    scale = canvas.scale_of(names).to_dict()
    assert scale["domain"] == names
    assert scale["range"][:2] == list(canvas.COLOURS[:2]) == scale["range"][8:]
    assert len(set(scale["range"][:8])) == 8


@pytest.mark.parametrize("count", range(8))
def test_shades_go_from_light_to_dark(count: int) -> None:
    found = canvas.shades(count)
    assert len(found) == count
    brightness = [sum(bytes.fromhex(shade[1:])) for shade in found]
    assert brightness == sorted(brightness, reverse=True)
    if 1 < count <= 5:
        assert len(set(found)) == count


def test_rows_travel_inside_and_carry_their_system() -> None:
    frames = {"a": pl.DataFrame({"x": [1], "y": [2]}), "b": pl.DataFrame({"y": [4], "x": [3]})}
    named = canvas.named(frames, ["x"])
    assert named == [{"system": "a", "x": 1}, {"system": "b", "x": 3}]
    assert rows(canvas.chart_of(named).mark_point()) == named
