"""TREC text: read as loosely as others write it, refused with the line that is wrong."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.core.errors import RankframeError
from rankframe.io.formats.registry import READ_ERRORS
from rankframe.io.formats.trec_format import (
    Kind,
    looks_like_trec,
    read_even,
    read_lines,
    read_trec,
    tag_of,
    write_trec,
)
from rankframe.io.opening import open_table

ROWS = [("q1", "a", 1.5), ("q1", "b", -2.0), ("q2", "ü", 1e-9)]
RUN = "q1 Q0 a 1 1.5 tag\nq1 Q0 b 2 -2.0 tag\nq2 Q0 ü 1 1e-9 tag\n"
QRELS = "q1 0 a 1.5\nq1 0 b -2\nq2 0 ü 1e-9\n"


def _read(text: str | bytes, role: str = "run") -> list[tuple[str, str, float]]:
    content = text if isinstance(text, bytes) else text.encode()
    frame = read_trec(io.BytesIO(content), role, "the file")  # pyright: ignore[reportArgumentType]
    return frame.select(pl.exclude("rank")).rows()


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it should be": lambda text: text,
    "tabs": lambda text: text.replace(" ", "\t"),
    "several blanks": lambda text: text.replace(" ", "   "),
    "blanks and tabs": lambda text: text.replace(" ", " \t "),
    "blanks in one line only": lambda text: text.replace(" ", "  ", 3),
    "blanks around": lambda text: "".join(f"  {line} \t\n" for line in text.splitlines()),
    "form feeds": lambda text: text.replace(" ", "\f"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "blank lines": lambda text: "\n" + text.replace("\n", "\n\n   \n"),
    "comments": lambda text: "# head\n" + text.replace("\n", "\n  # and so on\n"),
    "no last newline": lambda text: text.rstrip(),
}
FOLLOWED: dict[str, Callable[[str], str]] = {
    "words after the tag": lambda text: text.replace("tag\n", "tag and more\n"),
    "words after some tags": lambda text: text.replace("tag\n", "tag 2 of 7\n", 1),
    "words after tabs": lambda text: text.replace(" ", "\t").replace("tag\n", "tag\tand more\n"),
}


@pytest.mark.parametrize(("role", "text"), [("run", RUN), ("qrels", QRELS)], ids=["run", "qrels"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_gives_the_same_rows(spelling: str, role: str, text: str) -> None:
    assert _read(SPELLINGS[spelling](text), role) == ROWS


@pytest.mark.parametrize("spelling", FOLLOWED)
def test_words_after_the_tag_of_a_run_are_passed_over(spelling: str) -> None:
    text = FOLLOWED[spelling](RUN)
    assert len(text) > len(RUN)
    assert _read(text) == ROWS
    assert tag_of(text.splitlines()[0]) == "tag"
    assert looks_like_trec(text.splitlines()[0])


@pytest.mark.parametrize(
    "line",
    ["q Q0 a b 1 1.5 t", "q Q0 a 7 1 1.5 t", "q 1 Q0 a 1 1.5 t", "q Q0 a b c 1 1.5 t",
     "q Q0 a 7 8 9 1 1.5 t"],
)  # fmt: skip
def test_a_blank_in_an_id_is_not_taken_for_words_after_the_tag(line: str, refusal) -> None:
    refusal(_read, f"q Q0 a 1 1.5 t\n{line}\n")
    assert tag_of(line) is None


def test_qrels_have_four_fields_and_no_more(refusal) -> None:
    refusal(_read, "q 0 a 1 sure\n", "qrels")


# A text that is a table is read as one: always what the parser of lines gives, or nothing at all.


def assert_as_lines(content: bytes, role: Kind | None, *, whole: bool = False) -> bool:
    """Whether a text was read as a table; if so, as the parser of lines reads it, to the bit."""
    found = read_even(io.BytesIO(content), role, whole=whole)
    if found is None:
        return False
    try:
        expected = read_lines(io.BytesIO(content), role, whole=whole)
    except (RankframeError, *READ_ERRORS) as error:
        raise AssertionError(f"read as a table, refused as lines: {error}") from error
    assert expected is not None
    assert_frame_equal(found, expected, check_exact=True)
    bits = pl.selectors.float().reinterpret(signed=False)
    assert found.select(bits).equals(expected.select(bits))
    return True


_hostile = st.sampled_from(
    ["q", "Q0", "null", "NA", "None", '"', '"a', "a,b", "#", "#a", "a#", "ü", "1", "007", "\ufeff",
     "\ufeffq", "q\ufeff", "\0", "a\rb", "\r", "\x1c", "\x85", "\u2028", "\u00a0", "", "\\", "'",
     "a\tb", "a b", "a\fb"]
)  # fmt: skip
_hostile_numbers = st.sampled_from(
    ["1", "+1", "-1", "1.5", "1.", ".5", ".", "1e3", "1E-3", "1e", "1e999", "1e-999", "nan", "-NaN",
     "inf", "-Infinity", "0x10", "1_0", "", "high", "1\ufeff", "1,5", "-0", "00012", "1\r", "٣",
     "123456789012345678901234567890", "0.1000000000000000055511151231257827"]
)  # fmt: skip
_plain = st.sampled_from(["q1", "q2", "D7", "x"])


@st.composite
def hostile_texts(draw: st.DrawFn) -> tuple[bytes, Kind]:
    """Mostly as it should be, with something odd somewhere."""
    role: Kind = draw(st.sampled_from(["run", "qrels"]))
    separator = draw(st.sampled_from([" ", "\t"]))
    odd = draw(st.floats(0, 0.2))
    strange = st.floats(0, 1).map(lambda chance: chance < odd)
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        number = draw(_hostile_numbers if draw(strange) else st.floats(-9, 9).map(repr))
        words = [draw(_hostile if draw(strange) else _plain) for _ in range(4)]
        rank = draw(_hostile_numbers if draw(strange) else st.just("3"))
        fields = [*words[:3], rank, number, words[3]] if role == "run" else [*words[:3], number]
        if draw(strange):
            fields = draw(
                st.sampled_from([fields[:-1], [*fields, "more"], ["", *fields], [], ["#"]])
            )
        between = draw(st.sampled_from([" ", "\t", "  ", " \t"])) if draw(strange) else separator
        around = draw(st.sampled_from([" ", "\t", "\ufeff", "\v"])) if draw(strange) else ""
        lines.append(draw(st.sampled_from(["", around])) + between.join(fields) + around)
    end = draw(st.sampled_from(["\r\n", "\n\n", "\r"])) if draw(strange) else "\n"
    content = (end.join(lines) + draw(st.sampled_from(["", end]))).encode()
    if draw(strange):
        place = draw(st.integers(0, len(content)))
        content = content[:place] + draw(st.sampled_from([b"\xff", b"\n", b" "])) + content[place:]
    return content, role


@settings(max_examples=40, deadline=None)
@given(hostile_texts(), st.booleans(), st.booleans())
def test_as_a_table_a_text_is_read_as_its_lines_are(
    text: tuple[bytes, Kind], told: bool, whole: bool
) -> None:
    content, role = text
    assert_as_lines(content, role if told else None, whole=whole)


@pytest.mark.parametrize(
    ("content", "role"),
    [(RUN, "run"), (QRELS, "qrels"), (RUN, None), (QRELS, None), (RUN.replace(" ", "\t"), "run")],
)
def test_a_text_that_is_a_table_is_read_as_one(content: str, role: Kind | None) -> None:
    assert assert_as_lines(content.encode(), role)
    assert assert_as_lines(content.rstrip().encode(), role)
    assert assert_as_lines((content.replace("ü", '"null"') * 20_000).encode(), role)


def test_numbers_are_the_same_to_the_bit_however_they_are_written() -> None:
    whole = [sign + digits for sign in ("", "-", "+") for digits in ("", "0", "7", "9" * 60)]
    after = ("", ".", ".1", ".000000000000000000001", ".3333333333333333148296")
    tails = ("", "e5", "E-7", "e+310", "e-320")
    mantissas = [start + point for start in whole for point in after]
    written = [m + tail for m in mantissas if any(map(str.isdigit, m)) for tail in tails]
    assert len(written) > 200
    for text in written:
        assert assert_as_lines(f"q Q0 d 1 {text} t\nq 0 e 1 0.1 t\n".encode(), "run"), text


@pytest.mark.parametrize("place", [0, 30_000, 69_999])
@pytest.mark.parametrize(
    "line",
    ["q Q0 d 1 1", "q Q0 d 1 1 t more", "q Q0 d 1 high t", "", "#q Q0 d 1 1 t", " q Q0 d 1 1 t",
     "q Q0  1 1 t", "q Q0 d\t1 1 t", "q Q0 d 1 1 ", "q Q0 d 1 1 t\r", "\ufeffq Q0 d 1 1 t"],
)  # fmt: skip
def test_one_odd_line_in_a_large_text_is_noticed(place: int, line: str) -> None:
    lines = ["q Q0 document 12 0.125 tag"] * 70_000
    lines[place] = line
    assert read_even(io.BytesIO("\n".join([*lines, ""]).encode()), "run") is None


def test_a_packed_text_is_read_as_a_table_too(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    packed = gzip.compress(RUN.encode())
    for content in (RUN.encode(), packed, packed * 2):
        path.write_bytes(content)
        found = read_even(str(path), "run")
        assert found is not None
        expected = read_lines(str(path), "run")
        assert expected is not None
        assert_frame_equal(found, expected)
    path.write_bytes(packed[:-9])
    assert read_even(str(path), "run") is None
    assert read_even(str(tmp_path / "none.run"), "run") is None


def test_a_gzipped_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.run.gz"
    path.write_bytes(gzip.compress(RUN.encode()))
    assert read_trec(str(path), "run", "x").height == 3


def test_several_files_are_read_by_a_glob(tmp_path: Path) -> None:
    for place, line in enumerate(RUN.splitlines()):
        (tmp_path / f"{place}.run").write_text(line, encoding="utf-8")
    qrels = {"q1": {"a": 1}, "q2": {"ü": 1}}
    assert rf.evaluate(qrels, tmp_path / "*.run", "mrr").count("run_rows") == 3


def test_ids_stay_as_they_are_written() -> None:
    assert _read('007 Q0 "a,b" 1 1 t\n') == [("007", '"a,b"', 1.0)]


def test_a_rank_is_kept_where_every_line_has_one() -> None:
    assert read_trec(io.BytesIO(RUN.encode()), "run", "x")["rank"].to_list() == [1, 2, 1]


def test_a_rank_that_is_no_number_is_passed_over() -> None:
    text = RUN.replace("b 2", "b second")
    assert "rank" not in read_trec(io.BytesIO(text.encode()), "run", "x").columns
    assert _read(text) == ROWS


@pytest.mark.parametrize(
    "text",
    [
        "q1 Q0 a 1 1.5 tag\n\n# note\nq1 Q0 b 2 1.0\n",
        "q1 Q0 a 1 1.5 tag\nq1\nq1 Q0 b 2 1.0\n",
        "q1 Q0 a 1 1.5 tag\r\n\r\nq1  Q0  b  2  high  tag\r\n",
        "q1 Q0 a b 1 1.5 tag\nq1 Q0 a 1 1.5 tag\n",
    ],
    ids=["fields", "several", "score", "too many"],
)
def test_a_bad_line_of_a_run_is_named_by_file_and_number(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.run").write_bytes(text.encode())
    refusal(rf.evaluate, {"q1": {"a": 1}}, "x.run", "map")


def test_a_bad_line_of_qrels_is_named_too(refusal) -> None:
    text = io.BytesIO(b"q1 0 a 1\nq1 0 b yes\n")
    refusal(rf.evaluate, text, {"q1": {"a": 1}}, "map")


def test_a_bad_line_in_one_of_several_files_is_named_by_its_own_file(tmp_path, refusal) -> None:
    (tmp_path / "1.run").write_text("q1 Q0 a 1 1.0 t\nq1 Q0 b 2 0.5 t\n")
    (tmp_path / "2.run").write_text("q1 Q0 c 3 high t\n")
    refusal(rf.evaluate, {"q1": {"a": 1}}, tmp_path / "*.run", "map")


def test_a_long_line_is_quoted_in_part(refusal) -> None:
    text = refusal(_read, "q " * 10_000)
    assert len(text) < 200


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        (RUN, QRELS),
        (QRELS, QRELS),
    ],
    ids=["run first", "no run"],
)
def test_swapped_arguments_are_noticed(qrels: str, run: str, refusal) -> None:
    refusal(rf.evaluate, io.BytesIO(qrels.encode()), io.BytesIO(run.encode()), "map")


@pytest.mark.parametrize("text", ["\n \n", "# nothing here\n", "\ufeff"])
def test_a_file_without_rows_is_empty(text: str, refusal) -> None:
    refusal(_read, text)


@pytest.mark.parametrize(
    "content",
    [RUN.encode("utf-16"), RUN.encode("latin-1"), b"ABCD\xff\xfe"],
    ids=["UTF-16", "Latin-1", "binary"],
)
def test_what_is_not_utf8_text_is_refused_as_such(content: bytes, tmp_path: Path, refusal) -> None:
    path = tmp_path / "x.run"
    path.write_bytes(content)
    refusal(rf.evaluate, {"q1": {"a": 1}}, path, "map")


_ids = st.text(st.characters(min_codepoint=33, exclude_categories=["Z", "C"]), min_size=1).filter(
    lambda text: text != "#"
)
_numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(_ids, _ids, _numbers), min_size=1))
def test_a_run_comes_back_as_it_was_written(rows: list[tuple[str, str, float]]) -> None:
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    ranked = frame.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    file = io.BytesIO()
    write_trec(ranked, file, tag="me")
    assert file.getvalue().split()[5] == b"me"
    again = read_trec(io.BytesIO(file.getvalue()), "run", "x")
    assert again.rows() == ranked.cast({"rank": pl.Float64}).rows()


@pytest.mark.parametrize("grades", [[2, 0, -1], [2.0, 0.0, -1.0], [0.5, 1e-7, 3.0]], ids=str)
def test_judgments_come_back_as_they_were_written(grades: list[float]) -> None:
    frame = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": list("abc"), "relevance": grades})
    file = io.BytesIO()
    write_trec(frame, file)
    assert file.getvalue().startswith(f"q 0 a {grades[0]}\n".encode())
    assert read_trec(io.BytesIO(file.getvalue()), "qrels", "x").rows() == frame.rows()


def test_a_run_without_scores_is_written_in_the_order_of_its_ranks() -> None:
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "rank": [2, 1]})
    file = io.BytesIO()
    write_trec(frame, file)
    result = rf.evaluate({"q": {"b": 1}}, io.BytesIO(file.getvalue()), "mrr")
    assert result["mrr"] == 1
    assert result.count("rank_score_disagree") == 0


@pytest.mark.parametrize("bad", ["a b", "a\tb", "#"])
def test_an_id_that_trec_text_cannot_hold_is_not_written(bad: str, refusal) -> None:
    frame = pl.DataFrame({"query_id": [bad], "doc_id": ["d"], "relevance": [1.0]})
    refusal(write_trec, frame, io.BytesIO())


@pytest.mark.parametrize(
    ("text", "role", "queries"),
    [
        ("#q1 Q0 a 1 2.5 t\nq2 Q0 b 1 1.5 t\n", "run", ["#q1", "q2"]),
        ("#q1 Q0 a x 2.5 t\n# q2 Q0 b 1 1.5 t\n", "run", ["#q1"]),
        ("#q1\tQ0\ta\t1\t-1e3\tt and more\n# a note of 4\n", None, ["#q1"]),
        ("# judged in 2024\n#q1 0 a 2\n  #q2  0  b 1\n#later 0 c\n", "qrels", ["#q1", "#q2"]),
        ("#1 0 a 1\n", None, ["#1"]),
    ],
)  # fmt: skip
def test_an_id_may_begin_with_the_sign_of_comments(
    text: str, role: Kind | None, queries: list[str], tmp_path: Path
) -> None:
    assert read_trec(io.BytesIO(text.encode()), role, "x")["query_id"].to_list() == queries
    (tmp_path / "of_any_name").write_text(text)
    assert (
        open_table(tmp_path / "of_any_name", role).frame.collect()["query_id"].to_list() == queries
    )


def test_judgments_of_such_an_id_count_as_in_trec_eval() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, run = "#q 0 a 1\nq 0 a 1\n", "#q Q0 a 1 1 t\nq Q0 b 1 1 t\n"
    ours = rf.evaluate(io.BytesIO(qrels.encode()), io.BytesIO(run.encode()), "map")
    theirs = pytrec_eval.RelevanceEvaluator(
        pytrec_eval.parse_qrel(qrels.splitlines()), {"map"}
    ).evaluate(pytrec_eval.parse_run(run.splitlines()))
    assert {q: v["map"] for q, v in theirs.items()} == dict(ours.per_query.rows())


def test_whole_scores_that_no_float_is_stay_as_they_are_written() -> None:
    large = [2**60 + 1, 2**60, 2**60 + 2]  # and up to 128 bits
    lines = [f"q Q0 d{at} 1 {score} t" for at, score in enumerate(large)]
    for text in ("\n".join(lines), "\n  ".join(lines)):
        found = read_trec(io.BytesIO(text.encode()), "run", "x")
        assert found["score"].cast(pl.Int64).to_list() == large
    ranked = rf.evaluate({"q": {"d2": 1}}, io.BytesIO("\n".join(lines).encode()), "mrr")
    assert ranked["mrr"] == 1
    for text in ("q Q0 d 1 1e17 t", "q Q0 d 1 9007199254740994 t", f"q Q0 d 1 {10**40} t"):
        assert read_trec(io.BytesIO(text.encode()), "run", "x")["score"].dtype == pl.Float64
