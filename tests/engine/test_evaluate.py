"""The pipeline: who is averaged, what is counted, users' own expressions, and the same bits."""

import json
import os
import subprocess
import sys
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.metrics import names_over

# q1 is answered, q2 has nothing relevant, q3 is missing from the run, q4 is not judged.
QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 0}, "q3": {"a": 1}}
RUN = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"c": 1.0}, "q4": {"a": 1.0}}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"q1": 0.5, "q2": 0.0, "q3": 0.0}),
        ({"missing": "skip"}, {"q1": 0.5, "q2": 0.0}),
        ({"no_relevant": "skip"}, {"q1": 0.5, "q3": 0.0}),
        ({"missing": "skip", "no_relevant": "skip"}, {"q1": 0.5}),
        ({"rel": 2}, {"q1": 0.0, "q2": 0.0, "q3": 0.0}),
        ({"rel": 0}, {"q1": 0.5, "q2": 1.0, "q3": 0.0}),
        ({"rel": 2, "no_relevant": "skip"}, {}),
    ],
    ids=str,
)
def test_policies_say_who_is_averaged(options: Any, expected: dict[str, float]) -> None:
    result = rf.evaluate(QRELS, RUN, "map", **options)
    assert dict(result.per_query.iter_rows()) == expected
    mean = sum(expected.values()) / len(expected) if expected else None
    summary = result.summary.select("metric", "value", "queries")
    assert summary.rows() == [("map", mean, len(expected))]
    assert result.count("queries_evaluated") == len(expected)


def test_missing_queries_may_be_an_error(refusal) -> None:
    qrels = QRELS | {"q5": {"a": 1}}
    refusal(rf.evaluate, qrels, RUN, "map", missing="error")
    complete = {query: docs for query, docs in QRELS.items() if query != "q3"}
    assert rf.evaluate(complete, RUN, "map", missing="error")["map"] == 0.25


def test_a_query_whose_documents_were_all_cut_is_not_missing() -> None:
    result = rf.evaluate({"q": {"a": 1}, "p": {"b": 1}}, {"q": {"x": 1.0}, "p": {"b": 1.0}}, "map",
                         judged_only=True, missing="error")  # fmt: skip
    assert result["map"] == 0.5
    assert result.count("queries_missing") == 0


def test_no_overlap_may_score_zero(refusal) -> None:
    run = {"q1": {"y": 1.0}}
    refusal(rf.evaluate, QRELS, run, "map")
    assert rf.evaluate(QRELS, run, "map", no_overlap="zero")["map"] == 0


@pytest.mark.parametrize(
    "option",
    [
        {"missing": "zeros"},
        {"no_relevant": "drop"},
        {"no_overlap": "skip"},
        {"k_max": 0},
    ],
    ids=str,
)  # fmt: skip
def test_an_unknown_policy_is_refused(option: Any, refusal) -> None:
    refusal(rf.evaluate, QRELS, RUN, "map", **option)


@pytest.mark.parametrize("option", [{"k_max": "10"}, {"k_max": 1.5}, {"rel": "2"}], ids=str)
def test_an_option_of_the_wrong_type_is_refused(option: Any, refusal) -> None:
    refusal(rf.evaluate, QRELS, RUN, "map", **option)


def test_k_max_looks_at_the_top_only_and_judged_only_closes_gaps() -> None:
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"x": 4.0, "a": 3.0, "y": 2.0, "b": 1.0}}
    metrics = ["map", "num_retrieved"]
    expected = {
        (None, False): (0.5, 4), (2, False): (0.25, 2), (None, True): (1.0, 2), (3, True): (0.5, 1),
    }  # fmt: skip
    for (k_max, judged_only), values in expected.items():
        result = rf.evaluate(qrels, run, metrics, k_max=k_max, judged_only=judged_only)
        assert tuple(result.means.values()) == values


WEIGHTS = pl.DataFrame({"query_id": ["q1", "q2", "q3", "q9"], "clicks": [3, 1, 0, 7]})
WEIGHTED = "map(average=weighted)"


