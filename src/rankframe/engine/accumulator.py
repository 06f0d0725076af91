"""The accumulator of an evaluation: values per query, their sums, and counts for the ledger.

Whatever is computed is independent for every query. What is accumulated of a batch, of a partition
out of core, or of one on a Spark worker merges with the rest, in any order, to the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rankframe.core.options import Intervals
from rankframe.engine.counts import Counts
from rankframe.engine.plan import PerQuery
from rankframe.engine.slice_sums import WHOLE, SliceKey, SliceSums, sum_by_slice
from rankframe.io.queries import Attributes, Known
from rankframe.metrics.metric import Metric


@dataclass(frozen=True)
class Averages:
    """Say what is averaged over queries: metrics, in slices and by weights, with intervals."""

    metrics: tuple[Metric, ...]
    intervals: Intervals
    attributes: Attributes | None = None
    # whether values are summed up; else they are only kept
    summed: bool = True


@dataclass
class Accumulator:
    """Accumulate what becomes of queries."""

    averages: Averages
    counts: Counts
    parts: list[PerQuery] = field(default_factory=list)
    slices: dict[SliceKey, SliceSums] = field(default_factory=dict)
    # whether the values are one part, in byte order
    _joined: bool = False

    @classmethod
    def empty(cls, averages: Averages, counts: Counts) -> Accumulator:
        """Return an accumulator of no queries; `counts`: what is counted, all 0."""
        return cls(averages, counts)

    def add(self, values: PerQuery, counts: Counts) -> None:
        """Add the values of queries, and what was counted for them."""
        attributes = self.averages.attributes
        joined = Known() if attributes is None else attributes.of(values.queries)
        self.parts.append(values)
        self._joined = False
        self.counts = self.counts.merge(counts.with_queries(values.height, joined))
        if self.averages.summed:
            metrics, intervals = self.averages.metrics, self.averages.intervals
            self._merge_slices(sum_by_slice(metrics, values, joined, intervals))

    def merge(self, other: Accumulator) -> None:
        """Add what was accumulated of other queries."""
        self.parts += other.parts
        self._joined = False
        self.counts = self.counts.merge(other.counts)
        self._merge_slices(other.slices)

    def join(self, *, ordered: bool = False) -> PerQuery:
        """Return the values of all queries in byte order; `ordered`: they were added so."""
        if not self._joined:
            parts = self.parts or [PerQuery.empty(self.averages.metrics)]
            self.parts, self._joined = [PerQuery.joined(parts, ordered=ordered)], True
        return self.parts[0]

    def sums(self) -> dict[SliceKey, SliceSums]:
        """Return the sums of all queries first, even if there are none, and of every slice."""
        whole = {WHOLE: SliceSums.empty(self.averages.metrics)} | self.slices
        return {key: whole[key] for key in sorted(whole)}

    def _merge_slices(self, slices: dict[SliceKey, SliceSums]) -> None:
        for key, sums in slices.items():
            self.slices[key] = self.slices[key].merge(sums) if key in self.slices else sums
