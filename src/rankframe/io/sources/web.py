"""Fetch files from the web and from Hugging Face.

This module is imported only for web addresses: its HTTP libraries take longer to import than most
files take to evaluate.
"""

from __future__ import annotations

import http
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankframe.core.errors import UnreadableInputError
from rankframe.core.options import storage_options
from rankframe.io.remote import HUGGING_FACE, explained, scheme_of

_PATIENCE = 30  # seconds for a server to answer


def fetch(address: str, name: str) -> bytes:
    """Fetch a file of the web."""
    with _ask(address, name) as answer:
        return answer.read()


def serves_parts(address: str, name: str) -> bool:
    """Return whether the web server can send a part of a file (a range request)."""
    with _ask(address, name, Range="bytes=0-3") as answer:
        return answer.status == http.HTTPStatus.PARTIAL_CONTENT


@contextmanager
def _ask(address: str, name: str, **headers: str) -> Iterator[Any]:
    headers["User-Agent"] = "rankframe"
    if scheme_of(address) == HUGGING_FACE:
        address = _link(address)
        token = storage_options().get("token") or os.environ.get("HF_TOKEN")
        headers |= {"Authorization": f"Bearer {token}"} if token else {}
    try:
        request = urllib.request.Request(address, headers=headers)  # noqa: S310 (https or http)
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
            yield answer
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise UnreadableInputError(name, *explained(name, error)) from error


def _link(address: str) -> str:
    """Return the link to a file of Hugging Face: hf://datasets/owner/name@version/path.

    >>> _link("hf://datasets/ann/shop@v2/run.csv")
    'https://huggingface.co/datasets/ann/shop/resolve/v2/run.csv'
    """
    kind, owner, repository, *path = address.partition("://")[2].split("/")
    repository, _, version = repository.partition("@")
    prefix = f"{kind}/" if kind != "models" else ""
    below = "/".join([repository, "resolve", version or "main", *path])
    return f"https://huggingface.co/{prefix}{owner}/{below}"
