"""Runs that were read, ranked and brought together: fused by any method, as often as one likes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl

from rankframe.analysis.fusion.names import Method, MethodLike, Weights, resolve
from rankframe.analysis.fusion.norms import Norm, Normed
from rankframe.analysis.fusion.registry import Floats, Learned
from rankframe.analysis.fusion.stack import Stack
from rankframe.analysis.fusion.trained import Hits
from rankframe.core.columns import DOC, QUERY, RANK, SCORE, STACKED_FRAME
from rankframe.core.errors import OptionError
from rankframe.engine.contiguous import workers

RUN_SCHEMA = {
    name: STACKED_FRAME.columns[name].type for name in (QUERY, DOC, RANK, SCORE)
}  # the columns of a fused run


@dataclass(frozen=True)
class Prepared:
    """Some queries of several runs in memory, ranked and matched, in blocks of whole queries."""

    # of the runs, in their order
    names: tuple[str, ...]
    # in byte order of their queries
    stacks: tuple[Stack, ...]
    # runs without scores
    unscored: tuple[str, ...] = ()


def fused_scores(
    prepared: Prepared,
    method: MethodLike,
    norm: str | None = None,
    weights: Weights | None = None,
    *,
    k_max: int | None = None,
    hits: Sequence[Hits] | None = None,
) -> pl.DataFrame:
    """Fuse what was prepared: query_id, doc_id, rank, score, by query and rank.

    `method`, `norm` and `weights` are those of `fuse`, `k_max` how many documents of each query are
    kept. `hits`: what judgments say of each run (`training.hits_of`), for trained methods. To be
    called as often as one likes on the same state: nothing is read, ranked or matched again. The
    bits are those of `fuse`.
    """
    chosen = resolve(method, prepared.names, norm=norm, weights=weights)
    refuse_unscored(chosen, prepared.unscored)
    fuser = Fuser(prepared.names, chosen, learned(chosen, hits), k_max)
    return joined(in_parallel(fuser.ranking, prepared.stacks))


@dataclass(frozen=True)
class Fuser:
    """A method with all that it needs, for any stack of the same runs."""

    names: tuple[str, ...]
    method: Method
    learned: Learned | None = None
    k_max: int | None = None

    def ranking(self, stack: Stack) -> pl.DataFrame:
        """The fused run of the queries of a stack."""
        return stack.ranking(self.scores(stack), self.k_max)

    def scores(self, stack: Stack) -> Floats:
        """The fused score of each document of a stack, in its order."""
        return self.scores_of(Normed(stack, self.method.norm))

    def scores_of(self, docs: Normed) -> Floats:
        """The same of documents that have the norm of the method already."""
        method, stack = self.method, docs.stack
        # What is too large to be computed is refused below.
        with np.errstate(over="ignore", invalid="ignore"):
            if method.definition is None:
                scores = _own(method, docs, self.names)
            elif self.learned is None:
                scores = method.definition.function(docs, **method.params)
            else:
                scores = method.definition.function(docs, self.learned, **method.params)
        bad = ~np.isfinite(scores)
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            query = stack.queries[int(stack.code[at])]
            raise OptionError(
                f"{method.label} gives no finite score to {int(bad.sum()):,} of {len(scores):,} "
                f"documents, e.g. {stack.docs[at]!r} of query {query!r}. "
                "Scale the scores, or choose another method."
            )
        return scores


def learned(method: Method, hits: Sequence[Hits] | None) -> Learned | None:
    """What a trained method learns from judgments; None for others."""
    if not method.trained:
        return None
    assert method.definition is not None  # an expression is not trained
    assert method.definition.learns is not None  # a trained method does
    if hits is None:
        raise OptionError(f"{method.definition.name} is trained on judgments: pass qrels.")
    return method.definition.learns(hits, **method.params)


def refuse_unscored(method: Method, unscored: Sequence[str]) -> None:
    """Refuse runs without scores where a method needs them."""
    if not (unscored and method.needs_scores):
        return
    norm = "scores as they are" if method.norm is None else f"the norm {method.norm.name}"
    raise OptionError(
        f"run {unscored[0]!r} has no scores, only an order, and {method.label} by {norm} needs "
        'scores. Choose the norm "rank" or "borda", or a method over ranks, such as rrf.'
    )


def in_parallel(
    work: Callable[[Stack], pl.DataFrame], stacks: Sequence[Stack]
) -> Iterator[pl.DataFrame]:
    """Do some work with each stack, on all cores; what it gives, in their order."""
    with ThreadPoolExecutor(workers()) as pool:
        yield from pool.map(work, stacks)


def joined(parts: Iterator[pl.DataFrame]) -> pl.DataFrame:
    """Parts of a fused run as one."""
    return pl.concat([pl.DataFrame(schema=RUN_SCHEMA), *parts])


def normalised(stack: Stack, by: Norm | None) -> dict[int, Floats]:
    """The scores of each run after a norm, on the documents of a stack."""
    docs = Normed(stack, by)
    with np.errstate(over="ignore", invalid="ignore"):
        return {run: docs.score(run) for run in docs.runs}


def _own(method: Method, docs: Normed, names: Sequence[str]) -> Floats:
    """The scores by a user's own method: an expression, grouped by document."""
    assert method.expression is not None  # or the method has a definition
    stack, columns = docs.stack, sorted(set(method.expression.meta.root_names()))
    normed = normalised(stack, method.norm) if "normalised" in columns else None
    rows = stack.frame(columns, names, normed)
    try:
        # Told that the rows are sorted, polars adds up each group in their order, not by threads.
        found = (
            rows.with_columns(pl.col("_document").set_sorted())
            .lazy()
            .group_by("_document", maintain_order=True)
            .agg(method.expression.alias("_fused"))
            .collect(engine="in-memory")["_fused"]
        )
    except pl.exceptions.PolarsError as error:
        problem = str(error).split("\n")[0]
        raise OptionError(f"the expression failed: {problem}.") from error
    if not (found.dtype.is_numeric() or found.dtype in (pl.Boolean, pl.Null)):
        raise OptionError(
            f"the expression gives {found.dtype} per document, not one number. Aggregate it over "
            "the runs, for instance with .sum(), .max() or .mean()."
        )
    return found.cast(pl.Float64).fill_null(float("nan")).to_numpy()
