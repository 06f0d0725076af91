"""`rankframe diff`: what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from rankframe.cli.completion import attributes, metrics_of
from rankframe.cli.options import OUTPUT, Columns, Given, QueryText, Quiet, Titles, takes
from rankframe.cli.support import (
    check_outputs,
    check_tables,
    column_names,
    open_sources,
    progress_bar,
    runs_by_name,
    tell_if_every_relevant,
)
from rankframe.core.errors import OptionError
from rankframe.core.options import Policies, Storage

EXAMPLES = """
  rankframe diff qrels.parquet old=bm25.parquet new=dense.parquet -m ndcg@10

  rankframe diff qrels.parquet bm25.parquet dense.parquet \\
    --query q0017 --query q0018 -k 20

  rankframe diff qrels.parquet bm25.parquet dense.parquet --worse \\
    --queries queries.parquet --weight traffic --titles products.parquet
"""


@takes(Policies, Storage)
def diff(
    qrels: Annotated[
        str, typer.Argument(metavar="QRELS", help="Judgments: a file, glob, folder, or -.")
    ],
    a: Annotated[str, typer.Argument(metavar="A", help="A run: before (NAME=A names it).")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one: after.")],
    *,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="One metric; else ndcg@10.",
            autocompletion=metrics_of("judged"),
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("-k", metavar="N", help="How deep to look; else the metric's cutoff, or 10."),
    ] = None,
    most: Annotated[int, typer.Option(metavar="N", help="How many queries to show.")] = 5,
    query: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Show this query (repeat).")
    ] = None,
    worse: Annotated[
        bool, typer.Option("--worse", help="Only queries that got worse, the worst first.")
    ] = False,
    queries: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A table of queries: query_id, and attributes to show."),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="An attribute to weigh changes by, such as traffic.",
            autocompletion=attributes,
        ),
    ] = None,
    query_text: QueryText = None,
    titles: Titles = None,
    column: Columns = None,
    style: Annotated[
        Literal["table", "json", "csv"],
        typer.Option(
            "--format", metavar="table|json|csv", help="How to print.", rich_help_panel=OUTPUT
        ),
    ] = "table",
    per_query: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write every query's change.", rich_help_panel=OUTPUT),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the documents of the queries shown.", rich_help_panel=OUTPUT
        ),
    ] = None,
    quiet: Quiet = False,
    how: Given,
) -> None:
    """What changed between two runs: the queries that moved most, and their documents."""
    from rich.console import Console

    import rankframe as rf
    from rankframe.io.sources.writers import write_frame
    from rankframe.present.terminal import analysis_tables as show

    if metric and len(metric) > 1:
        raise OptionError(f"-m is taken once here, not {len(metric)} times: {', '.join(metric)}.")
    check_tables(per_query, documents)
    runs = runs_by_name([a, b])
    truth, before, after = open_sources([qrels, *runs.values()])
    check_outputs([truth, before, after, queries, query_text, titles], per_query, documents)
    with progress_bar("comparing", quiet=quiet):
        found = rf.diff(
            truth,
            before,
            after,
            metric[0] if metric else "ndcg@10",
            k=k,
            most=most,
            only=query,
            worse=worse,
            names=list(runs),
            queries=queries,
            weight=weight,
            query_text=query_text,
            titles=titles,
            columns=column_names(column),
            **how,
        )
    tell_if_every_relevant(found.every_relevant)
    for target, name in ((per_query, "per_query"), (documents, "documents")):
        if target:
            about = {"frame": name, "metrics": found.summary["metric"].to_list(), "k": found.k}
            write_frame(getattr(found, name), target, about)
    if style != "table":
        print(show.diff_text(found, style=style))
        return
    Console().print(show.diff_tables(found))
