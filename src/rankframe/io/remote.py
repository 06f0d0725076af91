"""Files and folders at an address, with the methods of a `Path`.

pyarrow lists, reads and writes them, since polars, which reads Parquet at an address, can neither
list nor remove files. Both take the same options (`storage.py`), under the names of polars. A
failure is an `OSError` of the library; `explained` turns it into a message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from rankframe.core.messages import masked, shorten
from rankframe.io.storage import storage_options
from rankframe.io.stores import AZURE, GOOGLE, S3, endpoint_of_s3, file_system

# An address, also where a path was made of it, which has no double slashes.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")
_MISSING_INFO = "NotFound"
# Pattern in the text of a failure → what it means. The first pattern that matches counts.
_MEANINGS = {
    r"no_?such_?bucket|bucket does not exist|container ?not ?found": "there is no bucket {bucket}",
    r"invalid_?access_?key|signature_?does_?not_?match|expired|unrecognizedclient|"
    r"invalid_?client_?token|authenticationfailed": "its credentials are wrong, or have expired",
    r"169\.254\.|metadata\.google|no credentials|credentials? .*not (?:be )?found|"
    r"any credentials|anonymous caller": "no credentials were found for it",
    r"access_?denied|forbidden|\b403\b|unauthori[sz]ed|\b401\b|permission": "no permission",
    r"curlcode: 6\b|resolve host|dns error|service not known|name resolution|getaddrinfo|"
    r"nodename nor servname": "its host{endpoint} is not known: no network, or a wrong endpoint",
    r"curlcode: 7\b|connection refused|could not connect|network is unreachable|"
    r"no route to host": "nobody answers{endpoint}: no network, or a wrong endpoint",
    r"curlcode: 28\b|timed? ?out|timeout": "there was no answer in time{endpoint}",
    r"curlcode: (?:35|60)\b|certificate|\bssl\b|\btls\b": "no secure connection{endpoint}",
    r"no_?such_?key|not[ _]?found|\b404\b|not exist|no such file": "there is nothing there",
}
# What they say of whom: names of files, which may hold any word, and addresses. But for that which
# is asked for credentials.
_NAMES = re.compile(r"'[^']*'|<Key>[^<]*</Key>|(?<!\S)(?!\S*169\.254\.)[^\s<>]*/[^\s<>]*")
_ADVICE = {
    S3: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or pass them; for what anybody may read, "
    "aws_skip_signature=true",
    GOOGLE: "Set GOOGLE_APPLICATION_CREDENTIALS, or pass bearer_token; for what anybody may read, "
    "google_skip_signature=true",
    AZURE: "Set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or pass them",
}  # fmt: skip


def is_address(place: str | os.PathLike[str]) -> bool:
    """Return whether a place is an address: `s3://bucket/folder`."""
    return _ADDRESS.match(os.fsdecode(place)) is not None


def scheme_of(address: str | os.PathLike[str]) -> str:
    """Return the scheme of an address, such as "s3"; "" for a path."""
    found = _ADDRESS.match(os.fsdecode(address))
    return found[1].lower() if found else ""


@dataclass(frozen=True)
class Remote:
    """A file or a folder at an address."""

    scheme: str
    # the account where the address says it (of Azure), the bucket and all below it
    account: str
    path: str
    options: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    # of pyarrow
    system: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def at(cls, address: str | os.PathLike[str]) -> Remote:
        """Return the place at an address, reached by the storage options in force."""
        text = os.fsdecode(address)
        found = _ADDRESS.match(text)
        assert found is not None  # callers check that this is an address
        scheme, path, account = found[1].lower(), text[found.end() :], ""
        if scheme in AZURE and "@" in path.split("/", maxsplit=1)[0]:
            container, _, rest = path.partition("@")
            account, _, below = rest.partition("/")
            path = f"{container}/{below}"
        options = dict(storage_options())
        return cls(scheme, account, path.rstrip("/"), options, file_system(scheme, account))

    def __str__(self) -> str:
        bucket, slash, below = self.path.partition("/")
        place = f"{bucket}@{self.account}" if self.account else bucket
        return f"{self.scheme}://{place}{slash}{below}"

    def __fspath__(self) -> str:
        return str(self)

    def __truediv__(self, name: str) -> Remote:
        path = f"{self.path}/{name}" if name else self.path
        return Remote(self.scheme, self.account, path, self.options, self.system)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        """The ending of the path."""
        return PurePosixPath(self.path).suffix

    def exists(self) -> bool:
        """Return whether there is a file, or anything below."""
        return self._kind() != _MISSING_INFO

    def is_dir(self) -> bool:
        """Return whether this is no file, and there is something below."""
        return self._kind() == "Directory"

    def size(self) -> int | None:
        """Return the size of the file; None if there is none."""
        return self.system.get_file_info(self.path).size

    def iterdir(self) -> Iterator[Remote]:
        """Return the files and folders in the folder."""
        return (self / name for name in sorted(self._below(recursive=False)))

    def files(self) -> dict[str, int]:
        """Return all files below, by their paths from here, with their sizes."""
        found = self._below(recursive=True)
        return {name: found[name].size for name in sorted(found) if found[name].is_file}

    def glob(self, pattern: str) -> list[Remote]:
        """Return the files below whose paths from here match a pattern: *, **, ?, [a-z]."""
        fits = re.compile(_as_expression(pattern))
        return [self / name for name in self.files() if fits.fullmatch(name)]

    def state(self) -> tuple[tuple[str, str], ...]:
        """Return marks of the files here, which change when a file is written again."""
        names = [self / name for name in self.files()] if self.is_dir() else [self]
        return tuple((file.path, file._mark()) for file in names)

    def read(self) -> bytes:
        """Read the whole file."""
        with self.system.open_input_stream(self.path, compression=None) as file:
            return file.read()

    def head(self, size: int) -> bytes:
        """Read the beginning of the file."""
        with self.system.open_input_file(self.path) as file:
            return file.read(size)

    def put(self, source: Path) -> None:
        """Send a local file to this address: whole, or not at all.

        It is sent in one piece: an upload that a signal ends is then never completed, whereas a
        file that is closed after a part of it would be.
        """
        import pyarrow as pa  # noqa: PLC0415 (only for addresses)

        with pa.memory_map(str(source)) as mapped:
            content = mapped.read_buffer()
            with self.system.open_output_stream(self.path, compression=None) as file:
                file.write(content)
        if self.size() != content.size:
            raise OSError(f"{self} has not the size of what was sent")

    def remove(self) -> None:
        """Remove the file."""
        self.system.delete_file(self.path)

    def _kind(self) -> str:
        return self.system.get_file_info(self.path).type.name

    def _mark(self) -> str:
        try:
            with self.system.open_input_file(self.path) as file:
                metadata = file.metadata() or {}
        except FileNotFoundError:
            return ""
        info = self.system.get_file_info(self.path)
        return f"{info.size} {info.mtime_ns} {metadata.get('ETag', b'').decode()}"

    def _below(self, *, recursive: bool) -> dict[str, Any]:
        from pyarrow.fs import FileSelector  # noqa: PLC0415 (only for addresses)

        selector = FileSelector(self.path, allow_not_found=True, recursive=recursive)
        start = len(self.path) + 1
        return {info.path[start:].rstrip("/"): info for info in self.system.get_file_info(selector)}


def explained(place: str, error: BaseException) -> tuple[str, str]:
    """Return what a failure at an address means, and what to do."""
    text = " ".join(str(error).split())
    searched = _NAMES.sub("", text)
    found = (
        text_found
        for sign, text_found in _MEANINGS.items()
        if re.search(sign, searched, re.IGNORECASE)
    )
    meaning = next(found, None)
    if meaning is None:
        return shorten(masked(text), 200), ""
    scheme = scheme_of(place)
    bucket = place.partition("://")[2].split("/", maxsplit=1)[0].split("@", maxsplit=1)[0]
    endpoint = endpoint_of_s3() if scheme in S3 else None
    problem = meaning.format(bucket=repr(bucket), endpoint=f" at {endpoint}" if endpoint else "")
    advice = next((text_found for kinds, text_found in _ADVICE.items() if scheme in kinds), "")
    return problem, advice if "credentials" in problem or problem == "no permission" else ""


def _as_expression(pattern: str) -> str:
    """Return a regular expression for a pattern of names: * stays within a folder, ** does not."""
    parts = re.split(r"(\*\*/?|\*|\?|\[!?[^\]]+\])", pattern)
    stands = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(
        stands.get(part) or (part.replace("[!", "[^") if part.startswith("[") else re.escape(part))
        for part in parts
    )
