"""`rankframe plot`: draw a chart into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankframe.cli import flags
from rankframe.cli.completion import charts
from rankframe.cli.inputs import open_inputs, runs_by_name
from rankframe.cli.options import OUTPUT, Argument, Flag, Given, takes
from rankframe.cli.outputs import Output, check_outputs
from rankframe.core.errors import OptionError
from rankframe.core.options import ChartTheme, Policies, Storage

_UNJUDGED = ("-", "")


def _grades(text: str) -> list[float | None]:
    """Parse the value of --list: grades in rank order; - is unjudged.

    >>> _grades("3, 0,-,1.5")
    [3.0, 0.0, None, 1.5]
    """
    parts = [part.strip() for part in text.strip("[] ").split(",")]
    try:
        return [None if part in _UNJUDGED else float(part) for part in parts]
    except ValueError:
        raise OptionError(f"--list reads grades with commas, 1,0,1, not {text!r}.") from None


_LOOK = (
    Flag("title", str | None, panel=OUTPUT), Flag("width", int | None, panel=OUTPUT),
    Flag("height", int | None, panel=OUTPUT),
    Flag("theme", ChartTheme, panel=OUTPUT, default="light"),
)  # fmt: skip
# Flags under the names of fields of `ChartSource`.
_FIELDS = (
    flags.METRICS, Flag("k", int, typed="-k", default=20), Flag("query", str | None, "ID"),
    Flag("grades", str | None, "GRADES", "--list", read=_grades), flags.MARGIN,
    Flag("distance", bool),
)  # fmt: skip
_TABLES = (flags.COLUMNS, flags.QUERIES, flags.BY)


@takes(
    Argument("kind", str | None, "[KIND]", default=None, complete=charts),
    Argument("sources", list[str] | None, "[QRELS RUN...]", default=None),
    Flag("output", Path, typed="--output -o", default=Path("chart.svg")),
    *_FIELDS, *_LOOK, Policies, Storage, *_TABLES,
    output=(flags.QUIET,),
)  # fmt: skip
def plot(
    kind: str | None, sources: list[str] | None, *, output: Path, how: Given, out: Output
) -> None:
    """Draw a chart: curves, lists, queries, differences, slices, rankings, results over time.

    Flags:
        kind: The chart to draw; leave it out to list all charts.
        sources: Judgments, then runs (NAME=RUN names a run). For agreement and bump: rankings. For
            exposure and popularity: runs alone. For history: folders of results.
        output: A .png, .svg, .pdf or .html file.
        metrics: The metric (default: ndcg@10; repeatable for forest, slice_map, agreement, history
            and tradeoff).
        k: The last rank to draw.
        query: The query to draw (default: the first).
        grades: Grades in rank order instead of files, e.g. 1,0,1; - is unjudged.
        distance: In roc: scores are distances, of which smaller is better.
        title: Title of the chart.
        width: Width of the plot area in pixels.
        height: Height of the plot area in pixels.
        theme: Colour theme.

    Examples:
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
    if kind is None:
        _list_charts()
        return

    from rankframe.present.charts.chart_source import ChartSource
    from rankframe.present.charts.registry import definition_of, draw

    definition, files = definition_of(kind), sources or []
    metrics = how.setdefault("metrics", [])
    if len(metrics) > 1 and not definition.several:
        raise OptionError(f"the chart {kind!r} takes one metric, not {len(metrics)}.")
    inputs: dict[str, Any] = {}
    if definition.takes == "results":
        inputs = {"folders": runs_by_name(files)}
        check_outputs([], output)
    else:
        # Charts of rankings and of retrieved documents take no judgments: all files are runs.
        judged = definition.takes not in ("rankings", "retrieved")
        qrels, inputs["runs"] = open_inputs(
            files[0] if judged and files else None, files[1:] if judged else files
        )
        check_outputs([qrels, *inputs["runs"].values(), how.get("queries")], output)
        if definition.takes == "rankings" and inputs["runs"]:
            inputs["reference"] = next(iter(inputs["runs"]))
            qrels = inputs["runs"].pop(inputs["reference"])
        if definition.takes != "retrieved":
            inputs["qrels"] = qrels
    inputs |= {f.name: how.pop(f.name) for f in (*_FIELDS, *_TABLES) if f.name in how}
    look: Any = {flag.name: how.pop(flag.name, None) for flag in _LOOK}
    metric = metrics[0] if metrics else "ndcg@10"
    with out.progress(f"drawing {kind}"):
        draw(kind, ChartSource(**inputs, metric=metric, policies=how, look=look), output)


def _list_charts() -> None:
    from rich.console import Console

    from rankframe.present.charts.registry import CHARTS
    from rankframe.present.terminal.reference_pages import reference_list

    rows = [(name, definition.sentence) for name, definition in CHARTS.items()]
    Console().print(reference_list("Charts", rows))
