"""Where the parts of responses are is seen by some of them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from rankframe.io.formats.responses import (
    ENGINES,
    error_in,
    is_by_query,
    shape_of,
    struct_of,
)
from tests.support.engine_responses import elastic, solr

ERROR = {"error": {"type": "parsing_exception", "reason": "unknown query"}, "status": 400}


@pytest.mark.parametrize(
    ("value", "engine", "outer"),
    [
        (elastic(["a"]), "Elasticsearch", ()),
        (elastic([]), "Elasticsearch", ()),
        (solr(["a"], "q"), "Solr", ()),
        ({"qid": 1, "response": elastic(["a"])}, "Elasticsearch", ("response",)),
        ({"qid": 1, "response": solr(["a"], "q")}, "Solr", ("response",)),
        ({"a": {"b": elastic(["a"])}}, "Elasticsearch", ("a", "b")),
        ({"qid": 1, "hits": elastic(["a"])["hits"]["hits"]}, "Elasticsearch", ()),
    ],
)
def test_responses_are_found(value: Any, engine: str, outer: tuple[str, ...]) -> None:
    shape = shape_of([ERROR, value])
    assert shape is not None
    assert (shape.engine.name, shape.outer) == (engine, outer)


@pytest.mark.parametrize(
    "value",
    [None, 1, "hits", [], {}, {"hits": 3}, {"hits": {"hits": {}}}, {"hits": []}, {"hits": [1]},
     ERROR, {"query_id": "q", "doc_id": "d"}, {"a": {"b": {"c": {"d": elastic(["a"])}}}}],
)  # fmt: skip
def test_other_values_are_no_responses(value: Any) -> None:
    assert shape_of([value]) is None


def test_queries_are_found_by_their_names_and_fields_by_their_paths() -> None:
    value = {"QID": 7, "request": {"id": "x", "text": "t"}, "took": 1, "body": elastic(["a"])}
    asked = ["request.id", "_source.sku", "fields.number", "fields.tags", "_source", "nowhere.x"]
    shape = shape_of([value], asked)
    assert shape is not None
    assert shape.fields == {"request.id": ("request", "id"), "QID": ("QID",)}
    assert shape.hit_fields == {
        "_source.sku": ("_source", "sku"), "fields.number": ("fields", "number"),
    }  # fmt: skip
    assert set(shape.listed) == {("fields", "number")}
    fields = {one.name for one in shape.type.fields}
    assert fields == {"QID", "request", "body"}


def test_a_query_that_is_an_object_is_none() -> None:
    shape = shape_of([{"query": {"match": {"name": "x"}}, **elastic(["a"])}])
    assert shape is not None
    assert shape.fields == {}


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ({"q1": elastic(["a"]), "q2": elastic([])}, True),
        ({"q1": elastic(["a"]), "q2": ERROR}, True),
        ({"q1": elastic(["a"])}, True),
        ({"response": elastic(["a"])}, False),
        ({"q1": elastic(["a"]), "took": 1}, False),
        ({"q1": {"d1": 1.0}}, False),
        (elastic(["a"]), False),
        (solr(["a"], "q"), False),
        ({}, False),
    ],
)
def test_objects_of_responses_by_query(value: dict[str, Any], is_one: bool) -> None:
    assert is_by_query(value) is is_one


def test_errors_say_what_they_say() -> None:
    assert error_in(ERROR) == "parsing_exception: unknown query"
    assert error_in({"error": "no such index"}) == "no such index"
    assert error_in({"error": {"msg": "undefined field x", "code": 400}}) == "undefined field x"
    assert [error_in(one) for one in (None, {}, elastic(["a"]))] == [None] * 3


def test_a_type_has_its_leaves_and_no_others() -> None:
    made = struct_of({("a", "b"): pl.String(), ("a", "c"): pl.Int64(), ("d",): pl.Boolean()})
    assert made == pl.Struct({"a": pl.Struct({"b": pl.String, "c": pl.Int64}), "d": pl.Boolean})


def test_every_engine_says_where_its_hits_are() -> None:
    assert len({engine.hits for engine in ENGINES}) == len(ENGINES)