def _weighted(queries: Any = WEIGHTS, weight: Any = "clicks", **options: Any) -> float | None:
    return rf.evaluate(QRELS, RUN, WEIGHTED, queries=queries, weight=weight, **options)[WEIGHTED]


def test_weights_are_used_for_weighted_averages_only() -> None:
    assert _weighted() == 0.375
    assert _weighted(WEIGHTS.with_columns(clicks=1)) == pytest.approx(0.5 / 3)
    assert _weighted(WEIGHTS.with_columns(clicks=0)) is None
    both = rf.evaluate(
        QRELS, RUN, ["map", "map(average=weighted)"], queries=WEIGHTS, weight="clicks"
    )
    assert both["map"] == 0.5 / 3


def test_a_weight_that_nothing_uses_is_refused(refusal) -> None:
    refusal(rf.evaluate, QRELS, RUN, "map", queries=WEIGHTS, weight="clicks")


@pytest.mark.parametrize("value", ["no", 0, None])
def test_judged_only_is_true_or_false(value: Any, refusal) -> None:
    refusal(rf.evaluate, QRELS, RUN, "map", judged_only=value)


def test_weights_come_from_a_file_too_and_queries_left_out_need_none(tmp_path) -> None:
    path = tmp_path / "weights.csv"
    path.write_text("qid,clicks\nq1,3\nq2,1\n")
    assert _weighted(path, missing="skip") == 0.375


@pytest.mark.parametrize(
    ("queries", "weight"),
    [
        (WEIGHTS[:2], "clicks"),
        (WEIGHTS.with_columns(clicks=-1), "clicks"),
        (WEIGHTS, "click"),
        (pl.concat([WEIGHTS, WEIGHTS]), "clicks"),
        (WEIGHTS.with_columns(clicks=pl.lit("many")), "clicks"),
        (WEIGHTS, None),
        (None, "clicks"),
        (None, None),
    ],
    ids=["lacking", "negative", "column", "twice", "text", "no weight", "no queries", "neither"],
)  # fmt: skip
def test_weights_that_do_not_fit_are_refused(queries, weight, refusal) -> None:
    refusal(_weighted, queries, weight)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), None], ids=str)
def test_a_weight_that_is_no_finite_number_is_refused(weight: float | None, refusal) -> None:
    bad = WEIGHTS.with_columns(clicks=pl.lit(weight, pl.Float64))
    refusal(_weighted, bad)


@pytest.mark.parametrize("query", [None, ""])
def test_a_blank_query_among_the_weights_is_refused(query: str | None, refusal) -> None:
    bad = pl.DataFrame({"query_id": ["q1", query], "clicks": [1, 1]})
    refusal(_weighted, bad)


def test_a_gain_for_every_grade_is_asked_for(refusal) -> None:
    qrels = {"q": {"a": 1, "b": 2, "c": 0, "d": 2}}
    refusal(rf.evaluate, qrels, {"q": {"a": 1.0}}, "ndcg(gain={1: 3})")
    assert rf.evaluate(qrels, {"q": {"a": 1.0}}, "dcg(gain={1: 3, 2: 9})").means == {
        "dcg(gain={1: 3, 2: 9})": 3.0
    }


def test_a_largest_grade_below_one_that_is_there_is_refused(refusal) -> None:
    refusal(rf.evaluate, {"q": {"a": 4}}, {"q": {"a": 1.0}}, "err(max_grade=3)@10")


OWN = {
    "top3": (((pl.col("rank") <= 3) & pl.col("relevant")).any(), [1, 0, 0]),
    "best": (pl.col("relevance").filter(pl.col("rank") == 1).first(), [1, 0, None]),
    "judged": (pl.len(), [2, 1, 1]),
    "one": (pl.lit(1.0), [1, 1, 1]),
    "docs": (pl.col("doc_id").n_unique(), [2, 1, 1]),
    "level": (pl.col("found_rel1").max(), [1, 0, None]),
    "nothing": (pl.lit(None), [None, None, None]),
}


