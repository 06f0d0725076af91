"""Ranked run + judgments → the judged frame: one row per judgment, every metric's raw material.

The run is joined to the judgments once. Each column is then computed from flat arrays over the
whole table, and only if somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.arrays.codes import sorted_query_codes
from rankframe.arrays.keys import Keyed, match
from rankframe.arrays.segments import position, running_count, segment_starts, sort_order, spread
from rankframe.base import options
from rankframe.base.columns import (
    DOC,
    JUDGED_FRAME,
    QUERY,
    RANK,
    RELEVANCE,
    SCORE,
    at_level,
)
from rankframe.base.errors import MetricParameterError, OptionError
from rankframe.base.options import Policies, is_number
from rankframe.frames.lazily import lazy_frame
from rankframe.frames.rank import RankedRun, rank_again, rank_run
from rankframe.inputs.scan import Columns, Source, scan
from rankframe.inputs.validate import load_one_of_each

_UNRETRIEVED = 0  # in rank arrays; ranks count from 1


def judge(
    qrels: Source,
    run: Source,
    *,
    columns: Columns | None = None,
    rel: float | None = None,
    ties: options.Ties = "doc_desc",
    duplicates: options.Duplicates = "error",
    k_max: int | None = None,
    judged_only: bool = False,
    levels: Sequence[float] = (),
) -> pl.LazyFrame:
    """The judged frame: one row per judgment, by query and rank, for expressions of your own.

    Lazy: inputs are read when it is collected, and only columns that the query uses are computed.
    `rel` is the grade from which a document counts as relevant (default: any above 0). Each of
    `levels` adds the columns that metrics with a level of their own need (`found_rel2`, …).

    >>> qrels = {"q1": {"a": 2, "b": 0, "c": 1}}
    >>> run = {"q1": {"a": 0.9, "x": 0.8, "c": 0.7}}
    >>> rf.judge(qrels, run).select("doc_id", "relevance", "rank", "found").collect()
    shape: (3, 4)
    ┌────────┬───────────┬──────┬───────┐
    │ doc_id ┆ relevance ┆ rank ┆ found │
    │ ---    ┆ ---       ┆ ---  ┆ ---   │
    │ str    ┆ f64       ┆ i64  ┆ i64   │
    ╞════════╪═══════════╪══════╪═══════╡
    │ a      ┆ 2.0       ┆ 1    ┆ 1     │
    │ c      ┆ 1.0       ┆ 3    ┆ 2     │
    │ b      ┆ 0.0       ┆ null ┆ null  │
    └────────┴───────────┴──────┴───────┘
    >>> rf.judge(qrels, run).group_by("query_id").agg(rf.recall(k=1).alias("recall@1")).collect()
    shape: (1, 2)
    ┌──────────┬──────────┐
    │ query_id ┆ recall@1 │
    │ ---      ┆ ---      │
    │ str      ┆ f64      │
    ╞══════════╪══════════╡
    │ q1       ┆ 0.5      │
    └──────────┴──────────┘
    """
    policies = Policies.given(locals(), frame_only=True)
    if bad := [level for level in levels if not is_number(level)]:
        raise OptionError(f"levels are numbers, not {bad[0]!r}.")
    schema = JUDGED_FRAME.schema
    for level in levels:
        schema |= {at_level(name, level): schema[name] for name in JUDGED_FRAME.parametric}
    scanned_qrels = scan(qrels, "qrels", columns)
    scanned_run = scan(run, "run", columns)

    def make(needed: set[str]) -> pl.DataFrame:
        judgments = load_one_of_each(scanned_qrels, duplicates=duplicates)
        ranked = prepare_run(
            load_one_of_each(scanned_run, duplicates=duplicates),
            judgments,
            policies,
            tied_rank="tied_rank" in needed,
        )
        unscored = SCORE not in ranked.table.frame.columns
        absent = {name for name in needed if unscored and JUDGED_FRAME.of_whole_input(name)}
        frame = Judgments(judgments, ranked, rel=rel, settle=DOC in needed).frame(needed - absent)
        return frame.with_columns(pl.lit(None, schema[name]).alias(name) for name in absent)

    return lazy_frame(schema, make)


def prepare_run(
    run: Keyed, qrels: Keyed, policies: Policies, *, tied_rank: bool = False
) -> RankedRun:
    """Rank the run, cut it at `k_max`, and then, with `judged_only`, close the gaps that unjudged
    documents leave (in this order, as trec_eval's -M and -J).
    """
    ties = policies.ties
    ranked = rank_run(run, ties=ties, tied_rank=tied_rank)
    if policies.k_max is not None:
        ranked = rank_again(ranked, ranked.rank <= policies.k_max, ties=ties)
    if policies.judged_only:
        # As in trec_eval, a negative grade says "in the pool, but not judged".
        rows, of = match(ranked.table, qrels)
        keep = np.zeros(ranked.table.frame.height, np.bool_)
        keep[rows[qrels.frame[RELEVANCE].to_numpy()[of] >= 0]] = True
        ranked = rank_again(ranked, keep, ties=ties)
    return ranked


class Judgments:
    """The rows of the judged frame as flat arrays, sorted by query and rank; columns on demand."""

    def __init__(
        self,
        qrels: Keyed,
        run: RankedRun,
        pairs: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
        *,
        rel: float | None = None,
        max_grade: float | None = None,
        settle: bool = False,
    ) -> None:
        self._qrels = qrels.frame
        self._run = run
        self._rel = rel
        self._max_grade = max_grade
        # which row of the run is which judgment
        self._run_rows, self._qrels_rows = pairs or match(run.table, qrels)
        rank = self._from_run(run.rank)
        code, queries = sorted_query_codes(self._qrels[QUERY])
        self.queries = queries.alias(QUERY)
        grade = self._qrels[RELEVANCE].to_numpy()
        last = int(rank.max(initial=0)) + 1
        # The grade settles the order of unretrieved rows, so that no input order shows through;
        # where ids are looked at (`settle`), so do they.
        keys = [code, np.where(rank, rank, last), _grade_codes(grade)]
        if settle:
            keys.append(_id_codes(self._qrels[DOC], rank == _UNRETRIEVED))
        self._order = sort_order(*keys)
        self.code = code[self._order]
        self.rank = rank[self._order]
        self.grade = grade[self._order]
        self.starts = segment_starts(self.code)

    @property
    def matched(self) -> int:
        """How many judged documents were retrieved."""
        return len(self._run_rows)

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """The judged frame with these columns (and no others computed)."""
        return pl.DataFrame({name: self._column(name) for name in columns})

    def _column(self, name: str) -> pl.Series:
        base, level = JUDGED_FRAME.split(name)
        rel = self._rel if level is None else float(level)
        makers: dict[str, Callable[[], NDArray[Any] | pl.Series]] = {
            QUERY: lambda: self._gathered(QUERY),
            DOC: lambda: self._gathered(DOC),
            RELEVANCE: lambda: self.grade,
            "relevant": partial(self.relevant, rel),
            RANK: lambda: self._where_retrieved(self.rank),
            "ideal_rank": lambda: self.ideal_rank,
            "ideal_rank_retrieved": self._ideal_rank_retrieved,
            "found": lambda: self._where_retrieved(self._count(self.relevant(rel))),
            "nonrelevant_above": lambda: self._where_retrieved(
                self._count(self._nonrelevant(rel)) - self._nonrelevant(rel)
            ),
            "judged_above": lambda: self._where_retrieved(position(self.starts, len(self.code))),
            "judged_by_ideal_rank": self._judged_by_ideal_rank,
            "tied_rank": self._tied_rank,
            "retrieved": lambda: self._spread(self.retrieved),
            "relevant_total": lambda: self._spread(self._total(self.relevant(rel))),
            "nonrelevant_total": lambda: self._spread(self._total(self._nonrelevant(rel))),
            "max_grade": lambda: np.full(len(self.code), self.max_grade),
            "pooled_wins": lambda: self._pooled(rel)[0],
            "pooled_nonrelevant": lambda: np.full(len(self.code), self._pooled(rel)[1]),
        }
        values = makers[base]()
        return pl.Series(name, values, dtype=JUDGED_FRAME.columns[base].type)

    def relevant(self, rel: float | None) -> NDArray[np.bool_]:
        """Which rows count as relevant."""
        return self.grade > 0 if rel is None else self.grade >= rel

    def _nonrelevant(self, rel: float | None) -> NDArray[np.bool_]:
        # trec_eval's reading: a negative grade is neither relevant nor non-relevant.
        return (self.grade >= 0) & ~self.relevant(rel)

    @cached_property
    def max_grade(self) -> float:
        """The largest grade there is."""
        return float(self.grade.max()) if self._max_grade is None else self._max_grade

    @cached_property
    def _in_run(self) -> pl.Series:
        """Documents that the run returned, one number per query; null where the run lacks it."""
        theirs = self._run.queries
        if theirs[QUERY].equals(self.queries):  # as it often is: no need to look them up
            return theirs["retrieved"]
        return (
            self.queries.to_frame()
            .join(self._run.queries, on=QUERY, how="left", maintain_order="left")
            .get_column("retrieved")
        )

    @cached_property
    def retrieved(self) -> NDArray[np.int64]:
        """Documents that the run returned, one number per query."""
        return self._in_run.fill_null(0).to_numpy()

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Which queries the run lacks."""
        return self._in_run.is_null().to_numpy()

    @cached_property
    def ideal_rank(self) -> NDArray[np.int32]:
        """Each row's place in the best possible ordering: by grade, equal ones as ranked."""
        order = sort_order(self.code, _grade_codes(self.grade))
        ideal = np.empty(len(self.code), np.int32)
        ideal[order] = position(self.starts, len(self.code)) + 1
        return ideal

    def _ideal_rank_retrieved(self) -> pl.Series:
        retrieved = np.flatnonzero(self.rank != _UNRETRIEVED)
        code = self.code[retrieved]
        order = retrieved[sort_order(code, _grade_codes(self.grade[retrieved]))]
        ideal = np.zeros(len(self.code), np.int64)
        ideal[order] = position(segment_starts(code), len(order)) + 1
        return self._where_retrieved(ideal)

    def _judged_by_ideal_rank(self) -> NDArray[np.int64]:
        deepest = max(int(self.rank.max(initial=0)), int(self.ideal_rank.max(initial=0))) + 1
        retrieved = self.rank != _UNRETRIEVED
        base = self.code.astype(np.int64) * deepest
        places = base[retrieved] + self.rank[retrieved]  # ascending
        upto = np.searchsorted(places, base + self.ideal_rank, side="right")
        return upto - np.searchsorted(places, base, side="left")

    def _tied_rank(self) -> pl.Series:
        assert self._run.tied_rank is not None  # whoever asks for the column ranked with it
        return self._where_retrieved(self._from_run(self._run.tied_rank)[self._order])

    def _pooled(self, rel: float | None) -> tuple[pl.Series, int]:
        """How many non-relevant documents of all judged queries score below each row (ties count
        half), and how many there are. Unjudged documents are non-relevant.
        """
        run = self._run.table.frame
        if SCORE not in run.columns:
            raise MetricParameterError("auc(pool=true) needs scores, and the run has none.")
        score = self._from_run(run[SCORE].to_numpy())[self._order]
        retrieved = self.rank != _UNRETRIEVED
        everything = run.join(self.queries.to_frame(), on=QUERY, how="semi")[SCORE]
        below, upto = (
            np.searchsorted(everything.sort().to_numpy(), score, side=side)
            for side in ("left", "right")
        )
        own = np.sort(score[retrieved & self.relevant(rel)])
        below -= np.searchsorted(own, score, side="left")
        upto -= np.searchsorted(own, score, side="right")
        return self._where_retrieved((below + upto) / 2), len(everything) - len(own)

    def _from_run(self, values: NDArray[Any]) -> NDArray[Any]:
        """A value on each row of the run → on each judgment as given, 0 where not retrieved."""
        ours = np.zeros(self._qrels.height, values.dtype)
        ours[self._qrels_rows] = values[self._run_rows]
        return ours

    def _gathered(self, column: str) -> pl.Series:
        return self._qrels[column].gather(self._order)

    def _count(self, flags: NDArray[np.bool_]) -> NDArray[np.int32]:
        return running_count(flags, self.starts)

    def _total(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.add.reduceat(flags, self.starts, dtype=np.int64)

    def _spread(self, per_query: NDArray[Any]) -> NDArray[Any]:
        return spread(per_query, self.starts, len(self.code))

    def _where_retrieved(self, values: NDArray[Any]) -> pl.Series:
        retrieved = pl.Series("retrieved", self.rank != _UNRETRIEVED)
        return pl.select(pl.when(retrieved).then(pl.Series("values", values))).to_series()


def _id_codes(doc: pl.Series, rows: NDArray[np.bool_]) -> NDArray[np.int64]:
    """On the given rows, integers that sort as the ids do."""
    codes = np.zeros(len(doc), np.int64)
    codes[rows] = doc.filter(pl.Series(rows)).rank("ordinal").to_numpy()
    return codes


def _grade_codes(grade: NDArray[np.float64]) -> NDArray[np.int64]:
    """Small integers that sort ascending as the grades sort descending."""
    if not len(grade):
        return np.empty(0, np.int64)
    if grade.max() < 2**20 and grade.min() > -(2**20) and (grade == np.floor(grade)).all():
        return (grade.max() - grade).astype(np.int64)
    levels, inverse = np.unique(grade, return_inverse=True)
    return len(levels) - 1 - inverse
