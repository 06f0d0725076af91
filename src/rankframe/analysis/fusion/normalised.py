"""Documents of several runs as fusion methods see them: ranks, and scores that are comparable."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.fusion.norms import Norm
from rankframe.analysis.fusion.stack import Stack
from rankframe.core.columns import STACKED_FRAME
from rankframe.kernel.batch import taken

Floats = NDArray[np.float64]


class NormalisedStack:
    """Hold a stack and a norm (None: scores as they are); scores are normalised once, when needed.

    Values per document are arrays in the order of the stack; runs go by their numbers.
    """

    def __init__(self, stack: Stack, norm: Norm | None) -> None:
        self.stack = stack
        self.norm = norm
        self._scores: dict[int, Floats] = {}

    @property
    def height(self) -> int:
        """Return the number of documents."""
        return self.stack.height

    @property
    def runs(self) -> range:
        """Return the numbers of the runs."""
        return range(len(self.stack.runs))

    def ranks(self, run: int) -> NDArray[np.int32]:
        """Return the rank of each document in a run; 0 where the run lacks it."""
        return self.stack.runs[run].document_ranks

    def list_lengths(self, run: int) -> NDArray[np.int64]:
        """Return the length of a run's list for the query of each document."""
        return self.stack.spread_to_documents(self._list_lengths_by_query(run))

    def scores(self, run: int) -> Floats:
        """Return the normalised score of each document in a run; 0 where it has none."""
        if run not in self._scores:
            self._scores[run] = self._normalise(run)
        return self._scores[run]

    def has_score(self, run: int) -> NDArray[np.bool_]:
        """Return which documents have a score in a run; some norms give one to all documents."""
        if self._scores_all:
            return np.ones(self.height, np.bool_)
        return self.stack.runs[run].has_document

    @property
    def score_counts(self) -> NDArray[np.int32]:
        """Return in how many runs each document has a score."""
        if self._scores_all:
            return np.full(self.height, len(self.runs), np.int32)
        return self.stack.runs_with

    def add_up(self, values: Callable[[int], Floats]) -> Floats:
        """Add up values of each run per document, in the order of the runs."""
        total = np.zeros(self.height)
        for run in self.runs:
            total += values(run)
        return total

    @property
    def _scores_all(self) -> bool:
        """Return whether the norm gives scores to documents that a run lacks."""
        return self.norm is not None and self.norm.absent is not None

    def _list_lengths_by_query(self, run: int) -> NDArray[np.int64]:
        listed = self.stack.runs[run]
        return listed.spread_to_queries(listed.list_lengths, len(self.stack.starts))

    def _normalise(self, run: int) -> Floats:
        listed = self.stack.runs[run]
        if self.norm is None:
            return listed.spread_to_documents(listed.scores)
        scores = listed.spread_to_documents(self.norm.listed(listed))
        if self.norm.absent is None:
            return scores
        candidates = self.stack.lengths.astype(np.float64)
        lengths = self._list_lengths_by_query(run).astype(np.float64)
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
        series: dict[str, pl.Series] = {"_document": pl.Series(rows)}
        for column in columns:
            dtype = STACKED_FRAME.columns[column].type
            match column:
                case "query_id":
                    values = taken(stack.queries, stack.code[rows])
                case "doc_id":
                    values = stack.taken(rows)
                case "run":
                    values = pl.Series([stack.names[run]]).new_from_index(0, len(rows))
                case "rank":
                    values = pl.Series(listed.document_ranks[rows])
                case "score" if listed.ranked.score is not None:
                    values = pl.Series(listed.spread_to_documents(listed.scores)[rows])
                case "normalised":
                    with np.errstate(over="ignore", invalid="ignore"):
                        values = pl.Series(self.scores(run)[rows])
                case "length":
                    values = pl.Series(self.list_lengths(run)[rows])
                case "runs_with":
                    values = pl.Series(stack.runs_with[rows])
                case "candidates":
                    values = pl.Series(stack.lengths[stack.code[rows]])
                case _:
                    values = pl.Series([None], dtype=dtype).new_from_index(0, len(rows))
            series[column] = values.cast(dtype)
        return pl.DataFrame(series)
