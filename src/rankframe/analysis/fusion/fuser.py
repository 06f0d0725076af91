"""Apply a fusion method to documents of several runs, and rank them by what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankframe.analysis.fusion.hits import Hits
from rankframe.analysis.fusion.names import Method
from rankframe.analysis.fusion.normalised import NormalisedStack
from rankframe.analysis.fusion.registry import Floats, Learned
from rankframe.analysis.fusion.stack import Stack
from rankframe.core.columns import DOC, QUERY, RANK, SCORE, STACKED_FRAME
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option

# The columns of a fused run.
RUN_SCHEMA = {name: STACKED_FRAME.columns[name].type for name in (QUERY, DOC, RANK, SCORE)}


@dataclass(frozen=True)
class Fuser:
    """Hold a method with what it learned, ready for any stack of the same runs."""

    method: Method
    learned: Learned | None = None
    k_max: int | None = None

    @classmethod
    def train(cls, method: Method, hits: Sequence[Hits] | None, k_max: int | None = None) -> Fuser:
        """Let a method learn from the hits of each run; other methods take None."""
        if hits is None or method.definition.learns is None:
            return cls(method, None, k_max)
        return cls(method, method.definition.learns(hits, **method.params), k_max)

    def fuse(self, stack: Stack) -> pl.DataFrame:
        """Return the fused run of the queries of a stack."""
        return stack.make_run(self.scores(NormalisedStack(stack, self.method.norm)), self.k_max)

    def scores(self, documents: NormalisedStack) -> Floats:
        """Return the fused score of each document, which the norm of the method made comparable."""
        method, stack = self.method, documents.stack
        learned = () if self.learned is None else (self.learned,)
        # Overflows are refused below.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = method.definition.function(documents, *learned, **method.params)
        bad = ~np.isfinite(scores)
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            query = stack.queries[int(stack.code[first])]
            raise OptionError(
                f"{method.label} gives no finite score to {int(bad.sum()):,} of {len(scores):,} "
                f"documents, e.g. {stack.docs[first]!r} of query {query!r}. "
                "Scale the scores, or choose another method."
            )
        return scores


def check_judged(method: Method, *, judged: bool) -> None:
    """Refuse judgments that no method learns from, and a trained method without judgments."""
    trained, name = method.definition.trained, method.definition.name
    if judged and not trained:
        raise OptionError(
            Option("qrels"), f" is for methods that are trained, and {method.label} is not."
        )
    if trained and not judged:
        raise OptionError(
            f"{name} is trained on judgments. Pass them with ",
            Option("qrels"),
            ", best of other queries than those that are fused.",
        )


def refuse_unscored(method: Method, unscored: Sequence[str]) -> None:
    """Refuse runs without scores where a method needs scores."""
    if not (unscored and method.needs_scores):
        return
    norm = "scores as they are" if method.norm is None else f"the norm {method.norm.name}"
    raise OptionError(
        f"run {unscored[0]!r} has no scores, only an order, and {method.label} by {norm} needs "
        'scores. Choose the norm "rank" or "borda", or a method over ranks, such as rrf.'
    )
