"""`rankframe convert`: judgments and runs from one file format to another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

from rankframe.cli import flags
from rankframe.cli.inputs import open_sources
from rankframe.cli.options import Argument, Flag, Given, flags_of, takes
from rankframe.cli.outputs import Output
from rankframe.core.messages import masked, number_of
from rankframe.core.options import Policies, Storage
from rankframe.core.wording import plain_text


def _lines(path: Path) -> list[str]:
    from rankframe.io.formats.registry import reading

    with reading(str(path)):
        return path.read_text(encoding="utf-8").splitlines()


@takes(
    Argument("source", str, "IN"), Argument("target", Path, "OUT"),
    Flag("kind", Literal["run", "qrels"] | None), Flag("queries", Path | None, read=_lines),
    Flag("overwrite", bool),
    Storage, flags.COLUMNS, *flags_of(Policies, "order", "duplicates", "relevance"),
)  # fmt: skip
def convert(source: str, target: Path, *, kind: Any, how: Given) -> None:
    """Convert judgments or a run between Parquet, Arrow, CSV, TSV, JSON and TREC text.

    Flags:
        source: A file, glob or folder, or - for stdin.
        target: A file; its ending chooses the format.
        kind: What IN holds, if its columns do not say.
        queries: Query ids, one per line, for responses of a search engine in the same order.
        overwrite: Replace OUT if it exists.

    Examples:
      rankframe convert bm25.parquet bm25.trec

      rankframe convert ratings.csv qrels.trec --kind qrels \\
        -c query_id=shopper -c doc_id=article --overwrite

      rankframe convert responses.jsonl run.parquet --queries names.txt
    """
    from rankframe.engine.convert import convert_file
    from rankframe.io.output_paths import place
    from rankframe.io.remote import is_address

    (opened,) = open_sources([source])
    how.pop("storage_options", None)  # in force while this runs
    with Output().progress(f"converting {masked(source)}"):
        found, rows = convert_file(opened, target, kind, **how)
    where = str(place(target) if is_address(target) else target)
    print(f"{plain_text(where)}: {number_of(rows, 'row')} of {found}", file=sys.stderr)
