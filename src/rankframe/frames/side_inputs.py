"""Combine judgments, rows of train and a reference run into one table, and index its rows by kind.

As one table, these inputs are partitioned, streamed and sent to executors with the rows of the run.
The column `_what` says which input a row is from.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from rankframe.core.arrays import Ints
from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE, SUBTOPIC, SUBTOPIC_WEIGHT
from rankframe.core.options import Duplicates, JudgedTies
from rankframe.core.records import record
from rankframe.frames.catalogue import Catalogue
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import COUNT
from rankframe.kernel.duplicates import deduplicate
from rankframe.kernel.matching import QueryIndex
from rankframe.kernel.ranking import rank_documents

WHAT: Final = "_what"
JUDGED, TRAINED, BASE = 0.0, 1.0, 2.0
# Stands for a document's rank in a run without scores and ranks.
_ROW: Final = "_row"
_BLOCK: Final = 1 << 18  # rows that are ranked together


def combine_sides(
    qrels: InputTable | None,
    train: InputTable | None,
    reference: InputTable | None,
    *,
    limit: int | None = None,
) -> InputTable:
    """Concatenate judgments, training interactions and a reference run into one table.

    The columns are query_id, doc_id, relevance and `_what`, which says where a row is from.

    The column `relevance` holds the grade, the count in train, or the value that orders the
    reference run.
    """
    sides = [side for side in (qrels, train, reference) if side is not None]
    schema = {QUERY: pl.String, DOC: pl.String, RELEVANCE: pl.Float64, WHAT: pl.Float64}
    parts: list[pl.LazyFrame] = [] if sides else [pl.LazyFrame(schema=schema)]
    if qrels is not None:
        groups = [name for name in (SUBTOPIC, SUBTOPIC_WEIGHT) if name in qrels.mapping]
        parts.append(_select_side(qrels.frame, pl.col(RELEVANCE), JUDGED, *groups))
    if train is not None:
        parts.append(_select_side(train.frame, pl.col(COUNT), TRAINED))
    if reference is not None:
        parts.append(_select_side(*_sort_values(reference), BASE))
    whole = pl.concat(parts, how="diagonal")
    mapping = {name: name for name in whole.collect_schema()}
    name = " and ".join(side.name for side in sides)
    # Only a single input can be read from an offset.
    seekable = len(parts) == 1 and all(side.seekable for side in sides)
    return InputTable(
        "qrels", name, whole, mapping, seekable=seekable, part=True, limit=limit,
        numbered=False,
    )  # fmt: skip


def _select_side(frame: pl.LazyFrame, value: pl.Expr, what: float, *columns: str) -> pl.LazyFrame:
    return frame.select(QUERY, DOC, value.alias(RELEVANCE), pl.lit(what).alias(WHAT), *columns)


def _sort_values(run: InputTable) -> tuple[pl.LazyFrame, pl.Expr]:
    """Return the rows of a run, and an expression whose descending order is the ranking."""
    if SCORE in run.mapping:
        return run.frame, pl.col(SCORE)
    if RANK in run.mapping:
        return run.frame, -pl.col(RANK)
    return run.frame.with_row_index(_ROW), -pl.col(_ROW).cast(pl.Float64)


@record
class SideIndexes:
    """Hold indexes of judgments, `train` and `reference`; None where no metric needs one."""

    judged: QueryIndex | None = None
    trained: QueryIndex | None = None
    base: QueryIndex | None = None
    # the catalogue's number of each document in train; None: no column needs it
    trained_docs: Ints | None = None

    @classmethod
    def from_rows(
        cls, rows: pl.DataFrame, kinds: Collection[float], ties: JudgedTies, duplicates: Duplicates
    ) -> SideIndexes:
        """Index the rows of the given kinds (values of `_what`) in a table from `combine_sides`."""
        indexes: dict[float, QueryIndex] = {}
        for what in kinds:
            table = rows.filter(pl.col(WHAT) == what).select(QUERY, DOC, RELEVANCE)
            index = QueryIndex.from_table(table)
            if what != TRAINED and index.may_repeat():
                if what == JUDGED:  # for several subtopics
                    table = table.group_by(QUERY, DOC).agg(pl.col(RELEVANCE).max())
                else:
                    table = deduplicate(table, "reference", duplicates, numbered=False)
                index = QueryIndex.from_table(table)
            indexes[what] = _rank_index(index, ties) if what == BASE else index
        return cls(indexes.get(JUDGED), indexes.get(TRAINED), indexes.get(BASE))

    def with_numbers(self, catalogue: Catalogue, columns: Collection[str]) -> SideIndexes:
        """Look up the documents of `train` in a catalogue, if one of `columns` needs this."""
        train = self.trained
        if train is None or "divergence" not in catalogue.frame.without_parameters(columns):
            return self
        hashes, places = train.key ^ np.repeat(train.hashes, train.lengths), train.docs.places
        if places is None:
            return replace(self, trained_docs=catalogue.find(hashes, train.docs.column))
        # Look ids up in reading order, in which neighbouring ids are adjacent in memory.
        as_read = np.empty_like(hashes)
        as_read[places] = hashes
        return replace(self, trained_docs=catalogue.find(as_read, train.docs.column)[places])


def _rank_index(index: QueryIndex, ties: JudgedTies) -> QueryIndex:
    """Replace the values that order the documents of a reference run by their ranks."""
    rank = np.empty(index.height)
    for first, end in index.blocks(_BLOCK):
        batch = index.select(np.arange(first, end))
        batch = replace(batch, numbers={SCORE: batch.numbers[RELEVANCE]})
        rank[index.rows_of(first, end)] = rank_documents(batch, ties=ties).rank
    return replace(index, numbers={RELEVANCE: rank})
