"""Make temporary folders, each with a lock that the kernel releases when its process ends.

A process removes its folder after its work, on an error, and on a signal. If a process is killed,
the next process that opens a folder in the same parent removes the old folder. Only the lock tells
whether a process is alive: process ids are meaningless in another container that shares the disk.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from rankframe.core.errors import OutputError, RankframeError

try:
    import fcntl
except ImportError:  # a system without these locks: folders of other processes are never removed
    fcntl = None

LOCK = "rankframe.lock"
_SCRATCH = "rankframe-scratch-"
# Content of a lock file that could not be locked: only its own process removes the folder.
_UNLOCKED = b"this folder could not be locked\n"
_NO_SPACE = ("No space left", "File too large", "quota exceeded")
_ATTEMPTS, _PAUSE = 50, 0.05
# Folders of this process, to be removed when a signal ends it.
_live: dict[Path, int] = {}


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a folder in the system's place for temporary files (TMPDIR), removed afterwards."""
    with ExitStack() as stack:
        try:
            place = Path(tempfile.gettempdir()).absolute()
            folder = stack.enter_context(locked_folder(place, _SCRATCH))
        except OSError as error:
            where = os.environ.get("TMPDIR") or tempfile.tempdir or "the usual folders"
            raise OutputError(
                f"cannot make temporary files in {where}: {error.strerror or error}. "
                "Point the environment variable TMPDIR to another folder."
            ) from error
        yield folder


class KeptFolder:
    """Hold a temporary folder that is removed with its last reference or at process exit."""

    def __init__(self) -> None:
        stack = ExitStack()
        self.path = stack.enter_context(scratch_folder())
        self.remove = weakref.finalize(self, stack.close)


@contextmanager
def room_for(folder: Path) -> Iterator[None]:
    """Turn an error of a full disk inside the block into an error that says what to do."""
    try:
        yield
    except RankframeError:
        raise
    except Exception as error:
        if any(sign in str(error) for sign in _NO_SPACE):
            raise OutputError(
                f"no room for temporary files in {folder.parent}. "
                "Free some space, or point the environment variable TMPDIR to a larger disk."
            ) from error
        raise


@contextmanager
def locked_folder(
    parent: Path, start: str, restore: Callable[[Path], object] | None = None
) -> Iterator[Path]:
    """Yield a new folder whose name begins with `start`; remove folders of dead processes."""
    sweep(parent, start, restore)
    folder, opened = _made(parent, start)
    _live[folder] = os.getpid()
    try:
        yield folder
    finally:
        if _live.pop(folder) == os.getpid():  # False in a fork of the folder's process
            _remove_surely(folder)
        os.close(opened)


def lock(opened: int) -> bool | None:
    """Lock an open file; return False if another process holds it, None without locks."""
    try:
        if fcntl is None:
            return None
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a disk without locks
        return None
    return True


def sweep(parent: Path, start: str, restore: Callable[[Path], object] | None = None) -> None:
    """Remove the folders of dead processes in `parent`, after `restore` was called with each."""
    if fcntl is None:
        return
    pattern = re.compile(re.escape(start) + "[0-9a-f]{32}")
    try:
        folders = [
            Path(entry.path) for entry in os.scandir(parent) if pattern.fullmatch(entry.name)
        ]
    except OSError:
        return
    for folder in folders:
        opened = _abandoned(folder)
        if opened is not None:
            try:
                with suppress(OSError):
                    if restore is not None:
                        restore(folder)
                    _remove(folder)
            finally:
                os.close(opened)


def remove_live() -> None:
    """Remove all folders of this process, which is about to end."""
    for folder, process in list(_live.items()):
        if process == os.getpid():
            _remove_surely(folder)


def _made(parent: Path, start: str) -> tuple[Path, int]:
    """Make a new folder with a locked file inside; return the folder and the open lock."""
    while True:
        folder = parent / f"{start}{uuid.uuid4().hex}"
        folder.mkdir(mode=0o700)
        try:
            opened = os.open(folder / LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        except FileNotFoundError:  # another process removed the folder while it was empty
            continue
        except OSError:
            folder.rmdir()
            raise
        locked = lock(opened)
        if locked is None:
            os.write(opened, _UNLOCKED)
        if locked is not False and (folder / LOCK).exists():
            return folder, opened
        os.close(opened)  # another process removed the folder before it was locked


def _abandoned(folder: Path) -> int | None:
    """Lock the folder of a dead process and return the lock; None for any other folder."""
    opened = None
    try:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return None
        opened = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
        if not os.read(opened, len(_UNLOCKED)) and lock(opened):
            return opened
    except FileNotFoundError:
        with suppress(OSError):  # an empty folder: its process ended at the start or at the end
            folder.rmdir()
    except OSError:
        pass
    if opened is not None:
        os.close(opened)
    return None


def _remove_surely(folder: Path) -> None:
    """Remove a folder, even while threads of a failed writer still create files in it."""
    for _ in range(_ATTEMPTS):
        with suppress(OSError):
            _remove(folder)
        if not folder.exists():
            return
        time.sleep(_PAUSE)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock file last: after a kill, the lock still marks the other files."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        elif entry.name != LOCK:
            Path(entry.path).unlink(missing_ok=True)
    if [entry.name for entry in os.scandir(folder)] in ([], [LOCK]):
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()
