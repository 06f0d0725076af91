"""Score to rank: each query's documents in order, ties broken by a stated rule.

Most runs are already in order; that is checked first, and only what is not gets sorted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE, SCORE_REST
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Policies, Ranks, Ties
from rankframe.kernel.batch import Column, Ids
from rankframe.kernel.codes import Codes, Numbered, query_codes, text_order_within
from rankframe.kernel.keys import Keyed, match
from rankframe.kernel.orders import order_by_lead
from rankframe.kernel.segments import (
    descending_bits,
    number_segments,
    position,
    segment_lengths,
    spread,
)

_LARGEST_RANK = np.iinfo(np.int32).max


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


def rank_run(
    run: Keyed,
    *,
    ties: Ties = "doc_desc",
    tied_rank: bool = False,
    ranks: Ranks = "renumbered",
) -> RankedRun:
    """Number each query's documents from 1: by score descending, else by rank, else as given.

    Ranks that are to be kept are those of the documents, and a query has as many as its last says.

    >>> run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    >>> rank_run(Keyed(run)).rank
    array([2, 1], dtype=int32)
    """
    frame = run.frame
    numbered = query_codes(frame[QUERY])
    if ranks == "kept":
        given = kept_ranks(frame[RANK].to_numpy(), numbered.code, lambda row: frame[QUERY][row])
        last = np.zeros(len(numbered.lengths), np.int64)
        np.maximum.at(last, numbered.code, given)
        queries = pl.DataFrame({QUERY: numbered.queries, "retrieved": last})
        return RankedRun(run, given, given.astype(np.float64) if tied_rank else None, queries, 0)
    starts = np.cumsum(numbered.lengths) - numbered.lengths
    goodness = _goodness(frame)
    order, unsure = _order(frame, numbered, starts, goodness, ties)
    # In ranked order, the queries come by their numbers.
    ordered = numbered.code if order is None else number_segments(starts, frame.height)
    rank = position(starts, frame.height)
    rank += 1
    same = same_as_above(ordered, goodness, order, unsure)
    return RankedRun(
        table=run,
        rank=_back(rank, order),
        tied_rank=_back(_mean_rank(rank, same), order) if tied_rank else None,
        queries=pl.DataFrame({QUERY: numbered.queries, "retrieved": numbered.lengths}),
        tied=int(same.sum()),
    )


def prepare_run(run: Keyed, qrels: Keyed, policies: Policies) -> RankedRun:
    """Rank the run, cut it at `k_max`, and then, with `judged_only`, close the gaps that unjudged
    documents leave (in this order, as trec_eval's -M and -J).
    """
    ties = policies.ties
    ranked = rank_run(run, ties=ties, ranks=policies.ranks)
    if policies.k_max is not None:
        kept = ranked.rank <= policies.k_max
        ranked = replace(
            ranked,
            table=Keyed(run.frame.filter(pl.Series(kept))),
            rank=ranked.rank[kept],
            queries=ranked.queries.with_columns(pl.col("retrieved").clip(None, policies.k_max)),
        )
    if policies.judged_only:
        # As in trec_eval, a negative grade says "in the pool, but not judged".
        rows, of = match(ranked.table, qrels)
        keep = np.zeros(ranked.table.frame.height, np.bool_)
        keep[rows[qrels.frame[RELEVANCE].to_numpy()[of] >= 0]] = True
        ranked = rank_again(ranked, keep, ties=ties)
    return ranked


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
    )


def _goodness(run: pl.DataFrame) -> NDArray[np.float64] | None:
    """A number per row that is larger for the better document; None for a run in row order."""
    if SCORE in run.columns:
        rest = run[SCORE_REST].to_numpy() if SCORE_REST in run.columns else None
        return exact_order(run[SCORE].to_numpy(), rest)
    if RANK in run.columns:
        return -run[RANK].to_numpy().astype(np.float64)
    return None


def exact_order(
    score: NDArray[np.float64], rest: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Numbers in the order of scores of which floats lack the rest: mostly the scores."""
    if rest is None or not rest.any():
        return score
    order = np.lexsort((rest, score))
    score, rest = score[order], rest[order]
    level = np.zeros(len(order))
    np.cumsum((score[1:] != score[:-1]) | (rest[1:] != rest[:-1]), out=level[1:])
    return _back(level, order)


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
    return order_within(Column(run[DOC]), code, starts, goodness, ties, grouped)


def order_within(
    docs: Ids,
    code: Codes,
    starts: NDArray[np.int64],
    goodness: NDArray[np.float64],
    ties: Ties,
    grouped: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The permutation that puts each query's rows in order, and which places may hold a tie.

    `grouped`: the one that brings each query's rows together, where they are not.
    """
    lead = descending_bits(goodness if grouped is None else goodness[grouped])
    order, unsure = order_by_lead(lead, starts, segment_lengths(starts, len(lead)))
    if grouped is not None:
        order = grouped[order]
    return _settle(docs, code, goodness, order, unsure, ties), unsure


def _settle(
    docs: Ids,
    code: Codes,
    goodness: NDArray[np.float64],
    order: NDArray[np.int64],
    unsure: NDArray[np.bool_],
    ties: Ties,
) -> NDArray[np.int64]:
    """Put right what the cut made equal, and true ties by their rule."""
    at = np.flatnonzero(unsure)
    rows = order[at]
    if not len(rows):
        return order
    values, owner = goodness[rows] + 0.0, code[rows]
    together = owner[1:] == owner[:-1]
    rises = (values[1:] > values[:-1]) & together
    if rises.any():
        # Equal in their leading bits only. As given, where they are equal in all.
        some = np.isin(owner, np.unique(owner[1:][rises]))
        by = pl.DataFrame({"code": owner[some], "goodness": values[some], "row": rows[some]})
        by = by.sort("code", "goodness", "row", descending=[False, True, False])
        rows[some], values[some] = by["row"].to_numpy(), by["goodness"].to_numpy()
    if ties != "as_given":
        new = np.ones(len(rows), np.bool_)
        new[1:] = ~together | (values[1:] != values[:-1])
        starts = np.flatnonzero(new)
        rows = text_order_within(docs, rows, starts, descending=ties == "doc_desc")
    order[at] = rows
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


def same_as_above(
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


def kept_ranks(
    rank: NDArray[np.float64], code: Codes, query: Callable[[int], str]
) -> NDArray[np.int32]:
    """Ranks as they are given; refused if they cannot be ranks. `query`: that of a row."""
    wrong = np.flatnonzero((rank != np.floor(rank)) | (rank < 1) | (rank > _LARGEST_RANK))
    if len(wrong):
        problem = f"a rank of {rank[wrong[0]]:g}"
        raise _not_kept("whole numbers from 1", problem, query(int(wrong[0])))
    order = np.lexsort((rank, code))
    ordered, of = rank[order], code[order]
    again = np.flatnonzero((ordered[1:] == ordered[:-1]) & (of[1:] == of[:-1]))
    if len(again):
        problem = f"two documents of rank {ordered[again[0]]:g}"
        raise _not_kept("a rank of its own for each", problem, query(int(order[again[0]])))
    return rank.astype(np.int32)


def _not_kept(wanted: str, problem: str, query: str) -> OptionError:
    return OptionError(
        Option("ranks", "kept"),
        f" needs {wanted}, and the run has {problem}, for {QUERY} {query!r}. "
        "Without it, ranks only say the order.",
    )


def numbered_anew(rank: NDArray[np.float64], code: Codes, starts: NDArray[np.int64]) -> int:
    """How many queries have other ranks than 1, 2, 3, … in whatever order.

    The rows of each query are together.
    """
    if np.array_equal(rank, position(starts, len(rank)) + 1):
        return 0
    last = segment_lengths(starts, len(rank))[code]
    fits = (rank == np.floor(rank)) & (rank >= 1) & (rank <= last)
    taken = np.zeros(len(rank), np.bool_)
    taken[starts[code[fits]] + rank[fits].astype(np.int64) - 1] = True
    return len(np.unique(code[~taken]))


def rank_contradictions(score: NDArray[np.float64], rank: NDArray[np.float64], code: Codes) -> int:
    """How many queries rank a document above another one that scores strictly higher.

    All in ranked order; `code`: the numbers of the queries.
    """
    if not len(score):
        return 0
    # Blocks of equal scores: the best rank in each against the worst rank in those above it.
    starts = np.flatnonzero(~same_as_above(code, score))
    code = code[starts]
    levels, places = np.unique(rank, return_inverse=True)
    best, worst = np.minimum.reduceat(places, starts), np.maximum.reduceat(places, starts)
    # One running maximum serves all queries when each query's ranks lie above those before.
    lift = code.astype(np.int64) * len(levels)
    worst_above = np.maximum.accumulate(worst + lift)[:-1]
    contradicts = (code[1:] == code[:-1]) & (best[1:] + lift[1:] <= worst_above)
    return len(np.unique(code[1:][contradicts]))
