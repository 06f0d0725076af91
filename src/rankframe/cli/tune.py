"""`rankframe tune`: the fusion that is best for your queries, and what it gains on others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rankframe.cli.completion import methods, metrics_of
from rankframe.cli.options import (
    OUTPUT,
    Columns,
    Given,
    Ledger,
    MaxMemory,
    Overwrite,
    Queries,
    Quiet,
    Style,
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
)
from rankframe.core.options import Comparing, Intervals, SharedPolicies, Storage

EXAMPLES = """
  rankframe tune qrels.parquet bm25.parquet dense.parquet

  rankframe tune qrels.parquet bm25.parquet dense.parquet -m ndcg@10 \\
    --method wsum --norm min_max --norm zmuv --grid weights=0.05

  rankframe tune qrels.parquet bm25.parquet dense.parquet -m recall@100 \\
    --method rrf --grid k=10,20,60,100 --folds 10

  rankframe tune qrels.parquet bm25.parquet dense.parquet sparse.parquet \\
    --method wsum --method mapfuse --budget 300 --format markdown
"""


@takes(SharedPolicies, Intervals, Storage, test=Comparing, correction=Comparing,
       permutations=Comparing)  # fmt: skip
def tune(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="QRELS RUN...", help="Judgments, then two runs or more (NAME=RUN names one)."
        ),
    ],
    *,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="What to tune for; see `rankframe metrics`.",
            autocompletion=metrics_of("judged"),
        ),
    ] = "ndcg@10",
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="To try, e.g. rrf, wsum, mapfuse (repeat).",
            autocompletion=methods,
        ),
    ] = None,
    norm: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Of scores, e.g. min_max, zmuv (repeat)."),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=X,...",
            help="What to try, e.g. k=10,60,100, or weights=0.05: their step (repeat).",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", help="Of queries.")] = 5,
    budget: Annotated[
        int,
        typer.Option(metavar="N", help="More weights than these are searched, not all tried."),
    ] = 200,
    depth: Annotated[
        int | None,
        typer.Option(metavar="N", help="Fuse the top so many of each run only."),
    ] = None,
    column: Columns = None,
    top: Annotated[
        int, typer.Option(metavar="N", help="Candidates to show.", rich_help_panel=OUTPUT)
    ] = 10,
    style: Style = "table",
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
    max_memory: MaxMemory = None,
    quiet: Quiet = False,
    how: Given,
    queries: Queries = None,
    weight: Weight = None,
) -> None:
    """Tune a fusion of runs: every candidate, the best, and what it gains out of fold."""
    from rich.console import Console

    import rankframe as rf
    from rankframe.analysis.tuning.grid import parse_grid
    from rankframe.analysis.tuning.outcome import TUNING_FILES
    from rankframe.io.output_paths import refuse_taken
    from rankframe.present.terminal import analysis_tables as show

    runs = runs_by_name(sources[1:])
    opened = open_sources([sources[0], *runs.values()])
    check_outputs([*opened, queries], folder=output)
    if output is not None:
        refuse_taken(output, TUNING_FILES, overwrite=overwrite)
    tell_if_not_held(max_memory)
    systems: dict[str, Any] = dict(zip(runs, opened[1:], strict=True))
    chosen: dict[str, Any] = {"methods": method} if method else {}
    chosen |= {"norms": norm} if norm else {}
    with progress_bar("tuning", quiet=quiet) as report:
        found = rf.tune(
            opened[0],
            systems,
            metric=metric,
            grid=parse_grid(grid or ()),
            folds=folds,
            budget=budget,
            depth=depth,
            queries=queries,
            weight=weight,
            columns=column_names(column),
            max_memory=max_memory,
            progress=report,
            **chosen,
            **how,
        )
    tell_if_every_relevant(found.every_relevant)
    if output is not None:
        found.write(output, overwrite=overwrite)
    if style != "table":
        print(show.tuning_text(found, style, top))
        return
    console = Console()
    console.print(show.tuning_table(found, console.width, top))
    if ledger:
        console.print(show.ledger_table(found.ledger))
