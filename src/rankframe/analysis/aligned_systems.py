"""Open systems, evaluate their runs, and align them on the same queries, for compare and gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.differences import AlignedValues
from rankframe.analysis.stored import (
    Names,
    read_systems,
    refuse_other_evaluations,
    stored_metrics,
    with_directions,
)
from rankframe.analysis.systems import (
    Lack,
    Runs,
    System,
    depth_of,
    describe_filled,
    evaluate_runs,
    lacks,
    refuse_unshared,
)
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, number_of
from rankframe.core.options import MissingAmong, Unpaired
from rankframe.engine.accumulator import WHOLE, SliceKey, Terms
from rankframe.engine.evaluate import DEFAULT_METRICS, with_gaps
from rankframe.engine.evaluation import RUN_FRAMES
from rankframe.engine.memory import Held
from rankframe.engine.plan import BELOW, PerQuery, label_of
from rankframe.io.inputs import Columns, Source, refuse_absent_columns
from rankframe.io.queries import (
    Attributes,
    By,
    QueryAttributes,
    read_attributes,
    refuse_unknown_queries,
    slicings,
)
from rankframe.metrics.names import Metric, Metrics, add_inner_metrics, resolve
from rankframe.stats.bootstrap import Hashes, hash_ids


@dataclass(frozen=True)
class Subset:
    """Name the rows of queries that are compared among themselves: all queries, or a slice."""

    by: str | None
    name: str | None
    rows: NDArray[np.int64]
    # the way of slicing and the number of the slice
    key: SliceKey = WHOLE

    def heading(self, metric: Metric) -> dict[str, str | None]:
        """Return the columns by which a row of a table names a metric and this subset."""
        return {"metric": metric.label, "by": self.by, "slice": self.name}


@dataclass(frozen=True)
class Systems:
    """Hold systems that were read or evaluated, with values for the same queries."""

    # in the same order for each system
    queries: pl.Series
    by_name: Mapping[str, System]
    # how many queries not every system has, how many each lacks, and what became of them
    unpaired: int
    lacking: Mapping[str, int]
    unpaired_note: str = ""
    # judged queries that runs lack
    lacks: Sequence[Lack] = ()
    attributes: QueryAttributes = QueryAttributes()  # noqa: RUF009 (frozen)
    metrics: Sequence[Metric] = ()
    # all queries, and every slice of them that was requested
    subsets: Sequence[Subset] = ()
    # every slice, and the slices of gaps
    slices: Sequence[Subset] = ()
    # what was evaluated, if anything was
    tables: Held | None = None
    _values: dict[str, AlignedValues] = field(init=False, default_factory=dict)

    @cached_property
    def hashes(self) -> Hashes:
        """Return the hashes of the query ids, which the bootstrap and permutations draw from."""
        return hash_ids(self.queries)

    def values(self, metric: Metric) -> AlignedValues:
        """Return the values of a metric, and how much of each ranking was judged."""
        if metric.label not in self._values:
            systems, judged = self.by_name.values(), None
            terms = {
                name: Terms.of(metric, system.computed, self.attributes.weights)
                for name, system in self.by_name.items()
            }
            depth = depth_of(metric)
            if all(depth in system.judged for system in systems):
                shares = [system.values[system.judged[depth]] for system in systems]
                judged = np.stack([share.to_numpy() for share in shares])  # NaN where it has none
            self._values[metric.label] = AlignedValues.from_terms(metric, terms, judged)
        return self._values[metric.label]


@dataclass(frozen=True)
class SystemInputs:
    """Name what is to be compared, before any run is read."""

    stored: Mapping[str, System]
    runs: Runs | None
    metrics: Sequence[Metric]
    attributes: Attributes | None
    unpaired: Unpaired
    missing: MissingAmong
    # how many ways of slicing were requested; those after them are for gaps alone
    ways: int = 0

    @property
    def computed(self) -> list[Metric]:
        """Return the metrics that have values; for a gap, the metric that it is of."""
        return [metric for metric in add_inner_metrics(self.metrics) if metric.frame != "gap"]

    @property
    def averaged(self) -> list[Metric]:
        """Return the metrics that have values per query."""
        return [metric for metric in self.computed if metric.frame != "documents"]

    @property
    def names(self) -> list[str]:
        """Return the names of the systems."""
        return [*self.stored, *(() if self.runs is None else self.runs.sources)]

    def evaluate(self, depths: Iterable[int] = ()) -> Systems:
        """Evaluate the runs, align all systems, and refuse what cannot be compared.

        `depths` are ranks down to which to count judged documents, beside the cutoffs of metrics.
        """
        by_name, tables = dict(self.stored), None
        if self.runs is not None:
            evaluated, tables = evaluate_runs(
                self.runs, self.computed, depths=depths, attributes=self.attributes
            )
            by_name |= evaluated
        if self.stored:
            refuse_other_evaluations(by_name)
        if self.missing == "zero_if_few":
            refuse_unshared(by_name)
        systems = align(by_name, self.averaged, self.unpaired)
        queries = systems.queries
        looked_up = (
            QueryAttributes() if self.attributes is None else self.attributes.look_up(queries)
        )
        refuse_unknown_queries(looked_up.absent, len(queries), queries)
        if any(metric.average == "weighted" for metric in self.averaged):
            looked_up.refuse_unweighted(len(queries))
        slices = slices_of(self.attributes, looked_up)
        everything = Subset(None, None, np.arange(len(queries)))
        return replace(
            systems,
            attributes=looked_up,
            metrics=self.metrics,
            subsets=[everything, *(part for part in slices if part.key[0] < self.ways)],
            slices=slices,
            tables=tables,
            lacks=lacks(by_name, self.averaged),
        )


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
) -> SystemInputs:
    """Read stored values and attributes, and find the metrics that every system has or gets."""
    systems = read_systems(stored) if stored else {}
    if runs is None:
        chosen = stored_metrics(systems, metrics)
    else:
        requested = DEFAULT_METRICS[:-1] if metrics is None else metrics
        chosen = resolve(requested, *RUN_FRAMES, "gap", inner=False)
        averaged = [metric for metric in chosen if metric.frame != "documents"]
        if systems and averaged:  # only these are stored
            stored_metrics(systems, metrics if len(averaged) == len(chosen) else averaged)
    empty = (lower_is_better, higher_is_better)
    if not all(isinstance(names, tuple) and not names for names in empty):
        chosen = with_directions(chosen, lower=lower_is_better, higher=higher_is_better)
    ways, requested = with_gaps(by, chosen, known=queries is not None), len(slicings(by))
    computed = [metric for metric in add_inner_metrics(chosen) if metric.frame != "gap"]
    attributes = read_attributes(queries, by=ways, weight=weight, metrics=computed, columns=columns)
    if runs is None:
        refuse_absent_columns(columns, queries=attributes)
    return SystemInputs(systems, runs, chosen, attributes, unpaired, missing, requested)


def slices_of(attributes: Attributes | None, attribute_values: QueryAttributes) -> list[Subset]:
    """Return every slice of the queries that have attributes."""
    if attributes is None:
        return []
    return [
        Subset(*attributes.name(way, number), np.flatnonzero(numbers == number), (way, number))
        for way, numbers in enumerate(attribute_values.slices)
        for number in np.unique(numbers).tolist()
    ]


def align(systems: Mapping[str, System], metrics: Sequence[Metric], unpaired: Unpaired) -> Systems:
    """Give every system the same queries, as the policy has it."""
    own = {name: system.values[QUERY] for name, system in systems.items()}
    first = next(iter(own.values()))
    if all(queries.equals(first) for queries in own.values()):
        return Systems(first, systems, 0, dict.fromkeys(systems, 0))
    union = pl.concat(own.values()).unique().sort()
    absent = {name: union.filter(~union.is_in(ids.implode())) for name, ids in own.items()}
    unshared = pl.concat(absent.values()).unique().sort()
    if unpaired == "error":
        name = next(name for name, queries in absent.items() if len(queries))
        raise OptionError(
            f"{len(unshared):,} of {number_of(len(union), 'query')} "
            f"{'is' if len(unshared) == 1 else 'are'} not in every system, e.g. "
            f"{absent[name][0]!r}, which {name!r} lacks. Pass ",
            Option("unpaired", "skip"),
            " to leave them out, or ",
            Option("unpaired", "zero"),
            " to score them 0.",
        )
    counts = {name: len(queries) for name, queries in absent.items()}
    if unpaired == "skip":
        kept = union.filter(~union.is_in(unshared.implode()))
        if kept.is_empty():
            raise OptionError("the systems have no query in common. Is the key column right?")
        aligned = {name: _take_queries(system, kept, {}) for name, system in systems.items()}
        return Systems(kept, aligned, len(unshared), counts, "left out")
    worst = {metric.label: 0.0 for metric in metrics if metric.higher_is_better}
    aligned = {
        name: _take_queries(system, union, worst | dict.fromkeys(system.judged.values(), 0.0))
        for name, system in systems.items()
    }
    _share_denominators(aligned)
    undefined = [metric.label for metric in metrics if not metric.higher_is_better]
    note = describe_filled(metrics, undefined)
    return Systems(union, aligned, len(unshared), counts, note)


def _take_queries(system: System, queries: pl.Series, worst: Mapping[str, float]) -> System:
    """Take the values of these queries; one that is absent has the worst value, or is undefined."""
    own = system.values.select(QUERY).with_row_index("_row")
    rows = queries.to_frame().join(own, on=QUERY, how="left", maintain_order="left")["_row"]
    taken = system.computed.rows.select(pl.exclude(QUERY).gather(rows))
    taken = taken.with_columns(
        pl.when(rows.is_null()).then(worst[label_of(name)]).otherwise(name).alias(name)
        for name in taken.columns
        if label_of(name) in worst
    )
    return replace(system, computed=PerQuery(queries.to_frame().hstack(taken)))


def _share_denominators(systems: dict[str, System]) -> None:
    """Give a query that a system lacks the denominator that it has in other systems."""
    frames = [system.computed.rows for system in systems.values()]
    for column in (name for name in frames[0].columns if name.endswith(BELOW)):
        largest = pl.DataFrame(
            [frame[column].alias(str(i)) for i, frame in enumerate(frames) if column in frame]
        ).max_horizontal()
        own = pl.col(column)
        for name, system in systems.items():
            shared = pl.when(own == 0).then(largest).otherwise(own).alias(column)
            rows = system.computed.rows.with_columns(shared)
            systems[name] = replace(system, computed=PerQuery(rows))
