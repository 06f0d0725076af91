"""Define the random draws from hashes of query ids in plain Python, one number at a time."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from math import exp, factorial

import numpy as np
import polars as pl
from numpy.typing import NDArray

_WORDS = 2**64
_GOLDEN = 0x9E37_79B9_7F4A_7C15
_POISSON = [round(p * 2**16) for p in accumulate(exp(-1) / factorial(k) for k in range(10))]


def plain_mix(word: int) -> int:
    """Return one step of the random generator splitmix64 from a state."""
    word = (word + _GOLDEN) % _WORDS
    word = (word ^ word >> 30) * 0xBF58_476D_1CE4_E5B9 % _WORDS
    word = (word ^ word >> 27) * 0x94D0_49BB_1331_11EB % _WORDS
    return word ^ word >> 31


def plain_hash(text: str) -> int:
    """Return the 64-bit hash of a query id."""
    content = text.encode()
    spread = sum(byte * plain_mix(at + _GOLDEN) for at, byte in enumerate(content))
    return plain_mix((len(content) + spread) % _WORDS)


def plain_word(origin: int, number: int, seed: int = 0) -> int:
    """Return the `number`-th random word of a bucket of queries, given by its hash."""
    own = plain_mix(origin ^ plain_mix(seed % _WORDS))
    return plain_mix((own + number * _GOLDEN) % _WORDS)


def plain_poisson(origin: int, replicate: int, seed: int = 0) -> int:
    """Return how often a bootstrap replicate draws a bucket of queries."""
    number = plain_word(origin, replicate // 4, seed) >> 16 * (replicate % 4) & 0xFFFF
    return bisect_right(_POISSON, number)


def plain_coin(origin: int, replicate: int, seed: int = 0) -> int:
    """Return whether a permutation swaps the systems in a bucket of queries."""
    return plain_word(origin, replicate // 64, seed) >> replicate % 64 & 1


def poisson_weights(queries: pl.Series, replicates: int, seed: int = 0) -> NDArray[np.float64]:
    """Return bootstrap weights as replicates × queries, with a bucket for each query."""
    origins = [plain_hash(query) for query in queries]
    return np.array(
        [[plain_poisson(o, r, seed) for o in origins] for r in range(replicates)], np.float64
    )
