"""An output of trec_eval beside ours: which of its lines say something else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import polars as pl

from rankframe.columns import QUERY
from rankframe.errors import EmptyInputError, MalformedLineError, OptionError
from rankframe.files import READ_ERRORS, unreadable
from rankframe.trec_eval import TrecResult
from rankframe.trec_measures import written_as
from rankframe.trec_text import ALL, texts

_MEASURE, _THEIRS, _OURS = "measure", "theirs", "ours"
_SCHEMA: Final = {_MEASURE: pl.String, QUERY: pl.String, _THEIRS: pl.String, _OURS: pl.String}
# The measure, a query id that may hold anything, and the value.
_LINE = r"^(\S+)\s+(.*\S)\s+(\S+)$"
# Measures that round recall points, which trec_eval 10 does in another way than those before.
_ROUNDED_OTHERWISE = ("iprec_at_recall", "11pt_avg")


@dataclass(frozen=True)
class Check:
    """How two outputs compare."""

    # measure, query_id, theirs, ours (null: we have no such line), in the order of the file
    different: pl.DataFrame
    compared: int
    # labels of lines that were not compared, and how many those are
    unknown: Sequence[str]
    passed_over: int

    @property
    def agreed(self) -> int:
        """How many lines say the same."""
        return self.compared - self.different.height

    def write(self, file: IO[bytes]) -> None:
        """The lines that differ, theirs and ours, and then what was compared."""
        shown = self.different.with_columns(
            pl.col(_MEASURE).str.pad_end(22), pl.col(_OURS).fill_null("(no such line)")
        )
        if shown.height:
            file.write(f"{_MEASURE:<22}\tquery\t{_THEIRS}\t{_OURS}\n".encode())
        shown.write_csv(file, include_header=False, separator="\t", quote_style="never")
        file.write(f"{self.verdict}\n".encode())

    @property
    def verdict(self) -> str:
        """What was compared, in words."""
        said = f"{self.agreed:,} of {self.compared:,} lines agree"
        if self.different.height:
            said += f", {self.different.height:,} differ"
        if self.passed_over:
            others = ", ".join(self.unknown[:5]) + (", …" if len(self.unknown) > 5 else "")
            said += f"; {self.passed_over:,} not compared ({others})"
        if self.different.height and self._only_rounding:
            said += (
                ". All of these round recall points, which trec_eval 10 and rankframe do in "
                "another way than trec_eval 9"
            )
        return f"{said}."

    @property
    def _only_rounding(self) -> bool:
        rounding = pl.any_horizontal(
            pl.col(_MEASURE).str.starts_with(name) for name in _ROUNDED_OTHERWISE
        )
        return self.different.select(rounding.all()).item()


def read_output(path: Path) -> pl.DataFrame:
    """The lines of an output of trec_eval: measure, query_id and the value as it was printed."""
    try:
        found = pl.scan_lines(path, name="line", row_index_name="number", glob=False).collect()
    except READ_ERRORS as error:
        raise unreadable(str(path), error) from error
    found = found.with_columns(pl.col("line").str.strip_chars("\ufeff \t\r\n"))
    found = found.filter(pl.col("line") != "")
    if found.is_empty():
        raise EmptyInputError("the output to check", str(path))
    parts = found.with_columns(pl.col("line").str.extract_groups(_LINE).struct.unnest())
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


def measures_in(output: pl.DataFrame) -> list[str]:
    """What -m must ask for to get these lines."""
    labels = output[_MEASURE].unique(maintain_order=True)
    measures = [written for label in labels if (written := written_as(label)) is not None]
    if not measures:
        raise OptionError(
            f"none of the lines to check is of a measure that rankframe knows: {labels[0]!r}, …"
        )
    return measures


def compare_output(output: pl.DataFrame, found: TrecResult) -> Check:
    """Every line of an output beside ours; lines of measures that we were not asked for are not
    compared.
    """
    lines = {line.label: line for line in found.lines}
    by_label = output.with_row_index("_row").partition_by(_MEASURE, as_dict=True)
    summary = dict(found.summary.iter_rows())  # allowed: one row a line
    parts = []
    for (label,), theirs in by_label.items():
        if label not in lines:
            continue
        line = lines[label]
        ours = pl.DataFrame(schema={QUERY: pl.String, _OURS: pl.String})
        if line.per_query and (theirs[QUERY] != ALL).any():
            values = found.result.per_query
            ours = pl.DataFrame({QUERY: values[QUERY], _OURS: texts(line, values)})
        if label in summary:
            ours = ours.filter(pl.col(QUERY) != ALL).vstack(
                pl.DataFrame({QUERY: [ALL], _OURS: [summary[label]]})
            )
        parts.append(theirs.join(ours, on=QUERY, how="left", maintain_order="left"))
    return _checked(parts, output, [label for (label,) in by_label if label not in lines])


def _checked(
    parts: Iterable[pl.DataFrame], output: pl.DataFrame, unknown: Sequence[object]
) -> Check:
    compared = pl.concat(parts) if parts else None
    if compared is None:
        raise OptionError("no line of the file is of a measure that was asked for with -m.")
    theirs, ours = (pl.col(side).cast(pl.Float64, strict=False) for side in (_THEIRS, _OURS))
    same = pl.col(_THEIRS).eq_missing(pl.col(_OURS)) | (theirs == ours).fill_null(value=False)
    different = compared.filter(~same).sort("_row").select(_SCHEMA)
    return Check(
        different,
        compared.height,
        [str(label) for label in unknown],
        output.height - compared.height,
    )
