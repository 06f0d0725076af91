"""`rankframe gate`: its verdict is its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.cli.shell import (
    BM25,
    DENSE,
    MAIN,
    QRELS,
    ROOT,
    SHOP,
    rankframe,
    stored_result,
)

NO_WORSE = "ndcg@10: no worse than -0.5% at 95%"
GAP = "gap(ndcg@10, by=locale): no worse than -0.5"


@pytest.mark.parametrize(
    ("run", "more", "code", "headline"),
    [
        ("hybrid", ["-r", NO_WORSE], 0, "PASS: 1 passed (1,960 queries)"),
        ("bm25", ["-r", NO_WORSE], 0, "PASS: 1 passed"),
        ("hybrid", ["-r", "ndcg@10: better than 50%"], 1, "FAIL: 1 failed"),
        ("dense", ["-r", f"{NO_WORSE} per locale", "--queries", "QUERIES"], 1, "FAIL: 3 passed"),
        ("hybrid", ["-r", GAP, "--queries", "QUERIES"], 0, "PASS: 1 passed"),
        ("hybrid", ["-r", NO_WORSE, "--min-queries", 5000], 2, "UNDECIDED"),
        ("hybrid", ["-r", NO_WORSE, "--min-judged", "10=0.9"], 2, "UNDECIDED"),
    ],
)  # fmt: skip
def test_the_gate_ends_with_its_verdict(tmp_path: Path, run, more, code: int, headline: str):
    baseline = stored_result(tmp_path, BM25, "ndcg@10")
    more = [SHOP / "queries.parquet" if part == "QUERIES" else part for part in more]
    told, junit = tmp_path / "gate.json", tmp_path / "gate.xml"
    files = ("--json", told, "--junit", junit)
    done = rankframe("gate", QRELS, SHOP / f"{run}.parquet", "-b", baseline, *more, *files)
    assert done[0] == code
    assert done[2].count("[queries_missing]") == (run == "dense")
    assert headline in done[1]
    assert json.loads(told.read_text(encoding="utf-8"))["exit_code"] == code
    assert junit.read_text(encoding="utf-8").startswith("<?xml")


def test_what_becomes_of_its_output_is_no_verdict(tmp_path: Path) -> None:
    baseline = stored_result(tmp_path, BM25, "ndcg@10")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "full").symlink_to("/dev/full")
    for rule, verdict in (("at least 0", 0), ("better than 50%", 1)):
        gate = f"gate {QRELS} {BM25} -b {baseline} -r 'ndcg@10: {rule}'"
        for line, code in (
            (f"{gate} --json {tmp_path}/null | true", verdict),
            (f"{gate} >&- 2>&-", verdict),
            (f"{gate} > /dev/full", 2),
            (f"{gate} --json {tmp_path}/full", 2),
        ):
            command = f"{sys.executable} -c '{MAIN}' {line}; exit ${{PIPESTATUS[0]}}"
            done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
            assert done.returncode == code, line
            assert done.stderr.count(b"\n") == (code == 2), line
    assert Path("/dev/null").is_char_device()


def test_the_gate_cannot_decide_on_bad_input(tmp_path: Path, refused) -> None:
    baseline = stored_result(tmp_path, BM25, "ndcg@10")
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


def test_directions_of_columns_are_said_on_the_command_line(tmp_path: Path, refused) -> None:
    queries = [f"q{n}" for n in range(40)]
    slow = pl.DataFrame({"query_id": queries, "latency": [100.0 + n % 7 for n in range(40)]})
    old, new = tmp_path / "old.parquet", tmp_path / "new.parquet"
    slow.write_parquet(old)
    slow.with_columns(pl.col("latency") * 1.2).write_parquet(new)
    args = ("gate", new, "-b", old, "-r", "latency: no worse than -5%")
    refused(*args)
    assert rankframe(*args, "--lower-is-better", "latency")[0] == 1
    assert rankframe(*args, "--higher-is-better", "latency")[0] == 0
    compared = ("compare", "--stored", old, new, "--lower-is-better", "latency")
    assert "0/0/40" in rankframe(*compared)[1]


def test_the_rules_of_the_documentation_hold(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    rules = tmp_path / "gate.toml"
    rules.write_text(page.split("```toml\n")[1].split("```")[0])
    baseline = stored_result(tmp_path, BM25, "ndcg@10", "mrr@10", "judged@10")
    hybrid = stored_result(tmp_path, SHOP / "hybrid.parquet", "ndcg@10", "mrr@10", "judged@10")
    more = ("-b", baseline, "--rules", rules, "--queries", SHOP / "queries.parquet")
    for candidate in ([QRELS, SHOP / "hybrid.parquet"], [hybrid]):
        code, out, _ = rankframe("gate", *candidate, *more)
        assert code == 0
        assert "PASS: 6 passed (1,960 queries)" in out
