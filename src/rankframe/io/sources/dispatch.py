"""Open a source as it is: by its type, and a path or an address by its scheme."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl

from rankframe.core.columns import Role
from rankframe.core.errors import UnreadableInputError
from rankframe.io.output_paths import DATABASE
from rankframe.io.python_objects import NO_SOURCE, open_python
from rankframe.io.remote import scheme_of
from rankframe.io.sources.arrow_tables import open_arrow
from rankframe.io.sources.databases import is_query, open_database, open_query
from rankframe.io.sources.files import RawTable, open_path, open_stream
from rankframe.io.sources.lakes import lake_in
from rankframe.io.sources.remote_files import (
    HUGGING_FACE,
    WEB,
    open_store,
    open_web,
    refuse_unknown,
)
from rankframe.io.stores import STORES

# How addresses of each scheme are opened.
_SCHEMES = dict.fromkeys((HUGGING_FACE, *WEB), open_web) | dict.fromkeys(STORES, open_store)


def open_source(
    source: Any,
    role: Role | None,
    name: str,
    names: Collection[str] = (),
    limit: int | None = None,
) -> RawTable:
    """Open anything with rows. Rows are read later, if the source allows it.

    Args:
        source: a frame; a path, pattern or folder; an address; a table or a query of a database; a
            connection with a query; an open file; Python's dicts and lists; anything that exports
            Arrow data.
        role: what the source is, if that is known.
        name: what errors call the source.
        names: the names that the user gave to columns of any input.
        limit: how many bytes may be in memory at once.
    """
    if isinstance(source, pl.LazyFrame | pl.DataFrame):
        return RawTable(source.lazy(), seekable=isinstance(source, pl.DataFrame))
    if is_query(source):
        return open_query(*source, name=name)
    if isinstance(source, Mapping | list | tuple):
        return open_python(source, role, name)
    if isinstance(source, str | os.PathLike):
        table = _open_place(os.fsdecode(source), role, name, names, limit)
    elif hasattr(source, "read"):
        table = open_stream(source, role, name, names, limit)
    else:
        table = open_arrow(source, role or "input", name)
        if table is None:
            raise UnreadableInputError(name, *NO_SOURCE)
    return table if table.by_query is None else open_python(table.by_query, role, name)


def _open_place(
    place: str, role: Role | None, name: str, names: Collection[str], limit: int | None
) -> RawTable:
    """Open a path, an address, or a table or query of a database."""
    if database := DATABASE.fullmatch(place):
        return open_database(database[1], database[2], database[3], name)
    scheme = scheme_of(place)
    if scheme == "file":
        place = unquote(urlsplit(place).path)
    elif scheme:
        if scheme not in _SCHEMES:
            refuse_unknown(place, name)
        return _SCHEMES[scheme](place, role, name, names, limit)
    else:
        lake = lake_in(os.path.expanduser(place), name)  # noqa: PTH111 (as in files.py)
        if lake is not None:
            return RawTable(lake, seekable=True)
    return open_path(place, role, name, names, limit)
