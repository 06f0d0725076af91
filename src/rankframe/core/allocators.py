"""Make the allocators give freed memory back to the system at once, while memory is limited.

polars' allocator (jemalloc) keeps freed pages for a second or two, because asking the system for
them again is slow. What it keeps is thus what was freed in that time: the faster the machine, the
more. Beside a limit of some hundred megabytes, that is more than the rows themselves. C's allocator
keeps what each thread freed until it is told to trim, unless it was mapped on its own.

polars offers no function for this and does not export jemalloc's own, `mallctl`. Its address is
looked up in the symbol table of polars' library. Where there is none (another system, a stripped
library), nothing is changed; there, `_RJEM_MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0` in the
environment does the same from the start.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

_LIBRARY, _MALLCTL = "_polars_runtime", b"_rjem_mallctl"
_DECAYS = "dirty_decay_ms", "muzzy_decay_ms"
# ELF: a file of 64 bits, little-endian; the type of a section that holds all symbols.
_ELF, _SYMBOLS = b"\x7fELF\x02\x01", 2
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = np.dtype(
    [("name", "<u4"), ("kind", "<u2"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)

# The number of a setting of C's allocator: arrays from this size on are mapped, so that freeing
# them gives their memory back. Left alone, the allocator raises it to the size of the arrays that
# it sees, up to 32 MB, and puts the next ones into a heap with holes: twice as much is in use.
_MMAP_THRESHOLD, _MAPPED, _MAPPED_USUALLY = -3, 1 << 18, 1 << 25

_lock = Lock()
# A set of settings for each limit in force, in all threads; the first holds those from before.
_before: list[dict[bytes, int]] = []


@contextmanager
def freed_at_once() -> Iterator[None]:
    """Return memory that is freed in the block to the system at once.

    The settings apply to the whole process. Blocks may nest and overlap between threads.
    """
    with _lock:
        if not _before:
            _map_arrays(_MAPPED)
        _before.append({} if _before else _set_decay(None))
    try:
        yield
    finally:
        with _lock:
            if len(_before) == 1:
                _set_decay(_before[0])
                _before.clear()
                _map_arrays(_MAPPED_USUALLY)
            else:
                _before.pop()


def _map_arrays(least: int) -> None:
    """Let C's allocator map arrays of at least so many bytes on their own, freed one by one."""
    with suppress(OSError, TypeError, AttributeError):  # not glibc
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, least)


def trim() -> None:
    """Return freed memory of all threads from the C allocator to the system. Takes milliseconds."""
    with suppress(OSError, TypeError, AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


def _set_decay(values: dict[bytes, int] | None) -> dict[bytes, int]:
    """Set how long freed pages are kept, in ms, per arena; return what was set before.

    `values`: what to set; None: 0 everywhere.
    """
    mallctl = _mallctl()
    if mallctl is None:
        return {}
    before: dict[bytes, int] = {}
    arenas = ctypes.c_uint()
    if not _exchange(mallctl, b"arenas.narenas", arenas):
        return {}
    # `arenas` sets the default of arenas that are created later.
    for arena in ("arenas", *(f"arena.{number}" for number in range(arenas.value))):
        for decay in _DECAYS:
            name = f"{arena}.{decay}".encode()
            kept = ctypes.c_ssize_t()
            if not _exchange(mallctl, name, kept):
                continue  # an arena that nobody uses
            before[name] = kept.value
            default = 0 if values is None else values.get(f"arenas.{decay}".encode(), kept.value)
            value = 0 if values is None else values.get(name, default)
            _exchange(mallctl, name, ctypes.c_ssize_t(), ctypes.c_ssize_t(value))
    return before


def _exchange(mallctl: Any, name: bytes, old: Any, new: Any = None) -> bool:
    """Read a setting of jemalloc into `old` and set it to `new`; return False on failure."""
    size = ctypes.c_size_t(ctypes.sizeof(old))
    written = (None, 0) if new is None else (ctypes.byref(new), ctypes.sizeof(new))
    return not mallctl(name, ctypes.byref(old), ctypes.byref(size), *written)


@cache
def _mallctl() -> Callable[..., int] | None:
    """Return jemalloc's function for its settings, as polars' library has it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        text = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
        maps = (line.split(maxsplit=5) for line in text.splitlines())
        library = next(part[5] for part in maps if len(part) == 6 and _LIBRARY in part[5])
        offset = _symbol_offset(Path(library))
        # A handle is the address of the library's entry in the list of the loader, which begins
        # with the place of the library in memory. (Another place in the process may hold its file
        # as well: polars reads the names of functions there when it panics.)
        start = ctypes.c_size_t.from_address(ctypes.CDLL(library)._handle).value
    except (OSError, StopIteration, ValueError, struct.error):
        return None
    if offset is None or not start:
        return None
    pointers = [ctypes.c_void_p] * 3
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, *pointers, ctypes.c_size_t)
    return function(start + offset)


def _symbol_offset(library: Path) -> int | None:
    """Return where `mallctl` begins in a library, from its beginning in memory."""
    with (
        library.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        if content[:6] != _ELF:
            return None
        (start,) = struct.unpack_from("<Q", content, 40)
        size, count = struct.unpack_from("<HH", content, 58)
        sections = [_SECTION.unpack_from(content, start + size * i) for i in range(count)]
        for section in sections:
            if section[1] != _SYMBOLS:
                continue
            names, length = sections[section[6]][4:6]
            place = _find(content, b"\0" + _MALLCTL + b"\0", names, names + length) + 1
            symbols = np.frombuffer(content[section[4] : section[4] + section[5]], _SYMBOL)
            values = symbols["value"][symbols["name"] == place - names]
            return int(values[0]) if len(values) == 1 and values[0] else None
    return None


def _find(content: mmap.mmap, text: bytes, start: int, end: int) -> int:
    """Return the position of a text in a mapped file, or -1, with little memory."""
    step, place = 1 << 20, -1
    while place < 0 and start < end:
        place = content.find(text, start, min(start + step + len(text), end))
        content.madvise(mmap.MADV_DONTNEED)
        start += step
    return place
