"""Score to rank: each query's documents in order, ties broken by a stated rule.

Most runs are already in order; that is checked first, and only what is not gets sorted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.arrays.codes import Codes, Numbered, query_codes
from rankframe.arrays.keys import Keyed
from rankframe.arrays.segments import (
    descending_bits,
    number_segments,
    position,
    segment_lengths,
    spread,
)
from rankframe.base.columns import DOC, QUERY, RANK, SCORE
from rankframe.base.options import Ties


@dataclass(frozen=True)
class RankedRun:
    """A run with a rank on each of its rows, and what was noticed on the way."""

    table: Keyed
    rank: NDArray[np.int32]
    # the mean rank of the documents with this score in this query; None unless asked for
    tied_rank: NDArray[np.float64] | None
    # query_id, retrieved
    queries: pl.DataFrame
    # documents with the same score as the one ranked just above them
    tied: int
    # queries whose rank column contradicts their scores; None where the run has only one of them
    disagreeing: int | None


def rank_run(run: Keyed, *, ties: Ties = "doc_desc", tied_rank: bool = False) -> RankedRun:
    """Number each query's documents from 1: by score descending, else by rank, else as given.

    >>> run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    >>> rank_run(Keyed(run)).rank
    array([2, 1], dtype=int32)
    """
    frame = run.frame
    numbered = query_codes(frame[QUERY])
    starts = np.cumsum(numbered.lengths) - numbered.lengths
    goodness = _goodness(frame)
    order, unsure = _order(frame, numbered, starts, goodness, ties)
    # In ranked order, the queries come by their numbers.
    ordered = numbered.code if order is None else number_segments(starts, frame.height)
    rank = position(starts, frame.height)
    rank += 1
    same = _same_as_above(ordered, goodness, order, unsure)
    return RankedRun(
        table=run,
        rank=_back(rank, order),
        tied_rank=_back(_mean_rank(rank, same), order) if tied_rank else None,
        queries=pl.DataFrame({QUERY: numbered.queries, "retrieved": numbered.lengths}),
        tied=int(same.sum()),
        disagreeing=_disagreeing(frame, order, ordered),
    )


def rank_again(before: RankedRun, keep: NDArray[np.bool_], *, ties: Ties) -> RankedRun:
    """The run with some of its rows only; a query that loses them all is still in the run."""
    rows = Keyed(before.table.frame.filter(pl.Series(keep)))
    after = rank_run(rows, ties=ties, tied_rank=before.tied_rank is not None)
    queries = before.queries.select(QUERY).join(
        after.queries, on=QUERY, how="left", maintain_order="left"
    )
    return replace(
        after,
        queries=queries.with_columns(pl.col("retrieved").fill_null(0)),
        tied=before.tied,
        disagreeing=before.disagreeing,
    )


def _goodness(run: pl.DataFrame) -> NDArray[np.float64] | None:
    """A number per row that is larger for the better document; None for a run in row order."""
    if SCORE in run.columns:
        return run[SCORE].to_numpy()
    if RANK in run.columns:
        return -run[RANK].to_numpy().astype(np.float64)
    return None


def _order(
    run: pl.DataFrame,
    numbered: Numbered,
    starts: NDArray[np.int64],
    goodness: NDArray[np.float64] | None,
    ties: Ties,
) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_] | None]:
    """The permutation that puts each query's rows together and in order; None if they are.

    Also, which places of it may hold a tie (None: any).
    """
    code, grouped = numbered.code, numbered.grouped
    if goodness is None or (grouped is None and _in_order(run[DOC], code, goodness, ties)):
        return grouped, None
    lead = descending_bits(goodness if grouped is None else goodness[grouped])
    order, unsure = _by_lead(lead, starts)
    if grouped is not None:
        order = grouped[order]
    return _settle(run[DOC], code, goodness, order, unsure, ties), unsure


def _by_lead(
    lead: NDArray[np.uint64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows of each query by as many leading bits of `lead` as fit beside the query's number and the
    place within it: one sort of plain integers. Also, which of the sorted rows have a neighbour
    with the same bits. Spoils `lead`.
    """
    rows = len(lead)
    place = position(starts, rows)
    place_bits = int(place.max()).bit_length()
    code_bits = max(len(starts) - 1, 0).bit_length()
    lead >>= np.uint64(code_bits + place_bits)
    lead <<= np.uint64(place_bits)
    lead |= place.view(np.uint32)
    if code_bits:
        numbers = np.arange(len(starts), dtype=np.uint64) << np.uint64(64 - code_bits)
        lead |= spread(numbers, starts, rows)
    lead.sort()
    order = (lead & np.uint64((1 << place_bits) - 1)).view(np.int64)
    order += spread(starts, starts, rows)
    lead >>= np.uint64(place_bits)
    unsure = np.zeros(rows, np.bool_)
    unsure[1:] = lead[1:] == lead[:-1]
    unsure[:-1] |= unsure[1:]
    return order, unsure


