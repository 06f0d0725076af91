"""How often each document is shown, over all queries: counts that add up, and what they make.

Queries are dealt into groups by a hash of their ids, and counted by group: an aggregate over
documents is computed once of all, and once without each group, which gives its interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.base.columns import DOC, DOCUMENTS_FRAME
from rankframe.base.errors import MetricParameterError
from rankframe.catalogue.distinct import shrinkage
from rankframe.catalogue.exposure import Exposed, exposures
from rankframe.catalogue.items import Catalogue
from rankframe.catalogue.rows import ShownRows
from rankframe.engine.tally import WHOLE, SliceKey
from rankframe.metrics.metric import Metric
from rankframe.stats.intervals import Bounds
from rankframe.stats.resample import hash_ids
from rankframe.stats.student import t_quantile

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
    # by attribute of documents: at which ranks its values were shown
    exposed: Mapping[str, Exposed] = field(default_factory=dict)
    _waiting: list[pl.DataFrame] = field(default_factory=list)

    @classmethod
    def none(
        cls, cutoffs: Sequence[int | None], catalogue: Catalogue, by: Mapping[str, int] | None = None
    ) -> Shows:
        """Nothing counted yet; `by`: attributes, and down to which rank these are counted."""
        size, buckets = len(catalogue.docs), len(cutoffs)
        sets = {name: catalogue.value_sets(name) for name in by or {}}
        cells = size * buckets + sum(sets[name].count * k for name, k in (by or {}).items())
        groups = GROUPS if GROUPS * cells <= _MOST_CELLS else 1
        return cls(
            tuple(cutoffs),
            groups,
            np.zeros((groups, size, buckets), np.int32),
            np.zeros((groups, buckets), np.int64),
            exposed={
                name: Exposed.none(sets[name], groups, k) for name, k in (by or {}).items()
            },
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
        for exposed in self.exposed.values():
            exposed.add(rows.numbers, rows.rank, rows.code, group, slices)

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
            {name: ours + other.exposed[name] for name, ours in self.exposed.items()},
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the many zeros."""
        self.settle()
        at = np.flatnonzero(self.known)
        return _filled, (
            self.cutoffs, self.groups, self.known.shape, at, self.known.ravel()[at], self.lists,
            self.rest, self.exposed,
        )  # fmt: skip


def _filled(
    cutoffs: tuple[int | None, ...], groups: int, shape: tuple[int, ...],
    at: NDArray[np.int64], counts: NDArray[np.int32], lists: NDArray[np.int64], rest: pl.DataFrame,
    exposed: Mapping[str, Exposed],
) -> Shows:  # fmt: skip
    known = np.zeros(shape, np.int32)
    known.ravel()[at] = counts
    return Shows(cutoffs, groups, known, lists, rest, exposed)


