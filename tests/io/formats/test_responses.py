"""Responses in files, whatever their shape: the same hits; and what is wrong is said."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.io.opening import open_table
from tests.support.engine_responses import elastic, lines, solr

ANSWERS = {"q1": (["x", "a", "b"], [9.5, 2.0, 1.5]), "007": (["c"], [3.0]), "none": ([], [])}
BARE = [elastic(*answer) for answer in ANSWERS.values()]
NAMED = [{"query_id": query, **one} for query, one in zip(ANSWERS, BARE, strict=True)]
HITS = [("q1", "x", 9.5, 1), ("q1", "a", 2, 2), ("q1", "b", 1.5, 3), ("007", "c", 3, 1)]
QRELS = {"q1": {"a": 1}, "007": {"c": 1}}
FORMS = {
    "lines": lines(NAMED),
    "blank lines": "\n" + lines(NAMED).replace("\n", "\n\n"),
    "wrapped": lines({"qid": q, "response": one} for q, one in zip(ANSWERS, BARE, strict=True)),
    "hits alone": lines(
        {"qid": q, "hits": one["hits"]["hits"]} for q, one in zip(ANSWERS, BARE, strict=True)
    ),
    "array": json.dumps(NAMED),
    "pretty array": json.dumps(NAMED, indent=2),
    "multi-search": json.dumps({"took": 7, "responses": NAMED}),
    "pretty multi-search": json.dumps({"took": 7, "responses": NAMED}, indent=2),
    "lines of multi-searches": lines([{"responses": NAMED[:2]}, {"responses": NAMED[2:]}]),
    "by query": json.dumps(dict(zip(ANSWERS, BARE, strict=True))),
    "pretty by query": json.dumps(dict(zip(ANSWERS, BARE, strict=True)), indent=2),
}


def rows(source: Any, **options: Any) -> list[tuple]:
    frame = open_table(source, "run", **options).frame.collect()
    wanted = [one for one in ("query_id", "doc_id", "score", "rank") if one in frame.columns]
    return frame.select(wanted).rows()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["run.json", "run.jsonl", "answers"])
def test_hits_are_rows_in_every_shape(form: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FORMS[form])
    assert rows(tmp_path / name) == HITS
    assert rf.evaluate(QRELS, tmp_path / name, "mrr")["mrr"] == 0.75


@pytest.mark.parametrize("form", ["lines", "pretty array", "multi-search"])
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress], ids=["gz", "bz2"])
def test_packed_and_from_pipes(form: str, pack, tmp_path: Path) -> None:
    content = pack(FORMS[form].encode())
    (tmp_path / "run.json").write_bytes(content)
    assert rows(tmp_path / "run.json") == rows(io.BytesIO(content)) == HITS


def test_several_files_are_one_run(tmp_path: Path) -> None:
    for at, one in enumerate(NAMED[:2]):
        (tmp_path / f"lines-{at}.jsonl").write_text(lines([one]))
        (tmp_path / f"pretty-{at}.json").write_text(json.dumps(one, indent=2))
    for pattern in ("lines-*.jsonl", "pretty-*.json"):
        assert rows(str(tmp_path / pattern)) == HITS


def test_fields_are_named_by_their_paths(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(lines({"request": {"id": q}, **elastic(*of)} for q, of in ANSWERS.items()))
    for field, expected in (("_source.sku", "sku-c"), ("_id", "c"), ("fields.number", "nc")):
        columns = {"query_id": "request.id", "doc_id": field}
        found = rows(path, columns=columns)
        assert found[-1] == ("007", expected, 3, 1)
    said = {"query_id": "request.id", "score": "_score"}
    assert rows(path, columns=said) == HITS


@pytest.mark.parametrize(
    "scores", [None, [1.0, 1.0], [1.0, 2.0], [None, 1.0], [2.0, None]], ids=str
)
def test_without_falling_scores_hits_are_ranked_as_they_stand(
    scores: list[float] | None, tmp_path: Path, message
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        lines([elastic(["b", "a"], scores, query="q1"), elastic(["c"], [7.0], query=2)])
    )
    assert rows(path) == [("q1", "b", 1), ("q1", "a", 2), ("2", "c", 1)]
    result = rf.evaluate({"q1": {"a": 1}}, path, "mrr")
    assert result["mrr"] == 0.5
    order = result.ledger.filter(pl.col("item") == "run_order")["note"].item()
    message(order)


def test_solr_says_its_query_itself(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(lines([solr(["a", "b"], "red shoes"), solr(["c"], "hat")]))
    found = rows(path, columns={"query_id": "responseHeader.params.q"})
    assert found[:2] == [("red shoes", "a", 9.5, 1), ("red shoes", "b", 8.5, 2)]
    assert len(found) == 3


ERROR = {"query_id": "q9", "error": {"type": "x", "reason": "y"}, "status": 503}
LATE = elastic(["a"], query_id="q8", timed_out=True)
PART = elastic(["a"], query_id="q7", _shards={"total": 2, "failed": 1})


@pytest.mark.parametrize("as_array", [False, True])
def test_responses_that_went_wrong_are_counted(as_array: bool, tmp_path: Path, refusal) -> None:
    responses = [*NAMED, ERROR, LATE, LATE | {"query_id": "q6"}, PART]
    path = tmp_path / "run.json"
    path.write_text(json.dumps(responses) if as_array else lines(responses))
    refusal(rf.evaluate, QRELS, path)


def test_solr_goes_wrong_in_other_words(tmp_path: Path, refusal) -> None:
    path = tmp_path / "run.jsonl"
    late, bad = solr(["a"], "q1"), solr(["a"], "q2")
    late["responseHeader"]["partialResults"] = True
    bad["responseHeader"]["status"] = 500
    path.write_text(lines([solr(["a"], "q0"), late, bad]))
    refusal(rf.evaluate, QRELS, path, columns={"run": {"query_id": "responseHeader.params.q"}})


@pytest.mark.parametrize("text", [lines([ERROR] * 3), json.dumps(ERROR, indent=1)])
def test_nothing_but_errors(text: str, tmp_path: Path, refusal) -> None:
    (tmp_path / "run.json").write_text(text)
    refusal(rf.evaluate, QRELS, tmp_path / "run.json")


@pytest.mark.parametrize("form", ["lines", "array", "pretty array", "multi-search", "by query"])
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_what_is_cut_short_is_refused(form: str, share: float, tmp_path: Path, refusal) -> None:
    text = FORMS[form].rstrip()
    (tmp_path / "run.json").write_text(text[: int(len(text) * share)])
    said = refusal(rf.evaluate, QRELS, tmp_path / "run.json")
    assert ("line " in said and "this is not JSON" in said) or "its JSON is cut short" in said


@pytest.mark.parametrize(
    "bad",
    [
        '{"query_id": "q5", "hits": {"hits": {"a": 1}}}',
        '{"query_id": "q5", "hits": {"hits": [1]}}',
        '{"query_id": {"a": 1}, "hits": {"hits": []}}',
        '{"query_id": "q5", "hits": {"hits": [{"_score": 1}]}}',
        '{"hits": {"hits": [{"_id": "a"}]}}',
        "[1]",
        "nothing",
    ],
)
def test_one_bad_line_is_named(bad: str, tmp_path: Path, refusal) -> None:
    (tmp_path / "run.jsonl").write_text(
        f"{lines(NAMED)}{bad}\n{lines([{**NAMED[0], 'query_id': 'last'}])}"
    )
    refusal(rf.evaluate, QRELS, tmp_path / "run.jsonl")


def test_a_query_has_one_response(tmp_path: Path, refusal) -> None:
    (tmp_path / "run.jsonl").write_text(lines([*NAMED, NAMED[0]]))
    refusal(rf.evaluate, QRELS, tmp_path / "run.jsonl")


def test_responses_that_do_not_say_their_query_are_refused(tmp_path: Path, refusal) -> None:
    (tmp_path / "run.jsonl").write_text(lines(BARE))
    refusal(rf.evaluate, QRELS, tmp_path / "run.jsonl")


def test_no_hits_at_all_are_an_empty_run(tmp_path: Path, refusal) -> None:
    (tmp_path / "run.jsonl").write_text(lines([elastic([], query_id="q1")] * 1))
    refusal(rf.evaluate, QRELS, tmp_path / "run.jsonl")


def test_a_field_with_several_values_is_no_id(tmp_path: Path, refusal) -> None:
    one, two = elastic(["a"], query_id="q1"), elastic(["b"], query_id="q2")
    two["hits"]["hits"][0]["fields"]["number"] = ["1", "2"]
    (tmp_path / "run.jsonl").write_text(lines([one, two]))
    columns = {"run": {"doc_id": "fields.number"}}
    refusal(rf.evaluate, QRELS, tmp_path / "run.jsonl", columns=columns)
