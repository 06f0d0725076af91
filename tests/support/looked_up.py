"""Match runs with judgments in plain Python; provide row layouts, and hashes that collide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl

from rankframe.core.options import Policies
from rankframe.frames.matches import MatchedJudgments, RunMatches
from rankframe.kernel import batch

Pair = tuple[str, str]


@dataclass(frozen=True)
class ByHand:
    """Hold the expected result of matching a run with judgments."""

    # of the retrieved judgments: rank and mean rank of its block of ties
    places: Mapping[Pair, tuple[int, float]]
    # of every judged query: how many documents, and whether it is in the run
    queries: Mapping[str, tuple[int, bool]]
    # rows, queries, tied, disagreeing, overlap
    seen: tuple[int, int, int, int | None, int]
    pool: list[float] | None


def by_hand(qrels: pl.DataFrame, run: pl.DataFrame, policies: Policies) -> ByHand:
    """Match a run with judgments query by query and document by document, in plain Python."""
    grades = {(q, d): g for q, d, g in _best(qrels, "relevance", policies)}
    score, rank = ("score" in run.columns, "rank" in run.columns)
    rows = run.to_dicts()
    if policies.duplicates == "keep_best":
        rows = _one_of_each(rows)
    by_query: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_query.setdefault(row["query_id"], []).append(row)
    judged = {query for query, _ in grades}
    places: dict[Pair, tuple[int, float]] = {}
    queries: dict[str, tuple[int, bool]] = dict.fromkeys(judged, (0, False))
    tied = disagreeing = overlap = 0
    pool: list[float] = []
    for query, docs in by_query.items():
        order = _ordered(docs, policies.ties)
        tied += sum(len(block) - 1 for block in _blocks(order))
        disagreeing += score and rank and _contradicts(docs)
        overlap += sum((query, row["doc_id"]) in grades for row in order)
        if query not in judged:
            continue
        order = order[: policies.k_max]
        if policies.judged_only:
            order = [row for row in order if grades.get((query, row["doc_id"]), -1) >= 0]
        queries[query] = (len(order), True)
        pool += [row.get("score", 0.0) for row in order]
        above = 0
        for block in _blocks(order):
            for place, row in enumerate(block, above + 1):
                if (pair := (query, row["doc_id"])) in grades:
                    places[pair] = (place, above + (len(block) + 1) / 2)
            above += len(block)
    counted = (run.height, len(by_query), tied, disagreeing if score and rank else None, overlap)
    return ByHand(places, queries, counted, sorted(pool) if score else None)


def looked_up(found: RunMatches) -> ByHand:
    """Return the matches of rankframe in the form of `by_hand`."""
    part: MatchedJudgments = found.select()
    code = np.repeat(np.arange(len(part.starts)), np.diff(part.starts, append=len(part.rank)))
    pairs = zip(part.queries.gather(code).to_list(), part.docs.to_list(), strict=True)
    assert part.tied_rank is not None
    places = {
        pair: (int(rank), float(tied))
        for pair, rank, tied in zip(pairs, part.rank, part.tied_rank, strict=True)
        if rank
    }
    given = zip(part.retrieved.tolist(), part.in_run.tolist(), strict=True)
    seen = found.counts
    return ByHand(
        places,
        dict(zip(part.queries.to_list(), given, strict=True)),
        (seen.rows, seen.queries, seen.tied, seen.contradicting, seen.overlap),
        None if part.pool is None else part.pool.tolist(),
    )


def layouts(frame: pl.DataFrame, seed: int = 0) -> dict[str, pl.DataFrame]:
    """Return the rows sorted by query, grouped by query in random order, and scattered. Each
    query's rows keep their order.
    """
    place = np.random.default_rng(seed).permutation(frame.height)
    first = frame.with_columns(place=pl.Series(place)).with_columns(
        query_place=pl.col("place").min().over("query_id")
    )
    # Each query's rows in order, and yet apart.
    turn = pl.int_range(pl.len()).over("query_id")
    riffled = frame.with_columns(turn=turn).sort("turn", maintain_order=True).drop("turn")
    return {
        "sorted": frame.sort("query_id", maintain_order=True),
        "grouped": first.sort("query_place", maintain_order=True).drop("place", "query_place"),
        "scattered": riffled,
    }


_true = batch.hash_of
Hash = Callable[[str, pl.DataType, int], pl.Expr]


def _few(name: str, dtype: pl.DataType, seed: int) -> pl.Expr:
    return _true(name, dtype, seed) % 7


POOR_HASHES: dict[str, Hash] = {
    "few": _few,
    "few, spread out": lambda *given: _few(*given) * (2**64 // 7),
    "few for queries": lambda name, *given: (_few if name == "query_id" else _true)(name, *given),
    "few for documents": lambda name, *given: (_few if name == "doc_id" else _true)(name, *given),
    "the same for all": lambda *given: _true(*given) * 0,
    "the same for all documents": lambda name, dtype, seed: (
        _true(name, dtype, seed) * (0 if name == "doc_id" else 1)
    ),
}


def _ordered(docs: list[dict[str, Any]], ties: str) -> list[dict[str, Any]]:
    if _good(docs[0]) is None:
        return docs
    order = list(docs)
    if ties != "as_given":
        order.sort(key=lambda row: row["doc_id"].encode(), reverse=ties == "doc_desc")
    return sorted(order, key=lambda row: _good(row) or 0.0, reverse=True)


def _blocks(order: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    if order and _good(order[0]) is None:
        return [[row] for row in order]
    return [list(block) for _, block in groupby(order, key=_good)]


def _good(row: dict[str, Any]) -> float | None:
    if "score" in row:
        return row["score"]
    return -row["rank"] if "rank" in row else None


def _contradicts(docs: list[dict[str, Any]]) -> bool:
    return any(
        one["score"] > other["score"] and one["rank"] > other["rank"]
        for one in docs
        for other in docs
    )


def _one_of_each(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    best: dict[Pair, int] = {}
    for at, row in enumerate(rows):
        pair = row["query_id"], row["doc_id"]
        if pair not in best or (_good(row) or 0.0) > (_good(rows[best[pair]]) or 0.0):
            best[pair] = at
    return [rows[at] for at in sorted(best.values())]


def _best(frame: pl.DataFrame, column: str, policies: Policies) -> list[tuple[str, str, float]]:
    if policies.duplicates == "keep_best":
        frame = frame.group_by("query_id", "doc_id", maintain_order=True).agg(pl.col(column).max())
    return frame.select("query_id", "doc_id", column).rows()
