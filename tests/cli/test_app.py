"""How the command line ends, helps and starts."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shlex
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer.main

import rankframe as rf
from rankframe.cli.app import make_app
from rankframe.engine.convert import convert_file
from tests.cli.shell import BM25, DENSE, MAIN, QRELS, SHOP, ended, rankframe
from tests.support.engine_responses import elastic
from tests.support.hostile_names import IDS, hostile_files

COMMANDS = [
    "", "evaluate", "compare", "diff", "gate", "history", "report", "plot", "agree", "metrics",
    "convert", "trec_eval", "demo",
]  # fmt: skip
GROUP: Any = typer.main.get_command(make_app())
HEAVY = ["polars", "numpy", "pyarrow", "altair", "pydantic"]


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(flag: str, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ended(monkeypatch, flag) == 0
    assert capsys.readouterr() == (f"rankframe {rf.__version__}\n", "")


@pytest.mark.parametrize(
    "args",
    [
        (QRELS, BM25, "-m", "ndgc@10"),
        (QRELS, SHOP / "bm26.parquet"),
        (BM25, QRELS),
        (QRELS, BM25, "-c", "query_id=foo"),
        (QRELS, BM25, "-c", "qid=foo"),
        (QRELS, BM25, "-c", "foo"),
        (QRELS, BM25, "--missing", "no"),
        (QRELS, BM25, "--missing", "error", "--k-max", "0"),
        (QRELS, DENSE, "--missing", "error"),
        (QRELS, BM25, "--per-query", "out.xyz"),
        (QRELS, BM25, "--per-query", "no/such/folder/x.csv"),
        (QRELS, BM25, "--nonsense"),
        (QRELS,),
        ("-", "-"),
        (QRELS, "-"),
    ],
)
def test_bad_usage_ends_with_one_line_and_code_2(args: tuple[object, ...], refused) -> None:
    refused("evaluate", *args)


def test_duplicates_are_explained_in_flags(tmp_path: Path, refused) -> None:
    run = pl.read_parquet(BM25)
    twice = tmp_path / "twice.parquet"
    pl.concat([run, run.head(14)]).write_parquet(twice)
    refused("evaluate", QRELS, twice)
    assert rankframe("evaluate", QRELS, twice, "--duplicates", "keep_best")[0] == 0


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -c '{MAIN}' metrics | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.stderr == b""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_the_terminal_and_shows_what_to_type(
    command: str, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert ended(monkeypatch, *command.split(), "--help") == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert not re.search(r"[<>{}]", out.replace("> run.eval", ""))
    if command:  # examples can be copied as they are: no line is broken but where it says so
        for line in GROUP.commands[command].epilog.splitlines()[1:]:
            assert f" {line.strip()}" in out


# Examples in the help

CALL = re.compile(r"^  (?:zcat (?P<piped>\S+) \| )?rankframe (?P<args>.*?)(?: > (?P<into>\S+))?$")


def examples(command: str) -> list[tuple[list[str], str | None, str | None]]:
    """The calls that the help of a command shows: arguments, what is piped in, and out."""
    text = GROUP.commands[command].epilog.replace("\\\n   ", "")
    found = [match for line in text.splitlines() if (match := CALL.match(line))]
    return [(shlex.split(one["args"]), one["piped"], one["into"]) for one in found]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some of the shop's queries, and what examples need beside its own files."""
    folder = tmp_path_factory.mktemp("texts")
    for path in SHOP.glob("*.parquet"):
        some = pl.scan_parquet(path).filter(pl.col("query_id") < "q0150")
        some.sink_parquet(folder / path.name)
    qrels, bm25, dense = (folder / path.name for path in (QRELS, BM25, DENSE))
    convert_file(qrels, folder / "qrels.txt")
    convert_file(bm25, folder / "bm25.txt")
    convert_file(bm25, folder / "bm25.txt.gz")
    names = {"query_id": "shopper", "doc_id": "article"}
    pl.read_parquet(qrels).rename(names).write_csv(folder / "ratings.csv")
    pl.read_parquet(bm25).rename(names).write_parquet(folder / "recs.parquet")
    (folder / "responses.jsonl").write_text(json.dumps(elastic("ab", [2.0, 1.0])))
    judgments = (folder / "qrels.txt").read_text()
    (folder / "prefs.txt").write_text(judgments.replace(" 0 ", " 0 0 "))
    titles = pl.read_parquet(bm25).select("doc_id", title="doc_id").unique("doc_id")
    titles.write_parquet(folder / "products.parquet")
    clicks = pl.read_parquet(dense).select("query_id", "doc_id").gather_every(3)
    clicks.write_parquet(folder / "clicks.parquet")
    (folder / "names.txt").write_text("red shoes\n")
    (folder / "gate.toml").write_text('rules = ["ndcg@10: at least 0.4"]')
    for run in (bm25, dense):
        rf.evaluate(qrels, run, ["ndcg@10"], output=folder / "results" / run.stem)
    (folder / "results" / "main").symlink_to(folder / "results" / "bm25")
    return folder


