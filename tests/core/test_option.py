"""Groups of options: checked as they are made, and described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from rankframe.core.errors import OptionError
from rankframe.core.option import Options, choices, declared, option


@dataclass(frozen=True)
class Some(Options):
    """Two options, of which the ledger shows one."""

    colour: Literal["red", "blue"] = option("red", "of the thing.", "Colour.")
    size: float | None = option(None, "of it, if any.", "Size.", ledger=None, of_averages=True)


def test_each_is_checked_by_its_type() -> None:
    assert Some("blue", 2.0).described() == {"colour": "blue"}
    with pytest.raises(OptionError, match="colour='green' is not one of 'red', 'blue'"):
        Some("green")  # pyright: ignore[reportArgumentType]
    with pytest.raises(OptionError, match="size must be a number, not 'large'"):
        Some(size="large")  # pyright: ignore[reportArgumentType]


def test_names_choices_and_what_is_said() -> None:
    assert Some.names() == ["colour", "size"]
    assert Some.names(frame_only=True) == ["colour"]
    assert [said.help for _, _, said in declared(Some)] == ["Colour.", "Size."]
    assert list(choices(Literal["a", "b"] | None)) == ["a", "b"]
    assert Some.given({"colour": "blue", "size": None, "other": 1}) == Some("blue")
