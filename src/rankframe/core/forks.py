"""Whether this process can compute. polars' threads do not come along when a process is forked, and
whatever the child asks of polars waits for them for ever: that is refused, at once.
"""

from __future__ import annotations

import os
import sys
import time

_THREADS = "/proc/self/task"
# How often one looks again where threads have just been started, and after how many seconds.
_PATIENCE, _MOMENT = 250, 0.002
# What polars calls the threads that work; the one that comes with its import is another.
_WORKERS = (*(f"polars-{digit}" for digit in range(10)), "tokio-rt-worker", "async-executor")


class _Process:
    """What is known of this process."""

    # polars had threads when the last fork began
    had_threads = False
    # it was forked from a process in which polars had threads
    stranded = False


def refuse_if_stranded() -> None:
    """Refuse to compute where polars never would; who reads anything asks this first."""
    if _Process.stranded:
        from rankframe.core.errors import ForkedError  # noqa: PLC0415 (`import rankframe` is light)

        raise ForkedError


def _before() -> None:
    """In the parent, which still knows its threads."""
    _Process.had_threads = "polars" in sys.modules and _has_threads()


def _in_child() -> None:
    _Process.stranded = _Process.stranded or _Process.had_threads


def _has_threads() -> bool:
    """Whether polars has worked in this process; where nobody says, that it was imported is all
    that is known.
    """
    for _ in range(_PATIENCE):
        try:
            threads = os.listdir(_THREADS)  # noqa: PTH208 (pathlib takes longer to import than all this)
        except OSError:
            return True
        if any(_said(thread, "comm").startswith(_WORKERS) for thread in threads):
            return True
        if not any(_is_starting(thread) for thread in threads):
            return False
        time.sleep(_MOMENT)
    return False


def _is_starting(thread: str) -> bool:
    """Whether a thread may still be about to name itself, which each of polars' does first: it has
    the name of the process, and is not asleep; nor is it one of Python's.
    """
    if thread == str(os.getpid()) or _said(thread, "comm") != _said(str(os.getpid()), "comm"):
        return False
    threading = sys.modules.get("threading")
    if threading is not None and int(thread) in {one.native_id for one in threading.enumerate()}:
        return False
    return _said(thread, "stat").rpartition(")")[2].split()[:1] in (["R"], ["D"])


def _said(thread: str, what: str) -> str:
    try:
        with open(f"{_THREADS}/{thread}/{what}", encoding="utf-8") as file:  # noqa: PTH123 (likewise)
            return file.read()
    except (OSError, ValueError):  # it ended meanwhile, or has a name of another kind
        return ""


if hasattr(os, "register_at_fork"):  # not everywhere can a process be forked
    os.register_at_fork(before=_before, after_in_child=_in_child)
