"""Options are declared once: typed dicts, groups, signatures and documentation agree."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import pytest

import rankframe as rf
from rankframe.analysis.fusion.options import FuseOptions, FusionPolicies, StackOptions
from rankframe.core import options as core
from rankframe.core.options import (
    Comparing,
    Intervals,
    Options,
    PairPolicies,
    Policies,
    SharedPolicies,
    Storage,
    declared,
)


def public(name: str) -> Callable[..., Any]:
    """A public function by its name."""
    package, _, last = name.rpartition(".")
    return getattr(getattr(rf, package) if package else rf, last)


NAMES = [name for name in dir(rf) if name not in ("plot", "spark")]
NAMES += [f"spark.{name}" for name in rf.spark.__all__]
# The groups that declare what each public function takes.
GROUPS: dict[str, tuple[type[Options], ...]] = {
    name: groups for name in NAMES if (groups := getattr(public(name), "option_groups", ()))
}
# Without what has no effect on them: frames without policies for averages, a gate without tests.
FEWER: dict[str, set[str]] = {
    "gate": {"test", "correction", "permutations"},
    "tune": {"unpaired"},
    "judge": {
        "missing", "no_relevant", "no_overlap", "items", "split", "catalogue", "reference",
        "silence",
    },
    "retrieved": {"missing", "no_relevant", "no_overlap", "judged_only", "silence"},
    "exposure": {
        "missing", "no_relevant", "no_overlap", "judged_only", "rel", "relevance", "reference",
        "silence",
    },
    "pair": {"unmatched_queries"},
    "stack": {"rel", "relevance", "k_max"},
}  # fmt: skip
# Defaults that differ from the declared ones.
OTHERWISE = {("curve", "ci"): None}
every_function = pytest.mark.parametrize("name", GROUPS)


def keywords(name: str) -> dict[str, Any]:
    """The options of a function and their types, as editors see them: of its typed dict."""
    function = inspect.unwrap(public(name))
    (kind,) = get_args(eval(function.__annotations__["options"], function.__globals__))
    return get_type_hints(kind)


def test_every_function_with_options_declares_them() -> None:
    taking = {
        name
        for name in NAMES
        if inspect.isfunction(public(name))
        and "options" in inspect.unwrap(public(name)).__annotations__
    }
    assert taking == set(GROUPS)
    assert {"evaluate", "compare", "fuse", "judge", "spark.evaluate"} <= taking


@every_function
def test_a_function_takes_every_option_of_its_groups(name: str) -> None:
    options = {
        info.name: info
        for group in GROUPS[name]
        for info in declared(group)
        if info.name not in FEWER.get(name, ())
    }
    assert keywords(name) == {option: info.type for option, info in options.items()}
    parameters = inspect.signature(public(name)).parameters
    documentation = " ".join((inspect.getdoc(public(name)) or "").split())
    for option, info in options.items():
        default = parameters[option].default
        assert parameters[option].kind is inspect.Parameter.KEYWORD_ONLY, option
        assert default == OTHERWISE.get((name, option), info.default), option
        assert type(default) in (type(info.default), type(None)), option
        assert f" {option}: {info.sentence}" in documentation, option
    for group in GROUPS[name]:
        assert f" {group.title}: " in documentation


@every_function
def test_every_argument_is_documented(name: str) -> None:
    documentation = inspect.getdoc(public(name)) or ""
    for argument in inspect.signature(public(name)).parameters:
        assert f"\n    {argument}: " in documentation, argument


@pytest.mark.parametrize(
    ("typed", "group"),
    [
        (core.PolicyOptions, Policies),
        (core.SharedPolicyOptions, SharedPolicies),
        (core.PairPolicyOptions, PairPolicies),
        (core.IntervalOptions, Intervals),
        (core.StorageOptions, Storage),
        (FuseOptions, FusionPolicies),
    ],
)
def test_a_typed_dict_has_what_its_group_declares(typed: Any, group: type[Options]) -> None:
    types = {info.name: info.type for info in declared(group)}
    if typed is FuseOptions:
        types |= get_type_hints(core.StorageOptions)
    assert get_type_hints(typed) == types


def test_typed_dicts_have_what_comparing_declares() -> None:
    types = get_type_hints(core.SignificanceOptions) | get_type_hints(core.UnpairedOptions)
    assert types == {info.name: info.type for info in declared(Comparing)}


def test_the_stacked_frame_takes_what_it_holds() -> None:
    assert set(get_type_hints(StackOptions)) == {
        "order", "ranks", "ties", "duplicates", "unit", "unit_ranks", "depth", "storage_options",
    }  # fmt: skip


def test_policies_of_each_run_are_those_of_all() -> None:
    assert SharedPolicies().each == Policies()
    assert SharedPolicies(missing="skip").each == Policies(missing="skip")
