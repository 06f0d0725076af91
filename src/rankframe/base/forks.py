"""Whether this process can compute. polars' threads do not come along when a process is forked, and
whatever the child asks of polars waits for them for ever: that is refused, at once.
"""

from __future__ import annotations

import os
import sys

_THREADS = "/proc/self/task"
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
        from rankframe.base.errors import ForkedError  # noqa: PLC0415 (`import rankframe` is light)

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
    try:
        threads = os.listdir(_THREADS)  # noqa: PTH208 (pathlib takes longer to import than all this)
    except OSError:
        return True
    return any(_name(thread).startswith(_WORKERS) for thread in threads)


def _name(thread: str) -> str:
    try:
        with open(f"{_THREADS}/{thread}/comm", encoding="utf-8") as file:  # noqa: PTH123 (likewise)
            return file.read()
    except (OSError, ValueError):  # it ended meanwhile, or has a name of another kind
        return ""


if hasattr(os, "register_at_fork"):  # not everywhere can a process be forked
    os.register_at_fork(before=_before, after_in_child=_in_child)
