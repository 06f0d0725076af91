"""Places that users name: followed, looked at, and refused before any work is done."""

from __future__ import annotations

import io
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from rankframe.core.errors import OutputError
from rankframe.core.options import reached_with
from rankframe.io.output_paths import (
    cannot_write,
    descriptor,
    file_place,
    in_place,
    place,
    refuse_inputs,
    refuse_taken,
    safe_names,
)
from rankframe.io.remote import Remote, is_address

FILES = ("summary.parquet", "ledger.parquet")


@pytest.mark.parametrize(
    "given",
    [
        "https://x.org/a.csv",
        Path("hf://datasets/a"),
        "s3://",
        "duckdb:shop.db#x",
        "postgresql://ann:word@host/shop#x",
    ],
)
def test_what_nothing_is_written_to_is_refused(given: str | Path, refusal) -> None:
    refusal(place, given)
    with pytest.raises(OutputError):
        file_place(given)


@pytest.mark.parametrize("given", ["s3://shop/x", Path("s3://shop/x"), "s3:/shop/x/"])
def test_an_address_is_a_place(given: str | Path, s3_environment: Any) -> None:
    found = place(given)
    assert isinstance(found, Remote)
    assert str(found) == "s3://shop/x"
    assert file_place(given) == found
    assert not in_place(found)


def test_addresses_of_inputs_are_refused(s3_environment: Any, refusal) -> None:
    s3_environment.put("places/in/a.parquet", b"x")
    inputs = ["s3://shop/places/in/a.parquet", "s3://shop/places/in"]
    for target in ("s3://shop/places/in/a.parquet", "s3://shop/places/in/b.parquet"):
        refusal(refuse_inputs, target, inputs)
    refusal(refuse_inputs, "s3://shop/places", ["s3://shop/places/in"], folder=True)
    refuse_inputs("s3://shop/places/i", ["s3://shop/places/in", "s3x", None, {}], folder=True)
    refusal(file_place, "s3://shop/places")


def test_the_file_of_a_database_is_no_place_for_an_output(tmp_path: Path, refusal) -> None:
    (tmp_path / "shop.db").touch()
    refusal(refuse_inputs, tmp_path / "shop.db", [f"duckdb:{tmp_path}/shop.db#runs"])


def test_an_address_that_cannot_be_reached_is_said_to_be_so(s3_environment: Any, refusal) -> None:
    with reached_with({"endpoint_url": "http://127.0.0.1:9"}):
        refusal(refuse_taken, "s3://shop/x", FILES)


def test_what_only_looks_like_an_address_is_none(tmp_path: Path) -> None:
    assert place(tmp_path / "a:b" / "c").name == "c"
    assert not is_address("runs:2026/a")


def test_links_are_followed_also_to_what_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert place(tmp_path / "link") == tmp_path / "there"
    assert file_place(tmp_path / "link") == tmp_path / "there"


@pytest.mark.parametrize("given", ["", "a\0b", "a\udcff"])
def test_what_is_no_name_is_refused(given: str, refusal) -> None:
    refusal(place, given)


def test_places_for_no_file_are_refused(tmp_path: Path, refusal) -> None:
    refusal(file_place, tmp_path)
    refusal(file_place, tmp_path / "no" / "file")
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(tmp_path / "socket"))
        refusal(file_place, tmp_path / "socket")


