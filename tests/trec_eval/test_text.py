"""How numbers and relevance strings look, and how many are written at a time."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.trec_eval import text as trec_text
from rankframe.trec_eval.evaluate import TrecResult, evaluate_trec
from rankframe.trec_eval.measures import Line, Measure, Style
from rankframe.trec_eval.text import (
    format_decimals,
    format_values,
    write_queries,
    write_summary,
    write_tabbed,
)
from tests.support.oracles import one_list


@given(st.lists(st.one_of(st.floats(0, 1), st.integers(0, 320).map(lambda n: n / 320),
                          st.integers(0, 64).map(lambda n: n / 64)), min_size=1))  # fmt: skip
def test_shares_are_rounded_as_printf_rounds_them(numbers: list[float]) -> None:
    assert format_decimals(np.array(numbers)).to_list() == [f"{number:6.4f}" for number in numbers]


def test_numbers_that_lie_halfway_in_single_steps_are_told_apart() -> None:
    halves = (np.arange(10_000) + 0.5) / 10_000
    around = np.concatenate([np.nextafter(halves, 0), halves, np.nextafter(halves, 1)])
    assert format_decimals(around).to_list() == [f"{number:6.4f}" for number in around.tolist()]


@given(st.lists(st.floats(-1e12, 1e12), min_size=1))
def test_other_numbers_are_printed_in_full(numbers: list[float]) -> None:
    assert format_decimals(np.array(numbers)).to_list() == [f"{number:6.4f}" for number in numbers]


@pytest.mark.parametrize("depth", [1, 10, 13, 14, 26, 27, 50])
def test_a_relstring_has_a_character_a_document(depth: int) -> None:
    grades = [0, 1, 9, 10, 127, None, -1, -2, None, 3] * 4
    case = one_list(grades, [5])
    found = evaluate_trec(case.qrels, case.run, [f"relstring.{depth}"])
    table = read_lines(found)
    expected = "".join(
        "-" if g is None else "." if g < 0 else ">" if g > 9 else str(g) for g in grades[:depth]
    )
    assert table == [f"relstring_{depth}", "q", f"'{expected}'"]


def read_lines(found: TrecResult) -> list[str]:
    file = io.BytesIO()
    found.write(file, queries=True, summary=False)
    return file.getvalue().decode().split()


def test_many_queries_are_written_in_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels = {f"q{i:03}": {"a": 1} for i in range(25)}
    run = {query: {"x": 1.0, "a": 2.0 - number % 3} for number, query in enumerate(qrels)}
    found = evaluate_trec(qrels, run, ["all_trec"])
    files = []
    for step in (20_000, 4):
        monkeypatch.setattr(trec_text, "_QUERIES_AT_ONCE", step)
        files.append(io.BytesIO())
        found.write(files[-1], queries=True)
    assert files[0].getvalue() == files[1].getvalue()


def test_texts_of_every_style() -> None:
    values = pl.DataFrame({"n": [3.0, 12.0], "x": [0.5, None], "u": [-1.0, 2.5]})

    def line(label: str, style: Style) -> Line:
        return Line(label, Measure(label, style=style))

    assert format_values(line("n", "count"), values).to_list() == ["3", "12"]
    assert format_values(line("x", "number"), values).to_list() == ["0.5000", "0.0000"]
    assert format_values(line("u", "number"), values, "\n").to_list() == ["-1.0000\n", "2.5000\n"]


def test_nothing_is_written_of_lines_that_speak_of_all_queries_only() -> None:
    found = evaluate_trec({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["runid", "num_q", "gm_map"])
    file = io.BytesIO()
    write_queries(file, found.lines, found.values)
    assert file.getvalue() == b""
    write_summary(file, found.summary)
    assert file.getvalue().decode().splitlines() == [
        "runid                 \tall\trankframe",
        "num_q                 \tall\t1",
        "gm_map                \tall\t1.0000",
    ]


def test_ids_are_written_as_they_are() -> None:
    file = io.BytesIO()
    write_tabbed(file, pl.DataFrame({"a": ['say "so"', "a,b"], "b": ["ü", " "]}))
    assert file.getvalue().decode() == 'say "so"\tü\na,b\t \n'


def test_no_id_ends_its_field_or_its_line() -> None:
    forged = "q\t0.0000\nmap                   \tall\t1.0000\u2028\x1b[2J"
    run = pl.DataFrame({"query_id": [forged], "doc_id": ["x"], "score": [1.0], "tag": [forged]})
    found = evaluate_trec({forged: {"a": 1}}, run, ["map", "runid"])
    file = io.BytesIO()
    found.write(file, queries=True)
    shown = r"q\t0.0000\nmap                   \tall\t1.0000\u2028\x1b[2J"
    assert file.getvalue().decode().splitlines() == [
        f"map                   \t{shown}\t0.0000",
        f"runid                 \tall\t{shown}",
        "map                   \tall\t0.0000",
    ]
