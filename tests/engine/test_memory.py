from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.engine import memory
from rankframe.engine.memory import available, count_pieces, estimated_need, parse_size
from rankframe.inputs.scan import scan

ROW_BYTES = (120, 140)


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GiB", 2 << 30), ("500 MB", 500_000_000), ("1.5k", 1500), ("64", 64), (1 << 20, 1 << 20)],
)
def test_sizes_are_read_as_people_write_them(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1GB", "0", 0, True, "2 GiBi"])
def test_what_is_no_size_is_refused(text: str, refusal: Callable[..., str]) -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    assert "max_memory takes a size" in refusal(rf.evaluate, qrels, run, "map", max_memory=text)


def test_long_ids_need_more_memory() -> None:
    frame = pl.DataFrame({"query_id": ["q"] * 9, "doc_id": list("abcdefghi"), "score": 1.0})
    long = frame.with_columns(pl.col("doc_id") + "x" * 100)
    needs = [estimated_need(scan(some, "run"), 140) for some in (long, frame)]
    assert needs[0] - needs[1] == 9 * 101
    assert needs[1] == 9 * 140


def growing(rows: int = 40_000) -> pl.DataFrame:
    """Of its ids, only those of the first quarter are short."""
    number = pl.int_range(pl.len())
    frame = pl.DataFrame({"query_id": np.arange(rows) // 10}).cast(pl.String)
    long = pl.when(number < rows // 4).then(pl.lit("")).otherwise(pl.lit("x" * 200))
    return frame.with_columns(doc_id=long + number.cast(pl.String), score=pl.lit(1.0))


@pytest.mark.parametrize("form", ["frame", "parquet", "csv", "lazy"])
def test_ids_that_grow_after_the_first_rows(form: str, tmp_path: Path) -> None:
    frame = growing()
    source: object = {"frame": frame, "lazy": frame.lazy()}.get(form, tmp_path / f"run.{form}")
    if form == "parquet":
        frame.write_parquet(tmp_path / "run.parquet", row_group_size=7_000)
    if form == "csv":
        frame.write_csv(tmp_path / "run.csv")
    scanned = scan(source, "run")
    need = frame.height * 140
    assert estimated_need(scanned, 140) == need
    true = need + int(frame["doc_id"].str.len_bytes().sum())
    close = estimated_need(scanned, 140, limit=need)
    assert 0.8 * true < close < 1.25 * true
    # Far below the limit, nothing but the first rows is looked at.
    assert estimated_need(scanned, 140, limit=need * 100) == need


def one_large(share: float, rows: int = 60_000) -> pl.DataFrame:
    query = np.where(np.random.default_rng(1).random(rows) < share, 0, np.arange(rows))
    return pl.DataFrame({"query_id": query.astype(str)}).with_columns(
        doc_id=pl.int_range(pl.len()).cast(pl.String), score=pl.lit(1.0)
    )


@pytest.mark.parametrize("grouped", [False, True])
def test_a_limit_that_one_query_exceeds_is_refused_before_the_work(
    grouped: bool, tmp_path: Path, refusal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_BASE", 100_000)
    run = one_large(0.5)
    run = run.sort("query_id") if grouped else run
    run.write_parquet(tmp_path / "run.parquet", row_group_size=9_000)
    qrels = run[:100].select("query_id", "doc_id", relevance=pl.lit(1.0))
    given = scan(qrels, "qrels"), scan(tmp_path / "run.parquet", "run"), ROW_BYTES
    said = refusal(count_pieces, *given, "3MB")
    rows = int((run["query_id"] == "0").sum()) + int((qrels["query_id"] == "0").sum())
    assert f"query '0' has {rows:,} rows" in said
    assert "a limit of 3MB cannot be held. Pass max_memory=" in said
    assert count_pieces(*given, "5MB") > 1
    assert count_pieces(*given, "1GB") == 1
    # A limit that nobody asked for is not refused.
    monkeypatch.setattr(memory, "available", lambda: 3_000_000)
    assert count_pieces(*given, None) > 1
    both = {"a": run, "b": run}
    assert "cannot be held" in refusal(rf.compare, qrels, both, "map", max_memory="3MB")
    assert "cannot be held" in refusal(rf.agree, run, run, max_memory="3MB")


def test_queries_of_equal_size_are_never_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_BASE", 100_000)
    run = scan(one_large(0.0), "run")
    qrels = scan(one_large(0.0).rename({"score": "relevance"}), "qrels")
    assert count_pieces(qrels, run, ROW_BYTES, "300kB") > 1


def test_there_is_memory() -> None:
    assert available() > 1 << 20


GIB = 1 << 30


def system(folder: Path, cgroup: str, files: dict[str, object]) -> Path:
    """What the kernel says of memory, in files: 8 GiB are free."""
    given = {"proc/meminfo": f"MemAvailable: {8 * GIB // 1024} kB", "proc/self/cgroup": cgroup}
    for name, text in {**given, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return folder


TWO, ONE = "sys/fs/cgroup/", "sys/fs/cgroup/memory/"


def version_two(limit: object, used: int, at: str = "") -> dict[str, object]:
    return {f"{TWO}{at}memory.max": limit, f"{TWO}{at}memory.current": used}


def version_one(limit: int, used: int, at: str = "") -> dict[str, object]:
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    return {f"{ONE}{at}{name}": value for name, value in zip(names, (limit, used), strict=True)}


@pytest.mark.parametrize(
    ("cgroup", "files", "free"),
    [
        ("0::/", {}, 8),
        ("0::/", version_two(3 * GIB, GIB), 2),
        ("0::/", version_two("max", GIB), 8),
        ("0::/job/step", version_two(3 * GIB, GIB, "job/step/"), 2),
        # what is around it has a limit of its own
        (
            "0::/job/step",
            {**version_two("max", GIB, "job/step/"), **version_two(5 * GIB, GIB, "job/")},
            4,
        ),
        # a container that sees its own group at the top, and a name from outside
        ("0::/outside/container", version_two(3 * GIB, GIB), 2),
        ("9:cpu:/x\n4:memory:/job\n0::/", version_one(3 * GIB, GIB, "job/"), 2),
        ("4:cpu,memory:/job\n0::/", version_one(2**63 - 4096, GIB, "job/"), 8),
        ("4:memory:/outside/container", version_one(3 * GIB, GIB), 2),
        ("0::/", version_two(GIB, 2 * GIB), 0),
        # files that are kept for the next reader are as good as free
        ("0::/", {**version_two(3 * GIB, 2 * GIB), f"{TWO}memory.stat": f"inactive_file {GIB}"}, 2),
        (
            "4:memory:/job",
            {
                **version_one(3 * GIB, 2 * GIB, "job/"),
                f"{ONE}job/memory.stat": f"cache 7\ntotal_inactive_file {GIB}",
            },
            2,
        ),
    ],
)
def test_what_the_process_is_allowed(
    cgroup: str, files: dict[str, object], free: int, tmp_path: Path
) -> None:
    assert available(system(tmp_path, cgroup, files)) == free * GIB


# Evaluates in a process of its own, and says how much memory that took at the most.
CHILD = """
import re, sys
from pathlib import Path
import rankframe as rf
qrels, run, limit = sys.argv[1:]
rf.evaluate(qrels, run, ["ndcg@10", "mrr"], max_memory=int(limit))
# What getrusage says is never less than what the process had that started this one.
status = Path("/proc/self/status").read_text()
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) * 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measured on Linux only")
@pytest.mark.parametrize(
    ("kind", "layout"),
    [("growing", "scattered"), ("one large query", "grouped"), ("one large query", "scattered")],
)
def test_a_limit_is_held(
    kind: str, layout: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Within 1.3 times of it, where it is large beside what polars decodes ahead."""
    times = int(request.config.getoption("--memory-times") or 0)
    if not times:
        pytest.skip("takes a minute and gigabytes; with --memory-times 8")
    limit = 320_000_000 * times
    if kind == "growing":
        run = growing(1_300_000 * times)
    else:
        run = one_large(0.25, 2_500_000 * times).sort("query_id", maintain_order=True)
    if layout == "scattered":
        run = run.sample(fraction=1, shuffle=True, seed=1)
    qrels = run.gather_every(20).select("query_id", "doc_id", relevance=pl.lit(1.0))
    paths = [tmp_path / "qrels.parquet", tmp_path / "run.parquet"]
    for path, frame in zip(paths, (qrels, run), strict=True):
        frame.write_parquet(path, compression="lz4", row_group_size=1 << 17)
    child = [sys.executable, "-c", CHILD, *map(str, paths), str(limit)]
    done = subprocess.run(child, capture_output=True, text=True, check=True)
    assert count_pieces(scan(paths[0], "qrels"), scan(paths[1], "run"), ROW_BYTES, limit) > 1
    assert int(done.stdout) < 1.3 * limit
