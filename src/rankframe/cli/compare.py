"""`rankframe compare`: systems over the same queries, and how sure their differences are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from rankframe.cli.completion import names_of_runs
from rankframe.cli.options import (
    OUTPUT,
    By,
    Columns,
    Given,
    Ledger,
    LowerIsBetter,
    MaxMemory,
    Metrics,
    Overwrite,
    Queries,
    Quiet,
    Weight,
    takes,
)
from rankframe.cli.support import (
    check_outputs,
    column_names,
    open_sources,
    progress_bar,
    runs_by_name,
    tell_if_every_relevant,
    tell_if_not_held,
    ways_to_slice,
)
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


@takes(SharedPolicies, Comparing, Intervals, Storage)
def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="QRELS RUN...",
            help="Judgments (or none), then two runs or more (NAME=RUN names one).",
        ),
    ],
    *,
    metric: Metrics = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            "-b",
            metavar="NAME",
            help="Compare with this one; else every pair.",
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
        typer.Option("--bounds", help="Also bounds and scenarios of the unjudged documents."),
    ] = False,
    lower_is_better: LowerIsBetter = None,
    column: Columns = None,
    style: Annotated[
        Literal["table", "json", "csv", "markdown", "latex"],
        typer.Option(
            "--format",
            metavar="table|json|csv|markdown|latex",
            help="How to print.",
            rich_help_panel=OUTPUT,
        ),
    ] = "table",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Write all of it there, as Parquet.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    overwrite: Overwrite = False,
    ledger: Ledger = False,
    quiet: Quiet = False,
    max_memory: MaxMemory = None,
    how: Given,
    queries: Queries = None,
    by: By = None,
    weight: Weight = None,
) -> None:
    """Compare systems over the same queries: which is better, by how much, and how sure is that."""
    from rich.console import Console

    import rankframe as rf
    from rankframe.analysis.comparison import COMPARISON_FILES
    from rankframe.io.output_paths import refuse_taken
    from rankframe.present.terminal import analysis_tables as show

    qrels = [] if stored else sources[:1]
    runs = runs_by_name(sources[len(qrels) :])
    opened = open_sources([*qrels, *runs.values()])
    tell_if_not_held(max_memory)
    check_outputs([*opened, queries], folder=output)
    if output is not None:
        refuse_taken(output, COMPARISON_FILES, overwrite=overwrite)
    systems: dict[str, Any] = dict(zip(runs, opened[len(qrels) :], strict=True))
    with progress_bar("comparing", quiet=quiet) as report:
        found = rf.compare(
            None if stored else opened[0],
            systems,
            metric,
            baseline=baseline,
            bounds=bounds,
            lower_is_better=lower_is_better or (),
            queries=queries,
            by=ways_to_slice(by),
            weight=weight,
            columns=column_names(column),
            max_memory=max_memory,
            progress=report,
            **how,
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
