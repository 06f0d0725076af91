"""Read and write TREC text: runs (`query Q0 doc rank score tag`), qrels (`query iter doc grade`).

Fields are separated by white space. Blank lines, comments and words after the tag of a run are
skipped. A comment starts with # and does not have the fields of a line: `#q1 0 d7 2` judges a
document for the query #q1, as in trec_eval 10. If one blank (or one tab) separates all fields of
all lines, polars reads the file as a table, in a third of the time; any other text is parsed line
by line, which also finds mistakes.

Scores that a float cannot hold stay text, so that whole numbers are ranked as whole numbers.
"""

from __future__ import annotations

import gzip
import io
import mmap
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, Literal, NoReturn, TypeVar

import polars as pl

from rankframe.core.columns import (
    DOC,
    QUERY,
    RANK,
    RELEVANCE,
    SCORE,
    SUBTOPIC,
    SUBTOPIC_WEIGHT,
    TEXTS,
)
from rankframe.core.errors import (
    EmptyInputError,
    MalformedLineError,
    OutputError,
    UnreadableInputError,
)
from rankframe.core.messages import number_of
from rankframe.io.formats.numbers import beyond_float
from rankframe.io.formats.packing import LINE, NUMBER, scan_lines

Kind = Literal["qrels", "run"]
T = TypeVar("T", pl.Series, pl.Expr)

# The field before the document of a judgment: unused, or the subtopic.
ITERATION: Final = "iteration"
FIELDS: dict[Kind, tuple[str, ...]] = {
    "qrels": (QUERY, ITERATION, DOC, RELEVANCE),
    "run": (QUERY, "q0", DOC, RANK, SCORE, "tag"),
}
NUMERIC: dict[Kind, str] = {"qrels": RELEVANCE, "run": SCORE}
_TAG = 5
_GAP = "_gap"
NUMBER_TEXT = r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?i:nan|inf|infinity))"
_SHARP: dict[Kind, str] = {
    "qrels": rf"^#\S+(?:\s+\S+){{2}}\s+{NUMBER_TEXT}$",
    "run": rf"^#\S+(?:\s+\S+){{3}}\s+{NUMBER_TEXT}\s+\S+(?:\s|$)",
}
_COMMENT = pl.col(LINE).str.starts_with("#")
_FULL = pl.col(LINE).str.len_bytes() > 0
_UNIFORM = pl.col(LINE).str.replace_all(r"[ \t\f\v]+", " ")
# Whole numbers in this range have no more than 128 bits, and floats cannot hold all of them.
_ROUNDED = float(1 << 53), float(1 << 127)
NO_ITERATION = "0"
GZIP = b"\x1f\x8b"
# Byte sequences that polars cannot read as a table: a byte order mark, comments, and other
# characters that separate fields or end lines. The key is a byte of the sequence that few texts
# have: searching for one byte is several times as fast as searching for a sequence.
_UNEVEN = {b"\xef": b"\xef\xbb\xbf", b"#": b"\n#", b"\r": b"\r", b"\f": b"\f", b"\v": b"\v"}


def read_trec(
    source: str | IO[bytes], role: Kind | None, name: str, *, whole: bool = False
) -> pl.DataFrame:
    """Parse a TREC file (plain or compressed) into String columns and a Float64 score or grade.

    Without a role, the first line tells whether the file is a run or qrels. `whole`: grades are
    read as C's atol reads them: only the whole number at the beginning counts.
    """
    table = read_even(source, role, whole=whole)
    if table is None:
        table = read_lines(source, role, whole=whole)
    if table is None or not table.width:
        refuse_mistakes(source, role, name, whole=whole)
    return table


