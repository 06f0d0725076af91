"""The recorded cases of recommender packages, as frames for `rf.evaluate`."""

from __future__ import annotations

from typing import Any

import polars as pl

from tests.against.record import cases
from tests.support.shown_by_definition import Case


def recorded_cases() -> dict[str, Case]:
    """Every case by its name, as the plain definitions want it."""
    return cases.read()


def frames(case: Case) -> dict[str, pl.DataFrame]:
    """qrels, run, train, items and base of a case. A user with an empty list has no row in run."""
    judged = [(user, doc, g) for user, grades in case["qrels"].items() for doc, g in grades.items()]
    return {
        "qrels": _table(judged, query_id=pl.String, doc_id=pl.String, relevance=pl.Int64),
        "run": _ranked(case["run"]),
        "train": _table(case["train"], query_id=pl.String, doc_id=pl.String, count=pl.Int64),
        "items": pl.DataFrame([{"doc_id": doc, **item} for doc, item in case["items"].items()]),
        "base": _ranked(case["base"]),
    }


def _ranked(run: dict[str, list[str]]) -> pl.DataFrame:
    return _table(
        cases.rows(run), query_id=pl.String, doc_id=pl.String, rank=pl.Int64, score=pl.Float64
    )


def _table(rows: Any, **schema: Any) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema, orient="row")
