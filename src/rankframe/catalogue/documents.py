"""How often each document is shown, over all queries: counts that add up, and what they make.

Queries are dealt into groups by a hash of their ids, and counted by group: an aggregate over
documents is computed once of all, and once without each group, which gives its interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.base.columns import DOC, DOCUMENTS_FRAME
from rankframe.base.errors import MetricParameterError
from rankframe.catalogue.items import Catalogue
from rankframe.catalogue.rows import ShownRows
from rankframe.engine.tally import WHOLE, SliceKey
from rankframe.metrics.metric import Metric
from rankframe.stats.intervals import Bounds
from rankframe.stats.resample import hash_ids
from rankframe.stats.student import t_quantile
from rankframe.stats.tests import two_sided

# Groups of queries, and the fewest lists of which an interval is given: see docs/statistics.md.
GROUPS: Final = 32
FEWEST_LISTS: Final = 200
# Cells of the table of counts: beyond, queries are one group, and there are no intervals.
_MOST_CELLS: Final = 1 << 27
# Rows of counts that wait to be added up.
_WAITING: Final = 1 << 21
_KEYS: Final = ["way", "number", DOC, "bucket"]
_COUNT: Final = "times"
_SCHEMA: Final = {"way": pl.Int32, "number": pl.Int64, DOC: pl.String, "bucket": pl.Int16,
                  _COUNT: pl.Int64}  # fmt: skip


@dataclass
class Shows:
    """How often documents were shown, by group of queries and by cutoff; those of different
    queries add up.
    """

    # ascending; None: the whole list
    cutoffs: tuple[int | None, ...]
    groups: int
    # group × document of the catalogue × the first cutoff that includes it
    known: NDArray[np.int32]
    # the lists themselves: group × the first cutoff that shows any
    lists: NDArray[np.int64]
    # documents that the catalogue does not know (of no way of slicing, by group), and slices of
    # queries: way, number, doc_id, bucket, times
    rest: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_SCHEMA))
    _waiting: list[pl.DataFrame] = field(default_factory=list)

    @classmethod
    def none(cls, cutoffs: Sequence[int | None], catalogue: Catalogue) -> Shows:
        """Nothing counted yet."""
        size, buckets = len(catalogue.docs), len(cutoffs)
        groups = GROUPS if GROUPS * size * buckets <= _MOST_CELLS else 1
        return cls(
            tuple(cutoffs),
            groups,
            np.zeros((groups, size, buckets), np.int32),
            np.zeros((groups, buckets), np.int64),
        )

    def add(self, rows: ShownRows, slices: Sequence[NDArray[np.int64]]) -> None:
        """Count what some lists show; `slices`: of each way of slicing, the number of each list."""
        bucket = self._bucket(rows.rank)
        inside = np.flatnonzero(bucket < len(self.cutoffs))
        group = (hash_ids(rows.queries) % np.uint64(self.groups)).astype(np.int64)
        first = self._bucket(rows.rank[rows.starts])
        shown = first < len(self.cutoffs)
        np.add.at(self.lists, (group[shown], first[shown]), 1)
        code, numbers = rows.code[inside], rows.numbers[inside]
        known = numbers >= 0
        size, buckets = self.known.shape[1:]
        cells = (group[code[known]] * size + numbers[known]) * buckets + bucket[inside][known]
        np.add.at(self.known.reshape(-1), cells, 1)
        strangers = inside[~known]
        if len(strangers):
            self._wait(-1, group[rows.code[strangers]], rows, strangers, bucket[strangers])
        for way, number in enumerate(slices):
            self._wait(way, number[code], rows, inside, bucket[inside])
            self._wait(way, number[shown], None, np.flatnonzero(shown), first[shown])

    def _bucket(self, rank: NDArray[np.integer]) -> NDArray[np.int64]:
        last = np.iinfo(np.int64).max
        ends = np.array([last if k is None else k for k in self.cutoffs], np.int64)
        return np.searchsorted(ends, rank)

    def _wait(
        self, way: int, number: NDArray[np.int64], rows: ShownRows | None,
        at: NDArray[np.int64], bucket: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Rows by what they are counted under; a document of None stands for a list."""
        docs = (
            pl.repeat(None, len(at), dtype=pl.String, eager=True)
            if rows is None
            else rows.docs.gather(at)
        )
        some = pl.DataFrame({"number": number, DOC: docs, "bucket": bucket}).with_columns(
            pl.lit(way).alias("way"), pl.lit(1).alias(_COUNT)
        )
        self._waiting.append(_added(some.select(list(_SCHEMA)).cast(_SCHEMA)))  # pyright: ignore[reportArgumentType]
        if sum(one.height for one in self._waiting) > _WAITING:
            self.settle()

    def settle(self) -> Shows:
        """Add up what waits."""
        if self._waiting:
            self.rest = _added(pl.concat([self.rest, *self._waiting]))
            self._waiting = []
        return self

    def __add__(self, other: Shows) -> Shows:
        self.settle()
        other.settle()
        return Shows(
            self.cutoffs,
            self.groups,
            self.known + other.known,
            self.lists + other.lists,
            _added(pl.concat([self.rest, other.rest])),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the many zeros."""
        self.settle()
        at = np.flatnonzero(self.known)
        return _filled, (
            self.cutoffs, self.groups, self.known.shape, at, self.known.ravel()[at], self.lists,
            self.rest,
        )  # fmt: skip


def _filled(
    cutoffs: tuple[int | None, ...], groups: int, shape: tuple[int, ...],
    at: NDArray[np.int64], counts: NDArray[np.int32], lists: NDArray[np.int64], rest: pl.DataFrame,
) -> Shows:  # fmt: skip
    known = np.zeros(shape, np.int32)
    known.ravel()[at] = counts
    return Shows(cutoffs, groups, known, lists, rest)


def _added(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by(_KEYS).agg(pl.col(_COUNT).sum())


def documents_frame(shows: Shows, catalogue: Catalogue) -> pl.DataFrame:
    """The documents frame of all lists that were counted."""
    return _Counted.of(shows.settle(), catalogue, WHOLE).frame()


@dataclass(frozen=True)
class Aggregate:
    """What a metric makes of all lists, and of all but those of each group."""

    value: float | None
    lists: int
    without: tuple[float | None, ...] = ()
    # how many lists each group has
    sizes: tuple[int, ...] = ()

    def less(self, other: Aggregate) -> Aggregate:
        """The difference from another system's, on the same queries."""
        if self.value is None or other.value is None:
            return Aggregate(None, self.lists)
        same = len(self.without) == len(other.without)
        apart = tuple(
            None if mine is None or theirs is None else mine - theirs
            for mine, theirs in zip(self.without, other.without, strict=same)
        )
        return Aggregate(self.value - other.value, self.lists, apart if same else (), self.sizes)

    @property
    def error(self) -> float | None:
        """The standard error, by leaving out groups of different sizes (Busing et al. 1999)."""
        if self.value is None or len(self.without) < 2 or None in self.without:
            return None
        left, sizes = np.array(self.without, np.float64), np.array(self.sizes, np.float64)
        parts = sizes.sum() / sizes
        pseudo = parts * self.value - (parts - 1) * left
        mean = len(left) * self.value - ((1 - 1 / parts) * left).sum()
        return math.sqrt(float((((pseudo - mean) ** 2) / (parts - 1)).sum() / len(left)))

    def bounds(self, confidence: float) -> Bounds | None:
        """Its interval; None where there is none."""
        error = self.error
        if error is None or self.value is None:
            return None
        half = t_quantile((1 + confidence) / 2, len(self.without) - 1) * error
        return self.value - half, self.value + half

    @property
    def p_value(self) -> float | None:
        """How likely a value this far from 0 is by chance alone."""
        error = self.error
        if error is None or self.value is None:
            return None
        if not error:
            return None if self.value else 1.0
        return two_sided(self.value / error, len(self.without) - 1)


@dataclass(frozen=True)
class OverDocuments:
    """What metrics over documents are made of."""

    shows: Shows
    catalogue: Catalogue

    def of(
        self, metrics: Sequence[Metric], key: SliceKey = WHOLE, *, groups: bool = False
    ) -> list[Aggregate]:
        """Metrics of all lists, or of a slice; `groups`: without each group of queries, too."""
        counted = _Counted.of(self.shows.settle(), self.catalogue, key)
        whole = _values(metrics, counted)
        sizes = counted.lists.sum(axis=1)
        some = np.flatnonzero(sizes).tolist()
        left_out: list[list[float | None]] = []
        if groups and sizes.sum() >= FEWEST_LISTS and len(some) > 1:
            left_out = [_values(metrics, counted, without=group) for group in some]
        return [
            Aggregate(
                value,
                counted.lists_within(metric.params.get("k")),
                tuple(one[at] for one in left_out),
                tuple(sizes[some].tolist()) if left_out else (),
            )
            for at, (metric, value) in enumerate(zip(metrics, whole, strict=True))
        ]


@dataclass(frozen=True)
class _Counted:
    """Documents, and how often each is shown by group and cutoff."""

    documents: pl.DataFrame
    # group × document × cutoff: at or above it
    times: NDArray[np.int64]
    lists: NDArray[np.int64]
    cutoffs: tuple[int | None, ...]

    def lists_within(self, k: int | None) -> int:
        """How many lists show anything in their top k."""
        at = self.cutoffs.index(k)
        return int(self.lists[:, : at + 1].sum())

    @classmethod
    def of(cls, shows: Shows, catalogue: Catalogue, of: SliceKey) -> _Counted:
        buckets = len(shows.cutoffs)
        whole = of == WHOLE
        rest = shows.rest.filter(pl.col("way") == (-1 if whole else of[0]))
        if not whole:
            rest = rest.filter(pl.col("number") == of[1])
        docs = pl.concat([catalogue.docs, rest[DOC].drop_nulls()]).unique().sort()
        known = docs.search_sorted(catalogue.docs).to_numpy()
        groups = shows.groups if whole else 1
        times = np.zeros((groups, len(docs), buckets), np.int64)
        lists = np.zeros((groups, buckets), np.int64)
        if whole:
            times[:, known] = shows.known
            lists += shows.lists
        of_docs = rest.filter(pl.col(DOC).is_not_null())
        group = of_docs["number"].to_numpy() if whole else np.zeros(of_docs.height, np.int64)
        at = docs.search_sorted(of_docs[DOC]).to_numpy()
        np.add.at(times, (group, at, of_docs["bucket"].to_numpy()), of_docs[_COUNT].to_numpy())
        of_lists = rest.filter(pl.col(DOC).is_null())
        np.add.at(lists[0], of_lists["bucket"].to_numpy(), of_lists[_COUNT].to_numpy())
        inside = np.zeros(len(docs), np.bool_)
        inside[known] = catalogue.inside
        popularity, interactions = np.zeros(len(docs), np.int64), np.zeros(len(docs))
        popularity[known], interactions[known] = catalogue.popularity, catalogue.interactions
        documents = pl.DataFrame(
            {DOC: docs, "in_catalogue": inside, "popularity": popularity,
             "interactions": interactions}
        )  # fmt: skip
        return cls(documents, times.cumsum(axis=2), lists, shows.cutoffs)

    @cached_property
    def _total(self) -> NDArray[np.int64]:
        return self.times.sum(axis=0)

    def frame(self, without: int | None = None) -> pl.DataFrame:
        """The documents frame, without a group of queries."""
        times, lists = self._total, self.lists.sum(axis=0)
        if without is not None:
            times, lists = times - self.times[without], lists - self.lists[without]
        lists = lists.cumsum()
        columns: list[pl.Series] = []
        for at, k in enumerate(self.cutoffs):
            top = "" if k is None else f"_top{k}"
            columns.append(pl.Series(f"shown{top}", times[:, at]))
            columns.append(pl.Series(f"lists{top}", np.full(len(times), lists[at])))
        return self.documents.with_columns(columns)


def _values(
    metrics: Sequence[Metric], counted: _Counted, *, without: int | None = None
) -> list[float | None]:
    frame = counted.frame(without)
    return [_value(metric, frame) for metric in metrics]


def _value(metric: Metric, frame: pl.DataFrame) -> float | None:
    try:
        found = frame.select(metric.expr().alias("value"))["value"]
    except pl.exceptions.PolarsError as error:
        said = str(error).split("\n", maxsplit=1)[0]
        raise MetricParameterError(f"expression {metric.label!r} failed: {said}.") from error
    if len(found) != 1 or not (found.dtype.is_numeric() or found.dtype in (pl.Boolean, pl.Null)):
        raise MetricParameterError(
            f"expression {metric.label!r} gives {len(found):,} × {found.dtype} over the documents "
            "frame, not one number."
        )
    value = found.item()
    return None if value is None or math.isnan(value) else float(value)


def check_columns(metrics: Sequence[Metric]) -> None:
    """Refuse an expression over columns that the documents frame does not have."""
    for metric in metrics:
        lacking = [n for n in metric.expr().meta.root_names() if DOCUMENTS_FRAME.find(n) is None]
        if lacking:
            raise MetricParameterError(
                f"expression {metric.label!r} uses {lacking[0]!r}, which is not a column of the "
                f"documents frame. It has {', '.join(DOCUMENTS_FRAME.columns)}."
            )
