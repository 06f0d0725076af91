"""A real cluster on this machine: one master, two workers, each with a disk of its own. Executors
and workers are killed in the middle of the work; the numbers stay the same.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankframe as rf
from tests.conftest import FEW_KILLS, SMALL
from tests.support.spark_job import FEW, METRICS

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'rankframe[spark]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("java") or os.environ.get("JAVA_HOME")),
        reason="Spark needs Java, which is not installed (Debian: default-jre-headless)",
    ),
]

PATIENCE = 240  # seconds that anything may take, on a busy machine
LOOPBACK = "127.0.0.1"
JOB = Path(__file__).parents[1] / "support" / "spark_job.py"


@dataclass
class Cluster:
    """Processes that were started, by name, and where they keep their files."""

    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    port: int = 0

    @property
    def master(self) -> str:
        return f"spark://{LOOPBACK}:{self.port}"

    def start_master(self) -> None:
        self.port = free_port()
        place = "org.apache.spark.deploy.master.Master"
        ports = ["--port", str(self.port), "--webui-port", "0"]
        self._start("master", place, "--host", LOOPBACK, *ports)
        wait_for(lambda: reachable(self.port))

    def start_workers(self, *names: str) -> None:
        for name in names:
            self._start_worker(name)
        for name in names:
            log = self.folder / f"{name}.log"
            wait_for(lambda log=log: "Successfully registered with master" in log.read_text())

    def _start_worker(self, name: str) -> None:
        place = "org.apache.spark.deploy.worker.Worker"
        self.disk(name).mkdir(exist_ok=True)
        ports = ["--port", "0", "--webui-port", "0"]
        size = ["--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / f"{name}-work")]
        self._start(name, place, "--host", LOOPBACK, *ports, *size, self.master)

    def disk(self, name: str) -> Path:
        """Where a worker's executors keep shuffled rows and values."""
        return self.folder / f"{name}-disk"

    def executor(self, name: str) -> int:
        """The process of a worker's latest executor: one of the job before may still be ending."""
        return max(
            child
            for child in children(self.processes[name].pid)
            if "CoarseGrainedExecutorBackend" in Path(f"/proc/{child}/cmdline").read_text()
        )

    def stop(self) -> None:
        for process in reversed(self.processes.values()):
            process.kill()
            process.wait()

    def _start(self, name: str, *command: str) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(self.disk(name)),
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [str(home / "bin" / "spark-class"), *command],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """Documents retrieved for queries, about 20 each, a third as many judgments, in no order."""
    folder = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(5)
    rows = int(pytestconfig.getoption("--spark-rows") or 0)
    queries = rows // 20

    def pairs(count: int, lowest: int) -> pl.DataFrame:
        both = random.integers((lowest, 0), (queries, 60), (count, 2))
        return pl.DataFrame(both, schema=["query_id", "doc_id"]).unique(maintain_order=True)

    qrels = pairs(rows // 3, 0)
    # The first queries are judged, and the run lacks them.
    run = pairs(int(rows * 1.25), 20)
    qrels.with_columns(relevance=random.integers(-1, 4, qrels.height)).write_parquet(
        folder / "qrels.parquet"
    )
    run.with_columns(score=random.integers(0, 999, run.height) / 8).write_parquet(
        folder / "run.parquet"
    )
    return folder


@pytest.fixture(scope="module")
def expected(data: Path) -> rf.Result:
    return rf.evaluate(data / "qrels.parquet", data / "run.parquet", FEW)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start_master()
        cluster.start_workers("one", "two")
        yield cluster
    finally:
        cluster.stop()


@contextmanager
def started(
    master: str, folder: Path, *options: str
) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[], str]]]:
    """A job that was started, and a function that waits for its end and gives what it said."""
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": str(JOB.parents[2]),
    }
    command = [sys.executable, str(JOB), master, str(folder), *options]
    # A file, not a pipe, which would be full before anybody reads it.
    with (folder / "log").open("wb") as log:
        job = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)

    def finish() -> str:
        code = job.wait(PATIENCE)
        said = (folder / "log").read_text()
        assert code == 0, said[-3000:]
        return said

    try:
        yield job, finish
    finally:
        job.kill()
        job.wait()


def copy_of(data: Path, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name in ("qrels", "run"):
        shutil.copy(data / f"{name}.parquet", folder)
    (folder / "begun").mkdir()
    return folder


def assert_same(folder: Path, expected: rf.Result) -> None:
    for name in ("summary", "ledger"):
        stored = pl.read_parquet(folder / "out" / name / "*.parquet")
        assert_frame_equal(stored, getattr(expected, name), check_exact=True)
    values = pl.read_parquet(folder / "out" / "per_query" / "*.parquet").sort("query_id")
    assert_frame_equal(values, expected.per_query, check_exact=True)


def test_every_metric_to_the_last_bit(cluster, data, tmp_path: Path, pytestconfig) -> None:
    expected = rf.evaluate(data / "qrels.parquet", data / "run.parquet", METRICS)
    masters = [cluster.master]
    if pytestconfig.getoption("--spark-rows") > SMALL:  # test_entry.py has this for few rows
        masters.append("local[2]")
    for master in masters:
        folder = copy_of(data, tmp_path / master[:5])
        with started(master, folder) as (_, finish):
            finish()
        assert_same(folder, expected)


@pytest.fixture
def kills(pytestconfig: pytest.Config) -> None:
    """Only where many are asked for."""
    if int(pytestconfig.getoption("--kills") or 0) <= FEW_KILLS:
        pytest.skip("a minute or two; with --kills 200")


@pytest.mark.usefixtures("kills")
def test_an_executor_killed_in_the_middle(cluster, data, expected, tmp_path: Path) -> None:
    folder = copy_of(data, tmp_path)
    with started(cluster.master, folder, "8", "1") as (job, finish):
        wait_for(lambda: begun(folder) >= 3, job)
        os.kill(cluster.executor("one"), signal.SIGKILL)
        said = finish()
    assert "Lost executor" in said
    # What it was doing was lost with it, and done again.
    assert begun(folder) > 8
    assert_same(folder, expected)


@pytest.mark.usefixtures("kills")
def test_a_worker_killed_with_its_disk(cluster, data, expected, tmp_path: Path) -> None:
    folder = copy_of(data, tmp_path)
    with started(cluster.master, folder, "8", "1") as (job, finish):
        wait_for(lambda: begun(folder) >= 3, job)
        for process in (cluster.executor("two"), cluster.processes["two"].pid):
            os.kill(process, signal.SIGKILL)
        shutil.rmtree(cluster.disk("two"), ignore_errors=True)
        said = finish()
    assert "Lost executor" in said
    assert begun(folder) > 8
    assert_same(folder, expected)


def begun(folder: Path) -> int:
    """How many partitions were begun."""
    return len(list((folder / "begun").iterdir()))


def wait_for(happened: Callable[[], bool], job: subprocess.Popen[bytes] | None = None) -> None:
    until = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < until, "it took too long"
        assert job is None or job.poll() is None, "it ended too soon"
        time.sleep(0.1)


def children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children")
    tasks = found.parent.parent.glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def free_port() -> int:
    with socket.socket() as some:
        some.bind((LOOPBACK, 0))
        return some.getsockname()[1]


def reachable(port: int) -> bool:
    with socket.socket() as some:
        some.settimeout(1)
        return some.connect_ex((LOOPBACK, port)) == 0
