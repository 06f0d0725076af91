"""Temporary folders and files that never outlive their use: removed at the end, on an error, on
Ctrl-C, and, where a process was killed, by the next one that starts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "rankframe-"
_ATTEMPTS, _PAUSE = 50, 0.05


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder in the system's place for temporary files (TMPDIR), gone afterwards."""
    place = Path(tempfile.gettempdir())
    for stale in place.glob(f"{_PREFIX}*"):
        if _is_abandoned(stale.name.removeprefix(_PREFIX)):
            shutil.rmtree(stale, ignore_errors=True)
    folder = place / f"{_PREFIX}{_mark()}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        _remove_surely(folder)


def _remove_surely(folder: Path) -> None:
    """Remove a folder, though threads of a failed writer may still be creating files in it."""
    for _ in range(_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_PAUSE)


def beside(target: Path) -> Path:
    """A temporary name beside a target, to be renamed to it when complete.

    What a killed process left beside the same target is removed.
    """
    folder, start = target.absolute().parent, f".{target.name}."
    for stale in folder.glob(f"{_escaped(start)}*.tmp") if folder.is_dir() else ():
        if _is_abandoned(stale.name.removeprefix(start)):
            remove(stale)
    return folder / f"{start}{_mark()}.tmp"


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there and can be."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _mark() -> str:
    return f"{os.getpid()}-{uuid.uuid4().hex[:8]}"


def _is_abandoned(mark: str) -> bool:
    """Whether the process that made this mark is no more."""
    pid = mark.split("-", maxsplit=1)[0]
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _escaped(text: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in text)
