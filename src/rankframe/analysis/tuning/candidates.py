"""What is tried: fusions by method, norm, parameters and weights, each once, in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl


@dataclass(frozen=True)
class Candidate:
    """A fusion that is tried."""

    method: str
    # of methods that look at scores
    norm: str | None = None
    # in the order in which the method has them
    parameters: tuple[tuple[str, Any], ...] = ()
    weights: tuple[float, ...] | None = None
    # a user's own method, which is then called `method`
    own: pl.Expr | None = field(default=None, compare=False)

    @property
    def method_like(self) -> str | pl.Expr:
        """As `rf.fuse` takes it."""
        return self.name if self.own is None else self.own

    @property
    def name(self) -> str:
        """What it is called: what `rf.fuse` reads, if it is not a user's own.

        >>> Candidate("wsum", "min_max", weights=(0.25, 0.75)).name
        'wsum(weights=[0.25, 0.75])'
        """
        given = [f"{name}={value}" for name, value in self.parameters]
        if self.weights is not None:
            given.append(f"weights={list(self.weights)}")
        return f"{self.method}({', '.join(given)})" if given else self.method
