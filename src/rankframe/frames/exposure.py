"""How much attention the values of an attribute of documents get: counts by rank, which add up.

Documents are counted by the set of values that they have, so that counts are whole numbers; what
a document with several values gives each of them is divided at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.frames.attributes import Values

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_KEYS: Final = ["way", "number", "set", "rank"]
_COUNT: Final = "times"
_SCHEMA: Final = {**dict.fromkeys(_KEYS, pl.Int64), _COUNT: pl.Int64}
# Rows of counts that wait to be added up.
_WAITING: Final = 1 << 20


@dataclass(frozen=True)
class ValueSets:
    """Documents by the set of values that they have; set 0 is that of those without any."""

    names: pl.Series
    # the set of each document of the catalogue
    of_documents: Ints
    # every value of every set, by value
    sets: Ints
    numbers: Ints
    # how many values each set has
    lengths: Ints

    @classmethod
    def of(cls, values: Values) -> ValueSets:
        """Number the sets in an order of their values."""
        docs = np.repeat(np.arange(len(values.lengths)), values.lengths)
        rows = pl.DataFrame({"doc": docs, "number": values.numbers})
        key = pl.col("number").cast(pl.String).str.join(" ").alias("key")
        keyed = rows.group_by("doc", maintain_order=True).agg(key)
        sets = keyed["key"].unique().sort()
        of_documents = np.zeros(len(values.lengths), np.int64)
        of_documents[keyed["doc"].to_numpy()] = sets.search_sorted(keyed["key"]).to_numpy() + 1
        flat = pl.DataFrame({"number": sets.str.split(" ")}).with_row_index("set", offset=1)
        flat = flat.explode("number").cast(pl.Int64).drop_nulls().sort("number", "set")
        lengths = np.bincount(flat["set"].to_numpy(), minlength=len(sets) + 1)
        return cls(
            values.names, of_documents, flat["set"].to_numpy(), flat["number"].to_numpy(),
            lengths.astype(np.int64),
        )  # fmt: skip

    @property
    def count(self) -> int:
        """How many sets there are, that of no values included."""
        return len(self.lengths)

    def of_rows(self, numbers: Ints) -> Ints:
        """The sets of some documents, -1 for unknown ones."""
        if not len(self.of_documents):
            return np.zeros(len(numbers), np.int64)
        return np.where(numbers >= 0, self.of_documents[numbers], 0)

    def shares(self, of_sets: NDArray[np.number]) -> Floats:
        """What each value gets of numbers by set, those with several giving equal parts."""
        parts = of_sets[self.sets] / self.lengths[self.sets]
        found = np.bincount(self.numbers, weights=parts, minlength=len(self.names))
        return found.astype(np.float64, copy=False)

    def wholes(self, of_sets: Ints) -> Ints:
        """The same, where each value gets all of it."""
        found = np.zeros(len(self.names), np.int64)
        np.add.at(found, self.numbers, of_sets[self.sets])
        return found

    def by_set(self, of_documents: NDArray[Any]) -> NDArray[Any]:
        """Numbers of documents of the catalogue, added up by set."""
        found = np.zeros(self.count, of_documents.dtype)
        np.add.at(found, self.of_documents, of_documents)
        return found


@dataclass
class Exposed:
    """How often documents were shown by their set of values, at each rank; of different queries,
    these add up.
    """

    # group of queries × set × rank
    counts: Ints
    # of all queries, relevant documents shown, by set × rank; None where nobody asks
    hits: Ints | None
    # by slices of queries: way, number, set, rank, times
    rest: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_SCHEMA))
    _waiting: list[pl.DataFrame] = field(default_factory=list)

    @classmethod
    def none(cls, groups: int, sets: int, k: int, *, hits: bool = False) -> Exposed:
        """Nothing counted yet."""
        found = np.zeros((sets, k), np.int64) if hits else None
        return cls(np.zeros((groups, sets, k), np.int64), found)

    @property
    def k(self) -> int:
        """The last rank that is looked at."""
        return self.counts.shape[2]

    def add(
        self,
        sets: Ints,
        rank: Ints,
        code: NDArray[np.integer],
        group: Ints,
        slices: Sequence[Ints] = (),
        relevant: NDArray[np.bool_] | None = None,
    ) -> None:
        """Count rows: the set of each document, its rank, and its list, of which the group and
        slices are known.
        """
        inside = np.flatnonzero(rank <= self.k)
        sets, place, code = sets[inside], rank[inside] - 1, code[inside]
        _, size, ranks = self.counts.shape
        cells = (group[code] * size + sets) * ranks + place
        np.add.at(self.counts.reshape(-1), cells, 1)
        if self.hits is not None and relevant is not None:
            found = relevant[inside]
            np.add.at(self.hits.reshape(-1), sets[found] * ranks + place[found], 1)
        for way, number in enumerate(slices):
            some = pl.DataFrame({"number": number[code], "set": sets, "rank": place}).select(
                pl.lit(way).alias("way"), pl.all(), pl.lit(1).alias(_COUNT)
            )
            self._waiting.append(_added(some.cast(_SCHEMA)))  # pyright: ignore[reportArgumentType]
        if sum(one.height for one in self._waiting) > _WAITING:
            self.settle()

    def settle(self) -> Exposed:
        """Add up what waits."""
        if self._waiting:
            self.rest = _added(pl.concat([self.rest, *self._waiting]))
            self._waiting = []
        return self

    def __add__(self, other: Exposed) -> Exposed:
        self.settle()
        other.settle()
        hits = self.hits
        if hits is not None and other.hits is not None:
            hits = hits + other.hits
        rest = _added(pl.concat([self.rest, other.rest]))
        return Exposed(self.counts + other.counts, hits, rest)

    def of_slice(self, way: int, number: int) -> Ints:
        """The counts of a slice of queries, as those of one group."""
        found = np.zeros((1, *self.counts.shape[1:]), np.int64)
        rows = self.settle().rest.filter(pl.col("way") == way, pl.col("number") == number)
        found[0, rows["set"].to_numpy(), rows["rank"].to_numpy()] = rows[_COUNT].to_numpy()
        return found


def exposures(counts: Ints, k: int) -> Floats:
    """Σ 1 / log2(rank + 1) down to a rank, of counts by set × rank."""
    return (counts[:, :k] / np.log2(np.arange(2, k + 2))).sum(axis=1)


def _added(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by(_KEYS).agg(pl.col(_COUNT).sum())
