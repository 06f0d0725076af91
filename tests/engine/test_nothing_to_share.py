"""Shares of nothing are undefined, not 0: values of items, in plain Python."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest

import rankframe as rf

DOCS, K = "abcdef", 3


class Case:
    """A few lists, judgments, interactions and genres, of which any may be lacking."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.run = {f"q{q}": rng.sample(DOCS, rng.randint(1, 4)) for q in range(3)}
        self.qrels = {
            f"q{q}": {
                doc: int(rng.random() < rng.choice((0.0, 0.5))) for doc in rng.sample(DOCS, 3)
            }
            for q in range(3)
        }
        self.train = [(f"u{rng.randrange(3)}", rng.choice(DOCS)) for _ in range(rng.randint(1, 8))]
        self.train = sorted(set(self.train))
        known = rng.choice((0.0, 0.2, 0.7))
        self.genres = {doc: rng.choice("xyz") if rng.random() < known else None for doc in DOCS}

    def evaluate(self, metrics: list[str], **options: Any) -> Any:
        run = {query: {doc: -float(rank) for rank, doc in enumerate(docs)}
               for query, docs in self.run.items()}  # fmt: skip
        items = pl.DataFrame(
            {"doc_id": list(self.genres), "genre": list(self.genres.values())},
            schema={"doc_id": pl.String, "genre": pl.String},
        )
        train = pl.DataFrame(self.train, schema=["query_id", "doc_id"], orient="row")
        return rf.evaluate(self.qrels, run, metrics, items=items, train=train, **options)

    def shown(self) -> list[tuple[str, str, int]]:
        """Return query, document and rank."""
        return [(query, doc, rank) for query, docs in self.run.items()
                for rank, doc in enumerate(docs[:K], 1)]  # fmt: skip

    def popularity(self, doc: str) -> str:
        """Head: documents with more interactions have less than 80% of all."""
        times = {each: sum(other == each for _, other in self.train) for each in DOCS}
        if not times[doc]:
            return "cold"
        above = sum(count for count in times.values() if count > times[doc])
        return "head" if above / len(self.train) < 0.8 else "tail"


def shares(amounts: Mapping[Any, float]) -> dict[Any, float] | None:
    total = math.fsum(amounts.values())
    return {key: value / total for key, value in amounts.items()} if total else None


def exposure_gap(case: Case, target: str) -> float | None:
    shown, wanted = dict.fromkeys("xyz", 0.0), dict.fromkeys("xyz", 0.0)
    for _, doc, rank in case.shown():
        if genre := case.genres[doc]:
            shown[genre] += 1 / math.log2(rank + 1)
    for doc in DOCS if target == "catalogue" else [doc for _, doc in case.train]:
        if genre := case.genres[doc]:
            wanted[genre] += 1
    p, t = shares(shown), shares(wanted)
    if p is None or t is None:
        return None
    terms = [
        side[genre] * math.log2(side[genre] / ((p[genre] + t[genre]) / 2)) / 2
        for side in (p, t)
        for genre in "xyz"
        if side[genre]
    ]
    return math.sqrt(max(math.fsum(terms), 0.0))


def exposure_share(case: Case) -> float | None:
    if "x" not in case.genres.values():
        return None
    worth = dict.fromkeys((*case.genres.values(), None), 0.0)
    for _, doc, rank in case.shown():
        worth[case.genres[doc]] += 1 / math.log2(rank + 1)
    return worth["x"] / math.fsum(worth.values())


@pytest.mark.parametrize("seed", range(12))
def test_metrics_by_brute_force(seed: int) -> None:
    case = Case(seed)
    expected = {
        f"exposure_gap(by=genre)@{K}": exposure_gap(case, "catalogue"),
        f"exposure_gap(by=genre, target=train)@{K}": exposure_gap(case, "train"),
        f"exposure_share(by=genre, value=x)@{K}": exposure_share(case),
    }
    means = case.evaluate(list(expected)).means
    for name, value in expected.items():
        assert means[name] == (None if value is None else pytest.approx(value, abs=1e-7)), name


@pytest.mark.parametrize("seed", range(12))
def test_slices_of_items_by_brute_force(seed: int) -> None:
    case = Case(seed)
    found = case.evaluate([f"ndcg@{K}"], items_by=["genre", "popularity"], no_overlap="zero").items
    slices: dict[str, Callable[[str], str]] = {
        "genre": lambda doc: case.genres[doc] or "(none)",
        "popularity": case.popularity,
    }
    slices_of = {"genre": [*"xyz", "(none)"], "popularity": ["head", "tail", "cold"]}
    for by, slice_of in slices.items():
        amounts = {name: dict.fromkeys(slices_of[by], 0.0) for name in ("places", "hits")}
        for query, doc, _ in case.shown():
            amounts["places"][slice_of(doc)] += 1
            amounts["hits"][slice_of(doc)] += case.qrels[query].get(doc, 0)
        rows = found.filter(by=by)
        for row in rows.to_dicts():
            assert row["hits"] == amounts["hits"][row["slice"]]
            for name, column in (("places", "share_of_places"), ("hits", "share_of_hits")):
                parts = shares(amounts[name])
                share = None if parts is None else pytest.approx(parts[row["slice"]], abs=1e-12)
                assert row[column] == share, (by, row["slice"], column)


def test_no_hits_by_hand() -> None:
    items = pl.DataFrame({"doc_id": ["a", "b"], "genre": ["x", "y"]})
    found = rf.evaluate({"q": {"b": 1}}, {"q": {"a": 1.0}}, "ndcg@1", items=items,
                        train={"u": ["a"]}, items_by=["genre", "popularity"],
                        no_overlap="zero").items  # fmt: skip
    assert found["share_of_hits"].is_null().all()
    assert found["hits"].to_list() == [0, 0, 0, 0]
    assert found["share_of_places"].to_list() == [1.0, 0.0, 1.0, 0.0]


def test_an_attribute_that_no_item_has() -> None:
    items = pl.DataFrame(
        {"doc_id": ["a", "b"], "genre": [None, None]}, {"doc_id": pl.String, "genre": pl.String}
    )
    names = ["exposure_gap(by=genre)@2", "exposure_share(by=genre, value=x)@2",
             "diversity(by=genre)@2", "calibration(by=genre)@2"]  # fmt: skip
    found = rf.evaluate(None, {"q": {"a": 1.0}}, names, items=items, train={"q": ["a"]})
    assert found.means == dict.fromkeys(names)
