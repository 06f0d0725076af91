"""Two rankings side by side: how alike they are, query by query, without judgments."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import ClassVar, Unpack

import numpy as np
import polars as pl

from rankframe.core.checks import check_flag
from rankframe.core.columns import PAIR_FRAME, QUERY
from rankframe.core.errors import MetricParameterError, NoSharedQueryError
from rankframe.core.option import takes_options
from rankframe.core.options import AgreeOptions, Intervals, PairPolicies, Storage
from rankframe.core.progress import Progress, Report, check_progress
from rankframe.engine.about import about_frame
from rankframe.engine.contiguous import Told, workers
from rankframe.engine.ledger import DROPPED, RENUMBERED, columns_of, described
from rankframe.engine.memory import count_pieces, limit_of, limiting
from rankframe.engine.out_of_core import Into, in_pieces
from rankframe.engine.pairing import Pairing
from rankframe.engine.plan import PerQuery, Plan, compile_plan, per_query_values
from rankframe.engine.result import PER_QUERY_FILE, RESULT_FILES, Result
from rankframe.engine.summary import summarise
from rankframe.engine.tally import WHOLE, Tally, tally_values
from rankframe.engine.work import Additive, Piece
from rankframe.frames.pair import Pairs
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.inputs import Columns, Source, open_ranking, refuse_absent_columns
from rankframe.io.output_paths import refuse_inputs
from rankframe.io.outputs import fresh_folder
from rankframe.io.queries import Known
from rankframe.io.sources.writers import About
from rankframe.io.storage import reaching
from rankframe.io.validate import count_rows, some_ids
from rankframe.metrics.names import Metrics, resolve

DEFAULT_METRICS = ("rbo", "overlap@10", "kendall_tau", "spearman")
_TALLIED = 1 << 17  # queries that are added up together
PAIR_COUNTS = ("n_a", "n_b", "n_shared")


@reaching
@limiting
@takes_options(AgreeOptions, PairPolicies, Intervals, Storage)
def agree(
    a: Source,
    b: Source,
    metrics: Metrics = DEFAULT_METRICS,
    *,
    columns: Columns | None = None,
    max_memory: str | int | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Report | None = None,
    **options: Unpack[AgreeOptions],
) -> Result:
    """Compare two rankings of the same queries, without judgments.

    `a` and `b` are whatever `evaluate` reads as a run; judgments too, whose grades are then scores;
    or plain lists of documents in order: one list, or a list of them, one for each query. Where
    the two play different parts (ndpm, fcp, tau_ap), `a` is the reference.

    Args:
        a: the first ranking, the reference.
        b: the second ranking.
        metrics: names (`rankframe metrics`, "Two rankings"), expressions over the pair frame
            (`rf.pair`), or what `rf.metric` makes of one.
        columns: names in your data, for both or as {"a": {...}, "b": {...}}.
        max_memory: the approximate memory limit, as in `evaluate`.
        output: a folder for the result, or its address.
        overwrite: replace the result that is in `output`.
        progress: a function called with a `Progress` on the way.

    Ties matter only where an order is needed: correlations see equal scores as ties, and RBO has a
    parameter for them. The result's per_query also has n_a, n_b and n_shared: how many documents
    each ranking has, and how many both have.

    >>> rf.agree([1, 2, 3], [2, 1, 3], "kendall_tau").means
    {'kendall_tau': 0.3333333333333333}
    >>> a = {"q1": {"x": 3.0, "y": 2.0, "z": 1.0}}
    >>> b = {"q1": {"y": 3.0, "x": 2.0, "w": 1.0}}
    >>> rf.agree(a, b, ["overlap@2", "jaccard"]).per_query
    shape: (1, 6)
    ┌──────────┬─────┬─────┬──────────┬───────────┬─────────┐
    │ query_id ┆ n_a ┆ n_b ┆ n_shared ┆ overlap@2 ┆ jaccard │
    │ ---      ┆ --- ┆ --- ┆ ---      ┆ ---       ┆ ---     │
    │ str      ┆ i64 ┆ i64 ┆ i64      ┆ f64       ┆ f64     │
    ╞══════════╪═════╪═════╪══════════╪═══════════╪═════════╡
    │ q1       ┆ 3   ┆ 3   ┆ 2        ┆ 1.0       ┆ 0.5     │
    └──────────┴─────┴─────┴──────────┴───────────┴─────────┘
    """
    check_progress(progress)
    check_flag("overwrite", overwrite)
    refuse_inputs(output, (a, b), folder=True)
    policies = PairPolicies.from_options(options)
    job = Agreement(pair_plan(metrics), policies, Intervals.from_options(options))
    limit = limit_of(max_memory)
    sides = (
        open_ranking(a, "a", columns, order=policies.order, limit=limit),
        open_ranking(b, "b", columns, order=policies.order, limit=limit),
    )
    refuse_absent_columns(columns, *sides)
    pieces = count_pieces(*sides, job.row_bytes, max_memory)
    if output is None:
        return agree_scanned(*sides, job, pieces=pieces, progress=progress)
    with fresh_folder(output, RESULT_FILES, overwrite=overwrite) as folder:
        agree_scanned(*sides, job, pieces=pieces, into=folder, progress=progress)
    return Result.read(output)


def agree_scanned(
    a: InputTable,
    b: InputTable,
    job: Agreement,
    *,
    pieces: int = 1,
    into: Path | None = None,
    progress: Report | None = None,
) -> Result:
    """The same for inputs that were opened already, in so many pieces; `into`: an empty folder."""
    if pieces == 1:
        piece = job.whole(a, b, _told(a, b, progress))
    else:

        def about(piece: Piece) -> About:
            ledger = _ledger(piece, job, (a, b))
            return about_frame("per_query", job.plan.labels, ledger, _inputs((a, b)))

        values = None if into is None else Into(into / PER_QUERY_FILE, about)
        piece = in_pieces(a, b, job, pieces=pieces, into=values, report=progress)
    result = pairs_summed_up(piece, job, (a, b), lambda: [some_ids(side, QUERY) for side in (a, b)])
    if into is not None:
        result.write_files(into, values=pieces == 1)
    return result


def _told(a: InputTable, b: InputTable, report: Report | None) -> Told:
    """Whoever wants to know is told how many rows were read."""
    if report is None:
        return lambda _: None
    held = count_rows(a)
    total = held + count_rows(b)
    return lambda rows: report(Progress("evaluating", held + rows, total, 0))


def pair_plan(metrics: Metrics) -> Plan:
    """What is computed to compare two rankings."""
    plan = compile_plan(resolve(metrics, "pair", any_average=True), PAIR_FRAME)
    if taken := [label for label in plan.labels if label in PAIR_COUNTS]:
        raise MetricParameterError(
            f"{taken[0]!r} is a column of every result: give the expression another name."
        )
    return plan


def pairs_summed_up(
    piece: Piece,
    job: Agreement,
    sides: tuple[InputTable, InputTable],
    some_queries: Callable[[], list[list[str]]],
) -> Result:
    """All queries as one piece → the result; `some_queries` of each side, where they share none."""
    counts = piece.counts
    assert isinstance(counts, PairCounts)  # a comparison has no others
    if not counts.shared_queries:
        raise NoSharedQueryError(*some_queries())
    return Result(
        summary=summarise(job.plan.metrics, piece.tallies[WHOLE], job.intervals),
        per_query=piece.values,
        ledger=_ledger(piece, job, sides),
        inputs=_inputs(sides),
    )


def _ledger(piece: Piece, job: Agreement, sides: tuple[InputTable, InputTable]) -> pl.DataFrame:
    counts = piece.counts
    assert isinstance(counts, PairCounts)  # a comparison has no others
    return counts.ledger(sides, {**job.policies.described(), **job.intervals.described()})


def _inputs(sides: tuple[InputTable, InputTable]) -> dict[str, str]:
    return {"a": sides[0].name, "b": sides[1].name}


@dataclass(frozen=True)
class Agreement:
    """The comparison of two rankings, piece by piece."""

    plan: Plan
    policies: PairPolicies
    intervals: Intervals
    # bytes that a row of each side takes at the peak, ids of up to 12 bytes included (measured)
    row_bytes: ClassVar[tuple[int, int]] = (140, 110)

    def piece(self, left: pl.DataFrame, right: pl.DataFrame) -> Piece:
        """Compare the queries of a piece (see `Work.piece`)."""
        return self.whole(part_of(left, "ranking a"), part_of(right, "ranking b"))

    def whole(self, a: InputTable, b: InputTable, told: Told = lambda _: None) -> Piece:
        """Compare all queries of two inputs, the first of which is held in memory."""
        some = Pairing.of(a, b, self.policies).each(self._compared, told)
        counts = reduce(add, (counts for _, counts in some))
        computed = PerQuery.joined([computed for computed, _ in some], ordered=False)
        with ThreadPoolExecutor(workers()) as pool:
            tally = reduce(add, pool.map(self._tally, _blocks(computed)))
        return Piece(computed, {WHOLE: tally}, counts)

    def _compared(self, pairs: Pairs) -> tuple[PerQuery, PairCounts]:
        computed = per_query_values(self.plan, pairs)
        query, *values = computed.values
        counted = zip(PAIR_COUNTS, (pairs.a.length, pairs.b.length, pairs.n_shared), strict=True)
        numbers = [pl.Series(name, counts) for name, counts in counted]
        computed = replace(computed, values=pl.DataFrame([query, *numbers, *values]))
        if self.policies.lone == "skip":
            computed = computed.kept((pairs.a.length > 0) & (pairs.b.length > 0))
        counts = PairCounts.of(pairs, kept=computed.height)
        if self.policies.duplicates == "keep_best":
            a, b = (
                read - side.batch.height
                for read, side in zip(pairs.read, pairs.ranked, strict=True)
            )
            counts = replace(counts, dropped_a=a, dropped_b=b)
        return computed, counts

    def _tally(self, computed: PerQuery) -> Tally:
        return tally_values(self.plan.metrics, computed, Known(), self.intervals)[WHOLE]


def _blocks(computed: PerQuery) -> list[PerQuery]:
    """The same, so many queries at a time."""
    firsts = range(0, max(computed.height, 1), _TALLIED)
    return [PerQuery(*(f[at : at + _TALLIED] for f in computed.frames)) for at in firsts]


@dataclass(frozen=True)
class PairCounts(Additive):
    """What was seen in some of the queries."""

    a_rows: int
    a_queries: int
    b_rows: int
    b_queries: int
    compared: int
    shared_queries: int
    documents: int
    shared: int
    tied_a: int
    tied_b: int
    # queries whose ranks are not 1, 2, 3, …; None: ranks do not say the order
    anew_a: int | None = None
    anew_b: int | None = None
    # rows of documents of which a better one was kept; None: duplicates are refused
    dropped_a: int | None = None
    dropped_b: int | None = None

    @property
    def rows(self) -> tuple[int, int]:
        """Documents of each ranking that were read."""
        return self.a_rows, self.b_rows

    @classmethod
    def of(cls, pairs: Pairs, *, kept: int) -> PairCounts:
        """What was seen in some queries, of which so many are reported."""
        in_a, in_b = pairs.a.length > 0, pairs.b.length > 0
        a, b = pairs.ranked
        return cls(
            a_rows=pairs.read[0],
            a_queries=int(np.count_nonzero(in_a)),
            b_rows=pairs.read[1],
            b_queries=int(np.count_nonzero(in_b)),
            compared=kept,
            shared_queries=int(np.count_nonzero(in_a & in_b)),
            documents=pairs.rows,
            shared=pairs.matched,
            tied_a=a.tied,
            tied_b=b.tied,
            anew_a=a.renumbered,
            anew_b=b.renumbered,
        )

    def ledger(
        self, sides: tuple[InputTable, InputTable], policies: Mapping[str, object]
    ) -> pl.DataFrame:
        """As the result shows it: `item`, `value` and `note`."""
        share = self.shared / self.documents if self.documents else None
        return described(
            [
                ("a_rows", self.a_rows, "documents read, first ranking"),
                ("a_queries", self.a_queries, "queries in the first ranking"),
                ("b_rows", self.b_rows, "documents read, second ranking"),
                ("b_queries", self.b_queries, "queries in the second ranking"),
                ("queries_compared", self.compared, "queries in the per-query results"),
                ("queries_shared", self.shared_queries, "queries that both rankings have"),
                ("queries_only_a", self.a_queries - self.shared_queries, "not in the second"),
                ("queries_only_b", self.b_queries - self.shared_queries, "not in the first"),
                ("documents_shared", self.shared, "documents that both have for a query"),
                ("share_shared", share, "of the documents that either has, how many both have"),
                ("tied_documents_a", self.tied_a, "same score as the one above, first ranking"),
                ("tied_documents_b", self.tied_b, "same score as the one above, second ranking"),
                *(
                    (item, value, note)
                    for item, value, note in (
                        ("queries_renumbered_a", self.anew_a, RENUMBERED),
                        ("queries_renumbered_b", self.anew_b, RENUMBERED),
                        ("a_duplicates_dropped", self.dropped_a, DROPPED),
                        ("b_duplicates_dropped", self.dropped_b, DROPPED),
                    )
                    if value is not None
                ),
                *columns_of(sides[0], "a"),
                *columns_of(sides[1], "b"),
            ],
            policies,
        )
