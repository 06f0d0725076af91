"""Values of the measures that look at judgments in groups, query by query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import QUERY, RANK, RELEVANCE
from rankframe.core.errors import OptionError
from rankframe.engine.ledger import SCHEMA as LEDGER
from rankframe.engine.result import Result
from rankframe.engine.summary import SCHEMA as SUMMARY
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Source, describe
from rankframe.kernel.segments import position, segment_starts, sort_order, spread
from rankframe.trec_eval.grouped import GROUP, GroupFormat, Placed, placed, read_grouped
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
    """Judgments in groups beside a run: values of judged queries (those that the run lacks only if
    it is to be `complete`), and how many of them there are.
    """
    if kind == "qrels_jg":
        if level < 0:
            raise OptionError(
                f"-l {level}: trec_eval would count what nobody judged as relevant. -l 0 counts "
                "every judged document."
            )
        # Of equal scores, the higher id comes first; where documents are compared, the lower one.
        given = placed(read_grouped(qrels, kind), run, "doc_desc", deepest)
        values = group_values(given, lines, level=level, judged_only=judged_only)
    else:
        given = placed(read_grouped(qrels, kind), run, "doc_asc", deepest)
        values = preference_values(given, lines, describe(qrels, "qrels"))
    judged, missing = len(given.queries), int(np.count_nonzero(~given.in_run))
    kept = values if complete else values.filter(pl.Series(given.in_run))
    counts = {
        "qrels_queries": judged,
        "queries_missing": missing,
        "queries_evaluated": kept.height,
    }
    rows = [(item, float(count), "") for item, count in counts.items()]
    return Result(
        pl.DataFrame(schema=SUMMARY), kept, pl.DataFrame(rows, schema=LEDGER, orient="row")
    )


class _Some:
    """Some queries, with what several measures are made of."""

    def __init__(self, some: Preferences) -> None:
        self.some = some
        self.counts = Counts.of(some)
        self._pairs: PairRatios | None = None

    @property
    def pairs(self) -> PairRatios:
        self._pairs = self._pairs or PairRatios.of(self.some)
        return self._pairs

    def total(self, of_groups: Ints | Floats) -> Floats:
        """Σ over the groups of each query, one by one."""
        summed = np.bincount(self.some.query, of_groups, len(self.some.retrieved))
        return summed.astype(np.float64)

    def ratio(self, above: Ints, below: Ints) -> Floats:
        """Of the sums over the groups."""
        return _ratio(self.total(above), self.total(below))

    def mean(self, shares: Floats) -> Floats:
        """Over the groups; 0 where one has none, as the C program has it."""
        summed = self.total(shares)
        groups = np.bincount(self.some.query, minlength=len(self.some.retrieved))
        return np.where(summed > 0, summed / groups, 0.0)


def _ratio(above: Floats | Ints, below: Floats | Ints) -> Floats:
    return np.divide(above, below, out=np.zeros(len(below)), where=below != 0)


_VALUES: Final[dict[str, Callable[[_Some], Floats]]] = {
    "prefs_num_prefs_poss": lambda s: s.total(s.counts.all_possible),
    "prefs_num_prefs_ful": lambda s: s.total(s.counts.all_fulfilled),
    "prefs_num_prefs_ful_ret": lambda s: s.total(s.counts.fulfilled),
    "prefs_simp": lambda s: s.ratio(s.counts.all_fulfilled, s.counts.all_possible),
    "prefs_pair": lambda s: _ratio(s.pairs.of_all, s.pairs.both + s.pairs.one + s.pairs.neither),
    "prefs_avgjg": lambda s: s.mean(_ratio(s.counts.all_fulfilled, s.counts.all_possible)),
    "prefs_avgjg_Rnonrel": lambda s: s.mean(by_group(s.some, s.counts, retrieved=False)),
    "prefs_simp_ret": lambda s: s.ratio(s.counts.fulfilled, s.counts.possible),
    "prefs_pair_ret": lambda s: _ratio(s.pairs.of_both, s.pairs.both),
    "prefs_avgjg_ret": lambda s: s.mean(_ratio(s.counts.fulfilled, s.counts.possible)),
    "prefs_avgjg_Rnonrel_ret": lambda s: s.mean(by_group(s.some, s.counts, retrieved=True)),
    "prefs_simp_imp": lambda s: s.ratio(s.counts.all_fulfilled, s.counts.seen_possible),
    "prefs_pair_imp": lambda s: _ratio(s.pairs.of_all, s.pairs.both + s.pairs.one),
    "prefs_avgjg_imp": lambda s: s.mean(_ratio(s.counts.all_fulfilled, s.counts.seen_possible)),
}


def preference_values(given: Placed, lines: Sequence[Line], name: str) -> pl.DataFrame:
    """A column for each line, a row for each judged query."""
    wanted = [line.measure for line in lines if line.measure in _VALUES]
    parts = [
        pl.DataFrame({measure: _VALUES[measure](some) for measure in wanted})
        for some in map(_Some, preferences(given, name))
    ]
    return pl.DataFrame({QUERY: given.queries}).hstack(pl.concat(parts))


def group_values(
    given: Placed, lines: Sequence[Line], *, level: int, judged_only: bool
) -> pl.DataFrame:
    """The same of measures that are averaged over groups: map, P and Rprec_mult of each."""
    rows = given.rows
    query, group = (
        rows.select(pl.struct(keys).rle_id().cast(pl.Int64)).to_series().to_numpy()
        for keys in ([QUERY], [QUERY, GROUP])
    )
    # Places of those not retrieved are beyond all ranks.
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
        """One by one, each sum rounded."""
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
    return pl.DataFrame({QUERY: given.queries, **columns})


def _condensed(group: Ints, rank: Ints, grade: Floats, last: int) -> Ints:
    """Ranks among the judged documents of a group alone; a negative grade is no judgment."""
    judged = np.flatnonzero((rank < last) & (grade >= 0))
    condensed = np.full(len(rank), last)
    condensed[judged] = position(segment_starts(group[judged]), len(judged)) + 1
    return condensed
