"""Temporary names: complete or not there at all, and cleaned up after a process that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.base.errors import OutputError
from rankframe.base.places import beside, write_file

_DEAD = "999999999-0000abcd"


def result() -> rf.Result:
    return rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map")


def test_what_a_killed_process_left_beside_the_target_is_removed(tmp_path: Path) -> None:
    (tmp_path / f".out.{_DEAD}.tmp").mkdir()
    (tmp_path / f".out.{_DEAD}.tmp" / "summary.parquet").write_text("half")
    living = tmp_path / f".out.{os.getpid()}-0000abcd.tmp"
    living.mkdir()
    other = tmp_path / f".other.{_DEAD}.tmp"
    other.mkdir()
    result().write(tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "out", living, other])


def test_a_name_with_brackets_is_taken_literally(tmp_path: Path) -> None:
    stale = tmp_path / f".o[1].csv.{_DEAD}.tmp"
    stale.write_text("half")
    beside(tmp_path / "o[1].csv")
    assert not stale.exists()


def test_a_file_that_cannot_be_completed_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")

    def fails(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left on device"):
        write_file(target, fails)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


_WRITER = """
import sys, time
import polars as pl
import rankframe as rf
result = rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map")
real = pl.DataFrame.write_parquet
def slow(self, path, **options):
    real(self, path, **options)
    print("wrote", flush=True)
    time.sleep(60)
pl.DataFrame.write_parquet = slow
result.write(sys.argv[1], overwrite=True)
"""


def test_a_result_whose_writer_is_killed_is_the_old_one_or_none(tmp_path: Path) -> None:
    for existing in (False, True):
        target = tmp_path / f"out{existing}"
        if existing:
            result().write(target)
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(target)], stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"wrote\n"
            child.send_signal(signal.SIGKILL)
        assert target.exists() == existing
        result().write(target, overwrite=True)
        assert rf.Result.read(target).means == {"map": 1.0}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["outFalse", "outTrue"]
    assert pl.read_parquet(tmp_path / "outTrue" / "summary.parquet").height == 1
