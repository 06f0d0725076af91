"""What the tests of every module share."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.kernel import batch, reading
from tests.support import postgres_server
from tests.support.browser import chromium
from tests.support.messages import Messages

SMALL = 60_000
FEW_KILLS = 16
# Random inputs, by what tests call their seeds; and how many of them are one test.
FEW, TOGETHER = {"seeds": 200, "calls": 80}, 40


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--spark-rows",
        type=int,
        default=SMALL,
        help="about how many retrieved documents tests/spark/test_cluster.py evaluates",
    )
    parser.addoption(
        "--kills",
        type=int,
        default=FEW_KILLS,
        help="how many processes tests/contracts/test_kills.py kills at random moments; more than"
        " 16: also at every step",
    )
    parser.addoption(
        "--inputs",
        type=int,
        help="how many random inputs the tests try that make some, each: 2000, say",
    )
    parser.addoption(
        "--memory-times",
        type=int,
        default=0,
        help="measure peaks of memory, with so many times 2.5M rows and 320 MB: 8, say",
    )
    parser.addoption(
        "--all",
        action="store_true",
        help="also what measures the process: peaks of memory, kills, signals",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that measure the process, which take minutes, unless they are asked for."""
    if not config.getoption("--all"):
        left_out = pytest.mark.skip(reason="measures the process (memory, kills, signals): --all")
        for item in items:
            if item.get_closest_marker("process"):
                item.add_marker(left_out)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Seeds of random inputs, some in each test, so that workers share them."""
    for name in FEW.keys() & set(metafunc.fixturenames):
        count = int(str(metafunc.config.getoption("inputs") or FEW[name]))
        starts = range(0, count, TOGETHER)
        batches = [range(start, min(start + TOGETHER, count)) for start in starts]
        metafunc.parametrize(name, batches, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")


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
def refusal(message: Messages) -> Callable[..., str]:
    """Call something that must raise a RankframeError, and return its message.

    The type and the message of the error are compared with the stored ones in tests/messages.
    """

    def call(function: Callable[..., object], *args: object, **options: object) -> str:
        error = raised(function, *args, **options)
        message(f"{type(error).__name__}: {error}")
        return str(error)

    return call


@pytest.fixture
def error_of() -> Callable[..., rf.RankframeError]:
    """Call something that must raise a RankframeError, and return it.

    Use `refusal` instead, unless the message differs from run to run.
    """
    return raised


def raised(function: Callable[..., object], *args: object, **options: object) -> rf.RankframeError:
    with pytest.raises(rf.RankframeError) as caught:
        function(*args, **options)
    return caught.value


@pytest.fixture
def set_batch_rows(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Read runs in batches of so many rows."""
    return lambda rows: monkeypatch.setattr(reading, "BATCH_ROWS", rows)


@pytest.fixture
def set_hash(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., pl.Expr]], None]:
    """Hash ids with another function, such as one that gives many ids equal hashes."""
    return lambda function: monkeypatch.setattr(batch, "hash_of", function)


@pytest.fixture
def set_scratch(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Make temporary files in another folder."""
    return lambda folder: monkeypatch.setattr(tempfile, "tempdir", str(folder))


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """A real browser."""
    with chromium(tmp_path / "profile") as driver:
        yield driver


@pytest.fixture(scope="session")
def s3() -> Iterator[Any]:
    """A server of S3."""
    pytest.importorskip("moto", reason="moto is not installed")
    from tests.support.s3_server import serving

    with serving() as server:
        yield server


@pytest.fixture
def s3_environment(s3: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same, and an environment that leads there."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    return s3


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL, password and all."""
    pytest.importorskip("adbc_driver_postgresql", reason="its driver is not installed")
    if not (os.environ.get(postgres_server.GIVEN) or postgres_server.programs()):
        pytest.skip(f"no PostgreSQL here, nor in {postgres_server.GIVEN}")
    with postgres_server.serving() as address:
        yield address
