"""Every format is read by its endings, by its beginning and from a stream, and written."""

from __future__ import annotations

import bz2
import gzip
import io
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather

import rankframe as rf
from rankframe.io.formats.packing import PACKINGS, Packing, beginning_of, packing_of
from rankframe.io.formats.registry import (
    BINARY,
    FORMATS,
    TREC,
    Format,
    by_beginning,
    by_ending,
    recognise,
    unreadable,
)
from rankframe.io.opening import open_table
from rankframe.io.outputs import format_of, write_as

RUN = pl.DataFrame(
    {
        "query_id": ["q1", "q1", "007"],
        "doc_id": ["a", "b", "a"],
        "score": [2.5, 1.0, 1e-7],
        "rank": [1.0, 2.0, 1.0],
    }
)
EVERY = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
ENDINGS = [(form, ending) for form in FORMATS for ending in (*form.endings, *form.also)]


def zstd(content: bytes) -> bytes:
    return pa.compress(content, codec="zstd", asbytes=True)


def found(source: object, form: Format = TREC) -> list[tuple]:
    frame = open_table(source, "run").frame.select(held(form).columns).collect()
    return frame.rows()


def held(form: Format) -> pl.DataFrame:
    """What a format holds of the run."""
    return RUN.drop("rank") if form.name == "JSON" else RUN


@pytest.mark.parametrize(("form", "ending"), ENDINGS)
@pytest.mark.parametrize("packing", [None, *PACKINGS], ids=lambda one: one and one.name)
def test_a_format_is_written_and_read_by_its_endings(
    form: Format, ending: str, packing: Packing | None, tmp_path: Path, refusal
) -> None:
    target = tmp_path / f"RUN{ending.upper()}{packing.ending.upper() if packing else ''}"
    write_as(format_of(target, any_table=False), RUN, target)
    assert by_ending(target) is form
    assert packing_of(target.read_bytes()) is packing
    if packing and form in BINARY:
        refusal(open_table, target, "run")
    else:
        assert found(target, form) == held(form).rows()


@EVERY
def test_a_format_is_known_by_its_beginning(form: Format, tmp_path: Path) -> None:
    target = tmp_path / "without ending"
    form.write(RUN, target)
    assert by_beginning(beginning_of(str(target)).head) is form
    assert found(target, form) == held(form).rows()
    for pack in (bytes, gzip.compress, bz2.compress, zstd):
        assert found(io.BytesIO(pack(target.read_bytes())), form) == held(form).rows()


def test_no_ending_means_two_formats() -> None:
    endings = [ending for _, ending in ENDINGS]
    assert len(endings) == len(set(endings))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('# made today\n\n{"query_id": "q", "doc_id": "d", "score": 1}\n', "JSON Lines"),
        ('{ "a": 1, "b": 2 }\n', "JSON Lines"),
        ("q Q0 d 1 0.5 tag\n", "TREC text"),
        ("q\tQ0\td\t1\t0.5\ta,b\n", "TREC text"),
        ("q 0 d 1\n", "TREC text"),
        ("query_id\tdoc_id, as is\tscore\n", "TSV"),
        ("query_id;doc_id;score\n", "CSV"),
        ("\ufeffquery_id,doc_id,score\n", "CSV"),
    ],
)
def test_beginnings_that_could_be_others(text: str, name: str) -> None:
    known = by_beginning(text.encode())
    assert known is not None
    assert known.name == name


RUN_TEXT = "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.0 t\n007 Q0 a 1 1e-7 t\n"


