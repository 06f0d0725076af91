"""Evaluate runs as systems and align their values: each system has the same queries.

Stored values are read as systems in `stored.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations

import numpy as np
import polars as pl

from rankframe.analysis.differences import AlignedValues
from rankframe.core.arrays import Flags, Floats, Ints
from rankframe.core.caveats import Caveat, caveats_of, find_caveat, without_silenced
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError, in_vocabulary, naming_the_run
from rankframe.core.messages import Option, number_of
from rankframe.core.options import Intervals, Policies, Progress, Report, Unpaired
from rankframe.core.vocabulary import Vocabulary
from rankframe.engine.accumulator import WHOLE, SliceKey, Terms
from rankframe.engine.document_metrics import OverDocuments
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.finish import find_example_ids
from rankframe.engine.ledger import POLICY
from rankframe.engine.pair_evaluation import PAIR_COUNTS
from rankframe.engine.plan import label_of, metric_values
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns
from rankframe.io.memory import Held, hold, limit_of
from rankframe.io.queries import (
    Attributes,
    QueryAttributes,
    refuse_unknown_queries,
)
from rankframe.metrics.metric import BELOW, Metric
from rankframe.metrics.names import parse
from rankframe.stats.bootstrap import Hashes, hash_ids

_DEFAULT_DEPTH = 10


@dataclass(frozen=True)
class System:
    """Hold the values of a system, one row per query in byte order, and its counts."""

    computed: pl.DataFrame
    ledger: pl.DataFrame | None = None
    # by depth: the column with the judged share of the top k
    judged: Mapping[int, str] = field(default_factory=dict)
    # columns that are not 0 only if the run has the query
    evidence: Sequence[str] = ()
    # the names of the inputs, if known
    inputs: Mapping[str, str] = field(default_factory=dict)
    # the exposure that metrics over documents are made of
    over_documents: OverDocuments | None = None
    # of other queries than those evaluated: how likely the run has each
    aligned: Floats | None = None

    @property
    def values(self) -> pl.DataFrame:
        """Return query_id and a column per metric."""
        return metric_values(self.computed)

    @property
    def labels(self) -> list[str]:
        """Return the labels of the metrics."""
        return [name for name in self.values.columns if name not in (QUERY, *PAIR_COUNTS)]

    def entry(self, item: str) -> tuple[float | None, str]:
        """Return a value of the ledger and its note; None and "" if it is not there."""
        rows = [] if self.ledger is None else self.ledger.filter(item=item).rows()  # allowed: one
        return rows[0][1:] if rows else (None, "")

    @cached_property
    def answered(self) -> Floats:
        """Return how likely the run has each query: 1 or 0 where that is known."""
        if self.aligned is not None:
            return self.aligned
        doubtful = _may_lack(self)
        lacking = min(self.filled / max(int(doubtful.sum()), 1), 1.0)
        return np.where(doubtful, 1.0 - lacking, 1.0)

    @cached_property
    def filled(self) -> int:
        """Count the values imputed for queries that the run lacks."""
        return (
            int(self.entry(MISSING)[0] or 0) if self.entry(f"{POLICY}missing")[1] == "zero" else 0
        )


@dataclass(frozen=True)
class Runs:
    """Name runs, the judgments that they are evaluated against, and how."""

    # None: all metrics look at retrieved documents alone
    qrels: Source | None
    sources: Mapping[str, Source]
    policies: Policies
    columns: Columns | None = None
    max_memory: str | int | None = None
    progress: Report | None = None
    # whether the runs are read again after their evaluation
    again: bool = False


def evaluate_runs(
    runs: Runs,
    metrics: Sequence[Metric],
    *,
    depths: Iterable[int] | None = (),
    attributes: Attributes | None = None,
    queries: InputTable | None = None,
) -> tuple[dict[str, System], Held]:
    """Evaluate each run; return the systems by name, and the inputs as they were read.

    Args:
        runs: the runs, judgments and policies.
        metrics: the metrics that have values.
        depths: ranks down to which the judged share is computed, beside the cutoffs of metrics.
            None computes no judged shares.
        attributes: of queries, for weights and slices.
        queries: the frame of queries, if it was opened for more than the attributes.
    """
    limit, policies = limit_of(runs.max_memory), runs.policies
    qrels, judged, evidence = None, {}, None
    if runs.qrels is not None:
        qrels = open_judgments(runs.qrels, runs.columns, relevance=policies.relevance, limit=limit)
        averaged = [metric for metric in metrics if metric.frame != "documents"]
        if depths is not None:
            judged = {
                depth: _find_or_parse(f"judged@{depth}", metrics)
                for depth in sorted({*map(depth_of, averaged), *depths})
            }
        evidence = _find_or_parse("num_retrieved", metrics)
    evaluated = {
        metric.label: metric
        for metric in (*metrics, *judged.values(), evidence)
        if metric is not None
    }
    evaluation = prepare_evaluation(
        list(evaluated.values()),
        policies,
        judgments=qrels is not None,
        columns=runs.columns,
        attributes=None if attributes is None else attributes.weights_alone,
        slices=attributes,
        intervals=Intervals(None),
        limit=limit,
        summed=False,
    )
    opened: list[InputTable] = []
    for name, source in runs.sources.items():
        with naming_the_run(repr(name)):
            opened.append(open_run(source, policies, runs.columns, limit=limit))
    inputs = [*([] if qrels is None else [qrels]), *opened, *evaluation.others]
    refuse_absent_columns(runs.columns, *inputs, queries=queries or attributes)
    left = evaluation.left(None) if qrels is None else qrels
    vocabulary = (qrels or opened[0]).vocabulary
    with in_vocabulary(vocabulary):
        tables = hold(left, opened, evaluation.row_bytes, runs.max_memory, again=runs.again)
    systems = {}
    for name, run, partitions in zip(runs.sources, tables.rights, tables.partitions, strict=True):

        def on_progress(done: Progress, name: str = name) -> None:
            if runs.progress is not None:
                runs.progress(replace(done, stage=f"{name}: {done.stage}"))

        sides = None if qrels is None else tables.left, run
        with naming_the_run(repr(name)), in_vocabulary(vocabulary):
            accumulator = evaluation.evaluate(
                *sides, partitions=partitions, on_progress=on_progress
            )
            evaluation.check(accumulator, partial(find_example_ids, sides))
        systems[name] = System(
            accumulator.join(),
            evaluation.ledger(accumulator.counts, sides),
            {depth: metric.label for depth, metric in judged.items()},
            () if evidence is None else (evidence.label,),
            evaluation.inputs(sides),
            evaluation.over_documents(accumulator.counts),
        )
    return systems, tables


def depth_of(metric: Metric) -> int:
    """Return the cutoff of the judged share that accompanies a metric."""
    return metric.params.get("k") or _DEFAULT_DEPTH


def _find_or_parse(name: str, metrics: Sequence[Metric]) -> Metric:
    """Return the metric that computes the same, or a new one with a label that no other has."""
    (metric,) = parse(name)
    for other in metrics:
        if other.definition is metric.definition and other.params == metric.params:
            return other
    while metric.label in {other.label for other in metrics}:  # of a user's own expression
        metric = replace(metric, label=f"{metric.label}, beside")
    return metric


# The same queries for every system ---------------------------------------------------------------


@dataclass(frozen=True)
class Subset:
    """Name the rows of queries that are compared among themselves: all queries, or a slice."""

    by: str | None
    name: str | None
    rows: Ints
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
    # the same, and the slices of gaps
    slices: Sequence[Subset] = ()
    # what was evaluated, if anything was: the judgments and runs, and the runs by name
    tables: Held | None = None
    runs: Mapping[str, InputTable] = field(default_factory=dict)
    # how they were evaluated, and the weights of queries
    policies: Policies = Policies()  # noqa: RUF009 (frozen)
    weights: Attributes | None = None
    # what could mislead a reader, with the system that it is about; None: with all
    caveats: Sequence[tuple[str | None, Caveat]] = ()
    _values: dict[str, AlignedValues] = field(init=False, default_factory=dict)

    @property
    def vocabulary(self) -> Vocabulary:
        """Return what texts call queries and documents: the words that all systems share."""
        return shared_vocabulary(self.by_name)

    @property
    def at_hand(self) -> bool:
        """Tell whether runs can be read again, and matched in memory."""
        rereadable = all(run.seekable or run.cache is not None for run in self.runs.values())
        is_whole = self.tables is not None and max(self.tables.partitions, default=1) == 1
        return bool(self.runs) and rereadable and is_whole

    @cached_property
    def hashes(self) -> Hashes:
        """Return the hashes of the query ids, which the bootstrap and permutations draw from."""
        return hash_ids(self.queries)

    def values(self, metric: Metric) -> AlignedValues:
        """Return the values of a metric, and how much of each ranking was judged."""
        if metric.label not in self._values:
            systems, judged = self.by_name.values(), None
            terms = {
                name: Terms.from_values(metric, system.computed, self.attributes.weights)
                for name, system in self.by_name.items()
            }
            depth = depth_of(metric)
            if all(depth in system.judged for system in systems):
                shares = [system.values[system.judged[depth]] for system in systems]
                judged = np.stack([share.to_numpy() for share in shares])  # NaN where it has none
            self._values[metric.label] = AlignedValues.from_terms(metric, terms, judged)
        return self._values[metric.label]


def look_up_attributes(
    attributes: Attributes | None, queries: pl.Series, metrics: Iterable[Metric] = ()
) -> QueryAttributes:
    """Look up weights and slices of queries; refuse unknown queries, and missing weights."""
    if attributes is None:
        return QueryAttributes()
    values = attributes.look_up(queries)
    refuse_unknown_queries(values.absent, len(queries), queries)
    if any(metric.average == "weighted" for metric in metrics):
        values.refuse_unweighted(len(queries))
    return values


def list_subsets(
    attributes: Attributes | None, values: QueryAttributes, queries: int
) -> list[Subset]:
    """Return all queries, then every slice of the queries that have attributes."""
    slices = (
        [
            Subset(*attributes.name(way, number), np.flatnonzero(numbers == number), (way, number))
            for way, numbers in enumerate(values.slices)
            for number in np.unique(numbers).tolist()
        ]
        if attributes is not None
        else []
    )
    return [Subset(None, None, np.arange(queries)), *slices]


def shared_vocabulary(systems: Mapping[str, System]) -> Vocabulary:
    """Return what texts call queries and documents: the words that all systems share."""
    return Vocabulary.common(Vocabulary.from_ledger(system.ledger) for system in systems.values())


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
    taken = system.computed.select(pl.exclude(QUERY).gather(rows))
    taken = taken.with_columns(
        pl.when(rows.is_null()).then(worst[label_of(name)]).otherwise(name).alias(name)
        for name in taken.columns
        if label_of(name) in worst
    )
    answered = pl.Series(system.answered).gather(rows).fill_null(0.0).to_numpy()
    return replace(system, computed=queries.to_frame().hstack(taken), aligned=answered)


def _share_denominators(systems: dict[str, System]) -> None:
    """Give a query that a system lacks the denominator that it has in other systems."""
    frames = [system.computed for system in systems.values()]
    for column in (name for name in frames[0].columns if name.endswith(BELOW)):
        largest = pl.DataFrame(
            [frame[column].alias(str(i)) for i, frame in enumerate(frames) if column in frame]
        ).max_horizontal()
        own = pl.col(column)
        for name, system in systems.items():
            shared = pl.when(own == 0).then(largest).otherwise(own).alias(column)
            rows = system.computed.with_columns(shared)
            systems[name] = replace(system, computed=rows)


# Judged queries that a run lacks -----------------------------------------------------------------

MISSING = "queries_missing"
# The share that both systems must have of the queries that either has.
_LEAST_SHARED = 0.5


@dataclass(frozen=True)
class Lack:
    """Count the judged queries that a system's run lacks, and tell what became of them."""

    system: str
    queries: int
    judged: int
    done: str

    def __str__(self) -> str:
        share = self.queries / max(self.judged, 1)
        return (
            f"{self.system} lacks {self.queries:,} of {number_of(self.judged, 'judged query')} "
            f"({share:.1%}): {self.done}"
        )


