"""What a report is made from: a comparison, drawings, what moved, and the words of queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankframe.decisions.change import Diff
from rankframe.decisions.comparison import Comparison
from rankframe.metrics.names import Metric


@dataclass(frozen=True)
class Material:
    """Everything that a report shows."""

    found: Comparison
    # by what they show
    drawings: Mapping[str, Any]
    # by the name of the system that is set against the baseline
    moved: Mapping[str, Diff]
    # the words of queries by their ids, where they are known
    texts: Mapping[str, str]

    @property
    def first(self) -> Metric:
        """The metric that charts and movers are about."""
        return self.found.metrics[0]
