"""Hold what documents are about, as flat arrays: a row for each document and subtopic.

A subtopic (an intent, a fact) belongs to a query; judgments say which documents are about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.frames.fingerprint import Fingerprint, Rows
from rankframe.kernel.segments import number_segments, segment_starts, sort_order

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
