"""Index judgments in memory by query, so that rows of a run can be looked up.

A fingerprint identifies a table of judgments by two sums over its rows. It does not depend on the
order of rows or the types of ids. One sum is over the bits of the numbers and the lengths of the
ids, and is equal in every environment. The other sum is over polars' hashes of rows, which are free
because keys are hashes. Polars' hash function may change with its version: `hash_kind` identifies
the function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import Flags, Floats, Ints, Keys
from rankframe.core.columns import DOC, QUERY, RELEVANCE, SUBTOPIC, SUBTOPIC_WEIGHT
from rankframe.core.records import record
from rankframe.kernel.batch import Ids, as_text, byte_lengths, text_hashes
from rankframe.kernel.matching import QueryIndex, group_equal
from rankframe.kernel.segments import number_segments, segment_starts, sort_order
from rankframe.kernel.tables import FACTORS

NO_SUBTOPIC = -1
SAMPLED = 32  # queries in `IndexedJudgments.sampled`
_MASK = (1 << 64) - 1
_BLOCK = 1 << 15  # rows that fit in the cache


@record
class Fingerprint:
    """Hold the fingerprint of a table: two sums over its rows, which add up over tables."""

    # the sum over the bits of numbers and the lengths of ids
    plain: int = 0
    # the sum over hashes of whole rows
    hashes: int = 0

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint((self.plain + other.plain) & _MASK, (self.hashes + other.hashes) & _MASK)

    def __str__(self) -> str:
        return f"{self.plain:016x}-{hash_kind()}-{self.hashes:016x}"


def differ(first: str, second: str) -> bool:
    """Tell whether two fingerprints, as text, show that their tables differ."""
    (plain, *hashes), (plain_second, *hashes_second) = first.split("-"), second.split("-")
    same_kind = hashes[:1] == hashes_second[:1]
    return plain != plain_second or (same_kind and hashes != hashes_second)


@cache
def hash_kind() -> str:
    """Return an identifier of polars' hash function: the hash of a fixed text."""
    return f"{int(text_hashes(DOC, pl.Series(['a document']))[0]) >> 48:04x}"


def _mixed(key: Keys, bits: Keys) -> int:
    total = 0
    for first in range(0, len(key), _BLOCK):
        rows = bits[first : first + _BLOCK] * FACTORS[0]
        rows ^= key[first : first + _BLOCK]
        rows *= FACTORS[1]
        rows ^= rows >> np.uint64(32)
        rows *= FACTORS[0]
        rows ^= rows >> np.uint64(29)
        total += int(rows.sum())
    return total & _MASK


