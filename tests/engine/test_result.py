"""Results: shown, answered by name, exported, written whole or not at all."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
import rankframe.engine.result as result_module
from rankframe.core.errors import OutputError
from rankframe.engine.result import about_frame, names_in_file
from rankframe.io.outputs import read_about, write_parquet
from rankframe.io.remote import Remote


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def result(qrels: pl.DataFrame, run: pl.DataFrame) -> rf.Result:
    extra = pl.DataFrame({"query_id": ["q3", "q4"], "doc_id": ["z", "z"], "relevance": [0, 1]})
    return rf.evaluate(pl.concat([qrels, extra]), run, ["map", "ndcg@10", "lag"])


def test_repr_shows_values_and_what_was_counted(result: rf.Result) -> None:
    assert repr(result).splitlines() == [
        "rankframe result",
        "  map      0.3125  0.0000 to 1.0000  4 queries",
        "  ndcg@10  0.3699  0.0000 to 1.0000  4 queries",
        "  lag      0.5000  0.0000 to 1.0000  2 queries",
        (
            "  Warning: 50.0% of the judged queries are not in the run. They score 0 "
            "[queries_missing]"
        ),
        (
            "  4 queries evaluated, 2 missing from the run, 1 without relevant documents, "
            "42% of the top 10 judged"
        ),
    ]


def test_repr_says_undefined_where_no_query_has_a_value(qrels, run) -> None:
    result = rf.evaluate(qrels, run.with_columns(doc_id=pl.lit("?")).unique(["query_id"]), "lag",
                         no_overlap="zero")  # fmt: skip
    assert result["lag"] is None
    assert "undefined" in repr(result)
    assert "undefined" in result._repr_html_()


def test_html_shows_the_same_and_escapes_labels(qrels, run) -> None:
    label = "<script>alert(1)</script>"
    text = rf.evaluate(qrels, run, pl.col("rank").min().alias(label))._repr_html_()
    text = text.replace(" style='text-align:right'", "")
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<td>1.5000</td><td>1.0000 to 2.0000</td><td>2</td>" in text
    assert "2 queries evaluated" in text


def test_means_and_items_give_the_values(result: rf.Result) -> None:
    assert result.means == dict(result.summary.select("metric", "value").iter_rows())
    assert result["map"] == pytest.approx(0.3125)
    assert list(result.means) == ["map", "ndcg@10", "lag"]


def test_an_unknown_metric_or_item_is_a_key_error_with_a_suggestion(result: rf.Result) -> None:
    with pytest.raises(KeyError, match=r"no metric 'ndgc@10' .* Did you mean 'ndcg@10'\?"):
        result["ndgc@10"]
    with pytest.raises(KeyError, match=r"no item 'querys_missing' .* mean 'queries_missing'\?"):
        result.count("querys_missing")


def test_count_gives_an_entry_of_the_ledger(result: rf.Result) -> None:
    assert result.count("queries_missing") == 2
    assert result.count("policy_ties") is None


@pytest.mark.parametrize("place", ["out", "new/deep/out", "out/"])
def test_a_result_comes_back_as_it_was_written(result, tmp_path: Path, place: str) -> None:
    written = result.write(f"{tmp_path}/{place}")
    again = rf.Result.read(written)
    for name in ("summary", "per_query", "ledger"):
        assert_frame_equal(getattr(again, name), getattr(result, name), check_exact=True)
    assert _names(written) == ["ledger.parquet", "per_query.parquet", "summary.parquet"]
    assert _names(written.parent) == ["out"]


def test_an_existing_result_is_replaced_only_on_request(result, qrels, run, tmp_path, refusal):
    target = result.write(tmp_path / "out")
    other = rf.evaluate(qrels, run, "mrr")
    refusal(other.write, target)
    assert rf.Result.read(target).means == result.means
    other.write(target, overwrite=True)
    assert rf.Result.read(target).means == other.means
    assert _names(tmp_path) == ["out"]


def test_an_empty_folder_is_used(result: rf.Result, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert rf.Result.read(result.write(tmp_path / "out")).means == result.means


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("foreign", ["folder", "file", "mixed"])
def test_what_is_not_a_result_is_never_touched(result, tmp_path, foreign, overwrite, refusal):
    target = tmp_path / "out"
    precious = target if foreign == "file" else target / "precious.txt"
    if foreign == "mixed":
        result.write(target)
    precious.parent.mkdir(exist_ok=True)
    precious.write_text("mine")
    refusal(result.write, target, overwrite=overwrite)
    assert precious.read_text() == "mine"
    assert _names(tmp_path) == ["out"]


def _fail_on(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let writing of one of the three files fail."""
    write = pl.LazyFrame.sink_parquet

    def failing(frame: pl.LazyFrame, path: Path, **options: Any) -> None:
        if path.name == name:
            raise OSError(28, "No space left on device")
        write(frame, path, **options)

    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", failing)


