"""Evaluate judgments and a run as trec_eval does: its options, its measures, its numbers.

The evaluation is rankframe's, with trec_eval's conventions: documents are ordered by score, then by
id, both descending; a rank column is ignored; fractions of grades are cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Final, get_args

import polars as pl

from rankframe.core.columns import QUERY, RANK, RELEVANCE
from rankframe.core.errors import DuplicateError, OptionError, RankframeError
from rankframe.core.options import Intervals, Policies
from rankframe.core.records import record
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.finish import evaluate_inputs
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, describe, refuse_absent_columns
from rankframe.metrics import REGISTRY
from rankframe.metrics.names import Metric
from rankframe.trec_eval.groups import (
    IN_RUN,
    PREFERENCE_VALUES,
    average_over_groups,
    evaluate_preferences,
    place_documents,
    read_groups,
)
from rankframe.trec_eval.measures import (
    DEFAULTS,
    RETRIEVED,
    Line,
    RelFormat,
    UnknownMeasureError,
    make_lines,
    parse_measures,
    refuse_other_judgments,
)
from rankframe.trec_eval.sources import open_trec_judgments, open_trec_run, rename_documents
from rankframe.trec_eval.text import summarise_lines, write_queries, write_summary

# trec_eval's level of a document without judgment. The next lower number is a grade below 0.
_NOT_IN_POOL: Final = -1
# The number of retrieved documents of a query that are judged.
_POOLED: Final = "\0pooled"


class NothingInCommonError(RankframeError):
    """Raised if a run has none of the judged queries."""


@record
class TrecOptions:
    """Hold trec_eval's options, and refuse values that trec_eval would not take."""

    # -c: average over all judged queries
    complete: bool = False
    # -l: the grade from which a document is relevant
    level: int = 1
    # -M: keep only the top N documents of each query
    deepest: int | None = None
    # -J: drop documents that are not judged
    judged_only: bool = False
    # -N: documents in the collection
    collection: int | None = None
    # -R: what the judgments are
    rel_format: RelFormat = "qrels"

    def __post_init__(self) -> None:
        if self.rel_format not in get_args(RelFormat):
            raise OptionError(
                f"-R {self.rel_format}: rankframe reads {', '.join(get_args(RelFormat))}."
            )
        for flag, value in (("-M", self.deepest), ("-N", self.collection)):
            if value is not None and value < 0:
                raise OptionError(f"{flag} takes a whole number of at least 0, not {value}.")
        if self.rel_format == "qrels_jg" and self.level < 0:
            raise OptionError(
                f"-l {self.level}: trec_eval would count unjudged documents as relevant. -l 0 "
                "counts every judged document."
            )

    @property
    def policies(self) -> Policies:
        """Return rankframe's policies for these options."""
        return Policies(
            rel=max(self.level, 0),
            missing="zero" if self.complete else "skip",
            no_overlap="zero",
            k_max=self.deepest or None,
            # A list without documents counts as a list without judged documents.
            judged_only=self.judged_only or self.deepest == 0,
        )


@record
class TrecResult:
    """Hold the lines of an evaluation, and the values that the lines show."""

    lines: list[Line]
    # a row for each query
    values: pl.DataFrame
    # the number of queries with judgments, and the number of these that are not in the run
    judged: int
    missing: int
    run_id: str

    @property
    def summary(self) -> pl.DataFrame:
        """Return `measure` and `text` of the lines over all queries."""
        return summarise_lines(self.lines, self.values, self.run_id)

    def write(self, file: IO[bytes], *, queries: bool = False, summary: bool = True) -> None:
        """Print the lines as trec_eval does, the lines of each query first."""
        if queries:
            write_queries(file, self.lines, self.values)
        if summary:
            write_summary(file, self.summary)


