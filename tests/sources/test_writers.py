"""Frames into files: by their endings, plain or gzipped, whole or not at all."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from rankframe.inputs.scan import scan
from rankframe.sources.formats import FORMATS, Format
from rankframe.sources.writers import format_of, write_frame

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
        frame = scan(target, "run").frame.select(RUN.columns).collect()
        assert frame.rows() == RUN.rows()
    else:
        assert refusal(format_of, target).startswith(f"cannot tell the format of {target}")


def test_places_that_are_none_are_refused(tmp_path: Path, refusal) -> None:
    (tmp_path / "x.csv").mkdir()
    assert refusal(write_frame, RUN, tmp_path / "x.csv").endswith("it is a folder.")
    assert "there is no folder" in refusal(write_frame, RUN, tmp_path / "no" / "x.csv")


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
    said = refusal(write_frame, RUN, tmp_path / name)
    assert said.startswith(f"cannot tell the format of {tmp_path / name} from its ending. ")
    assert not list(tmp_path.iterdir())


def test_a_frame_that_cannot_be_written_leaves_what_was_there(tmp_path: Path, refusal) -> None:
    target = tmp_path / "x.csv"
    target.write_text("old")
    nested = RUN.with_columns(score=pl.concat_list("score", "rank"))
    with pytest.raises(Exception, match="nested"):
        write_frame(nested, target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
