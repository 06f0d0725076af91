"""Folds of queries: the same whatever the order of rows, on any machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankframe.core.checks import is_count
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, number_of, shown
from rankframe.stats.bootstrap import Hashes, random_words

Folds = NDArray[np.int64]
FEWEST = 2
# Beyond all words that replicates are drawn from: folds and replicates have nothing in common.
_FAR = 1 << 40


def fold_numbers(hashes: Hashes, folds: int, seed: int) -> Folds:
    """The number of each query's fold, by the hashes of their ids.

    Queries are dealt in the order of what is drawn for each, so that no fold has more than one
    query more than another.

    >>> fold_numbers(np.arange(5, dtype=np.uint64), 2, 0).tolist().count(0)
    3
    """
    drawn = random_words(hashes, 1, seed, _FAR)[:, 0]
    numbers = np.empty(len(hashes), np.int64)
    numbers[np.argsort(drawn, kind="stable")] = np.arange(len(hashes)) % folds
    return numbers


def check_folds(folds: object) -> None:
    """Refuse what is no number of folds."""
    if not is_count(folds) or int(folds) < FEWEST:  # pyright: ignore[reportArgumentType]
        raise OptionError(
            Option("folds", bare=True),
            f" must be a whole number of at least {FEWEST}, not {shown(folds)}.",
        )


def refuse_more_folds(folds: int, queries: int) -> None:
    """Refuse more folds than there are queries."""
    if folds > queries:
        raise OptionError(
            Option("folds", folds),
            f" is more than there are queries to tune by: {number_of(queries, 'query')}. Every "
            "fold needs one.",
        )
