"""Delta and Iceberg tables are read as they are now, whatever else lies in their folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.io.raw_table import InputRequest
from rankframe.io.sources.folders import open_folder

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"d": 1}}
RUN = pl.DataFrame(
    {"query_id": ["q1", "q1", "q1", "q2"], "doc_id": ["a", "x", "b", "d"],
     "score": [0.5, 0.9, 0.1, 7.0]}
)  # fmt: skip
# The same documents with other scores: whoever reads old files finds duplicates, or these.
OLD = RUN.with_columns(score=-pl.col("score"))


def values(run: Any, **options: Any) -> list[tuple[Any, ...]]:
    return rf.evaluate(QRELS, run, ["ndcg@10", "map"], **options).per_query.rows()


@pytest.fixture(scope="module")
def wanted() -> list[tuple[Any, ...]]:
    return values(RUN)


def with_history(place: str, **options: Any) -> None:
    """A Delta table that was written, appended to, overwritten, appended to, and thinned out."""
    delta = pytest.importorskip("deltalake", reason="deltalake is not installed")
    OLD.write_delta(place, **options)
    OLD.head(1).write_delta(place, mode="append", **options)
    RUN.head(2).write_delta(place, mode="overwrite", **options)
    extra = pl.DataFrame({"query_id": ["q9"], "doc_id": ["z"], "score": [1.0]})
    pl.concat([RUN.tail(2), extra]).write_delta(place, mode="append", **options)
    delta.DeltaTable(place, **options).delete("query_id = 'q9'")


def test_a_delta_table_is_read_as_it_is_now(tmp_path: Path, wanted: Any) -> None:
    with_history(str(tmp_path / "runs"))
    assert len(list((tmp_path / "runs").glob("*.parquet"))) == 5  # of which two count
    frame = open_folder(tmp_path / "runs", InputRequest("run", "it"))
    assert isinstance(frame, pl.LazyFrame)
    assert frame.collect().sort("score").equals(RUN.sort("score"))
    assert values(tmp_path / "runs") == values(str(tmp_path / "runs")) == wanted


def test_a_delta_table_in_partitions(tmp_path: Path, wanted: Any) -> None:
    pytest.importorskip("deltalake", reason="deltalake is not installed")
    for frame in (OLD, RUN):
        frame.write_delta(
            str(tmp_path / "runs"), mode="overwrite",
            delta_write_options={"partition_by": ["query_id"]},
        )  # fmt: skip
    assert values(tmp_path / "runs") == wanted


def test_a_delta_table_at_an_address(s3: Any, wanted: Any) -> None:
    theirs = {**s3.options, "aws_endpoint_url": s3.endpoint, "aws_allow_http": "true"}
    del theirs["endpoint_url"]
    with_history("s3://shop/lakes/delta", storage_options=theirs)
    assert values("s3://shop/lakes/delta", storage_options=s3.options) == wanted
    assert values("s3://shop/lakes/delta/", storage_options=s3.options) == wanted


def test_a_delta_table_that_cannot_be_read(tmp_path: Path, refusal) -> None:
    with_history(str(tmp_path / "runs"))
    for file in (tmp_path / "runs").glob("*.parquet"):
        file.unlink()
    refusal(values, tmp_path / "runs")
    (tmp_path / "bad" / "_delta_log").mkdir(parents=True)
    refusal(values, tmp_path / "bad")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Any]:
    """Makes an Iceberg table in a warehouse: overwritten, so that it has a past."""
    sql = pytest.importorskip("pyiceberg.catalog.sql", reason="pyiceberg[sql-sqlite] is missing")
    made = []

    def make(warehouse: str, **properties: str) -> Any:
        place = f"sqlite:///{tmp_path}/catalog{len(made)}.db"
        catalog = sql.SqlCatalog("it", uri=place, warehouse=warehouse, **properties)
        made.append(catalog)
        catalog.create_namespace("shop")
        table = catalog.create_table("shop.runs", schema=RUN.to_arrow().schema)
        table.append(OLD.to_arrow())
        table.overwrite(RUN.head(2).to_arrow())
        table.append(RUN.tail(2).to_arrow())
        return table

    yield make
    for catalog in made:
        catalog.engine.dispose()


def test_an_iceberg_table_is_read_as_it_is_now(tmp_path: Path, catalog: Any, wanted: Any) -> None:
    table = catalog(f"file://{tmp_path}/house")
    folder = tmp_path / "house" / "shop" / "runs"
    assert len(list(folder.rglob("*.parquet"))) == 3  # of which two count
    assert values(folder) == wanted
    newest = table.metadata_location.removeprefix("file://")
    assert values(newest) == wanted
    first = min((folder / "metadata").glob("00001-*.metadata.json"))
    assert values(first) == values(OLD)


def test_an_iceberg_table_at_an_address(s3: Any, catalog: Any, wanted: Any) -> None:
    theirs = {"s3.endpoint": s3.endpoint, "s3.access-key-id": "ann",
              "s3.secret-access-key": "s3cret", "s3.region": "us-east-1"}  # fmt: skip
    table = catalog("s3://shop/lakes/ice", **theirs)
    for address in ("s3://shop/lakes/ice/shop/runs", table.metadata_location):
        assert values(address, storage_options=s3.options) == wanted


def test_an_iceberg_table_that_cannot_be_read(tmp_path: Path, refusal) -> None:
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed")
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "v1.metadata.json").write_text("{")
    refusal(values, tmp_path)


@pytest.mark.parametrize(
    ("package", "name"),
    [("deltalake", "_delta_log/x.json"),
     ("pyiceberg", "metadata/v1.metadata.json")],
)  # fmt: skip
def test_what_is_not_installed_is_named(
    package: str, name: str, tmp_path: Path, refusal, monkeypatch
) -> None:
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).touch()
    for module in [one for one in sys.modules if one.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    refusal(values, tmp_path)


def test_a_folder_without_a_history_holds_files(tmp_path: Path, refusal) -> None:
    refusal(open_folder, tmp_path, InputRequest("run", "it"))
