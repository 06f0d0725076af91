"""Files that are each in order of their queries, merged into one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankframe.engine.partitions import MERGED_ROWS, merge_sorted_files


@pytest.mark.parametrize("files", [1, 2, 5])
@pytest.mark.parametrize("longest", [3, MERGED_ROWS + 7])
def test_rows_come_in_order_of_their_queries(files: int, longest: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(files)
    lengths = np.append(rng.integers(1, 4, 9_000), longest)
    rng.shuffle(lengths)
    names = np.repeat([f"q{number}" for number in range(len(lengths))], lengths)
    rows = pl.DataFrame({"query_id": names, "row": np.arange(len(names))})
    paths = []
    for number in range(files):
        part = rows.filter(pl.col("query_id").hash(1) % files == number)
        paths.append(tmp_path / f"{number}.parquet")
        part.sort("query_id", maintain_order=True).write_parquet(
            paths[-1], row_group_size=MERGED_ROWS
        )
    merged = merge_sorted_files(paths, ordered=False)
    expected = rows.sort("query_id", maintain_order=True)
    assert merged.collect().equals(expected)
    assert merged.select("row").collect().equals(expected.select("row"))
    merged.sink_parquet(tmp_path / "all.parquet")
    assert pl.read_parquet(tmp_path / "all.parquet").equals(expected)


def test_an_empty_file_adds_nothing(tmp_path: Path) -> None:
    rows = pl.DataFrame({"query_id": ["a", "b"], "value": [1.0, 2.0]})
    paths = [tmp_path / "empty.parquet", tmp_path / "full.parquet"]
    for path, part in zip(paths, (rows.clear(), rows), strict=True):
        part.write_parquet(path)
    assert merge_sorted_files(paths, ordered=False).collect().equals(rows)
