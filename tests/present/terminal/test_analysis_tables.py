"""How comparisons, changes and verdicts look."""

from __future__ import annotations

import json

import polars as pl
import pytest

import rankframe as rf
from rankframe.present.terminal import analysis_tables as show
from tests.present.terminal.test_result_tables import text


@pytest.fixture
def better(run: pl.DataFrame) -> pl.DataFrame:
    """The run without the document that stands above the relevant one."""
    return run.filter(pl.col("doc_id") != "x")


@pytest.fixture
def found(qrels: pl.DataFrame, run: pl.DataFrame, better: pl.DataFrame) -> rf.Comparison:
    return rf.compare(qrels, {"[a]": run, "b": better}, ["mrr"], baseline="[a]", bounds=True)


def test_what_does_not_fit_is_left_out_and_said(found: rf.Comparison) -> None:
    wide, middle, narrow = (
        " ".join(text(show.comparison_table(found, width)).split()) for width in (200, 63, 30)
    )
    assert "Hidden" not in wide
    assert "too narrow): W/T/L, raw p, judged. See" in middle
    assert "too narrow): W/T/L, raw p, judged, %, interval. See" in narrow
    assert "[a]" in wide


def test_a_comparison_has_bounds_and_a_ledger(found: rf.Comparison) -> None:
    said = text(show.bounds_table(found))
    assert all(name in said for name in ("lower", "upper", "if none", "if all"))
    assert "not bounds" in said
    assert "queries_compared" in text(show.ledger_table(found.ledger))


def test_a_comparison_goes_into_other_programs(found: rf.Comparison) -> None:
    told = json.loads(show.comparison_text(found, "json"))
    assert list(told) == ["caveats", "table", "systems", "ledger"]
    assert pl.read_csv(show.comparison_text(found, "csv").encode()).height == found.table.height


def test_a_change_shows_its_documents(
    qrels: pl.DataFrame, run: pl.DataFrame, better: pl.DataFrame
) -> None:
    change = rf.diff(qrels, run, better, "mrr@2")
    shown = text(show.diff_tables(change.named("old [x]", "new")))
    assert "old [x]" in shown
    assert "1 better" in shown
    same = rf.diff(qrels, run, run, "mrr@2")
    assert "No query moved." in text(show.diff_tables(same))
    assert list(json.loads(show.diff_text(change, style="json"))) == [
        "runs", "caveats", "summary", "movers", "documents",
    ]  # fmt: skip
    assert show.diff_text(change, style="csv").startswith("query_id,")


def test_a_verdict_says_why(qrels: pl.DataFrame, run: pl.DataFrame, better: pl.DataFrame) -> None:
    stored = rf.evaluate(qrels, better, "mrr")
    verdict = rf.gate(qrels, run, stored, ["mrr: at least 0.9"], min_queries=2)
    shown = text(show.verdict_table(verdict))
    assert "fail: mrr: at least 0.9: " in shown
    assert verdict.headline in " ".join(shown.split())


def test_rules_that_speak_of_slices_have_a_table_each(
    qrels: pl.DataFrame, run: pl.DataFrame
) -> None:
    stored = rf.evaluate(qrels, run, "mrr")
    queries = pl.DataFrame({"query_id": ["q1", "q2"], "kind": ["x", "y"]})
    rules = ["mrr: at least 0.1", "mrr: at least 0.2 per kind"]
    verdict = rf.gate(qrels, run, stored, rules, min_queries=2, queries=queries)
    shown = text(show.verdict_table(verdict.named(baseline="main")))
    titles = [line.strip() for line in shown.splitlines() if line.startswith("mrr: ")]
    assert titles == rules
    assert shown.count("baseline (main)") == 2
    assert "skipped kind: x" in " ".join(shown.split())


QRELS = {f"q{n}": {"a": 1} for n in range(8)}
ONE = {q: {"x": 1.0, "a": 0.9, "y": 0.0} for q in QRELS}
OTHER = {q: {"z": 1.0, "a": 0.9, "y": 0.0} for q in QRELS}


@pytest.fixture
def tuning() -> rf.Tuning:
    runs = {"[one]": ONE, "other": OTHER}
    return rf.tune(QRELS, runs, "wsum", "mrr", grid={"weights": 0.5}, folds=2, replicates=100)


def test_columns_of_a_tuning_that_do_not_fit_are_hidden(tuning: rf.Tuning) -> None:
    wide, narrow = (text(show.tuning_table(tuning, width, 2)) for width in (200, 50))
    assert "[one] by itself" in wide
    assert "Not shown: 1 candidates" in wide
    assert "Hidden" not in wide
    said = " ".join(narrow.split())
    assert "Hidden (terminal too narrow): its interval, folds, interval" in said
    assert "Warning: only 8 queries to tune with" in said
    assert tuning.headline in " ".join(wide.split())


def test_the_ledger_of_a_tuning_is_rendered(tuning: rf.Tuning) -> None:
    assert "queries_tuned_by" in text(show.ledger_table(tuning.ledger))


def test_a_tuning_for_other_programs(tuning: rf.Tuning) -> None:
    table = pl.read_csv(show.tuning_text(tuning, "csv", 1).encode())
    assert table.height == 3
    assert table["weights"].to_list() == ["0.5 0.5", "0.0 1.0", "1.0 0.0"]
    tables = json.loads(show.tuning_text(tuning, "json", 1))
    assert tables["improved"] is True
    assert [row["run"] for row in tables["runs"]] == ["[one]", "other"]
    assert show.tuning_text(tuning, "markdown", 1).startswith("**wsum")
