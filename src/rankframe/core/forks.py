"""Refuse to compute in a process that was forked while polars had threads.

Threads do not survive a fork, and the child would wait for them forever.
"""

from __future__ import annotations

import os
import sys
import time

_THREADS = "/proc/self/task"
# How often to look again at threads that have just started, and the seconds between two looks.
_PATIENCE, _MOMENT = 250, 0.002
# Names of polars' worker threads; its import starts another thread.
_WORKERS = (*(f"polars-{digit}" for digit in range(10)), "tokio-rt-worker", "async-executor")


class _Process:
    """Hold whether polars had threads at the last fork, and whether this process is such a fork."""

    # whether polars had threads when the last fork began
    had_threads = False
    # whether this process was forked from a process in which polars had threads
    stranded = False


def refuse_if_stranded() -> None:
    """Refuse to compute if polars would wait forever; called before anything is read."""
    if _Process.stranded:
        from rankframe.core.errors import ForkedError  # noqa: PLC0415 (`import rankframe` is light)

        raise ForkedError


def _before() -> None:
    """Record, in the parent before a fork, whether polars has threads."""
    _Process.had_threads = "polars" in sys.modules and _has_threads()


def _in_child() -> None:
    _Process.stranded = _Process.stranded or _Process.had_threads


def _has_threads() -> bool:
    """Tell whether polars has started threads in this process.

    If threads cannot be listed, having imported polars counts.
    """
    for _ in range(_PATIENCE):
        try:
            threads = os.listdir(_THREADS)  # noqa: PTH208 (pathlib takes longer to import than all this)
        except OSError:
            return True
        if any(_read(thread, "comm").startswith(_WORKERS) for thread in threads):
            return True
        if not any(_is_starting(thread) for thread in threads):
            return False
        time.sleep(_MOMENT)
    return False


def _is_starting(thread: str) -> bool:
    """Tell whether a thread may be a polars thread that has not set its name yet.

    Such a thread has the name of the process, is not asleep, and is none of Python's.
    """
    if thread == str(os.getpid()) or _read(thread, "comm") != _read(str(os.getpid()), "comm"):
        return False
    threading = sys.modules.get("threading")
    if threading is not None and int(thread) in {t.native_id for t in threading.enumerate()}:
        return False
    return _read(thread, "stat").rpartition(")")[2].split()[:1] in (["R"], ["D"])


def _read(thread: str, what: str) -> str:
    try:
        with open(f"{_THREADS}/{thread}/{what}", encoding="utf-8") as file:  # noqa: PTH123 (likewise)
            return file.read()
    except (OSError, ValueError):  # it has ended, or its name is no text
        return ""


if hasattr(os, "register_at_fork"):  # not on every system
    os.register_at_fork(before=_before, after_in_child=_in_child)
