"""What compare and gate share: systems read or evaluated, and put side by side."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.compare import SystemInputs
from rankframe.analysis.systems import Runs, System, align, list_subsets
from rankframe.core.options import Policies, Unpaired
from rankframe.engine.evaluate import DEFAULT_METRICS
from rankframe.io.queries import QueryAttributes, read_attributes
from rankframe.metrics.metric import ABOVE, BELOW
from rankframe.metrics.names import resolve
from tests.support.compared import (
    ATTRIBUTES,
    FAST,
    LACKING,
    METRICS,
    MICRO,
    QRELS,
    QUERIES,
    RUNS,
    compared,
    count,
    rows_of,
)


def test_queries_without_attributes_are_counted() -> None:
    found = compared(["map"], queries=ATTRIBUTES.head(30), by="locale")
    assert count(found, "queries_without_attributes") == 10


def test_the_default_metrics_and_own_expressions() -> None:
    assert [m.label for m in compared(None).metrics] == [
        "ndcg@10", "map", "mrr@10", "precision@10", "recall@100",
    ]  # fmt: skip
    own = (pl.col("rank") <= 2).sum().alias("own")
    row = compared(own).table.row(0, named=True)
    values = np.stack([
        rf.evaluate(QRELS, run, own, ci=None).per_query["own"].to_numpy()
        for run in (RUNS["old"], RUNS["new"])
    ])  # fmt: skip
    assert row["value"] == pytest.approx(values[1].mean(), abs=1e-12)
    assert row["wins"] == (values[1] > values[0]).sum()


def opened(
    stored: Any = None,
    runs: Any = None,
    metrics: Any = None,
    unpaired: Any = "error",
    **options: Any,
) -> SystemInputs:
    of = None if runs is None else Runs(QRELS, runs, Policies())
    return SystemInputs(stored or {}, of, metrics, unpaired=unpaired, **options)


STORED = {name: rf.evaluate(QRELS, RUNS[name], ["map", "mrr"], ci=None) for name in ("old", "new")}


def labels(opening: SystemInputs) -> list[str]:
    return [metric.label for metric in opening.metrics]


def test_stored_values_and_runs_stand_evaluate() -> None:
    opening = opened({"kept": STORED["old"]}, {"new": RUNS["new"]}, ["map"])
    assert opening.names == ["kept", "new"]
    found = opening.evaluate()
    assert list(found.by_name) == ["kept", "new"]
    assert found.queries.to_list() == QUERIES
    for name, of in (("kept", "old"), ("new", "new")):
        assert found.by_name[name].values["map"].equals(STORED[of].per_query["map"])
    assert found.tables is not None
    assert opened(STORED).evaluate().tables is None


def test_metrics_are_those_asked_for_those_stored_or_the_default() -> None:
    assert labels(opened(STORED)) == ["map", "mrr"]
    assert labels(opened(STORED, metrics="mrr")) == ["mrr"]
    assert labels(opened(None, RUNS)) == list(DEFAULT_METRICS[:-1])
    assert labels(opened(None, RUNS, ["ndcg@1,3"])) == ["ndcg@1", "ndcg@3"]


def test_how_much_was_judged_is_known_at_more_depths() -> None:
    opening = opened(None, {"old": RUNS["old"]}, "ndcg@3")
    assert set(opening.evaluate().by_name["old"].judged) == {3}
    assert set(opening.evaluate([7]).by_name["old"].judged) == {3, 7}


def test_all_queries_and_every_slice_of_them() -> None:
    found = opened(STORED, queries=ATTRIBUTES, by="locale", weight=None).evaluate()
    assert [(subset.by, subset.name) for subset in found.subsets] == [
        (None, None), ("locale", "de"), ("locale", "en"), ("locale", "(none)"),
    ]  # fmt: skip
    whole, *slices = (subset.rows.tolist() for subset in found.subsets)
    assert whole == list(range(40)) == sorted(row for rows in slices for row in rows)
    assert found.attributes.weights is None


def test_what_cannot_be_opened_is_refused_before_any_run_is_read(refusal) -> None:
    runs = {"a": "no such file.parquet"}
    refusal(opened, None, runs, "mapp")
    refusal(opened, None, runs, "map", by="locale")
    refusal(opened(None, runs, "map").evaluate)


SOME = pl.Series("query_id", ["a", "b", "c", "d"])
KNOWN_OF_THEM = pl.DataFrame(
    {"query_id": ["d", "a", "b"], "locale": ["de", "en", "de"], "size": [10, 2, 2]}
)


def test_each_query_is_in_one_slice_of_each_way() -> None:
    attributes = read_attributes(KNOWN_OF_THEM, by=["locale", ("locale", "size")])
    assert attributes is not None
    whole, *found = list_subsets(attributes, attributes.look_up(SOME), 4)
    assert (whole.by, whole.rows.tolist()) == (None, [0, 1, 2, 3])
    assert [(f"{some.by}: {some.name}", some.rows.tolist()) for some in found] == [
        ("locale: de", [1, 3]),
        ("locale: en", [0]),
        ("locale: (none)", [2]),
        ("locale × size: de × 2", [1]),
        ("locale × size: de × 10", [3]),
        ("locale × size: en × 2", [0]),
        ("locale × size: (none) × (none)", [2]),
    ]
    for way in ("locale", "locale × size"):
        rows = np.concatenate([some.rows for some in found if some.by == way])
        assert sorted(rows.tolist()) == [0, 1, 2, 3]


def test_nothing_is_sliced_where_nothing_is_known() -> None:
    (whole,) = list_subsets(None, QueryAttributes(), 2)
    assert (whole.by, whole.rows.tolist()) == (None, [0, 1])


def test_unpaired_queries_are_an_error(refusal) -> None:
    runs = {"old": RUNS["old"], "new": RUNS["new"]}
    lacking = sorted(q for q in QRELS if q not in RUNS["new"])
    assert len(lacking) == 2
    refusal(compared, ["map"], runs, missing="skip")
    refusal(compared, unpaired="drop")


def test_unpaired_queries_may_be_left_out() -> None:
    found = compared(missing="skip", unpaired="skip")
    common = {q: QRELS[q] for q in QRELS if q not in LACKING}
    alone = rf.compare(common, RUNS, METRICS, **FAST)
    assert found.table.equals(alone.table)
    assert count(found, "queries_compared") == len(common)
    assert count(found, "queries_unpaired") == len(LACKING)
    assert count(found, "queries_lacking", "old") == 0
    assert count(found, "queries_lacking", "new") == sum(q not in RUNS["new"] for q in QRELS)
    assert f"{len(LACKING)} not in every system: left out" in found.overview


def test_unpaired_queries_may_score_0_or_be_undefined() -> None:
    found = compared(missing="skip", unpaired="zero")
    zero = compared()
    for label in ("ndcg@10", "precision@3"):
        assert rows_of(found.table, label) == rows_of(zero.table, label)
    # worse than any lag that there is
    lag, expected = rows_of(found.table, "lag")[0], rows_of(zero.table, "lag")[0]
    assert lag == expected
    assert lag["undefined"] >= len(LACKING)
    assert count(found, "queries_compared") == 40
    assert "not in every system: scored 0" in found.overview


def test_systems_without_a_query_in_common_are_refused(refusal) -> None:
    runs = {"a": {"q0": {"best": 1.0}}, "b": {"q1": {"best": 1.0}}}
    refusal(compared, ["map"], runs, missing="skip", unpaired="skip")


def system(queries: str, **columns: list[float | None]) -> System:
    values = pl.DataFrame({"query_id": list(queries), **columns}, strict=False)
    return System(values.cast(dict.fromkeys(columns, pl.Float64)))


def micro(queries: str, above: list[float], below: list[float]) -> System:
    values = pl.DataFrame(
        {"query_id": list(queries), MICRO: [a / b for a, b in zip(above, below, strict=True)]}
    )
    sides = {MICRO + ABOVE: above, MICRO + BELOW: below}
    return System(values.hstack(pl.DataFrame(sides)))


def test_systems_with_the_same_queries_stay_as_they_are() -> None:
    systems = {"a": system("pq", map=[1, 0]), "b": system("pq", map=[0, 1])}
    for unpaired in get_args(Unpaired):
        found = align(systems, resolve("map"), unpaired)
        assert found.by_name is systems
        assert (found.unpaired, found.lacking) == (0, {"a": 0, "b": 0})


def test_what_each_system_lacks_is_counted() -> None:
    systems = {"a": system("pqr", map=[1, 0.5, 0.25]), "b": system("qrst", map=[1, 2, 3, 4])}
    found = align(systems, resolve("map"), "skip")
    assert found.queries.to_list() == ["q", "r"]
    assert (found.unpaired, found.lacking) == (3, {"a": 2, "b": 1})
    assert found.by_name["a"].values["map"].to_list() == [0.5, 0.25]
    assert found.by_name["b"].values["map"].to_list() == [1, 2]


def test_what_is_lacking_is_worth_0_or_undefined_where_lower_is_better() -> None:
    systems = {
        "a": system("pq", map=[1, None], lag=[1, 2]),
        "b": system("qr", map=[1, 2], lag=[3, 4]),
    }
    found = align(systems, resolve(["map", "lag"]), "zero")
    assert found.queries.to_list() == ["p", "q", "r"]
    # what a system itself leaves undefined stays so
    assert found.by_name["a"].values.rows() == [("p", 1, 1), ("q", None, 2), ("r", 0, None)]
    assert found.by_name["b"].values.rows() == [("p", 0, None), ("q", 1, 3), ("r", 2, 4)]


def test_a_query_that_a_system_lacks_weighs_as_in_the_others() -> None:
    systems = {"a": micro("pq", [1, 1], [4, 2]), "b": micro("qr", [1, 3], [2, 5])}
    found = align(systems, resolve([MICRO]), "zero")
    of = found.values(resolve([MICRO])[0])
    assert of.above.tolist() == [[1, 1, 0], [0, 1, 3]]
    assert of.below.tolist() == [[4, 2, 5], [4, 2, 5]]


def test_a_query_that_is_undefined_for_one_is_left_out_for_all() -> None:
    systems = {"a": system("pq", lag=[1, 2]), "b": system("pq", lag=[None, 3])}
    of = align(systems, resolve("lag"), "error").values(resolve("lag")[0])
    assert of.complete.tolist() == [False, True]
    assert of.values.tolist() == [[0, 2], [0, 3]]
    assert of.below.tolist() == [[0, 1], [0, 1]]
    assert of.judged is None
    some = of.take(np.array([1]))
    assert (some.values.tolist(), some.complete.tolist()) == ([[2], [3]], [True])
    assert of.take(np.arange(2)) is of


def test_values_that_are_not_finite_have_no_mean_to_compare(refusal) -> None:
    systems = {"a": system("pq", map=[1, 2]), "b": system("pq", map=[math.inf, 3])}
    aligned = align(systems, resolve("map"), "error")
    refusal(aligned.values, resolve("map")[0])
