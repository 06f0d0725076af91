"""Numbers for queries: what sorts and sums work with in place of strings."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.segments import number_segments, segment_lengths

Codes = NDArray[np.int32]


def query_codes(query: pl.Series) -> tuple[Codes, pl.Series, NDArray[np.int64]]:
    """A number for each row's query, and the queries by number, in no particular order, with how
    many rows each has.

    Where each query's rows are together, as they mostly are, only their first rows are looked at.
    """
    starts, heads = _stretches(query)
    if _are_distinct(heads):
        lengths = segment_lengths(starts, len(query))
        return number_segments(starts, len(query)), heads, lengths
    # Categories of our own: the global ones would remember every id ever seen.
    kind = pl.Categorical(pl.Categories.random("rankframe"))
    code = query.cast(kind).to_physical().to_numpy().astype(np.int32)
    first = np.empty(int(code.max()) + 1, np.int64)
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
    return code, query.gather(first), np.bincount(code)


def sorted_query_codes(query: pl.Series) -> tuple[Codes, pl.Series]:
    """Each row's place among the distinct queries, and these, in byte order."""
    starts, heads = _stretches(query)
    stretch = number_segments(starts, len(query))
    if heads.is_sorted():  # and so distinct, since neighbours differ
        return stretch, heads
    queries = heads.unique().sort()
    numbered = queries.to_frame("query").with_row_index("code")
    place = heads.to_frame("query").join(numbered, on="query", how="left", maintain_order="left")
    return place["code"].to_numpy().astype(np.int32)[stretch], queries


def _stretches(query: pl.Series) -> tuple[NDArray[np.int64], pl.Series]:
    """Where each stretch of rows with the same query begins, and its query."""
    begins = query.ne_missing(query.shift(1))
    if len(query):
        begins[0] = True
    return np.flatnonzero(begins.to_numpy()), query.filter(begins)


def _are_distinct(heads: pl.Series) -> bool:
    """Whether no query occurs twice; a collision of hashes only costs time."""
    if heads.is_sorted():  # neighbours differ
        return True
    hashes = np.sort(heads.hash().to_numpy())
    return not (hashes[1:] == hashes[:-1]).any()
