"""Assemble the commands into the application `rankframe`, run it, and print errors.

Heavy imports wait until a command runs, so that `--help` and completion are quick.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rankframe.cli.completion import whole_words
from rankframe.cli.options import PlainCommand, plainly
from rankframe.cli.process import FAILED
from rankframe.core.caveats import RankframeWarning
from rankframe.core.errors import RankframeError

# The commands in the order of `rankframe --help`, and their modules.
COMMANDS = {
    "evaluate": "evaluate",
    "compare": "compare",
    "diff": "compare",
    "gate": "gate",
    "history": "gate",
    "report": "report",
    "plot": "plot",
    "agree": "evaluate",
    "fuse": "fuse",
    "tune": "fuse",
    "metrics": "reference",
    "fusions": "reference",
    "convert": "convert",
    "trec_eval": "trec_eval",
    "demo": "reference",
}


class _Group(TyperGroup):
    """Represent `rankframe` itself, of which all commands are subcommands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of `rankframe` itself; all are flags."""
        return plainly(super().get_params(ctx))


def make_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Make the application with the commands `names`, importing only their modules."""
    app = typer.Typer(
        cls=_Group,
        help="Evaluate rankings at dataframe speed.\n\nNew here? Try [bold]rankframe demo[/bold].",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(root)
    for name in names:
        module = import_module(f"rankframe.cli.{COMMANDS[name]}")
        command = getattr(module, name)
        about, _, examples = (inspect.getdoc(command) or "").partition("\n\nExamples:\n")
        app.command(
            name,
            help=about,
            epilog=f"[bold]Examples[/bold]\n\n{examples}\n",
            cls=getattr(module, "TrecCommand", PlainCommand),
        )(command)
    return app


def root(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
) -> None:
    """Handle the flags of `rankframe` itself."""
    if version:
        from rankframe import __version__

        print(f"rankframe {__version__}")
        raise typer.Exit


def run() -> int:
    """Run the command line, and return its exit code.

    Bad input and usage print one line on stderr and return 2, or the code that a command set.
    """
    # Commands print the caveats themselves, a line each on stderr.
    warnings.filterwarnings("ignore", category=RankframeWarning)
    # One command needs the module of no other; help and completion need all.
    names = [name for name in sys.argv[1:2] if name in COMMANDS] or COMMANDS
    try:
        with whole_words():
            code = make_app(names)(prog_name="rankframe", standalone_mode=False)
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # typer wraps it
            raise error.__cause__ from None
        message = _user_message(error)
        if message is None:
            raise
        from rankframe.core.wording import plain_text

        print(f"rankframe: {plain_text(message)}", file=sys.stderr)
        return getattr(error, "ends_with", FAILED)
    return code if isinstance(code, int) else 0


def _user_message(error: Exception) -> str | None:
    """Return one line for an error that the user can fix; None for a bug."""
    if isinstance(error, RankframeError):
        # One line; spaces within it may be part of a name.
        return " ".join(line.strip() for line in error.message(flags=True).splitlines())
    if type(error).__name__ in ("Abort", "NoArgsIsHelpError"):
        return "no command given. See rankframe --help."
    usage = getattr(error, "format_message", None)
    if usage is None:
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "rankframe"
    text = usage().replace("Value error, ", "").rstrip(".")
    return f"{text}{'' if text.endswith('?') else '.'} See {command} --help."
