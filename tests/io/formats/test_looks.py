"""A file that is none of the formats is called what it is."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.io.formats.registry import refuse_other

RUN = pl.DataFrame({"query_id": ["q1"] * 9, "doc_id": list("abcdefghi"), "score": [1.0] * 9})
CSV = RUN.write_csv()
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


def saved(save, *args: object) -> bytes:
    file = io.BytesIO()
    save(file, *args)
    return file.getvalue()


def zipped(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, CSV)
    return file.getvalue()


LOOKS = {
    "a zip archive": zipped("run.csv"),
    "an Excel workbook": zipped("[Content_Types].xml"),
    "an old Excel": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99),
    "a Python pickle": pickle.dumps({"q1": {"a": 1.0}}),
    "a Python pickle ": pickle.dumps([1, 2], protocol=2),
    "an array of numpy": saved(np.save, np.eye(3)),
    "an HDF5 file": b"\x89HDF\r\n\x1a\n" + bytes(99),
    "an ORC file": b"ORC" + bytes(99),
    "an Avro file": saved(RUN.write_avro),
    "a SQLite database": b"SQLite format 3\x00" + bytes(99),
    "a DuckDB database": bytes(8) + b"DUCK" + bytes(99),
    "an HTML page": b"<!DOCTYPE html>\n<html><body>404, not, found</body></html>",
    "an HTML page ": b"\n<HTML><head><title>Sign in, please</title>",
    "an XML document": b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
    "a pointer of Git LFS": LFS.encode(),
    "UTF-16 text": CSV.encode("utf-16"),
    "UTF-16LE text": CSV.encode("utf-16-le"),
    "UTF-16BE text": CSV.encode("utf-16-be"),
    "UTF-32 text": CSV.encode("utf-32"),
    "xz compression": b"\xfd7zXZ\x00" + bytes(99),
    "a tar archive": bytes(257) + b"ustar" + bytes(99),
    "a PDF document": b"%PDF-1.7\n",
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(99),
}


@pytest.mark.parametrize("kind", LOOKS)
@pytest.mark.parametrize("name", ["run.csv", "run.parquet", "-"])
def test_a_file_is_called_what_it_looks_like(kind: str, name: str, tmp_path: Path, refusal) -> None:
    source = io.BytesIO(LOOKS[kind])
    if name != "-":
        source = tmp_path / name
        source.write_bytes(LOOKS[kind])
    said = refusal(rf.evaluate, {"q1": {"a": 1}}, source, "map")
    assert "\n" not in said
    assert len(said) < 400


def test_it_is_seen_inside_of_a_packed_file(tmp_path: Path, refusal) -> None:
    (tmp_path / "run.csv.gz").write_bytes(gzip.compress(LFS.encode()))
    refusal(rf.evaluate, {"q1": {"a": 1}}, tmp_path / "run.csv.gz", "map")


@pytest.mark.parametrize(
    "text",
    [
        CSV,
        "q1 Q0 a 1 1 t\n",
        '{"query_id": 1}\n',
        "[1]",
        "ORCA,1\n",
        "q1\ta\t1\n",
        "",
        "a",
        "é,ü\n",
    ],
)
def test_text_looks_like_nothing_else(text: str) -> None:
    refuse_other(text.encode(), "text")
