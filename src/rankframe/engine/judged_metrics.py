"""Compute metrics over the judged and the subtopic frame of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, TypeVar

import numpy as np
import polars as pl

from rankframe.core.arrays import Flags, Floats
from rankframe.core.columns import DOC, JUDGED_FRAME, QUERY, RELEVANCE, SUBTOPIC, SUBTOPIC_FRAME
from rankframe.core.errors import BadValueError, MetricParameterError
from rankframe.core.messages import Option
from rankframe.core.options import Policies
from rankframe.core.records import record
from rankframe.core.threads import map_blocks
from rankframe.engine.ledger import RunCounts
from rankframe.engine.plan import (
    Plan,
    combine_values,
    compile_plan,
    compute_values,
    concat_values,
    copy_values,
    empty_values,
)
from rankframe.engine.tie_range import find_tie_ranges
from rankframe.frames.judged import JudgedFrame, find_patterns
from rankframe.frames.matches import MatchedJudgments, RunMatches
from rankframe.frames.subtopics import SubtopicFrame, needs_ids
from rankframe.metrics.metric import Metric

# Judgments per block. In larger blocks, threads wait less for each other; smaller blocks take less
# memory. Blocks are largest if each block is joined with the frame of queries.
_BLOCK_ROWS, _SHORT_BLOCK_ROWS, _BLOCK_ROWS_WITH_ATTRIBUTES = 1 << 18, 1 << 17, 1 << 20

T = TypeVar("T")


def judged_plan(metrics: Sequence[Metric]) -> Plan:
    """Compile metrics over the judged and the subtopic frame into a plan."""
    by_subtopic = [metric for metric in metrics if metric.over_subtopics]
    plan = compile_plan([metric for metric in metrics if not metric.over_subtopics], JUDGED_FRAME)
    if not by_subtopic:
        return plan
    subtopics = compile_plan(by_subtopic, SUBTOPIC_FRAME)
    return replace(plan, metrics=tuple(metrics), subtopics=subtopics)


@record
class JudgedMetrics:
    """Compute metrics over the judged and the subtopic frame."""

    plan: Plan
    policies: Policies
    # the largest grade of all judgments; None: the largest in the batch
    max_grade: float | None = None
    # bytes that a row of each side takes at the peak, ids of up to 12 bytes included (measured)
    row_bytes: ClassVar[tuple[int, int]] = (120, 140)

    def each_block(
        self,
        found: RunMatches,
        use: Callable[[pl.DataFrame, RunCounts], T],
        *,
        attributes: bool = False,
        bounded: bool = False,
    ) -> Iterator[T]:
        """Compute the values of all judged queries in blocks, on all cores, and call `use`.

        Args:
            found: the run, matched with the judgments.
            use: a callback, called with the values and counts of each block on a worker thread.
            attributes: whether `use` joins the values with a frame of queries.
            bounded: whether memory is limited.
        """
        rows = _SHORT_BLOCK_ROWS if bounded else _BLOCK_ROWS
        blocks = found.judgments.blocks(_BLOCK_ROWS_WITH_ATTRIBUTES if attributes else rows)
        if self.plan.whole_input:
            blocks = [(0, len(found.judgments.starts))]

        def work(block: tuple[int, int]) -> T:
            values, judged, evaluated = self._compute(found.select(*block))
            metrics, top = self.plan.metrics, self.max_grade
            ranges = find_tie_ranges(found, block, metrics, values, evaluated, top)
            relevant = judged.relevant(self.policies.rel)
            counts = RunCounts.from_judged(
                judged, evaluated=evaluated, relevant=relevant, tie_ranges=ranges
            )
            return use(values, counts)

        # Few blocks ahead: their values are held until they are written.
        return map_blocks(work, blocks)

    def values(self, found: RunMatches) -> pl.DataFrame:
        """Compute the values of all evaluated queries, in byte order, on the calling thread."""
        parts = [empty_values(self.plan.metrics)]
        blocks = found.judgments.blocks(_SHORT_BLOCK_ROWS)
        parts += (self._compute(found.select(*block))[0] for block in blocks)
        return concat_values(parts)

    def _compute(self, part: MatchedJudgments) -> tuple[pl.DataFrame, JudgedFrame, Flags]:
        """Return values of evaluated queries, the judged frame, and flags of evaluated queries."""
        rel, by_subtopic = self.policies.rel, self.plan.subtopics
        ids = DOC in self.plan.columns
        judged = JudgedFrame(part, rel=rel, max_grade=self.max_grade, settle=ids)
        few, numbers = find_patterns(part) if depends_on_ranks_alone(self.plan) else (part, None)
        if few is part or numbers is None:
            values = compute_values(self.plan, judged)
        else:  # compute once per pattern of ranks and grades
            patterns = JudgedFrame(few, rel=rel, max_grade=self.max_grade)
            values = copy_values(compute_values(self.plan, patterns), numbers, judged.queries)
        if by_subtopic is not None:
            if part.subtopics is None:
                raise MetricParameterError(
                    f"{by_subtopic.metrics[0].label!r} looks at subtopics (intents, facts) of "
                    "judgments, and qrels has no such column. If it has one, name it: ",
                    Option("columns", {"qrels": {SUBTOPIC: "…"}}),
                    ".",
                )
            subtopics = SubtopicFrame(
                part,
                rel=rel,
                max_grade=self.max_grade,
                settle=needs_ids(by_subtopic.columns),
                deepest=deepest_rank(by_subtopic.metrics),
            )
            of_subtopics = compute_values(by_subtopic, subtopics)
            values = combine_values(values, of_subtopics, self.plan.labels)
        evaluated = evaluated_queries(judged, self.policies)
        if not evaluated.all():
            values = values.filter(pl.Series(evaluated))
        return values, judged, evaluated


def evaluated_queries(judged: JudgedFrame, policies: Policies) -> Flags:
    """Flag the judged queries that are evaluated, as opposed to left out by `policies`."""
    evaluated = np.ones(len(judged.queries), np.bool_)
    if policies.missing != "zero":
        evaluated &= ~judged.missing
    if policies.no_relevant == "skip":
        evaluated &= np.logical_or.reduceat(judged.relevant(policies.rel), judged.starts)
    return evaluated


def depends_on_ranks_alone(plan: Plan) -> bool:
    """Tell whether metrics depend only on the ranks and grades of a query's documents."""
    return not plan.whole_input and plan.columns.isdisjoint((QUERY, DOC, "tied_rank"))


