"""Compute the measures of judgments in groups, query by query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import QUERY, RANK, RELEVANCE
from rankframe.core.errors import OptionError
from rankframe.engine.ledger import LEDGER_SCHEMA
from rankframe.engine.result import SUMMARY_SCHEMA, Result
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Source, describe
from rankframe.kernel.segments import position, segment_starts, sort_order, spread
from rankframe.trec_eval.grouped import (
    GROUP,
    GroupFormat,
    Placed,
    number_keys,
    placed,
    read_grouped,
)
from rankframe.trec_eval.lines import Line
from rankframe.trec_eval.preferences import (
    Counts,
    Ints,
    PairRatios,
    Preferences,
    by_group,
    preferences,
)

Floats = NDArray[np.float64]


def evaluate_groups(
    qrels: Source,
    run: InputTable,
    lines: Sequence[Line],
    kind: GroupFormat,
    *,
    complete: bool,
    level: int,
    deepest: int | None,
    judged_only: bool,
) -> Result:
    """Evaluate a run against judgments in groups.

    `complete`: judged queries that the run lacks have values, too.
    """
    if kind == "qrels_jg":
        if level < 0:
            raise OptionError(
                f"-l {level}: trec_eval would count unjudged documents as relevant. -l 0 counts "
                "every judged document."
            )
        # With equal scores, the higher id comes first; for preferences, the lower one.
        judgments = placed(read_grouped(qrels, kind), run, "doc_desc", deepest)
        values = group_values(judgments, lines, level=level, judged_only=judged_only)
    else:
        judgments = placed(read_grouped(qrels, kind), run, "doc_asc", deepest)
        values = preference_values(judgments, lines, describe(qrels, "qrels"))
    judged, missing = len(judgments.queries), int(np.count_nonzero(~judgments.in_run))
    kept = values if complete else values.filter(pl.Series(judgments.in_run))
    counts = {
        "qrels_queries": judged,
        "queries_missing": missing,
        "queries_evaluated": kept.height,
    }
    rows = [(item, float(count), "") for item, count in counts.items()]
    return Result(
        pl.DataFrame(schema=SUMMARY_SCHEMA),
        kept,
        pl.DataFrame(rows, schema=LEDGER_SCHEMA, orient="row"),
    )


class _Sums:
    """Sums over the groups of several queries, of which measures of preferences are made."""

    def __init__(self, prefs: Preferences) -> None:
        self.prefs = prefs
        self.counts = Counts.of(prefs)

    @cached_property
    def pairs(self) -> PairRatios:
        """Return the pairs of documents with any preference; counted only if needed."""
        return PairRatios.of(self.prefs)

    def total(self, of_groups: Ints | Floats) -> Floats:
        """Sum over the groups of each query, rounding each sum."""
        summed = np.bincount(self.prefs.query, of_groups, len(self.prefs.retrieved))
        return summed.astype(np.float64)

    def ratio(self, numerators: Ints, denominators: Ints) -> Floats:
        """Return the ratio of the sums over the groups."""
        return _ratio(self.total(numerators), self.total(denominators))

    def mean(self, shares: Floats) -> Floats:
        """Average over the groups; 0 if the sum is undefined, as in the C program."""
        summed = self.total(shares)
        groups = np.bincount(self.prefs.query, minlength=len(self.prefs.retrieved))
        return np.where(summed > 0, summed / groups, 0.0)


def _ratio(above: Floats | Ints, below: Floats | Ints) -> Floats:
    return np.divide(above, below, out=np.zeros(len(below)), where=below != 0)


_VALUES: Final[dict[str, Callable[[_Sums], Floats]]] = {
    "prefs_num_prefs_poss": lambda s: s.total(s.counts.all_possible),
    "prefs_num_prefs_ful": lambda s: s.total(s.counts.all_fulfilled),
    "prefs_num_prefs_ful_ret": lambda s: s.total(s.counts.fulfilled),
    "prefs_simp": lambda s: s.ratio(s.counts.all_fulfilled, s.counts.all_possible),
    "prefs_pair": lambda s: _ratio(s.pairs.of_all, s.pairs.both + s.pairs.one + s.pairs.neither),
    "prefs_avgjg": lambda s: s.mean(_ratio(s.counts.all_fulfilled, s.counts.all_possible)),
    "prefs_avgjg_Rnonrel": lambda s: s.mean(by_group(s.prefs, s.counts, retrieved=False)),
    "prefs_simp_ret": lambda s: s.ratio(s.counts.fulfilled, s.counts.possible),
    "prefs_pair_ret": lambda s: _ratio(s.pairs.of_both, s.pairs.both),
    "prefs_avgjg_ret": lambda s: s.mean(_ratio(s.counts.fulfilled, s.counts.possible)),
    "prefs_avgjg_Rnonrel_ret": lambda s: s.mean(by_group(s.prefs, s.counts, retrieved=True)),
    "prefs_simp_imp": lambda s: s.ratio(s.counts.all_fulfilled, s.counts.seen_possible),
    "prefs_pair_imp": lambda s: _ratio(s.pairs.of_all, s.pairs.both + s.pairs.one),
    "prefs_avgjg_imp": lambda s: s.mean(_ratio(s.counts.all_fulfilled, s.counts.seen_possible)),
}


def preference_values(judgments: Placed, lines: Sequence[Line], name: str) -> pl.DataFrame:
    """Return a column for each line, and a row for each judged query."""
    measures = [line.measure for line in lines if line.measure in _VALUES]
    parts = [
        pl.DataFrame({measure: _VALUES[measure](sums) for measure in measures})
        for sums in map(_Sums, preferences(judgments, name))
    ]
    return pl.DataFrame({QUERY: judgments.queries}).hstack(pl.concat(parts))


def group_values(
    judgments: Placed, lines: Sequence[Line], *, level: int, judged_only: bool
) -> pl.DataFrame:
    """Return the means over groups of map, P and Rprec_mult, with a row for each query."""
    rows = judgments.rows
    query, group = number_keys(rows, QUERY), number_keys(rows, QUERY, GROUP)
    # Documents that were not retrieved are ranked below all others.
    last = int(rows[RANK].max() or 0) + 1  # pyright: ignore[reportArgumentType]
    rank = rows[RANK].fill_null(last).cast(pl.Int64).to_numpy()
    grade = rows[RELEVANCE].to_numpy()
    order = sort_order(group, rank)
    group, rank, grade, query = group[order], rank[order], grade[order], query[order]
    starts = segment_starts(group)
    if judged_only:
        rank = _condensed(group, rank, grade, last)
    relevant = grade >= level
    total = np.add.reduceat(relevant, starts, dtype=np.int64)
    hit = relevant & (rank < last)
    owner, groups = query[starts], np.bincount(query[starts])

    def mean(of_groups: Floats) -> Floats:
        """Average over the groups of each query, rounding each sum."""
        return np.bincount(owner, of_groups) / groups

    def precision(cut: Ints) -> Floats:
        inside = hit & (rank <= spread(cut, starts, len(rank)))
        return _ratio(np.add.reduceat(inside, starts, dtype=np.int64), cut)

    def values(line: Line) -> Floats:
        if line.measure == "map_avgjg":
            places = rank[hit]
            found = position(segment_starts(group[hit]), len(places)) + 1
            return mean(_ratio(np.bincount(group[hit], found / places, len(starts)), total))
        params = line.metrics[0].params
        if line.measure == "P_avgjg":
            return mean(precision(np.full(len(starts), params["k"])))
        return mean(precision((params["multiple"] * total + 0.9).astype(np.int64)))

    columns = {line.label: values(line) for line in lines if line.metrics}
    return pl.DataFrame({QUERY: judgments.queries, **columns})


def _condensed(group: Ints, rank: Ints, grade: Floats, last: int) -> Ints:
    """Rank the judged documents of each group alone; a negative grade is no judgment."""
    judged = np.flatnonzero((rank < last) & (grade >= 0))
    condensed = np.full(len(rank), last)
    condensed[judged] = position(segment_starts(group[judged]), len(judged)) + 1
    return condensed
