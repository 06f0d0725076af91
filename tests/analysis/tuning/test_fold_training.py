"""What is learned without some folds is what the judgments of the others alone say."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.runs import open_runs
from rankframe.analysis.fusion.training import judge_runs
from rankframe.analysis.tuning.fold_training import Lessons
from rankframe.io.opening import open_table
from tests.analysis.tuning.test_tune import data


@pytest.mark.parametrize("unseen", [(), (0,), (0, 2)])
@pytest.mark.parametrize("depth", [None, 3])
def test_the_judgments_of_other_folds(unseen: tuple[int, ...], depth: int | None) -> None:
    qrels, runs = data(3)
    policies = FusionPolicies(depth=depth)
    opened = open_runs(runs, policies)
    queries = pl.Series(sorted(qrels))
    folds = np.arange(len(queries)) % 3
    found = Lessons(open_table(qrels, "qrels"), opened, policies, queries, folds).without(unseen)
    left = {q: qrels[q] for q, fold in zip(queries, folds, strict=True) if fold not in unseen}
    expected = judge_runs(open_table(left, "qrels"), opened, policies)
    for ours, run in zip(found, expected, strict=True):
        theirs = run.count()
        assert (ours.queries, ours.map) == (theirs.queries, theirs.map)
        assert ours.table.sort("length", "rank").equals(theirs.table.sort("length", "rank"))