@pytest.mark.parametrize(
    "name", ["x", "x.tsv", "x.csv", "x.jsonl", "x.bm25", "x.res", "x.out", "x.json", "x.tsv.gz"]
)
@pytest.mark.parametrize(
    "text",
    [
        RUN_TEXT,
        RUN_TEXT.replace(" ", "\t"),
        f"# made today\n{RUN_TEXT}",
        RUN_TEXT.replace(" t\n", " t of today\n"),
        RUN_TEXT.replace(" ", "\t").replace("t\n", "t\tof today\n"),
        RUN_TEXT.replace(" ", "\t  "),
    ],
    ids=["blanks", "tabs", "comment", "words", "tabs and words", "tabs and blanks"],
)
def test_trec_text_may_have_any_name(name: str, text: str, tmp_path: Path) -> None:
    content = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (tmp_path / name).write_bytes(content)
    assert recognise(str(tmp_path / name), beginning_of(str(tmp_path / name)), name) is TREC
    assert found(tmp_path / name) == RUN.rows()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", "query_id,doc_id,score of version 2\nq,d,1\n"),
        ("x.csv", "query_id;doc_id;score of version 2\nq;d;1\n"),
        ("x.tsv", "query_id\tdoc_id\tscore\t2 of 10\nq\td\t1\tx\n"),
        ("x.tsv", "query_id\tdoc_id\tscore 2\nq\td\t1\n"),
        ("x.jsonl", '{ "query_id": 1, "doc_id": 2 }\n'),
        ("x.parquet", "q 0 d 1\n"),
        ("x.tsv", "query_id\tdoc_id\tscore\trank\nq\td\t1\t1\n"),
    ],
)
def test_a_table_is_not_taken_for_trec_text(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert recognise(str(tmp_path / name), beginning_of(str(tmp_path / name)), name) is by_ending(
        name
    )


def test_semicolons_part_columns_too(tmp_path: Path) -> None:
    content = RUN.write_csv(separator=";")
    for name in ("x.csv", "x"):
        (tmp_path / name).write_text(content)
        assert found(tmp_path / name) == RUN.rows()
    assert found(io.StringIO(content)) == RUN.rows()


@pytest.mark.parametrize("name", ["x.arrow", "x.feather", "x", "x.csv", "x.parquet"])
def test_arrow_is_known_by_its_first_bytes(name: str, tmp_path: Path) -> None:
    table = RUN.with_columns(pl.col("query_id").cast(pl.Categorical)).to_arrow()
    feather.write_feather(table, tmp_path / name, compression="zstd")
    assert found(tmp_path / name) == RUN.rows()
    file = str(tmp_path / name)
    with pa.OSFile(file, "wb") as raw, pa.ipc.new_stream(raw, table.schema) as stream:
        stream.write_table(table)
    assert found(tmp_path / name) == RUN.rows()
    assert found(io.BytesIO((tmp_path / name).read_bytes())) == RUN.rows()


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_arrow_that_is_cut_short_is_refused(share: float, tmp_path: Path, refusal) -> None:
    for write in (RUN.write_ipc, RUN.write_ipc_stream):
        write(tmp_path / "x.arrow")
        content = (tmp_path / "x.arrow").read_bytes()
        (tmp_path / "x.arrow").write_bytes(content[: int(len(content) * share)])
        refusal(rf.evaluate, {"q1": {"a": 1}}, tmp_path / "x.arrow")


def test_text_called_parquet_is_called_what_it_is(tmp_path: Path, refusal) -> None:
    RUN.write_csv(tmp_path / "x.parquet")
    refusal(open_table, tmp_path / "x.parquet", "run")


def test_messages_list_the_formats(tmp_path: Path, refusal) -> None:
    strange = tmp_path / "x.xlsx"
    strange.write_bytes(b"PK nothing\n")
    refusal(open_table, strange, "run")
    refusal(format_of, strange)
    refusal(format_of, strange, any_table=False)


@pytest.mark.parametrize("held", [False, True], ids=["file", "stream"])
@pytest.mark.parametrize("name", ["run.csv", "run.tsv"])
def test_a_header_with_a_name_twice_is_refused(
    name: str, held: bool, tmp_path: Path, refusal
) -> None:
    """As a key that is twice in a line of JSON: whose values would count?"""
    mark = "," if name == "run.csv" else "\t"
    text = "query_id,doc_id,score,score\nq,a,1,2\n".replace(",", mark)
    path = tmp_path / name
    path.write_text(text)
    refusal(rf.evaluate, {"q": {"a": 1}}, io.BytesIO(text.encode()) if held else path)
    # a column may be called so
    path.write_text(text.replace(f"{mark}score\n", f"{mark}score_duplicated_0\n"))
    assert rf.evaluate({"q": {"a": 1}}, path, "mrr")["mrr"] == 1


def test_a_panic_of_polars_is_a_refusal(refusal) -> None:
    """Some damaged files lead polars where it does not know further; that is no `Exception`."""
    rows = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})

    def panics(_: pl.DataFrame) -> pl.DataFrame:
        raise pl.exceptions.PanicException("called `Result::unwrap()` on an `Err` value")

    damaged = rows.lazy().map_batches(panics, schema=rows.schema)
    for call, sides in ((rf.evaluate, 2), (rf.diff, 3), (rf.agree, 2)):
        renamed = damaged.rename({"score": "relevance"}) if call is not rf.agree else damaged
        refusal(call, renamed, *[damaged] * (sides - 1))


@pytest.mark.parametrize("advice", ["consider passing `x='insert'`", "Hint: set x", "hint: y"])
def test_advice_that_nobody_can_follow_is_left_out(advice: str, message) -> None:
    error = pl.exceptions.ColumnNotFoundError(f"did not find column score, {advice}")
    message(str(unreadable("x", error)))
