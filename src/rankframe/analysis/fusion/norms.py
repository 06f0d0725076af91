"""Norms, which make the scores of different runs comparable, list by list."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.fusion.stack import Stack, StackedRun
from rankframe.core.arrays import Codes, Flags, Floats, Ints
from rankframe.core.columns import DOC, QUERY, RANK, SCORE, STACKED_FRAME
from rankframe.kernel.batch import taken

# Divisors are at least this, as in ranx.
_LEAST = 1e-9
# The name that stands for scores as they are.
RAW: Final = "none"


@dataclass(frozen=True)
class Norm:
    """Define a norm: name, formula and function."""

    name: str
    formula: str
    # whether it uses scores, not ranks alone
    scored: bool
    # the rows of a run, best first → their normalised scores
    listed: Callable[[StackedRun], Floats]
    # the length of a run's list (0: it has none) and the number of candidates of each query → the
    # score of documents that the run lacks; None: they have no score
    absent: Callable[[Floats, Floats], Floats] | None

    @property
    def summary(self) -> str:
        """Return the docstring as one line."""
        return (inspect.getdoc(self.listed) or "").replace("\n", " ")


NORMS: dict[str, Norm] = {}


def norm(
    formula: str,
    *,
    scored: bool = True,
    absent: Callable[[Floats, Floats], Floats] | None = None,
) -> Callable[[Callable[[StackedRun], Floats]], Callable[[StackedRun], Floats]]:
    """Register a function as a norm."""

    def register(listed: Callable[[StackedRun], Floats]) -> Callable[[StackedRun], Floats]:
        name = listed.__name__.removesuffix("_norm")
        NORMS[name] = Norm(name, formula, scored, listed, absent)
        return listed

    return register


@norm("(s − min) / (max − min)")
def min_max(run: StackedRun) -> Floats:
    """Map the least score of the list to 0 and the best to 1."""
    best, lowest = _bounds(run)
    return _divide(run, run.scores - run.spread_to_rows(lowest), best - lowest)


@norm("(max − s) / (max − min)")
def min_max_inverted(run: StackedRun) -> Floats:
    """Map the best score of the list to 0 and the least to 1: where less is better."""
    best, lowest = _bounds(run)
    return _divide(run, run.spread_to_rows(best) - run.scores, best - lowest)


@norm("s / max")
def max_norm(run: StackedRun) -> Floats:
    """Divide by the best score of the list."""
    best, _ = _bounds(run)
    return _divide(run, run.scores, best)


@norm("(s − min) / (Σs − L·min)")
def sum_norm(run: StackedRun) -> Floats:
    """Map the least score of the list to 0, so that all add up to 1."""
    scores, (_, lowest) = run.scores, _bounds(run)
    total = np.add.reduceat(scores, run.ranked.starts) if len(scores) else lowest
    divisors = total - lowest * run.ranked.lengths
    return _divide(run, scores - run.spread_to_rows(lowest), divisors)


@norm("(s − mean) / σ")
def zmuv(run: StackedRun) -> Floats:
    """Count standard deviations above the mean score of the list: zero mean, unit variance."""
    scores, (_, lowest) = run.scores, _bounds(run)
    if not len(scores):
        return scores
    starts, lengths = run.ranked.starts, run.ranked.lengths
    mean = np.add.reduceat(scores, starts) / lengths
    # The mean of equal scores is rounded, and none of them is above it.
    mean = np.where(scores[starts] == lowest, lowest, mean)
    deviation = scores - run.spread_to_rows(mean)
    sigma = np.sqrt(np.add.reduceat(deviation * deviation, starts) / lengths)
    return _divide(run, deviation, sigma)


@norm("1 − (r − 1)/L", scored=False)
def rank_norm(run: StackedRun) -> Floats:
    """Score documents by rank alone, from 1 at rank 1 down to 1/L at the last rank."""
    return 1.0 - (run.ranks - 1) / run.spread_to_rows(run.list_lengths)


def _borda_of_absent(lengths: Floats, candidates: Floats) -> Floats:
    return 0.5 - (lengths - 1.0) / (2.0 * candidates)


@norm(
    "1 − (r − 1)/N; .5 − (L − 1)/2N where the run lacks the document",
    scored=False,
    absent=_borda_of_absent,
)
def borda(run: StackedRun) -> Floats:
    """Score 1 at rank 1, less by 1/N per rank; documents that the run lacks share the remainder."""
    return 1.0 - (run.ranks - 1) / run.spread_to_rows(run.candidates)


def _bounds(run: StackedRun) -> tuple[Floats, Floats]:
    """Return the best and the least score of each list."""
    starts, scores = run.ranked.starts, run.scores
    return scores[starts], scores[starts + run.ranked.lengths - 1]


def _divide(run: StackedRun, values: Floats, divisors: Floats) -> Floats:
    """Divide the value of each row by the divisor of its list, which is at least 1e-9."""
    return values / run.spread_to_rows(np.maximum(divisors, _LEAST))


class NormalisedStack:
    """Hold a stack and a norm (None: scores as they are); scores are normalised once, when needed.

    Values per document are arrays in the order of the stack; runs go by their numbers.
    """

    def __init__(self, stack: Stack, norm: Norm | None) -> None:
        self.stack = stack
        self.norm = norm
        # whether documents that a run lacks have scores
        self._scores_all = norm is not None and norm.absent is not None
        self._scores: dict[int, Floats] = {}

    @property
    def height(self) -> int:
        """Return the number of documents."""
        return self.stack.height

    @property
    def runs(self) -> range:
        """Return the numbers of the runs."""
        return range(len(self.stack.runs))

    def ranks(self, run: int) -> Codes:
        """Return the rank of each document in a run; 0 where the run lacks it."""
        return self.stack.runs[run].document_ranks

    def list_lengths(self, run: int, *, chunks: bool = False) -> Ints:
        """Return the length of a run's list for the query of each document (see `Stack`)."""
        return self.stack.spread_to_documents(self.stack.list_lengths(run, chunks=chunks))

    def scores(self, run: int) -> Floats:
        """Return the normalised score of each document in a run; 0 where it has none."""
        if run not in self._scores:
            self._scores[run] = self._normalise(run)
        return self._scores[run]

    def has_score(self, run: int) -> Flags:
        """Return which documents have a score in a run; some norms give one to all documents."""
        has_document = self.stack.runs[run].has_document
        return np.ones(self.height, np.bool_) if self._scores_all else has_document

    @property
    def score_counts(self) -> Codes:
        """Return in how many runs each document has a score."""
        if self._scores_all:
            return np.full(self.height, len(self.runs), np.int32)
        return self.stack.runs_with

    def add_up(
        self, values: Callable[[int], NDArray[Any]], weights: Sequence[float] | None = None
    ) -> Floats:
        """Add up values of each run per document, times the run's weight, in order of the runs."""
        total = np.zeros(self.height)
        for run in self.runs:
            total += values(run) if weights is None else values(run) * weights[run]
        return total

    def _normalise(self, run: int) -> Floats:
        listed = self.stack.runs[run]
        if self.norm is None:
            return listed.spread_to_documents(listed.scores)
        scores = listed.spread_to_documents(self.norm.listed(listed))
        if self.norm.absent is None:
            return scores
        candidates = self.stack.lengths.astype(np.float64)
        lengths = self.stack.list_lengths(run).astype(np.float64)
        absent = self.stack.spread_to_documents(self.norm.absent(lengths, candidates))
        return np.where(listed.has_document, scores, absent)

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """Return the stacked frame with these columns, and `_document`, the number of each row's.

        Rows are ordered by document, then by run.
        """
        parts = [self._frame_of_run(run, columns) for run in self.runs]
        return pl.concat(parts).sort("_document", maintain_order=True)

    def _frame_of_run(self, run: int, columns: Collection[str]) -> pl.DataFrame:
        stack, listed = self.stack, self.stack.runs[run]
        rows = np.flatnonzero(listed.has_document)
        score = listed.ranked.score
        makers: dict[str, Callable[[], Any]] = {
            QUERY: lambda: taken(stack.queries, stack.code[rows]),
            DOC: lambda: stack.taken(rows),
            "run": lambda: stack.names[run],
            RANK: lambda: self.ranks(run)[rows],
            SCORE: lambda: None if score is None else listed.spread_to_documents(score)[rows],
            "normalised": lambda: self.scores(run)[rows],
            "length": lambda: self.list_lengths(run)[rows],
            "runs_with": lambda: stack.runs_with[rows],
            "candidates": lambda: stack.lengths[stack.code[rows]],
        }
        with np.errstate(over="ignore", invalid="ignore"):
            values = {column: makers[column]() for column in columns}
        types = {column: STACKED_FRAME.columns[column].type for column in columns}
        return pl.DataFrame({"_document": rows, **values}).cast({"_document": pl.Int64, **types})
