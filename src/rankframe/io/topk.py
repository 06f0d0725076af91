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
    smaller_is_better: scores are distances (as those of faiss for L2), the smallest first.

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
    found, present = _ids(matrix)
    # where the documents are, counted through the rows
    at = np.flatnonzero(present)
    rows = at // max(matrix.shape[1], 1)
    documents = _column(found.ravel()[at])
    if items is not None:
        documents = _named(documents, items, at, matrix.shape[1])
    names = _query_names(queries, len(matrix))
    query = pl.Series(rows) if names is None else names.gather(rows)
    if scores is None:
        ranks = np.cumsum(present, axis=1).ravel()[at]
        return pl.DataFrame({QUERY: query, DOC: documents, RANK: ranks})
    values = _scores(scores, matrix.shape, at)
    values = turned(values) if smaller_is_better else values
    return pl.DataFrame({QUERY: query, DOC: documents, SCORE: values})


def _matrix(given: Any, what: str) -> NDArray[Any]:
    """A matrix, whatever holds it."""
    try:
        found = given.filled(-1) if isinstance(given, np.ma.MaskedArray) else np.asarray(given)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise _no_array(what, error) from error
        raise OptionError(
            f"{what} must be a matrix, and its rows are of different lengths. Fill the shorter "
            "ones up with -1, or give a dict of lists."
        ) from None
    except Exception as error:  # whatever the exporting library raises
        raise _no_array(what, error) from error
    if found.ndim != _MATRIX:
        hint = f" For a single query, wrap it as [{what}]." if found.ndim == _FLAT else ""
        raise OptionError(
            f"{what} must be a matrix with a row per query, not of shape {found.shape}.{hint}"
        )
    return found


def _no_array(what: str, error: Exception) -> OptionError:
    said = str(error).split("\n", maxsplit=1)[0].rstrip(".")
    return OptionError(
        f"numpy cannot read {what} ({said}). Give an array: of a tensor, .detach().cpu().numpy()."
    )


def _ids(matrix: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Whole numbers or texts, and where there is one."""
    kind = matrix.dtype.kind
    if kind == "i":
        return matrix, matrix != -1
    if kind == "u":  # where -1 is the largest number
        return matrix, matrix != np.iinfo(matrix.dtype).max
    if kind == "f":
        present = ~(np.isnan(matrix) | (matrix == -1))
        wrong = present & ((matrix != np.floor(matrix)) | np.isinf(matrix))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise OptionError(
                f"{np.count_nonzero(wrong):,} of the ids {_are(wrong)} not a whole number, e.g. "
                f"{matrix.flat[at]} in {_place(at, matrix.shape[1])}."
            )
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


def _column(ids: NDArray[Any]) -> pl.Series:
    if ids.dtype.kind in "iu":
        return pl.Series(DOC, ids)
    return pl.Series(DOC, list(map(str, ids.tolist())), dtype=pl.String)


def _are(wrong: NDArray[np.bool_]) -> str:
    return "is" if np.count_nonzero(wrong) == 1 else "are"


def _place(at: int, width: int) -> str:
    return f"row {at // width:,}, column {at % width:,}"


def _named(numbers: pl.Series, items: Any, at: NDArray[np.intp], width: int) -> pl.Series:
    names = _names(items, "items")
    if not numbers.dtype.is_integer():
        raise OptionError("items are names by number, so ids must be whole numbers, not text.")
    values = numbers.to_numpy()
    wrong = (values < 0) | (values >= len(names))
    if wrong.any():
        first = int(np.argmax(wrong))
        where = _place(int(at[first]), width)
        raise OptionError(
            f"{np.count_nonzero(wrong):,} of the ids {_are(wrong)} a number that items, with "
            f"{len(names):,} names, lacks, e.g. {values[first]} in {where}. "
            "They count from 0; -1 is none."
        )
    return names.gather(values).alias(DOC)


def _names(given: Any, what: str) -> pl.Series:
    """Names as a column: text and numbers."""
    if isinstance(given, Mapping | set | frozenset | str):
        raise OptionError(f"{what} must be a list of names in order, not a {type(given).__name__}.")
    try:
        if hasattr(given, "__arrow_c_stream__") or isinstance(given, np.ndarray):
            names = pl.Series(given)
        else:
            names = pl.Series(list(given), strict=False)
        if names.dtype.is_nested() or names.dtype == pl.Object:
            raise TypeError(str(names.dtype))
    except Exception as error:  # whatever the exporting library raises
        raise OptionError(f"{what} must be a list of names, not {shown(given)}.") from error
    if names.null_count():
        at = names.is_null().arg_true()[0]
        raise OptionError(
            f"{what} has {names.null_count():,} names that are null, e.g. name {at:,}."
        )
    return names


def _query_names(given: Any, count: int) -> pl.Series | None:
    if given is None:
        return None
    names = _names(given, "queries")
    if len(names) != count:
        raise OptionError(f"queries has {len(names):,} names for {count:,} rows.")
    texts = names.cast(pl.String)
    if texts.n_unique() < len(texts):
        twice = texts.filter(texts.is_duplicated()).unique(maintain_order=True)
        raise OptionError(
            f"queries has {len(twice):,} names more than once, e.g. {twice[0]!r}. "
            "Each row is of a query of its own."
        )
    return names


def _scores(given: Any, shape: tuple[int, ...], at: NDArray[np.intp]) -> pl.Series:
    matrix = _matrix(given, "scores")
    if matrix.shape != shape:
        raise OptionError(f"scores are of shape {matrix.shape}, ids of shape {shape}.")
    if matrix.dtype.kind not in "iufb":
        raise OptionError(f"scores must be numbers, not of type {matrix.dtype}.")
    values = matrix.ravel()[at]
    values = values if values.dtype.kind in "iu" else values.astype(np.float64)
    wrong = ~np.isfinite(values)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise OptionError(
            f"{np.count_nonzero(wrong):,} of the scores {_are(wrong)} not finite, e.g. "
            f"{values[first]} in {_place(int(at[first]), shape[1])}. Where they stand for no "
            "document, set the id to -1."
        )
    return pl.Series(values)
