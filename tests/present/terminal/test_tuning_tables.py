"""How a tuning looks."""

from __future__ import annotations

import json

import polars as pl
import pytest

import rankframe as rf
from rankframe.present.terminal import tuning_tables as show
from tests.present.terminal.test_tables import text

QRELS = {f"q{n}": {"a": 1} for n in range(8)}
ONE = {q: {"x": 1.0, "a": 0.9, "y": 0.0} for q in QRELS}
OTHER = {q: {"z": 1.0, "a": 0.9, "y": 0.0} for q in QRELS}


@pytest.fixture
def found() -> rf.Tuning:
    runs = {"[one]": ONE, "other": OTHER}
    return rf.tune(QRELS, runs, "wsum", "mrr", grid={"weights": 0.5}, folds=2, replicates=100)


def test_what_does_not_fit_is_left_out_and_said(found: rf.Tuning) -> None:
    wide, narrow = (text(show.tuning_table(found, width, 2)) for width in (200, 50))
    assert "[one] by itself" in wide
    assert "Not shown: 1 candidates" in wide
    assert "want of room" not in wide
    said = " ".join(narrow.split())
    assert "Not shown for want of room: its interval, folds, interval" in said
    assert "Warning: 8 queries to tune by" in said
    assert found.headline in " ".join(wide.split())


def test_the_ledger_is_shown(found: rf.Tuning) -> None:
    assert "queries_tuned_by" in text(show.tuning_ledger(found))


def test_text_for_other_programs(found: rf.Tuning) -> None:
    table = pl.read_csv(show.tuning_text(found, "csv", 1).encode())
    assert table.height == 3
    assert table["weights"].to_list() == ["0.5 0.5", "0.0 1.0", "1.0 0.0"]
    tables = json.loads(show.tuning_text(found, "json", 1))
    assert tables["improved"] is True
    assert [row["run"] for row in tables["runs"]] == ["[one]", "other"]
    assert show.tuning_text(found, "markdown", 1).startswith("wsum")
