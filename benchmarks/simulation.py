"""Simulate the error rates of intervals, tests and the gate: `python -m benchmarks.simulation`.

Experiments are drawn where the truth is known, and given to rankframe as stored values. What comes
out are the tables of docs/statistics.md: shares of experiments, each with its Monte Carlo standard
error.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, ndtr, ndtri

import rankframe as rf
from rankframe.core.options import Correction, Intervals, Method, Test
from rankframe.engine.accumulator import WHOLE, sum_by_slice
from rankframe.engine.finish import summarise, summarise_gaps
from rankframe.engine.plan import ABOVE, BELOW
from rankframe.io.queries import QueryAttributes
from rankframe.metrics.names import Metric, resolve
from rankframe.stats.bootstrap import BootstrapBuckets, QueryBuckets
from rankframe.stats.gaps import gap_between
from rankframe.stats.significance import correct_p_values

Floats = NDArray[np.float64]
# Of one experiment: for each row and column of a table, whether it happened.
Outcomes = dict[tuple[str, str], bool]

PROCESSES = 2
SEED = 2015
GROUPED = 256  # at most so many groups, where there are more queries than groups
PERMUTATIONS = 1_000
LEVEL = 0.05
_AT_ONCE = 20

# --- What values look like. A query's value follows from a number that is normal by itself and
# correlated between systems; a system is better where that number is shifted.


def ndcg(u: Floats) -> Floats:
    """Map uniform numbers to values like nDCG: 35% are 0, 10% are 1, others follow Beta(2, 2)."""
    between = np.interp((u - 0.35) / 0.55, *_beta())
    return np.where(u < 0.35, 0.0, np.where(u > 0.9, 1.0, between))


def reciprocal_rank(u: Floats) -> Floats:
    """Map uniform numbers to values like MRR: 15% are 0, others 1 / a geometric rank."""
    beyond = np.minimum((1 - u) / 0.85, 1 - 1e-12)
    rank = np.floor(np.log1p(-beyond) / math.log(0.6)) + 1
    return np.where(u < 0.15, 0.0, 1 / rank)


def rare(u: Floats) -> Floats:
    """Map uniform numbers to rare successes: 5% are 1, the others 0."""
    return (u > 0.95).astype(np.float64)


Kind = Callable[[Floats], Floats]
WEIGHTED = "ndcg(average=weighted)"
MICRO = "recall(average=micro)"
KINDS: dict[str, Kind] = {
    "ndcg": ndcg, "mrr": reciprocal_rank, "rare": rare, WEIGHTED: ndcg,
}  # fmt: skip
TITLES = {
    "ndcg": "like nDCG",
    "mrr": "like reciprocal rank",
    "rare": "rare successes (5%)",
    WEIGHTED: "weighted mean (lognormal, σ = 1)",
    MICRO: "ratio of sums (micro)",
}
CORRELATION = 0.8  # of two systems' numbers
TIED = 0.3  # of queries have the same ranking in all systems
SHIFT = 0.15  # of the better system's numbers, where there is one
# Of log weights with the queries' numbers: those that weigh more are easier.
POPULAR = 0.5
# With this, values like nDCG correlate by 0.90 before and after a change.
BEFORE_AFTER = 0.93


@cache
def _beta() -> tuple[Floats, Floats]:
    places = np.linspace(0, 1, 4_001)
    return places, betaincinv(2, 2, places)


@cache
def _normal() -> Floats:
    return ndtri((np.arange(500_000) + 0.5) / 500_000)


@cache
def true_mean(kind: Kind, shift: float = 0.0) -> float:
    """Return the true mean of a system's values by quadrature.

    Weighting by lognormal weights shifts it too: a normal tilted by exp(tz) is one around t.
    """
    return float(kind(ndtr(_normal() + shift)).mean())


@cache
def shift_for(kind: Kind, change: float) -> float:
    """Return the shift of a system's normal numbers that changes its mean by a share."""
    wanted = (1 + change) * true_mean(kind)
    return float(brentq(lambda shift: true_mean(kind, shift) - wanted, -1, 1))  # pyright: ignore[reportArgumentType]


