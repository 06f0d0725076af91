"""Evaluate runs as systems and align their values: each system has the same queries.

Stored values are read as systems in `stored.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
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
from rankframe.core.records import record
from rankframe.core.vocabulary import Vocabulary
from rankframe.engine.accumulator import WHOLE, SliceKey, Terms
from rankframe.engine.document_metrics import OverDocuments
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.finish import find_example_ids
from rankframe.engine.ledger import LENGTH, POLICY
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


@record
class System:
    """Hold the values of a system, one row per query in byte order, and its ledger."""

    computed: pl.DataFrame
    ledger: pl.DataFrame | None = None
    # by k: the column with the judged share of the top k
    judged: Mapping[int, str] = field(default_factory=dict)
    # columns whose values other than 0 prove that the run has the query
    evidence: Sequence[str] = ()
    # the names of the inputs, if known
    inputs: Mapping[str, str] = field(default_factory=dict)
    # the exposure from which metrics over documents are computed
    over_documents: OverDocuments | None = None
    # `answered` after the system was aligned on other queries
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
        """Return for each query the probability that the run has it: 1 or 0 where that is known."""
        if self.aligned is not None:
            return self.aligned
        doubtful = _may_lack(self)
        lacking = min(self.filled / max(int(doubtful.sum()), 1), 1.0)
        return np.where(doubtful, 1.0 - lacking, 1.0)

    @cached_property
    def filled(self) -> int:
        """Return the number of queries that the run lacks and that were scored 0."""
        return (
            int(self.entry(MISSING)[0] or 0) if self.entry(f"{POLICY}missing")[1] == "zero" else 0
        )


@record
class Runs:
    """Hold runs, the judgments to evaluate them against, and the policies."""

    # None if all metrics look at retrieved documents only
    qrels: Source | None
    sources: Mapping[str, Source]
    policies: Policies
    columns: Columns | None = None
    max_memory: str | int | None = None
    progress: Report | None = None
    # whether the runs will be read again after their evaluation
    again: bool = False


def evaluate_runs(
    runs: Runs,
    metrics: Sequence[Metric],
    *,
    depths: Iterable[int] | None = (),
    attributes: Attributes | None = None,
    queries: InputTable | None = None,
) -> tuple[dict[str, System], Held]:
    """Evaluate each run; return the systems by name, and the inputs, which may be in memory.

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
    """Return the k of the judged@k that accompanies a metric: its cutoff, or else 10."""
    return metric.params.get("k") or _DEFAULT_DEPTH


def _find_or_parse(name: str, metrics: Sequence[Metric]) -> Metric:
    """Return the metric called `name`: one of `metrics` that equals it, or a new one."""
    (metric,) = parse(name)
    for other in metrics:
        if other.definition is metric.definition and other.params == metric.params:
            return other
    while metric.label in {other.label for other in metrics}:  # of a user's own expression
        metric = replace(metric, label=f"{metric.label}, beside")
    return metric


# The same queries for every system ---------------------------------------------------------------


@record
class Subset:
    """Hold the rows of the queries of a comparison: those of all queries, or of a slice."""

    by: str | None
    name: str | None
    rows: Ints
    # the number of the slicing attribute and the number of the slice
    key: SliceKey = WHOLE

    def heading(self, metric: Metric) -> dict[str, str | None]:
        """Return the columns metric, by and slice for a table's row on this subset."""
        return {"metric": metric.label, "by": self.by, "slice": self.name}


