"""The plain-Python entrance: ranked lists of any objects → judgments and a run as frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.columns import DOC, QUERY, RANK, RELEVANCE, SCORE
from rankframe.errors import OptionError, RankframeError
from rankframe.segments import position

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
    elements = pl.Series(DOC, list(map(key, chain.from_iterable(lists))), dtype=pl.String)
    starts = np.cumsum(lengths) - lengths
    nonempty = starts[lengths > 0]
    run = pl.DataFrame({QUERY: query, DOC: elements, RANK: position(nonempty, len(elements)) + 1})
    if scores is not None:
        flat = _scores(scores, names, ranked_results, lengths)
        run = run.with_columns(pl.Series(SCORE, -flat if smaller_is_better else flat))
    truth = _truth(ground_truth, names, ranked_results, run, key)
    # What is listed and not in the truth was looked at and found wanting.
    rest = run.select(QUERY, DOC).join(truth, on=[QUERY, DOC], how="anti", maintain_order="left")
    qrels = pl.concat([truth, rest.unique(maintain_order=True).with_columns(_zero())])
    _refuse_blank(names, qrels)
    return qrels, run


def _named(ranked: RankedLists) -> tuple[pl.Series, list[Sequence[Any]]]:
    if isinstance(ranked, Mapping):
        return pl.Series(QUERY, list(map(str, ranked)), dtype=pl.String), list(ranked.values())
    lists = list(ranked)
    if any(isinstance(one, str) for one in lists):
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
        listed = run.select(QUERY, DOC).unique(maintain_order=True)
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
    lengths = _lengths(sets)
    flat = list(map(key, chain.from_iterable(sets)))
    relevance = np.ones(len(flat))
    if any(isinstance(one, Mapping) for one in sets):
        relevance = np.fromiter(
            chain.from_iterable(
                one.values() if isinstance(one, Mapping) else [1.0] * len(one) for one in sets
            ),
            np.float64,
            len(flat),
        )
    queries = pl.Series(QUERY, order, dtype=pl.String)
    return pl.DataFrame(
        {
            QUERY: queries.gather(np.repeat(np.arange(len(order)), lengths)),
            DOC: pl.Series(flat, dtype=pl.String),
            RELEVANCE: relevance,
        }
    ).unique([QUERY, DOC], maintain_order=True)


def _is_one_for_all(given: GroundTruth, ranked: RankedLists) -> bool:
    """One set of elements for every list, rather than a set for each."""
    if isinstance(given, set | frozenset):
        return True
    if isinstance(given, Mapping):
        return bool(given) and all(isinstance(v, int | float | np.number) for v in given.values())
    if isinstance(ranked, Mapping) and not isinstance(given, Mapping):
        return True
    return not any(isinstance(v, Collection) and not isinstance(v, str) for v in given)


def _graded(given: Any, key: Callable[[Any], str]) -> pl.DataFrame:
    grades = list(given.values()) if isinstance(given, Mapping) else [1.0] * len(given)
    return pl.DataFrame(
        {
            DOC: pl.Series(list(map(key, given)), dtype=pl.String),
            RELEVANCE: pl.Series(grades, dtype=pl.Float64),
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
    theirs = _lengths(given)
    if len(theirs) != len(lengths):
        raise OptionError(f"scores has {len(theirs):,} lists for {len(lengths):,} ranked lists.")
    if (theirs != lengths).any():
        at = int(np.flatnonzero(theirs != lengths)[0])
        raise OptionError(
            f"list {names[at]!r} has {lengths[at]:,} elements and {theirs[at]:,} scores."
        )
    return np.fromiter(chain.from_iterable(given), np.float64, int(lengths.sum()))


def _lengths(lists: Iterable[Any]) -> NDArray[np.int64]:
    return np.fromiter(map(len, lists), np.int64)


def _zero() -> pl.Expr:
    return pl.lit(0.0).alias(RELEVANCE)


def _refuse_blank(names: pl.Series, qrels: pl.DataFrame) -> None:
    """A list without elements and without a truth of its own cannot be in the average."""
    blank = names.to_frame().join(qrels, on=QUERY, how="anti")
    if blank.height:
        raise RankframeError(
            f"{blank.height:,} of {len(names):,} ranked lists have neither elements nor a truth of "
            f"their own, e.g. list {blank[QUERY][0]!r}: nothing can be said of them. "
            "Leave them out."
        )
