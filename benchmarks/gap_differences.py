"""Simulate intervals and tests of differences of gaps: `python -m benchmarks.gap_differences`.

Two systems are drawn over the same queries, of which the means in every slice are known, and given
to `rf.compare` as stored values.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
from scipy.special import ndtr

import rankframe as rf
from benchmarks.simulation import (
    BEFORE_AFTER,
    CORRELATION,
    Floats,
    Outcomes,
    Study,
    as_table,
    ndcg,
    numbers,
    query_ids,
    true_mean,
    write,
)
from rankframe.core.options import GapKind
from rankframe.stats.gaps import gap_between, gap_change

SEED = 2019
_MARK = "gap differences"
_AT_ONCE = 10
SLICED = ((2, 50), (2, 500), (5, 50), (5, 500), (20, 50), (10, 50))
KINDS: tuple[GapKind, ...] = ("range", "mean")
NAMES: dict[GapKind, str] = {kind: f"gap(ndcg, by=g, kind={kind})" for kind in KINDS}


def _none(count: int) -> Floats:
    return np.zeros(count)


def _all_differ(count: int) -> Floats:
    return np.linspace(0, 0.8, count)


def _one_worse(count: int) -> Floats:
    return np.where(np.arange(count) == 0, -0.4, 0.0)


Shifts = Callable[[int], Floats]
# How far the values of slices are shifted in both systems. The first three have the same gap twice.
PAIRS: dict[str, tuple[Shifts, Shifts]] = {
    "no gaps": (_none, _none),
    "the same gap": (_all_differ, _all_differ),
    "another slice is worse": (_one_worse, lambda count: _one_worse(count)[::-1]),
    "a small gap is closed": (lambda count: np.linspace(0, 0.1, count), _none),
    "one slice is no longer worse": (_one_worse, _none),
    "a gap is halved": (_all_differ, lambda count: _all_differ(count) / 2),
    "a gap is closed": (_all_differ, _none),
    "a gap opens": (_none, _all_differ),
}


def any_number_of_slices() -> Any:
    """Patch the limit of slices, to show what intervals would be with more slices."""
    return patch.dict("rankframe.stats.gaps._MOST_SLICES", dict.fromkeys(KINDS, 1_000))


def experiment(number: int, rng: np.random.Generator, correlation: float) -> tuple[Outcomes, ...]:
    """Return for each cell whether its interval covers, and whether its p value is below 0.05."""
    covers: Outcomes = {}
    alarms: Outcomes = {}
    for count, each in SLICED:
        of = np.repeat(np.arange(count), each)
        ids = query_ids(number, len(of))
        _, drawn = numbers(rng, len(of), 2, correlation=correlation, tied=0.0)
        known = pl.DataFrame({"query_id": ids, "g": of})
        for title, pair in PAIRS.items():
            shifts = [shift(count) for shift in pair]
            systems = {
                name: pl.DataFrame({"query_id": ids, "ndcg": ndcg(ndtr(one + shift[of]))})
                for name, one, shift in zip("ab", drawn, shifts, strict=True)
            }
            with any_number_of_slices():
                found = rf.compare(None, systems, list(NAMES.values()), queries=known)
            means = np.array([[true_mean(ndcg, float(one)) for one in some] for some in shifts])
            for kind, name in NAMES.items():
                row = found.table.filter(metric=name).row(0, named=True)
                before, after = gap_between(means, kind).tolist()
                cell = f"{title}: {kind}", f"{count} slices of {each}"
                covers[cell] = row["ci_low"] - 1e-9 <= after - before <= row["ci_high"] + 1e-9
                alarms[cell] = row["p_value"] < 0.05
    return covers, alarms


# Errors of means that are normal, of many slices: shifts in multiples of an error.
MANY = (8, 20, 40, 100)
NORMAL: dict[str, tuple[Shifts, Shifts]] = {
    "a gap is closed": (lambda n: np.array([6.0, *[3.0] * (n - 2), 0.0]), _none),
    "many gaps are closed": (lambda n: np.linspace(0, 8, n), _none),
    "all slices are extreme": (
        lambda n: np.array([6.0, *[3.0] * (n - 2), 0.0]),
        lambda n: np.where(np.arange(n) < n // 2, 6.0, 0.0),
    ),
}


def normal(experiments: int, correlation: float) -> dict[tuple[str, str], tuple[int, int]]:
    """Count how often intervals of the difference of two ranges cover, and percentiles would."""
    shared = np.array([[1, correlation], [correlation, 1]])
    root = np.linalg.cholesky(shared)
    counts: dict[tuple[str, str], int] = {}
    for number in range(experiments):
        rng = np.random.default_rng([SEED, 1, round(1_000 * correlation), number])
        for count in MANY:
            for title, pair in NORMAL.items():
                means = np.array([shift(count) for shift in pair])
                truth = float(np.diff(gap_between(means, "range"))[0])
                seen = means + root @ rng.standard_normal((2, count))
                drawn = seen + root @ rng.standard_normal((400, 2, count))
                errors = np.broadcast_to(shared, (count, 2, 2))
                with any_number_of_slices():
                    change = gap_change(seen, drawn, errors, 1_000, "range")
                low, high = (change and change.interval(0.95)) or (0.0, 0.0)
                apart = np.diff(gap_between(drawn, "range"), axis=1)
                plain = np.quantile(apart, [0.025, 0.975])
                for how, (least, most) in (("", (low, high)), (", percentiles", plain)):
                    cell = f"{title}{how}", f"{count} slices"
                    counts[cell] = counts.get(cell, 0) + bool(least <= truth <= most)
    return {cell: (hits, experiments) for cell, hits in counts.items()}


def run_some(task: tuple[float, int, int]) -> list[dict[tuple[str, str], int]]:
    """Run some experiments; count for each cell how often both outcomes happened."""
    correlation, first, last = task
    sums: list[dict[tuple[str, str], int]] = [{}, {}]
    for number in range(first, last):
        rng = np.random.default_rng([SEED, round(1_000 * correlation), number])
        for counts, found in zip(sums, experiment(number, rng, correlation), strict=True):
            for cell, happened in found.items():
                counts[cell] = counts.get(cell, 0) + bool(happened)
    return sums


def _wrong(share: float, row: str) -> bool:
    """Return whether a share of false alarms is too high, in a row without a true difference."""
    return share > 0.07 and row.partition(":")[0] in list(PAIRS)[:3]


STUDIES = (
    (
        "Percent of 95% intervals that contain the true difference of two gaps",
        lambda s, _: s < 0.93,
    ),
    (
        "Percent of p values below 0.05: false alarms in the first six rows, detections below",
        _wrong,
    ),
)


def simulate(experiments: int, processes: int) -> str:
    """Run all experiments, and return the tables in Markdown."""
    os.environ |= {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    tables = [f"{experiments:,} experiments per cell, ± Monte Carlo standard error.", ""]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for correlation in (CORRELATION, BEFORE_AFTER):
            start = time.perf_counter()
            parts = range(0, experiments, _AT_ONCE)
            tasks = [(correlation, at, min(at + _AT_ONCE, experiments)) for at in parts]
            sums: list[dict[tuple[str, str], int]] = [{}, {}]
            for some in pool.imap(run_some, tasks):
                for counts, more in zip(sums, some, strict=True):
                    for cell, hits in more.items():
                        counts[cell] = counts.get(cell, 0) + hits
            for counts, (shows, strange) in zip(sums, STUDIES, strict=True):
                title = f"Differences of gaps, systems that correlate by {correlation:g}"
                study = Study(lambda *_: {}, title, shows, strange)
                made = {cell: (hits, experiments) for cell, hits in counts.items()}
                tables.append(as_table(study, made))
            print(f"{correlation}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    title = "Differences of gaps between many slices"
    shows = (
        "Percent of 95% intervals that contain the true difference of two ranges. The averages of "
        "slices have normal errors, which correlate by"
    )
    for correlation in (0.5, 0.95):
        study = Study(
            lambda *_: {},
            title,
            f"{shows} {correlation:g} between the two systems",
            lambda s, _: s < 0.93,
        )
        tables.append(as_table(study, normal(experiments, correlation)))
    return "\n".join(tables)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gap_differences", description=__doc__
    )
    parser.add_argument("--experiments", type=int, default=400, help="for each cell")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", type=Path, default=None, help="a page to put the tables into")
    options = parser.parse_args()
    tables = simulate(options.experiments, options.processes)
    print(tables)
    if options.write is not None:
        write(options.write, tables, _MARK)


if __name__ == "__main__":
    main()
