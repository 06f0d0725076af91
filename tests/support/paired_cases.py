"""Provide values of systems over the same queries, and their p values by any test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankframe.stats.paired import PairedValues
from rankframe.stats.significance import TESTS, Draws

MANY = 20_000


def plain(values: Any) -> PairedValues:
    """Return values (systems × queries) whose average is the plain mean."""
    values = np.asarray(values, float)
    return PairedValues(values, values, np.ones_like(values))


def random_values(
    systems: int, queries: int, seed: int = 1, *, shift: float = 0.0, step: float = 0.0
) -> np.ndarray:
    """Draw correlated values; each system is better by `shift`. With `step`, values are rounded to
    a grid, so that some are equal.
    """
    rng = np.random.default_rng(seed)
    values = rng.normal(size=queries) + rng.normal(size=(systems, queries))
    values += shift * np.arange(systems)[:, None]
    return np.round(values / step) * step if step else values


def chance(queries: int, seed: int = 7, most: int = 1 << 16) -> Draws:
    hashes = np.random.default_rng(seed).integers(0, 2**64, queries, np.uint64)
    return Draws(hashes, most_buckets=most)


def p_value(test: str, paired: PairedValues, base: int = 0, other: int = 1) -> float | None:
    """Return the p value of one pair of systems by a test without random draws."""
    ((found,),) = TESTS[test].p_values([paired], [(base, other)], chance(0))
    return found


def drawn(
    test: str, paired: PairedValues, pairs: list, of: Draws, *, permutations: int, seed: int
) -> list[float | None]:
    """Return the p values of pairs of systems by a test with random draws."""
    draws = replace(of, permutations=permutations, seed=seed)
    (found,) = TESTS[test].p_values([paired], pairs, draws)
    return found


def by_chance(
    paired: PairedValues, count: int = MANY, seed: int = 0, of: Draws | None = None
) -> float:
    of = of or chance(paired.queries)
    (p,) = drawn("randomisation", paired, [(0, 1)], of, permutations=count, seed=seed)
    assert p is not None
    return p


def ratio_case(queries: int, seed: int = 4) -> PairedValues:
    """Return random values of two systems whose average is a ratio of sums."""
    rng = np.random.default_rng(seed)
    below = rng.integers(1, 6, (2, queries)).astype(float)
    above = rng.integers(0, below + 1).astype(float)
    return PairedValues(above / below, above, below)
