"""The points of ROC and precision–recall curves: those of all queries or slices at once.

Documents are put in order once, the best first; whatever number of curves they belong to, a point
is where a block of equal scores ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import SCORE
from rankframe.core.errors import MissingQueriesError, OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Policies
from rankframe.engine.lookup import Lookup
from rankframe.frames.found import matched
from rankframe.io.input_table import InputTable
from rankframe.io.validate import refuse_no_overlap
from rankframe.kernel.batch import taken
from rankframe.kernel.codes import text_order
from rankframe.kernel.listed import Listed
from rankframe.kernel.segments import position, segment_starts, sort_order
from rankframe.stats.exact import Exact, exact_sums

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# The column that says of which curve a point is; numbers, as the caller gave them.
CURVE: Final = "_curve"
# Where curves are averaged: at fpr = 0, 1/100, …, 1.
_STEPS: Final = 100
_AT_ONCE = 1 << 14  # curves whose values at every step fit in the processor's cache, about


@dataclass(frozen=True)
class Population:
    """Every document that was retrieved for one of the queries that count."""

    # in byte order
    queries: pl.Series
    # relevant documents of each query, retrieved or not
    relevant_total: Ints
    # of each document: the number of its query; larger for the better one; whether it is relevant
    code: Ints
    goodness: Floats
    relevant: NDArray[np.bool_]
    # the sign of goodness: -1 where smaller thresholds are better (distances, ranks)
    sign: int

    @cached_property
    def hits(self) -> Ints:
        """Relevant documents retrieved for each query."""
        return np.bincount(self.code[self.relevant], minlength=len(self.queries))

    @cached_property
    def retrieved(self) -> Ints:
        """Documents retrieved for each query."""
        return np.bincount(self.code, minlength=len(self.queries))


@dataclass(frozen=True)
class Traced:
    """The points of several curves, one curve after the other, each from where nothing is taken."""

    # of each point: the place of its curve among those asked for
    place: Ints
    threshold: Floats
    tp: Ints
    fp: Ints


def read_population(
    qrels: InputTable, run: InputTable, policies: Policies, *, distance: bool
) -> Population:
    """Read both inputs. `distance`: a smaller score is better."""
    if distance and SCORE not in run.mapping:
        raise OptionError(
            Option("scores", "distance"),
            " needs scores, and the run has none: it is in order of its ranks or rows. "
            "Leave the option out.",
        )
    # Turned round as it is read: the best of several is then the nearest.
    run = replace(run, distance=run.distance or distance)
    found = Lookup.of(qrels, run, policies, (), listed=True).found()
    part = matched(found, 0, len(found.judgments.starts))
    order = text_order(part.queries)
    queries = taken(part.queries, order)
    good = part.grades > 0 if policies.rel is None else part.grades >= policies.rel
    total = np.add.reduceat(good, part.starts, dtype=np.int64)[order]
    missing = ~part.in_run[order]
    if not found.seen.overlap and policies.no_overlap == "error":
        refuse_no_overlap(qrels, run, shared_queries=not missing.all())
    if policies.missing == "error" and missing.any():
        example = queries[int(np.flatnonzero(missing)[0])]
        raise MissingQueriesError(int(missing.sum()), len(queries), example)
    keep = np.ones(len(queries), np.bool_)
    if policies.missing == "skip":
        keep &= ~missing
    if policies.no_relevant == "skip":
        keep &= total > 0
    place = np.empty(len(queries), np.int64)
    place[order] = np.where(keep, np.cumsum(keep) - 1, -1)

    assert found.listing is not None  # it was asked for
    documents = found.listing.all()
    if policies.judged_only:
        documents = documents.some(part.rank[documents.judgment] * (documents.judgment >= 0) > 0)
        # ranks are those in the list without gaps
        documents = replace(documents, rank=part.rank[documents.judgment])
    own = place[documents.query]
    if (own < 0).any():
        documents, own = documents.some(own >= 0), own[own >= 0]
    relevant = (documents.judgment >= 0) & good[documents.judgment]
    scored = SCORE in run.mapping
    return Population(
        queries.filter(pl.Series(keep)),
        total[keep],
        own,
        _goodness(documents, scored=scored, closed=policies.judged_only),
        relevant,
        1 if scored and not run.distance else -1,
    )


def _goodness(documents: Listed, *, scored: bool, closed: bool) -> Floats:
    """A number for each document that is larger for the better one.

    Ranks are those that are given, unless they were counted anew to close the gaps between them.
    """
    if documents.value is not None and scored:
        return documents.value
    given = None if closed else documents.value
    return -(documents.rank if given is None else given).astype(np.float64)


def roc(of: Population, curve_of: Ints) -> pl.DataFrame:
    """The ROC points of each curve, given the number of every query's curve.

    A curve without a relevant or without a non-relevant document has none.
    """
    hits, retrieved = _per_curve(of.hits, curve_of), _per_curve(of.retrieved, curve_of)
    others = retrieved - hits
    curves = np.flatnonzero((hits > 0) & (others > 0))
    points = trace(of, curve_of, curves)
    number = curves[points.place]
    return pl.DataFrame(
        {
            CURVE: number,
            "threshold": points.threshold,
            "fpr": points.fp / others[number],
            "tpr": points.tp / hits[number],
            "fp": points.fp,
            "tp": points.tp,
        }
    )


def precision_recall(of: Population, curve_of: Ints, *, retrieved_only: bool) -> pl.DataFrame:
    """The precision–recall points of each curve, given the number of every query's curve.

    A curve without a relevant document has none.
    """
    total = _per_curve(of.hits if retrieved_only else of.relevant_total, curve_of)
    curves = np.flatnonzero(total > 0)
    points = trace(of, curve_of, curves)
    number = curves[points.place]
    taken = points.tp + points.fp
    precision = np.ones(len(taken))
    np.divide(points.tp, taken, out=precision, where=taken > 0)
    return pl.DataFrame(
        {
            CURVE: number,
            "threshold": points.threshold,
            "precision": precision,
            "recall": points.tp / total[number],
            "tp": points.tp,
            "fp": points.fp,
        }
    )


def _per_curve(per_query: Ints, curve_of: Ints) -> Ints:
    """Counts of queries, added up for each curve."""
    return np.bincount(curve_of, weights=per_query).astype(np.int64)


def trace(of: Population, curve_of: Ints, curves: Ints) -> Traced:
    """The points of some of the curves, each with a first one before all documents."""
    place = np.full(int(curve_of.max(initial=0)) + 1, -1)
    place[curves] = np.arange(len(curves))
    number = place[curve_of][of.code]
    goodness, relevant = of.goodness, of.relevant
    if (number < 0).any():
        here = number >= 0
        number, goodness, relevant = number[here], goodness[here], relevant[here]
    order = np.argsort(-goodness)
    if len(curves) > 1:
        order = order[sort_order(number[order])]
    number, goodness, relevant = number[order], goodness[order], relevant[order]
    rows = np.bincount(number, minlength=len(curves))
    hits = np.bincount(number[relevant], minlength=len(curves))

    ends = np.ones(len(number), np.bool_)
    ends[:-1] = (goodness[1:] != goodness[:-1]) | (number[1:] != number[:-1])
    at = np.flatnonzero(ends)
    number = number[at]
    tp = np.cumsum(relevant)[at] - (np.cumsum(hits) - hits)[number]
    taken = at + 1 - (np.cumsum(rows) - rows)[number]

    # Each curve's first point goes before its others, which move down by one for every curve.
    slot = np.arange(len(at)) + number + 1
    first = np.bincount(number, minlength=len(curves)) + 1
    whole = len(at) + len(curves)
    threshold = np.full(whole, of.sign * np.inf)
    # -0.0 + 0.0 is 0.0: which of the two it is must not depend on the order of rows
    threshold[slot] = of.sign * goodness[at] + 0.0
    counts = np.zeros((2, whole), np.int64)
    counts[0, slot] = tp
    counts[1, slot] = taken - tp
    return Traced(np.repeat(np.arange(len(curves)), first), threshold, counts[0], counts[1])


def vertical_mean(of: Population, mean_of: Ints) -> pl.DataFrame:
    """The ROC curves of queries, averaged: mean tpr at fpr = 0, 0.01, …, 1.

    `mean_of` is the number of the average that each query belongs to. Queries without a relevant
    or without a non-relevant document have no curve.
    """
    others = of.retrieved - of.hits
    queries = np.flatnonzero((of.hits > 0) & (others > 0))
    # Those of an average one after the other.
    queries = queries[sort_order(mean_of[queries])]
    points = trace(of, np.arange(len(of.queries)), queries)
    begins = segment_starts(points.place)
    ends = np.append(begins[1:], len(points.place))
    means = mean_of[queries]
    numbers, sizes = np.unique(means, return_counts=True)
    totals = [[Exact()] * (_STEPS + 1) for _ in numbers]
    for start in range(0, len(queries), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        stretch = slice(begins[some][0], ends[some][-1])
        tpr = _at_steps(
            points.tp[stretch],
            points.fp[stretch],
            begins[some] - stretch.start,
            of.hits[queries[some]],
            others[queries[some]],
        )
        starts = segment_starts(means[some])
        owners = np.searchsorted(numbers, means[some][starts]).tolist()
        for step in range(_STEPS + 1):
            sums = exact_sums(np.ascontiguousarray(tpr[:, step]), starts)
            for owner, total in zip(owners, sums, strict=True):
                totals[owner][step] += total
    flat = np.array([float(total) for one in totals for total in one]).reshape(-1, _STEPS + 1)
    return pl.DataFrame(
        {
            CURVE: np.repeat(numbers, _STEPS + 1),
            "fpr": np.tile(np.arange(_STEPS + 1) / _STEPS, len(numbers)),
            "tpr": (flat / sizes[:, None]).ravel(),
            "queries": np.repeat(sizes, _STEPS + 1),
        }
    )


def _at_steps(tp: Ints, fp: Ints, begins: Ints, hits: Ints, others: Ints) -> Floats:
    """The tpr of each curve (a row) at every step of fpr (a column), by straight lines.

    Counts are compared, not shares: a step that falls on a point is found on it, whatever the
    rounding. Where the curve goes straight up, it is where the line ends.
    """
    rows = len(tp)
    lengths = np.diff(begins, append=rows)
    all_others = np.repeat(others, lengths)
    # The first step at or after each point; the last point that a step is at or after holds it.
    step = -(-_STEPS * fp // all_others)
    last = np.zeros(rows, np.bool_)
    last[begins + lengths - 1] = True
    following = np.where(last, _STEPS + 1, np.append(step[1:], 0))
    holder = np.repeat(np.arange(rows), following - step)
    beyond = np.minimum(holder + 1, rows - 1)
    width = np.where(last[holder], 1, fp[beyond] - fp[holder])
    rise = np.where(last[holder], 0, tp[beyond] - tp[holder])
    steps = position(np.arange(0, len(holder), _STEPS + 1), len(holder)).astype(np.int64)
    along = steps * all_others[holder] - _STEPS * fp[holder]
    reached = tp[holder] + rise * along / (_STEPS * width)
    return reached.reshape(-1, _STEPS + 1) / hits[:, None]