def test_what_is_written_to_as_it_stands(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    (tmp_path / "null").symlink_to("/dev/null")
    assert in_place(tmp_path / "pipe")
    assert in_place(place(tmp_path / "null"))
    assert in_place(place("/dev/stdout"))
    assert not in_place(tmp_path / "file")
    assert not in_place(tmp_path / "none")


def test_open_files_are_known_by_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/dev/stdout")
    assert descriptor(tmp_path / "out") == 1
    assert descriptor(Path("/dev/fd/7")) == 7
    assert descriptor(Path(f"/proc/{os.getpid()}/fd/2")) == 2
    assert descriptor(Path("/proc/1/fd/2")) is None
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert descriptor(tmp_path / "round") is None


def test_a_folder_that_is_taken_is_refused(tmp_path: Path, refusal) -> None:
    target = tmp_path / "out"
    assert refuse_taken(target, FILES) == target
    target.mkdir()
    assert refuse_taken(target, FILES) == target
    (target / FILES[0]).touch()
    refusal(refuse_taken, target, FILES)
    assert refuse_taken(target, FILES, overwrite=True) == target
    (target / "notes.txt").touch()
    refusal(refuse_taken, target, FILES, overwrite=True)


def test_a_folder_called_like_a_file_of_a_result_is_none(tmp_path: Path, refusal) -> None:
    (tmp_path / "out" / "a.parquet").mkdir(parents=True)
    (tmp_path / "out" / "a.parquet" / "precious").touch()
    refusal(refuse_taken, tmp_path / "out", {"a.parquet"}, overwrite=True)


def test_a_folder_of_results_may_hold_others_but_nothing_else(tmp_path: Path, refusal) -> None:
    assert refuse_taken(tmp_path, FILES, results=["a", "b"]) == tmp_path
    for name, file in (("a", FILES[0]), ("local", FILES[1]), ("spark", "summary")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).touch()
    assert refuse_taken(tmp_path, FILES, results=["b"]) == tmp_path
    refusal(refuse_taken, tmp_path, FILES, results=["a", "b"])
    assert refuse_taken(tmp_path, FILES, results=["a", "b"], overwrite=True) == tmp_path
    (tmp_path / "qrels.parquet").touch()
    refusal(refuse_taken, tmp_path, FILES, results=["b"], overwrite=True)
    refusal(refuse_taken, tmp_path / "qrels.parquet", FILES, results=["b"])


def test_an_output_that_is_an_input_is_refused_under_any_name(tmp_path: Path, refusal) -> None:
    given = tmp_path / "q.parquet"
    given.touch()
    (tmp_path / "hard").hardlink_to(given)
    (tmp_path / "soft").symlink_to(given)
    for name in ("q.parquet", "hard", "soft", f"../{tmp_path.name}/q.parquet"):
        for source in (given, str(tmp_path / "*.parquet"), str(tmp_path / "soft")):
            refusal(refuse_inputs, tmp_path / name, ["other", source])
    with given.open("rb") as piped:
        refusal(refuse_inputs, given, [piped])
    refuse_inputs(tmp_path / "out", [given, "-", None, {}, io.BytesIO(), "s3://b/x", "none*"])
    refuse_inputs("/dev/null", ["/dev/null"])
    refuse_inputs(None, [given])


def test_an_output_within_an_input_or_around_one_is_refused(tmp_path: Path, refusal) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.parquet").touch()
    refusal(refuse_inputs, tmp_path / "runs" / "sub" / "out.csv", [tmp_path / "runs"])
    refusal(refuse_inputs, tmp_path / "runs", [tmp_path / "runs" / "a.parquet"], folder=True)
    refuse_inputs(tmp_path / "runs2", [tmp_path / "runs"], folder=True)


@pytest.mark.parametrize(
    "names",
    [
        ["a/run", "b/run"],
        ["../../etc/passwd", "/etc/passwd", "..", ".", "", " ", "...", "./..", "\\..\\x"],
        ["a\0b", "a\nb", "\x1b[31m", "\u2028", "\udcff", "x" * 300, "x" * 301, "é" * 200],
        ["Run", "run", "RUN", "run-2"],
        [".rankframe-x", ".hidden"],
    ],
)
def test_names_become_distinct_names_of_files_right_there(names: list[str], tmp_path: Path) -> None:
    safe = safe_names(names)
    assert len({name.casefold() for name in safe}) == len(names)
    for name in safe:
        (tmp_path / name).mkdir()
        assert not name.startswith(".")
        assert (tmp_path / name).resolve().parent == tmp_path.resolve()
    assert len(list(tmp_path.iterdir())) == len(names)


def test_names_that_are_safe_stay() -> None:
    names = ["bm25", "dense (2)", "hybrid_v2.1", "システム", "a b"]
    assert safe_names(names) == names


def test_a_failed_write_is_said_in_the_words_of_the_system(message) -> None:
    by_polars = RuntimeError("parquet: underlying IO error: File too large (os error 27)")
    message(str(cannot_write("x", by_polars)))
    message(str(cannot_write("x", OSError(28, "?"))))
    assert str(cannot_write("x", OSError("odd"))) == "cannot write x: odd."


def test_a_name_that_is_too_long_is_refused_before_the_work(tmp_path: Path, refusal) -> None:
    refusal(file_place, tmp_path / f"{'x' * 300}.csv")