def numbers(
    rng: np.random.Generator,
    queries: int,
    systems: int,
    *,
    correlation: float = CORRELATION,
    tied: float = TIED,
    shift: float = 0.0,
) -> tuple[Floats, Floats]:
    """Draw what queries have in common, and correlated normal numbers (systems × queries).

    Systems are exchangeable, but for the last one's shift; tied queries are as in the first.
    """
    common = rng.standard_normal(queries)
    own = rng.standard_normal((systems, queries))
    found = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own
    found[-1] += shift
    same = rng.random(queries) < tied
    found[:, same] = found[0, same]
    return common, found


def query_ids(experiment: int, queries: int) -> pl.Series:
    """Return ids of queries that are distinct between experiments, and so are their draws."""
    return pl.Series("query_id", [f"{experiment}-{at:05}" for at in range(queries)])


@contextmanager
def groups_at_most(most: int | None) -> Iterator[None]:
    """Limit the number of bootstrap buckets to `most` inside the block; None: no change."""
    with ExitStack() as stack:
        if most is not None:
            for function in (
                vars(BootstrapBuckets)["from_queries"].__func__,
                BootstrapBuckets.merge,
                QueryBuckets.__init__,
            ):
                stack.enter_context(patch.object(function, "__defaults__", (most,)))
        yield


# --- Studies: each runs one experiment.

# (method, at most so many groups, queries)
INTERVALS: tuple[tuple[Method, int | None, int], ...] = (
    ("bootstrap", None, 50), ("bootstrap", None, 200), ("bootstrap", None, 2000),
    ("bootstrap", GROUPED, 2000), ("t", None, 50), ("t", None, 200), ("t", None, 2000),
)  # fmt: skip
TESTS: tuple[Test, ...] = ("t", "wilcoxon", "sign", "randomisation")
CORRECTIONS: tuple[Correction, ...] = ("holm", "bonferroni", "bh")
# For tests: (queries, at most so many groups), the latter only for those that draw groups.
SIZES = ((50, None), (200, None), (2000, GROUPED))


def means(experiment: int, rng: np.random.Generator) -> Outcomes:
    """Return for each cell whether the interval of one system's mean covers the truth."""
    metrics = [Metric("ndcg"), Metric("mrr"), Metric("rare"), Metric(WEIGHTED, "weighted")]
    metrics.append(Metric(MICRO, "micro"))
    truths = {label: true_mean(kind) for label, kind in KINDS.items()}
    truths |= {WEIGHTED: true_mean(ndcg, POPULAR), MICRO: _micro_mean()}
    drawn = {n: _one_system(experiment, rng, n) for n in (50, 200, 2000)}
    found: Outcomes = {}
    for method, most, n in INTERVALS:
        intervals = Intervals(method)
        with groups_at_most(most):
            sums = sum_by_slice(metrics, *drawn[n], intervals)[WHOLE]
            table = pl.DataFrame(summarise(metrics, sums.finish(metrics, intervals)))
        found |= _covered(table, truths, _column(method, most, n))
    return found


def _one_system(
    experiment: int, rng: np.random.Generator, n: int
) -> tuple[pl.DataFrame, QueryAttributes]:
    values = {label: kind(ndtr(rng.standard_normal(n))) for label, kind in KINDS.items()}
    common, (same,) = numbers(rng, n, 1, correlation=1.0)
    values[WEIGHTED] = ndcg(ndtr(same))
    # Queries with more relevant documents find a smaller share of them.
    relevant = rng.geometric(0.2, n)
    hits = rng.binomial(relevant, rng.beta(2, 2, n) * relevant**-0.25)
    values[MICRO] = hits / relevant
    computed = pl.DataFrame(
        {
            "query_id": query_ids(experiment, n),
            **values,
            MICRO + ABOVE: hits.astype(np.float64),
            MICRO + BELOW: relevant.astype(np.float64),
        }
    )
    return computed, QueryAttributes(_weights(rng, common))


