"""Read tables of text, separated by commas, semicolons or tabs, with or without a header.

The first line is a header if it holds a known name of a column, or a name in `columns=`. Otherwise
the line is a row if all of its fields hold digits. Any other first line is ambiguous and is taken
for a header; a user who names columns by their numbers (`column_1`) says that there is no header.
The columns of a table without a header are inferred from common layouts, if these are unambiguous:
`query doc rank` of MS MARCO, `query doc grade`, and the fields of TREC text.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import IO, Any

import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE, SYNONYMS, plain_name
from rankframe.core.messages import Option, listing
from rankframe.io.formats.packing import beginning_of
from rankframe.io.formats.trec_format import FIELDS, is_comment, looks_like_trec
from rankframe.io.raw_table import InputRequest, RawTable

_NUMBERED = re.compile(r"column_([1-9]\d*)")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_KNOWN = frozenset(
    plain_name(name) for column, also in SYNONYMS.items() for name in (column, *also)
)
# Values of the second column of TREC text, which is not read.
_ITERATIONS = ("0", "Q0")
# Bytes that hold the first line of any reasonable table.
_HEAD = 1 << 16
# If every query has 1, 2, 3, … for at least this many documents, the numbers are ranks, not grades.
_RANKED = 3
# Rows of the sample that shows whether numbers rise.
_LOOKED_AT = 1_000
# A file with more columns than this is a matrix, or a text without line ends.
_MOST = 500


_FIRST_TWO = {QUERY: "column_1", DOC: "column_2"}


def open_delimited(
    files: Sequence[str] | Sequence[IO[bytes]], request: InputRequest, *, separators: str
) -> RawTable:
    """Open CSV or TSV: with the separator of its first line, else the first of `separators`."""
    head = beginning_of(files[0], _HEAD).head
    separator = separator_of(head)
    if separator is None or separator not in separators:
        separator = separators[0]
    fields, user_names = fields_of(head, separator), request.user_names
    numbered = any(_NUMBERED.fullmatch(user_name) for user_name in user_names)
    if numbered and not (is_named(fields) or set(user_names) & set(fields)):
        names = [f"column_{n + 1}" for n in range(len(fields))]
        return RawTable(_scanned(files, separator, names), seekable=False, untyped=True)
    if request.role != "queries" and is_row(fields, user_names):
        return _without_header(files, separator, fields, request)
    if len(fields) > _MOST and not is_named(fields):
        raise request.unreadable(
            f"its first line has {len(fields):,} columns, none of which has the name of a query "
            "or a document",
            "A row holds a query, a document, and a score, rank or grade",
        )
    # polars would rename the second column of the same name.
    if twice := [column for column, count in Counter(fields).items() if column and count > 1]:
        problem = f"its header has {twice[0]!r} more than once"
        raise request.unreadable(problem, "Rename or remove one of them")
    return RawTable(_scanned(files, separator), seekable=False, untyped=True)


def separator_of(head: bytes) -> str | None:
    """Return the separator of the fields of a table; None if the first line seems to have none."""
    line = first_line(head)
    if line.startswith(("{", "[")) or looks_like_trec(line):
        return None
    return next((c for c in ("\t", ",", ";") if c in line), None)


def first_line(head: bytes) -> str:
    """Return the first line that is neither blank nor a comment."""
    lines = head.decode("utf-8", errors="replace").lstrip("\ufeff").splitlines()
    return next((s for s in map(str.strip, lines) if s and not is_comment(s)), "")


def fields_of(head: bytes, separator: str) -> list[str]:
    """Split the first line of a file at `separator` into stripped fields."""
    line = head.decode("utf-8", errors="replace").lstrip("\ufeff").partition("\n")[0]
    try:
        return [field.strip() for field in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:  # fields beyond any length
        return line.split(separator)


def is_row(fields: Sequence[str], user_names: Collection[str] = ()) -> bool:
    """Return whether the first line of a file, split into `fields`, is data and not a header.

    Return True if the line has no known name and no name that the user gave, and either has digits
    in every field or has the fields of TREC text.
    """
    if len(fields) < 2 or is_named(fields) or set(user_names) & set(fields):
        return False
    digits = all(any(c.isdigit() for c in field) for field in fields)
    return digits or (fields[1] in _ITERATIONS and looks_like_trec(" ".join(fields)))


def is_named(fields: Sequence[str]) -> bool:
    """Return whether any field of a file's first line is a known column name."""
    return any(plain_name(field) in _KNOWN for field in fields)


