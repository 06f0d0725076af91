"""Several systems over the same queries: which is better, by how much, and how sure is that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations
from typing import Unpack

import numpy as np
import polars as pl

from rankframe.analysis.align import Column
from rankframe.analysis.comparison import (
    LEDGER_SCHEMA,
    PAIR_SCHEMA,
    SYSTEM_SCHEMA,
    WARNING,
    Comparison,
)
from rankframe.analysis.comparison_inputs import Opened, Opening, open_systems
from rankframe.analysis.contrast import Setup, contrasts, p_values
from rankframe.analysis.directions import Names
from rankframe.analysis.document_comparison import items_of_gaps, rows_of_gaps, rows_over_documents
from rankframe.analysis.missing_queries import MANY, MISSING
from rankframe.analysis.systems import Runs
from rankframe.analysis.unjudged import with_bounds
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import did_you_mean, number_of
from rankframe.core.option import takes_options
from rankframe.core.options import CompareOptions, Comparing, Intervals, SharedPolicies, Storage
from rankframe.core.progress import Progress, Report, check_progress
from rankframe.engine.ledger import POLICY, Item
from rankframe.engine.memory import limiting
from rankframe.io.inputs import Columns, Source
from rankframe.io.queries import By
from rankframe.io.storage import reaching
from rankframe.metrics.names import Metric, Metrics
from rankframe.stats.resample import hash_ids
from rankframe.stats.significance import corrected


@reaching
@limiting
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
        systems: runs by name. Without `qrels`, `train` or `items`, they are results, their folders,
            or tables with query_id and a column per metric, and nothing is evaluated again.
        metrics: as in `evaluate`; of stored values, the columns to compare (default: all that
            every system has).
        baseline: the system that others are compared with (default: every pair is compared). A
            single system that is its own baseline is not compared, but its values are returned.
        bounds: also return the least and the largest value that each metric could have, whatever
            the grades of the unjudged documents in its cutoff, where that is known; and its value
            if all of them were relevant, or none.
        lower_is_better: stored columns, under names of your own, where less is better.
        queries: attributes of queries, as in `evaluate`.
        by: attributes to slice by, as in `evaluate`.
        weight: the attribute that weights queries, as in `evaluate`.
        columns: names in your data, as in `evaluate`.
        max_memory: the approximate memory limit, as in `evaluate`.
        progress: a function called with a `Progress` on the way.

    A query where a metric is undefined for one system is left out of that metric for all. Missing
    queries are counted, with a warning above 1%. Metrics over documents (coverage, …) are tested by
    leaving out groups of queries, whatever the `test`, and gaps between slices over all orders of
    the slices in bootstrap replicates of the queries.

    >>> qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"b": 1}}
    >>> old = {q: {"a": 2.0, "b": 1.0} for q in qrels}
    >>> new = {q: {"b": 2.0, "a": 1.0} for q in qrels}
    >>> found = rf.compare(qrels, {"old": old, "new": new}, "mrr", baseline="old")
    >>> found.table.select("system", "value", "difference", "wins", "losses").row(0)
    ('new', 0.6666666666666666, -0.16666666666666666, 1, 2)
    """
    check_progress(progress)
    _check_mapping(systems)
    comparing = Comparing.from_options(options)
    setup = Setup(baseline, comparing, Intervals.from_options(options))
    shared = SharedPolicies.from_options(options)
    policies = shared.each
    runs = None
    if qrels is None and bounds:
        raise OptionError("bounds need judgments and runs: stored values have neither.")
    if qrels is not None or policies.shows:
        runs = Runs(qrels, systems, policies, columns, max_memory, progress, again=bounds)
    opening = open_systems(
        systems if runs is None else {}, runs, metrics,
        unpaired=comparing.unpaired, missing=shared.missing, queries=queries, by=by, weight=weight,
        columns=columns, lower_is_better=lower_is_better,
    )  # fmt: skip
    return compared(opening, setup, bounds=bounds, progress=progress)[0]


