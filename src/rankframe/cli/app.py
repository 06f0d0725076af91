"""Put the commands together, and print errors.

Heavy imports wait until a command runs, so that `--help` and completion are quick.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rankframe.cli.compare import compare, diff
from rankframe.cli.completion import whole_words
from rankframe.cli.convert import convert
from rankframe.cli.evaluate import agree, evaluate
from rankframe.cli.fuse import fuse, tune
from rankframe.cli.gate import gate, history
from rankframe.cli.options import PlainCommand, plainly
from rankframe.cli.plot import plot
from rankframe.cli.process import FAILED
from rankframe.cli.reference import demo, fusions, metrics
from rankframe.cli.report import report
from rankframe.cli.trec_eval import TrecCommand, trec_eval
from rankframe.core.caveats import RankframeWarning
from rankframe.core.errors import RankframeError


class _Group(TyperGroup):
    """Group all commands.

    Flags without a value get the value false, not None: for None, typer imports pydantic, which
    takes as long as all the rest of `rankframe evaluate --help`.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of `rankframe` itself; all are flags."""
        flags = plainly(super().get_params(ctx))
        for flag in flags:
            flag.default = bool(flag.default)
        return flags


app = typer.Typer(
    cls=_Group,
    help="Evaluate rankings at dataframe speed.\n\nNew here? Try [bold]rankframe demo[/bold].",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
# In the order of `rankframe --help`.
for _command in (
    evaluate, compare, diff, gate, history, report, plot, agree, fuse, tune, metrics, fusions,
    convert, trec_eval, demo,
):  # fmt: skip
    _help, _, _examples = (inspect.getdoc(_command) or "").partition("\n\nExamples:\n")
    app.command(
        _command.__name__,
        help=_help,
        epilog=f"[bold]Examples[/bold]\n\n{_examples}\n",
        cls=TrecCommand if _command is trec_eval else PlainCommand,
    )(_command)


@app.callback(invoke_without_command=True)
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
    # printed on stderr, in one line each
    warnings.filterwarnings("ignore", category=RankframeWarning)
    try:
        with whole_words():
            code = app(prog_name="rankframe", standalone_mode=False)
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
