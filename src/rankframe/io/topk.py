"""Matrices of ids and scores, as models and vector indexes return them → a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from rankframe.core.columns import DOC, QUERY, RANK, SCORE
from rankframe.core.errors import OptionError
from rankframe.core.forks import refuse_if_stranded
from rankframe.core.messages import shown
from rankframe.io.formats.numbers import turned
from rankframe.io.python_objects import read_texts, refuse_repeated_names

_FLAT, _MATRIX = 1, 2


def from_topk(
    ids: ArrayLike,
    scores: ArrayLike | None = None,
    *,
    queries: Sequence[Any] | None = None,
    items: Sequence[Any] | None = None,
    smaller_is_better: bool = False,
) -> pl.DataFrame:
    """A run from matrices as models and vector indexes return them: a row per query, best first.

    ids, scores: of shape (queries, k): numpy arrays or whatever numpy reads, such as tensors, or
        what faiss, hnswlib and `topk` give. An id of -1 (NaN, None) is none; its score is not
        looked at.
    queries: what the rows are called, one name each; without, 0, 1, ….
    items: what the documents are called, by their number; without, ids stay as they are.
    smaller_is_better: scores are distances (as faiss returns for L2), the smallest first.

    Without `scores`, documents are ranked as they stand; with them, by score.

    >>> ids, distances = [[2, 0], [1, -1]], [[0.1, 0.4], [0.2, float("inf")]]
    >>> run = rf.from_topk(ids, distances, items=["a", "b", "c"], smaller_is_better=True)
    >>> run.rows()
    [(0, 'c', -0.1), (0, 'a', -0.4), (1, 'b', -0.2)]
    >>> rf.evaluate({0: {"a"}, 1: {"b"}}, run, "mrr").means
    {'mrr': 0.75}
    """
    refuse_if_stranded()
    matrix = _matrix(ids, "ids")
    if scores is None and smaller_is_better:
        raise OptionError("smaller_is_better speaks of scores, and there are none.")
    numbers, present = _ids(matrix)
    cells = np.flatnonzero(present)
    rows = cells // max(matrix.shape[1], 1)
    found = numbers.ravel()[cells]
    if found.dtype.kind in "iu":
        documents = pl.Series(DOC, found)
    else:
        documents = read_texts(found.tolist(), "the ids", DOC)
    if items is not None:
        documents = _name_items(documents, items, cells, matrix.shape[1])
    names = None if queries is None else _names(queries, "queries")
    if names is not None:
        if len(names) != len(matrix):
            raise OptionError(f"queries has {len(names):,} names for {len(matrix):,} rows.")
        refuse_repeated_names(names.cast(pl.String), "row")
    run = {QUERY: pl.Series(rows) if names is None else names.gather(rows), DOC: documents}
    if scores is None:
        return pl.DataFrame({**run, RANK: np.cumsum(present, axis=1).ravel()[cells]})
    values = _scores(scores, matrix.shape, cells)
    return pl.DataFrame({**run, SCORE: turned(values) if smaller_is_better else values})


def _matrix(values: Any, what: str) -> NDArray[Any]:
    """Return a matrix, whatever holds it."""
    try:
        matrix = values.filled(-1) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    except Exception as error:  # whatever the exporting library raises
        if isinstance(error, ValueError) and "inhomogeneous" in str(error):
            raise OptionError(
                f"{what} must be a matrix, and its rows are of different lengths. Fill the shorter "
                "ones up with -1, or give a dict of lists."
            ) from None
        reason = str(error).split("\n", maxsplit=1)[0].rstrip(".")
        raise OptionError(
            f"numpy cannot read {what} ({reason}). Give an array: of a tensor, "
            ".detach().cpu().numpy()."
        ) from error
    if matrix.ndim != _MATRIX:
        hint = f" For a single query, wrap it as [{what}]." if matrix.ndim == _FLAT else ""
        raise OptionError(
            f"{what} must be a matrix with a row per query, not of shape {matrix.shape}.{hint}"
        )
    return matrix


def _ids(matrix: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return whole numbers or texts, and which cells have one."""
    kind = matrix.dtype.kind
    if kind == "i":
        return matrix, matrix != -1
    if kind == "u":  # where -1 is the largest number
        return matrix, matrix != np.iinfo(matrix.dtype).max
    if kind == "f":
        present = ~(np.isnan(matrix) | (matrix == -1))
        wrong = present & ((matrix != np.floor(matrix)) | np.isinf(matrix))
        _refuse(wrong, matrix, np.arange(matrix.size), matrix.shape[1], "ids", "not a whole number")
        return np.where(present, matrix, -1).astype(np.int64), present
    if kind in "UT":
        return matrix, np.ones(matrix.shape, np.bool_)
    if kind != "O":
        raise OptionError(f"ids must be whole numbers or text, not of type {matrix.dtype}.")
    none = (matrix == None) | (matrix != matrix) | (matrix == -1)  # noqa: E711, PLR0124 (each)
    present = ~none.astype(np.bool_)
    if all(issubclass(kind, int | np.integer) for kind in set(map(type, matrix[present]))):
        return np.where(present, matrix, -1).astype(np.int64), present
    return matrix, present


