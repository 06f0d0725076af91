"""Runs to be fused: opened under their names, held by query, and brought together in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.prepared import Prepared
from rankframe.analysis.fusion.stack import Stack, stack
from rankframe.core.columns import QUERY, RANK, SCORE
from rankframe.core.errors import DuplicateError, OptionError
from rankframe.core.messages import masked, shown
from rankframe.core.wording import naming_the_run
from rankframe.engine.contiguous import workers
from rankframe.frames.pair_sides import Side, index_ranking
from rankframe.io.batches import Batches
from rankframe.io.formats.packing import bare_name
from rankframe.io.input_table import InputTable, comparable
from rankframe.io.inputs import Columns, Source
from rankframe.io.opening import open_table
from rankframe.io.roll_up import in_units
from rankframe.io.validate import load_unique
from rankframe.kernel.batch import Column, as_text, taken
from rankframe.kernel.codes import text_order
from rankframe.kernel.matching import QueryIndex, group_equal

Ints = NDArray[np.int64]
# Rows that are brought together at a time: the more, the less often threads wait for each other
# (60,000 took half as long again); but no more than a part of what is held.
_LEAST_BLOCK, _LARGEST_BLOCK, _BLOCKS = 60_000, 1 << 18, 8


def named_runs(runs: object) -> dict[str, Source]:
    """Runs by name: as given, or by the names of their files."""
    if isinstance(runs, Mapping):
        named = dict(runs)
    elif isinstance(runs, list | tuple):
        named = dict(zip(_names(runs), runs, strict=True))
    else:
        raise OptionError(
            f"runs are a mapping of names to runs, or a list of them, not {shown(runs)}."
        )
    if odd := [name for name in named if not isinstance(name, str) or not name]:
        raise OptionError(f"the name of a run is text, not {shown(odd[0])}.")
    if len(named) < 2:
        there = f": {next(iter(named))!r}" if named else ""
        raise OptionError(f"fusion needs at least two runs, and there is {len(named)}{there}.")
    return named


def _names(runs: Sequence[Source]) -> list[str]:
    """Names of files without their endings, or whole paths where those are not distinct."""
    paths = [masked(str(one)) if isinstance(one, str | os.PathLike) else None for one in runs]
    short = [
        f"run {number}" if path is None else bare_name(path.rstrip("/")).rsplit(".", 1)[0]
        for number, path in enumerate(paths, start=1)
    ]
    if len(set(short)) < len(short):
        whole = zip(paths, short, strict=True)
        short = [name if path is None else path for path, name in whole]
    if twice := [name for name in short if short.count(name) > 1]:
        raise OptionError(f"two runs are named {twice[0]!r}. Give each a name of its own.")
    return short


def open_runs(
    runs: Mapping[str, Source],
    policies: FusionPolicies,
    columns: Columns | None = None,
    limit: int | None = None,
) -> dict[str, InputTable]:
    """Open each run; rows are read later."""
    opened: dict[str, InputTable] = {}
    for name, source in runs.items():
        with naming_the_run(repr(name)):
            run = open_table(
                source, "run", columns, order=policies.order, ranks=policies.ranks, limit=limit
            )
            opened[name] = run if policies.unit is None else in_units(run, policies.unit)
    return opened


def unscored(runs: Mapping[str, InputTable]) -> tuple[str, ...]:
    """The runs that have no scores."""
    return tuple(name for name, run in runs.items() if SCORE not in run.mapping)


@dataclass(frozen=True)
class HeldRuns:
    """Runs in memory, and where the queries of each are."""

    names: tuple[str, ...]
    sides: tuple[InputTable, ...]
    held: tuple[QueryIndex, ...]
    policies: FusionPolicies
    # all queries, as text and in byte order
    queries: pl.Series
    # of each run, the number of each of these queries; -1 where it lacks it
    numbers: tuple[Ints, ...]

    @classmethod
    def of(cls, runs: Mapping[str, InputTable], policies: FusionPolicies) -> HeldRuns:
        """Read all rows of all runs."""
        sides = tuple(runs.values())

        def read(name: str, side: InputTable, frame: pl.LazyFrame) -> QueryIndex:
            with naming_the_run(repr(name)):
                return index_ranking(Batches(side, _cut(frame, policies)).whole())

        # One is put together while the next is read.
        with ThreadPoolExecutor(2) as pool:
            held = tuple(pool.map(read, runs, sides, comparable(*sides)))
        queries, numbers = _all_queries(held)
        return cls(tuple(runs), sides, held, policies, queries, numbers)

    @cached_property
    def lengths(self) -> Ints:
        """How many rows each query has in all runs."""
        total = np.zeros(len(self.queries), np.int64)
        for one, numbers in zip(self.held, self.numbers, strict=True):
            if len(one.starts):
                total += np.where(numbers >= 0, one.lengths.take(numbers), 0)
        return total

    @property
    def rows(self) -> int:
        """Of all runs."""
        return int(self.lengths.sum())

    def in_memory(self) -> Iterator[HeldRuns]:
        """One piece after the other: this one is all."""
        yield self

    def blocks(self, numbers: Ints | None = None) -> list[Ints]:
        """All queries, or some by their numbers, in stretches that are worked on together."""
        if numbers is None:
            numbers = np.arange(len(self.queries))
        upto = np.cumsum(self.lengths[numbers])
        rows = min(max(self.rows // _BLOCKS, _LEAST_BLOCK), _LARGEST_BLOCK)
        cuts = np.flatnonzero(np.diff(upto // rows)) + 1
        return [some for some in np.split(numbers, cuts) if len(some)]

    def stack(self, block: Ints) -> Stack:
        """What all runs say of some queries."""
        sides = [
            Side.from_index(one, numbers[block])
            for one, numbers in zip(self.held, self.numbers, strict=True)
        ]
        try:
            return stack(taken(self.queries, block), sides, self.policies)
        except DuplicateError:
            # Said of the whole input: how many in all, and which rows of it.
            for name, side in zip(self.names, self.sides, strict=True):
                with naming_the_run(repr(name)):
                    load_unique(side)
            raise

    def prepared(self) -> Prepared:
        """All of it brought together, and held so."""
        with ThreadPoolExecutor(workers()) as pool:
            stacks = tuple(pool.map(self.stack, self.blocks()))
        return Prepared(
            self.names, stacks, unscored(dict(zip(self.names, self.sides, strict=True)))
        )


def _cut(frame: pl.LazyFrame, policies: FusionPolicies) -> pl.LazyFrame:
    """Ranks that are kept say which documents are within the depth; others are ranked first."""
    if policies.ranks != "kept" or policies.depth is None:
        return frame
    return frame.filter((pl.col(RANK) <= policies.depth).fill_null(value=True))


def _all_queries(held: Sequence[QueryIndex]) -> tuple[pl.Series, tuple[Ints, ...]]:
    """The queries of all runs in byte order, and of each run the numbers that these have there."""
    heads = [one.queries for one in held]
    first = heads[0]
    if all(len(one) == len(first) and (one == first).all() for one in heads[1:]):
        names = as_text(first)
        order = text_order(names)
        return taken(names, order).alias(QUERY), (order,) * len(held)
    every = pl.concat(heads, rechunk=True)
    of = group_equal(np.concatenate([one.index.keys for one in held]), Column(every))
    distinct = np.flatnonzero(of == np.arange(len(of)))
    names = as_text(taken(every, distinct))
    order = text_order(names)
    place = np.empty(len(of), np.int64)
    place[distinct[order]] = np.arange(len(distinct))
    numbers: list[Ints] = []
    end = 0
    for one in heads:
        begin, end = end, end + len(one)
        mine = np.full(len(distinct), -1)
        mine[place[of[begin:end]]] = np.arange(len(one))
        numbers.append(mine)
    return taken(names, order).alias(QUERY), tuple(numbers)