@pytest.mark.parametrize("command", COMMANDS[1:])
def test_examples_run(
    command: str, texts: Path, tmp_path: Path, capfd, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command in ("history", "report", "plot"):
        pytest.importorskip("altair")
    for path in texts.iterdir():
        if command != "evaluate" or path.name != "results":
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    calls = examples(command)
    assert calls
    for args, piped, into in calls:
        with gzip.open(piped) if piped else nullcontext(io.BytesIO()) as held:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(held))
            code = ended(monkeypatch, *args)
        out, err = capfd.readouterr()
        assert code == 0 or (command, code) == ("gate", 1), (args, err)
        if into:
            Path(into).write_text(out)


def imported(names: list[str], args: list[str]) -> list[str]:
    """Which of these modules a call of the command line imports."""
    code = f"""
import sys
sys.argv[1:] = {args}
from rankframe.cli import main
try:
    main()
finally:
    print(*[name for name in {names} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout
    return done.stderr.split()


@pytest.mark.parametrize("args", [["--help"], ["evaluate", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    assert imported(HEAVY, args) == []


def test_a_command_imports_neither_others_nor_what_converts_values(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("q 0 d 1\n")
    run.write_text("q Q0 d 0 1.5 t\n")
    names = ["polars", "pydantic", "pyarrow", "rich", "rankframe.cli.fuse", "rankframe.cli.compare"]
    assert imported(names, ["trec_eval", str(qrels), str(run)]) == ["polars"]


@pytest.mark.parametrize("name", ['sku="A1".parquet', 'a  b="c".parquet', "columns={}.parquet"])
def test_what_is_the_users_is_said_as_it_is(name: str, refused) -> None:
    refused("evaluate", QRELS, name)


def test_a_metric_that_looks_like_an_option_stays_as_it_is(refused) -> None:
    refused("evaluate", QRELS, BM25, "-m", 'duplicates="keep_best"')


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    return hostile_files(tmp_path_factory.mktemp("hostile"))


SHOWN = {
    "evaluate": "evaluate {q} {a} {b} -m ndcg@3 --queries {t} --by kind --ledger",
    "evaluate markdown": "evaluate {q} {a} {b} -m ndcg@3 --format markdown",
    "evaluate csv": "evaluate {q} {a} {b} -m ndcg@3 --queries {t} --by kind --format csv",
    "compare": "compare {q} {a} {b} -m ndcg@3 --queries {t} --by kind --ledger --bounds",
    "compare csv": "compare {q} {a} {b} -m ndcg@3 --queries {t} --by kind --format csv",
    "compare markdown": "compare {q} {a} {b} -m ndcg@3 --format markdown",
    "compare latex": "compare {q} {a} {b} -m ndcg@3 --format latex",
    "diff": "diff {q} {a} {b} -m ndcg@3",
    "diff csv": "diff {q} {a} {b} -m ndcg@3 --format csv",
    "agree": "agree {a} {b} -m rbo --ledger",
    "trec_eval": "trec_eval -q -m map -m runid {q} {a}",
    "unknown file": "evaluate {q} {a}.none",
    "unknown slice": "evaluate {q} {a} --queries {t} --by no\x1b[1m",
}


@pytest.mark.parametrize("call", SHOWN)
def test_names_from_outside_are_shown_and_do_nothing(
    call: str, hostile: tuple[Path, ...], capfd, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = dict(zip("qabt", map(str, hostile), strict=True))
    args = [part.format(**names) for part in SHOWN[call].split()]
    monkeypatch.setenv("COLUMNS", "400")
    code = ended(monkeypatch, *args)
    out, err = capfd.readouterr()
    assert code == (2 if call.startswith("unknown") else 0), err
    for said in (out, err):
        assert {c for c in said if not c.isprintable()} <= {"\n", "\t"}
        assert "\t" not in said or call == "trec_eval"
    assert "x1b" in out + err
    if call.endswith("csv"):
        cells = [cell for row in csv.reader(out.splitlines()) for cell in row]
        assert not [c for c in cells if c[:1] in "=+@-" and c and not is_number(c)]
        assert len({len(row) for row in csv.reader(out.splitlines())}) == 1
    if call == "trec_eval":
        lines = [line.split("\t") for line in out.splitlines()]
        assert {len(line) for line in lines} == {3}
        assert [line[0].strip() for line in lines] == ["map"] * len(IDS) + ["runid", "map"]
        assert [line[1] for line in lines[-2:]] == ["all", "all"]


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_files_are_data_and_keep_every_id(
    hostile: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, run, _, queries = hostile
    targets = [tmp_path / name for name in ("values.csv", "summary.csv", "run.csv")]
    options = ("--per-query", targets[0], "--summary", targets[1], "--queries", queries)
    assert ended(monkeypatch, "evaluate", qrels, run, "-m", "map", *options, "--by", "kind") == 0
    assert ended(monkeypatch, "convert", run, targets[2]) == 0
    values, summary, rows = (pl.read_csv(target, infer_schema=False) for target in targets)
    assert set(values["query_id"]) == set(IDS)
    assert set(summary["slice"].drop_nulls()) == set(IDS)
    given = pl.read_parquet(run, columns=["query_id", "doc_id"], glob=False)
    assert rows.select(given.columns).equals(given)
