"""Tune fusions: try many over the same queries, and estimate the best one's value on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Unpack

import numpy as np
import polars as pl

from rankframe.analysis.differences import Setup
from rankframe.analysis.fusion.names import MethodLike
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.runs import (
    LoadedRuns,
    PartitionedRuns,
    load_runs,
    named_runs,
    unscored,
)
from rankframe.analysis.systems import Runs, System, evaluate_runs, refuse_unshared
from rankframe.analysis.tuning.candidates import Candidate, list_families
from rankframe.analysis.tuning.evaluator import Evaluator
from rankframe.analysis.tuning.findings import Findings
from rankframe.analysis.tuning.folds import Folds, QueryValues, check_folds, fold_numbers
from rankframe.analysis.tuning.grid import Grid
from rankframe.analysis.tuning.ledger import make_ledger
from rankframe.analysis.tuning.memory_budget import count_values, limit_runs
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.analysis.tuning.trials import Training, Trials
from rankframe.core.checks import is_count
from rankframe.core.columns import QUERY, RELEVANCE
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, shown
from rankframe.core.options import (
    Comparing,
    Intervals,
    Policies,
    SharedPolicies,
    Storage,
    TuneOptions,
    takes_options,
)
from rankframe.core.progress import Report
from rankframe.engine.accumulator import Floats, Terms
from rankframe.engine.evaluation import refuse_idle
from rankframe.engine.judged_metrics import JudgedMetrics, check_grades, judged_plan
from rankframe.engine.lookup import read_judgments
from rankframe.engine.memory import Held, estimated_need
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source
from rankframe.io.queries import Known, read_attributes, refuse_strangers
from rankframe.metrics.names import Metric, MetricLike, resolve
from rankframe.stats.bootstrap import hash_ids

# What every tuned fusion has to beat, besides the runs.
PLAIN = Candidate("rrf", None, (("k", 60),))


@takes_options(TuneOptions, SharedPolicies, Comparing, Intervals, Storage)
def tune(
    qrels: Source,
    runs: Mapping[str, Source] | Sequence[Source],
    methods: MethodLike | Sequence[MethodLike] = ("rrf", "wsum"),
    metric: MetricLike = "ndcg@10",
    *,
    norms: str | Sequence[str] = ("min_max",),
    grid: Grid | None = None,
    folds: int = 5,
    budget: int = 200,
    depth: int | None = None,
    queries: Source | None = None,
    weight: str | None = None,
    columns: Columns | None = None,
    max_memory: str | int | None = None,
    progress: Report | None = None,
    **options: Unpack[TuneOptions],
) -> Tuning:
    """Find the fusion of runs that is best for a metric, and estimate its value on other queries.

    Every candidate is a fusion, as `rf.fuse` makes it, over the same queries. A value over the
    queries that chose the best of many candidates would be too high. So queries are split into
    folds, by hashes of their ids. For each fold, the candidate that is best on all other folds is
    applied to it, so that every query has a value of a candidate chosen without it: *out of fold*.
    These values are tested against the best single run, which is chosen in the same way, and
    against plain RRF. Where folds do not agree on the best run, an improvement must also be one
    over the run that is best over all queries.

    Args:
        qrels: the judgments, as in `evaluate`.
        runs: the runs, by name or as a list, as in `fuse`.
        methods: names of fusions (`rankframe fusions` lists them). Parameters written in the name,
            `"rrf(k=60)"`, are kept fixed. Also expressions over the stacked frame, as `rf.fuse`
            takes them, with a name: `(pl.col("normalised") / pl.col("rank")).sum().alias("own")`.
            Trained methods are trained on other folds than the folds that choose or value them.
        metric: one name, expression or `rf.metric`, that has a value for each query.
        norms: norms of scores, for methods that use scores.
        grid: values to try, by the name of a parameter: `{"k": [10, 60, 100]}`; for weights, the
            size of their steps, `{"weights": 0.05}` (default 0.1, which makes 66 for three runs),
            or lists.
        folds: the number of folds.
        budget: with more weights than this, weights are searched for: random ones first, then
            uphill from the best, for each fold without using it. Each search tries this many.
        depth: fuse only the top N documents of each run.
        queries: attributes of queries, as in `evaluate`.
        weight: the attribute that weights queries, as in `evaluate`.
        columns: names in your data, as in `evaluate`.
        max_memory: the approximate memory limit, such as "2GiB" (default: what the machine has).
            Larger runs are fused in partitions of queries, with temporary files in TMPDIR, and the
            same bits. The value of every candidate in every query, and the judgments, must fit.
        progress: a function called with a `Progress` on the way.

    All tests are one family. `ties` orders scores in a run; documents with equal fused scores are
    ordered by doc_id, descending. `k_max` cuts each run and the fused one; `seed` is that of the
    folds, the search and the intervals.

    >>> qrels = {f"q{n}": {"a": 1} for n in range(8)}
    >>> one = {q: {"x": 3.0, "a": 2.8, "y": 1.0} for q in qrels}
    >>> other = {q: {"z": 3.0, "a": 2.8, "y": 1.0} for q in qrels}
    >>> found = rf.tune(qrels, {"one": one, "other": other}, "wsum", "mrr", grid={"weights": 0.5})
    >>> found.best
    {'method': 'wsum(weights=[0.5, 0.5])', 'norm': 'min_max'}
    >>> found.value, found.improved
    (1.0, True)
    """
    tuned_by = one_metric(metric)
    check_folds(folds)
    check_budget(budget)
    shared = SharedPolicies.from_options(options)
    refuse_idle(shared)
    fusing = FusionPolicies.from_options({**options, "k_max": None, "depth": depth})
    comparing, intervals = Comparing.from_options(options), Intervals.from_options(options)
    setup = Setup(None, comparing, intervals)
    setup.check_metrics([tuned_by])
    sources = named_runs(runs)
    names = tuple(sources)
    families = list_families(methods, norms, grid, names, budget=budget, folds=folds)
    attributes = read_attributes(queries, weight=weight, metrics=[tuned_by], columns=columns)
    # A query that a run lacks is left out for all later, when it is known what each run lacks.
    missing = "error" if shared.missing == "error" else "zero"
    policies = replace(shared.each, missing=missing)
    # Where memory is short, indexes of runs are not kept beside the runs.
    again = max_memory is None
    requested = Runs(qrels, sources, policies, columns, max_memory, progress, again=again)
    systems, cached = evaluate_runs(requested, [tuned_by], attributes=attributes)
    if shared.missing == "zero_if_few":
        refuse_unshared(systems)
    ids = next(iter(systems.values())).values[QUERY]
    of_queries = Known() if attributes is None else attributes.of(ids)
    refuse_strangers(of_queries.absent, len(ids), ids)
    if tuned_by.average == "weighted":
        of_queries.refuse_unweighted(len(ids))
    single = SingleRuns(tuned_by, policies, systems, cached, of_queries.weights)
    dealt = single.deal(folds, intervals.seed, skip_missing=shared.missing == "skip")
    for family in families:
        next(family.candidates()).resolve(names).refuse_unscored(unscored(single.inputs))
    limits = limit_runs(
        count_values(families, names, budget, folds),
        len(ids),
        estimated_need(cached.left, JudgedMetrics.row_bytes[0]),
        tuned_by,
        max_memory,
    )
    with load_runs(single.inputs, fusing, limits.max_memory) as loaded:
        trials = Trials(
            names,
            single.make_evaluator(loaded, limits.rank_bytes, progress),
            dealt,
            Training(cached.left, single.inputs, fusing, ids, dealt),
            budget,
            intervals.seed,
        )
        tried = trials.run(families, PLAIN)
    plain = trials.values[PLAIN]
    findings = Findings(
        tuned_by,
        ids,
        dealt.limit_to([plain, *(trial.values for trial in tried)]),
        tried,
        single.values,
        (PLAIN.name, plain),
        setup,
    )
    best = tried[findings.order[0]].candidate
    return Tuning(
        candidates=findings.candidates(),
        against=findings.against(),
        folds=findings.by_fold(),
        runs=findings.by_run(),
        per_query=findings.per_query(),
        ledger=make_ledger(findings, systems, shared, fusing, intervals.seed),
        metric=tuned_by,
        best={"method": best.method_like} | ({} if best.norm is None else {"norm": best.norm}),
        names=names,
        policies=fusing,
        inputs={"qrels": cached.left.name}
        | {name: run.name for name, run in single.inputs.items()},
    )


def one_metric(metric: MetricLike) -> Metric:
    """Return the only metric; refuse several, and one without a value for each query."""
    metrics = resolve(metric)
    if len(metrics) > 1:
        labels = ", ".join(repr(metric.label) for metric in metrics)
        raise MetricParameterError(f"fusions are tuned for one metric, not for {labels}.")
    if metrics[0].whole_input:
        raise MetricParameterError(
            f"{metrics[0].label!r} compares the documents of all queries with each other: it has "
            "no value for each query to tune by. Take another metric."
        )
    return metrics[0]


def check_budget(budget: object) -> None:
    """Refuse a budget that is no number of candidates."""
    if not is_count(budget):
        raise OptionError(
            Option("budget", bare=True),
            f" must be a whole number of at least 1, not {shown(budget)}.",
        )


@dataclass(frozen=True, eq=False)
class SingleRuns:
    """Hold the runs, and the values of each by itself, over the same queries in byte order."""

    metric: Metric
    policies: Policies
    systems: Mapping[str, System]
    cached: Held
    # of queries, if the metric is averaged by them
    weights: Floats | None

    @property
    def inputs(self) -> dict[str, InputTable]:
        """Return the runs by name, as they were read."""
        return dict(zip(self.systems, self.cached.rights, strict=True))

    @cached_property
    def values(self) -> dict[str, QueryValues]:
        """Return the values of each run."""
        return {
            name: QueryValues(Terms.of(self.metric, system.computed, self.weights))
            for name, system in self.systems.items()
        }

    def deal(self, folds: int, seed: int, *, skip_missing: bool) -> Folds:
        """Deal the queries into folds; with `skip_missing`, leave out queries that a run lacks."""
        systems = list(self.systems.values())
        queries = systems[0].values[QUERY]
        has = [(system.values[system.evidence[0]] > 0).to_numpy() for system in systems]
        kept = np.logical_and.reduce(has) if skip_missing else np.ones(len(queries), np.bool_)
        dealt = Folds(fold_numbers(hash_ids(queries), folds, seed), folds, kept)
        dealt = dealt.limit_to(list(self.values.values()))
        dealt.refuse_empty()
        return dealt

    def make_evaluator(
        self, runs: LoadedRuns | PartitionedRuns, rank_bytes: int | None, on_progress: Report | None
    ) -> Evaluator:
        """Index the judgments, to evaluate fusions of the runs."""
        plan, qrels = judged_plan([self.metric]), self.cached.left
        judgments = read_judgments(qrels, qrels.frame, self.policies.duplicates)
        highest = check_grades(plan.metrics, pl.LazyFrame({RELEVANCE: judgments.grades}))
        judged = JudgedMetrics(plan, self.policies, highest)
        return Evaluator(
            runs, judgments, self.metric, judged, self.weights, on_progress, rank_bytes
        )
