"""What is complete takes the place of what was there: in one step, and on the disk."""

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
    """A complete file takes the place of a target, whether there is one or not."""
    on_disk(fresh)
    fresh.replace(target)
    on_disk(target.parent)


def put_folder(fresh: Path, target: Path, aside: Path) -> None:
    """A complete folder takes the place of a target; the old one is then at `fresh`, or `aside`.

    Where both cannot be exchanged in one step, the old one is at `aside` for a moment, and nowhere
    else: whoever finds it there after a kill puts it back (`restore`).
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
    """Put back what was set aside, if nothing took its place."""
    if not target.exists():
        aside.rename(target)


def on_disk(path: Path) -> None:
    """Have a file, or the names in a folder, written out, so that it outlives a loss of power."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in _UNABLE:
            raise
    finally:
        os.close(opened)


def like_the_old(fresh: Path, old: Path) -> None:
    """Give what is new the mode of what it replaces, and the owner, where that may be given."""
    for new in (fresh, *fresh.rglob("*")):
        with suppress(OSError):
            found = (old / new.relative_to(fresh)).stat()
            with suppress(OSError):
                os.chown(new, found.st_uid, found.st_gid)
            new.chmod(found.st_mode & 0o7777)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where that cannot be done."""
    rename = _renameat2()
    if rename is None:
        return False
    here = _AT_WORKING_FOLDER
    if rename(here, os.fsencode(one), here, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNABLE:
        return False
    raise OSError(number, os.strerror(number), str(other))


@cache
def _renameat2() -> Callable[..., int] | None:
    """The call of Linux that can exchange; None on other systems."""
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
