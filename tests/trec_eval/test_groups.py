"""How judgments in groups are read, and where their documents stand in a run."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest

import rankframe as rf
from rankframe.io.opening import open_table
from rankframe.trec_eval.groups import GroupFormat, place_documents, read_groups
from tests.support.group_cases import PREFS, RUN
from tests.support.trec_cases import Output


def rows_of(text: str, kind: GroupFormat, tmp_path: Path) -> list[tuple[object, ...]]:
    path = tmp_path / "judgments.txt"
    path.write_text(text, encoding="utf-8")
    return read_groups(str(path), kind).drop("_line", "_number").rows()


def test_preferences_have_groups_subgroups_and_levels(tmp_path: Path) -> None:
    text = "\ufeffq1 u1 s1 a 1.5\n\n# a comment of six words\nq1\tu1  s2\tb 0\r\n #q u s c 2"
    assert rows_of(text, "prefs", tmp_path) == [
        ("q1", "u1", "s1", "a", 1.5),
        ("q1", "u1", "s2", "b", 0.0),
        ("#q", "u", "s", "c", 2.0),
    ]


def test_comments_may_have_as_many_words_as_lines_have_fields(tmp_path: Path) -> None:
    text = "# words and more words\n#words and more of them\nq u s a 1\n"
    assert rows_of(text, "prefs", tmp_path) == [("q", "u", "s", "a", 1.0)]


def test_of_qrels_the_second_field_is_the_group(tmp_path: Path) -> None:
    text = "q 0 a 1.9\nq 1 a -1\n"
    assert rows_of(text, "qrels_prefs", tmp_path) == [
        ("q", "0", "0", "a", 1.9),
        ("q", "1", "0", "a", -1.0),
    ]
    # grades of groups are whole, as those of plain judgments
    assert rows_of(text, "qrels_jg", tmp_path) == [
        ("q", "0", "0", "a", 1.0),
        ("q", "1", "0", "a", -1.0),
    ]


def test_files_may_be_packed_and_pipes_are_read(
    tmp_path: Path, trec_eval: Callable[..., Output]
) -> None:
    plain, packed, run = tmp_path / "prefs.txt", tmp_path / "prefs.txt.gz", tmp_path / "run.txt"
    plain.write_text(PREFS)
    packed.write_bytes(gzip.compress(PREFS.encode()))
    run.write_text(RUN)
    expected = trec_eval("-R", "prefs", plain, run)
    assert trec_eval("-R", "prefs", packed, run) == expected
    assert trec_eval("-R", "prefs", "-", run, stdin=PREFS) == expected
    assert read_groups(io.BytesIO(PREFS.encode()), "prefs").height == PREFS.count("\n")


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            "q u s a 1\nq u b 1\nq u c\n",
            "prefs",
            "line 2: prefs lines have 5 fields (query, group, subgroup, document, level), in ",
        ),
        ("q u a 1\nq u s a 1\n", "qrels_jg", "line 2: qrels_jg lines have 4 fields (query, group"),
        ("q u a 1\n\nq u b good\n", "qrels_prefs", "line 3: the level is no number, in 'q u b g"),
        ("q u a nan\n", "qrels_prefs", "line 1: the level is no number, in 'q u a nan'"),
        (
            "q u s a 1\nq u s a 1\n",
            "prefs",
            "line 2: its document stands in another line for the same query and group, in 'q u s",
        ),
        ("# nothing\n", "prefs", "qrels is empty: "),
    ],
)
def test_malformed_lines_are_refused(
    text: str, kind: GroupFormat, said: str, tmp_path: Path
) -> None:
    with pytest.raises(rf.RankframeError) as refused:
        rows_of(text, kind, tmp_path)
    assert said in str(refused.value)


def test_what_is_no_text_is_refused(tmp_path: Path, refusal) -> None:
    refusal(read_groups, {"q": {"a": 1}}, "prefs")
    refusal(read_groups, str(tmp_path / "none.txt"), "prefs")


def test_documents_have_places_as_ranked_then_by_id(tmp_path: Path) -> None:
    path = tmp_path / "prefs.txt"
    path.write_text("q u s e 1\nq u s d 2\nq u s c 1\nq u s b 1\nq v s a 1\nz u s a 1\n")
    run = open_table({"q": {"x": 3.0, "d": 2.0, "b": 2.0}, "y": {"a": 1.0}}, "run", None)
    rows = read_groups(str(path), "prefs")
    given = place_documents(rows, run, "doc_asc", None)
    queries = given.select("query_id", "in_run", "retrieved").unique(maintain_order=True)
    assert queries.rows() == [("q", True, 2), ("z", False, 0)]
    # b and d have equal scores; a, c and e were not retrieved
    places = dict(given.filter(query_id="q").select("doc_id", "place").iter_rows())
    assert places == {"b": 0, "d": 1, "a": 2, "c": 3, "e": 4}
    other_order = place_documents(rows, run, "doc_desc", None)
    assert other_order.filter(doc_id="d")["place"].to_list() == [0]
    for depth, retrieved in ((2, [1, 0]), (0, [0, 0])):
        given = place_documents(rows, run, "doc_asc", depth).unique("query_id", maintain_order=True)
        assert given["retrieved"].to_list() == retrieved
