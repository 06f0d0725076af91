"""`rankframe compare`: systems over the same queries, and how sure their differences are."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from rankframe.cli.completion import names_of_runs
from rankframe.cli.options import (
    BY,
    COLUMNS,
    LOWER_IS_BETTER,
    MAX_MEMORY,
    QUERIES,
    WEIGHT,
    Folder,
    Given,
    Ledger,
    Metrics,
    Overwrite,
    QrelsAndRuns,
    Quiet,
    output_option,
    takes,
)
from rankframe.cli.support import check_outputs, open_inputs, progress_bar, tell_if_every_relevant
from rankframe.core.options import Comparing, Intervals, SharedPolicies, Storage

EXAMPLES = """
  rankframe compare qrels.parquet bm25.parquet dense.parquet --baseline bm25

  rankframe compare qrels.parquet old=bm25.parquet new=hybrid.parquet \\
    -m ndcg@10 -m map --format markdown

  rankframe compare qrels.parquet bm25.parquet dense.parquet hybrid.parquet \\
    -m ndcg@10 --test tukey --format latex

  rankframe compare qrels.parquet bm25.parquet dense.parquet -m mrr@10 \\
    --queries queries.parquet --by locale

  rankframe compare --stored results/bm25 results/dense --test randomisation
"""


@takes(
    SharedPolicies, Comparing, Intervals, Storage,
    shared=(COLUMNS, MAX_MEMORY, LOWER_IS_BETTER, QUERIES, BY, WEIGHT),
)  # fmt: skip
def compare(
    sources: QrelsAndRuns,
    *,
    metric: Metrics = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            "-b",
            metavar="NAME",
            help="The run that others are compared with (default: every pair).",
            autocompletion=names_of_runs,
        ),
    ] = None,
    stored: Annotated[
        bool,
        typer.Option(
            "--stored", help="All arguments are stored results or per-query files; no judgments."
        ),
    ] = False,
    bounds: Annotated[
        bool,
        typer.Option("--bounds", help="Also bounds and scenarios for the unjudged documents."),
    ] = False,
    style: Annotated[
        Literal["table", "json", "csv", "markdown", "latex"],
        output_option("--format", help="How to print."),
    ] = "table",
    output: Folder = None,
    overwrite: Overwrite = False,
    ledger: Ledger = False,
    quiet: Quiet = False,
    how: Given,
) -> None:
    """Compare runs over the same queries: differences, intervals and significance tests."""
    from rich.console import Console

    import rankframe as rf
    from rankframe.analysis.comparison import COMPARISON_FILES
    from rankframe.io.output_paths import refuse_taken
    from rankframe.present.terminal import analysis_tables as show

    qrels, runs = (None, sources) if stored else (sources[0], sources[1:])
    judgments, systems = open_inputs(qrels, runs)
    check_outputs([judgments, *systems.values(), how["queries"]], folder=output)
    if output is not None:
        refuse_taken(output, COMPARISON_FILES, overwrite=overwrite)
    with progress_bar("comparing", quiet=quiet) as report:
        found = rf.compare(
            judgments, systems, metric, baseline=baseline, bounds=bounds, progress=report, **how
        )
    tell_if_every_relevant(found.every_relevant and not stored)
    if output is not None:
        found.write(output, overwrite=overwrite)
    if style != "table":
        print(show.comparison_text(found, style))
        return
    console = Console()
    console.print(show.comparison_table(found, console.width))
    if bounds:
        console.print(show.bounds_table(found))
    if ledger:
        console.print(show.ledger_table(found.ledger))
