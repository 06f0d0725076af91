"""Colours: told apart, on either ground."""

from __future__ import annotations

from itertools import combinations

import pytest

from rankframe.present.charts.palette import (
    BETTER,
    COLOURS,
    GROUNDS,
    OTHER,
    RELEVANT,
    SAME,
    UNJUDGED,
    WORSE,
    contrast,
    mixed,
    shades,
    text_on,
)

# What people see who lack a kind of cone: Viénot, Brettel and Mollon, of linear light.
LACKING = {
    "protan": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
    "deutan": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
}


def solid(colour: str) -> str:
    return "#ffffff" if colour == "white" else colour


def seen(colour: str, kind: str | None) -> list[float]:
    light = [(part / 255) ** 2.2 for part in bytes.fromhex(colour[1:])]
    if kind is not None:
        light = [sum(a * b for a, b in zip(row, light, strict=True)) for row in LACKING[kind]]
    return [max(part, 0.0) ** (1 / 2.2) for part in light]


def apart(one: str, other: str, kind: str | None) -> float:
    return max(abs(a - b) for a, b in zip(seen(one, kind), seen(other, kind), strict=True))


@pytest.mark.parametrize("count", range(8))
def test_shades_go_from_light_to_dark(count: int) -> None:
    found = shades(count)
    assert len(found) == len(set(found)) == count
    brightness = [contrast(shade, "#000000") for shade in found]
    assert brightness == sorted(brightness, reverse=True)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_vanishes_in_its_ground(theme) -> None:
    ground = GROUNDS[theme]
    back = solid(ground.background)
    for colour in (*COLOURS, *shades(5), BETTER, WORSE, SAME, RELEVANT, OTHER, UNJUDGED):
        assert contrast(colour, back) > 1.4, colour
    assert contrast(ground.ink, back) > 4.5


@pytest.mark.parametrize("kind", [None, "protan", "deutan"])
def test_what_must_be_told_apart_is(kind: str | None) -> None:
    for one, other in combinations(COLOURS[:6], 2):
        assert apart(one, other, kind) > 0.08, (one, other)
    for colours in ((BETTER, WORSE, SAME), (RELEVANT, OTHER), [UNJUDGED, *shades(5)]):
        for one, other in combinations(colours, 2):
            assert apart(one, other, kind) > 0.08, (one, other)


def test_text_is_read_on_every_shade() -> None:
    for colour in (*shades(5), BETTER, WORSE, UNJUDGED):
        assert contrast(colour, text_on(colour)) > 4.4


def test_a_mixture_lies_between() -> None:
    assert mixed("#000000", "#ff8000", 0) == "#000000"
    assert mixed("#000000", "#ff8000", 1) == "#ff8000"
    assert mixed("#000000", "#ff8000", 0.5) == "#804000"
