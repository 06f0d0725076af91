"""Compare systems over the same queries: which is better, by how much, and with what certainty.

The steps: open the systems, evaluate each, align their values by query, test each pair, correct the
p values, and describe each pair and each system in a row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Unpack

import numpy as np
import polars as pl

from rankframe.analysis.comparison import (
    LEDGER_SCHEMA,
    PAIR_SCHEMA,
    SYSTEM_SCHEMA,
    Comparison,
)
from rankframe.analysis.differences import Compared, Setup, draw_replicates
from rankframe.analysis.document_comparison import compare_documents
from rankframe.analysis.gap_comparison import AlignedGaps, compare_gaps, draw_gaps, gap_items
from rankframe.analysis.judged_shares import (
    add_condensed,
    describe_gaps,
    find_bounds,
    find_gaps,
)
from rankframe.analysis.stored import (
    Names,
    read_systems,
    refuse_other_evaluations,
    stored_metrics,
    with_directions,
)
from rankframe.analysis.systems import (
    MISSING,
    Runs,
    Systems,
    align,
    caveats_of_systems,
    evaluate_runs,
    lacks,
    list_subsets,
    look_up_attributes,
    refuse_unshared,
    shared_vocabulary,
)
from rankframe.analysis.unjudged import with_bounds
from rankframe.core.caveats import PREFIX, Caveat, find_caveat
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError, in_vocabulary
from rankframe.core.messages import shown
from rankframe.core.options import (
    CompareOptions,
    Comparing,
    Intervals,
    MissingAmong,
    Progress,
    Report,
    SharedPolicies,
    Storage,
    Unpaired,
    check_choice,
    takes_options,
)
from rankframe.engine.evaluate import DEFAULT_METRICS, with_gaps
from rankframe.engine.evaluation import RUN_FRAMES
from rankframe.engine.ledger import POLICY
from rankframe.io.inputs import Columns, Source, refuse_absent_columns
from rankframe.io.queries import By, read_attributes, slicings
from rankframe.metrics.names import Metric, Metrics, add_inner_metrics, resolve
from rankframe.stats.significance import Pair, correct_p_values


@takes_options(CompareOptions, SharedPolicies, Comparing, Intervals, Storage)
def compare(
    qrels: Source | None,
    systems: Mapping[str, Source],
    metrics: Metrics | None = None,
    *,
    baseline: str | None = None,
    bounds: bool = False,
    lower_is_better: Names = (),
    queries: Source | None = None,
    by: By | Sequence[By] | None = None,
    weight: str | None = None,
    columns: Columns | None = None,
    max_memory: str | int | None = None,
    progress: Report | None = None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Compare systems over the same queries.

    Args:
        qrels: the judgments, as in `evaluate`. Without them, the systems are stored values.
        systems: runs by name. Without `qrels`, `train` and `items`, pass stored values by name:
            results, their folders, or tables with query_id and a column per metric.
        metrics: as in `evaluate`. For stored values, the columns to compare (default: every column
            that all systems have).
        baseline: the system that others are compared with (default: every pair is compared). If it
            is the only system, its values are returned without a comparison.
        bounds: also return the least and the largest value that each metric could have, over all
            grades of the unjudged documents above its cutoff (null if unknown), and its value if
            all or none of these documents were relevant.
        lower_is_better: your own stored columns of which lower values are better.
        queries: attributes of queries, as in `evaluate`.
        by: attributes to slice by, as in `evaluate`.
        weight: the attribute that weights queries, as in `evaluate`.
        columns: names in your data, as in `evaluate`.
        max_memory: the approximate memory limit, as in `evaluate`.
        progress: a function called with a `Progress` on the way.

    If a metric is undefined in a query for one system, the query is left out of this metric for all
    systems. Missing queries are counted, with a warning above 1%; docs/caveats.md lists all
    warnings. If the judged shares of two systems differ by more than 10 percentage points, `table`
    also has their values over judged documents alone (condensed_baseline, condensed_value,
    condensed_difference), and `systems` has bounds. `test` applies to metrics with values per
    query. Metrics over documents (coverage, …) are tested by the jackknife over groups of queries,
    and gaps between slices by the bootstrap over queries.

    >>> qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"b": 1}}
    >>> old = {q: {"a": 2.0, "b": 1.0} for q in qrels}
    >>> new = {q: {"b": 2.0, "a": 1.0} for q in qrels}
    >>> found = rf.compare(qrels, {"old": old, "new": new}, "mrr", baseline="old")
    >>> found.table.select("system", "value", "difference", "wins", "losses").row(0)
    ('new', 0.6666666666666666, -0.16666666666666666, 1, 2)
    """
    check_mapping(systems)
    if not systems:
        raise OptionError("a comparison takes at least two systems, not 0.")
    comparing = Comparing.from_options(options)
    setup = Setup(baseline, comparing, Intervals.from_options(options))
    shared = SharedPolicies.from_options(options)
    policies = shared.each
    runs = None
    if qrels is None and bounds:
        raise OptionError("bounds need judgments and runs: stored values have neither.")
    if qrels is not None or policies.shows:
        runs = Runs(qrels, systems, policies, columns, max_memory, progress, again=bounds)
    inputs = SystemInputs(
        systems if runs is None else {}, runs, metrics,
        unpaired=comparing.unpaired, missing=shared.missing, queries=queries, by=by, weight=weight,
        columns=columns, lower_is_better=lower_is_better,
    )  # fmt: skip
    return compare_systems(inputs, setup, bounds=bounds, progress=progress)[0]


