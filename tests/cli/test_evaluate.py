"""`rankframe evaluate`: what it prints, and what it writes."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.cli.evaluate import _address
from tests.cli.shell import BM25, DENSE, QRELS, SHOP, rankframe


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


def test_a_run_that_nothing_orders_is_refused_with_the_flags_to_pass(
    tmp_path: Path, refused
) -> None:
    run = tmp_path / "run.csv"
    run.write_text("query,doc,price\nq0001,a,1\nq0001,b,2\n")
    asked = ("evaluate", QRELS, run, "-m", "map", "--no-overlap", "zero")
    refused(*asked)
    for given, order in (("--order", "rows"), "as the rows stand"), (
        ("-c", "distance=price"), "by 'price', the smallest first",
    ):  # fmt: skip
        _, out, _ = rankframe(*asked, *given, "--format", "json")
        assert json.loads(out)[0]["ordered"] == {"run_order": order}


def test_lists_are_unrolled_and_need_no_flag(tmp_path: Path, refused) -> None:
    lists = {"user": ["u1", "u2"], "items": [["x", "a"], ["b"]]}
    pl.DataFrame({**lists, "scores": [[1.0], [2.0]]}).write_parquet(tmp_path / "bad.parquet")
    pl.DataFrame(lists).write_parquet(tmp_path / "run.parquet")
    qrels = tmp_path / "qrels.jsonl"
    qrels.write_text('{"user": "u1", "relevant": ["a"]}\n{"user": "u2", "relevant": ["b", "c"]}\n')
    asked = ("-m", "mrr", "--format", "json")
    _, out, _ = rankframe("evaluate", qrels, tmp_path / "run.parquet", *asked)
    found = json.loads(out)[0]
    assert found["ordered"] == {"run_order": "as the lists stand"}
    assert found["metrics"]["mrr"] == 0.75
    refused("evaluate", qrels, tmp_path / "bad.parquet", *asked)


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


def test_columns_of_one_side_and_grades_of_pairs(tmp_path: Path, refused) -> None:
    pairs, run = tmp_path / "pairs.csv", tmp_path / "run.csv"
    pairs.write_text("query_id,doc_id\nq1,a\nq2,b\n")
    run.write_text("Query-ID,what,score\nq1,x,2\nq1,a,1\nq2,b,1\n")
    rest = ("-m", "mrr", "--format", "json")
    refused("evaluate", pairs, run, "--relevance", 1)
    refused("evaluate", pairs, run, "-c", "doc_id=what")
    refused(
        "evaluate", pairs, run, "-c", "run.doc_id=what", "-c", "query_id=nowhere", "--relevance", 1
    )
    for column in ("run.doc_id=what", "doc_id=what"):
        code, out, _ = rankframe("evaluate", pairs, run, "-c", column, "--relevance", 1, *rest)
        assert code == 0
        assert json.loads(out)[0]["metrics"]["mrr"] == 0.75


def test_a_result_goes_to_a_folder(tmp_path: Path, message) -> None:
    one, both = tmp_path / "one", tmp_path / "both"
    assert rankframe("evaluate", QRELS, BM25, "-m", "map", "-o", one)[0] == 0
    assert rankframe("evaluate", QRELS, BM25, DENSE, "-m", "map", "-o", both)[0] == 0
    stored = rf.Result.read(one)
    assert stored.per_query.equals(rf.Result.read(both / "bm25").per_query)
    assert rf.Result.read(both / "dense").count("queries_evaluated") == stored.per_query.height
    code, out, err = rankframe("evaluate", QRELS, BM25, "-m", "map", "-o", one)
    assert (code, out) == (2, "")
    message(err)
    assert rankframe("evaluate", QRELS, BM25, "-m", "mrr", "-o", one, "--overwrite")[0] == 0
    # Nothing is done where not all can be.
    shutil.rmtree(both / "bm25")
    assert rankframe("evaluate", QRELS, BM25, DENSE, "-m", "map", "-o", both)[0] == 2
    assert not (both / "bm25").exists()


def test_several_results_come_together_or_not_at_all(tmp_path: Path, refused) -> None:
    broken, folder = tmp_path / "broken.parquet", tmp_path / "out"
    pl.read_parquet(BM25).with_columns(score=float("nan")).write_parquet(broken)
    refused("evaluate", QRELS, BM25, broken, "-m", "map", "-o", folder)
    assert list(tmp_path.iterdir()) == [broken]
    rf.evaluate(QRELS, BM25, "mrr", output=folder / "bm25")
    rf.evaluate(QRELS, BM25, "mrr", output=folder / "other")
    options = ("-m", "map", "-o", folder, "--overwrite")
    refused("evaluate", QRELS, BM25, broken, *options)
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


def test_outputs_that_are_inputs_or_elsewhere_are_refused(tmp_path: Path, refused) -> None:
    qrels = tmp_path / "q.parquet"
    shutil.copy(QRELS, qrels)
    before = qrels.read_bytes()
    refused("evaluate", qrels, BM25, "--summary", qrels)
    assert qrels.read_bytes() == before
    refused("evaluate", qrels, BM25, "-o", "https://x.org/result")


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


def test_results_and_tables_at_an_address(s3_environment, tmp_path: Path, refused) -> None:
    s3 = s3_environment
    qrels = s3.put("cli/qrels.parquet", QRELS.read_bytes())
    run = s3.put("cli/bm25.parquet", BM25.read_bytes())
    asked = ("evaluate", qrels, run, "-m", "ndcg@10", "-q")
    here = tmp_path / "values.parquet"
    assert rankframe(*asked, "--per-query", here)[0] == 0
    there = ("-o", "s3://shop/cli/out", "--per-query", "s3://shop/cli/values.parquet",
             "--summary", "s3://shop/cli/summary.csv.gz")  # fmt: skip
    code, out, err = rankframe(*asked, *there)
    assert (code, err) == (0, "")
    assert "bm25" in out
    assert s3.read("cli/values.parquet") == here.read_bytes()
    assert gzip.decompress(s3.read("cli/summary.csv.gz")).startswith(b"run,metric,value")
    assert s3.keys("cli/out") == ["ledger.parquet", "per_query.parquet", "summary.parquet"]
    refused(*asked, *there)
    refused(*asked, "--summary", run)


def test_options_for_an_address_on_the_shell(s3, refused) -> None:
    run = s3.put("cli/dense.parquet", DENSE.read_bytes())
    reached = [f"--storage-option={name}={value}" for name, value in s3.options.items()]
    target = "s3://shop/cli/dense.trec"
    code, _, err = rankframe("convert", run, target, *reached)
    assert (code, err.splitlines()[-1]) == (0, f"{target}: 96,982 rows of run")
    pair = (QRELS, run, BM25, "-m", "ndcg@10", "-o", "s3://shop/cli/both", "-q")
    assert rankframe("evaluate", *pair, *reached)[0] == 0
    stored = ("s3://shop/cli/both/dense", "--baseline", "s3://shop/cli/both/bm25")
    code, out, _ = rankframe("gate", *stored, "-r", "ndcg@10: no worse than -1%", "-q", *reached)
    assert (code, "PASS" in out) == (0, True)
    refused("evaluate", QRELS, run, "--engine", "spark", *reached)


# On Spark: what needs no cluster. With one: tests/spark.


@pytest.mark.parametrize("place", ["s3://bucket/out", "abfss://a@b/c", "out/result", "/data/out"])
def test_a_place_on_the_cluster_keeps_its_slashes(place: str) -> None:
    assert _address(Path(place)) == place


def test_each_engine_has_its_options(refused) -> None:
    refused("evaluate", QRELS, BM25, "--engine", "spark", "--max-memory", "1GiB")
    refused("evaluate", QRELS, BM25, "--partitions", "2")


def test_chunks_are_rolled_up_to_what_is_judged(tmp_path: Path, refused) -> None:
    qrels, run, units = (tmp_path / f"{name}.parquet" for name in ("qrels", "run", "units"))
    pl.DataFrame({"query_id": ["q"], "doc_id": ["b"], "relevance": [1]}).write_parquet(qrels)
    documents = ["a#1", "a#2", "b#1"]
    scored = {"query_id": ["q"] * 3, "doc_id": documents, "score": [3, 2, 1]}
    pl.DataFrame(scored).write_parquet(run)
    pl.DataFrame({"chunk_id": documents, "doc_id": ["a", "a", "b"]}).write_parquet(units)
    for how, value in (
        (["--unit", units], "0.5"),
        (["--unit-split", "#"], "0.5"),
        (["--unit-split", "#", "--unit-ranks", "kept"], "0.3333"),
    ):
        code, out, _ = rankframe("evaluate", qrels, run, "-m", "mrr", "--format", "csv", *how)
        assert (code, value in out) == (0, True)
    refused("evaluate", qrels, run, "--unit", units, "--unit-split", "#")
    refused("evaluate", qrels, run)


def test_slices_of_items_and_gaps_are_shown(tmp_path: Path) -> None:
    docs = pl.read_parquet(BM25)["doc_id"].unique().sort()
    items = pl.DataFrame({"doc_id": docs, "kind": pl.Series(["a", "b"]).gather(docs.hash(1) % 2)})
    ids = pl.read_parquet(QRELS)["query_id"].unique().sort()
    half = pl.DataFrame({"query_id": ids}).with_columns(half=pl.int_range(pl.len()) % 2)
    items.write_parquet(tmp_path / "items.parquet")
    half.write_parquet(tmp_path / "queries.parquet")
    asked = ("-m", "gap(ndcg@10, by=half)", "--queries", tmp_path / "queries.parquet", "--items",
             tmp_path / "items.parquet", "--items-by", "kind")  # fmt: skip
    code, out, _ = rankframe("evaluate", QRELS, BM25, *asked)
    assert code == 0
    assert "gap(ndcg@10, by=half)" in out
    assert "bm25, items by kind: in the top 10 of all lists" in out
    code, out, _ = rankframe("evaluate", QRELS, BM25, *asked, "--format", "json")
    (found,) = json.loads(out)
    assert [row["slice"] for row in found["items"]] == ["a", "b"]
    assert sum(row["share_of_places"] for row in found["items"]) == pytest.approx(1)
    assert found["metrics"].keys() == {"ndcg@10", "gap(ndcg@10, by=half)"}
    code, out, _ = rankframe("evaluate", QRELS, BM25, *asked, "--format", "markdown")
    assert "| kind | documents |" in out
