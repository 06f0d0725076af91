"""Read the rows of an input in tables, add hashes of the ids, and check rows against rules.

A clean input costs a few scans and one hash per row. Only a broken rule pays for its example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE, SUBTOPIC, SUBTOPIC_WEIGHT
from rankframe.core.errors import BadValueError, DuplicateError, EmptyInputError
from rankframe.core.options import LARGEST_WEIGHT, Duplicates
from rankframe.core.records import record
from rankframe.core.threads import MemoryBudget
from rankframe.io.formats.registry import READ_ERRORS
from rankframe.io.input_table import InputTable, in_steps
from rankframe.io.raw_table import read_tables
from rankframe.kernel import reading
from rankframe.kernel.batch import HASHES, KEY, QUERY_HASH, hash_of_empty, hashed, numbers_of
from rankframe.kernel.duplicates import deduplicate

# The batches in memory at one time may take this many times the bytes that may be read ahead.
_UNDER_WAY = 4
_SAMPLE = 1_000
_ADVICE = {
    SCORE: "Give every document a finite score",
    RANK: "Give every document a rank",
    RELEVANCE: "Give every judgment a finite grade",
}
Engine: TypeAlias = Literal["in-memory", "streaming"]


class Batches:
    """Read the rows of an input in order, in tables.

    `frame`: the columns of the input, with ids in the types in which they are compared.
    `at_once`: the number of bytes that may be read ahead; None lets polars decide.
    """

    def __init__(
        self, scanned: InputTable, frame: pl.LazyFrame, at_once: int | None = None
    ) -> None:
        self.scanned = scanned
        self._frame = frame
        self._at_once = at_once
        self.bounded = at_once is not None or scanned.part
        schema = frame.collect_schema()
        self._empty_query = hash_of_empty(QUERY, schema[QUERY])
        self._empty_doc = hash_of_empty(DOC, schema[DOC])

    def small(self) -> bool:
        """Return whether the input has few rows, judged without reading all of them."""
        if self._at_once is not None or not self.scanned.is_countable:
            return False
        try:
            return self.scanned.count(estimated=True) < reading.SMALL_INPUT
        except READ_ERRORS:  # reading the whole input raises the error with its reason
            return False

    def budget(self) -> MemoryBudget:
        """Return the budget, in bytes, that all batches in memory share.

        The reader must acquire the bytes of each batch before it hands the batch to a thread, and
        the thread must release them: this keeps the memory limit whichever of the two is faster.
        """
        return MemoryBudget(None if self._at_once is None else _UNDER_WAY * self._at_once)

    def read(self, rows: int, threads: int = 1) -> Iterator[pl.DataFrame]:
        """Yield all rows with hashes, not checked yet, in tables of at most `rows` rows.

        Large tables from the reader are sliced without a copy; small tables are concatenated. With
        a memory limit, tables are small enough that `threads` of them fit into the budget.
        """
        small: list[pl.DataFrame] = []
        waiting = 0
        for table in self._tables(threads):
            is_small = 2 * table.height <= rows and self._at_once is None
            if small and not (is_small and waiting + table.height <= rows):
                yield pl.concat(small, rechunk=True)
                small, waiting = [], 0
            if is_small:
                small.append(table)
                waiting += table.height
                continue
            cuts = -(-table.height // rows)
            ends = [table.height * cut // cuts for cut in range(cuts + 1)]
            for start, end in pairwise(ends):
                yield table[start:end]
        if small:
            yield pl.concat(small, rechunk=True)

    def _tables(self, threads: int = 1) -> Iterator[pl.DataFrame]:
        """Yield all rows with hashes, in tables as polars reads them or, with a limit, slices."""
        hashes, at_once = hashed(self._frame), self._at_once
        if at_once is not None:  # a batch per thread, one in the queue, one being read
            at_once = min(at_once, _UNDER_WAY * at_once // (threads + 2))
        side, nothing = self.scanned, True
        with side.explained():
            for table in (
                read_tables(hashes)
                if at_once is None
                else in_steps(hashes, at_once, seekable=side.seekable)
            ):
                nothing = nothing and table.is_empty()
                yield table.rechunk()
        _check_count(side, 0 if nothing else 1)

    def beginning(self, rows: int) -> pl.DataFrame:
        """Return the first `rows` rows with hashes; none if the input cannot be read in slices."""
        first_rows = self._frame.head(rows if self.scanned.seekable else 0)
        try:
            return hashed(first_rows).collect(engine="in-memory")
        except READ_ERRORS:  # reading the whole table raises the error with its reason
            return hashed(self._frame.clear()).collect()

    def whole(self) -> pl.DataFrame:
        """Read all rows of the input, add hashes, and refuse the input if a row breaks a rule."""
        if self._at_once is not None:
            table = pl.concat(self._tables(), rechunk=True)
        else:
            engine = "in-memory" if self.small() else "streaming"
            with self.scanned.explained():
                table = hashed(self._frame).collect(engine=engine).rechunk()
        _check_count(self.scanned, table.height)
        if not self._looks_clean(table):
            _check_side(self.scanned, _as_checked(table))
        return table

    def by_name(self) -> Batches:
        """Return the input with its rows sorted by query id as text; rows are read into memory."""
        query = pl.col(QUERY).cast(pl.String)
        with self.scanned.explained():
            frame = self._frame.sort(query, maintain_order=True).collect(engine="in-memory")
        return Batches(self.scanned, frame.lazy())

    def check(self, table: pl.DataFrame) -> None:
        """Refuse the input if a row of `table` breaks a rule; the error counts the whole input's
        rows.
        """
        if self._looks_clean(table):
            return
        rows, side = _as_checked(table), self.scanned
        if first_broken(rows)[1] is None:
            return
        # If the input cannot be read again, or has changed, the error counts only these rows.
        with suppress(OSError, pl.exceptions.PolarsError):
            _check_side(side, side.frame, engine="streaming")
        _check_side(side, rows)

    def explain(self, error: DuplicateError) -> None:
        """Raise `error` again with all duplicates of the input, if it is about this input."""
        if error.role == self.scanned.role:
            load_unique(self.scanned)

    def _looks_clean(self, batch: pl.DataFrame) -> bool:
        """Return True if a quick check shows that no row breaks a rule, else False."""
        numbers = numbers_of(batch)
        if any(batch[name].null_count() for name in (QUERY, DOC, *numbers)):
            return False
        with np.errstate(over="ignore", invalid="ignore"):  # large numbers are checked below
            for name in numbers:
                if not np.isfinite(batch[name].to_numpy().sum()):
                    return False
        if RELEVANCE in numbers and batch.height:
            grades = batch[RELEVANCE].to_numpy()
            if grades.max() > LARGEST_WEIGHT or grades.min() < -LARGEST_WEIGHT:
                return False
        if SUBTOPIC_WEIGHT in numbers and batch.height:
            weights = batch[SUBTOPIC_WEIGHT].to_numpy()
            if weights.max() > LARGEST_WEIGHT or weights.min() <= 0:
                return False
        query, key = batch[QUERY_HASH].to_numpy(), batch[KEY].to_numpy()
        return not (
            (self._empty_query is not None and (query == self._empty_query).any())
            or (self._empty_doc is not None and (key == query ^ self._empty_doc).any())
        )


def _as_checked(table: pl.DataFrame) -> pl.LazyFrame:
    """Return `table` in the form that `check_rows` takes: ids as text, without hashes."""
    return table.lazy().drop(HASHES, strict=False).with_columns(pl.col(QUERY, DOC).cast(pl.String))


@record
class Rule:
    """Describe a rule for rows: a problem, and the expression that finds rows with it."""

    column: str
    problem: str
    broken: pl.Expr
    advice: str


@record
class Broken:
    """Hold a broken rule, its position in the list of rules, and how many rows break it."""

    place: int
    rule: Rule
    rows: int


def _rules(columns: list[str]) -> list[Rule]:
    rules = []
    for key in filter(columns.__contains__, (QUERY, DOC)):
        column = pl.col(key)
        rules += [
            Rule(key, f"a null {key}", column.is_null(), "Remove them, or give them an id"),
            Rule(key, f"an empty {key}", column.str.len_bytes() == 0, "Give them an id"),
        ]
    for name in filter(columns.__contains__, _ADVICE):
        column, advice = pl.col(name), _ADVICE[name]
        rules += [
            Rule(name, f"a null {name}", column.is_null(), advice),
            Rule(name, f"a NaN {name}", column.is_nan(), advice),
            Rule(name, f"an infinite {name}", column.is_infinite(), advice),
        ]
    if RELEVANCE in columns:
        large = pl.col(RELEVANCE).abs() > LARGEST_WEIGHT
        problem = f"a {RELEVANCE} beyond {LARGEST_WEIGHT:g}"
        rules.append(Rule(RELEVANCE, problem, large, "Scale the grades"))
    if SUBTOPIC_WEIGHT in columns:
        weight, advice = pl.col(SUBTOPIC_WEIGHT), "Leave out subtopics that should not count"
        proper = weight.is_finite() & (weight > 0) & (weight <= LARGEST_WEIGHT)
        problem = f"a {SUBTOPIC_WEIGHT} that is not above 0 and at most {LARGEST_WEIGHT:g}"
        broken = pl.col(SUBTOPIC).is_not_null() & ~proper.fill_null(value=False)
        rules.append(Rule(SUBTOPIC_WEIGHT, problem, broken, advice))
    return rules


def load(table: InputTable) -> pl.DataFrame:
    """Read the rows of an input; refuse it if a row breaks a rule."""
    with table.explained():
        frame = table.frame.collect(engine="in-memory")
    _check_side(table, frame.lazy())
    return frame


def check_input(table: InputTable) -> None:
    """Refuse an input that has no rows, or one that cannot be read or breaks a rule."""
    with table.explained():
        _check_side(table, table.frame, engine="streaming")


def count_rows(table: InputTable) -> int:
    """Count the rows of an input; refuse one that has none."""
    with table.explained():
        rows = table.count()
    _check_count(table, rows)
    return rows


def _check_count(table: InputTable, rows: int) -> None:
    if not rows and not table.part:
        raise EmptyInputError(table.role, table.name)


def _check_side(table: InputTable, rows: pl.LazyFrame, *, engine: Engine = "in-memory") -> None:
    check_rows(rows, table.role, table.name, engine=engine, numbered=table.numbered)


def load_unique(table: InputTable, *, duplicates: Duplicates = "error") -> pl.DataFrame:
    """Read the rows of an input; refuse duplicates, or keep the best of them."""
    return deduplicate(load(table), table.role, duplicates, numbered=table.numbered)


def check_rows(
    frame: pl.LazyFrame,
    role: str,
    name: str,
    *,
    engine: Engine = "in-memory",
    numbered: bool = True,
) -> None:
    """Refuse a frame without rows, or with a row that breaks a rule.

    `numbered`: whether row numbers mean something to the owner of the input.
    """
    rows, broken = first_broken(frame, engine=engine)
    if not rows:
        raise EmptyInputError(role, name)
    if broken is not None:
        rule = broken.rule
        bad = frame.with_row_index("_row").filter(rule.broken).head(1).collect(engine=engine)
        row = bad.row(0, named=True)
        ids = ", ".join(quoted_keys(row, rule.column))
        if numbered or not ids:
            ids = f"row {row['_row'] + 1:,}" + (f" ({ids})" if ids else "")
        raise BadValueError(role, rule.problem, broken.rows, ids, rule.advice)


def first_broken(frame: pl.LazyFrame, *, engine: Engine = "in-memory") -> tuple[int, Broken | None]:
    """Count the rows of a frame, and find the first rule that a row breaks."""
    rules = _rules(frame.collect_schema().names())
    broken = [r.broken.sum().alias(str(i)) for i, r in enumerate(rules)]
    rows, *counts = frame.select(pl.len(), *broken).collect(engine=engine).row(0)
    number = next((number for number, count in enumerate(counts) if count), None)
    return rows, None if number is None else Broken(number, rules[number], counts[number])


def some_ids(left: InputTable, right: InputTable, key: str) -> tuple[list[str], list[str]]:
    """Return up to three ids of each of two inputs, as examples for an error about ids.

    `key`: the column of the ids. Ids of documents are taken from queries that both inputs have.
    """
    examples = []
    for side, other in ((left, right), (right, left)):
        rows = side.frame
        if key == DOC:
            rows = rows.join(other.frame, on=QUERY, how="semi", maintain_order="left")
        ids = rows.select(key).head(_SAMPLE).collect(engine="streaming")[key]
        examples.append(ids.unique(maintain_order=True).head(3).to_list())
    return examples[0], examples[1]


def quoted_keys(row: Mapping[str, object], column: str) -> list[str]:
    """Return the ids of a row in quotes, except the id in `column`, which has the problem."""
    return [f"{key} {row[key]!r}" for key in (QUERY, DOC) if key in row and key != column]
