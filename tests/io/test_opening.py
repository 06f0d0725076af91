"""Whatever the input is, it is read as the same rows; and what cannot be read is named."""

import gzip
import io
import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from rankframe.io.opening import open_table

METRICS = ["ndcg@3", "map", "mrr", "bpref", "judged@2"]
QRELS = pl.DataFrame(
    {
        "query_id": ["q2", "q1", "q1", "q1", "q3"],
        "doc_id": ["a", "a", "b", "é", "z"],
        "relevance": [1, 3, 0, 2, 1],
    }
)
RUN = pl.DataFrame(
    {
        "query_id": ["q1", "q2", "q1", "q1", "q2"],
        "doc_id": ["b", "a", "é", "x", "y"],
        "score": [0.5, -1.0, 0.25, 0.5, 1e-3],
    }
)


def _written(name: str, write: Callable[[pl.DataFrame, Path], object], *, packed: bool = False):
    def make(frame: pl.DataFrame, folder: Path) -> Path:
        path = folder / name
        write(frame, path)
        if not packed:
            return path
        gzipped = folder / f"{name}.gz"
        gzipped.write_bytes(gzip.compress(path.read_bytes()))
        return gzipped

    return make


def _trec_lines(frame: pl.DataFrame) -> str:
    def line(query: str, doc: str, value: float) -> str:
        return (
            f"{query} 0 {doc} {value}" if "relevance" in frame else f"{query} Q0 {doc} 0 {value} t"
        )

    return "".join(line(*row) + "\n" for row in frame.iter_rows())


def _write_trec(frame: pl.DataFrame, path: Path) -> None:
    path.write_text(_trec_lines(frame), encoding="utf-8")


def _glob(frame: pl.DataFrame, folder: Path) -> str:
    for place, part in enumerate(frame.iter_slices(2)):
        part.write_parquet(folder / f"part-{place}.parquet")
    return f"{folder}/part-*.parquet"


def _hive(frame: pl.DataFrame, folder: Path) -> Path:
    for (query,), part in frame.partition_by("query_id", as_dict=True, include_key=False).items():
        (folder / f"query_id={query}").mkdir()
        part.write_parquet(folder / f"query_id={query}" / "0.parquet")
    return folder


def _dicts(frame: pl.DataFrame, _: Path) -> dict[str, dict[str, float]]:
    nested: dict[str, dict[str, float]] = {}
    for query, doc, value in frame.iter_rows():
        nested.setdefault(query, {})[doc] = value
    return nested


def _arrow_types(text: pa.DataType) -> Callable[[pl.DataFrame, Path], pa.Table]:
    def make(frame: pl.DataFrame, _: Path) -> pa.Table:
        table = frame.to_arrow()
        for place, name in enumerate(("query_id", "doc_id")):
            column = table[name].cast(pa.string()).cast(text)
            table = table.set_column(place, name, column)
        return table

    return make