def compared(
    opening: Opening,
    setup: Setup,
    *,
    bounds: bool = False,
    depths: Iterable[int] = (),
    progress: Report | None = None,
) -> tuple[Comparison, Opened]:
    """Compare what was opened; also the systems side by side, for who looks at them further.

    `depths`: where to look at how much was judged, besides the cutoffs of metrics.
    """
    chosen, baseline = opening.metrics, setup.baseline
    _check_names(opening.names, baseline)
    setup.check_metrics(chosen)
    opened = opening.side_by_side(depths)
    averaged = [metric for metric in opening.computed if metric.frame != "documents"]
    columns_of = {
        metric.label: Column.of(metric, opened.aligned, weights=opened.known.weights)
        for metric in averaged
    }
    table, values = _compared(opened, columns_of, chosen, setup, progress)
    if bounds and opened.held is not None and opening.runs is not None:
        judged = [metric for metric in chosen if metric.of_judgments]
        values = with_bounds(values, opened.held, opening.names, judged, opening.runs.policies,
                             opening.attributes)  # fmt: skip
    found = Comparison(
        table=table,
        systems=values,
        ledger=_ledger(
            opened,
            setup,
            items_of_gaps(opened, columns_of, chosen),
            _warnings(opened, list(columns_of.values()), table, setup),
        ),
        metrics=tuple(chosen),
        names=tuple(opened.systems),
        per_query={
            name: system.values.select(QUERY, *(metric.label for metric in averaged))
            for name, system in opened.aligned.systems.items()
        },
        baseline=baseline,
        lacks=opened.lacks,
        inputs={name: system.inputs for name, system in opened.systems.items()},
    )
    return found, opened


def _check_mapping(systems: object) -> None:
    if not isinstance(systems, Mapping):
        raise OptionError(f'systems are given by name, {{"bm25": run, ...}}, not as {systems!r}.')
    for name in systems:
        if not isinstance(name, str) or not name:
            raise OptionError(f"a system's name is text, not {name!r}.")
    if not systems:
        raise OptionError("a comparison takes at least two systems, not 0.")


def _check_names(names: Sequence[str], baseline: str | None) -> None:
    if len(names) < 2 and baseline != names[0]:
        raise OptionError(f"a comparison takes at least two systems, not {len(names)}.")
    if baseline is not None and baseline not in names:
        near = did_you_mean(str(baseline), names)
        raise OptionError(
            f"baseline={baseline!r} is none of the systems {', '.join(map(repr, names))}."
            f"{' ' if near else ''}{near}"
        )


def _compared(
    opened: Opened, known: Mapping[str, Column], metrics: Sequence[Metric], setup: Setup,
    progress: Report | None,
) -> tuple[pl.DataFrame, pl.DataFrame]:  # fmt: skip
    """One row for each metric, subset and pair of systems; and one for each system."""
    aligned, subsets = opened.aligned, opened.subsets
    names = list(aligned.systems)
    pairs = list(combinations(range(len(names)), 2))
    if setup.baseline is not None:
        base = names.index(setup.baseline)
        pairs = [(base, at) for at in range(len(names)) if at != base]
    hashes = hash_ids(aligned.queries)
    places = {metric.label: at for at, metric in enumerate(metrics)}
    # A gap's own metric is not compared where nobody asks for it: it would be one more test.
    columns = [column for label, column in known.items() if label in places]
    found: list[tuple[int, dict[str, object]]] = []
    singles: list[tuple[int, dict[str, object]]] = []
    total, done = sum(len(subset.rows) for subset in subsets), 0
    for subset in subsets:
        if not columns:  # none has values per query
            break
        if progress is not None:
            progress(Progress("comparing", done, total, len(aligned.queries), "queries"))
        here = contrasts(
            [column.taken(subset.rows) for column in columns], hashes[subset.rows], setup
        )
        of = {"by": subset.by, "slice": subset.name}
        found_p = p_values(here, pairs, setup)
        for one, of_one in zip(here, found_p, strict=True):
            at = places[one.column.metric.label]
            singles += [
                (at, {**of, "system": name, **one.single(i)}) for i, name in enumerate(names)
            ]
            for (i, j), p_value in zip(pairs, of_one, strict=True):
                named = {**of, "baseline": names[i], "system": names[j], "p_value": p_value}
                found.append((at, {**named, **one.pair(i, j)}))
        done += len(subset.rows)
    for label, of_pairs, of_systems in chain(
        rows_over_documents(opened, metrics, pairs, setup),
        rows_of_gaps(opened, known, metrics, pairs, setup),
    ):
        found += [(places[label], row) for row in of_pairs]
        singles += [(places[label], row) for row in of_systems]
    table = _in_order(found, PAIR_SCHEMA)
    return _with_corrected(table, setup), _in_order(singles, SYSTEM_SCHEMA)


