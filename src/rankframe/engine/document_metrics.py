"""Compute metrics over documents, and slices of documents, from their exposure.

A metric is computed once over all lists, and once without each bucket of queries: the jackknife
estimate of its error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, VALUES_FRAME, ColumnRequest
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, shown
from rankframe.core.records import record
from rankframe.engine.accumulator import WHOLE, SliceKey
from rankframe.frames.attributes import ValueSets
from rankframe.frames.catalogue import COLD, POPULARITY, SLICES_OF_POPULARITY, Catalogue
from rankframe.frames.exposure import TIMES, Exposure, discounted_counts, shrinkage
from rankframe.io.queries import NO_VALUE
from rankframe.metrics.metric import Metric
from rankframe.stats.intervals import Bounds, t_quantile

# With fewer lists, there is no interval: see docs/statistics.md.
FEWEST_LISTS: Final = 100


def documents_frame(exposure: Exposure, catalogue: Catalogue) -> pl.DataFrame:
    """Return the exposure frame, one row per document, over all lists that were counted."""
    return _Counted.from_exposure(exposure, catalogue, WHOLE).frame()


@record
class Aggregate:
    """Hold a metric's value over all lists, and without each bucket of queries (jackknife)."""

    value: float | None
    lists: int
    without: tuple[float | None, ...] = ()
    # the number of lists in each bucket
    sizes: tuple[int, ...] = ()
    # the least and the largest possible value, if the metric is bounded
    limits: tuple[float | None, float | None] = (None, None)

    def less(self, other: Aggregate) -> Aggregate:
        """Subtract another system's value over the same queries; return the difference."""
        if self.value is None or other.value is None:
            return Aggregate(None, self.lists)
        same = len(self.without) == len(other.without)
        apart = tuple(
            None if own is None or reference is None else own - reference
            for own, reference in zip(self.without, other.without, strict=same)
        )
        return Aggregate(self.value - other.value, self.lists, apart if same else (), self.sizes)

    @property
    def error(self) -> float | None:
        """Return the jackknife standard error, for buckets of unequal size (Busing et al. 1999)."""
        if self.value is None or len(self.without) < 2 or None in self.without:
            return None
        left, sizes = np.array(self.without, np.float64), np.array(self.sizes, np.float64)
        parts = sizes.sum() / sizes
        pseudo = parts * self.value - (parts - 1) * left
        mean = len(left) * self.value - ((1 - 1 / parts) * left).sum()
        return math.sqrt(float((((pseudo - mean) ** 2) / (parts - 1)).sum() / len(left)))

    def bounds(self, confidence: float) -> Bounds | None:
        """Return the jackknife confidence interval, or None if the error is unknown."""
        error = self.error
        if error is None or self.value is None:
            return None
        half = t_quantile((1 + confidence) / 2, len(self.without) - 1) * error
        lowest, highest = self.limits
        low, high = self.value - half, self.value + half
        return (
            low if lowest is None else max(low, lowest),
            high if highest is None else min(high, highest),
        )

    @property
    def p_value(self) -> float | None:
        """Return the probability of a value this far from 0 by chance alone."""
        error = self.error
        if error is None or self.value is None:
            return None
        if not error:
            return None if self.value else 1.0
        from rankframe.stats.significance import two_sided  # noqa: PLC0415 (in comparisons)

        return two_sided(self.value / error, len(self.without) - 1)


@record
class OverDocuments:
    """Hold the inputs of metrics over documents: exposure counts and the catalogue."""

    exposure: Exposure
    catalogue: Catalogue

    def aggregate(
        self, metrics: Sequence[Metric], key: SliceKey = WHOLE, *, groups: bool = False
    ) -> list[Aggregate]:
        """Compute metrics over all lists or a slice; with `groups`, also without each bucket."""
        counted = _Counted.from_exposure(self.exposure, self.catalogue, key)
        expressions = [metric.expr() for metric in metrics]
        whole = counted.compute(metrics, expressions)
        sizes = counted.lists.sum(axis=1)
        filled = np.flatnonzero(sizes).tolist()
        left_out: list[list[float | None]] = []
        if groups and sizes.sum() >= FEWEST_LISTS and len(filled) > 1:
            left_out = [counted.compute(metrics, expressions, group) for group in filled]
        aggregates: list[Aggregate] = []
        for place, (metric, value) in enumerate(zip(metrics, whole, strict=True)):
            without = [values[place] for values in left_out]
            definition, limits = metric.definition, (None, None)
            if definition is not None:
                lowest, limit = definition.bounds
                share = definition.distinct and not metric.params.get("count")
                limits = lowest, 1.0 if share else limit
                if definition.distinct and not definition.by_value and left_out:
                    without = counted.shrink(metric, value, without)
            lists = counted.lists_within(metric.params.get("k"))
            bucket_sizes = tuple(sizes[filled].tolist()) if left_out else ()
            aggregates.append(Aggregate(value, lists, tuple(without), bucket_sizes, limits))
        return aggregates


