"""Compare an output of trec_eval with rankframe's, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import polars as pl

from rankframe.core.columns import QUERY
from rankframe.core.errors import EmptyInputError, MalformedLineError, OptionError
from rankframe.core.messages import number_of
from rankframe.core.records import record
from rankframe.io.formats.registry import reading
from rankframe.trec_eval.evaluate import TrecResult
from rankframe.trec_eval.measures import (
    MEASURES,
    Line,
    RelFormat,
    format_measure,
    make_lines,
    parse_measures,
)
from rankframe.trec_eval.text import ALL, escape_ids, format_values, write_tabbed

_MEASURE, _THEIRS, _OURS = "measure", "theirs", "ours"
_ROW, _PLACE = "_row", "_place"
# The measure, a query id that may hold anything, and the value.
_LINE = r"^(\S+)\s+(.*\S)\s+(\S+)$"
# Measures that round levels of recall: trec_eval 10 and trec_eval 9 round differently.
_ROUNDED_OTHERWISE = ("iprec_at_recall", "11pt_avg")


@record
class Check:
    """Hold the lines in which an output of trec_eval and rankframe's differ, and counts."""

    # measure, query_id, theirs, ours (null: rankframe has no such line), in the order of the file
    different: pl.DataFrame
    compared: int
    # labels of lines that were not compared, and the number of these lines
    unknown: Sequence[str]
    passed_over: int

    @property
    def agreed(self) -> int:
        """Return the number of lines that agree."""
        return self.compared - self.different.height

    def write(self, file: IO[bytes]) -> None:
        """Write the lines that differ, and a summary."""
        shown = self.different.with_columns(
            pl.col(_MEASURE).str.pad_end(22), pl.col(_OURS).fill_null("(no such line)")
        )
        if shown.height:
            file.write(f"{_MEASURE:<22}\tquery\t{_THEIRS}\t{_OURS}\n".encode())
        write_tabbed(file, shown.select(escape_ids(column) for column in shown))
        file.write(f"{self.verdict}\n".encode())

    @property
    def verdict(self) -> str:
        """Return the summary, in one sentence."""
        text = f"{self.agreed:,} of {number_of(self.compared, 'line')} agree"
        if self.different.height:
            text += f", {self.different.height:,} differ"
        if self.passed_over:
            labels = ", ".join(self.unknown[:5]) + (", …" if len(self.unknown) > 5 else "")
            text += f"; {self.passed_over:,} not compared ({labels})"
        if self.different.height and self._only_rounding:
            text += (
                ". All of these round recall points, which trec_eval 10 and rankframe do in "
                "another way than trec_eval 9"
            )
        return f"{text}."

    @property
    def _only_rounding(self) -> bool:
        """Tell whether all lines that differ are of measures that round levels of recall."""
        rounding = pl.any_horizontal(
            pl.col(_MEASURE).str.starts_with(name) for name in _ROUNDED_OTHERWISE
        )
        return self.different.select(rounding.all()).item()


def read_output(path: Path) -> pl.DataFrame:
    """Read an output of trec_eval: measure, query_id and the value as it was printed."""
    with reading(str(path)):
        lines = pl.scan_lines(path, name="line", row_index_name="number", glob=False).collect()
    lines = lines.with_columns(pl.col("line").str.strip_chars("\ufeff \t\r\n"))
    lines = lines.filter(pl.col("line") != "")
    if lines.is_empty():
        raise EmptyInputError("the output to check", str(path))
    parts = _tabbed(lines)
    if parts is None:
        parts = lines.with_columns(pl.col("line").str.extract_groups(_LINE).struct.unnest())
    bad = parts.filter(pl.col("1").is_null())
    if bad.height:
        raise MalformedLineError(
            str(path),
            bad["number"][0] + 1,
            bad["line"][0],
            "not a line of trec_eval (measure, query, value)",
            bad.height,
        )
    return parts.select(
        pl.col("1").alias(_MEASURE), pl.col("2").alias(QUERY), pl.col("3").alias(_THEIRS)
    )


def _tabbed(lines: pl.DataFrame) -> pl.DataFrame | None:
    """Split lines with two tabs each into fields; return None if any line has other tabs.

    This is a fast path: a regular expression for each of millions of lines is slow.
    """
    tabs = pl.col("line").str.count_matches("\t", literal=True)
    if not lines.select((tabs == 2).all()).item():
        return None
    fields = lines["line"].str.split_exact("\t", 2).struct.rename_fields(["1", "2", "3"])
    return lines.hstack(fields.struct.unnest().select(pl.all().str.strip_chars(" ")))


def find_measures(output: pl.DataFrame, rel_format: RelFormat = "qrels") -> list[str]:
    """Return the measures that an output has lines of, as arguments of -m.

    Unknown measures, and measures of other kinds of judgments, are left out.
    """
    labels = output[_MEASURE].unique(maintain_order=True).to_list()
    measures = [
        measure
        for measure in map(_measure_of, labels)
        if measure is not None and rel_format in MEASURES[measure.partition(".")[0]].reads
    ]
    if not measures:
        raise OptionError(
            f"none of the lines to check is of a measure that rankframe knows: {labels[0]!r}, …"
        )
    return measures


def _measure_of(label: str) -> str | None:
    """Return the -m argument for lines with this label, or None if there are no such lines."""
    written = format_measure(label)
    try:
        lines = make_lines(parse_measures([written] if written else []))
    except OptionError:
        return None
    return written if label in [line.label for line in lines] else None


def compare_output(output: pl.DataFrame, result: TrecResult) -> Check:
    """Compare an output with a result, line by line, for all measures that were evaluated."""
    lines = {line.label: line for line in result.lines}
    values = result.values
    places = values.select(QUERY).with_row_index(_PLACE)
    placed = output.with_row_index(_ROW).join(places, on=QUERY, how="left", maintain_order="left")
    by_label = placed.partition_by(_MEASURE, as_dict=True)
    summary = dict(result.summary.iter_rows())  # allowed: one row per line
    parts = [
        _beside(rows, lines[label], values, summary.get(label))
        for (label,), rows in by_label.items()
        if label in lines
    ]
    if not parts:
        raise OptionError("no line of the file is of a measure that was asked for with -m.")
    compared = pl.concat(parts)
    expected, computed = (pl.col(side).cast(pl.Float64, strict=False) for side in (_THEIRS, _OURS))
    same = pl.col(_THEIRS).eq_missing(pl.col(_OURS)) | (expected == computed).fill_null(value=False)
    return Check(
        compared.filter(~same).sort(_ROW).select(_MEASURE, QUERY, _THEIRS, _OURS),
        compared.height,
        [str(label) for (label,) in by_label if label not in lines],
        output.height - compared.height,
    )


def _beside(
    rows: pl.DataFrame, line: Line, values: pl.DataFrame, summary: str | None
) -> pl.DataFrame:
    """Add rankframe's printed values to the lines of one measure; null if it prints none."""
    computed = pl.lit(None, pl.String)
    place = rows[_PLACE]
    if line.measure.per_query and place.null_count() < len(place):
        text = format_values(line, values.select(line.columns)[place.fill_null(0)])
        computed = pl.when(pl.col(_PLACE).is_not_null()).then(text)
    whole = pl.when(pl.col(QUERY) == ALL).then(pl.lit(summary, pl.String)).otherwise(computed)
    return rows.with_columns(whole.alias(_OURS))
