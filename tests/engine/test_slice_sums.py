"""Sums by slice: what the bootstrap draws, and that no order or partition of queries shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from rankframe.core.options import Intervals, Policies
from rankframe.engine.plan import PerQuery
from rankframe.engine.prepare import evaluate_judged
from rankframe.engine.slice_sums import WHOLE, SliceSums, sum_by_slice
from rankframe.engine.summary import summarise
from rankframe.io.queries import Known
from rankframe.metrics.names import resolve
from rankframe.stats.bootstrap import BootstrapBuckets
from rankframe.stats.intervals import percentile_interval
from tests.support.draws import poisson_weights
from tests.support.summaries import (
    CASE,
    METRICS,
    WEIGHTED,
    evaluated,
    finish,
    frames,
    in_pieces,
    parts,
    same_for_all,
    summary,
)


@pytest.mark.parametrize("seed", [0, 8])
def test_the_bootstrap_is_what_plain_draws_give(seed: int) -> None:
    found = summary(replicates=200, seed=seed, confidence=0.9)
    queries = evaluated(metrics=["ndcg@10"], ci=None).per_query["query_id"]
    weights = poisson_weights(queries, 200, seed)
    for label in METRICS:
        above, below = parts(label)
        defined = evaluated(metrics=[label], ci=None).per_query[label].is_not_null().to_numpy()
        drawn = weights[:, defined] @ above / (weights[:, defined] @ below)
        drawn = finish(label, drawn, len(above))
        expected = percentile_interval(drawn, len(above), 0.9)
        bounds = found[label]["ci_low"], found[label]["ci_high"]
        assert bounds == pytest.approx(expected, rel=1e-10), label


@pytest.mark.parametrize("method", ["bootstrap", "t", None])
def test_parts_of_a_tally_say_the_same_without_what_they_were_drawn_from(method: Any) -> None:
    metrics = resolve([m for m in METRICS if m != WEIGHTED])
    intervals = Intervals(method, replicates=100)
    evaluation = evaluate_judged(metrics, Policies(), intervals=intervals)
    sides = (
        pl.DataFrame(rows, schema=["query_id", "doc_id", name], orient="row")
        for rows, name in (
            (
                [(q, d, float(g)) for q, docs in CASE.qrels.items() for d, g in docs.items()],
                "relevance",
            ),
            ([(q, d, s) for q, docs in CASE.run.items() for d, s in docs.items()], "score"),
        )
    )
    whole = evaluation.evaluate_partition(*sides).slices[WHOLE]
    parts = [part.finish(metrics, intervals) for part in whole.split(2)]
    assert len(parts) == 3
    assert all(part.buckets is None for part in parts)
    united = SliceSums.unite(reversed(parts))
    finished = whole.finish(metrics, intervals, range(len(metrics)))
    assert summarise(metrics, united).equals(summarise(metrics, finished))
    # Gaps between slices need the replicates of some metrics.
    kept = SliceSums.unite(part.finish(metrics, intervals, {1, 3}) for part in whole.split(2))
    for at in range(len(metrics)):
        drawn, before = (one.replicates.get(at) for one in (kept, finished))
        assert (drawn is not None) == (at in (1, 3) and method == "bootstrap")
        if drawn is not None and before is not None:
            assert np.array_equal(drawn, before, equal_nan=True)


@pytest.mark.parametrize("method", ["bootstrap", "t"])
def test_any_pieces_and_any_order_of_rows_give_the_same_bits(method: str) -> None:
    whole = evaluated(ci=method, replicates=100).summary
    for seed, pieces in enumerate((1, 2, 7)):
        sides = [f.sample(fraction=1, shuffle=True, seed=seed) for f in frames(CASE)]
        found = in_pieces(sides[0], sides[1], pieces, ci=method, replicates=100)
        assert found.summary.equals(whole), pieces


def test_fewer_groups_than_queries_give_the_same_bits_in_any_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = summary(replicates=2_000)
    monkeypatch.setattr(BootstrapBuckets.from_queries.__func__, "__defaults__", (16,))
    monkeypatch.setattr(BootstrapBuckets.merge, "__defaults__", (16,))
    sides = frames(CASE)
    whole = in_pieces(sides[0], sides[1], 1, replicates=2_000).summary
    for pieces in (2, 7):
        assert in_pieces(sides[0], sides[1], pieces, replicates=2_000).summary.equals(whole)
    for row in whole.to_dicts():
        one = alone[row["metric"]]
        width, other = (r["ci_high"] - r["ci_low"] for r in (row, one))
        # other draws, of groups: about as wide, from so few of them
        assert row["ci_low"] != one["ci_low"]
        assert 0.4 < width / other < 1.8, row["metric"]


def test_values_too_large_to_resample_have_no_bootstrap_but_a_t_interval() -> None:
    case = same_for_all(3)
    own = (pl.col("relevant_total").first() * 1e13).alias("own")
    assert summary(case, [own])["own"]["ci_low"] is None
    row = summary(case, [own], ci="t")["own"]
    assert row["ci_low"] == row["ci_high"] == row["value"] == 3e13


def test_slices_are_tallied_beside_all_queries() -> None:
    metrics = resolve(["map", "mrr"])
    frame = pl.DataFrame({"query_id": list("abcd"), "map": [0.1, 0.2, 0.3, 0.4], "mrr": [1.0] * 4})
    known = Known(None, (np.array([0, 1, 0, 2]), np.array([5, 5, 5, 5])))
    found = sum_by_slice(metrics, PerQuery.of(frame), known, Intervals(None))
    queries = {key: tally.sums[0].queries for key, tally in found.items()}
    assert queries == {WHOLE: 4, (0, 0): 2, (0, 1): 1, (0, 2): 1, (1, 5): 4}
    assert found[0, 0].sums[0].average(metrics[0]) == 0.2
    assert all(tally.buckets is None for tally in found.values())
    assert found[0, 0].merge(found[0, 1]).merge(found[0, 2]) == found[WHOLE] == found[1, 5]


def test_a_slice_draws_its_own_queries() -> None:
    metrics, intervals = resolve(["map"]), Intervals(replicates=100)
    values = np.random.default_rng(1).random(40)
    frame = pl.DataFrame({"query_id": [f"q{at}" for at in range(40)], "map": values})
    known = Known(None, (np.arange(40) % 2,))
    found = sum_by_slice(metrics, PerQuery.of(frame), known, intervals)
    for number in (0, 1):
        own = frame.filter(pl.Series(known.slices[0] == number))
        alone = sum_by_slice(metrics, PerQuery.of(own), Known(), intervals)[WHOLE]
        bounds = alone.finish(metrics, intervals).bounds
        assert found[0, number].finish(metrics, intervals).bounds == bounds != (None,)
