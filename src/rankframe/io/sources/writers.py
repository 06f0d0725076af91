"""Write frames as files, by their endings: compressed or not, whole or not at all.

`write_parquet` writes every Parquet file that is an output, with polars: text is written as polars
holds it, where pyarrow would need a copy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

import polars as pl

from rankframe.core.errors import OutputError
from rankframe.io.formats.packing import by_name
from rankframe.io.formats.registry import PARQUET, Format, by_ending, writable
from rankframe.io.outputs import write_file

# What a file is about: what JSON can hold. No times: the same input gives the same bytes.
About: TypeAlias = Mapping[str, Any]
# Under which it is in the metadata of a Parquet file, with the version that wrote it.
KEY: Final = "rankframe"
# Rows of a row group: said, since else they are as rows happen to come.
_ROWS = 1 << 17


def write_parquet(
    frame: pl.DataFrame | pl.LazyFrame, target: Path | IO[bytes], about: About | None = None
) -> None:
    """Write a frame in row groups, with metadata about it."""
    from rankframe import __version__  # noqa: PLC0415 (this module is part of it)

    metadata_text = json.dumps({"version": __version__, **(about or {})}, ensure_ascii=False)
    frame.lazy().sink_parquet(
        target,
        # The least: the next ones take half as long again, and save nothing.
        compression_level=1,
        metadata={KEY: metadata_text},
        row_group_size=_ROWS,
        engine="streaming",
    )


def read_about(path: Path | IO[bytes]) -> dict[str, Any]:
    """Read rankframe's metadata of a Parquet file; empty if there is none."""
    try:
        found = json.loads(pl.read_parquet_metadata(path).get(KEY, "{}"))
    except (OSError, ValueError, pl.exceptions.PolarsError):
        return {}
    return found if isinstance(found, dict) else {}


def write_frame(frame: pl.DataFrame, target: Path, about: About | None = None) -> None:
    """Write a frame in the format of the target's ending, with metadata if the format has any."""
    write_as(format_of(target), frame, target, about)


def format_of(target: Path, *, any_table: bool = True) -> Format:
    """Return the format of a target's ending: for any table, or for judgments and runs."""
    found = by_ending(target)
    if found is None or (any_table and not found.any_table):
        raise OutputError(
            f"cannot tell the format of {target} from its ending. "
            f"rankframe writes {writable(any_table=any_table)}."
        )
    return found


def write_as(form: Format, frame: pl.DataFrame, target: Path, about: About | None = None) -> None:
    """Write a frame in a format, compressed if the target's ending says so."""
    packing = by_name(target)

    def put(into: Path | IO[bytes]) -> None:
        if form is PARQUET:
            write_parquet(frame, into, about)
        else:
            form.write(frame, into)

    def write(path: Path) -> None:
        if packing is None:
            put(path)
            return
        with path.open("wb") as raw, packing.write(raw) as file:
            put(file)

    write_file(target, write)
