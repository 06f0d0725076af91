"""Evaluate metrics over frames: compute values for batches of whole queries, and accumulate them.

A metric names the frame that it is an expression over. All frames are made from the same batch, so
that the run is read once. `Evaluation` treats inputs in memory, an out-of-core partition, and a
partition on a Spark worker alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Final, TypeAlias, cast

import polars as pl

from rankframe.core.caveats import PREFIX, Caveat
from rankframe.core.columns import DISTANCE, DOC, QUERY, RANK, RETRIEVED_FRAME, SCORE, SUBTOPIC
from rankframe.core.errors import (
    ConstantScoreError,
    ContradictingRanksError,
    MetricParameterError,
    MissingQueriesError,
    NoOverlapError,
    OptionError,
)
from rankframe.core.messages import Option
from rankframe.core.options import Intervals, PairPolicies, Policies, Progress, Report
from rankframe.core.records import record
from rankframe.core.threads import in_background
from rankframe.core.vocabulary import Vocabulary
from rankframe.engine.accumulator import Accumulator, Averages
from rankframe.engine.document_metrics import ItemsBy, OverDocuments
from rankframe.engine.judged_metrics import (
    JudgedMetrics,
    check_grades,
    check_grades_in_memory,
    judged_plan,
)
from rankframe.engine.ledger import (
    Counts,
    Item,
    RunCounts,
    column_items,
    evaluated_item,
    judged_items,
    make_ledger,
    retrieved_items,
    run_caveats,
)
from rankframe.engine.lookup import Lookup
from rankframe.engine.partitions import ValuesFile, evaluate_partitions, merge_parts
from rankframe.engine.plan import combine_values, concat_values, empty_values
from rankframe.engine.result import PER_QUERY_FILE, about_frame
from rankframe.engine.retrieved_metrics import RetrievedMetrics, RetrievedValues, SideInputs
from rankframe.engine.tie_range import refuse_unbounded
from rankframe.frames.catalogue import Catalogue
from rankframe.frames.matches import RunMatches
from rankframe.frames.side_inputs import JUDGED, WHAT, combine_sides
from rankframe.io.batches import Batches, check_input, count_rows
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.inputs import Columns
from rankframe.io.memory import bytes_at_once, left_fits
from rankframe.io.queries import Attributes, refuse_unknown_queries, unweighted_error
from rankframe.kernel.batch import Batch
from rankframe.kernel.reading import BATCH_ROWS, OnProgress, ignore_progress, read_batches
from rankframe.metrics.metric import Frame, Metric

# The inputs: judgments (if there are any) and the run, or two rankings.
Sides: TypeAlias = tuple[InputTable | None, InputTable]
# Returns some ids of both sides: of queries, or of documents of queries that both sides have.
FindIds: TypeAlias = Callable[[str], tuple[list[str], list[str]]]
# The frames that metrics of a run may look at.
RUN_FRAMES: Final[tuple[Frame, ...]] = ("judged", "subtopic", "retrieved", "documents")
_JUDGED_FRAMES, _RETRIEVED_FRAMES = RUN_FRAMES[:2], RUN_FRAMES[2:]


@record
class Evaluation(ABC):
    """Evaluate metrics of two inputs, in memory or out of core: the base class."""

    # all metrics in the order of the request, including gaps, which have no values per query
    metrics: tuple[Metric, ...]
    policies: Policies | PairPolicies
    averages: Averages
    # the names of the two inputs, and the class of the counts
    roles: ClassVar[tuple[str, str]]
    counts: ClassVar[type[Counts]]

    @property
    def labels(self) -> list[str]:
        """Return the labels of the metrics with values per query, in order."""
        return [metric.label for metric in self.averages.metrics]

    @property
    @abstractmethod
    def row_bytes(self) -> tuple[int, int]:
        """Return the memory that a row of each input takes at the peak, in bytes.

        Ids of up to 12 bytes are included.
        """

    def evaluate(
        self,
        left: InputTable | None,
        right: InputTable,
        *,
        partitions: int = 1,
        folder: Path | None = None,
        on_progress: Report | None = None,
    ) -> Accumulator:
        """Evaluate all queries of two inputs; out of core if there are several partitions.

        Args:
            left: the judgments, or the first of two rankings.
            right: the run, or the second ranking.
            partitions: the number of partitions of the queries; 1 evaluates in memory.
            folder: where to write values per query if there are several partitions.
            on_progress: a callback for progress.
        """
        if partitions == 1:
            return self.merge(self.evaluate_in_memory(left, right, on_progress))
        refuse_whole_input(self.averages.metrics)
        values_file = None
        if folder is not None:
            sides = left, right

            def about(whole: Accumulator) -> dict[str, object]:
                ledger = self.ledger(whole.counts, sides)
                return about_frame("per_query", self.labels, ledger, self.inputs(sides))

            values_file = ValuesFile(folder / PER_QUERY_FILE, about)
        return self.evaluate_out_of_core(left, right, partitions, values_file, on_progress)

    @abstractmethod
    def evaluate_in_memory(
        self, left: InputTable | None, right: InputTable, on_progress: Report | None = None
    ) -> Iterable[Accumulator]:
        """Read `right` (the run or second ranking) once, and evaluate in batches."""

    @abstractmethod
    def evaluate_partition(self, left: pl.DataFrame, right: pl.DataFrame) -> Accumulator:
        """Evaluate the queries of a partition, given all their rows in both inputs."""

    def evaluate_out_of_core(
        self,
        left: InputTable | None,
        right: InputTable,
        partitions: int,
        values_file: ValuesFile | None,
        on_progress: Report | None,
    ) -> Accumulator:
        """Evaluate inputs that do not fit in memory, partition by partition."""
        return evaluate_partitions(
            self.left(left),
            right,
            self.evaluate_partition,
            self.empty,
            partitions=partitions,
            row_bytes=self.row_bytes,
            values_file=values_file,
            on_progress=on_progress,
        )

    @abstractmethod
    def left(self, left: InputTable | None) -> InputTable:
        """Combine all inputs except the run (or the second ranking) into one table."""

    def empty(self) -> Accumulator:
        """Return an accumulator without queries."""
        return Accumulator(self.averages, self.counts())

    def merge(self, parts: Iterable[Accumulator]) -> Accumulator:
        """Merge accumulators into one, with values in byte order of their query ids."""
        iterator = iter(parts)
        whole = next(iterator, None) or self.empty()
        for part in iterator:
            whole.merge(part)
        whole.join()
        return whole

    @abstractmethod
    def check(self, accumulator: Accumulator, find_ids: FindIds) -> None:
        """Refuse inputs without common queries or documents, or without data that policies need."""

    @abstractmethod
    def items(self, counts: Counts, sides: Sides) -> list[Item]:
        """Return the ledger's rows of counts."""

    def ledger(self, counts: Counts, sides: Sides, more: Sequence[Item] = ()) -> pl.DataFrame:
        """Return the ledger: counts, the rows in `more`, caveats and policies."""
        described = {**self.policies.described(), **self.averages.intervals.described()}
        caveats = [
            (f"{PREFIX}{code}", value, text) for code, value, text in self.caveats(counts, sides)
        ]
        items = [*self.items(counts, sides), *more, *caveats]
        return make_ledger(items, described, self.vocabulary(sides))

    def vocabulary(self, sides: Sides) -> Vocabulary:
        """Return what the first of the inputs calls queries and documents."""
        left, right = sides
        return (right if left is None else left).vocabulary

    def caveats(self, counts: Counts, sides: Sides) -> list[Caveat]:
        """Return the caveats: facts that can mislead a reader of the values."""
        del counts, sides
        return []

    def inputs(self, sides: Sides) -> dict[str, str]:
        """Return the names of the inputs."""
        named = zip(self.roles, sides, strict=True)
        return {role: side.name for role, side in named if side is not None}


