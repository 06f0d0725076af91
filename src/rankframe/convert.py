"""Judgments and runs from one file format to another, and frames to files."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import polars as pl

from rankframe.columns import QUERY, RANK
from rankframe.errors import OutputError, RankframeError
from rankframe.keys import Keyed
from rankframe.rank import rank_run
from rankframe.read import Columns, Source, scan
from rankframe.result import write_file
from rankframe.trec import FIELDS, write_trec
from rankframe.validate import Duplicates, load

Kind = Literal["run", "qrels"]

_WRITERS: dict[str, Callable[[pl.DataFrame, Any], object]] = {
    ".parquet": lambda frame, file: frame.write_parquet(file),
    ".csv": lambda frame, file: frame.write_csv(file),
    ".tsv": lambda frame, file: frame.write_csv(file, separator="\t"),
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
    ".ndjson": lambda frame, file: frame.write_ndjson(file),
}
_TREC = (".trec", ".txt", ".qrels", ".run")


def convert_file(
    source: Source,
    target: Path,
    kind: Kind | None = None,
    *,
    columns: Columns | None = None,
    duplicates: Duplicates = "error",
) -> tuple[Kind, int]:
    """Write a source in the format of the target's ending; what it held, and how many rows.

    Without `kind`, a source that can be read as judgments is judgments, else it is a run.
    """
    found: Kind
    frame: pl.DataFrame
    found, frame = _loaded(source, kind, columns, duplicates)
    if _ending(target) in _TREC:
        if found == "run":
            ranks = pl.Series(RANK, rank_run(Keyed(frame)).rank)
            frame = frame.with_columns(ranks).sort(QUERY, RANK)
        write = lambda frame, file: write_trec(frame, file, found)  # noqa: E731
    else:
        write = _writer(target)
        if RANK in frame.columns:
            frame = frame.with_columns(pl.col(RANK).cast(pl.Int64))
    _write(frame, target, write)
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


def _loaded(
    source: Source, kind: Kind | None, columns: Columns | None, duplicates: Duplicates
) -> tuple[Kind, pl.DataFrame]:
    if kind is not None:
        return kind, load(scan(source, kind, columns), duplicates=duplicates).frame
    if hasattr(source, "read"):
        source = io.BytesIO(source.read())  # read twice below
    try:
        scanned = scan(source, "qrels", columns)
    except RankframeError as not_qrels:
        try:
            if isinstance(source, io.BytesIO):
                source.seek(0)
            return "run", load(scan(source, "run", columns), duplicates=duplicates).frame
        except RankframeError as not_run:
            # Of two complaints, the one about what it more likely was meant to be.
            raise (not_run if _has_run_columns(not_run) else not_qrels) from None
    return "qrels", load(scanned, duplicates=duplicates).frame


def _has_run_columns(error: RankframeError) -> bool:
    return "relevance" not in str(error) and f"{len(FIELDS['qrels'])}" not in str(error)


def _writer(target: Path) -> Callable[[pl.DataFrame, Any], object]:
    ending = _ending(target)
    if ending not in _WRITERS:
        known = ", ".join(_WRITERS)
        raise OutputError(
            f"cannot tell the format of {target} from its ending. rankframe writes {known}."
        )
    return _WRITERS[ending]


def _write(frame: pl.DataFrame, target: Path, write: Callable[[pl.DataFrame, Any], object]) -> None:
    if target.suffix.lower() != ".gz":
        write_file(target, lambda path: write(frame, path))
        return

    def compressed(path: Path) -> None:
        with gzip.open(path, "wb") as file:
            write(frame, file)

    write_file(target, compressed)


def _ending(target: Path) -> str:
    return Path(target.name.lower().removesuffix(".gz")).suffix
