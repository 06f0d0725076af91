"""Metrics over judgments: evaluated queries, counts, refused grades."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from rankframe.core.options import Policies
from rankframe.engine.accumulator import Accumulator
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.judged_metrics import check_grades
from rankframe.engine.ledger import RunCounts
from rankframe.io.opening import open_table
from rankframe.metrics.names import resolve


def test_duplicates_are_refused_in_a_piece_without_judgments(refusal) -> None:
    evaluate = prepare_evaluation(resolve("map"), Policies()).evaluate_partition
    qrels = open_table({"q": {"a": 1}}, "qrels").frame.collect()
    run = open_table({"p": {"b": 1.0}}, "run").frame.collect()
    twice = pl.concat([run, run])
    refusal(evaluate, qrels.head(0), twice)
    best = prepare_evaluation(resolve("map"), Policies(duplicates="keep_best")).evaluate_partition
    counts = best(qrels.head(0), twice).counts
    assert counts == best(qrels.head(0), run).counts.merge(_rows(1))


def _rows(count: int) -> RunCounts:
    return RunCounts(right_rows=count, run_dropped=count)


def piece(qrels: Any, run: Any, metrics: Any = "map", **policies: Any) -> Accumulator:
    return prepare_evaluation(resolve(metrics), Policies(**policies)).evaluate_partition(
        open_table(qrels, "qrels").frame.collect(), open_table(run, "run").frame.collect()
    )


# q1 is answered, q2 has nothing relevant, q3 is missing from the run, q4 is not judged.
QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 0}, "q3": {"a": 1}}
RUN = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"c": 1.0}, "q4": {"a": 1.0}}


@pytest.mark.parametrize(
    ("policies", "queries"),
    [
        ({}, ["q1", "q2", "q3"]),
        ({"missing": "skip"}, ["q1", "q2"]),
        # said of all pieces, not by one
        ({"missing": "error"}, ["q1", "q2"]),
        ({"no_relevant": "skip"}, ["q1", "q3"]),
        ({"no_relevant": "skip", "rel": 0}, ["q1", "q2", "q3"]),
        ({"no_relevant": "skip", "rel": 2}, []),
    ],
)
def test_policies_say_which_queries_of_a_piece_count(policies: Any, queries: list[str]) -> None:
    found = piece(QRELS, RUN, **policies)
    assert found.join()["query_id"].to_list() == queries
    assert isinstance(found.counts, RunCounts)
    assert (found.counts.evaluated, found.counts.missing) == (len(queries), 1)
    assert (found.counts.lacking, found.counts.qrels_queries) == ("q3", 3)


@pytest.mark.parametrize("options", [{"k_max": 1}, {"judged_only": True}])
def test_the_overlap_is_that_of_the_run_as_it_came(options: Any) -> None:
    counts = piece(
        {"q": {"a": 1, "b": -1}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}, **options
    ).counts
    assert isinstance(counts, RunCounts)
    assert counts.overlap == 2
    assert counts.judged_retrieved == (1 if "judged_only" in options else 0)


GRADES = pl.LazyFrame({"relevance": [0.0, 2.0, 3.0, -1.0]})


def test_the_largest_grade_is_found() -> None:
    assert check_grades(resolve(["ndcg", "map"]), GRADES) == 3
    assert check_grades(resolve("map"), GRADES.clear()) == 0


@pytest.mark.parametrize(
    "metric",
    [
        "err(max_grade=2)",
        "ndcg(gain={1: 1, 2: 5})",
    ],
)
def test_what_no_parameter_foresees_is_refused(metric: str, refusal: Callable[..., str]) -> None:
    refusal(check_grades, resolve(metric), GRADES)


def test_powers_of_large_grades_are_refused(refusal: Callable[..., str]) -> None:
    large = pl.LazyFrame({"relevance": [2000.0]})
    refusal(check_grades, resolve("ndcg(gain=exp2)"), large)
