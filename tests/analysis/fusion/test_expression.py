"""Methods that users write as expressions, and scores that are refused."""

from __future__ import annotations

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.errors import OptionError
from tests.support.fusing import random_runs

# The same as registered ones, as expressions over the stacked frame.
OWN = {
    "rrf": (1 / (60 + pl.col("rank"))).sum(),
    "sum": pl.col("normalised").sum(),
    "mnz": pl.col("normalised").sum() * pl.len(),
    "anz": pl.col("normalised").sum() / pl.col("runs_with").first(),
    "min": pl.col("normalised").min(),
    "max": pl.col("normalised").max(),
}


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
        (pl.col("rank").cast(pl.String).str.to_date().max(), "failed: could not find"),
        ((pl.col("rank") * 0.0 / 0).sum(), "gives no finite score to"),
        (pl.lit(None, pl.Float64), "gives no finite score to"),
    ],
)
def test_expressions_that_are_no_method(expression: pl.Expr, said: str) -> None:
    with pytest.raises(OptionError) as found:
        rf.fuse(random_runs(3, 2), expression).collect()
    assert said in str(found.value)


def test_scores_beyond_floats_are_refused(message) -> None:
    run = {"q": {"a": 1.7e308, "b": 1.0}}
    with pytest.raises(OptionError) as found:
        rf.fuse([run, run], "sum", norm="none").collect()
    message(str(found.value))
