"""The command line, end to end in a subprocess."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "data" / "shop"
QRELS, BM25, DENSE = (SHOP / f"{name}.parquet" for name in ("qrels", "bm25", "dense"))


def rankframe(*args: object, stdin: bytes = b"", width: int = 100) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a call."""
    done = subprocess.run(
        [sys.executable, "-c", "from rankframe.cli.app import main; main()", *map(str, args)],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, "COLUMNS": str(width)},
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def refused(*args: object, stdin: bytes = b"") -> str:
    """The one line that a refused call prints."""
    code, out, err = rankframe(*args, stdin=stdin)
    assert (code, out) == (2, "")
    assert err.startswith("rankframe: ")
    assert err.count("\n") == 1
    return err


def test_demo_evaluates_the_shipped_data_and_says_what_next() -> None:
    code, out, err = rankframe("demo")
    assert (code, err) == (0, "")
    assert all(word in out for word in ("bm25", "dense", "hybrid", "ndcg@10", "Try next", "locale"))


def test_table_has_a_column_for_each_run_and_the_caveats() -> None:
    code, out, _ = rankframe("evaluate", QRELS, BM25, DENSE, "-m", "ndcg@10", "-m", "lag")
    assert code == 0
    assert "30 missing from the run" in out
    row = next(line for line in out.splitlines() if "ndcg@10" in line)
    expected = [rf.evaluate(QRELS, run, "ndcg@10")["ndcg@10"] for run in (BM25, DENSE)]
    assert row.split()[1:4:2] == [f"{value:.4f}" for value in expected]


def test_ledger_shows_what_was_counted_and_the_policies() -> None:
    _, out, _ = rankframe("evaluate", QRELS, DENSE, "-m", "map", "--ledger", "--missing", "skip")
    assert "queries_missing" in out
    assert "missing: skip" in out


def test_json_has_full_precision() -> None:
    _, out, _ = rankframe("evaluate", QRELS, BM25, "-m", "map", "--format", "json")
    (entry,) = json.loads(out)
    assert entry["metrics"]["map"] == rf.evaluate(QRELS, BM25, "map")["map"]
    assert entry["counted"]["qrels_queries"] == 1960
    assert entry["policies"]["ties"] == "doc_desc"


def test_csv_and_markdown_go_into_other_programs() -> None:
    _, csv, _ = rankframe("evaluate", QRELS, BM25, "-m", "map", "--format", "csv")
    assert pl.read_csv(csv.encode()).columns == [
        "run",
        *rf.evaluate(QRELS, BM25, "map").summary.columns,
    ]
    _, markdown, _ = rankframe("evaluate", QRELS, BM25, "-m", "map", "--format", "markdown")
    assert markdown.splitlines()[0] == "| metric | bm25 |"


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_per_query_and_summary_files(tmp_path: Path, ending: str) -> None:
    per_query, summary = tmp_path / f"pq.{ending}", tmp_path / f"s.{ending}"
    rankframe(
        "evaluate", QRELS, BM25, DENSE, "-m", "map",
        "--per-query", per_query, "--summary", summary,
    )  # fmt: skip
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[ending]
    assert read(per_query).columns == ["run", "query_id", "map"]
    assert read(per_query).height == 2 * 1960
    assert read(summary)["run"].to_list() == ["bm25", "dense"]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([per_query.name, summary.name])


def test_a_result_goes_to_a_folder(tmp_path: Path) -> None:
    one, both = tmp_path / "one", tmp_path / "both"
    assert rankframe("evaluate", QRELS, BM25, "-m", "map", "-o", one)[0] == 0
    assert rankframe("evaluate", QRELS, BM25, DENSE, "-m", "map", "-o", both)[0] == 0
    stored = rf.Result.read(one)
    assert stored.per_query.equals(rf.Result.read(both / "bm25").per_query)
    assert rf.Result.read(both / "dense").count("queries_evaluated") == stored.per_query.height
    code, out, err = rankframe("evaluate", QRELS, BM25, "-m", "map", "-o", one)
    assert (code, out) == (2, "")
    assert "holds a result already. Pass --overwrite to replace it." in err
    assert rankframe("evaluate", QRELS, BM25, "-m", "mrr", "-o", one, "--overwrite")[0] == 0
    # Nothing is done where not all can be.
    shutil.rmtree(both / "bm25")
    assert rankframe("evaluate", QRELS, BM25, DENSE, "-m", "map", "-o", both)[0] == 2
    assert not (both / "bm25").exists()


