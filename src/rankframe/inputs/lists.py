"""The plain-Python entrance: ranked lists of any objects → judgments and a run as frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.arrays.keys import Keyed, match
from rankframe.arrays.segments import position
from rankframe.base.columns import DOC, QUERY, RANK, RELEVANCE, SCORE
from rankframe.base.errors import OptionError, RankframeError

RankedLists = Sequence[Sequence[Any]] | Mapping[Any, Sequence[Any]]
# One set for all lists, one per list, or one per query; {element: grade} for graded relevance.
GroundTruth = Collection[Any] | Sequence[Collection[Any]] | Mapping[Any, Any]


def from_lists(
    ranked_results: RankedLists,
    ground_truth: GroundTruth,
    key: Callable[[Any], str] = str,
    scores: Sequence[Sequence[float]] | Mapping[Any, Sequence[float]] | None = None,
    *,
    smaller_is_better: bool = False,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judgments and a run, `(qrels, run)`, from plain Python lists of ranked elements.

    `key` turns elements of both sides into the strings they are compared by.
    `ground_truth` is one set for all lists (an element is relevant wherever it is in the set), a
    list of sets, one for each ranked list, or a dict from query to set; in place of a set,
    {element: grade} gives graded relevance. Every listed element counts as judged: those not in
    the truth with relevance 0.
    Queries are called "0", "1", … by the place of their list, or by the keys of a dict.
    With `scores`, the order is by score (`smaller_is_better` for distances), else as listed.

    >>> qrels, run = rf.from_lists([["A", "B", "C"], ["D", "A", "B"]], {"A", "B"})
    >>> rf.evaluate(qrels, run, ["map(denominator=retrieved)"]).means
    {'map(denominator=retrieved)': 0.7916666666666666}
    """
    names, lists = _named(ranked_results)
    lengths = _lengths(lists)
    query = names.gather(np.repeat(np.arange(len(lists)), lengths))
    elements = _keyed(key, chain.from_iterable(lists))
    starts = np.cumsum(lengths) - lengths
    nonempty = starts[lengths > 0]
    run = pl.DataFrame({QUERY: query, DOC: elements, RANK: position(nonempty, len(elements)) + 1})
    if scores is not None:
        flat = _scores(scores, names, ranked_results, lengths)
        run = run.with_columns(pl.Series(SCORE, -flat if smaller_is_better else flat))
    truth = _truth(ground_truth, names, ranked_results, run, key)
    # What is listed and not in the truth was looked at and found wanting.
    rest = np.ones(run.height, np.bool_)
    rest[match(Keyed(run), Keyed(truth))[0]] = False
    unwanted = _distinct(run.select(QUERY, DOC).filter(pl.Series(rest)))
    qrels = pl.concat([truth, unwanted.with_columns(pl.lit(0.0).alias(RELEVANCE))])
    _refuse_blank(names, qrels)
    return qrels, run


def _named(ranked: RankedLists) -> tuple[pl.Series, list[Sequence[Any]]]:
    if isinstance(ranked, Mapping):
        return pl.Series(QUERY, list(map(str, ranked)), dtype=pl.String), list(ranked.values())
    lists = list(ranked)
    if not all(_is_list(one) for one in lists):
        raise OptionError(
            "ranked_results must be a list of lists: for a single list, wrap it as [your_list]."
        )
    return pl.int_range(len(lists), eager=True).cast(pl.String).alias(QUERY), lists


def _truth(
    given: GroundTruth, names: pl.Series, ranked: RankedLists, run: pl.DataFrame,
    key: Callable[[Any], str],
) -> pl.DataFrame:  # fmt: skip
    """query_id, doc_id, relevance of what is in the ground truth."""
    if _is_one_for_all(given, ranked):
        grades = _graded(given, key)
        listed = _distinct(run.select(QUERY, DOC))
        return listed.join(grades, on=DOC, how="inner", maintain_order="left")
    if isinstance(given, Mapping):
        by_name = {str(query): truth for query, truth in given.items()}
        order = list(by_name)
        sets = list(by_name.values())
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
        relevance = _numbers(chain.from_iterable(grades), "grade")
    queries = pl.Series(QUERY, order, dtype=pl.String)
    return _distinct(
        pl.DataFrame(
            {
                QUERY: queries.gather(np.repeat(np.arange(len(order)), lengths)),
                DOC: flat,
                RELEVANCE: relevance,
            }
        )
    )


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


def _graded(given: Any, key: Callable[[Any], str]) -> pl.DataFrame:
    grades = list(given.values()) if isinstance(given, Mapping) else [1.0] * len(given)
    return pl.DataFrame(
        {
            DOC: _keyed(key, given),
            RELEVANCE: _numbers(grades, "grade"),
        }
    ).unique(DOC, maintain_order=True)


def _scores(
    given: Any, names: pl.Series, ranked: RankedLists, lengths: NDArray[np.int64]
) -> NDArray[np.float64]:
    if isinstance(given, Mapping):
        missing = (
            set(ranked) - set(given) if isinstance(ranked, Mapping) else set(names) - set(given)
        )
        if missing:
            raise OptionError(f"scores lack {len(missing):,} of the lists, e.g. {min(missing)!r}.")
        given = [given[query] for query in (ranked if isinstance(ranked, Mapping) else names)]
    given = list(given)
    if bad := [one for one in given if not _is_list(one)]:
        raise OptionError(f"scores must be a list of numbers for each list, not {bad[0]!r}.")
    theirs = _lengths(given)
    if len(theirs) != len(lengths):
        raise OptionError(f"scores has {len(theirs):,} lists for {len(lengths):,} ranked lists.")
    if (theirs != lengths).any():
        at = int(np.flatnonzero(theirs != lengths)[0])
        raise OptionError(
            f"list {names[at]!r} has {lengths[at]:,} elements and {theirs[at]:,} scores."
        )
    return _numbers(chain.from_iterable(given), "score")


def _is_list(value: object) -> bool:
    return isinstance(value, Collection | np.ndarray) and not isinstance(value, str | bytes)


def _keyed(key: Callable[[Any], str], elements: Iterable[Any]) -> pl.Series:
    strings = list(map(key, elements))
    try:
        return pl.Series(DOC, strings, dtype=pl.String)
    except TypeError as error:
        bad = next(s for s in strings if not isinstance(s, str))
        raise OptionError(
            f"key must turn every element into a string, not into {bad!r}."
        ) from error


def _numbers(values: Iterable[Any], what: str) -> NDArray[np.float64]:
    listed = list(values)
    try:
        return np.array(listed, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        bad = next((v for v in listed if not isinstance(v, int | float | np.number)), None)
        raise OptionError(f"every {what} must be a number, not {bad!r}.") from error


def _lengths(lists: Iterable[Any]) -> NDArray[np.int64]:
    return np.fromiter(map(len, lists), np.int64)


def _distinct(frame: pl.DataFrame) -> pl.DataFrame:
    """One row for each query and document: mostly the frame as it is."""
    if not len(Keyed(frame).possible_duplicates()):
        return frame
    return frame.unique([QUERY, DOC], maintain_order=True)


def _refuse_blank(names: pl.Series, qrels: pl.DataFrame) -> None:
    """A list without elements and without a truth of its own cannot be in the average."""
    blank = names.to_frame().join(qrels, on=QUERY, how="anti")
    if blank.height:
        raise RankframeError(
            f"{blank.height:,} of {len(names):,} ranked lists have neither elements nor a truth of "
            f"their own, e.g. list {blank[QUERY][0]!r}: nothing can be said of them. "
            "Leave them out."
        )
