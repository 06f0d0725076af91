"""What `rankframe trec_eval` prints, byte for byte, and how it checks an older output."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankframe.cli.app import main
from rankframe.trec_eval import text as trec_text
from rankframe.trec_eval.check import compare_output, measures_in, read_output
from rankframe.trec_eval.evaluate import TrecResult, evaluate_trec
from rankframe.trec_eval.measures import MEASURES, written_as
from rankframe.trec_eval.text import decimals
from tests.support.oracles import one_list

# Equal scores, a grade that is cut off, one below 0, ranks that mean nothing, a query without
# judgments and one that the run lacks.
QRELS = """\
102 0 d1 1
102 0 d2 0
102 0 d4 1
11 0 d1 2
11 0 d2 0
11 0 d3 1.9
11 0 d5 -1
11 0 d9 1
9 0 d1 1
"""
RUN = """\
11 Q0 d1 4 0.5 demo
11 Q0 d2 1 0.5 demo
11 Q0 d3 2 0.25 demo
11 Q0 d5 3 0.75 demo
11 Q0 d8 5 0.125 demo
102 Q0 d7 1 2 demo
102 Q0 d4 2 1e1 demo
7 Q0 d1 1 1 demo
"""
OFFICIAL = """\
runid                 \tall\tdemo
num_q                 \tall\t2
num_ret               \tall\t7
num_rel               \tall\t5
num_rel_ret           \tall\t3
map                   \tall\t0.3889
gm_map                \tall\t0.3727
Rprec                 \tall\t0.4167
bpref                 \tall\t0.2500
recip_rank            \tall\t0.6667
iprec_at_recall_0.00  \tall\t0.7500
iprec_at_recall_0.10  \tall\t0.7500
iprec_at_recall_0.20  \tall\t0.7500
iprec_at_recall_0.30  \tall\t0.7500
iprec_at_recall_0.40  \tall\t0.7500
iprec_at_recall_0.50  \tall\t0.7500
iprec_at_recall_0.60  \tall\t0.7500
iprec_at_recall_0.70  \tall\t0.7500
iprec_at_recall_0.80  \tall\t0.2500
iprec_at_recall_0.90  \tall\t0.0000
iprec_at_recall_1.00  \tall\t0.0000
P_5                   \tall\t0.3000
P_10                  \tall\t0.1500
P_15                  \tall\t0.1000
P_20                  \tall\t0.0750
P_30                  \tall\t0.0500
P_100                 \tall\t0.0150
P_200                 \tall\t0.0075
P_500                 \tall\t0.0030
P_1000                \tall\t0.0015
"""
CHOSEN = ["-m", "success", "-m", "relstring.4", "-m", "utility.1,-2,0,0", "-m", "gm_map",
          "-m", "num_q", "-m", "num_rel", "-m", "ndcg_cut.3", "-mrunid",
          "-m", "iprec_at_recall.0.1"]  # fmt: skip
# queries in byte order, measures in trec_eval's
QUERIES = """\
num_rel               \t102\t2
iprec_at_recall_0.10  \t102\t1.0000
relstring_4           \t102\t'1-'
utility_1,-2,0,0      \t102\t-1.0000
ndcg_cut_3            \t102\t0.6131
success_1             \t102\t1.0000
success_5             \t102\t1.0000
success_10            \t102\t1.0000
num_rel               \t11\t3
iprec_at_recall_0.10  \t11\t0.5000
relstring_4           \t11\t'.021'
utility_1,-2,0,0      \t11\t-4.0000
ndcg_cut_3            \t11\t0.3194
success_1             \t11\t0.0000
success_5             \t11\t1.0000
success_10            \t11\t1.0000
"""
SUMMARY = """\
runid                 \tall\tdemo
num_q                 \tall\t2
num_rel               \tall\t5
gm_map                \tall\t0.3727
iprec_at_recall_0.10  \tall\t0.7500
utility_1,-2,0,0      \tall\t-2.5000
ndcg_cut_3            \tall\t0.4663
success_1             \tall\t0.5000
success_5             \tall\t1.0000
success_10            \tall\t1.0000
"""
LEFT_OUT = (
    "rankframe: 1 of 3 judged queries are not in the run and were left out; -c counts them as 0.\n"
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text(QRELS)
    run.write_text(RUN)
    return qrels, run


Output = tuple[int, str, str]


@pytest.fixture
def trec_eval(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., Output]:
    """Call the command line: exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*args: object, stdin: str = "") -> Output:
        piped = io.TextIOWrapper(io.BytesIO(stdin.encode()))
        monkeypatch.setattr(sys, "argv", ["rankframe", "trec_eval", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", piped)
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsysbinary.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out.decode(), err.decode()

    return call


@pytest.fixture
def refused(trec_eval: Callable[..., Output]) -> Callable[..., str]:
    """The one line that a refused call prints."""

    def call(*args: object) -> str:
        code, out, err = trec_eval(*args)
        assert (code, out) == (2, "")
        assert err.startswith("rankframe: ")
        assert err.count("\n") == 1
        return err

    return call


@pytest.fixture
def check(
    files: tuple[Path, Path], trec_eval: Callable[..., Output]
) -> Callable[..., tuple[int, list[str]]]:
    """Check an older output: exit code and lines."""

    def call(text: str, *args: object) -> tuple[int, list[str]]:
        old = files[0].parent / "old.txt"
        old.write_text(text)
        code, out, _ = trec_eval(*args, *files, "--check", old)
        return code, out.splitlines()

    return call


# What is printed


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
    kinds = list(dict.fromkeys((written_as(label) or "").split(".")[0] for label in labels))
    asked_for = ("dcg", "ideal_dcg", "yaap", "relstring")
    assert kinds == [name for name in MEASURES if name not in asked_for]
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
    ("args", "said"),
    [
        (("-m", "nonsense"), "trec_eval has no measure 'nonsense'"),
        (("-l", "-1"), "-l takes a whole number of at least 0"),
        (("-l", "some"), "Invalid value for"),
        (("-R", "prefs"), "No such option: -R"),
        (("--check", "none.txt"), "cannot read none.txt: no such file"),
    ],
)
def test_bad_usage_ends_with_one_line(
    files: tuple[Path, Path], args: tuple[str], said: str, refused
) -> None:
    assert said in refused(*args, *files)


def test_bad_files_end_with_one_line(files: tuple[Path, Path], tmp_path: Path, refused) -> None:
    qrels, run = files
    assert "looks like qrels" in refused(qrels, qrels)
    assert "no such file" in refused(qrels, tmp_path / "none.txt")
    run.write_text("11 Q0 d1 1 high demo\n")
    assert "the score is not a number" in refused(qrels, run)
    run.write_text("")
    assert "run is empty" in refused(qrels, run)
    run.write_text(f"{RUN}{RUN}")
    assert refused(qrels, run).endswith("Keep one of each.\n")


COMMAND = f"{sys.executable} -c 'from rankframe.cli.app import main; main()' trec_eval"


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
    assert (code, err) == (2, "rankframe: cannot write the lines: No space left on device.\n")


# How numbers and relevance strings look


@given(st.lists(st.one_of(st.floats(0, 1), st.integers(0, 320).map(lambda n: n / 320),
                          st.integers(0, 64).map(lambda n: n / 64)), min_size=1))  # fmt: skip
def test_shares_are_rounded_as_printf_rounds_them(numbers: list[float]) -> None:
    assert decimals(np.array(numbers)).to_list() == [f"{number:6.4f}" for number in numbers]


def test_numbers_that_lie_halfway_in_single_steps_are_told_apart() -> None:
    halves = (np.arange(10_000) + 0.5) / 10_000
    around = np.concatenate([np.nextafter(halves, 0), halves, np.nextafter(halves, 1)])
    assert decimals(around).to_list() == [f"{number:6.4f}" for number in around.tolist()]


@given(st.lists(st.floats(-1e12, 1e12), min_size=1))
def test_other_numbers_are_printed_in_full(numbers: list[float]) -> None:
    assert decimals(np.array(numbers)).to_list() == [f"{number:6.4f}" for number in numbers]


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


# Beside an older output


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


def test_only_what_is_asked_for_is_compared(check) -> None:
    old = OFFICIAL.replace("0.3889", "0.3") + "prefs_simp\tall\t0.5\n"
    assert check(old, "-m", "bpref", "-m", "P.5") == (
        0,
        ["2 of 2 lines agree; 29 not compared (runid, num_q, num_ret, num_rel, num_rel_ret, …)."],
    )
    code, out = check(old)
    assert code == 1
    assert out[-1] == "29 of 30 lines agree, 1 differ; 1 not compared (prefs_simp)."


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
    found = evaluate_trec({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, measures_in(output))
    assert compare_output(output, found).agreed == 2


def test_queries_may_be_called_anything(tmp_path: Path) -> None:
    old = tmp_path / "old.txt"
    old.write_text("map \ta query, of words\t1.0000\nmap all 1.0000\r\n\n")
    found = evaluate_trec({"a query, of words": {"a": 1}}, {"a query, of words": {"a": 1.0}})
    assert compare_output(read_output(old), found).agreed == 2


def test_what_is_no_output_of_trec_eval_is_refused(files: tuple[Path, Path], refused) -> None:
    old = files[0].parent / "old.txt"
    old.write_text("map\tall\t0.5\nhello\n")
    assert "old.txt, line 2: not a line of trec_eval" in refused(*files, "--check", old)
    old.write_text("hits\tall\t0.5\n")
    assert "none of the lines to check is of a measure" in refused(*files, "--check", old)
    old.write_text("\n")
    assert "is empty" in refused(*files, "--check", old)
    old.write_text("map\tall\t0.5\n")
    assert "no line of the file is of a measure" in refused(*files, "--check", old, "-m", "P")


def test_every_label_leads_back_to_its_measure() -> None:
    asked = [name for name in MEASURES if name != "relstring"]
    found = evaluate_trec({"q": {"a": 1}}, {"q": {"a": 1.0}}, [*asked, "relstring.3"])
    again = [written for line in found.lines if (written := written_as(line.label))]
    assert len(again) == len(found.lines)
    labels = [line.label for line in evaluate_trec({"q": {"a": 1}}, {"q": {"a": 1.0}}, again).lines]
    assert labels == [line.label for line in found.lines]