@record
class RunEvaluation(Evaluation):
    """Evaluate a run by metrics of judgments, of retrieved documents, or both."""

    roles = ("qrels", "run")
    counts = RunCounts
    policies: Policies
    # the metrics by the frame that they look at; None: there are none
    judged: JudgedMetrics | None = None
    retrieved: RetrievedMetrics | None = None
    # the side inputs of the run, other than judgments
    train: InputTable | None = None
    reference: InputTable | None = None

    @classmethod
    def from_metrics(
        cls,
        metrics: Sequence[Metric],
        policies: Policies,
        inputs: Collection[str],
        open_catalogue: Callable[[], Catalogue],
        *,
        attributes: Attributes | None = None,
        slices: Attributes | None = None,
        intervals: Intervals | None = None,
        items_by: ItemsBy | None = None,
        summed: bool = True,
    ) -> RunEvaluation:
        """Prepare the evaluation of a run by metrics over any frames.

        Args:
            metrics: the requested metrics, including gaps between slices.
            policies: the options that decide what is counted.
            inputs: the optional inputs that were passed (see `passed_inputs`).
            open_catalogue: a callback that opens the catalogue, if metrics need it.
            attributes: weights and slices of queries.
            slices: slices for metrics over documents, if not in `attributes`.
            intervals: which intervals to compute.
            items_by: slices of the items.
            summed: whether to sum the values per query.
        """
        if not set(inputs) - {"qrels"}:
            _refuse_unknown(metrics)
        refuse_unbounded(policies, metrics)
        judged = [metric for metric in metrics if metric.frame in _JUDGED_FRAMES]
        if judged and "qrels" not in inputs:
            raise OptionError(
                f"{judged[0].label!r} needs judgments: without ", Option("qrels", bare=True),
                ", give only metrics of retrieved documents, such as coverage@10.",
            )  # fmt: skip
        averaged = tuple([m for m in metrics if m.frame not in ("documents", "gap")])
        averages = Averages(averaged, intervals or Intervals(), attributes, summed)
        over_judgments = JudgedMetrics(judged_plan(judged), policies) if judged else None
        over_retrieved = [metric for metric in metrics if metric.frame in _RETRIEVED_FRAMES]
        retrieved = None
        if over_retrieved or items_by is not None:
            retrieved = RetrievedMetrics.from_metrics(
                over_retrieved,
                policies,
                open_catalogue(),
                inputs=inputs,
                attributes=slices or attributes,
                items_by=items_by,
            )
        return cls(tuple(metrics), policies, averages, over_judgments, retrieved)

    def with_max_grade(self, highest: float) -> RunEvaluation:
        """Return a copy that takes `highest` for the largest grade of all judgments."""
        if self.judged is None:
            return self
        return replace(self, judged=replace(self.judged, max_grade=highest))

    @property
    def row_bytes(self) -> tuple[int, int]:
        """Return the memory that a row of each input takes at the peak, in bytes."""
        metrics = self.retrieved or self.judged
        return (0, 0) if metrics is None else metrics.row_bytes

    @property
    def others(self) -> list[InputTable]:
        """Return the inputs other than the run and the judgments: `train`, `reference`."""
        return [side for side in (self.train, self.reference) if side is not None]

    def left(self, left: InputTable | None) -> InputTable:
        """Combine the judgments and all other inputs except the run into one table."""
        if self.retrieved is None:
            assert left is not None  # metrics look at judgments
            return left
        judged = set() if self.judged is None else {JUDGED}
        return self._beside(left, self.retrieved.needed | judged)

    def _beside(self, qrels: InputTable | None, needed: set[float]) -> InputTable:
        kinds = (qrels, self.train, self.reference)
        sides = [side if kind in needed else None for kind, side in enumerate(kinds)]
        return combine_sides(*sides, limit=None if qrels is None else qrels.limit)

    def evaluate_in_memory(
        self,
        left: InputTable | None,
        right: InputTable,
        on_progress: Report | None = None,
        rows: pl.DataFrame | None = None,
    ) -> Iterator[Accumulator]:
        """Read the run once, and evaluate its queries in batches.

        Args:
            left: the judgments.
            right: the rows of the run, in any order.
            on_progress: is called as rows are done.
            rows: judgments and all other inputs by document (default: they are read).
        """
        judged = lookup = None
        if self.judged is not None:
            judged, lookup = self._open(left, right)
        report = report_rows(None if lookup is None else left, right, on_progress)
        if self.retrieved is None:
            assert judged is not None  # there are judged or retrieved metrics, or both
            assert lookup is not None
            # Reading leaves a core partly idle: compute what the ledger needs meanwhile.
            large = lookup.judgments.height > BATCH_ROWS
            judgments = lookup.judgments
            with in_background(lambda: judgments.fingerprint) if large else nullcontext():
                found = lookup.found(report)
            yield from self._evaluate_judged(judged, found, bounded=lookup.run.bounded)
            return
        if rows is None:
            needed = self.retrieved.needed
            if left is not None and judged is None and JUDGED in needed:
                check_input(left)
            rows = self._beside(left, needed).frame.collect(engine="streaming")
        start = self.retrieved.start(rows)
        reading = read_batches(
            Batches(right, right.frame),
            lambda: _Reading(start(), None if lookup is None else lookup.nothing_found()),
            report,
            heavy=True,
        )
        values, counts = reading.retrieved.finish()
        if judged is not None and reading.found is not None:
            blocks = list(judged.each_block(reading.found, lambda *block: block))
            parts = [empty_values(judged.plan.metrics), *(part for part, _ in blocks)]
            values = combine_values(concat_values(parts), values, self.labels)
            # the judged metrics have counted these rows and queries already
            counts = replace(
                counts, right_rows=0, run_queries=0, tied=0, rising=0, disagreeing=None
            )
            for block_counts in (RunCounts.from_run(reading.found), *(more for _, more in blocks)):
                counts = counts.merge(block_counts)
        counts = replace(counts, left_rows=rows.height)
        yield Accumulator.from_values(self.averages, values, counts)

    def evaluate_partition(self, left: pl.DataFrame, right: pl.DataFrame) -> Accumulator:
        """Evaluate the queries of a partition, given all their rows in both inputs."""
        judgments = left if WHAT not in left.columns else left.filter(pl.col(WHAT) == JUDGED)
        qrels = part_of(judgments.drop(WHAT, strict=False), "qrels")
        return self.merge(self.evaluate_in_memory(qrels, part_of(right, "run"), rows=left))

    def _evaluate_judged(
        self, judged: JudgedMetrics, found: RunMatches, *, bounded: bool
    ) -> Iterator[Accumulator]:
        """Evaluate a run that is matched with judgments: yield counts, then values."""
        yield Accumulator(self.averages, RunCounts.from_run(found))
        accumulate = partial(Accumulator.from_values, self.averages)
        attributes = self.averages.attributes is not None
        yield from judged.each_block(found, accumulate, attributes=attributes, bounded=bounded)

    def _open(
        self, qrels: InputTable | None, run: InputTable, at_once: int | None = None
    ) -> tuple[JudgedMetrics, Lookup]:
        """Read and index the judgments, and refuse grades that metrics do not take.

        `at_once`: how many bytes of the inputs may be read ahead.
        """
        judged = self.judged
        assert judged is not None  # metrics look at judgments
        assert qrels is not None
        lookup = Lookup.from_inputs(
            qrels,
            run,
            self.policies,
            judged.plan.columns,
            at_once=at_once,
            as_text=self.retrieved is not None,
        )
        if judged.max_grade is None:
            highest = check_grades_in_memory(judged.plan.metrics, lookup.judgments.grades)
            judged = replace(judged, max_grade=highest)
        return judged, lookup

    def evaluate_out_of_core(
        self,
        left: InputTable | None,
        right: InputTable,
        partitions: int,
        values_file: ValuesFile | None,
        on_progress: Report | None,
    ) -> Accumulator:
        """Evaluate inputs that do not fit in memory.

        If the judgments fit in memory and the run is contiguous by query, one pass is enough.
        Otherwise, evaluate partition by partition.
        """
        if left is not None:
            count_rows(left)
        evaluation = self
        if self.judged is not None:
            assert left is not None  # metrics look at judgments
            if self.retrieved is None and left_fits(left, right, self.row_bytes, partitions):
                judged, lookup = self._open(left, right, bytes_at_once(left, right))
                found = lookup.found_if_contiguous(report_rows(left, right, on_progress))
                if found is not None:
                    parts = self._evaluate_judged(judged, found, bounded=True)
                    return merge_parts(parts, self.empty(), values_file, on_progress)
                evaluation = replace(self, judged=judged)
                del lookup  # the judgments are read again, partition by partition
            else:
                highest = check_grades(self.judged.plan.metrics, left.frame)
                evaluation = self.with_max_grade(highest)
        return super(RunEvaluation, evaluation).evaluate_out_of_core(
            left, right, partitions, values_file, on_progress
        )

    def check(self, accumulator: Accumulator, find_ids: FindIds) -> None:
        """Refuse inputs without common queries or documents, or without data that policies need."""
        counts, policies = cast("RunCounts", accumulator.counts), self.policies
        if self.judged is not None:
            if not counts.overlap and policies.no_overlap == "error":
                key = DOC if counts.missing < counts.qrels_queries else QUERY
                qrels_ids, run_ids = find_ids(key)
                raise NoOverlapError(key, run_ids, qrels_ids)
            if counts.lacking is not None and policies.missing == "error":
                raise MissingQueriesError(counts.missing, counts.qrels_queries, counts.lacking)
        check_order(counts, policies)
        if counts.absent:
            refuse_unknown_queries(counts.absent, counts.evaluated, accumulator.join()[QUERY])
        if counts.unweighted:
            raise unweighted_error(counts.unweighted, counts.evaluated, counts.weightless)

    def caveats(self, counts: Counts, sides: Sides) -> list[Caveat]:
        """Return the caveats: facts that can mislead a reader of the values."""
        run = sides[1]
        has_catalogue = self.retrieved is not None and len(self.retrieved.catalogue.docs) > 0
        by = SCORE if SCORE in run.mapping else RANK
        return run_caveats(
            cast("RunCounts", counts),
            self.policies,
            has_catalogue=has_catalogue,
            ordered_by=(DISTANCE if run.distance else by, run.mapping.get(by, by)),
        )

    def items(self, counts: Counts, sides: Sides) -> list[Item]:
        """Return the ledger's counts of the judgments, the run and the retrieved documents."""
        counts, (qrels, run) = cast("RunCounts", counts), sides
        retrieved: list[Item] = []
        if self.retrieved is not None:
            by, over_documents = self.retrieved.items_by, len(self.retrieved.documents)
            depth = None if by is None else by.k
            retrieved = retrieved_items(counts, self.retrieved.catalogue, over_documents, depth)
        if self.judged is None:
            return [evaluated_item(counts), *retrieved, *column_items(run, "run")]
        judged = judged_items(
            counts,
            subtopics=None if qrels is None else qrels.mapping.get(SUBTOPIC),
            retrieved=self.retrieved is not None,
        )
        return [*judged, *column_items(run, "run"), *retrieved]

    def over_documents(self, counts: Counts) -> OverDocuments | None:
        """Return what metrics over documents are computed from, or None without any."""
        exposure = cast("RunCounts", counts).exposure
        if self.retrieved is None or exposure is None:
            return None
        return OverDocuments(exposure, self.retrieved.catalogue)


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
) -> RunEvaluation:
    """Prepare the evaluation of a run, and open the other inputs that its metrics need.

    Args:
        metrics: the requested metrics (see `RunEvaluation.from_metrics`).
        policies: the options that decide what is counted, and the side inputs.
        judgments: whether judgments were passed.
        columns: the names of columns in the data.
        attributes: weights and slices of queries.
        slices: slices for metrics over documents.
        intervals: which intervals to compute.
        limit: the memory limit in bytes.
        items_by: slices of the items.
        summed: whether to sum the values per query.
    """
    side_inputs = SideInputs(policies, columns, limit)
    evaluation = RunEvaluation.from_metrics(
        metrics,
        policies,
        passed_inputs(policies, judgments=judgments),
        lambda: side_inputs.catalogue,
        attributes=attributes,
        slices=slices,
        intervals=intervals,
        items_by=items_by,
        summed=summed,
    )
    if evaluation.retrieved is None:
        refuse_idle(policies)
        return evaluation
    if side_inputs.reference is not None:
        check_input(side_inputs.reference)
    return replace(evaluation, train=side_inputs.train, reference=side_inputs.reference)


