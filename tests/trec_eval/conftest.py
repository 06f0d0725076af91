"""How the tests of trec_eval call the command line."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rankframe.cli.app import run
from tests.support.messages import Messages
from tests.support.trec_cases import QRELS, RUN, Output


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text(QRELS)
    run.write_text(RUN)
    return qrels, run


@pytest.fixture
def trec_eval(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., Output]:
    """Call the command line: exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*args: object, stdin: str = "") -> Output:
        piped = io.TextIOWrapper(io.BytesIO(stdin.encode()))
        monkeypatch.setattr(sys, "argv", ["rankframe", "trec_eval", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", piped)
        code = run()
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return call


@pytest.fixture
def refused(trec_eval: Callable[..., Output], message: Messages) -> Callable[..., str]:
    """Call the command, which must fail with one line, compared with the stored one; return it."""

    def call(*args: object, code: int = 2) -> str:
        ended, out, err = trec_eval(*args)
        assert (ended, out) == (code, "")
        assert err.startswith("rankframe: ")
        assert err.count("\n") == 1
        return message(err)

    return call


@pytest.fixture
def check(
    files: tuple[Path, Path], trec_eval: Callable[..., Output]
) -> Callable[..., tuple[int, list[str]]]:
    """Check an older output: exit code and lines."""

    def call(text: str, *args: object) -> tuple[int, list[str]]:
        old = files[0].parent / "old.txt"
        old.write_text(text)
        code, out, _ = trec_eval(*args, *files, "--check", old)
        return code, out.splitlines()

    return call