def _in_order(
    rows: list[tuple[int, dict[str, object]]], schema: Mapping[str, type[pl.DataType]]
) -> pl.DataFrame:
    """Rows by metric, then as they came."""
    return pl.DataFrame([row for _, row in sorted(rows, key=lambda row: row[0])], schema=schema)


def _with_corrected(table: pl.DataFrame, setup: Setup) -> pl.DataFrame:
    """Corrected over all queries, and over each way of slicing by itself: to look at slices does
    not change what is said of the whole.
    """
    numbered, after = table.with_row_index("_row"), []
    for family in numbered.partition_by("by", maintain_order=True):
        p_values = corrected(
            family["p_value"].to_list(),
            setup.comparing.correction,
            families=_groups(family) if setup.significance.over_pairs else None,
        )
        after.append(family.select("_row", p_corrected=pl.Series(p_values, dtype=pl.Float64)))
    corrected_ones = pl.concat(after).sort("_row")["p_corrected"] if after else None
    sure = (pl.col("p_corrected") < setup.level) & (pl.col("queries") >= setup.fewest)
    return table.with_columns(p_corrected=corrected_ones).with_columns(
        significant=sure.fill_null(value=False)
    )


def _groups(family: pl.DataFrame) -> int:
    """Metrics × slices: pairs within each are one group."""
    return family.select("metric", "slice").unique().height


def _warnings(
    opened: Opened, columns: Sequence[Column], table: pl.DataFrame, setup: Setup
) -> list[str]:
    """What makes the numbers doubtful."""
    many = [str(lack) for lack in opened.lacks if lack.many]
    for column in columns:
        known = np.logical_or.reduce(column.defined)
        if (lost := int((known & ~column.complete).sum())) > MANY * int(known.sum()):
            many.append(
                f"{column.metric.label} is undefined for some systems only in {lost:,} of "
                f"{number_of(len(known), 'query')}: left out for all"
            )
    families = table.filter(pl.col("p_value").is_not_null()).partition_by("by", maintain_order=True)
    said = [setup.out_of_reach(family.height, _groups(family)) for family in families]
    return [*many, *dict.fromkeys(filter(None, said))]


def _ledger(
    opened: Opened, setup: Setup, gaps: Sequence[Item], warnings: Sequence[str]
) -> pl.DataFrame:
    """system, item, value, note: what was compared, then what was counted for each system."""
    aligned, known = opened.aligned, opened.known
    items: list[tuple[str | None, str, float | None, str]] = [
        (None, "queries_compared", len(aligned.queries), "queries that are compared"),
        (
            None,
            "queries_unpaired",
            aligned.unpaired,
            f"not in every system{': ' if aligned.done else ''}{aligned.done}",
        ),
    ]
    if known.absent:
        items.append(
            (None, "queries_without_attributes", known.absent, "not in the frame of queries")
        )
    items += [(None, *item) for item in gaps]
    items += [(None, f"{POLICY}{name}", None, note) for name, note in setup.described().items()]
    items += [(None, WARNING, None, note) for note in warnings]
    became = {lack.system: lack.done for lack in opened.lacks}
    for name, system in opened.systems.items():
        items.append((name, "queries_lacking", aligned.lacking[name], "that other systems have"))
        if system.ledger is not None:
            kept = system.ledger.filter(pl.col("item") != f"{POLICY}ci")
            note = pl.col("note") + pl.lit(f": {became[name]}" if name in became else "")
            kept = kept.with_columns(pl.when(item=MISSING).then(note).otherwise("note"))
            items += [(name, *row) for row in kept.rows()]  # allowed: one row an item
    return pl.DataFrame(items, schema=LEDGER_SCHEMA, orient="row")
