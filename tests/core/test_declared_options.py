"""Groups of options: checked as they are made, described, and taken by functions."""

from __future__ import annotations

import inspect
from typing import ClassVar, Literal, TypedDict, Unpack

import pytest

from rankframe.core.errors import UnknownOptionError
from rankframe.core.options import Options, choices, declared, option, same_option, takes_options
from rankframe.core.records import record


@record
class Paint(Options):
    """Two options, of which the ledger shows one.

    Args:
        colour: the colour.
        size: the size, if any.
    """

    title: ClassVar[str] = "Paint"

    colour: Literal["red", "blue"] = option("red", "Colour.")
    size: float | None = option(None, "Size.", ledger=None)


@record
class Brush(Options):
    """An option that another group has, too, and one of its own.

    Args:
        fine: a fine brush.
    """

    title: ClassVar[str] = "Brush"

    size: float | None = same_option(Paint, "size")
    fine: bool = option(False, "Fine.")


class PaintOptions(TypedDict, total=False):
    colour: Literal["red", "blue"]
    fine: bool


@takes_options(PaintOptions, Paint, Brush, colour="blue")
def paint(wall: str, coats: int = 1, **options: Unpack[PaintOptions]) -> tuple[Paint, Brush]:
    """Paint a wall.

    >>> paint("north")[1]
    Brush(size=None, fine=False)
    """
    del wall, coats
    return Paint.from_options(options), Brush.from_options(options)


def test_each_is_checked_by_its_type(refusal) -> None:
    assert Paint("blue", 2.0).described() == {"colour": "blue"}
    refusal(Paint, "green")  # pyright: ignore[reportArgumentType]
    refusal(Paint, size="large")  # pyright: ignore[reportArgumentType]


def test_names_choices_and_texts() -> None:
    assert [info.name for info in declared(Paint)] == ["colour", "size"]
    assert [info.help for info in declared(Paint)] == ["Colour.", "Size."]
    assert list(choices(Literal["a", "b"] | None)) == ["a", "b"]
    assert Paint.from_options({"colour": "blue", "other": 1}) == Paint("blue")
    assert declared(Brush)[0] == declared(Paint)[1]


def test_a_function_takes_the_options_that_its_typed_dict_names() -> None:
    assert paint("north") == (Paint("blue"), Brush())
    assert paint("north", colour="red", fine=True) == (Paint("red"), Brush(fine=True))
    parameters = inspect.signature(paint).parameters
    assert list(parameters) == ["wall", "coats", "colour", "fine"]
    assert parameters["colour"].default == "blue"
    assert parameters["colour"].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["colour"].annotation == Literal["red", "blue"]


def test_a_name_that_is_no_option_is_refused(refusal) -> None:
    refusal(paint, "north", color="red")
    refusal(paint, "north", size=1.0)  # the group's, but not the function's
    assert issubclass(UnknownOptionError, TypeError)


def test_the_documentation_has_a_section_for_each_group_before_the_examples() -> None:
    assert inspect.getdoc(paint) == (
        "Paint a wall.\n\nPaint:\n    colour: the colour.\n\nBrush:\n    fine: a fine brush.\n\n"
        '>>> paint("north")[1]\nBrush(size=None, fine=False)'
    )


def test_a_typed_dict_names_only_what_a_group_declares() -> None:
    class Wrong(TypedDict, total=False):
        shade: str

    with pytest.raises(TypeError, match="shade"):
        takes_options(Wrong, Paint)(paint)
