"""End a command-line process cleanly if its output closes, memory runs out, or a signal arrives.

Its exit code is the code of the command, 2 after an error, or 128 plus the number of the signal
that ended the process. A closed pipe on standard output is not an error; a full disk is one.
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
# Characters of tables, for terminals that have only ASCII.
_PLAIN = {"±": "+/-", "−": "-", "–": "-", "…": "...", "×": "x", "→": "->", "∞": "inf", "≥": ">="}


class _EndedError(BaseException):
    """Report a signal that asks the process to end."""


def guarded(work: Callable[[], int], *, grace: float = 3.0) -> NoReturn:
    """Do the work of a command line, and end the process with the code that it returns.

    `grace`: the seconds that the work has to end after a signal, before the process is ended.
    """
    code, signals = FAILED, _Signals(grace)
    try:
        _open_all_streams()
        with signals.handled():
            code = work()
            _flush()
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 (also what a library raises in a panic)
        code = FAILED
        if isinstance(error, KeyboardInterrupt):  # a library may notice before we do
            signals.received = signals.received or signal.SIGINT
        if not signals.received:
            _print_error(error)
    if signals.received:
        code = _BY_SIGNAL + signals.received
    with suppress(OutputError):
        _flush()
    sys.exit(code)


def _print_error(error: BaseException) -> None:
    """Print one line for an error that users can cause, and a traceback for a bug."""
    if isinstance(error, MemoryError):
        message = "not enough memory. Pass less at once, or --max-memory to work in partitions."
    elif isinstance(error, OutputError):
        message = error.message(flags=True)
    elif isinstance(error, OSError):
        message = f"{error.strerror or error}{'' if not error.filename else f': {error.filename}'}."
    else:
        traceback.print_exception(error)
        return
    print(f"rankframe: {message}", file=sys.stderr)


class _Signals:
    """Let signals that end the process interrupt its work, so that it removes temporary files.

    Work that is deep in a library does not notice a signal. A thread ends the process then.
    """

    def __init__(self, grace: float) -> None:
        self.received, self._grace = 0, grace

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals, except signals that the parent process has us ignore."""
        kinds = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
        before = {kind: signal.getsignal(kind) for kind in kinds}
        before = {kind: handler for kind, handler in before.items() if handler != signal.SIG_IGN}
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        try:
            for kind in before:
                signal.signal(kind, self._raise)
            signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        except ValueError:  # not the main thread, which alone may do so
            yield
            return
        hook = sys.unraisablehook
        sys.unraisablehook = lambda error: None if self.received else hook(error)
        threading.Thread(target=self._end_later, args=(reading,), daemon=True).start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)
            os.close(writing)
            for kind, handler in before.items():  # nothing is left to be interrupted
                signal.signal(kind, signal.SIG_IGN if self.received else handler)

    def _raise(self, number: int, _frame: object) -> NoReturn:
        self.received = self.received or number
        raise _EndedError

    def _end_later(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            number = pipe.read(1)
        if number:  # else the work has ended
            time.sleep(self._grace)
            remove_live()
            os._exit(_BY_SIGNAL + number[0])


class _Outlet(io.FileIO):
    """Write to standard output or error; drop data after the reader has closed its end."""

    def __init__(self, number: int, *, may_fail: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self._may_fail, self._gone = may_fail, False

    def write(self, data: Any, /) -> int:
        """Write data, and return the number of bytes that were written or dropped."""
        while not self._gone:
            try:
                written = super().write(data)
                if written is not None:
                    return written
                select.select([], [self], [])  # a slow reader
            except OSError as error:
                self._gone = True
                if self._may_fail and not isinstance(error, BrokenPipeError):
                    raise OutputError(
                        f"cannot write to standard output: {error.strerror or error}."
                    ) from error
        return len(data)


def _open_all_streams() -> None:
    """Open closed standard streams, and let them write every character."""
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


def _stream(stream: Any, number: int, *, may_fail: bool) -> Any:
    """Return a standard stream that writes to an outlet; return a replaced stream unchanged."""
    try:
        if stream is not None and stream.fileno() != number:
            return stream
    except (OSError, ValueError):
        return stream
    if stream is not None:
        stream.flush()
    outlet = _Outlet(number, may_fail=may_fail)
    return io.TextIOWrapper(
        io.BufferedWriter(outlet),
        encoding=getattr(stream, "encoding", None) or "utf-8",
        errors="in ASCII",
        line_buffering=outlet.isatty() or not may_fail,
    )


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    r"""Escape characters that a stream's encoding lacks in ASCII.

    >>> _in_ascii(UnicodeEncodeError("ascii", "a±é", 1, 3, ""))
    ('+/-\\xe9', 3)
    """
    assert isinstance(error, UnicodeEncodeError)  # nothing is decoded so
    lacking = error.object[error.start : error.end]
    plain = (_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking)
    return "".join(plain), error.end


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
