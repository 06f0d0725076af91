"""The model of a report: a comparison, charts, what moved, verdicts, and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.analysis.diff import Diff
from rankframe.analysis.verdict import Verdict
from rankframe.metrics.names import Metric
from rankframe.present.report.provenance import Made


@dataclass(frozen=True)
class Moved:
    """Hold the queries in which a system is worst and best against the baseline."""

    worse: Diff
    better: Diff


@dataclass(frozen=True)
class Material:
    """Hold everything that a report shows."""

    found: Comparison
    # by what they show
    drawings: Mapping[str, Any]
    # by the name of the system that is set against the baseline
    moved: Mapping[str, Moved]
    # the words of queries by their ids, where they are known
    texts: Mapping[str, str]
    provenance: Made
    # with bounds for unjudged documents, over the queries that curves are drawn of
    bounded: Comparison
    # on each system beside the baseline, where rules were given
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    # by what queries are weighed, if they are
    weight: str | None = None
    # of what curves are drawn, where that is not all
    sampled: str = ""
    # the queries of the table; None: a sample is drawn
    queries: pl.Series | None = None

    @property
    def first(self) -> Metric:
        """The metric that sentences, charts and movers are about."""
        return self.found.metrics[0]
