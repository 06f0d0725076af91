"""`rankframe metrics`: the metric reference."""

from __future__ import annotations

from typing import Annotated

import typer

from rankframe.cli.completion import metrics_of

EXAMPLES = """
  rankframe metrics

  rankframe metrics nDCG@10
"""


def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A metric, in any spelling: ndcg, nDCG@10, map_cut_10.",
            autocompletion=metrics_of(),
        ),
    ] = None,
) -> None:
    """Show all metrics, or one with its formula, parameters and synonyms."""
    from rich.console import Console

    from rankframe.metrics import REGISTRY
    from rankframe.metrics.names import definition_of
    from rankframe.present.terminal import result_tables as show
    from rankframe.present.terminal.render import print_line

    console = Console()
    if name is None:
        console.print(show.metric_list(list(REGISTRY.values())))
        print_line(console, "One in full: rankframe metrics ndcg. Written name(parameter=value)@k.")
        return
    console.print(show.metric_page(definition_of(name)))
