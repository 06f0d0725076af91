"""{query: {document: value}} → a frame, at the speed of C."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from rankframe.core.columns import DOC, QUERY, RELEVANCE, SCORE, Role
from rankframe.core.errors import UnreadableInputError
from rankframe.io.formats.numbers import given_numbers


def from_dicts(source: Mapping[Any, Any], role: Role | None, name: str) -> pl.DataFrame:
    """Judgments or a run of a dict of dicts."""
    if None in source or any(None in docs for docs in source.values()):
        raise UnreadableInputError(name, "None is not an id", "Give every query and document one")
    lengths = np.fromiter(map(len, source.values()), np.int64, len(source))
    try:
        queries = pl.Series(QUERY, list(map(str, source)), dtype=pl.String)
        docs = pl.Series(DOC, list(map(str, chain.from_iterable(source.values()))), dtype=pl.String)
    except UnicodeEncodeError as error:
        raise UnreadableInputError(
            name, f"an id that is not proper Unicode: {error.object!r}", "Ids are text"
        ) from error
    refuse_alike(queries, name)
    try:
        numbers = given_numbers(list(chain.from_iterable(d.values() for d in source.values())))
    except ValueError as error:
        raise UnreadableInputError(
            name, f"a value that is not a number: {error}", "Each document maps to one number"
        ) from error
    return pl.DataFrame(
        {
            QUERY: queries.gather(np.repeat(np.arange(len(source)), lengths)),
            DOC: docs,
            RELEVANCE if role == "qrels" else SCORE: numbers,
        }
    )


def refuse_alike(queries: pl.Series, name: str) -> None:
    """Refuse keys of a dict that are different to Python and the same as text: 1 and "1"."""
    if queries.n_unique() == len(queries):
        return
    twice = queries.filter(queries.is_duplicated()).unique(maintain_order=True)
    raise UnreadableInputError(
        name,
        f"{len(twice):,} of its queries are there as different keys, e.g. {twice[0]!r} as a number "
        "and as text",
        "Give each query one key",
    )
