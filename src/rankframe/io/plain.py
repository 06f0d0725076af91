"""Plain Python → a table: dicts by query, dicts of columns, lists of rows, and ranked lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from rankframe.core.columns import (
    DOC,
    LIST_SYNONYMS,
    LIST_SYNONYMS_OF,
    QUERY,
    RELEVANCE,
    SCORE,
    SYNONYMS,
    Role,
)
from rankframe.core.errors import EmptyInputError, UnreadableInputError
from rankframe.core.messages import shown
from rankframe.io.dicts import from_dicts, refuse_alike
from rankframe.io.formats.numbers import given_numbers
from rankframe.io.formats.response_shapes import shape_of
from rankframe.io.sources.opening import Opened

_SETS = (set, frozenset)
_NO_ID = (Mapping, list, *_SETS)
_FORMS = (
    "A dict maps each query to {document: number}, to a ranked list of documents or, for "
    "judgments, to a set of relevant ones"
)
# What is wrong with something that is no source at all, and what to do.
NO_SOURCE = (
    "this is neither a frame, an Arrow table, a path, a dict nor a list of rows",
    "For plain Python lists see rankframe.from_lists, for matrices rankframe.from_topk",
)
_LOOKED_AT = 20
_NAMES = {
    QUERY: {QUERY, *SYNONYMS[QUERY]},
    DOC: {DOC, *SYNONYMS[DOC], *LIST_SYNONYMS[DOC], *chain(*LIST_SYNONYMS_OF.values())},
}


def open_plain(source: Mapping[Any, Any] | Sequence[Any], role: Role | None, name: str) -> Opened:
    """A dict by query, a dict of columns, or a list of rows."""
    if not isinstance(source, Mapping):
        if not source:
            raise EmptyInputError(role or "input", name)
        return Opened(_of_rows(source, name).lazy(), seekable=True)
    values = source.values()
    dicts = [isinstance(one, Mapping) for one in values]
    if all(dicts):
        return Opened(from_dicts(source, role, name).lazy(), seekable=True)
    if any(dicts):
        at = dicts.index(not dicts[0])
        kinds = (f"{shown(key)} has a {type(source[key]).__name__}" for key in
                 (next(iter(source)), list(source)[at]))  # fmt: skip
        raise UnreadableInputError(name, f"its queries do not all have the same kind of value: "
                                   f"{' and '.join(kinds)}", _FORMS)  # fmt: skip
    if odd := [key for key, one in source.items() if not _is_list(one)]:
        raise UnreadableInputError(
            name,
            f"{len(odd):,} of its {len(source):,} queries map to no dict, list or set, e.g. "
            f"{shown(odd[0])} to {shown(source[odd[0]])}",
            _FORMS,
        )
    if _are_columns(source):
        return Opened(_table(dict(source), name).lazy(), seekable=True)
    return _of_lists(source, role, name)


def ranking(source: Any, name: str) -> Any:
    """A ranking of one query as a list of documents or of pairs with scores, or of several as lists
    of lists or rows of a matrix → a dict of lists; whatever else as it is. Queries without names
    are called 0, 1, ….
    """
    if isinstance(source, pl.Series):
        source = source.to_list()
    elif hasattr(source, "tolist") and getattr(source, "ndim", 0) in (1, 2):
        source = source.tolist()
    if not isinstance(source, list | tuple) or any(isinstance(one, Mapping) for one in source):
        return source
    nested = [_is_list(one) for one in source]
    if not any(nested) or all(map(_is_scored, source)):
        return {"0": source}
    if not all(nested):
        raise UnreadableInputError(
            name,
            f"some of its elements are lists and others are not, e.g. "
            f"{shown(source[nested.index(False)])}",
            "A ranking is a list of documents, or a list of such lists, one for each query",
        )
    return dict(enumerate(source))


def _of_lists(source: Mapping[Any, Any], role: Role | None, name: str) -> Opened:
    """{query: documents}: ranked as they are listed, or judged relevant."""
    values = list(source.values())
    if role != "qrels" and (sets := [one for one in values if isinstance(one, _SETS)]):
        raise UnreadableInputError(
            name,
            f"{len(sets):,} of its lists are sets, e.g. {shown(sets[0])}, which have no order",
            "Give each as a list",
        )
    if None in source:
        raise UnreadableInputError(name, "None is not an id", "Give every query one")
    queries = _texts(source, name).alias(QUERY)
    refuse_alike(queries, name)
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    query = queries.gather(np.repeat(np.arange(len(values)), lengths))
    if values and all(isinstance(one, np.ndarray) for one in values):
        flat: Any = np.concatenate(values)
        if flat.ndim == 1 and flat.dtype.kind in "iu":
            return _ranked(pl.DataFrame({QUERY: query, DOC: flat}), role)
    flat = list(chain.from_iterable(values))
    kinds = set(map(type, flat))
    if kinds and all(issubclass(kind, Mapping) for kind in kinds):
        rows = _of_rows(flat, name)
        return _ranked(rows.with_columns(query), role, graded=True)
    if kinds and all(issubclass(kind, tuple) for kind in kinds) and set(map(len, flat)) == {2}:
        docs, numbers = zip(*flat, strict=True)
        documents, given = _ids(docs, name), RELEVANCE if role == "qrels" else SCORE
        return Opened(
            pl.DataFrame({QUERY: query, DOC: documents, given: _numbers(numbers, name)}).lazy(),
            seekable=True,
        )
    return _ranked(pl.DataFrame({QUERY: query, DOC: _ids(flat, name)}), role)


def _ranked(frame: pl.DataFrame, role: Role | None, *, graded: bool = False) -> Opened:
    """Rows in the order of the ranking; of judgments, all relevant, unless they have grades."""
    if role == "qrels" and not graded:
        frame = frame.with_columns(pl.lit(1.0).alias(RELEVANCE))
    return Opened(frame.lazy(), seekable=True, ranked=True)


def _of_rows(rows: Sequence[Any], name: str) -> pl.DataFrame:
    """[{column: value}, …]: a row each."""
    if shape_of(rows[:_LOOKED_AT]) is not None:
        raise UnreadableInputError(
            name,
            "these are responses of a search engine",
            "Pass them to rankframe.from_responses, with the query of each, and evaluate its run",
        )
    if odd := [one for one in rows if not isinstance(one, Mapping)]:
        raise UnreadableInputError(
            name,
            f'{NO_SOURCE[0]} such as {{"query_id": "q1", …}}: it holds {shown(odd[0])}',
            NO_SOURCE[1],
        )
    try:
        return pl.from_dicts(list(rows), infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise _unlike(name, error) from error


def _table(columns: dict[str, Any], name: str) -> pl.DataFrame:
    """{column: values}."""
    try:
        return pl.DataFrame(columns, strict=False)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise _unlike(name, error) from error


def _unlike(name: str, error: Exception) -> UnreadableInputError:
    said = str(error).split("\n", maxsplit=1)[0].rstrip(".")
    return UnreadableInputError(name, f"its values do not make a table ({said})")


def _are_columns(source: Mapping[Any, Any]) -> bool:
    """Whether the keys are names of columns, rather than queries."""
    names = {key.lower() for key in source if isinstance(key, str)}
    return all(names & known for known in _NAMES.values())


def _is_scored(value: Any) -> bool:
    """Whether this is a document with its score, rather than a list of two."""
    pair = isinstance(value, tuple) and len(value) == 2
    return pair and isinstance(value[1], float) and not isinstance(value[0], float)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple | set | frozenset | np.ndarray | pl.Series)


def _ids(values: Sequence[Any], name: str) -> pl.Series:
    """Documents as a column: whole numbers or text where all are, else as text."""
    kinds = set(map(type, values))
    if kinds == {int}:
        try:
            return pl.Series(DOC, values, dtype=pl.Int64)
        except OverflowError:
            kinds = set()
    if type(None) in kinds:
        raise UnreadableInputError(name, "None is not an id", "Give every document one")
    if any(issubclass(kind, (*_NO_ID, tuple)) for kind in kinds):
        odd = next(one for one in values if isinstance(one, (*_NO_ID, tuple)))
        raise UnreadableInputError(
            name, f"a document is text or a number, not {shown(odd)}", _FORMS
        )
    return _texts(values, name).alias(DOC)


def _texts(values: Iterable[Any], name: str) -> pl.Series:
    try:
        return pl.Series(list(map(str, values)), dtype=pl.String)
    except UnicodeEncodeError as error:
        raise UnreadableInputError(
            name, f"an id that is not proper Unicode: {error.object!r}", "Ids are text"
        ) from error


def _numbers(values: Sequence[Any], name: str) -> pl.Series:
    try:
        return given_numbers(values)
    except ValueError as error:
        raise UnreadableInputError(
            name, f"a value that is not a number: {error}", "Pairs are (document, number)"
        ) from error
