"""Memory: needs, limits and partitions, and inputs that are held where they fit."""

import gzip
import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.io import memory
from rankframe.io import memory as held
from rankframe.io.batches import load
from rankframe.io.formats import packing
from rankframe.io.formats.trec_format import write_trec
from rankframe.io.input_table import InputTable
from rankframe.io.memory import (
    available,
    count_partitions,
    estimated_need,
    hold,
    not_held,
    parse_size,
    read_available,
)
from rankframe.io.opening import open_table
from rankframe.io.scratch import KeptFolder
from tests.support.counted import Counted
from tests.support.oracles import random_case
from tests.support.pieces import assert_same

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
    refusal(rf.evaluate, qrels, run, "map", max_memory=text)


def test_a_limit_below_what_anything_takes_is_said_to_be_out_of_reach(message) -> None:
    assert not_held(None) is None
    assert not_held("160MB") is None
    message(not_held("50MB"))


def test_long_ids_need_more_memory() -> None:
    frame = pl.DataFrame({"query_id": ["q"] * 9, "doc_id": list("abcdefghi"), "score": 1.0})
    long = frame.with_columns(pl.col("doc_id") + "x" * 100)
    needs = [estimated_need(open_table(some, "run"), 140) for some in (long, frame)]
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
    scanned = open_table(source, "run")
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
    sides = open_table(qrels, "qrels"), open_table(tmp_path / "run.parquet", "run")
    refusal(count_partitions, sides, ROW_BYTES, "3MB")
    assert count_partitions(sides, ROW_BYTES, "6MB") > 1
    assert count_partitions(sides, ROW_BYTES, "1GB") == 1
    # A limit that nobody asked for is not refused.
    monkeypatch.setattr(memory, "available", lambda: 3_000_000)
    assert count_partitions(sides, ROW_BYTES, None) > 1
    both = {"a": run, "b": run}
    refusal(rf.compare, qrels, both, "map", max_memory="3MB")
    refusal(rf.agree, run, run, max_memory="3MB")


def test_queries_of_equal_size_are_never_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_BASE", 100_000)
    run = open_table(one_large(0.0), "run")
    qrels = open_table(one_large(0.0).rename({"score": "relevance"}), "qrels")
    assert count_partitions((qrels, run), ROW_BYTES, "300kB") > 1


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
    assert read_available(system(tmp_path, cgroup, files)) == free * GIB


