"""The opening that compare and gate share: systems read or evaluated, and put side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.align import Aligned, Column, align
from rankframe.analysis.directions import Names, with_directions
from rankframe.analysis.missing_queries import Lack, lacks, refuse_unshared
from rankframe.analysis.stored import read_systems, refuse_other_evaluations, stored_metrics
from rankframe.analysis.systems import Runs, System, evaluate_runs
from rankframe.core.options import Comparing, MissingAmong, Unpaired
from rankframe.engine.combined import RUN_FRAMES
from rankframe.engine.evaluate import DEFAULT_METRICS, with_gaps
from rankframe.engine.input_cache import Held
from rankframe.engine.summary import SMALL
from rankframe.engine.tally import WHOLE, SliceKey
from rankframe.io.inputs import Columns, Source, refuse_absent_columns
from rankframe.io.queries import (
    NO_VALUE,
    Attributes,
    By,
    Known,
    asked_of,
    read_attributes,
    refuse_strangers,
    slicings,
)
from rankframe.metrics.names import Metric, Metrics, resolve, with_inner


@dataclass(frozen=True)
class Subset:
    """Queries that are compared among themselves, by their places: all, or a slice."""

    by: str | None
    name: str | None
    rows: NDArray[np.int64]
    # the way of slicing and the number of the slice
    key: SliceKey = WHOLE

    @property
    def title(self) -> str:
        """What it is called."""
        return "all queries" if self.by is None else f"{self.by}: {self.name}"


def everything(queries: pl.Series) -> Subset:
    """All of them."""
    return Subset(None, None, np.arange(len(queries)))


def slices_of(attributes: Attributes | None, known: Known) -> list[Subset]:
    """Every slice of the queries that something is known of."""
    if attributes is None:
        return []
    return [
        Subset(*attributes.name(way, number), np.flatnonzero(numbers == number), (way, number))
        for way, numbers in enumerate(known.slices)
        for number in np.unique(numbers).tolist()
    ]


@dataclass(frozen=True)
class Opened:
    """Systems over the same queries, and what is known of these."""

    systems: Mapping[str, System]
    aligned: Aligned
    known: Known
    # all queries, and every slice of them that was asked for
    subsets: Sequence[Subset]
    # by an attribute of queries: the slices that gaps are between
    between: Mapping[str, Sequence[Subset]]
    # what was evaluated, if anything was
    held: Held | None
    # judged queries that runs lack
    lacks: Sequence[Lack]

    def large(
        self, metric: Metric, column: Column
    ) -> tuple[list[tuple[Subset, Column]], list[str]]:
        """The slices that a gap is between, with their part of its column; the names of others."""
        assert metric.gap is not None  # that is what it is
        found: list[tuple[Subset, Column]] = []
        out: list[str] = []
        for subset in self.between[metric.gap.by]:
            here = column.taken(subset.rows)
            if subset.name == NO_VALUE or int(here.complete.sum()) < SMALL:
                out.append(str(subset.name))
            else:
                found.append((subset, here))
        return found, out


@dataclass(frozen=True)
class Opening:
    """What is to be compared, before any run is read."""

    stored: Mapping[str, System]
    runs: Runs | None
    metrics: Sequence[Metric]
    attributes: Attributes | None
    unpaired: Unpaired
    missing: MissingAmong
    # how many ways of slicing were asked for; what follows them is for gaps alone
    ways: int = 0

    @property
    def computed(self) -> list[Metric]:
        """The metrics that have values: instead of gaps, what they are of."""
        return [metric for metric in with_inner(self.metrics) if metric.frame != "gap"]

    @property
    def names(self) -> list[str]:
        """The systems."""
        return [*self.stored, *(() if self.runs is None else self.runs.sources)]

    def side_by_side(self, depths: Iterable[int] = ()) -> Opened:
        """Evaluate the runs, and refuse what cannot be compared.

        `depths`: where to look at how much was judged, besides the cutoffs of metrics.
        """
        systems, held = dict(self.stored), None
        if self.runs is not None:
            found, held = evaluate_runs(
                self.runs, self.computed, depths=depths, attributes=self.attributes
            )
            systems |= found
        refuse_other_evaluations(systems)
        if self.missing == "zero_if_few":
            refuse_unshared(systems)
        averaged = [metric for metric in self.computed if metric.frame != "documents"]
        aligned = align(systems, averaged, self.unpaired)
        queries, attributes = aligned.queries, self.attributes
        known = Known() if attributes is None else attributes.of(queries)
        refuse_strangers(known.absent, len(queries), queries)
        if any(metric.average == "weighted" for metric in averaged):
            known.refuse_unweighted(len(queries))
        slices = slices_of(attributes, known)
        subsets = [everything(queries), *(one for one in slices if one.key[0] < self.ways)]
        gaps = {metric.gap.by for metric in self.metrics if metric.gap is not None}
        between = {by: [one for one in slices if one.by == by] for by in sorted(gaps)}
        lacking = lacks(systems, averaged)
        return Opened(systems, aligned, known, subsets, between, held, lacking)


def open_systems(
    stored: Mapping[str, Source],
    runs: Runs | None,
    metrics: Metrics | None,
    *,
    unpaired: Unpaired,
    missing: MissingAmong = "zero_if_few",
    queries: Source | None = None,
    by: By | Sequence[By] | None = None,
    weight: str | None = None,
    columns: Columns | None = None,
    lower_is_better: Names = (),
    higher_is_better: Names = (),
) -> Opening:
    """Read stored values and attributes, and find the metrics that every system has or gets."""
    Comparing(unpaired=unpaired)  # refuses what it cannot be
    systems = read_systems(stored)
    if runs is None:
        chosen = stored_metrics(systems, metrics)
    else:
        given = DEFAULT_METRICS[:-1] if metrics is None else metrics
        chosen = resolve(given, *RUN_FRAMES, "gap", inner=False)
        averaged = [metric for metric in chosen if metric.frame != "documents"]
        if systems and averaged:  # which have values per query alone
            stored_metrics(systems, metrics if len(averaged) == len(chosen) else averaged)
    chosen = with_directions(chosen, lower=lower_is_better, higher=higher_is_better)
    ways, asked = with_gaps(by, chosen, known=queries is not None), len(slicings(by))
    averaged = [metric for metric in with_inner(chosen) if metric.frame != "gap"]
    attributes = read_attributes(queries, by=ways, weight=weight, metrics=averaged, columns=columns)
    if runs is None:
        refuse_absent_columns(columns, queries=asked_of(attributes))
    return Opening(systems, runs, chosen, attributes, unpaired, missing, asked)