def evaluate_trec(
    qrels: Source,
    run: Source,
    measures: Sequence[str] | None = None,
    options: TrecOptions | None = None,
    *,
    columns: Columns | None = None,
    relevance: float | None = None,
) -> TrecResult:
    """Evaluate a run as trec_eval would.

    Args:
        qrels: the judgments.
        run: the run.
        measures: measures as -m takes them (default: the official ones, or the measures of
            preferences or groups of judgments).
        options: trec_eval's options.
        columns: names of columns, as in `rf.evaluate`.
        relevance: the grade of every judgment, for judgments without grades.

    >>> result = evaluate_trec({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, ["map", "P.5"])
    >>> result.summary["text"].to_list()
    ['0.5000', '0.2000']
    """
    options = options or TrecOptions()
    kind = options.rel_format
    requests = parse_measures(DEFAULTS[kind] if measures is None else measures)
    refuse_other_judgments(requests, kind)
    lines = make_lines(requests, collection=options.collection)
    if kind != "qrels" and relevance is not None:
        raise OptionError(f"--relevance: lines of -R {kind} have levels.")
    judgments = open_trec_judgments(qrels, columns, relevance) if kind == "qrels" else None
    documents, run_id = open_trec_run(run, columns)
    refuse_absent_columns(columns, *([] if judgments is None else [judgments]), documents)
    try:
        if judgments is None:
            values, judged, missing = _group_values(qrels, documents, lines, options)
        else:
            values, judged, missing = _values(judgments, documents, lines, options)
    except DuplicateError as error:  # without the advice to keep the best: not an option here
        role, count, example, rows = error.role, error.count, error.example, error.rows
        raise DuplicateError(role, count, example, rows, resolvable=False) from error
    if values.is_empty():
        raise NothingInCommonError(
            "the run has none of the judged queries, so there is nothing to average. "
            "Are the query ids the same? (-c counts missing queries as 0.)"
        )
    return TrecResult(lines, values, judged, missing, run_id)


def _values(
    judgments: InputTable, documents: InputTable, lines: Sequence[Line], options: TrecOptions
) -> tuple[pl.DataFrame, int, int]:
    """Evaluate a run with graded judgments; count judged and missing queries as well.

    A missing query is judged, but not in the run.
    """
    if options.deepest == 0:
        documents = rename_documents(documents)
    metrics = _metrics(lines, options.level)
    evaluation = prepare_evaluation(metrics, options.policies, intervals=Intervals(ci=None))
    result = evaluate_inputs(evaluation, judgments, documents)
    _refuse_relevant_unjudged(options.level, result.per_query)
    judged, missing = (result.count(item) or 0 for item in ("qrels_queries", "queries_missing"))
    return result.per_query, int(judged), int(missing)


def _group_values(
    qrels: Source, documents: InputTable, lines: Sequence[Line], options: TrecOptions
) -> tuple[pl.DataFrame, int, int]:
    """Evaluate judgments in groups (preferences, or grades by several people); see `_values`."""
    assert options.rel_format != "qrels"
    rows = read_groups(qrels, options.rel_format)
    if options.rel_format == "qrels_jg":
        rows = place_documents(rows, documents, "doc_desc", options.deepest)
        metrics = [metric for line in lines for metric in line.metrics]
        judged_only = options.judged_only
        values = average_over_groups(rows, metrics, level=options.level, judged_only=judged_only)
    else:  # with equal scores, the lower id comes first
        rows = place_documents(rows, documents, "doc_asc", options.deepest)
        measures = [line.label for line in lines if line.label in PREFERENCE_VALUES]
        values = evaluate_preferences(rows, measures, describe(qrels, "qrels"))
    in_run = rows.group_by(QUERY, maintain_order=True).agg(pl.col(IN_RUN).first())[IN_RUN]
    judged, missing = values.height, int((~in_run).sum())
    return values if options.complete else values.filter(in_run), judged, missing


def exit_code(error: Exception) -> int:
    """Return the exit code of trec_eval for an error."""
    codes = {NothingInCommonError: 7, DuplicateError: 4, UnknownMeasureError: 1}
    return codes.get(type(error), 2)


def _metrics(lines: Sequence[Line], level: int) -> list[Metric]:
    """Return the metrics whose values the lines print, without repeated labels."""
    metrics = {metric.label: metric for line in lines for metric in line.metrics}
    definition = REGISTRY["num_retrieved"]
    metrics[RETRIEVED] = Metric(RETRIEVED, definition.average, definition)
    if level < 0:
        counted = pl.col(RANK).is_not_null()
        if level < _NOT_IN_POOL:
            counted &= pl.col(RELEVANCE) >= 0
        metrics[_POOLED] = Metric(_POOLED, "sum", expression=counted.sum())
    return list(metrics.values())


def _refuse_relevant_unjudged(level: int, values: pl.DataFrame) -> None:
    """Refuse a level below 0 if unjudged documents were retrieved, which have a level of -1.

    Without such documents, a level below 0 equals level 0.
    """
    if level >= 0:
        return
    if unjudged := int((values[RETRIEVED] - values[_POOLED]).sum()):
        raise OptionError(
            f"-l {level}: trec_eval would count what was retrieved but not judged ({unjudged:,} in "
            "all) as relevant in some measures and not in others. -l 0 counts every judged "
            "document; with -J, unjudged ones are dropped."
        )
