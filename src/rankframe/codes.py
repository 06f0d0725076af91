"""Numbers for queries: what sorts and sums work with in place of strings."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


def query_codes(query: pl.Series) -> tuple[NDArray[np.int64], pl.Series]:
    """A number for each row's query, and the queries by number, in no particular order.

    Where each query's rows are together, as they mostly are, only their first rows are looked at.
    """
    stretch, heads = _stretches(query)
    if heads.n_unique() == len(heads):
        return stretch, heads
    # Categories of our own: the global ones would remember every id ever seen.
    kind = pl.Categorical(pl.Categories.random("rankframe"))
    code = query.cast(kind).to_physical().to_numpy().astype(np.int64)
    first = np.empty(int(code.max()) + 1, np.int64)
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1)
    return code, query.gather(first)


def sorted_query_codes(query: pl.Series) -> tuple[NDArray[np.int64], pl.Series]:
    """Each row's place among the distinct queries, and these, in byte order."""
    stretch, heads = _stretches(query)
    if heads.is_sorted() and heads.n_unique() == len(heads):
        return stretch, heads
    queries = heads.unique().sort()
    numbered = queries.to_frame("query").with_row_index("code")
    place = heads.to_frame("query").join(numbered, on="query", how="left", maintain_order="left")
    return place["code"].to_numpy().astype(np.int64)[stretch], queries


def _stretches(query: pl.Series) -> tuple[NDArray[np.int64], pl.Series]:
    """Rows with the same query as the one above belong to one stretch: its number on each row,
    and the query of each stretch.
    """
    begins = (query != query.shift(1)).fill_null(value=True)
    return np.cumsum(begins.to_numpy()) - 1, query.filter(begins)
