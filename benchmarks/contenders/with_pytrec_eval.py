"""pytrec_eval, fed with dicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytrec_eval

from benchmarks.contenders import METRICS, Values, Way

_NAMES = ("ndcg_cut_10", "map", "recip_rank", "P_10", "recall_10")


def dicts(qrels: Path, run: Path) -> Values:
    judged: Any = _dicts(qrels, "relevance")
    evaluator = pytrec_eval.RelevanceEvaluator(
        judged, {"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.10"}
    )
    per_query = evaluator.evaluate(_dicts(run, "score"))
    return {
        ours: sum(values[theirs] for values in per_query.values()) / len(judged)
        for ours, theirs in zip(METRICS, _NAMES, strict=True)
    }


def _dicts(path: Path, value: str) -> dict[str, dict[str, float]]:
    frame = pl.read_parquet(path)
    nested: dict[str, dict[str, float]] = {}
    for query, doc, number in zip(frame["query_id"], frame["doc_id"], frame[value], strict=True):
        nested.setdefault(query, {})[doc] = number
    return nested


WAYS: dict[str, Way] = {"dicts": dicts}
