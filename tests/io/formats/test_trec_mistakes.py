"""What is wrong with parts of a text, added up."""

from __future__ import annotations

import polars as pl
import pytest

from rankframe.core.errors import EmptyInputError
from rankframe.io.formats.trec_format import LINE, NUMBER, Bad, Mistakes


def test_the_first_of_all_lines_is_named_by_its_place_in_the_whole() -> None:
    lines = pl.DataFrame({NUMBER: [4, 9], LINE: ["q1 d1", "q2 d2"]})
    bad = Bad.of(lines)
    assert bad == Bad(2, 4, "q1 d1")
    assert Bad.of(lines.head(0)) == Bad()
    assert Bad().and_then(bad, above=100) == Bad(2, 104, "q1 d1")
    assert bad.and_then(bad, above=100) == Bad(4, 4, "q1 d1")


def test_mistakes_add_up_under_the_kind_of_the_first_lines() -> None:
    blank, judged = Mistakes("run", 0), Mistakes("qrels", 3, numbers=Bad(1, 2, "q 0 d x"))
    both = blank.and_then(judged, above=5).and_then(judged, above=8)
    assert (both.kind, both.lines, both.numbers) == ("qrels", 6, Bad(2, 7, "q 0 d x"))


def test_what_is_wrong_is_refused(refusal) -> None:
    with pytest.raises(EmptyInputError):
        Mistakes().refuse("run", "r.txt")
    refusal(Mistakes("qrels", 3, numbers=Bad(1, 2, "q 0 d x")).refuse, "qrels", "q.txt")
    refusal(Mistakes("run", 1, fields=Bad(1, 0, "q 0 d 1")).refuse, "run", "r.txt")
    Mistakes("run", 1).refuse("run", "r.txt")
