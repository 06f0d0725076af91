"""How a process ends: with the code of its work, or 2, or by a signal; never with a half of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

START = "from rankframe.cli.process import guarded\n"


def ended(work: str, **streams: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a process that does some work, the body of a function."""
    body = "".join(f"    {line}\n" for line in work.splitlines())
    code = f"{START}def work():\n{body}guarded(work)"
    options: dict = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    done = subprocess.run([sys.executable, "-c", code], check=False, **options)
    return done.returncode, (done.stdout or b"").decode("latin-1"), (done.stderr or b"").decode()


def in_a_shell(work: str, line: str, **environment: str) -> tuple[int, str, str]:
    """The same with what a shell does to its streams; % stands for the process."""
    code = f"{START}def work():\n    {work}\nguarded(work)"
    done = subprocess.run(
        ["bash", "-c", line.replace("%", '"$0" -c "$1"'), sys.executable, code],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout.decode("latin-1"), done.stderr.decode()


@pytest.mark.parametrize("code", [0, 1, 2, 7])
def test_the_code_is_that_of_the_work(code: int) -> None:
    assert ended(f"print('said')\nreturn {code}") == (code, "said\n", "")


@pytest.mark.parametrize("much", [1, 100_000])
@pytest.mark.parametrize("code", [0, 1])
def test_a_reader_that_leaves_changes_nothing(code: int, much: int) -> None:
    work = f"import time; time.sleep(0.2); print('x' * {much}); return {code}"
    line = "% | true; echo ${PIPESTATUS[0]}"
    assert in_a_shell(work, line) == (0, f"{code}\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
@pytest.mark.parametrize("much", [1, 100_000])
@pytest.mark.parametrize("code", [0, 1])
def test_a_full_disk_is_no_verdict(code: int, much: int) -> None:
    said = "rankframe: cannot write to standard output: No space left on device.\n"
    work = f"print('x' * {much}); return {code}"
    assert in_a_shell(work, "% > /dev/full") == (2, "", said)
    noisy = f"import sys; print('x' * {much}, file=sys.stderr); return {code}"
    assert in_a_shell(noisy, "% 2> /dev/full") == (code, "", "")


def test_a_file_that_must_not_grow_is_said() -> None:
    line = "f=$(mktemp); (ulimit -f 1; % > $f); echo $?; rm $f"
    said = "rankframe: cannot write to standard output: File too large.\n"
    assert in_a_shell("print('x' * 100_000); return 0", line) == (0, "2\n", said)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_take_nothing_and_break_nothing(closed: str, tmp_path: Path) -> None:
    # A file that is opened while standard output is closed would get what is printed.
    work = f"import sys; f = open({str(tmp_path / 'file')!r}, 'w'); print('out'); return 1"
    code, out, err = in_a_shell(work, f"% {closed}")
    assert (code, err) == (1, "")
    assert out == ("" if ">&-" in closed.replace("2>&-", "") else "out\n")
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("ascii", "0.5 +/-.1 - \\u30b7 caf\\xe9"), ("latin-1", "0.5 ±.1 - \\u30b7 café")],
)
def test_terminals_that_know_few_letters(encoding: str, said: str) -> None:
    work = "print('0.5 ±.1 − シ café'); return 0"
    found = in_a_shell(work, "%", PYTHONIOENCODING=encoding)
    assert found == (0, f"{said}\n", "")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            "MemoryError()",
            "not enough memory. Pass less at once, or --max-memory to work in partitions.",
        ),
        ("OSError(5, 'Input/output error', '/x')", "Input/output error: /x."),
    ],
)
def test_what_may_happen_to_anybody_is_one_line(error: str, said: str) -> None:
    assert ended(f"raise {error}") == (2, "", f"rankframe: {said}\n")


def test_a_fault_of_ours_is_told_in_full_and_is_no_verdict() -> None:
    for error in ("KeyError('ours')", "type('Panic', (BaseException,), {})('ours')"):
        code, out, err = ended(f"print('before')\nraise {error}")
        assert (code, out) == (2, "before\n")
        assert "Traceback" in err


WAITS = """
import time
from pathlib import Path
from rankframe.io.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "part").write_text("x")
    print("working", flush=True)
    {}
return 0
"""


def signalled(kind: signal.Signals, wait: str, scratch: Path) -> tuple[int, bytes]:
    body = "".join(f"    {line}\n" for line in WAITS.format(wait).splitlines())
    code = f"{START}def work():\n{body}guarded(work, grace=0.2)"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch)},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"working\n"
        assert any(scratch.iterdir())
        child.send_signal(kind)
        _, err = child.communicate(timeout=60)
    return child.returncode, err


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize(
    "wait",
    [
        "time.sleep(60)",
        # deep in a library, which does not look up
        "import ctypes, signal; signal.pthread_sigmask(0, {1, 2, 15}); ctypes.CDLL(None).sleep(60)",
    ],
)
def test_a_signal_ends_it_and_its_temporary_files(
    kind: signal.Signals, wait: str, tmp_path: Path
) -> None:
    assert signalled(kind, wait, tmp_path) == (128 + kind, b"")
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_signal_that_is_to_be_ignored_is(tmp_path: Path) -> None:
    line = f"trap '' HUP; export TMPDIR={tmp_path}; % & sleep 0.3; kill -HUP $!; wait $!"
    assert in_a_shell("import time; time.sleep(1); return 0", line) == (0, "", "")


@pytest.mark.slow
def test_a_signal_while_packages_are_imported_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("print('importing', flush=True)\nimport time\ntime.sleep(60)")
    code = f"{START}def work():\n    import slow\nguarded(work)"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{tmp_path}"},
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (130, b"")


@pytest.mark.slow
def test_a_reader_that_is_slow_gets_everything() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    code = f"{START}def work():\n    print('x' * 1_000_000)\n    return 0\nguarded(work)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=write) as child:
        os.close(write)
        time.sleep(0.3)
        with os.fdopen(read, "rb") as pipe:
            assert len(pipe.read()) == 1_000_001
    assert child.returncode == 0
