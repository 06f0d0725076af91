"""Estimate the memory that an evaluation needs, read how much is available, and parse sizes."""

from __future__ import annotations

import itertools
import math
import os
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from numbers import Real
from pathlib import Path

import polars as pl

from rankframe.core.columns import DOC, QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown
from rankframe.core.records import record
from rankframe.io.formats.registry import READ_ERRORS
from rankframe.io.input_table import InputTable, in_steps

_INLINE = 12  # bytes of a string that lives inside its column
# The default limit as a share of the available memory; a partition as a share of the memory that a
# limit leaves for rows.
_SHARE, _PARTITION_SHARE = 0.7, 0.4
# The bytes that are read ahead as a share of a limit: several reads are in memory at a time.
_AT_ONCE = 1 / 32
_MOST_PARTITIONS = 1000  # more files than this cost more than they save
# Sample size for the mean length of ids. If the length matters, the sample is from the whole input.
# (With 8M rows in Parquet, the first rows take 5 ms, ten slices 500 ms.)
_SAMPLE, _STRETCHES = 10_000, 10
# An estimate from the first rows is good enough if the limit is `_PLENTY` times larger. If the
# limit would be even with `_LONG` bytes of ids in each row, no rows are read.
_PLENTY, _LONG = 8, 1000
# Bytes that Python and polars take before any row is read; these bytes and the memory that is
# retained from earlier rows; the smallest limit that was kept in tests.
_LOADED, _BASE, _LEAST = 110_000_000, 150_000_000, 160_000_000
# A partition with a very large query also has other queries: factor from the bytes of that query
# to the bytes of its partition.
_ALONE = 1.25
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
          "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}  # fmt: skip


def parse_size(text: str | int) -> int:
    """Parse a size: return the number of bytes of a number or a text such as "2GiB".

    >>> parse_size("2GiB"), parse_size("500 MB")
    (2147483648, 500000000)
    """
    if isinstance(text, int) and not isinstance(text, bool) and text > 0:
        return text
    written = str(text).lower() if isinstance(text, str | Real) else ""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", written)
    size = int(float(found[1]) * _UNITS[found[2] or ""]) if found else 0
    if size <= 0:
        raise OptionError(f"max_memory takes a size such as '2GiB' or '500MB', not {shown(text)}.")
    return size


def limit_of(max_memory: str | int | None) -> int:
    """Return the limit in bytes: `max_memory`, or else a share of the available memory."""
    return parse_size(max_memory) if max_memory is not None else int(available() * _SHARE)


def not_held(max_memory: str | int | None) -> str | None:
    """Return a text on why `max_memory` is too low for any input; None if it is high enough.

    An evaluation with such a limit runs nevertheless, in the smallest possible partitions.
    """
    if max_memory is None or parse_size(max_memory) >= _LEAST:
        return None
    return (
        f"a limit of {size_text(parse_size(max_memory))} is too low: what is loaded before "
        f"any row is read takes about {size_text(_LOADED)}. Allow at least {size_text(_LEAST)}"
    )


def shared_limit(sides: Sequence[InputTable], max_memory: str | int | None = None) -> int:
    """Return the limit in bytes that the inputs were opened with, or else that of `max_memory`."""
    limits = [side.limit for side in sides if side.limit is not None]
    return min(limits) if limits else limit_of(max_memory)


def bytes_at_once(*sides: InputTable) -> int:
    """Return the number of bytes of these inputs that may be read ahead."""
    return int(shared_limit(sides) * _AT_ONCE)


def bytes_for_partitions(*sides: InputTable) -> int:
    """Return how many bytes the partitions that are in memory at a time may need together."""
    return int(for_rows(shared_limit(sides)) * _PARTITION_SHARE)


def need_of(table: pl.DataFrame, row_bytes: int) -> int:
    """Estimate how many bytes it takes to process `table`; `row_bytes`: of a row with short ids."""
    return table.height * (row_bytes + _bytes_of_long_ids(table))