@record
class _Counted:
    """Hold how often each document is retrieved, by bucket of queries and by cutoff."""

    documents: pl.DataFrame
    # bucket × document × cutoff: lists with the document at or above the cutoff
    times: NDArray[np.int32]
    lists: NDArray[np.int64]
    cutoffs: tuple[int | None, ...]
    # by attribute: bucket × set of values × rank
    exposed: Mapping[str, NDArray[np.int64]]
    catalogue: Catalogue

    def lists_within(self, k: int | None) -> int:
        """Return the number of lists with any document in their top k."""
        position = self.cutoffs.index(k)
        return int(self.lists[:, : position + 1].sum())

    @classmethod
    def from_exposure(cls, exposure: Exposure, catalogue: Catalogue, key: SliceKey) -> _Counted:
        """Arrange the counts of an `Exposure` for all lists, or for those of one slice."""
        buckets = len(exposure.cutoffs)
        whole = key == WHOLE
        rest = exposure.rest.select(-1) if whole else exposure.rest.select(*key)
        docs = pl.concat([catalogue.docs, rest[DOC].drop_nulls()]).unique().sort()
        rows = docs.search_sorted(catalogue.docs).to_numpy()
        groups = exposure.buckets if whole else 1
        lists = np.zeros((groups, buckets), np.int64)
        times = exposure.in_catalogue
        if not whole or len(docs) > times.shape[1]:
            times = np.zeros((groups, len(docs), buckets), np.int32)
        if whole:
            if times is not exposure.in_catalogue:
                times[:, rows] = exposure.in_catalogue
            lists += exposure.lists
        of_docs = rest.filter(pl.col(DOC).is_not_null())
        group = of_docs["number"].to_numpy() if whole else np.zeros(of_docs.height, np.int64)
        positions = docs.search_sorted(of_docs[DOC]).to_numpy()
        np.add.at(
            times, (group, positions, of_docs["bucket"].to_numpy()), of_docs[TIMES].to_numpy()
        )
        of_lists = rest.filter(pl.col(DOC).is_null())
        np.add.at(lists[0], of_lists["bucket"].to_numpy(), of_lists[TIMES].to_numpy())
        inside = np.zeros(len(docs), np.bool_)
        inside[rows] = catalogue.inside
        popularity, interactions = np.zeros(len(docs), np.int64), np.zeros(len(docs))
        popularity[rows], interactions[rows] = catalogue.popularity, catalogue.interactions
        documents = pl.DataFrame(
            {DOC: docs, "in_catalogue": inside, "popularity": popularity,
             "interactions": interactions}
        )  # fmt: skip
        exposed = {
            name: values.counts if whole else values.select(*key)
            for name, values in exposure.values.items()
        }
        if buckets > 1:
            times = times.cumsum(axis=2, dtype=np.int32)
        return cls(documents, times, lists, exposure.cutoffs, exposed, catalogue)

    @cached_property
    def _total(self) -> NDArray[np.int64]:
        return self.times.sum(axis=0, dtype=np.int64)

    def frame(self, without: int | None = None) -> pl.DataFrame:
        """Return the exposure frame; `without`: a bucket of queries to leave out."""
        times, lists = self._total, self.lists.sum(axis=0)
        if without is not None:
            times, lists = times - self.times[without], lists - self.lists[without]
        lists = lists.cumsum()
        columns: list[pl.Series] = []
        for index, k in enumerate(self.cutoffs):
            columns.append(pl.Series(ColumnRequest("retrieved", k=k).name, times[:, index]))
            denominators = np.full(len(times), lists[index])
            columns.append(pl.Series(ColumnRequest("lists", k=k).name, denominators))
        return self.documents.hstack(columns)

    def values(self, by: str, k: int, without: int | None = None) -> pl.DataFrame:
        """Return the values frame of the attribute `by`; `without`: a bucket to leave out."""
        sets, counts = self.catalogue.value_sets(by), self.exposed[by].sum(axis=0)
        if without is not None:
            counts = counts - self.exposed[by][without]
        inside = self.catalogue.inside.astype(np.int64)
        return pl.DataFrame(
            {
                "value": sets.names,
                "documents": sets.shares(sets.by_set(inside)),
                "interactions": sets.shares(sets.by_set(self.catalogue.interactions)),
                "exposure": sets.shares(discounted_counts(counts, k)),
            },
            schema=VALUES_FRAME.schema,
        )

    def shrink(
        self, metric: Metric, whole: float | None, without: Sequence[float | None]
    ) -> list[float | None]:
        """Correct the jackknife's values (`without`) of a count of distinct documents."""
        times = self.times[:, :, self.cutoffs.index(metric.params.get("k"))]
        inside = np.ones(len(self.documents), np.bool_)
        if not metric.params.get("count"):
            inside = self.documents["in_catalogue"].to_numpy()
        factor = shrinkage((times > 0)[:, inside])
        if whole is None or factor is None:
            return [None] * len(without)
        return [None if left is None else whole + factor * (left - whole) for left in without]

    def compute(
        self,
        metrics: Sequence[Metric],
        expressions: Sequence[pl.Expr],
        without: int | None = None,
    ) -> list[float | None]:
        """Compute metrics by their expressions; `without`: a bucket of queries to leave out."""
        documents = self.frame(without)
        at_once = [metric.definition is not None and not is_by_value(metric) for metric in metrics]
        together = [
            expression.alias(f"{place}")
            for place, expression in enumerate(expressions)
            if at_once[place]
        ]
        numbers = documents.select(together) if together else documents
        values: list[float | None] = []
        for place, (metric, expression) in enumerate(zip(metrics, expressions, strict=True)):
            if at_once[place]:
                value = numbers[f"{place}"][0]
            else:
                frame = documents
                if is_by_value(metric):
                    frame = self.values(metric.params["by"], metric.params["k"], without)
                value = _compute_alone(metric, expression, frame)
            values.append(None if value is None or math.isnan(value) else float(value))
        return values


