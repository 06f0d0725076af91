"""Replace a file or a folder by a complete new one: in one step, and durably."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

# What a file system answers where it has no such step, or cannot write a folder out.
_UNABLE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
_AT_WORKING_FOLDER, _RENAME_EXCHANGE = -100, 2


def put_file(fresh: Path, target: Path) -> None:
    """Move a complete file to a target, whether that exists or not."""
    on_disk(fresh)
    fresh.replace(target)
    on_disk(target.parent)


def put_folder(fresh: Path, target: Path, aside: Path) -> None:
    """Move a complete folder to a target; an old one is then at `fresh`, or at `aside`.

    If both cannot be exchanged in one step, the old folder is at `aside` for a moment, and nowhere
    else: after a kill, the next process that finds it there puts it back (`restore`).
    """
    for folder, _, files in os.walk(fresh):
        for file in files:
            on_disk(Path(folder, file))
        on_disk(Path(folder))
    if not target.exists():
        fresh.rename(target)
    elif not _exchanged(fresh, target):
        aside.parent.mkdir(exist_ok=True)
        target.rename(aside)
        try:
            fresh.rename(target)
        except OSError:
            aside.rename(target)
            raise
    on_disk(target.parent)


def restore(aside: Path, target: Path) -> None:
    """Put back a folder that was set aside, if nothing replaced it."""
    if not target.exists():
        aside.rename(target)


def on_disk(path: Path) -> None:
    """Flush a file, or the names in a folder, so that it survives a power loss."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in _UNABLE:
            raise
    finally:
        os.close(opened)


def like_the_old(fresh: Path, old: Path) -> None:
    """Copy the mode of the old files, and their owner if permitted."""
    for new in (fresh, *fresh.rglob("*")):
        with suppress(OSError):
            found = (old / new.relative_to(fresh)).stat()
            with suppress(OSError):
                os.chown(new, found.st_uid, found.st_gid)
            new.chmod(found.st_mode & 0o7777)


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange two names in one step; return False if that is not possible."""
    rename = _renameat2()
    if rename is None:
        return False
    here = _AT_WORKING_FOLDER
    if rename(here, os.fsencode(first), here, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNABLE:
        return False
    raise OSError(number, os.strerror(number), str(second))


@cache
def _renameat2() -> Callable[..., int] | None:
    """Return Linux's call that exchanges names; None on other systems."""
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