def _settle(
    doc: pl.Series,
    code: Codes,
    goodness: NDArray[np.float64],
    order: NDArray[np.int64],
    unsure: NDArray[np.bool_],
    ties: Ties,
) -> NDArray[np.int64]:
    """Put right what the cut made equal, and true ties by their rule."""
    rows = order[unsure]
    if not len(rows):
        return order
    by = pl.DataFrame({"code": code[rows], "goodness": goodness[rows] + 0.0, "row": rows})
    if ties == "as_given":
        settled = by.sort("code", "goodness", "row", descending=[False, True, False])
    else:
        settled = by.with_columns(doc=doc.gather(rows)).sort(
            "code", "goodness", "doc", descending=[False, True, ties == "doc_desc"]
        )
    order[unsure] = settled["row"].to_numpy()
    return order


def _in_order(doc: pl.Series, code: Codes, goodness: NDArray[np.float64], ties: Ties) -> bool:
    together = code[1:] == code[:-1]
    if (together & (goodness[1:] > goodness[:-1])).any():
        return False
    tied = np.flatnonzero(together & (goodness[1:] == goodness[:-1]))
    if ties == "as_given" or not len(tied):
        return True
    above, below = doc.gather(tied), doc.gather(tied + 1)
    return bool((above >= below if ties == "doc_desc" else above <= below).all())


def _same_as_above(
    code: Codes,
    goodness: NDArray[np.float64] | None,
    order: NDArray[np.int64] | None = None,
    unsure: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Which rows, in ranked order, have the query and the score of the row above."""
    same = np.zeros(len(code), np.bool_)
    if goodness is None:
        return same
    if unsure is None:
        values = goodness if order is None else goodness[order]
        same[1:] = (code[1:] == code[:-1]) & (values[1:] == values[:-1])
        return same
    assert order is not None  # what is in order was not sorted, and no place of it is unsure
    at = np.flatnonzero(unsure)
    values, owners = goodness[order[at]], code[at]
    equal = (at[1:] == at[:-1] + 1) & (owners[1:] == owners[:-1]) & (values[1:] == values[:-1])
    same[at[1:][equal]] = True
    return same


def _mean_rank(rank: NDArray[np.int32], same: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The mean rank of each block of equal scores, on each of its rows."""
    starts = np.flatnonzero(~same)
    lengths = segment_lengths(starts, len(rank))
    return spread(rank[starts] + (lengths - 1) / 2, starts, len(rank))


def _back(ordered: NDArray[Any], order: NDArray[np.int64] | None) -> NDArray[Any]:
    """Values in ranked order, put back on the rows as given."""
    if order is None:
        return ordered
    given = np.empty_like(ordered)
    given[order] = ordered
    return given


def _disagreeing(
    run: pl.DataFrame, order: NDArray[np.int64] | None, ordered_code: Codes
) -> int | None:
    """How many queries rank a document above another one that scores strictly higher."""
    if SCORE not in run.columns or RANK not in run.columns:
        return None
    if run.is_empty():
        return 0
    score, rank = run[SCORE].to_numpy(), run[RANK].to_numpy()
    if order is not None:
        score, rank = score[order], rank[order]
    # Blocks of equal scores: the best rank in each against the worst rank in those above it.
    starts = np.flatnonzero(~_same_as_above(ordered_code, score))
    code = ordered_code[starts]
    best, worst = np.minimum.reduceat(rank, starts), np.maximum.reduceat(rank, starts)
    # One running maximum serves all queries when each query's ranks lie above those before.
    lift = code * (worst.max() - best.min() + 1.0)
    worst_above = np.maximum.accumulate(worst + lift)[:-1]
    contradicts = (code[1:] == code[:-1]) & (best[1:] + lift[1:] <= worst_above)
    return len(np.unique(code[1:][contradicts]))
