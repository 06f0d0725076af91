"""Access files and folders at an address, with the methods of a `Path`.

pyarrow lists, reads and writes the files: polars reads Parquet at an address, but cannot list or
remove files. Both libraries get the same storage options, under the names that polars uses. A
failure is an `OSError` of pyarrow; `explained` turns the error into a message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import Any

from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shorten, without_user
from rankframe.core.options import storage_options
from rankframe.core.records import record

S3, GOOGLE, AZURE = ("s3", "s3a"), ("gs", "gcs"), ("az", "azure", "abfs", "abfss", "adl")
STORES, HUGGING_FACE = (*S3, *GOOGLE, *AZURE), "hf"
# A setting → its names in the storage options. A name that begins with a vendor's name is also the
# name of an environment variable.
_SETTINGS = {
    "endpoint": "aws_endpoint_url_s3 aws_endpoint_url aws_endpoint endpoint_url endpoint",
    "region": "aws_region region aws_default_region default_region",
    "public": "aws_skip_signature skip_signature",
    "access_key": "aws_access_key_id access_key_id",
    "secret_key": "aws_secret_access_key secret_access_key",
    "session_token": "aws_session_token session_token aws_token",
    "virtual_hosts": "aws_virtual_hosted_style_request virtual_hosted_style_request",
    "google_token": "bearer_token google_bearer_token",
    "google_public": "google_skip_signature skip_signature",
    "account_name": "azure_storage_account_name account_name",
    "account_key": "azure_storage_account_key account_key access_key",
    "sas_token": "azure_storage_sas_token azure_storage_sas_key sas_token sas_key",
    "tenant_id": "azure_storage_tenant_id azure_tenant_id tenant_id",
    "client_id": "azure_storage_client_id azure_client_id client_id",
    "client_secret": "azure_storage_client_secret azure_client_secret client_secret",
}
_VENDORS = ("aws_", "google_", "azure_")
_KEY_FILES = {"google_service_account", "service_account", "google_service_account_path",
              "google_service_account_key", "google_application_credentials"}  # fmt: skip
# Seconds until a server must have answered, and the number of attempts.
_CONNECTING, _ANSWERING, _ATTEMPTS = 5, 30, 3
# Options that polars takes as numbers only; from a shell, they arrive as text.
_NUMBERS = ("max_retries", "retry_timeout_ms", "retry_init_backoff_ms", "retry_max_backoff_ms")
# S3 endpoints other than Amazon's have no regions, but signatures must name a region.
_ANY_REGION = "us-east-1"
# An address, also one that was turned into a `Path`, which merges double slashes into one.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")
_MISSING_INFO = "NotFound"
# Pattern in the text of a failure → its meaning. The first pattern that matches is used.
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
# Names of files and addresses in the text of a failure, which may hold any word. The address of the
# service that issues credentials does not match.
_NAMES = re.compile(r"'[^']*'|<Key>[^<]*</Key>|(?<!\S)(?!\S*169\.254\.)[^\s<>]*/[^\s<>]*")
_ADVICE = {
    S3: "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or pass them; for what anybody may read, "
    "aws_skip_signature=true",
    GOOGLE: "Set GOOGLE_APPLICATION_CREDENTIALS, or pass bearer_token; for what anybody may read, "
    "google_skip_signature=true",
    AZURE: "Set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or pass them",
}  # fmt: skip


def setting(name: str) -> str | None:
    """Return a setting from the storage options, else from the environment."""
    names = _SETTINGS[name].split()
    options = {key.lower(): value for key, value in storage_options().items()}
    values = [options[name] for name in names if name in options]
    variables = (os.environ.get(name.upper()) for name in names if name.startswith(_VENDORS))
    values += [value for value in variables if value]
    return str(values[0]) if values else None


def _is_set(name: str) -> bool:
    return (setting(name) or "").lower() in ("true", "1", "yes", "on")


def credentials_of_s3() -> dict[str, str]:
    """Return the access keys for S3, under the names of polars; an empty dict for public data."""
    if _is_set("public"):
        return {"aws_skip_signature": "true"}
    names = {
        key: _SETTINGS[key].split()[0] for key in ("access_key", "secret_key", "session_token")
    }
    keys = {name: value for key, name in names.items() if (value := setting(key))}
    return keys if {names["access_key"], names["secret_key"]} <= keys.keys() else {}


def polars_options(scheme: str) -> dict[str, Any]:
    """Return the storage options for polars; S3 takes missing ones from the environment."""
    options = {name: _as_taken(name, value) for name, value in storage_options().items()}
    if scheme not in S3:
        return options
    if endpoint := setting("endpoint"):
        options = {"aws_region": setting("region") or _ANY_REGION, **options}
        options = {name: options[name] for name in options if "endpoint" not in name.lower()}
        options["aws_endpoint_url"] = endpoint
    return {**credentials_of_s3(), **options}


def _as_taken(name: str, value: Any) -> str | int:
    """Return an option in the type that polars expects: text, or a whole number."""
    if name not in _NUMBERS:
        return str(value).lower() if isinstance(value, bool) else str(value)
    try:
        return int(value)
    except ValueError as error:
        raise _option_error(f"takes a whole number for {name}.") from error


def polars_arguments(scheme: str) -> dict[str, Any]:
    """Return the arguments for scan functions of polars at an address of this scheme."""
    options = polars_options(scheme)
    return {"storage_options": options} if options else {}


def file_system(scheme: str, account: str) -> Any:
    """Return pyarrow's file system for a scheme, configured with the current storage options."""
    if scheme in S3:
        return _s3()
    return _google() if scheme in GOOGLE else _azure(account)


