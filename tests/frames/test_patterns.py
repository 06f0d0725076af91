"""Queries of which everything is the same stand for each other, and no others do."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from rankframe.core.options import Policies
from rankframe.engine.judged_metrics import judged_plan
from rankframe.engine.lookup import Lookup
from rankframe.engine.plan import compute_values
from rankframe.frames import judged as module
from rankframe.frames.judged import JudgedFrame, find_patterns
from rankframe.frames.matches import MatchedJudgments
from rankframe.io.opening import open_table
from rankframe.metrics.names import resolve


def part_of(qrels: Any, run: Any, **options: Any) -> MatchedJudgments:
    policies = Policies(**options)
    found = Lookup.from_inputs(
        open_table(qrels, "qrels"), open_table(run, "run"), policies, []
    ).found()
    return found.select()


def drawn(seed: int, queries: int = 300) -> MatchedJudgments:
    rng = np.random.default_rng(seed)
    docs = [f"d{n}" for n in range(4)]
    qrels = {
        f"q{n}": {str(d): int(rng.integers(-1, 3)) for d in rng.choice(docs, 2, replace=False)}
        for n in range(queries)
    }
    run = {
        query: dict.fromkeys(rng.choice(docs, rng.integers(1, 4), replace=False).tolist(), 1.0)
        for query in qrels
        if rng.random() < 0.9
    }
    return part_of(qrels, run, ties="as_given")


def seen(part: MatchedJudgments) -> list[tuple[Any, ...]]:
    """All that tells a query's kind."""
    ends = [*part.starts[1:].tolist(), len(part.rank)]
    return [
        (sorted(zip(part.rank[a:b].tolist(), part.grades[a:b].tolist(), strict=True)),
         int(part.retrieved[at]), bool(part.in_run[at]))
        for at, (a, b) in enumerate(zip(part.starts.tolist(), ends, strict=True))
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_each_query_is_the_same_as_the_one_that_stands_for_it(seed: int) -> None:
    part = drawn(seed)
    few, numbers = find_patterns(part)
    those = seen(few)
    assert len(those) == len({str(one) for one in those}) < len(part.starts) / 2
    assert [those[at] for at in numbers.tolist()] == seen(part)


def test_marks_that_are_equal_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    part = drawn(5)
    monkeypatch.setattr(
        module, "_marks", lambda _r, _g, starts, _n: np.ones_like(starts, np.uint64)
    )
    few, numbers = find_patterns(part)
    those = seen(few)
    assert len(those) > 1
    assert [those[at] for at in numbers.tolist()] == seen(part)


def test_queries_that_all_differ_stay_as_they_are() -> None:
    qrels = {f"q{n}": {"a": n} for n in range(1, 50)}
    part = part_of(qrels, {query: {"a": 1.0} for query in qrels})
    assert find_patterns(part)[0] is part


def test_values_are_the_same_bits() -> None:
    part = drawn(7)
    plan = judged_plan(resolve(["ndcg@2", "map", "mrr", "bpref", "rbp", "judged@2"]))
    few, numbers = find_patterns(part)
    values = compute_values(plan, JudgedFrame(part))
    of_few = compute_values(plan, JudgedFrame(few))
    again = of_few[pl.Series(numbers)].with_columns(values["query_id"])
    assert again.equals(values)
