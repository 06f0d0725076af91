"""Read judgments in groups, one for each person who judged, and rank their documents in a run.

These are the texts that trec_eval reads with `-R prefs`, `-R qrels_prefs` and `-R qrels_jg`.

A group may have subgroups: levels are compared within a subgroup only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Final, Literal, TypeAlias

import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE
from rankframe.core.errors import EmptyInputError, MalformedLineError, OptionError
from rankframe.core.options import Policies, Ties
from rankframe.engine.lookup import Lookup
from rankframe.frames.judged import JudgedFrame
from rankframe.io.formats.packing import unpacked, without_packing
from rankframe.io.formats.registry import TREC, reading
from rankframe.io.formats.trec_format import NUMBER_TEXT, whole_grades
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Source, describe
from rankframe.io.opening import open_table
from rankframe.io.sources.files import files_at
from rankframe.metrics.names import Metric
from rankframe.metrics.parts import collecting
from rankframe.trec_eval.sources import in_memory

GroupFormat: TypeAlias = Literal["prefs", "qrels_prefs", "qrels_jg"]

GROUP: Final = "group"
SUBGROUP: Final = "subgroup"
# The place of a document among the judged ones of its query: those retrieved as they are ranked,
# then the others by id, as trec_eval numbers them.
PLACE: Final = "place"
GROUP_NUMBER: Final = "_group_number"
# How many judged documents of the query were retrieved, and whether the run has the query.
RETRIEVED, IN_RUN = "retrieved", "in_run"
LINE, NUMBER = "_line", "_number"

_IN_QRELS = (QUERY, GROUP, DOC, RELEVANCE)
_FIELDS: Final[dict[GroupFormat, tuple[str, ...]]] = {
    "prefs": (QUERY, GROUP, SUBGROUP, DOC, RELEVANCE),
    "qrels_prefs": _IN_QRELS,
    "qrels_jg": _IN_QRELS,
}
# Names of fields in errors.
_FIELD_NAMES: Final = {QUERY: "query", DOC: "document", RELEVANCE: "level"}
_WHITE = r"[ \t\f\v]+"


def read_grouped(source: Source, kind: GroupFormat) -> pl.DataFrame:
    """Read a text: query_id, group, subgroup, doc_id, relevance, and each line itself."""
    source = in_memory(source)
    name = describe(source, "qrels")
    with reading(name):
        frames = [_parsed(text, kind, name) for text in _texts(source, kind)]
    rows = pl.concat(frames)
    if rows.is_empty():
        raise EmptyInputError("qrels", name)
    same = rows.filter(pl.struct(QUERY, GROUP, SUBGROUP, DOC).is_first_distinct().not_())
    _refuse(same, name, "its document stands in another line for the same query and group")
    return rows


def _texts(source: Source, kind: GroupFormat) -> list[str] | list[IO[bytes]]:
    if hasattr(source, "getvalue"):
        return [unpacked(source.getvalue(), "the open file")]
    if not isinstance(source, str | os.PathLike):
        raise OptionError(
            f"-R {kind} reads a text with lines of {_expected(kind)}, not {type(source).__name__}."
        )
    path = os.path.expanduser(source)  # noqa: PTH111 (pathlib's fails on an unknown user)
    return without_packing(files_at(path) or [path], TREC.packings)


def _expected(kind: GroupFormat) -> str:
    return (
        f"{len(_FIELDS[kind])} fields ({', '.join(_FIELD_NAMES.get(f, f) for f in _FIELDS[kind])})"
    )


def _parsed(text: str | IO[bytes], kind: GroupFormat, name: str) -> pl.DataFrame:
    fields = _FIELDS[kind]
    lines = pl.scan_lines(text, name=LINE, row_index_name=NUMBER, glob=False).collect()
    line = pl.col(LINE)
    lines = lines.with_columns(line.str.strip_chars("\ufeff \t\r\n\f\v"))
    lines = lines.with_columns(line.str.replace_all(_WHITE, " ")).filter(line != "")
    count = line.str.count_matches(" ", literal=True) + 1
    # As elsewhere, # begins a comment unless the line has all fields: the query id begins with #.
    whole_line = rf"^#\S+(?: \S+){{{len(fields) - 2}}} {NUMBER_TEXT}$"
    lines = lines.filter(~line.str.starts_with("#") | line.str.contains(whole_line))
    wrong = lines.filter(count != len(fields))
    _refuse(wrong, name, f"{kind} lines have {_expected(kind)}")
    split = line.str.split_exact(" ", len(fields) - 1).struct.rename_fields(list(fields))
    rows = lines.with_columns(split.struct.unnest())
    written = rows[RELEVANCE]
    level = pl.col(RELEVANCE)
    whole = kind == "qrels_jg"
    numbers = whole_grades(written) if whole else written.cast(pl.Float64, strict=False)
    rows = rows.with_columns(numbers.alias(RELEVANCE))
    if SUBGROUP not in fields:
        rows = rows.with_columns(pl.lit("0").alias(SUBGROUP))
    _refuse(rows.filter(level.is_finite().not_() | level.is_null()), name, "the level is no number")
    return rows.select(QUERY, GROUP, SUBGROUP, DOC, RELEVANCE, LINE, NUMBER)


def _refuse(bad: pl.DataFrame, name: str, problem: str) -> None:
    if bad.height:
        raise refusal(bad, name, problem)


def refusal(bad: pl.DataFrame, name: str, problem: str) -> MalformedLineError:
    """Return the error for bad lines, of which the first is quoted."""
    number, text = bad.select(NUMBER, LINE).row(0)
    return MalformedLineError(name, number + 1, text, problem, bad.height)


def place_documents(
    rows: pl.DataFrame, run: InputTable, ties: Ties, deepest: int | None
) -> pl.DataFrame:
    """Add a number to each group, the rank and place of each document, how many judged documents of
    its query were retrieved (they have the first places), and whether the run has the query.

    Rows are sorted by query (in byte order), group, subgroup and level, then place. With a depth of
    0, no document is retrieved.
    """
    pairs = rows.select(QUERY, DOC, pl.lit(1.0).alias(RELEVANCE)).unique([QUERY, DOC])
    policies = Policies(ties=ties, k_max=deepest or None)
    lookup = Lookup.of(open_table(pairs, "qrels", None), run, policies, {DOC, RANK})
    found = lookup.found()
    judged = JudgedFrame(found.select(), settle=True)
    documents = judged.frame({QUERY, DOC, RANK})
    if deepest == 0:
        documents = documents.with_columns(pl.lit(None, pl.Int64).alias(RANK))
    documents = documents.sort(QUERY, RANK, DOC, nulls_last=True).with_columns(
        pl.int_range(pl.len()).over(QUERY).alias(PLACE),
        pl.col(RANK).count().over(QUERY).cast(pl.Int64).alias(RETRIEVED),
    )
    queries = pl.DataFrame({QUERY: judged.queries, IN_RUN: ~judged.missing})
    documents = documents.join(queries, on=QUERY, how="left")
    rows = rows.join(documents, on=[QUERY, DOC], how="left")
    by = [QUERY, GROUP, SUBGROUP, RELEVANCE, PLACE]
    rows = rows.sort(by, descending=[False, False, False, True, False])
    return rows.with_columns(pl.struct(QUERY, GROUP).rle_id().cast(pl.Int64).alias(GROUP_NUMBER))


def group_values(
    rows: pl.DataFrame, metrics: Sequence[Metric], *, level: int, judged_only: bool
) -> pl.DataFrame:
    """Return the means of metrics over groups, with a row for each query.

    `judged_only`: documents that a group did not judge, or with a negative grade, are dropped.
    """
    by = GROUP_NUMBER
    rows = rows.sort(by, RANK, nulls_last=True)
    relevant = pl.col("relevant")
    if judged_only:
        kept = pl.col(RANK).is_not_null() & (pl.col(RELEVANCE) >= 0)
        rows = rows.with_columns(pl.when(kept).then(kept.cum_sum().over(by)).alias(RANK))
    rows = rows.with_columns((pl.col(RELEVANCE) >= level).alias("relevant"))
    rows = rows.with_columns(
        relevant.cum_sum().over(by).alias("found"),
        relevant.sum().over(by).alias("relevant_total"),
    )
    with collecting() as parts:
        values = {metric.label: metric.expr() for metric in metrics}
    # In the order of ranks, then of groups, rounding each sum, as the C program does.
    reduced = {
        name: expression.cum_sum().last() if how == "sum" else expression.first()
        for name, (expression, how) in parts.items()
    }
    groups = rows.group_by(by, maintain_order=True).agg(pl.col(QUERY).first(), **reduced)
    groups = groups.select(QUERY, **values)
    mean = pl.col(list(values)).cum_sum().last() / pl.len()
    return groups.group_by(QUERY, maintain_order=True).agg(mean)
