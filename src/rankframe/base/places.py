"""Where things are written.

Outputs are all or nothing: written beside their place under another name, then put there. Temporary
folders and files never outlive their use: they are removed at the end, on an error, on Ctrl-C, and,
where a process was killed, by the next one that starts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rankframe.base.errors import OutputError
from rankframe.base.messages import Option

_PREFIX = "rankframe-"
_ATTEMPTS, _PAUSE = 50, 0.05


@contextmanager
def fresh_folder(
    folder: str | os.PathLike[str], files: Collection[str], *, overwrite: bool = False
) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder` when it is complete; else nothing does.

    What it must not replace is refused before any work is done.
    """
    target = refuse_taken(folder, files, overwrite=overwrite)
    fresh = beside(target)
    made = [parent for parent in target.parents if not parent.exists()]
    try:
        fresh.mkdir(parents=True)
        yield fresh
        _replace_folder(target, fresh)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}.") from error
    finally:
        remove(fresh)
        for parent in made:  # the deepest first; one that holds a result stays
            with suppress(OSError):
                parent.rmdir()


def refuse_taken(
    folder: str | os.PathLike[str], files: Collection[str], *, overwrite: bool = False
) -> Path:
    """Where a folder is, unless it has other files than these, or must not be replaced."""
    target = place(folder)
    try:
        present = {p.name for p in target.iterdir()} if target.is_dir() else set()
        strange = target.exists() and not target.is_dir()
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}.") from error
    if strange or present - set(files):
        raise OutputError(f"{target} exists and is not a rankframe result. Nothing written.")
    if present and not overwrite:
        raise OutputError(
            f"{target} holds a result already. Pass ",
            Option("overwrite", value=True),
            " to replace it.",
        )
    return target


def place(folder: str | os.PathLike[str]) -> Path:
    """Where a folder is, whatever the working directory will be."""
    try:
        text = os.fsdecode(folder)
        if "://" in text:
            raise OutputError(f"a result is kept in a folder of this machine, not at {text}.")
        path = Path(os.path.expanduser(text)).absolute()  # noqa: PTH111 (as elsewhere)
        if "\0" in text:
            raise ValueError("a name cannot hold a null byte")
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise OutputError(f"{folder!r} cannot be a folder: {error}.") from error


def write_file(target: Path, write: Callable[[Path], object]) -> None:
    """Write one file under a temporary name beside its place, then put it there."""
    fresh = beside(target)
    try:
        write(fresh)
        fresh.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}.") from error
    finally:
        remove(fresh)


def _replace_folder(target: Path, fresh: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    old = beside(target)
    target.rename(old)
    try:
        fresh.rename(target)
    except OSError:
        old.rename(target)
        raise
    remove(old)


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