class SystemInputs:
    """Open stored values and runs, and find the metrics that every system has or gets."""

    def __init__(
        self,
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
    ) -> None:
        self.runs, self.missing = runs, missing
        self.unpaired: Unpaired = unpaired
        self.stored = read_systems(stored) if stored else {}
        if runs is None:
            chosen = stored_metrics(self.stored, metrics)
        else:
            requested = DEFAULT_METRICS[:-1] if metrics is None else metrics
            chosen = resolve(requested, *RUN_FRAMES, "gap", inner=False)
            averaged = [metric for metric in chosen if metric.frame != "documents"]
            if self.stored and averaged:  # stored results have only these metrics
                stored_metrics(self.stored, metrics if len(averaged) == len(chosen) else averaged)
        directions = (lower_is_better, higher_is_better)
        if not all(isinstance(names, tuple) and not names for names in directions):
            chosen = with_directions(chosen, lower=lower_is_better, higher=higher_is_better)
        self.metrics = chosen
        # A gap is computed from the slices of its inner metric. Metrics over documents have no
        # values per query to average.
        self.computed = [metric for metric in add_inner_metrics(chosen) if metric.frame != "gap"]
        self.averaged = [metric for metric in self.computed if metric.frame != "documents"]
        # Gaps may need further slicing attributes, which are added after the requested ones.
        self._requested_ways = len(slicings(by))
        self.attributes = read_attributes(
            queries,
            by=with_gaps(by, chosen, has_queries=queries is not None),
            weight=weight,
            metrics=self.computed,
            columns=columns,
        )
        if runs is None:
            refuse_absent_columns(columns, queries=self.attributes)

    @property
    def names(self) -> list[str]:
        """Return the names of the systems."""
        return [*self.stored, *(() if self.runs is None else self.runs.sources)]

    def evaluate(self, depths: Iterable[int] = ()) -> Systems:
        """Evaluate the runs, align all systems, and refuse what cannot be compared.

        `depths`: cutoffs k at which to compute judged@k, besides the cutoffs of the metrics.
        """
        by_name, tables = dict(self.stored), None
        if self.runs is not None:
            evaluated, tables = evaluate_runs(
                self.runs, self.computed, depths=depths, attributes=self.attributes
            )
            by_name |= evaluated
        with in_vocabulary(shared_vocabulary(by_name)):
            if self.stored:
                refuse_other_evaluations(by_name)
            if self.missing == "zero_if_few":
                refuse_unshared(by_name)
            systems = align(by_name, self.averaged, self.unpaired)
            attributes = look_up_attributes(self.attributes, systems.queries, self.averaged)
        subsets = list_subsets(self.attributes, attributes, len(systems.queries))
        lacking = lacks(by_name, self.averaged)
        if self.runs is not None and tables is not None:
            systems = replace(
                systems,
                tables=tables,
                runs=dict(zip(self.runs.sources, tables.rights, strict=True)),
                policies=self.runs.policies,
                weights=None if self.attributes is None else self.attributes.weights_alone,
            )
        return replace(
            systems,
            attributes=attributes,
            metrics=self.metrics,
            subsets=[subset for subset in subsets if subset.key[0] < self._requested_ways],
            slices=subsets,
            lacks=lacking,
            caveats=caveats_of_systems(by_name, lacking),
        )


