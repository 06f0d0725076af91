"""ir_measures, fed with pandas frames."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import polars as pl

from benchmarks.contenders import METRICS, Values, Way


def frames(qrels: Path, run: Path) -> Values:
    wanted = [ir_measures.parse_measure(m) for m in ("nDCG@10", "AP", "RR", "P@10", "R@10")]
    values = ir_measures.calc_aggregate(
        wanted, pl.read_parquet(qrels).to_pandas(), pl.read_parquet(run).to_pandas()
    )
    return {ours: values[m] for ours, m in zip(METRICS, wanted, strict=True)}


WAYS: dict[str, Way] = {"frames": frames}