def passed_inputs(policies: Policies, *, judgments: bool) -> set[str]:
    """Return the names of the optional inputs that were passed."""
    inputs = {"qrels"} if judgments else set()
    for name in ("train", "items", "catalogue", "reference"):
        if getattr(policies, name) is not None:
            inputs.add(name)
    return inputs


def refuse_idle(policies: Policies) -> None:
    """Refuse `items`, `catalogue`, `reference` and `train` where no metric uses them."""
    for name in ("items", "catalogue", "reference"):
        if getattr(policies, name) is not None:
            raise OptionError(
                Option(name, bare=True),
                " has no effect: no metric looks at retrieved documents. Add one, such as "
                "coverage@10.",
            )
    if policies.train is not None and not policies.exclude_seen:
        raise OptionError(
            Option("train", bare=True), " has no effect: no metric looks at retrieved documents. "
            "Add one, such as novelty@10, or pass ", Option("exclude_seen", value=True), ".",
        )  # fmt: skip


def _refuse_unknown(metrics: Sequence[Metric]) -> None:
    """Refuse an expression over a column that no frame has.

    Attributes of items are columns, too; but if no items were passed, the name must be misspelt.
    """
    for metric in metrics:
        if metric.definition is None and metric.frame == "retrieved" and metric.looks_at is None:
            names = metric.expr().meta.root_names()
            if not all(map(RETRIEVED_FRAME.find, names)):
                judged_plan([replace(metric, looks_at="judged")])


