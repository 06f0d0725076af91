"""`rankframe history`: metrics over stored results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from rankframe.cli.options import Given, Metrics, Quiet, ShortStyle, output_option, takes
from rankframe.cli.support import check_outputs, check_tables, progress_bar, runs_by_name
from rankframe.core.options import Storage

EXAMPLES = """
  rankframe history results/bm25 results/dense

  rankframe history old=results/bm25 new=results/dense -m ndcg@10 \\
    --order given --plot history.svg --margin=-1%

  rankframe history results/bm25 results/dense -o history.csv
"""


@takes(Storage)
def history(
    folders: Annotated[
        list[str],
        typer.Argument(
            metavar="FOLDER...", help="Stored results (evaluate -o); NAME=FOLDER names one."
        ),
    ],
    *,
    metric: Metrics = None,
    order: Annotated[
        Literal["date", "given"], typer.Option(help="By when they were written, or as given.")
    ] = "date",
    style: ShortStyle = "table",
    output: Annotated[
        Path | None, output_option("--output", "-o", help="Write the table there.")
    ] = None,
    plot: Annotated[
        Path | None, output_option(help="Draw a chart: a .png, .svg, .pdf or .html file.")
    ] = None,
    margin: Annotated[
        str | None, output_option(metavar="X", help="In the chart: how much worse is allowed.")
    ] = None,
    quiet: Quiet = False,
    how: Given,  # noqa: ARG001 (in force while it runs)
) -> None:
    """Show metrics of stored results, in the order of time.

    The date of a result is the modification time of its summary.
    """
    from rich.console import Console

    import rankframe as rf
    from rankframe.io.outputs import write_frame
    from rankframe.present.terminal.analysis_tables import history_table
    from rankframe.present.terminal.render import csv_text

    named = runs_by_name(folders)
    check_tables(output)
    check_outputs([], output, plot)
    with progress_bar("reading", quiet=quiet):
        found = rf.history(named, metric, order=order)
        if plot is not None:
            from rankframe.present.charts.registry import save

            save(rf.plot.history(found, margin=margin), plot)
    if output is not None:
        write_frame(found, output, {"frame": "history", "results": list(named)})
    if style == "table":
        Console().print(history_table(found))
    elif style == "csv":
        print(csv_text(found))
    else:
        rows = [
            {**row, "date": None if row["date"] is None else row["date"].isoformat()}
            for row in found.to_dicts()
        ]
        print(json.dumps(rows, indent=2))
