"""How a process of the command line ends: whatever happens to its streams, its memory, or itself.

Its exit code is that of the command, or 2 where something went wrong, or says by which signal it
was ended. Standard output that nobody reads any more is no error; one that is full is.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from rankframe.core.errors import OutputError
from rankframe.io.scratch import remove_live

FAILED = 2
_BY_SIGNAL = 128
_GRACE = 3.0  # seconds that work which does not look up has to end after a signal
# What tables are drawn with, for terminals that know no more than ASCII.
_PLAIN = {"±": "+/-", "−": "-", "–": "-", "…": "...", "×": "x", "→": "->", "∞": "inf", "≥": ">="}


class _EndedError(BaseException):
    """A signal that asks the process to end."""


def guarded(work: Callable[[], int]) -> NoReturn:
    """Do the work of a command line, and end the process with the code that it gives."""
    code, signals = FAILED, _Signals()
    try:
        _open_all_streams()
        with signals.heeded():
            code = work()
            _flush()
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 (also what a library raises in a panic)
        code = FAILED
        if isinstance(error, KeyboardInterrupt):  # a library may notice before we do
            signals.seen = signals.seen or signal.SIGINT
        if not signals.seen:
            _say(error)
    if signals.seen:
        code = _BY_SIGNAL + signals.seen
    with suppress(OutputError):
        _flush()
    sys.exit(code)


def _say(error: BaseException) -> None:
    """One line for what may happen to anybody; all that is known of what is a fault of ours."""
    if isinstance(error, MemoryError):
        message = "not enough memory. Pass less at once, or --max-memory to work in pieces."
    elif isinstance(error, OutputError):
        message = error.said(flags=True)
    elif isinstance(error, OSError):
        message = f"{error.strerror or error}{'' if not error.filename else f': {error.filename}'}."
    else:
        traceback.print_exception(error)
        return
    print(f"rankframe: {message}", file=sys.stderr)


class _Signals:
    """Signals that end the process: its work is given up, and its temporary files are removed.

    Work that is deep in a library does not notice a signal. A thread of its own does, and sees to
    it that the process ends anyway.
    """

    def __init__(self) -> None:
        self.seen = 0

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Heed them, but for those that whoever started the process has us ignore."""
        kinds = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
        heeded = [kind for kind in kinds if signal.getsignal(kind) != signal.SIG_IGN]
        before = {kind: signal.getsignal(kind) for kind in heeded}
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        try:
            for kind in heeded:
                signal.signal(kind, self._raise)
            signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        except ValueError:  # not the main thread, which alone may do so
            yield
            return
        sys.unraisablehook = self._quiet(sys.unraisablehook)
        threading.Thread(target=self._end, args=(reading,), daemon=True).start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)
            os.close(writing)
            for kind in heeded:  # nothing is left to be interrupted
                signal.signal(kind, signal.SIG_IGN if self.seen else before[kind])

    def _raise(self, number: int, _frame: object) -> NoReturn:
        self.seen = self.seen or number
        raise _EndedError

    def _end(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            seen = pipe.read(1)
        if seen:  # else the work has ended
            time.sleep(_GRACE)
            remove_live()
            os._exit(_BY_SIGNAL + seen[0])

    def _quiet(self, hook: Callable[..., object]) -> Callable[..., object]:
        return lambda found: None if self.seen else hook(found)


class _Outlet(io.RawIOBase):
    """Where standard output goes, or errors: what nobody reads any more is dropped."""

    def __init__(self, number: int, *, may_fail: bool) -> None:
        self._number, self._may_fail, self._gone = number, may_fail, False

    def writable(self) -> bool:
        """It is nothing else."""
        return True

    def fileno(self) -> int:
        """The number that the system knows it by."""
        return self._number

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return os.isatty(self._number)

    def write(self, data: Any, /) -> int:
        """Write some of it; all, as far as anybody is told, where it is dropped."""
        if self._gone:
            return len(data)
        try:
            return os.write(self._number, data)
        except BlockingIOError:
            select.select([], [self._number], [])
            return self.write(data)
        except OSError as error:
            self._gone = True
            if self._may_fail and not isinstance(error, BrokenPipeError):
                raise OutputError(
                    f"cannot write to standard output: {error.strerror or error}."
                ) from error
            return len(data)


def _open_all_streams() -> None:
    """Standard streams that are there, and can say everything."""
    codecs.register_error("in ASCII", _in_ascii)
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file that is opened must not take its place
            os.open(os.devnull, os.O_RDWR)
    if os.name != "posix":
        return
    sys.stdout = _stream(sys.stdout, 1, may_fail=True)
    sys.stderr = _stream(sys.stderr, 2, may_fail=False)


def _stream(given: Any, number: int, *, may_fail: bool) -> Any:
    """A standard stream over an outlet of ours, unless somebody put another one in its place."""
    try:
        if given is not None and given.fileno() != number:
            return given
    except (OSError, ValueError):
        return given
    if given is not None:
        given.flush()
    outlet = _Outlet(number, may_fail=may_fail)
    return io.TextIOWrapper(
        io.BufferedWriter(outlet),
        encoding=getattr(given, "encoding", None) or "utf-8",
        errors="in ASCII",
        line_buffering=outlet.isatty() or not may_fail,
    )


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    r"""What a stream's encoding lacks, in other words.

    >>> _in_ascii(UnicodeEncodeError("ascii", "a±é", 1, 3, ""))
    ('+/-\\xe9', 3)
    """
    assert isinstance(error, UnicodeEncodeError)  # nothing is decoded so
    lacking = error.object[error.start : error.end]
    said = (_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking)
    return "".join(said), error.end


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
