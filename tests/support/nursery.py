"""Fork processes from one that has imported everything, so that hundreds of tests can start and
kill a process quickly. `Nursery` starts that process, which runs this module as a program.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Case:
    """Describe a process to start: a command line or a program, and when to kill it."""

    args: Sequence[str] = ()
    program: str = ""
    folder: str = "."
    # where temporary files go; else beside the folder
    scratch: str = ""
    # a signal after so many seconds
    after: float | None = None
    signal: int = signal.SIGKILL
    # killed at this of the steps that change names or write them out, before or after it
    step: int | None = None
    late: bool = False
    # bytes that a file of it may have
    limit: int | None = None
    # two names cannot be exchanged in one step
    unable: bool = False


@dataclass(frozen=True)
class Ended:
    """Hold the outcome of a process: exit code, seconds, standard error and steps."""

    code: int
    seconds: float
    err: str
    # those steps, by name
    steps: list[str] = field(default_factory=list)


class Nursery:
    """Start processes by forking from a process that has imported everything."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        # how many processes ended in which way
        self.ends: Counter[int] = Counter()

    def run(self, *cases: Case) -> list[Ended]:
        """Run processes at the same time, wait for all of them, and return their outcomes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([asdict(case) for case in cases]) + "\n")
        self._process.stdin.flush()
        ended = [Ended(**one) for one in json.loads(self._process.stdout.readline())]
        self.ends.update(one.code for one in ended)
        return ended

    def close(self) -> None:
        """End the process from which others are forked."""
        self._process.communicate()


def _main() -> None:
    import altair  # noqa: F401

    import rankframe as rf
    import rankframe.cli.app
    import rankframe.engine.convert
    import rankframe.present.charts.registry
    import rankframe.present.report.report
    import rankframe.present.terminal.analysis_tables
    import rankframe.present.terminal.result_tables

    for name in dir(rf):
        getattr(rf, name)
    rankframe.cli.app.make_app()
    for line in sys.stdin:
        ended = _run([Case(**case) for case in json.loads(line)])
        print(json.dumps([asdict(one) for one in ended]), flush=True)


def _run(cases: list[Case]) -> list[Ended]:
    with tempfile.TemporaryDirectory() as kept:
        begun = time.monotonic()
        places = [Path(kept, str(at)) for at in range(len(cases))]
        pipes = [os.pipe() for _ in cases]
        children = [
            _forked(case, place, pipe[1])
            for case, place, pipe in zip(cases, places, pipes, strict=True)
        ]
        for _, writing in pipes:
            os.close(writing)
        if cases[0].after is not None:
            time.sleep(cases[0].after)
            os.kill(children[0], cases[0].signal)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        seconds = time.monotonic() - begun
        said = []
        for reading, _ in pipes:
            with os.fdopen(reading, errors="replace") as pipe:
                said.append(pipe.read())
        return [
            Ended(code, seconds, err, (place / "steps").read_text().split())
            for code, err, place in zip(codes, said, places, strict=True)
        ]


def _forked(case: Case, kept: Path, err: int) -> int:
    kept.mkdir()
    (kept / "steps").touch()
    if child := os.fork():
        return child
    code = 99
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, file in ((0, nothing), (1, nothing), (2, err)):
            os.dup2(file, number)
        os.chdir(case.folder)
        os.environ["TMPDIR"] = tempfile.tempdir = case.scratch or str(Path("../scratch").resolve())
        _count_steps(case, os.open(kept / "steps", os.O_WRONLY | os.O_APPEND))
        if case.limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (case.limit, case.limit))
        sys.argv = ["rankframe", *case.args]
        if case.program:
            exec(case.program, {})
            code = 0
        else:
            from rankframe.cli import main

            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _count_steps(case: Case, into: int) -> None:
    """Log every step that renames or flushes files, and kill the process at step `case.step`."""
    from rankframe.io import outputs

    seen = 0

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def step(*args: Any, **options: Any) -> Any:
            nonlocal seen
            here, seen = seen == case.step, seen + 1
            os.write(into, f"{name}\n".encode())
            if here and not case.late:
                os.kill(os.getpid(), signal.SIGKILL)
            done = call(*args, **options)
            if here:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return step

    for name in ("rename", "replace", "fsync"):
        setattr(os, name, counted(name, getattr(os, name)))
    renameat2 = outputs._renameat2()
    call = counted("exchange", renameat2) if renameat2 is not None and not case.unable else None
    setattr(outputs, "_renameat2", lambda: call)  # noqa: B010


if __name__ == "__main__":
    _main()