def deepest_rank(metrics: Sequence[Metric], *depths: int) -> int | None:
    """Return the deepest rank that metrics or `depths` look at, or None for the whole list."""
    cutoffs = [*(metric.params.get("k") for metric in metrics), *depths]
    finite = [k for k in cutoffs if k is not None]
    return max(finite, default=None) if len(finite) == len(cutoffs) else None


_LARGEST_EXPONENT = 1000.0


def check_grades(metrics: Sequence[Metric], judgments: pl.LazyFrame) -> float:
    """Return the largest grade of a lazy frame; refuse grades that a metric cannot handle."""
    grade = pl.col(RELEVANCE)
    highest = float(judgments.select(grade.max().fill_null(0)).collect(engine="streaming").item())

    def without_gain(valid: Sequence[float]) -> tuple[int, float | None]:
        bad = (
            judgments.select(grade)
            .filter(grade > 0, ~grade.is_in(valid))
            .collect(engine="streaming")[RELEVANCE]
        )
        return len(bad), next(iter(bad), None)

    refuse_grades(metrics, highest, without_gain)
    return highest


def check_grades_in_memory(metrics: Sequence[Metric], grades: Floats) -> float:
    """Return the largest grade of an array; refuse grades that a metric cannot handle."""
    highest = float(grades.max()) if len(grades) else 0.0

    def without_gain(valid: Sequence[float]) -> tuple[int, float | None]:
        bad = grades[(grades > 0) & ~np.isin(grades, valid)]
        return len(bad), next(iter(bad), None)

    refuse_grades(metrics, highest, without_gain)
    return highest


def refuse_grades(
    metrics: Sequence[Metric],
    highest: float,
    without_gain: Callable[[Sequence[float]], tuple[int, float | None]],
) -> None:
    """Refuse grades that a metric cannot handle, given its parameters.

    `without_gain` is a callback: given the valid grades, it returns the number of other grades
    above 0, and an example of these.
    """
    for metric in metrics:
        top, gain = metric.params.get("max_grade"), metric.params.get("gain")
        if metric.exponential and highest > _LARGEST_EXPONENT:
            raise MetricParameterError(
                f"{metric.label!r}: 2 to the power of a grade of {highest:g} is too large a number."
            )
        if top is not None and top < highest:
            raise MetricParameterError(
                f"{metric.label!r}: max_grade is {top:g}, but qrels has a grade of {highest:g}."
            )
        if isinstance(gain, Mapping):
            count, example = without_gain([float(g) for g in gain])
            if count:
                raise BadValueError(
                    "qrels",
                    f"a grade that {metric.label!r} gives no gain",
                    count,
                    f"{example:g}",
                    "Give every grade above 0 a gain",
                )
