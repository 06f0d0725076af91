"""What judgments say of runs without the queries of some folds: what trained fusions may see."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from rankframe.analysis.fusion.hits import Hits
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.training import JudgedRun, judge_runs
from rankframe.analysis.tuning.folds import Folds
from rankframe.io.input_table import InputTable


@dataclass(frozen=True, eq=False)
class Lessons:
    """Judgments, runs, and the folds of queries; looked at when somebody asks."""

    qrels: InputTable
    runs: Mapping[str, InputTable]
    policies: FusionPolicies
    queries: pl.Series
    folds: Folds
    _judged: list[JudgedRun] = field(default_factory=list)

    def without(self, unseen: Collection[int]) -> list[Hits]:
        """What the judgments of all other folds say of each run."""
        if not self._judged:
            self._judged.extend(judge_runs(self.qrels, self.runs, self.policies))
        seen = self.queries.filter(pl.Series(~np.isin(self.folds, list(unseen))))
        return [one.count(seen) for one in self._judged]
