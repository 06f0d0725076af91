"""Condorcet's method against a brute force by its definition."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

import rankframe as rf

Run = dict[str, dict[str, float]]


def expected(lists: Sequence[list[str]], weights: Sequence[Fraction]) -> list[str]:
    """All pairs, one by one."""
    docs = {doc for listed in lists for doc in listed}

    def place(listed: list[str], doc: str) -> int:
        return listed.index(doc) if doc in listed else len(docs)

    def above(one: str, other: str, listed: list[str]) -> bool:
        return place(listed, one) < place(listed, other)

    def votes_for(one: str, other: str) -> Fraction:
        every = zip(weights, lists, strict=True)
        return sum((weight for weight, of in every if above(one, other, of)), Fraction(0))

    keys: dict[str, tuple[int, Fraction, str]] = {}
    for one in docs:
        net, votes = 0, Fraction(0)
        for other in docs - {one}:
            ours = votes_for(one, other)
            theirs = votes_for(other, one)
            net += (ours > theirs) - (ours < theirs)
            votes += ours
        keys[one] = (net, votes, one)
    return sorted(docs, key=keys.__getitem__, reverse=True)


def random_runs(seed: int) -> dict[str, Run]:
    rng = random.Random(seed)
    # Queries of about the same length and of others: both go through one rectangle, or several.
    sizes = [rng.choice((1, 3, 4, 5, 17, 30)) for _ in range(9)]
    return {
        f"run{n}": {
            f"q{q}": {f"d{d}": rng.random() for d in rng.sample(range(40), size)}
            for q, size in enumerate(sizes)
            if rng.random() > 0.1 or n == 0
        }
        for n in range(rng.choice((2, 3, 4, 5)))
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_as_defined(seed: int, weighted: bool) -> None:
    runs = random_runs(seed)
    # Tenths, which floats do not hold: .1 + .2 is not more than .3.
    whole = [1 + (seed + n) % 3 for n in range(len(runs))] if weighted else [1] * len(runs)
    weights = [w / 10 for w in whole] if weighted else None
    found = rf.fuse(runs, "w_condorcet" if weighted else "condorcet", weights=weights).collect()
    for (query,), frame in found.group_by("query_id"):
        lists = [
            sorted(run.get(str(query), {}), key=run.get(str(query), {}).__getitem__, reverse=True)
            for run in runs.values()
        ]
        assert frame["doc_id"].to_list() == expected(lists, [Fraction(w) for w in whole]), query


def test_the_whole_points_are_wins_minus_losses() -> None:
    a, b = {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}, {"q": {"x": 3.0, "z": 2.0}}
    found = rf.fuse([a, b], "condorcet").collect()
    # x beats both; y and z each stand above the other once.
    assert dict(zip(found["doc_id"], found["score"].round(0), strict=True)) == {
        "x": 2.0, "z": -1.0, "y": -1.0,
    }  # fmt: skip


def test_many_documents_take_little_memory() -> None:
    docs = [f"d{n}" for n in range(600)]
    runs = [{f"q{q}": docs[q:] for q in range(3)}, {f"q{q}": docs[::-1] for q in range(3)}]
    found = rf.fuse(runs, "condorcet").collect()
    assert found.height == 1800
