"""One of two rankings, as the pair frame sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Ranking:
    """One of the two rankings, on the rows of the pair frame; 0 where it lacks the document."""

    rank: NDArray[np.int32]
    tied_rank: NDArray[np.float64]
    score: NDArray[np.float64] | None
    # of each query
    length: NDArray[np.int64]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows it has."""
        return self.rank > 0
