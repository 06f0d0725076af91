"""The commands that turn rankings into numbers: evaluate, agree, and those that help with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from rankframe.cli.options import (
    OUTPUT,
    POLICIES,
    By,
    Ci,
    Columns,
    Confidence,
    DuplicateRule,
    Engine,
    JudgedOnly,
    KMax,
    Ledger,
    Master,
    MaxMemory,
    Metrics,
    MissingRule,
    NoOverlapRule,
    NoRelevantRule,
    Overwrite,
    Partitions,
    PerQuery,
    Queries,
    Quiet,
    Rel,
    Replicates,
    Seed,
    Style,
    Summary,
    TieRule,
    Weight,
)
from rankframe.cli.support import (
    check_targets,
    column_names,
    open_sources,
    open_stdin,
    refuse_without,
    run_names,
    ways_to_slice,
)

if TYPE_CHECKING:
    from rankframe.evaluation.result import Result
    from rankframe.metrics.names import Metric


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
    rel: Rel = None,
    missing: MissingRule = "zero",
    no_relevant: NoRelevantRule = "zero",
    no_overlap: NoOverlapRule = "error",
    ties: TieRule = "doc_desc",
    duplicates: DuplicateRule = "error",
    k_max: KMax = None,
    judged_only: JudgedOnly = False,
    queries: Queries = None,
    by: By = None,
    weight: Weight = None,
    ci: Ci = "bootstrap",
    confidence: Confidence = 0.95,
    replicates: Replicates = 1_000,
    seed: Seed = 0,
    engine: Engine = "polars",
    master: Master = None,
    partitions: Partitions = None,
) -> None:
    """Evaluate runs against judgments: truth first, then any number of runs."""
    import rankframe as rf
    from rankframe.base.errors import naming_the_run
    from rankframe.base.places import refuse_taken
    from rankframe.base.progress import progress_bar
    from rankframe.evaluation.result import RESULT_FILES
    from rankframe.metrics.names import resolve

    check_targets(per_query, summary)
    metrics = metric or list(rf.DEFAULT_METRICS)
    resolved = resolve(metrics)
    names = run_names(runs)
    how: dict[str, Any] = {
        "columns": column_names(column),
        "rel": rel,
        "missing": missing,
        "no_relevant": no_relevant,
        "no_overlap": no_overlap,
        "ties": ties,
        "duplicates": duplicates,
        "k_max": k_max,
        "judged_only": judged_only,
        "queries": queries,
        "by": ways_to_slice(by),
        "weight": weight,
        "ci": None if ci == "none" else ci,
        "confidence": confidence,
        "replicates": replicates,
        "seed": seed,
    }
    where = {name: output / name if output and len(names) > 1 else output for name in names}
    results: dict[str, Result] = {}
    if engine == "spark":
        from rankframe.cli.spark import evaluate_on_spark

        refuse_without(engine, {"--max-memory": max_memory})
        results = evaluate_on_spark(
            qrels, dict(zip(names, runs, strict=True)), metrics, how, where,
            overwrite=overwrite, master=master, partitions=partitions, values=per_query is not None,
            quiet=quiet,
        )  # fmt: skip
        _deliver(results, resolved, style, per_query, summary, ledger=ledger)
        return
    refuse_without(engine, {"--master": master, "--partitions": partitions})
    for folder in where.values():
        if folder is not None:
            refuse_taken(folder, RESULT_FILES, overwrite=overwrite)
    sources = open_sources([qrels, *runs])
    for number, (name, run) in enumerate(zip(names, sources[1:], strict=True), start=1):
        with (
            progress_bar(f"{name} ({number} of {len(names)})", quiet=quiet) as report,
            naming_the_run(repr(name) if len(names) > 1 else ""),
        ):
            results[name] = rf.evaluate(
                sources[0],
                run,
                metrics,
                **how,
                max_memory=max_memory,
                output=where[name],
                overwrite=overwrite,
                progress=report,
            )
    _deliver(results, resolved, style, per_query, summary, ledger=ledger)


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
    ci: Ci = "bootstrap",
    confidence: Confidence = 0.95,
    replicates: Replicates = 1_000,
    seed: Seed = 0,
) -> None:
    """Compare two rankings of the same queries, without judgments: how alike are they?"""
    import rankframe as rf
    from rankframe.base.progress import progress_bar
    from rankframe.evaluation.agree import DEFAULT_METRICS
    from rankframe.metrics.names import resolve

    check_targets(per_query, summary)
    metrics = metric or list(DEFAULT_METRICS)
    first, second = open_sources([a, b])
    name = " ~ ".join(run_names([a, b]))
    with progress_bar(name, quiet=quiet) as report:
        result = rf.agree(
            first,
            second,
            metrics,
            columns=column_names(column),
            ties=ties,
            missing=missing,
            lone=lone,
            duplicates=duplicates,
            k_max=k_max,
            ci=None if ci == "none" else ci,
            confidence=confidence,
            replicates=replicates,
            seed=seed,
            max_memory=max_memory,
            output=output,
            overwrite=overwrite,
            progress=report,
        )
    resolved = resolve(metrics, "pair")
    _deliver({name: result}, resolved, style, per_query, summary, ledger=ledger)


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
    from rankframe.cli import tables as show
    from rankframe.inputs.writers import write_frame

    for target, frame in ((per_query, show.per_query_frame), (summary, show.summary_frame)):
        if target:
            write_frame(frame(results), target)
    if style != "table":
        print(show.as_text(results, metrics, style))
        return
    console = Console()
    console.print(show.summary_table(results, metrics))
    if any(result.slices.height for result in results.values()):
        console.print(show.slice_tables(results, metrics))
    if ledger:
        console.print(show.ledger_table(results))


def metrics(
    name: Annotated[
        str | None, typer.Argument(help="A metric, in any spelling: ndcg, nDCG@10, map_cut_10.")
    ] = None,
) -> None:
    """The metric reference: all of them, or one with its formula, parameters and synonyms."""
    from rankframe.cli import tables as show
    from rankframe.metrics import REGISTRY
    from rankframe.metrics.names import parse

    console = Console()
    if name is None:
        console.print(show.metric_list(list(REGISTRY.values())))
        show.say(console, "One in full: rankframe metrics ndcg. Written name(parameter=value)@k.")
        return
    definition = parse(name)[0].definition
    assert definition is not None  # a name always has one
    console.print(show.metric_page(definition))


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
    from rankframe.base.progress import progress_bar
    from rankframe.cli.convert import convert_file

    opened = open_stdin() if source == "-" else source
    with progress_bar(f"converting {source}", quiet=False):
        found, rows = convert_file(
            opened, target, kind, columns=column_names(column), duplicates=duplicates
        )
    print(f"{target}: {rows:,} rows of {found}", file=sys.stderr)


def demo() -> None:
    """Evaluate the data that ships with rankframe, and say what to try next."""
    from rankframe.cli.demo import show_demo

    show_demo(Console())
