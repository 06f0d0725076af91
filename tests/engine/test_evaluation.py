"""What is judged and what is shown, in one evaluation: the same bits however the data arrive."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.engine.result import Result
from tests.support.retrieved import NAMES, shop

SHOP = shop()
WHOLE = SHOP.evaluated()
FRAMES = ("summary", "per_query", "slices")


def assert_same(found: Result, wanted: Result = WHOLE) -> None:
    for name in FRAMES:
        assert_frame_equal(getattr(found, name), getattr(wanted, name), check_exact=True)


def test_row_order_and_pieces_change_nothing(tmp_path: Path) -> None:
    mixed = SHOP.shuffled()
    assert_same(mixed.evaluated())
    # In pieces: of inputs that are split into files, and of values that go to a folder.
    assert_same(mixed.evaluated(max_memory="1MB"))
    assert_same(SHOP.evaluated(max_memory="1MB", output=tmp_path / "result"))
    assert_same(Result.read(tmp_path / "result"))


def test_inputs_sorted_by_query_are_streamed() -> None:
    run = SHOP.run.sort("query_id")
    names = ["coverage@5", "novelty@5", "entropy@5"]
    whole = rf.evaluate(None, run, names, train=SHOP.train)
    streamed = rf.evaluate(None, run, names, train=SHOP.train, max_memory="1MB")
    assert_same(streamed, whole)


def test_threads_change_nothing(tmp_path: Path) -> None:
    script = (
        "import sys; from tests.support.retrieved import shop; "
        "shop().evaluated().write(sys.argv[1])"
    )
    for threads in ("1", "3"):
        folder = tmp_path / threads
        env = {**os.environ, "POLARS_MAX_THREADS": threads}
        subprocess.run([sys.executable, "-c", script, str(folder)], check=True, env=env)
        assert_same(Result.read(folder))


def test_judged_metrics_are_what_they_are_alone() -> None:
    alone = rf.evaluate(SHOP.qrels, SHOP.run, "ndcg@10", no_overlap="zero", queries=SHOP.users,
                        by="segment")  # fmt: skip
    both = WHOLE.per_query.select("query_id", "ndcg@10").drop_nulls()
    assert_frame_equal(both, alone.per_query, check_exact=True)
    assert WHOLE.summary.row(0) == alone.summary.row(0)


def test_everyone_who_is_shown_something_counts() -> None:
    found = rf.evaluate(
        {"u1": {"a": 1}, "u2": {"a": 1}},
        {"u1": ["a", "b"], "u3": ["c"]},
        ["recall@2", "popularity@2", "coverage@2"],
        train={"u1": ["b"], "u9": ["b", "a"]},
        items=["a", "b", "c", "d"],
    )
    assert found.per_query.rows() == [
        ("u1", 1.0, 1.5), ("u2", 0.0, None), ("u3", None, 0.0)
    ]  # fmt: skip
    assert found.means == {"recall@2": 0.5, "popularity@2": 0.75, "coverage@2": 0.75}
    assert found.summary["queries"].to_list() == [2, 2, 2]
    assert found.count("queries_evaluated") == 3
    assert found.count("retrieved_lists") == 2
    assert found.count("metrics_over_documents") == 1


def test_without_judgments() -> None:
    found = rf.evaluate(None, {"u1": ["a", "b"], "u2": ["a"]}, ["coverage(count=true)", "entropy"])
    assert found["coverage(count=true)"] == 2.0
    assert found["entropy"] == pytest.approx(0.9182958340544896, abs=1e-15)
    assert found.inputs.keys() == {"run"}


def test_what_was_seen_is_dropped_before_anything_is_ranked() -> None:
    run = {"u1": ["a", "b", "c"], "u2": ["a"]}
    options: Any = {"train": {"u1": ["a", "b"], "u2": ["a"]}, "exclude_seen": True}
    found = rf.evaluate({"u1": {"c": 1}, "u2": {"a": 1}}, run, "mrr", **options)
    assert found.per_query["mrr"].to_list() == [1.0, 0.0]
    assert found.count("run_seen_dropped") == 3
    assert rf.judge({"u1": {"c": 1}}, run, **options).collect()["rank"].to_list() == [1]


def test_units_are_shown_once() -> None:
    run = {"u1": ["a#1", "a#2", "b#1"]}
    unit = pl.col("doc_id").str.split("#").list.first()
    found = rf.evaluate(None, run, ["popularity@2", "coverage(count=true)@2"], unit=unit,
                        train={"x": ["a", "b"], "y": ["a"]})  # fmt: skip
    assert found.means == {"popularity@2": 1.5, "coverage(count=true)@2": 2.0}


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("novelty@5", {}),
        ("coverage@5", {}),
        ("unexpectedness@5", {}),
        ("serendipity@5", {"train": {"u": ["a"]}}),
        ("diversity(by=genre)@5", {}),
        ("diversity(by=gendre)@5", {"items": SHOP.items}),
        ("ild(vector=genre)@5", {"items": SHOP.items}),
        ("diversity@5", {"items": SHOP.items}),
        ("ndcg@5", {}),
        (pl.col("prize").sum().alias("own"), {"items": SHOP.items}),
        ("novelty@5", {"train": {"u": ["a"]}, "exclude_seen": "yes"}),
        ("coverage(count=true)@5", {"exclude_seen": True}),
        ("coverage@5", {"items": {"sku": [1, 1], "price": [1, 2]}}),
        ("coverage@5", {"items": {"price": [1, 2]}}),
        ("novelty@5", {"train": {"query_id": ["u"], "doc_id": ["a"], "count": [0]}}),
    ],
)  # fmt: skip
def test_what_is_missing_or_wrong_is_said(metric: Any, options: dict[str, Any], refusal) -> None:
    tables: dict[str, Any] = {
        name: pl.DataFrame(value)
        if (isinstance(value, dict) and isinstance(next(iter(value.values())), list)
        and name != "train") or (name == "train" and "doc_id" in value)
        else value
        for name, value in options.items()
    }  # fmt: skip
    refusal(rf.evaluate, None, SHOP.run, metric, **tables)


def test_rows_beside_the_run_are_looked_at(refusal) -> None:
    nan = {"u0": {"d1": float("nan")}}
    refusal(rf.evaluate, None, SHOP.run, "unexpectedness@2", reference=nan)
    refusal(rf.evaluate, nan, SHOP.run, "epc@2", train=SHOP.train)
    refusal(rf.retrieved(SHOP.run, reference=nan).collect)


@pytest.mark.parametrize("name", ["train", "items", "catalogue", "reference"])
def test_tables_that_nobody_looks_at_are_refused(name: str, refusal) -> None:
    refusal(rf.evaluate, SHOP.qrels, SHOP.run, "ndcg@10", **{name: SHOP.items})  # pyright: ignore[reportArgumentType]


def test_every_name_is_there() -> None:
    assert WHOLE.summary["metric"].to_list() == [*NAMES, "revenue@5"]
