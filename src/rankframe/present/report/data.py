"""The data of a report, from one evaluation of each run.

What looks at single documents, and curves, take the rows of some queries: all where these are few,
else a sample that is always the same, and the queries that are shown. Those rows are read once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from rankframe.analysis.aligned_systems import open_systems
from rankframe.analysis.compare import compare_systems
from rankframe.analysis.comparison import Comparison
from rankframe.analysis.diff import (
    BETTER,
    Diff,
    describe_movers,
    movers,
    side_by_side,
    summarise_change,
)
from rankframe.analysis.differences import Setup
from rankframe.analysis.gate import decide_pair
from rankframe.analysis.gate_rules import Demands
from rankframe.analysis.systems import Runs, depth_of
from rankframe.core.columns import QUERY
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, shown
from rankframe.core.options import Comparing, Intervals, Policies, SharedPolicies
from rankframe.core.progress import Progress, Report
from rankframe.core.wording import naming_the_run
from rankframe.engine.judged_metrics import JudgedMetrics
from rankframe.engine.lists import Lists
from rankframe.engine.lookup import Lookup
from rankframe.engine.memory import Held, hold
from rankframe.io.described import Described
from rankframe.io.formats.registry import reading
from rankframe.io.input_table import InputTable, part_of
from rankframe.io.inputs import Source, describe
from rankframe.metrics.names import Metric, with_inner
from rankframe.present.report.drawings import drawings
from rankframe.present.report.fused import fusions, weights_charts
from rankframe.present.report.model import Material, Moved
from rankframe.present.report.provenance import (
    Made,
    fingerprint_of_values,
    input_of,
    rows_of,
)
from rankframe.present.report.queries import MOST_QUERIES, sampled

_MOST_CHANGES = 4  # systems whose movers are shown
_WORSE, _BETTER = 10, 5
_CURVE_QUERIES = 10_000  # of which curves are drawn, where there are more
_BOUND_QUERIES = 2_000  # of which bounds are found, where curves are of a sample
_STEPS = 5


@dataclass(frozen=True)
class Asked:
    """Hold what a user asked for."""

    # as given
    qrels: Source
    systems: Mapping[str, Source]
    # other inputs that were read, by their role; None: not passed
    other_inputs: Mapping[str, Source | None]
    metrics: Sequence[Metric]
    demands: Demands | None
    by: Sequence[tuple[str, ...]]
    slice_order: Mapping[str, Sequence[str]]
    described: Described
    policies: SharedPolicies
    setup: Setup
    date: str
    command: str | None = None
    progress: Report | None = None
    # charts that there are already, by what they show
    drawn: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Rows:
    """Hold judgments and runs, of all queries or of some."""

    qrels: InputTable
    runs: Mapping[str, InputTable]
    # the queries that curves are drawn of; None: all
    sample: pl.Series | None = None
    policies: Policies = field(default_factory=Policies)


def gather(tables: Held, request: Asked) -> Material:
    """Evaluate once, and compute everything from that."""
    tell = _Steps(request.progress)
    runs = dict(zip(request.systems, tables.rights, strict=True))
    tell("comparing")
    inputs = open_systems(
        {},
        Runs(tables.left, runs, request.policies.each, progress=request.progress, again=True),
        list(request.metrics),
        unpaired=request.setup.comparing.unpaired,
        missing=request.policies.missing,
        **_attributes(request),
    )
    depths = () if request.demands is None else request.demands.min_judged
    found, systems = compare_systems(inputs, request.setup, depths=depths)
    found = in_order(found, request.slice_order)
    tell("changes")
    base, candidates = str(request.setup.baseline), [n for n in runs if n != request.setup.baseline]
    changed = {
        name: side_by_side(
            found.metrics[0], found.per_query[base], found.per_query[name], request.described
        )
        for name in _best(found, candidates)
    }
    moved = {name: _movers(values) for name, values in changed.items()}
    rows = _rows(tables, runs, found, list(moved.values()), request.policies.each.judging)
    changes = _changes(found, base, changed, moved, rows, request)
    tell("charts")
    part = "" if rows.sample is None else (
        f"a sample of {len(rows.sample):,} of {_queries(found):,} queries"
    )  # fmt: skip
    drawn_of = _drawn_of(rows)
    drawn = _drawn(drawn_of, found, changes, request, part)
    tell("unjudged documents")
    sample = None if rows.sample is None else sampled(rows.sample, _BOUND_QUERIES)
    bounded = _bounded(drawn_of if sample is None else _only(drawn_of, sample), request)
    tell("writing")
    unpaired = request.setup.comparing.unpaired
    verdicts = {} if request.demands is None else {
        name: decide_pair(systems, (base, name), request.demands, unpaired)
        for name in candidates
    }  # fmt: skip
    queries = next(iter(found.per_query.values()))[QUERY]
    if rows.sample is not None and len(rows.sample) >= MOST_QUERIES:
        queries = rows.sample
    shown_ones = sampled(queries, MOST_QUERIES)
    texts = request.described.texts(shown_ones)
    return Material(
        found, drawn, changes, texts, _made(found, request), bounded, verdicts,
        request.described.weight,
        part, shown_ones,
    )  # fmt: skip


def in_order(found: Comparison, orders: Mapping[str, Sequence[str]]) -> Comparison:
    """Sort slices in these orders, by attribute; others follow in their own order."""
    ways = found.systems["by"].drop_nulls().unique(maintain_order=True).to_list()
    for by, names in orders.items():
        if by not in ways:
            raise OptionError(
                Option("slice_order"), f" speaks of {by!r}, by which nothing is sliced.",
                f" There is {', '.join(map(repr, ways))}." if ways else "",
            )  # fmt: skip
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise OptionError(
                Option("slice_order"), f" takes a list of slices for {by!r}, not {shown(names)}."
            )
    if not orders:
        return found
    return replace(
        found, table=_in_order(found.table, orders), systems=_in_order(found.systems, orders)
    )


def _in_order(frame: pl.DataFrame, orders: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    place = pl.lit(0)
    for by, names in orders.items():
        places = {str(name): position for position, name in enumerate(names)}
        there = pl.col("slice").replace_strict(places, default=len(places), return_dtype=pl.Int64)
        place = pl.when(pl.col("by") == by).then(there).otherwise(place)
    block = pl.struct("metric", "by").rle_id()
    return frame.sort(block, place, maintain_order=True)


def _attributes(request: Asked) -> dict[str, Any]:
    """Return the options of a comparison about queries, as far as it uses them."""
    weighted = any(metric.average == "weighted" for metric in with_inner(request.metrics))
    if not (request.by or weighted or any(metric.frame == "gap" for metric in request.metrics)):
        return {}
    weight = request.described.weight if weighted else None
    return {"queries": request.described.queries, "by": list(request.by) or None, "weight": weight}


def _best(found: Comparison, names: Sequence[str]) -> list[str]:
    """Return the systems with the best values of the first metric, as many as are shown."""
    first = found.metrics[0]
    whole = found.systems.filter(
        pl.col("by").is_null(), pl.col("metric") == first.label, pl.col("system").is_in(names)
    )
    order = whole.sort(
        "value", descending=first.higher_is_better, nulls_last=True, maintain_order=True
    )
    kept = set(order["system"].head(_MOST_CHANGES))
    return [name for name in names if name in kept]


def _movers(values: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the queries with the largest loss, and with the largest gain."""
    gained = values.filter(pl.col(BETTER) == "b")
    return movers(values, _WORSE, worse=True), movers(gained, _BETTER)


