"""Simulate how often intervals of metrics over documents cover: `python -m benchmarks.catalogues`.

Users are drawn from groups of taste over a catalogue of Zipf's popularity, and shown ten documents
each by two systems. The target is a metric's expectation for so many users: its mean over all
experiments. Counts are given to rankframe as it makes them; what comes out is a table of
docs/statistics.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.simulation import write
from rankframe.engine.document_metrics import Aggregate, OverDocuments
from rankframe.frames.catalogue import Catalogue
from rankframe.frames.exposure import BUCKETS, Exposure, ValueExposure
from rankframe.metrics.names import resolve

Ints = NDArray[np.int64]
K = 10
TASTES = 50
GENRES = 8
SEED = 2026
PROCESSES = 2
MARK = "catalogues"
METRICS = {
    f"coverage@{K}": "coverage, also count=true",
    f"gini@{K}": "gini",
    f"gini(over=retrieved)@{K}": "gini(over=retrieved)",
    f"entropy@{K}": "entropy",
    f"personalisation@{K}": "personalisation",
    f"exposure_gap(by=genre)@{K}": "exposure_gap",
}
# (documents, users)
CELLS = [(documents, users) for documents in (200, 2_000, 20_000) for users in (100, 2_000, 20_000)]
_AT_ONCE = 10
# Systems: Zipf's exponent of popularity.
SYSTEMS = (1.0, 0.8)
# Of each metric, an experiment's value and interval, the difference of the systems last.
Found = list[list[tuple[float, float, float] | None]]


def world(rng: np.random.Generator, documents: int, exponent: float) -> NDArray[np.float64]:
    """Return for each group of taste the cumulative probabilities of the documents."""
    weights = np.arange(1, documents + 1) ** -exponent
    weights = weights * np.exp(1.5 * rng.standard_normal((TASTES, documents)))
    ends = np.cumsum(weights, axis=1)
    return ends / ends[:, -1:]


def shown(rng: np.random.Generator, ends: NDArray[np.float64], taste: Ints) -> tuple[Ints, ...]:
    """Draw the lists of users; return list, document and rank of ten documents for each."""
    tastes, documents = ends.shape
    flat = (ends + np.arange(tastes)[:, None]).ravel()
    at = taste[:, None] + rng.random((len(taste), 3 * K)) * (1 - 1e-12)
    drawn = np.searchsorted(flat, at.ravel(), side="right").reshape(at.shape)
    drawn = np.minimum(drawn - taste[:, None] * documents, documents - 1)
    order = np.argsort(drawn, axis=1, kind="stable")
    ordered = np.take_along_axis(drawn, order, 1)
    again = np.zeros(ordered.shape, np.bool_)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    first = np.empty_like(again)
    np.put_along_axis(first, order, ~again, 1)
    rank = np.cumsum(first, axis=1, dtype=np.int64)
    lists, places = np.nonzero(first & (rank <= K))
    return lists.astype(np.int64), drawn[lists, places], rank[lists, places]


def catalogue_of(rng: np.random.Generator, documents: int) -> Catalogue:
    """Draw a catalogue of documents with a genre each; some genres are larger."""
    sizes = 1 / np.arange(1, GENRES + 1)
    genres = rng.choice(GENRES, documents, p=sizes / sizes.sum())
    items = pl.DataFrame(
        {"doc_id": [f"d{at:05}" for at in range(documents)], "genre": genres.astype(str)}
    )
    return Catalogue.from_inputs(None, items, None)


def counted(of: tuple[Ints, ...], group: Ints, catalogue: Catalogue) -> OverDocuments:
    """Return what was shown as the counts from which rankframe computes metrics over documents."""
    lists, numbers, rank = of
    size = len(catalogue.docs)
    known = np.bincount(group[lists] * size + numbers, minlength=BUCKETS * size)
    sets = catalogue.value_sets("genre")
    exposed = ValueExposure.empty(BUCKETS, sets.count, K)
    exposed.add(sets.look_up(numbers), rank, lists, group)
    exposure = Exposure(
        (K,),
        BUCKETS,
        known.reshape(BUCKETS, size, 1).astype(np.int32),
        np.bincount(group, minlength=BUCKETS)[:, None],
        values={"genre": exposed},
    )
    return OverDocuments(exposure, catalogue)


def run_some(task: tuple[int, int, int, int]) -> Found:
    """Run some experiments of a cell; return the values and intervals of each."""
    documents, users, first, last = task
    setting = np.random.default_rng([SEED, documents])
    catalogue = catalogue_of(setting, documents)
    systems = [world(setting, documents, exponent) for exponent in SYSTEMS]
    metrics = resolve(list(METRICS), "documents")
    found: Found = []
    for experiment in range(first, last):
        rng = np.random.default_rng([SEED, documents, users, experiment])
        taste, group = rng.integers(TASTES, size=users), rng.integers(BUCKETS, size=users)
        made = [
            counted(shown(rng, ends, taste), group, catalogue).aggregate(metrics, groups=True)
            for ends in systems
        ]
        rows = [*made, [other.less(one) for one, other in zip(*made, strict=True)]]
        found.append([interval(one) for row in (rows[0], rows[2]) for one in row])
    return found


def interval(one: Aggregate) -> tuple[float, float, float] | None:
    """Return a value with the ends of its interval, NaN without an interval; None if undefined."""
    if one.value is None:
        return None
    return (one.value, *(one.bounds(0.95) or (np.nan, np.nan)))


def simulate(experiments: int) -> str:
    """Run the experiments of all cells, and return the tables in Markdown."""
    # One thread a process: what is run is small, and there are many of them.
    os.environ |= {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    cells: dict[tuple[int, int], NDArray[np.float64]] = {}
    parts = range(0, experiments, _AT_ONCE)
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        for documents, users in CELLS:
            start = time.perf_counter()
            tasks = [(documents, users, at, min(at + _AT_ONCE, experiments)) for at in parts]
            rows = [row for some in pool.imap(run_some, tasks) for row in some]
            nothing = (np.nan,) * 3
            found = np.array([[one or nothing for one in row] for row in rows])
            cells[documents, users] = found
            shown = [_cell(found[:, at]) for at in range(found.shape[1])]
            print(documents, users, f"{time.perf_counter() - start:.0f} s", shown, file=sys.stderr)
    lines = [f"{experiments:,} experiments per cell. Columns: documents / users.", ""]
    for at, what in enumerate(("one system", "difference of two")):
        lines += [f"| {what} | {' | '.join(f'{d:,} / {u:,}' for d, u in cells)} |"]
        lines += [f"|---|{'---:|' * len(cells)}"]
        for number, title in enumerate(METRICS.values()):
            texts = [_cell(found[:, at * len(METRICS) + number]) for found in cells.values()]
            lines.append(f"| {title} | {' | '.join(texts)} |")
        lines.append("")
    return "\n".join(lines)


def _cell(found: NDArray[np.float64]) -> str:
    """Return the text of a cell: the percentage of intervals that cover the mean, ± its error."""
    value, low, high = found.T
    target = np.nanmean(value)
    there = ~np.isnan(low)
    if there.mean() < 0.05:
        return "none"
    # An expectation of so many experiments has an error itself, far below that of one value.
    slack = 1e-12
    covers = ((low - slack <= target) & (target <= high + slack))[there]
    share = covers.mean()
    text = f"{100 * share:.0f} ± {100 * np.sqrt(share * (1 - share) / len(covers)):.0f}"
    if not 0.93 <= share <= 0.98:
        text = f"**{text}**"
    return text if there.all() else f"{text} (of {100 * there.mean():.0f}%)"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.catalogues", description=__doc__)
    parser.add_argument("--experiments", type=int, default=100, help="for each cell")
    parser.add_argument("--write", type=Path, default=None, help="a page to put the table into")
    options = parser.parse_args()
    table = simulate(options.experiments)
    print(table)
    if options.write is not None:
        write(options.write, table, MARK)


if __name__ == "__main__":
    main()
