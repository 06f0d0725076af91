"""Frames into files, by their endings: plain or gzipped, whole or not at all."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl

from rankframe.base.errors import OutputError
from rankframe.base.places import write_file
from rankframe.inputs.formats import Format, by_ending, writable


def write_frame(frame: pl.DataFrame, target: Path) -> None:
    """Write a frame in the format of the target's ending."""
    write_as(format_of(target), frame, target)


def check_target(target: Path, *, any_table: bool = True) -> None:
    """Refuse a place that a frame (or else judgments or a run) cannot be written to."""
    format_of(target, any_table=any_table)
    try:
        if not target.absolute().parent.is_dir():
            raise OutputError(f"cannot write {target}: there is no folder {target.parent}.")
        if target.is_dir():
            raise OutputError(f"cannot write {target}: it is a folder.")
    except OSError as error:  # a name that is too long
        raise OutputError(f"cannot write {target}: {error.strerror or error}.") from error


def format_of(target: Path, *, any_table: bool = True) -> Format:
    """The format that a target's ending says: one for any table, or for judgments and runs."""
    found = by_ending(target, packed=(".gz",))
    if found is None or (any_table and not found.any_table):
        raise OutputError(
            f"cannot tell the format of {target} from its ending. "
            f"rankframe writes {writable(any_table=any_table)}."
        )
    return found


def write_as(form: Format, frame: pl.DataFrame, target: Path) -> None:
    """Write a frame in this format; gzipped where the target's ending says so."""

    def write(path: Path) -> None:
        if target.suffix.lower() != ".gz":
            form.write(frame, path)
            return
        with gzip.open(path, "wb") as file:
            form.write(frame, file)

    write_file(target, write)
