"""A forked process computes, or says at once that it cannot; others are none the wiser."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankframe.core import forks
from rankframe.core.errors import ForkedError

# What leaves a process as it was, and what starts threads of polars.
HARMLESS = "import polars; polars.DataFrame({'a': [1]}); rf.ndcg(k=10)"
THREADED = {
    "a table was sorted": "import polars; polars.Series([2, 1, 3]).sort()",
    "a file was looked at": "import polars; polars.scan_parquet(FILE).collect_schema()",
}
# Everything that reads something. `evaluated` is what a run is evaluated by.
DOORS = {
    "evaluate": "rf.evaluate(Q, R, 'map')",
    "compare": "rf.compare(Q, {'a': R, 'b': R}, 'map')",
    "diff": "rf.diff(Q, R, R, 'map')",
    "gate": "rf.gate(None, OUT, OUT, ['map: no worse than -1%'])",
    "agree": "rf.agree(R, R, 'rbo')",
    "curve": "rf.curve(Q, R, 'roc')",
    "judge": "rf.judge(Q, R)",
    "pair": "rf.pair(R, R)",
    "report": "rf.report(Q, {'a': R}, 'map', output=OUT + '.html')",
    "from_lists": "rf.from_lists([['a']], {'a'})",
    "from_topk": "rf.from_topk([[1, 2]])",
    "from_relevance": "rf.from_relevance([[1, 0]])",
    "read": "rf.Result.read(OUT)",
}
# A child that hangs is ended by its alarm, and has said nothing.
SCRIPT = """
import os, signal
import rankframe as rf
Q, R = {{"q": {{"a": 1, "b": 0}}}}, {{"q": {{"b": 2.0, "a": 1.0}}}}
FILE, OUT = {file!r}, {out!r}
def evaluated(**options):
    return rf.evaluate(Q, R, "map", **options)["map"]
{before}
def child(work):
    if not os.fork():
        signal.alarm(20)
        try:
            said = work()
        except rf.RankframeError as error:
            said = error
        os.write(1, f"{{said}}\\n".encode())
        os._exit(0)
    os.wait()
{rest}
"""
FILE = Path(__file__).parents[2] / "data" / "shop" / "qrels.parquet"


def children_say(tmp_path: Path, before: str, rest: str) -> list[str]:
    code = SCRIPT.format(before=before, rest=rest, file=str(FILE), out=str(tmp_path / "out"))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def refused() -> str:
    return str(ForkedError())


def test_a_child_computes_where_polars_did_not_work_before(tmp_path: Path) -> None:
    said = children_say(tmp_path, "", f"child(evaluated); {HARMLESS}; child(evaluated)")
    assert said == ["0.5", "0.5"]


@pytest.mark.parametrize("before", THREADED)
def test_a_child_is_refused_whoever_used_polars_before(before: str, tmp_path: Path) -> None:
    assert children_say(tmp_path, THREADED[before], "child(evaluated)") == [refused()]


def test_whatever_would_hang_is_refused_and_the_parent_goes_on(tmp_path: Path) -> None:
    calls = {**DOORS, "a child's child": "child(evaluated)"}
    asked = "\n".join(f"child(lambda: {call})" for call in calls.values())
    said = children_say(tmp_path, "evaluated(output=OUT)", f"{asked}\nprint(evaluated())")
    assert said == [*(refused() for _ in calls), "None", "0.5"]


def test_a_pool_of_forked_processes_is_refused_one_by_one(tmp_path: Path) -> None:
    pool = """
import multiprocessing
with multiprocessing.get_context("fork").Pool(8) as pool:
    for one in [pool.apply_async(rf.evaluate, (Q, R, "map")) for _ in range(8)]:
        try:
            print(one.get(60))
        except rf.RankframeError as error:
            print(error)
"""
    assert children_say(tmp_path, "evaluated()", pool) == [refused()] * 8


def test_the_refusal_says_what_to_do(message) -> None:
    message(refused())


def test_where_threads_cannot_be_listed_an_import_is_taken_for_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forks, "_THREADS", "/nowhere")
    monkeypatch.setattr(forks._Process, "had_threads", False)
    forks._before()
    assert forks._Process.had_threads
    monkeypatch.delitem(sys.modules, "polars")
    forks._before()
    assert not forks._Process.had_threads


def test_threads_that_have_no_name_yet_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(["python", "python", "tokio-rt-worker"])
    said = {"comm": "python", "stat": "7 (a (name) R 1 1"}

    def read(thread: str, what: str) -> str:
        return next(looks) if thread == "7" and what == "comm" else said[what]

    monkeypatch.setattr(forks.os, "listdir", lambda _: [str(os.getpid()), "7"])
    monkeypatch.setattr(forks, "_read", read)
    assert forks._has_threads()
    # One that sleeps is somebody else's.
    looks = iter(["numbers"] * 9)
    assert not forks._has_threads()
    said["stat"], looks = "7 (python) S 1 1", iter(["python"] * 9)
    assert not forks._has_threads()
