"""Tests mirror the rooms: every module has its test file, and every test file its module."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE, TESTS = ROOT / "src" / "rankframe", ROOT / "tests"
# What is not about one module: the package as a whole, other people's tools, and what tests share.
ASIDE = {"contracts", "against", "support"}
# The work on a real cluster, and the page in a real browser: no one module is the one tested.
WHOLE = {"reporting/test_in_browser.py", "spark/test_cluster.py"}


def modules() -> set[str]:
    """Where the tests of each module of a room belong."""
    return {
        f"{path.parent.name}/test_{path.name}"
        for path in SOURCE.glob("*/*.py")
        if path.name != "__init__.py"
    }


def paths_of_tests() -> set[str]:
    return {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("test_*.py")
        if path.relative_to(TESTS).parts[0] not in ASIDE
    }


def test_every_module_has_its_tests() -> None:
    assert sorted(modules() - paths_of_tests()) == []


def test_every_test_file_has_its_module() -> None:
    assert sorted(paths_of_tests() - modules()) == sorted(WHOLE)


def test_rooms_have_no_rooms_inside() -> None:
    inside = [path for path in SOURCE.rglob("*.py") if len(path.relative_to(SOURCE).parts) > 2]
    assert inside == []


def test_every_test_file_tests_something() -> None:
    empty = [
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("test_*.py")
        if "def test_" not in path.read_text(encoding="utf-8")
    ]
    assert empty == []
