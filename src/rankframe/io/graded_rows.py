"""Rows of grades in rank order, as textbooks write them → judgments and a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE
from rankframe.core.errors import OptionError
from rankframe.core.forks import refuse_if_stranded
from rankframe.core.messages import Option, shown
from rankframe.io.formats.numbers import given_numbers
from rankframe.io.python_objects import count_each, read_queries
from rankframe.kernel.segments import position

_FLAT, _MATRIX = 1, 2


def from_relevance(
    rows: Any, total: int | Sequence[int] | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judgments and a run, `(qrels, run)`, from grades in rank order, as textbooks write them.

    rows: a list of grades per query, the first that of the best ranked document; or a single such
        list, a matrix, or a dict from query to list. Lists may differ in length. None or NaN is a
        document that was not judged.
    total: how many relevant documents there are in all, retrieved or not: one number, or one per
        row. Without it, those in the list are all.

    >>> qrels, run = rf.from_relevance([[0, 0, 1, 0], [1, 0]], total=2)
    >>> rf.evaluate(qrels, run, ["mrr", "recall@3"]).per_query.rows()
    [('0', 0.3333333333333333, 0.5), ('1', 1.0, 0.5)]
    """
    refuse_if_stranded()
    names, lengths, grades = _grades(rows)
    starts = np.cumsum(lengths) - lengths
    place = position(starts[lengths > 0], len(grades)).astype(np.int64) + 1
    query = np.repeat(np.arange(len(names)), lengths)
    judged = ~np.isnan(grades)
    relevant = np.bincount(query[judged & (grades > 0)], minlength=len(names))
    beyond = _totals(total, relevant, names) - relevant
    blank = (lengths == 0) & (beyond == 0)
    if blank.any():
        raise OptionError(
            f"{np.count_nonzero(blank):,} of {len(names):,} rows have neither grades nor relevant "
            f"documents beyond, e.g. row {int(np.argmax(blank)):,}: nothing can be said of them. "
            "Leave them out, or say how many are relevant: pass ",
            Option("total", bare=True),
            ".",
        )
    more = np.repeat(np.arange(len(names)), beyond)
    added = position((np.cumsum(beyond) - beyond)[beyond > 0], len(more)) + 1 + lengths[more]
    run = pl.DataFrame({QUERY: names.gather(query), DOC: place, RANK: place})
    qrels = pl.DataFrame(
        {
            QUERY: names.gather(np.concatenate([query[judged], more])),
            DOC: np.concatenate([place[judged], added]),
            RELEVANCE: np.concatenate([grades[judged], np.ones(len(more))]),
        }
    )
    return qrels, run


def _grades(rows: Any) -> tuple[pl.Series, NDArray[np.int64], NDArray[np.float64]]:
    """Return the names of the queries, the number of grades of each, and all grades."""
    names = None
    if isinstance(rows, Mapping):
        names = read_queries(rows, "rows")
        rows = list(rows.values())
    if isinstance(rows, set | frozenset | str):
        raise OptionError(f"rows must be lists of grades, not a {type(rows).__name__}.")
    matrix = rows if isinstance(rows, np.ndarray) else None
    if matrix is not None and matrix.ndim == _MATRIX and matrix.dtype.kind in "iufb":
        flat = matrix.astype(np.float64).ravel()
        lengths = np.full(len(matrix), matrix.shape[1], np.int64)
    else:
        if not isinstance(rows, Iterable):
            raise OptionError(f"rows must be lists of grades, not {shown(rows)}.")
        lists = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
        nested = [isinstance(row, list | tuple) for row in lists]
        if names is None and lists and not any(nested):
            lists = [lists]
        elif not all(nested):
            raise OptionError(
                f"rows must all be lists of grades, and this is not one: "
                f"{shown(lists[nested.index(False)])}."
            )
        lengths = count_each(lists)
        flat = _numbers(list(chain.from_iterable(lists)))
    if not len(lengths):
        raise OptionError("rows has no grades.")
    if np.isinf(flat).any():
        raise OptionError(f"{np.count_nonzero(np.isinf(flat)):,} grades are infinite.")
    return pl.Series(QUERY, np.arange(len(lengths))) if names is None else names, lengths, flat


def _numbers(values: list[Any]) -> NDArray[np.float64]:
    grades = (
        [float("nan") if grade is None else grade for grade in values] if None in values else values
    )
    try:
        if nested := [grade for grade in grades if isinstance(grade, list | tuple)]:
            raise ValueError(shown(nested[0]))
        return given_numbers(grades).cast(pl.Float64).to_numpy()
    except ValueError as error:
        raise OptionError(f"every grade must be a number, not {error}.") from error


def _totals(total: Any, relevant: NDArray[np.int64], names: pl.Series) -> NDArray[np.int64]:
    """Return the number of relevant documents of each row, retrieved or not."""
    if total is None:
        return relevant
    try:
        totals = np.asarray(total)
        totals = totals.astype(np.int64, casting="safe" if totals.dtype.kind in "iub" else "no")
        if np.asarray(total).dtype.kind == "b":
            raise TypeError
    except (TypeError, ValueError):
        raise OptionError(
            f"total must be a whole number, or one per row, not {shown(total)}."
        ) from None
    if totals.ndim > _FLAT or (totals.ndim == _FLAT and len(totals) != len(relevant)):
        raise OptionError(f"total is of shape {totals.shape}, for {len(relevant):,} rows.")
    totals = np.broadcast_to(totals, relevant.shape)
    few = totals < relevant
    if few.any():
        row = int(np.argmax(few))
        raise OptionError(
            f"total is less than what is relevant in the list for {np.count_nonzero(few):,} of "
            f"{len(relevant):,} rows, e.g. {totals[row]:,} for row {row:,} (query "
            f"{str(names[row])!r}), which lists {relevant[row]:,}."
        )
    return totals
