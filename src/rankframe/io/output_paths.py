"""Check the place of an output before any work is done: where it is, and whether it is writable."""

from __future__ import annotations

import glob as globbing
import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rankframe.core.checks import is_text
from rankframe.core.errors import OutputError
from rankframe.core.messages import Option, masked
from rankframe.io.remote import STORES, Remote, explained, is_address, scheme_of

Named: TypeAlias = str | os.PathLike[str]

# A table of a database, which is a file where it is one of this machine.
DATABASE = re.compile(r"(duckdb|sqlite|postgres|postgresql):(?://)?([^#]*)(?:#(.*))?", re.DOTALL)
_DESCRIPTOR = re.compile(r"/(?:proc/(self|thread-self|\d+)|dev)/fd/(\d+)")
_LONGEST_NAME = 120  # bytes of a file name that is made of the name of a run
_MOST_LINKS = 40


def place(folder: Named) -> Path | Remote:
    """Return the absolute place of a file or folder; links are followed."""
    try:
        text = os.fsdecode(folder)
        if DATABASE.match(text):
            raise OutputError(
                f"outputs are files and folders, here or at an address, not tables of a database: "
                f"{masked(text)}."
            )
        if is_address(text):
            return _at_address(text)
        path = Path(os.path.expanduser(text)).absolute()  # noqa: PTH111 (as elsewhere)
        if "\0" in text or not text:
            raise ValueError("a name cannot be empty" if not text else "it holds a null byte")
        if not is_text(str(path)):
            raise OutputError(f"{folder!r} cannot be written to: its name is not UTF-8 text.")
        return path.resolve() if path.is_symlink() and descriptor(path) is None else path
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{folder!r} cannot be written to: {error}.") from error


def _at_address(text: str) -> Remote:
    scheme = scheme_of(text)
    if scheme not in STORES:
        raise OutputError(
            f"outputs are written to this machine's disks, or to s3://, gs:// and az://, not to "
            f"{scheme}://."
        )
    found = Remote.at(text)
    if not found.path:
        raise OutputError(f"{text} names no bucket.")
    return found


def refuse_taken(
    folder: Named | Remote, files: Collection[str], *, overwrite: bool = False
) -> Path | Remote:
    """Return the place of a folder; refuse one with other files, or that must not be replaced."""
    target = folder if isinstance(folder, Remote) else place(folder)
    try:
        found = list(target.iterdir()) if target.is_dir() else []
        present = {path.name for path in found}
        # A folder may be called like one of these files, and holds who knows what.
        strange = any(path.is_dir() for path in found) or (target.exists() and not target.is_dir())
    except OSError as error:
        raise cannot_write(target, error) from error
    if strange or present - set(files):
        raise OutputError(f"{target} exists and is not a rankframe result. Nothing written.")
    if present and not overwrite:
        raise OutputError(
            f"{target} holds a result already. Pass ",
            Option("overwrite", value=True),
            " to replace it.",
        )
    return target


def refuse_taken_among(
    folder: Named, names: Collection[str], files: Collection[str], *, overwrite: bool = False
) -> Path | Remote:
    """Return the place of a folder of results; refuse one with other content.

    Results with one of these names must not be there, unless they may be overwritten.
    """
    target = place(folder)
    try:
        other_paths = [path for path in target.iterdir() if path.name not in names] if (
            target.is_dir()
        ) else []  # fmt: skip
        # As one machine writes results, or as Spark does.
        file_names = {*files, *(Path(file).stem for file in files)}
        strange = [
            path
            for path in other_paths
            if not (path.is_dir() and {p.name for p in path.iterdir()} <= file_names)
        ]
    except OSError as error:
        raise cannot_write(target, error) from error
    if strange or (target.exists() and not target.is_dir()):
        what = f" It holds {strange[0].name}." if strange else ""
        raise OutputError(
            f"{target} exists and is not a folder of rankframe results.{what} Nothing written."
        )
    for name in names:
        refuse_taken(target / name, files, overwrite=overwrite)
    return target


def file_place(target: Named) -> Path | Remote:
    """Return the place of a file; refuse a place that cannot be written to."""
    path = place(target)
    if isinstance(path, Remote):
        try:
            folder = path.is_dir()
        except OSError as error:
            raise cannot_write(path, error) from error
        if folder or "/" not in path.path:
            raise OutputError(f"cannot write {path}: it is a folder.")
        return path
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = 0
    except OSError as error:  # a name that is too long
        raise cannot_write(target, error) from error
    if mode:
        if stat.S_ISDIR(mode):
            raise OutputError(f"cannot write {target}: it is a folder.")
        if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
            raise OutputError(f"cannot write {target}: it is no file, but a disk or a socket.")
        if not os.access(path, os.W_OK):
            raise OutputError(f"cannot write {target}: Permission denied.")
        return path
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {target}: there is no folder {path.parent}.")
    return path


