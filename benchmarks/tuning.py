"""Simulate how often tuning claims a false improvement: `python -m benchmarks.tuning`.

Runs are drawn so that no fusion of them is better than the best of them, and tuned as users would.
Printed are how often an improvement over the best single run is claimed, in percent, and
what seems to be gained over the first run, on average: out of fold, as `rf.tune` has it, and in
sample, as is often done: by the best of all candidates, on the queries that it was chosen by.
The last column is how often the 95% interval of the gain over the best single run, out of fold,
contains the true gain of what was chosen, which is 0 where all runs are alike.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

import rankframe as rf

Floats = NDArray[np.float64]
# Scores of each run: queries × documents; and whether each document is relevant.
Drawn = tuple[list[Floats], NDArray[np.bool_]]

DOCUMENTS = 24
LEVELS = 6
SEED = 2026


def alike(rng: np.random.Generator, queries: int, runs: int) -> Drawn:
    """Draw runs that order the same levels of relevance by chance, so that no fusion gains."""
    level = rng.integers(0, LEVELS, (queries, DOCUMENTS)).astype(np.float64)
    relevant = rng.random(level.shape) < 0.35 * level / LEVELS
    return [level + 0.5 * rng.random(level.shape) for _ in range(runs)], relevant


def worse(rng: np.random.Generator, queries: int, runs: int) -> Drawn:
    """Draw runs of which each is the one before it with more noise."""
    known = rng.standard_normal((queries, DOCUMENTS))
    relevant = rng.random(known.shape) < 0.5 / (1 + np.exp(-2 * known))
    scores = [known + rng.standard_normal(known.shape)]
    while len(scores) < runs:
        scores.append(scores[-1] + 0.5 * rng.standard_normal(known.shape))
    return scores, relevant


KINDS: Mapping[str, Callable[[np.random.Generator, int, int], Drawn]] = {
    "alike": alike,
    "worse": worse,
}


def frames(drawn: Drawn, number: int) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Return judgments and runs as frames, with query ids that are distinct between experiments."""
    scores, relevant = drawn
    queries, documents = relevant.shape
    ids = pl.DataFrame(
        {
            "query_id": np.repeat([f"{number}-{at:05}" for at in range(queries)], documents),
            "doc_id": np.tile([f"d{at:02}" for at in range(documents)], queries),
        }
    )
    qrels = ids.with_columns(relevance=pl.Series(relevant.ravel().astype(np.int64)))
    return qrels, {
        f"run{at}": ids.with_columns(score=pl.Series(one.ravel())) for at, one in enumerate(scores)
    }


def experiment(kind: str, queries: int, runs: int, number: int) -> tuple[bool, float, float, float]:
    """Return whether tuning claims an improvement, two gains, and coverage. The gains are out of
    fold and in sample; coverage is whether the interval contains 0, the true gain if all runs are
    alike.
    """
    rng = np.random.default_rng([SEED, queries, runs, number])
    qrels, given = frames(KINDS[kind](rng, queries, runs), number)
    found = rf.tune(qrels, given, ("rrf", "wsum"), "ndcg@10", replicates=400)
    first = found.runs["value"][0]
    low, high = found.against["ci_low"][0], found.against["ci_high"][0]
    covered = float(low <= 0 <= high) if kind == "alike" else math.nan
    value, in_sample = (found.value or 0.0) - first, (found.in_sample or 0.0) - first
    return found.improved, value, in_sample, covered


def main() -> None:
    """Print a row for each kind of runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="of the draws: others for others")
    parser.add_argument("--queries", type=int, nargs="+", default=[100])
    parser.add_argument("--runs", type=int, nargs="+", default=[2, 3])
    asked = parser.parse_args()
    print(
        "| runs | queries | experiments | claimed | gain out of fold | gain in sample | covered |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    begun = time.process_time()
    for kind in KINDS:
        for runs in asked.runs:
            for queries in asked.queries:
                numbers = range(asked.first, asked.first + asked.experiments)
                found = [experiment(kind, queries, runs, number) for number in numbers]
                print(_row(f"{runs}, {kind}", queries, np.array(found, np.float64)), flush=True)
    print(f"\n{time.process_time() - begun:.0f} s of CPU")


def _row(what: str, queries: int, found: Floats) -> str:
    """Means of what was found, each with its Monte Carlo standard error."""
    count = len(found)
    means, errors = found.mean(axis=0), found.std(axis=0) / math.sqrt(count)
    cells = [f"{100 * means[0]:.1f} ± {100 * errors[0]:.1f}%"]
    cells += [
        f"{mean:+.4f} ± {error:.4f}" for mean, error in zip(means[1:3], errors[1:3], strict=True)
    ]
    is_known = not math.isnan(means[3])
    cells.append(f"{100 * means[3]:.1f} ± {100 * errors[3]:.1f}%" if is_known else "")
    return f"| {what} | {queries} | {count} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
