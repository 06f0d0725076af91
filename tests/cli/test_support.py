"""What commands do alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from rankframe.cli.support import (
    check_outputs,
    check_tables,
    column_names,
    open_sources,
    run_names,
    tell_if_not_held,
    ways_to_slice,
)
from tests.cli.shell import BM25, QRELS, rankframe


def test_names_of_runs_are_told_apart(tmp_path: Path) -> None:
    copy = tmp_path / "bm25.parquet"
    copy.write_bytes(BM25.read_bytes())
    _, out, _ = rankframe("evaluate", QRELS, BM25, copy, "-m", "map", "--format", "csv")
    assert pl.read_csv(out.encode())["run"].to_list() == [str(BM25), str(copy)]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["runs/a.parquet", "b.run.gz", "-"], ["a", "b", "stdin"]),
        (["results/a/"], ["a"]),
        (["x/a.csv", "y/a.csv"], ["x/a.csv", "y/a.csv"]),
        (["a.csv", "a.csv"], ["a.csv (1)", "a.csv (2)"]),
    ],
)
def test_runs_are_named_after_their_files(given: list[str], names: list[str]) -> None:
    assert run_names(given) == names


def test_columns_are_pairs(refusal: Callable[..., str]) -> None:
    assert column_names(["query_id=user", "doc_id=a=b"]) == {"query_id": "user", "doc_id": "a=b"}
    assert column_names(None) == {}
    assert "--column reads NAME=YOURS" in refusal(column_names, ["query_id="])


def test_ways_to_slice_may_be_combinations() -> None:
    assert ways_to_slice(["locale", "locale, device"]) == [("locale",), ("locale", "device")]
    assert ways_to_slice(None) is None


def test_standard_input_is_read_once(refusal: Callable[..., str]) -> None:
    assert open_sources(["a.csv", "b"]) == ["a.csv", "b"]
    assert "can be read only once" in refusal(open_sources, ["-", "a", "-"])


def test_targets_are_checked_before_any_work(tmp_path: Path, refusal: Callable[..., str]) -> None:
    out, given = tmp_path / "out.csv.gz", tmp_path / "given.csv"
    given.touch()
    check_tables(None, out)
    assert "cannot tell the format" in refusal(check_tables, tmp_path / "x.trec")
    check_outputs([given], None, out, folder=tmp_path / "folder")
    assert "there is no folder" in refusal(check_outputs, [], None, tmp_path / "none" / "out.csv")
    assert "is also an input" in refusal(check_outputs, [given, None], given)
    assert "holds an input" in refusal(check_outputs, [str(given)], folder=tmp_path)
    assert "two outputs" in refusal(check_outputs, [], out, out)
    assert "two outputs" in refusal(check_outputs, [], out, folder=tmp_path / "x" / ".." / out.name)


def test_where_every_judged_document_is_relevant_one_line_on_stderr_says_so(tmp_path: Path) -> None:
    qrels, run, stored = tmp_path / "stars.csv", tmp_path / "run.csv", tmp_path / "stored"
    rows = [(f"q{n}", f"d{n}", n % 5 + 1, 1.0) for n in range(40)]
    table = pl.DataFrame(rows, ["query_id", "doc_id", "stars", "score"], orient="row")
    table.select("query_id", "doc_id", relevance="stars").write_csv(qrels)
    table.select("query_id", "doc_id", "score").write_csv(run)
    said = (
        "rankframe: every judged document counts as relevant, whatever its grade. "
        "Pass --rel to say from which grade on.\n"
    )
    for command in (
        ["evaluate", qrels, run, run, "-m", "mrr"],
        ["evaluate", qrels, run, "-m", "mrr", "-o", stored, "--format", "json"],
        ["compare", qrels, run, run, "-m", "mrr"],
        ["diff", qrels, run, run, "-m", "mrr"],
        ["gate", qrels, run, "-b", stored, "-r", "mrr: at least 0"],
    ):
        assert rankframe(*command)[::2] == (0, said), command
    for command in (
        ["evaluate", qrels, run, "-m", "mrr", "--rel", 4],
        ["compare", qrels, run, run, "-m", "mrr", "--rel", 1],
        ["compare", "--stored", stored, "--baseline", "stored"],
    ):
        assert rankframe(*command)[::2] == (0, ""), command


def test_a_limit_that_cannot_be_held_is_said_so_before_the_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for limit in (None, "1GiB"):
        tell_if_not_held(limit)
    assert not capsys.readouterr().err
    tell_if_not_held("1MB")
    assert capsys.readouterr().err.startswith("rankframe: a limit of 1MB cannot be held: ")
