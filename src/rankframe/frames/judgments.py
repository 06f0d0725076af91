"""Tell tables apart by sums over their rows, whatever the order of rows and the types of ids.

Of every row, the ids as text and the bits of its number count. One sum is of numbers and lengths
alone, and means the same everywhere. The other is of polars' hashes, which cost nothing where keys
are there already; since they may change with a version of polars, `hash_kind` says which they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, GROUP, GROUP_WEIGHT, QUERY, RELEVANCE
from rankframe.kernel.batch import as_text, text_hashes
from rankframe.kernel.matching import QueryIndex, group_equal
from rankframe.kernel.segments import number_segments, segment_starts, sort_order

_MASK = (1 << 64) - 1
_FACTORS = np.array([0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9], np.uint64)
_BLOCK = 1 << 15  # rows: what fits in the cache


class Rows(NamedTuple):
    """Hold a table, query by query."""

    # each query, and how many rows it has
    queries: pl.Series
    lengths: NDArray[np.int64]
    # as read, and where each row was read; None: in this order
    docs: pl.Series
    order: NDArray[np.int64] | None
    numbers: NDArray[np.float64]
    key: NDArray[np.uint64]


@dataclass(frozen=True)
class Fingerprint:
    """Hold sums over rows; sums over different rows add up."""

    # of the bits of numbers, and of how long the ids are
    plain: int = 0
    # of hashes of whole rows
    hashes: int = 0

    @classmethod
    def of(cls, rows: Rows) -> Fingerprint:
        """Sum up the rows of a table."""
        bits = (rows.numbers + 0.0).view(np.uint64)  # -0.0 is 0.0
        queries, docs = as_text(rows.queries), as_text(rows.docs)
        letters = int(docs.str.len_bytes().cast(pl.UInt64).sum())
        letters += int(queries.str.len_bytes().to_numpy() @ rows.lengths)
        plain = int(bits.sum()) + letters * int(_FACTORS[0]) + len(bits) * int(_FACTORS[1])
        return cls(plain & _MASK, _mixed(_text_key(rows), bits))

    @classmethod
    def of_parts(
        cls,
        rows: Rows,
        of: NDArray[np.int64],
        names: NDArray[np.uint64],
        letters: NDArray[np.integer],
        numbers: tuple[NDArray[np.float64], NDArray[np.float64]],
    ) -> Fingerprint:
        """Sum up what belongs to rows of a table: the row that each is `of`, the hash and the
        length of its name, and two numbers.
        """
        bits, others = ((some + 0.0).view(np.uint64) for some in numbers)
        plain = int(bits.sum()) + int(others.sum()) + int(letters.sum()) * int(_FACTORS[1])
        key = _text_key(rows)[of] ^ names * _FACTORS[0]
        return cls(plain & _MASK, _mixed(key, bits ^ others * _FACTORS[1]))

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint((self.plain + other.plain) & _MASK, (self.hashes + other.hashes) & _MASK)

    def __str__(self) -> str:
        return f"{self.plain:016x}-{hash_kind()}-{self.hashes:016x}"


def _text_key(rows: Rows) -> NDArray[np.uint64]:
    """Return the key of each row, by the text of its ids."""
    if rows.queries.dtype == rows.docs.dtype == pl.String:
        return rows.key
    key = text_hashes(DOC, rows.docs)
    key = key if rows.order is None else key[rows.order]
    return key ^ np.repeat(text_hashes(QUERY, rows.queries), rows.lengths)


def differ(one: str, other: str) -> bool:
    """Return whether two fingerprints, as text, are of different tables."""
    (plain, *hashes), (others, *their_hashes) = one.split("-"), other.split("-")
    return plain != others or (hashes[:1] == their_hashes[:1] and hashes != their_hashes)


@cache
def hash_kind() -> str:
    """Return what identifies the hash function of polars: the hash of a text."""
    return f"{int(text_hashes(DOC, pl.Series(['a document']))[0]) >> 48:04x}"


def _mixed(key: NDArray[np.uint64], bits: NDArray[np.uint64]) -> int:
    total = 0
    for at in range(0, len(key), _BLOCK):
        rows = bits[at : at + _BLOCK] * _FACTORS[0]
        rows ^= key[at : at + _BLOCK]
        rows *= _FACTORS[1]
        rows ^= rows >> np.uint64(32)
        rows *= _FACTORS[0]
        rows ^= rows >> np.uint64(29)
        total += int(rows.sum())
    return total & _MASK


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NO_SUBTOPIC = -1


@dataclass(frozen=True)
class SubtopicRows:
    """Hold judgments of documents for subtopics; of a document, in order of their names."""

    # the document of each, ascending: its place among the judged ones
    of: Ints
    # the number of each one's group, which sort as their names do; NO_SUBTOPIC: it is of none
    group: Ints
    names: pl.Series
    grades: Floats
    # None: all groups count the same
    weights: Floats | None

    def some(self, first: int, end: int) -> SubtopicRows:
        """Select the rows of consecutive documents."""
        low, high = np.searchsorted(self.of, [first, end]).tolist()
        rows = slice(low, high)
        return replace(
            self,
            of=self.of[rows] - first,
            group=self.group[rows],
            grades=self.grades[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    @property
    def without(self) -> int:
        """Count the rows without a subtopic."""
        return int(np.count_nonzero(self.group == NO_SUBTOPIC))

    def instances(self, starts: Ints, documents: int) -> tuple[Ints, Ints]:
        """Order the rows by their queries' subtopics; return also where each of these begins.

        `starts`: the first document of each query, of so many.
        """
        query = number_segments(starts, documents)[self.of].astype(np.int64)
        order = sort_order(query, self.group - NO_SUBTOPIC)
        both = query[order] * (len(self.names) + 1) + self.group[order]
        return order, segment_starts(both)

    def count(self, starts: Ints, documents: int) -> int:
        """Count the subtopics of all queries."""
        order, begins = self.instances(starts, documents)
        return int(np.count_nonzero(self.group[order[begins]] != NO_SUBTOPIC))

    def fingerprint(self, rows: Rows) -> Fingerprint:
        """Return the fingerprint of these rows, to be added to that of the documents."""
        known = self.group != NO_SUBTOPIC
        of_names = np.append(self.names.hash(3).to_numpy(), np.uint64(0))
        weights = np.where(known, 1.0 if self.weights is None else self.weights, 1.0)
        return Fingerprint.of_parts(
            rows,
            self.of,
            of_names[self.group],
            np.append(self.names.str.len_bytes().to_numpy(), 0)[self.group],
            (self.grades, weights),
        )


def numbered(groups: pl.Series) -> tuple[Ints, pl.Series]:
    """Return numbers that sort as names do, NO_SUBTOPIC for a null, and the names.

    >>> numbers, names = numbered(pl.Series(["b", None, "a", "b"]))
    >>> numbers, names.to_list()
    (array([ 1, -1,  0,  1]), ['a', 'b'])
    """
    names = groups.unique().drop_nulls().sort()
    if names.is_empty():
        return np.full(len(groups), NO_SUBTOPIC), names
    codes = groups.cast(pl.Enum(names)).to_physical().cast(pl.Int64)
    return codes.fill_null(NO_SUBTOPIC).to_numpy(), names


@dataclass(frozen=True)
class IndexedJudgments(QueryIndex):
    """Judgments, query by query."""

    # how many rows were read, of which some may have been dropped; None: as many as there are
    rows_read: int | None = None
    # what documents are about, where judgments say so: each document is then judged once, by the
    # best of its grades
    groups: SubtopicRows | None = None

    @property
    def grades(self) -> NDArray[np.float64]:
        """Return the grade of each judgment."""
        return self.numbers[RELEVANCE]

    @property
    def read(self) -> int:
        """Count the rows that were read."""
        return self.height if self.rows_read is None else self.rows_read

    @property
    def dropped(self) -> int:
        """Count the rows that were dropped, because others are better."""
        return self.read - (self.height if self.groups is None else len(self.groups.of))

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Return what tells these judgments from others."""
        rows = Rows(self.queries, self.lengths, self.ids[DOC], self.order, self.grades, self.key)
        whole = Fingerprint.of(rows)
        return whole if self.groups is None else whole + self.groups.fingerprint(rows)


