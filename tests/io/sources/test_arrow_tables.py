"""Tables of other libraries are read as they are: held, streamed or spooled, with the same rows."""

from __future__ import annotations

import gc
import os
import re
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import rankframe as rf
from rankframe.io.raw_table import InputRequest
from rankframe.io.sources import arrow_tables
from rankframe.io.sources.arrow_tables import open_arrow

QRELS = pl.DataFrame(
    {"query_id": [f"q{n // 4}" for n in range(400)], "doc_id": [f"d{n}" for n in range(400)],
     "relevance": [n % 3 for n in range(400)]}
)  # fmt: skip
RUN = QRELS.select(
    "query_id", "doc_id", score=(pl.int_range(pl.len()) * 7919 % 101).cast(pl.Float64)
).filter(pl.int_range(pl.len()) % 5 != 0)
METRICS = ["ndcg@3", "map"]
GROUPED, SCATTERED = RUN, RUN.sort("score")


@pytest.fixture(params=["held", "spooled"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Streams that are small, and ones that are not."""
    if request.param == "spooled":
        monkeypatch.setattr(arrow_tables, "_HELD", 100)
        monkeypatch.setattr(arrow_tables, "_ROWS", 64)
    return request.param


def _opened(source: object) -> pl.LazyFrame:
    opened = open_arrow(source, InputRequest("run", "the run"))
    assert opened is not None
    return opened.frame


def _dataset(frame: pl.DataFrame, folder: Path, **how: Any) -> pads.Dataset:
    pads.write_dataset(
        frame.to_arrow(), folder, format="parquet", max_rows_per_file=90, max_rows_per_group=30,
        existing_data_behavior="overwrite_or_ignore", **how,
    )  # fmt: skip
    return pads.dataset(folder, partitioning=how.get("partitioning"))


KINDS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "reader": lambda frame, _: frame.to_arrow().to_reader(max_chunksize=7),
    "duckdb": lambda frame, _: duckdb.from_arrow(frame.to_arrow()).select("*"),
    "capsule": lambda frame, _: _Capsule(frame.to_arrow()),
    "scanner": lambda frame, _: pads.dataset(frame.to_arrow()).scanner(),
    "dataset in memory": lambda frame, _: pads.dataset(frame.to_arrow()),
    "dataset": _dataset,
    "dictionary dataset": lambda frame, folder: _dataset(
        frame.cast({pl.String: pl.Categorical}), folder
    ),
}


class _Capsule:
    """Of which nothing is known but that it can be turned into a stream."""

    def __init__(self, table: pa.Table) -> None:
        self._table, self.reads = table, 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.reads += 1
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("run", [GROUPED, SCATTERED], ids=["grouped", "scattered"])
@pytest.mark.usefixtures("size")
def test_whatever_the_kind_the_result_is_that_of_the_frame(
    kind: str, run: pl.DataFrame, tmp_path: Path
) -> None:
    expected = rf.evaluate(QRELS, run, METRICS)
    qrels = KINDS[kind](QRELS, tmp_path / "qrels")
    found = rf.evaluate(qrels, KINDS[kind](run, tmp_path / "run"), METRICS)
    assert found.per_query.equals(expected.per_query)
    assert found.ledger.equals(expected.ledger)


@pytest.mark.usefixtures("size")
def test_in_pieces_too(tmp_path: Path) -> None:
    expected = rf.evaluate(QRELS, SCATTERED, METRICS)
    for kind in ("reader", "dataset"):
        sides = [KINDS[kind](f, tmp_path / n) for n, f in (("q", QRELS), ("r", SCATTERED))]
        found = rf.evaluate(sides[0], sides[1], METRICS, max_memory=10_000)
        assert found.per_query.equals(expected.per_query)


def test_a_dataset_in_folders_has_their_names_as_a_column(tmp_path: Path) -> None:
    hive = pads.partitioning(pa.schema([("query_id", pa.string())]), flavor="hive")
    run = _dataset(RUN, tmp_path / "run", partitioning=hive)
    assert run.schema.names[-1] == "query_id"
    found = rf.evaluate(QRELS, run, METRICS)
    assert found.means == rf.evaluate(QRELS, RUN, METRICS).means


def test_a_dataset_is_read_with_the_columns_that_are_needed(tmp_path: Path) -> None:
    frame = _opened(_dataset(RUN.with_columns(words=pl.lit("x" * 50)), tmp_path / "run"))
    plan = frame.select("doc_id").explain()
    assert "PROJECT 1/4" in plan
    assert frame.select("doc_id").collect().equals(RUN.select("doc_id"))
    assert frame.head(3).collect().select(RUN.columns).equals(RUN.head(3))
    assert frame.slice(95, 4).collect().select(RUN.columns).equals(RUN.slice(95, 4))
    of_one = frame.filter(pl.col("query_id") == "q77").select(RUN.columns)
    assert of_one.collect().equals(RUN.filter(pl.col("query_id") == "q77"))
    assert (
        frame.head(40)
        .filter(pl.col("score") > 50)
        .select("doc_id")
        .collect()
        .equals(RUN.head(40).filter(pl.col("score") > 50).select("doc_id"))
    )
    assert frame.select(pl.len()).collect().item() == RUN.height


class _Counted:
    """Batches, made when they are asked for; how many there were, and how many were alive."""

    def __init__(self, batches: int, rows: int) -> None:
        self.batches, self.rows = batches, rows
        self.made = self.most = 0
        self._alive: list[weakref.ref[Any]] = []

    def reader(self) -> pa.RecordBatchReader:
        schema = pa.schema(
            [("query_id", pa.string()), ("doc_id", pa.string()), ("score", pa.float64())]
        )
        return pa.RecordBatchReader.from_batches(schema, self._all(schema))

    def _all(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        numbers = np.arange(self.rows)
        ids = pa.array([f"d{n}" for n in numbers])
        for at in range(self.batches):
            query = pa.array([f"q{at:05}"]).take(pa.array(np.zeros(self.rows, np.int64)))
            scores = -numbers.astype(float)  # whose memory is the batch's, and polars'
            self._alive.append(weakref.ref(scores))
            self.made += 1
            self.most = max(self.most, sum(one() is not None for one in self._alive))
            yield pa.record_batch([query, ids, pa.array(scores)], schema)
            del scores


def test_a_stream_of_more_rows_than_are_held_is_never_all_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arrow_tables, "_HELD", 1 << 18)
    monkeypatch.setattr(arrow_tables, "_ROWS", 10_000)
    counted = _Counted(200, 1000)
    frame = _opened(counted.reader())
    assert counted.made == counted.batches
    # Those that were held before the stream turned out to be large, and a row group.
    assert 1 < counted.most < counted.batches / 3
    assert frame.select(pl.len()).collect().item() == counted.batches * counted.rows
    found = rf.evaluate({"q00007": {"d4": 1}}, _Counted(200, 1000).reader(), "mrr")
    assert (found["mrr"], found.count("run_rows")) == (1 / 5, 200_000)


def test_a_stream_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for held in (1 << 26, 100):
        monkeypatch.setattr(arrow_tables, "_HELD", held)
        run = _Capsule(SCATTERED.to_arrow())
        rf.evaluate(QRELS, run, METRICS)
        assert run.reads == 1


@pytest.mark.usefixtures("size")
def test_a_frame_over_a_stream_can_be_collected_again_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    judged = rf.judge(QRELS, SCATTERED.to_arrow().to_reader(max_chunksize=7))
    assert list(tmp_path.iterdir()) == []
    gc.collect()
    assert judged.collect().equals(judged.collect())
    del judged
    gc.collect()
    open_still = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    assert not [path for path in open_still if str(tmp_path) in path]


@pytest.mark.usefixtures("size")
def test_a_stream_that_fails_says_why_in_one_sentence(refusal: Callable[..., str]) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from RUN.to_arrow().to_batches(max_chunksize=50)
        raise ValueError("the source\nis gone")

    run = pa.RecordBatchReader.from_batches(RUN.to_arrow().schema, batches())
    refusal(rf.evaluate, QRELS, run, "map")


def test_a_dataset_whose_file_is_damaged_says_so(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    run = _dataset(RUN, tmp_path / "run")
    max((tmp_path / "run").iterdir()).write_bytes(b"PAR1 and nothing else")
    said = refusal(rf.evaluate, QRELS, run, "map")
    assert "\n" not in said


def test_a_reader_that_was_read_before_is_empty_and_the_message_says_why(
    refusal: Callable[..., str],
) -> None:
    reader = RUN.to_arrow().to_reader()
    rf.evaluate(QRELS, reader, "map")
    refusal(rf.evaluate, QRELS, reader, "map")
    refusal(rf.evaluate, QRELS, pads.dataset(RUN.head(0).to_arrow()))


def test_a_full_disk_is_said_to_be_full(
    monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(arrow_tables, "_HELD", 100)
    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", full)
    refusal(rf.evaluate, QRELS, RUN.to_arrow().to_reader(), "map")


PANDAS = RUN.to_pandas()


@pytest.mark.parametrize(
    "frame",
    [
        PANDAS,
        PANDAS.astype({"query_id": "category", "doc_id": "category"}),
        PANDAS.astype({"query_id": "string[pyarrow]", "doc_id": "string[python]"}),
        PANDAS.astype({"query_id": object, "doc_id": object}),
        PANDAS.convert_dtypes(dtype_backend="pyarrow"),
        PANDAS.set_index("query_id"),
        PANDAS.set_index(["query_id", "doc_id"]),
        PANDAS.set_index("query_id", drop=False),
        PANDAS[PANDAS["score"] > -1],
        PANDAS.set_index(pd.Index(range(1000, 1000 + len(PANDAS)))),
    ],
    ids=["plain", "categories", "strings", "objects", "arrow", "index", "two levels", "both",
         "filtered", "numbers"],
)  # fmt: skip
def test_pandas_as_people_have_it(frame: pd.DataFrame) -> None:
    expected = rf.evaluate(QRELS, RUN, METRICS)
    found = rf.evaluate(QRELS, frame, METRICS)
    assert found.per_query.equals(expected.per_query)
    assert "run_columns_unused" not in found.ledger["item"]


def test_whole_numbers_of_pandas_are_ids_also_where_some_are_null(
    refusal: Callable[..., str],
) -> None:
    qrels = {"7": {"1": 1}}
    run = pd.DataFrame({"query_id": pd.array([7, 7], "Int64"), "doc_id": [2, 1], "score": [2, 1]})
    assert rf.evaluate(qrels, run, "mrr")["mrr"] == 1 / 2
    holes = run.assign(query_id=pd.array([7, None], "Int64"))
    refusal(rf.evaluate, qrels, holes, "mrr")
    for missing in (None, np.nan, pd.NA):
        texts = run.assign(doc_id=["a", missing])
        refusal(rf.evaluate, qrels, texts, "mrr")
    refusal(rf.evaluate, qrels, run.assign(doc_id=["a", 7]), "mrr")
    twice = pd.concat([run, run["score"]], axis=1)
    refusal(rf.evaluate, qrels, twice, "mrr")
    for column in (run["doc_id"], pl.Series(["a"]), pa.chunked_array([["a"]])):
        refusal(rf.evaluate, qrels, column, "mrr")


def test_nothing_else_is_taken_for_a_table() -> None:
    assert open_arrow([("q", "d", 1)], InputRequest("run", "the run")) is None


def test_the_page_about_them_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs" / "guides" / "arrow.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)
    assert names["result"].inputs == {"qrels": "the qrels DataFrame", "run": "the run Table"}