def _weights(rng: np.random.Generator, common: Floats) -> Floats:
    own = rng.standard_normal(len(common))
    return np.exp(POPULAR * common + math.sqrt(1 - POPULAR**2) * own)


@cache
def _micro_mean() -> float:
    relevant = np.arange(1, 500)
    chances = 0.2 * 0.8 ** (relevant - 1)
    return float((chances * 0.5 * relevant**0.75).sum() / (chances * relevant).sum())


def differences(experiment: int, rng: np.random.Generator) -> Outcomes:
    """Return for each cell whether the interval of the difference of two systems covers."""
    tilt = POPULAR * math.sqrt(CORRELATION)
    truths = {}
    for label, kind in KINDS.items():
        tilted = tilt if label == WEIGHTED else 0.0
        apart = true_mean(kind, tilted + SHIFT) - true_mean(kind, tilted)
        truths[label] = (1 - TIED) * apart
    drawn = {n: _two_systems(experiment, rng, n) for n in (50, 200, 2000)}
    found: Outcomes = {}
    for method, most, n in INTERVALS:
        systems, weights = drawn[n]
        with groups_at_most(most):
            compared = rf.compare(None, systems, queries=weights, weight="weight", ci=method)
        found |= _covered(compared.table, truths, _column(method, most, n))
    return found


