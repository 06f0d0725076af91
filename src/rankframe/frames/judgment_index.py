"""Judgments in memory, by query: what the rows of a run are looked up in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, GROUP, GROUP_WEIGHT, QUERY, RELEVANCE
from rankframe.frames.fingerprint import Fingerprint, Rows
from rankframe.frames.subtopic_rows import SubtopicRows, numbered
from rankframe.kernel.matching import IndexedIds, QueryIndex, group_equal
from rankframe.kernel.segments import number_segments, segment_starts, sort_order


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
    same = group_equal(every.key, IndexedIds(every, rows), code)
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
