"""What trec_eval does: judgments and a run, its options, its measures → its numbers.

One pass of the usual evaluation, under trec_eval's conventions: the order is by score, then by
document id, both descending; a rank column is ignored; grades are whole, fractions are cut off.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import IO, Final

import polars as pl

from rankframe.base.columns import RANK, RELEVANCE, SCORE
from rankframe.base.errors import DuplicateError, OptionError, RankframeError
from rankframe.base.options import Intervals, Policies
from rankframe.engine.memory import count_pieces
from rankframe.evaluation.evaluate import evaluate_scanned
from rankframe.evaluation.job import Job, judged_plan
from rankframe.evaluation.result import Result
from rankframe.inputs.formats import PARQUET, READ_ERRORS
from rankframe.inputs.scan import Columns, Scanned, Source, scan
from rankframe.inputs.trec_format import tag_of
from rankframe.metrics import REGISTRY
from rankframe.metrics.names import Metric
from rankframe.trec_eval.lines import Line, has_gains, lines_of
from rankframe.trec_eval.measures import parse_measures
from rankframe.trec_eval.text import RETRIEVED, summary_frame, write_queries, write_summary

DEFAULT_MEASURES: Final = ("official",)
_TAGS = ("run_id", "runid", "tag")
_TAIL = 1 << 16


@dataclass(frozen=True)
class TrecOptions:
    """trec_eval's options, checked."""

    # -c: average over all judged queries
    complete: bool = False
    # -l: the grade from which a document is relevant
    level: int = 1
    # -M: look at so many documents of each query only
    deepest: int | None = None
    # -J: drop documents that are not judged
    judged_only: bool = False
    # -N: documents in the collection
    collection: int | None = None

    def __post_init__(self) -> None:
        for flag, value, least in (
            ("-l", self.level, 0),
            ("-M", self.deepest, 1),
            ("-N", self.collection, 0),
        ):
            if value is not None and value < least:
                raise OptionError(f"{flag} takes a whole number of at least {least}, not {value}.")

    @property
    def policies(self) -> Policies:
        """The same in rankframe's words."""
        return Policies(
            rel=self.level,
            missing="zero" if self.complete else "skip",
            no_overlap="zero",
            k_max=self.deepest,
            judged_only=self.judged_only,
        )


@dataclass(frozen=True)
class TrecResult:
    """The lines that were asked for, and the values behind them."""

    lines: list[Line]
    result: Result
    run_id: str

    @property
    def missing(self) -> int:
        """How many judged queries the run lacks."""
        return int(self.result.count("queries_missing") or 0)

    @property
    def judged(self) -> int:
        """How many queries have judgments."""
        return int(self.result.count("qrels_queries") or 0)

    @property
    def summary(self) -> pl.DataFrame:
        """`measure` and `text` of the lines that speak of all queries."""
        return summary_frame(self.lines, self.result, self.run_id)

    def write(self, file: IO[bytes], *, queries: bool = False, summary: bool = True) -> None:
        """Print the lines as trec_eval does: those of each query first, if they are asked for."""
        if queries:
            write_queries(file, self.lines, self.result.per_query)
        if summary:
            write_summary(file, self.summary)


def evaluate_trec(
    qrels: Source,
    run: Source,
    measures: Sequence[str] = DEFAULT_MEASURES,
    options: TrecOptions | None = None,
    *,
    columns: Columns | None = None,
) -> TrecResult:
    """Evaluate a run as trec_eval would; `measures` as its -m takes them.

    >>> found = evaluate_trec({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, ["map", "P.5"])
    >>> found.summary["text"].to_list()
    ['0.5000', '0.2000']
    """
    options = options or TrecOptions()
    asked = parse_measures(measures)
    # What is wrong with a measure is said before anything is read, if grades need not be known.
    lines_of({name: given for name, given in asked.items() if not has_gains({name: given})})
    judgments = _whole_grades(scan(qrels, "qrels", columns))
    run, tag = _tagged(run)
    documents = _by_score(scan(run, "run", columns))
    grades = _grades(judgments) if has_gains(asked) else ()
    lines = lines_of(asked, collection=options.collection, grades=grades)
    job = Job(judged_plan(_metrics(lines)), options.policies, intervals=Intervals(ci=None))
    pieces = count_pieces(judgments, documents, job.row_bytes, None)
    try:
        result = evaluate_scanned(judgments, documents, job, pieces=pieces)
    except DuplicateError as error:
        raise DuplicateError(
            error.role, error.count, error.example, error.rows, resolvable=False
        ) from error
    if not result.count("queries_evaluated"):
        raise RankframeError(
            "the run has none of the judged queries, so there is nothing to average. "
            "Are the query ids the same? (-c counts missing queries as 0.)"
        )
    return TrecResult(lines, result, tag or _run_id(documents, run))


