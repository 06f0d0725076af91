"""An older output beside ours: what differs, and what is no output at all."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from rankframe.trec_eval.check import Check, compare_output, find_measures, read_output
from rankframe.trec_eval.evaluate import evaluate_trec
from tests.support.trec_cases import OFFICIAL, QUERIES, SUMMARY


def test_an_output_that_agrees(check) -> None:
    assert check(OFFICIAL) == (0, ["30 of 30 lines agree."])
    assert check(QUERIES + SUMMARY, "-q") == (0, ["26 of 26 lines agree."])


def test_lines_that_differ_are_listed(check) -> None:
    old = QUERIES.replace("102\t0.6131", "102\t0.6130").replace("'.021'", "'-021'") + (
        "map                   \t9\t0.5000\n" + SUMMARY.replace("2.5000", "2.4999")
    )
    assert check(old, "-q") == (
        1,
        [
            "measure               \tquery\ttheirs\tours",
            "ndcg_cut_3            \t102\t0.6130\t0.6131",
            "relstring_4           \t11\t'-021'\t'.021'",
            "map                   \t9\t0.5000\t(no such line)",
            "utility_1,-2,0,0      \tall\t-2.4999\t-2.5000",
            "23 of 27 lines agree, 4 differ.",
        ],
    )


def test_only_what_is_asked_for_is_compared(check, message) -> None:
    old = OFFICIAL.replace("0.3889", "0.3") + "prefs_simp\tall\t0.5\n"
    assert check(old, "-m", "bpref", "-m", "P.5") == (
        0,
        ["2 of 2 lines agree; 29 not compared (runid, num_q, num_ret, num_rel, num_rel_ret, …)."],
    )
    code, out = check(old)
    assert code == 1
    message(out[-1])


def test_recall_points_of_version_9_are_explained(check) -> None:
    old = OFFICIAL.replace("0.80  \tall\t0.2500", "0.80  \tall\t0.0000")
    code, out = check(old)
    assert code == 1
    assert out[-1].startswith("29 of 30 lines agree, 1 differ. All of these round recall points")


def test_lines_that_only_look_like_a_measure_are_not_compared(check) -> None:
    old = f"{OFFICIAL}recall_at_5\tall\t0.1\nP_0\tall\t0.1\nmap_5\tall\t0.1\n"
    assert check(old) == (
        0, ["30 of 30 lines agree; 3 not compared (recall_at_5, P_0, map_5)."],
    )  # fmt: skip


def test_numbers_are_compared_as_numbers() -> None:
    output = pl.DataFrame(
        {"measure": ["num_q", "map"], "query_id": ["all", "all"], "theirs": ["1.0", "0.50000"]}
    )
    found = evaluate_trec({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, find_measures(output))
    assert compare_output(output, found).agreed == 2


def test_queries_may_be_called_anything(tmp_path: Path) -> None:
    old = tmp_path / "old.txt"
    old.write_text("map \ta query, of words\t1.0000\nmap all 1.0000\r\n\n")
    found = evaluate_trec({"a query, of words": {"a": 1}}, {"a query, of words": {"a": 1.0}})
    assert compare_output(read_output(old), found).agreed == 2


def test_what_is_no_output_of_trec_eval_is_refused(files: tuple[Path, Path], refused) -> None:
    old = files[0].parent / "old.txt"
    old.write_text("map\tall\t0.5\nhello\n")
    refused(*files, "--check", old)
    old.write_text("hits\tall\t0.5\n")
    refused(*files, "--check", old)
    old.write_text("\n")
    refused(*files, "--check", old)
    old.write_text("map\tall\t0.5\n")
    refused(*files, "--check", old, "-m", "P")


def compared(text: str, tmp_path: Path, *measures: str) -> Check:
    old = tmp_path / "old.txt"
    old.write_text(text, encoding="utf-8")
    output = read_output(old)
    case = {"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}
    return compare_output(output, evaluate_trec(*case, measures or find_measures(output)))


def test_lines_with_blanks_for_tabs_are_read(tmp_path: Path, message) -> None:
    found = compared("\ufeffmap   all   0.5000\r\nmap\tq\t0.5\n", tmp_path)
    assert (found.agreed, found.compared, found.unknown) == (2, 2, [])
    message(found.verdict)


def test_what_differs_comes_in_the_order_of_the_file(tmp_path: Path, message) -> None:
    text = "P_5\tq\t0.3\nmap\tq\t0.4\nP_5\tall\t0.2\nmap\telsewhere\t0.1\nnew\tall\t1\n"
    found = compared(text, tmp_path)
    assert found.different.rows() == [
        ("P_5", "q", "0.3", "0.2000"),
        ("map", "q", "0.4", "0.5000"),
        ("map", "elsewhere", "0.1", None),
    ]
    assert (found.compared, found.agreed, found.passed_over, found.unknown) == (4, 1, 1, ["new"])
    file = io.BytesIO()
    found.write(file)
    lines = file.getvalue().decode().splitlines()
    assert lines[0] == "measure               \tquery\ttheirs\tours"
    assert lines[3] == "map                   \telsewhere\t0.1\t(no such line)"
    message(lines[-1])


def test_measures_are_those_that_we_have_lines_of() -> None:
    output = pl.DataFrame({"measure": ["map", "P_5", "P_5", "map_5", "relstring_3", "prefs"]})
    assert find_measures(output) == ["map", "P.5", "relstring.3"]
