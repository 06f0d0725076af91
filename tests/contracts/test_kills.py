"""Whatever ends a process, outputs are the old ones or the new ones, and temporary files go.

A few kills of every kind by default; `--kills 200` for as many at random moments, and one before
and one after every step of every command that changes a name for good, or writes out.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from tests.support.nursery import Case, Ended, Nursery

pytestmark = pytest.mark.slow

KILLED = -signal.SIGKILL
FEW = 16
METRICS = ("--ci none -m map", "--ci none -m mrr")
# Every command that writes: its arguments, then what makes its output another one.
COMMANDS = {
    "evaluate": ("evaluate q.parquet a.parquet -o out --overwrite", *METRICS),
    "evaluate, in pieces": (
        "evaluate q.parquet b.parquet -o out --overwrite --max-memory 50kB", *METRICS,
    ),
    "evaluate, several": (
        "evaluate q.parquet a.parquet b.parquet -o out --overwrite", *METRICS,
    ),
    "evaluate, files": (
        "evaluate q.parquet a.parquet --per-query v.csv --summary s.parquet", *METRICS,
    ),
    "agree": ("agree a.parquet b.parquet -o out --overwrite", "-m rbo", "-m overlap@3"),
    "compare": (
        "compare q.parquet a.parquet b.parquet -m map -o out --overwrite --correction none",
        "--ci none", "--ci t",
    ),
    "diff": (
        "diff q.parquet a.parquet b.parquet --per-query v.jsonl --documents d.csv.gz",
        "-m map", "-m mrr",
    ),
    "gate": (
        "gate q.parquet b.parquet --baseline stored --json g.json --junit g.xml",
        "-r", "map: no worse than -99%", "-r", "map: better than 99%",
    ),
    "convert": ("convert a.parquet run.trec --overwrite", "--order columns", "--order rows"),
    "plot": ("plot metric_at_k q.parquet a.parquet -o p.svg", "-m ndcg", "-m recall"),
    "report": ("report q.parquet a.parquet b.parquet -m map -o r.html", "--title A", "--title B"),
}  # fmt: skip
SLOW = ("plot", "report")
ENDINGS = (0, 1)  # also where a gate fails


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    opened = Nursery()
    yield opened
    opened.close()
    print("\nprocesses by exit code:", dict(sorted(opened.ends.items())))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(3)
    query, doc = (x.ravel() for x in np.meshgrid(range(80), range(12), indexing="ij"))
    rows = pl.DataFrame({"query_id": query, "doc_id": doc}).cast(pl.String)
    grades = pl.Series("relevance", rng.integers(0, 3, rows.height))
    rows.with_columns(grades).write_parquet(folder / "q.parquet")
    for name in "ab":
        scores = pl.Series("score", rng.random(rows.height))
        run = rows.with_columns(scores).sample(fraction=1, shuffle=True, seed=1)
        run.write_parquet(folder / f"{name}.parquet")
    rf.evaluate(folder / "q.parquet", folder / "a.parquet", "map", output=folder / "stored")
    return folder


class Desk:
    """A folder with inputs, in which a command writes its outputs, and how these may look."""

    def __init__(self, nursery: Nursery, inputs: Path, place: Path, command: str) -> None:
        self.run = nursery.run
        self.folder, self.scratch, self.saved = (
            place / name for name in ("work", "scratch", "saved")
        )
        self.scratch.mkdir()
        shutil.copytree(inputs, self.folder)
        self.given = {p.name for p in inputs.iterdir()}
        first, *others = COMMANDS[command]
        half = len(others) // 2
        old, new = (
            [*first.split(), *(some if half > 1 else some[0].split())]
            for some in (others[:half], others[half:])
        )
        self.old_case, self.case = (Case(args, folder=str(self.folder)) for args in (old, new))
        self.ended = self.complete(self.case)
        self.new = self.state()
        self.complete(self.old_case)
        self.old = self.state()
        assert self.old != self.new
        shutil.copytree(self.folder, self.saved)
        assert self.nothing_left()

    def complete(self, case: Case) -> Ended:
        (ended,) = self.run(case)
        assert ended.code in ENDINGS, ended.err
        return ended

    def state(self) -> dict[str, bytes]:
        """All outputs, byte by byte."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.relative_to(self.folder).parts[0] not in self.given
            and not path.relative_to(self.folder).parts[0].startswith(".rankframe-")
        }  # fmt: skip

    def check(self, seen: dict[str, bytes] | None = None) -> None:
        """Every output by itself is the old one or the new one: a file, or a folder as a whole."""
        seen = self.state() if seen is None else seen
        for top in {Path(name).parts[0] for name in (*seen, *self.old, *self.new)}:
            here, old, new = (
                {name: data for name, data in of.items() if Path(name).parts[0] == top}
                for of in (seen, self.old, self.new)
            )
            assert here in (old, new), f"{top} is neither the old one nor the new one"

    def reset(self) -> None:
        """The old outputs, beside whatever the last one left."""
        for name in {Path(name).parts[0] for name in (*self.old, *self.new)}:
            target = self.folder / name
            shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
            saved = self.saved / name
            if saved.is_dir():
                shutil.copytree(saved, target)
            elif saved.exists():
                shutil.copy2(saved, target)

    def nothing_left(self) -> bool:
        left = {p.name for p in self.folder.iterdir()} - self.given
        return not any(self.scratch.iterdir()) and left == {
            Path(name).parts[0] for name in self.state()
        }


