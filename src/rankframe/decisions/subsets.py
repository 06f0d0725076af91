"""Queries that are compared among themselves: all of them, and every slice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.inputs.queries import Attributes, Known


@dataclass(frozen=True)
class Subset:
    """Some queries by their places: all (`by` is None), or a slice."""

    by: str | None
    name: str | None
    rows: NDArray[np.int64]

    @property
    def title(self) -> str:
        """What it is called."""
        return "all queries" if self.by is None else f"{self.by}: {self.name}"


def everything(queries: pl.Series) -> Subset:
    """All of them."""
    return Subset(None, None, np.arange(len(queries)))


def slices_of(attributes: Attributes | None, known: Known) -> list[Subset]:
    """Every slice of the queries that something is known of."""
    if attributes is None:
        return []
    return [
        Subset(*attributes.name(way, number), np.flatnonzero(numbers == number))
        for way, numbers in enumerate(known.slices)
        for number in np.unique(numbers).tolist()
    ]