def read_even(
    source: str | IO[bytes], role: Kind | None, *, whole: bool = False
) -> pl.DataFrame | None:
    """Read TREC text with one blank or tab between all fields; return None for any other text.

    The result is also None if a line has a mistake.
    """
    content = _content(source)
    if content is None:
        return None
    end = content.find(b"\n")
    first = content[: len(content) if end < 0 else end]
    separator, other = (b" ", b"\t") if b" " in first else (b"\t", b" ")
    if first.startswith(b"#") or any(
        content.find(byte) >= 0 and content.find(sequence) >= 0
        for byte, sequence in {other: other, **_UNEVEN}.items()
    ):
        return None
    role = role or _kind_of(first.decode("utf-8", errors="replace"))
    *before_last, last = FIELDS[role]
    values = [column for column in (NUMERIC[role], RANK) if column in FIELDS[role]]
    numbers = () if whole and role == "qrels" else values
    # The last field is always read: polars notices lines with too many fields only then.
    gap = pl.any_horizontal(pl.col(*before_last, last).is_null())
    table = pl.scan_csv(
        source if isinstance(content, mmap.mmap) else io.BytesIO(content),
        has_header=False,
        separator=separator.decode(),
        quote_char=None,
        schema={column: pl.Float64 if column in numbers else pl.String for column in FIELDS[role]},
        glob=False,
    )
    try:
        kept = [*values, ITERATION] if role == "qrels" else values
        fields = table.select(QUERY, DOC, *kept, gap.alias(_GAP)).collect()
    except pl.exceptions.PolarsError:
        return None
    if fields.is_empty() or fields[_GAP].any():
        return None
    if not numbers:
        fields = fields.with_columns(whole_grades(fields[RELEVANCE]))
    if fields[values[0]].null_count() or (role == "run" and _may_be_rounded(fields[SCORE])):
        return None
    return _without_iteration(fields.drop(_GAP))


def _without_iteration(fields: pl.DataFrame) -> pl.DataFrame:
    """Drop the iteration of judgments if it is 0 in all rows, as in most files."""
    plain = ITERATION in fields.columns and (fields[ITERATION] == NO_ITERATION).all()
    return fields.drop(ITERATION) if plain else fields


def _may_be_rounded(scores: pl.Series) -> bool:
    """Return whether a score may have been a whole number that a float cannot hold."""
    return bool(scores.abs().is_between(*_ROUNDED).any())


def _content(source: str | IO[bytes]) -> bytes | mmap.mmap | None:
    """Return the uncompressed content of a file; None if it must be read in another way."""
    if isinstance(source, io.BytesIO):
        return source.getvalue()
    if not isinstance(source, str):
        return None
    try:
        with Path(source).open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return gzip.decompress(content) if content[:2] == GZIP else content
    except (OSError, ValueError, EOFError, zlib.error):
        return None


def _scan(source: str | IO[bytes]) -> pl.LazyFrame:
    """Return a lazy frame of a text's lines, stripped, with their numbers, from 0."""
    return scan_lines(source).with_columns(pl.col(LINE).str.strip_chars("\ufeff \t\r\n\f\v"))


def _no_comment(role: Kind | None) -> pl.Expr:
    patterns = [pattern for kind, pattern in _SHARP.items() if role in (kind, None)]
    is_line = pl.any_horizontal(pl.col(LINE).str.contains(pattern) for pattern in patterns)
    return is_line | ~_COMMENT


def _wrong_fields(role: Kind) -> pl.Expr:
    """Return an expression: whether a line has too few or too many fields for this role.

    The line must have single blanks between fields.
    """
    wrong = pl.col(LINE).str.count_matches(" ", literal=True) != len(FIELDS[role]) - 1
    return wrong & ~_only_followed(pl.col(LINE)) if role == "run" else wrong