KINDS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "DataFrame": lambda frame, _: frame,
    "LazyFrame": lambda frame, _: frame.lazy(),
    "categorical": lambda frame, _: frame.cast({pl.String: pl.Categorical}),
    "enum": lambda frame, _: frame.cast({"query_id": pl.Enum(["q1", "q2", "q3"])}),
    "binary": lambda frame, _: frame.cast({pl.String: pl.Binary}),
    "arrow table": lambda frame, _: frame.to_arrow(),
    "arrow reader": lambda frame, _: frame.to_arrow().to_reader(max_chunksize=2),
    "arrow string": _arrow_types(pa.string()),
    "arrow large_string": _arrow_types(pa.large_string()),
    "arrow dictionary": _arrow_types(pa.dictionary(pa.int32(), pa.string())),
    "pandas": lambda frame, _: pd.DataFrame(frame.to_dict(as_series=False)),
    "pandas category": lambda frame, _: pd.DataFrame(frame.to_dict(as_series=False)).astype(
        {"query_id": "category", "doc_id": "category"}
    ),
    "duckdb": lambda frame, _: duckdb.from_arrow(frame.to_arrow()),
    "dicts": _dicts,
    "parquet": _written("x.parquet", pl.DataFrame.write_parquet),
    "parquet without ending": _written("x", pl.DataFrame.write_parquet),
    "parquet glob": _glob,
    "hive": _hive,
    "csv": _written("x.csv", pl.DataFrame.write_csv),
    "csv.gz": _written("x.csv", pl.DataFrame.write_csv, packed=True),
    "csv without ending": _written("x", pl.DataFrame.write_csv),
    "csv with brackets": _written("x[1].csv", pl.DataFrame.write_csv),
    "csv with a byte order mark": _written("x.csv", lambda f, p: f.write_csv(p, include_bom=True)),
    "tsv": _written("x.tsv", lambda f, p: f.write_csv(p, separator="\t")),
    "tsv.gz": _written("x.tsv", lambda f, p: f.write_csv(p, separator="\t"), packed=True),
    "jsonl": _written("x.jsonl", pl.DataFrame.write_ndjson),
    "jsonl with brackets": _written("x[1].jsonl", pl.DataFrame.write_ndjson),
    "ndjson.gz": _written("x.ndjson", pl.DataFrame.write_ndjson, packed=True),
    "trec": _written("x.trec", _write_trec),
    "trec.gz": _written("x.run", _write_trec, packed=True),
    "trec without ending": _written("x", _write_trec),
    "open trec": lambda frame, _: io.BytesIO(_trec_lines(frame).encode()),
    "open gzip": lambda frame, _: io.BytesIO(gzip.compress(_trec_lines(frame).encode())),
    "open csv": lambda frame, _: io.BytesIO(frame.write_csv().encode()),
    "open text": lambda frame, _: io.StringIO(frame.write_csv(separator="\t")),
    "open jsonl": lambda frame, _: io.BytesIO(frame.write_ndjson().encode()),
    "open parquet": lambda frame, folder: io.BytesIO(
        KINDS["parquet"](frame, folder).read_bytes()
    ),
    "str path": lambda frame, folder: str(KINDS["parquet"](frame, folder)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_input_gives_the_same_result(kind: str, tmp_path: Path) -> None:
    for name in ("qrels", "run"):
        (tmp_path / name).mkdir()
    qrels, run = KINDS[kind](QRELS, tmp_path / "qrels"), KINDS[kind](RUN, tmp_path / "run")
    result = rf.evaluate(qrels, run, METRICS)
    expected = rf.evaluate(QRELS, RUN, METRICS)
    assert_frame_equal(result.per_query, expected.per_query, check_exact=True)
    assert_frame_equal(result.summary, expected.summary, check_exact=True)
    assert result.count("run_rows") == RUN.height


@pytest.mark.parametrize(
    "dtype", [pl.Int8, pl.Int64, pl.UInt64, pl.Int128, pl.String, pl.Categorical], ids=str
)
def test_an_integer_and_its_text_are_the_same_key(dtype: Any) -> None:
    ids = pl.Series(["7", "7", "12"]).cast(pl.String if dtype == pl.Categorical else pl.Int64)
    run = pl.DataFrame({"query_id": ids.cast(dtype), "doc_id": ids.cast(dtype)}).unique()
    qrels = {"7": {"7": 1}, "12": {"12": 1}}
    assert rf.evaluate(qrels, run, "mrr", order="rows")["mrr"] == 1


def test_numbers_in_a_dict_are_the_same_keys_as_their_text() -> None:
    assert rf.evaluate({7: {1: 1}}, {"7": {"1": 0.5}}, "mrr")["mrr"] == 1


@pytest.mark.parametrize("ending", ["csv", "tsv", "trec"])
def test_zeros_in_front_of_an_id_stay(ending: str, tmp_path: Path) -> None:
    rows = pl.DataFrame({"query_id": ["007"], "doc_id": ["00"], "score": [1.0]})
    run = KINDS[ending](rows, tmp_path)
    result = rf.evaluate({"007": {"00": 1}, "7": {"0": 1}}, run, "mrr")
    assert result.per_query.rows() == [("007", 1.0), ("7", 0.0)]


def test_zeros_in_front_of_an_id_stay_in_the_names_of_hive_folders(tmp_path: Path) -> None:
    rows = pl.DataFrame({"query_id": ["007", "8"], "doc_id": ["a", "b"], "score": [1.0, 2.0]})
    qrels = {"007": {"a": 1}, "8": {"b": 1}}
    assert rf.evaluate(qrels, _hive(rows, tmp_path), "mrr")["mrr"] == 1


def test_ids_in_json_lines_may_be_numbers_in_some_lines_and_text_in_others(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"query_id": 7, "doc_id": "a", "score": 1}\n{"query_id": "q", "doc_id": 1, "score": 0.5}\n'
    )
    assert open_table(path, "run").frame.collect().rows() == [("7", "a", 1.0), ("q", "1", 0.5)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([Decimal("1.50")], 1.5),
        ([" 2.5 "], 2.5),
        ([True], 1.0),
        (pl.Series([2**70], dtype=pl.Int128), 2.0**70),
        (pl.Series([0.1], dtype=pl.Float32), float(pl.Series([0.1], dtype=pl.Float32)[0])),
    ],
    ids=["decimal", "text", "boolean", "int128", "float32"],
)
def test_any_kind_of_number_is_a_score(values: Any, expected: float) -> None:
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": values})
    score = open_table(run, "run").frame.collect()["score"]
    assert score.dtype == pl.Float64
    assert math.isclose(score[0], expected, rel_tol=0)