def in_place(path: Path | Remote) -> bool:
    """Return whether a place is written to directly: a device, a pipe, an open file."""
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
    """Return the number of the open file behind a path such as /dev/stdout; None without."""
    for _ in range(_MOST_LINKS):
        if found := _DESCRIPTOR.fullmatch(str(path)):
            own = not (found[1] or "").isdigit() or int(found[1]) == os.getpid()
            return int(found[2]) if own else None
        if not path.is_symlink():
            return None
        path = Path(os.path.normpath(path.parent / path.readlink()))
    return None


def refuse_inputs(target: Named | None, sources: Iterable[object], *, folder: bool = False) -> None:
    """Refuse an output that is an input, lies in an input, or (a folder) holds one."""
    if target is None:
        return
    path = place(target)
    if isinstance(path, Remote):
        _refuse_addresses(path, sources, folder=folder)
        return
    if in_place(path):
        return
    real = Path(os.path.realpath(path))
    for source in sources:
        for input_path in _paths_of(source):
            if input_path.is_fifo() or input_path.is_char_device():
                continue
            input_real = Path(os.path.realpath(input_path))
            same = real == input_real or _same(
                real, source if hasattr(source, "fileno") else input_path
            )
            if same or (input_real.is_dir() and real.is_relative_to(input_real)):
                how = "is also an input" if same else f"lies in an input, {input_path}"
            elif folder and input_real.is_relative_to(real):
                how = f"holds an input, {input_path}"
            else:
                continue
            raise OutputError(f"{target} {how}. Nothing written: choose another place.")


def _refuse_addresses(target: Remote, sources: Iterable[object], *, folder: bool) -> None:
    for source in sources:
        if not isinstance(source, str | os.PathLike) or scheme_of(source) not in STORES:
            continue
        input_place = Remote.at(source)
        inside = f"{target.path}/".startswith(f"{input_place.path}/")
        holds = folder and f"{input_place.path}/".startswith(f"{target.path}/")
        if input_place.account == target.account and (inside or holds):
            how = "is also an input" if input_place == target else f"holds an input, {input_place}"
            how = f"lies in an input, {input_place}" if inside and input_place != target else how
            raise OutputError(f"{target} {how}. Nothing written: choose another place.")


def safe_names(names: Sequence[str]) -> list[str]:
    """Return a file name for each name: distinct, and inside the folder.

    >>> safe_names(["bm25", "runs/bm25.gz", "..", "", "BM25"])
    ['bm25', 'runs_bm25.gz', '_', 'run', 'BM25-2']
    """
    found: dict[str, None] = {}
    for name in names:
        text = "".join("_" if c in "/\\" or not c.isprintable() else c for c in name.strip())
        text = re.sub(r"^_*\.+", "_", text.lstrip("_") if text.strip("_") else text) or "run"
        if len(text.encode()) > _LONGEST_NAME:
            mark = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:12]
            text = f"{text.encode()[: _LONGEST_NAME - 13].decode(errors='ignore')}-{mark}"
        taken, number, first = {other.casefold() for other in found}, 1, text
        while text.casefold() in taken:  # some disks do not tell case apart
            number += 1
            text = f"{first}-{number}"
        found[text] = None
    return list(found)


def cannot_write(target: object, error: BaseException) -> OutputError:
    """Return the error that explains a failed write."""
    if isinstance(target, Remote):
        problem, advice = explained(str(target), error)
        return OutputError(f"cannot write {target}: {problem}.", f" {advice}." if advice else "")
    code = re.search(r"\(os error (\d+)\)", str(error))
    number = int(code[1]) if code else getattr(error, "errno", None)
    problem = os.strerror(number) if number else str(error).split("\n")[0].rstrip(".")
    return OutputError(f"cannot write {target}: {problem}.")


def _paths_of(source: Any) -> Iterator[Path]:
    """Yield the files and folders of a source: itself, or the matches of its pattern."""
    if hasattr(source, "fileno"):  # redirected to us: it has no name
        source = os.devnull if _closed(source) else f"/dev/fd/{source.fileno()}"
    if not isinstance(source, str | os.PathLike):
        return
    text = os.path.expanduser(os.fspath(source))  # noqa: PTH111
    table = DATABASE.fullmatch(text) if isinstance(text, str) else None
    text = table[2] if table else text
    if not isinstance(text, str) or not text or "\0" in text or is_address(text):
        return
    path = Path(text)
    yield from [path] if path.exists() else map(Path, globbing.glob(text, recursive=True))


def _closed(file: Any) -> bool:
    try:
        file.fileno()
    except (OSError, ValueError):
        return True
    return False


def _same(real: Path, source: Any) -> bool:
    """Return whether both are one file under different names."""
    try:
        status = os.fstat(source.fileno()) if hasattr(source, "fileno") else source.stat()
        return os.path.samestat(real.stat(), status)
    except (OSError, ValueError):
        return False
