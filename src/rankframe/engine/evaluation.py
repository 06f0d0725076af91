"""The evaluation: metrics over any frames, computed for batches of whole queries and accumulated.

A metric names the frame that it looks at. Each frame that is needed is made from the same batch,
so that the run is read once. Two inputs in memory, a partition out of core, and one on a Spark
worker are the same to `Evaluation`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias, cast

import polars as pl

from rankframe.core.columns import GROUP, RELEVANCE, SHOWN_FRAME
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Intervals, PairPolicies, Policies, Progress, Report
from rankframe.engine.accumulator import Accumulator, Averages
from rankframe.engine.document_metrics import ItemsBy, OverDocuments
from rankframe.engine.judged_metrics import JudgedMetrics, check_grades, judged_plan
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
from rankframe.engine.retrieved_metrics import RetrievedMetrics, RetrievedValues, SideInputs
from rankframe.frames.catalogue import Catalogue
from rankframe.frames.matches import RunMatches
from rankframe.frames.side_inputs import JUDGED, WHAT, combine_sides
from rankframe.io.batches import Batches, check_input, count_rows
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.inputs import Columns
from rankframe.io.outputs import About
from rankframe.io.queries import Attributes
from rankframe.kernel.batch import Batch
from rankframe.kernel.reading import OnProgress, read_batches
from rankframe.metrics.metric import Frame, Metric

# The inputs: judgments (if there are any) and the run, or two rankings.
Sides: TypeAlias = tuple[InputTable | None, InputTable]
# The frames that metrics of a run may look at.
RUN_FRAMES: Final[tuple[Frame, ...]] = ("judged", "grouped", "shown", "documents")
_RETRIEVED_FRAMES = ("shown", "documents")


def prepare_evaluation(
    metrics: Sequence[Metric],
    policies: Policies,
    *,
    judgments: bool = True,
    columns: Columns | None = None,
    attributes: Attributes | None = None,
    slices: Attributes | None = None,
    intervals: Intervals | None = None,
    limit: int | None = None,
    items_by: ItemsBy | None = None,
    summed: bool = True,
) -> Evaluation:
    """Return the evaluation of metrics, whatever frames they look at, and open what they need.

    Args:
        metrics: as they were requested, gaps between slices included.
        policies: what counts.
        judgments: whether there are any.
        columns: names in the data.
        attributes: weights and slices of queries.
        slices: slices of metrics over documents, where they are not among the attributes.
        intervals: which intervals averages get.
        limit: how many bytes the work may take.
        items_by: slices of the items.
        summed: whether values per query are summed up.
    """
    inputs = passed_inputs(policies, judgments=judgments)
    evaluation = Evaluation.from_metrics(
        metrics, policies, inputs, attributes=attributes, intervals=intervals, summed=summed
    )
    if items_by is None and not evaluation.looks_at_retrieved:
        refuse_idle(policies)
        return evaluation
    side_inputs = SideInputs(policies, columns, limit)
    train, reference = side_inputs.train, side_inputs.reference
    if reference is not None:
        check_input(reference)
    evaluation = evaluation.with_retrieved(side_inputs.catalogue, inputs, slices, items_by)
    return replace(evaluation, train=train, reference=reference)


def passed_inputs(policies: Policies, *, judgments: bool) -> set[str]:
    """Return the names of the optional inputs that were passed."""
    names = ("train", "items", "catalogue", "reference")
    inputs = {name for name in names if getattr(policies, name) is not None}
    return inputs | ({"qrels"} if judgments else set())


def refuse_idle(policies: Policies) -> None:
    """Refuse tables that no metric looks at."""
    for name in ("items", "catalogue", "reference"):
        if getattr(policies, name) is not None:
            raise OptionError(
                Option(name, bare=True),
                " has no effect: no metric looks at what was shown. Add one, such as coverage@10.",
            )
    if policies.train is not None and not policies.exclude_seen:
        raise OptionError(
            Option("train", bare=True), " has no effect: no metric looks at what was shown. Add "
            "one, such as novelty@10, or pass ", Option("exclude_seen", value=True), ".",
        )  # fmt: skip


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
    reference: InputTable | None = None

    @classmethod
    def from_metrics(
        cls,
        metrics: Sequence[Metric],
        policies: Policies,
        inputs: Collection[str],
        *,
        attributes: Attributes | None = None,
        intervals: Intervals | None = None,
        summed: bool = True,
    ) -> Evaluation:
        """Return the evaluation of those metrics that look at judgments.

        `inputs`: which optional inputs were passed (see `passed_inputs`).
        """
        if not set(inputs) - {"qrels"}:
            _refuse_unknown(metrics)
        judged = [metric for metric in metrics if metric.frame in ("judged", "grouped")]
        if judged and "qrels" not in inputs:
            raise OptionError(
                f"{judged[0].label!r} needs judgments: without ", Option("qrels", bare=True),
                ", give metrics of what was shown alone, such as coverage@10.",
            )  # fmt: skip
        averaged = tuple(metric for metric in metrics if metric.frame not in ("documents", "gap"))
        averages = Averages(averaged, intervals or Intervals(), attributes, summed)
        over_judgments = JudgedMetrics(judged_plan(judged), policies) if judged else None
        return cls(tuple(metrics), policies, averages, over_judgments)

    @property
    def looks_at_retrieved(self) -> bool:
        """Return whether any metric looks at what was retrieved, judged or not."""
        return any(metric.frame in _RETRIEVED_FRAMES for metric in self.metrics)

    def with_retrieved(
        self,
        catalogue: Catalogue,
        inputs: Collection[str],
        slices: Attributes | None = None,
        items_by: ItemsBy | None = None,
    ) -> Evaluation:
        """Return an evaluation that computes its metrics of retrieved documents, too.

        `inputs`: which optional inputs were passed.
        """
        metrics = [metric for metric in self.metrics if metric.frame in _RETRIEVED_FRAMES]
        retrieved = RetrievedMetrics.from_metrics(
            metrics,
            cast("Policies", self.policies),
            catalogue,
            inputs=inputs,
            attributes=slices or self.averages.attributes,
            items_by=items_by,
        )
        return replace(self, retrieved=retrieved)

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
        return [side for side in (self.train, self.reference) if side is not None]

    def left(self, qrels: InputTable | None) -> InputTable:
        """Return every input that the run is compared with, such as judgments, as one input."""
        if self.retrieved is None:
            assert qrels is not None  # metrics look at judgments, or at two rankings
            return qrels
        judged = set() if self.judged is None else {JUDGED}
        return self._beside(qrels, self.retrieved.needed | judged)

    def _beside(self, qrels: InputTable | None, needed: set[float]) -> InputTable:
        kinds = (qrels, self.train, self.reference)
        sides = [side if kind in needed else None for kind, side in enumerate(kinds)]
        return combine_sides(*sides, limit=None if qrels is None else qrels.limit)

    def with_max_grade(self, highest: float) -> Evaluation:
        """Return this evaluation, told the largest grade of all judgments."""
        if self.judged is None:
            return self
        return replace(self, judged=replace(self.judged, max_grade=highest))

    def empty(self) -> Accumulator:
        """Return the accumulator of no queries."""
        return Accumulator(self.averages, RunCounts() if self.pairs is None else PairCounts())

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
        rows = None if self.retrieved is None else self._read_beside(left)
        return self._evaluate_run(left, rows, right, on_progress)

    def evaluate_partition(self, left: pl.DataFrame, right: pl.DataFrame) -> Accumulator:
        """Evaluate queries of which all rows, of both sides, are here, in any order."""
        if self.pairs is not None:
            sides = part_of(left, "ranking a"), part_of(right, "ranking b")
            return self._evaluate_run(sides[0], None, sides[1])
        judgments = left if WHAT not in left.columns else left.filter(pl.col(WHAT) == JUDGED)
        qrels, run = part_of(judgments.drop(WHAT, strict=False), "qrels"), part_of(right, "run")
        return self._evaluate_run(qrels, None if self.retrieved is None else left, run)

    def _evaluate_run(
        self,
        left: InputTable | None,
        rows: pl.DataFrame | None,
        run: InputTable,
        on_progress: Report | None = None,
    ) -> Accumulator:
        """Read a run once, and evaluate it.

        Args:
            left: the judgments, or the first of two rankings, which is held in memory.
            rows: judgments and other inputs by document, if metrics look at what was retrieved.
            run: the rows of the run, or of the second ranking, in any order.
            on_progress: is called as rows are done.
        """
        if self.pairs is not None:
            assert left is not None  # a comparison has two sides
            compute = self.pairs.compute
            pairing = Pairing.of(left, run, self.pairs.policies)
            report = _reporter(left, run, on_progress)
            parts = pairing.each(lambda batch: self._accumulate(*compute(batch)), report)
            return _merge(self.empty(), parts)
        judged = lookup = None
        if self.judged is not None:
            judged, lookup = self._open(left, run)
        report = _reporter(None if lookup is None else left, run, on_progress)
        if rows is None:
            assert judged is not None  # metrics look at one or the other
            assert lookup is not None
            return _merge(*self._evaluate_judged(judged, lookup.found(report)))
        assert self.retrieved is not None
        start = self.retrieved.start(rows)
        reading = read_batches(
            Batches(run, run.frame),
            lambda: _Reading(start(), None if lookup is None else lookup.nothing_found()),
            report,
            heavy=True,
        )
        values, counts = reading.retrieved.finish()
        if judged is not None and reading.found is not None:
            blocks = list(judged.each_block(reading.found, lambda *block: block))
            parts = [PerQuery.empty(judged.plan.metrics), *(part for part, _ in blocks)]
            values = PerQuery.joined(parts, ordered=False).beside(values, self.labels)
            counts = replace(counts, run_rows=0)  # they are counted as they are looked up, too
            for of_block in (RunCounts.from_run(reading.found), *(block for _, block in blocks)):
                counts = counts.merge(of_block)
        return self._accumulate(values, replace(counts, left_rows=rows.height))

    def _evaluate_judged(
        self, judged: JudgedMetrics, found: RunMatches
    ) -> tuple[Accumulator, Iterator[Accumulator]]:
        """Evaluate a run that was looked up: return its counts, and the judged queries in parts."""
        counted = Accumulator(self.averages, RunCounts.from_run(found))
        attributes = self.averages.attributes is not None
        return counted, judged.each_block(found, self._accumulate, attributes=attributes)

    def _accumulate(self, values: PerQuery, counts: Counts) -> Accumulator:
        accumulator = self.empty()
        accumulator.add(values, counts)
        return accumulator

    def _open(
        self, qrels: InputTable | None, run: InputTable, at_once: int | None = None
    ) -> tuple[JudgedMetrics, Lookup]:
        """Read the judgments, and refuse grades that metrics do not take.

        `at_once`: how many bytes of the run may be read ahead.
        """
        judged = self.judged
        assert judged is not None  # metrics look at judgments
        assert qrels is not None
        lookup = Lookup.of(
            qrels,
            run,
            judged.policies,
            judged.plan.columns,
            at_once=at_once,
            as_text=self.retrieved is not None,
        )
        if judged.max_grade is None:
            grades = pl.LazyFrame({RELEVANCE: lookup.judgments.grades})
            judged = replace(judged, max_grade=check_grades(judged.plan.metrics, grades))
        return judged, lookup

    def _read_beside(self, qrels: InputTable | None) -> pl.DataFrame:
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
                judged, lookup = self._open(left, right, bytes_at_once(left, right))
                found = lookup.found_if_contiguous(_reporter(left, right, on_progress))
                if found is not None:
                    return merge_parts(
                        *self._evaluate_judged(judged, found),
                        values_file=values_file,
                        on_progress=on_progress,
                    )
                this = replace(self, judged=judged)
                del lookup  # the judgments are read again, partition by partition
            else:
                this = self.with_max_grade(check_grades(self.judged.plan.metrics, left.frame))
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
        if isinstance(counts, PairCounts):
            assert left is not None  # a comparison has two sides
            items = pair_items(counts, left, right)
        else:
            items = self._run_items(cast("RunCounts", counts), left, right)
        described = {**self.policies.described(), **self.averages.intervals.described()}
        return make_ledger([*items, *more], described)

    def _run_items(
        self, counts: RunCounts, qrels: InputTable | None, run: InputTable
    ) -> list[Item]:
        retrieved: list[Item] = []
        if self.retrieved is not None:
            by, over_documents = self.retrieved.items_by, len(self.retrieved.documents)
            depth = None if by is None else by.k
            retrieved = retrieved_items(counts, self.retrieved.catalogue, over_documents, depth)
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


def _refuse_unknown(metrics: Sequence[Metric]) -> None:
    """Refuse an expression over a column that no frame has: where there are no items, whose
    attributes are columns, it is misspelt.
    """
    for metric in metrics:
        if metric.definition is None and metric.frame == "shown" and metric.looks_at is None:
            names = metric.expr().meta.root_names()
            if not all(map(SHOWN_FRAME.find, names)):
                judged_plan([replace(metric, looks_at="judged")])


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
    found: RunMatches | None

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
