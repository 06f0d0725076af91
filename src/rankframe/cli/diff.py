"""`rankframe diff`: what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankframe.cli.completion import attributes, metrics_of
from rankframe.cli.options import (
    COLUMNS,
    QUERY_TEXT,
    TITLES,
    Given,
    Qrels,
    Quiet,
    ShortStyle,
    output_option,
    takes,
)
from rankframe.cli.support import (
    check_outputs,
    check_tables,
    open_inputs,
    progress_bar,
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


@takes(Policies, Storage, shared=(COLUMNS, QUERY_TEXT, TITLES))
def diff(
    qrels: Qrels,
    a: Annotated[str, typer.Argument(metavar="A", help="The run before (NAME=A names it).")],
    b: Annotated[str, typer.Argument(metavar="B", help="The run after.")],
    *,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="One metric (default: ndcg@10).",
            autocompletion=metrics_of("judged"),
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("-k", help="Look at the top N (default: the metric's cutoff, or 10)."),
    ] = None,
    most: Annotated[int, typer.Option(help="Number of queries to show.")] = 5,
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
            help="Attribute with the weight of each change, such as traffic.",
            autocompletion=attributes,
        ),
    ] = None,
    style: ShortStyle = "table",
    per_query: Annotated[
        Path | None, output_option(help="Write the change of every query there.")
    ] = None,
    documents: Annotated[
        Path | None, output_option(help="Write the documents of the queries shown there.")
    ] = None,
    quiet: Quiet = False,
    how: Given,
) -> None:
    """Show what changed between two runs: the queries that moved most, and their documents."""
    from rich.console import Console

    import rankframe as rf
    from rankframe.io.outputs import write_frame
    from rankframe.present.terminal import analysis_tables as show

    if metric and len(metric) > 1:
        raise OptionError(f"-m is taken once here, not {len(metric)} times: {', '.join(metric)}.")
    check_tables(per_query, documents)
    judgments, runs = open_inputs(qrels, [a, b])
    before, after = runs.values()
    tables = [queries, how["query_text"], how["titles"]]
    check_outputs([judgments, before, after, *tables], per_query, documents)
    with progress_bar("comparing", quiet=quiet):
        found = rf.diff(
            judgments,
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
