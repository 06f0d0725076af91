"""ranx, fed with pandas frames."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.contenders import METRICS, Values, Way

warnings.simplefilter("ignore")

from ranx import Qrels, Run, evaluate  # noqa: E402 (it warns when it is imported)


def frames(qrels: Path, run: Path) -> Values:
    ids = {"query_id": object, "doc_id": object}  # ranx knows no other strings, nor float32
    truth = pl.read_parquet(qrels).filter(pl.col("relevance") > 0).to_pandas().astype(ids)
    ranked = pl.read_parquet(run).to_pandas().astype({**ids, "score": float})
    values: Any = evaluate(
        Qrels.from_df(truth, q_id_col="query_id", doc_id_col="doc_id", score_col="relevance"),
        Run.from_df(ranked, q_id_col="query_id", doc_id_col="doc_id", score_col="score"),
        list(METRICS),
        make_comparable=True,
    )
    judged = pl.read_parquet(qrels, columns=["query_id"])["query_id"].n_unique()
    # ranx averages over the queries that have something relevant.
    share = float(len(set(truth["query_id"])) / judged)
    return {name: float(value) * share for name, value in values.items()}


WAYS: dict[str, Way] = {"frames": frames}
