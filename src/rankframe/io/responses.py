"""Convert responses of search engines, from Python clients or in a file, to a run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from rankframe.core.columns import RANK
from rankframe.core.errors import ColumnMappingError, OptionError
from rankframe.core.forks import refuse_if_stranded
from rankframe.core.messages import shown
from rankframe.core.options import is_listed, take_all
from rankframe.io.column_names import SIDES, names_in
from rankframe.io.formats.json_text import responses_in
from rankframe.io.formats.packing import LINE, read_until, unpacked, without_packing
from rankframe.io.formats.registry import reading
from rankframe.io.formats.responses import error_in, is_by_query, read_responses, shape_of
from rankframe.io.opening import Columns, Source, describe, open_table
from rankframe.io.python_objects import read_texts
from rankframe.io.raw_table import InputRequest
from rankframe.io.sources.files import files_at

# The number of responses that are inspected to find where the parts of a response are.
_SAMPLE = 20


def from_responses(
    source: Source, queries: Iterable[Any] | None = None, *, columns: Columns | None = None
) -> pl.DataFrame:
    """Make a run from the responses of Elasticsearch, OpenSearch or Solr.

    The run has a row for each hit, with `query_id`, `doc_id` and `rank`, the position of the hit in
    its response. It has a column `score` if no score is higher than the score of the hit before.

    `source` is a list of responses, a dict from query to response, the answer to a multi-search, or
    a file of JSON: an array, a response a line, or a multi-search.
    `queries` are the names of the queries, in the order of the responses; without them, a field of
    each response says which query it answers. `columns` says where fields are, with dots between
    the names: `{"query_id": "request.id", "doc_id": "_source.sku"}`, from the outside of the
    response or from a hit on.
    Responses with an error, that timed out, or from some of the shards only are refused.

    >>> response = {"hits": {"hits": [{"_id": "a", "_score": 2.5}, {"_id": "b", "_score": 0.5}]}}
    >>> rf.from_responses([response], queries=["q1"]).rows()
    [('q1', 'a', 2.5, 1), ('q1', 'b', 0.5, 2)]
    """
    refuse_if_stranded()
    names = None if queries is None else _names(queries)
    if columns is not None and not isinstance(columns, Mapping):
        raise ColumnMappingError.kind(columns)
    request = InputRequest("run", describe(source, "run"), names_in(columns))
    with reading(request.name):
        if isinstance(source, str | os.PathLike):
            files = files_at(os.path.expanduser(os.fspath(source)))  # noqa: PTH111
            if not files:
                raise request.unreadable("no such file")
            hits = responses_in(without_packing(files), request, names)
        elif hasattr(source, "readable"):
            content = unpacked(read_until(source, None), request.name)
            hits = responses_in([content], request, names)
        else:
            hits = _from_objects(source, request, names)
    # Passed as names for the run only: a missing field is then an error.
    own = columns if columns is None or set(columns) & set(SIDES) else {"run": columns}
    return open_table(hits, "run", own).frame.collect().cast({RANK: pl.Int64})


def _names(queries: Iterable[Any]) -> list[str]:
    if not is_listed(queries):
        raise OptionError(f"queries takes a list of names, not {shown(queries)}.")
    return read_texts(queries, "the names of queries").to_list()


def _from_objects(source: Any, request: InputRequest, queries: list[str] | None) -> pl.DataFrame:
    """Read responses of Python clients: write them as JSON, then read the JSON."""
    source = _plain(source)
    if isinstance(source, Mapping):
        if isinstance(source.get("responses"), list):
            source = source["responses"]
        elif not is_by_query(source) and (shape_of([source]) or error_in(source)):
            source = [source]
        else:
            if queries is not None:
                raise OptionError("the responses are in a dict by query: leave out queries.")
            source, queries = list(source.values()), list(map(str, source))
    if not is_listed(source):
        raise request.unreadable(
            f"responses of a search engine are lists or dicts, not {shown(source)}"
        )
    responses = [_plain(response) for response in take_all("source", source, 10_000_000)]
    if not responses:
        raise request.empty()
    user_names = request.user_names
    shape = shape_of(responses[:_SAMPLE], user_names) or shape_of(responses, user_names)
    if shape is None:
        problem = next(filter(None, map(error_in, responses)), None)
        example = f"an error of the engine ({problem})" if problem else shown(responses[0])
        raise request.unreadable(f"these are no responses with hits, e.g. {example}")
    try:
        lines = [json.dumps(response, default=str) for response in responses]
    except (TypeError, ValueError, RecursionError) as error:
        raise request.unreadable(f"its responses are no JSON ({error})") from error
    return read_responses(pl.LazyFrame({LINE: lines}), shape, request.name, queries)


def _plain(response: Any) -> Any:
    """Return the dict or list inside a client's response object; any other value as it is."""
    for attribute in ("body", "raw_response"):  # of elasticsearch, and of pysolr
        inner = getattr(response, attribute, None)
        if isinstance(inner, Mapping | list):
            return inner
    return response
