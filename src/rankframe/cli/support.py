"""What the commands of the command line do alike: sources, names and targets from arguments."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def open_sources(given: list[str]) -> list[Any]:
    """Paths as they are, and - as standard input."""
    from rankframe.base.errors import OptionError

    if given.count("-") > 1:
        raise OptionError("standard input (-) can be read only once.")
    return [open_stdin() if source == "-" else source for source in given]


def open_stdin() -> Any:
    """What is piped in."""
    return sys.stdin.buffer


def run_names(runs: list[str]) -> list[str]:
    """File names without their endings, or the paths as given where those are not distinct."""
    short = [
        Path(run.rstrip("/")).name.removesuffix(".gz").rsplit(".", 1)[0] if run != "-" else "stdin"
        for run in runs
    ]
    if len(set(short)) == len(short):
        return short
    if len(set(runs)) == len(runs):
        return runs
    return [f"{run} ({number})" for number, run in enumerate(runs, start=1)]


def one_of(given: Sequence[str] | None, flag: str) -> str | None:
    """What an option that is meant to be given once was given."""
    from rankframe.base.errors import OptionError

    if given and len(given) > 1:
        raise OptionError(f"{flag} is taken once here, not {len(given)} times: {', '.join(given)}.")
    return given[0] if given else None


def column_names(given: list[str] | None) -> Mapping[str, str]:
    """NAME=YOURS pairs as a mapping."""
    from rankframe.base.errors import OptionError

    pairs = [item.partition("=") for item in given or ()]
    for name, equals, yours in pairs:
        if not (name and equals and yours):
            raise OptionError(f"--column reads NAME=YOURS, e.g. query_id=user_id, not {name!r}.")
    return {name: yours for name, _, yours in pairs}


def ways_to_slice(given: list[str] | None) -> list[tuple[str, ...]] | None:
    """Attributes, or several with commas between them for their combinations."""
    return [tuple(part.strip() for part in way.split(",")) for way in given or ()] or None


def refuse_without(engine: str, options: Mapping[str, object]) -> None:
    """Refuse options that an engine does not know."""
    from rankframe.base.errors import OptionError

    for name, value in options.items():
        if value is not None:
            raise OptionError(f"{name} has no meaning with --engine {engine}.")


def check_targets(*targets: Path | None) -> None:
    """Refuse what cannot be written before any work is done."""
    from rankframe.inputs.writers import check_target

    for target in targets:
        if target:
            check_target(target)


def rules_from(texts: list[str] | None, file: Path | None) -> dict[str, Any]:
    """The rules of a file, and those given one by one."""
    from rankframe.decisions.gate_rules import read_table

    table = {} if file is None else read_table(file)
    rules = table.get("rules", [])
    if not isinstance(rules, list):  # whoever reads them next says so
        return table
    return {**table, "rules": [*rules, *(texts or ())]}


def shares(given: list[str] | None) -> dict[int, float]:
    """K=SHARE pairs; a share alone is of the top 10."""
    from rankframe.base.errors import OptionError

    found: dict[int, float] = {}
    for item in given or ():
        depth, equals, share = item.rpartition("=")
        try:
            found[int(depth) if equals else 10] = float(share)
        except ValueError as error:
            raise OptionError(f"--min-judged reads K=SHARE, e.g. 10=0.5, not {item!r}.") from error
    return found


def write_text(target: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    from rankframe.base.places import write_file

    write_file(target, lambda path: path.write_text(text, encoding="utf-8"))
