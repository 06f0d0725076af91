"""How much memory some work needs, how much there is, and sizes as people write them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from rankframe.base.columns import DOC, QUERY
from rankframe.base.errors import OptionError
from rankframe.inputs.formats import READ_ERRORS
from rankframe.inputs.scan import Scanned

_INLINE = 12  # bytes of a string that lives inside its column
# Of the memory that is free, what an evaluation may take unasked; of a limit, what a piece may.
_SHARE, _PIECE_SHARE = 0.7, 0.4
_MOST_PIECES = 1000  # more files than this cost more than they save
_SAMPLE = 10_000
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
          "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}  # fmt: skip


def parse_size(text: str | int) -> int:
    """Bytes from a number or a text.

    >>> parse_size("2GiB"), parse_size("500 MB")
    (2147483648, 500000000)
    """
    if isinstance(text, int) and not isinstance(text, bool) and text > 0:
        return text
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", str(text).lower())
    size = int(float(found[1]) * _UNITS[found[2] or ""]) if found else 0
    if size <= 0:
        raise OptionError(f"max_memory takes a size such as '2GiB' or '500MB', not {text!r}.")
    return size


def estimated_need(scanned: Scanned, row_bytes: int) -> int:
    """About how many bytes it takes to work on this side, where a row takes so many.

    0 for what cannot be read: whoever reads it will say why.
    """
    try:
        rows = scanned.raw.select(pl.len()).collect(engine="streaming").item()
        lengths = scanned.frame.select(pl.col(QUERY, DOC).str.len_bytes()).head(_SAMPLE).collect()
    except READ_ERRORS:
        return 0
    return rows * (row_bytes + long_ids(lengths.select(pl.all().mean()).row(0)))


def long_ids(lengths: Iterable[float | None]) -> int:
    """How many bytes a row's ids take beside their columns, given their lengths in bytes."""
    return int(sum(length for length in lengths if length and length > _INLINE))


def available() -> int:
    """Bytes of memory that this process may still take."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        free = int(re.search(r"MemAvailable:\s+(\d+) kB", text)[1]) * 1024  # pyright: ignore[reportOptionalSubscript]
    except (OSError, TypeError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        try:
            left = int(Path(limit).read_text(encoding="ascii")) - int(
                Path(used).read_text(encoding="ascii")
            )
        except (OSError, ValueError):  # no such group, or no limit ("max")
            continue
        free = min(free, max(left, 0))
    return free


def count_pieces(
    left: Scanned, right: Scanned, row_bytes: tuple[int, int], max_memory: str | int | None
) -> int:
    """How many pieces it takes to stay within a limit, or within what the machine has."""
    return pieces_for(sum(map(estimated_need, (left, right), row_bytes)), max_memory)


def left_fits(left: Scanned, right: Scanned, row_bytes: tuple[int, int], pieces: int) -> bool:
    """Whether the left side alone takes no more than about one of so many pieces."""
    need, other = map(estimated_need, (left, right), row_bytes)
    return need * pieces <= need + other


def pieces_for(need: int, max_memory: str | int | None) -> int:
    """The same for what takes so many bytes."""
    limit = parse_size(max_memory) if max_memory is not None else int(available() * _SHARE)
    return 1 if need <= limit else min(math.ceil(need / (limit * _PIECE_SHARE)), _MOST_PIECES)
