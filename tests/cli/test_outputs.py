"""Inputs and outputs of commands."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.cli import outputs
from rankframe.cli.flags import column_names
from rankframe.cli.inputs import open_sources, runs_by_name, split_name
from rankframe.cli.outputs import Output, check_outputs, warn_if_not_held
from rankframe.core.options import Progress
from tests.cli.shell import BM25, DENSE, QRELS, ended, rankframe


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
    assert runs_by_name(given) == dict(zip(names, given, strict=True))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where runs are, one of them under a name with a sign of equality, and a Hive folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv", "old=a.csv", "day=1/x.parquet", "day=2/x.parquet"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


@pytest.mark.parametrize(
    ("given", "split"),
    [
        ("new=a.csv", ("new", "a.csv")),
        ("my run=./b.csv", ("my run", "./b.csv")),
        ("old=a.csv", (None, "old=a.csv")),  # there is such a file
        ("x=old=a.csv", ("x", "old=a.csv")),
        ("day=1", (None, "day=1")),  # a Hive folder
        ("day=*/x.parquet", (None, "day=*/x.parquet")),
        ("x=day=*", ("x", "day=*")),
        ("new=-", ("new", "-")),
        ("new=s3://bucket/day=1/x.parquet", ("new", "s3://bucket/day=1/x.parquet")),
        ("s3://bucket/day=1/x.parquet", (None, "s3://bucket/day=1/x.parquet")),
        ("./day=3/x.parquet", (None, "./day=3/x.parquet")),
        ("duckdb:x.db#select a from t where b=1", (None, "duckdb:x.db#select a from t where b=1")),
        ("=a.csv", (None, "=a.csv")),
        ("a.csv", (None, "a.csv")),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_run_may_have_a_name_where_that_is_no_path(given: str, split: tuple[str, str]) -> None:
    assert split_name(given) == split


@pytest.mark.usefixtures("folder")
def test_a_named_run_that_is_not_there_is_refused(refusal: Callable[..., str]) -> None:
    refusal(split_name, "new=c.csv")
    refusal(split_name, "day=3")
    assert split_name("new=/on/the/cluster", here=False) == ("new", "/on/the/cluster")


@pytest.mark.usefixtures("folder")
def test_names_are_distinct(refusal: Callable[..., str]) -> None:
    assert runs_by_name(["b=a.csv", "b.csv"]) == {"b": "a.csv", "b.csv": "b.csv"}
    refusal(runs_by_name, ["b=a.csv", "b=b.csv"])


NAMED = {
    "evaluate": "evaluate {q} old={a} new={b} -m map --format csv",
    "compare": "compare {q} old={a} new={b} -m map --baseline old --format csv",
    "agree": "agree old={a} new={b} -m rbo --format csv",
    "diff": "diff {q} old={a} new={b} -m map",
    "gate": "gate {q} new={b} -b old={s} -r map:at-least-0 --format markdown",
    "stored": "compare --stored old={s} new={s} --baseline old --format markdown",
}


@pytest.mark.parametrize("command", NAMED)
def test_names_appear_in_what_is_printed(
    command: str, stored: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {"q": QRELS, "a": BM25, "b": DENSE, "s": stored}
    args = [part.replace("-", " ") if part.startswith("map:") else part.format(**places)
            for part in NAMED[command].split()]  # fmt: skip
    assert ended(monkeypatch, *args) == 0
    out, err = capsys.readouterr()
    assert all("new: 1.5% of the judged queries" in line for line in err.splitlines())
    assert "old" in out
    assert "new" in out
    assert "dense" not in out


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rf.evaluate(QRELS, BM25, "map").write(tmp_path_factory.mktemp("stored") / "result")


def test_columns_are_pairs(refusal: Callable[..., str]) -> None:
    assert column_names(["query_id=user", "doc_id=a=b"]) == {"query_id": "user", "doc_id": "a=b"}
    refusal(column_names, ["query_id="])


def test_columns_of_one_side_have_its_name_before_theirs(refusal: Callable[..., str]) -> None:
    given = ["doc_id=sku", "run.doc_id=a.b", "run.score=s", "queries.query_id=qid", "x.=y"]
    assert column_names(given) == {
        "doc_id": "sku",
        "run": {"doc_id": "a.b", "score": "s"},
        "queries": {"query_id": "qid"},
        "x.": "y",
    }
    for twice in (["doc_id=a", "doc_id=b"], ["run.rank=a", "run.rank=b"], ["run=a", "run.rank=b"]):
        refusal(column_names, twice)


def test_standard_input_is_read_once(refusal: Callable[..., str]) -> None:
    assert open_sources(["a.csv", "b"]) == ["a.csv", "b"]
    refusal(open_sources, ["-", "a", "-"])


def test_targets_are_checked_before_any_work(tmp_path: Path, refusal: Callable[..., str]) -> None:
    out, given = tmp_path / "out.csv.gz", tmp_path / "given.csv"
    given.touch()
    check_outputs([given], None, tables=[out], folder=tmp_path / "folder")
    refusal(check_outputs, [], tables=[tmp_path / "x.trec"])
    refusal(check_outputs, [], None, tmp_path / "none" / "out.csv")
    refusal(check_outputs, [given, None], given)
    refusal(check_outputs, [str(given)], folder=tmp_path)
    refusal(check_outputs, [], out, out)
    refusal(check_outputs, [], out, folder=tmp_path / "x" / ".." / out.name)


def test_where_every_judged_document_is_relevant_one_line_on_stderr_says_so(tmp_path: Path) -> None:
    qrels, run, stored = tmp_path / "stars.csv", tmp_path / "run.csv", tmp_path / "stored"
    rows = [(f"q{n}", f"d{n}", n % 5 + 1, 1.0) for n in range(40)]
    table = pl.DataFrame(rows, ["query_id", "doc_id", "stars", "score"], orient="row")
    table.select("query_id", "doc_id", relevance="stars").write_csv(qrels)
    table.select("query_id", "doc_id", "score").write_csv(run)
    warning = "every judged document counts as relevant, whatever its grade"
    command = ["evaluate", qrels, run, "-m", "mrr", "-o", stored, "--format", "json"]
    code, _, error = rankframe(*command)
    assert code == 0
    assert error.startswith(f"rankframe: warning: {warning}")
    assert error.count("\n") == 1
    assert rankframe(*command, "--overwrite", "--silence", "all_relevant")[2] == ""
    for command in (
        ["compare", qrels, run, run, "-m", "mrr"],
        ["diff", qrels, run, run, "-m", "mrr"],
        ["gate", qrels, run, "-b", stored, "-r", "mrr: at least 0"],
    ):
        code, _, error = rankframe(*command)
        assert (code, error.count(warning)) == (0, 1), command
    for command in (
        ["evaluate", qrels, run, "-m", "mrr", "--rel", 4],
        ["compare", qrels, run, run, "-m", "mrr", "--rel", 1],
    ):
        assert rankframe(*command)[::2] == (0, ""), command


# The progress bar: nothing where nobody looks, nothing for a moment's work

DONE = Progress("matching", 2_000, 10_000, 40)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written to stderr is taken for a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")


def test_nobody_is_told_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Output().progress("bm25") as report:
        assert report is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
def test_nobody_is_told_who_asked_for_quiet() -> None:
    with Output(quiet=True).progress("bm25") as report:
        assert report is None


@pytest.mark.usefixtures("terminal")
def test_what_is_over_in_a_moment_shows_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long a moment takes on a machine with other work.
    monkeypatch.setattr(outputs, "_PATIENCE", 1000.0)
    with Output().progress("bm25") as report:
        assert report is not None
        report(DONE)
    out, err = capsys.readouterr()
    assert (out, err.strip()) == ("", "")


@pytest.mark.usefixtures("terminal")
def test_what_takes_longer_shows_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "_PATIENCE", 0.0)
    with Output().progress("[bm25]") as report:
        assert report is not None
        report(DONE)
        # A thread draws the bar ten times a second, as soon as it is given a core.
        expected, shown, ends = {"[bm25]: matching", "2,000 of 10,000 rows", "40 queries"}, "", 60
        begun = time.monotonic()
        while not all(text in shown for text in expected) and time.monotonic() < begun + ends:
            time.sleep(0.01)
            out, err = capsys.readouterr()
            assert out == ""
            shown += err
    assert {text for text in expected if text in shown} == expected


def test_what_is_not_rows_has_no_queries() -> None:
    assert "queries" not in outputs._seen(Progress("drawing", 1, 4, 0, "charts"), 1.0)


def test_a_limit_that_cannot_be_held_is_said_so_before_the_work(
    capsys: pytest.CaptureFixture[str],
) -> None:
    warn_if_not_held("1GiB")
    assert not capsys.readouterr().err
    warn_if_not_held("1MB")
    assert capsys.readouterr().err.startswith("rankframe: a limit of 1MB is too low: ")
