"""Queries of which everything is the same: evaluated once, however many they are.

What metrics look at are ranks and grades. Where lists are short and judgments few, most queries
have those of some other one: of a million with ten documents and three judgments each, a few ten
thousand differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankframe.frames.found import Matched
from rankframe.frames.judged import grade_codes
from rankframe.kernel.batch import taken
from rankframe.kernel.segments import (
    number_segments,
    position,
    ranges,
    segment_lengths,
    sort_order,
    spread,
)
from rankframe.kernel.tables import representatives

Ints = NDArray[np.int64]

_SAMPLE = 1 << 14  # queries by which one sees whether many are the same
_WORTH = 0.5  # the share of different ones from which on nothing is gained
_FACTORS = np.array([0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9], np.uint64)


@dataclass(frozen=True)
class Patterns:
    """Some queries that stand for all."""

    part: Matched
    # for each query of all, which of these is the same
    of: Ints


def patterns(part: Matched) -> Patterns:
    """One query of each kind: with the same ranks, grades and number of documents.

    Their order within a query is none of the kind. Ids, scores and ties are not looked at.
    """
    queries = len(part.starts)
    every = Patterns(part, np.arange(queries))
    lengths = segment_lengths(part.starts, len(part.rank))
    grade = grade_codes(part.grades)
    if not queries or int(grade.max()) > np.iinfo(np.uint16).max:
        return every
    some = slice(0, int(part.starts[_SAMPLE]) if queries > _SAMPLE else len(part.rank))
    starts = part.starts[:_SAMPLE]
    marks = _marks(part.rank[some], grade[some], starts, part.retrieved[: len(starts)])
    if len(np.unique(marks)) > _WORTH * len(marks):
        return every
    code = number_segments(part.starts, len(part.rank))
    order = sort_order(code, part.rank, grade)
    rank, grade = part.rank[order], grade[order]
    of = representatives(_marks(rank, grade, part.starts, part.retrieved)).astype(np.int64)
    # Marks that are equal by chance: such a query stands for itself.
    same = (lengths[of] == lengths) & (part.retrieved[of] == part.retrieved)
    same &= part.in_run[of] == part.in_run
    of = np.where(same, of, np.arange(queries))
    there = spread(part.starts[of], part.starts, len(rank)) + position(part.starts, len(rank))
    equal = (rank[there] == rank) & (grade[there] == grade)
    same = np.logical_and.reduceat(equal, part.starts)
    of = np.where(same, of, np.arange(queries))
    chosen = np.zeros(queries, np.bool_)
    chosen[of] = True
    kept = np.flatnonzero(chosen)
    rows = order[ranges(part.starts[kept], lengths[kept])]
    return Patterns(
        replace(
            part,
            queries=taken(part.queries, kept),
            starts=np.cumsum(lengths[kept]) - lengths[kept],
            grades=part.grades[rows],
            rank=part.rank[rows],
            retrieved=part.retrieved[kept],
            in_run=part.in_run[kept],
        ),
        (np.cumsum(chosen) - 1)[of],
    )


def _marks(
    rank: NDArray[np.int32], grade: Ints, starts: Ints, retrieved: Ints
) -> NDArray[np.uint64]:
    """A number of each query that is the same for those of a kind, whatever the order of rows."""
    rows = (rank.astype(np.uint64) << np.uint64(16) | grade.astype(np.uint64)) * _FACTORS[0]
    rows ^= rows >> np.uint64(29)
    rows *= _FACTORS[1]
    rows ^= rows >> np.uint64(32)
    marks = np.add.reduceat(rows, starts)
    marks += retrieved.astype(np.uint64) * _FACTORS[0]
    return marks * _FACTORS[1]
