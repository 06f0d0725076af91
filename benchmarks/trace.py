"""Count how much code an evaluation walks through: `python -m benchmarks.trace [--list]`.

Prints, for `rf.evaluate` of the demo data and for `rf.compare` of two of its runs, how many modules
and functions of rankframe are called, on all threads, and how often a call is in another module
than the call before it, on the main thread (on others, that is different every time). Imports are
done before anything is counted.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import rankframe as rf

PACKAGE = str(Path(rf.__file__).parent)
SHOP = Path(__file__).parent.parent / "data" / "shop"


@dataclass
class Trace:
    """Count the functions that are called, and the switches from one module to another."""

    functions: set[tuple[str, str]] = field(default_factory=set)
    switches: int = 0
    _thread: int = field(default_factory=threading.get_ident)
    _module: str = ""

    @property
    def modules(self) -> set[str]:
        """Return the modules of which a function was called."""
        return {module for module, _ in self.functions}

    def record(self, frame: FrameType, event: str, _: Any) -> None:
        """Record the call of a function (the signature is that of `sys.setprofile`)."""
        if event != "call" or not frame.f_code.co_filename.startswith(PACKAGE):
            return
        module = frame.f_code.co_filename.removeprefix(PACKAGE).strip("/")
        self.functions.add((module, frame.f_code.co_qualname))
        if threading.get_ident() == self._thread:
            self.switches += module != self._module
            self._module = module

    def __str__(self) -> str:
        counts = len(self.modules), len(self.functions), self.switches
        return "{:3} modules, {:4} functions, {:5,} switches".format(*counts)


@contextmanager
def traced() -> Iterator[Trace]:
    """Trace what is called inside, on all threads that are started there."""
    trace = Trace()
    threading.setprofile(trace.record)
    sys.setprofile(trace.record)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def trace(call: Callable[[], object]) -> Trace:
    """Trace a call that was made once before, so that everything is imported."""
    call()
    with traced() as counted:
        call()
    return counted


def evaluate() -> object:
    """Evaluate a run of the demo data."""
    return rf.evaluate(SHOP / "qrels.parquet", SHOP / "hybrid.parquet", ["ndcg@10"])


def compare() -> object:
    """Compare two runs of the demo data."""
    runs = {name: SHOP / f"{name}.parquet" for name in ("bm25", "hybrid")}
    return rf.compare(SHOP / "qrels.parquet", runs, ["ndcg@10"])


def main(arguments: list[str]) -> None:
    """Print the counts of both calls, and with `--list` the functions by module."""
    for name, call in (("evaluate", evaluate), ("compare", compare)):
        counted = trace(call)
        print(f"{name:8} {counted}")
        if "--list" in arguments:
            for module in sorted(counted.modules):
                functions = sorted(name for there, name in counted.functions if there == module)
                print(f"  {module}: {', '.join(functions)}")


if __name__ == "__main__":
    main(sys.argv[1:])
