"""The registry: a function becomes a metric that knows its facts and checks its parameters."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any, Literal

import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics.metric import REGISTRY, Registration, names_over
from rankframe.metrics.parts import Ratio, total


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        (rf.dcg, {"discount": "typo"}),
        (rf.ndcg, {"ideal": "typo"}),
        (rf.precision, {"k": 2.5}),
        (rf.precision, {"k": True}),
        (rf.rbp, {"p": "high"}),
        (rf.ndcg, {"gain": {0: 5, 1: 6}}),
    ],
)
def test_functions_check_their_parameters_as_names_do(metric, params, refusal) -> None:
    refusal(metric, **params)


DEMO: dict[str, Any] = {"family": "Counts"}


@pytest.fixture
def demo() -> Iterator[Callable[..., Callable[..., pl.Expr]]]:
    """Register functions for a while."""
    before = dict(REGISTRY)

    def register(function: Callable[..., Any], **facts: Any) -> Callable[..., pl.Expr]:
        return Registration(**(DEMO | facts))(function)

    yield register
    REGISTRY.clear()
    REGISTRY.update(before)


def demo_metric(
    k: int | None = None, *, how: Literal["up", "down"] = "up", p: float = 0.5
) -> Ratio:
    """Share of something.

    > a ÷ b

    A note of
    two lines.

    >>> 1
    1
    """
    above = total(pl.col("relevance") * (1 if how == "up" else -1) * p)
    return Ratio(above, total(pl.col("relevance") * 0 + (k or 1)), None)


def test_a_function_becomes_a_metric(demo) -> None:
    function = demo(demo_metric, synonyms=("shown",), presets={"half": {"p": 0.5}})
    definition = REGISTRY["demo_metric"]
    assert definition.function is function
    assert function.__name__ == "demo_metric"
    assert definition.summary == "Share of something."
    assert definition.formula == "a ÷ b"
    assert definition.notes == "A note of\ntwo lines."
    assert list(definition.parameters) == ["k", "how", "p"]
    assert definition.other_names == ("shown", "half")
    assert isinstance(definition.build(), Ratio)
    frame = pl.DataFrame({"relevance": [1.0, 2.0]})
    assert frame.select(function(k=3, p=2)).item() == 6 / 6
    assert frame.select(function(how="down")).item() == -1.5 / 2
    assert "demo_metric" in names_over("judged")
    assert "demo_metric" not in names_over("pair")


@pytest.mark.parametrize(
    "params",
    [
        {"k": 0},
        {"k": 1.5},
        {"k": "3"},
        {"how": "sideways"},
        {"p": True},
        {"p": None},
    ],
)
def test_parameters_are_checked_by_their_types(demo, params: Any, refusal) -> None:
    refusal(demo(demo_metric), **params)


def test_whole_numbers_may_be_written_as_floats(demo) -> None:
    function = demo(demo_metric)
    frame = pl.DataFrame({"relevance": [1.0]})
    assert frame.select(function(k=4.0)).item() == frame.select(function(4)).item() == 0.5 / 4


def test_a_condition_may_depend_on_parameters(demo) -> None:
    demo(demo_metric, exponential={"how": "down"})
    definition = REGISTRY["demo_metric"]
    assert definition.holds(definition.exponential, {"how": "down"})
    assert not definition.holds(definition.exponential, {})
    assert not definition.holds(definition.exponential, {"k": 3})
    assert definition.holds({"how": "up"}, {})
    assert definition.holds(True, {})
    assert not definition.holds(definition.pooled, {"how": "down"})


def test_it_is_found_by_its_name_wherever_it_is_unpickled() -> None:
    assert pickle.loads(pickle.dumps(REGISTRY["ndcg"])) is REGISTRY["ndcg"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: rf.f(beta=1e308),
        lambda: rf.ndcg(gain={1: "a"}),  # pyright: ignore[reportArgumentType]
        lambda: rf.ndcg(gain={"x": 1}),  # pyright: ignore[reportArgumentType]
        lambda: rf.ndcg(gain={1: 1e308}),
        lambda: rf.ndcg(k=10**20),
        lambda: rf.map(rel=10**400),
        lambda: rf.map(rel=10**5000),
    ],
)
def test_values_that_cannot_be_computed_with_are_refused(make: Any, refusal) -> None:
    refusal(make)


def test_large_levels_are_floats() -> None:
    found = rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, f"map(rel={10**30})")
    assert list(found.means.values()) == [0.0]
    # up to 2^53, floats hold all whole numbers
    for level, written in ((2**53, "9007199254740992"), (2**53 + 1, "9007199254740992.0")):
        assert rf.map(rel=level).meta.output_name() == f"average_precision(rel={written})"


def test_ranges() -> None:
    """A metric is from 0 to 1, unless it is one of these."""
    others = {
        (-1.0, 1.0): {"kendall_tau", "tau_ap", "spearman", "pearson"},
        (0.0, 2.0): {"ild"},
        (None, None): {"yaap", "utility"},
    }
    for bounds, names in others.items():
        assert {name for name, one in REGISTRY.items() if one.bounds == bounds} == names
    assert {one.bounds for one in REGISTRY.values()} == {(0.0, 1.0), (0.0, None), *others}
