"""One of the two rankings of a pair, on the rows of the pair frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankframe.kernel.ranking import RankedBatch

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Ranking:
    """One of the two rankings, on the rows of the pair frame; 0 where it lacks the document.

    `length`: of each query. `at`: which row of the ranking each is, anything where it has none.
    """

    def __init__(
        self,
        ranked: RankedBatch,
        length: Ints,
        rank: NDArray[np.int32],
        at: Callable[[], NDArray[np.integer]],
    ) -> None:
        self.length, self.rank = length, rank
        self._ranked, self._find = ranked, at

    @property
    def tied(self) -> bool:
        """Return whether documents have the same score."""
        return self._ranked.same is not None

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Flag the rows whose document the ranking has."""
        return self.rank > 0

    @cached_property
    def at(self) -> NDArray[np.integer]:
        """Return the row of the ranking that each row is."""
        return self._find()

    @cached_property
    def tied_rank(self) -> Floats:
        """Return the mean rank of the documents with the same score."""
        return self._take(self._ranked.tied_rank) if self.tied else self.rank.astype(np.float64)

    @cached_property
    def score(self) -> Floats | None:
        """Return the scores; None where the ranking has none."""
        score = self._ranked.score
        return None if score is None else self._take(score)

    def _take(self, values: Floats) -> Floats:
        if not len(values):
            return np.zeros(len(self.rank))
        values = values.take(self.at, mode="clip")
        np.putmask(values, ~self.present, 0)
        return values
