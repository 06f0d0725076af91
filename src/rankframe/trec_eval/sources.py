"""Open judgments and a run as trec_eval does.

Grades are whole numbers, ranks are ignored, and the name of a run is the tag in its last line.
"""

from __future__ import annotations

import io
import os
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import polars as pl

from rankframe.core.columns import DOC, RANK, RELEVANCE, SCORE, SUBTOPIC, SUBTOPIC_WEIGHT
from rankframe.core.errors import MissingColumnError
from rankframe.io.formats.packing import bare_name, packing_of
from rankframe.io.formats.registry import PARQUET, READ_ERRORS, by_ending, reading
from rankframe.io.formats.trec_format import ITERATION, is_comment, read_trec, tag_of
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, describe, open_judgments
from rankframe.io.opening import open_table
from rankframe.io.sources.files import trec_texts

_TAGS = ("run_id", "runid", "tag")
_TAIL = 1 << 16
_OF_GROUPS = (SUBTOPIC, SUBTOPIC_WEIGHT)


def open_trec_judgments(
    source: Source, columns: Columns | None, relevance: float | None = None
) -> InputTable:
    """Open judgments, with fractions of grades cut off.

    `relevance`: the grade of every judgment, for judgments without grades.
    """
    source = buffer_stream(source)
    texts = trec_texts(source)
    if texts is None:
        scanned = open_judgments(source, columns, relevance=relevance)
        # trec_eval does not know subtopics: a document with several of them is a duplicate.
        plain = {
            column: original
            for column, original in scanned.mapping.items()
            if column not in _OF_GROUPS
        }
        return _truncated(replace(scanned, mapping=plain))
    name = describe(source, "qrels")
    with reading(name):
        frames = [
            read_trec(text, "qrels", text if isinstance(text, str) else name, whole=True).drop(
                ITERATION, strict=False
            )
            for text in texts
        ]
    return replace(open_table(pl.concat(frames), "qrels", columns, relevance=relevance), name=name)


def open_trec_run(source: Source, columns: Columns | None) -> tuple[InputTable, str]:
    """Open a run; return the run and its name. If it has scores, ranks are ignored, not checked."""
    source = buffer_stream(source)
    run = open_table(source, "run", columns)
    if not {SCORE, RANK} & set(run.mapping):
        raise MissingColumnError("run", SCORE, run.raw.collect_schema().names())
    if SCORE in run.mapping:
        mapping = {column: original for column, original in run.mapping.items() if column != RANK}
        run = replace(run, mapping=mapping)
    return run, _tag(source) or _run_id(run, source)


def rename_documents(run: InputTable) -> InputTable:
    """Return the run with all documents renamed, so that no document is judged."""
    original = run.mapping[DOC]
    renamed = pl.concat_str(pl.lit("\0"), pl.col(original).cast(pl.String))
    return run.changed(run.raw.with_columns(renamed.alias(original)))


def _truncated(judgments: InputTable) -> InputTable:
    """Return the judgments with fractions of grades cut off."""
    original = judgments.mapping[RELEVANCE]
    grade, kind = pl.col(original), judgments.raw.collect_schema()[original]
    if kind == pl.String:
        # A text that is no number is kept, so that a later error can quote it.
        number = grade.str.strip_chars().cast(pl.Float64, strict=False).truncate()
        whole = pl.coalesce(number.cast(pl.String), grade)
    elif kind.is_numeric() and not kind.is_integer():
        whole = grade.cast(pl.Float64).truncate()
    else:
        return judgments
    return judgments.changed(judgments.raw.with_columns(whole.alias(original)))


def buffer_stream(source: Source) -> Source:
    """Return a source that can be read twice: a stream or pipe is read into memory."""
    if isinstance(source, str | os.PathLike):
        if not _is_pipe(source):
            return source
        with Path(source).open("rb") as pipe:
            return buffer_stream(pipe)
    if not hasattr(source, "read"):
        return source
    try:
        content = source.read()
    except ValueError:  # a closed file: opening it later raises the error
        return source
    copy: Any = io.BytesIO(content.encode() if isinstance(content, str) else content)
    copy.name = getattr(source, "name", "the open file")
    return copy


def _is_pipe(path: str | os.PathLike[str]) -> bool:
    try:
        return Path(path).is_fifo()
    except OSError:  # a name that is too long: opening it later raises the error
        return False


def _tag(source: Source) -> str | None:
    """Return the tag in a TREC text: the sixth field of the last line that is no comment."""
    if isinstance(source, io.BytesIO):
        file = io.BytesIO(source.getvalue())
    elif isinstance(source, str | os.PathLike):
        path = Path(os.path.expanduser(source))  # noqa: PTH111 (pathlib's fails on an unknown user)
        if not path.is_file() or by_ending(path) is PARQUET:
            return None
        file = path.open("rb")
    else:
        return None
    with file, suppress(*READ_ERRORS):
        lines = _tail(file).decode("utf-8", errors="replace").splitlines()
        return tag_of(next((s for s in reversed(lines) if s.strip() and not is_comment(s)), ""))
    return None


def _tail(file: IO[bytes]) -> bytes:
    """Return the last bytes of a file, decompressed if needed."""
    packing = packing_of(file.read(8))
    if packing is None:
        file.seek(max(file.seek(0, os.SEEK_END) - _TAIL, 0))
        return file.read()
    file.seek(0)
    with packing.read(file) as unpacked:
        return b"".join(deque(iter(lambda: unpacked.read(_TAIL), b""), maxlen=2))


def _run_id(run: InputTable, source: Source) -> str:
    """Return the name of the run: from a column of the run, else from the name of its file."""
    schema: Mapping[str, pl.DataType] = run.raw.collect_schema()
    named = [column for column in schema if column.lower() in _TAGS]
    if named:
        last = run.raw.select(pl.col(named[0]).cast(pl.String)).tail(1).collect().item()
        if last:
            return last
    if isinstance(source, str | os.PathLike):
        return bare_name(os.fspath(source)).rsplit(".", 1)[0]
    return "rankframe"
