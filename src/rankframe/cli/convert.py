"""`rankframe convert`: judgments and runs from one file format to another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from rankframe.cli.options import COLUMNS, Given, takes
from rankframe.cli.support import open_sources, progress_bar
from rankframe.core.messages import masked, number_of
from rankframe.core.options import Policies, Storage
from rankframe.core.wording import plain_text

EXAMPLES = """
  rankframe convert bm25.parquet bm25.trec

  rankframe convert ratings.csv qrels.trec --kind qrels \\
    -c query_id=shopper -c doc_id=article --overwrite

  rankframe convert responses.jsonl run.parquet --queries names.txt
"""


@takes(
    Storage, shared=(COLUMNS,), duplicates=Policies, order=Policies, relevance=Policies
)  # fmt: skip
def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="A file, glob, folder, or - (stdin).")
    ],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="A file; its ending says the format.")
    ],
    *,
    kind: Annotated[
        Literal["run", "qrels"] | None,
        typer.Option(help="What IN holds, if its columns do not tell."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace OUT if it is there.")
    ] = False,
    queries: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Names of queries, a line each, in the order of a search engine's responses.",
        ),
    ] = None,
    how: Given,
) -> None:
    """Convert judgments or a run between Parquet, Arrow, CSV, TSV, JSON and TREC text."""
    from rankframe.engine.convert import convert_file
    from rankframe.io.output_paths import place
    from rankframe.io.remote import is_address

    (opened,) = open_sources([source])
    with progress_bar(f"converting {masked(source)}", quiet=False):
        found, rows = convert_file(
            opened, target, kind,
            columns=how["columns"], duplicates=how["duplicates"], order=how["order"],
            relevance=how["relevance"], overwrite=overwrite, queries=queries and _lines(queries),
        )  # fmt: skip
    where = str(place(target) if is_address(target) else target)
    print(f"{plain_text(where)}: {number_of(rows, 'row')} of {found}", file=sys.stderr)


def _lines(path: Path) -> list[str]:
    from rankframe.io.formats.registry import reading

    with reading(str(path)):
        return path.read_text(encoding="utf-8").splitlines()
