"""Make a recommender's data with every unusual feature, from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

import rankframe as rf
from rankframe.engine.result import Result

NAMES = [
    "ndcg@10", "coverage@10", "coverage(count=true)@2", "gini@10", "gini(over=retrieved)",
    "entropy@10", "personalisation@2", "novelty@10", "surprisal@10", "popularity", "long_tail@10",
    "repeated@3",
    "diversity(by=genre)@10", "diversity(by=genres, kind=pairs)@10",
    "diversity(by=genres, kind=entropy)", "ild(vector=vector)@10", "serendipity@10",
    "unexpectedness@2", "epc@3", "efd@3", "calibration(by=genres)@10", "calibration(by=genre)",
    "exposure_share(by=genre, value=b)@10",
]  # fmt: skip
# An expression of a user's own, over an attribute of items.
REVENUE = pl.col("price").filter(pl.col("rank") <= 5).sum().alias("revenue@5")


@dataclass(frozen=True)
class Shop:
    """Hold the tables of a recommender: judgments, run, train, items, reference and users."""

    qrels: pl.DataFrame | None
    run: pl.DataFrame
    train: pl.DataFrame
    items: pl.DataFrame
    base: pl.DataFrame
    users: pl.DataFrame

    def evaluated(self, metrics: Any = (*NAMES, REVENUE), **options: Any) -> Result:
        """Evaluate all metrics over all users, and by segment."""
        beside: dict[str, Any] = {"train": self.train, "items": self.items, "reference": self.base}
        sliced = {"queries": self.users, "by": "segment", "no_overlap": "zero"}
        return rf.evaluate(self.qrels, self.run, list(metrics), **{**beside, **sliced, **options})

    def shuffled(self, seed: int = 1) -> Shop:
        """Return the tables with their rows in random order."""
        tables = {name: table for name, table in vars(self).items() if table is not None}
        return replace(self, **{
            name: table.sample(fraction=1, shuffle=True, seed=seed)
            for name, table in tables.items()
        })  # fmt: skip


def shop(seed: int = 0, users: int = 300) -> Shop:
    """Make random tables with ties, short lists, unknown documents, and users without data."""
    draw = random.Random(seed)
    docs = [f"d{n}" for n in range(80)]
    lists = {f"u{n}": draw.sample([*docs, *"xyz"], draw.randint(1, 15)) for n in range(users)}
    run = [(u, d, float(draw.randint(0, 9))) for u, some in lists.items() for d in some]
    train = {
        (f"u{draw.randrange(users // 4, users + 20)}", docs[min(int(draw.expovariate(0.06)), 70)])
        for _ in range(users * 6)
    }
    judged = {(f"u{draw.randrange(users)}", draw.choice(docs)) for _ in range(users * 4)}
    items = [
        (
            doc,
            draw.choice(["a", "b", "c", None]),
            draw.sample("abcd", draw.randint(0, 3)),
            [draw.gauss(0, 1) for _ in range(4)] if draw.random() < 0.9 else None,
            float(draw.randint(1, 50)),
        )
        for doc in docs[5:]
    ]
    columns = {"doc_id": pl.String, "genre": pl.String, "genres": pl.List(pl.String),
               "vector": pl.List(pl.Float64), "price": pl.Float64}  # fmt: skip
    return Shop(
        _table([(*pair, draw.randint(-1, 3)) for pair in sorted(judged)], "relevance"),
        _table(run, "score"),
        _table([(*pair, draw.randint(1, 3)) for pair in sorted(train)], "count"),
        pl.DataFrame(items, schema=columns, orient="row"),
        _table([(u, d, -s) for u, d, s in run[::2]], "score"),
        pl.DataFrame(
            {"query_id": list(lists), "segment": [draw.choice(["new", "old", None]) for _ in lists]}
        ),
    )


def _table(rows: list[Any], number: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query_id", "doc_id", number], orient="row")
