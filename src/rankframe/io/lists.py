"""Convert Python lists and matrices of ranked elements to judgments and a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE
from rankframe.core.errors import NoOverlapError, OptionError, RankframeError
from rankframe.core.forks import refuse_if_stranded
from rankframe.core.messages import Option, number_of, shown
from rankframe.core.options import FLAG, NoOverlap, Policies, check_list, is_listed
from rankframe.io.formats.numbers import given_numbers, turned
from rankframe.io.python_objects import (
    count_each,
    read_queries,
    read_texts,
    refuse_repeated_names,
    repeat,
)
from rankframe.kernel.duplicates import possible_duplicates
from rankframe.kernel.segments import position

_SAMPLE = 1_000
_SIDES = ("ranked_results", "ground_truth")
RankedLists = Sequence[Sequence[Any]] | Mapping[Any, Sequence[Any]]
# One set for all lists, one per list, or one per query; {element: grade} for graded relevance.
GroundTruth = Collection[Any] | Sequence[Collection[Any]] | Mapping[Any, Any]


def from_lists(
    ranked_results: RankedLists,
    ground_truth: GroundTruth,
    key: Callable[[Any], str] = str,
    scores: Sequence[Sequence[float]] | Mapping[Any, Sequence[float]] | None = None,
    *,
    queries: Sequence[Any] | None = None,
    smaller_is_better: bool = False,
    no_overlap: NoOverlap = "error",
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make judgments and a run, `(qrels, run)`, from Python lists of ranked elements.

    `key` turns the elements of both arguments into strings, which are compared.
    `ground_truth` is one set of relevant elements for all lists, a list with one set per ranked
    list, or a dict from query to set. For graded relevance, replace a set by {element: grade}.
    If a list has a set, all its elements are judged: elements outside the set have relevance 0. If
    the dict lacks the query of a list, the list is unjudged: evaluations count it and leave it out.
    `queries` names the query of each list. Without it, queries are named by the keys of a dict of
    lists, else "0", "1", … in the order of the lists. If `ground_truth` is a dict, pass `queries`
    or a dict of lists.
    With `scores`, documents are ordered by score (for distances, pass `smaller_is_better`).
    no_overlap: if no list has an element of its set, raise an "error", or score "zero".

    >>> qrels, run = rf.from_lists([["A", "B", "C"], ["D", "A", "B"]], {"A", "B"})
    >>> rf.evaluate(qrels, run, ["map(denominator=retrieved)"]).means
    {'map(denominator=retrieved)': 0.7916666666666666}
    """
    refuse_if_stranded()
    Policies(no_overlap=no_overlap)  # checks the option
    for side, value in zip(_SIDES, (ranked_results, ground_truth), strict=True):
        if not _is_list(value):
            raise OptionError(f"{side} must be lists or a dict, not {shown(value)}.")
    keys, lists = _ranked_lists(ranked_results, queries)
    names, lengths = read_queries(keys, "ranked_results"), count_each(lists)
    elements = _apply_key(key, chain.from_iterable(lists))
    starts = (np.cumsum(lengths) - lengths)[lengths > 0]
    run = pl.DataFrame(
        {QUERY: repeat(names, lengths), DOC: elements, RANK: position(starts, len(elements)) + 1}
    )
    if scores is not None:
        numbers = _scores(scores, keys, lengths)
        scored = turned(numbers) if smaller_is_better else numbers
        run = run.drop(RANK).with_columns(scored.alias(SCORE))
    if key is str:
        _refuse_floats_beside_whole(lists, ground_truth)
    if _is_one_for_all(ground_truth, ranked_results):
        columns = {DOC: _apply_key(key, ground_truth), RELEVANCE: _grades([ground_truth])}
        grades = pl.DataFrame(columns).unique(DOC, maintain_order=True)
        listed = _unique(run.select(QUERY, DOC))
        truth = listed.join(grades, on=DOC, how="inner", maintain_order="left")
        in_truth, has_truth = grades[DOC], np.ones(len(names), np.bool_)
    else:
        keyed = queries is not None or isinstance(ranked_results, Mapping)
        owners, sets = _truth_by_query(ground_truth, names, keyed=keyed)
        in_truth = _apply_key(key, chain.from_iterable(sets))
        query = repeat(owners, count_each(sets))
        rows = pl.DataFrame({QUERY: query, DOC: in_truth, RELEVANCE: _grades(sets)})
        truth, has_truth = _unique(rows), names.is_in(owners.implode()).to_numpy()
    # An element outside the ground truth of its list gets grade 0, if the list has a ground truth.
    judged = np.repeat(has_truth, lengths)
    relevant = run.with_row_index("row").join(truth, on=[QUERY, DOC], how="semi")["row"]
    listed = elements.filter(pl.Series(judged))
    if no_overlap == "error" and not len(relevant) and len(listed) and len(in_truth):
        raise NoOverlapError(
            DOC, *(sorted(ids.head(_SAMPLE).unique())[:3] for ids in (listed, in_truth))
        )
    judged[relevant.to_numpy()] = False
    rest = _unique(run.select(QUERY, DOC).filter(pl.Series(judged)))
    qrels = pl.concat([truth, rest.with_columns(pl.lit(0.0).alias(RELEVANCE))])
    empty = names.filter(pl.Series(lengths == 0)).to_frame()
    blank = empty.join(qrels, on=QUERY, how="anti", maintain_order="left")
    if blank.height:  # an empty list cannot be in the average
        raise RankframeError(
            f"{blank.height:,} of {len(names):,} ranked lists have neither elements nor a ground "
            f"truth, e.g. list {blank[QUERY][0]!r}: they cannot be evaluated. Leave them out."
        )
    return qrels, run


