"""Complete values on Tab: metrics, columns of the files on the command line, names of runs.

A completer that fails offers nothing: a shell has no place for errors while somebody types.
"""

from __future__ import annotations

import csv
import glob as globbing
import gzip
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from functools import wraps
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

import typer

from rankframe.cli.inputs import runs_by_name, split_name

# Values to offer, some with a description.
Offered: TypeAlias = list[tuple[str, str] | str]
Completer: TypeAlias = Callable[..., Offered]

CUTOFFS = ("1", "3", "5", "10", "20", "50", "100", "1000")
# Where arguments and options of commands name files.
_FILES = ("qrels", "runs", "run", "sources", "a", "b", "source", "queries")
_VARIABLE = "_RANKFRAME_COMPLETE"
# Bash ends words at these characters, and completes only the part after the last of them. An @ is
# itself part of what bash completes.
_BREAKS = re.compile(r"\n([@=:]+)(?:\n|$)")


def safe(completer: Completer) -> Completer:
    """Return a completer that offers nothing if `completer` fails."""

    @wraps(completer)
    def called(*args: Any, **arguments: Any) -> Offered:
        with suppress(Exception):
            return completer(*args, **arguments)
        return []

    return called


def metrics_of(kind: str | None = None) -> Completer:
    """Return a completer for metrics of a kind, `judged` or `pair`, and for cutoffs after @."""

    def complete(incomplete: str) -> Offered:
        from rankframe.metrics import REGISTRY

        by_name = {
            name: metric
            for metric in REGISTRY.values()
            if kind is None or (metric.frame == "pair") == (kind == "pair")
            for name in (metric.name, *metric.aliases)
        }
        name, separator, cutoffs = incomplete.partition("@")
        if separator:
            before, comma, _ = cutoffs.rpartition(",")
            free = [cutoff for cutoff in CUTOFFS if cutoff not in before.split(",")]
            takes_cutoff = name in by_name and "k" in by_name[name].parameters
            return [f"{name}@{before}{comma}{cutoff}" for cutoff in free if takes_cutoff]
        names = sorted(name for name in by_name if name.startswith(incomplete))
        offered: Offered = [(name, by_name[name].summary) for name in names]
        if len(names) == 1 and "k" in by_name[names[0]].parameters:  # no blank follows the name
            offered += [f"{names[0]}@{cutoff}" for cutoff in CUTOFFS]
        return offered

    return complete


def methods(incomplete: str) -> Offered:
    """Complete the names of fusion methods."""
    from rankframe.analysis.fusion.methods import METHODS

    return [(name, METHODS[name].summary) for name in METHODS if name.startswith(incomplete)]


def charts(incomplete: str) -> Offered:
    """Complete the names of charts."""
    from rankframe.present.charts.registry import CHARTS

    return [(name, CHARTS[name].sentence) for name in CHARTS if name.startswith(incomplete)]


def trec_measures(incomplete: str) -> Offered:
    """Complete trec_eval's measures and nicknames."""
    from rankframe.trec_eval.measures import MEASURES, NICKNAMES

    return [name for name in (*NICKNAMES, *MEASURES) if name.startswith(incomplete)]


def own_columns(ctx: typer.Context, incomplete: str) -> Offered:
    """Complete NAME=YOURS: rankframe's columns, then columns of the files on the command line."""
    from rankframe.core.columns import SYNONYMS

    canonical, equals, _ = incomplete.partition("=")
    if not equals:
        return [f"{name}=" for name in SYNONYMS]
    return [f"{canonical}={column}" for column in _columns(_typed(ctx, _FILES))]


def attributes(ctx: typer.Context, incomplete: str) -> Offered:
    """Complete attributes of the table of queries, also behind a comma."""
    before, comma, _ = incomplete.rpartition(",")
    taken = ("query_id", *before.split(","))
    columns = _columns([ctx.params["queries"]])
    return [f"{before}{comma}{column}" for column in columns if column not in taken]


def names_of_runs(ctx: typer.Context, incomplete: str) -> Offered:
    """Complete the names of the runs on the command line."""
    runs = _typed(ctx, ("qrels", "runs", "sources"))
    named = runs_by_name(runs if ctx.params.get("stored") else runs[1:], here=False)
    return [name for name in named if name.startswith(incomplete)]


def _typed(ctx: typer.Context, parameters: Iterable[str]) -> list[str]:
    """Return the command-line values of some parameters of a command.

    Behind an option that waits for its value, arguments belong to no parameter yet.
    """
    typed: list[str] = list(ctx.args)
    for name in parameters:
        value: Any = ctx.params.get(name)
        typed += [value] if isinstance(value, str) else list(value or ())
    return typed


def _columns(sources: Iterable[str]) -> list[str]:
    """Return the columns of some files, each once."""
    columns: dict[str, None] = {}
    for source in sources:
        path = os.path.expanduser(split_name(source, here=False)[1])  # noqa: PTH111
        pattern = f"{globbing.escape(path)}/**/*.parquet" if Path(path).is_dir() else path
        files = [path] if Path(path).is_file() else sorted(globbing.glob(pattern, recursive=True))
        if files:
            with suppress(Exception):
                columns |= dict.fromkeys(_columns_of(Path(files[0])))
    return list(columns)


def _columns_of(file: Path) -> list[str]:
    """Return the columns of a file, by its schema or its first line."""
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
    """Join words that bash splits, and return completions for the part that bash replaces.

    Bash takes `ndcg@1` for three words, and replaces the last of them by the answer.
    """
    if os.environ.get(_VARIABLE) != "complete_bash" or "\n" not in os.environ.get("COMP_WORDS", ""):
        yield
        return
    words = os.environ["COMP_WORDS"].split("\n")[: int(os.environ["COMP_CWORD"]) + 1]
    words, kept = _joined(words)
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(words), str(len(words) - 1)
    answer = StringIO()
    try:
        with redirect_stdout(answer):
            yield
    finally:
        for line in answer.getvalue().splitlines():
            sys.stdout.write(f"{line.removeprefix(kept)}\n")


def _joined(words: list[str]) -> tuple[list[str], str]:
    """Return the joined words, and the part of the last word that bash keeps.

    >>> _joined(["rankframe", "evaluate", "-m", "ndcg", "@", "1"])
    (['rankframe', 'evaluate', '-m', 'ndcg@1'], 'ndcg')
    >>> _joined(["rankframe", "evaluate", "-c", "doc_id", "="])[1:]
    ('doc_id=',)
    """
    joined = _BREAKS.sub(r"\1", "\n".join(words)).split("\n")
    kept = joined[-1] if set(words[-1]) & set("@=:") else joined[-1].removesuffix(words[-1])
    return joined, kept.removesuffix("@")