def lacks(systems: Mapping[str, System], metrics: Sequence[Metric]) -> list[Lack]:
    """Return what each system's run lacks, if its ledger counted any."""
    lacking = []
    for name, system in systems.items():
        if count := int(system.entry(MISSING)[0] or 0):
            done = "left out"
            if system.filled:
                values = system.values.filter(pl.Series(_may_lack(system)))
                done = describe_filled(
                    metrics, [m.label for m in metrics if values[m.label].is_null().all()]
                )
            lacking.append(Lack(name, count, int(system.entry("qrels_queries")[0] or 0), done))
    return lacking


def caveats_of_systems(
    systems: Mapping[str, System], lacking: Iterable[Lack]
) -> list[tuple[str | None, Caveat]]:
    """Return the caveats of each system with its name; those of the judgments are said once."""
    found: list[tuple[str | None, Caveat]] = []
    for lack in lacking:
        share = lack.queries / max(lack.judged, 1)
        found += [
            (lack.system, caveat) for caveat in find_caveat(MISSING, share, done=f"are {lack.done}")
        ]
    for name, system in systems.items():
        listed = [] if system.ledger is None else without_silenced(caveats_of(system.ledger))
        found += [(name, caveat) for caveat in listed if caveat.code != MISSING]
    # The judgments are the same for all.
    named = ((None if caveat.code == "all_relevant" else name, caveat) for name, caveat in found)
    return list(dict.fromkeys(named))


