"""Slices of the items: what documents with a value of an attribute get, over all lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown
from rankframe.frames.attributes import ValueSets
from rankframe.frames.catalogue import COLD, POPULARITY, SLICES_OF_POPULARITY, Catalogue
from rankframe.frames.exposure import exposures
from rankframe.frames.shows import Shows
from rankframe.io.queries import NO_VALUE
from rankframe.metrics.metric import Metric

Ints = NDArray[np.int64]
ITEMS_SCHEMA: Final = {
    "by": pl.String,
    "slice": pl.String,
    "k": pl.Int64,
    "documents": pl.Int64,
    "documents_shown": pl.Int64,
    "coverage": pl.Float64,
    "times_shown": pl.Int64,
    "share_of_places": pl.Float64,
    "share_of_exposure": pl.Float64,
    "hits": pl.Int64,
    "share_of_hits": pl.Float64,
}
# The cutoff where no metric has one, and the most slices of an attribute.
_CUTOFF: Final = 10
_MOST_SLICES: Final = 1_000


@dataclass(frozen=True)
class ItemsBy:
    """Attributes of documents to slice by, the last rank that counts, and whether hits do."""

    names: tuple[str, ...]
    k: int
    hits: bool

    @classmethod
    def given(cls, names: Any, metrics: Sequence[Metric], *, judgments: bool) -> ItemsBy | None:
        """Check the option; documents are counted down to the largest cutoff of a metric."""
        if names is None:
            return None
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
        """Refuse attributes that make no slices."""
        for name in self.names:
            values = catalogue.value_sets(name).names
            if len(values) > _MOST_SLICES:
                raise OptionError(
                    f"items_by={name!r} makes {len(values):,} slices, e.g. {values[0]!r}; "
                    f"{_MOST_SLICES:,} is the most. Group its values first."
                )
            if NO_VALUE in values:
                raise OptionError(
                    f"items_by={name!r}: {NO_VALUE!r} stands for documents without a value. "
                    "Rename it."
                )


def item_slices(items_by: ItemsBy, shows: Shows | None, catalogue: Catalogue) -> pl.DataFrame:
    """Return a row for each slice of each attribute; documents without a value come last."""
    if shows is None:
        shows = Shows.none([items_by.k], catalogue, dict.fromkeys(items_by.names, items_by.k),
                           hits=items_by.hits)  # fmt: skip
    position = shows.cutoffs.index(items_by.k)
    times = shows.known[:, :, : position + 1].sum(axis=(0, 2), dtype=np.int64)
    rest = shows.settle().rest.filter(pl.col("way") == -1, pl.col("bucket") <= position)
    strangers = rest[DOC].n_unique()
    frames = [
        _slices(name, items_by, shows, catalogue, times > 0, strangers) for name in items_by.names
    ]
    return pl.concat(frames)


def _slices(
    name: str,
    items_by: ItemsBy,
    shows: Shows,
    catalogue: Catalogue,
    shown_at_all: NDArray[np.bool_],
    strangers: int,
) -> pl.DataFrame:
    """Return the slices of an attribute.

    `strangers`: the number of retrieved documents that the catalogue does not have.
    """
    sets, exposed = catalogue.value_sets(name), shows.exposed[name]
    counts = exposed.counts.sum(axis=0)[:, : items_by.k]
    counted = {
        "documents": sets.by_set(catalogue.inside.astype(np.int64)),
        "documents_shown": sets.by_set(shown_at_all.astype(np.int64)),
        "covered": sets.by_set((shown_at_all & catalogue.inside).astype(np.int64)),
        "times_shown": counts.sum(axis=1),
    }
    counted["documents_shown"][0] += strangers
    shares: dict[str, NDArray[np.number]] = {
        "share_of_places": counted["times_shown"],
        "share_of_exposure": exposures(counts, items_by.k),
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
    if name == POPULARITY:  # documents of which nothing is known are not in train, either
        frame = frame.with_columns(pl.col("slice").replace(NO_VALUE, COLD))
        frame = frame.group_by("slice", maintain_order=True).sum()
    there = (pl.col("slice") != NO_VALUE) | (pl.col("documents") + pl.col("times_shown") > 0)
    covered = pl.when(pl.col("documents") > 0).then(pl.col("covered") / pl.col("documents"))
    lacking = [pl.lit(None).alias(key) for key in ("hits", "share_of_hits") if key not in frame]
    own = [pl.lit(name).alias("by"), pl.lit(items_by.k).alias("k"), covered.alias("coverage")]
    found = frame.filter(there).with_columns(*own, *lacking)
    return found.select(list(ITEMS_SCHEMA)).cast(ITEMS_SCHEMA)  # pyright: ignore[reportArgumentType]


def _parts(sets: ValueSets, of_sets: NDArray[np.number]) -> pl.Series:
    """Return shares of a whole, that of no value last; null where there is nothing to share."""
    parts = np.append(sets.shares(of_sets), of_sets[0])
    total = of_sets.sum()
    return pl.Series(parts / total if total else np.full(len(parts), np.nan)).fill_nan(None)


def _order(names: pl.Series, catalogue: Catalogue, name: str) -> list[int]:
    """Return the rows of the slices in the order of their values."""
    if name == POPULARITY:
        places = [SLICES_OF_POPULARITY.index(value) for value in names]  # allowed: three at most
        return [*np.argsort(places).tolist(), len(names)]
    kind = catalogue.attribute(name).dtype
    kind = kind.inner if isinstance(kind, pl.List | pl.Array) else kind
    if isinstance(kind, pl.DataType) and kind.is_numeric():
        names = names.cast(pl.Float64)
    return [*names.arg_sort().to_list(), len(names)]
