"""Norms: what makes the scores of different runs comparable, list by list."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rankframe.analysis.fusion.stack import Listed, Stack

Floats = NDArray[np.float64]

# What is smaller counts as this where something is divided by it, as in ranx.
_LEAST = 1e-9
# How somebody says that scores are taken as they are.
RAW: Final = "none"


@dataclass(frozen=True)
class Norm:
    """A norm, as it is registered."""

    name: str
    formula: str
    # from scores, or from ranks alone
    scored: bool
    # of the rows of a run, best first; N of each of its lists beside them
    rows: Callable[[Listed, Floats], Floats]
    # of documents that a run lacks, from the length of its list (0: it has none) and N of each
    # query; None: it says nothing of them
    absent: Callable[[Floats, Floats], Floats] | None

    @property
    def summary(self) -> str:
        """What it means."""
        return (inspect.getdoc(self.rows) or "").replace("\n", " ")


NORMS: dict[str, Norm] = {}


class norm:  # noqa: N801 (a decorator)
    """Register a function as a norm."""

    def __init__(
        self,
        formula: str,
        *,
        scored: bool = True,
        absent: Callable[[Floats, Floats], Floats] | None = None,
    ) -> None:
        self._formula, self._scored, self._absent = formula, scored, absent

    def __call__(self, rows: Callable[[Listed, Floats], Floats]) -> Callable[..., Floats]:
        """The function as it is."""
        name = rows.__name__.removesuffix("_norm")
        NORMS[name] = Norm(name, self._formula, self._scored, rows, self._absent)
        return rows


class Normed:
    """The documents of a stack as methods see them: of each run, its ranks and normed scores."""

    def __init__(self, stack: Stack, by: Norm | None) -> None:
        self.stack = stack
        self._by = by

    @property
    def runs(self) -> range:
        """The numbers of the runs."""
        return range(len(self.stack.runs))

    def rank(self, run: int) -> NDArray[np.int32]:
        """Of each document in a run; 0 where this lacks it."""
        return self.stack.runs[run].rank

    def score(self, run: int) -> Floats:
        """Of each document in a run, after the norm; 0 where there is none."""
        listed, by = self.stack.runs[run], self._by
        if by is None:
            assert listed.score is not None  # whoever opened the run saw to it
            return listed.on_documents(listed.score)
        candidates = self.stack.lengths.astype(np.float64)
        lists = candidates if listed.has is None else candidates[listed.has]
        values = listed.on_documents(by.rows(listed, lists))
        if by.absent is not None:
            lengths = listed.of_queries(listed.last_ranks, len(candidates)).astype(np.float64)
            others = self.stack.on_documents(by.absent(lengths, candidates))
            values = np.where(listed.holds, values, others)
        return values

    def holds(self, run: int) -> NDArray[np.bool_]:
        """Which documents have a score in a run: those that it has, or by some norms all."""
        if self._by is not None and self._by.absent is not None:
            return np.ones(self.stack.height, np.bool_)
        return self.stack.runs[run].holds

    @property
    def count(self) -> NDArray[np.int32]:
        """In how many runs each document has a score."""
        if self._by is not None and self._by.absent is not None:
            return np.full(self.stack.height, len(self.stack.runs), np.int32)
        return self.stack.runs_with


@norm("(s − min) / (max − min)")
def min_max(run: Listed, candidates: Floats) -> Floats:  # noqa: ARG001 (as all of them)
    """From 0, the least score of the list, to 1, the best."""
    score, best, least = _bounds(run)
    return (score - run.on_rows(least)) / run.on_rows(np.maximum(best - least, _LEAST))


@norm("(max − s) / (max − min)")
def min_max_inverted(run: Listed, candidates: Floats) -> Floats:  # noqa: ARG001
    """From 0, the best score of the list, to 1, the least: where less is better."""
    score, best, least = _bounds(run)
    return (run.on_rows(best) - score) / run.on_rows(np.maximum(best - least, _LEAST))


@norm("s / max")
def max_norm(run: Listed, candidates: Floats) -> Floats:  # noqa: ARG001
    """A share of the best score of the list."""
    score, best, _ = _bounds(run)
    return score / run.on_rows(np.maximum(best, _LEAST))


@norm("(s − min) / (Σs − L·min)")
def sum_norm(run: Listed, candidates: Floats) -> Floats:  # noqa: ARG001
    """From 0, the least score of the list, so that all add up to 1."""
    score, _, least = _bounds(run)
    total = np.add.reduceat(score, run.ranked.starts) if len(score) else least
    below = np.maximum(total - least * run.ranked.lengths, _LEAST)
    return (score - run.on_rows(least)) / run.on_rows(below)


@norm("(s − mean) / σ")
def zmuv(run: Listed, candidates: Floats) -> Floats:  # noqa: ARG001
    """How many standard deviations above the mean score of the list: zero mean, unit variance."""
    score, _, least = _bounds(run)
    if not len(score):
        return score
    starts, lengths = run.ranked.starts, run.ranked.lengths
    mean = np.add.reduceat(score, starts) / lengths
    # Of equal scores, the mean of which is rounded, none is above it.
    mean = np.where(score[starts] == least, least, mean)
    deviation = score - run.on_rows(mean)
    spread = np.sqrt(np.add.reduceat(deviation * deviation, starts) / lengths)
    return deviation / run.on_rows(np.maximum(spread, _LEAST))


@norm("1 − (r − 1)/L", scored=False)
def rank_norm(run: Listed, candidates: Floats) -> Floats:  # noqa: ARG001
    """From 1 at rank 1 down to 1/L at the last, whatever the scores."""
    return 1.0 - (run.ranks - 1) / run.on_rows(run.last_ranks)


def _absent_borda(lengths: Floats, candidates: Floats) -> Floats:
    return 0.5 - (lengths - 1.0) / (2.0 * candidates)


@norm("1 − (r − 1)/N; .5 − (L − 1)/2N where the run lacks the document", scored=False,
      absent=_absent_borda)  # fmt: skip
def borda(run: Listed, candidates: Floats) -> Floats:
    """From 1 at rank 1 down, in steps of 1/N; documents that the run lacks share what is left."""
    return 1.0 - (run.ranks - 1) / run.on_rows(candidates)


def _bounds(run: Listed) -> tuple[Floats, Floats, Floats]:
    """The scores of a run, and the best and the least of each list."""
    score = run.score
    assert score is not None  # whoever opened the run saw to it
    starts = run.ranked.starts
    return score, score[starts], score[starts + run.ranked.lengths - 1]
