"""What the commands of the command line share: their options, and the examples of their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

OUTPUT, POLICIES = "Output", "Policies"

EVALUATE_EXAMPLES = """[bold]Examples[/bold]

  rankframe evaluate qrels.parquet run.parquet -m ndcg@10 -m map

  rankframe evaluate qrels.txt bm25.run dense.run -m ndcg@1,5,10 --format markdown

  rankframe evaluate ratings.csv recs.parquet -m recall@20 -c query_id=user -c doc_id=item --rel 4

  zcat run.gz | rankframe evaluate qrels.txt - -m map --per-query out.parquet

  rankframe evaluate qrels.parquet huge.parquet -m ndcg@10 --max-memory 3GiB -o result
"""
AGREE_EXAMPLES = """[bold]Examples[/bold]

  rankframe agree monday.parquet tuesday.parquet -m rbo -m overlap@10 -m kendall_tau@10

  rankframe agree old.run new.run -m "rbo(p=0.95, ties=a)" --per-query moved.parquet

  rankframe agree qrels.parquet run.parquet -m ndpm -m fcp     (judgments as the reference)
"""
CONVERT_EXAMPLES = """[bold]Examples[/bold]

  rankframe convert run.trec run.parquet

  rankframe convert ratings.csv qrels.trec --kind qrels -c query_id=user
"""

Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", "-c", metavar="NAME=YOURS",
        help="A column of yours, e.g. query_id=user_id (repeat).",
    ),
]  # fmt: skip


Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME",
        help="By name, e.g. name@1,5,10 (repeat); see `rankframe metrics`.",
    ),
]
Style = Annotated[
    Literal["table", "json", "csv", "markdown"],
    typer.Option("--format", help="How to print.", rich_help_panel=OUTPUT),
]
PerQuery = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write each query's values there.", rich_help_panel=OUTPUT),
]
Summary = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the summary there.", rich_help_panel=OUTPUT),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace a result there.", rich_help_panel=OUTPUT)
]
Ledger = Annotated[
    bool, typer.Option("--ledger", help="Show all that was counted.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.", rich_help_panel=OUTPUT)]
MaxMemory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="About how much to take, e.g. 2GiB.")
]
TieRule = Annotated[
    Literal["doc_desc", "doc_asc", "as_given"],
    typer.Option(help="Order of equal scores.", rich_help_panel=POLICIES),
]
DuplicateRule = Annotated[
    Literal["error", "keep_best"],
    typer.Option(help="A document twice for a query.", rich_help_panel=POLICIES),
]
KMax = Annotated[
    int | None, typer.Option(help="Look at the top so many only.", rich_help_panel=POLICIES)
]
