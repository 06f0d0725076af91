"""Rows in steps: all of them, in order, and no more at once than was allowed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rankframe.io.input_table import in_steps


def growing(rows: int = 60_000) -> pl.DataFrame:
    """Ids that are short at first, and then long."""
    number = pl.int_range(pl.len())
    frame = pl.DataFrame({"doc_id": range(rows)})
    pad = pl.when(number < rows // 3).then(pl.lit("")).otherwise(pl.lit("x" * 500))
    return frame.select(doc_id=pad + pl.col("doc_id").cast(pl.String))


@pytest.mark.parametrize("seekable", [True, False])
@pytest.mark.parametrize("rows", [0, 1, 4096, 4097, 60_000])
def test_all_rows_come_in_order(rows: int, seekable: bool, tmp_path: Path) -> None:
    frame = growing()[:rows]
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=7_000)
    scanned = pl.scan_parquet(tmp_path / "rows.parquet")
    found = list(in_steps(scanned, 1 << 20, seekable=seekable))
    assert pl.concat([frame[:0], *found]).equals(frame)


def test_a_step_is_no_larger_than_was_allowed(tmp_path: Path) -> None:
    frame, at_once = growing(), 1 << 21
    frame.write_parquet(tmp_path / "rows.parquet")
    steps = list(in_steps(pl.scan_parquet(tmp_path / "rows.parquet"), at_once, seekable=True))
    lengths = [int(step["doc_id"].str.len_bytes().sum()) for step in steps]
    # Where ids grow, one step is larger; nobody knew.
    assert sum(length > at_once for length in lengths) <= 1
    assert max(lengths) < 4 * at_once
    assert len(steps) > sum(lengths) // at_once
