"""Grids: what is tried of each method, in which order, and what users may say of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.fusion.registry import Definition, Limits
from rankframe.analysis.tuning.candidates import VALUES, Candidates, list_candidates, parse_grid


def listed(
    *methods: str, runs: int = 2, budget: int = 200, norms: Any = ("min_max", "zmuv"), **grid: Any
) -> Candidates:
    names = [f"run {number}" for number in range(runs)]
    return list_candidates(methods, norms, grid, names, budget=budget, folds=3)


def tried(*methods: str, **options: Any) -> list[tuple[str, str | None]]:
    return [(method.label, method.norm_name) for method in listed(*methods, **options).listed]


def test_every_parameter_of_every_method_has_values_to_try() -> None:
    for definition in METHODS.values():
        for name in definition.parameters:
            assert name == "weights" or name in VALUES, definition.name


def test_methods_over_ranks_have_no_norm() -> None:
    assert tried("rrf", k=[10, 60, 10]) == [("rrf(k=10)", None), ("rrf(k=60)", None)]
    assert len(tried("rrf")) == 8
    assert [norm for _, norm in tried("wsum")] == ["min_max"] * 11 + ["zmuv"] * 11


@pytest.mark.parametrize(("runs", "step", "count"), [(2, 0.05, 21), (3, 0.1, 66), (3, 0.5, 6)])
def test_all_weights_are_tried(runs: int, step: float, count: int) -> None:
    assert len(tried("wsum", runs=runs, weights=step)) == 2 * count


def test_too_many_weights_are_searched_for() -> None:
    found = listed("wsum", runs=4)
    assert not found.listed
    assert found.steps == 100
    assert [method.norm_name for method in found.searched] == ["min_max", "zmuv"]
    assert [method.params for method in found.searched] == [{"weights": [0.25] * 4}] * 2
    assert listed("wsum", runs=4, weights=0.05).steps == 20
    every = listed("wsum", runs=4, budget=1771, weights=0.05)
    assert len(every.listed) == 2 * 1771
    assert not every.searched


def test_what_stands_in_a_name_is_not_varied() -> None:
    fixed = "wsum(weights=[0.3, 0.7])"
    assert tried(fixed) == [(fixed, norm) for norm in ("min_max", "zmuv")]
    assert tried("rrf(k=7)") == [("rrf(k=7)", None)]
    assert len(tried("wsum(weights=[0, 1])", "wsum(weights=[2, 1])")) == 4


def test_weights_of_ones_own(refusal) -> None:
    assert [name for name, _ in tried("wsum", weights=[[1, 2], (3, 4)])][:2] == [
        "wsum(weights=[1.0, 2.0])",
        "wsum(weights=[3.0, 4.0])",
    ]
    refusal(tried, "wsum", weights=[])


def test_several_parameters_are_combined(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(documents: Any, *, a: float, b: float) -> Any:
        return np.zeros(documents.height)

    limits = {"a": Limits(0, 9), "b": Limits(0, 9)}
    method = Definition(name="both", family="Ranks", formula="0", function=both, limits=limits)
    monkeypatch.setitem(METHODS, "both", method)
    found = listed("both", a=[1, 2], b=3)
    assert [method.label for method in found.listed] == ["both(a=1, b=3)", "both(a=2, b=3)"]


def test_a_grid_in_a_shell(refusal) -> None:
    assert parse_grid(["k=1, 5,10", "weights=0.05"]) == {"k": [1, 5, 10], "weights": 0.05}
    assert parse_grid(["phi=.5", "weights=.3,.7"]) == {"phi": [0.5], "weights": [[0.3, 0.7]]}
    for bad in ("k", "k=", "=3", "k=a,b"):
        refusal(parse_grid, [bad])
    refusal(parse_grid, ["k=1", "k=2"])
