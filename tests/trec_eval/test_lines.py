"""The lines that trec_eval prints, byte for byte, and what -m cannot ask for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.trec_eval.measures import (
    MEASURES,
    Line,
    format_measure,
    make_lines,
    parse_measures,
)
from tests.support.trec_cases import CHOSEN, LEFT_OUT, OFFICIAL, QRELS, QUERIES, RUN, SUMMARY


def test_official_measures_are_printed_unasked(files: tuple[Path, Path], trec_eval) -> None:
    assert trec_eval(*files) == (0, OFFICIAL, LEFT_OUT)


def test_queries_come_before_the_summary(files: tuple[Path, Path], trec_eval) -> None:
    assert trec_eval("-q", *CHOSEN, *files) == (0, QUERIES + SUMMARY, LEFT_OUT)


def test_either_part_can_be_left_out(files: tuple[Path, Path], trec_eval) -> None:
    assert trec_eval("-nq", *CHOSEN, *files)[1] == QUERIES
    assert trec_eval("-n", *CHOSEN, *files)[1] == ""


def test_a_run_may_come_through_a_pipe(files: tuple[Path, Path], trec_eval) -> None:
    assert trec_eval(files[0], "-", stdin=RUN) == (0, OFFICIAL, LEFT_OUT)


def test_options_may_stick_to_their_values(files: tuple[Path, Path], trec_eval) -> None:
    apart = trec_eval("-q", "-c", "-l", 2, "-M", 3, "-J", "-N", 9, "-m", "set", *files)
    assert apart == trec_eval("-qcJ", "-l2", "-M3", "-N9", "-mset", *files)
    assert apart[0] == 0
    assert apart[2] == ""
    long = ("--query_eval_wanted", "--complete_rel_info_wanted", "--level_for_rel=2",
            "--Max_retrieved_per_topic=3", "--Judged_docs_only", "--Number_docs_in_coll=9",
            "--measure", "set")  # fmt: skip
    assert apart == trec_eval(*long, *files)


def test_long_options_may_be_cut_short(files: tuple[Path, Path], trec_eval) -> None:
    whole = trec_eval("-qcJ", "-l2", "-M3", "-N9", "-mset", *files)
    short = ("--q", "--c", "--level=2", "--Max", "3", "--J", "--Num=9", "--m", "set", "--Rel",
             "qrels", "--Res=trec_results")  # fmt: skip
    assert trec_eval(*short, *files) == whole
    assert trec_eval("--nos", "--mea=map", *files)[1] == ""
    assert "No such option: --R" in trec_eval("--R", "qrels", *files)[2]


def test_options_that_say_what_is_so_are_taken(files: tuple[Path, Path], trec_eval) -> None:
    assert trec_eval("-o", "-R", "qrels", "-Ttrec_results", *files) == (0, OFFICIAL, LEFT_OUT)


@pytest.mark.parametrize("option", ["-v", "--version", "--vers"])
def test_the_version_goes_to_stderr(option: str, trec_eval) -> None:
    code, out, err = trec_eval(option)
    assert (code, out) == (0, "")
    assert err == f"trec_eval version 10.0 (rankframe {rf.__version__})\n"


def test_what_follows_a_measure_without_parameters_is_passed_over(
    files: tuple[Path, Path], trec_eval
) -> None:
    assert trec_eval("-m", "map.5", "-m", "set.1", *files) == trec_eval("-mmap", "-mset", *files)


def test_no_document_is_looked_at(files: tuple[Path, Path], trec_eval) -> None:
    code, out, _ = trec_eval("-M", 0, "-m", "num_q", "-m", "num_ret", "-m", "map", *files)
    assert (code, [line.split()[-1] for line in out.splitlines()]) == (0, ["2", "0", "0.0000"])


def test_with_c_a_missing_query_has_its_lines(files: tuple[Path, Path], trec_eval) -> None:
    asked = ("-m", "num_q", "-m", "num_ret", "-m", "num_rel", "-m", "map", "-m", "relstring",
             "-m", "unj.5", "-m", "rbp_resid")  # fmt: skip
    code, out, err = trec_eval("-qc", *asked, *files)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line for line in lines if "\t9\t" in line] == [
        "num_ret               \t9\t0",
        "num_rel               \t9\t1",
        "map                   \t9\t0.0000",
        "relstring             \t9\t''",
        "rbp_resid             \t9\t0.0000",
        "unj_5                 \t9\t0.0000",
    ]
    assert lines[-6:-3] == [
        "num_q                 \tall\t3",
        "num_ret               \tall\t7",
        "num_rel               \tall\t6",
    ]
    assert "map                   \tall\t0.2593" in lines


def test_all_trec_prints_what_trec_eval_10_prints(files: tuple[Path, Path], trec_eval) -> None:
    labels = [line.split()[0] for line in trec_eval("-m", "all_trec", *files)[1].splitlines()]
    kinds = list(dict.fromkeys((format_measure(label) or "").split(".")[0] for label in labels))
    asked_for = ("dcg", "ideal_dcg", "yaap", "relstring")
    of_qrels = [name for name, measure in MEASURES.items() if "qrels" in measure.reads]
    assert kinds == [name for name in of_qrels if name not in asked_for]
    assert len(labels) == 5 + 5 + 11 + 9 + 9 + 2 + 10 + 4 + 3 + 9 * 3 + 3 + 5 + 1 + 2 + 3
    assert labels[-6:] == ["num_nonrel_judged_ret", "rbp", "rbp_resid", "unj_5", "unj_10", "unj_20"]


def test_other_formats_and_columns_are_read(
    files: tuple[Path, Path], tmp_path: Path, trec_eval
) -> None:
    run = pl.DataFrame(
        [line.split() for line in RUN.splitlines()],
        schema=["user", "q0", "item", "place", "score", "tag"],
        orient="row",
    )
    target = tmp_path / "run.parquet"
    run.with_columns(pl.col("score").cast(pl.Float64)).write_parquet(target)
    assert trec_eval(files[0], target)[1] == OFFICIAL
    rows = "".join(",".join(line.split()) + "\n" for line in QRELS.splitlines())
    (tmp_path / "qrels.csv").write_text(f"shopper,,item,rating\n{rows}")
    run.rename({"user": "shopper"}).write_csv(tmp_path / "run.csv")
    both = (tmp_path / "qrels.csv", tmp_path / "run.csv")
    assert trec_eval(*both, "--column", "query_id=shopper")[1] == OFFICIAL


def test_help_fits_the_terminal(trec_eval) -> None:
    code, out, _ = trec_eval("--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("-m", "nonsense"), 1),
        (("-m", "P."), 1),
        (("-m", "P.0"), 2),
        (("-l", "-1"), 2),
        (("-l", "some"), 1),
        (("-R", "other"), 2),
        (("-R", "prefs"), 2),
        (("-R", "prefs", "-m", "map"), 2),
        (("-m", "prefs_simp"), 2),
        (("-R", "qrels_jg", "-l", "-1"), 2),
        (("-R", "qrels_jg", "--relevance", "1"), 2),
        (("-T", "other"), 2),
        (("--Nothing",), 1),
        (("--check", "none.txt"), 2),
        (("--check", "none.txt", "-l", "some"), 2),
        (("--check", "none.txt", "-m", "nonsense"), 2),
    ],
)
def test_bad_usage_ends_with_one_line(
    files: tuple[Path, Path], args: tuple[str], code: int, refused
) -> None:
    refused(*args, *files, code=code)


def test_bad_files_end_with_one_line(files: tuple[Path, Path], tmp_path: Path, refused) -> None:
    qrels, run = files
    refused(qrels, qrels)
    refused(qrels, tmp_path / "none.txt")
    run.write_text("11 Q0 d1 1 high demo\n")
    refused(qrels, run)
    run.write_text("")
    refused(qrels, run)
    run.write_text(f"{RUN}{RUN}")
    refused(qrels, run, code=4)
    run.write_text("elsewhere Q0 d1 1 1.0 demo\n")
    refused(qrels, run, code=7)
    refused(qrels, code=1)
    (tmp_path / "old.txt").write_text("map all 0.5\n")
    refused(qrels, run, "--check", tmp_path / "old.txt")


COMMAND = f"{sys.executable} -c 'from rankframe.cli import main; main()' trec_eval"


def in_a_shell(line: str) -> tuple[int, str, str]:
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    queries = [f"q{i:05}" for i in range(20_000)]
    for name, column in (("qrels", "relevance"), ("run", "score")):
        pl.DataFrame({"query_id": queries, "doc_id": "a", column: 1.0}).write_parquet(
            tmp_path / f"{name}.parquet"
        )
    files = f"{tmp_path}/qrels.parquet {tmp_path}/run.parquet"
    first = "num_ret               \tq00000\t1\n"
    assert in_a_shell(f"{COMMAND} -q {files} | head -1") == (0, first, "")


def test_lines_stay_in_order_on_the_way_to_a_file(files: tuple[Path, Path]) -> None:
    qrels, run = files
    old, new = qrels.parent / "old.txt", qrels.parent / "new.txt"
    old.write_text(SUMMARY.replace("0.7500", "0.8"))
    asked = " ".join(CHOSEN)
    assert in_a_shell(f"{COMMAND} -q {asked} {qrels} {run} > {new}") == (0, "", LEFT_OUT)
    assert new.read_text() == QUERIES + SUMMARY
    assert in_a_shell(f"{COMMAND} {qrels} {run} --check {old} > {new}") == (1, "", LEFT_OUT)
    assert new.read_text().splitlines()[:2] == [
        "measure               \tquery\ttheirs\tours",
        "iprec_at_recall_0.10  \tall\t0.8\t0.7500",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_a_full_disk_is_said_in_one_line(files: tuple[Path, Path]) -> None:
    code, _, err = in_a_shell(f"{COMMAND} -qc {files[0]} {files[1]} > /dev/full")
    said = "rankframe: cannot write to standard output: No space left on device.\n"
    assert (code, err) == (2, said)


def asked(*measures: str, **options: Any) -> list[Line]:
    return make_lines(parse_measures(measures), **options)


@pytest.mark.parametrize(
    "measure",
    [
        "P.0",
        "P.ten",
        "P.nan",
        "utility.1,2",
        "set_F.1,2",
        "iprec_at_recall.2",
        "11pt_avg.0,2",
        "rbp.p=2",
        "rbp.p=0.5,1=2",
        "ndcg.high=2",
        "ndcg.2",
        "ndcg.1=x",
    ],
)
def test_a_parameter_that_cannot_be_is_refused(measure: str, refusal) -> None:
    refusal(asked, measure)


def test_gains_keep_their_label_in_any_order() -> None:
    assert asked("ndcg.1=3")[0].label == "ndcg_1=3"
    assert asked("ndcg.1=3,2=9,4=4.5")[0].label == "ndcg_1=3,2=9,4=4.5"


def test_parameters_twice_are_refused_and_cutoffs_twice_are_joined(refusal) -> None:
    refusal(asked, "utility.1,0,0,0", "utility.2,0,0,0")
    assert [line.label for line in asked("P.10,5", "P.5", "P.3")] == ["P_3", "P_5", "P_10"]


def test_lines_come_in_trec_evals_order_whatever_was_asked_for_first() -> None:
    found = asked("success.1", "map", "runid", "P.5")
    assert [line.label for line in found] == ["runid", "map", "P_5", "success_1"]
    assert [(line.measure.per_query, line.measure.summary) for line in found[:2]] == [
        (False, True),
        (True, True),
    ]
    assert [len(line.metrics) for line in found] == [0, 1, 1, 1]


@pytest.mark.parametrize(("depth", "numbers"), [(0, 0), (1, 1), (13, 1), (14, 2), (30, 3)])
def test_a_relstring_travels_as_so_many_numbers(depth: int, numbers: int) -> None:
    (line,) = asked(f"relstring.{depth}")
    assert (line.depth, len(line.metrics)) == (depth, numbers)
    assert not line.measure.summary