def _compute_alone(metric: Metric, expression: pl.Expr, frame: pl.DataFrame) -> float | None:
    """Compute one metric separately, so that an error can name it."""
    try:
        values = frame.select(expression.alias("value"))["value"]
    except pl.exceptions.PolarsError as error:
        message = str(error).split("\n", maxsplit=1)[0]
        raise MetricParameterError(f"expression {metric.label!r} failed: {message}.") from error
    if len(values) != 1 or not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null)):
        raise MetricParameterError(
            f"expression {metric.label!r} gives {len(values):,} × {values.dtype} over the "
            "documents frame, not one number."
        )
    return values.item()


def is_by_value(metric: Metric) -> bool:
    """Tell whether a metric is over values of an attribute instead of documents."""
    return metric.definition is not None and metric.definition.by_value


Ints = NDArray[np.int64]
ITEMS_SCHEMA: Final = {
    "by": pl.String,
    "slice": pl.String,
    "k": pl.Int64,
    "documents": pl.Int64,
    "documents_retrieved": pl.Int64,
    "coverage": pl.Float64,
    "times_retrieved": pl.Int64,
    "share_of_places": pl.Float64,
    "share_of_exposure": pl.Float64,
    "hits": pl.Int64,
    "share_of_hits": pl.Float64,
}
# The cutoff where no metric has one, and the most slices of an attribute.
_CUTOFF: Final = 10
_MOST_SLICES: Final = 1_000


@record
class ItemsBy:
    """Describe how to slice documents: by which attributes, down to which rank, hits or no hits."""

    names: tuple[str, ...]
    k: int
    hits: bool

    @classmethod
    def from_names(cls, names: Any, metrics: Sequence[Metric], *, judgments: bool) -> ItemsBy:
        """Check the option `items_by`; slices reach down to the largest cutoff of a metric."""
        listed = [names] if isinstance(names, str) else names
        if (
            not isinstance(listed, list | tuple)
            or not listed
            or not all(isinstance(name, str) and name for name in listed)
        ):
            raise OptionError(
                Option("items_by"), f" takes names of attributes of items, not {shown(names)}."
            )
        if twice := [name for name in listed if listed.count(name) > 1]:
            raise OptionError(Option("items_by"), f" names {twice[0]!r} more than once.")
        cutoffs = [k for metric in metrics if (k := metric.params.get("k")) is not None]
        return cls(tuple(listed), max(cutoffs, default=_CUTOFF), judgments)

    def check(self, catalogue: Catalogue) -> None:
        """Refuse attributes by which documents cannot be sliced, such as those with many values."""
        for name in self.names:
            values = catalogue.value_sets(name).names
            if len(values) > _MOST_SLICES:
                raise OptionError(
                    f"items_by={name!r} makes {len(values):,} slices, e.g. {values[0]!r}; "
                    f"at most {_MOST_SLICES:,} are allowed. Group its values first."
                )
            if NO_VALUE in values:
                raise OptionError(
                    f"items_by={name!r}: {NO_VALUE!r} stands for documents without a value. "
                    "Rename it."
                )


