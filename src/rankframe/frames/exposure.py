"""Count how often documents and the values of their attributes were retrieved, and at which ranks.

Counts of different queries add up. Queries are dealt into buckets by a hash of their ids and
counted by bucket: what leaving one out changes says how uncertain a metric over documents is.
Values are counted by the set of values that a document has, so that counts are whole numbers; what
a document with several values gives each of them is divided at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from math import comb, sqrt
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import AnyInts, Codes, Flags, Floats, Ints
from rankframe.core.columns import DOC
from rankframe.frames.catalogue import Catalogue
from rankframe.frames.retrieved import ShownRows
from rankframe.kernel.segments import segment_lengths, segment_starts
from rankframe.stats.bootstrap import hash_ids

# Buckets of queries: see docs/statistics.md.
BUCKETS: Final = 32
# Cells of the table of counts: beyond, queries are one bucket, and there are no intervals.
_MOST_CELLS: Final = 1 << 27
# Rows of counts that wait to be added up.
_WAITING: Final = 1 << 20
TIMES: Final = "times"
# The series of `shrinkage` is smoothed: a term counts as likely as so many coins show at least as
# many heads as its number (Efron and Thisted 1976).
_COINS: Final = 10
_WEIGHTS: Final = np.array(
    [
        (-1) ** (j + 1) * sum(comb(_COINS, heads) for heads in range(j, _COINS + 1)) / 2**_COINS
        for j in range(1, _COINS + 1)
    ]
)
# How many times its own error the series has to be: with less, intervals are too narrow too often
# (docs/statistics.md).
_SURE: Final = 3.0


class SliceCounts:
    """Accumulate counts of slices of queries, as a table of what was counted and how often."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Begin; `schema`: the columns under which is counted, beside `way` and `number`."""
        self._schema: dict[Any, Any] = {
            "way": pl.Int32,
            "number": pl.Int64,
            **schema,
            TIMES: pl.Int64,
        }
        self._rows = pl.DataFrame(schema=self._schema)
        self._waiting: list[pl.DataFrame] = []

    def add(self, way: int, **columns: NDArray[Any] | pl.Series) -> None:
        """Count rows of a way of slicing."""
        rows = pl.DataFrame(columns).with_columns(pl.lit(way).alias("way"), pl.lit(1).alias(TIMES))
        self._waiting.append(self._summed([rows.select(list(self._schema)).cast(self._schema)]))
        if sum(table.height for table in self._waiting) > _WAITING:
            self._settle()

    def select(self, way: int, number: int | None = None) -> pl.DataFrame:
        """Return the counts of a way of slicing, or of one of its slices."""
        rows = self._settle().filter(pl.col("way") == way)
        return rows if number is None else rows.filter(pl.col("number") == number)

    def __add__(self, other: SliceCounts) -> SliceCounts:
        both = copy(self)
        both._waiting = [other._settle()]
        both._rows = self._settle()
        return both

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return self.__dict__

    def _settle(self) -> pl.DataFrame:
        if self._waiting:
            self._rows = self._summed([self._rows, *self._waiting])
            self._waiting = []
        return self._rows

    def _summed(self, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
        keys = [name for name in self._schema if name != TIMES]
        return pl.concat(tables).group_by(keys).agg(pl.col(TIMES).sum())


@dataclass
class ValueExposure:
    """Accumulate how often documents were retrieved at each rank, by their set of values."""

    # bucket of queries × set × rank
    counts: Ints
    # of all queries, relevant documents, by set × rank; None where nobody asks
    hits: Ints | None
    # of slices of queries
    rest: SliceCounts = field(
        default_factory=lambda: SliceCounts({"set": pl.Int64, "rank": pl.Int64})
    )

    @classmethod
    def empty(cls, buckets: int, sets: int, k: int, *, hits: bool = False) -> ValueExposure:
        """Count nothing yet; `k`: the last rank that is looked at."""
        relevant = np.zeros((sets, k), np.int64) if hits else None
        return cls(np.zeros((buckets, sets, k), np.int64), relevant)

    def add(
        self,
        sets: Ints,
        rank: Ints,
        code: AnyInts,
        bucket: Ints,
        slices: Sequence[Ints] = (),
        relevant: Flags | None = None,
    ) -> None:
        """Count rows: the set of each document, its rank, and its list, of which the bucket and
        slices are known.
        """
        _, size, ranks = self.counts.shape
        inside = np.flatnonzero(rank <= ranks)
        sets, place, code = sets[inside], rank[inside] - 1, code[inside]
        cells = (bucket[code] * size + sets) * ranks + place
        np.add.at(self.counts.reshape(-1), cells, 1)
        if self.hits is not None and relevant is not None:
            hits = relevant[inside]
            np.add.at(self.hits.reshape(-1), sets[hits] * ranks + place[hits], 1)
        for way, number in enumerate(slices):
            self.rest.add(way, number=number[code], set=sets, rank=place)

    def __add__(self, other: ValueExposure) -> ValueExposure:
        hits = self.hits
        if hits is not None and other.hits is not None:
            hits = hits + other.hits
        return ValueExposure(self.counts + other.counts, hits, self.rest + other.rest)

    def select(self, way: int, number: int) -> Ints:
        """Return the counts of a slice of queries, as those of one bucket."""
        counts = np.zeros((1, *self.counts.shape[1:]), np.int64)
        rows = self.rest.select(way, number)
        counts[0, rows["set"].to_numpy(), rows["rank"].to_numpy()] = rows[TIMES].to_numpy()
        return counts


@dataclass
class Exposure:
    """Accumulate how often documents were retrieved, by bucket of queries and by cutoff."""

    # ascending; None: the whole list
    cutoffs: tuple[int | None, ...]
    buckets: int
    # bucket × document of the catalogue × the first cutoff that includes it
    known: Codes
    # the lists themselves: bucket × the first cutoff that retrieves any document
    lists: Ints
    # documents that the catalogue does not know (of no way of slicing, by bucket), and slices of
    # queries; a document of None stands for a list
    rest: SliceCounts = field(
        default_factory=lambda: SliceCounts({DOC: pl.String, "bucket": pl.Int16})
    )
    # by attribute of documents: at which ranks its values were retrieved
    values: Mapping[str, ValueExposure] = field(default_factory=dict)

    @classmethod
    def empty(
        cls,
        cutoffs: Sequence[int | None],
        catalogue: Catalogue,
        by: Mapping[str, int] | None = None,
        *,
        hits: bool = False,
    ) -> Exposure:
        """Count nothing yet.

        `by`: attributes, and down to which rank their values are counted; `hits`: also how often
        these are relevant.
        """
        by = by or {}
        sets = {name: catalogue.value_sets(name).count for name in by}
        shape = len(catalogue.docs), len(cutoffs)
        cells = shape[0] * shape[1] + sum(sets[name] * k for name, k in by.items())
        buckets = BUCKETS if BUCKETS * cells <= _MOST_CELLS else 1
        values = {
            name: ValueExposure.empty(buckets, sets[name], k, hits=hits) for name, k in by.items()
        }
        known = np.zeros((buckets, *shape), np.int32)
        lists = np.zeros((buckets, len(cutoffs)), np.int64)
        return cls(tuple(cutoffs), buckets, known, lists, values=values)

    def add(self, rows: ShownRows, slices: Sequence[Ints]) -> None:
        """Count the documents of lists; `slices`: their numbers, for each way of slicing."""
        cutoff = self._first_cutoff(rows.rank)
        inside = np.flatnonzero(cutoff < len(self.cutoffs))
        bucket = (hash_ids(rows.queries) % np.uint64(self.buckets)).astype(np.int64)
        first = self._first_cutoff(rows.rank[rows.starts])
        retrieved = first < len(self.cutoffs)
        np.add.at(self.lists, (bucket[retrieved], first[retrieved]), 1)
        code, numbers = rows.code[inside], rows.numbers[inside]
        in_catalogue = numbers >= 0
        _, size, cutoffs = self.known.shape
        cells = ((bucket[code] * size + numbers) * cutoffs + cutoff[inside])[in_catalogue]
        # Sorted, so that no cell is counted twice: quicker than one after the other in any order.
        cells.sort()
        firsts = segment_starts(cells)
        times = segment_lengths(firsts, len(cells)).astype(np.int32)
        self.known.reshape(-1)[cells[firsts]] += times
        strangers = inside[~in_catalogue]
        if len(strangers):
            number = bucket[rows.code[strangers]]
            self._add_rest(-1, number, rows.docs.gather(strangers), cutoff[strangers])
        for way, number in enumerate(slices):
            self._add_rest(way, number[code], rows.docs.gather(inside), cutoff[inside])
            lists = pl.repeat(None, int(retrieved.sum()), dtype=pl.String, eager=True)
            self._add_rest(way, number[retrieved], lists, first[retrieved])
        for name, exposure in self.values.items():
            sets = rows.catalogue.value_sets(name).of_rows(rows.numbers)
            relevant = None if exposure.hits is None else rows.relevant
            exposure.add(sets, rows.rank, rows.code, bucket, slices, relevant)

    def _first_cutoff(self, rank: AnyInts) -> Ints:
        last = np.iinfo(np.int64).max
        ends = np.array([last if k is None else k for k in self.cutoffs], np.int64)
        return np.searchsorted(ends, rank)

    def _add_rest(self, way: int, number: Ints, docs: pl.Series, cutoff: Ints) -> None:
        self.rest.add(way, number=number, **{DOC: docs, "bucket": cutoff})

    def __add__(self, other: Exposure) -> Exposure:
        return replace(
            self,
            known=self.known + other.known,
            lists=self.lists + other.lists,
            rest=self.rest + other.rest,
            values={name: own + other.values[name] for name, own in self.values.items()},
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the many zeros."""
        filled = np.flatnonzero(self.known)
        return {**self.__dict__, "known": (self.known.shape, filled, self.known.ravel()[filled])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        shape, filled, counts = state["known"]
        self.__dict__.update(state, known=np.zeros(shape, np.int32))
        self.known.ravel()[filled] = counts


def discounted_counts(counts: Ints, k: int) -> Floats:
    """Sum up 1 / log2(rank + 1) down to a rank, of counts by set × rank."""
    return (counts[:, :k] / np.log2(np.arange(2, k + 2))).sum(axis=1)


def shrinkage(retrieved: Flags) -> float | None:
    """Return the factor of the jackknife's standard error of a number of distinct documents, given
    which buckets retrieve which documents (buckets × documents); None where these are too few.

    Leaving out buckets of queries one at a time says how many documents only one bucket retrieves,
    f1. The variance of the number of distinct documents is rather f1 − f2 + f3 − …, where fj are
    retrieved by j buckets (Good and Toulmin 1956: as many as were to be found in as many queries
    again): the others could as well have been missed. The jackknife, which sees f1, is brought down
    by their ratio.
    """
    by_buckets = np.bincount(retrieved.sum(axis=0), minlength=_COINS + 1)[1 : _COINS + 1]
    variance = float((by_buckets * _WEIGHTS).sum())
    error = sqrt(float((by_buckets * _WEIGHTS**2).sum()))
    if not by_buckets[0] or variance < _SURE * error:
        return None
    return sqrt(variance / float(by_buckets[0]))
