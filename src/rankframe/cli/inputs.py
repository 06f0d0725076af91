"""Open the inputs that a command line names: judgments, runs by name, standard input."""

from __future__ import annotations

import glob as globbing
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rankframe.core.errors import OptionError, UnreadableInputError
from rankframe.core.messages import did_you_mean, masked
from rankframe.io.remote import is_address

# A run under a name. What may be an address or a path up to a Hive folder is no name.
_NAMED = re.compile(r"([^/\\:=]+)=(.+)", re.DOTALL)
# An address of a database table; the group is the table's name without its schema.
_TABLE = re.compile(r"^\w+:.*#(?:[\w$-]+\.)*([\w$-]+)$")
# Stands for no judgments.
NOTHING = "none"


def open_inputs(
    qrels: str | None, runs: Sequence[str], *, here: bool = True
) -> tuple[Any, dict[str, Any]]:
    """Open the judgments and runs of a command line; judgments are None if not given, or "none".

    `here`: a path that is on no disk of this machine, and no address, is refused.
    """
    named = runs_by_name(runs, here=here)
    opened = open_sources([*([] if qrels is None else [qrels]), *named.values()])
    judgments = None if qrels is None else opened.pop(0)
    return None if qrels == NOTHING else judgments, dict(zip(named, opened, strict=True))


def open_sources(paths: Sequence[str]) -> list[Any]:
    """Return each path unchanged, and the stream of standard input for the path -."""
    if paths.count("-") > 1:
        raise OptionError("standard input (-) can be read only once.")
    if "-" in paths and sys.stdin is None:
        raise OptionError("standard input (-) is closed.")
    return [sys.stdin.buffer if source == "-" else source for source in paths]


def runs_by_name(texts: Sequence[str], *, here: bool = True) -> dict[str, str]:
    """Return the path of each run by name: `old` of `old=runs/a.parquet`, else the file's name.

    `here`: a path that is on no disk of this machine, and no address, is refused.
    """
    split = [split_name(text, here=here) for text in texts]
    chosen = [name for name, _ in split if name is not None]
    file_names = _file_names([path for name, path in split if name is None], taken=set(chosen))
    names = [next(file_names) if name is None else name for name, _ in split]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise OptionError(f"two runs are named {twice[0]!r}. Give each a name of its own.")
    return {name: path for name, (_, path) in zip(names, split, strict=True)}


def split_name(text: str, *, here: bool = True) -> tuple[str | None, str]:
    """Split NAME=PATH; the name is None if the whole text is a path.

    An existing path wins over a name, such as a Hive folder, `day=2026-01-01`.
    """
    match = _NAMED.fullmatch(text)
    if match is None or _is_there(text):
        return None, text
    name, path = match[1].strip(), match[2]
    if here and path != "-" and not is_address(path) and ":" not in path and not _is_there(path):
        folder = Path(os.path.expanduser(path)).parent  # noqa: PTH111 (as where it is opened)
        there = [file.name for file in folder.iterdir()] if folder.is_dir() else []
        nor = f"Nor is there {path!r}, for a run named {name!r}"
        near = did_you_mean(Path(path).name, there)
        raise UnreadableInputError(text, "no such file", f"{nor}. {near}" if near else nor)
    return (name, path) if name else (None, text)


def _is_there(path: str) -> bool:
    """Tell whether a path or a pattern leads to a file."""
    path = os.path.expanduser(path)  # noqa: PTH111 (as where it is opened)
    # Unlike pathlib's, this one says no of what cannot be a path.
    exists = os.path.exists(path)  # noqa: PTH110
    return exists or ("\0" not in path and bool(globbing.glob(path, recursive=True)))


def _file_names(runs: list[str], taken: set[str]) -> Iterator[str]:
    """Return file names without endings, or whole paths if names are not distinct.

    A run in a database is named by its table.
    """
    from rankframe.io.formats.packing import bare_name

    runs = [masked(run) for run in runs]
    short = [
        table[1]
        if (table := _TABLE.search(run))
        else bare_name(run.rstrip("/")).rsplit(".", 1)[0]
        if run != "-"
        else "stdin"
        for run in runs
    ]
    for names in (short, runs):
        if len(set(names)) == len(names) and taken.isdisjoint(names):
            return iter(names)
    return (f"{run} ({number})" for number, run in enumerate(runs, start=1))
