"""`--engine spark`: what needs no cluster. With one: tests/spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankframe.cli.spark import _target
from tests.cli.shell import BM25, QRELS, refused


@pytest.mark.parametrize("place", ["s3://bucket/out", "abfss://a@b/c", "out/result", "/data/out"])
def test_a_place_on_the_cluster_keeps_its_slashes(place: str) -> None:
    assert _target(Path(place)) == place


def test_each_engine_has_its_options() -> None:
    there = refused("evaluate", QRELS, BM25, "--engine", "spark", "--max-memory", "1GiB")
    assert "--max-memory has no meaning with --engine spark." in there
    here = refused("evaluate", QRELS, BM25, "--partitions", "2")
    assert "--partitions has no meaning with --engine polars." in here
