"""How often each document is shown, over all queries: counts that add up.

Queries are dealt into groups by a hash of their ids, and counted by group: see `documents`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC
from rankframe.frames.catalogue import Catalogue
from rankframe.frames.exposure import Exposed
from rankframe.frames.retrieved import ShownRows
from rankframe.kernel.segments import segment_lengths, segment_starts
from rankframe.stats.bootstrap import hash_ids

# Groups of queries: see docs/statistics.md.
GROUPS: Final = 32
# Cells of the table of counts: beyond, queries are one group, and there are no intervals.
_MOST_CELLS: Final = 1 << 27
# Rows of counts that wait to be added up.
_WAITING: Final = 1 << 21
TIMES: Final = "times"
_KEYS: Final = ["way", "number", DOC, "bucket"]
_SCHEMA: Final = {"way": pl.Int32, "number": pl.Int64, DOC: pl.String, "bucket": pl.Int16,
                  TIMES: pl.Int64}  # fmt: skip


@dataclass
class Shows:
    """How often documents were shown, by group of queries and by cutoff; those of different
    queries add up.
    """

    # ascending; None: the whole list
    cutoffs: tuple[int | None, ...]
    groups: int
    # group × document of the catalogue × the first cutoff that includes it
    known: NDArray[np.int32]
    # the lists themselves: group × the first cutoff that shows any
    lists: NDArray[np.int64]
    # documents that the catalogue does not know (of no way of slicing, by group), and slices of
    # queries: way, number, doc_id, bucket, times
    rest: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_SCHEMA))
    # by attribute of documents: at which ranks its values were shown
    exposed: Mapping[str, Exposed] = field(default_factory=dict)
    _waiting: list[pl.DataFrame] = field(default_factory=list)

    @classmethod
    def none(
        cls,
        cutoffs: Sequence[int | None],
        catalogue: Catalogue,
        by: Mapping[str, int] | None = None,
        *,
        hits: bool = False,
    ) -> Shows:
        """Nothing counted yet.

        `by`: attributes, and down to which rank their values are counted; `hits`: also how often
        these are relevant.
        """
        by = by or {}
        size, buckets = len(catalogue.docs), len(cutoffs)
        sets = {name: catalogue.value_sets(name).count for name in by}
        cells = size * buckets + sum(sets[name] * k for name, k in by.items())
        groups = GROUPS if GROUPS * cells <= _MOST_CELLS else 1
        return cls(
            tuple(cutoffs),
            groups,
            np.zeros((groups, size, buckets), np.int32),
            np.zeros((groups, buckets), np.int64),
            exposed={
                name: Exposed.none(groups, sets[name], k, hits=hits) for name, k in by.items()
            },
        )

    def add(self, rows: ShownRows, slices: Sequence[NDArray[np.int64]]) -> None:
        """Count what some lists show; `slices`: of each way of slicing, the number of each list."""
        bucket = self._bucket(rows.rank)
        inside = np.flatnonzero(bucket < len(self.cutoffs))
        group = (hash_ids(rows.queries) % np.uint64(self.groups)).astype(np.int64)
        first = self._bucket(rows.rank[rows.starts])
        shown = first < len(self.cutoffs)
        np.add.at(self.lists, (group[shown], first[shown]), 1)
        code, numbers = rows.code[inside], rows.numbers[inside]
        known = numbers >= 0
        size, buckets = self.known.shape[1:]
        cells = (group[code[known]] * size + numbers[known]) * buckets + bucket[inside][known]
        # Sorted, so that no cell is counted twice: quicker than one after the other in any order.
        cells.sort()
        firsts = segment_starts(cells)
        times = segment_lengths(firsts, len(cells)).astype(np.int32)
        self.known.reshape(-1)[cells[firsts]] += times
        strangers = inside[~known]
        if len(strangers):
            self._wait(-1, group[rows.code[strangers]], rows, strangers, bucket[strangers])
        for way, number in enumerate(slices):
            self._wait(way, number[code], rows, inside, bucket[inside])
            self._wait(way, number[shown], None, np.flatnonzero(shown), first[shown])
        for name, exposed in self.exposed.items():
            sets = rows.catalogue.value_sets(name).of_rows(rows.numbers)
            relevant = None if exposed.hits is None else rows.relevant
            exposed.add(sets, rows.rank, rows.code, group, slices, relevant)

    def _bucket(self, rank: NDArray[np.integer]) -> NDArray[np.int64]:
        last = np.iinfo(np.int64).max
        ends = np.array([last if k is None else k for k in self.cutoffs], np.int64)
        return np.searchsorted(ends, rank)

    def _wait(
        self, way: int, number: NDArray[np.int64], rows: ShownRows | None,
        at: NDArray[np.int64], bucket: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Rows by what they are counted under; a document of None stands for a list."""
        docs = (
            pl.repeat(None, len(at), dtype=pl.String, eager=True)
            if rows is None
            else rows.docs.gather(at)
        )
        some = pl.DataFrame({"number": number, DOC: docs, "bucket": bucket}).with_columns(
            pl.lit(way).alias("way"), pl.lit(1).alias(TIMES)
        )
        self._waiting.append(_added(some.select(list(_SCHEMA)).cast(_SCHEMA)))  # pyright: ignore[reportArgumentType]
        if sum(one.height for one in self._waiting) > _WAITING:
            self.settle()

    def settle(self) -> Shows:
        """Add up what waits."""
        if self._waiting:
            self.rest = _added(pl.concat([self.rest, *self._waiting]))
            self._waiting = []
        return self

    def __add__(self, other: Shows) -> Shows:
        self.settle()
        other.settle()
        return Shows(
            self.cutoffs,
            self.groups,
            self.known + other.known,
            self.lists + other.lists,
            _added(pl.concat([self.rest, other.rest])),
            {name: ours + other.exposed[name] for name, ours in self.exposed.items()},
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the many zeros."""
        self.settle()
        at = np.flatnonzero(self.known)
        return _filled, (
            self.cutoffs, self.groups, self.known.shape, at, self.known.ravel()[at], self.lists,
            self.rest, self.exposed,
        )  # fmt: skip


def _filled(
    cutoffs: tuple[int | None, ...], groups: int, shape: tuple[int, ...],
    at: NDArray[np.int64], counts: NDArray[np.int32], lists: NDArray[np.int64], rest: pl.DataFrame,
    exposed: Mapping[str, Exposed],
) -> Shows:  # fmt: skip
    known = np.zeros(shape, np.int32)
    known.ravel()[at] = counts
    return Shows(cutoffs, groups, known, lists, rest, exposed)


def _added(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by(_KEYS).agg(pl.col(TIMES).sum())
