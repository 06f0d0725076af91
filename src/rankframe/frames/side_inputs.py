"""Bring together what lies beside a run, query by query: judgments, rows of train, another run.

They come as one table, whose rows say what they are, so that they are split, streamed and sent to
executors with the rows of the run, as one side of the work.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from rankframe.core.arrays import Ints
from rankframe.core.columns import DOC, GROUP, GROUP_WEIGHT, QUERY, RANK, RELEVANCE, SCORE
from rankframe.core.options import Duplicates, Ties
from rankframe.frames.catalogue import Catalogue
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import COUNT
from rankframe.kernel.duplicates import deduplicate
from rankframe.kernel.matching import QueryIndex
from rankframe.kernel.ranking import rank_documents

WHAT: Final = "_what"
JUDGED, TRAINED, BASE = 0.0, 1.0, 2.0
# What stands for a document's rank where only the order of rows does.
_ROW: Final = "_row"
_BLOCK: Final = 1 << 18  # rows that are ranked together


def beside(
    qrels: InputTable | None,
    train: InputTable | None,
    base: InputTable | None,
    *,
    limit: int | None = None,
) -> InputTable:
    """Return all as one table: query_id, doc_id, relevance (grade, count, score), `_what`."""
    parts: list[pl.LazyFrame] = []
    if qrels is not None:
        groups = [name for name in (GROUP, GROUP_WEIGHT) if name in qrels.mapping]
        parts.append(_part(qrels.frame, pl.col(RELEVANCE), JUDGED, *groups))
    if train is not None:
        parts.append(_part(train.frame, pl.col(COUNT), TRAINED))
    if base is not None:
        parts.append(_part(*_goodness(base), BASE))
    if not parts:
        schema = {QUERY: pl.String, DOC: pl.String, RELEVANCE: pl.Float64, WHAT: pl.Float64}
        parts = [pl.LazyFrame(schema=schema)]
    whole = pl.concat(parts, how="diagonal")
    same = {name: name for name in whole.collect_schema()}
    name = " and ".join(side.name for side in (qrels, train, base) if side is not None)
    # What is not one input cannot be read from its middle.
    alone = len(parts) == 1 and all(side is None or side.seekable for side in (qrels, train, base))
    return InputTable(
        "qrels", name, whole, same, seekable=alone, part=True, limit=limit,
        numbered=False,
    )  # fmt: skip


def _part(frame: pl.LazyFrame, value: pl.Expr, what: float, *others: str) -> pl.LazyFrame:
    return frame.select(QUERY, DOC, value.alias(RELEVANCE), pl.lit(what).alias(WHAT), *others)


def _goodness(base: InputTable) -> tuple[pl.LazyFrame, pl.Expr]:
    """Return the rows of a run, and an expression that is larger for the better document."""
    if SCORE in base.mapping:
        return base.frame, pl.col(SCORE)
    if RANK in base.mapping:
        return base.frame, -pl.col(RANK)
    return base.frame.with_row_index(_ROW), -pl.col(_ROW).cast(pl.Float64)


@dataclass(frozen=True)
class Sides:
    """Hold the rows beside a run, each kind by itself; None: it is not needed."""

    judged: QueryIndex | None = None
    trained: QueryIndex | None = None
    base: QueryIndex | None = None
    # of the rows of train, their documents as a catalogue numbers them, where anybody asks
    trained_docs: Ints | None = None

    @classmethod
    def of(
        cls, rows: pl.DataFrame, asked: Collection[float], ties: Ties, duplicates: Duplicates
    ) -> Sides:
        """Index the rows of each kind that is needed."""
        made: dict[float, QueryIndex] = {}
        for what in asked:
            some = rows.filter(pl.col(WHAT) == what).select(QUERY, DOC, RELEVANCE)
            made[what] = QueryIndex.from_table(some)
            if what == JUDGED and made[what].may_repeat():  # for several groups
                best = some.group_by(QUERY, DOC).agg(pl.col(RELEVANCE).max())
                made[what] = QueryIndex.from_table(best)
            elif what == BASE:
                if made[what].may_repeat():
                    best = deduplicate(some, "reference", duplicates, numbered=False)
                    made[what] = QueryIndex.from_table(best)
                made[what] = _ranked(made[what], ties)
        return cls(made.get(JUDGED), made.get(TRAINED), made.get(BASE))

    def numbered(self, catalogue: Catalogue, columns: Collection[str]) -> Sides:
        """Number the documents of train as a catalogue does, where columns need that."""
        train = self.trained
        if train is None or "divergence" not in catalogue.frame.without_parameters(columns):
            return self
        hashes, places = train.key ^ np.repeat(train.hashes, train.lengths), train.docs.places
        if places is None:
            return replace(self, trained_docs=catalogue.find(hashes, train.docs.column))
        # In the order of reading: neighbouring ids are looked up at once.
        as_read = np.empty_like(hashes)
        as_read[places] = hashes
        return replace(self, trained_docs=catalogue.find(as_read, train.docs.column)[places])


def _ranked(index: QueryIndex, ties: Ties) -> QueryIndex:
    """Replace what says the order by ranks."""
    rank = np.empty(index.height)
    for first, end in index.blocks(_BLOCK):
        batch = index.select(np.arange(first, end))
        batch = replace(batch, numbers={SCORE: batch.numbers[RELEVANCE]})
        rank[index.rows_of(first, end)] = rank_documents(batch, ties=ties).rank
    return replace(index, numbers={RELEVANCE: rank})
