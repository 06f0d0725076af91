"""What messages are made of, in Python's words and in the shell's."""

from __future__ import annotations

import polars as pl
import pytest

from rankframe.core.messages import (
    Option,
    Role,
    did_you_mean,
    listing,
    masked,
    nearest,
    sentences,
    shorten,
    shown,
    why_unlike,
    without_user,
)


@pytest.mark.parametrize(
    ("said", "shown_text"),
    [
        ("a URI: 'AKIA:SECRET@bucket/x.parquet'", "a URI: 'bucket/x.parquet'"),
        ("a URI: 'AKIA:SEC/R@T@bucket/x'", "a URI: 'bucket/x'"),
        ('no host "SECRET@127.0.0.1" here', 'no host "127.0.0.1" here'),
        ("https://ann:word@x.org/a?key=1 is gone", "https://x.org/a is gone"),
        ("no column 'score'", "no column 'score'"),
    ],
)
def test_what_a_driver_says_of_an_address_has_no_secrets(said: str, shown_text: str) -> None:
    assert without_user(said) == shown_text


@pytest.mark.parametrize(
    ("option", "in_python", "in_the_shell"),
    [
        (Option("missing", "zero"), 'missing="zero"', "--missing zero"),
        (Option("k_max"), "k_max=", "--k-max"),
        (Option("k_max", 10), "k_max=10", "--k-max 10"),
        (Option("overwrite", value=True), "overwrite=True", "--overwrite"),
        (Option("no_overlap", "zero"), 'no_overlap="zero"', "--no-overlap zero"),
        # flags that are called otherwise
        (Option("columns"), "columns=", "--column"),
        (Option("only", "q1"), 'only="q1"', "--query q1"),
        (Option("metrics", "map"), 'metrics="map"', "--metric map"),
        (
            Option("columns", {"query_id": "user", "doc_id": "sku"}),
            'columns={"query_id": "user", "doc_id": "sku"}',
            "--column query_id=user --column doc_id=sku",
        ),
        (
            Option("columns", {"doc_id": "sku", "run": {"doc_id": "Doc ID"}}),
            'columns={"doc_id": "sku", "run": {"doc_id": "Doc ID"}}',
            "--column doc_id=sku --column 'run.doc_id=Doc ID'",
        ),
    ],
    ids=str,
)  # fmt: skip
def test_an_option_is_an_argument_or_a_flag(
    option: Option, in_python: str, in_the_shell: str
) -> None:
    assert option.text() == in_python
    assert option.text(flags=True) == in_the_shell


def test_only_the_run_is_one_of_several() -> None:
    assert Role("run").text("b") == "run b"
    assert Role("run").text("") == "run"
    assert Role("qrels").text("b") == "qrels"
    assert Role("ranking a").text("b") == "ranking a"


def test_sentences_have_one_stop_each_and_none_is_empty() -> None:
    assert sentences(("one",), ("two?",), ("",), (), ("three.",)) == [
        "one", ".", " ", "two?", "", " ", "three.", "",
    ]  # fmt: skip
    pass_it = Option("rel")
    assert sentences(("pass ", pass_it)) == ["pass ", pass_it, "."]
    assert sentences() == []


def test_the_nearest_name_without_regard_to_case() -> None:
    known = ["Query_ID", "doc_id", "score"]
    assert nearest("query_id", known) == ["Query_ID"]
    assert nearest("SCORES", known) == ["score"]
    assert nearest("zzz", known) == []
    assert nearest("ndgc", ["ndcg", "ndgcc", "map"], 2) == ["ndgcc", "ndcg"]
    assert did_you_mean("doc_idx", known) == "Did you mean 'doc_id'?"
    assert did_you_mean("zzz", known) == ""


def test_lists_say_how_many_more_there_are() -> None:
    assert listing([]) == "nothing"
    assert listing(["a", "it's"]) == "'a', \"it's\""
    assert listing([str(n) for n in range(14)], limit=3) == "'0', '1', '2', and 11 more"
    assert listing(["x" * 500]) == f"'{'x' * 79}…'"


def test_text_is_cut_only_where_it_is_too_long() -> None:
    assert shorten("x" * 80) == "x" * 80
    assert shorten("x" * 81) == "x" * 79 + "…"
    assert shorten("abcdef", 3) == "ab…"


def test_what_is_too_long_is_not_compared_with_names() -> None:
    assert nearest("n" * 20_000, ["ndcg"]) == []


def test_values_are_shown_as_far_as_they_fit() -> None:
    assert shown({"a": 1}) == "{'a': 1}"
    assert len(shown("x" * 1000)) == 80
    assert shown(10**5000) == "a number of thousands of digits"
    assert (
        shown(pl.Series([1])) == "shape: (1,) Series: '' [i64] [ 1 ]"
    )  # without line ends or tabs


@pytest.mark.parametrize(
    ("run", "qrels", "said"),
    [
        (["doc17#3", "doc2#0"], ["doc17"], "'doc17#3' of 'doc17'"),
        (["doc17_chunk_3"], ["doc17"], "'doc17_chunk_3' of 'doc17'"),
        (["a::0"], ["b"], "'a::0' of 'a'"),
        (["1.0", "20.0"], ["1", "20"], "ids of the run were floats"),
        (["1"], ["1.0"], "ids of the qrels were floats"),
        (["007"], ["7", "12"], "Only the ids of the run begin with zeros"),
        (["7"], ["007"], "Only the ids of the qrels begin with zeros"),
        (["a "], ["a"], "ids of the run have blanks"),
        (["Q1", "Q2"], ["q2"], "only in upper and lower case"),
    ],
)
def test_what_differs_is_said(run: list[str], qrels: list[str], said: str) -> None:
    assert said in why_unlike(run, qrels)


@pytest.mark.parametrize(
    ("run", "qrels"),
    [
        (["a"], ["b"]),
        ([], ["b"]),
        (["a"], []),
        (["doc-1"], ["page-7"]),  # both look like parts
        (["1.0", "a"], ["1"]),
        (["007"], ["008"]),
    ],
)
def test_without_a_sign_the_column_is_asked_for(run: list[str], qrels: list[str]) -> None:
    assert why_unlike(run, qrels) == "Is the key column right?"


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        ("s3://AKIA:SEC/RET+x@bucket/a.parquet", "s3://bucket/a.parquet"),
        ("postgresql://ann:p@ss/w@host/db#runs", "postgresql://host/db#runs"),
        ("postgresql://ann:p?q#r@host/db", "postgresql://host/db"),
        ("postgresql://ann@host/db", "postgresql://host/db"),
        ("postgresql://host/db?password=x&user=y#runs", "postgresql://host/db#runs"),
        ("https://x.org:8080/a@b/c?api_key=1", "https://x.org:8080/a@b/c"),
        ("https://x.org/a?jwt", "https://x.org/a"),
        ("s3://bucket/key?X-Amz-Signature=1", "s3://bucket/key"),
        # nothing to hide
        ("s3://bucket/run?.parquet", "s3://bucket/run?.parquet"),
        ("gs://bucket/dir@v1/run", "gs://bucket/dir@v1/run"),
        ("duckdb:shop.db#select '?'", "duckdb:shop.db#select '?'"),
    ],
)
def test_addresses_are_printed_without_secrets(address: str, printed: str) -> None:
    assert masked(f"cannot read '{address}': no.") == f"cannot read '{printed}': no."
    assert masked(f"cannot read {address}.") == f"cannot read {printed}."
