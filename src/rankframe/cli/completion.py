"""What Tab completes: metrics, columns of the files on the command line, names of runs.

Nothing heavy is imported for it, but to look into a Parquet file. Whatever goes wrong, nothing is
offered: a shell has no place for errors while somebody types.
"""

from __future__ import annotations

import ast
import csv
import glob as globbing
import gzip
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import typer

from rankframe.cli.support import runs_by_name, split_name

Completion: TypeAlias = Callable[..., list[tuple[str, str] | str]]

CUTOFFS = ("1", "3", "5", "10", "20", "50", "100", "1000")
# The columns that -c gives names to, as in `core/columns.py`, which would import polars.
COLUMNS = (
    "query_id", "doc_id", "relevance", "score", "distance", "rank", "group", "group_weight",
)  # fmt: skip
_METRICS = Path(__file__).parents[1] / "metrics"
_FUSION = Path(__file__).parents[1] / "analysis" / "fusion"
# Where arguments and options of commands name files.
_FILES = ("qrels", "runs", "run", "sources", "a", "b", "source", "queries")
_VARIABLE = "_RANKFRAME_COMPLETE"
# Bash takes these for ends of words, and completes only what comes behind the last one; an @ is
# completed, too.
_BREAKS = frozenset("@=:")


class Known(NamedTuple):
    """What is known of a metric without importing it."""

    name: str
    summary: str
    # whether it looks at two rankings
    pair: bool
    # whether it takes a cutoff
    cutoff: bool