def for_rows(limit: int) -> int:
    """Return how many bytes a limit leaves for rows, after the fixed memory of the process."""
    return max(limit - _BASE, limit // 3, 1)


def limit_for(room: int) -> int:
    """Return the least limit that leaves `room` bytes for rows: the inverse of `for_rows`."""
    return min(room + _BASE, 3 * room)


def estimated_need(table: InputTable, row_bytes: int, limit: int | None = None) -> int:
    """Estimate the bytes that it takes to process an input, by its row count and a sample of ids.

    Args:
        table: the input. If it cannot be read, return 0; reading it later raises the error.
        row_bytes: the bytes that a row with short ids takes.
        limit: the available bytes. If they far exceed the need, few ids or none are sampled.
    """
    try:
        rows = table.count(estimated=True)
        if limit is not None and rows * (row_bytes + _LONG) * _PLENTY < limit:
            return rows * row_bytes
        need = rows * (row_bytes + _bytes_of_long_ids(_sample_ids(table, rows)))
        if rows > _SAMPLE and limit is not None and need * _PLENTY > limit:
            rows = rows if table.lists is None else table.count()
            sample = _sample_ids(table, rows, throughout=True)
            need = max(need, rows * (row_bytes + _bytes_of_long_ids(sample)))
    except READ_ERRORS:
        return 0
    return need


def long_ids(lengths: Iterable[float | None]) -> int:
    """Return the bytes that the ids of a row take outside their columns, given their lengths."""
    return int(sum(length for length in lengths if length and length > _INLINE))


def available() -> int:
    """Return the number of bytes of memory that this process may take, cached for a second.

    A series of small calls takes less time than reading the number for each of them.
    """
    return _available_at(int(time.monotonic()))


@lru_cache(maxsize=1)
def _available_at(second: int) -> int:
    del second  # the key of the cache
    return read_available()


def read_available(system: Path = Path("/")) -> int:
    """Read the number of bytes of memory that this process may take.

    That is the free memory of the machine, within the limits of the process's control group (a
    container, a job of a scheduler) and of its parent groups.
    """
    try:
        text = (system / "proc/meminfo").read_text(encoding="ascii")
        free = int(re.search(r"MemAvailable:\s+(\d+) kB", text)[1]) * 1024  # pyright: ignore[reportOptionalSubscript]
    except (OSError, TypeError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    for group, (limit, used, idle) in _limited_groups(system):
        with suppress(OSError, ValueError):  # the group is gone, or has no limit ("max")
            allowed = int((group / limit).read_text(encoding="ascii"))
            taken = int((group / used).read_text(encoding="ascii"))
            # The kernel drops its page cache when memory is short, so that the cache is not in use.
            statistics = group / "memory.stat"
            if statistics.exists():
                text = statistics.read_text(encoding="ascii")
                cached = re.search(rf"^{idle} (\d+)$", text, re.MULTILINE)
                taken -= int(cached[1]) if cached else 0
            free = min(free, max(allowed - taken, 0))
    return free


# The files of a control group, of either version, with its limit and with the memory in use; and
# the name of the statistic with the size of files that the kernel keeps in memory.
_GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


@cache
def _limited_groups(system: Path) -> list[tuple[Path, tuple[str, str, str]]]:
    """Return the folder of each control group of this process with a limit, and its file names.

    The process's own group is first, and its parent groups follow. In a container, the own group is
    often mounted at the root of the hierarchy.
    """
    paths = {"": "/", "memory": "/"}
    with suppress(OSError):
        for line in (system / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            for name in controllers.split(","):
                if name in paths:
                    paths[name] = path
    top = system / "sys/fs/cgroup"
    folders: list[Path] = []
    for root, controller in ((top, ""), (top / "unified", ""), (top / "memory", "memory")):
        group = Path(paths[controller].lstrip("/"))
        folders += (root / folder for folder in (group, *group.parents))
    return [
        (folder, files)
        for folder in folders
        for files in _GROUP_FILES
        if (folder / files[0]).exists()
    ]


def count_partitions(
    sides: Sequence[InputTable], row_bytes: Sequence[int], max_memory: str | int | None
) -> int:
    """Return into how many partitions inputs must be split to keep to the memory limit.

    A `max_memory` that one query alone exceeds is refused.
    """
    limit = shared_limit(sides, max_memory)
    need = 0
    for side, size in zip(sides, row_bytes, strict=True):
        need += estimated_need(side, size, limit)
    partitions = partitions_for(need, limit)
    if partitions > 1 and max_memory is not None:
        refuse_too_large_a_query(sides, row_bytes, limit)
    return partitions


def left_fits(
    left: InputTable, right: InputTable, row_bytes: tuple[int, int], partitions: int
) -> bool:
    """Return whether the whole `left` input needs at most about the memory of one partition."""
    need, other = map(estimated_need, (left, right), row_bytes)
    return need * partitions <= need + other


def partitions_for(need: int, limit: int) -> int:
    """Return the number of partitions that keeps a need within a limit, in bytes."""
    room = for_rows(limit)
    return 1 if need <= room else min(math.ceil(need / (room * _PARTITION_SHARE)), _MOST_PARTITIONS)


def refuse_too_large_a_query(
    sides: Sequence[InputTable], row_bytes: Sequence[int], limit: int
) -> None:
    """Refuse a limit that one query alone exceeds.

    A query is processed as a whole, so that partitions do not help. Large queries are searched for
    in a sample from the whole of each input.
    """
    for side in sides:
        try:
            rows = side.count()
            sample = _sample_ids(side, rows, throughout=True)[QUERY]
            if not len(sample):
                continue
            name, count = sample.value_counts(sort=True).row(0)
            # Rows of a query are counted only if it may be too large: this takes a pass over them.
            about = rows * count // len(sample) * max(row_bytes)
            if name is None or 2 * about + _BASE < limit:
                continue
            counted = [_of_query(other, name) for other in sides]
        except READ_ERRORS:
            continue  # reading this input later raises the error
        need = _BASE + int(
            _ALONE
            * sum(
                number * (size + long_ids(means))
                for (number, *means), size in zip(counted, row_bytes, strict=True)
            )
        )
        # The fixed memory of the process does not count towards the limit here.
        if need > max(limit, 2 * _BASE):
            rows = sum(number for number, *_ in counted)
            raise OptionError(
                f"query {name!r} has {rows:,} rows, which are processed together and take about "
                f"{size_text(need)}, more than the limit of {size_text(limit)}. Pass ",
                Option("max_memory", size_text(need)),
                ", or cut the query's list.",
            )


def _of_query(side: InputTable, name: str) -> tuple[int, float, float]:
    """Return the number of rows of a query, and the mean lengths of their ids."""
    ids, at_once = side.frame.select(QUERY, DOC), bytes_at_once(side)
    counts = pl.len(), pl.col(QUERY, DOC).str.len_bytes().sum()
    steps = in_steps(ids, at_once, seekable=side.seekable)
    found = pl.concat(
        step.filter(pl.col(QUERY) == name).select(counts)
        for step in itertools.chain([ids.clear().collect()], steps)
    )
    rows, *lengths = found.sum().row(0)
    return rows, *(length / max(rows, 1) for length in lengths)


def size_text(size: int) -> str:
    """Return a size as text that `parse_size` reads, rounded up."""
    unit, word = (10**9, "GB") if size >= 10**9 else (10**6, "MB")
    return f"{math.ceil(size / unit * 10) / 10:g}{word}"


def _sample_ids(table: InputTable, rows: int, *, throughout: bool = False) -> pl.DataFrame:
    """Return the ids of the first rows, or of a sample from the whole input."""
    ids = table.frame.select(QUERY, DOC)
    if not throughout or rows <= _SAMPLE:
        return ids.head(_SAMPLE).collect()
    if not table.seekable:
        return _take_every(rows // _SAMPLE, ids, bytes_at_once(table))
    each = _SAMPLE // _STRETCHES
    starts = ((rows - each) * number // (_STRETCHES - 1) for number in range(_STRETCHES))
    # Slice by slice: if they are collected together, polars reads all of them ahead.
    return pl.concat(ids.slice(start, each).collect(engine="in-memory") for start in starts)


def _take_every(step: int, ids: pl.LazyFrame, at_once: int) -> pl.DataFrame:
    """Return every `step`-th row of an input that can only be read from its beginning."""
    taken, read = [ids.clear().collect()], 0
    for table in in_steps(ids, at_once, seekable=False):
        rows = table.gather_every(step, -read % step)
        # Copied, since a view of the texts would keep the whole table in memory.
        taken.append(pl.DataFrame(rows.to_dict(as_series=False), rows.schema))
        read += table.height
    return pl.concat(taken)


def _bytes_of_long_ids(rows: pl.DataFrame) -> int:
    return long_ids(rows.select(pl.col(QUERY, DOC).str.len_bytes().mean()).row(0))


# An input with at most this many rows, some 12 MB, is held in memory without being counted first.
_SMALL = 1 << 18


@record
class Held:
    """Hold the judgments (`left`) and the runs (`rights`), in memory as far as they fit."""

    left: InputTable
    rights: tuple[InputTable, ...]
    # the number of partitions that each of `rights` needs
    partitions: tuple[int, ...]


def hold(
    left: InputTable,
    rights: Sequence[InputTable],
    row_bytes: tuple[int, int],
    max_memory: str | int | None = None,
    *,
    again: bool = False,
) -> Held:
    """Read the judgments `left` and small runs into memory, unless partitions are needed.

    An input that cannot be read is returned as it is: evaluating it raises the error.

    Args:
        left: the judgments.
        rights: the runs.
        row_bytes: the bytes that a row of each side takes.
        max_memory: the limit.
        again: whether runs are evaluated more than once. What is computed from them is then cached
            for the next time, and inputs that are slow to read are held, if all fit together.
    """
    first, *runs = (_read(table, max_rows=_SMALL) for table in (left, *rights))
    limit = limit_of(max_memory)
    need = estimated_need(first, row_bytes[0], limit)
    needs = [estimated_need(run, row_bytes[1], limit) for run in runs]
    partitions = tuple(partitions_for(need + run_need, limit) for run_need in needs)
    if max(partitions, default=1) > 1:
        for right, number in zip(rights, partitions, strict=True):
            if number > 1 and max_memory is not None:
                refuse_too_large_a_query((left, right), row_bytes, limit)
        return Held(left, tuple(rights), partitions)
    if again and partitions_for(need + sum(needs), limit) == 1:
        for place, run in enumerate(runs):
            if not run.seekable:
                runs[place] = _read(run)
            elif run.cache is None:
                runs[place] = replace(run, cache={})
    return Held(_read(first), tuple(runs), partitions)


def _read(table: InputTable, *, max_rows: int | None = None) -> InputTable:
    """Read the rows of an input into memory, unless there are more than `max_rows`."""
    if table.cache is not None:
        return table
    rows = table.raw.select(
        pl.col(source).alias(column) for column, source in table.mapping.items()
    )
    try:
        frame = (rows if max_rows is None else rows.head(max_rows + 1)).collect(engine="in-memory")
    except READ_ERRORS:
        return table
    if max_rows is not None and frame.height > max_rows:
        return table
    same = {name: name for name in frame.columns}
    held = table.changed(frame.lazy())
    return replace(held, mapping=same, seekable=True, rows=frame.height, cache={})