def _added(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by(_KEYS).agg(pl.col(_COUNT).sum())


@dataclass(frozen=True)
class Aggregate:
    """What a metric makes of all lists."""

    value: float | None
    bounds: Bounds | None
    lists: int


def aggregates(
    metrics: Sequence[Metric],
    shows: Shows,
    catalogue: Catalogue,
    *,
    of: SliceKey = WHOLE,
    confidence: float | None = None,
) -> list[Aggregate]:
    """Metrics over documents, of all lists or of a slice; with intervals of a confidence."""
    shows.settle()
    counted = _Counted.of(shows, catalogue, of)
    whole = _values(metrics, counted)
    sizes = counted.lists.sum(axis=1)
    some = np.flatnonzero(sizes)
    left_out: list[list[float | None]] = []
    if confidence is not None and sizes.sum() >= FEWEST_LISTS and len(some) > 1:
        left_out = [_values(metrics, counted, without=group) for group in some.tolist()]
    return [
        Aggregate(
            value,
            _jackknife(value, [one[at] for one in left_out], sizes[some], confidence),
            counted.lists_within(metric.params.get("k")),
        )
        for at, (metric, value) in enumerate(zip(metrics, whole, strict=True))
    ]


def _jackknife(
    value: float | None,
    without: Sequence[float | None],
    sizes: NDArray[np.int64],
    confidence: float | None,
) -> Bounds | None:
    """An interval by leaving out groups of different sizes, one at a time (Busing et al. 1999)."""
    if value is None or confidence is None or not without or None in without:
        return None
    left = np.array(without, np.float64)
    parts = sizes.sum() / sizes
    pseudo = parts * value - (parts - 1) * left
    mean = len(left) * value - ((1 - 1 / parts) * left).sum()
    spread = float((((pseudo - mean) ** 2) / (parts - 1)).sum() / len(left))
    half = t_quantile((1 + confidence) / 2, len(left) - 1) * math.sqrt(spread)
    return value - half, value + half


@dataclass(frozen=True)
class _Counted:
    """Documents, and how often each is shown by group and cutoff."""

    documents: pl.DataFrame
    # group × document × cutoff: at or above it
    times: NDArray[np.int64]
    lists: NDArray[np.int64]
    cutoffs: tuple[int | None, ...]
    # by attribute: group × set of values × rank
    exposed: Mapping[str, NDArray[np.int64]]
    catalogue: Catalogue

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
        np.add.at(lists, (0, of_lists["bucket"].to_numpy()), of_lists[_COUNT].to_numpy())
        inside = np.zeros(len(docs), np.bool_)
        inside[known] = catalogue.inside
        popularity, interactions = np.zeros(len(docs), np.int64), np.zeros(len(docs))
        popularity[known], interactions[known] = catalogue.popularity, catalogue.interactions
        documents = pl.DataFrame(
            {DOC: docs, "in_catalogue": inside, "popularity": popularity,
             "interactions": interactions}
        )  # fmt: skip
        exposed = {
            name: some.counts if whole else some.of_slice(*of)
            for name, some in shows.exposed.items()
        }
        return cls(documents, times.cumsum(axis=2), lists, shows.cutoffs, exposed, catalogue)

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


    def values(self, by: str, k: int, without: int | None = None) -> pl.DataFrame:
        """The values frame of an attribute, without a group of queries."""
        sets, counts = self.catalogue.value_sets(by), self.exposed[by].sum(axis=0)
        if without is not None:
            counts = counts - self.exposed[by][without]
        inside = self.catalogue.inside.astype(np.int64)
        return pl.DataFrame(
            {
                "value": sets.names,
                "documents": sets.shares(sets.by_set(inside)),
                "interactions": sets.shares(sets.by_set(self.catalogue.interactions)),
                "exposure": sets.shares(exposures(counts, k)),
            }
        )

    def shrunk(self, metric: Metric, left: float | None) -> float | None:
        """What a count of distinct documents is said to be without a group (see `distinct`)."""
        if metric.label not in self._shrinkages:
            times = self.times[:, :, self.cutoffs.index(metric.params.get("k"))]
            inside = np.ones(len(self.documents), np.bool_)
            if not metric.params.get("count"):
                inside = self.documents["in_catalogue"].to_numpy()
            whole = _value(metric, self.frame())
            self._shrinkages[metric.label] = whole, shrinkage(times[:, inside] > 0)
        whole, factor = self._shrinkages[metric.label]
        if whole is None or left is None or factor is None:
            return None
        return whole + factor * (left - whole)

    @cached_property
    def _shrinkages(self) -> dict[str, tuple[float | None, float | None]]:
        return {}


def _values(
    metrics: Sequence[Metric], counted: _Counted, *, without: int | None = None
) -> list[float | None]:
    documents, found = counted.frame(without), []
    for metric in metrics:
        facts, frame = metric.definition, documents
        if facts is not None and facts.by_value:
            frame = counted.values(metric.params["by"], metric.params["k"], without)
        value = _value(metric, frame)
        if without is not None and facts is not None and facts.distinct:
            value = counted.shrunk(metric, value)
        found.append(value)
    return found


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
        names = metric.expr().meta.root_names()
        if metric.definition is not None and metric.definition.by_value:
            continue
        lacking = [name for name in names if DOCUMENTS_FRAME.find(name) is None]
        if lacking:
            raise MetricParameterError(
                f"expression {metric.label!r} uses {lacking[0]!r}, which is not a column of the "
                f"documents frame. It has {', '.join(DOCUMENTS_FRAME.columns)}."
            )
