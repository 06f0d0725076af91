"""Write outputs atomically: complete beside their target, flushed, then moved in place.

At an address, each file is sent whole, and the files of a folder are sent one by one. The old
ledger is removed first and the new ledger is sent last: an incomplete result has no ledger.

Temporary files are in a locked folder `.rankframe-…` beside the target (`scratch.py`). The next
process that writes there removes the temporary files of a killed process, and puts back a folder
that the killed process had set aside.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

import polars as pl

from rankframe.core.errors import OutputError, RankframeError
from rankframe.core.messages import Option, shown
from rankframe.io.formats.packing import by_name
from rankframe.io.formats.registry import PARQUET, Format, by_ending, writable
from rankframe.io.output_paths import (
    Named,
    cannot_write,
    descriptor,
    file_place,
    in_place,
    place,
    refuse_inputs,
    refuse_taken,
)
from rankframe.io.remote import Remote
from rankframe.io.scratch import lock, locked_folder, scratch_folder, sweep

_START = ".rankframe-"
_NEW, _OLD = "new", "old"
_LEDGER = "ledger.parquet"
_PATIENCE, _PAUSE = 60.0, 0.02  # seconds to wait in all, and per attempt, for other writers
# Error numbers of file systems that cannot exchange two paths, or cannot flush a folder.
_UNABLE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
_AT_WORKING_FOLDER, _RENAME_EXCHANGE = -100, 2
# Metadata of a file, as JSON. It has no timestamps: the same input gives the same bytes.
About: TypeAlias = Mapping[str, Any]
# The key of the metadata in a Parquet file. The version of rankframe is stored with it.
KEY: Final = "rankframe"
# Rows of a row group. Without a fixed number, row groups depend on how rows arrive.
_ROWS = 1 << 17


@contextmanager
def fresh_folder(
    folder: Named, files: Collection[str], *, results: Collection[str] = (), overwrite: bool = False
) -> Iterator[Path]:
    """Yield an empty folder that replaces `folder` only after the block succeeds.

    A target that must not be replaced is refused before the block runs, and again after it.
    `results`: the names of the results that are written into the folder; other results that are
    already in `folder` stay there.
    """

    def refuse() -> Path | Remote:
        return refuse_taken(folder, files, results=results, overwrite=overwrite)

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
        for parent in created:  # the deepest first; a folder that is not empty stays
            with suppress(OSError):
                parent.rmdir()


def _send_folder(fresh: Path, target: Remote) -> None:
    """Upload the files in `fresh`, one by one, to the address `target`; send ledgers last."""
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
            number = descriptor(path)
            # Write to the descriptor: opening the path again would overwrite the file's start.
            opened = os.open(path, os.O_WRONLY) if number is None else os.dup(number)
            with (folder / path.name).open("rb") as written, os.fdopen(opened, "wb") as file:
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

    Return True if a live process has set the folder aside, and will put it back in a moment.
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
    """Copy the other results in the folder `target` to `fresh`, as hard links if possible."""
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
    """Hold a lock on `folder` during the block, so that processes move files there in turn.

    The kernel releases the locks of dead processes.
    """
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
def _by_its_name(staging: Path, place: Path | Remote) -> Iterator[None]:
    """In errors from the block, replace the temporary path `staging` by the target `place`."""
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
    """Turn an OSError into an error that names the target and the problem."""
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


def put_file(fresh: Path, target: Path) -> None:
    """Move a complete file to its target; an existing target is replaced."""
    on_disk(fresh)
    fresh.replace(target)
    on_disk(target.parent)


def put_folder(fresh: Path, target: Path, aside: Path) -> None:
    """Move the complete folder `fresh` to `target`; move an old folder to `fresh` or to `aside`.

    If the file system cannot exchange both in one step, the old folder is only at `aside` for a
    moment: if the process is killed then, the next process puts the folder back (`restore`).
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
    """Move a folder from `aside` back to `target`, if nothing has replaced it there."""
    if not target.exists():
        aside.rename(target)


def on_disk(path: Path) -> None:
    """Flush a file or a folder to disk, so that it survives a power loss."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in _UNABLE:
            raise
    finally:
        os.close(opened)


def like_the_old(fresh: Path, old: Path) -> None:
    """Give the new files the mode of the old files, and their owner if permitted."""
    for new in (fresh, *fresh.rglob("*")):
        with suppress(OSError):
            status = (old / new.relative_to(fresh)).stat()
            with suppress(OSError):
                os.chown(new, status.st_uid, status.st_gid)
            new.chmod(status.st_mode & 0o7777)


def _exchanged(first: Path, second: Path) -> bool:
    """Exchange two paths in one atomic step; return False if the system cannot do that."""
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
    """Return Linux's function that exchanges two paths; None on other systems."""
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None


def write_parquet(
    frame: pl.DataFrame | pl.LazyFrame, target: Path | IO[bytes], about: About | None = None
) -> None:
    """Write a frame in row groups, with metadata about it."""
    from rankframe import __version__  # noqa: PLC0415 (this module is part of it)

    metadata_text = json.dumps({"version": __version__, **(about or {})}, ensure_ascii=False)
    frame.lazy().sink_parquet(
        target,
        # The lowest level: higher levels take 50% longer and do not make files smaller.
        compression_level=1,
        metadata={KEY: metadata_text},
        row_group_size=_ROWS,
        engine="streaming",
    )


def read_about(path: Path | IO[bytes]) -> dict[str, Any]:
    """Read rankframe's metadata of a Parquet file; return an empty dict without metadata."""
    try:
        about = json.loads(pl.read_parquet_metadata(path).get(KEY, "{}"))
    except (OSError, ValueError, pl.exceptions.PolarsError):
        return {}
    return about if isinstance(about, dict) else {}


def write_frame(frame: pl.DataFrame, target: Path, about: About | None = None) -> None:
    """Write a frame in the format of the target's ending, with metadata if the format has any."""
    write_as(format_of(target), frame, target, about)


def format_of(target: Path, *, any_table: bool = True) -> Format:
    """Return the format that a target's ending names; with `any_table`, it must hold any table."""
    form = by_ending(target)
    if form is None or (any_table and not form.any_table):
        raise OutputError(
            f"cannot tell the format of {target} from its ending. "
            f"rankframe writes {writable(any_table=any_table)}."
        )
    return form


def check_target(
    target: Named, sources: Iterable[object], *, overwrite: bool
) -> tuple[Format, Path | Remote]:
    """Return the format and the place of an output file for judgments or a run.

    A target that is a source or already exists is refused.
    """
    if not isinstance(target, str | bytes | os.PathLike):
        raise OutputError(f"a file is written to a path, not to {shown(target)}.")
    form, path = format_of(Path(os.fsdecode(target)), any_table=False), file_place(target)
    refuse_inputs(target, sources)
    if path.exists() and not overwrite and not in_place(path):
        option = Option("overwrite", value=True)
        raise OutputError(f"{target} already exists. Pass ", option, " to replace it.")
    return form, path


def write_as(form: Format, frame: pl.DataFrame, target: Path, about: About | None = None) -> None:
    """Write a frame in a format, compressed if the target's ending says so."""
    packing = by_name(target)

    def put(into: Path | IO[bytes]) -> None:
        if form is PARQUET:
            write_parquet(frame, into, about)
        else:
            form.write(frame, into)

    def write(path: Path) -> None:
        if packing is None:
            put(path)
            return
        with path.open("wb") as raw, packing.write(raw) as file:
            put(file)

    write_file(target, write)