def _s3() -> Any:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem  # noqa: PLC0415

    if "aws_profile" in storage_options():
        raise _option_error("cannot name a profile: set AWS_PROFILE in the environment.")
    keys = credentials_of_s3()
    arguments = {
        "access_key": keys.get("aws_access_key_id"),
        "secret_key": keys.get("aws_secret_access_key"),
        "session_token": keys.get("aws_session_token"),
        "region": setting("region"),
        "endpoint_override": setting("endpoint"),
        "anonymous": "aws_skip_signature" in keys or None,
        "force_virtual_addressing": _is_set("virtual_hosts") or None,
    }
    return S3FileSystem(
        connect_timeout=_CONNECTING,
        request_timeout=_ANSWERING,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        **{name: value for name, value in arguments.items() if value is not None},
    )


def _google() -> Any:
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415

    from pyarrow.fs import GcsFileSystem  # noqa: PLC0415

    limit, token = timedelta(seconds=_ANSWERING), setting("google_token")
    if token is not None:
        ends = datetime.now(UTC) + timedelta(hours=1)
        return GcsFileSystem(
            access_token=token, credential_token_expiration=ends, retry_time_limit=limit
        )
    if _KEY_FILES & storage_options().keys():
        raise _option_error(
            "cannot name the key of a service account: set GOOGLE_APPLICATION_CREDENTIALS in the "
            "environment to its file."
        )
    return GcsFileSystem(anonymous=_is_set("google_public"), retry_time_limit=limit)


def _azure(account: str) -> Any:
    from pyarrow.fs import AzureFileSystem  # noqa: PLC0415

    name = account.split(".", maxsplit=1)[0] or setting("account_name")
    if not name:
        raise OptionError(
            "an address of Azure needs the name of an account: pass ",
            Option("storage_options", {"account_name": "…"}),
            ", or set AZURE_STORAGE_ACCOUNT_NAME in the environment.",
        )
    names = ("account_key", "sas_token", "tenant_id", "client_id", "client_secret")
    return AzureFileSystem(name, **{key: value for key in names if (value := setting(key))})


def _option_error(problem: str) -> OptionError:
    return OptionError(Option("storage_options"), f" {problem}")


def is_address(place: str | os.PathLike[str]) -> bool:
    """Return whether a place is an address: `s3://bucket/folder`."""
    return _ADDRESS.match(os.fsdecode(place)) is not None


def scheme_of(address: str | os.PathLike[str]) -> str:
    """Return the scheme of an address, such as "s3"; "" for a path."""
    match = _ADDRESS.match(os.fsdecode(address))
    return match[1].lower() if match else ""


@record
class Remote:
    """Describe a file or a folder at an address."""

    scheme: str
    # the account, if the address names it (Azure only); the bucket and the path inside it
    account: str
    path: str
    options: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    # of pyarrow
    system: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def at(cls, address: str | os.PathLike[str]) -> Remote:
        """Return the place at an address, with the current storage options."""
        text = os.fsdecode(address)
        match = _ADDRESS.match(text)
        assert match is not None  # callers check that this is an address
        scheme, path, account = match[1].lower(), text[match.end() :], ""
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
        """Return the last part of the path."""
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        """Return the ending of the path."""
        return PurePosixPath(self.path).suffix

    def exists(self) -> bool:
        """Return whether there is a file at the address, or a folder with files."""
        return self._kind() != _MISSING_INFO

    def is_dir(self) -> bool:
        """Return whether the address is a folder with files."""
        return self._kind() == "Directory"

    def size(self) -> int | None:
        """Return the size of the file, or None if the file does not exist."""
        return self.system.get_file_info(self.path).size

    def iterdir(self) -> Iterator[Remote]:
        """Yield the files and folders directly in this folder, sorted by name."""
        return (self / name for name in sorted(self._below(recursive=False)))

    def files(self) -> dict[str, int]:
        """Return all files in this folder and its subfolders: relative path → size."""
        entries = self._below(recursive=True)
        return {name: entries[name].size for name in sorted(entries) if entries[name].is_file}

    def glob(self, pattern: str) -> list[Remote]:
        """Return the files whose paths relative to this folder match a pattern: *, **, ?, [a-z]."""
        fits = re.compile(_as_expression(pattern))
        return [self / name for name in self.files() if fits.fullmatch(name)]

    def state(self) -> tuple[tuple[str, str], ...]:
        """Return a fingerprint for each file here; it changes when the file is written again."""
        names = [self / name for name in self.files()] if self.is_dir() else [self]
        return tuple((file.path, file._mark()) for file in names)

    def read(self) -> bytes:
        """Read the whole file."""
        with self.system.open_input_stream(self.path, compression=None) as file:
            return file.read()

    def head(self, size: int) -> bytes:
        """Read the first `size` bytes of the file."""
        with self.system.open_input_file(self.path) as file:
            return file.read(size)

    def put(self, source: Path) -> None:
        """Send a local file to this address: whole, or not at all.

        The file is sent in one write. If a signal interrupts the upload, nothing is stored; with
        several writes, closing the stream would store the part that was sent.
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
    """Explain an error at the address `place`: return the problem and advice, as texts."""
    text = " ".join(str(error).split())
    searched = _NAMES.sub("", text)
    meanings = (
        text_found
        for sign, text_found in _MEANINGS.items()
        if re.search(sign, searched, re.IGNORECASE)
    )
    meaning = next(meanings, None)
    if meaning is None:
        return shorten(without_user(text), 200), ""
    scheme = scheme_of(place)
    bucket = place.partition("://")[2].split("/", maxsplit=1)[0].split("@", maxsplit=1)[0]
    endpoint = setting("endpoint") if scheme in S3 else None
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
