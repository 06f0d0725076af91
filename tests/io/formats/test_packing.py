"""Compression is known by how a file begins, undone within bounds, and done by the ending."""

from __future__ import annotations

import bz2
import gzip
import io
from pathlib import Path

import pyarrow as pa
import pytest

import rankframe as rf
from rankframe.io.formats import packing
from rankframe.io.formats.packing import (
    PACKINGS,
    Packing,
    bare_name,
    beginning_of,
    by_name,
    opened,
    packing_of,
    unpacked,
    without_packing,
)
from rankframe.io.formats.registry import READ_ERRORS

TEXT = b"q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.0 t\n" * 500


def zstd(content: bytes) -> bytes:
    return pa.compress(content, codec="zstd", asbytes=True)


PACK = {"gzip": gzip.compress, "zstd": zstd, "bzip2": bz2.compress}
EVERY = pytest.mark.parametrize("way", PACKINGS, ids=lambda one: one.name)


@EVERY
def test_what_is_packed_is_unpacked(way: Packing, tmp_path: Path) -> None:
    packed = PACK[way.name](TEXT)
    path = tmp_path / "x"
    path.write_bytes(packed)
    assert packing_of(packed) is way
    assert unpacked(packed, "it").getvalue() == TEXT
    assert beginning_of(str(path), 15).head == TEXT[:15]
    with opened(str(path)) as file:
        assert next(iter(file)) == TEXT[:16]
        assert file.read() == TEXT[16:]


@EVERY
def test_what_is_written_is_read_and_the_same_every_time(way: Packing, tmp_path: Path) -> None:
    paths = [tmp_path / f"{at}{way.ending}" for at in range(2)]
    for path in paths:
        with path.open("wb") as raw, way.write(raw) as file:
            file.write(TEXT)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert unpacked(paths[0].read_bytes(), "it").getvalue() == TEXT
    assert by_name(paths[0]) is way


@EVERY
def test_several_packed_one_after_the_other_are_one(way: Packing) -> None:
    pack = PACK[way.name]
    assert unpacked(pack(TEXT) + pack(b"more\n"), "it").getvalue() == TEXT + b"more\n"


@EVERY
@pytest.mark.parametrize("name", ["run.trec", "run.csv", "run.jsonl", "run"])
def test_what_is_cut_short_or_damaged_is_refused(
    way: Packing, name: str, tmp_path: Path, refusal
) -> None:
    packed = PACK[way.name](b"query_id,doc_id,score\n" + TEXT)
    path = tmp_path / f"{name}{way.ending}"
    for content in (packed[:-4], packed[: len(packed) // 2], packed[:5]):
        with pytest.raises(READ_ERRORS):
            unpacked(content, "it")
        path.write_bytes(content)
        for source in (path, io.BytesIO(content)):
            said = refusal(rf.evaluate, {"q1": {"a": 1}}, source, "map")
            assert "\n" not in said


@EVERY
def test_what_grows_without_end_is_refused(
    way: Packing, tmp_path: Path, refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_MOST_UNPACKED", 1 << 20)
    monkeypatch.setattr(packing, "STEP", 1 << 20)
    bomb = PACK[way.name](bytes(1 << 23))
    refusal(unpacked, bomb, "it")
    (tmp_path / "x").write_bytes(bomb)
    refusal(without_packing, [str(tmp_path / "x")], ())


def test_readers_get_paths_as_long_as_they_know_the_packing(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("1", "2")]
    Path(paths[0]).write_bytes(TEXT)
    Path(paths[1]).write_bytes(gzip.compress(TEXT))
    assert without_packing(paths) == paths
    held = without_packing(paths, ())
    assert [isinstance(one, io.BytesIO) and one.getvalue() for one in held] == [TEXT, TEXT]


@pytest.mark.parametrize("ending", ["", ".gz", ".zst", ".bz2", ".BZ2"])
def test_a_name_without_its_packing(ending: str) -> None:
    assert bare_name(f"some/run.bm25.trec{ending}") == "run.bm25.trec"


@pytest.mark.parametrize("command", ["trec_eval", "evaluate"])
@EVERY
def test_globs_and_the_drop_in_read_it_too(
    way: Packing, command: str, tmp_path: Path, capsys, monkeypatch
) -> None:
    from rankframe.cli import main

    pack = PACK[way.name]
    (tmp_path / "qrels").write_bytes(pack(b"q1 0 a 1\nq2 0 b 1\n"))
    for query, doc in (("q1", "a"), ("q2", "b")):
        (tmp_path / f"{query}.run{way.ending}").write_bytes(pack(b"%b Q0 %b 1 1 tag\n" % (
            query.encode(), doc.encode())))  # fmt: skip
    measure = ["-m", "map"]
    given = [str(tmp_path / "qrels"), str(tmp_path / f"*.run{way.ending}")]
    monkeypatch.setattr("sys.argv", ["rankframe", command, *measure, *given])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "1.0000" in capsys.readouterr().out