@record
class Systems:
    """Hold aligned systems: systems that were read or evaluated, with the same queries."""

    # the ids of the queries, in the row order of every system
    queries: pl.Series
    by_name: Mapping[str, System]
    # how many queries some system lacks, how many each system lacks, and how these were treated
    unpaired: int
    lacking: Mapping[str, int]
    unpaired_note: str = ""
    # counts of the judged queries that runs lack
    lacks: Sequence[Lack] = ()
    attributes: QueryAttributes = QueryAttributes()
    metrics: Sequence[Metric] = ()
    # all queries, and every requested slice
    subsets: Sequence[Subset] = ()
    # `subsets` and the slices that gaps need
    slices: Sequence[Subset] = ()
    # the inputs of the evaluated systems, if any: judgments and runs, and the runs by name
    tables: Held | None = None
    runs: Mapping[str, InputTable] = field(default_factory=dict)
    # the policies of the evaluation, and the weights of queries
    policies: Policies = Policies()
    weights: Attributes | None = None
    # caveats with the system that each is about; None: all systems
    caveats: Sequence[tuple[str | None, Caveat]] = ()
    _values: dict[str, AlignedValues] = field(init=False, default_factory=dict)

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the words that texts use for queries and documents, if all systems share them."""
        return shared_vocabulary(self.by_name)

    @property
    def at_hand(self) -> bool:
        """Tell whether all runs can be read again, and matched in memory."""
        rereadable = all(run.seekable or run.cache is not None for run in self.runs.values())
        is_whole = self.tables is not None and max(self.tables.partitions, default=1) == 1
        return bool(self.runs) and rereadable and is_whole

    @cached_property
    def hashes(self) -> Hashes:
        """Return hashes of the query ids, from which the bootstrap and permutations are drawn."""
        return hash_ids(self.queries)

    def values(self, metric: Metric) -> AlignedValues:
        """Return the values of a metric in all systems, with the judged shares of the rankings."""
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
    """Return the words that texts use for queries and documents, if all systems share them."""
    return Vocabulary.common(Vocabulary.from_ledger(system.ledger) for system in systems.values())


def align(systems: Mapping[str, System], metrics: Sequence[Metric], unpaired: Unpaired) -> Systems:
    """Align systems on the same queries; refuse, drop or score 0 other queries, by `unpaired`."""
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
    """Return the system with `queries`; queries that it lacks get the value in `worst`, or null."""
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
    """Copy the denominator of a query that a system lacks from the other systems, in place."""
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
# The minimum share of queries that both systems have, among the queries that either has.
_LEAST_SHARED = 0.5


@record
class Lack:
    """Hold the number of judged queries that a system's run lacks, and how they were treated."""

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
    """Return a `Lack` for each system whose ledger counts queries that its run lacks."""
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
    """Return caveats with the names of their systems; None for caveats of the judgments."""
    found: list[tuple[str | None, Caveat]] = []
    for lack in lacking:
        share = lack.queries / max(lack.judged, 1)
        found += [
            (lack.system, caveat) for caveat in find_caveat(MISSING, share, done=f"are {lack.done}")
        ]
    for name, system in systems.items():
        listed = [] if system.ledger is None else without_silenced(caveats_of(system.ledger))
        found += [(name, caveat) for caveat in listed if caveat.code != MISSING]
    lengths = {name: system.entry(LENGTH)[0] for name, system in systems.items()}
    known = {name: length for name, length in lengths.items() if length is not None}
    most = max(known.values(), default=0)
    for name, length in known.items():
        differ = find_caveat("lengths_differ", most - length, length=length, most=most)
        found += [(name, caveat) for caveat in differ]
    # A caveat of the judgments applies to all systems and is listed once.
    named = ((None if caveat.code == "all_relevant" else name, caveat) for name, caveat in found)
    return list(dict.fromkeys(named))


def describe_filled(metrics: Sequence[Metric], left_out: Sequence[str]) -> str:
    """Describe how missing queries were treated: scored 0, or not in the metrics `left_out`."""
    if len(left_out) == len(metrics):
        return "left out"
    return f"scored 0{', but left out of ' if left_out else ''}{', '.join(left_out)}"


def refuse_unshared(systems: Mapping[str, System]) -> None:
    """Refuse two systems if less than half of the queries that either has are in both.

    Most values would otherwise be compared with the 0 that was imputed for missing queries.
    """
    for (name, system), (other_name, other) in combinations(systems.items(), 2):
        if not system.values[QUERY].equals(other.values[QUERY]):
            continue  # the policy `unpaired` applies instead
        total = len(system.values)
        shared, exact = _most_shared(system, other)
        either = 2 * total - system.filled - other.filled - shared
        if shared < _LEAST_SHARED * either:
            raise OptionError(
                f"{name!r} and {other_name!r} share {'' if exact else 'at most '}{shared:,} of "
                f"{number_of(either, 'judged query')} that at least one of them has. Of {total:,} "
                f"judged queries, {name!r} lacks {system.filled:,} and {other_name!r} "
                f"{other.filled:,}; such queries would score 0. Do these runs answer the same "
                "queries? Pass ",
                Option("missing", "zero"),
                " to compare them anyway.",
            )


def _may_lack(system: System) -> Flags:
    """Return a flag per query: whether the run lacks it or, if that is unknown, may lack it."""
    lacking = np.zeros(len(system.values), np.bool_)
    if not system.filled:
        return lacking
    if system.evidence:
        present = [pl.col(label).fill_null(0) != 0 for label in system.evidence]
        lacking = ~system.values.select(pl.any_horizontal(present)).to_series().to_numpy()
    # If fewer queries lack evidence than the ledger counts as missing, any query may be missing.
    return lacking if lacking.sum() >= system.filled else ~np.zeros_like(lacking)


def _most_shared(system_a: System, system_b: System) -> tuple[int, bool]:
    """Return the largest number of queries that both systems can have, and whether it is exact.

    Queries that both certainly have count, and as many of the doubtful queries as possible.
    """
    a, b = _may_lack(system_a), _may_lack(system_b)
    # how many of its doubtful queries each system has, by its ledger
    has_a, has_b = int(a.sum()) - system_a.filled, int(b.sum()) - system_b.filled
    only_a, only_b = min(has_a, int((a & ~b).sum())), min(has_b, int((b & ~a).sum()))
    shared = int((~a & ~b).sum()) + only_a + only_b + min(has_a - only_a, has_b - only_b)
    return shared, has_a == has_b == 0
