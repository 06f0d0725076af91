"""What polars and urllib must know to read at an address: options, tokens, and plain links."""

from __future__ import annotations

import http
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import polars as pl

from rankframe.core.errors import OptionError, UnreadableInputError
from rankframe.core.messages import Option
from rankframe.io.remote import Remote, explained, scheme_of
from rankframe.io.storage import reached_with, storage_options
from rankframe.io.stores import S3, STORES, credentials_of_s3, endpoint_of_s3, region_of_s3

HUGGING_FACE, WEB = "hf", ("http", "https")
# Schemes that people know, for those that nobody does.
_KNOWN = ("s3", "gs", "az", "abfss", HUGGING_FACE, *WEB, "file", "postgresql", "duckdb", "sqlite")
# Options that polars takes as numbers, which a shell cannot give.
_NUMBERS = ("max_retries", "retry_timeout_ms", "retry_init_backoff_ms", "retry_max_backoff_ms")
# Endpoints of S3 that are not Amazon's have no regions, but signatures name one.
_ANY_REGION = "us-east-1"
_PATIENCE = 30  # seconds for a server of the web to answer


def for_polars(scheme: str) -> dict[str, Any]:
    """The options in force as polars takes them, with what the environment says of S3."""
    given = {name: _as_taken(name, value) for name, value in storage_options().items()}
    if scheme in S3:
        if endpoint := endpoint_of_s3():
            given = {"aws_region": region_of_s3() or _ANY_REGION, **given}
            given = {**_without_endpoint(given), "aws_endpoint_url": endpoint}
        given = {**credentials_of_s3(), **given}
    return given


def _as_taken(name: str, value: Any) -> str | int:
    """Text, as the stores read it, but for what polars itself looks at."""
    if name not in _NUMBERS:
        return str(value).lower() if isinstance(value, bool) else str(value)
    try:
        return int(value)
    except ValueError as error:
        raise OptionError(
            Option("storage_options"), f" takes a whole number for {name}."
        ) from error


def _without_endpoint(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if "endpoint" not in name.lower()}


def reached(scheme: str) -> dict[str, Any]:
    """The argument with which functions of polars read at such an address, if it needs any."""
    options = for_polars(scheme)
    return {"storage_options": options} if options else {}


def scan_files(files: Sequence[Remote]) -> pl.LazyFrame:
    """Parquet files at addresses; what is not needed of them is never fetched."""
    with reached_with(files[0].options):  # as when they were found
        how = reached(files[0].scheme)
    return pl.scan_parquet([str(file) for file in files], glob=False, **how)


def fetched(address: str, name: str) -> bytes:
    """A file of the web, whole."""
    with _answer(address, name) as answer:
        return answer.read()


def serves_parts(address: str, name: str) -> bool:
    """Whether a server of the web gives a part of a file where one is asked for: not all do."""
    with _answer(address, name, Range="bytes=0-3") as answer:
        return answer.status == http.HTTPStatus.PARTIAL_CONTENT


@contextmanager
def _answer(address: str, name: str, **headers: str) -> Iterator[Any]:
    headers["User-Agent"] = "rankframe"
    if scheme_of(address) == HUGGING_FACE:
        address = _link(address)
        token = storage_options().get("token") or os.environ.get("HF_TOKEN")
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
    try:
        asked = urllib.request.Request(address, headers=headers)  # noqa: S310 (https or http)
        with urllib.request.urlopen(asked, timeout=_PATIENCE) as answer:  # noqa: S310
            yield answer
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise UnreadableInputError(name, *explained(name, error)) from error


def _link(address: str) -> str:
    """Where Hugging Face has a file: hf://datasets/owner/name@version/path.

    >>> _link("hf://datasets/ann/shop@v2/run.csv")
    'https://huggingface.co/datasets/ann/shop/resolve/v2/run.csv'
    """
    kind, owner, repository, *path = address.partition("://")[2].split("/")
    repository, _, version = repository.partition("@")
    prefix = f"{kind}/" if kind != "models" else ""
    below = "/".join([repository, "resolve", version or "main", *path])
    return f"https://huggingface.co/{prefix}{owner}/{below}"


def refuse_unknown(address: str, name: str) -> None:
    """Refuse an address that begins with what nobody knows."""
    scheme = scheme_of(address)
    if scheme not in (*_KNOWN, *STORES):
        near = get_close_matches(scheme, _KNOWN, 1, 0.5)  # they are short: half is much
        raise UnreadableInputError(
            name,
            f"no address begins with {scheme}://",
            f"{f'Did you mean {near[0]}://? ' if near else ''}There are {'://, '.join(_KNOWN[:7])}://",
        )
