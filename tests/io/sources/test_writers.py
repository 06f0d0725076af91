"""Frames into files: by their endings, plain or gzipped, whole or not at all."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

import rankframe as rf
from rankframe.io.formats.registry import FORMATS, Format
from rankframe.io.opening import open_table
from rankframe.io.outputs import KEY, format_of, read_about, write_frame, write_parquet

RUN = pl.DataFrame(
    {"query_id": ["q1", "007"], "doc_id": ["a", "b"], "score": [2.5, 1e-7], "rank": [1.0, 1.0]}
)
EVERY = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
TABLES = [form for form in FORMATS if form.any_table]


@EVERY
def test_only_tables_hold_tables(form: Format, tmp_path: Path, refusal) -> None:
    target = tmp_path / f"x{form.endings[0]}"
    if form.any_table:
        write_frame(RUN, target)
        frame = open_table(target, "run").frame.select(RUN.columns).collect()
        assert frame.rows() == RUN.rows()
    else:
        refusal(format_of, target)


def test_places_that_are_none_are_refused(tmp_path: Path, refusal) -> None:
    (tmp_path / "x.csv").mkdir()
    refusal(write_frame, RUN, tmp_path / "x.csv")
    refusal(write_frame, RUN, tmp_path / "no" / "x.csv")


@pytest.mark.parametrize("form", TABLES, ids=lambda form: form.name)
def test_what_is_gzipped_holds_the_same_bytes(form: Format, tmp_path: Path) -> None:
    plain, packed = tmp_path / f"x{form.endings[0]}", tmp_path / f"x{form.endings[0]}.gz"
    write_frame(RUN, plain)
    write_frame(RUN, packed)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert sorted(tmp_path.iterdir()) == sorted([plain, packed])


def test_the_ending_says_the_format_in_any_case() -> None:
    for form in FORMATS:
        for ending in form.endings:
            assert format_of(Path(f"x{ending.upper()}"), any_table=False) is form
            assert format_of(Path(f"x.{ending}.GZ"), any_table=False) is form


@pytest.mark.parametrize("name", ["x", "x.gz", "x.csv.xz", ".csv/x"])
def test_another_ending_is_refused_and_nothing_is_written(
    name: str, tmp_path: Path, refusal
) -> None:
    refusal(write_frame, RUN, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_frame_that_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    target.write_text("old")
    nested = RUN.with_columns(score=pl.concat_list("score", "rank"))
    with pytest.raises(Exception, match="nested"):
        write_frame(nested, target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


ABOUT = {"frame": "summary", "metrics": ["map"], "inputs": {"run": {"name": "é.csv", "rows": 2}}}


def test_a_parquet_file_says_what_it_is_about(tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    write_frame(RUN, target, ABOUT)
    assert read_about(target) == {"version": rf.__version__, **ABOUT}
    assert pl.read_parquet(target).equals(RUN)
    others = duckdb.sql(f"select value from parquet_kv_metadata('{target}') where key='rankframe'")
    assert others is not None
    assert json.loads(others.fetchall()[0][0])["metrics"] == ["map"]


@pytest.mark.parametrize("text", [None, "[1]", "no JSON"])
def test_a_file_of_others_is_about_nothing(text: str | None, tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    RUN.write_parquet(target, metadata=None if text is None else {KEY: text})
    assert read_about(target) == {}
    assert read_about(tmp_path / "none.parquet") == {}


def test_formats_without_a_place_for_it_leave_it_out(tmp_path: Path) -> None:
    for ending in (".csv", ".jsonl.gz"):
        said, plain = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
        write_frame(RUN, said, ABOUT)
        write_frame(RUN, plain)
        assert said.read_bytes() == plain.read_bytes()


def test_rows_are_written_a_row_group_at_a_time_and_always_to_the_same_bytes(
    tmp_path: Path,
) -> None:
    rows = pl.DataFrame({"query_id": pl.int_range(300_000, eager=True).cast(pl.String)})
    parts = [tmp_path / f"part-{at}.parquet" for at in range(7)]
    for at, part in enumerate(parts):
        rows[at * 45_000 : (at + 1) * 45_000].write_parquet(part)
    one, other, lazily = (tmp_path / f"{name}.parquet" for name in ("one", "other", "lazily"))
    write_parquet(rows, one, ABOUT)
    write_parquet(rows, other, ABOUT)
    write_parquet(pl.scan_parquet(parts), lazily, ABOUT)
    assert one.read_bytes() == other.read_bytes()
    assert pl.read_parquet(lazily).equals(rows)
    sizes = [
        [found.row_group(at).num_rows for at in range(found.num_row_groups)]
        for found in map(pq.read_metadata, (one, lazily))
    ]
    assert sizes == [[131_072, 131_072, 37_856]] * 2
    assert one.read_bytes() == lazily.read_bytes()
