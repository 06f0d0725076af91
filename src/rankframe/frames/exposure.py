"""Count how often documents and the values of their attributes were retrieved, and at which ranks.

Counts of different queries merge by addition. Queries are put into buckets by a hash of their ids,
and counted by bucket: the jackknife, which leaves out one bucket at a time, estimates the error of
a metric over documents. For an attribute, documents are counted by their set of values, so that
counts are whole numbers; the count of a set is divided among its values at the end.
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
from rankframe.frames.retrieved import RetrievedFrame
from rankframe.kernel.segments import segment_lengths, segment_starts
from rankframe.stats.bootstrap import hash_ids

# Buckets of queries: see docs/statistics.md.
BUCKETS: Final = 32
# Limit of the cells in the table of counts. A larger catalogue gets a single bucket of queries, and
# no intervals.
_MOST_CELLS: Final = 1 << 27
# Limit of the buffered rows of counts before they are aggregated.
_WAITING: Final = 1 << 20
TIMES: Final = "times"
# The series of `shrinkage` is smoothed (Efron and Thisted 1976): the weight of term j is the
# probability that this number of coins shows at least j heads.
_COINS: Final = 10
_WEIGHTS: Final = np.array(
    [
        (-1) ** (j + 1) * sum(comb(_COINS, heads) for heads in range(j, _COINS + 1)) / 2**_COINS
        for j in range(1, _COINS + 1)
    ]
)
# The series must be at least this multiple of its own error. With a smaller multiple, intervals are
# too narrow too often (docs/statistics.md).
_SURE: Final = 3.0


class SliceCounts:
    """Count rows for each slice of the queries, in a table.

    The column `way` is the number of a slicing attribute, `number` is the number of its slice, and
    `times` is the count.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Create an empty table; `schema` has the columns besides `way`, `number` and `times`."""
        self._schema: dict[Any, Any] = {
            "way": pl.Int32,
            "number": pl.Int64,
            **schema,
            TIMES: pl.Int64,
        }
        self._rows = pl.DataFrame(schema=self._schema)
        self._waiting: list[pl.DataFrame] = []

    def add(self, way: int, **columns: NDArray[Any] | pl.Series) -> None:
        """Count rows by slice of the slicing attribute `way`, and by the other columns.

        `columns` has the slice `number` and the columns of the schema.
        """
        rows = pl.DataFrame(columns).with_columns(pl.lit(way).alias("way"), pl.lit(1).alias(TIMES))
        self._waiting.append(self._summed([rows.select(list(self._schema)).cast(self._schema)]))
        if sum(table.height for table in self._waiting) > _WAITING:
            self._settle()

    def select(self, way: int, number: int | None = None) -> pl.DataFrame:
        """Return the counts of the slices by the attribute number `way`, or of one slice."""
        rows = self._settle().filter(pl.col("way") == way)
        return rows if number is None else rows.filter(pl.col("number") == number)

    def __add__(self, other: SliceCounts) -> SliceCounts:
        total = copy(self)
        total._waiting = [other._settle()]
        total._rows = self._settle()
        return total

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
    """Count how often documents are retrieved at each rank, by their set of attribute values."""

    # bucket of queries × set × rank
    counts: Ints
    # relevant documents over all queries: set × rank; None: not needed
    hits: Ints | None
    # the counts by slice of queries
    rest: SliceCounts = field(
        default_factory=lambda: SliceCounts({"set": pl.Int64, "rank": pl.Int64})
    )

    @classmethod
    def empty(cls, buckets: int, sets: int, k: int, *, hits: bool = False) -> ValueExposure:
        """Create counts of 0 for `buckets` of queries, `sets` of values, and ranks 1 to `k`."""
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
        """Count retrieved documents, each by its set of attribute values and its rank.

        Args:
            sets: The set of values of each row's document.
            rank: The rank of each row.
            code: The number of each row's list.
            bucket: The bucket of each list.
            slices: For each slicing attribute, the number of each list's slice.
            relevant: Flags of the rows with a relevant document.
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
        """Return the counts of one slice of queries, shaped as those of a single bucket."""
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
    # retrieved documents of the catalogue: bucket × document × the smallest cutoff that includes
    # the document
    in_catalogue: Codes
    # lists: bucket × the smallest cutoff with any document
    lists: Ints
    # counts of documents that the catalogue lacks (with `way` −1 and the bucket as `number`), and
    # counts by slice of queries. The column "bucket" holds the smallest cutoff; a null document
    # stands for a list
    rest: SliceCounts = field(
        default_factory=lambda: SliceCounts({DOC: pl.String, "bucket": pl.Int16})
    )
    # by attribute of documents: the counts of its values by rank
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
        """Create counts of 0 for all documents of a catalogue at each cutoff.

        Args:
            cutoffs: Ascending; None: the whole list.
            catalogue: The documents that are counted.
            by: The attributes to count, each with the last rank that is counted.
            hits: Also count how often documents with these values are relevant.
        """
        by = by or {}
        sets = {name: catalogue.value_sets(name).count for name in by}
        shape = len(catalogue.docs), len(cutoffs)
        cells = shape[0] * shape[1] + sum(sets[name] * k for name, k in by.items())
        buckets = BUCKETS if BUCKETS * cells <= _MOST_CELLS else 1
        values = {
            name: ValueExposure.empty(buckets, sets[name], k, hits=hits) for name, k in by.items()
        }
        in_catalogue = np.zeros((buckets, *shape), np.int32)
        lists = np.zeros((buckets, len(cutoffs)), np.int64)
        return cls(tuple(cutoffs), buckets, in_catalogue, lists, values=values)

    def add(self, rows: RetrievedFrame, slices: Sequence[Ints]) -> None:
        """Count the documents in retrieved lists, `rows`, over all queries and by slice.

        `slices` has the slice of each list, for each slicing attribute.
        """
        cutoff = self._first_cutoff(rows.rank)
        inside = np.flatnonzero(cutoff < len(self.cutoffs))
        bucket = (hash_ids(rows.queries) % np.uint64(self.buckets)).astype(np.int64)
        first = self._first_cutoff(rows.rank[rows.starts])
        retrieved = first < len(self.cutoffs)
        np.add.at(self.lists, (bucket[retrieved], first[retrieved]), 1)
        code, numbers = rows.code[inside], rows.numbers[inside]
        found = numbers >= 0
        _, size, cutoffs = self.in_catalogue.shape
        cells = ((bucket[code] * size + numbers) * cutoffs + cutoff[inside])[found]
        # Sort first, to count each cell only once: faster than random increments.
        cells.sort()
        firsts = segment_starts(cells)
        times = segment_lengths(firsts, len(cells)).astype(np.int32)
        self.in_catalogue.reshape(-1)[cells[firsts]] += times
        strangers = inside[~found]
        if len(strangers):
            number = bucket[rows.code[strangers]]
            self._add_rest(-1, number, rows.docs.gather(strangers), cutoff[strangers])
        for way, number in enumerate(slices):
            self._add_rest(way, number[code], rows.docs.gather(inside), cutoff[inside])
            lists = pl.repeat(None, int(retrieved.sum()), dtype=pl.String, eager=True)
            self._add_rest(way, number[retrieved], lists, first[retrieved])
        for name, exposure in self.values.items():
            sets = rows.catalogue.value_sets(name).look_up(rows.numbers)
            relevant = None if exposure.hits is None else rows.relevant
            exposure.add(sets, rows.rank, rows.code, bucket, slices, relevant)

    def _first_cutoff(self, rank: AnyInts) -> Ints:
        last = np.iinfo(np.int64).max
        ends = np.array([last if k is None else k for k in self.cutoffs], np.int64)
        return np.searchsorted(ends, rank)

    def _add_rest(self, way: int, number: Ints, docs: pl.Series, cutoff: Ints) -> None:
        self.rest.add(way, number=number, **{DOC: docs, "bucket": cutoff})

    def merge(self, other: Exposure) -> Exposure:
        """Add the counts of other queries; the large array `in_catalogue` is updated in place."""
        self.in_catalogue += other.in_catalogue
        return replace(
            self,
            lists=self.lists + other.lists,
            rest=self.rest + other.rest,
            values={name: own + other.values[name] for name, own in self.values.items()},
        )

    def __getstate__(self) -> dict[str, Any]:
        """Pickle `in_catalogue` as a sparse array: most counts are 0."""
        counts = self.in_catalogue
        filled = np.flatnonzero(counts)
        return {**self.__dict__, "in_catalogue": (counts.shape, filled, counts.ravel()[filled])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        shape, filled, counts = state["in_catalogue"]
        self.__dict__.update(state, in_catalogue=np.zeros(shape, np.int32))
        self.in_catalogue.ravel()[filled] = counts


def discounted_counts(counts: Ints, k: int) -> Floats:
    """Sum count / log2(rank + 1) over ranks 1 to k; `counts` is sets of values × ranks."""
    return (counts[:, :k] / np.log2(np.arange(2, k + 2))).sum(axis=1)


def shrinkage(retrieved: Flags) -> float | None:
    """Return a factor that corrects the jackknife error of a number of distinct documents.

    `retrieved` flags which buckets retrieve which documents (buckets × documents). Returns None if
    there are too few documents.

    Let fj be the number of documents that exactly j buckets retrieve. The jackknife leaves out one
    bucket at a time, and so estimates the variance from f1 alone. A better estimate of the variance
    is f1 − f2 + f3 − …: the number of new documents that the same number of further queries would
    retrieve (Good and Toulmin 1956). The factor is the square root of the ratio of both estimates.
    """
    by_buckets = np.bincount(retrieved.sum(axis=0), minlength=_COINS + 1)[1 : _COINS + 1]
    variance = float((by_buckets * _WEIGHTS).sum())
    error = sqrt(float((by_buckets * _WEIGHTS**2).sum()))
    if not by_buckets[0] or variance < _SURE * error:
        return None
    return sqrt(variance / float(by_buckets[0]))
