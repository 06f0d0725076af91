"""`rankframe convert`: judgments and runs from one file format to another, and frames to files."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from rankframe.base.errors import OutputError
from rankframe.base.options import Duplicates, Policies
from rankframe.cli.options import Columns, Given, takes
from rankframe.cli.progress import progress_bar
from rankframe.cli.support import column_names, open_sources

if TYPE_CHECKING:
    import polars as pl

Kind: TypeAlias = Literal["run", "qrels"]
Writer: TypeAlias = Callable[["pl.DataFrame", Any], object]

EXAMPLES = """
  rankframe convert run.trec run.parquet

  rankframe convert ratings.csv qrels.trec --kind qrels -c query_id=user
"""
_WRITERS: dict[str, Writer] = {
    ".parquet": lambda frame, file: frame.write_parquet(file),
    ".csv": lambda frame, file: frame.write_csv(file),
    ".tsv": lambda frame, file: frame.write_csv(file, separator="\t"),
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
    ".ndjson": lambda frame, file: frame.write_ndjson(file),
}


@takes(duplicates=Policies)
def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="A file, glob, folder, or - (stdin).")
    ],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="A file; its ending says the format.")
    ],
    *,
    kind: Annotated[
        Kind | None, typer.Option(help="What IN holds, where its columns do not say.")
    ] = None,
    column: Columns = None,
    how: Given,
) -> None:
    """Convert judgments or a run between Parquet, CSV, TSV, JSON Lines and TREC text."""
    (opened,) = open_sources([source])
    with progress_bar(f"converting {source}", quiet=False):
        found, rows = convert_file(opened, target, kind, columns=column_names(column), **how)
    print(f"{target}: {rows:,} rows of {found}", file=sys.stderr)


def convert_file(
    source: Any,
    target: Path,
    kind: Kind | None = None,
    *,
    columns: Mapping[str, Any] | None = None,
    duplicates: Duplicates = "error",
) -> tuple[Kind, int]:
    """Write a source in the format of the target's ending; what it held, and how many rows.

    Without `kind`, a source with a grade and neither score nor rank is qrels, any other a run.
    """
    from rankframe.inputs.formats import TREC
    from rankframe.inputs.scan import scan
    from rankframe.inputs.validate import load_one_of_each

    scanned = scan(source, kind, columns)
    found: Kind = "qrels" if scanned.role == "qrels" else "run"
    write = _writer(target, {**_WRITERS, **dict.fromkeys(TREC, partial(_as_trec, kind=found))})
    frame = load_one_of_each(scanned, duplicates=duplicates).frame
    _write(frame.with_columns(_whole_numbers(frame)), target, write)
    return found, frame.height


def write_frame(frame: pl.DataFrame, target: Path) -> None:
    """Write a frame as Parquet, CSV, TSV or JSON Lines, by the target's ending: whole or not."""
    _write(frame, target, _writer(target))


def check_target(target: Path) -> None:
    """Refuse a place that a frame cannot be written to."""
    _writer(target)
    if not target.absolute().parent.is_dir():
        raise OutputError(f"cannot write {target}: there is no folder {target.parent}.")
    if target.is_dir():
        raise OutputError(f"cannot write {target}: it is a folder.")


def _writer(target: Path, writers: Mapping[str, Writer] = _WRITERS) -> Writer:
    ending = Path(target.name.lower().removesuffix(".gz")).suffix
    if ending not in writers:
        raise OutputError(
            f"cannot tell the format of {target} from its ending. "
            f"rankframe writes {', '.join(writers)}."
        )
    return writers[ending]


def _as_trec(frame: pl.DataFrame, file: Any, *, kind: Kind) -> None:
    import polars as pl

    from rankframe.arrays.keys import Keyed
    from rankframe.base.columns import QUERY, RANK
    from rankframe.frames.rank import rank_run
    from rankframe.inputs.trec_format import write_trec

    if kind == "run":
        ranks = pl.Series(RANK, rank_run(Keyed(frame)).rank)
        frame = frame.with_columns(ranks).sort(QUERY, RANK)
    write_trec(frame, file, kind)


def _whole_numbers(frame: pl.DataFrame) -> list[pl.Expr]:
    """Grades and ranks as integers where they all are."""
    import polars as pl

    from rankframe.base.columns import RANK, RELEVANCE

    named = [pl.col(name) for name in (RELEVANCE, RANK) if name in frame.columns]
    return [
        column.cast(pl.Int64)
        for column in named
        if frame.select((column == column.round()).all()).item()
    ]


def _write(frame: pl.DataFrame, target: Path, write: Writer) -> None:
    from rankframe.base.output import write_file

    if target.suffix.lower() != ".gz":
        write_file(target, lambda path: write(frame, path))
        return

    def compressed(path: Path) -> None:
        with gzip.open(path, "wb") as file:
            write(frame, file)

    write_file(target, compressed)
