"""The evaluation: metrics over any frames, computed for batches of whole queries and accumulated.

A metric names the frame that it looks at. Each frame that is needed is made from the same batch,
so that the run is read once. Two inputs in memory, a partition out of core, and one on a Spark
worker are the same to `Evaluation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, cast

import polars as pl

from rankframe.core.columns import GROUP, QUERY, RELEVANCE
from rankframe.core.errors import MetricParameterError
from rankframe.core.options import PairPolicies, Policies
from rankframe.core.progress import Progress, Report
from rankframe.engine.accumulator import Accumulator, Averages
from rankframe.engine.document_metrics import OverDocuments
from rankframe.engine.judged_metrics import JudgedMetrics, check_grades
from rankframe.engine.ledger import (
    Counts,
    Item,
    PairCounts,
    RunCounts,
    column_items,
    evaluated_item,
    judged_items,
    make_ledger,
    pair_items,
    retrieved_items,
)
from rankframe.engine.lookup import Lookup
from rankframe.engine.memory import bytes_at_once, left_fits
from rankframe.engine.pair_metrics import Pairing, PairMetrics
from rankframe.engine.partitions import ValuesFile, evaluate_partitions, merge_parts
from rankframe.engine.plan import PerQuery
from rankframe.engine.result import PER_QUERY_FILE, about_frame
from rankframe.engine.retrieved_metrics import RetrievedMetrics, RetrievedValues
from rankframe.frames.matches import Found
from rankframe.frames.side_inputs import JUDGED, WHAT, beside
from rankframe.io.batches import Batches
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.outputs import About
from rankframe.io.validate import check_input, count_rows
from rankframe.kernel.batch import Batch, text_order
from rankframe.kernel.reading import OnProgress, ignore_progress, read_batches
from rankframe.metrics.metric import Metric

# The inputs: judgments (if there are any) and the run, or two rankings.
Sides: TypeAlias = tuple[InputTable | None, InputTable]


@dataclass(frozen=True)
class Evaluation:
    """Evaluate metrics over queries of which all rows are at hand."""

    # all of them, in the order in which they were requested; gaps are not computed per query
    metrics: tuple[Metric, ...]
    policies: Policies | PairPolicies
    averages: Averages
    # the metrics by the frame that they look at; None: there are none
    judged: JudgedMetrics | None = None
    retrieved: RetrievedMetrics | None = None
    pairs: PairMetrics | None = None
    # what lies beside the run, apart from judgments
    train: InputTable | None = None
    base: InputTable | None = None

    @property
    def labels(self) -> list[str]:
        """Return the labels of the metrics with values per query, in order."""
        return [metric.label for metric in self.averages.metrics]

    @property
    def row_bytes(self) -> tuple[int, int]:
        """Return the bytes that a row of each side takes at the peak, short ids included."""
        metrics = self.pairs or self.retrieved or self.judged
        return (0, 0) if metrics is None else metrics.row_bytes

    @property
    def others(self) -> list[InputTable]:
        """Return the inputs that are neither run nor judgments."""
        return [side for side in (self.train, self.base) if side is not None]

    def left(self, qrels: InputTable | None) -> InputTable:
        """Return every input that the run is compared with, such as judgments, as one input."""
        if self.retrieved is None:
            assert qrels is not None  # metrics look at judgments, or at two rankings
            return qrels
        judged = set() if self.judged is None else {JUDGED}
        return self._beside(qrels, self.retrieved.needed | judged)

    def _beside(self, qrels: InputTable | None, needed: set[float]) -> InputTable:
        kinds = (qrels, self.train, self.base)
        sides = [side if kind in needed else None for kind, side in enumerate(kinds)]
        return beside(*sides, limit=None if qrels is None else qrels.limit)

    def with_max_grade(self, highest: float) -> Evaluation:
        """Return this evaluation, told the largest grade of all judgments."""
        if self.judged is None:
            return self
        return replace(self, judged=replace(self.judged, max_grade=highest))

    def empty(self) -> Accumulator:
        """Return the accumulator of no queries."""
        counts = RunCounts() if self.pairs is None else PairCounts()
        return Accumulator.empty(self.averages, counts)

    # Evaluating ----------------------------------------------------------------------------------

    def evaluate(
        self,
        left: InputTable | None,
        right: InputTable,
        *,
        partitions: int = 1,
        folder: Path | None = None,
        on_progress: Report | None = None,
    ) -> Accumulator:
        """Evaluate all queries of two inputs, out of core if in several partitions.

        Args:
            left: judgments, or the first of two rankings.
            right: the run, or the second ranking.
            partitions: into how many shares of the queries the inputs are divided.
            folder: where to put the values per query of several partitions.
            on_progress: is called as rows are done.
        """
        if partitions > 1:
            refuse_whole_input(self.averages.metrics)
            return self._evaluate_out_of_core(left, right, partitions, folder, on_progress)
        if self.pairs is not None:
            assert left is not None  # a comparison has two sides
            return self._evaluate_pairs(left, right, _reporter(left, right, on_progress))
        this, lookup = self._open(left, right)
        rows = None if self.retrieved is None else self._rows_beside(left)
        report = _reporter(None if lookup is None else left, right, on_progress)
        return this._evaluate_run(lookup, rows, right, report)

    def evaluate_partition(self, left: pl.DataFrame, right: pl.DataFrame) -> Accumulator:
        """Evaluate queries of which all rows, of both sides, are here, in any order."""
        if self.pairs is not None:
            return self._evaluate_pairs(part_of(left, "ranking a"), part_of(right, "ranking b"))
        judgments = left if WHAT not in left.columns else left.filter(pl.col(WHAT) == JUDGED)
        qrels, run = part_of(judgments.drop(WHAT, strict=False), "qrels"), part_of(right, "run")
        this, lookup = self._open(qrels, run)
        return this._evaluate_run(lookup, None if self.retrieved is None else left, run)

    def _evaluate_pairs(
        self, a: InputTable, b: InputTable, on_progress: OnProgress = ignore_progress
    ) -> Accumulator:
        """Evaluate two rankings, the first of which is held in memory."""
        pairs = self.pairs
        assert pairs is not None  # there are two rankings
        parts = Pairing.of(a, b, pairs.policies).each(
            lambda batch: self._accumulate(*pairs.compute(batch)), on_progress
        )
        return _merge(self.empty(), parts)

    def _evaluate_run(
        self,
        lookup: Lookup | None,
        rows: pl.DataFrame | None,
        run: InputTable,
        on_progress: OnProgress = ignore_progress,
    ) -> Accumulator:
        """Read a run once, and evaluate it.

        Args:
            lookup: the judgments, if metrics look at them.
            rows: judgments and other inputs by document, if metrics look at what was retrieved.
            run: the rows of the run, in any order.
            on_progress: is called with the number of rows that were read.
        """
        if self.retrieved is None or rows is None:
            assert lookup is not None  # metrics look at one or the other
            return _merge(*self._evaluate_judged(lookup.found(on_progress)))
        start = self.retrieved.start(rows)
        reading = read_batches(
            Batches(run, run.frame),
            lambda: _Reading(start(), None if lookup is None else lookup.nothing_found()),
            on_progress,
            heavy=True,
        )
        values, counts = reading.retrieved.finish()
        if self.judged is not None and reading.found is not None:
            blocks = list(self.judged.each_block(reading.found, lambda *block: block))
            parts = [PerQuery.empty(self.judged.plan.metrics), *(part for part, _ in blocks)]
            values = _side_by_side(PerQuery.joined(parts, ordered=False), values, self.labels)
            counts = replace(counts, run_rows=0)  # they are counted as they are looked up, too
            for of_block in (RunCounts.from_run(reading.found), *(block for _, block in blocks)):
                counts = counts.merge(of_block)
        return self._accumulate(values, replace(counts, left_rows=rows.height))

    def _evaluate_judged(self, found: Found) -> tuple[Accumulator, Iterator[Accumulator]]:
        """Evaluate a run that was looked up: return its counts, and the judged queries in parts."""
        assert self.judged is not None  # the run was looked up in judgments
        counted = Accumulator.empty(self.averages, RunCounts.from_run(found))
        attributes = self.averages.attributes is not None
        return counted, self.judged.each_block(found, self._accumulate, attributes=attributes)

    def _accumulate(self, values: PerQuery, counts: Counts) -> Accumulator:
        accumulator = self.empty()
        accumulator.add(values, counts)
        return accumulator

    def _open(
        self, qrels: InputTable | None, run: InputTable, at_once: int | None = None
    ) -> tuple[Evaluation, Lookup | None]:
        """Read the judgments if metrics look at them, and refuse grades that these do not take.

        `at_once`: how many bytes of the run may be read ahead.
        """
        if self.judged is None:
            return self, None
        assert qrels is not None  # metrics look at judgments
        lookup = Lookup.of(
            qrels,
            run,
            self.judged.policies,
            self.judged.plan.columns,
            at_once=at_once,
            as_text=self.retrieved is not None,
        )
        if self.judged.max_grade is not None:
            return self, lookup
        return self._with_checked_grades(pl.LazyFrame({RELEVANCE: lookup.judgments.grades})), lookup

    def _with_checked_grades(self, judgments: pl.LazyFrame) -> Evaluation:
        assert self.judged is not None  # metrics look at judgments
        return self.with_max_grade(check_grades(self.judged.plan.metrics, judgments))

    def _rows_beside(self, qrels: InputTable | None) -> pl.DataFrame:
        """Read what lies beside the run, as far as metrics look at it."""
        assert self.retrieved is not None  # metrics look at what was retrieved
        needed = self.retrieved.needed
        if qrels is not None and self.judged is None and JUDGED in needed:
            check_input(qrels)
        return self._beside(qrels, needed).frame.collect(engine="streaming")

    def _evaluate_out_of_core(
        self,
        left: InputTable | None,
        right: InputTable,
        partitions: int,
        folder: Path | None,
        on_progress: Report | None,
    ) -> Accumulator:
        """Evaluate inputs that do not fit in memory: in one pass where the judgments do, and where
        the rows of each query of the run are contiguous.
        """
        if left is not None and self.pairs is None:
            count_rows(left)

        def about(whole: Accumulator) -> About:
            sides = (left, right)
            ledger = self.ledger(whole.counts, sides)
            return about_frame("per_query", self.labels, ledger, self.inputs(sides))

        values_file = None if folder is None else ValuesFile(folder / PER_QUERY_FILE, about)
        this = self
        if self.judged is not None:
            assert left is not None  # metrics look at judgments
            if self.retrieved is None and left_fits(left, right, self.row_bytes, partitions):
                this, lookup = self._open(left, right, bytes_at_once(left, right))
                assert lookup is not None  # there are judgments
                found = lookup.found_if_contiguous(_reporter(left, right, on_progress))
                if found is not None:
                    counted, parts = this._evaluate_judged(found)
                    return merge_parts(
                        counted, parts, values_file=values_file, on_progress=on_progress
                    )
                del lookup  # the judgments are read again, partition by partition
            else:
                this = self._with_checked_grades(left.frame)
        return evaluate_partitions(
            self.left(left),
            right,
            this.evaluate_partition,
            self.empty,
            partitions=partitions,
            row_bytes=self.row_bytes,
            values_file=values_file,
            on_progress=on_progress,
        )

    # From what was accumulated to the ledger ---------------------------------------------------

    def ledger(self, counts: Counts, sides: Sides, more: Sequence[Item] = ()) -> pl.DataFrame:
        """Return the ledger: what was counted, `more` of it, and the policies in force."""
        left, right = sides
        if self.pairs is not None:
            assert left is not None  # a comparison has two sides
            items = pair_items(cast("PairCounts", counts))
            items += [*column_items(left, "a"), *column_items(right, "b")]
        else:
            items = self._run_items(cast("RunCounts", counts), left, right)
        described = {**self.policies.described(), **self.averages.intervals.described()}
        return make_ledger([*items, *more], described)

    def _run_items(
        self, counts: RunCounts, qrels: InputTable | None, run: InputTable
    ) -> list[Item]:
        retrieved: list[Item] = []
        if self.retrieved is not None:
            over_documents = len(self.retrieved.documents)
            retrieved = retrieved_items(counts, self.retrieved.catalogue, over_documents)
            if (by := self.retrieved.items_by) is not None:
                note = "slices of items look at so much of each list"
                retrieved.append(("items_k", by.k, note))
        if self.judged is None:
            return [evaluated_item(counts), *retrieved, *column_items(run, "run")]
        judged = judged_items(
            counts,
            subtopics=None if qrels is None else qrels.mapping.get(GROUP),
            rel=self.judged.policies.rel,
            retrieved=self.retrieved is not None,
        )
        return [*judged, *column_items(run, "run"), *retrieved]

    def inputs(self, sides: Sides) -> dict[str, str]:
        """Return the names of the inputs."""
        names = ("a", "b") if self.pairs is not None else ("qrels", "run")
        named = zip(names, sides, strict=True)
        return {name: side.name for name, side in named if side is not None}

    def over_documents(self, counts: Counts) -> OverDocuments | None:
        """Return what metrics over documents are made of, where there are any."""
        exposure = None if self.retrieved is None else cast("RunCounts", counts).exposure
        if self.retrieved is None or exposure is None:
            return None
        return OverDocuments(exposure, self.retrieved.catalogue)


def _merge(whole: Accumulator, parts: Iterable[Accumulator]) -> Accumulator:
    """Merge partial results; the values come in byte order of their queries."""
    for part in parts:
        whole.merge(part)
    whole.join()
    return whole


@dataclass
class _Reading:
    """Read a run for all frames at once: every batch is looked up and ranked for each of them."""

    retrieved: RetrievedValues
    found: Found | None

    def add(self, batch: Batch) -> None:
        """Add a batch."""
        if self.found is not None:
            self.found.add(batch)
        self.retrieved.add(batch)


def _reporter(left: InputTable | None, right: InputTable, on_progress: Report | None) -> OnProgress:
    """Return what is called with the number of rows of the second input that were read."""
    if on_progress is None:
        return lambda _: None
    before = 0 if left is None else count_rows(left)
    total = before + count_rows(right)
    return lambda rows: on_progress(Progress("evaluating", before + rows, total, 0))


def _side_by_side(judged: PerQuery, retrieved: PerQuery, labels: Sequence[str]) -> PerQuery:
    """Put values of the same queries side by side; null where only one side has a query."""
    queries = (
        judged.queries.to_frame()
        .with_row_index("judged_row")
        .join(
            retrieved.queries.to_frame().with_row_index("retrieved_row"),
            on=QUERY,
            how="full",
            coalesce=True,
        )
    )
    queries = queries[text_order(queries[QUERY])]

    def gather(values: PerQuery, rows: pl.Series) -> list[pl.DataFrame]:
        return [
            frame.select(pl.all().gather(rows)) if frame.width else frame[:0]
            for frame in values.frames
        ]

    frames = gather(judged, queries["judged_row"])
    retrieved_frames = gather(retrieved, queries["retrieved_row"])
    columns = {
        column.name: column for frame in (retrieved_frames[0], frames[0]) for column in frame
    }
    sums = [pl.DataFrame([*a, *b]) for a, b in zip(frames[1:], retrieved_frames[1:], strict=True)]
    return PerQuery(pl.DataFrame([queries[QUERY], *(columns[label] for label in labels)]), *sums)


def refuse_whole_input(
    metrics: Sequence[Metric], advice: str = "leave it out, or raise max_memory"
) -> None:
    """Refuse metrics that look at all queries at once, where the input is partitioned."""
    for metric in metrics:
        if metric.whole_input:
            raise MetricParameterError(
                f"{metric.label!r} compares the documents of all queries with each other, so it "
                f"needs the whole input in memory: {advice}."
            )
