"""Old and new change places in one step, or recoverably in two."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rankframe.io import outputs
from rankframe.io.outputs import like_the_old, on_disk, put_file, put_folder, restore


def folder(path: Path, text: str) -> Path:
    path.mkdir(parents=True)
    (path / "file").write_text(text)
    return path


def unable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that cannot exchange."""
    monkeypatch.setattr(outputs, "_renameat2", lambda: None)


@pytest.mark.parametrize("able", [True, False])
def test_a_folder_takes_the_place_of_another(
    able: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not able:
        unable(monkeypatch)
    old, new = folder(tmp_path / "out", "old"), folder(tmp_path / "s" / "new" / "out", "new")
    aside = tmp_path / "s" / "old" / "out"
    put_folder(new, old, aside)
    assert (old / "file").read_text() == "new"
    assert ((new if able else aside) / "file").read_text() == "old"


def test_a_folder_is_put_where_there_is_none_or_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("none", "empty"):
        put_folder(folder(tmp_path / "s" / name, "new"), tmp_path / name, tmp_path / "aside")
        assert (tmp_path / name / "file").read_text() == "new"


def test_what_fails_on_the_way_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unable(monkeypatch)
    old = folder(tmp_path / "out", "old")
    with pytest.raises(FileNotFoundError):
        put_folder(tmp_path / "none", old, tmp_path / "s" / "out")
    assert (old / "file").read_text() == "old"


def test_what_was_set_aside_is_put_back_unless_there_is_another(tmp_path: Path) -> None:
    aside = folder(tmp_path / "aside", "old")
    restore(aside, tmp_path / "out")
    assert (tmp_path / "out" / "file").read_text() == "old"
    restore(folder(aside, "older"), tmp_path / "out")
    assert (tmp_path / "out" / "file").read_text() == "old"


def test_files_and_folders_are_written_out_before_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    real = os.fsync

    def fsync(number: int) -> None:
        done.append(str(Path(f"/proc/self/fd/{number}").readlink()).removeprefix(f"{tmp_path}/"))
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    put_folder(folder(tmp_path / "s", "new"), tmp_path / "out", tmp_path / "aside")
    (tmp_path / "fresh").write_text("x")
    put_file(tmp_path / "fresh", tmp_path / "file")
    assert done == ["s/file", "s", str(tmp_path), "fresh", str(tmp_path)]


@pytest.mark.parametrize(("number", "raises"), [(22, False), (5, True), (28, True)])
def test_only_a_disk_that_cannot_write_out_is_forgiven(
    number: int, raises: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fails)
    if raises:
        with pytest.raises(OSError, match=os.strerror(number)):
            on_disk(tmp_path)
    else:
        on_disk(tmp_path)


def test_modes_stay(tmp_path: Path) -> None:
    old, new = folder(tmp_path / "old", "old"), folder(tmp_path / "new", "new")
    old.chmod(0o750)
    (old / "file").chmod(0o600)
    (new / "other").touch(mode=0o644)
    like_the_old(new, old)
    assert new.stat().st_mode & 0o777 == 0o750
    assert (new / "file").stat().st_mode & 0o777 == 0o600
    assert (new / "other").stat().st_mode & 0o777 == 0o644


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_owners_stay(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).touch()
    os.chown(tmp_path / "old", 1234, 2345)
    like_the_old(tmp_path / "new", tmp_path / "old")
    assert ((tmp_path / "new").stat().st_uid, (tmp_path / "new").stat().st_gid) == (1234, 2345)