def test_a_diff_is_of_one_metric() -> None:
    code, _, err = rankframe("diff", QRELS, BM25, DENSE, "-m", "map", "-m", "mrr")
    assert code == 2
    assert "-m is taken once here, not 2 times: map, mrr." in " ".join(err.split())


def test_agree_compares_two_rankings(tmp_path: Path) -> None:
    target = tmp_path / "pq.parquet"
    code, out, err = rankframe(
        "agree", BM25, DENSE, "-m", "rbo", "-m", "kendall_tau@10", "--per-query", target
    )
    assert (code, err) == (0, "")
    assert "bm25 ~ dense: 2,000 queries compared, 30 only in the first ranking" in out
    expected = rf.agree(BM25, DENSE, ["rbo", "kendall_tau@10"])
    assert pl.read_parquet(target).drop("run").equals(expected.per_query)
    code, out, _ = rankframe("agree", QRELS, BM25, "-m", "fcp", "--format", "json")
    assert json.loads(out)[0]["metrics"] == {"fcp": rf.agree(QRELS, BM25, "fcp")["fcp"]}
    code, out, err = rankframe("agree", BM25, DENSE, "-m", "ndcg@10")
    assert (code, out) == (2, "")
    assert "compares a run with judgments" in err


def test_stdin_holds_trec_or_csv(tmp_path: Path) -> None:
    for ending in ("trec", "csv"):
        run = tmp_path / f"run.{ending}"
        assert rankframe("convert", BM25, run)[0] == 0
        code, out, _ = rankframe(
            "evaluate", QRELS, "-", "-m", "map", "--format", "csv", stdin=run.read_bytes()
        )
        assert code == 0
        assert out.startswith("run,metric,value,ci_low,ci_high,std,queries\nstdin,map,0.44529")


def test_convert_keeps_every_value_on_the_way_round(tmp_path: Path) -> None:
    steps = [BM25, *(tmp_path / f"run.{e}" for e in ("trec.gz", "csv", "jsonl", "tsv", "parquet"))]
    for source, target in itertools.pairwise(steps):
        code, out, err = rankframe("convert", source, target)
        assert (code, out) == (0, "")
        assert err == f"{target}: 91,533 rows of run\n"
    key = ["query_id", "doc_id"]
    before, after = (pl.read_parquet(p).sort(key) for p in (BM25, steps[-1]))
    assert after.select(before.columns).equals(before)


def test_convert_knows_judgments(tmp_path: Path) -> None:
    target = tmp_path / "qrels.trec"
    _, _, err = rankframe("convert", QRELS, target)
    assert err.endswith("27,370 rows of qrels\n")
    assert target.read_text().startswith("q0001 0 sku-")


def test_convert_refuses_ids_that_trec_text_cannot_hold(tmp_path: Path) -> None:
    source = tmp_path / "run.csv"
    source.write_text("query_id,doc_id,score\nq 1,d1,1.0\n")
    assert "hold white space or begin with #, e.g. 'q 1'" in refused(
        "convert", source, tmp_path / "run.trec"
    )
    assert not (tmp_path / "run.trec").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((QRELS, BM25, "-m", "ndgc@10"), "Did you mean 'ndcg@10'"),
        ((QRELS, SHOP / "bm26.parquet"), "no such file. Did you mean 'bm25.parquet'?"),
        ((BM25, QRELS), "The judgments come first"),
        ((QRELS, BM25, "-c", "query_id=foo"), "no column 'foo'"),
        ((QRELS, BM25, "-c", "qid=foo"), "--column names 'qid'"),
        ((QRELS, BM25, "-c", "foo"), "--column reads NAME=YOURS"),
        ((QRELS, BM25, "--missing", "no"), "is not one of 'zero', 'skip', 'error'"),
        ((QRELS, BM25, "--missing", "error", "--k-max", "0"), "k_max must be a whole number"),
        ((QRELS, DENSE, "--missing", "error"), "lacks 30 of 1,960 judged queries"),
        ((QRELS, BM25, "--per-query", "out.xyz"), "cannot tell the format of out.xyz"),
        ((QRELS, BM25, "--per-query", "no/such/folder/x.csv"), "there is no folder"),
        ((QRELS, BM25, "--nonsense"), "No such option"),
        ((QRELS,), "Missing argument 'RUN'"),
        (("-", "-"), "standard input (-) can be read only once"),
        ((QRELS, "-"), "run is empty"),
    ],
)
def test_bad_usage_ends_with_one_line_and_code_2(args: tuple[object, ...], said: str) -> None:
    assert said in refused("evaluate", *args)


