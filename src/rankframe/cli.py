"""The command line: parses, calls the library, prints. No result is computed here.

Heavy imports wait until a command runs, so that `--help` and completion are quick.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from rankframe.cli_options import (
    AGREE_EXAMPLES,
    CONVERT_EXAMPLES,
    EVALUATE_EXAMPLES,
    OUTPUT,
    POLICIES,
    Columns,
    DuplicateRule,
    KMax,
    Ledger,
    MaxMemory,
    Metrics,
    Overwrite,
    PerQuery,
    Quiet,
    Style,
    Summary,
    TieRule,
)

if TYPE_CHECKING:
    from rankframe.names import Metric
    from rankframe.result import Result

app = typer.Typer(
    help="Evaluate rankings at dataframe speed.\n\nNew here? Try [bold]rankframe demo[/bold].",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_BAD_INPUT = 2
_INTERRUPTED = 130


@app.command(epilog=EVALUATE_EXAMPLES)
def evaluate(
    qrels: Annotated[
        str, typer.Argument(metavar="QRELS", help="Judgments: a file, glob, folder, or - (stdin).")
    ],
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="One run or several, likewise.")],
    metric: Metrics = None,
    column: Columns = None,
    style: Style = "table",
    per_query: PerQuery = None,
    summary: Summary = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Write the whole result there, as Parquet (a folder for each of several runs).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    overwrite: Overwrite = False,
    ledger: Ledger = False,
    quiet: Quiet = False,
    max_memory: MaxMemory = None,
    rel: Annotated[
        float | None,
        typer.Option(
            help="Grade from which a document is relevant; else any above 0.",
            rich_help_panel=POLICIES,
        ),
    ] = None,
    missing: Annotated[
        Literal["zero", "skip", "error"],
        typer.Option(help="Judged queries that a run lacks.", rich_help_panel=POLICIES),
    ] = "zero",
    no_relevant: Annotated[
        Literal["zero", "skip"],
        typer.Option(help="Queries without relevant documents.", rich_help_panel=POLICIES),
    ] = "zero",
    no_overlap: Annotated[
        Literal["error", "zero"],
        typer.Option(help="A run without any judged document.", rich_help_panel=POLICIES),
    ] = "error",
    ties: TieRule = "doc_desc",
    duplicates: DuplicateRule = "error",
    k_max: KMax = None,
    judged_only: Annotated[
        bool,
        typer.Option(
            "--judged-only", help="Drop unjudged documents first.", rich_help_panel=POLICIES
        ),
    ] = False,
    queries: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A table of queries, for average=weighted.",
            rich_help_panel=POLICIES,
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Its column of weights.", rich_help_panel=POLICIES),
    ] = None,
) -> None:
    """Evaluate runs against judgments: truth first, then any number of runs."""
    import rankframe as rf
    from rankframe.names import resolve
    from rankframe.progress import progress_bar

    _check_targets(per_query, summary)
    metrics = metric or list(rf.DEFAULT_METRICS)
    resolved = resolve(metrics)
    sources = _sources(qrels, runs)
    names = _run_names(runs)
    results: dict[str, Result] = {}
    for number, (name, run) in enumerate(zip(names, sources[1:], strict=True), start=1):
        with progress_bar(f"{name} ({number} of {len(names)})", quiet=quiet) as report:
            results[name] = rf.evaluate(
                sources[0],
                run,
                metrics,
                columns=_columns(column),
                rel=rel,
                missing=missing,
                no_relevant=no_relevant,
                no_overlap=no_overlap,
                ties=ties,
                duplicates=duplicates,
                k_max=k_max,
                judged_only=judged_only,
                queries=queries,
                weight=weight,
                max_memory=max_memory,
                output=output / name if output and len(names) > 1 else output,
                overwrite=overwrite,
                progress=report,
            )
    _deliver(results, resolved, style, per_query, summary, ledger=ledger)


@app.command(epilog=AGREE_EXAMPLES)
def agree(
    a: Annotated[
        str, typer.Argument(metavar="A", help="A ranking (the reference): a file, glob, folder, -.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one of the same queries.")],
    metric: Metrics = None,
    column: Columns = None,
    style: Style = "table",
    per_query: PerQuery = None,
    summary: Summary = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Write the whole result there, as Parquet.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    overwrite: Overwrite = False,
    ledger: Ledger = False,
    quiet: Quiet = False,
    max_memory: MaxMemory = None,
    ties: TieRule = "doc_desc",
    missing: Annotated[
        Literal["shared", "bottom"],
        typer.Option(
            help="Correlations: shared documents only, or absent ones at the bottom.",
            rich_help_panel=POLICIES,
        ),
    ] = "shared",
    lone: Annotated[
        Literal["keep", "skip"],
        typer.Option(help="Queries that only one side has.", rich_help_panel=POLICIES),
    ] = "keep",
    duplicates: DuplicateRule = "error",
    k_max: KMax = None,
) -> None:
    """Compare two rankings of the same queries, without judgments: how alike are they?"""
    import rankframe as rf
    from rankframe.agree import DEFAULT_METRICS
    from rankframe.names import resolve
    from rankframe.progress import progress_bar

    _check_targets(per_query, summary)
    metrics = metric or list(DEFAULT_METRICS)
    first, second = _sources(a, [b])
    name = " ~ ".join(_run_names([a, b]))
    with progress_bar(name, quiet=quiet) as report:
        result = rf.agree(
            first,
            second,
            metrics,
            columns=_columns(column),
            ties=ties,
            missing=missing,
            lone=lone,
            duplicates=duplicates,
            k_max=k_max,
            max_memory=max_memory,
            output=output,
            overwrite=overwrite,
            progress=report,
        )
    resolved = resolve(metrics, "pair")
    _deliver({name: result}, resolved, style, per_query, summary, ledger=ledger)


def _check_targets(*targets: Path | None) -> None:
    """Refuse what cannot be written before any work is done."""
    from rankframe.convert import check_target

    for target in targets:
        if target:
            check_target(target)


def _deliver(
    results: dict[str, Result],
    metrics: list[Metric],
    style: Literal["table", "json", "csv", "markdown"],
    per_query: Path | None,
    summary: Path | None,
    *,
    ledger: bool,
) -> None:
    """Write what was asked for, and print the rest."""
    from rankframe import show
    from rankframe.convert import write_frame

    for target, frame in ((per_query, show.per_query_frame), (summary, show.summary_frame)):
        if target:
            write_frame(frame(results), target)
    if style != "table":
        print(show.as_text(results, metrics, style))
        return
    console = Console()
    console.print(show.summary_table(results, metrics))
    if ledger:
        console.print(show.ledger_table(results))


@app.command()
def metrics(
    name: Annotated[
        str | None, typer.Argument(help="A metric, in any spelling: ndcg, nDCG@10, map_cut_10.")
    ] = None,
) -> None:
    """The metric reference: all of them, or one with its formula, parameters and synonyms."""
    from rankframe import show
    from rankframe.metrics import REGISTRY
    from rankframe.names import parse

    console = Console()
    if name is None:
        console.print(show.metric_list(list(REGISTRY.values())))
        show.say(console, "One in full: rankframe metrics ndcg. Written name(parameter=value)@k.")
        return
    definition = parse(name)[0].definition
    assert definition is not None  # a name always has one
    console.print(show.metric_page(definition))


@app.command(epilog=CONVERT_EXAMPLES)
def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="A file, glob, folder, or - (stdin).")
    ],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="A file; its ending says the format.")
    ],
    kind: Annotated[
        Literal["run", "qrels"] | None,
        typer.Option(help="What IN holds, where its columns do not say."),
    ] = None,
    duplicates: Annotated[
        Literal["error", "keep_best"], typer.Option(help="The same document twice for a query.")
    ] = "error",
    column: Columns = None,
) -> None:
    """Convert judgments or a run between Parquet, CSV, TSV, JSON Lines and TREC text."""
    from rankframe.convert import convert_file
    from rankframe.progress import progress_bar

    opened = _open_stdin() if source == "-" else source
    with progress_bar(f"converting {source}", quiet=False):
        found, rows = convert_file(
            opened, target, kind, columns=_columns(column), duplicates=duplicates
        )
    print(f"{target}: {rows:,} rows of {found}", file=sys.stderr)


@app.command()
def demo() -> None:
    """Evaluate the data that ships with rankframe, and say what to try next."""
    from rankframe.demo import show_demo

    show_demo(Console())


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
    from rankframe.errors import RankframeError

    if isinstance(error, RankframeError):
        return _as_flags(" ".join(str(error).split()))
    if type(error).__name__ in ("Abort", "NoArgsIsHelpError"):
        return "nothing was asked for. See rankframe --help."
    usage = getattr(error, "format_message", None)
    if usage is None:
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "rankframe"
    said = usage().replace("Value error, ", "").rstrip(".")
    return f"{said}{'' if said.endswith('?') else '.'} See {command} --help."


def _as_flags(message: str) -> str:
    """What a message says in Python, said as flags: duplicates="keep_best" → --duplicates …."""
    message = re.sub(r'columns=\{"(\w+)": "([^"]*)"\}', r"--column \1=\2", message)
    message = message.replace("columns= names", "--column names")
    message = message.replace("overwrite=True", "--overwrite")
    return re.sub(r'\b([a-z_]+)="(\w+)"', lambda m: f"--{m[1].replace('_', '-')} {m[2]}", message)


def _sources(qrels: str, runs: list[str]) -> list[Any]:
    from rankframe.errors import OptionError

    given = [qrels, *runs]
    if given.count("-") > 1:
        raise OptionError("standard input (-) can be read only once.")
    return [_open_stdin() if source == "-" else source for source in given]


def _open_stdin() -> Any:
    return sys.stdin.buffer


def _run_names(runs: list[str]) -> list[str]:
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


def _columns(given: list[str] | None) -> Mapping[str, str]:
    from rankframe.errors import OptionError

    pairs = [item.partition("=") for item in given or ()]
    for name, equals, yours in pairs:
        if not (name and equals and yours):
            raise OptionError(f"--column reads NAME=YOURS, e.g. query_id=user_id, not {name!r}.")
    return {name: yours for name, _, yours in pairs}
