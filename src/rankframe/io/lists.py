"""The plain-Python entrance: ranked lists of any objects → judgments and a run as frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE
from rankframe.core.errors import NoOverlapError, OptionError, RankframeError
from rankframe.core.forks import refuse_if_stranded
from rankframe.core.messages import Option, shorten, shown
from rankframe.core.options import NoOverlap, Policies
from rankframe.io.dicts import refuse_alike
from rankframe.io.formats.numbers import given_numbers, turned
from rankframe.kernel.duplicates import possible_duplicates
from rankframe.kernel.segments import position

_LOOKED_AT = 1_000
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
    """Judgments and a run, `(qrels, run)`, from plain Python lists of ranked elements.

    `key` turns elements of both sides into the strings they are compared by.
    `ground_truth` is one set for all lists (an element is relevant wherever it is in the set), a
    list of sets, one for each ranked list, or a dict from query to set; in place of a set,
    {element: grade} gives graded relevance. Every element of a list that has a truth counts as
    judged: those not in the truth with relevance 0. A list whose query is not in the dict is
    unjudged: evaluations leave it out, and count it.
    Queries are called as `queries` says, one for each list, or by the keys of a dict of lists, else
    "0", "1", … by the place of their list; a dict from query to set needs one of the first two.
    With `scores`, the order is by score (`smaller_is_better` for distances), else as listed.
    no_overlap: lists without one element of their truth are an "error", or score "zero".

    >>> qrels, run = rf.from_lists([["A", "B", "C"], ["D", "A", "B"]], {"A", "B"})
    >>> rf.evaluate(qrels, run, ["map(denominator=retrieved)"]).means
    {'map(denominator=retrieved)': 0.7916666666666666}
    """
    refuse_if_stranded()
    Policies(no_overlap=no_overlap)  # refuses what it cannot be
    for side, given in zip(_SIDES, (ranked_results, ground_truth), strict=True):
        if not _is_list(given):
            raise OptionError(f"{side} must be lists or a dict, not {shown(given)}.")
    keys, lists = _named(ranked_results, queries)
    names = pl.Series(QUERY, list(map(str, keys)), dtype=pl.String)
    refuse_alike(names, "ranked_results")
    lengths = _lengths(lists)
    query = names.gather(np.repeat(np.arange(len(lists)), lengths))
    elements = _keyed(key, chain.from_iterable(lists))
    starts = np.cumsum(lengths) - lengths
    nonempty = starts[lengths > 0]
    run = pl.DataFrame({QUERY: query, DOC: elements, RANK: position(nonempty, len(elements)) + 1})
    if scores is not None:
        flat = _scores(scores, keys, lengths)
        if smaller_is_better:
            flat = turned(flat)
        run = run.with_columns(flat.alias(SCORE))
    keyed = queries is not None or isinstance(ranked_results, Mapping)
    if key is str:
        _refuse_floats_beside_whole(lists, ground_truth)
    truth = _truth(ground_truth, names, run, key, one=_is_one_for_all(ground_truth, ranked_results),
                   keyed=keyed)  # fmt: skip
    # What is listed beside a truth and not in it was looked at and found wanting.
    rest = np.repeat(truth.known, lengths)
    looked_at = elements.filter(pl.Series(rest))
    in_truth = run.with_row_index("row").join(truth.rows, on=[QUERY, DOC], how="semi")
    found = in_truth["row"].to_numpy()
    if no_overlap == "error" and not len(found) and len(looked_at) and len(truth.elements):
        raise NoOverlapError(DOC, *map(_examples, (looked_at, truth.elements)))
    rest[found] = False
    unwanted = _distinct(run.select(QUERY, DOC).filter(pl.Series(rest)))
    qrels = pl.concat([truth.rows, unwanted.with_columns(pl.lit(0.0).alias(RELEVANCE))])
    _refuse_blank(names.filter(pl.Series(lengths == 0)), qrels, len(names))
    return qrels, run


def _named(
    ranked: RankedLists, queries: Sequence[Any] | None
) -> tuple[list[Any], list[Sequence[Any]]]:
    """What the queries are called, and their lists."""
    if isinstance(ranked, Mapping):
        if queries is not None:
            raise OptionError("ranked_results is a dict, whose keys are the queries: leave out ",
                              Option("queries", bare=True), ".")  # fmt: skip
        lists = list(ranked.values())
        _refuse_unordered(lists, "ranked_results", "list")
        return list(ranked), lists
    _refuse_unordered([ranked], "ranked_results", "list of lists")
    lists = list(ranked)
    _refuse_unordered(lists, "ranked_results", "list")
    if not all(_is_list(one) for one in lists):
        raise OptionError(
            "ranked_results must be a list of lists: for a single list, wrap it as [your_list]."
        )
    if queries is None:
        return list(map(str, range(len(lists)))), lists
    _refuse_unordered([queries], "queries", "list")
    keys = list(queries)
    if len(keys) != len(lists):
        raise OptionError(f"queries has {len(keys):,} names for {len(lists):,} ranked lists.")
    if twice := [name for name, count in Counter(map(str, keys)).items() if count > 1]:
        raise OptionError(
            f"queries has {len(twice):,} names more than once, e.g. {twice[0]!r}. "
            "Each list is of a query of its own."
        )
    return keys, lists


@dataclass(frozen=True)
class _Truth:
    """What is in a ground truth."""

    # query_id, doc_id, relevance
    rows: pl.DataFrame
    # which of the lists have one
    known: NDArray[np.bool_]
    # what is in it, listed or not
    elements: pl.Series


def _truth(
    given: GroundTruth, names: pl.Series, run: pl.DataFrame, key: Callable[[Any], str],
    *, one: bool, keyed: bool,
) -> _Truth:  # fmt: skip
    """`one`: for all lists; `keyed`: the lists are known by their queries, not by their places."""
    every = np.ones(len(names), np.bool_)
    if one:
        grades = _graded(given, key)
        listed = _distinct(run.select(QUERY, DOC))
        rows = listed.join(grades, on=DOC, how="inner", maintain_order="left")
        return _Truth(rows, every, grades[DOC])
    if isinstance(given, Mapping):
        if not keyed:
            raise OptionError(
                f"ground_truth is a dict with {len(given):,} queries, and ranked_results a list of "
                f"{len(names):,}: which list is of which query? Pass ",
                Option("queries", bare=True),
                ", the query of each list, or ranked_results as a dict, too.",
            )
        order = list(map(str, given))
        refuse_alike(pl.Series(order, dtype=pl.String), "ground_truth")
        sets = list(given.values())
    else:
        sets = list(given)
        if len(sets) != len(names):
            raise OptionError(
                f"ground_truth has {len(sets):,} sets for {len(names):,} ranked lists. "
                "Give one for each list, or one set for all."
            )
        order = names.to_list()
    if bad := [one for one in sets if not _is_list(one)]:
        raise OptionError(f"ground_truth must hold a set for each list, not {bad[0]!r}.")
    lengths = _lengths(sets)
    flat = _keyed(key, chain.from_iterable(sets))
    relevance = np.ones(len(flat))
    if any(isinstance(one, Mapping) for one in sets):
        grades = (one.values() if isinstance(one, Mapping) else [1.0] * len(one) for one in sets)
        relevance = _grades(chain.from_iterable(grades))
    queries = pl.Series(QUERY, order, dtype=pl.String)
    rows = pl.DataFrame(
        {
            QUERY: queries.gather(np.repeat(np.arange(len(order)), lengths)),
            DOC: flat,
            RELEVANCE: relevance,
        }
    )
    known = names.is_in(queries.implode()).to_numpy() if isinstance(given, Mapping) else every
    return _Truth(_distinct(rows), known, flat)


def _is_one_for_all(given: GroundTruth, ranked: RankedLists) -> bool:
    """One set of elements for every list, rather than a set for each."""
    if isinstance(given, set | frozenset):
        return True
    if isinstance(given, Mapping):
        return bool(given) and all(isinstance(v, int | float | np.number) for v in given.values())
    if isinstance(ranked, Mapping) and any(map(_is_list, given)):
        raise OptionError(
            "ranked_results is a dict, so ground_truth must be a dict of sets, or one set for all."
        )
    return not any(map(_is_list, given))


def _refuse_floats_beside_whole(lists: Sequence[Any], given: GroundTruth) -> None:
    """Refuse elements that are equal as numbers and different as text: 1.0 and 1."""
    truths = list(given.values()) if isinstance(given, Mapping) else list(given)
    nested = [one for one in truths if _is_list(one)]
    theirs = chain.from_iterable(nested) if nested else given
    kinds = [set(map(type, side)) for side in (chain.from_iterable(lists), theirs)]
    floats, whole = (
        [any(issubclass(one, of) and one is not bool for one in side) for side in kinds]
        for of in ((float, np.floating), (int, np.integer))
    )
    for ours, other, names in ((0, 1, _SIDES), (1, 0, _SIDES[::-1])):
        if floats[ours] and not floats[other] and whole[other]:
            raise OptionError(
                f"{names[0]} has floats where {names[1]} has whole numbers: as text, '1.0' is not "
                "'1'. Write them alike, or pass key, such as lambda element: str(int(element))."
            )


def _graded(given: Any, key: Callable[[Any], str]) -> pl.DataFrame:
    grades = list(given.values()) if isinstance(given, Mapping) else [1.0] * len(given)
    return pl.DataFrame(
        {
            DOC: _keyed(key, given),
            RELEVANCE: _grades(grades),
        }
    ).unique(DOC, maintain_order=True)


def _scores(given: Any, keys: Sequence[Any], lengths: NDArray[np.int64]) -> pl.Series:
    if isinstance(given, Mapping):
        if missing := [query for query in keys if query not in given]:
            raise OptionError(f"scores lack {len(missing):,} of the lists, e.g. {missing[0]!r}.")
        given = [given[query] for query in keys]
    _refuse_unordered([given], "scores", "list of lists")
    given = list(given)
    _refuse_unordered(given, "scores", "list")
    if bad := [one for one in given if not _is_list(one)]:
        raise OptionError(f"scores must be a list of numbers for each list, not {bad[0]!r}.")
    theirs = _lengths(given)
    if len(theirs) != len(lengths):
        raise OptionError(f"scores has {len(theirs):,} lists for {len(lengths):,} ranked lists.")
    if (theirs != lengths).any():
        at = int(np.flatnonzero(theirs != lengths)[0])
        raise OptionError(
            f"list {str(keys[at])!r} has {lengths[at]:,} elements and {theirs[at]:,} scores."
        )
    return _numbers(chain.from_iterable(given), "score")


def _is_list(value: object) -> bool:
    return isinstance(value, Collection | np.ndarray) and not isinstance(value, str | bytes)


def _refuse_unordered(values: Iterable[Any], what: str, wanted: str) -> None:
    """Refuse sets where the order counts: theirs changes from one start of Python to the next."""
    if bad := [one for one in values if isinstance(one, set | frozenset)]:
        raise OptionError(
            f"{what}: {len(bad):,} of its lists are sets, e.g. {shorten(repr(bad[0]))}, which have "
            f"no order. Give each as a {wanted}."
        )


def _keyed(key: Callable[[Any], str], elements: Iterable[Any]) -> pl.Series:
    strings = list(map(key, elements))
    try:
        return pl.Series(DOC, strings, dtype=pl.String)
    except TypeError as error:
        bad = next(s for s in strings if not isinstance(s, str))
        raise OptionError(
            f"key must turn every element into a string, not into {bad!r}."
        ) from error


def _numbers(values: Iterable[Any], what: str) -> pl.Series:
    try:
        return given_numbers(list(values))
    except ValueError as error:
        raise OptionError(f"every {what} must be a number, not {error}.") from error


def _grades(values: Iterable[Any]) -> NDArray[np.float64]:
    return _numbers(values, "grade").cast(pl.Float64).to_numpy()


def _lengths(lists: Iterable[Any]) -> NDArray[np.int64]:
    return np.fromiter(map(len, lists), np.int64)


def _distinct(frame: pl.DataFrame) -> pl.DataFrame:
    """One row for each query and document: mostly the frame as it is."""
    if not len(possible_duplicates(frame)):
        return frame
    return frame.unique([QUERY, DOC], maintain_order=True)


def _examples(elements: pl.Series) -> list[str]:
    return elements.head(_LOOKED_AT).unique(maintain_order=True).head(3).to_list()


def _refuse_blank(empty: pl.Series, qrels: pl.DataFrame, lists: int) -> None:
    """A list without elements and without a truth of its own cannot be in the average."""
    blank = empty.to_frame().join(qrels, on=QUERY, how="anti", maintain_order="left")
    if blank.height:
        raise RankframeError(
            f"{blank.height:,} of {lists:,} ranked lists have neither elements nor a truth of "
            f"their own, e.g. list {blank[QUERY][0]!r}: nothing can be said of them. "
            "Leave them out."
        )
