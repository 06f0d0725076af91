"""Frames into files, by their endings: plain or packed, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rankframe.base.errors import OutputError
from rankframe.base.outputs import write_file
from rankframe.sources.formats import Format, by_ending, writable
from rankframe.sources.packing import by_name


def write_frame(frame: pl.DataFrame, target: Path) -> None:
    """Write a frame in the format of the target's ending."""
    write_as(format_of(target), frame, target)


def format_of(target: Path, *, any_table: bool = True) -> Format:
    """The format that a target's ending says: one for any table, or for judgments and runs."""
    found = by_ending(target)
    if found is None or (any_table and not found.any_table):
        raise OutputError(
            f"cannot tell the format of {target} from its ending. "
            f"rankframe writes {writable(any_table=any_table)}."
        )
    return found


def write_as(form: Format, frame: pl.DataFrame, target: Path) -> None:
    """Write a frame in this format; packed where the target's ending says so."""
    packing = by_name(target)

    def write(path: Path) -> None:
        if packing is None:
            form.write(frame, path)
            return
        with path.open("wb") as raw, packing.write(raw) as file:
            form.write(frame, file)

    write_file(target, write)
