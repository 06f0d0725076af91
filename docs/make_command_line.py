"""Write docs/reference/command_line.md: every command with its arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from generated import DOCS, table, write

from rankframe.cli.app import make_app
from rankframe.cli.options import metavar
from rankframe.core.options import choices

PAGE = DOCS / "reference" / "command_line.md"
HEADER = """<!-- Written by docs/make.py. -->

# Command line

`rankframe COMMAND --help` shows the same.

The judgments come first, then runs: a file, a glob, a folder, or `-` for standard input. The exit
code is 0, or 2 with one line on stderr for bad input; `gate` has [codes of its own](../gate.md),
and so has [`trec_eval`](../migrating.md#trec_eval). The default among choices is bold.
`rankframe --install-completion` sets up tab completion.
"""


def written() -> dict[Path, str]:
    """Return the text of the command-line reference, by its path."""
    group: Any = typer.main.get_command(make_app())
    parts = [HEADER, *(part for name in group.commands for part in _command(name, group))]
    return {PAGE: "\n".join(parts)}


def _command(name: str, group: Any) -> Iterator[str]:
    command = group.commands[name]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    yield f"## `rankframe {name}`\n"
    yield f"{command.help}\n"
    places = "".join(f" {_placed(one)}" for one in arguments)
    yield f"```text\nrankframe {name}{places}{' [OPTIONS]' if options else ''}\n```\n"
    if arguments:
        rows = [(f"`{one.metavar or one.name.upper()}`", _help(one)) for one in arguments]
        yield f"{table(['argument', 'what it is'], rows)}\n"
    if options:
        rows = [(_flags(one), _taken(one), _help(one)) for one in options]
        yield f"{table(['option', 'takes', 'what it does'], rows)}\n"
    examples = re.sub(r"\n{2,}", "\n", command.epilog.partition("\n")[2].strip("\n"))
    lines = "\n".join(line.strip() for line in examples.splitlines())
    if lines != f"rankframe {name}":
        yield f"```text\n{lines}\n```\n"


def _placed(argument: Any) -> str:
    shown = (argument.metavar or argument.name.upper()).removesuffix("...")
    shown += "…" if argument.nargs == -1 else ""
    return shown if argument.required else f"[{shown}]"


def _flags(option: Any) -> str:
    longest_first = sorted((*option.opts, *option.secondary_opts), key=len, reverse=True)
    return " ".join(f"`{flag}`" for flag in longest_first)


def _taken(option: Any) -> str:
    kind = option.type_descriptor.annotation
    if listed := list(choices(kind)):
        return " ".join(f"**`{one}`**" if one == option.default else f"`{one}`" for one in listed)
    if kind is bool:
        return ""
    shown = f"`{option.metavar or metavar(kind)}`"
    return shown if option.default is None else f"{shown}, else {option.default}"


def _help(one: Any) -> str:
    return re.sub(r"\[/?bold\]", "", one.help or "")


if __name__ == "__main__":
    write(written())