def _name_items(numbers: pl.Series, items: Any, cells: NDArray[np.intp], width: int) -> pl.Series:
    names = _names(items, "items")
    if not numbers.dtype.is_integer():
        raise OptionError("items are names by number, so ids must be whole numbers, not text.")
    values = numbers.to_numpy()
    _refuse(
        (values < 0) | (values >= len(names)),
        values,
        cells,
        width,
        "ids",
        f"a number that items, with {len(names):,} names, lacks",
        " They count from 0; -1 is none.",
    )
    return names.gather(values).alias(DOC)


def _names(values: Any, what: str) -> pl.Series:
    """Return names as a column of text or numbers."""
    if isinstance(values, Mapping | set | frozenset | str):
        raise OptionError(
            f"{what} must be a list of names in order, not a {type(values).__name__}."
        )
    try:
        if hasattr(values, "__arrow_c_stream__") or isinstance(values, np.ndarray):
            names = pl.Series(values)
        else:
            names = pl.Series(list(values), strict=False)
        if names.dtype.is_nested() or names.dtype == pl.Object:
            raise TypeError(str(names.dtype))
    except Exception as error:  # whatever the exporting library raises
        raise OptionError(f"{what} must be a list of names, not {shown(values)}.") from error
    if names.null_count():
        first = names.is_null().arg_true()[0]
        raise OptionError(
            f"{what} has {names.null_count():,} names that are null, e.g. name {first:,}."
        )
    return names


def _scores(scores: Any, shape: tuple[int, ...], cells: NDArray[np.intp]) -> pl.Series:
    matrix = _matrix(scores, "scores")
    if matrix.shape != shape:
        raise OptionError(f"scores are of shape {matrix.shape}, ids of shape {shape}.")
    if matrix.dtype.kind not in "iufb":
        raise OptionError(f"scores must be numbers, not of type {matrix.dtype}.")
    values = matrix.ravel()[cells]
    values = values if values.dtype.kind in "iu" else values.astype(np.float64)
    advice = " Where they stand for no document, set the id to -1."
    _refuse(~np.isfinite(values), values, cells, shape[1], "scores", "not finite", advice)
    return pl.Series(values)


def _refuse(
    wrong: NDArray[np.bool_],
    values: NDArray[Any],
    cells: NDArray[np.intp],
    width: int,
    what: str,
    problem: str,
    advice: str = "",
) -> None:
    """Refuse wrong values; `cells` are their places in a matrix of this width."""
    count = np.count_nonzero(wrong)
    if count:
        first = int(np.argmax(wrong))
        row, column = divmod(int(cells[first]), width)
        raise OptionError(
            f"{count:,} of the {what} {'is' if count == 1 else 'are'} {problem}, e.g. "
            f"{values.flat[first]} in row {row:,}, column {column:,}.{advice}"
        )
