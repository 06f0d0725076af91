"""What a chart is drawn of where files are given: judgments, runs, and what to make of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rankframe.base.errors import OptionError
from rankframe.base.messages import Option
from rankframe.base.options import Policies
from rankframe.curves.curve import Kind, curve
from rankframe.decisions.diff import Diff, diff
from rankframe.evaluation.evaluate import evaluate
from rankframe.evaluation.judge import judge
from rankframe.evaluation.result import Result
from rankframe.inputs.queries import By
from rankframe.inputs.scan import Columns, Source
from rankframe.tuning.outcome import Tuning
from rankframe.tuning.tune import tune


@dataclass(frozen=True)
class Material:
    """Judgments and runs by name; the rest as far as a chart asks for it."""

    qrels: Source | None = None
    runs: Mapping[str, Source] = field(default_factory=dict)
    metric: str = "ndcg@10"
    k: int = 20
    distance: bool = False
    queries: Source | None = None
    by: list[By] | list[tuple[str, ...]] | None = None
    columns: Columns | None = None
    # by name, as `evaluate` takes them
    policies: Mapping[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The metric without its cutoff."""
        return self.metric.split("@", maxsplit=1)[0]

    @property
    def ks(self) -> range:
        """All cutoffs."""
        return range(1, self.k + 1)

    def curves(self, kind: Kind, **options: Any) -> dict[str, pl.DataFrame]:
        """A curve for each run."""
        return {
            name: curve(self.qrels, run, kind, **options, columns=self.columns, **self.policies)
            for name, run in self.runs.items()
        }

    def per_query(self) -> dict[str, pl.DataFrame]:
        """The metric of every query, for each run."""
        return {name: result.per_query for name, result in self._evaluated().items()}

    def slices(self) -> dict[str, pl.DataFrame]:
        """The metric of every slice, for each run."""
        if not self.by or self.queries is None:
            raise OptionError(
                "slices need ",
                Option("queries"),
                " (a table of queries) and ",
                Option("by"),
                " (an attribute).",
            )
        results = self._evaluated(by=self.by, queries=self.queries)
        return {name: result.slices for name, result in results.items()}

    def difference(self) -> Diff:
        """What changed from the first run to the second."""
        a, b = self.runs.values()
        return diff(self.qrels, a, b, self.metric, columns=self.columns, **self.policies)

    def tuned(self) -> Tuning:
        """What each weight of the runs is worth."""
        return tune(
            self.qrels, self.runs, "wsum", self.metric, columns=self.columns, **self.policies
        )

    def judged(self) -> pl.LazyFrame:
        """The judged frame of the one run."""
        (run,) = self.runs.values()
        taken = {
            name: self.policies[name]
            for name in Policies.names(frame_only=True)
            if name in self.policies
        }
        return judge(self.qrels, run, columns=self.columns, **taken)

    def _evaluated(self, **options: Any) -> dict[str, Result]:
        return {
            name: evaluate(
                self.qrels, run, self.metric, columns=self.columns, **self.policies, **options
            )
            for name, run in self.runs.items()
        }
