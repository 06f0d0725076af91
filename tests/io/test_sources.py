"""Inputs at an address, on a real server of S3: formats, folders, patterns, and what is missing."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.io.opening import open_source
from rankframe.io.raw_table import InputRequest

QRELS = pl.DataFrame(
    {"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "d"], "relevance": [2, 1, 1]}
)
RUN = pl.DataFrame(
    {"query_id": ["q1", "q1", "q1", "q2"], "doc_id": ["a", "x", "b", "d"],
     "score": [0.5, 0.9, 0.1, 7.0]}
)  # fmt: skip
TREC = "".join(f"{query} Q0 {doc} 1 {score} tag\n" for query, doc, score in RUN.iter_rows())


def values(run: Any, **options: Any) -> list[tuple[Any, ...]]:
    return rf.evaluate(QRELS, run, ["ndcg@10", "map"], **options).per_query.rows()


@pytest.fixture(scope="module")
def wanted() -> list[tuple[Any, ...]]:
    return values(RUN)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.parquet", RUN),
        ("run", RUN),
        ("run.csv", RUN.write_csv().encode()),
        ("run.tsv", RUN.write_csv(separator="\t").encode()),
        ("run.jsonl", RUN.write_ndjson().encode()),
        ("run.trec", TREC.encode()),
        ("run.csv.gz", gzip.compress(RUN.write_csv().encode(), mtime=0)),
        ("run.run.gz", gzip.compress(TREC.encode(), mtime=0)),
        ("a[1].parquet", RUN),
    ],
)
def test_every_format(name: str, content: Any, s3: Any, wanted: Any) -> None:
    address = s3.put(f"formats/{name}", content)
    assert values(address, storage_options=s3.options) == wanted


def test_folders_and_patterns(s3_environment: Any, wanted: Any, refusal) -> None:
    s3 = s3_environment
    s3.put("parts/day=1/a.parquet", RUN[:2])
    s3.put("parts/day=2/a.parquet", RUN[2:])
    s3.put("parts/_SUCCESS", b"")
    s3.put("texts/1.csv", RUN[:2].write_csv().encode())
    s3.put("texts/2.csv", RUN[2:].write_csv().encode())
    for address in (
        "s3://shop/parts", "s3://shop/parts/", Path("s3://shop/parts"),
        "s3://shop/parts/*/a.parquet", "s3://shop/**/day=*/?.parquet", "s3://shop/texts/*.csv",
    ):  # fmt: skip
        assert values(address) == wanted
    frame = open_source("s3://shop/parts", InputRequest("run", "it")).frame.collect()
    assert frame["day"].to_list() == ["1", "1", "2", "2"]
    refusal(values, "s3://shop/texts")
    s3.put("parts/day=2/b.parquet", b"")
    refusal(values, "s3://shop/parts")


@pytest.mark.parametrize(
    "address",
    [
        "s3://shop/lost/run.parket",
        "s3://shop/none/",
        "s3://shop/lost/*.md",
        "s3://elsewhere/run.parquet",
        "s3://",
        "s3://shop/lost/empty.csv",
        "s3://shop/lost/bad.parquet",
        "s3://shop/lost/bad.trec",
    ],
)  # fmt: skip
def test_what_is_missing_or_wrong(address: str, s3_environment: Any, refusal) -> None:
    s3_environment.put("lost/run.parquet", RUN)
    s3_environment.put("lost/empty.csv", b"")
    s3_environment.put("lost/bad.parquet", b"PAR1" + b"x" * 100)
    s3_environment.put("lost/bad.trec", TREC.splitlines()[0].encode() + b"\nword\n")
    refusal(values, address)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://127.0.0.1:9",
        "http://nowhere.invalid",
    ],
)
def test_an_endpoint_that_does_not_answer(endpoint: str, s3: Any, refusal) -> None:
    options = {**s3.options, "endpoint_url": endpoint}
    refusal(values, "s3://shop/x.parquet", storage_options=options)


def test_without_credentials(s3: Any, refusal, monkeypatch, tmp_path: Path) -> None:
    address = s3.put("locked/run.parquet", RUN)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    options = {
        "endpoint_url": s3.endpoint, "max_retries": "0",
        # where a machine of Amazon's would be asked for them
        "aws_metadata_endpoint": "http://169.254.169.254",
    }  # fmt: skip
    refusal(values, address, storage_options=options)


def test_no_more_is_fetched_than_is_needed(s3: Any) -> None:
    rows = 60_000
    run = pl.DataFrame(
        {
            "query_id": [f"q{row // 100:05}" for row in range(rows)],
            "doc_id": [f"d{row}" for row in range(rows)],
            "score": np.random.default_rng(0).random(rows),
            "text": np.random.default_rng(1).bytes(rows * 24).hex(" ", 24).split(" "),
        }
    )
    qrels = run.select("query_id", "doc_id", relevance=1).gather_every(20)
    address = s3.put("large/run.parquet", run, row_group_size=20_000)
    whole, needed = len(s3.read("large/run.parquet")), io.BytesIO()
    run.drop("text").write_parquet(needed, row_group_size=20_000)
    s3.asked.clear()
    options = {"storage_options": s3.options}
    found = rf.evaluate(qrels, address, "ndcg@10", **options)
    assert found["ndcg@10"] == rf.evaluate(qrels, run, "ndcg@10")["ndcg@10"]
    # Once, and the first rows once more; the end of the file comes with some of what is before it.
    ends = 2 * 2**18
    assert s3.fetched("large/run.parquet") < 1.5 * len(needed.getvalue()) + ends < whole
    s3.asked.clear()
    rf.compare(qrels, {"a": address, "b": RUN.head(0).vstack(run.drop("text"))}, "map", **options)
    assert s3.fetched("large/run.parquet") < 2 * len(needed.getvalue()) + ends


def test_a_file_of_this_machine_has_an_address_too(tmp_path: Path, wanted: Any) -> None:
    RUN.write_parquet(tmp_path / "a run.parquet")
    assert values((tmp_path / "a run.parquet").as_uri()) == wanted
