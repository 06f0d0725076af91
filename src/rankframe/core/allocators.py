"""Make allocators return freed memory to the operating system at once, while memory is limited.

polars' allocator (jemalloc) keeps freed pages for a second or two, because asking the system for
them again is slow. A faster machine frees more in that time, so more memory is kept. With a limit
of some hundred megabytes, the kept pages exceed the rows themselves. C's allocator keeps the memory
that each thread freed until `malloc_trim` is called, except for arrays that were mapped separately.

polars offers no function to change this and does not export jemalloc's function, `mallctl`. The
address of `mallctl` is looked up in the symbol table of polars' library. Without a symbol table
(another system, a stripped library), nothing is changed. The environment variable
`_RJEM_MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0` then does the same from the start.
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
# The first bytes of a 64-bit, little-endian ELF file; the type of the section with all symbols.
_ELF, _SYMBOLS = b"\x7fELF\x02\x01", 2
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = np.dtype(
    [("name", "<u4"), ("kind", "<u2"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)

# C's allocator maps arrays from a threshold size on separately, so that freeing an array returns
# its memory: the number of that setting, our value, and the usual maximum. By default, the
# allocator raises the threshold to the size of freed arrays, up to 32 MB, and puts later arrays
# into a heap with holes, which takes twice the memory.
_MMAP_THRESHOLD, _MAPPED, _MAPPED_USUALLY = -3, 1 << 18, 1 << 25

_lock = Lock()
# One entry per open `freed_at_once` block, over all threads. The first entry holds the settings to
# restore; the others are empty.
_before: list[dict[bytes, int]] = []


@contextmanager
def freed_at_once() -> Iterator[None]:
    """Give freed memory back to the operating system at once, inside the `with` block.

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
    """Make C's allocator map each array of at least `least` bytes on its own (`mmap`)."""
    with suppress(OSError, TypeError, AttributeError):  # not glibc
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, least)


def trim() -> None:
    """Make C's allocator give all freed memory back to the operating system (takes some ms)."""
    with suppress(OSError, TypeError, AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


def _set_decay(values: dict[bytes, int] | None) -> dict[bytes, int]:
    """Set how long each jemalloc arena keeps freed pages, in ms; return the previous settings.

    `values`: the new values by setting; None: 0 for every arena.
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
    """Read a jemalloc setting into `old`, then set it to `new` if given. Return success."""
    size = ctypes.c_size_t(ctypes.sizeof(old))
    written = (None, 0) if new is None else (ctypes.byref(new), ctypes.sizeof(new))
    return not mallctl(name, ctypes.byref(old), ctypes.byref(size), *written)


@cache
def _mallctl() -> Callable[..., int] | None:
    """Return `mallctl`, jemalloc's function for settings, of polars' library; None if not found."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        text = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
        maps = (line.split(maxsplit=5) for line in text.splitlines())
        library = next(part[5] for part in maps if len(part) == 6 and _LIBRARY in part[5])
        offset = _symbol_offset(Path(library))
        # The handle points to the loader's entry for the library, which begins with the library's
        # base address. /proc/self/maps may list the file a second time, at another address: polars
        # maps it to read the names of functions when it panics.
        start = ctypes.c_size_t.from_address(ctypes.CDLL(library)._handle).value
    except (OSError, StopIteration, ValueError, struct.error):
        return None
    if offset is None or not start:
        return None
    pointers = [ctypes.c_void_p] * 3
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, *pointers, ctypes.c_size_t)
    return function(start + offset)


def _symbol_offset(library: Path) -> int | None:
    """Return the offset of `mallctl` from the base address of a library; None if not found."""
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