def read_lines(
    source: str | IO[bytes], role: Kind | None, *, whole: bool = False, exact: bool = False
) -> pl.DataFrame | None:
    """Read TREC text with any white space between fields; return None if a line has a mistake.

    A text without lines gives a frame without columns. `exact`: scores stay text.
    """
    lines = _scan(source).collect()
    if lines.select(_COMMENT.any()).item():
        lines = lines.filter(_no_comment(role))
    lines = lines.filter(_FULL)
    if lines.is_empty():
        return pl.DataFrame()
    # Only lines with irregular white space are normalised: a regular expression per line is slow.
    uneven = pl.col(LINE).str.contains("  ", literal=True) | pl.col(LINE).str.contains(r"[\t\f\v]")
    if lines.select(uneven.any()).item():
        lines = lines.with_columns(pl.when(uneven).then(_UNIFORM).otherwise(pl.col(LINE)))
    role = role or _kind_of(lines[LINE][0])
    if lines.select(_wrong_fields(role).any()).item():
        return None
    names, number = FIELDS[role], NUMERIC[role]
    fields = lines.select(
        pl.col(LINE)
        .str.split_exact(" ", len(names) - 1)
        .struct.rename_fields(names)
        .struct.unnest()
    )
    values = _numbers(fields[number], role, whole=whole)
    if values.null_count():
        return None
    if role == "qrels":
        kept = fields.with_columns(values).select(QUERY, DOC, RELEVANCE, ITERATION)
        return _without_iteration(kept)
    beyond = (beyond_float(SCORE, pl.String()) != 0).any()
    if not exact and not (_may_be_rounded(values) and fields.select(beyond).item()):
        fields = fields.with_columns(values)
    ranks = fields[RANK].cast(pl.Float64, strict=False)
    # trec_eval never reads the rank field, so some tools leave other things there.
    kept = [] if ranks.null_count() else [ranks]
    return fields.select(QUERY, DOC, SCORE).with_columns(kept)


def _numbers(texts: T, role: Kind, *, whole: bool) -> T:
    """Parse scores or grades; text that is no number becomes null."""
    if whole and role == "qrels":
        return whole_grades(texts)
    return texts.cast(pl.Float64, strict=False)


def refuse_mistakes(
    source: str | IO[bytes], role: Kind | None, name: str, *, whole: bool = False
) -> NoReturn:
    """Raise the error for TREC text with malformed lines, which it counts, or without lines."""
    lines = _scan(source).filter(_no_comment(role), _FULL).with_columns(_UNIFORM)
    first = lines.select(LINE).head(1).collect(engine="streaming")
    if first.is_empty():
        raise EmptyInputError(role or "input", name)
    kind = role or _kind_of(first.item())
    names, number = FIELDS[kind], NUMERIC[kind]
    value = pl.col(LINE).str.split_exact(" ", len(names) - 1).struct[names.index(number)]
    no_number = _numbers(value, kind, whole=whole).is_null()
    for wrong in (_wrong_fields(kind), no_number):
        bad = lines.filter(wrong)
        count, place = bad.select(pl.len(), pl.col(NUMBER).min()).collect(engine="streaming").row(0)
        if not count:
            continue
        first = bad.filter(pl.col(NUMBER) == place).select(LINE).collect(engine="streaming")
        text = first.item()
        problem, has, expected = f"the {number} is not a number", len(text.split(" ")), len(names)
        if wrong is not no_number:
            other: Kind = "run" if kind == "qrels" else "qrels"
            total = lines.select(pl.len()).collect(engine="streaming").item()
            if count == total and has == len(FIELDS[other]):
                looks, needed = ("a run", "qrels") if kind == "qrels" else ("qrels", "a run")
                looks_like = f"it looks like {looks}, where {needed} should be"
                advice = "The judgments come first, then the run"
                raise UnreadableInputError(name, looks_like, advice)
            fields = "field" if has == 1 else "fields"
            problem = f"{has} {fields} where {kind} lines have {expected}"
            if kind == "run" and has > expected:
                problem += " (or more, if the rank is a number and the tag is not)"
        raise MalformedLineError(name, place + 1, text, problem, count)
    raise UnreadableInputError(name, "its lines changed while they were read")


