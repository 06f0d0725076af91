"""The pages keep their word: their examples run, in Python and on the shell, in the order in which
they stand, in a folder of their own with the data that ships.

What stands under `<!-- not run -->` needs what a test does not have: a network, a cluster, another
program, or the time to draw charts. Its lines of the shell are looked at all the same: there are
such commands and options.
"""

from __future__ import annotations

import gzip
import io
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
import typer.main

import rankframe as rf
from rankframe.cli import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(
    r"(?:<!-- (?P<mark>[^\n]*?) -->\n)?(?:`(?P<file>[\w.]+)`:\n\n)?"
    r"```(?P<kind>python|sh|toml)\n(?P<code>.*?)```",
    re.DOTALL,
)


class Example(NamedTuple):
    """A fenced example."""

    kind: str
    code: str
    file: str | None
    mark: str | None

    @property
    def runs(self) -> bool:
        return self.mark != "not run"


def examples(page: Path) -> Iterator[Example]:
    for found in _FENCE.finditer(page.read_text(encoding="utf-8")):
        yield Example(found["kind"], found["code"], found["file"], found["mark"])


PAGES = [page for page in sorted(DOCS.rglob("*.md")) if any(one.runs for one in examples(page))]


@pytest.fixture(scope="session")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files under the names that the pages use."""
    folder = tmp_path_factory.mktemp("stock")
    shop = rf.example("shop")
    also = {"run": "hybrid", "new": "hybrid", "candidate": "hybrid", "main": "bm25", "old": "bm25"}
    names = {name: name for name in (*shop.runs, "qrels", "queries")} | also
    for name, file in names.items():
        shutil.copy(shop.folder / f"{file}.parquet", folder / f"{name}.parquet")
    for name in ("qrels", "run"):
        call(f"rankframe convert {folder}/{name}.parquet {folder}/{name}.txt")
    shutil.copy(folder / "run.txt", folder / "run.trec")
    # the iteration, 0, is the group, and once more the subgroup
    judgments = (folder / "qrels.txt").read_text(encoding="utf-8")
    (folder / "prefs.txt").write_text(judgments.replace(" 0 ", " 0 0 "), encoding="utf-8")
    (folder / "run.txt.gz").write_bytes(gzip.compress((folder / "run.txt").read_bytes()))
    call(f"rankframe trec_eval -q -c {folder}/qrels.txt {folder}/run.txt > {folder}/old_output.txt")
    movies = rf.example("movies")
    called = {"user_id": "shopper", "item_id": "sku"}
    pl.read_parquet(movies.qrels).rename(called).write_csv(folder / "ratings.csv")
    pl.read_parquet(movies.runs["als"]).rename(called).write_parquet(folder / "recs.parquet")
    (folder / "bought.csv").write_text("shopper,article,stars\ns1,x,5\ns1,y,2\n")
    (folder / "shown.csv").write_text("shopper,article,score\ns1,y,0.9\ns1,x,0.4\n")
    main = rf.evaluate(folder / "qrels.parquet", folder / "main.parquet", ["ndcg@10"], ci=None)
    main.write(folder / "results" / "main")
    return folder


def call(line: str) -> str:
    """What a line of the shell prints, in this process: a new one for each would take long."""
    words = shlex.split(line, comments=True)
    target = None
    if ">" in words:
        *words, _, target = words
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr("sys.argv", words)
        code = app.run()
    # A gate says no by its exit code.
    assert code in ((0, 1) if words[1] == "gate" else (0,)), f"{line}\n{err.getvalue()}"
    out.seek(0)
    said = out.read()
    if target is not None:
        Path(target).write_text(said)
    return said


def calls(code: str) -> list[str]:
    """The lines of the shell that call rankframe."""
    lines = code.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("rankframe ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_examples_run(
    page: Path, stock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Copies: examples write, and a link would lead to what ships.
    shutil.copytree(stock, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for example in examples(page):
        if not example.runs:
            continue
        if example.kind == "toml":
            assert example.file is not None
            Path(example.file).write_text(example.code)
        elif example.kind == "sh":
            lines = calls(example.code)
            assert len(lines) == example.code.replace("\\\n", " ").count("\n"), example.code
            for line in lines:
                call(line)
        else:
            exec(compile(example.code, page.name, "exec"), names)


def test_the_lines_of_the_readme_run(
    stock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(stock, tmp_path, dirs_exist_ok=True)
    shutil.copytree(rf.example("shop").folder, tmp_path / "data" / "shop")
    monkeypatch.chdir(tmp_path)
    blocks = [one.code for one in examples(ROOT / "README.md") if one.kind == "sh"]
    lines = [line for code in blocks for line in calls(code)]
    assert len(lines) >= 4
    for line in lines:
        if not line.startswith(("rankframe report", "rankframe plot")):  # which take long
            call(line)


def test_lines_that_are_not_run_have_commands_and_options_that_are_there() -> None:
    group: Any = typer.main.get_command(app.make_app())
    files = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    there = [one for page in files for one in examples(page)]
    lines = [line for one in there for line in calls(one.code)]
    assert len(lines) > 30
    for line in lines:
        _, name, *words = shlex.split(line, comments=True)
        words = words[: words.index(">")] if ">" in words else words
        command = group.commands[name]
        with command.make_context(name, words, parent=group.make_context("rankframe", [name])):
            pass


def test_the_first_results_are_printed_as_the_page_shows_them() -> None:
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    of_shop, of_movies = re.findall(r"```text\n(rankframe result.*?)\n```", page, re.DOTALL)
    shop, movies = rf.example("shop"), rf.example("movies")
    result = rf.evaluate(shop.qrels, shop.runs["hybrid"], ["ndcg@10", "map", "recall@20"])
    assert repr(result) == of_shop
    result = rf.evaluate(movies.qrels, movies.runs["als"], ["recall@10", "ndcg@10"], rel=4)
    assert repr(result) == of_movies
