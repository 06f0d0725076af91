"""The command line: its commands, and how it ends. No result is computed here.

Heavy imports wait until a command runs, so that `--help` and completion are quick.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rankframe.cli.decide import compare, diff, gate
from rankframe.cli.evaluate import agree, convert, demo, evaluate, metrics
from rankframe.cli.look import plot, report
from rankframe.cli.options import (
    AGREE_EXAMPLES,
    COMPARE_EXAMPLES,
    CONVERT_EXAMPLES,
    DIFF_EXAMPLES,
    EVALUATE_EXAMPLES,
    GATE_EXAMPLES,
    PLOT_EXAMPLES,
    REPORT_EXAMPLES,
)
from rankframe.cli.trec_eval import TREC_EVAL_EXAMPLES, trec_eval

app = typer.Typer(
    help="Evaluate rankings at dataframe speed.\n\nNew here? Try [bold]rankframe demo[/bold].",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=EVALUATE_EXAMPLES)(evaluate)
app.command(epilog=COMPARE_EXAMPLES)(compare)
app.command(epilog=DIFF_EXAMPLES)(diff)
app.command(epilog=GATE_EXAMPLES)(gate)
app.command(epilog=REPORT_EXAMPLES)(report)
app.command(epilog=PLOT_EXAMPLES)(plot)
app.command(epilog=AGREE_EXAMPLES)(agree)
app.command()(metrics)
app.command(epilog=CONVERT_EXAMPLES)(convert)
app.command(name="trec_eval", epilog=TREC_EVAL_EXAMPLES)(trec_eval)
app.command()(demo)

_BAD_INPUT = 2
_INTERRUPTED = 130


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """What every command shares."""
    if version:
        from rankframe import __version__

        print(f"rankframe {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line: bad input or usage ends with one line on stderr and code 2."""
    try:
        code = app(standalone_mode=False)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read us has gone; nothing is wrong
        sys.exit(0)
    except Exception as error:
        message = _user_message(error)
        if message is None:
            raise
        print(f"rankframe: {message}", file=sys.stderr)
        sys.exit(_BAD_INPUT)
    sys.exit(code if isinstance(code, int) else 0)


def _user_message(error: Exception) -> str | None:
    """One line for what the user can mend; None for what is a fault of ours."""
    from rankframe.base.errors import RankframeError

    if isinstance(error, RankframeError):
        return " ".join(error.said(flags=True).split())
    if type(error).__name__ in ("Abort", "NoArgsIsHelpError"):
        return "nothing was asked for. See rankframe --help."
    usage = getattr(error, "format_message", None)
    if usage is None:
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "rankframe"
    said = usage().replace("Value error, ", "").rstrip(".")
    return f"{said}{'' if said.endswith('?') else '.'} See {command} --help."
