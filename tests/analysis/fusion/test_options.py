"""The options of fusion are those of evaluate, where both have them."""

from __future__ import annotations

import pytest

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.core.errors import OptionError
from rankframe.core.options import Policies, declared


def test_what_both_have_means_the_same() -> None:
    policies = {info.name: info for info in declared(Policies)}
    for info in declared(FusionPolicies):
        if info.name not in ("depth", "k_max", "ties"):
            assert info == policies[info.name]


@pytest.mark.parametrize("name", ["depth", "k_max"])
def test_how_many_is_a_count(name: str) -> None:
    for wrong in (0, -1, 1.5, "3", True):
        with pytest.raises(OptionError):
            FusionPolicies(**{name: wrong})  # pyright: ignore[reportArgumentType]


def test_as_described() -> None:
    assert FusionPolicies(depth=5).described()["depth"] == "the top 5"
    assert FusionPolicies(k_max=5).described()["k_max"] == "the top 5"
    assert FusionPolicies().described()["k_max"] == "all"
