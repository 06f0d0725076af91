"""Calls of the command line."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from rankframe.cli import main

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "data" / "shop"
QRELS, BM25, DENSE = (SHOP / f"{name}.parquet" for name in ("qrels", "bm25", "dense"))
MAIN = "from rankframe.cli import main; main()"


def rankframe(*args: object, stdin: bytes | None = None, width: int = 100) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of a call in this process; stdin is a pipe."""
    raw, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    hook = sys.unraisablehook
    with (
        pytest.MonkeyPatch.context() as patch,
        pipe(stdin or b"") as piped,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        patch.setattr(sys, "stdin", piped)
        patch.setenv("COLUMNS", str(width))
        patch.setattr(sys, "argv", ["rankframe", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
    sys.unraisablehook = hook
    return ended.value.code or 0, raw.getvalue().decode(), err.getvalue()  # pyright: ignore[reportReturnType]


@contextmanager
def pipe(content: bytes) -> Iterator[io.TextIOWrapper]:
    """Open the end of a pipe that somebody writes into meanwhile."""
    end, start = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(start, "wb") as file:
            file.write(content)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        with os.fdopen(end, encoding="utf-8") as file:
            yield file
    finally:
        thread.join()


def in_a_process(*args: object, stdin: bytes = b"", width: int = 100) -> tuple[int, str, str]:
    """The same of a process of its own."""
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


def stored_result(tmp_path: Path, run: Path, *metrics: str) -> Path:
    """The folder of the result of a run."""
    asked = [part for metric in metrics for part in ("-m", metric)]
    folder = tmp_path / run.stem
    assert rankframe("evaluate", QRELS, run, *asked, "-o", folder)[0] == 0
    return folder