def describe_filled(metrics: Sequence[Metric], left_out: Sequence[str]) -> str:
    """Describe what became of missing queries, where some metrics leave them out."""
    if len(left_out) == len(metrics):
        return "left out"
    return f"scored 0{', left out of ' if left_out else ''}{', '.join(left_out)}"


def refuse_unshared(systems: Mapping[str, System]) -> None:
    """Refuse systems that share less than half of the queries that either has.

    Their values would be compared with what was filled in for missing queries.
    """
    for (name, system), (other_name, other) in combinations(systems.items(), 2):
        if not system.values[QUERY].equals(other.values[QUERY]):
            continue  # `unpaired` decides
        total = len(system.values)
        shared, exact = _most_shared(system, other)
        either = 2 * total - system.filled - other.filled - shared
        if shared < _LEAST_SHARED * either:
            raise OptionError(
                f"{name!r} and {other_name!r} share {'' if exact else 'at most '}{shared:,} of "
                f"{number_of(either, 'judged query')} that either has ({name!r} lacks "
                f"{system.filled:,}, {other_name!r} {other.filled:,} of {total:,}), and what a run "
                "lacks scores 0. Are these runs of the same queries? Pass ",
                Option("missing", "zero"),
                " to compare them all the same.",
            )


def _may_lack(system: System) -> Flags:
    """Mark the queries that the run lacks, or that a stored result may lack."""
    lacking = np.zeros(len(system.values), np.bool_)
    if not system.filled:
        return lacking
    if system.evidence:
        present = [pl.col(label).fill_null(0) != 0 for label in system.evidence]
        lacking = ~system.values.select(pl.any_horizontal(present)).to_series().to_numpy()
    # Where fewer have no evidence than are missing, the values cannot tell.
    return lacking if lacking.sum() >= system.filled else ~np.zeros_like(lacking)


def _most_shared(system_a: System, system_b: System) -> tuple[int, bool]:
    """Return how many queries both have at most, and whether that is exact.

    Queries that a system has for sure count, and as many of the doubtful ones as there may be.
    """
    a, b = _may_lack(system_a), _may_lack(system_b)
    # how many of its doubtful queries each system has
    has_a, has_b = int(a.sum()) - system_a.filled, int(b.sum()) - system_b.filled
    only_a, only_b = min(has_a, int((a & ~b).sum())), min(has_b, int((b & ~a).sum()))
    shared = int((~a & ~b).sum()) + only_a + only_b + min(has_a - only_a, has_b - only_b)
    return shared, has_a == has_b == 0
