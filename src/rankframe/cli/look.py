"""The commands that people look at: plot and report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from rankframe.base.options import ChartKind
from rankframe.cli.options import (
    STATISTICS,
    By,
    Columns,
    Confidence,
    DuplicateRule,
    MissingRule,
    NoRelevantRule,
    Queries,
    Quiet,
    Rel,
    Seed,
    TieRule,
    UnpairedRule,
    Weight,
)
from rankframe.cli.support import column_names, open_sources, run_names, ways_to_slice


def plot(
    kind: Annotated[ChartKind, typer.Argument(help="What to draw.")],
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QRELS RUN...]", help="Judgments, then runs."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A .png, .svg or .html file.")
    ] = Path("chart.svg"),
    metric: Annotated[
        str, typer.Option("--metric", "-m", metavar="NAME", help="One metric, where one is drawn.")
    ] = "ndcg@10",
    most: Annotated[int, typer.Option("-k", help="The deepest rank, where ranks are drawn.")] = 20,
    distance: Annotated[
        bool, typer.Option("--distance", help="Scores are distances: smaller is better (roc).")
    ] = False,
    queries: Queries = None,
    by: By = None,
    column: Columns = None,
    rel: Rel = None,
    quiet: Quiet = False,
) -> None:
    """Draw a chart: curves, differences, distributions, slices, heat maps."""
    from rankframe.base.progress import progress_bar
    from rankframe.plot.draw import draw
    from rankframe.plot.material import Material

    given = sources or []
    opened = open_sources(given)
    names = run_names(given[1:])
    with progress_bar(f"drawing {kind}", quiet=quiet):
        draw(
            kind,
            Material(
                qrels=opened[0] if opened else None,
                runs=dict(zip(names, opened[1:], strict=True)),
                metric=metric,
                k=most,
                distance=distance,
                queries=queries,
                by=ways_to_slice(by),
                columns=column_names(column),
                rel=rel,
            ),
            output,
        )


def report(
    qrels: Annotated[
        str, typer.Argument(metavar="QRELS", help="Judgments: a file, glob, folder, or -.")
    ],
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="One run or several, likewise.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The page, an .html file.")
    ] = Path("report.html"),
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", metavar="NAME", help="The first is drawn; repeat for more."),
    ] = None,
    title: Annotated[str, typer.Option(help="What the page is called.")] = "Ranking report",
    baseline: Annotated[
        str | None, typer.Option("--baseline", "-b", metavar="NAME", help="Else the first run.")
    ] = None,
    test: Annotated[
        Literal["t", "wilcoxon", "sign", "randomisation", "tukey"],
        typer.Option(help="The paired test.", rich_help_panel=STATISTICS),
    ] = "t",
    correction: Annotated[
        Literal["holm", "bonferroni", "bh"],
        typer.Option(help="Of p values.", rich_help_panel=STATISTICS),
    ] = "holm",
    queries: Queries = None,
    by: By = None,
    weight: Weight = None,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    column: Columns = None,
    unpaired: UnpairedRule = "error",
    rel: Rel = None,
    missing: MissingRule = "zero",
    no_relevant: NoRelevantRule = "zero",
    ties: TieRule = "doc_desc",
    duplicates: DuplicateRule = "error",
    quiet: Quiet = False,
) -> None:
    """One web page to send around: numbers, tests, charts, slices, and what moved."""
    import rankframe as rf
    from rankframe.base.progress import progress_bar

    opened: list[Any] = open_sources([qrels, *runs])
    with progress_bar("report", quiet=quiet) as told:
        target = rf.report(
            opened[0],
            dict(zip(run_names(runs), opened[1:], strict=True)),
            metric,
            output=output,
            title=title,
            baseline=baseline,
            queries=queries,
            by=ways_to_slice(by),
            weight=weight,
            test=test,
            correction=correction,
            confidence=confidence,
            seed=seed,
            unpaired=unpaired,
            columns=column_names(column),
            rel=rel,
            missing=missing,
            no_relevant=no_relevant,
            ties=ties,
            duplicates=duplicates,
            progress=told,
        )
    print(target)
