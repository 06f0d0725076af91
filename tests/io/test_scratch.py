"""Temporary folders: known by their locks, so that nothing of anybody else is ever removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankframe.core.errors import OutputError
from rankframe.io.scratch import (
    LOCK,
    KeptFolder,
    locked_folder,
    remove_live,
    room_for,
    scratch_folder,
    sweep,
)

START = "rankframe-scratch-"
NAME = f"{START}{'0123456789abcdef' * 2}"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, set_scratch) -> Path:
    set_scratch(tmp_path)
    return tmp_path


def left_by_a_dead_process(parent: Path, name: str = NAME) -> Path:
    folder = parent / name
    (folder / "run" / "_bucket=0").mkdir(parents=True)
    (folder / "run" / "_bucket=0" / "0.parquet").write_text("half")
    (folder / LOCK).touch()
    return folder


def test_it_is_gone_afterwards(tmp_path: Path) -> None:
    with scratch_folder() as folder:
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "run").mkdir()
        (folder / "run" / "part").write_text("x")
    assert not any(tmp_path.iterdir())


def test_what_a_dead_process_left_is_removed(tmp_path: Path) -> None:
    left_by_a_dead_process(tmp_path)
    with scratch_folder() as folder:
        assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    "name",
    [
        "rankframe-2026-results",
        "rankframe-999999999-abcd1234",
        "rankframe-scratch-notes",
        f"{NAME}0",
        f"old-{NAME}",
    ],
)
def test_folders_of_users_are_left_alone(name: str, tmp_path: Path) -> None:
    folder = left_by_a_dead_process(tmp_path, name)
    with scratch_folder():
        pass
    assert (folder / "run" / "_bucket=0" / "0.parquet").read_text() == "half"


def test_a_folder_without_a_lock_file_is_no_ones_to_remove(tmp_path: Path) -> None:
    folder = left_by_a_dead_process(tmp_path)
    (folder / LOCK).unlink()
    (tmp_path / f"{START}{'0' * 32}").mkdir()  # its process was killed before it had a lock
    with scratch_folder() as own:
        assert sorted(tmp_path.iterdir()) == sorted([folder, own])


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = left_by_a_dead_process(tmp_path, "mine")
    (tmp_path / NAME).symlink_to(elsewhere)
    with scratch_folder():
        pass
    assert (elsewhere / "run").is_dir()


_HOLDER = """
import sys, tempfile
from rankframe.io.scratch import scratch_folder
tempfile.tempdir = sys.argv[1]
with scratch_folder() as folder:
    (folder / "part").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_a_living_process_holds_until_it_is_killed(tmp_path: Path) -> None:
    # Whatever its number is: in another container, it would be no process here.
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        with scratch_folder():
            assert (theirs / "part").read_text() == "x"
        other.kill()
        other.wait()
        assert theirs.exists()
        with scratch_folder():
            assert not theirs.exists()


def test_a_disk_without_locks_keeps_what_may_be_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with scratch_folder() as folder:
        with scratch_folder():
            assert folder.exists()
        monkeypatch.undo()  # another machine may have locks
        sweep(tmp_path, START)
        assert folder.exists()
    assert not folder.exists()


def test_a_fork_leaves_the_folder_to_its_parent(tmp_path: Path) -> None:
    code = f"""
import os, tempfile
from rankframe.io.scratch import scratch_folder
tempfile.tempdir = {str(tmp_path)!r}
with scratch_folder() as folder:
    if child := os.fork():
        os.waitpid(child, 0)
        assert folder.exists()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not any(tmp_path.iterdir())


def test_all_of_a_process_is_removed_when_it_must_end(tmp_path: Path) -> None:
    with scratch_folder(), locked_folder(tmp_path, ".rankframe-"):
        assert len(list(tmp_path.iterdir())) == 2
        remove_live()
        assert not any(tmp_path.iterdir())


def test_no_place_for_temporary_files_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_scratch, message
) -> None:
    set_scratch(tmp_path / "none")
    monkeypatch.setitem(os.environ, "TMPDIR", str(tmp_path / "none"))
    with pytest.raises(OutputError) as caught, scratch_folder():
        pass
    message(str(caught.value))


def test_only_a_full_disk_is_called_full(tmp_path: Path, message) -> None:
    with pytest.raises(OutputError) as full, room_for(tmp_path / "scratch"):
        raise OSError(28, "No space left on device")
    message(str(full.value))
    with pytest.raises(PermissionError), room_for(tmp_path):
        raise PermissionError(13, "Permission denied")


def test_a_kept_folder_goes_with_its_last_holder(tmp_path: Path, set_scratch) -> None:
    set_scratch(tmp_path)
    folder = KeptFolder()
    (folder.path / "rows.parquet").touch()
    also = folder
    del folder
    assert also.path.exists()
    path = also.path
    del also
    assert not path.exists()
    assert not any(tmp_path.iterdir())
