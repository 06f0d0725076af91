"""What a message guesses about ids that never match."""

from __future__ import annotations

import pytest

from rankframe.base.unlike_ids import why_unlike


@pytest.mark.parametrize(
    ("run", "qrels", "said"),
    [
        (["doc17#3", "doc2#0"], ["doc17"], "'doc17#3' of 'doc17'"),
        (["doc17_chunk_3"], ["doc17"], "'doc17_chunk_3' of 'doc17'"),
        (["a::0"], ["b"], "'a::0' of 'a'"),
        (["1.0", "20.0"], ["1", "20"], "Those of the run went through floats"),
        (["1"], ["1.0"], "Those of the qrels went through floats"),
        (["007"], ["7", "12"], "Only those of the run begin with zeros"),
        (["7"], ["007"], "Only those of the qrels begin with zeros"),
        (["a "], ["a"], "Those of the run have blanks"),
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
