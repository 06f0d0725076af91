"""rankframe, with the intervals that it gives by default and without."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet  # noqa: F401 (reads categories; for all contenders, imports are apart)

from benchmarks.contenders import METRICS, Values, Way
from rankframe import Result, evaluate

# Parts are imported when they are used. Two queries, since one has no interval.
evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}, METRICS)


def default(qrels: Path, run: Path) -> Values:
    return _means(evaluate(qrels, run, METRICS))


def no_intervals(qrels: Path, run: Path) -> Values:
    return _means(evaluate(qrels, run, METRICS, ci=None))


def in_memory(qrels: Path, run: Path) -> Values:
    """As a machine with memory enough does it."""
    return _means(evaluate(qrels, run, METRICS, max_memory="1TB"))


def within_3_gib(qrels: Path, run: Path) -> Values:
    """In pieces, with every query's values written to a folder."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        return _means(evaluate(qrels, run, METRICS, max_memory="3GiB", output=out))


def _means(result: Result) -> Values:
    return {name: value or 0.0 for name, value in result.means.items()}


WAYS: dict[str, Way] = {
    "default": default,
    "no intervals": no_intervals,
    "in memory": in_memory,
    "within 3 GiB": within_3_gib,
}
