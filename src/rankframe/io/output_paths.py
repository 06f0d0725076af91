"""Check the place of an output before any work is done: where it is, and whether it is writable."""

from __future__ import annotations

import errno
import glob as globbing
import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, TypeAlias

from rankframe.core.errors import OutputError
from rankframe.core.messages import Option, is_text, masked, shown
from rankframe.io.remote import STORES, Remote, explained, is_address, scheme_of

Named: TypeAlias = str | os.PathLike[str]

# A table of a database: for DuckDB and SQLite, the database is a file of this machine.
DATABASE = re.compile(r"(duckdb|sqlite|postgres|postgresql):(?://)?([^#]*)(?:#(.*))?", re.DOTALL)
_DESCRIPTOR = re.compile(r"/(?:proc/(self|thread-self|\d+)|dev)/fd/(\d+)")
_LONGEST_NAME = 120  # bytes of a file name that is derived from the name of a run
_MOST_LINKS = 40
_WHOLE_NAME = 10_000  # characters of a path in a message


def place(folder: Named) -> Path | Remote:
    """Resolve the path or address of an output to an absolute place; links are followed."""
    try:
        text = os.fsdecode(folder)
        if DATABASE.match(text):
            raise OutputError(
                "outputs are files and folders, here or at an address, not tables of a database: "
                f"{masked(text)}."
            )
        if is_address(text):
            if (scheme := scheme_of(text)) not in STORES:
                raise OutputError(
                    "outputs are written to this machine's disks, or to s3://, gs:// and az://, "
                    f"not to {scheme}://."
                )
            if not (remote := Remote.at(text)).path:
                raise OutputError(f"{text} names no bucket.")
            return remote
        path = Path(os.path.expanduser(text)).absolute()  # noqa: PTH111 (as elsewhere)
        if "\0" in text or not text:
            raise ValueError("a name cannot be empty" if not text else "it holds a null byte")
        if not is_text(str(path)):
            raise OutputError(f"{folder!r} cannot be written to: its name is not UTF-8 text.")
        return path.resolve() if path.is_symlink() and descriptor(path) is None else path
    except OutputError:
        raise
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise OutputError(f"{shown(folder, _WHOLE_NAME)} cannot be written to: {error}.") from error


def refuse_taken(
    folder: Named | Remote,
    files: Collection[str],
    *,
    results: Collection[str] = (),
    overwrite: bool = False,
) -> Path | Remote:
    """Return the place of a folder for results; refuse a folder that must not be replaced.

    Args:
        folder: the target of a result, or of a folder of results.
        files: the names of the files of a result.
        results: the names of several results, each a folder; other results may be beside them.
        overwrite: whether a result may be replaced.
    """
    target = folder if isinstance(folder, Remote) else place(folder)
    # The folder is known whether one machine wrote the results or Spark did.
    own_names = {*files, *(Path(file).stem for file in files)} if results else set(files)
    try:
        is_folder = target.is_dir()
        entries = (
            [path for path in target.iterdir() if path.name not in results] if is_folder else []
        )
        strange = [
            path.name for path in entries if not _is_known(path, own_names, inside=bool(results))
        ]
        if strange or (target.exists() and not is_folder):
            what = "folder of rankframe results" if results else "rankframe result"
            holds = f" It holds {strange[0]}." if strange and results else ""
            problem = f"{target} exists and is not a {what}.{holds} Nothing written."
            raise OutputError(problem)
    except OSError as error:
        raise cannot_write(target, error) from error
    for name in results:
        refuse_taken(target / name, files, overwrite=overwrite)
    if entries and not results and not overwrite:
        replace = Option("overwrite", value=True)
        raise OutputError(f"{target} holds a result already. Pass ", replace, " to replace it.")
    return target


def _is_known(path: Path | Remote, files: Collection[str], *, inside: bool) -> bool:
    """Return whether a path is one of `files` or, if `inside`, a folder with such files only.

    A folder that has the name of one of these files is not known: its content could be anything.
    """
    if inside:
        return path.is_dir() and {file.name for file in path.iterdir()} <= set(files)
    return path.name in files and not path.is_dir()


def file_place(target: Named) -> Path | Remote:
    """Return the place of a file; refuse a place that cannot be written to."""
    path = place(target)
    if isinstance(path, Remote):
        try:
            problem = "it is a folder" if path.is_dir() or "/" not in path.path else ""
        except OSError as error:
            raise cannot_write(path, error) from error
        target = path
    else:
        problem = _problem_of(path, target)
    if problem:
        raise OutputError(f"cannot write {target}: {problem}.")
    return path