def _ranked_lists(
    ranked: RankedLists, queries: Sequence[Any] | None
) -> tuple[list[Any], list[Sequence[Any]]]:
    """Return the names of the queries, and the ranked list of each query."""
    if isinstance(ranked, Mapping):
        if queries is not None:
            raise OptionError(
                "ranked_results is a dict, whose keys are the queries: leave out ",
                Option("queries", bare=True),
                ".",
            )
        lists = list(ranked.values())
        _refuse_sets(lists, "ranked_results", "list")
        if odd := [query for query, documents in ranked.items() if not _is_list(documents)]:
            example = f"{shown(odd[0])} to {shown(ranked[odd[0]])}"
            raise OptionError(
                f"ranked_results maps {len(odd):,} of its {len(lists):,} queries to no list, e.g. "
                f"{example}. Give each query a list of documents."
            )
        return list(ranked), lists
    _refuse_sets([ranked], "ranked_results", "list of lists")
    lists = check_list("ranked_results", ranked, "a list of lists")
    _refuse_sets(lists, "ranked_results", "list")
    if not all(map(_is_list, lists)):
        raise OptionError(
            "ranked_results must be a list of lists: for a single list, wrap it as [your_list]."
        )
    if queries is None:
        return list(map(str, range(len(lists)))), lists
    _refuse_sets([queries], "queries", "list")
    keys = check_list("queries", queries, "a list of names")
    if len(keys) != len(lists):
        names, ranked = number_of(len(keys), "name"), number_of(len(lists), "ranked list")
        raise OptionError(f"queries has {names} for {ranked}.")
    refuse_repeated_names(keys, "list")
    return keys, lists


