"""What is drawn from hashes, said once more in plain Python: slowly, and one number at a time."""

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
    """One step of splitmix64, from this state."""
    word = (word + _GOLDEN) % _WORDS
    word = (word ^ word >> 30) * 0xBF58_476D_1CE4_E5B9 % _WORDS
    word = (word ^ word >> 27) * 0x94D0_49BB_1331_11EB % _WORDS
    return word ^ word >> 31


def plain_hash(text: str) -> int:
    """What a query id is hashed to."""
    content = text.encode()
    spread = sum(byte * plain_mix(at + _GOLDEN) for at, byte in enumerate(content))
    return plain_mix((len(content) + spread) % _WORDS)


def plain_word(origin: int, number: int, seed: int = 0) -> int:
    """So manieth random word of a group."""
    own = plain_mix(origin ^ plain_mix(seed % _WORDS))
    return plain_mix((own + number * _GOLDEN) % _WORDS)


def plain_poisson(origin: int, replicate: int, seed: int = 0) -> int:
    """How often a replicate of the bootstrap draws a group."""
    number = plain_word(origin, replicate // 4, seed) >> 16 * (replicate % 4) & 0xFFFF
    return bisect_right(_POISSON, number)


def plain_coin(origin: int, replicate: int, seed: int = 0) -> int:
    """Whether a permutation swaps a group."""
    return plain_word(origin, replicate // 64, seed) >> replicate % 64 & 1


def poisson_weights(queries: pl.Series, replicates: int, seed: int = 0) -> NDArray[np.float64]:
    """Replicates × queries, where each query is a group of its own."""
    origins = [plain_hash(query) for query in queries]
    return np.array(
        [[plain_poisson(o, r, seed) for o in origins] for r in range(replicates)], np.float64
    )
