"""Grids: what is tried of each method, in which order, and what users may say of it."""

from __future__ import annotations

from typing import Any

import pytest

from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.tuning.grids import VALUES, Varied, check_budget, families, grid_of_texts
from rankframe.core.errors import OptionError

RRF = Varied("rrf", ("k",), {}, scored=False)
WSUM = Varied("wsum", ("weights",), {}, scored=True)


def tried(*methods: Varied, runs: int = 2, budget: int = 200, **grid: Any) -> list[Any]:
    found = families(methods, ["min_max", "zmuv"], grid, runs=runs, budget=budget)
    return [(one.name, one.norm) for family in found for one in family.candidates()]


def test_every_parameter_of_every_method_has_values_to_try() -> None:
    for definition in METHODS.values():
        for name in definition.parameters:
            assert name == "weights" or name in VALUES, definition.name


def test_methods_over_ranks_have_no_norm() -> None:
    assert tried(RRF, k=[10, 60, 10]) == [("rrf(k=10)", None), ("rrf(k=60)", None)]
    assert len(tried(RRF)) == 8
    assert [norm for _, norm in tried(WSUM)] == ["min_max"] * 11 + ["zmuv"] * 11


@pytest.mark.parametrize(("runs", "step", "count"), [(2, 0.05, 21), (3, 0.1, 66), (3, 0.5, 6)])
def test_all_weights_are_tried(runs: int, step: float, count: int) -> None:
    assert len(tried(WSUM, runs=runs, weights=step)) == 2 * count


def test_too_many_weights_are_searched_for() -> None:
    (family, _) = families([WSUM], ["min_max", "zmuv"], {}, runs=4, budget=200)
    assert family.denominator == 100
    assert next(family.candidates()).weights == (0.25,) * 4
    (family, _) = families([WSUM], ["a", "b"], {"weights": 0.05}, runs=4, budget=200)
    assert family.denominator == 20
    (family, _) = families([WSUM], ["a", "b"], {"weights": 0.05}, runs=4, budget=1771)
    assert family.denominator is None


def test_what_stands_in_a_name_is_not_varied() -> None:
    fixed = Varied("wsum", ("weights",), {"weights": [0.3, 0.7]}, scored=True)
    assert tried(fixed) == [("wsum(weights=[0.3, 0.7])", norm) for norm in ("min_max", "zmuv")]
    assert tried(Varied("rrf", ("k",), {"k": 7}, scored=False)) == [("rrf(k=7)", None)]
    two = [Varied("wsum", ("weights",), {"weights": [w, 1]}, scored=True) for w in (0, 2)]
    assert len(tried(*two)) == 4


def test_weights_of_ones_own() -> None:
    assert [name for name, _ in tried(WSUM, weights=[[1, 2], (3, 4)])][:2] == [
        "wsum(weights=[1.0, 2.0])",
        "wsum(weights=[3.0, 4.0])",
    ]
    with pytest.raises(OptionError, match="no weights to try"):
        tried(WSUM, weights=[])


def test_several_parameters_are_combined() -> None:
    both = Varied("both", ("a", "b"), {}, scored=False)
    found = families([both], [], {"a": [1, 2], "b": 3}, runs=2, budget=9)
    assert [family.candidate.name for family in found] == ["both(a=1, b=3)", "both(a=2, b=3)"]


def test_a_grid_in_a_shell() -> None:
    assert grid_of_texts(["k=1, 5,10", "weights=0.05"]) == {"k": [1, 5, 10], "weights": 0.05}
    assert grid_of_texts(["phi=.5", "weights=.3,.7"]) == {"phi": [0.5], "weights": [[0.3, 0.7]]}
    for bad in ("k", "k=", "=3", "k=a,b"):
        with pytest.raises(OptionError, match=r"reads NAME=X,X"):
            grid_of_texts([bad])
    with pytest.raises(OptionError, match="names 'k' twice"):
        grid_of_texts(["k=1", "k=2"])


@pytest.mark.parametrize("budget", [0, -1, 1.5, "9", None])
def test_a_budget_is_a_count(budget: object) -> None:
    with pytest.raises(OptionError, match="budget must be a whole number"):
        check_budget(budget)