@pytest.fixture(scope="module")
def desks(
    nursery: Nursery, inputs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Desk]:
    """The desk of a command, set up once."""
    return cache(lambda name: Desk(nursery, inputs, tmp_path_factory.mktemp("desk"), name))


@pytest.fixture
def desk(request: pytest.FixtureRequest, desks: Callable[[str], Desk], kills: int) -> Desk:
    if request.param in SLOW and kills <= FEW:
        pytest.skip("seconds each; with --kills 200")
    found = desks(request.param)
    found.reset()
    return found


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    return cast("int", request.config.getoption("--kills"))


def several(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("desk", names, indirect=True)


@several(*COMMANDS)
def test_a_kill_at_any_step_leaves_old_or_new(desk: Desk, kills: int) -> None:
    steps = desk.ended.steps
    moments = [(step, late) for step in range(len(steps)) for late in (False, True)]
    if kills <= FEW:
        naming = [at for at, name in enumerate(steps) if name != "fsync"]
        moments = [(0, False), (naming[0], False), (naming[-1], True)]
    for step, late in moments:
        desk.reset()
        (ended,) = desk.run(replace(desk.case, step=step, late=late))
        assert ended.code == KILLED, ended.err
        desk.check()
    desk.complete(desk.case)
    assert desk.state() == desk.new
    assert desk.nothing_left()


@several("evaluate")
def test_a_kill_where_nothing_can_be_exchanged_is_mended_by_the_next(desk: Desk) -> None:
    unable = replace(desk.case, unable=True)
    (ended,) = desk.run(unable)
    renames = [at for at, name in enumerate(ended.steps) if name == "rename"]
    assert len(renames) == 2
    for step, late in ((renames[0], True), (renames[1], False), (renames[1], True)):
        desk.reset()
        desk.run(replace(unable, step=step, late=late))
        assert bool(desk.state()) == (late and step == renames[1])
        # Another one beside puts back what was set aside, whatever it came for.
        desk.run(Case(["convert", "a.parquet", "x.csv"], folder=str(desk.folder)))
        (desk.folder / "x.csv").unlink()
        assert desk.state() == (desk.new if late and step == renames[1] else desk.old)
        assert desk.nothing_left()


@several(*COMMANDS)
def test_kills_at_random_moments(desk: Desk, kills: int) -> None:
    draw = random.Random(" ".join(desk.case.args))
    for _ in range(-(-kills // len(COMMANDS)) if kills > FEW else 1):
        desk.reset()
        (ended,) = desk.run(replace(desk.case, after=draw.random() * desk.ended.seconds))
        assert ended.code in (KILLED, *ENDINGS)
        desk.check()
    desk.complete(desk.case)
    assert desk.nothing_left()


@several("evaluate, in pieces", "evaluate, several", "convert")
def test_a_process_that_is_asked_to_end_cleans_up(desk: Desk, kills: int) -> None:
    draw = random.Random(7)
    for at in range(3 if kills <= FEW else kills // 6):
        desk.reset()
        kind = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[at % 3]
        (ended,) = desk.run(
            replace(desk.case, after=draw.random() * desk.ended.seconds, signal=kind)
        )
        # Before and after our work it ends as any program does.
        assert ended.code in (128 + kind, -kind, *ENDINGS), ended.err
        desk.check()
        assert desk.nothing_left()
        # Where the signal comes while polars itself calls Python, which is rare, polars says so.
        assert not any(line.startswith("Traceback") for line in ended.err.splitlines())


@several(*COMMANDS)
def test_a_limit_of_file_sizes_leaves_the_old(desk: Desk, kills: int) -> None:
    for limit in (0, 100, 1_500, 6_000) if kills > FEW else (100,):
        desk.reset()
        (ended,) = desk.run(replace(desk.case, limit=limit))
        if ended.code in ENDINGS:
            assert desk.state() == desk.new
            continue
        desk.check()
        # That the memory is too little for anything is said before the work.
        said = [line for line in ended.err.splitlines() if "is too low" not in line]
        assert (ended.code, len(said)) == (2, 1), ended.err
        assert ended.err.startswith("rankframe: ")
        assert "File too large" in ended.err or "no room" in ended.err
        assert ".rankframe-" not in ended.err
        assert desk.nothing_left()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if (
        shutil.which("mount") is None
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("needs the right to mount a disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_leaves_the_old(nursery: Nursery, inputs: Path, small_disk: Path) -> None:
    out, file = small_disk / "out", small_disk / "run.csv"
    before = rf.evaluate(inputs / "q.parquet", inputs / "a.parquet", "map", output=out)
    file.write_text("old")
    with suppress(OSError), (small_disk / "full").open("wb", buffering=0) as full:
        while full.write(b"x" * 4096):
            pass
    (small_disk.parent / "scratch").mkdir()
    for command in (
        f"evaluate {inputs}/q.parquet {inputs}/b.parquet -m mrr -o out --overwrite",
        f"convert {inputs}/a.parquet run.csv --overwrite",
    ):
        (ended,) = nursery.run(Case(command.split(), folder=str(small_disk)))
        assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
        assert "No space left on device" in ended.err
    assert rf.Result.read(out).per_query.equals(before.per_query)
    assert file.read_text() == "old"
    assert sorted(p.name for p in small_disk.iterdir()) == ["full", "out", "run.csv"]


WRITER = """
import os, sys
import rankframe as rf
label, times = {label!r}, {times}
run = {{f"q{{n}}": {{"a": 1.0, "x": 2.0 if label == "map" else 0.5}} for n in range(50)}}
result = rf.evaluate({{f"q{{n}}": {{"a": 1}} for n in range(50)}}, run, label)
for _ in range(times):
    result.write("out", overwrite=True)
"""
READER = """
import rankframe as rf
from rankframe.core.errors import UnreadableInputError
values = {{"map": 0.5, "mrr": 1.0}}
whole = late = 0
for _ in range({times}):
    found = rf.Result.read("out")
    (label, value), = found.means.items()
    assert value == values[label], (label, value)
    assert found.count("queries_evaluated") == 50
    try:
        assert found.per_query.columns == ["query_id", label]
        assert found.per_query[label].to_list() == [value] * 50
        whole += 1
    except UnreadableInputError as error:
        assert "replaced by another result" in str(error), error
        late += 1
assert whole + late == {times}
"""


@pytest.mark.parametrize("unable", [False, True])
def test_two_writers_and_a_reader(
    unable: bool, nursery: Nursery, tmp_path: Path, kills: int
) -> None:
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    work.mkdir()
    scratch.mkdir()
    times = 30 if kills <= FEW else 500
    writers = [
        Case(program=WRITER.format(label=label, times=times), folder=str(work), unable=unable)
        for label in ("map", "mrr")
    ]
    first = replace(writers[0], program=WRITER.format(label="map", times=1))
    reader = Case(program=READER.format(times=times), folder=str(work))
    assert [one.code for one in nursery.run(first)] == [0]
    # Without an exchange in one step there is a moment without a result: readers wait for it.
    ended = nursery.run(reader, *writers)
    assert [one.code for one in ended] == [0, 0, 0], [one.err for one in ended]
    assert [p.name for p in work.iterdir()] == ["out"]