def whole_grades(grades: T) -> T:
    """Parse grades as C's atol does: leading digits, 0 for other numbers, null for other text."""
    begins = grades.str.extract(r"^([+-]?[0-9]+)").cast(pl.Float64)
    return begins.fill_null(grades.cast(pl.Float64, strict=False) * 0).fill_nan(0)


def write_trec(frame: pl.DataFrame, target: str | Path | IO[bytes], tag: str = "rankframe") -> None:
    """Write judgments (with a grade) or a ranked run as TREC text."""
    for key in [name for name in TEXTS if name in frame.columns]:
        bad = frame[key].filter(frame[key].str.contains(r"\s|^#$" if key == QUERY else r"\s"))
        if len(bad):
            raise OutputError(
                f"TREC text cannot hold {number_of(len(bad), key)} that has white space or is just "
                f"'#', e.g. {bad[0]!r}. Write another format."
            )
    if RELEVANCE in frame.columns:
        lost = [name for name in (SUBTOPIC_WEIGHT,) if name in frame.columns]
        if SUBTOPIC in frame.columns and frame[SUBTOPIC].null_count():
            lost.append("judgments without a subtopic beside judgments with one")
        if lost:
            raise OutputError(f"TREC text cannot hold {lost[0]}. Write another format.")
        group = pl.col(SUBTOPIC) if SUBTOPIC in frame.columns else pl.lit(NO_ITERATION)
        columns = [pl.col(QUERY), group.alias(ITERATION), pl.col(DOC), pl.col(RELEVANCE)]
    else:
        score = -pl.col(RANK).cast(pl.Float64).alias(SCORE)
        score = pl.col(SCORE) if SCORE in frame.columns else score
        q0, name = pl.lit("Q0").alias("q0"), pl.lit(tag).alias("tag")
        columns = [pl.col(QUERY), q0, pl.col(DOC), pl.col(RANK), score, name]
    frame.select(columns).write_csv(
        target, include_header=False, separator=" ", quote_style="never"
    )


def is_comment(line: str) -> bool:
    """Return whether a line of TREC text is a comment: # not followed by the fields of a line."""
    fields = line.split()
    return line.startswith("#") and (fields[0] == "#" or not _are_fields(fields))


def looks_like_trec(first_line: str) -> bool:
    """Return whether a line has the fields of a run or of qrels."""
    return _are_fields(first_line.split())


def looks_like_tabbed_trec(first_line: str) -> bool:
    """Return whether a line has the fields of a run or of qrels, separated by tabs."""
    fields = [field.strip(" ") for field in first_line.split("\t")]
    return _are_fields(fields) and not any(" " in field for field in fields[: len(FIELDS["run"])])


def tag_of(line: str) -> str | None:
    """Return the tag in a line of a run; None for any other line."""
    fields = line.split()
    is_run = len(fields) > len(FIELDS["qrels"]) and _are_fields(fields)
    return fields[_TAG] if is_run else None


def _are_fields(fields: Sequence[str]) -> bool:
    if len(fields) == len(FIELDS["qrels"]):
        return _is_number(fields[3])
    if len(fields) < len(FIELDS["run"]) or not _is_number(fields[4]):
        return False
    followed = len(fields) > len(FIELDS["run"])
    return not followed or (_is_number(fields[3]) and not _is_number(fields[_TAG]))


def _kind_of(first_line: str) -> Kind:
    return "run" if len(first_line.split()) > len(FIELDS["qrels"]) else "qrels"


def _only_followed(line: pl.Expr) -> pl.Expr:
    """Return an expression: whether a line of a run has all fields, followed by more words.

    The result is False if an id has a blank: the rank field is then a word, or the tag a number.
    """
    fields = line.str.split_exact(" ", len(FIELDS["run"])).struct
    rank, tag, word = (fields.field(f"field_{index}") for index in (3, _TAG, len(FIELDS["run"])))
    is_rank, is_number = (f.cast(pl.Float64, strict=False).is_not_null() for f in (rank, tag))
    return word.is_not_null() & is_rank & ~is_number


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
