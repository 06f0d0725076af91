"""Read an input as a stream of tables, each row with its key, and check them as they come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Literal

import numpy as np
import polars as pl

from rankframe.core.columns import DOC, GROUP_WEIGHT, QUERY, RELEVANCE
from rankframe.core.errors import DuplicateError, EmptyInputError
from rankframe.core.memory_budget import MemoryBudget
from rankframe.core.options import LARGEST_WEIGHT
from rankframe.io.formats.registry import READ_ERRORS
from rankframe.io.input_table import InputTable, in_steps
from rankframe.io.validate import check_rows, first_broken, load_unique
from rankframe.kernel.batch import HASHES, KEY, QUERY_HASH, hash_of_empty, hashed, numbers_of

# How many times the bytes that may be read at once the batches under way may take together.
_UNDER_WAY = 4


class Batches:
    """The rows of an input in order, some at a time.

    `frame` are its columns, ids in the form in which they are compared. `at_once`: how many bytes
    of them may be read ahead; None: as many as polars likes.
    """

    def __init__(
        self, scanned: InputTable, frame: pl.LazyFrame, at_once: int | None = None
    ) -> None:
        self.scanned = scanned
        self._frame = frame
        self._at_once = at_once
        schema = frame.collect_schema()
        self._empty = {name: hash_of_empty(name, schema[name]) for name in (QUERY, DOC)}

    @property
    def bounded(self) -> bool:
        """Return whether memory is limited."""
        return self._at_once is not None

    def budget(self) -> MemoryBudget:
        """Return what the batches under way may take together.

        The reader must acquire the bytes of each batch before it hands the batch to a thread, and
        the thread must release them: this keeps the memory limit whichever of the two is faster.
        """
        return MemoryBudget(None if self._at_once is None else _UNDER_WAY * self._at_once)

    def read(self, rows: int, threads: int = 1) -> Iterator[pl.DataFrame]:
        """Read all rows with hashes, not checked yet, in tables of at most `rows` rows.

        They are cut from the tables as they are read, small ones put together: nothing is copied
        where these are large. Within a limit they are small enough for each of so many threads to
        have one within the budget.
        """
        small: list[pl.DataFrame] = []
        waiting = 0
        for table in self._tables(threads):
            if small and waiting + table.height > rows:
                yield pl.concat(small, rechunk=True)
                small, waiting = [], 0
            if 2 * table.height <= rows and self._at_once is None:
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
        """Read tables as polars does, as a rule a row group at a time; or in steps."""
        hashes, at_once = hashed(self._frame), self._at_once
        if at_once is not None:  # a batch for each thread, one that waits, one that is read
            at_once = min(at_once, _UNDER_WAY * at_once // (threads + 2))
        nothing = True
        with self.scanned.explained():
            for table in (
                hashes.collect_batches(lazy=True)
                if at_once is None
                else in_steps(hashes, at_once, seekable=self.scanned.seekable)
            ):
                nothing = nothing and table.is_empty()
                yield table.rechunk()
        if nothing and not self.scanned.part:
            raise EmptyInputError(self.scanned.role, self.scanned.name)

    def beginning(self, rows: int) -> pl.DataFrame:
        """Read the first rows with hashes; none where that means to read more."""
        first_rows = self._frame.head(rows if self.scanned.seekable else 0)
        try:
            return hashed(first_rows).collect(engine="in-memory")
        except READ_ERRORS:  # reading the whole table raises the error with its reason
            return hashed(self._frame.clear()).collect()

    def whole(self) -> pl.DataFrame:
        """Read all rows with hashes, and check them."""
        if self._at_once is not None:
            table = pl.concat(self._tables(), rechunk=True)
        else:
            with self.scanned.explained():
                table = hashed(self._frame).collect(engine="streaming").rechunk()
        if table.is_empty() and not self.scanned.part:
            raise EmptyInputError(self.scanned.role, self.scanned.name)
        if not self._looks_clean(table):
            self._refuse(_as_checked(table))
        return table

    def by_name(self) -> Batches:
        """Sort the input by the names of its queries, in memory."""
        query = pl.col(QUERY).cast(pl.String)
        with self.scanned.explained():
            frame = self._frame.sort(query, maintain_order=True).collect(engine="in-memory")
        return Batches(self.scanned, frame.lazy())

    def check(self, table: pl.DataFrame) -> None:
        """Refuse the input if a row of this table breaks a rule, and say so of the whole."""
        if self._looks_clean(table):
            return
        rows, side = _as_checked(table), self.scanned
        if first_broken(rows)[1] is None:
            return
        # Where the whole cannot be read again, or is another by now: what was seen.
        with suppress(OSError, pl.exceptions.PolarsError):
            self._refuse(side.frame, engine="streaming")
        self._refuse(rows)

    def explain(self, error: DuplicateError) -> None:
        """Raise the error that says how many documents of the whole input come twice, and where."""
        if error.role == self.scanned.role:
            load_unique(self.scanned)

    def _refuse(
        self, rows: pl.LazyFrame, *, engine: Literal["in-memory", "streaming"] = "in-memory"
    ) -> None:
        side = self.scanned
        check_rows(rows, side.role, side.name, engine=engine, numbered=side.numbered)

    def _looks_clean(self, batch: pl.DataFrame) -> bool:
        """Return whether no row can break a rule, as far as is quickly seen."""
        numbers = numbers_of(batch)
        if any(batch[name].null_count() for name in (QUERY, DOC, *numbers)):
            return False
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # large numbers, which are then looked at
            if not all(np.isfinite(batch[name].to_numpy().sum()) for name in numbers):
                return False
        if RELEVANCE in numbers and batch.height:
            grades = batch[RELEVANCE].to_numpy()
            if grades.max() > LARGEST_WEIGHT or grades.min() < -LARGEST_WEIGHT:
                return False
        if GROUP_WEIGHT in numbers and batch.height:
            weights = batch[GROUP_WEIGHT].to_numpy()
            if weights.max() > LARGEST_WEIGHT or weights.min() <= 0:
                return False
        query, key = batch[QUERY_HASH].to_numpy(), batch[KEY].to_numpy()
        empty_query, empty_doc = self._empty[QUERY], self._empty[DOC]
        return not (
            (empty_query is not None and (query == empty_query).any())
            or (empty_doc is not None and (key == query ^ empty_doc).any())
        )


def _as_checked(table: pl.DataFrame) -> pl.LazyFrame:
    """Return a table as rules look at it: ids as text, without hashes."""
    return table.lazy().drop(HASHES, strict=False).with_columns(pl.col(QUERY, DOC).cast(pl.String))
