"""Evaluate the same rows whole, shuffled and in pieces, and compare the bits."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import polars as pl

import rankframe as rf


def everywhere(
    qrels: pl.DataFrame | None, run: pl.DataFrame, metrics: list[str], **options: Any
) -> rf.Result:
    """Evaluate inputs whole, shuffled and in pieces; assert equal bits, and return the result."""
    whole = rf.evaluate(qrels, run, metrics, **options)
    for pieces, seed in ((1, 1), (3, 2), (7, 3)):
        shuffled = {
            name: table.sample(fraction=1, shuffle=True, seed=seed)
            for name, table in options.items()
            if isinstance(table, pl.DataFrame)
        }
        both: dict[str, Any] = {**options, **shuffled}
        judged = None if qrels is None else qrels.sample(fraction=1, shuffle=True, seed=seed)
        other = run.sample(fraction=1, shuffle=True, seed=seed)
        with patch("rankframe.engine.finish.count_partitions", return_value=pieces):
            found = rf.evaluate(judged, other, metrics, **both)
        for name in rf.Result.FRAMES:
            assert getattr(found, name).equals(getattr(whole, name)), (name, pieces)
    return whole
