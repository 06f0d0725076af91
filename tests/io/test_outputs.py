"""Outputs: complete or not there at all, whoever is killed, and whoever else writes there."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rankframe.core.errors import OutputError
from rankframe.io import outputs
from rankframe.io.outputs import fresh_folder, recover, write_file

FILES = ("one", "two")


def write(target: Path, text: str, *, overwrite: bool = False) -> None:
    with fresh_folder(target, FILES, overwrite=overwrite) as fresh:
        for name in FILES:
            (fresh / name).write_text(text)


def read(target: Path) -> list[str]:
    return [(target / name).read_text() for name in FILES]


def test_a_folder_is_there_when_it_is_complete(tmp_path: Path, refusal) -> None:
    target = tmp_path / "deep" / "down" / "out"
    write(target, "old")
    assert target.stat().st_mode & 0o777 == 0o777 & ~_umask()
    refusal(write, target, "new")
    write(target, "new", overwrite=True)
    assert read(target) == ["new", "new"]
    assert [p.name for p in target.parent.iterdir()] == ["out"]


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


@contextmanager
def interrupted() -> Iterator[None]:
    yield
    raise KeyboardInterrupt


def test_an_error_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    for target in (tmp_path / "out", tmp_path / "new" / "deep"):
        with (
            pytest.raises(KeyboardInterrupt),
            fresh_folder(target, FILES, overwrite=True) as fresh,
            interrupted(),
        ):
            (fresh / "one").write_text("half")
    assert read(tmp_path / "out") == ["old", "old"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("number", [27, 28, 122])
def test_a_disk_that_is_full_is_said(number: int, tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    with (
        pytest.raises(OutputError, match=os.strerror(number)),
        fresh_folder(tmp_path / "out", FILES, overwrite=True),
    ):
        raise RuntimeError(f"polars says: ? (os error {number})")
    assert read(tmp_path / "out") == ["old", "old"]


def test_errors_name_the_place_that_was_asked_for(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError) as caught,
        fresh_folder(tmp_path / "out", FILES, results=["a"]) as fresh,
        fresh_folder(fresh / "a", FILES),
    ):
        raise OSError(28, "?")
    said = f"cannot write {tmp_path}/out/a: No space left on device."
    assert str(caught.value) == said


def test_what_somebody_put_there_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    with (
        pytest.raises(OutputError),
        fresh_folder(tmp_path / "out", FILES, overwrite=True),
    ):
        (tmp_path / "out" / "notes.txt").write_text("mine")
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
    with (
        pytest.raises(OutputError),
        fresh_folder(tmp_path / "other", FILES),
    ):
        write(tmp_path / "other", "theirs")
    assert read(tmp_path / "other") == ["theirs", "theirs"]


def test_modes_and_links_stay(tmp_path: Path) -> None:
    write(tmp_path / "real", "old")
    (tmp_path / "real").chmod(0o700)
    (tmp_path / "real" / "one").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", "new", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert read(tmp_path / "real") == ["new", "new"]
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "real" / "one").stat().st_mode & 0o777 == 0o600


def test_several_folders_come_together_beside_those_that_are_there(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(target / "c", "old")
    before = (target / "c" / "one").stat().st_ino
    with (
        pytest.raises(KeyboardInterrupt),
        fresh_folder(target, FILES, results=["a", "b"]) as fresh,
        interrupted(),
    ):
        write(fresh / "a", "new")
    assert [p.name for p in target.iterdir()] == ["c"]
    with fresh_folder(target, FILES, results=["a", "b"]) as fresh:
        for name in "ab":
            write(fresh / name, "new")
        assert [p.name for p in target.iterdir()] == ["c"]
        write(target / "d", "meanwhile")
    assert sorted(p.name for p in target.iterdir()) == ["a", "b", "c", "d"]
    assert read(target / "d") == ["meanwhile", "meanwhile"]
    assert (target / "c" / "one").stat().st_ino == before  # linked, not copied
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_others_are_copied_where_there_are_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    write(tmp_path / "out" / "c", "old")
    monkeypatch.setattr(os, "link", refuse)
    with fresh_folder(tmp_path / "out", FILES, results=["a"]) as fresh:
        write(fresh / "a", "new")
    assert read(tmp_path / "out" / "c") == ["old", "old"]


_KILLED = """
import os, sys
from pathlib import Path
from rankframe.io import outputs
from rankframe.io.outputs import fresh_folder
outputs._renameat2 = lambda: None
real = Path.rename
def rename(self, target):
    real(self, target)
    if "old" in Path(target).parts:
        os.kill(os.getpid(), 9)
Path.rename = rename
with fresh_folder(sys.argv[1], ("one", "two"), overwrite=True) as fresh:
    (fresh / "one").write_text("new")
