"""`rankframe tune`: the fusion that is best for your queries, and what it gains on others."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rankframe.cli.completion import methods, metrics_of
from rankframe.cli.options import (
    COLUMNS,
    MAX_MEMORY,
    QUERIES,
    WEIGHT,
    Folder,
    Given,
    Ledger,
    Overwrite,
    QrelsAndRuns,
    Quiet,
    Style,
    output_option,
    takes,
)
from rankframe.cli.support import check_outputs, open_inputs, progress_bar, tell_if_every_relevant
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


@takes(
    SharedPolicies, Intervals, Storage,
    shared=(COLUMNS, MAX_MEMORY, QUERIES, WEIGHT),
    test=Comparing, correction=Comparing, permutations=Comparing,
)  # fmt: skip
def tune(
    sources: QrelsAndRuns,
    *,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="The metric to tune for; see `rankframe metrics`.",
            autocompletion=metrics_of("judged"),
        ),
    ] = "ndcg@10",
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A method to try, e.g. rrf, wsum, mapfuse (repeat).",
            autocompletion=methods,
        ),
    ] = None,
    norm: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Norm of scores, e.g. min_max, zmuv (repeat)."),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=X,...",
            help="Values to try, e.g. k=10,60,100; of weights the step, weights=0.05 (repeat).",
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Number of folds of queries.")] = 5,
    budget: Annotated[
        int, typer.Option(help="More weights than these are searched, not all tried.")
    ] = 200,
    depth: Annotated[
        int | None, typer.Option(help="Fuse only the top N documents of each run.")
    ] = None,
    top: Annotated[int, output_option(help="Number of candidates to show.")] = 10,
    style: Style = "table",
    output: Folder = None,
    overwrite: Overwrite = False,
    ledger: Ledger = False,
    quiet: Quiet = False,
    how: Given,
) -> None:
    """Find the best fusion of runs, and test what it gains on queries that did not choose it."""
    from rich.console import Console

    import rankframe as rf
    from rankframe.analysis.tuning.grid import parse_grid
    from rankframe.analysis.tuning.outcome import TUNING_FILES
    from rankframe.io.output_paths import refuse_taken
    from rankframe.present.terminal import analysis_tables as show

    judgments, runs = open_inputs(sources[0], sources[1:])
    check_outputs([judgments, *runs.values(), how["queries"]], folder=output)
    if output is not None:
        refuse_taken(output, TUNING_FILES, overwrite=overwrite)
    chosen: dict[str, Any] = {"methods": method} if method else {}
    chosen |= {"norms": norm} if norm else {}
    with progress_bar("tuning", quiet=quiet) as report:
        found = rf.tune(
            judgments,
            runs,
            metric=metric,
            grid=parse_grid(grid or ()),
            folds=folds,
            budget=budget,
            depth=depth,
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
