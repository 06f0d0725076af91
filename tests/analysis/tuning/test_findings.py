"""What is said of candidates: intervals, differences, and how folds chose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.differences import Setup
from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.fusion.registry import Method
from rankframe.analysis.tuning.findings import Findings
from rankframe.analysis.tuning.folds import Folds, QueryValues
from rankframe.analysis.tuning.trials import Trial
from rankframe.engine.accumulator import Terms
from rankframe.metrics.names import resolve

QUERIES = pl.Series("query_id", [f"q{n}" for n in range(12)])
FOLDS = np.arange(12) % 3
RNG = np.random.default_rng(0)
VALUES = {name: RNG.random(12) for name in ("a", "b", "one", "other", "rrf")}


def method(name: str) -> Method:
    return Method(name, None, METHODS["rrf"])


def contender(values: Any) -> QueryValues:
    found = np.asarray(values, np.float64)
    return QueryValues(Terms(found, np.ones(len(found), np.bool_), found, None))


def findings(metric: str = "map", **changed: Any) -> Findings:
    values = {**VALUES, **changed}
    every = frozenset(range(3))
    return Findings(
        resolve(metric)[0],
        QUERIES,
        Folds(FOLDS, 3, np.ones(12, np.bool_)),
        [Trial(method(name), contender(values[name]), every) for name in ("a", "b")],
        {name: contender(values[name]) for name in ("one", "other")},
        ("rrf(k=60)", contender(values["rrf"])),
        Setup(),
    )


def stored(name: str, values: Any) -> pl.DataFrame:
    return pl.DataFrame({"query_id": QUERIES, name: values})


def test_intervals_are_those_of_a_comparison() -> None:
    found = findings().candidates()
    systems = {name: stored("map", VALUES[name]) for name in ("a", "b")}
    alone = rf.compare(None, systems).systems
    for row in found.to_dicts():
        theirs = alone.filter(system=row["fusion"]).row(0, named=True)
        assert all(row[key] == theirs[key] for key in ("value", "ci_low", "ci_high"))
    first, second = found["fusion"]
    pair = rf.compare(None, systems, baseline=first).table.row(0, named=True)
    assert pair["system"] == second
    ours = found.row(1, named=True)
    assert (ours["difference"], ours["difference_low"], ours["difference_high"]) == (
        pair["difference"], pair["ci_low"], pair["ci_high"],
    )  # fmt: skip
    assert ours["as_good"] == (pair["ci_low"] <= 0 <= pair["ci_high"])
    assert found["as_good"][0] is True


def test_a_candidate_is_chosen_only_where_it_may_be() -> None:
    found = findings(a=np.zeros(12), b=np.ones(12))
    assert found.chosen == [1, 1, 1]
    kept = [replace(one, folds=frozenset({at})) for at, one in enumerate(found.trials)]
    kept.append(Trial(method("c"), contender(np.full(12, 0.5)), frozenset({0, 1, 2})))
    some = replace(found, trials=kept)
    assert some.chosen == [2, 1, 2]
    assert some.order == [1, 2, 0]
    assert some.candidates()["folds"].to_list() == [1, 2, 0]


def test_folds_say_what_was_chosen_and_what_it_gave() -> None:
    found = findings()
    for fold, row in enumerate(found.by_fold().to_dicts()):
        inside, chosen = fold == FOLDS, VALUES[row["fusion"]]
        assert (row["fold"], row["queries"]) == (fold + 1, 4)
        assert row["value"] == pytest.approx(chosen[inside].mean())
        assert row["value_on_others"] == pytest.approx(chosen[~inside].mean())
        assert row["value_on_others"] == pytest.approx(
            max(VALUES[name][~inside].mean() for name in ("a", "b"))
        )
        assert row["run_value"] == pytest.approx(VALUES[row["run"]][inside].mean())


def test_less_may_be_better() -> None:
    found = findings("lag", a=np.zeros(12), b=np.ones(12), one=np.ones(12), other=np.full(12, 2.0))
    assert found.chosen == [0, 0, 0]
    against = found.against().row(0, named=True)
    assert (against["baseline"], against["difference"], against["improved"]) == ("one", -1.0, True)


def test_worse_is_no_improvement_however_sure() -> None:
    found = findings(a=np.zeros(12), b=np.zeros(12), one=np.ones(12))
    against = found.against().row(0, named=True)
    assert against["significant"]
    assert not against["improved"]


def test_values_of_queries_that_do_not_count_are_not_shown() -> None:
    found = findings()
    complete = np.arange(12) != 5
    some = replace(found, folds=Folds(FOLDS, 3, complete))
    rows = some.per_query()
    assert rows.filter(pl.col("tuned").is_null())["query_id"].to_list() == ["q5"]
    assert rows["fold"].to_list() == (FOLDS + 1).tolist()
    assert set(some.against()["queries"]) == {11}
