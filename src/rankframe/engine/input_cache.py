"""Hold inputs that are read more than once in memory, if they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from rankframe.engine.memory import (
    estimated_need,
    limit_of,
    partitions_for,
    refuse_too_large_a_query,
)
from rankframe.io.formats.registry import READ_ERRORS
from rankframe.io.input_table import InputTable

# Rows of an input that is held without being counted first: some 12 MB.
_SMALL = 1 << 18


@dataclass(frozen=True)
class Held:
    """Hold one input, and others that it is evaluated with, one by one."""

    left: InputTable
    rights: tuple[InputTable, ...]
    # the number of partitions that each of the others needs
    partitions: tuple[int, ...]


def hold(
    left: InputTable,
    rights: Sequence[InputTable],
    row_bytes: tuple[int, int],
    max_memory: str | int | None = None,
    *,
    again: bool = False,
) -> Held:
    """Read the left input and small right inputs, unless an evaluation needs partitions.

    Args:
        left: the judgments.
        rights: the runs.
        row_bytes: the bytes that a row of each side takes.
        max_memory: the limit.
        again: whether runs are evaluated more than once. What is computed from them is then kept
            for the next time, and inputs that are slow to read are held, if all fit together.

    An input that cannot be read stays as it is: evaluating it raises the error.
    """
    first, *runs = (_read(side, max_rows=_SMALL) for side in (left, *rights))
    limit = limit_of(max_memory)
    need = estimated_need(first, row_bytes[0], limit)
    needs = [estimated_need(other, row_bytes[1], limit) for other in runs]
    partitions = tuple(partitions_for(need + other, limit) for other in needs)
    if any(number > 1 for number in partitions):
        for right, number in zip(rights, partitions, strict=True):
            if number > 1 and max_memory is not None:
                refuse_too_large_a_query((left, right), row_bytes, limit)
        return Held(left, tuple(rights), partitions)
    if again and partitions_for(need + sum(needs), limit) == 1:
        runs = [_kept(other) if other.seekable else _read(other) for other in runs]
    return Held(_read(first), tuple(runs), partitions)


def _kept(scanned: InputTable) -> InputTable:
    """Return an input that keeps what is computed from it."""
    return scanned if scanned.made is not None else replace(scanned, made={})


def _read(scanned: InputTable, *, max_rows: int | None = None) -> InputTable:
    """Read the rows of an input into memory, unless there are more than `max_rows`."""
    if scanned.made is not None:
        return scanned
    rows = scanned.raw.select(
        pl.col(original).alias(column) for column, original in scanned.mapping.items()
    )
    try:
        frame = (rows if max_rows is None else rows.head(max_rows + 1)).collect(engine="in-memory")
    except READ_ERRORS:
        return scanned
    if max_rows is not None and frame.height > max_rows:
        return scanned
    same = {name: name for name in frame.columns}
    return replace(scanned.changed(frame.lazy()), mapping=same, seekable=True, made={})
