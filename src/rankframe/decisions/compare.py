"""Several systems over the same queries: which is better, by how much, and how sure is that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import get_args

import polars as pl

from rankframe.base.columns import QUERY
from rankframe.base.errors import MetricParameterError, OptionError, did_you_mean, naming_the_run
from rankframe.base.options import Missing, NoOverlap, NoRelevant, Policies
from rankframe.base.progress import Progress, Report
from rankframe.decisions.align import Aligned, Column, Unpaired, align
from rankframe.decisions.comparison import LEDGER_SCHEMA, PAIR_SCHEMA, SYSTEM_SCHEMA, Comparison
from rankframe.decisions.contrast import Options, contrasts, p_values
from rankframe.decisions.systems import (
    System,
    names_of,
    read_systems,
    refuse_other_policies,
    stored_metrics,
)
from rankframe.decisions.unjudged import hole_bounds
from rankframe.engine.memory import count_pieces
from rankframe.engine.plan import compile_plan
from rankframe.engine.work import Job
from rankframe.evaluation.evaluate import DEFAULT_METRICS, evaluate_scanned
from rankframe.evaluation.ledger import POLICY
from rankframe.frames.rank import Ties
from rankframe.inputs.queries import (
    By,
    Known,
    Subset,
    everything,
    read_attributes,
    refuse_strangers,
    slices_of,
)
from rankframe.inputs.scan import Columns, Scanned, Source, scan
from rankframe.inputs.validate import Duplicates, load
from rankframe.metrics.names import Metric, parse, resolve
from rankframe.stats.intervals import Intervals, Method
from rankframe.stats.resample import hash_ids
from rankframe.stats.tests import Correction, Test, corrected

_JUDGED = "\0judged"  # in front of the labels of what goes beside a metric
_DEFAULT_DEPTH = 10


def compare(
    qrels: Source | None,
    systems: Mapping[str, Source],
    metrics: str | pl.Expr | Iterable[str | pl.Expr] | None = None,
    *,
    baseline: str | None = None,
    test: Test = "t",
    correction: Correction = "holm",
    unpaired: Unpaired = "error",
    permutations: int = 10_000,
    bounds: bool = False,
    queries: Source | None = None,
    by: By | Sequence[By] | None = None,
    weight: str | None = None,
    ci: Method | None = "bootstrap",
    confidence: float = 0.95,
    replicates: int = 1_000,
    seed: int = 0,
    columns: Columns | None = None,
    rel: float | None = None,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    no_overlap: NoOverlap = "error",
    ties: Ties = "doc_desc",
    duplicates: Duplicates = "error",
    k_max: int | None = None,
    judged_only: bool = False,
    max_memory: str | int | None = None,
    progress: Report | None = None,
) -> Comparison:
    """Compare systems over the same queries.

    `systems` are runs by name, evaluated against `qrels`. Without `qrels`, they are stored values:
    results, their folders, or tables with query_id and a column a metric; nothing is evaluated
    again, and `metrics` are the columns to compare (default: all that every system has).

    baseline: the system that others are compared with; without one, every pair is compared. One
        system that is its own baseline is not compared, but has its values in the same form.
    test: paired "t"; "wilcoxon" (signed rank); "sign"; "randomisation" (Fisher's); "tukey" (honest
        significant difference of all systems at once, by randomisation).
    correction: of p values, over all metrics × pairs × slices: "holm", "bonferroni" or "bh"
        (Benjamini–Hochberg). Tukey's are corrected over pairs already.
    unpaired: a query that not every system has is an "error", left out ("skip") or worth 0
        ("zero"; undefined where lower is better). Counted in the ledger.
    permutations: of the tests by randomisation.
    bounds: what each metric would be if all unjudged documents were relevant, or none was.
    queries, by, weight, ci, confidence, replicates, seed, and the policies: as in `evaluate`.

    A query where a metric is undefined for one system is left out of that metric for all.

    >>> qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"b": 1}}
    >>> old = {q: {"a": 2.0, "b": 1.0} for q in qrels}
    >>> new = {q: {"b": 2.0, "a": 1.0} for q in qrels}
    >>> found = rf.compare(qrels, {"old": old, "new": new}, "mrr", baseline="old")
    >>> found.table.select("system", "value", "difference", "wins", "losses").row(0)
    ('new', 0.6666666666666666, -0.16666666666666666, 1, 2)
    """
    names = names_of(systems)
    intervals = Intervals(ci, confidence, replicates, seed)
    options = Options(baseline, test, correction, permutations, intervals)
    if unpaired not in get_args(Unpaired):
        raise OptionError.choice("unpaired", unpaired, get_args(Unpaired))
    policies = Policies(rel, missing, no_relevant, no_overlap, ties, duplicates, k_max, judged_only)
    holes: dict[str, pl.DataFrame] = {}
    if qrels is None:
        if bounds:
            raise OptionError("bounds need judgments and runs: stored values have neither.")
        found = read_systems(systems)
        chosen = stored_metrics(found, _labels(metrics))
        attributes = read_attributes(queries, by=by, weight=weight, metrics=chosen, columns=columns)
        _check_names(list(found), baseline)
        options.check_metrics(chosen)
        refuse_other_policies(found)
    else:
        chosen = resolve(DEFAULT_METRICS[:-1] if metrics is None else metrics)
        attributes = read_attributes(queries, by=by, weight=weight, metrics=chosen, columns=columns)
        _check_names(names, baseline)
        options.check_metrics(chosen)
        judgments = scan(qrels, "qrels", columns)
        runs = {name: scan(systems[name], "run", columns) for name in names}
        job = Job(
            compile_plan([*chosen, *judged_beside(chosen)]),
            policies,
            attributes=None if attributes is None else attributes.weights_alone,
            intervals=Intervals(None),
            with_parts=True,
        )
        found = evaluate_systems(judgments, runs, job, max_memory, progress)
        if bounds:
            weighting = None if attributes is None else attributes.frame
            holes = _hole_bounds(judgments, runs, chosen, policies, weighting)
    aligned = align(found, chosen, unpaired)
    known = Known() if attributes is None else attributes.of(aligned.queries)
    refuse_strangers(known.absent, len(aligned.queries), aligned.queries)
    if any(metric.average == "weighted" for metric in chosen):
        known.refuse_unweighted(len(aligned.queries))
    subsets = [everything(aligned.queries), *slices_of(attributes, known)]
    table, values = _compared(aligned, chosen, known, subsets, options, progress)
    if holes:
        values = values.join(
            pl.concat(holes.values()), on=["system", "metric"], how="left", maintain_order="left"
        ).with_columns(
            pl.when(pl.col("by").is_null()).then(pl.col("if_nonrelevant", "if_relevant"))
        )
    return Comparison(
        table=table,
        systems=values,
        ledger=_ledger(found, aligned, known, unpaired, options),
        metrics=tuple(chosen),
        names=tuple(found),
        per_query={
            name: values.select(QUERY, *(metric.label for metric in chosen))
            for name, values in aligned.values.items()
        },
        baseline=baseline,
    )


def _check_names(names: Sequence[str], baseline: str | None) -> None:
    if len(names) < 2 and (not names or baseline != names[0]):
        raise OptionError(f"a comparison takes at least two systems, not {len(names)}.")
    if baseline is not None and baseline not in names:
        near = did_you_mean(str(baseline), names)
        raise OptionError(
            f"baseline={baseline!r} is none of the systems {', '.join(map(repr, names))}."
            f"{' ' if near else ''}{near}"
        )


def _labels(metrics: str | pl.Expr | Iterable[str | pl.Expr] | None) -> list[str] | None:
    if metrics is None:
        return None
    given = [metrics] if isinstance(metrics, str | pl.Expr) else list(metrics)
    labels = [label for label in given if isinstance(label, str)]
    if not labels or len(labels) < len(given):
        raise MetricParameterError(f"metrics of stored values are their columns, not {metrics!r}.")
    if twice := [label for label in labels if labels.count(label) > 1]:
        raise MetricParameterError(f"metric {twice[0]!r} is asked for more than once.")
    return labels


def judged_beside(metrics: Sequence[Metric]) -> list[Metric]:
    """How much was judged, at the cutoff of each metric."""
    return [
        replace(parse(f"judged@{depth}")[0], label=f"{_JUDGED}@{depth}")
        for depth in sorted({_depth(metric) for metric in metrics})
    ]


def _depth(metric: Metric) -> int:
    return metric.params.get("k") or _DEFAULT_DEPTH


def evaluate_systems(
    qrels: Scanned,
    runs: Mapping[str, Scanned],
    job: Job,
    max_memory: str | int | None,
    progress: Report | None,
) -> dict[str, System]:
    """Evaluate each run, with the sums that averages over sums need."""
    found = {}
    for name, run in runs.items():

        def report(done: Progress, name: str = name) -> None:
            if progress is not None:
                progress(replace(done, stage=f"{name}: {done.stage}"))

        pieces = count_pieces(qrels, run, max_memory)
        with naming_the_run(repr(name)):
            result = evaluate_scanned(qrels, run, job, pieces=pieces, progress=report)
        found[name] = System(result.per_query, result.ledger)
    return found


def _hole_bounds(
    qrels: Scanned,
    runs: Mapping[str, Scanned],
    metrics: Sequence[Metric],
    policies: Policies,
    weighting: pl.DataFrame | None,
) -> dict[str, pl.DataFrame]:
    judgments = load(qrels)
    return {
        name: hole_bounds(
            judgments, load(run), metrics, policies=policies, weighting=weighting
        ).with_columns(pl.lit(name).alias("system"))
        for name, run in runs.items()
    }


def _compared(
    aligned: Aligned,
    metrics: Sequence[Metric],
    known: Known,
    subsets: Sequence[Subset],
    options: Options,
    progress: Report | None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One row for each metric, subset and pair of systems; and one for each system."""
    names = list(aligned.values)
    pairs = list(combinations(range(len(names)), 2))
    if options.baseline is not None:
        base = names.index(options.baseline)
        pairs = [(base, at) for at in range(len(names)) if at != base]
    hashes = hash_ids(aligned.queries)
    columns = [
        Column.of(metric, aligned, weights=known.weights, judged=judged_label(metric, aligned))
        for metric in metrics
    ]
    found: list[tuple[int, dict[str, object]]] = []
    singles: list[tuple[int, dict[str, object]]] = []
    total, done = sum(len(subset.rows) for subset in subsets), 0
    for subset in subsets:
        if progress is not None:
            progress(Progress("comparing", done, total, len(aligned.queries), "queries"))
        here = contrasts(
            [column.taken(subset.rows) for column in columns], hashes[subset.rows], options
        )
        of = {"by": subset.by, "slice": subset.name}
        found_p = p_values(here, pairs, options)
        for at, one in enumerate(here):
            singles += [
                (at, {**of, "system": name, **one.single(i)}) for i, name in enumerate(names)
            ]
            for (i, j), p_value in zip(pairs, found_p[at], strict=True):
                named = {**of, "baseline": names[i], "system": names[j], "p_value": p_value}
                found.append((at, {**named, **one.pair(i, j)}))
        done += len(subset.rows)
    table = _in_order(found, PAIR_SCHEMA)
    families = len(metrics) * len(subsets)
    return _with_corrected(table, options, families), _in_order(singles, SYSTEM_SCHEMA)


