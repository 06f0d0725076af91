"""Fusing again and again what was prepared once; methods of one's own."""

from __future__ import annotations

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.fusion.methods import METHODS
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.prepared import Prepared, fused_scores
from rankframe.analysis.fusion.runs import HeldRuns, open_runs
from rankframe.analysis.fusion.training import hits_of
from rankframe.core.errors import OptionError
from rankframe.io.opening import open_table
from tests.support.fusing import QRELS, random_runs

PARAMETERS = {
    "gmnz": "gamma=.5",
    "rbc": "phi=.8",
    "slidefuse": "window=2",
    "probfuse": "segments=4",
}
# The same as registered ones, as expressions over the stacked frame.
OWN = {
    "rrf": (1 / (60 + pl.col("rank"))).sum(),
    "sum": pl.col("normalised").sum(),
    "mnz": pl.col("normalised").sum() * pl.len(),
    "anz": pl.col("normalised").sum() / pl.col("runs_with").first(),
    "min": pl.col("normalised").min(),
    "max": pl.col("normalised").max(),
}


def prepared(runs: dict[str, pl.DataFrame]) -> Prepared:
    policies = FusionPolicies()
    return HeldRuns.of(open_runs(runs, policies), policies).prepared()


@pytest.mark.parametrize("name", METHODS)
def test_the_bits_are_those_of_fuse(name: str) -> None:
    runs, method = random_runs(1, 3), METHODS[name]
    written = f"{name}({PARAMETERS[name]})" if name in PARAMETERS else name
    weights = [0.5, 0.2, 0.3] if method.weighted else None
    qrels = QRELS if method.trained else None
    expected = rf.fuse(runs, written, weights=weights, qrels=qrels, k_max=7).collect()
    hits = None
    if method.trained:
        policies = FusionPolicies()
        hits = hits_of(open_table(QRELS, "qrels"), open_runs(runs, policies), policies)
    state = prepared(runs)
    for _ in range(2):
        assert fused_scores(
            state, written, weights=weights, k_max=7, hits=hits
        ).equals(expected)  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_an_expression_is_a_method(name: str) -> None:
    runs = random_runs(2, 3)
    ours, theirs = (rf.fuse(runs, one).collect() for one in (OWN[name], name))
    keys = ["query_id", "doc_id"]
    both = ours.join(theirs, on=keys, suffix="_theirs")
    assert both.height == ours.height == theirs.height
    assert ((both["score"] - both["score_theirs"]).abs() < 1e-12).all()


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (pl.col("rank"), "not one number. Aggregate it"),
        (pl.col("rank").cast(pl.String).str.to_date().max(), "the expression failed"),
        ((pl.col("rank") * 0.0 / 0).sum(), "gives no finite score to"),
        (pl.lit(None, pl.Float64), "gives no finite score to"),
    ],
)
def test_expressions_that_are_no_method(expression: pl.Expr, said: str) -> None:
    with pytest.raises(OptionError) as found:
        rf.fuse(random_runs(3, 2), expression).collect()
    assert said in str(found.value)


def test_scores_beyond_floats_are_refused() -> None:
    run = {"q": {"a": 1.7e308, "b": 1.0}}
    with pytest.raises(OptionError) as found:
        rf.fuse([run, run], "sum", norm="none").collect()
    assert "gives no finite score to 1 of 2 documents, e.g. 'a' of query 'q'" in str(found.value)


def test_trained_methods_ask_for_what_they_learn_from() -> None:
    with pytest.raises(OptionError) as found:
        fused_scores(prepared(random_runs(1, 2)), "posfuse")
    assert "posfuse is trained on judgments" in str(found.value)