def test_dates_can_be_ids() -> None:
    run = pl.DataFrame({"query_id": [date(2024, 2, 29)], "doc_id": ["d"], "score": [1.0]})
    assert rf.evaluate({"2024-02-29": {"d": 1}}, run, "mrr")["mrr"] == 1


# The better document is the third row, by whatever orders it.
SHUFFLED = pl.DataFrame({"query": ["q", "q", "q"], "doc": ["x", "y", "a"], "price": [3, 1, 2]})
TRUTH = {"q": {"a": 1}}


@pytest.mark.parametrize("ending", [None, "csv", "tsv", "jsonl", "parquet"])
def test_a_run_that_nothing_orders_is_refused_with_what_could(
    ending: str | None, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    frame = SHUFFLED.with_columns(bm=pl.Series([0.5, 1e-3, 0.75]), url=pl.lit("u"))
    run = frame if ending is None else KINDS[ending](frame, tmp_path)
    refusal(rf.evaluate, TRUTH, run, "mrr")
    assert rf.evaluate(TRUTH, run, "mrr", order="rows")["mrr"] == 1 / 3
    assert rf.evaluate(TRUTH, run, "mrr", columns={"score": "bm"})["mrr"] == 1


def test_a_run_without_numbers_is_refused_without_a_guess(refusal: Callable[..., str]) -> None:
    refusal(rf.judge, TRUTH, SHUFFLED.drop("price"))


def test_a_run_that_nothing_orders_is_refused_wherever_runs_are_taken(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    scored = SHUFFLED.rename({"price": "score"})
    page = tmp_path / "page.html"
    refusal(rf.curve, TRUTH, SHUFFLED, "metric_at_k", metric="ndcg")
    refusal(rf.compare, TRUTH, {"a": scored, "b": SHUFFLED}, "mrr")
    refusal(rf.diff, TRUTH, scored, SHUFFLED, "mrr")
    refusal(rf.report, TRUTH, {"a": scored, "c": SHUFFLED}, "mrr", output=page)
    refusal(rf.agree, scored, SHUFFLED)
    refusal(rf.pair, SHUFFLED, scored)


def test_rows_as_they_stand_leave_other_columns_aside() -> None:
    run = SHUFFLED.with_columns(score=pl.Series([1.0, 2.0, 3.0]), rank=pl.Series([3, 2, 1]))
    result = rf.evaluate(TRUTH, run, "mrr", order="rows")
    assert result["mrr"] == 1 / 3
    assert rf.evaluate(TRUTH, run, "mrr")["mrr"] == 1
    assert "rank_score_disagree" not in result.ledger["item"]


def test_rankings_can_be_compared_as_their_rows_stand() -> None:
    scored = SHUFFLED.rename({"price": "score"})
    result = rf.agree(SHUFFLED, scored.reverse(), "kendall_tau", order="rows")
    assert result["kendall_tau"] == -1
    qrels = SHUFFLED.rename({"price": "grade"})
    assert rf.agree(qrels, SHUFFLED.reverse(), "kendall_tau", order="rows")["kendall_tau"] == -1


DISTANCES = pl.Series([0.0, -0.0, 0.1, 0.1, 0.30000000000000004, 0.3, 5e-324, 1e308])


@pytest.mark.parametrize("name", ["distance", "_distance", "Dist", "far"])
@pytest.mark.parametrize("kind", [pl.Float64, pl.String])
def test_a_distance_is_a_score_of_which_less_is_better(name: str, kind: Any) -> None:
    docs = [f"d{at}" for at in range(len(DISTANCES))]
    run = pl.DataFrame({"query_id": ["q"] * len(docs), "doc_id": docs})
    columns = {"distance": "far"} if name == "far" else None
    values = DISTANCES.cast(kind) if kind == pl.Float64 else pl.Series(map(repr, DISTANCES))
    scanned = open_table(run.with_columns(values.alias(name)), "run", columns)
    scores = scanned.frame.collect()["score"]
    assert (-scores).to_list() == DISTANCES.to_list()
    qrels = {"q": dict.fromkeys(docs, 1)}
    of_scores = run.with_columns(score=-DISTANCES)
    for ties in ("doc_desc", "doc_asc", "as_given"):
        options: dict[str, Any] = {"ties": ties}
        found = rf.judge(
            qrels, run.with_columns(values.alias(name)), columns=columns, **options
        ).collect()
        assert_frame_equal(found, rf.judge(qrels, of_scores, **options).collect())


def test_a_distance_counts_only_where_there_is_neither_score_nor_rank(
    refusal: Callable[..., str],
) -> None:
    far = SHUFFLED.rename({"price": "distance"}).with_columns(pl.Series("distance", [1, 2, 3]))
    assert rf.evaluate(TRUTH, far, "mrr")["mrr"] == 1 / 3
    for other, values in (("score", [1, 2, 3]), ("sim", [1, 2, 3]), ("rank", [3, 2, 1])):
        run = far.with_columns(pl.Series(other, values))
        assert rf.evaluate(TRUTH, run, "mrr")["mrr"] == 1
        named = {"distance": "distance"}
        asked = rf.evaluate(TRUTH, run, "mrr", columns=named, order="score")
        assert asked["mrr"] == 1 / 3
    columns = {"score": "doc", "distance": "distance"}
    refusal(rf.evaluate, TRUTH, far, columns=columns)


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ([("q", "d", 1)], ["the run list", "neither a frame", "rankframe.from_lists"]),
        (None, ["the run NoneType", "neither a frame"]),
        ({"q": {"a"}}, ["the run dict", "1 of its lists are sets", "no order"]),
        ({"q": {"a": "high"}}, ["the run dict", "not a number: 'high'"]),
        ({"q": {"a": 10**400}}, ["the run dict", "number"]),
        (io.BytesIO(b""), ["run is empty", "the open file"]),
        (io.BytesIO(gzip.compress(b"q Q0 d 1 1 t\n" * 99)[:30]), ["the run on the open file"]),
        (pd.DataFrame({"doc_id": ["a", 7]}), ["the run DataFrame", "Arrow"]),
        (pl.DataFrame({"doc_id": [object()]}), ["query_id"]),
        (RUN.with_columns(pl.Series("doc_id", [object()] * 5)), ["'doc_id' has type Object"]),
    ],
    ids=["list", "None", "dict of sets", "text", "too large", "empty", "cut gzip", "mixed pandas",
         "object", "object id"],
)  # fmt: skip
def test_what_cannot_be_read_is_called_by_its_name(
    source: Any, parts: list[str], refusal: Callable[..., str]
) -> None:
    text = refusal(rf.evaluate, QRELS, source, "map")
    assert [part for part in parts if part not in text] == []


def test_a_lazy_frame_that_fails_says_why(refusal: Callable[..., str]) -> None:
    failing = RUN.lazy().with_columns(score=pl.col("doc_id").str.to_integer())
    refusal(rf.evaluate, QRELS, failing, "map")
