"""The opening that compare and gate share: systems read or evaluated, and put side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rankframe.base.options import Comparing, MissingAmong, Unpaired
from rankframe.decisions.align import Aligned, align
from rankframe.decisions.directions import Names, with_directions
from rankframe.decisions.lacking import Lack, lacks, refuse_unshared
from rankframe.decisions.stored import read_systems, refuse_other_evaluations, stored_metrics
from rankframe.decisions.subsets import Subset, everything, slices_of
from rankframe.decisions.systems import Runs, System, evaluate_runs
from rankframe.engine.held import Held
from rankframe.evaluation.evaluate import DEFAULT_METRICS
from rankframe.inputs.queries import (
    Attributes,
    By,
    Known,
    asked_of,
    read_attributes,
    refuse_strangers,
)
from rankframe.inputs.scan import Columns, Source, refuse_absent_columns
from rankframe.metrics.names import Metric, Metrics, resolve


@dataclass(frozen=True)
class Opened:
    """Systems over the same queries, and what is known of these."""

    systems: Mapping[str, System]
    aligned: Aligned
    known: Known
    # all queries, and every slice of them
    subsets: Sequence[Subset]
    # what was evaluated, if anything was
    held: Held | None
    # judged queries that runs lack
    lacks: Sequence[Lack]


@dataclass(frozen=True)
class Opening:
    """What is to be compared, before any run is read."""

    stored: Mapping[str, System]
    runs: Runs | None
    metrics: Sequence[Metric]
    attributes: Attributes | None
    unpaired: Unpaired
    missing: MissingAmong

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
                self.runs, self.metrics, depths=depths, attributes=self.attributes
            )
            systems |= found
        refuse_other_evaluations(systems)
        if self.missing == "zero_if_few":
            refuse_unshared(systems)
        aligned = align(systems, self.metrics, self.unpaired)
        queries, attributes = aligned.queries, self.attributes
        known = Known() if attributes is None else attributes.of(queries)
        refuse_strangers(known.absent, len(queries), queries)
        if any(metric.average == "weighted" for metric in self.metrics):
            known.refuse_unweighted(len(queries))
        subsets = [everything(queries), *slices_of(attributes, known)]
        return Opened(systems, aligned, known, subsets, held, lacks(systems, self.metrics))


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
    chosen: list[Metric] = []
    if runs is None or systems:
        chosen = stored_metrics(systems, metrics)
    if runs is not None:
        chosen = resolve(DEFAULT_METRICS[:-1] if metrics is None else metrics)
    chosen = with_directions(chosen, lower=lower_is_better, higher=higher_is_better)
    attributes = read_attributes(queries, by=by, weight=weight, metrics=chosen, columns=columns)
    if runs is None:
        refuse_absent_columns(columns, queries=asked_of(attributes))
    return Opening(systems, runs, chosen, attributes, unpaired, missing)
