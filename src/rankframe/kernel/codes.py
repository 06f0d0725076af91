"""Numbers for queries: what sorts and sums work with in place of strings."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import QUERY
from rankframe.kernel.batch import SHORT, Ids, as_text, query_starts, views
from rankframe.kernel.keys import Keyed
from rankframe.kernel.orders import order_by_lead
from rankframe.kernel.segments import (
    number_segments,
    ranges,
    segment_lengths,
    segment_starts,
    sort_order,
)

Codes = NDArray[np.int32]
_MANY = 1 << 10  # ids that are put in order by their bytes; fewer are sorted as they are


@dataclass(frozen=True)
class Numbered:
    """Rows whose queries have numbers, in no particular order."""

    # of each row's query
    code: Codes
    # by number, with how many rows each has
    queries: pl.Series
    lengths: NDArray[np.int64]
    # the permutation that puts the rows in order of their numbers; None if they are
    grouped: NDArray[np.int64] | None


def query_codes(query: pl.Series) -> Numbered:
    """Number the queries of a table.

    Where each query's rows are together, as they mostly are, only their first rows are looked at.
    """
    starts = query_starts(query)
    if 2 * len(starts) <= len(query) or query.is_sorted():
        heads = query.gather(starts)
        if _are_distinct(heads):
            lengths = segment_lengths(starts, len(query))
            return Numbered(number_segments(starts, len(query)), heads, lengths, None)
    return _scattered_codes(query)


def sorted_query_codes(query: pl.Series) -> tuple[Codes, pl.Series]:
    """Each row's place among the distinct queries, and these, in byte order."""
    starts = query_starts(query)
    heads = query.gather(starts)
    stretch = number_segments(starts, len(query))
    if heads.is_sorted():  # and so distinct, since neighbours differ
        return stretch, heads
    queries = heads.unique().sort()
    numbered = queries.to_frame("query").with_row_index("code")
    place = heads.to_frame("query").join(numbered, on="query", how="left", maintain_order="left")
    return place["code"].to_numpy().astype(np.int32)[stretch], queries


def _scattered_codes(query: pl.Series) -> Numbered:
    """Codes where a query's rows are anywhere: sorted by hash, and checked by their strings.

    (10M rows of 1M queries: a fifth of the time of a categorical or of a join.)
    """
    table = Keyed(query.to_frame(QUERY))
    starts = segment_starts(table.sorted_keys >> np.uint64(table.row_bits))
    rows = table.rows_at(slice(None))
    code = np.empty(len(query), np.int32)
    code[rows] = number_segments(starts, len(query))
    heads = query.gather(rows[starts])
    strangers = heads.gather(code) != query
    if not strangers.any():
        return Numbered(code, heads, segment_lengths(starts, len(query)), rows)
    # Queries that share the leading bits of their hash with another get numbers of their own.
    strays = query.filter(strangers)
    names = strays.unique(maintain_order=True)
    numbered = names.to_frame("query").with_row_index("code", offset=len(heads))
    found = strays.to_frame("query").join(numbered, on="query", how="left", maintain_order="left")
    code[strangers.to_numpy()] = found["code"].to_numpy()
    return Numbered(code, pl.concat([heads, names]), np.bincount(code), sort_order(code))


def _are_distinct(heads: pl.Series) -> bool:
    """Whether no query occurs twice; a collision of hashes only costs time."""
    if heads.is_sorted():  # neighbours differ
        return True
    hashes = np.sort(heads.hash().to_numpy())
    return not (hashes[1:] == hashes[:-1]).any()


def text_order(ids: pl.Series) -> NDArray[np.int64]:
    """The permutation that puts distinct strings in byte order.

    Eight bytes of each, after those that all of them begin with, are sorted as whole numbers; only
    what is equal in these is compared as strings. (1M ids: a fifth of the time of a sort of them.)
    """
    lead = None if len(ids) < _MANY else _lead(ids)
    if lead is None:
        return ids.arg_sort().to_numpy().astype(np.int64)
    order = np.argsort(lead)
    lead = lead[order]
    unsure = np.zeros(len(ids), np.bool_)
    unsure[1:] = lead[1:] == lead[:-1]
    unsure[:-1] |= unsure[1:]
    if unsure.any():
        rows = order[unsure]
        alike = pl.DataFrame({"lead": lead[unsure], "id": ids[rows], "row": rows})
        order[unsure] = alike.sort("lead", "id")["row"].to_numpy()
    return order