def compare_systems(
    inputs: SystemInputs,
    setup: Setup,
    *,
    bounds: bool = False,
    depths: Iterable[int] = (),
    progress: Report | None = None,
) -> tuple[Comparison, Systems]:
    """Evaluate and compare systems; return the comparison and the aligned systems.

    `depths`: cutoffs k at which to compute judged@k, besides the cutoffs of the metrics.
    """
    _check_names(inputs.names, setup.baseline)
    setup.check_metrics(inputs.metrics)
    systems = inputs.evaluate(depths)
    count, metrics = len(systems.by_name), len(inputs.metrics)
    pairs_compared = math.comb(count, 2) if setup.baseline is None else count - 1
    setup = setup.with_enough_permutations(pairs_compared * metrics, metrics)
    gaps = []
    if any(metric.gap is not None for metric in inputs.metrics):
        gaps = draw_gaps(systems, setup.intervals)
    pairs, singles = _compare_metrics(systems, gaps, setup, progress)
    table = correct_rows(pairs, setup)
    judged = [metric for metric in inputs.metrics if metric.of_judgments]
    compared = table.select("baseline", "system").unique(maintain_order=True).rows()  # allowed: few
    unjudged_bounds = None
    if judged_gaps := find_gaps(systems, compared):
        unjudged_bounds = find_bounds(systems, judged)
    if unjudged_bounds is not None:
        table, singles = add_condensed(table, singles, unjudged_bounds)
    elif bounds:
        singles = with_bounds(singles, systems, judged)
    labels = [metric.label for metric in inputs.averaged]
    caveats = [
        *describe_gaps(judged_gaps, unjudged_bounds, systems.by_name),
        *_find_caveats(systems, inputs.averaged, table, setup),
    ]
    comparison = Comparison(
        table=table,
        systems=singles,
        ledger=_ledger(systems, setup, gaps, caveats),
        metrics=tuple(inputs.metrics),
        names=tuple(systems.by_name),
        per_query={
            name: system.values.select(QUERY, *labels) for name, system in systems.by_name.items()
        },
        baseline=setup.baseline,
        lacks=systems.lacks,
        inputs={name: system.inputs for name, system in systems.by_name.items()},
    )
    return comparison, systems


def check_mapping(systems: object) -> None:
    """Refuse systems that are not a mapping by name."""
    if not isinstance(systems, Mapping):
        raise OptionError(f'pass systems by name, {{"bm25": run, ...}}, not as {shown(systems)}.')
    for name in systems:
        if not isinstance(name, str) or not name:
            raise OptionError(f"a system's name is text, not {shown(name)}.")


def _check_names(names: Sequence[str], baseline: str | None) -> None:
    if len(names) < 2 and not (isinstance(baseline, str) and baseline == names[0]):
        raise OptionError(f"a comparison takes at least two systems, not {len(names)}.")
    if baseline is not None:
        check_choice("baseline", baseline, names)