def test_duplicates_are_explained_in_flags(tmp_path: Path) -> None:
    run = pl.read_parquet(BM25)
    twice = tmp_path / "twice.parquet"
    pl.concat([run, run.head(14)]).write_parquet(twice)
    message = refused("evaluate", QRELS, twice)
    assert "14 duplicate (query_id, doc_id) pairs" in message
    assert message.endswith("or pass --duplicates keep_best.\n")
    assert rankframe("evaluate", QRELS, twice, "--duplicates", "keep_best")[0] == 0


def test_metrics_lists_all_and_explains_one_in_any_spelling() -> None:
    _, out, _ = rankframe("metrics")
    assert all(name in out for name in ("ndcg@k", "average_precision@k", "r_score"))
    _, page, _ = rankframe("metrics", "nDCG@10")
    assert "dcg@k ÷ dcg@k of the ideal list" in page
    assert "unknown metric 'ndgc'" in refused("metrics", "ndgc")


def test_version() -> None:
    assert rankframe("--version") == (0, f"rankframe {rf.__version__}\n", "")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -c 'from rankframe.cli.app import main; main()' metrics | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.stderr == b""


@pytest.mark.parametrize("command", ["", "evaluate", "agree", "metrics", "convert", "demo"])
def test_help_fits_the_terminal(command: str) -> None:
    code, out, _ = rankframe(*command.split(), "--help", width=80)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80


def test_names_of_runs_are_told_apart(tmp_path: Path) -> None:
    copy = tmp_path / "bm25.parquet"
    copy.write_bytes(BM25.read_bytes())
    _, out, _ = rankframe("evaluate", QRELS, BM25, copy, "-m", "map", "--format", "csv")
    assert pl.read_csv(out.encode())["run"].to_list() == [str(BM25), str(copy)]


def _stored(tmp_path: Path, run: Path, *metrics: str) -> Path:
    asked = [part for metric in metrics for part in ("-m", metric)]
    folder = tmp_path / run.stem
    assert rankframe("evaluate", QRELS, run, *asked, "-o", folder)[0] == 0
    return folder


def test_slices_and_intervals_are_shown() -> None:
    queries = SHOP / "queries.parquet"
    args = ("evaluate", QRELS, BM25, "-m", "ndcg@10", "--queries", queries, "--by", "locale,device")
    code, out, _ = rankframe(*args, "--ci", "t", "--confidence", "0.9")
    assert code == 0
    assert "locale × device: es × tablet" in out
    assert "(few)" in out
    assert "±" in out
    _, csv, _ = rankframe(*args, "--format", "csv")
    frame = pl.read_csv(csv.encode())
    assert frame.columns[:4] == ["run", "by", "slice", "metric"]
    assert frame["slice"].null_count() == 1
    _, told, _ = rankframe(*args, "--format", "json")
    assert len(json.loads(told)[0]["slices"]) == 12


def test_compare_prints_fits_and_stores(tmp_path: Path) -> None:
    args = ("compare", QRELS, BM25, DENSE, "-m", "ndcg@10", "-m", "lag", "--baseline", "bm25")
    code, out, err = rankframe(*args, "--bounds", "--ledger", "-o", tmp_path / "found")
    assert (code, err) == (0, "")
    assert "+0.0582" in out
    assert "if relevant" in out
    assert "queries_compared" in out
    assert max(map(len, out.splitlines())) <= 100
    assert sorted(p.name for p in (tmp_path / "found").iterdir()) == [
        "ledger.parquet", "systems.parquet", "table.parquet",
    ]  # fmt: skip
    narrow = rankframe(*args, width=70)[1]
    assert "want of room: W/T/L" in " ".join(narrow.split())
    assert max(map(len, narrow.splitlines())) <= 70


@pytest.mark.parametrize(
    ("style", "start"),
    [("latex", "\\begin{table}"), ("markdown", "| system | ndcg@10 |"), ("csv", "metric,by,slice,"),
     ("json", "{")],
)  # fmt: skip
def test_compare_speaks_other_formats(style: str, start: str) -> None:
    _, out, _ = rankframe("compare", QRELS, BM25, DENSE, "-m", "ndcg@10", "--format", style)
    assert out.startswith(start)


def test_compare_takes_stored_values(tmp_path: Path) -> None:
    folders = [_stored(tmp_path, run, "ndcg@10") for run in (BM25, DENSE)]
    live = rankframe("compare", QRELS, BM25, DENSE, "-m", "ndcg@10", "--format", "csv")[1]
    stored = rankframe("compare", "--stored", *folders, "--format", "csv")[1]
    columns = pl.exclude("judged", "judged_baseline")
    one, other = (pl.read_csv(text.encode()).select(columns) for text in (live, stored))
    assert one.equals(other)
    both = tmp_path / "both.parquet"
    rankframe("evaluate", QRELS, BM25, DENSE, "-m", "ndcg@10", "--per-query", both)
    stacked = rankframe("compare", "--stored", both, "--format", "csv")[1]
    assert pl.read_csv(stacked.encode()).select(columns).equals(one)