@pytest.mark.parametrize("name", ["summary.parquet", "ledger.parquet"])
def test_nothing_is_left_behind_when_writing_fails(
    result, tmp_path, monkeypatch, name, refusal
) -> None:
    _fail_on(monkeypatch, name)
    refusal(result.write, tmp_path / "out")
    assert _names(tmp_path) == []


def test_the_old_result_stays_when_writing_fails(result, qrels, run, tmp_path, monkeypatch) -> None:
    target = result.write(tmp_path / "out")
    _fail_on(monkeypatch, "ledger.parquet")
    with pytest.raises(OutputError):
        rf.evaluate(qrels, run, "mrr").write(target, overwrite=True)
    assert rf.Result.read(target).means == result.means
    assert _names(tmp_path) == ["out"]


def test_the_old_result_stays_when_the_new_one_cannot_take_its_place(
    result: rf.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal
) -> None:
    target = result.write(tmp_path / "out")

    def failing(*_: object) -> bool:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("rankframe.io.outputs._exchanged", failing)
    refusal(result.write, target, overwrite=True)
    assert rf.Result.read(target).means == result.means
    assert _names(tmp_path) == ["out"]


def test_a_place_below_a_file_cannot_be_written_to(
    result: rf.Result, tmp_path: Path, refusal
) -> None:
    (tmp_path / "file").write_text("x")
    refusal(result.write, tmp_path / "file" / "out")


def test_a_link_to_a_result_is_written_through_without_leftovers(result, tmp_path: Path) -> None:
    target = result.write(tmp_path / "out")
    (tmp_path / "latest").symlink_to(target)
    result.write(tmp_path / "latest", overwrite=True)
    assert rf.Result.read(tmp_path / "latest").means == result.means
    assert _names(tmp_path) == ["latest", "out"]


def test_reading_what_is_not_a_result_is_refused(
    result: rf.Result, tmp_path: Path, refusal
) -> None:
    refusal(rf.Result.read, tmp_path)
    target = Path(result.write(tmp_path / "out"))
    (target / "ledger.parquet").write_text("not parquet")
    refusal(rf.Result.read, target)
    (target / "ledger.parquet").unlink()
    refusal(rf.Result.read, target)


def test_parquet_files_of_the_same_names_are_not_taken_for_a_result(
    tmp_path: Path, refusal
) -> None:
    for name in ("summary", "per_query", "ledger"):
        pl.DataFrame({"x": [1]}).write_parquet(tmp_path / f"{name}.parquet")
    refusal(rf.Result.read, tmp_path)