def _scanned(
    files: Sequence[str] | Sequence[IO[bytes]], separator: str, names: Sequence[str] = ()
) -> pl.LazyFrame:
    sources: Any = list(files)
    return pl.scan_csv(
        sources,
        separator=separator,
        has_header=not names,
        schema=dict.fromkeys(names, pl.String()) if names else None,
        infer_schema=False,
        glob=False,
    )


def _without_header(
    files: Sequence[str] | Sequence[IO[bytes]],
    separator: str,
    fields: Sequence[str],
    request: InputRequest,
) -> RawTable:
    """Open a table without a header; tell its columns from their number and content."""
    role, count = request.role, len(fields)
    names: tuple[str, ...] = ()
    if count == len(FIELDS["qrels"]) and fields[1] in _ITERATIONS and role != "run":
        names = FIELDS["qrels"]
    elif count == len(FIELDS["run"]) and fields[1] in _ITERATIONS and role != "qrels":
        names = FIELDS["run"]
    elif count == 2:
        names = (QUERY, DOC)
    elif count == 3 and _NUMBER.fullmatch(fields[2]):
        names = (QUERY, DOC, _third(_scanned(files, separator, (QUERY, DOC, RANK)), request))
    if not names or not names[-1]:
        third = RELEVANCE if role == "qrels" else SCORE
        raise request.unreadable(
            f"its first line looks like values, not like a header ({listing(fields, 6)}), and "
            f"rankframe cannot tell what its {count:,} columns mean",
            "Add a header, or name columns by their numbers: ",
            Option("columns", {role or "run": {**_FIRST_TWO, third: "column_3"}}),
        )
    note = f"its first line is not a header: read as {', '.join(names)}"
    return RawTable(_scanned(files, separator, names), seekable=False, untyped=True, note=note)


def _third(table: pl.LazyFrame, request: InputRequest) -> str:
    """Return the name of the third of three columns: rank or relevance; "" if that is unknown.

    The column has ranks if all queries have 1, 2, 3, …, in any order. Other numbers are grades in
    judgments; in a run they are ambiguous: a score (higher is better) or a distance.
    """
    longest = 0 if _falls(table) else _longest_ranking(table)
    if request.role != "qrels":
        return RANK if longest else ""
    if longest >= _RANKED:
        raise request.unreadable(
            "it looks like a run (query, document, rank), where qrels should be",
            "The judgments come first, then the run",
        )
    return RELEVANCE


def _falls(table: pl.LazyFrame) -> bool:
    """Return whether the third column falls from row to row of a query, as scores do."""
    first_rows = table.head(_LOOKED_AT).collect()
    number = first_rows[RANK].str.strip_chars().cast(pl.Int64, strict=False)
    steps = number.diff().filter(first_rows[QUERY] == first_rows[QUERY].shift()).drop_nulls()
    return len(steps) > 0 and bool((steps < 0).all())


def _longest_ranking(table: pl.LazyFrame) -> int:
    """Return the length of the longest ranking; 0 unless all have ranks 1, 2, … or 0, 1, …."""
    rank = pl.col(RANK).str.strip_chars().cast(pl.Int64, strict=False)
    by_query = table.group_by(QUERY).agg(
        rows=pl.len(),
        distinct=rank.n_unique(),
        first=rank.min(),
        last=rank.max(),
        gaps=rank.is_null().any(),
    )
    whole = (
        (pl.col("rows") == pl.col("distinct"))
        & pl.col("first").is_in([0, 1])
        & (pl.col("last") - pl.col("first") + 1 == pl.col("rows"))
        & ~pl.col("gaps")
    )
    summary = by_query.select(whole.all().alias("all"), pl.col("rows").max())
    all_whole, longest = summary.collect(engine="streaming").row(0)
    return longest if all_whole and longest else 0