def test_diff_shows_what_moved(tmp_path: Path) -> None:
    moved = tmp_path / "moved.csv"
    code, out, _ = rankframe(
        "diff", QRELS, BM25, DENSE, "-m", "ndcg@10", "--most", 1, "--documents", moved
    )
    assert code == 0
    assert "1,171 better" in out
    assert "q0755  0.0000 → 1.0000  (+1.0000)" in out
    assert "entered" in out
    assert pl.read_csv(moved).height == 18
    asked = rankframe("diff", QRELS, BM25, DENSE, "--query", "q1038", "--format", "json")[1]
    assert [row["query_id"] for row in json.loads(asked)["movers"]] == ["q1038"]
    assert "Did you mean" in refused("diff", QRELS, BM25, DENSE, "--query", "q10388")


NO_WORSE = "ndcg@10: no worse than -0.5% at 95%"


@pytest.mark.parametrize(
    ("run", "more", "code", "headline"),
    [
        ("hybrid", ["-r", NO_WORSE], 0, "PASS: 1 passed (1,960 queries)"),
        ("bm25", ["-r", NO_WORSE], 0, "PASS: 1 passed"),
        ("hybrid", ["-r", "ndcg@10: better than 50%"], 1, "FAIL: 1 failed"),
        ("dense", ["-r", f"{NO_WORSE} per locale", "--queries", "QUERIES"], 1, "FAIL: 3 passed"),
        ("hybrid", ["-r", NO_WORSE, "--min-queries", 5000], 2, "UNDECIDED"),
        ("hybrid", ["-r", NO_WORSE, "--min-judged", "10=0.9"], 2, "UNDECIDED"),
    ],
)  # fmt: skip
def test_the_gate_ends_with_its_verdict(tmp_path: Path, run, more, code: int, headline: str):
    baseline = _stored(tmp_path, BM25, "ndcg@10")
    more = [SHOP / "queries.parquet" if part == "QUERIES" else part for part in more]
    told, junit = tmp_path / "gate.json", tmp_path / "gate.xml"
    files = ("--json", told, "--junit", junit)
    done = rankframe("gate", QRELS, SHOP / f"{run}.parquet", "-b", baseline, *more, *files)
    assert (done[0], done[2]) == (code, "")
    assert headline in done[1]
    assert json.loads(told.read_text(encoding="utf-8"))["exit_code"] == code
    assert junit.read_text(encoding="utf-8").startswith("<?xml")


def test_the_gate_cannot_decide_on_bad_input(tmp_path: Path) -> None:
    baseline = _stored(tmp_path, BM25, "ndcg@10")
    for args in (
        [QRELS, tmp_path / "none.parquet", "-b", baseline, "-r", NO_WORSE],
        [QRELS, DENSE, "-b", tmp_path / "none", "-r", NO_WORSE],
        [QRELS, DENSE, "-b", baseline, "-r", "ndcg@10 is fine"],
        [QRELS, DENSE, "-b", baseline],
        [QRELS, DENSE, DENSE, "-b", baseline, "-r", NO_WORSE],
        [QRELS, DENSE, "-b", baseline, "-r", "mrr: at least 0"],
        [QRELS, DENSE, "-b", baseline, "-r", NO_WORSE, "--missing", "skip"],
        [QRELS, DENSE, "-b", baseline, "-r", NO_WORSE, "--min-judged", "lots"],
    ):
        refused("gate", *args)


def test_the_rules_of_the_documentation_hold(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    rules = tmp_path / "gate.toml"
    rules.write_text(page.split("```toml\n")[1].split("```")[0])
    baseline = _stored(tmp_path, BM25, "ndcg@10", "mrr@10", "judged@10")
    hybrid = _stored(tmp_path, SHOP / "hybrid.parquet", "ndcg@10", "mrr@10", "judged@10")
    more = ("-b", baseline, "--rules", rules, "--queries", SHOP / "queries.parquet")
    for candidate in ([QRELS, SHOP / "hybrid.parquet"], [hybrid]):
        code, out, _ = rankframe("gate", *candidate, *more)
        assert code == 0
        assert "PASS: 6 passed (1,960 queries)" in out
