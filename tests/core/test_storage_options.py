"""Options for addresses hold while a function is at work, and are never shown."""

from __future__ import annotations

from typing import Any

import pytest

from rankframe.core.options import Storage, reached_with, storage_options, takes_options


@takes_options()
def outer(*, storage_options: Any = None, within: Any = None) -> Any:
    del storage_options
    return inner(storage_options=within)


@takes_options()
def inner(*, storage_options: Any = None) -> Any:
    del storage_options
    return dict(now())


def now() -> Any:
    return storage_options()


def test_they_hold_below_and_end_with_the_function() -> None:
    assert outer(storage_options={"aws_region": "x"}) == {"aws_region": "x"}
    assert outer(storage_options={"aws_region": "x"}, within={"a": 1}) == {"a": 1}
    assert outer() == dict(now()) == {}
    with reached_with({"a": "1"}), pytest.raises(TypeError):
        now()["a"] = "2"


def test_they_end_with_an_error() -> None:
    with pytest.raises(ZeroDivisionError), reached_with({"a": "1"}):
        _ = 1 / 0
    assert not now()


@pytest.mark.parametrize("given", ["aws_region=x", {1: "x"}, {"key": ["secret"]}, ["a"]])
def test_what_is_no_mapping_is_refused_without_its_values(given: Any, refusal) -> None:
    assert "secret" not in refusal(outer, storage_options=given)


def test_they_have_no_line_in_the_ledger() -> None:
    assert Storage({"aws_secret_access_key": "x"}).described() == {}
