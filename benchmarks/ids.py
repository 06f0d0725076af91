"""Turn numbers into ids of the kinds that users have, such as UUIDs and URLs."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.layouts import Ids

Numbers = NDArray[np.int64]


def as_ids(numbers: Numbers, kind: Ids, side: str) -> pl.Series:
    """Return numbers as ids of queries ("q") or documents ("d"); only integers are no text."""
    if kind == "integers":
        return pl.Series(numbers)
    used = np.zeros(numbers.max() + 1, bool)
    used[numbers] = True
    at = (np.cumsum(used) - 1)[numbers]
    ids = _distinct_ids(pl.Series("n", np.flatnonzero(used)), kind, side).gather(at)
    return ids.cast(pl.Categorical) if kind == "categorical" else ids


def _distinct_ids(numbers: pl.Series, kind: Ids, side: str) -> pl.Series:
    text = pl.col("n").cast(pl.String)
    if kind == "uuids":
        return _uuids(numbers.to_numpy(), ord(side))
    if kind == "padded":
        text = text.str.zfill(8)
    elif kind == "urls" and side == "d":
        shop, kinds = pl.col("n") % 97, (pl.col("n") // 97) % 1009
        slug = (pl.col("n") * 7_368_787) % 1_000_003
        return numbers.to_frame().select(
            pl.format(
                "https://www.shop-{}.example.com/catalogue/category-{}/product-{}/item-{}?from=list",
                shop, kinds, slug, "n",
            )
        ).to_series()  # fmt: skip
    return numbers.to_frame().select(pl.lit(side) + text).to_series()


def _uuids(numbers: Numbers, salt: int) -> pl.Series:
    """Return a UUID for each number, from the digits of two mixed words."""
    words = np.stack([_mixed(numbers, salt), _mixed(numbers, salt + 1000)], axis=1)
    data = words.view(np.uint8).reshape(len(numbers), 16)
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    text = np.full((len(numbers), 36), ord("-"), np.uint8)
    places = [at for at in range(36) if at not in {8, 13, 18, 23}]
    text[:, places[0::2]] = digits[data >> 4]
    text[:, places[1::2]] = digits[data & 15]
    return pl.Series(text.view("S36").ravel()).cast(pl.String)


def _mixed(numbers: Numbers, salt: int) -> NDArray[np.uint64]:
    """Mix numbers by the finaliser of splitmix64, a bijection that leaves no order."""
    x = numbers.astype(np.uint64) + np.uint64(salt * 0x9E3779B97F4A7C15 % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
