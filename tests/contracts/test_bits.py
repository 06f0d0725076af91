"""Same numbers, same bits: whatever holds the rows, in whatever order, on however many threads, in
however many pieces, beside whatever else. (On Spark: tests/spark/test_entry.py.)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path

import polars as pl
import pytest

from tests.support import bits

ROOT = Path(__file__).parents[2]
PIECES = [f"{pieces} pieces" for pieces in bits.PIECES]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The hashes of evaluations in this process."""
    return bits.evaluations(tmp_path_factory.mktemp("bits"))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    return bits.comparisons(tmp_path_factory.mktemp("compared"))


def test_formats_orders_and_pieces_have_one_hash(here: dict[str, str]) -> None:
    assert len(here) == len(bits.FORMATS) * len(bits.ORDERS) * len(bits.PIECES) // 3
    named = [frozenset(name.split(", ")) for name in here]
    for one, other in combinations((bits.FORMATS, bits.ORDERS, PIECES), 2):
        for pair in product(one, other):
            assert any(set(pair) <= parts for parts in named), pair
    assert len(set(here.values())) == 1, here


@pytest.mark.parametrize("test", bits.TESTS)
def test_a_test_of_significance_has_one_hash(
    test: str, compared: dict[str, dict[str, str]]
) -> None:
    assert len(set(compared[test].values())) == 1, compared[test]


def test_tests_of_significance_say_different_things(compared: dict[str, dict[str, str]]) -> None:
    assert len({hashed for found in compared.values() for hashed in found.values()}) == len(
        bits.TESTS
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_have_the_same_hash(
    threads: int, here: dict[str, str], compared: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.bits", str(tmp_path)],
        env={**os.environ, "POLARS_MAX_THREADS": str(threads)},
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["threads"] == threads
    assert set(found["evaluations"].values()) == set(here.values())
    assert found["comparisons"] == compared


def test_a_hash_tells_the_last_bit() -> None:
    one, other = bits.tables()
    last = other["score"].to_list()
    last[-1] += 2.0**-50
    changed = other.with_columns(score=pl.Series(last))
    assert bits.digest(one, other) == bits.digest(one.clone(), other.clone())
    assert bits.digest(one, other) != bits.digest(one, changed)