def _truth_by_query(truths: Any, names: pl.Series, *, keyed: bool) -> tuple[pl.Series, list[Any]]:
    """Return the queries that have relevant elements, and the set of each query.

    `keyed`: the ranked lists have names, by which a dict can refer to them.
    """
    queries, sets = names, list(truths)
    if isinstance(truths, Mapping):
        if not keyed:
            raise OptionError(
                f"ground_truth is a dict with {len(truths):,} queries, and ranked_results a list "
                f"of {len(names):,}: which list is of which query? Pass ",
                Option("queries", bare=True),
                ", the query of each list, or ranked_results as a dict, too.",
            )
        queries, sets = read_queries(truths, "ground_truth"), list(truths.values())
    elif len(sets) != len(names):
        raise OptionError(
            f"ground_truth has {number_of(len(sets), 'set')} for "
            f"{number_of(len(names), 'ranked list')}. "
            "Give one for each list, or one set for all."
        )
    if bad := [truth for truth in sets if not _is_list(truth)]:
        raise OptionError(f"ground_truth must hold a set for each list, not {shown(bad[0])}.")
    return queries, sets


def _is_one_for_all(truth: GroundTruth, ranked: RankedLists) -> bool:
    """Return whether there is one set of elements for all lists, rather than a set for each."""
    if isinstance(truth, set | frozenset):
        return True
    if isinstance(truth, Mapping):
        return bool(truth) and all(isinstance(v, int | float | np.number) for v in truth.values())
    if isinstance(ranked, Mapping) and any(map(_is_list, truth)):
        raise OptionError(
            "ranked_results is a dict, so ground_truth must be a dict of sets, or one set for all."
        )
    return not any(map(_is_list, truth))


def _refuse_floats_beside_whole(lists: Sequence[Any], ground_truth: GroundTruth) -> None:
    """Refuse floats in one argument if the other has whole numbers: as text, 1.0 is not 1."""
    truths = ground_truth.values() if isinstance(ground_truth, Mapping) else ground_truth
    nested = [truth for truth in truths if _is_list(truth)]
    truth_elements = chain.from_iterable(nested) if nested else ground_truth
    kinds = [set(map(type, side)) for side in (chain.from_iterable(lists), truth_elements)]
    floats = [any(issubclass(kind, float | np.floating) for kind in side) for side in kinds]
    whole = [any(issubclass(kind, int | np.integer) for kind in side - {bool}) for side in kinds]
    for side, (name, other) in enumerate((_SIDES, _SIDES[::-1])):
        if floats[side] and not floats[1 - side] and whole[1 - side]:
            raise OptionError(
                f"{name} has floats where {other} has whole numbers: as text, '1.0' is not "
                "'1'. Write them alike, or pass key, such as lambda element: str(int(element))."
            )


def _scores(scores: Any, keys: Sequence[Any], lengths: NDArray[np.int64]) -> pl.Series:
    if isinstance(scores, Mapping):
        if missing := [query for query in keys if query not in scores]:
            raise OptionError(f"scores lack {len(missing):,} of the lists, e.g. {missing[0]!r}.")
        scores = [scores[query] for query in keys]
    _refuse_sets([scores], "scores", "list of lists")
    scores = check_list("scores", scores, "a list of numbers for each list")
    _refuse_sets(scores, "scores", "list")
    if bad := [row for row in scores if not _is_list(row)]:
        raise OptionError(f"scores must be a list of numbers for each list, not {shown(bad[0])}.")
    counts = count_each(scores)
    if len(counts) != len(lengths):
        ranked = number_of(len(lengths), "ranked list")
        raise OptionError(f"scores has {number_of(len(counts), 'list')} for {ranked}.")
    if (counts != lengths).any():
        first = int(np.argmax(counts != lengths))
        elements = number_of(lengths[first], "element")
        elements += f" and {number_of(counts[first], 'score')}"
        raise OptionError(f"list {str(keys[first])!r} has {elements}.")
    return _numbers(chain.from_iterable(scores), "score")


def _grades(sets: Iterable[Any]) -> NDArray[np.float64]:
    """Return the grades of the elements of all sets: the value in a dict, or 1 in a set."""
    grades = (
        members.values() if isinstance(members, Mapping) else [1.0] * len(members)
        for members in sets
    )
    return _numbers(chain.from_iterable(grades), "grade").cast(pl.Float64).to_numpy()