def known_metrics() -> Iterator[Known]:
    """All metrics by name and alias, read from their source: their modules import polars."""
    for path in sorted(_METRICS.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            for said in node.decorator_list:
                if isinstance(said, ast.Call) and getattr(said.func, "id", "") == "registered":
                    facts = {one.arg: one.value for one in said.keywords}
                    frame, aliases = facts.get("frame"), facts.get("aliases")
                    others = ast.literal_eval(aliases) if aliases is not None else ()
                    parameters = [one.arg for one in node.args.args + node.args.kwonlyargs]
                    summary = (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
                    pair = isinstance(frame, ast.Constant) and frame.value == "pair"
                    for name in (node.name, *others):
                        yield Known(name, summary, pair, "k" in parameters)


def metrics_of(kind: str | None = None) -> Completion:
    """Completes names of metrics of a kind, `judged` or `pair`, and cutoffs behind @."""

    def complete(incomplete: str) -> list[tuple[str, str] | str]:
        with suppress(Exception):
            return _metrics(incomplete, kind)
        return []

    return complete


def _metrics(incomplete: str, kind: str | None) -> list[tuple[str, str] | str]:
    every = [one for one in known_metrics() if kind is None or one.pair == (kind == "pair")]
    name, at, given = incomplete.partition("@")
    if at:
        before, comma, _ = given.rpartition(",")
        taken = before.split(",")
        return [
            f"{name}@{before}{comma}{cutoff}"
            for one in every if one.name == name and one.cutoff
            for cutoff in CUTOFFS if cutoff not in taken
        ]  # fmt: skip
    found = sorted(one for one in every if one.name.startswith(incomplete))
    offered: list[tuple[str, str] | str] = [(one.name, one.summary) for one in found]
    if len(found) == 1 and found[0].cutoff:  # so that no blank follows the name
        offered += [f"{found[0].name}@{cutoff}" for cutoff in CUTOFFS]
    return offered


def methods(incomplete: str) -> list[tuple[str, str] | str]:
    """Completes names of methods of fusion, read from their source."""
    with suppress(Exception):
        found: list[tuple[str, str] | str] = []
        for path in sorted(_FUSION.glob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and any(
                    isinstance(said, ast.Call) and getattr(said.func, "id", "") == "registered"
                    for said in node.decorator_list
                ):
                    name = node.name.removesuffix("_of")
                    summary = (ast.get_docstring(node) or "").split("\n\n")[0]
                    found += [(name, summary.replace("\n", " "))] * name.startswith(incomplete)
        return found
    return []


def trec_measures(incomplete: str) -> list[tuple[str, str] | str]:
    """Completes trec_eval's measures and nicknames."""
    with suppress(Exception):
        from rankframe.trec_eval.measures import MEASURES, NICKNAMES

        return [name for name in (*NICKNAMES, *MEASURES) if name.startswith(incomplete)]
    return []


def own_columns(ctx: typer.Context, incomplete: str) -> list[tuple[str, str] | str]:
    """Completes NAME=YOURS: our columns, then those of the files on the command line."""
    with suppress(Exception):
        ours, equals, _ = incomplete.partition("=")
        if not equals:
            return [f"{name}=" for name in COLUMNS]
        return [f"{ours}={column}" for column in _columns(_given(ctx, _FILES))]
    return []


def attributes(ctx: typer.Context, incomplete: str) -> list[tuple[str, str] | str]:
    """Completes attributes of the table of queries, also behind a comma."""
    with suppress(Exception):
        before, comma, _ = incomplete.rpartition(",")
        taken = ("query_id", *before.split(","))
        found = _columns([ctx.params["queries"]])
        return [f"{before}{comma}{column}" for column in found if column not in taken]
    return []


def names_of_runs(ctx: typer.Context, incomplete: str) -> list[tuple[str, str] | str]:
    """Completes a baseline: the names of the runs on the command line."""
    with suppress(Exception):
        runs = _given(ctx, ("qrels", "runs", "sources"))
        named = runs_by_name(runs if ctx.params.get("stored") else runs[1:], here=False)
        return [name for name in named if name.startswith(incomplete)]
    return []


def _given(ctx: typer.Context, parameters: Iterable[str]) -> list[str]:
    """What was typed for some parameters of a command. Behind an option that waits for its value,
    arguments were not yet given to any.
    """
    found: list[str] = list(ctx.args)
    for name in parameters:
        value: Any = ctx.params.get(name)
        found += [value] if isinstance(value, str) else list(value or ())
    return found


def _columns(sources: Iterable[str]) -> list[str]:
    """The columns of some files, each once."""
    found: dict[str, None] = {}
    for source in sources:
        path = os.path.expanduser(split_name(source, here=False)[1])  # noqa: PTH111
        pattern = f"{globbing.escape(path)}/**/*.parquet" if Path(path).is_dir() else path
        files = [path] if Path(path).is_file() else sorted(globbing.glob(pattern, recursive=True))
        if files:
            with suppress(Exception):
                found |= dict.fromkeys(_columns_of(Path(files[0])))
    return list(found)


def _columns_of(file: Path) -> list[str]:
    """The columns of a file, by its schema or its first line."""
    ending = Path(file.name.lower().removesuffix(".gz")).suffix
    if ending in (".parquet", ".pq"):
        import polars as pl

        return list(pl.read_parquet_schema(file))
    opened = gzip.open if file.suffix.lower() == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as lines:
        first = lines.readline(1 << 16)
    if ending in (".jsonl", ".ndjson"):
        return list(json.loads(first))
    if ending in (".csv", ".tsv"):
        marks = {mark: first.count(mark) for mark in ",\t;"}
        return next(csv.reader([first], delimiter=max(marks, key=lambda mark: marks[mark])))
    return []


@contextmanager
def whole_words() -> Iterator[None]:
    """Words as they were typed where bash asks for completion: it takes `ndcg@1` for three, and
    replaces the last of them by what it is answered.
    """
    if os.environ.get(_VARIABLE) != "complete_bash" or "\n" not in os.environ.get("COMP_WORDS", ""):
        yield
        return
    words, at, kept = _joined(os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"]))
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(words), str(at)
    answer = StringIO()
    try:
        with redirect_stdout(answer):
            yield
    finally:
        for line in answer.getvalue().splitlines():
            sys.stdout.write(f"{line.removeprefix(kept)}\n")


def _joined(words: list[str], at: int) -> tuple[list[str], int, str]:
    """Words that bash took apart, which of them is meant, and what it keeps of that one.

    >>> _joined(["rankframe", "evaluate", "-m", "ndcg", "@", "1"], 5)
    (['rankframe', 'evaluate', '-m', 'ndcg@1'], 3, 'ndcg')
    >>> _joined(["rankframe", "evaluate", "-c", "doc_id", "="], 4)[1:]
    (3, 'doc_id=')
    """
    joined: list[str] = []
    here, kept = 0, ""
    glue = False
    for place, word in enumerate(words):
        breaks = bool(word) and set(word) <= _BREAKS
        whole = joined.pop() + word if joined and (breaks or glue) else word
        joined.append(whole)
        if place == at:
            kept = whole if breaks else whole.removesuffix(word)
            here, kept = len(joined) - 1, kept.removesuffix("@")
        glue = breaks
    return joined, here, kept