FORMATS = {
    "csv": pl.DataFrame.write_csv,
    "jsonl": pl.DataFrame.write_ndjson,
    "trec": lambda frame, path: write_trec(frame.with_columns(rank=pl.lit(1)), path),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("way", ["path", "pipe"])
@pytest.mark.parametrize("form", FORMATS)
def test_text_that_is_larger_than_the_limit_gives_the_same_bits(
    form: str, way: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_scratch
) -> None:
    monkeypatch.setattr(packing, "_SMALL", 1 << 16)
    set_scratch(tmp_path)
    run = one_large(0.1, 12_000).sample(fraction=1, shuffle=True, seed=1)
    run = run.with_columns(score=pl.int_range(pl.len()) % 1000 / 8)
    qrels = run[:900].select("query_id", "doc_id", relevance=pl.lit(1.0))
    path = tmp_path / f"run.{form}"
    FORMATS[form](run, path)
    if packed:
        path = tmp_path / f"run.{form}.gz"
        path.write_bytes(gzip.compress((tmp_path / f"run.{form}").read_bytes()))
    metrics = ["ndcg@10", "map", "mrr"]
    whole = rf.evaluate(qrels, path, metrics)
    source = path if way == "path" else io.BytesIO(path.read_bytes())
    found = rf.evaluate(qrels, source, metrics, max_memory="900kB")
    assert_same(whole, found)
    assert not list(tmp_path.glob("rankframe-*"))


@pytest.mark.parametrize("ask", ["compare", "agree", "gate"])
def test_all_that_take_a_limit_read_large_text_so(
    ask: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_scratch
) -> None:
    monkeypatch.setattr(packing, "_SMALL", 1 << 14)
    set_scratch(tmp_path)
    seen: list[Path] = []
    monkeypatch.setattr(
        KeptFolder, "__init__", _watched(KeptFolder.__init__, lambda: seen.append(tmp_path))
    )
    run = one_large(0.1, 3_000)
    qrels = run[:900].select("query_id", "doc_id", relevance=pl.lit(1.0))
    run.write_csv(tmp_path / "run.csv")
    text = tmp_path / "run.csv"
    if ask == "compare":
        rf.compare(qrels, {"a": text, "b": run}, "map", max_memory="100kB", replicates=100)
    elif ask == "agree":
        rf.agree(text, run, max_memory="100kB")
    else:
        rf.gate(
            qrels, text, rf.evaluate(qrels, run, "map"), ["map: at least 0"], max_memory="100kB"
        )
    assert seen
    assert not list(tmp_path.glob("rankframe-*"))


def _watched(made: Callable[..., None], tell: Callable[[], object]) -> Callable[..., None]:
    def watched(*given: object) -> None:
        tell()
        made(*given)

    return watched


# Evaluates in a process of its own, and says how much memory that took at the most.
CHILD = """
import re, sys
from pathlib import Path
import rankframe as rf
qrels, run, limit = sys.argv[1:]
source = sys.stdin.buffer if run == "-" else run
try:
    rf.evaluate(qrels, source, ["ndcg@10", "mrr"], max_memory=int(limit))
except rf.RankframeError as error:
    print(error, file=sys.stderr)
# What getrusage says is never less than what the process had that started this one.
status = Path("/proc/self/status").read_text()
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) * 1024)
"""
# Half of a gigabyte of text, or of rows, for limits of 0.3 GiB and their multiples.
LIMIT = 320_000_000


def peak(qrels: Path, run: Path, limit: int, *, pipe: bool = False) -> tuple[int, str]:
    """Bytes that an evaluation took at the most, and why it was refused, if it was."""
    with run.open("rb") as opened:
        child = [
            sys.executable,
            "-W",
            "ignore::UserWarning",
            "-c",
            CHILD,
            str(qrels),
            "-" if pipe else str(run),
            str(limit),
        ]
        done = subprocess.run(child, stdin=opened, capture_output=True, text=True, check=True)
    return int(done.stdout), done.stderr


def long_ids(rows: int, length: int = 60) -> pl.DataFrame:
    """Rows whose documents have ids of at least so many bytes."""
    number = pl.int_range(rows)
    return pl.select(
        query_id=pl.lit("a query of some length ") + (number // 50).cast(pl.String),
        doc_id=pl.lit("https://example.org/".ljust(length, "x")) + number.cast(pl.String),
        score=(number * 7919 % 1009 / 8),
    )


def written(run: pl.DataFrame, folder: Path, form: str) -> tuple[Path, Path]:
    qrels = run.gather_every(20).select("query_id", "doc_id", relevance=pl.lit(1.0))
    paths = folder / "qrels.parquet", folder / f"run.{form}"
    qrels.write_parquet(paths[0])
    if form == "lists":
        lists = run.group_by("query_id", maintain_order=True).agg("doc_id", "score")
        lists.write_parquet(paths[1].with_suffix(".parquet"), row_group_size=1 << 12)
        return paths[0], paths[1].with_suffix(".parquet")
    if form == "parquet":
        run.write_parquet(paths[1], compression="lz4", row_group_size=1 << 17)
        return paths
    plain = paths[1].with_name(f"run.{form.removesuffix('.gz')}")
    words = run.with_columns(pl.col("query_id", "doc_id").str.replace_all(" ", "_"))
    FORMATS[form.removesuffix(".gz")](words, plain)
    words.gather_every(20).select("query_id", "doc_id", relevance=pl.lit(1.0)).write_parquet(
        paths[0]
    )
    if form.endswith(".gz"):
        with plain.open("rb") as text, gzip.open(paths[1], "wb", compresslevel=1) as packed:
            shutil.copyfileobj(text, packed, 1 << 20)
    return paths


needs_linux = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="measured on Linux only"
)


@needs_linux
@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "form"),
    [("shuffled", "parquet"), ("shuffled", "trec.gz"), ("contiguous", "parquet")],
)
def test_a_limit_is_held(layout: str, form: str, tmp_path: Path) -> None:
    """Rows with long ids; without a limit they take almost twice as much."""
    run = long_ids(250_000, 600)
    if layout == "shuffled":
        run = run.sample(fraction=1, shuffle=True, seed=1)
    paths = written(run, tmp_path, form)
    limit = 220_000_000
    taken, said = peak(*paths, limit)
    assert not said
    assert taken < 1.3 * limit


