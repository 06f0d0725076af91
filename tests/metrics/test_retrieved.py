"""Retrieved documents: cases to check by hand, and every metric by its plain definition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics import REGISTRY
from tests.support import retrieved_by_definition as by
from tests.support.retrieved_cases import frames, recorded_cases, with_gaps

KS = (1, 5, 10)
BY_DEFINITION: dict[str, Callable[..., Any]] = {
    "coverage": by.coverage,
    "coverage(count=true)": partial(by.coverage, count=True),
    "gini": by.gini,
    "gini(over=retrieved)": partial(by.gini, over="retrieved"),
    "entropy": by.entropy,
    "personalisation": by.personalisation,
    "novelty": by.novelty,
    "novelty(normalised=true)": partial(by.novelty, normalised=True),
    "popularity": by.popularity,
    "long_tail": by.long_tail,
    "long_tail(head=0.5)": partial(by.long_tail, head=0.5),
    "repeated": by.repeated,
    "diversity(by=genre)": partial(by.diversity, by="genre"),
    "diversity(by=genres)": partial(by.diversity, by="genres"),
    "diversity(by=genre, kind=pairs)": partial(by.diversity, by="genre", kind="pairs"),
    "diversity(by=genres, kind=pairs)": partial(by.diversity, by="genres", kind="pairs"),
    "diversity(by=genre, kind=entropy)": partial(by.diversity, by="genre", kind="entropy"),
    "diversity(by=genres, kind=entropy)": partial(by.diversity, by="genres", kind="entropy"),
    "ild(vector=embedding)": partial(by.ild, vector="embedding"),
    "serendipity": by.serendipity,
    "unexpectedness": by.unexpectedness,
    "epc": by.epc,
    "efd": by.efd,
    "calibration(by=genre)": partial(by.calibration, by="genre"),
    "calibration(by=genres)": partial(by.calibration, by="genres"),
    "exposure_share(by=genre, value=drama)": partial(by.exposure_share, by="genre", value="drama"),
}
# Those of queries with judgments.
JUDGED = ("serendipity", "epc", "efd")


@cache
def every_case() -> dict[str, Any]:
    """As packages were given them, and with documents of which little is known."""
    cases = recorded_cases()
    return cases | {f"{name}, gaps": with_gaps(cases[name]) for name in ("plain", "mixed")}


def close(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-12)


@cache
def found_in(called: str) -> tuple[rf.Result, dict[str, dict[str, Any]]]:
    """Evaluate a case with all metrics; also return the values of each query."""
    given: dict[str, Any] = frames(every_case()[called])  # pyright: ignore[reportAssignmentType]
    qrels, run = given.pop("qrels"), given.pop("run")
    labels = [f"{name}@{k}" for name in BY_DEFINITION for k in KS]
    result = rf.evaluate(qrels, run, labels, **given, ci=None)
    return result, {row["query_id"]: row for row in result.per_query.to_dicts()}


def differing(called: str, name: str) -> Iterator[tuple[Any, ...]]:
    """Where a metric is not what its definition says."""
    labels = {k: f"{name}@{k}" for k in KS}
    case, (result, values) = every_case()[called], found_in(called)
    judged = case["qrels"] if name in JUDGED else None
    users = {user: docs for user, docs in case["run"].items() if judged is None or user in judged}
    for k, label in labels.items():
        wanted = BY_DEFINITION[name]({**case, "run": users}, k)
        if not isinstance(wanted, dict):
            yield from [] if close(result[label], wanted) else [(label, result[label], wanted)]
            continue
        if not close(result[label], by.average(wanted)):
            yield label, result[label], by.average(wanted)
        for user, one in wanted.items():
            found = values.get(user, {}).get(label)
            yield from [] if close(found, one) else [(label, user, found, one)]


@pytest.mark.parametrize("name", BY_DEFINITION)
def test_every_metric_is_what_its_definition_says(name: str) -> None:
    for called in every_case():
        assert list(differing(called, name)) == [], called


def test_none_is_left_out() -> None:
    tested = {name.split("(")[0] for name in BY_DEFINITION}
    frames_of = ("retrieved", "documents")
    every = {name for name, one in REGISTRY.items() if one.frame in frames_of}
    assert every - tested <= {"exposure_gap"}


def test_by_hand() -> None:
    # Four users have anything: a is had by two, b by one, c by none. u has a.
    found = rf.evaluate(
        {"u": {"b": 1}},
        {"u": ["a", "b", "c"]},
        ["novelty@2", "popularity@3", "repeated@3", "surprisal@4", "long_tail@3"],
        train={"u": ["a"], "v": ["a"], "w": ["b"], "x": ["d"]},
    )
    assert found.means == {
        "novelty@2": (1 + 2) / 2,
        "popularity@3": (2 + 1 + 0) / 3,
        "repeated@3": 1 / 3,
        "surprisal@4": (1 / 2 + 1 + 1) / 4,
        "long_tail@3": 1 / 3,
    }


def test_a_value_may_be_a_number_or_a_flag() -> None:
    items = pl.DataFrame({"doc_id": ["a", "b"], "shop": [1, 2], "new": [True, False]})
    for asked, value in (("by=shop, value=2", 0.0), ("by=shop, value=1", 1.0),
                         ("by=new, value=true", 1.0)):  # fmt: skip
        metric = f"exposure_share({asked})@1"
        assert rf.evaluate(None, {"u": ["a", "b"]}, metric, items=items)[metric] == value
