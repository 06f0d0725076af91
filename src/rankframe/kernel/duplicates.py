"""Refuse duplicate documents of a query, or keep the best of their rows."""

from __future__ import annotations

from functools import reduce
from operator import xor
from typing import Protocol

import numpy as np
import polars as pl

from rankframe.core.arrays import Ints
from rankframe.core.columns import RANK, RELEVANCE, SCORE, SCORE_REST, TEXTS
from rankframe.core.errors import DuplicateError
from rankframe.core.options import Duplicates, JudgedTies, Ranks
from rankframe.kernel.batch import Batch, hash_of
from rankframe.kernel.ranking import DocumentRanks, rank_documents
from rankframe.kernel.tables import probe

_ROW = "_row"


def deduplicate(
    rows: pl.DataFrame,
    role: str,
    duplicates: Duplicates,
    *,
    numbered: bool = True,
    best: str | None = None,
) -> pl.DataFrame:
    """Keep the best row of each query, document and subtopic, or refuse duplicates.

    Args:
        rows: The rows of an input.
        role: The name of the input in errors.
        duplicates: "error" refuses duplicate keys; "keep_best" keeps the best row of each key.
        numbered: Whether error messages include row numbers.
        best: The column that decides which row is best: the lowest value of a rank, the highest
            value of any other column. None: the grade or score, else the rank, else the first row.
    """
    suspects = possible_duplicates(rows)
    if not len(suspects):
        return rows
    keys = [name for name in TEXTS if name in rows.columns]
    repeated = (
        rows[suspects]
        .with_columns(pl.Series(_ROW, suspects))
        .filter(pl.struct(keys).is_duplicated())
    )
    if repeated.is_empty():
        return rows
    if duplicates == "error":
        counted = repeated.group_by(keys, maintain_order=True).agg(pl.col(_ROW) + 1)
        example = counted.row(0, named=True)
        numbers = example.pop(_ROW)
        raise DuplicateError(role, counted.height, example, numbers if numbered else [])
    if best is None:
        best = next((name for name in (RELEVANCE, SCORE, RANK) if name in rows.columns), _ROW)
    by = [best, SCORE_REST] if best == SCORE and SCORE_REST in rows.columns else [best]
    kept = repeated.sort(by, descending=best not in (RANK, _ROW), maintain_order=True).unique(
        keys, keep="first", maintain_order=True
    )
    keep = np.ones(rows.height, np.bool_)
    keep[repeated[_ROW].to_numpy()] = False
    keep[kept[_ROW].to_numpy()] = True
    return rows.filter(pl.Series(keep))


def possible_duplicates(rows: pl.DataFrame) -> Ints:
    """Return the rows whose key hash occurs more than once: all duplicates, and rare collisions."""
    schema = rows.schema
    hashes = (hash_of(name, schema[name], seed) for seed, name in enumerate(TEXTS)
              if name in schema)  # fmt: skip
    keys = rows.select(reduce(xor, hashes)).to_series().to_numpy()
    probed = probe(keys, keys[:0])
    return np.union1d(probed.again, probed.first)


class DocumentOrder(Protocol):
    """Declare the options for the order of documents and the handling of duplicates."""

    @property
    def ties(self) -> JudgedTies:
        """Return how equal scores are ordered."""
        ...

    @property
    def ranks(self) -> Ranks:
        """Return whether the input's ranks are kept or renumbered."""
        ...

    @property
    def run_duplicates(self) -> Duplicates:
        """Return whether duplicate rows are refused or only the best one is kept."""
        ...

    @property
    def keeps_chunk_ranks(self) -> bool:
        """Tell whether a document keeps the rank that its best row had before deduplication."""
        ...


def deduplicate_batch(
    batch: Batch, order: DocumentOrder, role: str = "run"
) -> tuple[Batch, Ranks, DocumentRanks | None]:
    """Keep the best row of each document of a query, or refuse duplicates, as `order` demands.

    Returns the deduplicated batch, whether its ranks are kept or renumbered, and the ranks of all
    rows of the original batch (None unless ranks decided which row is best).
    """
    if not order.keeps_chunk_ranks:
        return keep_one(batch, role, order.run_duplicates), order.ranks, None
    ranks = rank_documents(batch, ties=order.ties, ranks=order.ranks)
    rows = batch.frame().with_columns(pl.Series(RANK, ranks.rank.astype(np.float64)))
    return Batch.from_table(deduplicate(rows, role, "keep_best", best=RANK)), "kept", ranks


def keep_one(batch: Batch, role: str, duplicates: Duplicates) -> Batch:
    """Keep the best row of each document of a query, or refuse duplicates (see `deduplicate`)."""
    if not batch.may_repeat():
        return batch
    kept = deduplicate(batch.frame(), role, duplicates)
    return batch if kept.height == batch.height else Batch.from_table(kept)
