"""`rankframe plot`: a chart in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rankframe.cli.completion import charts, metrics_of
from rankframe.cli.options import BY, COLUMNS, QUERIES, Given, Quiet, output_option, takes
from rankframe.cli.support import check_outputs, open_inputs, progress_bar, runs_by_name
from rankframe.core.errors import OptionError
from rankframe.core.options import ChartTheme, Policies, Storage

EXAMPLES = """
  rankframe plot

  rankframe plot roc qrels.parquet bm25.parquet dense.parquet -o roc.png

  rankframe plot metric_at_k qrels.parquet bm25.parquet -m ndcg -o ndcg.svg

  rankframe plot differences qrels.parquet old=bm25.parquet new=dense.parquet \\
    -m ndcg@10 -o changes.html --title "Dense against bm25" --theme dark

  rankframe plot forest qrels.parquet bm25.parquet dense.parquet \\
    -m ndcg@10 -m map --queries queries.parquet --by locale -o forest.pdf

  rankframe plot precision_at --list 1,0,1,0,1 -o list.svg

  rankframe plot bump bm25.parquet dense.parquet hybrid.parquet --query q0017

  rankframe plot history results/bm25 results/dense -m ndcg@10 --margin=-1%

  rankframe plot exposure bm25.parquet dense.parquet -k 10 -o exposure.svg
"""
_UNJUDGED = ("-", "")


@takes(Policies, Storage, shared=(COLUMNS, QUERIES, BY))
def plot(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="What to draw; without it, all charts are listed.",
            autocompletion=charts,
        ),
    ] = None,
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QRELS RUN...]",
            help="Judgments, then runs (NAME=RUN names one); for agreement and bump rankings; for "
            "exposure and popularity runs alone; for history folders of results.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="A .png, .svg, .pdf or .html file."),
    ] = Path("chart.svg"),
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="The metric (default: ndcg@10); for forest, slice_map, agreement and history "
            "several (repeat), for tradeoff two.",
            autocompletion=metrics_of("judged"),
        ),
    ] = None,
    most: Annotated[int, typer.Option("-k", help="The deepest rank, where ranks are drawn.")] = 20,
    query: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The query whose list is drawn (default: the first)."),
    ] = None,
    grades: Annotated[
        str | None,
        typer.Option(
            "--list",
            metavar="GRADES",
            help="Grades in rank order instead of files: 1,0,1 (- is unjudged).",
        ),
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(metavar="X", help="In history: how much worse is allowed, --margin=-1%."),
    ] = None,
    distance: Annotated[
        bool, typer.Option("--distance", help="Scores are distances: smaller is better (roc).")
    ] = False,
    title: Annotated[str | None, output_option(help="Title of the chart.")] = None,
    width: Annotated[int | None, output_option(help="Width of the plot area in pixels.")] = None,
    height: Annotated[int | None, output_option(help="Height of the plot area in pixels.")] = None,
    theme: Annotated[ChartTheme, output_option(help="Colour theme.")] = "light",
    quiet: Quiet = False,
    how: Given,
) -> None:
    """Draw a chart: curves, lists, queries, differences, slices, rankings, results over time."""
    if kind is None:
        _list_charts()
        return

    from rankframe.present.charts.chart_source import ChartSource
    from rankframe.present.charts.registry import definition_of, draw

    definition = definition_of(kind)
    takes_what, metrics = definition.takes, metric or []
    if len(metrics) > 1 and not definition.several:
        raise OptionError(f"the chart {kind!r} is of one metric, not {len(metrics)}.")
    inputs: dict[str, Any] = {}
    if takes_what == "results":
        inputs = {"folders": runs_by_name(sources or [])}
        check_outputs([], output)
    else:
        files = sources or []
        # Rankings are all named, the first of them, too; what is retrieved needs no judgments.
        judged = takes_what not in ("rankings", "retrieved")
        qrels, inputs["runs"] = open_inputs(
            files[0] if judged and files else None, files[1:] if judged else files
        )
        check_outputs([qrels, *inputs["runs"].values(), how["queries"]], output)
        if takes_what == "rankings" and inputs["runs"]:
            inputs["reference"] = next(iter(inputs["runs"]))
            qrels = inputs["runs"].pop(inputs["reference"])
        if takes_what != "retrieved":
            inputs["qrels"] = qrels
    policies = dict(how)
    inputs |= {name: policies.pop(name) for name in ("columns", "queries", "by")}
    with progress_bar(f"drawing {kind}", quiet=quiet):
        draw(
            kind,
            ChartSource(
                **inputs,
                metric=metrics[0] if metrics else "ndcg@10",
                metrics=metrics,
                k=most,
                distance=distance,
                policies=policies,
                query=query,
                grades=None if grades is None else _grades(grades),
                margin=margin,
                look={"title": title, "width": width, "height": height, "theme": theme},
            ),
            output,
        )


def _list_charts() -> None:
    from rich.console import Console

    from rankframe.present.charts.registry import CHARTS
    from rankframe.present.terminal.render import reference_list

    rows = [(name, definition.sentence) for name, definition in CHARTS.items()]
    Console().print(reference_list("Charts", rows))


def _grades(text: str) -> list[float | None]:
    """Read grades in rank order.

    >>> _grades("3, 0,-,1.5")
    [3.0, 0.0, None, 1.5]
    """
    try:
        return [
            None if part.strip() in _UNJUDGED else float(part)
            for part in text.strip("[] ").split(",")
        ]
    except ValueError:
        raise OptionError(f"--list reads grades with commas, 1,0,1, not {text!r}.") from None
