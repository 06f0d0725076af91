"""Polars without rankframe: lazy, on the streaming engine, in three ways to rank; and the limit."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl

from benchmarks.contenders import METRICS, Values, Way

_QUERY, _KEYS = "query_id", ["query_id", "doc_id"]
_RANK, _GRADE, _IDEAL = pl.col("rank"), pl.col("relevance"), pl.col("ideal")
# Ties are broken by document as text, whatever the column holds.
_TEXT = pl.col("doc_id").cast(pl.String)


def window(run: pl.LazyFrame, judged: pl.LazyFrame) -> pl.LazyFrame:
    """Rank all rows in a window over the query, then join."""
    best_first = pl.struct("score", _TEXT).rank("ordinal", descending=True)
    return run.with_columns(rank=best_first.over(_QUERY)).join(judged, on=_KEYS)


def sort(run: pl.LazyFrame, judged: pl.LazyFrame) -> pl.LazyFrame:
    """Sort all rows, number those of each query, then join."""
    ordered = run.sort(_QUERY, "score", _TEXT, descending=[False, True, True])
    return ordered.with_columns(rank=pl.int_range(1, pl.len() + 1).over(_QUERY)).join(
        judged, on=_KEYS
    )


def count(run: pl.LazyFrame, judged: pl.LazyFrame) -> pl.LazyFrame:
    """Join first, then count the rows of the query that are not behind."""
    found = run.join(judged, on=_KEYS).rename({"doc_id": "found", "score": "least"})
    not_behind = (pl.col("score") > pl.col("least")) | (
        (pl.col("score") == pl.col("least")) & (pl.col("found").cast(pl.String) <= _TEXT)
    )
    return (
        run.join(found, on=_QUERY)
        .filter(not_behind)
        .group_by(_QUERY, "found")
        .agg(_GRADE.first(), rank=pl.len())
    )


def evaluate(ranking: str, qrels: Path, run: Path) -> Values:
    judgments = pl.scan_parquet(qrels)
    relevant = judgments.filter(_GRADE > 0)
    hits = _RANKINGS[ranking](pl.scan_parquet(run), relevant).with_columns(_RANK.cast(pl.Int64))
    ideals = (
        relevant.with_columns(ideal=_GRADE.rank("ordinal", descending=True).over(_QUERY))
        .group_by(_QUERY)
        .agg(
            relevant=pl.len(),
            best=(_GRADE / (_IDEAL.cast(pl.Int64) + 1).log(2)).filter(_IDEAL <= 10).sum(),
        )
    )
    sums = (
        hits.with_columns(place=_RANK.rank("ordinal").over(_QUERY))
        .group_by(_QUERY)
        .agg(
            dcg=(_GRADE / (_RANK + 1).log(2)).filter(_RANK <= 10).sum(),
            precisions=(pl.col("place") / _RANK).sum(),
            rr=1 / _RANK.min(),
            top=(_RANK <= 10).sum(),
        )
    )
    top = pl.col("top")
    values = sums.join(ideals, on=_QUERY).select(
        (pl.col("dcg") / pl.col("best")).sum(),
        (pl.col("precisions") / pl.col("relevant")).sum(),
        pl.col("rr").sum(),
        p=(top / 10).sum(),
        r=(top / pl.col("relevant")).sum(),
    )
    judged = judgments.select(pl.col(_QUERY).n_unique())
    totals, queries = pl.collect_all([values, judged], engine="streaming")
    return {
        name: total / queries.item() for name, total in zip(METRICS, totals.row(0), strict=True)
    }


def join(qrels: Path, run: Path) -> Values:
    """What nobody can beat: read both files, join them on both keys, and stop."""
    joined = pl.scan_parquet(run).join(pl.scan_parquet(qrels), on=_KEYS)
    joined.select(pl.len(), pl.col("score", "relevance").sum()).collect(engine="streaming")
    return {}


_RANKINGS = {"window": window, "sort": sort, "count": count}
WAYS: dict[str, Way] = {
    "join": join,
    **{ranking: partial(evaluate, ranking) for ranking in _RANKINGS},
}
