"""Readers of text that comes in blocks of whole lines: a table a block, at last what is wrong."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, Protocol

import polars as pl

from rankframe.core.columns import RANK, SCORE, Role
from rankframe.core.errors import MalformedLineError
from rankframe.io.formats.json_text import NO_JSON, open_json_lines
from rankframe.io.formats.trec_format import Kind, Mistakes, read_even, some_lines


class LineReader(Protocol):
    """Reads one text."""

    # whether lines may end between quotation marks, without ending the row
    quotes: bool
    # columns that are left out, as the whole has shown
    dropped: tuple[str, ...]

    def begin(self, block: bytes) -> bool:
        """Look at the first block; False if such a text must be read in another way."""
        ...

    def table(self, block: bytes, above: int) -> pl.DataFrame:
        """Read a block that follows `above` lines; return no columns if the block is empty."""
        ...

    def end(self) -> bool:
        """Refuse the text if something was wrong; True if it must be read once more."""
        ...


class TrecReader:
    """TREC text."""

    quotes = False

    def __init__(self, role: Role | None, name: str) -> None:
        self._asked: Kind | None = role if role != "queries" else None
        self._role: Kind | None = self._asked
        self._name = name
        self._mistakes = Mistakes()
        # of the scores: text where floats may not hold one of them
        self._types: set[pl.DataType] = set()
        self.dropped: tuple[str, ...] = ()

    def begin(self, block: bytes) -> bool:  # noqa: ARG002
        """Accept any text, and forget the mistakes of an earlier pass."""
        self._mistakes = Mistakes()
        return True

    def table(self, block: bytes, above: int) -> pl.DataFrame:
        """Read a block; after the first mistake, count mistakes and return no rows."""
        exact = pl.String in self._types
        found = None if exact else read_even(io.BytesIO(block), self._role)
        if found is None:
            found, mistakes = some_lines(io.BytesIO(block), self._role, exact=exact)
        else:
            kind: Kind = "run" if SCORE in found.columns else "qrels"
            mistakes = Mistakes(kind, found.height)
        self._mistakes = self._mistakes.and_then(mistakes, above)
        if mistakes.lines:
            self._role = self._mistakes.kind  # of the first line, where nobody said
        if self._role == "run" and found.width and RANK not in found.columns:
            self.dropped = (RANK,)  # one that is no number says that none of them are ranks
        if SCORE in found.columns:
            self._types.add(found[SCORE].dtype)
        wrong = self._mistakes.fields.count or self._mistakes.numbers.count
        return pl.DataFrame() if wrong else found

    def end(self) -> bool:
        """Refuse mistakes; ask for another pass if some scores are text and others numbers."""
        self._mistakes.refuse(self._asked, self._name)
        again = len(self._types) > 1
        self._types &= {pl.String()}
        return again


class TableReader:
    """A table with a header, CSV or TSV; `read`: reads one."""

    quotes = True
    dropped: tuple[str, ...] = ()

    def __init__(self, read: Callable[[IO[bytes]], object]) -> None:
        self._read = read
        self._header = b""
        self._first = True

    def begin(self, block: bytes) -> bool:
        """Take the first line as the header; return False if it is a row, or ends inside quotes."""
        end = block.find(b"\n") + 1
        if not end or block.count(b'"', 0, end) % 2:
            return False
        self._header = block[:end]
        return (found := self._frame(self._header)) is not None and found.is_empty()

    def table(self, block: bytes, above: int) -> pl.DataFrame:
        """Read a block under the header of the first one."""
        found = self._frame(block if not above else self._header + block)
        assert found is not None  # its header is that of the first
        return found

    def end(self) -> bool:
        """Return False: one pass is enough, and `table` has raised any error."""
        return False

    def _frame(self, text: bytes) -> pl.DataFrame | None:
        found = self._read(io.BytesIO(text))
        return found.collect() if isinstance(found, pl.LazyFrame) else None


class JsonReader:
    """JSON Lines; `read`: reads some, whatever they hold."""

    quotes = False
    dropped: tuple[str, ...] = ()

    def __init__(self, name: str, read: Callable[[IO[bytes]], object]) -> None:
        self._name, self._read = name, read
        self._wrong: MalformedLineError | None = None
        self._seen: dict[tuple[tuple[str, pl.DataType], ...], None] = {}
        # of the whole text, once that is known to matter
        self._schema: pl.Schema | None = None

    def begin(self, block: bytes) -> bool:
        """Return whether each line is a row that polars reads as it is, without restructuring."""
        try:
            found = self._read(io.BytesIO(block))
            plain = open_json_lines([io.BytesIO(block)], self._name)
        except MalformedLineError:
            return True  # `table` counts the malformed lines of the whole text
        return isinstance(found, pl.LazyFrame) and found.collect_schema() == plain.collect_schema()

    def table(self, block: bytes, above: int) -> pl.DataFrame:
        """Read a block; after the first malformed line, count such lines and return no rows."""
        if not block.strip():
            return pl.DataFrame()
        if self._schema is not None:
            return pl.scan_ndjson(io.BytesIO(block), schema=self._schema).collect()
        try:
            table = open_json_lines([io.BytesIO(block)], self._name).collect()
        except MalformedLineError as error:
            found = error.below(above)
            if found.problem.startswith(NO_JSON):
                raise found from None
            if self._wrong is None:
                self._wrong = found
            elif found.problem == self._wrong.problem:
                self._wrong = self._wrong.and_also(found.count)
            return pl.DataFrame()
        self._seen[tuple(table.schema.items())] = None
        return table if self._wrong is None else pl.DataFrame()

    def end(self) -> bool:
        """Raise the error; ask for another pass if a column has numbers in some blocks only.

        Its other blocks have text. In the second pass, polars itself reads the numbers as text.
        """
        if self._wrong is not None:
            raise self._wrong
        if self._schema is not None:
            return False
        empty = [pl.DataFrame(schema=dict(schema)) for schema in self._seen]
        whole = pl.concat(empty, how="diagonal_relaxed").schema
        same = all(kind in (pl.Null, whole[name]) for schema in self._seen for name, kind in schema)
        self._schema = None if same else whole
        return not same
