"""Write outputs all or nothing: complete beside their target, flushed, then moved in place.

To an address, files are sent whole, and files of a folder one by one: an old ledger is removed
first and the new one is sent last, so that an incomplete result has none.

Temporary files are in a locked folder `.rankframe-…` beside the target (`scratch.py`). The next
process that writes there removes what a killed process left, and restores what it had set aside.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rankframe.core.errors import OutputError, RankframeError
from rankframe.io.exchange import like_the_old, put_file, put_folder, restore
from rankframe.io.output_paths import (
    Named,
    cannot_write,
    descriptor,
    file_place,
    in_place,
    place,
    refuse_taken,
    refuse_taken_among,
)
from rankframe.io.remote import Remote
from rankframe.io.scratch import lock, locked_folder, scratch_folder, sweep

_START = ".rankframe-"
_NEW, _OLD = "new", "old"
_LEDGER = "ledger.parquet"
_PATIENCE, _PAUSE = 60.0, 0.02  # seconds to wait for others that write beside


@contextmanager
def fresh_folder(
    folder: Named, files: Collection[str], *, overwrite: bool = False
) -> Iterator[Path]:
    """Yield an empty folder that replaces `folder` when it is complete, or not at all.

    Anything that must not be replaced is refused before any work is done, and again at the end.
    """

    def refuse() -> Path | Remote:
        return refuse_taken(folder, files, overwrite=overwrite)

    with _taking_the_place(folder, refuse) as fresh:
        yield fresh


@contextmanager
def fresh_folders(
    folder: Named, names: Collection[str], files: Collection[str], *, overwrite: bool = False
) -> Iterator[Path]:
    """Yield an empty folder for several results that replace those in `folder`, all or none.

    `names` are the names of the results. Other results in `folder` stay there.
    """

    def refuse() -> Path | Remote:
        return refuse_taken_among(folder, names, files, overwrite=overwrite)

    with _taking_the_place(folder, refuse) as fresh:
        yield fresh


@contextmanager
def _taking_the_place(folder: Named, refuse: Callable[[], Path | Remote]) -> Iterator[Path]:
    recover(place(folder))
    target = refuse()
    if isinstance(target, Remote):
        with scratch_folder() as staging:
            fresh = staging / (target.name or _NEW)
            fresh.mkdir()
            with _by_its_name(fresh, target):
                yield fresh
            with _explained(target):
                refuse()
                _send_folder(fresh, target)
        return
    created = [parent for parent in target.parents if not parent.exists()]
    try:
        with _explained(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with locked_folder(target.parent, _START, _restored) as staging:
                fresh = staging / _NEW / target.name
                fresh.mkdir(parents=True)
                with _by_its_name(fresh.parent, target.parent):
                    yield fresh
                with _in_turn(target.parent):
                    refuse()
                    _keep_others(target, fresh)
                    like_the_old(fresh, target)
                    put_folder(fresh, target, staging / _OLD / target.name)
    finally:
        for parent in created:  # the deepest first; one that holds a result stays
            with suppress(OSError):
                parent.rmdir()


def _send_folder(fresh: Path, target: Remote) -> None:
    """Send results one by one, and their ledgers last."""
    files = [
        path.relative_to(fresh).as_posix() for path in sorted(fresh.rglob("*")) if path.is_file()
    ]
    folders = {Path(file).parent.as_posix().strip(".") for file in files}
    old = {f"{name}/{path}".lstrip("/") for name in folders for path in (target / name).files()}
    for file in sorted(path for path in old if Path(path).name == _LEDGER):
        (target / file).remove()
    for file in sorted(files, key=lambda file: Path(file).name == _LEDGER):
        (target / file).put(fresh / file)
    for file in old.difference(files):
        if Path(file).name != _LEDGER:
            (target / file).remove()


def write_file(target: Named, write: Callable[[Path], object]) -> None:
    """Write one file under a temporary name, then move it to its target.

    Devices, pipes and open files are written to directly; a file keeps its mode.
    """
    path = file_place(target)
    if isinstance(path, Remote):
        with scratch_folder() as folder, _explained(path):
            write(folder / path.name)
            path.put(folder / path.name)
        return
    if in_place(path):
        with scratch_folder() as folder, _explained(target):
            write(folder / path.name)
            with (folder / path.name).open("rb") as written, _opened(path) as file:
                shutil.copyfileobj(written, file)
        return
    with _explained(target), locked_folder(path.parent, _START, _restored) as staging:
        fresh = staging / _NEW / path.name
        fresh.parent.mkdir()
        write(fresh)
        if path.exists():
            like_the_old(fresh, path)
        put_file(fresh, path)


def recover(target: Path | Remote) -> bool:
    """Put back a folder that a killed process had set aside, if the target is missing.

    Returns whether a live process has set it aside, so that it will be back in a moment.
    """
    if isinstance(target, Remote) or target.exists():
        return False
    sweep(target.parent, _START, _restored)
    return any(
        (staging / _OLD / target.name).exists() for staging in target.parent.glob(f"{_START}*")
    )


def _restored(staging: Path) -> None:
    with suppress(FileNotFoundError):
        for aside in (staging / _OLD).iterdir():
            restore(aside, staging.parent / aside.name)


def _keep_others(target: Path, fresh: Path) -> None:
    """Copy the other results of the old folder to the new one, as links if the disk has them."""
    kept = [path for path in target.iterdir() if path.is_dir()] if target.is_dir() else []
    for path in kept:
        if not (fresh / path.name).exists():
            shutil.copytree(path, fresh / path.name, copy_function=_linked)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@contextmanager
def _in_turn(folder: Path) -> Iterator[None]:
    """Wait until no other process moves folders here; the kernel releases locks of dead ones."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        ends = time.monotonic() + _PATIENCE
        while lock(opened) is False:
            if time.monotonic() > ends:
                raise OutputError(f"another process keeps {folder} locked.")
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(opened)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a device, a pipe or an open file for writing."""
    number = descriptor(path)
    # An open file continues at its position; opened again, it would be overwritten from the start.
    file = os.open(path, os.O_WRONLY) if number is None else os.dup(number)
    with os.fdopen(file, "wb") as opened:
        yield opened


@contextmanager
def _by_its_name(staging: Path, place: Path | Remote) -> Iterator[None]:
    """Name the target in errors, not the temporary place."""
    try:
        yield
    except OutputError as error:
        named = [
            part.replace(str(staging), str(place)) if isinstance(part, str) else part
            for part in error.parts
        ]
        raise OutputError(*named) from error


@contextmanager
def _explained(target: object) -> Iterator[None]:
    """Explain errors of the disk, or of the library that writes."""
    try:
        yield
    except RankframeError:
        raise
    except OSError as error:
        raise cannot_write(target, error) from error
    except Exception as error:
        if "(os error" not in str(error):
            raise
        raise cannot_write(target, error) from error
