"""Trained methods learn from and apply the same list lengths, with units and kept ranks."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

import rankframe as rf

Run = Mapping[str, Mapping[str, float]]
# Of a query: the rank of each document, and the length of the list.
Lists = dict[str, tuple[dict[str, int], int]]
UNIT = pl.col("doc_id").str.split("#").list.first()


def lists_of(run: Run, options: Mapping[str, Any]) -> Lists:
    depth, kept = options.get("depth", 10**6), "ranks" in options
    lists: Lists = {}
    for query, rows in run.items():
        ordered = sorted(rows, key=lambda doc, rows=rows: rows[doc] if kept else -rows[doc])
        ranks = {doc: int(rows[doc]) if kept else place for place, doc in enumerate(ordered, 1)}
        ranks = {doc: rank for doc, rank in ranks.items() if rank <= depth or not kept}
        best: dict[str, int] = {}
        for doc in ordered:
            if doc in ranks:
                best.setdefault(doc.split("#")[0] if "unit" in options else doc, ranks[doc])
        if kept:  # up to the last rank
            length = max(best.values(), default=0)
        elif options.get("unit_ranks") == "kept":  # all chunks
            length = len(ranks)
        else:
            best = {doc: place for place, doc in enumerate(best, 1)}
            length = len(best)
        within = {doc: rank for doc, rank in best.items() if rank <= depth}
        lists[query] = within, min(length, depth)
    return lists


def relevant_ranks(lists: Lists, qrels: Mapping[str, Mapping[str, int]]) -> Lists:
    """Return the ranks of relevant documents, of every judged query."""
    empty: tuple[dict[str, int], int] = ({}, 0)
    return {
        query: (
            {doc: rank for doc, rank in lists.get(query, empty)[0].items() if grades.get(doc)},
            lists.get(query, empty)[1],
        )
        for query, grades in qrels.items()
    }


def probfuse(lists: Lists, judged: Lists, segments: int) -> dict[tuple[str, str], float]:
    chances = [0.0] * segments
    for ranks, length in judged.values():
        size = -(-length // segments)
        for rank in ranks.values():
            segment = (rank - 1) // size
            chances[segment] += 1 / min(size, length - segment * size) / len(judged)
    scores: dict[tuple[str, str], float] = {}
    for query, (ranks, length) in lists.items():
        for doc, rank in ranks.items():
            segment = (rank - 1) // -(-length // segments)
            scores[query, doc] = chances[segment] / (segment + 1)
    return scores


def slidefuse(lists: Lists, judged: Lists, window: int) -> dict[tuple[str, str], float]:
    chances: list[float] = []
    for place in range(1, max(length for _, length in judged.values()) + 1):
        reaching = [ranks for ranks, length in judged.values() if length >= place]
        hits = sum(place in ranks.values() for ranks in reaching)
        chances.append(hits / len(reaching))
    scores: dict[tuple[str, str], float] = {}
    for query, (ranks, length) in lists.items():
        for doc, rank in ranks.items():
            first, last = max(rank - window, 1), min(rank + window, length)
            scores[query, doc] = sum(chances[first - 1 : last]) / (last - first + 1)
    return scores


def test_what_is_relevant_where_it_was_trained_counts() -> None:
    # Seven chunks, six of a: b is in the first of two segments of four ranks, as it was trained.
    chunks = {f"a#{n}": 9.0 - n for n in range(8)} | {"b#0": 7.5}
    del chunks["a#1"], chunks["a#2"]
    run, other = {"q": chunks}, {"q": {"c#0": 1.0}}
    fused = rf.fuse([run, other], "probfuse(segments=2)", qrels={"q": {"b": 1}}, unit=UNIT,
                    unit_ranks="kept").collect()  # fmt: skip
    scores = dict(fused.select("doc_id", "score").rows())
    assert scores == pytest.approx({"a": 1 / 4, "b": 1 / 4, "c": 0.0})


@pytest.mark.parametrize("seed", range(40))
def test_lists_are_equally_long_in_training_and_use(seed: int) -> None:
    rng = random.Random(seed)
    options: dict[str, Any] = {}
    if rng.random() < 0.7:
        options |= {"unit": UNIT, "unit_ranks": rng.choice(["kept", "renumbered"])}
    if rng.random() < 0.4:
        options["ranks"] = "kept"
    if rng.random() < 0.6:
        options["depth"] = rng.choice([2, 3, 5])
    runs: list[dict[str, dict[str, float]]] = []
    for _ in range(2):
        run = {"q3": {"a#1": 1.0}}
        for query in ("q1", "q2", "q4"):
            if rng.random() < 0.85:
                docs = rng.sample([f"{unit}#{n}" for unit in "abcdef" for n in range(3)], 9)
                docs = docs[: rng.randint(1, 9)]
                numbers = map(float, rng.sample(range(1, 14), len(docs)))
                run[query] = dict(zip(docs, numbers, strict=True))
        runs.append(run)
    qrels = {
        query: {
            unit if "unit" in options else f"{unit}#{rng.randrange(3)}": rng.randint(0, 1)
            for unit in rng.sample("abcdefg", 4)
        }
        for query in ("q1", "q2", "q5")
    }
    frames = [
        pl.DataFrame(
            [(query, doc, number) for query, rows in run.items() for doc, number in rows.items()],
            schema=["query_id", "doc_id", "rank" if "ranks" in options else "score"],
            orient="row",
        )
        for run in runs
    ]
    methods = {
        "probfuse(segments=2)": lambda lists, judged: probfuse(lists, judged, 2),
        "probfuse(segments=3)": lambda lists, judged: probfuse(lists, judged, 3),
        "posfuse": lambda lists, judged: slidefuse(lists, judged, 0),
        "slidefuse(window=2)": lambda lists, judged: slidefuse(lists, judged, 2),
    }
    for method, score in methods.items():
        expected: dict[tuple[str, str], float] = {}
        for run in runs:
            lists = lists_of(run, options)
            for key, value in score(lists, relevant_ranks(lists, qrels)).items():
                expected[key] = expected.get(key, 0.0) + value
        fused = rf.fuse(frames, method, qrels=qrels, **options).collect()
        found = {(query, doc): value for query, doc, _, value in fused.rows()}
        assert found == pytest.approx(expected, abs=1e-12)