def _two_systems(
    experiment: int, rng: np.random.Generator, n: int
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    ids = query_ids(experiment, n)
    values: dict[str, dict[str, Floats]] = {"a": {}, "b": {}}
    weights = np.empty(0)
    for label, kind in KINDS.items():
        common, both = numbers(rng, n, 2, shift=SHIFT)
        for name, some in zip(values, both, strict=True):
            values[name][label] = kind(ndtr(some))
        weights = _weights(rng, common)  # of the last one, which is weighted
    systems = {name: pl.DataFrame({"query_id": ids, **some}) for name, some in values.items()}
    return systems, pl.DataFrame({"query_id": ids, "weight": weights})


def _covered(table: pl.DataFrame, truths: Mapping[str, float], column: str) -> Outcomes:
    rows = table.select("metric", "ci_low", "ci_high").iter_rows()
    return {
        (TITLES[label], column): low is not None and low <= truths[label] <= high
        for label, low, high in rows
    }


def _column(method: str, most: int | None, queries: int) -> str:
    return f"{method}, {_size(queries, most)}"


def _size(queries: int, most: int | None) -> str:
    return f"n = {queries:,}" + (f" in {most} buckets" if most else "")


def tests(experiment: int, rng: np.random.Generator) -> Outcomes:
    """Return for each test whether it raises a false alarm between two equal systems."""
    kinds = {label: kind for label, kind in KINDS.items() if label != WEIGHTED}
    found: Outcomes = {}
    for n, most in SIZES:
        systems = _null_systems(experiment, rng, n, 2, kinds)
        for test in TESTS if most is None else TESTS[-1:]:
            table = _tested(systems, test, most)
            for label, p_value in table.select("metric", "p_value").iter_rows():
                found[f"{test}, {TITLES[label]}", _size(n, most)] = p_value < LEVEL
    return found


# Pairs of distributions with the same mean and different shapes, by their inverses.
SHAPES: dict[str, tuple[Kind, Kind]] = {
    "Beta(2, 6) against Beta(½, 1½)": (
        lambda u: betaincinv(2, 6, u),
        lambda u: betaincinv(0.5, 1.5, u),
    ),
    "35% zeros, else Beta(2, 2), against Beta(2, 4.15)": (
        lambda u: np.where(u < 0.35, 0.0, np.interp((u - 0.35) / 0.65, *_beta())),
        lambda u: betaincinv(2, 54 / 13, u),
    ),
    "0, ½, 1 against 0, ¼, ½, 1": (
        lambda u: np.array([0, 0.5, 1])[np.searchsorted([0.4, 0.6], u)],
        lambda u: np.array([0, 0.25, 0.5, 1])[np.searchsorted([0.15, 0.35, 0.75], u)],
    ),
}


def shapes(experiment: int, rng: np.random.Generator) -> Outcomes:
    """Return false alarms of tests between systems of equal means and different distributions."""
    found: Outcomes = {}
    for n in (50, 200, 2_000):
        ids, column = query_ids(experiment, n), f"n = {n:,}"
        u = ndtr(numbers(rng, n, 2, tied=0)[1])
        drawn = {label: (first(u[0]), second(u[1])) for label, (first, second) in SHAPES.items()}
        systems = {
            name: pl.DataFrame({"query_id": ids, **{label: v[at] for label, v in drawn.items()}})
            for at, name in enumerate("ab")
        }
        for test in TESTS:
            table = _tested(systems, test, None).select("metric", "p_value", "difference")
            for label, p_value, difference in table.iter_rows():
                found[f"{label}: {test}", column] = p_value < LEVEL
                if test == "t":
                    found[f"{label}: t, one-sided, upper", column] = (
                        p_value < 2 * LEVEL and difference > 0
                    )
                    found[f"{label}: t, one-sided, lower", column] = (
                        p_value < 2 * LEVEL and difference < 0
                    )
    return found


def families(experiment: int, rng: np.random.Generator) -> Outcomes:
    """Return whether any of many comparisons between equal systems is significant."""
    found: Outcomes = {}
    many: dict[str, Kind] = {f"metric {at}": ndcg for at in range(10)}
    what = "10 metrics × 3 systems and a baseline, t"
    for n, most in SIZES:
        column = _size(n, most)
        if most is None:
            systems = _null_systems(experiment, rng, n, 4, many)
            table = rf.compare(None, systems, baseline="a", ci=None).table
            found[f"{what}: not corrected", column] = bool((table["p_value"] < LEVEL).any())
            for how in CORRECTIONS:
                after = correct_p_values(table["p_value"].to_list(), how)
                found[f"{what}: {how}", column] = any(p is not None and p < LEVEL for p in after)
        table = _tested(_null_systems(experiment, rng, n, 4, {"ndcg": ndcg}), "tukey", most)
        found["4 systems, all pairs: tukey", column] = bool(table["significant"].any())
    return found


def _tested(systems: Mapping[str, pl.DataFrame], test: Test, most: int | None) -> pl.DataFrame:
    with groups_at_most(most):
        return rf.compare(None, systems, test=test, permutations=PERMUTATIONS, ci=None).table


def _null_systems(
    experiment: int, rng: np.random.Generator, n: int, systems: int, kinds: Mapping[str, Kind]
) -> dict[str, pl.DataFrame]:
    ids = query_ids(experiment, n)
    drawn = {label: kind(ndtr(numbers(rng, n, systems)[1])) for label, kind in kinds.items()}
    return {
        "abcd"[at]: pl.DataFrame(
            {"query_id": ids, **{label: values[at] for label, values in drawn.items()}}
        )
        for at in range(systems)
    }


GATED = ("ndcg", "mrr", "rare")
RULES = [f"{label}: no worse than -2% at 95%" for label in GATED]
CHANGES = {
    "-5%": -0.05,
    "-2%, the margin": -0.02,
    "no change": 0.0,
    "+1%": 0.01,
    "identical values": None,
}


def gates(experiment: int, rng: np.random.Generator) -> Outcomes:
    """Return for each rule whether the gate passes, for changes of a known size."""
    found: Outcomes = {}
    for n in (50, 200, 2_000, 20_000):
        ids = query_ids(experiment, n)
        drawn = {
            label: numbers(rng, n, 2, correlation=BEFORE_AFTER, tied=0.0)[1] for label in GATED
        }
        before = pl.DataFrame(
            {"query_id": ids, **{label: KINDS[label](ndtr(z[0])) for label, z in drawn.items()}}
        )
        for name, change in CHANGES.items():
            after = before
            if change is not None:
                after = before.with_columns(
                    pl.Series(label, KINDS[label](ndtr(z[1] + shift_for(KINDS[label], change))))
                    for label, z in drawn.items()
                )
            verdict = rf.gate(None, after, before, RULES)
            said = dict(verdict.checks.select("metric", "status").iter_rows())
            rows = {TITLES[label]: status for label, status in said.items()}
            # Nothing is a percentage of a baseline without any success; all else is decided.
            assert "undecided" not in said.values() or not before["rare"].sum()
            for row, status in {**rows, "all three rules": verdict.status}.items():
                found[f"{name}: {row}", f"n = {n:,}"] = status == "pass"
    return found


# (slices, queries of each), and how far their values are shifted: none, one, or each more.
SLICED = ((2, 50), (2, 500), (5, 50), (5, 500))
APART = {
    "no gap": lambda _count: 0.0,
    "a small gap": lambda count: np.linspace(0, 0.1, count),
    "one slice is worse": lambda count: np.where(np.arange(count) == 0, -0.4, 0.0),
    "all differ": lambda count: np.linspace(0, 0.8, count),
}


def gaps(experiment: int, rng: np.random.Generator) -> Outcomes:
    """Return for each cell whether the interval of a gap between slices covers the truth."""
    found: Outcomes = {}
    wanted = resolve(["ndcg", "gap(ndcg, by=g)", "gap(ndcg, by=g, kind=mean)"], "judged", "gap")
    intervals = Intervals("bootstrap")
    for count, each in SLICED:
        of = np.repeat(np.arange(count), each)
        normal = rng.standard_normal(len(of))
        for title, shift in APART.items():
            shifts = np.zeros(count) + shift(count)
            values = {
                "query_id": query_ids(experiment, len(of)),
                "ndcg": ndcg(ndtr(normal + shifts[of])),
            }
            computed = pl.DataFrame(values)
            sums = sum_by_slice(wanted[:1], computed, QueryAttributes(None, (of,)), intervals)
            slices = {
                ("g", str(n)): sums[0, n].finish(wanted[:1], intervals, {0}) for n in range(count)
            }
            gaps, _ = summarise_gaps(wanted[1:], wanted[:1], slices, intervals)
            means = np.array([true_mean(ndcg, float(one)) for one in shifts])
            for gap, kind in zip(gaps, ("range", "mean"), strict=True):
                truth = float(gap_between(means, kind))
                low, high = gap.ci_low, gap.ci_high
                covers = low is not None and high is not None and low - 1e-9 <= truth <= high + 1e-9
                found[f"{title}: {kind}", f"{count} slices of {each}"] = covers
    return found


# --- Tables.


@dataclass(frozen=True)
class Study:
    """Define a table: the experiment it runs, its title and text, and which cells are marked."""

    run: Callable[[int, np.random.Generator], Outcomes]
    title: str
    shows: str
    strange: Callable[[float, str], bool]


def _misses(share: float, _row: str) -> bool:
    return not 0.93 <= share <= 0.97


def _alarms(share: float, row: str) -> bool:
    return share > 0.07 and "not corrected" not in row


def _passes_wrongly(share: float, row: str) -> bool:
    return share > 0.07 and row.startswith("-")


STUDIES = {
    "means": Study(
        means, "Intervals of a mean", "Percent of 95% intervals that contain the true mean", _misses
    ),
    "differences": Study(
        differences,
        "Intervals of a difference",
        "Percent of 95% intervals that contain the true difference of two systems",
        _misses,
    ),
    "tests": Study(
        tests, "Tests", "Percent of p values below 0.05 between systems that do not differ", _alarms
    ),
    "families": Study(
        families,
        "Many tests at once",
        "Percent of experiments with any significant result, if no systems differ",
        _alarms,
    ),
    "gates": Study(
        gates,
        "The gate",
        "Percent that pass “no worse than -2% at 95%”, by the true change",
        _passes_wrongly,
    ),
    "gaps": Study(
        gaps,
        "Gaps between slices",
        "Percent of 95% intervals that contain the true gap",
        lambda share, _: share < 0.93,
    ),
    "shapes": Study(
        shapes,
        "Tests between distributions of different shapes",
        "Percent of p values below 0.05 between systems with equal means",
        _alarms,
    ),
}


def as_table(study: Study, counts: Mapping[tuple[str, str], tuple[int, int]]) -> str:
    """Return a study's table in Markdown: shares in percent ± their standard errors."""
    rows = list(dict.fromkeys(row for row, _ in counts))
    columns = list(dict.fromkeys(column for _, column in counts))
    lines = [f"|  | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for row in rows:
        cells = []
        for column in columns:
            if (row, column) not in counts:
                cells.append("")
                continue
            hits, trials = counts[row, column]
            share = hits / trials
            cell = f"{100 * share:.1f} ± {100 * math.sqrt(share * (1 - share) / trials):.1f}"
            cells.append(f"**{cell}**" if study.strange(share, row) else cell)
        lines.append(f"| {' | '.join([row, *cells])} |")
    return "\n".join([f"{study.shows}:", "", *lines, ""])


def run_some(task: tuple[str, int, int]) -> dict[tuple[str, str], tuple[int, int]]:
    """Run some experiments of a study; return (times it happened, experiments) per cell."""
    name, first, last = task
    hits: dict[tuple[str, str], int] = defaultdict(int)
    number = list(STUDIES).index(name)
    for experiment in range(first, last):
        rng = np.random.default_rng([SEED, number, experiment])
        for cell, happened in STUDIES[name].run(experiment, rng).items():
            hits[cell] += bool(happened)
    return {cell: (count, last - first) for cell, count in hits.items()}


def simulate(experiments: int, names: list[str]) -> dict[str, str]:
    """Run the studies, and return a table for each."""
    # One thread a process: what is run is small, and there are many of them.
    os.environ |= {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    tables = {}
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        for name in names:
            start = time.perf_counter()
            parts = range(0, experiments, _AT_ONCE)
            tasks = [(name, at, min(at + _AT_ONCE, experiments)) for at in parts]
            counts: dict[tuple[str, str], tuple[int, int]] = {}
            for batch in pool.imap(run_some, tasks):
                for cell, (hits, trials) in batch.items():
                    before = counts.get(cell, (0, 0))
                    counts[cell] = (before[0] + hits, before[1] + trials)
            tables[name] = as_table(STUDIES[name], counts)
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return tables


def write(path: Path, tables: str, name: str) -> None:
    """Write tables into a page between the markers of `name`, or into a new page."""
    first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
    page = path.read_text(encoding="utf-8") if path.exists() else f"{first}\n{last}\n"
    before, found, rest = page.partition(first)
    after = rest.partition(last)[2]
    if not found:
        raise SystemExit(f"{path} has no {first} to write after.")
    path.write_text(f"{before}{first}\n\n{tables}\n{last}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation", description=__doc__)
    parser.add_argument("--experiments", type=int, default=2_000, help="for each cell")
    parser.add_argument("--quick", action="store_true", help="200 experiments")
    parser.add_argument("--only", nargs="+", choices=list(STUDIES), default=list(STUDIES))
    parser.add_argument("--write", type=Path, default=None, help="a page to put the tables into")
    options = parser.parse_args()
    tables = simulate(200 if options.quick else options.experiments, options.only)
    print("\n".join(tables.values()))
    if options.write is not None:
        for name, table in tables.items():
            write(options.write, table, f"simulated {name}")


if __name__ == "__main__":
    main()
