"""Stored messages of errors: compared, updated, and reported when no test has them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = """
import pytest

@pytest.mark.parametrize("column", {columns})
def test_missing(column, message):
    message(f"there is no column {{column}}.")
    message("Name it: {word}.")
"""
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Write a test file, run it in a project of its own, and return the exit code and output."""
    tests = tmp_path / "tests" / "shop"
    tests.mkdir(parents=True)

    def run(
        *args: str, columns: tuple[str, ...] = ("a", "b"), word: str = "columns="
    ) -> tuple[int, str]:
        (tests / "test_read.py").write_text(TEST.format(columns=columns, word=word))
        command = [sys.executable, "-m", "pytest", "-p", "tests.support.messages", "--rootdir", "."]
        options = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
        environment = {**os.environ, **options, "PYTHONPATH": f"{ROOT}"}
        done = subprocess.run(
            [*command, *args], cwd=tmp_path, env=environment, capture_output=True, check=False
        )
        return done.returncode, done.stdout.decode()

    return run


def stored(tmp_path: Path) -> list[str]:
    return (tmp_path / "tests" / "messages" / "shop.txt").read_text().splitlines()[2:]


WHOLE = [
    "== test_read.py", "",
    "test_missing #2", "    Name it: columns=.", "",
    "test_missing[a]", "    there is no column a.", "",
    "test_missing[b]", "    there is no column b.",
]  # fmt: skip


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["here", "workers"])
def test_an_update_stores_messages_that_are_compared_from_then_on(
    workers: tuple[str, ...], tmp_path: Path, run: Run
) -> None:
    code, out = run(*workers)
    assert code == 1
    assert "no message is stored for test_missing[a]" in out
    assert run("--update-messages", *workers)[0] == 0
    assert stored(tmp_path) == WHOLE
    assert run(*workers)[0] == 0
    code, out = run(*workers, word="--column")
    assert code == 1
    assert "- Name it: columns=." in out
    assert "+ Name it: --column." in out


def test_messages_of_tests_that_are_gone_are_reported_and_removed(tmp_path: Path, run: Run) -> None:
    run("--update-messages")
    code, out = run(columns=("a",))
    assert code == 1
    assert "shop/test_read.py::test_missing[b]" in out
    assert run("-k", "missing", columns=("a",))[0] == 0
    assert run("--update-messages", columns=("a",))[0] == 0
    assert "test_missing[b]" not in stored(tmp_path)


def test_an_update_of_some_tests_leaves_the_others_and_what_varies(
    tmp_path: Path, run: Run
) -> None:
    run("--update-messages")
    path = tmp_path / "tests" / "messages" / "shop.txt"
    path.write_text(path.read_text().replace("no column a", "no [...]"))
    assert run()[0] == 0
    assert run("--update-messages", "-k", "[b]", word="--column")[0] == 0
    expected = [line.replace("no column a", "no [...]") for line in WHOLE]
    added = ["test_missing[b] #2", "    Name it: --column.", ""]
    assert [line for line in stored(tmp_path) if line not in added] == [
        line for line in expected if line
    ]
    assert set(added) <= set(stored(tmp_path))
