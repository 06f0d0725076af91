"""Which documents two rankings share: chunks of the same queries, matched by their keys.

What the keys say is compared by the ids themselves: no collision of hashes changes anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC
from rankframe.core.options import Duplicates
from rankframe.kernel.batch import Batch, as_text
from rankframe.kernel.duplicates import deduplicate
from rankframe.kernel.tables import Probed, probe

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """The rows that one of two rankings has for some queries, and these only, in their order."""

    chunk: Batch
    # which of the queries the chunk has; None: all
    has: Ints | None
    # how many queries there are
    queries: int
    # how many rows were read, of which some may have been dropped
    read: int

    def spread(self, per_query: Ints) -> Ints:
        """Numbers of the chunk's queries; 0 for the others."""
        if self.has is None:
            return per_query
        whole = np.zeros(self.queries, np.int64)
        whole[self.has] = per_query
        return whole

    @property
    def code(self) -> NDArray[np.integer]:
        """The number of each row's query, among all."""
        return self.chunk.code if self.has is None else self.has[self.chunk.code]


def matched(a: Side, b: Side, duplicates: Duplicates) -> tuple[Ints, Side, Side]:
    """For each row of a, the row of b with its document for its query; -1 where there is none.

    Also both sides, without rows that are there twice.
    """
    probed = probe(b.chunk.key, a.chunk.key)
    if _may_repeat(a, b, probed.found):
        once = _one_of_each(a, probe(a.chunk.key, a.chunk.key[:0]), "ranking a", duplicates)
        if once is not a:
            a, probed = once, probe(b.chunk.key, once.chunk.key)
    once = _one_of_each(b, probed, "ranking b", duplicates)
    if once is not b:
        b, probed = once, probe(once.chunk.key, a.chunk.key)
    rows = np.flatnonzero(probed.found >= 0)
    at = probed.found[rows]
    same = (a.chunk.docs.taken(rows) == b.chunk.docs.taken(at)).to_numpy()
    same &= a.code[rows] == b.code[at]
    # Keys that are equal by chance may hide one row behind the other.
    if len(probed.again) or not same.all():
        return _by_name(a, b), a, b
    return probed.found, a, b


def once(side: Side, role: str, duplicates: Duplicates) -> Side:
    """The side itself if no document is there twice for a query; else an error, or the best."""
    return _one_of_each(side, probe(side.chunk.key, side.chunk.key[:0]), role, duplicates)


def _may_repeat(a: Side, b: Side, found: Ints) -> bool:
    """Whether two rows of a may have the same key: with one of b, or among those without one."""
    key, shared = a.chunk.key, found[found >= 0]
    if len(probe(key[found < 0], key[:0]).again):
        return True
    taken = np.zeros(b.chunk.height, np.bool_)
    taken[shared] = True
    return int(np.count_nonzero(taken)) < len(shared)


def _one_of_each(side: Side, probed: Probed, role: str, duplicates: Duplicates) -> Side:
    """The side itself if no document is there twice for a query; else an error, or the best."""
    if not len(probed.again) or not _twice(side.chunk, probed):
        return side
    return replace(side, chunk=Batch.from_table(deduplicate(side.chunk.frame(), role, duplicates)))


def _twice(chunk: Batch, probed: Probed) -> bool:
    """Whether a document is there twice for a query."""
    docs = chunk.docs
    same = (docs.taken(probed.again) == docs.taken(probed.first)).to_numpy()
    if (same & (chunk.code[probed.again] == chunk.code[probed.first])).any():
        return True
    rows = pl.DataFrame({"query": chunk.code, DOC: as_text(docs.taken(np.arange(chunk.height)))})
    return bool(rows.select(pl.struct("query", DOC).is_duplicated().any()).item())


def _by_name(a: Side, b: Side) -> Ints:
    """The same where keys are equal by chance: by a join of the ids."""
    ours, theirs = (
        pl.DataFrame(
            {
                "query": side.code.astype(np.int64),
                DOC: as_text(side.chunk.docs.taken(np.arange(side.chunk.height))),
            }
        )
        for side in (a, b)
    )
    joined = ours.join(
        theirs.with_row_index("row"), on=["query", DOC], how="left", maintain_order="left"
    )
    return joined["row"].cast(pl.Int64).fill_null(-1).to_numpy()