def _problem_of(path: Path, target: Named) -> str:
    """Return why a file cannot be written; "" if it can be."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "" if path.parent.is_dir() else f"there is no folder {path.parent}"
    except OSError as error:  # a name that is too long
        raise cannot_write(target, error) from error
    if stat.S_ISDIR(mode):
        return "it is a folder"
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        return "it is no file, but a disk or a socket"
    return "" if os.access(path, os.W_OK) else os.strerror(errno.EACCES)


def in_place(path: Path | Remote) -> bool:
    """Return whether an output is written in place: it is a device, a pipe or an open file."""
    if isinstance(path, Remote):
        return False
    if descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def descriptor(path: Path) -> int | None:
    """Return the file descriptor behind a path such as /dev/stdout; None for any other path."""
    for _ in range(_MOST_LINKS):
        if match := _DESCRIPTOR.fullmatch(str(path)):
            own = not (match[1] or "").isdigit() or int(match[1]) == os.getpid()
            return int(match[2]) if own else None
        if not path.is_symlink():
            return None
        path = Path(os.path.normpath(path.parent / path.readlink()))
    return None


def refuse_inputs(target: Named | None, sources: Iterable[object], *, folder: bool = False) -> None:
    """Refuse an output that is an input, lies in an input, or (a folder) holds one."""
    if target is None:
        return
    path = place(target)
    if in_place(path):
        return
    remote = isinstance(path, Remote)
    own, named = _comparable(path), path if remote else target
    for source in chain.from_iterable(_paths_of(source, remote=remote) for source in sources):
        other, how = _comparable(source), ""
        if own == other or _is_same_file(path, source):
            how = "is also an input"
        elif own.is_relative_to(other):
            how = f"lies in an input, {source}"
        elif folder and other.is_relative_to(own):
            how = f"holds an input, {source}"
        if how:
            raise OutputError(f"{named} {how}. Nothing written: choose another place.")


def _comparable(path: Path | Remote) -> PurePath:
    """Return a path for comparisons: equal for equal places, and nested as the places are."""
    if isinstance(path, Remote):
        return PurePosixPath(path.account, path.path)
    return Path(os.path.realpath(path))


def _is_same_file(first: Path | Remote, second: Path | Remote) -> bool:
    """Tell whether two paths of this machine are the same file under different names."""
    try:
        return isinstance(first, Path) and isinstance(second, Path) and first.samefile(second)
    except OSError:
        return False


def _paths_of(source: Any, *, remote: bool) -> Iterator[Path | Remote]:
    """Yield the files and folders of a source: itself, or the matches of its pattern.

    `remote`: yield places at addresses only; else, only places of this machine.
    """
    if hasattr(source, "fileno"):  # an open file, such as redirected stdin, may have no name
        try:
            source = f"/dev/fd/{source.fileno()}"
        except (OSError, ValueError):  # a closed file
            return
    if not isinstance(source, str | os.PathLike):
        return
    text = os.path.expanduser(os.fsdecode(source))  # noqa: PTH111
    table = DATABASE.fullmatch(text)
    text = table[2] if table else text
    if not text or "\0" in text or is_address(text) is not remote:
        return
    if remote:
        yield from [Remote.at(text)] if scheme_of(text) in STORES else []
        return
    path = Path(text)
    with suppress(OSError):  # a name that is too long is refused when it is opened
        paths = [path] if path.exists() else map(Path, globbing.glob(text, recursive=True))
        yield from (path for path in paths if not (path.is_fifo() or path.is_char_device()))


def safe_names(names: Sequence[str]) -> list[str]:
    """Return a file name for each name: distinct, and inside the folder.

    >>> safe_names(["bm25", "runs/bm25.gz", "..", "", "BM25"])
    ['bm25', 'runs_bm25.gz', '_', 'run', 'BM25-2']
    """
    file_names: dict[str, None] = {}
    for name in names:
        text = "".join("_" if c in "/\\" or not c.isprintable() else c for c in name.strip())
        text = re.sub(r"^_*\.+", "_", text.lstrip("_") if text.strip("_") else text) or "run"
        if len(text.encode()) > _LONGEST_NAME:
            mark = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:12]
            text = f"{text.encode()[: _LONGEST_NAME - 13].decode(errors='ignore')}-{mark}"
        taken, number, first = {other.casefold() for other in file_names}, 1, text
        while text.casefold() in taken:  # some disks do not tell case apart
            number += 1
            text = f"{first}-{number}"
        file_names[text] = None
    return list(file_names)


def cannot_write(target: object, error: BaseException) -> OutputError:
    """Return the error that explains a failed write."""
    if isinstance(target, Remote):
        problem, advice = explained(str(target), error)
        return OutputError(f"cannot write {target}: {problem}.", f" {advice}." if advice else "")
    code = re.search(r"\(os error (\d+)\)", str(error))
    number = int(code[1]) if code else getattr(error, "errno", None)
    problem = os.strerror(number) if number else str(error).split("\n")[0].rstrip(".")
    return OutputError(f"cannot write {target}: {problem}.")
