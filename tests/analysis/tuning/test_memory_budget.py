"""What tuning holds whatever the pieces: how much it is, and where it does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from rankframe.analysis.tuning.candidates import Candidates, list_candidates
from rankframe.analysis.tuning.tune import count_values, limit_runs
from rankframe.core.errors import OptionError
from rankframe.metrics.names import resolve

RUNS = ["a", "b"]


def candidates(*methods: str, **options: Any) -> Candidates:
    found = {"grid": None, "budget": 200, "folds": 5, **options}
    return list_candidates(methods, "min_max", runs=RUNS, **found)


(NDCG,), (MICRO,) = resolve("ndcg@10"), resolve("precision(average=micro, k=10)")


def test_values_of_candidates_are_counted() -> None:
    halves = {"grid": {"weights": 0.5}}
    assert count_values(candidates("wsum", **halves), 200, 5) == 4
    assert count_values(candidates("wsum", "posfuse", **halves), 200, 5) == 10
    # a search looks at no more than its budget for each fold, and for all of them
    searched = candidates("wsum", grid={"weights": 0.01}, budget=100)
    assert len(searched.searched) == 1
    assert count_values(searched, 200, 5) >= 100 + 6 * 100


def test_what_is_left_is_for_runs() -> None:
    assert limit_runs(100, 1_000, 0, NDCG, None) == (None, None)
    run_bytes, rank_bytes = limit_runs(100, 10_000, 10**7, NDCG, "1GB")
    assert run_bytes == 10**9 - 100 * 10_000 * 40 - 10**7
    assert rank_bytes is not None
    assert 0 < rank_bytes < run_bytes
    run_bytes_of_sums, _ = limit_runs(100, 10_000, 10**7, MICRO, "1GB")
    assert run_bytes_of_sums is not None
    assert run_bytes_of_sums < run_bytes


def test_values_that_do_not_fit_are_refused_with_a_limit_that_would_do(message) -> None:
    with pytest.raises(OptionError) as refused:
        limit_runs(200, 10**6, 0, NDCG, "2GB")
    said = str(refused.value)
    message(said)
    (enough,) = (one for one in said.split('"') if one.endswith("GB") and one[0].isdigit())
    limit_runs(200, 10**6, 0, NDCG, enough)