"""


@pytest.mark.parametrize("who", ["the next writer", "another writer", "a reader"])
def test_what_was_set_aside_by_a_killed_process_is_put_back(
    who: str, tmp_path: Path, refusal
) -> None:
    target = tmp_path / "out"
    write(target, "old")
    assert subprocess.run([sys.executable, "-c", _KILLED, str(target)], check=False).returncode < 0
    assert not target.exists()
    if who == "the next writer":
        refusal(write, target, "new")
    elif who == "another writer":
        write_file(tmp_path / "file", lambda path: path.write_text("x"))
        (tmp_path / "file").unlink()
    else:
        recover(target)
    assert read(target) == ["old", "old"]
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_that_cannot_be_completed_leaves_the_old_one(tmp_path: Path, refusal) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")

    def fails(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    refusal(write_file, target, fails)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_keeps_its_mode_and_links_lead_to_it(tmp_path: Path) -> None:
    target, link = tmp_path / "out.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to("out.csv")
    write_file(link, lambda path: path.write_text("new"))
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o600
    write_file(tmp_path / "fresh.csv", lambda path: path.write_text("new"))
    assert (tmp_path / "fresh.csv").stat().st_mode & 0o777 == 0o666 & ~_umask()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any file")
def test_a_file_that_must_not_be_written_is_not_replaced(tmp_path: Path, refusal) -> None:
    (tmp_path / "out.csv").touch(mode=0o444)
    refusal(write_file, tmp_path / "out.csv", lambda path: path.write_text("new"))


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, lambda path: path.write_bytes(b"x" * 1_000_000))
    reader.join()
    assert got == [b"x" * 1_000_000]
    assert pipe.is_fifo()


def test_devices_are_written_to_and_stay_devices(tmp_path: Path, refusal) -> None:
    # As root, a rename would make a file of it: a link to it is as good, and nothing is lost.
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "full").symlink_to("/dev/full")
    before = Path("/dev/null").stat().st_ino
    write_file(tmp_path / "null", lambda path: path.write_text("x"))
    assert Path("/dev/null").stat().st_ino == before
    assert Path("/dev/null").is_char_device()
    refusal(write_file, tmp_path / "full", lambda path: path.write_text("x"))


def test_an_open_file_is_written_on(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        file.write("before\n")
        file.flush()
        write_file(f"/dev/fd/{file.fileno()}", lambda path: path.write_text("new\n"))
        file.write("after\n")
    assert (tmp_path / "log").read_text() == "before\nnew\nafter\n"


def test_names_of_any_length_and_kind(tmp_path: Path) -> None:
    for name in ("x" * 255, "o[1]*?.csv", "new", "old", "rankframe.lock", "-n", "ü\nz"):
        write_file(tmp_path / name, lambda path: path.write_text("x"))
        assert (tmp_path / name).read_text() == "x"
        (tmp_path / name).unlink()
        write(tmp_path / name, "x")
        write(tmp_path / name, "y", overwrite=True)
        assert read(tmp_path / name) == ["y", "y"]
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".rankframe-")]


@pytest.mark.parametrize("able", [True, False])
def test_many_writers_and_one_target(
    able: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not able:
        monkeypatch.setattr(outputs, "_renameat2", lambda: None)
    target = tmp_path / "out"
    write(target, "0")
    threads = [
        threading.Thread(target=write, args=(target, str(n)), kwargs={"overwrite": True})
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one, two = read(target)
    assert one == two
    assert list(tmp_path.iterdir()) == [target]


RESULT = ("ledger.parquet", "values.parquet", "slices.parquet")


def send(folder: str, names: tuple[str, ...], text: str, *, overwrite: bool = False) -> None:
    with fresh_folder(folder, RESULT, overwrite=overwrite) as fresh:
        for name in names:
            (fresh / name).write_text(text)


def test_a_folder_at_an_address(s3_environment: Any, refusal) -> None:
    s3, target = s3_environment, "s3://shop/outputs/result"
    send(target, RESULT, "old")
    refusal(send, target, RESULT, "new")
    s3.asked.clear()
    send(target, RESULT[:2], "new", overwrite=True)
    assert s3.keys("outputs/result") == ["ledger.parquet", "values.parquet"]
    assert s3.read("outputs/result/values.parquet") == b"new"
    # The old ledger goes before anything else changes, the new one comes after all else.
    changes = [
        (method, path.split("?")[0].rsplit("/", 1)[1])
        for method, path, _ in s3.asked
        if method == "DELETE" or (method == "POST" and "uploadId" in path) or (
            method == "PUT" and "partNumber" not in path)
    ]  # fmt: skip
    assert changes[0] == ("DELETE", "ledger.parquet")
    assert [name for method, name in changes if method != "DELETE" and "." in name][-1] == (
        "ledger.parquet"
    )


def test_an_old_result_stays_where_a_new_one_fails_before_it_is_sent(
    s3_environment: Any, refusal
) -> None:
    target = "s3://shop/outputs/kept"
    send(target, RESULT, "old")

    def fail() -> None:
        with fresh_folder(target, RESULT, overwrite=True) as fresh:
            (fresh / "values.parquet").write_text("new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert s3_environment.read("outputs/kept/values.parquet") == b"old"
    refusal(send, "s3://shop/outputs", RESULT, "new", overwrite=True)


def test_folders_at_an_address_leave_others_alone(s3_environment: Any) -> None:
    for names, text in ((("a", "b"), "old"), (("b", "c"), "new")):
        with fresh_folder("s3://shop/many", RESULT, results=names, overwrite=True) as fresh:
            for name in names:
                (fresh / name).mkdir()
                (fresh / name / "ledger.parquet").write_text(text)
    found = {key: s3_environment.read(f"many/{key}") for key in s3_environment.keys("many")}
    assert found == {
        "a/ledger.parquet": b"old", "b/ledger.parquet": b"new", "c/ledger.parquet": b"new",
    }  # fmt: skip


def test_a_file_at_an_address(s3_environment: Any, refusal) -> None:
    for text in ("old", "new"):
        write_file("s3://shop/outputs/x.csv", lambda path, text=text: path.write_text(text))
    assert s3_environment.read("outputs/x.csv") == b"new"

    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    refusal(write_file, "s3://shop/outputs/x.csv", fail)
    assert s3_environment.read("outputs/x.csv") == b"new"
    refusal(write_file, "s3://nowhere/x", lambda path: path.write_text("x"))