def _numbers(values: Iterable[Any], what: str) -> pl.Series:
    try:
        return given_numbers(list(values))
    except ValueError as error:
        raise OptionError(f"every {what} must be a number, not {error}.") from error


def _is_list(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Collection) and not isinstance(value, str | bytes)


def _refuse_sets(values: Iterable[Any], what: str, kind: str) -> None:
    """Refuse sets where order matters: the order of a set differs between Python processes."""
    if bad := [value for value in values if isinstance(value, set | frozenset)]:
        raise OptionError(
            f"{what}: {len(bad):,} of its lists are sets, e.g. {shown(bad[0])}, which have "
            f"no order. Give each as a {kind}."
        )


def _apply_key(key: Callable[[Any], str], elements: Iterable[Any]) -> pl.Series:
    if not callable(key):
        problem = f" must be a function that turns an element into an id, not {shown(key)}."
        raise OptionError(Option("key", bare=True), problem)
    strings = list(map(key, elements))
    if bad := [text for text in strings if not isinstance(text, str)]:
        raise OptionError(f"key must turn every element into a string, not into {shown(bad[0])}.")
    return read_texts(strings, "the lists", DOC)


def _unique(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep the first row of each query and document."""
    if not len(possible_duplicates(frame)):
        return frame
    return frame.unique([QUERY, DOC], maintain_order=True)


def from_relevance(
    rows: Any, total: int | Sequence[int] | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make judgments and a run, `(qrels, run)`, from grades in rank order, as in textbooks.

    rows: one list of grades per query, starting with the document at rank 1; or a single list, a
        matrix, or a dict from query to list. Lists may differ in length. None or NaN is a document
        that was not judged.
    total: the number of all relevant documents, retrieved or not: one number for all rows, or one
        per row (default: the relevant documents in the list).

    >>> qrels, run = rf.from_relevance([[0, 0, 1, 0], [1, 0]], total=2)
    >>> rf.evaluate(qrels, run, ["mrr", "recall@3"]).per_query.rows()
    [('0', 0.3333333333333333, 0.5), ('1', 1.0, 0.5)]
    """
    refuse_if_stranded()
    names, lengths, grades = _grade_rows(rows)
    starts = np.cumsum(lengths) - lengths
    place = position(starts[lengths > 0], len(grades)).astype(np.int64) + 1
    query = np.repeat(np.arange(len(names)), lengths)
    judged = ~np.isnan(grades)
    relevant = np.bincount(query[judged & (grades > 0)], minlength=len(names))
    beyond = _totals(total, relevant, names) - relevant
    blank = (lengths == 0) & (beyond == 0)
    if blank.any():
        raise OptionError(
            f"there is nothing to evaluate in {np.count_nonzero(blank):,} of "
            f"{number_of(len(names), 'row')}, e.g. row {int(np.argmax(blank)):,}: no grades, and "
            "no other relevant documents. Leave out such rows, or state the number of relevant "
            "documents: pass ",
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


def _grade_rows(rows: Any) -> tuple[pl.Series, NDArray[np.int64], NDArray[np.float64]]:
    """Return the names of the queries, the number of grades of each query, and all grades."""
    names = None
    if isinstance(rows, Mapping):
        names = read_queries(rows, "rows")
        rows = list(rows.values())
    if isinstance(rows, set | frozenset | str | pl.DataFrame | pl.LazyFrame):
        raise OptionError(f"rows must be lists of grades, not a {type(rows).__name__}.")
    if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype.kind in "iufb":
        flat = rows.astype(np.float64).ravel()
        lengths = np.full(len(rows), rows.shape[1], np.int64)
    else:
        if not is_listed(rows) and not isinstance(rows, Mapping):
            raise OptionError(f"rows must be lists of grades, not {shown(rows)}.")
        lists = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
        nested = [isinstance(row, list | tuple) for row in lists]
        if names is None and lists and not any(nested):
            lists = [lists]
        elif not all(nested):
            odd = shown(lists[nested.index(False)])
            raise OptionError(f"rows must all be lists of grades, and this is not one: {odd}.")
        lengths = count_each(lists)
        grades = [float("nan") if grade is None else grade for grade in chain.from_iterable(lists)]
        if inner := [grade for grade in grades if isinstance(grade, list | tuple)]:
            raise OptionError(f"every grade must be a number, not {shown(inner[0])}.")
        flat = _numbers(grades, "grade").cast(pl.Float64).to_numpy()
    if not len(lengths):
        raise OptionError("rows has no grades.")
    if np.isinf(flat).any():
        infinite = number_of(int(np.isinf(flat).sum()), "infinite grade")
        raise OptionError(f"rows has {infinite}.")
    return pl.Series(QUERY, np.arange(len(lengths))) if names is None else names, lengths, flat


def _totals(total: Any, relevant: NDArray[np.int64], names: pl.Series) -> NDArray[np.int64]:
    """Return the number of relevant documents of each row, retrieved or not."""
    if total is None:
        return relevant
    try:
        totals = np.asarray(total)
    except ValueError:  # rows of different lengths
        totals = np.array(None)
    if totals.dtype.kind not in "iu":
        raise OptionError(f"total must be a whole number, or one per row, not {shown(total)}.")
    if totals.ndim > 1 or (totals.ndim == 1 and len(totals) != len(relevant)):
        raise OptionError(f"total is of shape {totals.shape}, for {len(relevant):,} rows.")
    totals = np.broadcast_to(totals.astype(np.int64), relevant.shape)
    few = totals < relevant
    if few.any():
        row = int(np.argmax(few))
        raise OptionError(
            "total is less than the number of relevant documents in the list for "
            f"{np.count_nonzero(few):,} of {len(relevant):,} rows, e.g. {totals[row]:,} for row "
            f"{row:,} (query {str(names[row])!r}), which lists {relevant[row]:,}."
        )
    return totals


def from_topk(
    ids: ArrayLike,
    scores: ArrayLike | None = None,
    *,
    queries: Sequence[Any] | None = None,
    items: Sequence[Any] | None = None,
    smaller_is_better: bool = False,
) -> pl.DataFrame:
    """Make a run from matrices of ids and scores with one row per query, best document first.

    ids, scores: matrices of shape (queries, k): numpy arrays, or anything that numpy reads, such as
        tensors, or the output of faiss, hnswlib and `topk`. An id of -1 (NaN, None) means "no
        document"; its score is ignored.
    queries: the name of the query of each row (default: 0, 1, …).
    items: the names of the documents, if ids are positions in this list.
    smaller_is_better: whether scores are distances (such as faiss's L2), so that smaller is better.

    Without `scores`, documents are ranked in the order of the matrix; with `scores`, by score.

    >>> ids, distances = [[2, 0], [1, -1]], [[0.1, 0.4], [0.2, float("inf")]]
    >>> run = rf.from_topk(ids, distances, items=["a", "b", "c"], smaller_is_better=True)
    >>> run.rows()
    [(0, 'c', -0.1), (0, 'a', -0.4), (1, 'b', -0.2)]
    >>> rf.evaluate({0: {"a"}, 1: {"b"}}, run, "mrr").means
    {'mrr': 0.75}
    """
    refuse_if_stranded()
    matrix = _matrix(ids, "ids")
    FLAG.refuse("smaller_is_better", smaller_is_better)
    if scores is None and smaller_is_better:
        raise OptionError("smaller_is_better speaks of scores, and there are none.")
    numbers, present = _ids(matrix)
    cells = np.flatnonzero(present)
    rows = cells // max(matrix.shape[1], 1)
    ids_found = numbers.ravel()[cells]
    if items is not None:
        item_names = _names(items, "items")
        if ids_found.dtype.kind not in "iu":
            raise OptionError("items are names by number, so ids must be whole numbers, not text.")
        lacking = present & ((numbers < 0) | (numbers >= len(item_names)))
        problem = f"a number that items, with {number_of(len(item_names), 'name')}, lacks"
        _refuse_cells(lacking, numbers, "ids", problem, " They count from 0; -1 is none.")
        documents = item_names.gather(ids_found).alias(DOC)
    elif ids_found.dtype.kind in "iu":
        documents = pl.Series(DOC, ids_found)
    else:
        documents = read_texts(ids_found.tolist(), "the ids", DOC)
    query = pl.Series(rows)
    if queries is not None:
        names = _names(queries, "queries")
        if len(names) != len(matrix):
            rows = number_of(len(matrix), "row")
            raise OptionError(f"queries has {number_of(len(names), 'name')} for {rows}.")
        refuse_repeated_names(names.cast(pl.String), "row")
        query = names.gather(rows)
    run = {QUERY: query, DOC: documents}
    if scores is None:
        return pl.DataFrame({**run, RANK: np.cumsum(present, axis=1).ravel()[cells]})
    score_matrix = _matrix(scores, "scores")
    if score_matrix.shape != matrix.shape:
        shapes = f"scores are of shape {score_matrix.shape}, ids of shape {matrix.shape}."
        raise OptionError(shapes)
    if score_matrix.dtype.kind not in "iufb":
        raise OptionError(f"scores must be numbers, not of type {score_matrix.dtype}.")
    advice = " Where they stand for no document, set the id to -1."
    _refuse_cells(
        present & ~np.isfinite(score_matrix), score_matrix, "scores", "not finite", advice
    )
    values = score_matrix.ravel()[cells]
    values = pl.Series(values if values.dtype.kind in "iu" else values.astype(np.float64))
    return pl.DataFrame({**run, SCORE: turned(values) if smaller_is_better else values})


def _matrix(values: Any, what: str) -> NDArray[Any]:
    """Convert an array, a tensor or nested lists to a matrix of numpy."""
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
    if matrix.ndim != 2:
        hint = f" For a single query, wrap it as [{what}]." if matrix.ndim == 1 else ""
        raise OptionError(
            f"{what} must be a matrix with a row per query, not of shape {matrix.shape}.{hint}"
        )
    return matrix


def _ids(matrix: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return ids as whole numbers or text, and a mask of the cells that have an id."""
    kind = matrix.dtype.kind
    if kind == "i":
        return matrix, matrix != -1
    if kind == "u":  # unsigned: -1 became the largest number
        return matrix, matrix != np.iinfo(matrix.dtype).max
    if kind == "f":
        present = ~(np.isnan(matrix) | (matrix == -1))
        wrong = present & ((matrix != np.floor(matrix)) | np.isinf(matrix))
        _refuse_cells(wrong, matrix, "ids", "not a whole number")
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


def _names(values: Any, what: str) -> pl.Series:
    """Return names as a column of text or numbers."""
    if isinstance(values, Mapping | set | frozenset | str):
        kind = type(values).__name__
        raise OptionError(f"{what} must be a list of names in order, not a {kind}.")
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
        count = number_of(names.null_count(), "null name")
        raise OptionError(f"{what} has {count}, e.g. name {first:,}.")
    return names


def _refuse_cells(
    wrong: NDArray[np.bool_], matrix: NDArray[Any], what: str, problem: str, advice: str = ""
) -> None:
    """Raise an error with an example if any cell of a matrix is marked as wrong."""
    if count := np.count_nonzero(wrong):
        row, column = np.argwhere(wrong)[0]
        raise OptionError(
            f"{count:,} of the {what} {'is' if count == 1 else 'are'} {problem}, e.g. "
            f"{matrix[row, column]} in row {row:,}, column {column:,}.{advice}"
        )
