"""What the tests of every module share."""

from collections.abc import Callable

import polars as pl
import pytest

import rankframe as rf

SMALL = 60_000


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--spark-rows",
        type=int,
        default=SMALL,
        help="about how many retrieved documents tests/spark/test_cluster.py evaluates",
    )
    parser.addoption(
        "--memory-times",
        type=int,
        default=1,
        help="how many times as large inputs and limits of tests/engine/test_memory.py are",
    )


@pytest.fixture
def qrels() -> pl.DataFrame:
    """Two judged queries: q1 with grades 2, 1 and 0, q2 with one relevant document."""
    return pl.DataFrame(
        {
            "query_id": ["q1", "q1", "q1", "q2"],
            "doc_id": ["a", "b", "c", "d"],
            "relevance": [2, 1, 0, 1],
        }
    )


@pytest.fixture
def run() -> pl.DataFrame:
    """A run for both: q1 ranks x, a, c; q2 ranks d."""
    return pl.DataFrame(
        {
            "query_id": ["q1", "q1", "q1", "q2"],
            "doc_id": ["a", "x", "c", "d"],
            "score": [0.5, 0.9, 0.1, 7.0],
        }
    )


@pytest.fixture
def refusal() -> Callable[..., str]:
    """Call something that must raise a RankframeError, and give the text of it."""

    def call(function: Callable[..., object], *args: object, **options: object) -> str:
        with pytest.raises(rf.RankframeError) as caught:
            function(*args, **options)
        return str(caught.value)

    return call