def _compare_metrics(
    systems: Systems, gaps: Sequence[AlignedGaps], setup: Setup, progress: Report | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a table of pairs of systems and one of systems, by metric and slice."""
    names, metrics = list(systems.by_name), systems.metrics
    pairs = list(combinations(range(len(names)), 2))
    if setup.baseline is not None:
        base = names.index(setup.baseline)
        pairs = [(base, other) for other in range(len(names)) if other != base]
    compared = list(_compare_averages(systems, pairs, setup, progress))
    if any(metric.frame == "documents" for metric in metrics):
        compared += compare_documents(systems, pairs, setup)
    compared += compare_gaps(gaps, pairs, setup) if gaps else ()
    places = {metric.label: place for place, metric in enumerate(metrics)}
    compared.sort(key=lambda part: places[str(part[0]["metric"])])
    pair_rows, system_rows = [], []
    for heading, singles, rows in compared:
        system_rows += [
            {**heading, "system": name, **row} for name, row in zip(names, singles, strict=True)
        ]
        pair_rows += [
            {**heading, "baseline": names[base], "system": names[other], **row}
            for (base, other), row in zip(pairs, rows, strict=True)
        ]
    return pl.DataFrame(pair_rows, PAIR_SCHEMA), pl.DataFrame(system_rows, SYSTEM_SCHEMA)


def _compare_averages(
    systems: Systems, pairs: Sequence[Pair], setup: Setup, progress: Report | None
) -> Iterator[Compared]:
    """Compare the metrics that have values per query, in every subset of the queries."""
    # The metric of a gap is not compared unless it is requested: it would be one more test.
    metrics = [metric for metric in systems.metrics if metric.frame not in ("documents", "gap")]
    total, done = sum(len(subset.rows) for subset in systems.subsets), 0
    slices = Counter(subset.by for subset in systems.subsets)
    for subset in systems.subsets if metrics else ():
        if progress is not None:
            progress(Progress("comparing", done, total, len(systems.queries), "queries"))
        hashes, intervals = systems.hashes[subset.rows], setup.intervals
        inside = [systems.values(metric).take(subset.rows) for metric in metrics]
        inside = draw_replicates(inside, hashes, intervals)
        # More slices may need more permutations, which must not change values over all queries.
        families = slices[subset.by] * len(systems.metrics)
        enough = setup.with_enough_permutations(families * len(pairs), families)
        for values, row in zip(inside, enough.p_values(inside, pairs, hashes), strict=True):
            yield (
                subset.heading(values.metric),
                [values.system_row(system, intervals) for system in range(len(systems.by_name))],
                [
                    values.pair_row(*pair, intervals, p_value)
                    for pair, p_value in zip(pairs, row, strict=True)
                ],
            )
        done += len(subset.rows)


def correct_rows(table: pl.DataFrame, setup: Setup) -> pl.DataFrame:
    """Correct the p values in `table`: over all queries, and separately for each slicing attribute.

    Slicing therefore does not change what is significant over all queries.
    """
    families = [
        family.with_columns(
            p_corrected=pl.Series(
                correct_p_values(
                    family["p_value"].to_list(),
                    setup.comparing.correction,
                    families=_count_families(family) if setup.significance.over_pairs else None,
                ),
                dtype=pl.Float64,
            )
        )
        for family in table.with_row_index("_row").partition_by("by", maintain_order=True)
    ]
    if families:
        table = pl.concat(families).sort("_row").drop("_row")
    significant = (pl.col("p_corrected") < setup.level) & (pl.col("queries") >= setup.fewest)
    return table.with_columns(significant=significant.fill_null(value=False))


def _count_families(rows: pl.DataFrame) -> int:
    """Return the number of families: the pairs of systems for one metric and slice are a family."""
    return rows.select("metric", "slice").unique().height


def _find_caveats(
    systems: Systems, metrics: Sequence[Metric], table: pl.DataFrame, setup: Setup
) -> Iterator[Caveat]:
    """Yield the caveats of the comparison as a whole, without those of single systems."""
    for metric in metrics:
        values = systems.values(metric)
        anywhere = np.logical_or.reduce(values.defined)
        if lost := int((anywhere & ~values.complete).sum()):
            share = lost / int(anywhere.sum())
            yield from find_caveat("undefined_differ", share, metric=metric.label)
    families = table.filter(pl.col("p_value").is_not_null()).partition_by("by", maintain_order=True)
    largest = max(families, key=lambda family: family.height, default=table.clear())
    yield from setup.find_caveats(largest.height, _count_families(largest), len(systems.queries))
    yield from setup.find_contradictions(table)


def _ledger(
    systems: Systems, setup: Setup, gaps: Sequence[AlignedGaps], caveats: Sequence[Caveat]
) -> pl.DataFrame:
    """Return the ledger: facts on the comparison first, then the counts of each system."""
    unpaired_note = f"not in every system{': ' if systems.unpaired_note else ''}"
    items: list[tuple[str | None, str, float | None, str]] = [
        (None, "queries_compared", len(systems.queries), "queries that are compared"),
        (None, "queries_unpaired", systems.unpaired, f"{unpaired_note}{systems.unpaired_note}"),
    ]
    if absent := systems.attributes.absent:
        items.append((None, "queries_without_attributes", absent, "not in the frame of queries"))
    items += [(None, *item) for item in (gap_items(gaps) if gaps else ())]
    items += [(None, f"{POLICY}{name}", None, note) for name, note in setup.described().items()]
    named = [*((None, caveat) for caveat in caveats), *systems.caveats]
    items += [(name, f"{PREFIX}{code}", value, text) for name, (code, value, text) in named]
    became = {lack.system: lack.done for lack in systems.lacks}
    render = systems.vocabulary.render
    items = [
        (name, item, value, note if item.startswith(POLICY) else render(note))
        for name, item, value, note in items
    ]
    for name, system in systems.by_name.items():
        items.append((name, "queries_lacking", systems.lacking[name], "that other systems have"))
        if system.ledger is not None:
            item = pl.col("item")
            kept = system.ledger.filter(item != f"{POLICY}ci", ~item.str.starts_with(PREFIX))
            note = pl.col("note") + pl.lit(f": {became[name]}" if name in became else "")
            kept = kept.with_columns(pl.when(item=MISSING).then(note).otherwise("note"))
            items += [(name, *row) for row in kept.rows()]  # allowed: one row an item
    return pl.DataFrame(items, schema=LEDGER_SCHEMA, orient="row")
