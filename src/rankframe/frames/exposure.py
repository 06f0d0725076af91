"""How much attention the values of an attribute of documents get: counts by rank, which add up.

Documents are counted by the set of values that they have, so that counts are whole numbers; what
a document with several values gives each of them is divided at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_KEYS: Final = ["way", "number", "set", "rank"]
_COUNT: Final = "times"
_SCHEMA: Final = {**dict.fromkeys(_KEYS, pl.Int64), _COUNT: pl.Int64}
# Rows of counts that wait to be added up.
_WAITING: Final = 1 << 20


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