def _queries(found: Comparison) -> int:
    return next(iter(found.per_query.values())).height


def _rows(
    tables: Held,
    runs: Mapping[str, InputTable],
    found: Comparison,
    moved: Sequence[tuple[pl.DataFrame, pl.DataFrame]],
    policies: Policies,
) -> _Rows:
    """Return the rows for curves and lists: all, or only of a sample and the movers."""
    queries = next(iter(found.per_query.values()))[QUERY]
    if len(queries) <= _CURVE_QUERIES:
        if set(tables.partitions) <= {1}:
            # Cached: everything below that looks at a run reuses these matches.
            for name, run in runs.items():
                with naming_the_run(repr(name)):
                    Lookup.of(tables.left, run, policies, (), listed=True).found()
        return _Rows(tables.left, runs, None, policies)
    sample = sampled(queries, _CURVE_QUERIES)
    shown_ones = [frame[QUERY] for pair in moved for frame in pair]
    needed = pl.concat([sample, *shown_ones]).unique()
    qrels = _taken(tables.left, needed)
    taken = {name: _taken(run, needed) for name, run in runs.items()}
    # That nothing at all was judged was refused before; of some queries it may be so.
    return _Rows(qrels, taken, sample, replace(policies, no_overlap="zero"))


def _taken(scanned: InputTable, queries: pl.Series) -> InputTable:
    """Return the rows of some queries, in the order of the input."""
    with reading(scanned.name):
        sampled_rows = pl.col(QUERY).is_in(queries.implode())
        frame = scanned.frame.filter(sampled_rows).collect(engine="in-memory")
    return replace(part_of(frame, scanned.role), in_units=scanned.in_units)


