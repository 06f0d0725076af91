"""How the command line ends, helps and starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from tests.cli.shell import BM25, DENSE, MAIN, QRELS, SHOP, rankframe, refused

COMMANDS = [
    "", "evaluate", "compare", "diff", "gate", "report", "plot", "agree", "metrics", "convert",
    "trec_eval", "demo",
]  # fmt: skip
HEAVY = ["polars", "numpy", "pyarrow", "altair", "pydantic"]


def test_version() -> None:
    assert rankframe("--version") == (0, f"rankframe {rf.__version__}\n", "")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((QRELS, BM25, "-m", "ndgc@10"), "Did you mean 'ndcg@10'"),
        ((QRELS, SHOP / "bm26.parquet"), "no such file. Did you mean 'bm25.parquet'?"),
        ((BM25, QRELS), "The judgments come first"),
        ((QRELS, BM25, "-c", "query_id=foo"), "no column 'foo'"),
        ((QRELS, BM25, "-c", "qid=foo"), "--column names 'qid'"),
        ((QRELS, BM25, "-c", "foo"), "--column reads NAME=YOURS"),
        ((QRELS, BM25, "--missing", "no"), "is not one of 'zero', 'skip', 'error'"),
        ((QRELS, BM25, "--missing", "error", "--k-max", "0"), "--k-max must be a whole number"),
        ((QRELS, DENSE, "--missing", "error"), "lacks 30 of 1,960 judged queries"),
        ((QRELS, BM25, "--per-query", "out.xyz"), "cannot tell the format of out.xyz"),
        ((QRELS, BM25, "--per-query", "no/such/folder/x.csv"), "there is no folder"),
        ((QRELS, BM25, "--nonsense"), "No such option"),
        ((QRELS,), "Missing argument 'RUN'"),
        (("-", "-"), "standard input (-) can be read only once"),
        ((QRELS, "-"), "run is empty"),
    ],
)
def test_bad_usage_ends_with_one_line_and_code_2(args: tuple[object, ...], said: str) -> None:
    assert said in refused("evaluate", *args)


def test_duplicates_are_explained_in_flags(tmp_path: Path) -> None:
    run = pl.read_parquet(BM25)
    twice = tmp_path / "twice.parquet"
    pl.concat([run, run.head(14)]).write_parquet(twice)
    message = refused("evaluate", QRELS, twice)
    assert "14 duplicate (query_id, doc_id) pairs" in message
    assert message.endswith("or pass --duplicates keep_best.\n")
    assert rankframe("evaluate", QRELS, twice, "--duplicates", "keep_best")[0] == 0


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -c '{MAIN}' metrics | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.stderr == b""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_the_terminal(command: str) -> None:
    code, out, _ = rankframe(*command.split(), "--help", width=80)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("args", [["--help"], ["evaluate", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    code = f"""
import sys
sys.argv[1:] = {args}
from rankframe.cli import main
try:
    main()
finally:
    print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("rankframe ev", "evaluate"),
        ("rankframe diff --judged", "--judged-only"),
        ("rankframe evaluate --missing s", "skip"),
        ("rankframe agree --ci n", "none"),
        ("rankframe plot heat", "heatmap"),
    ],
)
def test_a_shell_can_complete(typed: str, offered: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv[0] = 'rankframe'; {MAIN}"],
        env={
            **os.environ,
            "_RANKFRAME_COMPLETE": "complete_bash",
            "COMP_WORDS": typed,
            "COMP_CWORD": str(len(typed.split()) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{offered}\n", "")


@pytest.mark.parametrize("name", ['sku="A1".parquet', 'a  b="c".parquet', "columns={}.parquet"])
def test_what_is_the_users_is_said_as_it_is(name: str) -> None:
    said = f"rankframe: cannot read {name}: no such file."
    assert refused("evaluate", QRELS, name).startswith(said)


def test_a_metric_that_looks_like_an_option_stays_as_it_is() -> None:
    said = refused("evaluate", QRELS, BM25, "-m", 'duplicates="keep_best"')
    assert """unknown metric 'duplicates="keep_best"'.""" in said