def check_order(counts: RunCounts, policies: Policies) -> None:
    """Refuse a run whose ranks contradict its scores."""
    if policies.order != "columns" or counts.disagreeing is None:
        return
    below = counts.right_rows - (counts.run_dropped or 0) - counts.run_queries
    by_id = policies.ties in ("doc_desc", "doc_asc") and policies.unit is None
    if by_id and 0 < below == counts.tied:
        raise ConstantScoreError(counts.run_queries)
    if 2 * counts.disagreeing > counts.run_queries:
        raise ContradictingRanksError(counts.disagreeing, counts.run_queries)


def refuse_whole_input(
    metrics: Sequence[Metric], advice: str = "leave it out, or raise max_memory"
) -> None:
    """Refuse metrics that need all queries at once if the input is partitioned."""
    for metric in metrics:
        if metric.whole_input:
            raise MetricParameterError(
                f"{metric.label!r} compares the documents of all queries with each other, so it "
                f"needs the whole input in memory: {advice}."
            )


@dataclass
class _Reading:
    """Consume a run for all frames: add each batch to the accumulators of both kinds of metrics."""

    retrieved: RetrievedValues
    found: RunMatches | None

    def add(self, batch: Batch) -> None:
        """Add a batch to both accumulators."""
        if self.found is not None:
            self.found.add(batch)
        self.retrieved.add(batch)


def report_rows(
    left: InputTable | None, right: InputTable, on_progress: Report | None
) -> OnProgress:
    """Return a callback that reports progress, given the number of rows read of `right`."""
    if on_progress is None:
        return ignore_progress
    before = 0 if left is None else count_rows(left)
    total = before + count_rows(right)
    return lambda rows: on_progress(Progress("evaluating", before + rows, total, 0))