def item_slices(items_by: ItemsBy, exposure: Exposure | None, catalogue: Catalogue) -> pl.DataFrame:
    """Return the exposure of slices of documents: a row for each attribute and value.

    Documents without a value come last.
    """
    if exposure is None:
        by = dict.fromkeys(items_by.names, items_by.k)
        exposure = Exposure.empty([items_by.k], catalogue, by, hits=items_by.hits)
    position = exposure.cutoffs.index(items_by.k)
    times = exposure.in_catalogue[:, :, : position + 1].sum(axis=(0, 2), dtype=np.int64)
    rest = exposure.rest.select(-1).filter(pl.col("bucket") <= position)
    strangers = rest[DOC].n_unique()
    frames = [
        _slices(name, items_by, exposure, catalogue, times > 0, strangers)
        for name in items_by.names
    ]
    return pl.concat(frames)


def _slices(
    name: str,
    items_by: ItemsBy,
    exposure: Exposure,
    catalogue: Catalogue,
    is_retrieved: NDArray[np.bool_],
    strangers: int,
) -> pl.DataFrame:
    """Return the exposure of the slices of documents by one attribute.

    `strangers`: the number of retrieved documents that the catalogue does not have.
    """
    sets, exposed = catalogue.value_sets(name), exposure.values[name]
    counts = exposed.counts.sum(axis=0)[:, : items_by.k]
    counted = {
        "documents": sets.by_set(catalogue.inside.astype(np.int64)),
        "documents_retrieved": sets.by_set(is_retrieved.astype(np.int64)),
        "covered": sets.by_set((is_retrieved & catalogue.inside).astype(np.int64)),
        "times_retrieved": counts.sum(axis=1),
    }
    counted["documents_retrieved"][0] += strangers
    shares: dict[str, NDArray[np.number]] = {
        "share_of_places": counted["times_retrieved"],
        "share_of_exposure": discounted_counts(counts, items_by.k),
    }
    if exposed.hits is not None:
        counted["hits"] = exposed.hits[:, : items_by.k].sum(axis=1)
        shares["share_of_hits"] = counted["hits"]
    frame = pl.DataFrame(
        {
            "slice": [*sets.names, NO_VALUE],
            **{key: [*sets.wholes(column), column[0]] for key, column in counted.items()},
            **{key: _parts(sets, column) for key, column in shares.items()},
        }
    )
    frame = frame[_order(sets.names, catalogue, name)]
    if name == POPULARITY:  # unknown documents are not in train either: count them as cold
        frame = frame.with_columns(pl.col("slice").replace(NO_VALUE, COLD))
        frame = frame.group_by("slice", maintain_order=True).sum()  # NaN stays NaN
    there = (pl.col("slice") != NO_VALUE) | (pl.col("documents") + pl.col("times_retrieved") > 0)
    covered = pl.when(pl.col("documents") > 0).then(pl.col("covered") / pl.col("documents"))
    lacking = [pl.lit(None).alias(key) for key in ("hits", "share_of_hits") if key not in frame]
    own = [pl.lit(name).alias("by"), pl.lit(items_by.k).alias("k"), covered.alias("coverage")]
    found = frame.filter(there).fill_nan(None).with_columns(*own, *lacking)
    return found.select(list(ITEMS_SCHEMA)).cast(ITEMS_SCHEMA)  # pyright: ignore[reportArgumentType]


def _parts(sets: ValueSets, of_sets: NDArray[np.number]) -> pl.Series:
    """Return each value's share of the total of `of_sets`, then the share of documents without one.

    Shares are NaN if the total is 0.
    """
    parts = np.append(sets.shares(of_sets), of_sets[0])
    total = of_sets.sum()
    return pl.Series(parts / total if total else np.full(len(parts), np.nan))


def _order(names: pl.Series, catalogue: Catalogue, name: str) -> list[int]:
    """Return the positions of an attribute's slices in the order of their values."""
    if name == POPULARITY:
        places = [SLICES_OF_POPULARITY.index(value) for value in names]  # allowed: three at most
        return [*np.argsort(places).tolist(), len(names)]
    kind = catalogue.attribute(name).dtype
    kind = kind.inner if isinstance(kind, pl.List | pl.Array) else kind
    if isinstance(kind, pl.DataType) and kind.is_numeric():
        names = names.cast(pl.Float64)
    return [*names.arg_sort().to_list(), len(names)]