@pytest.mark.parametrize("place", ["*glob[1]", "deep/er", "with space", "~tilde"])
def test_an_output_may_have_any_name(place: str, qrels, run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = rf.evaluate(qrels, run, "map", output=f"./{place}")
    monkeypatch.chdir("/")
    assert result.per_query.height == 2
    assert rf.Result.read(tmp_path / place).means == result.means


def test_home_is_where_a_tilde_says(qrels, run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    rf.evaluate(qrels, run, "map", output="~/result")
    assert (tmp_path / "result" / "per_query.parquet").is_file()


def test_files_of_several_results_are_not_one(qrels, run, tmp_path: Path, refusal) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    rf.evaluate(qrels, run, ["map"]).write(one)
    for metrics, queries in ((["mrr"], qrels), (["map"], qrels.filter(pl.col("query_id") == "q1"))):
        rf.evaluate(queries, run, metrics).write(other, overwrite=True)
        shutil.copy(other / "per_query.parquet", one)
        refusal(rf.Result.read, one)
    summary = one / "summary.parquet"
    pl.read_parquet(summary).with_columns(pl.col("value").cast(pl.String)).write_parquet(summary)
    refusal(rf.Result.read, one)


def test_places_that_cannot_be_are_refused(qrels, run, tmp_path: Path, refusal) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for place in (tmp_path / "loop", "x" * 300, "nul\0x", 5, "https://x.org/result"):
        assert refusal(rf.evaluate, qrels, run, "map", output=place)


def test_a_failure_leaves_no_parent_folders_behind(qrels, run, tmp_path: Path, refusal) -> None:
    bad = run.with_columns(score=float("nan"))
    refusal(rf.evaluate, qrels, bad, "map", output=tmp_path / "a" / "b" / "c")
    assert not any(tmp_path.iterdir())


def test_values_that_were_replaced_or_removed_are_not_mixed_up(
    qrels, run, tmp_path: Path, refusal
) -> None:
    first = rf.evaluate(qrels, run, "map", output=tmp_path / "out")
    rf.evaluate(qrels, run, "mrr", output=tmp_path / "out", overwrite=True)
    refusal(lambda: first.per_query)
    again = rf.Result.read(tmp_path / "out")
    (tmp_path / "out" / "per_query.parquet").unlink()
    refusal(lambda: again.per_query)


def test_values_that_were_replaced_by_such_of_the_same_metrics_are_not_mixed_up(
    qrels, run, tmp_path: Path, refusal
) -> None:
    for look in (lambda found: found.per_query, lambda found: found.scan_per_query()):
        first = rf.evaluate(qrels, run, "map", output=tmp_path / "out", overwrite=True)
        rf.evaluate(qrels, run.head(3), "map", output=tmp_path / "out", overwrite=True)
        refusal(look, first)


def test_a_result_that_is_replaced_while_it_is_read_is_the_new_one(
    qrels, run, tmp_path: Path, monkeypatch
) -> None:
    old, new = rf.evaluate(qrels, run, "map"), rf.evaluate(qrels, run.head(3), "map")
    target = old.write(tmp_path / "out")
    real, opened = result_module._scanned, []

    def scanned(path: Path) -> pl.LazyFrame:
        opened.append(path.name)
        if len(opened) == 2:  # the summary is the old one
            new.write(target, overwrite=True)
        return real(path)

    monkeypatch.setattr(result_module, "_scanned", scanned)
    found = rf.Result.read(target)
    assert found.means == new.means != old.means
    assert found.ledger.equals(new.ledger)
    assert found.per_query.equals(new.per_query)


def test_a_result_that_is_replaced_without_end_is_refused(
    result, tmp_path: Path, monkeypatch, refusal
) -> None:
    target = result.write(tmp_path / "out")
    real = result_module._scanned

    def scanned(path: Path) -> pl.LazyFrame:
        frame = real(path).collect().lazy()
        result.write(target, overwrite=True)
        return frame

    monkeypatch.setattr(result_module, "_scanned", scanned)
    monkeypatch.setattr(result_module, "_ATTEMPTS", 3)
    refusal(rf.Result.read, target)


def test_what_spark_did_not_complete_is_refused(result, tmp_path: Path, refusal) -> None:
    target = result.write(tmp_path / "out")
    result.ledger.clear().write_parquet(target / "ledger.parquet")
    refusal(rf.Result.read, target)


def test_an_output_that_holds_an_input_is_refused(qrels, run, tmp_path: Path, refusal) -> None:
    first = rf.evaluate(qrels, run, "map", output=tmp_path / "out")
    given = tmp_path / "out" / "per_query.parquet"
    options = {"output": tmp_path / "out", "overwrite": True}
    refusal(rf.evaluate, qrels, run, "map", queries=given, **options)
    refusal(rf.agree, given, run, "rbo", **options)
    assert first.per_query.height == 2


def test_files_say_of_what_they_were_made_and_how(qrels, run, tmp_path: Path, message) -> None:
    sources = tmp_path / "qrels.parquet", tmp_path / "run.parquet"
    qrels.write_parquet(sources[0])
    run.write_parquet(sources[1])
    result = rf.evaluate(*sources, ["map", "ndcg@10"], rel=2, output=tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        about = read_about(file)
        assert about["frame"] == file.stem
        assert about["version"] == rf.__version__
        assert about["metrics"] == ["map", "ndcg@10"]
        message(about["policies"]["rel"])
        assert about["inputs"] == {
            "qrels": {"name": str(sources[0]), "rows": qrels.height},
            "run": {"name": str(sources[1]), "rows": run.height},
        }
    assert result.inputs == {"qrels": str(sources[0]), "run": str(sources[1])}
    result.write(tmp_path / "again")
    for name in ("summary", "per_query", "ledger"):
        one, other = (tmp_path / where / f"{name}.parquet" for where in ("out", "again"))
        assert one.read_bytes() == other.read_bytes()


def test_in_pieces_files_have_the_same_bytes(tmp_path: Path) -> None:
    rows = pl.DataFrame({"query_id": [f"q{n % 97}" for n in range(3000)]}).with_columns(
        doc_id=pl.int_range(3000).cast(pl.String), score=pl.int_range(3000) * 7 % 11
    )
    qrels = rows.gather_every(3).rename({"score": "relevance"})
    for function, sides in ((rf.evaluate, (qrels, rows)), (rf.agree, (rows, qrels))):
        whole, pieces = (tmp_path / f"{function.__name__}-{name}" for name in ("whole", "pieces"))
        function(*sides, output=whole)
        function(*sides, output=pieces, max_memory=20_000)
        for file in whole.iterdir():
            assert (pieces / file.name).read_bytes() == file.read_bytes()
        assert read_about(whole / "per_query.parquet")["frame"] == "per_query"


def test_results_of_versions_that_said_nothing_of_them_are_read(result, tmp_path: Path) -> None:
    result.write(tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        pl.read_parquet(file).write_parquet(file)
    read = rf.Result.read(tmp_path / "out")
    assert read.means == result.means
    assert read.inputs == {}


def test_a_result_at_an_address(result: rf.Result, s3, refusal) -> None:
    there, options = "s3://shop/results/a", {"storage_options": s3.options}
    assert str(result.write(there, **options)) == there
    found = rf.Result.read(there, **options)
    for name in ("summary", "ledger", "slices", "per_query"):
        assert_frame_equal(getattr(found, name), getattr(result, name))
    refusal(result.write, there, **options)
    refusal(rf.Result.read, "s3://shop/results", **options)
    refusal(result.write, "s3://none/x", **options)


def test_a_result_at_an_address_that_is_not_complete_is_refused(
    result: rf.Result, qrels, run, s3_environment, refusal, monkeypatch
) -> None:
    there = "s3://shop/results/cut"
    result.write(there)
    whole = rf.Result.read(there)
    put = Remote.put

    def fails_at_the_ledger(self: Remote, source: Path) -> None:
        if self.name == "ledger.parquet":
            raise OSError("curlCode: 28, Timeout was reached")
        put(self, source)

    monkeypatch.setattr(Remote, "put", fails_at_the_ledger)
    other = rf.evaluate(qrels, run, ["map"])  # of another size: times there are whole seconds
    refusal(other.write, there, overwrite=True)
    refusal(rf.Result.read, there)
    refusal(whole.scan_per_query)
    monkeypatch.undo()


def test_an_evaluation_writes_to_an_address_and_is_read_from_there(qrels, run, s3, refusal) -> None:
    options = {"storage_options": s3.options}
    truth, documents = s3.put("results/in/q.parquet", qrels), s3.put("results/in/r.parquet", run)
    found = rf.evaluate(truth, documents, "ndcg@10", output="s3://shop/results/out", **options)
    # Values are read later, when the options of the call are no longer in force.
    assert_frame_equal(found.per_query, rf.evaluate(qrels, run, "ndcg@10").per_query)
    refusal(
        rf.evaluate, qrels, "s3://shop/results/in", output="s3://shop/results/in/out", **options
    )
    compared = rf.compare(None, {"a": "s3://shop/results/out", "b": found}, "ndcg@10", **options)
    assert compared.table["difference"].to_list() == [0.0]
    compared.write("s3://shop/results/compared", **options)
    assert s3.keys("results/compared") == ["ledger.parquet", "systems.parquet", "table.parquet"]
    decided = rf.gate(
        None, "s3://shop/results/out", "s3://shop/results/out/per_query.parquet",
        "ndcg@10: no worse than -1%", min_queries=2, **options,
    )  # fmt: skip
    assert decided.status == "pass"
    assert s3.options["aws_secret_access_key"] not in str(found.ledger.rows())


QRELS = {f"q{n}": {"a": 1, "b": n % 2} for n in range(8)}
OLD = {query: {"b": 2.0, "a": 1.0} for query in QRELS}
NEW = {query: {"a": 2.0, "b": 1.0} for query in QRELS}
QUERIES = pl.DataFrame({"query_id": list(QRELS), "locale": ["de", "fr"] * 4})
RESULTS: dict[str, Any] = {
    "Result": rf.evaluate(QRELS, OLD, ["map", "mrr"], queries=QUERIES, by="locale"),
    "Comparison": rf.compare(QRELS, {"old": OLD, "new": NEW}, ["map", "mrr"]),
    "Diff": rf.diff(QRELS, OLD, NEW, "map"),
    "Verdict": rf.gate(QRELS, NEW, rf.evaluate(QRELS, OLD, "map"), ["map: at least 0.1"]),
}
EVERY = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)


@EVERY
def test_every_frame_can_be_had_by_its_name(result: Any) -> None:
    for name in result.FRAMES:
        expected = getattr(result, name)
        if not isinstance(expected, pl.DataFrame):
            continue
        table, frame = result.to_arrow(name), result.to_pandas(name)
        assert isinstance(table, pa.Table)
        assert isinstance(frame, pd.DataFrame)
        assert pl.DataFrame(table).equals(expected)
        assert frame.shape == expected.shape
        assert list(frame.columns) == expected.columns
    assert result.to_arrow().equals(result.to_arrow(result.FRAMES[0]))
    assert result.to_pandas().equals(result.to_pandas(result.FRAMES[0]))


def test_the_first_one_is_what_people_look_at_first() -> None:
    assert {name: result.FRAMES[0] for name, result in RESULTS.items()} == {
        "Result": "summary", "Comparison": "table", "Diff": "summary", "Verdict": "checks",
    }  # fmt: skip


def test_values_of_several_systems_are_one_frame() -> None:
    comparison = RESULTS["Comparison"]
    table = comparison.to_arrow("per_query")
    assert table.column_names == ["system", "query_id", "map", "mrr"]
    for name in ("old", "new"):
        own = pl.DataFrame(table).filter(pl.col("system") == name).drop("system")
        assert own.equals(comparison.per_query[name])


@EVERY
def test_text_is_of_a_kind_that_others_read(result: Any) -> None:
    kinds = {str(kind) for name in result.FRAMES for kind in result.to_arrow(name).schema.types}
    assert kinds <= {"large_string", "double", "int64", "bool"}


@EVERY
def test_a_frame_that_is_none_is_refused(result: Any, refusal: Callable[..., str]) -> None:
    for call in (result.to_arrow, result.to_pandas):
        refusal(call, "sumary")


def test_without_pandas_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    refusal(RESULTS["Result"].to_pandas)


LEDGER = pl.DataFrame(
    {
        "item": ["qrels_rows", "run_rows", "policy_rel"],
        "value": [3.0, 7.0, None],
        "note": ["", "", "any grade above 0"],
    }
)


def test_a_frame_says_of_what_it_was_made(tmp_path: Path) -> None:
    names = {"qrels": "q.parquet", "run": "r.parquet"}
    about = about_frame("summary", ["map"], LEDGER, names)
    assert about == {
        "frame": "summary",
        "metrics": ["map"],
        "policies": {"rel": "any grade above 0"},
        "inputs": {
            "qrels": {"name": "q.parquet", "rows": 3},
            "run": {"name": "r.parquet", "rows": 7},
        },
    }
    write_parquet(LEDGER, tmp_path / "ledger.parquet", about)
    assert names_in_file(tmp_path / "ledger.parquet") == names


def test_what_says_nothing_has_no_names(tmp_path: Path) -> None:
    LEDGER.write_parquet(tmp_path / "ledger.parquet")
    assert names_in_file(tmp_path / "ledger.parquet") == {}
    assert names_in_file(tmp_path / "none.parquet") == {}
