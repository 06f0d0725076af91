"""The commands that turn numbers into decisions: compare, diff, gate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from rankframe.cli.options import (
    OUTPUT,
    STATISTICS,
    By,
    Ci,
    Columns,
    Confidence,
    DuplicateRule,
    JudgedOnly,
    KMax,
    Ledger,
    MaxMemory,
    Metrics,
    MissingRule,
    NoOverlapRule,
    NoRelevantRule,
    Overwrite,
    Queries,
    Quiet,
    Rel,
    Replicates,
    Seed,
    TieRule,
    UnpairedRule,
    Weight,
)
from rankframe.cli.support import (
    check_targets,
    column_names,
    one_of,
    open_sources,
    run_names,
    ways_to_slice,
)


def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="QRELS RUN...", help="Judgments, then two runs or more; see also --stored."
        ),
    ],
    metric: Metrics = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", "-b", metavar="NAME", help="Compare with this one; else every pair."
        ),
    ] = None,
    test: Annotated[
        Literal["t", "wilcoxon", "sign", "randomisation", "tukey"],
        typer.Option(help="The paired test.", rich_help_panel=STATISTICS),
    ] = "t",
    correction: Annotated[
        Literal["holm", "bonferroni", "bh"],
        typer.Option(help="Of p values, over all that is looked at.", rich_help_panel=STATISTICS),
    ] = "holm",
    permutations: Annotated[
        int, typer.Option(help="Of tests by randomisation.", rich_help_panel=STATISTICS)
    ] = 10_000,
    stored: Annotated[
        bool,
        typer.Option(
            "--stored", help="All arguments are stored results or per-query files; no judgments."
        ),
    ] = False,
    bounds: Annotated[
        bool,
        typer.Option("--bounds", help="Also if all unjudged documents were relevant, or none."),
    ] = False,
    column: Columns = None,
    style: Annotated[
        Literal["table", "json", "csv", "markdown", "latex"],
        typer.Option("--format", help="How to print.", rich_help_panel=OUTPUT),
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
    unpaired: UnpairedRule = "error",
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
) -> None:
    """Compare systems over the same queries: which is better, by how much, and how sure is that."""
    import rankframe as rf
    from rankframe.base.places import refuse_taken
    from rankframe.base.progress import progress_bar
    from rankframe.cli import decision_tables as show
    from rankframe.decisions.comparison import COMPARISON_FILES

    if output is not None:
        refuse_taken(output, COMPARISON_FILES, overwrite=overwrite)
    opened = open_sources(sources)
    given = sources if stored else sources[1:]
    systems: dict[str, Any] = dict(
        zip(run_names(given), opened if stored else opened[1:], strict=True)
    )
    with progress_bar("comparing", quiet=quiet) as report:
        found = rf.compare(
            None if stored else opened[0],
            systems,
            metric,
            baseline=baseline,
            test=test,
            correction=correction,
            unpaired=unpaired,
            permutations=permutations,
            bounds=bounds,
            queries=queries,
            by=ways_to_slice(by),
            weight=weight,
            ci=None if ci == "none" else ci,
            confidence=confidence,
            replicates=replicates,
            seed=seed,
            columns=column_names(column),
            rel=rel,
            missing=missing,
            no_relevant=no_relevant,
            no_overlap=no_overlap,
            ties=ties,
            duplicates=duplicates,
            k_max=k_max,
            judged_only=judged_only,
            max_memory=max_memory,
            progress=report,
        )
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
        console.print(show.comparison_ledger(found))


def diff(
    qrels: Annotated[
        str, typer.Argument(metavar="QRELS", help="Judgments: a file, glob, folder, or -.")
    ],
    a: Annotated[str, typer.Argument(metavar="A", help="A run: before.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one: after.")],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", metavar="NAME", help="One metric; else ndcg@10."),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", help="How deep to look; else the metric's cutoff, or 10.")
    ] = None,
    most: Annotated[int, typer.Option(help="How many queries to show.")] = 5,
    query: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Show this query (repeat).")
    ] = None,
    column: Columns = None,
    style: Annotated[
        Literal["table", "json", "csv"],
        typer.Option("--format", help="How to print.", rich_help_panel=OUTPUT),
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
    rel: Rel = None,
    missing: MissingRule = "zero",
    no_relevant: NoRelevantRule = "zero",
    ties: TieRule = "doc_desc",
    duplicates: DuplicateRule = "error",
) -> None:
    """What changed between two runs: the queries that moved most, and their documents."""
    import rankframe as rf
    from rankframe.base.progress import progress_bar
    from rankframe.cli import decision_tables as show
    from rankframe.inputs.writers import write_frame

    check_targets(per_query, documents)
    truth, before, after = open_sources([qrels, a, b])
    with progress_bar("comparing", quiet=quiet):
        found = rf.diff(
            truth,
            before,
            after,
            one_of(metric, "-m") or "ndcg@10",
            k=k,
            most=most,
            only=query,
            columns=column_names(column),
            rel=rel,
            missing=missing,
            no_relevant=no_relevant,
            ties=ties,
            duplicates=duplicates,
        )
    for target, frame in ((per_query, found.per_query), (documents, found.documents)):
        if target:
            write_frame(frame, target)
    if style != "table":
        print(show.diff_text(found, style))
        return
    names = run_names([a, b])
    Console().print(show.diff_tables(found, names[0], names[1]))


def gate(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="QRELS RUN", help="Judgments and a run; or one stored result."),
    ],
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline", "-b", metavar="STORED", help="A stored result, or its per-query file."
        ),
    ],
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule", "-r", metavar="RULE", help="E.g. 'ndcg@10: no worse than -0.5% at 95%'."
        ),
    ] = None,
    rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rules in a TOML file.")
    ] = None,
    min_queries: Annotated[
        int | None, typer.Option(help="With fewer, nothing is decided; else 30.")
    ] = None,
    min_judged: Annotated[
        list[str] | None,
        typer.Option(metavar="K=SHARE", help="E.g. 10=0.5: of the top 10, judged (repeat)."),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write JSON.", rich_help_panel=OUTPUT),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write JUnit XML.", rich_help_panel=OUTPUT),
    ] = None,
    column: Columns = None,
    quiet: Quiet = False,
    max_memory: MaxMemory = None,
    unpaired: UnpairedRule = "error",
    rel: Rel = None,
    missing: MissingRule = "zero",
    no_relevant: NoRelevantRule = "zero",
    no_overlap: NoOverlapRule = "error",
    ties: TieRule = "doc_desc",
    duplicates: DuplicateRule = "error",
    k_max: KMax = None,
    judged_only: JudgedOnly = False,
    queries: Queries = None,
    weight: Weight = None,
) -> None:
    """Ship it or not: a run against a stored baseline, under rules; the exit code says it."""
    import rankframe as rf
    from rankframe.base.errors import OptionError
    from rankframe.base.progress import progress_bar
    from rankframe.cli import decision_tables as show
    from rankframe.cli.support import rules_from, shares, write_text

    if len(sources) > 2:
        raise OptionError(f"a gate takes QRELS and RUN, or one stored result, not {len(sources)}.")
    opened = open_sources([*sources, baseline])
    with progress_bar("deciding", quiet=quiet) as report:
        verdict = rf.gate(
            opened[0] if len(sources) == 2 else None,
            opened[-2],
            opened[-1],
            rules_from(rule, rules),
            min_queries=min_queries,
            min_judged=shares(min_judged),
            queries=queries,
            weight=weight,
            unpaired=unpaired,
            columns=column_names(column),
            rel=rel,
            missing=missing,
            no_relevant=no_relevant,
            no_overlap=no_overlap,
            ties=ties,
            duplicates=duplicates,
            k_max=k_max,
            judged_only=judged_only,
            max_memory=max_memory,
            progress=report,
        )
    for target, text in ((json_file, verdict.to_json), (junit, verdict.to_junit)):
        if target:
            write_text(target, text())
    Console().print(show.verdict_table(verdict))
    raise typer.Exit(verdict.exit_code)