def text_order_within(
    docs: Ids, rows: NDArray[np.int64], starts: NDArray[np.int64], *, descending: bool
) -> NDArray[np.int64]:
    """Some rows, those of each segment in byte order of their ids, all distinct."""
    lengths = segment_lengths(starts, len(rows))
    ordered = rows.copy()
    pairs = starts[np.flatnonzero(lengths == 2)]
    if len(pairs):  # as nearly all are where two runs are fused by rank: compared, not sorted
        first, second = rows[pairs], rows[pairs + 1]
        above, below = as_text(docs.taken(first)), as_text(docs.taken(second))
        turned = np.flatnonzero(above < below if descending else above > below)
        ordered[pairs[turned]] = second[turned]
        ordered[pairs[turned] + 1] = first[turned]
    longer = np.flatnonzero(lengths > 2)
    if len(longer):
        lengths = lengths[longer]
        at = ranges(starts[longer], lengths)
        some, firsts = rows[at], np.cumsum(lengths) - lengths
        ids = as_text(docs.taken(some))
        ordered[at] = some[_sorted_within(ids, firsts, lengths, descending=descending)]
    return ordered


def _sorted_within(
    ids: pl.Series, starts: NDArray[np.int64], lengths: NDArray[np.int64], *, descending: bool
) -> NDArray[np.int64]:
    code = number_segments(starts, len(ids))
    lead = None if len(ids) < _MANY else _lead(ids)
    if lead is None:
        rows = pl.DataFrame({"code": code, "id": ids}).with_row_index("row")
        ordered = rows.sort("code", "id", descending=[False, descending])
        return ordered["row"].to_numpy().astype(np.int64)
    if descending:
        lead = ~lead
    order, unsure = order_by_lead(lead, starts, lengths)
    if unsure.any():
        rows = order[unsure]
        alike = pl.DataFrame({"code": code[rows], "id": ids[rows], "row": rows})
        ordered = alike.sort("code", "id", descending=[False, descending])
        order[unsure] = ordered["row"].to_numpy()
    return order


def _lead(ids: pl.Series) -> NDArray[np.uint64] | None:
    """Eight bytes of each id, after those that all begin with; None where these are not ASCII."""
    short = _short_lead(ids)
    if short is not None:
        return short
    first, last = ids.min(), ids.max()
    assert isinstance(first, str)  # no id is missing
    assert isinstance(last, str)
    if not ids.str.len_bytes().eq(ids.str.len_chars()).all():
        return None
    pairs = zip(first, last, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return (
        ids.str.slice(shared, 8)
        .str.pad_end(8, "\0")
        .cast(pl.Binary)
        .bin.reinterpret(dtype=pl.UInt64, endianness="big")
        .to_numpy()
    )


def _short_lead(ids: pl.Series) -> NDArray[np.uint64] | None:
    """The same of ids of up to 12 bytes, whatever they are; None where some are longer.

    (A twentieth of the time of asking for it by expressions.)
    """
    words = views(ids)
    if words is None or words[:, 0].max() > SHORT:
        return None
    head = words[:, 1].byteswap().astype(np.uint64)
    tail = words[:, 2:].copy().view("<u8").ravel().byteswap()
    differ = np.bitwise_or.reduce(head ^ head[0]) << np.uint64(32)
    if not differ:
        differ = np.bitwise_or.reduce(tail ^ tail[0])
        shared = (64 - int(differ).bit_length()) // 8
        return tail << np.uint64(8 * min(shared, 7))
    shared = np.uint64(8 * ((64 - int(differ).bit_length()) // 8))
    return (head << (np.uint64(32) + shared)) | (tail >> (np.uint64(32) - shared))