def _changes(
    found: Comparison,
    base: str,
    changed: Mapping[str, pl.DataFrame],
    moved: Mapping[str, tuple[pl.DataFrame, pl.DataFrame]],
    rows: _Rows,
    request: Asked,
) -> dict[str, Moved]:
    """Compute what changed from the baseline to each system, with the lists of some queries."""
    if not moved:
        return {}
    first = found.metrics[0]
    queries = pl.concat([frame[QUERY] for pair in moved.values() for frame in pair]).unique()
    lists = Lists.read(
        queries, rows.qrels, {n: rows.runs[n] for n in (base, *moved)}, rows.policies
    )
    whole = found.systems.filter(pl.col("by").is_null(), pl.col("metric") == first.label)
    means = dict(zip(whole["system"], whole["value"], strict=True))
    depth = depth_of(first)
    changes = {}
    for name, pair in moved.items():
        values = changed[name]
        summary = summarise_change(first, means[base], means[name], values)
        changes[name] = Moved(*(
            Diff(summary, values, describe_movers(movers, request.described),
                 lists.documents(movers[QUERY], base, name, depth, request.described), depth)
            for movers in pair
        ))  # fmt: skip
    return changes


def _drawn_of(rows: _Rows) -> _Rows:
    """Return the rows of the sample, without movers outside it."""
    if rows.sample is None:
        return rows
    found = _only(rows, rows.sample)
    for run in found.runs.values():
        Lookup.of(found.qrels, run, rows.policies, (), listed=True).found()
    return found


def _only(rows: _Rows, queries: pl.Series) -> _Rows:
    """Return the rows of these queries."""
    qrels, *runs = (_taken(table, queries) for table in (rows.qrels, *rows.runs.values()))
    tables = hold(qrels, runs, JudgedMetrics.row_bytes, again=True)
    return replace(rows, qrels=tables.left, runs=dict(zip(rows.runs, tables.rights, strict=True)))


def _drawn(
    rows: _Rows, found: Comparison, changes: Mapping[str, Moved], request: Asked, sampled: str
) -> dict[str, Any]:
    intervals, weighed = request.setup.intervals, _attributes(request)
    return {
        **drawings(
            rows.qrels, rows.runs, found, changes, vars(rows.policies), vars(intervals), sampled
        ),
        **weights_charts(
            fusions(request.systems), rows.qrels, rows.runs, found.metrics[0], rows.policies,
            intervals, weighed if weighed.get("weight") else {}, sampled,
        ),
        **request.drawn,
    }  # fmt: skip


def _bounded(rows: _Rows, request: Asked) -> Comparison:
    """Compute bounds for unjudged documents, over the same queries."""
    judged = [metric for metric in request.metrics if metric.of_judgments]
    of_queries = _attributes(replace(request, metrics=judged))
    inputs = open_systems(
        {},
        Runs(rows.qrels, rows.runs, rows.policies, again=True),
        judged,
        unpaired=request.setup.comparing.unpaired,
        missing="zero" if request.policies.missing == "zero_if_few" else request.policies.missing,
        **{
            name: value
            for name, value in of_queries.items()
            if of_queries.get("weight") and name != "by"
        },
    )
    plain = Setup(request.setup.baseline, Comparing("t", "none"), Intervals(None))
    return compare_systems(inputs, plain, bounds=True)[0]


def _made(found: Comparison, request: Asked) -> Made:
    from rankframe import __version__  # noqa: PLC0415 (this module is part of it)

    first = found.names[0]
    qrels, counted = describe(request.qrels, "qrels"), rows_of(found, first, "qrels_rows")
    inputs = [input_of("judgments", request.qrels, qrels, counted)]
    for name, run in request.systems.items():
        counted = rows_of(found, name, "run_rows")
        inputs.append(input_of(f"run {name}", run, describe(run, "run"), counted))
    inputs += [
        input_of(what, source, describe(source, what))
        for what, source in request.other_inputs.items()
        if source is not None
    ]
    values = {name: fingerprint_of_values(frame) for name, frame in found.per_query.items()}
    return Made(request.date, __version__, tuple(inputs), request.command, values)


class _Steps:
    """Report the current step to a progress bar."""

    def __init__(self, progress: Report | None) -> None:
        self._progress, self._done = progress, 0

    def __call__(self, stage: str) -> None:
        if self._progress is not None:
            self._progress(Progress(stage, self._done, _STEPS, 0, "steps"))
        self._done = min(self._done + 1, _STEPS)
