"""Provide the recorded cases of recommender packages, as frames for `rf.evaluate`."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.against.record import cases
from tests.support.retrieved_by_definition import Case


def recorded_cases() -> dict[str, Case]:
    """Return every recorded case by name, in the form that plain definitions take."""
    return cases.read()


def frames(case: Case) -> dict[str, pl.DataFrame]:
    """Return the frames of a case by the names of `rf.evaluate`'s arguments. A user with an empty
    list has no row in run.
    """
    judged = [(user, doc, g) for user, grades in case["qrels"].items() for doc, g in grades.items()]
    return {
        "qrels": _table(judged, query_id=pl.String, doc_id=pl.String, relevance=pl.Int64),
        "run": _ranked(case["run"]),
        "train": _table(case["train"], query_id=pl.String, doc_id=pl.String, count=pl.Int64),
        "items": pl.DataFrame([{"doc_id": doc, **item} for doc, item in case["items"].items()]),
        "reference": _ranked(case["base"]),
    }


def with_gaps(case: Case) -> Case:
    """Return the case without some documents in the catalogue, and without some attributes. An
    attribute is null, an empty list, or a vector of length 0.
    """
    items: dict[str, dict[str, Any]] = {}
    for place, (doc, item) in enumerate(case["items"].items()):
        gap = {1: {"genre": None}, 2: {"genres": []}, 3: {"embedding": None}, 4: {"genres": None}}
        gap[5] = {"embedding": [0.0] * len(item["embedding"])}
        if place % 7:
            items[doc] = {**item, **gap.get(place % 7, {})}
    return {**case, "items": items}


def _ranked(run: dict[str, list[str]]) -> pl.DataFrame:
    return _table(
        cases.rows(run), query_id=pl.String, doc_id=pl.String, rank=pl.Int64, score=pl.Float64
    )


def _table(rows: Any, **schema: Any) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema, orient="row")
