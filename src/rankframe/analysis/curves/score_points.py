"""Compute the points of ROC and precision–recall curves, for many queries or slices at once.

Documents are sorted once for all curves, best first. Each block of equal scores ends in a point.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from rankframe.core.arrays import Flags, Floats, Ints
from rankframe.core.columns import DOC, QUERY, SCORE
from rankframe.core.errors import MissingQueriesError, NoOverlapError, OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Policies
from rankframe.core.records import record
from rankframe.engine.lookup import Lookup
from rankframe.io.batches import some_ids
from rankframe.io.input_table import InputTable
from rankframe.kernel.batch import taken, text_order
from rankframe.kernel.segments import segment_starts, sort_order
from rankframe.stats.exact import Exact, exact_sums

# The column with the curve number of each point.
CURVE: Final = "_curve"
# Vertical means are taken at fpr = 0, 1/100, …, 1.
_STEPS: Final = 100
_AT_ONCE = 1 << 14  # curves whose values at every step about fit in the processor's cache


@record
class Population:
    """Hold the retrieved documents of all evaluated queries."""

    # the evaluated queries, in byte order
    queries: pl.Series
    # the number of relevant documents of each query, retrieved or not
    relevant_total: Ints
    # of each document: the number of its query, a score that is larger for better documents, and
    # whether it is relevant
    query: Ints
    score: Floats
    relevant: Flags
    # -1 if `score` holds negated distances or ranks, else 1
    sign: int

    @cached_property
    def hits(self) -> Ints:
        """Count the relevant documents retrieved for each query."""
        return np.bincount(self.query[self.relevant], minlength=len(self.queries))

    @cached_property
    def retrieved(self) -> Ints:
        """Count the documents retrieved for each query."""
        return np.bincount(self.query, minlength=len(self.queries))


def read_population(
    qrels: InputTable, run: InputTable, policies: Policies, *, distance: bool
) -> Population:
    """Read the judgments and the run into a population; `distance`: lower scores are better."""
    scored = SCORE in run.mapping
    if distance and not scored:
        raise OptionError(
            Option("scores", "distance"),
            " needs scores, and the run has none: it is in order of its ranks or rows. "
            "Leave the option out.",
        )
    # Distances are negated as they are read, so that a roll-up keeps the nearest passage.
    run = replace(run, distance=run.distance or distance)
    matches = Lookup.from_inputs(qrels, run, policies, (), listed=True).found()
    part = matches.select()
    order = text_order(part.queries)
    queries = taken(part.queries, order)
    relevant = part.grades > 0 if policies.rel is None else part.grades >= policies.rel
    total = np.add.reduceat(relevant, part.starts, dtype=np.int64)[order]
    missing = ~part.in_run[order]
    if not matches.counts.overlap and policies.no_overlap == "error":
        key = QUERY if missing.all() else DOC
        raise NoOverlapError(key, *some_ids(run, qrels, key))
    if policies.missing == "error" and missing.any():
        example = queries[int(np.flatnonzero(missing)[0])]
        raise MissingQueriesError(int(missing.sum()), len(queries), example)
    keep = np.ones(len(queries), np.bool_)
    if policies.missing == "skip":
        keep &= ~missing
    if policies.no_relevant == "skip":
        keep &= total > 0
    number = np.empty(len(queries), np.int64)
    number[order] = np.where(keep, np.cumsum(keep) - 1, -1)

    assert matches.listing is not None  # it was requested
    documents = matches.listing.all()
    if policies.judged_only:
        documents = documents.select(part.rank[documents.judgment] * (documents.judgment >= 0) > 0)
        # ranks are counted again, because the unjudged documents are gone
        documents = replace(documents, rank=part.rank[documents.judgment])
    counts = number[documents.query] >= 0
    if not counts.all():
        documents = documents.select(counts)
    if scored and documents.value is not None:
        score = documents.value
    else:
        own = None if policies.judged_only else documents.value
        score = -(documents.rank if own is None else own).astype(np.float64)
    return Population(
        queries.filter(pl.Series(keep)),
        total[keep],
        number[documents.query],
        score,
        (documents.judgment >= 0) & relevant[documents.judgment],
        1 if scored and not run.distance else -1,
    )


def roc(population: Population, curves: Ints) -> pl.DataFrame:
    """Return the points of ROC curves; `curves`: the curve number of each query.

    A curve without a relevant or without a non-relevant document has no points.
    """
    hits = _add_up(population.hits, curves)
    nonrelevant = _add_up(population.retrieved, curves) - hits
    points = trace(population, curves, np.flatnonzero((hits > 0) & (nonrelevant > 0)))
    shares = {
        "fpr": points["fp"].to_numpy() / nonrelevant[points[CURVE]],
        "tpr": points["tp"].to_numpy() / hits[points[CURVE]],
    }
    return points.with_columns(**shares).select(CURVE, "threshold", "fpr", "tpr", "fp", "tp")


def precision_recall(population: Population, curves: Ints, *, retrieved_only: bool) -> pl.DataFrame:
    """Return the points of precision–recall curves; `curves`: the curve number of each query.

    A curve without a relevant document has no points.
    """
    total = _add_up(population.hits if retrieved_only else population.relevant_total, curves)
    points = trace(population, curves, np.flatnonzero(total > 0))
    tp, taken = points["tp"].to_numpy(), (points["tp"] + points["fp"]).to_numpy()
    shares = {
        "precision": np.divide(tp, taken, out=np.ones(len(taken)), where=taken > 0),
        "recall": tp / total[points[CURVE]],
    }
    columns = (CURVE, "threshold", "precision", "recall", "tp", "fp")
    return points.with_columns(**shares).select(columns)


def _add_up(of_queries: Ints, curves: Ints) -> Ints:
    """Sum counts per query into counts per curve."""
    return np.bincount(curves, weights=of_queries).astype(np.int64)


def trace(population: Population, curves: Ints, traced: Ints) -> pl.DataFrame:
    """Return thresholds with true and false positives, for each curve in `traced`.

    `curves`: the curve number of each query. Each curve begins with a point at which no document
    is positive. Columns: the curve number, threshold, tp, fp.
    """
    places = np.full(int(curves.max(initial=0)) + 1, -1)
    places[traced] = np.arange(len(traced))
    place = places[curves][population.query]
    score, relevant = population.score, population.relevant
    if (place < 0).any():
        inside = place >= 0
        place, score, relevant = place[inside], score[inside], relevant[inside]
    order = np.argsort(-score)
    if len(traced) > 1:
        order = order[sort_order(place[order])]
    place, score, relevant = place[order], score[order], relevant[order]
    rows = np.bincount(place, minlength=len(traced))
    hits = np.bincount(place[relevant], minlength=len(traced))

    last = np.ones(len(place), np.bool_)
    last[:-1] = (score[1:] != score[:-1]) | (place[1:] != place[:-1])
    ends = np.flatnonzero(last)
    place = place[ends]
    tp = np.cumsum(relevant)[ends] - (np.cumsum(hits) - hits)[place]
    taken = ends + 1 - (np.cumsum(rows) - rows)[place]

    # Each curve gets an extra first point, which shifts all later points down by one row.
    slot = np.arange(len(ends)) + place + 1
    lengths = np.bincount(place, minlength=len(traced)) + 1
    threshold = np.full(len(ends) + len(traced), population.sign * np.inf)
    # -0.0 + 0.0 is 0.0: the sign of zero must not depend on the order of rows
    threshold[slot] = population.sign * score[ends] + 0.0
    counts = np.zeros((2, len(threshold)), np.int64)
    counts[0, slot] = tp
    counts[1, slot] = taken - tp
    curve = np.repeat(traced, lengths)
    return pl.DataFrame({CURVE: curve, "threshold": threshold, "tp": counts[0], "fp": counts[1]})


def vertical_mean(population: Population, means: Ints) -> pl.DataFrame:
    """Average the ROC curves of queries: the mean tpr at fpr = 0, 0.01, …, 1.

    `means`: for each query, the number of the mean that includes the query. Queries without a
    relevant or without a non-relevant document have no curve and are left out.
    """
    hits, nonrelevant = population.hits, population.retrieved - population.hits
    queries = np.flatnonzero((hits > 0) & (nonrelevant > 0))
    # Sorted, the queries of a mean are contiguous, which is faster.
    queries = queries[sort_order(means[queries])]
    points = trace(population, np.arange(len(population.queries)), queries)
    tp, fp = points["tp"].to_numpy(), points["fp"].to_numpy()
    begins = segment_starts(points[CURVE].to_numpy())
    ends = np.append(begins[1:], len(tp))
    means = means[queries]
    numbers, sizes = np.unique(means, return_counts=True)
    totals = [[Exact()] * (_STEPS + 1) for _ in numbers]
    for start in range(0, len(queries), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        rows = slice(begins[block][0], ends[block][-1])
        tpr = _at_steps(
            tp[rows], fp[rows], begins[block] - rows.start, hits[queries[block]],
            nonrelevant[queries[block]],
        )  # fmt: skip
        starts = segment_starts(means[block])
        owners = np.searchsorted(numbers, means[block][starts]).tolist()
        for step in range(_STEPS + 1):
            sums = exact_sums(np.ascontiguousarray(tpr[:, step]), starts)
            for owner, total in zip(owners, sums, strict=True):
                totals[owner][step] += total
    sums = np.array([float(total) for row in totals for total in row]).reshape(-1, _STEPS + 1)
    return pl.DataFrame(
        {
            CURVE: np.repeat(numbers, _STEPS + 1),
            "fpr": np.tile(np.arange(_STEPS + 1) / _STEPS, len(numbers)),
            "tpr": (sums / sizes[:, None]).ravel(),
            "queries": np.repeat(sizes, _STEPS + 1),
        }
    )


def _at_steps(tp: Ints, fp: Ints, begins: Ints, hits: Ints, nonrelevant: Ints) -> Floats:
    """Interpolate the tpr of each curve (a row) at every step of fpr (a column), linearly.

    Steps and points are compared as whole numbers, not as shares: at a step that falls on a point,
    the tpr is exactly that of the point. On a vertical line, the upper end counts.
    """
    # All curves are laid end to end on one axis of whole numbers, for a single binary search.
    spans = _STEPS * nonrelevant + 1
    origins = np.cumsum(spans) - spans
    places = np.repeat(origins, np.diff(begins, append=len(tp))) + _STEPS * fp
    steps = origins[:, None] + nonrelevant[:, None] * np.arange(_STEPS + 1)
    # Each step lies between the last point at or before it and the next one.
    before = np.searchsorted(places, steps.ravel(), side="right") - 1
    after = np.minimum(before + 1, len(tp) - 1)
    along = steps.ravel() - places[before]  # 0 at the last point of a curve
    width = np.maximum(fp[after] - fp[before], 1)
    reached = tp[before] + (tp[after] - tp[before]) * along / (_STEPS * width)
    return reached.reshape(steps.shape) / hits[:, None]
