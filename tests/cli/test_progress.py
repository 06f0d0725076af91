"""The progress bar: nothing where nobody looks, nothing for a moment's work."""

from __future__ import annotations

import time

import pytest

from rankframe.base.progress import Progress
from rankframe.cli import progress
from rankframe.cli.progress import progress_bar

DONE = Progress("matching", 2_000, 10_000, 40)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written to stderr is taken for a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")


def test_nobody_is_told_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("bm25", quiet=False) as report:
        assert report is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
def test_nobody_is_told_who_asked_for_quiet() -> None:
    with progress_bar("bm25", quiet=True) as report:
        assert report is None


@pytest.mark.usefixtures("terminal")
def test_what_is_over_in_a_moment_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("bm25", quiet=False) as report:
        assert report is not None
        report(DONE)
    out, err = capsys.readouterr()
    assert (out, err.strip()) == ("", "")


@pytest.mark.usefixtures("terminal")
def test_what_takes_longer_shows_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with progress_bar("[bm25]", quiet=False) as report:
        assert report is not None
        report(DONE)
        time.sleep(0.5)
    out, err = capsys.readouterr()
    assert out == ""
    assert "[bm25]: matching" in err
    assert "2,000 of 10,000 rows" in err
    assert "40 queries" in err


def test_what_is_not_rows_has_no_queries() -> None:
    assert "queries" not in progress._seen(Progress("drawing", 1, 4, 0, "charts"), 1.0)
