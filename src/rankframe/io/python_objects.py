"""Convert Python objects to tables: dicts by query, dicts of columns, lists of rows, rankings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import (
    DOC,
    LIST_SYNONYMS,
    LIST_SYNONYMS_OF,
    QUERY,
    RELEVANCE,
    SCORE,
    SYNONYMS,
    plain_name,
)
from rankframe.core.errors import OptionError, UnreadableInputError
from rankframe.core.messages import number_of, shown
from rankframe.io.formats.numbers import given_numbers, types_of
from rankframe.io.formats.responses import shape_of
from rankframe.io.raw_table import InputRequest, RawTable
from rankframe.kernel.batch import taken

_SETS = (set, frozenset)
_LISTS = (list, tuple, *_SETS, np.ndarray, pl.Series)
_FORMS = (
    "A dict maps each query to {document: number}, to a ranked list of documents or, for "
    "judgments, to a set of relevant ones"
)
# The problem with an object that is no source at all, and advice.
NO_SOURCE = (
    "this is neither a frame, an Arrow table, a path, a dict nor a list of rows",
    "For plain Python lists see rankframe.from_lists, for matrices rankframe.from_topk",
)
_SAMPLE = 20
_LISTS_AT_ONCE = 64
# Plain names of columns of queries, and of documents or lists of them.
_NAMES = tuple(
    set(map(plain_name, names))
    for names in (
        (QUERY, *SYNONYMS[QUERY]),
        (DOC, *SYNONYMS[DOC], *LIST_SYNONYMS[DOC], *chain(*LIST_SYNONYMS_OF.values())),
    )
)


def open_python(source: Mapping[Any, Any] | Sequence[Any], request: InputRequest) -> RawTable:
    """Open a dict by query, a dict of columns, or a list of rows."""
    if not isinstance(source, Mapping):
        if not source:
            raise request.empty()
        return RawTable.in_memory(_read_rows(source, request))
    kinds = types_of(source.values())
    if all(issubclass(kind, Mapping) for kind in kinds):
        return RawTable.in_memory(_read_dicts(source, request))
    if any(issubclass(kind, Mapping) for kind in kinds):
        keys, is_dict = list(source), [isinstance(value, Mapping) for value in source.values()]
        odd = (keys[0], keys[is_dict.index(not is_dict[0])])
        kinds = (f"{shown(key)} has a {type(source[key]).__name__}" for key in odd)
        problem = f"its queries do not all have the same kind of value: {' and '.join(kinds)}"
        raise request.unreadable(problem, _FORMS)
    if odd := [key for key, value in source.items() if not isinstance(value, _LISTS)]:
        raise request.unreadable(
            f"{len(odd):,} of its {len(source):,} queries map to no dict, list or set, e.g. "
            f"{shown(odd[0])} to {shown(source[odd[0]])}",
            _FORMS,
        )
    if all(id_columns(source)):
        return RawTable.in_memory(_make_table(pl.DataFrame, dict(source), request, strict=False))
    return _read_lists(source, request)


def id_columns(names: Iterable[Any]) -> list[bool]:
    """Return whether any name means a query column, and whether any means a document column."""
    plain = {plain_name(name) for name in names if isinstance(name, str)}
    return [bool(plain & known) for known in _NAMES]


def ranking_by_query(source: Any, name: str) -> Any:
    """Convert rankings in lists to a dict from query to list; return any other object unchanged.

    A ranking of one query is a list of documents or of (document, score); one of several queries
    is a list of lists or a matrix. Queries without names are called 0, 1, ….
    """
    if isinstance(source, pl.Series):
        source = source.to_list()
    elif hasattr(source, "tolist") and getattr(source, "ndim", 0) in (1, 2):
        source = source.tolist()
    if not isinstance(source, list | tuple) or any(isinstance(entry, Mapping) for entry in source):
        return source
    nested = [isinstance(element, _LISTS) for element in source]
    if not any(nested) or all(map(_is_scored, source)):
        return {"0": source}
    if not all(nested):
        odd = shown(source[nested.index(False)])
        problem = f"some of its elements are lists and others are not, e.g. {odd}"
        advice = "A ranking is a list of documents, or a list of such lists, one for each query"
        raise UnreadableInputError(name, problem, advice)
    return dict(enumerate(source))


def read_texts(values: Iterable[Any], name: str, column: str = "") -> pl.Series:
    """Return `values` as a column of strings, named `column`; refuse text that is no Unicode."""
    texts = list(values)
    if types_of(texts) != {str}:
        texts = list(map(str, texts))
    try:
        return pl.Series(column, texts, dtype=pl.String)
    except UnicodeEncodeError as error:
        raise UnreadableInputError(
            name, f"an id that is not proper Unicode: {error.object!r}", "Ids are text"
        ) from error


def read_queries(keys: Collection[Any], name: str) -> pl.Series:
    """Return the keys of a dict as text; refuse keys that are equal as text, such as 1 and "1"."""
    queries = read_texts(keys, name, QUERY)
    if types_of(keys) != {str} and queries.n_unique() < len(queries):
        twice = queries.filter(queries.is_duplicated()).unique(maintain_order=True)
        have = "has" if len(twice) == 1 else "have"
        count = f"{number_of(len(twice), 'query')} {have} several keys"
        problem = f"{count}, e.g. {twice[0]!r} as a number and as text"
        raise UnreadableInputError(name, problem, "Give each query one key")
    return queries


def refuse_repeated_names(names: Iterable[Any], what: str) -> None:
    """Refuse repeated names of queries. `what`: the thing that is named, a "list" or a "row"."""
    if twice := [name for name, count in Counter(map(str, names)).items() if count > 1]:
        raise OptionError(
            f"queries has {number_of(len(twice), 'name')} more than once, e.g. {twice[0]!r}. "
            f"Each {what} is of a query of its own."
        )


def count_each(lists: Iterable[Any]) -> NDArray[np.int64]:
    """Return the length of each list."""
    return np.fromiter(map(len, lists), np.int64)


def repeat(names: pl.Series, lengths: NDArray[np.int64]) -> pl.Series:
    """Repeat each name as often as its list has elements."""
    return taken(names, np.repeat(np.arange(len(names), dtype=np.uint32), lengths))


def _read_dicts(source: Mapping[Any, Any], request: InputRequest) -> pl.DataFrame:
    """Read a dict {query: {document: number}} as a frame with a row for each document."""
    if None in source or any(None in docs for docs in source.values()):
        raise request.unreadable("None is not an id", "Give every query and document one")
    inner = list(source.values())
    queries = repeat(read_queries(source, request.name), count_each(inner))
    docs = pl.concat([read_texts(block, request.name) for block in _blocks(inner)], rechunk=True)
    values, advice = [documents.values() for documents in inner], "Each document maps to one number"
    parts = [_read_numbers(block, request, advice) for block in _blocks(values)]
    if any(part.dtype != pl.Float64 for part in parts):  # large whole numbers: no part decides
        parts = [_read_numbers(list(chain.from_iterable(values)), request, advice)]
    numbers = pl.concat(parts, rechunk=True)
    return pl.DataFrame([queries.alias(QUERY), docs.alias(DOC), numbers.alias(_value(request))])


def _blocks(lists: Sequence[Iterable[Any]]) -> Iterator[list[Any]]:
    """Yield the elements of a few lists at a time, at least once.

    Several passes over a block of Python objects are quick while it is in the processor's cache.
    """
    for first in range(0, max(len(lists), 1), _LISTS_AT_ONCE):
        yield list(chain.from_iterable(lists[first : first + _LISTS_AT_ONCE]))


def _read_lists(source: Mapping[Any, Any], request: InputRequest) -> RawTable:
    """Read a dict {query: documents}: a run in list order, or judgments with grade 1."""
    lists = list(source.values())
    if request.role != "qrels" and (sets := [docs for docs in lists if isinstance(docs, _SETS)]):
        problem = f"{len(sets):,} of its lists are sets, e.g. {shown(sets[0])}, which have no order"
        raise request.unreadable(problem, "Give each as a list")
    if None in source:
        raise request.unreadable("None is not an id", "Give every query one")
    query = repeat(read_queries(source, request.name), count_each(lists))
    if lists and all(isinstance(documents, np.ndarray) for documents in lists):
        array = np.concatenate(lists)
        if array.ndim == 1 and array.dtype.kind in "iu":
            return _as_ranked(pl.DataFrame({QUERY: query, DOC: array}), request)
    elements = list(chain.from_iterable(lists))
    kinds = types_of(elements)
    if kinds and all(issubclass(kind, Mapping) for kind in kinds):
        rows = _read_rows(elements, request).with_columns(query)
        return RawTable.in_memory(rows, ranked=True)
    if kinds and all(issubclass(kind, tuple) for kind in kinds) and set(map(len, elements)) == {2}:
        docs, values = zip(*elements, strict=True)
        numbers = _read_numbers(values, request, "Pairs are (document, number)")
        columns = {QUERY: query, DOC: _read_ids(docs, request), _value(request): numbers}
        return RawTable.in_memory(pl.DataFrame(columns))
    return _as_ranked(pl.DataFrame({QUERY: query, DOC: _read_ids(elements, request)}), request)


def _as_ranked(frame: pl.DataFrame, request: InputRequest) -> RawTable:
    """Return ranked rows as a table; as judgments, all documents get grade 1."""
    if request.role == "qrels":
        frame = frame.with_columns(pl.lit(1.0).alias(RELEVANCE))
    return RawTable.in_memory(frame, ranked=True)


def _read_rows(rows: Sequence[Any], request: InputRequest) -> pl.DataFrame:
    """Read a list of rows, [{column: value}, …], as a frame."""
    if shape_of(rows[:_SAMPLE]) is not None:
        raise request.unreadable(
            "these are responses of a search engine",
            "Pass them to rankframe.from_responses, with the query of each, and evaluate its run",
        )
    if odd := [row for row in rows if not isinstance(row, Mapping)]:
        problem = f'{NO_SOURCE[0]} such as {{"query_id": "q1", …}}: it holds {shown(odd[0])}'
        raise request.unreadable(problem, NO_SOURCE[1])
    return _make_table(pl.from_dicts, list(rows), request, infer_schema_length=None)


def _make_table(make: Any, values: Any, request: InputRequest, **options: Any) -> pl.DataFrame:
    try:
        return make(values, **options)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        reason = str(error).split("\n", maxsplit=1)[0].rstrip(".")
        raise request.unreadable(f"its values do not make a table ({reason})") from error


def _is_scored(value: Any) -> bool:
    """Return whether a value is a pair (document, score) rather than a pair of documents."""
    pair = isinstance(value, tuple) and len(value) == 2
    return pair and isinstance(value[1], float) and not isinstance(value[0], float)


def _read_ids(values: Sequence[Any], request: InputRequest) -> pl.Series:
    """Return ids of documents as integers if all are integers, else as text."""
    kinds = types_of(values)
    if kinds == {int}:
        try:
            return pl.Series(DOC, values, dtype=pl.Int64)
        except (OverflowError, TypeError):  # more than 64 bits
            kinds = set()
    if type(None) in kinds:
        raise request.unreadable("None is not an id", "Give every document one")
    nested = (Mapping, list, tuple, *_SETS)
    if any(issubclass(kind, nested) for kind in kinds):
        odd = next(value for value in values if isinstance(value, nested))
        raise request.unreadable(f"a document is text or a number, not {shown(odd)}", _FORMS)
    return read_texts(values, request.name, DOC)


def _read_numbers(values: Sequence[Any], request: InputRequest, advice: str) -> pl.Series:
    try:
        return given_numbers(values)
    except ValueError as error:
        raise request.unreadable(f"a value that is not a number: {error}", advice) from error


def _value(request: InputRequest) -> str:
    return RELEVANCE if request.role == "qrels" else SCORE
