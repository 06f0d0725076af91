"""Lines with mistakes are counted, and the first is named."""

from __future__ import annotations

import io

import pytest

from rankframe.core.errors import EmptyInputError, MalformedLineError
from rankframe.io.formats.trec_format import Kind, read_trec


@pytest.mark.parametrize(
    ("text", "role", "line", "count", "problem"),
    [
        ("q 0 d 1\n\nq 0 e x\nq 0 f y\n", "qrels", 3, 2, "the relevance is not a number"),
        ("# none\nq\tQ0 d 1 high t\n", "run", 2, 1, "the score is not a number"),
        ("q Q0 d 1 x t\nq Q0 e\nq Q0 f 1 2 t\n", "run", 2, 1, "3 fields where run lines have 6"),
        ("q 0 d 1\nq  0 d\n", None, 2, 1, "3 fields where qrels lines have 4"),
    ],
)
def test_mistakes_are_counted(
    text: str, role: Kind | None, line: int, count: int, problem: str
) -> None:
    with pytest.raises(MalformedLineError) as said:
        read_trec(io.BytesIO(text.encode()), role, "x.txt")
    assert (said.value.line, said.value.count, said.value.problem) == (line, count, problem)


def test_other_texts_are_refused(refusal) -> None:
    with pytest.raises(EmptyInputError):
        read_trec(io.BytesIO(b"# nothing\n\n"), "run", "r.txt")
    refusal(read_trec, io.BytesIO(b"q 0 d 1\n"), "run", "r.txt")
