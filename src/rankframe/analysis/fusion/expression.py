"""Fusion methods that users write: an expression over the stacked frame, grouped by document."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from rankframe.analysis.fusion.normalised import NormalisedStack
from rankframe.analysis.fusion.registry import Definition, Floats
from rankframe.core.columns import STACKED_FRAME
from rankframe.core.errors import OptionError
from rankframe.core.messages import did_you_mean

NAME = "an expression"


def define_method(expression: pl.Expr) -> Definition:
    """Define a method by an expression; refuse one that cannot be computed."""
    if expression.meta.has_multiple_outputs():
        raise OptionError("the expression stands for several columns. Give one that is a score.")
    columns = list(STACKED_FRAME.columns)
    for name in expression.meta.root_names():
        if name not in columns:
            near = did_you_mean(name, columns)
            raise OptionError(
                f"the stacked frame has no column {name!r}. {near}{' ' if near else ''}"
                f"It has {', '.join(columns)}."
            )
    return Definition(
        name=NAME,
        family=None,
        formula=str(expression),
        scored="normalised" in expression.meta.root_names(),
        function=ByDocument(expression),
    )


@dataclass(frozen=True)
class ByDocument:
    """Evaluate an expression for each document, as a method is called."""

    expression: pl.Expr

    def __call__(self, documents: NormalisedStack) -> Floats:
        """Return the score of each document."""
        rows = documents.frame(sorted(set(self.expression.meta.root_names())))
        try:
            # With sorted keys polars adds up each group in the order of its rows, not by threads.
            scores = (
                rows.with_columns(pl.col("_document").set_sorted())
                .lazy()
                .group_by("_document", maintain_order=True)
                .agg(self.expression.alias("_fused"))
                .collect(engine="in-memory")["_fused"]
            )
        except pl.exceptions.PolarsError as error:
            problem = str(error).split("\n")[0]
            raise OptionError(f"the expression failed: {problem}.") from error
        if not (scores.dtype.is_numeric() or scores.dtype in (pl.Boolean, pl.Null)):
            raise OptionError(
                f"the expression gives {scores.dtype} per document, not one number. Aggregate it "
                "over the runs, for instance with .sum(), .max() or .mean()."
            )
        return scores.cast(pl.Float64).fill_null(float("nan")).to_numpy()