def _metrics(lines: Sequence[Line]) -> list[Metric]:
    """What is computed for the lines, each label once."""
    metrics = {metric.label: metric for line in lines for metric in line.metrics}
    definition = REGISTRY["num_retrieved"]
    metrics[RETRIEVED] = Metric(RETRIEVED, definition.average, definition)
    return list(metrics.values())


class _WholeGrades(Scanned):
    """Judgments whose grades are cut off after the point."""

    @property
    def frame(self) -> pl.LazyFrame:
        return super().frame.with_columns(pl.col(RELEVANCE).truncate())


def _whole_grades(judgments: Scanned) -> Scanned:
    return _WholeGrades(*(getattr(judgments, one.name) for one in fields(Scanned)))


def _by_score(run: Scanned) -> Scanned:
    """Without its ranks, which are neither looked at nor checked, if there are scores."""
    if SCORE not in run.mapping:
        return run
    mapping = {ours: theirs for ours, theirs in run.mapping.items() if ours != RANK}
    return replace(run, mapping=mapping)


def _grades(judgments: Scanned) -> list[float]:
    grades = judgments.frame.select(pl.col(RELEVANCE).drop_nulls().unique().sort())
    try:
        return grades.collect()[RELEVANCE].to_list()
    except READ_ERRORS:
        return []  # whoever reads the judgments next says what is wrong with them


def _tagged(run: Source) -> tuple[Source, str | None]:
    """The run, and the tag that the last line of a TREC text gives it."""
    if hasattr(run, "read"):
        content = run.read()
        again = io.BytesIO(content.encode() if isinstance(content, str) else content)
        again.name = getattr(run, "name", "the open file")
        return again, _last_tag(io.BytesIO(again.getvalue()))
    if not isinstance(run, str | os.PathLike):
        return run, None
    path = Path(os.path.expanduser(run))  # noqa: PTH111 (pathlib's fails on an unknown user)
    if not path.is_file() or PARQUET.has(path.suffix.lower()):
        return run, None
    try:
        with path.open("rb") as file:
            return run, _last_tag(file)
    except OSError:
        return run, None  # whoever reads the run next says what is wrong with it


def _last_tag(file: IO[bytes]) -> str | None:
    """The sixth field of the last line that is no comment."""
    try:
        lines = _tail(file).decode("utf-8", errors="replace").splitlines()
    except READ_ERRORS:
        return None
    held = (line for line in reversed(lines) if line.strip() and not line.startswith("#"))
    return tag_of(next(held, ""))


def _tail(file: IO[bytes]) -> bytes:
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    if not packed:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TAIL, 0))
        return file.read()
    before = last = b""
    with gzip.open(file) as unpacked:
        while block := unpacked.read(_TAIL):
            before, last = last, block
    return before + last


def _run_id(run: Scanned, source: Source) -> str:
    """A column that names the run, or else the name of its file."""
    schema: Mapping[str, pl.DataType] = run.raw.collect_schema()
    named = [column for column in schema if column.lower() in _TAGS]
    if named:
        last = run.raw.select(pl.col(named[0]).cast(pl.String)).tail(1).collect().item()
        if last:
            return last
    if isinstance(source, str | os.PathLike):
        return Path(source).name.removesuffix(".gz").rsplit(".", 1)[0]
    return "rankframe"
