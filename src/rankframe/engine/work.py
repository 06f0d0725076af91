"""What the engine does work with: pieces of two inputs, each some queries with all of their rows.

Whatever is computed is independent per query, so any split by query gives the same values, bit for
bit: the whole input at once, pieces that fit in memory, or the partitions of a cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import polars as pl

from rankframe.core.errors import UnreadableInputError
from rankframe.core.options import Intervals
from rankframe.engine.plan import PerQuery, Plan
from rankframe.engine.tally import SliceKey, Tally


class Work(Protocol):
    """What is done with every piece of two inputs."""

    @property
    def plan(self) -> Plan:
        """What is computed."""
        ...

    @property
    def intervals(self) -> Intervals:
        """Which intervals its averages get."""
        ...

    # how many bytes a row of each side takes at the peak
    row_bytes: ClassVar[tuple[int, int]]

    def piece(self, left: pl.DataFrame, right: pl.DataFrame) -> Piece:
        """Do it for queries whose rows, of both sides, are all here, in any order."""
        ...


class Additive(ABC):
    """A dataclass of counts: those of different queries add up.

    None is what was not counted. Of names, examples of something, the first is kept.
    """

    @property
    @abstractmethod
    def rows(self) -> tuple[int, int]:
        """How many rows of each side were read."""

    def __add__(self, other: Self) -> Self:
        ours, theirs = (vars(side).values() for side in (self, other))
        return type(self)(*map(_added, ours, theirs))


def _added(ours: Any, theirs: Any) -> Any:
    if ours is None or theirs is None:
        return theirs if ours is None else ours
    return min(ours, theirs) if isinstance(ours, str) else ours + theirs


@dataclass(frozen=True)
class Piece:
    """What was computed for a piece's queries, what their summaries are made of, what was seen."""

    computed: PerQuery
    tallies: Mapping[SliceKey, Tally]
    counts: Additive

    @property
    def values(self) -> pl.DataFrame:
        """query_id and a column a metric."""
        return self.computed.values

    def __add__(self, other: Piece) -> Piece:
        """Both as one, but for what was computed, which is that of the first."""
        tallies = {
            key: self.tallies[key] + other.tallies[key]
            if key in self.tallies and key in other.tallies
            else (self.tallies if key in self.tallies else other.tallies)[key]
            for key in {**self.tallies, **other.tallies}
        }
        return Piece(self.computed, tallies, self.counts + other.counts)


def refuse_lost_rows(counts: Additive | None, names: Sequence[str], rows: Sequence[int]) -> None:
    """Refuse work on other rows than were counted, of either side."""
    read = (0, 0) if counts is None else counts.rows
    for name, counted, seen in zip(names, rows, read, strict=True):
        if counted != seen:
            raise UnreadableInputError(
                name,
                f"it has {counted:,} rows, of which {seen:,} were read",
                "It changed meanwhile, or somebody removed temporary files. Try again",
            )


def merged(pieces: Iterable[Piece], *, ordered: bool = False) -> Piece | None:
    """Pieces of different queries as one: the same as if they had been evaluated together.

    None where there are none. `ordered`: the queries of each come after those of the one before.
    """
    # What adds up is added as it comes: only the values of all pieces are held.
    computed: list[PerQuery] = []
    whole: Piece | None = None
    for piece in pieces:
        computed.append(piece.computed)
        whole = piece if whole is None else whole + piece
    if whole is None:
        return None
    return replace(whole, computed=PerQuery.joined(computed, ordered=ordered))
