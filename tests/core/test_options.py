"""Options: what each takes, how it is refused, and what the ledger says of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankframe.core.errors import OptionError
from rankframe.core.options import (
    Comparing,
    Intervals,
    Options,
    PairPolicies,
    Policies,
    choices,
    declared,
    is_count,
    is_number,
)

GROUPS = (Policies, PairPolicies, Intervals, Comparing)
EVERY = pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)


@pytest.mark.parametrize(
    ("group", "options"),
    [
        (Policies, {"ties": "doc_dsc"}),
        (Policies, {"missing": "drop"}),
        (Policies, {"missing": None}),
        (PairPolicies, {"missing": "zero"}),
        (Intervals, {"ci": "boot"}),
        (Policies, {"judged_only": 1}),
        (Policies, {"judged_only": "no"}),
        *((Policies, {"rel": bad}) for bad in ("2", True, math.nan)),
        *((Policies, {"k_max": bad}) for bad in (0, -1, 2.0, True, "5")),
        *((Intervals, {"confidence": bad}) for bad in (0.4, 1, 95, "95", math.nan)),
        (Intervals, {"replicates": 99}),
        (Intervals, {"seed": 1.5}),
        (Intervals, {"seed": True}),
        (Comparing, {"permutations": 100_001}),
        (Comparing, {"test": "wilcox"}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_an_option_does_not_take_is_refused(
    group: type[Options], options: dict[str, Any], refusal
) -> None:
    refusal(group, **options)


@pytest.mark.parametrize(
    ("group", "options"),
    [
        (Policies, {"rel": 0}), (Policies, {"rel": -0.5}), (Policies, {"k_max": 1}),
        (Policies, {"k_max": np.int64(3)}), (Intervals, {"confidence": 0.5}),
        (Intervals, {"ci": None}), (Intervals, {"seed": -7}), (Intervals, {"replicates": 100}),
        (Intervals, {"seed": np.uint64(2**63)}), (Comparing, {"permutations": 100_000}),
    ],
)  # fmt: skip
def test_the_edge_of_what_it_takes(group: type[Options], options: dict[str, Any]) -> None:
    made = group(**options)
    assert {name: getattr(made, name) for name in options} == options


def test_none_is_refused_where_the_type_does_not_have_it() -> None:
    with pytest.raises(OptionError):
        Intervals(confidence=None)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "given", [np.zeros(3), pl.Series([1]), pl.DataFrame(), pl.col("x"), ["t"]], ids=type
)
def test_what_is_no_text_is_no_choice(given: Any, refusal) -> None:
    """Nor is it compared with them: some things refuse to be, or give more than one answer."""
    said = refusal(Policies, ties=given)
    assert "\n" not in said


@EVERY
def test_it_is_made_from_keyword_arguments(group: type[Options]) -> None:
    defaults = {info.name: info.default for info in declared(group)}
    assert group.from_options({**defaults, "qrels": object()}) == group() == group.from_options({})


def test_what_is_passed_wins_over_the_default_and_is_checked(refusal) -> None:
    passed = {"rel": 2, "k_max": 5, "judged_only": True}
    assert Policies.from_options(passed) == Policies(rel=2, k_max=5, judged_only=True)
    refusal(Policies.from_options, {"k_max": 0})


@EVERY
def test_every_option_says_what_it_is_for(group: type[Options]) -> None:
    for info in declared(group):
        assert info.sentence.endswith("."), info.name
        assert info.help.endswith("."), info.name
        assert info.help[0].isupper(), info.name
        listed = [*choices(info.type)]
        assert not listed or info.default is None or info.default in listed
        for choice in listed:
            assert choice == info.default or f'"{choice}"' in info.sentence, (info.name, choice)


def test_the_ledger_says_what_policies_mean() -> None:
    assert Policies().described() == {
        "rel": "any grade above 0",
        "missing": "zero",
        "no_relevant": "zero",
        "ranks": "renumbered",
        "ties": "doc_desc",
        "duplicates": "error",
        "k_max": "the whole list",
        "judged_only": "no",
    }
    said = Policies(rel=1.5, k_max=10, judged_only=True, ties="as_given").described()
    assert (said["rel"], said["k_max"]) == ("grade of at least 1.5", "the top 10")
    assert (said["judged_only"], said["ties"]) == ("yes", "as_given")
    assert PairPolicies(unmatched_queries="skip").described() == {
        "ties": "doc_desc",
        "duplicates": "error",
        "missing": "shared",
        "k_max": "the whole list",
        "unmatched_queries": "skip",
    }


def test_the_ledger_says_intervals_in_one_line() -> None:
    assert Intervals().described() == {"ci": "95%, bootstrap, 1,000 replicates, seed 0"}
    assert Intervals("t", confidence=0.999).described() == {"ci": "99.9%, Student's t"}
    assert Intervals(None).described() == {"ci": "none"}


@pytest.mark.parametrize(
    ("value", "number", "count"),
    [(1, True, True), (0, True, False), (2.0, True, False), (math.inf, True, False),
     (math.nan, False, False), (True, False, False), ("1", False, False), (None, False, False),
     (np.int32(4), True, True)],
    ids=repr,
)  # fmt: skip
def test_numbers_and_counts(value: object, number: bool, count: bool) -> None:
    assert (is_number(value), is_count(value)) == (number, count)
