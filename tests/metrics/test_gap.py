"""`gap(ndcg@10, by=group)`: reading the name, and the gap itself in an evaluation."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics.names import parse, resolve
from tests.support.retrieved_pieces import everywhere

COUNTS = {"x": 80, "y": 60, "z": 40, "few": 20}
GROUPS = [name for name, count in COUNTS.items() for _ in range(count)] + [None] * 5
IDS = [f"q{at}" for at in range(len(GROUPS))]
USERS = pl.DataFrame({"query_id": IDS, "group": GROUPS, "alone": "all"})
QRELS = pl.DataFrame({"query_id": IDS, "doc_id": "a", "relevance": 1})
RUN = pl.DataFrame(
    {
        "query_id": [one for one in IDS for _ in range(3)],
        "doc_id": ["a", "b", "c"] * len(IDS),
        "score": np.random.default_rng(3).random(3 * len(IDS)),
    }
)
GAP, MEAN = "gap(mrr, by=group)", "gap(mrr, by=group, kind=mean)"


def test_a_name_inside_a_name() -> None:
    found = [
        (one.label, one.gap.metric.label, one.gap.by, one.gap.kind)
        for text in ("gap(ndcg(gain=exp2)@1,10, by=group, kind=mean)", "Gap(rbp.95,by='a b')")
        for one in parse(text)
        if one.gap is not None
    ]
    assert found == [
        ("gap(ndcg(gain=exp2)@1, by=group, kind=mean)", "ndcg(gain=exp2)@1", "group", "mean"),
        ("gap(ndcg(gain=exp2)@10, by=group, kind=mean)", "ndcg(gain=exp2)@10", "group", "mean"),
        ("Gap(rbp.95,by='a b')", "rbp.95", "a b", "range"),
    ]
    frames: tuple[Any, ...] = ("judged", "gap")
    # The metric itself is there, too, once.
    assert [one.label for one in resolve([GAP, MEAN], *frames)] == ["mrr", GAP, MEAN]
    assert [one.label for one in resolve([GAP, "mrr"], *frames)] == [GAP, "mrr"]


@pytest.mark.parametrize(
    "name",
    [
        "gap(ndcg@10)",
        "gap(, by=group)",
        "gap(gap(mrr, by=a), by=b)",
        "gap(coverage@10, by=group)",
        "gap(num_rel, by=group)",
        "gap(mrrr, by=group)",
        "gap(mrr, by=group, kind=most)",
        "gap(mrr, by=group, rel=2)",
        "gap(mrr, by=color)",
        "gap(mrr, by=alone)",
    ],
)
def test_what_is_no_gap_is_refused(name: str, refusal) -> None:
    refusal(rf.evaluate, QRELS, RUN, name, queries=USERS)


def test_gaps_have_no_values_per_query(refusal) -> None:
    refusal(rf.evaluate, QRELS, RUN, GAP)
    refusal(rf.diff, QRELS, RUN, RUN, GAP)
    refusal(rf.tune, QRELS, {"a": RUN, "b": RUN}, metric=GAP)


def test_by_hand_wherever_rows_are(tmp_path: Path) -> None:
    found = everywhere(QRELS, RUN, ["mrr", MEAN, GAP], queries=USERS)
    assert found.summary["metric"].to_list() == ["mrr", MEAN, GAP]
    values = found.per_query.join(USERS, on="query_id")
    of = {name: values.filter(group=name)["mrr"].to_numpy() for name in "xyz"}  # not of the few
    means = [float(some.mean()) for some in of.values()]
    assert found[GAP] == pytest.approx(max(means) - min(means), abs=1e-15)
    pairs = [abs(one - other) for one, other in combinations(means, 2)]
    assert found[MEAN] == pytest.approx(sum(pairs) / 3, abs=1e-15)
    assert found.per_query.columns == ["query_id", "mrr"]
    assert found.summary["queries"].to_list() == [205, 180, 180]
    ledger = found.ledger.filter(item="gap_slices_left_out")
    assert ledger["value"].item() == 4
    assert "'few'" in ledger["note"].item()
    assert "'(none)'" in ledger["note"].item()
    # Slices that a gap is between are there, as are those that were asked for.
    assert set(found.slices["slice"]) == {*COUNTS, "(none)"}
    assert found.slices["metric"].unique().to_list() == ["mrr"]
    found.write(tmp_path / "out")
    assert rf.Result.read(tmp_path / "out").summary.equals(found.summary)


def test_the_interval_is_as_wide_as_errors_are_apart() -> None:
    """Of two slices, that of their difference; no lower than 0."""
    two = USERS.filter(pl.col("group").is_in(["x", "y"]))
    both = {"qrels": QRELS, "run": RUN}
    both = {name: table.join(two, on="query_id", how="semi") for name, table in both.items()}
    found = rf.evaluate(both["qrels"], both["run"], [GAP, MEAN], queries=two).summary
    value, low, high = found.row(1)[1:4]
    assert found.row(2)[1:4] == pytest.approx((value, low, high), abs=1e-12)
    slices = rf.evaluate(both["qrels"], both["run"], "mrr", queries=two, by="group", ci="t").slices
    halves = ((slices["ci_high"] - slices["ci_low"]) / 2).to_list()
    assert high - value == pytest.approx(np.hypot(*halves), rel=0.1)
    assert low == max(value - (high - value), 0)
    for how in ("t", None):
        none = rf.evaluate(QRELS, RUN, GAP, queries=USERS, ci=how).summary.row(1)
        assert none[2:4] == (None, None)
