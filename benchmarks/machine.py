"""Describe the machine of a measurement."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

_LIBRARIES = ("polars", "numpy", "duckdb", "pyarrow", "pytrec-eval-terrier", "ir-measures", "ranx")


def describe() -> str:
    """Return a line of text with the cores, memory and versions of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in ("rankframe", *_LIBRARIES))
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB of memory, "
        f"Python {platform.python_version()}, {versions}"
    )
