"""Calls of the command line, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankframe.cli import main

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "data" / "shop"
QRELS, BM25, DENSE = (SHOP / f"{name}.parquet" for name in ("qrels", "bm25", "dense"))
MAIN = "from rankframe.cli import main; main()"


def rankframe(*args: object, stdin: bytes = b"", width: int = 100) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a call."""
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *map(str, args)],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, "COLUMNS": str(width)},
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def ended(monkeypatch: pytest.MonkeyPatch, *args: object) -> object:
    """With which code a call ends, in this process."""
    monkeypatch.setattr(sys, "argv", ["rankframe", *map(str, args)])
    with pytest.raises(SystemExit) as found:
        main()
    return found.value.code


def refused(*args: object, stdin: bytes = b"") -> str:
    """The one line that a refused call prints."""
    code, out, err = rankframe(*args, stdin=stdin)
    assert (code, out) == (2, "")
    assert err.startswith("rankframe: ")
    assert err.count("\n") == 1
    return err


def stored_result(tmp_path: Path, run: Path, *metrics: str) -> Path:
    """The folder of the result of a run."""
    asked = [part for metric in metrics for part in ("-m", metric)]
    folder = tmp_path / run.stem
    assert rankframe("evaluate", QRELS, run, *asked, "-o", folder)[0] == 0
    return folder
