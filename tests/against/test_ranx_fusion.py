"""Every norm and method that ranx also has, under ranx's own names, on random untied runs.

ranx has no rule for equal scores, so none are equal here; it wants the same queries in all runs, so
a query that a run lacks is left out of it. Condorcet's method is another one there.
"""

from __future__ import annotations

import os
import random
from functools import cache
from typing import Any

import pytest

import rankframe as rf

# Compiling ranx takes minutes; as plain Python it needs a second for these few queries.
os.environ["NUMBA_DISABLE_JIT"] = "1"

import ranx
from ranx.fusion import (
    bayesfuse_train,
    mapfuse_train,
    posfuse_train,
    probfuse_train,
    segfuse_train,
    slidefuse_train,
)
from ranx.normalization import norm_switch

from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.fusion.norms import NORMS

SEEDS = (1, 2, 3, 4)
Run = dict[str, dict[str, float]]
WEIGHTS = [0.35, 0.05, 0.2, 0.3, 0.1]
# By our name: its parameters here, and there.
PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: ("", {}) for name in ("min", "max", "med", "sum", "anz", "mnz")},
    "gmnz": ("(gamma=0.4)", {"gamma": 0.4}),
    "rrf": ("(k=7)", {"k": 7}),
    "rbc": ("(phi=0.7)", {"phi": 0.7}),
    "isr": ("", {}),
    "log_isr": ("", {}),
    "logn_isr": ("(sigma=0.2)", {"sigma": 0.2}),
    "bordafuse": ("", {}),
}
WEIGHTED = ("wsum", "wmnz", "mixed", "w_bordafuse")
TRAINED: dict[str, tuple[str, Any, str]] = {
    "mapfuse": ("", mapfuse_train, "map_scores"),
    "posfuse": ("", posfuse_train, "probs"),
    "slidefuse": ("(w=2)", slidefuse_train, "probs"),
    "probfuse": ("(segments=3)", lambda q, r: probfuse_train(q, r, 3), "probs"),
    "segfuse": ("", segfuse_train, "probs"),
    "bayesfuse": ("", bayesfuse_train, "log_odds"),
}
OTHERWISE = {"condorcet", "w_condorcet"}


@cache
def case_of(seed: int) -> tuple[dict[str, Run], Run]:
    """Two to five runs with short lists, negative scores, and missing documents; and judgments."""
    rng = random.Random(seed)
    queries = [f"q{n}" for n in range(12)]
    runs: dict[str, Run] = {}
    for number in range(2 + seed % 4):
        scores = iter(rng.sample(range(-4000, 9000), 12 * 40))
        runs[f"run{number}"] = {
            query: {
                f"d{doc}": next(scores) / 7
                for doc in rng.sample(range(40), rng.choice((1, 2, 7, 20, 33)))
            }
            for query in queries
        }
    qrels = {
        query: {f"d{doc}": float(rng.choice((0, 1, 2))) for doc in rng.sample(range(40), 15)}
        for query in queries
    }
    return runs, qrels


def ours(runs: dict[str, Run], method: str, **how: Any) -> Run:
    found: Run = {}
    frame = rf.fuse(runs, method, **how).collect()
    for query, doc, _, score in frame.iter_rows():
        found.setdefault(query, {})[doc] = score
    return found


def theirs(runs: dict[str, Run], method: str, norm: str | None, params: dict[str, Any]) -> Run:
    given = [ranx.Run(run, name=name) for name, run in runs.items()]
    fused = ranx.fuse(given, norm=norm, method=method, params=params)  # pyright: ignore[reportArgumentType]
    return {query: dict(docs) for query, docs in fused.run.items()}


def assert_same(ours: Run, theirs: Run) -> None:
    assert ours.keys() == theirs.keys()
    for query, docs in theirs.items():
        assert ours[query] == pytest.approx(docs, rel=1e-9, abs=1e-9), query


def test_every_method_and_norm_of_ranx_is_looked_at() -> None:
    assert {*PLAIN, *WEIGHTED, *TRAINED, *OTHERWISE} == set(METHODS)
    for name in NORMS:
        assert callable(norm_switch(name))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", PLAIN)
def test_same_scores_as_ranx(method: str, seed: int) -> None:
    runs, _ = case_of(seed)
    written, params = PLAIN[method]
    for norm in NORMS if METHODS[method].scored else [None]:
        if (method, norm) == ("max", "max"):  # to ranx, what is absent scores -1e9, which is more
            continue
        found = ours(runs, method + written, norm=norm)
        assert_same(found, theirs(runs, method, norm, params))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", WEIGHTED)
def test_same_scores_with_weights(method: str, seed: int) -> None:
    runs, _ = case_of(seed)
    weights = WEIGHTS[: len(runs)]
    for norm in NORMS if METHODS[method].scored else [None]:
        found = ours(runs, method, norm=norm, weights=weights)
        assert_same(found, theirs(runs, method, norm, {"weights": weights}))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", TRAINED)
def test_same_scores_of_trained_methods(method: str, seed: int) -> None:
    runs, qrels = case_of(seed)
    written, train, name = TRAINED[method]
    judged = ranx.Qrels({q: {d: int(g) for d, g in docs.items()} for q, docs in qrels.items()})
    norms = [None] if not METHODS[method].scored else ["min_max", "zmuv"]
    for norm in norms:
        given = [ranx.Run(run) for run in runs.values()]
        params = {name: train(judged, given)} | ({"w": 2} if method == "slidefuse" else {})
        found = ours(runs, method + written, norm=norm, qrels=qrels)
        assert_same(found, theirs(runs, method, norm, params))


@pytest.mark.parametrize("method", ["sum", "rrf", "mnz", "bordafuse"])
def test_a_query_that_a_run_lacks_is_an_empty_one(method: str) -> None:
    runs, _ = case_of(2)
    first, *others = runs
    gap = {**runs, first: {q: docs for q, docs in runs[first].items() if q != "q3"}}
    alone = {name: {"q3": runs[name]["q3"]} for name in others}
    if method == "bordafuse":  # a constant for all documents
        order = list(ours(gap, method)["q3"])
        assert order == list(ours(alone, method)["q3"])
    else:
        assert_same(
            {"q3": ours(gap, method)["q3"]},
            theirs(alone, method, "min-max" if method != "rrf" else None, {}),
        )
