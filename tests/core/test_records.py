"""Records: compared, hashed and shown as dataclasses are, by their fields."""

from __future__ import annotations

import pickle
import re
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path

import pytest

import rankframe as rf
from rankframe.core.records import record

# What users hold, whose changes are refused as they run.
FROZEN = {"Comparison", "Diff", "Metric", "Progress", "Tuning", "Verdict"}
# Compared by identity: their fields are arrays.
ALONE = {"Findings", "Folds", "QueryValues", "Trials"}


@record
class Point:
    x: int
    y: float = 0.0
    seen: str = field(default="", compare=False, repr=False)


@record
class Named(Point):
    _: KW_ONLY
    name: str = "?"


@dataclass(frozen=True)
class Model:
    x: int
    y: float = 0.0
    seen: str = field(default="", compare=False, repr=False)


def test_records_are_equal_if_what_they_compare_is() -> None:
    assert Point(1) == Point(1, seen="here") != Point(2)
    assert hash(Point(1)) == hash(Point(1, seen="here"))
    assert len({Point(1), Point(1, 0.0), Point(1, 2.0), Named(1)}) == 3
    assert Point(1) != Named(1)
    assert Point(1) != (1, 0.0)


def test_records_are_shown_as_dataclasses_are() -> None:
    assert repr(Point(1, seen="here")) == repr(Model(1)).replace("Model", "Point")
    assert repr(Named(1, name="a")) == "Named(x=1, y=0.0, name='a')"


def test_records_are_dataclasses() -> None:
    assert [each.name for each in fields(Named)] == ["x", "y", "seen", "name"]
    assert replace(Named(1), name="b") == Named(1, name="b")
    assert pickle.loads(pickle.dumps(Named(1, 2.0))) == Named(1, 2.0)
    with pytest.raises(TypeError):
        Named(1, 2.0, "", "a")  # pyright: ignore[reportCallIssue]


def test_methods_that_a_record_has_are_its_own() -> None:
    @record
    class Loud:
        x: int

        def __repr__(self) -> str:
            return "LOUD"

    assert repr(Loud(1)) == "LOUD"
    assert Loud(1) == Loud(1)


def test_only_what_users_hold_is_frozen_by_dataclass() -> None:
    found = re.compile(r"^@dataclass\(frozen=True.*\)\nclass (\w+)", re.MULTILINE)
    sources = [path.read_text("utf-8") for path in Path(rf.__file__).parent.rglob("*.py")]
    assert {name for text in sources for name in found.findall(text)} == FROZEN | ALONE