@record
class SubtopicRows:
    """Hold judgments of documents for subtopics, sorted by document and subtopic."""

    # the judged document of each row, ascending
    document: Ints
    # the number of each row's subtopic, ascending by name; NO_SUBTOPIC: the row has no subtopic
    group: Ints
    names: pl.Series
    grades: Floats
    # None: all subtopics count the same
    weights: Floats | None

    def slice_documents(self, first: int, end: int) -> SubtopicRows:
        """Return the rows of the documents from `first` up to, not including, `end`."""
        low, high = np.searchsorted(self.document, [first, end]).tolist()
        rows = slice(low, high)
        return replace(
            self,
            document=self.document[rows] - first,
            group=self.group[rows],
            grades=self.grades[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    @property
    def without(self) -> int:
        """Count the rows without a subtopic."""
        return int(np.count_nonzero(self.group == NO_SUBTOPIC))

    def instances(self, starts: Ints, documents: int) -> tuple[Ints, Ints]:
        """Return the permutation by query and subtopic, and where each such pair begins.

        `starts` has the first document of each query; `documents` is the number of all documents.
        """
        query = number_segments(starts, documents)[self.document].astype(np.int64)
        order = sort_order(query, self.group - NO_SUBTOPIC)
        return order, segment_starts(query[order], self.group[order])

    def count(self, starts: Ints, documents: int) -> int:
        """Count the distinct pairs of a query and a subtopic."""
        order, begins = self.instances(starts, documents)
        return int(np.count_nonzero(self.group[order[begins]] != NO_SUBTOPIC))

    def fingerprint(self, document_keys: Keys) -> Fingerprint:
        """Return the fingerprint of the subtopic rows, to be added to that of the judgments."""
        named = self.group != NO_SUBTOPIC
        weights = np.where(named, 1.0 if self.weights is None else self.weights, 1.0)
        bits, weight_bits = ((numbers + 0.0).view(np.uint64) for numbers in (self.grades, weights))
        letters = np.append(self.names.str.len_bytes().to_numpy(), 0)[self.group]
        names = np.append(self.names.hash(3).to_numpy(), np.uint64(0))[self.group]
        plain = int(bits.sum()) + int(weight_bits.sum()) + int(letters.sum()) * int(FACTORS[1])
        key = document_keys[self.document] ^ names * FACTORS[0]
        return Fingerprint(plain & _MASK, _mixed(key, bits ^ weight_bits * FACTORS[1]))


def numbered(groups: pl.Series) -> tuple[Ints, pl.Series]:
    """Dictionary-encode names: return each name's number, and the distinct names, ascending.

    The number of a null is NO_SUBTOPIC.

    >>> numbers, names = numbered(pl.Series(["b", None, "a", "b"]))
    >>> numbers, names.to_list()
    (array([ 1, -1,  0,  1]), ['a', 'b'])
    """
    names = groups.unique().drop_nulls().sort()
    if names.is_empty():
        return np.full(len(groups), NO_SUBTOPIC), names
    codes = groups.cast(pl.Enum(names)).to_physical().cast(pl.Int64)
    return codes.fill_null(NO_SUBTOPIC).to_numpy(), names


@dataclass(eq=False)
class IndexedJudgments(QueryIndex):
    """Hold judgments in memory, query by query, with a hash index of the queries."""

    # the number of rows before duplicates were dropped; None: no row was dropped
    rows_read: int | None = None
    # the subtopics of documents, if judgments have any; the judgment of a document then has the
    # best of the document's grades
    subtopics: SubtopicRows | None = None

    @property
    def grades(self) -> Floats:
        """Return the grade of each judgment."""
        return self.numbers[RELEVANCE]

    @property
    def read(self) -> int:
        """Count the rows that were read."""
        return self.height if self.rows_read is None else self.rows_read

    @property
    def dropped(self) -> int:
        """Count the rows that were dropped as duplicates of better rows."""
        return self.read - (self.height if self.subtopics is None else len(self.subtopics.document))

    @cached_property
    def sampled(self) -> Flags:
        """Flag a few queries, chosen by hashes of their ids; an extra False ends the array."""
        hashes = self.hashes
        if self.queries.dtype != pl.String:
            hashes = text_hashes(QUERY, self.queries)
        flags = np.zeros(len(hashes) + 1, np.bool_)
        last = np.partition(hashes, SAMPLED - 1)[SAMPLED - 1] if len(hashes) > SAMPLED else _MASK
        flags[:-1] = hashes <= last
        return flags

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Return the fingerprint of these judgments, including their subtopics."""
        bits = (self.grades + 0.0).view(np.uint64)  # -0.0 is 0.0
        queries, docs, key = as_text(self.queries), as_text(self.docs.column), self.key
        if self.queries.dtype != pl.String or self.docs.column.dtype != pl.String:
            key, places = text_hashes(DOC, docs), self.docs.places
            key = key if places is None else key[places]
            key = key ^ np.repeat(text_hashes(QUERY, queries), self.lengths)
        letters = int(byte_lengths(docs).sum(dtype=np.uint64))
        letters += int(byte_lengths(queries) @ self.lengths)
        plain = int(bits.sum()) + letters * int(FACTORS[0]) + len(bits) * int(FACTORS[1])
        whole = Fingerprint(plain & _MASK, _mixed(key, bits))
        return whole if self.subtopics is None else whole + self.subtopics.fingerprint(key)


def index_judgments(table: pl.DataFrame) -> tuple[IndexedJudgments, bool]:
    """Index the judgments of a table with hashes; also return whether there may be duplicates.

    With subtopics, there is one judgment per document, with the best of its grades, and `subtopics`
    holds all rows.
    """
    if SUBTOPIC not in table.columns:
        judgments = IndexedJudgments.from_hashed(table)
        return judgments, judgments.may_repeat()
    whole = IndexedJudgments.from_hashed(table.drop(SUBTOPIC, SUBTOPIC_WEIGHT, strict=False))

    def ordered(values: NDArray[Any]) -> NDArray[Any]:
        return values if whole.docs.places is None else values[whole.docs.places]

    same = group_equal(whole.key, whole.docs.all(), whole.code)
    firsts = np.flatnonzero(same == np.arange(whole.height))
    document = np.searchsorted(firsts, same)
    codes, names = numbered(table[SUBTOPIC])
    group = ordered(codes)
    order = sort_order(document, group + 1)
    document, group, grades = document[order], group[order], whole.grades[order]
    weights = None
    if SUBTOPIC_WEIGHT in table.columns:
        weights = ordered(table[SUBTOPIC_WEIGHT].fill_null(1.0).to_numpy())[order]
    twice = bool(((document[1:] == document[:-1]) & (group[1:] == group[:-1])).any())
    best = np.maximum.reduceat(grades, segment_starts(document)) if len(document) else grades
    judgments = replace(
        whole,
        docs=Ids(whole.docs.take(firsts)),
        key=whole.key[firsts],
        numbers={RELEVANCE: best},
        starts=np.searchsorted(firsts, whole.starts),
        rows_read=whole.height,
        subtopics=SubtopicRows(document, group, names, grades, weights),
    )
    return judgments, twice