def _in_order(
    rows: list[tuple[int, dict[str, object]]], schema: Mapping[str, type[pl.DataType]]
) -> pl.DataFrame:
    """Rows by metric, then as they came."""
    return pl.DataFrame([row for _, row in sorted(rows, key=lambda row: row[0])], schema=schema)


def _with_corrected(table: pl.DataFrame, options: Options, families: int) -> pl.DataFrame:
    after = corrected(
        table["p_value"].to_list(),
        options.correction,
        families=families if options.significance.over_pairs else None,
    )
    return table.with_columns(
        pl.Series("p_corrected", after, pl.Float64),
        pl.Series("significant", [p is not None and p < options.level for p in after], pl.Boolean),
    )


def judged_label(metric: Metric, aligned: Aligned, system: str | None = None) -> str:
    """Where it says how much was judged: beside evaluated runs, or as a column of stored values."""
    depth = _depth(metric)
    first = next(iter(aligned.values.values())) if system is None else aligned.values[system]
    return f"{_JUDGED}@{depth}" if f"{_JUDGED}@{depth}" in first.columns else f"judged@{depth}"


def _ledger(
    systems: Mapping[str, System],
    aligned: Aligned,
    known: Known,
    unpaired: Unpaired,
    options: Options,
) -> pl.DataFrame:
    """system, item, value, note: what was compared, then what was counted for each system."""
    done = {"error": "", "skip": ": left out", "zero": ": scored 0"}[unpaired]
    items: list[tuple[str | None, str, float | None, str]] = [
        (None, "queries_compared", len(aligned.queries), "queries that are compared"),
        (None, "queries_unpaired", aligned.unpaired, f"not in every system{done}"),
    ]
    if known.absent:
        items.append(
            (None, "queries_without_attributes", known.absent, "not in the frame of queries")
        )
    items += [
        (None, f"{POLICY}{name}", None, note) for name, note in options.described(unpaired).items()
    ]
    for name, system in systems.items():
        items.append((name, "queries_lacking", aligned.lacking[name], "that other systems have"))
        if system.ledger is not None:
            kept = system.ledger.filter(pl.col("item") != f"{POLICY}ci")
            items += [(name, *row) for row in kept.rows()]  # allowed: one row an item
    return pl.DataFrame(items, schema=LEDGER_SCHEMA, orient="row")