@needs_linux
@pytest.mark.slow
def test_a_limit_is_held_whoever_is_slow() -> None:
    """Delays in reading, working and writing, on one core and on two."""
    command = [sys.executable, "-m", "benchmarks.memory_limits", "--runs", "1"]
    done = subprocess.run(
        [*command, "--limits", "220 MB"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


CASES = [
    ("growing", "together", "parquet"),
    ("growing", "scattered", "parquet"),
    ("half in one query", "together", "parquet"),
    ("half in one query", "scattered", "parquet"),
    ("long ids", "scattered", "parquet"),
    ("long ids", "scattered", "trec"),
    ("long ids", "scattered", "trec.gz"),
    ("long ids", "scattered", "csv"),
    ("long ids", "scattered", "jsonl"),
    ("long ids", "scattered", "trec through a pipe"),
    ("long ids", "together", "lists"),
]


@needs_linux
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "layout", "form"), CASES)
def test_a_limit_is_held_at_full_size(
    kind: str, layout: str, form: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    times = int(request.config.getoption("--memory-times") or 0)
    if not times:
        pytest.skip("takes minutes and gigabytes; with --memory-times 1")
    if kind == "growing":
        run = growing(2_500_000 * times)
    elif kind == "long ids":
        run = long_ids(4_000_000 * times)
    else:
        run = one_large(0.5, 1_500_000 * times).sort("query_id", maintain_order=True)
    if layout == "scattered":
        run = run.sample(fraction=1, shuffle=True, seed=1)
    paths = written(run, tmp_path, form.split(maxsplit=1)[0])
    del run
    taken, said = peak(*paths, LIMIT * times, pipe="pipe" in form)
    print(f"{kind}, {layout}, {form}: {taken / (LIMIT * times):.2f} times the limit")
    assert not said
    assert taken < 1.3 * LIMIT * times


@needs_linux
@pytest.mark.slow
@pytest.mark.parametrize("pipe", [False, True])
def test_a_gzip_that_unfolds_to_gigabytes(
    pipe: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """One query with all rows: refused before the work, with the size that would do."""
    full = bool(request.config.getoption("--memory-times"))
    lines = b"q1 Q0 " + b"d" * 60 + b" 1 1.5 t\n"
    with gzip.open(tmp_path / "run.trec.gz", "wb") as packed:
        for _ in range(1_500 if full else 60):
            packed.write(lines * 13_000)
    pl.DataFrame({"query_id": "q1", "doc_id": "d", "relevance": 1}).write_parquet(
        tmp_path / "qrels.parquet"
    )
    limit = LIMIT if full else 150_000_000
    taken, said = peak(tmp_path / "qrels.parquet", tmp_path / "run.trec.gz", limit, pipe=pipe)
    print(f"gzip, pipe {pipe}: {taken / limit:.2f} times the limit")
    assert "query 'q1' has" in said
    assert "cut the query's list" in said
    assert taken < 1.3 * limit


CASE = random_case(1, queries=20)
ROW_BYTES = (120, 140)


def counted(count: int = 2) -> tuple[Counted, list[Counted]]:
    runs = [random_case(seed, queries=20).run for seed in range(count)]
    return Counted(CASE.qrels, "qrels"), [Counted(run, "run") for run in runs]


def opened(qrels: Counted, runs: list[Counted]) -> tuple[InputTable, list[InputTable]]:
    return open_table(qrels.frame, "qrels"), [open_table(run.frame, "run") for run in runs]


def test_small_inputs_are_read_once() -> None:
    qrels, runs = counted()
    found = hold(*opened(qrels, runs), ROW_BYTES)
    for side, source in zip((found.left, *found.rights), (qrels, *runs), strict=True):
        for _ in range(2):
            assert load(side).equals(source.rows)
        assert source.reads == 1
    assert found.partitions == (1, 1)


@pytest.mark.parametrize("again", [False, True])
def test_of_large_inputs_the_left_one_is_read(again: bool, monkeypatch) -> None:
    monkeypatch.setattr(held, "_SMALL", 3)
    qrels, runs = counted()
    found = hold(*opened(qrels, runs), ROW_BYTES, again=again)
    before = [source.reads for source in (qrels, *runs)]
    for side, source in zip((found.left, *found.rights), (qrels, *runs), strict=True):
        assert load(side).equals(source.rows)
    after = [source.reads for source in (qrels, *runs)]
    assert [b - a for a, b in zip(before, after, strict=True)] == [0, *([not again] * 2)]


def test_what_does_not_fit_stays_as_it_is() -> None:
    given = opened(*counted())
    found = hold(*given, ROW_BYTES, 1_000)
    assert (found.left, list(found.rights)) == given
    assert min(found.partitions) > 1


def test_what_fits_one_by_one_is_not_held_together(monkeypatch) -> None:
    monkeypatch.setattr(held, "_SMALL", 3)
    monkeypatch.setattr(held, "estimated_need", lambda *_: 400)
    left, rights = opened(*counted())
    found = hold(left, rights, ROW_BYTES, 3_000, again=True)  # of which a third is for rows
    assert (found.left is left, list(found.rights), found.partitions) == (False, rights, (1, 1))


def test_names_and_roles_stay_and_what_is_odd_is_said_by_whoever_reads(
    tmp_path: Path, refusal
) -> None:
    path = tmp_path / "run.csv"
    path.write_text("query_id,doc_id,score\nq,a,1\nq,b,many\n")
    left, rights = opened(*counted(0))
    found = hold(left, [open_table(path, "run")], ROW_BYTES).rights[0]
    refusal(load, found)
    path.write_text("query_id,doc_id,score\nq,a,1\nq,,2\n")
    found = hold(left, [open_table(path, "run")], ROW_BYTES).rights[0]
    assert (found.name, found.role) == (str(path), "run")
    assert refusal(load, found) == refusal(load, open_table(path, "run"))
    assert rights == []


def test_other_names_of_columns_are_settled_and_types_stay() -> None:
    frame = pl.DataFrame({"topic": [1, 2], "docno": [7, 8], "label": ["1", " 0"]})
    columns = {"query_id": "topic", "doc_id": "docno", "relevance": "label"}
    found = hold(open_table(frame, "qrels", columns), [], ROW_BYTES).left
    assert found.raw.collect().rows() == [(1, 7, "1"), (2, 8, " 0")]
    assert found.frame.collect().rows() == [("1", "7", 1.0), ("2", "8", 0.0)]
    assert open_table(found, "qrels", columns) is found
