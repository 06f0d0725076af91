"""How methods are written, and what is refused with which words."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from rankframe.analysis.fusion.names import norm_named, parse, resolve
from rankframe.core.errors import RankframeError

RUNS = ["bm25", "dense"]


def test_names_parameters_and_defaults() -> None:
    assert resolve("RRF", RUNS).params == {"k": 60}
    assert resolve(" rrf( k = 20 ) ", RUNS).params == {"k": 20}
    assert resolve("slidefuse(w=3)", RUNS).params == {"window": 3}
    assert resolve("comb_mnz", RUNS).definition is parse("mnz")[0]
    assert resolve("wsum(weights=[.3,.7])", RUNS).params == {"weights": [0.3, 0.7]}
    assert resolve("wsum", RUNS, weights={"dense": 2, "bm25": 1}).params == {"weights": [1.0, 2.0]}


def test_norms_by_default_by_name_and_none() -> None:
    def norm_of(*args: Any, **how: Any) -> str | None:
        found = resolve(*args, **how).norm
        return None if found is None else found.name

    assert norm_of("sum", RUNS) == "min_max"
    assert norm_of("sum", RUNS, norm="min-max-inverted") == "min_max_inverted"
    assert norm_of("sum", RUNS, norm="none") is None
    assert norm_of("rrf", RUNS) is None
    assert norm_of("segfuse", RUNS) == "min_max"
    assert norm_of(pl.col("normalised").sum(), RUNS) == "min_max"
    assert norm_named("zmuv") is not None


def test_which_need_scores() -> None:
    assert resolve("sum", RUNS).needs_scores
    assert resolve("sum", RUNS, norm="none").needs_scores
    assert not resolve("sum", RUNS, norm="rank").needs_scores
    assert not resolve("rrf", RUNS).needs_scores
    assert resolve(pl.col("normalised").sum(), RUNS).needs_scores
    assert not resolve(pl.col("rank").sum(), RUNS).needs_scores


@pytest.mark.parametrize(
    ("method", "how", "said"),
    [
        ("rff", {}, "unknown method 'rff'. Did you mean 'rrf'"),
        ("rrf(", {}, "cannot read the method"),
        ("rrf(kk=1)", {}, "rrf has no parameter 'kk'. It takes k."),
        ("sum(k=1)", {}, "It takes none."),
        ("rrf(60)", {}, "parameters read name=value, not '60'"),
        ("rrf(k=1, k=2)", {}, "sets k twice"),
        ("rrf(k=-1)", {}, "k must be a number from 0 to 1e+09, not -1"),
        ("rrf(k=true)", {}, "k must be a number"),
        ("rbc(phi=1)", {}, "phi must be a number from 0 to below 1, not 1"),
        ("rbc", {}, "rbc needs phi: write rbc(phi=0.5)"),
        ("probfuse(segments=2.5)", {}, "segments must be a whole number from 1"),
        ("logn_isr(sigma=2)", {}, "sigma must be a number from 0 to 1"),
        ("gmnz(gamma=-101)", {}, "gamma must be a number from -100 to 100, not -101"),
        ("wsum", {}, "wsum needs a weight for each of 2 runs"),
        ("wsum", {"weights": [1]}, "weights: 1 for 2 runs"),
        ("wsum", {"weights": [0, 0]}, "weights are all 0"),
        ("wsum", {"weights": [1, float("nan")]}, "weights are finite numbers"),
        ("wsum", {"weights": [1, float("inf")]}, "weights are finite numbers"),
        ("wsum", {"weights": "ab"}, "weights are finite numbers"),
        ("wsum", {"weights": {"bm25": 1}}, "weights have none for 'dense'"),
        ("wsum", {"weights": {"x": 1}}, "weights speak of 'x'"),
        ("wsum(weights=[1,2])", {"weights": [1, 2]}, "has weights, and so has weights="),
        ("rrf", {"weights": [1, 2]}, "rrf has none. Methods that do: "),
        ("rrf", {"norm": "min_max"}, "rrf looks at ranks alone"),
        ("rrf", {"norm": "minmax"}, "Did you mean 'min_max'"),
        ("sum", {"norm": "min_mx"}, "Did you mean 'min_max'"),
        ("sum", {"norm": 3}, "norm must be a name"),
        (3, {}, "a method is a name or a polars expression, not 3"),
        (pl.col("position").sum(), {}, "the stacked frame has no column 'position'"),
        (pl.col("rank", "score"), {}, "stands for several columns"),
        (pl.col("rank").sum(), {"weights": [1, 2]}, "an expression has its own"),
        ("x" * 5000, {}, "at most"),
    ],
)
def test_what_is_refused(method: Any, how: dict[str, Any], said: str) -> None:
    with pytest.raises(RankframeError) as found:
        resolve(method, RUNS, **how)
    assert said in str(found.value)
