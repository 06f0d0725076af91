"""What tuning holds whatever the pieces: how much it is, and where it does not fit."""

from __future__ import annotations

import pytest

from rankframe.analysis.tuning.candidates import Candidate, Family
from rankframe.analysis.tuning.tune import RunLimits, count_values, limit_runs
from rankframe.core.errors import OptionError
from rankframe.metrics.names import resolve

RUNS = ["a", "b"]
LISTED = Family(Candidate("wsum", "min_max"), ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0)))
(NDCG,), (MICRO,) = resolve("ndcg@10"), resolve("precision(average=micro, k=10)")


def test_values_of_candidates_are_counted() -> None:
    searched = Family(Candidate("wsum", "min_max"), ((0.5, 0.5),), 100)
    assert count_values([LISTED], RUNS, 200, 5) == 4
    assert count_values([LISTED, Family(Candidate("posfuse"))], RUNS, 200, 5) == 10
    # a search looks at no more than its budget for each fold, and for all of them
    assert count_values([searched], RUNS, 200, 5) >= 100 + 6 * 100


def test_what_is_left_is_for_runs() -> None:
    assert limit_runs(100, 1_000, 0, NDCG, None) == RunLimits(None, None)
    room = limit_runs(100, 10_000, 10**7, NDCG, "1GB")
    assert room.max_memory == 10**9 - 100 * 10_000 * 40 - 10**7
    assert room.rank_bytes is not None
    assert 0 < room.rank_bytes < room.max_memory
    more = limit_runs(100, 10_000, 10**7, MICRO, "1GB")
    assert more.max_memory is not None
    assert more.max_memory < room.max_memory


def test_values_that_do_not_fit_are_refused_with_a_limit_that_would_do(message) -> None:
    with pytest.raises(OptionError) as refused:
        limit_runs(200, 10**6, 0, NDCG, "2GB")
    said = str(refused.value)
    message(said)
    (enough,) = (one for one in said.split('"') if one.endswith("GB") and one[0].isdigit())
    limit_runs(200, 10**6, 0, NDCG, enough)
