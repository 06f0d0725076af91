"""What tuning holds in memory, whatever the pieces of the runs: values and judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankframe.analysis.tuning.grids import Family
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, number_of
from rankframe.engine.memory import for_rows, limit_of, size_text
from rankframe.metrics.names import Metric

# Bytes of a value at the peak, where intervals are computed: 32 were measured. Averages other than
# the plain mean keep what is added up, above and below the line, beside each.
_VALUE, _SUMS = 40, 16
# Of the room for rows, what must be left for those of runs and for what is found of fusions.
_FOR_RUNS, _FOR_FOUND = 0.2, 0.25


def count_values(families: Sequence[tuple[Family, bool]], budget: int, folds: int) -> int:
    """How many values each query has at the most: one for a candidate, and for one that is trained
    (which is said of each family) one more for every fold.
    """
    total = 1  # plain RRF
    for family, trained in families:
        if family.denominator is None:
            each = sum(1 for _ in family.candidates())
        else:  # half of what a search looks at is the same for all folds
            each = (budget // 2 + 1) * (folds + 2)
        total += each * (1 + folds if trained else 1)
    return total


@dataclass(frozen=True)
class Room:
    """What is left for runs."""

    # a limit for these alone; None: what the machine has
    max_memory: int | None
    # for what is found of fusions that are evaluated together; None: as much as is useful
    found: int | None

    @classmethod
    def beside(
        cls,
        values: int,
        queries: int,
        judgments: int,
        metric: Metric,
        max_memory: str | int | None,
    ) -> Room:
        """Beside so many values for each query, and judgments of so many bytes; a limit that these
        alone exceed is refused.
        """
        limit = limit_of(max_memory)
        whole = for_rows(limit)
        size = _VALUE if metric.average in ("macro", "sum") else _VALUE + _SUMS
        need = values * queries * size + judgments
        left = whole - need
        if left < whole * _FOR_RUNS:
            least = size_text(int(need / (1 - _FOR_RUNS)) + limit - whole)
            raise OptionError(
                f"the values of up to {number_of(values, 'candidate')} in "
                f"{number_of(queries, 'query')}, and the judgments, are held in memory and take "
                f"about {size_text(need)}: a limit of {size_text(limit)} cannot be held. Pass ",
                Option("max_memory", least),
                ", or try fewer candidates.",
            )
        if max_memory is None:
            return cls(None, None)
        return cls(left + limit - whole, int(left * _FOR_FOUND))