@pytest.mark.parametrize("beside", [[], ["map"]], ids=["alone", "beside a name"])
@pytest.mark.parametrize("name", OWN)
def test_an_expression_of_ones_own_is_a_metric(name: str, beside: list[str]) -> None:
    expression, expected = OWN[name]
    result = rf.evaluate(QRELS, RUN, [expression.alias(name), *beside])
    assert result.per_query[name].to_list() == expected
    assert result.per_query.schema[name] == pl.Float64


@pytest.mark.parametrize(
    "expression",
    [
        pl.col("rnk").min().alias("x"),
        pl.col("found_relx").max().alias("x"),
        pl.col("rank").alias("x"),
        pl.col("doc_id").first().alias("x"),
        pl.col("doc_id").str.to_integer().sum().alias("x"),
        pl.col("rank", "found").sum(),
        pl.all().sum(),
        pl.col("^ra.*$").sum().alias("x"),
        pl.col("query_id").n_unique().alias("query_id"),
    ],
    ids=["unknown", "level", "not aggregated", "text", "failing", "two", "all", "pattern", "key"],
)  # fmt: skip
def test_an_expression_that_is_no_metric_is_refused(expression, refusal) -> None:
    refusal(rf.evaluate, QRELS, RUN, ["map", expression])


def test_a_label_is_given_once(refusal) -> None:
    own = pl.col("rank").min().alias("map")
    refusal(rf.evaluate, QRELS, RUN, ["map", own])


_DATA = """
import numpy as np, polars as pl
def data():
    random = np.random.default_rng(5)
    keys = pl.DataFrame({"query_id": random.integers(0, 150, 4000).astype(str),
                         "doc_id": random.integers(0, 60, 4000).astype(str)})
    keys = keys.unique(maintain_order=True)
    n = keys.height
    qrels = keys.with_columns(relevance=pl.Series(random.integers(-1, 4, n) * 0.7))
    run = keys.with_columns(score=pl.Series(random.integers(0, 9, n) / 7.0))
    return qrels[: n // 2], run[n // 4 :]
"""


def _data() -> tuple[pl.DataFrame, pl.DataFrame]:
    scope: dict[str, Any] = {}
    exec(_DATA, scope)
    return scope["data"]()


def test_shuffled_rows_give_the_same_bits() -> None:
    qrels, run = _data()
    metrics = [
        *names_over("judged"),
        "map(average=geometric)",
        "auc(pool=true)",
        "precision(average=micro)@5",
    ]
    expected = rf.evaluate(qrels, run, metrics)
    for seed in range(3):
        one, two = (f.sample(fraction=1, shuffle=True, seed=seed) for f in (qrels, run))
        result = rf.evaluate(one, two, metrics)
        for name in ("summary", "per_query", "ledger"):
            assert_frame_equal(getattr(result, name), getattr(expected, name), check_exact=True)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    """Also where each has several batches to work on, of rows in every order."""
    code = _DATA + (
        "import json, rankframe as rf\n"
        "from rankframe.kernel import reading\n"
        "from rankframe.metrics import names_over\n"
        "qrels, run = data()\n"
        "metrics = [*names_over('judged'), 'auc(pool=true)']\n"
        "result = rf.evaluate(qrels, run, metrics)\n"
        "reading.SMALL_INPUT, reading.BATCH_ROWS = 0, 97\n"
        "for some in (run, run.sort('query_id'), run.sort('query_id', descending=True)):\n"
        "    again = rf.evaluate(qrels, some, metrics)\n"
        "    for name in ('per_query', 'summary', 'ledger'):\n"
        "        assert getattr(result, name).equals(getattr(again, name)), name\n"
        "frames = [result.per_query, result.summary, result.ledger]\n"
        "print(json.dumps([pl.thread_pool_size(), *(frame.write_csv() for frame in frames)]))"
    )
    outputs = []
    for threads in ("1", "2", "8"):
        environment = os.environ | {"POLARS_MAX_THREADS": threads}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        used, *values = json.loads(done.stdout)
        assert used == int(threads)
        outputs.append(values)
    assert outputs[0] == outputs[1] == outputs[2]
