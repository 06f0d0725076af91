"""What the commands of the command line share: their options, and the examples of their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

OUTPUT, POLICIES, STATISTICS = "Output", "Policies", "Intervals and slices"
SPARK = "Spark"

EVALUATE_EXAMPLES = """[bold]Examples[/bold]

  rankframe evaluate qrels.parquet run.parquet -m ndcg@10 -m map

  rankframe evaluate qrels.txt bm25.run dense.run -m ndcg@1,5,10 --format markdown

  rankframe evaluate ratings.csv recs.parquet -m recall@20 -c query_id=user -c doc_id=item --rel 4

  zcat run.gz | rankframe evaluate qrels.txt - -m map --per-query out.parquet

  rankframe evaluate qrels.parquet run.parquet -m ndcg@10 --queries queries.csv --by locale

  rankframe evaluate qrels.parquet huge.parquet -m ndcg@10 --max-memory 3GiB -o result
"""
COMPARE_EXAMPLES = """[bold]Examples[/bold]

  rankframe compare qrels.parquet bm25.parquet dense.parquet -m ndcg@10 -m map --baseline bm25

  rankframe compare qrels.txt *.run -m ndcg@10 --test tukey --format latex

  rankframe compare qrels.parquet a.parquet b.parquet -m mrr@10 --queries q.csv --by locale

  rankframe compare --stored results/a results/b -m ndcg@10 --test randomisation
"""
DIFF_EXAMPLES = """[bold]Examples[/bold]

  rankframe diff qrels.parquet old.parquet new.parquet -m ndcg@10

  rankframe diff qrels.parquet old.parquet new.parquet --query q17 --query q18 -k 20
"""
GATE_EXAMPLES = """[bold]Examples[/bold]

  rankframe gate qrels.parquet new.parquet --baseline main -r "ndcg@10: no worse than -0.5% at 95%"

  rankframe gate qrels.parquet new.parquet --baseline main --rules gate.toml --junit gate.xml

  rankframe gate new_result --baseline main --rules gate.toml     (both stored: nothing evaluated)

The baseline: rankframe evaluate qrels.parquet main.parquet -m ndcg@10 -o main

Exit code 0: pass, 1: fail, 2: could not decide (bad input, too few queries or judgments).
"""
AGREE_EXAMPLES = """[bold]Examples[/bold]

  rankframe agree monday.parquet tuesday.parquet -m rbo -m overlap@10 -m kendall_tau@10

  rankframe agree old.run new.run -m "rbo(p=0.95, ties=a)" --per-query moved.parquet

  rankframe agree qrels.parquet run.parquet -m ndpm -m fcp     (judgments as the reference)
"""
PLOT_EXAMPLES = """[bold]Examples[/bold]

  rankframe plot roc qrels.parquet bm25.parquet dense.parquet -o roc.png

  rankframe plot metric_at_k qrels.parquet bm25.parquet dense.parquet -m ndcg -o ndcg.svg

  rankframe plot differences qrels.parquet old.parquet new.parquet -m ndcg@10 -o changes.html

  rankframe plot slices qrels.parquet a.parquet --queries queries.csv --by locale -o slices.png
"""
REPORT_EXAMPLES = """[bold]Examples[/bold]

  rankframe report qrels.parquet bm25.parquet dense.parquet -m ndcg@10 -m map -o report.html

  rankframe report qrels.parquet *.run.parquet -m ndcg@10 --queries queries.parquet --by locale
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
Engine = Annotated[
    Literal["polars", "spark"],
    typer.Option(help="On this machine, or on Spark (needs the extra).", rich_help_panel=SPARK),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Of Spark; else this machine, or what spark-submit says.",
        rich_help_panel=SPARK,
    ),
]
Partitions = Annotated[
    int | None,
    typer.Option(help="On Spark; else a million rows each.", rich_help_panel=SPARK),
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
Rel = Annotated[
    float | None,
    typer.Option(
        help="Grade from which a document is relevant; else any above 0.", rich_help_panel=POLICIES
    ),
]
MissingRule = Annotated[
    Literal["zero", "skip", "error"],
    typer.Option(help="Judged queries that a run lacks.", rich_help_panel=POLICIES),
]
NoRelevantRule = Annotated[
    Literal["zero", "skip"],
    typer.Option(help="Queries without relevant documents.", rich_help_panel=POLICIES),
]
NoOverlapRule = Annotated[
    Literal["error", "zero"],
    typer.Option(help="A run without any judged document.", rich_help_panel=POLICIES),
]
JudgedOnly = Annotated[
    bool,
    typer.Option("--judged-only", help="Drop unjudged documents first.", rich_help_panel=POLICIES),
]
UnpairedRule = Annotated[
    Literal["error", "skip", "zero"],
    typer.Option(help="Queries that not every system has.", rich_help_panel=POLICIES),
]
Queries = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A table of queries: query_id, and attributes for --by and --weight.",
        rich_help_panel=STATISTICS,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Slice by an attribute; a,b for combinations (repeat).",
        rich_help_panel=STATISTICS,
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="An attribute to weigh by (average=weighted).",
        rich_help_panel=STATISTICS,
    ),
]  # fmt: skip
Ci = Annotated[
    Literal["bootstrap", "t", "none"],
    typer.Option(help="How intervals are made.", rich_help_panel=STATISTICS),
]
Confidence = Annotated[float, typer.Option(help="Of the intervals.", rich_help_panel=STATISTICS)]
Replicates = Annotated[int, typer.Option(help="Of the bootstrap.", rich_help_panel=STATISTICS)]
Seed = Annotated[int, typer.Option(help="Of all that is drawn.", rich_help_panel=STATISTICS)]