def index_judgments(table: pl.DataFrame) -> tuple[IndexedJudgments, bool]:
    """Index the judgments of a table with hashes; return also whether one may be there twice.

    Of judgments of subtopics, each document is judged once, by the best of its grades, and what it
    is about lies beside.
    """
    if GROUP not in table.columns:
        judgments = IndexedJudgments.from_hashed(table)
        return judgments, judgments.may_repeat()
    every = IndexedJudgments.from_hashed(table.drop(GROUP, GROUP_WEIGHT, strict=False))

    def ordered(values: NDArray[Any]) -> NDArray[Any]:
        return values if every.order is None else values[every.order]

    rows = np.arange(every.height)
    code = number_segments(every.starts, every.height)
    same = group_equal(every.key, every.ids_of(DOC, rows), code)
    firsts = np.flatnonzero(same == rows)
    document = np.searchsorted(firsts, same)
    codes, names = numbered(table[GROUP])
    group = ordered(codes)
    order = sort_order(document, group + 1)
    document, group, grades = document[order], group[order], every.grades[order]
    weights = None
    if GROUP_WEIGHT in table.columns:
        weights = ordered(table[GROUP_WEIGHT].fill_null(1.0).to_numpy())[order]
    twice = bool(((document[1:] == document[:-1]) & (group[1:] == group[:-1])).any())
    best = np.maximum.reduceat(grades, segment_starts(document)) if len(document) else grades
    judgments = replace(
        every,
        ids=pl.DataFrame({name: every.ids_of(name, firsts) for name in (QUERY, DOC)}),
        order=None,
        key=every.key[firsts],
        numbers={RELEVANCE: best},
        starts=np.searchsorted(firsts, every.starts),
        rows_read=every.height,
        groups=SubtopicRows(document, group, names, grades, weights),
    )
    return judgments, twice
