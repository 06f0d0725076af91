"""Locate the example data that ships with rankframe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from rankframe.core.errors import UnreadableInputError
from rankframe.core.options import check_choice

ExampleName: TypeAlias = Literal["shop", "movies"]
# For each example: the file of its judgments, and the files of its runs, the baseline first.
_QRELS = {"shop": "qrels", "movies": "ratings"}
_RUNS = {"shop": ("bm25", "dense", "hybrid"), "movies": ("popular", "item_based", "als")}


class Example(NamedTuple):
    """Hold the paths of the files of an example, to pass to any function that reads data.

    folder: the folder of the files.
    qrels: the judgments.
    runs: the rankings, by name.
    queries: attributes of the queries, for slices; None if the example has none.
    train: earlier interactions; None if the example has none.
    items: attributes of the documents; None if the example has none.
    """

    folder: Path
    qrels: Path
    runs: Mapping[str, Path]
    queries: Path | None
    train: Path | None
    items: Path | None


def example(name: ExampleName) -> Example:
    """Return the paths of the bundled demo data; nothing is downloaded.

    name: "shop", the search of an online shop (three systems, 2,000 queries with attributes, grades
        from 0 to 3), or "movies", a recommender (three systems, 600 users, held-out ratings of 0.5
        to 5 stars, earlier ratings of these users, and 1,500 films with attributes).

    >>> shop = rf.example("shop")
    >>> list(shop.runs), shop.qrels.name
    (['bm25', 'dense', 'hybrid'], 'qrels.parquet')
    >>> round(rf.evaluate(shop.qrels, shop.runs["hybrid"], "ndcg@10")["ndcg@10"], 4)
    0.5752
    """
    check_choice("name", name, get_args(ExampleName))
    folder = _folder() / name
    tables = (folder / f"{table}.parquet" for table in ("queries", "train", "items"))
    return Example(
        folder,
        folder / f"{_QRELS[name]}.parquet",
        {run: folder / f"{run}.parquet" for run in _RUNS[name]},
        *(table if table.is_file() else None for table in tables),
    )


def _folder() -> Path:
    """Return the folder of the data: inside an installed package, or in the repository."""
    here = Path(__file__).resolve().parents[2]
    for folder in (here / "data", here.parent.parent / "data"):
        if (folder / "shop" / "qrels.parquet").is_file():
            return folder
    raise UnreadableInputError("the demo data", "it is not installed with this copy of rankframe")
