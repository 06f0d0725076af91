"""`rankframe evaluate`: what it prints, and what it writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.cli.evaluate import _target
from tests.cli.shell import BM25, DENSE, QRELS, SHOP, rankframe, refused


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


def test_a_run_that_nothing_orders_is_refused_with_the_flags_to_pass(tmp_path: Path) -> None:
    run = tmp_path / "run.csv"
    run.write_text("query,doc,price\nq0001,a,1\nq0001,b,2\n")
    asked = ("evaluate", QRELS, run, "-m", "map", "--no-overlap", "zero")
    assert refused(*asked) == (
        "rankframe: run has neither a score nor a rank column; it has 'query', 'doc', 'price'. "
        "These could be scores: 'price'. Say which: --column score=price, or pass --order rows if "
        "its rows are in the order of the ranking.\n"
    )
    for given, order in (("--order", "rows"), "as the rows stand"), (
        ("-c", "distance=price"), "by 'price', the smallest first",
    ):  # fmt: skip
        _, out, _ = rankframe(*asked, *given, "--format", "json")
        assert json.loads(out)[0]["ordered"] == {"run_order": order}


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
    assert markdown.splitlines()[0] == "| metric | bm25 | queries |"


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


def test_several_results_come_together_or_not_at_all(tmp_path: Path) -> None:
    broken, folder = tmp_path / "broken.parquet", tmp_path / "out"
    pl.read_parquet(BM25).with_columns(score=float("nan")).write_parquet(broken)
    assert "NaN score" in refused("evaluate", QRELS, BM25, broken, "-m", "map", "-o", folder)
    assert list(tmp_path.iterdir()) == [broken]
    rf.evaluate(QRELS, BM25, "mrr", output=folder / "bm25")
    rf.evaluate(QRELS, BM25, "mrr", output=folder / "other")
    options = ("-m", "map", "-o", folder, "--overwrite")
    assert "NaN score" in refused("evaluate", QRELS, BM25, broken, *options)
    assert list(rf.Result.read(folder / "bm25").means) == ["mrr"]
    assert rankframe("evaluate", QRELS, BM25, DENSE, *options)[0] == 0
    found = {p.name: list(rf.Result.read(p).means) for p in folder.iterdir()}
    assert found == {"bm25": ["map"], "dense": ["map"], "other": ["mrr"]}


def test_names_of_runs_lead_nowhere_else(tmp_path: Path) -> None:
    runs = [tmp_path / name / "run.parquet" for name in "ab"]
    for run in (*runs, tmp_path / "...parquet"):
        run.parent.mkdir(exist_ok=True)
        shutil.copy(BM25, run)
    before = sorted(tmp_path.rglob("*"))
    folder = tmp_path / "out"
    code, _, err = rankframe(
        "evaluate", QRELS, *runs, "-m", "map", "-o", folder, "--per-query", tmp_path / "v.parquet"
    )
    assert (code, err) == (0, "")
    assert (
        rankframe("evaluate", QRELS, tmp_path / "...parquet", BM25, "-m", "map", "-o", folder)[0]
        == 0
    )
    assert len(list(folder.iterdir())) == 4
    written = {folder, tmp_path / "v.parquet", *folder.rglob("*")}
    assert sorted(set(tmp_path.rglob("*")) - written) == before


def test_outputs_that_are_inputs_or_elsewhere_are_refused(tmp_path: Path) -> None:
    qrels = tmp_path / "q.parquet"
    shutil.copy(QRELS, qrels)
    before = qrels.read_bytes()
    assert "is also an input" in refused("evaluate", qrels, BM25, "--summary", qrels)
    assert qrels.read_bytes() == before
    said = refused("evaluate", qrels, BM25, "-o", "s3://bucket/result")
    assert said.endswith("disks, not to s3://bucket/result.\n")


def test_stdin_holds_trec_or_csv(tmp_path: Path) -> None:
    for ending in ("trec", "csv"):
        run = tmp_path / f"run.{ending}"
        assert rankframe("convert", BM25, run)[0] == 0
        code, out, _ = rankframe(
            "evaluate", QRELS, "-", "-m", "map", "--format", "csv", stdin=run.read_bytes()
        )
        assert code == 0
        assert out.startswith("run,metric,value,ci_low,ci_high,std,queries\nstdin,map,0.44529")


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


# On Spark: what needs no cluster. With one: tests/spark.


@pytest.mark.parametrize("place", ["s3://bucket/out", "abfss://a@b/c", "out/result", "/data/out"])
def test_a_place_on_the_cluster_keeps_its_slashes(place: str) -> None:
    assert _target(Path(place)) == place


def test_each_engine_has_its_options() -> None:
    there = refused("evaluate", QRELS, BM25, "--engine", "spark", "--max-memory", "1GiB")
    assert "--max-memory has no meaning with --engine spark." in there
    here = refused("evaluate", QRELS, BM25, "--partitions", "2")
    assert "--partitions has no meaning with --engine polars." in here
