"""Several runs, many ways to fuse them: which is best, and what is it worth on other queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Unpack

import numpy as np
import polars as pl

from rankframe.analysis.differences import Setup
from rankframe.analysis.fusion.fuser import refuse_unscored
from rankframe.analysis.fusion.names import MethodLike
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.partitions import PartitionedRuns, load_runs
from rankframe.analysis.fusion.runs import LoadedRuns, named_runs, unscored
from rankframe.analysis.missing_queries import refuse_unshared
from rankframe.analysis.systems import Runs, System, evaluate_runs
from rankframe.analysis.tuning.candidate_runs import Trials
from rankframe.analysis.tuning.candidates import Candidate
from rankframe.analysis.tuning.choosing import Contender, Split
from rankframe.analysis.tuning.evaluator import Bench
from rankframe.analysis.tuning.findings import Findings
from rankframe.analysis.tuning.fold_training import Lessons
from rankframe.analysis.tuning.folds import check_folds, fold_numbers, refuse_more_folds
from rankframe.analysis.tuning.grids import Grid, check_budget
from rankframe.analysis.tuning.memory_budget import Room, count_values
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.analysis.tuning.report_lines import ledger_of
from rankframe.analysis.tuning.request import asked_families, method_of, one_metric
from rankframe.core.columns import QUERY, RELEVANCE
from rankframe.core.option import takes_options
from rankframe.core.options import (
    Comparing,
    Intervals,
    Policies,
    SharedPolicies,
    Storage,
    TuneOptions,
)
from rankframe.core.progress import Report, check_progress
from rankframe.engine.grades import check_grades
from rankframe.engine.input_cache import Held
from rankframe.engine.judged_metrics import JudgedMetrics, judged_plan
from rankframe.engine.lookup import read_judgments
from rankframe.engine.memory import estimated_need, limiting
from rankframe.engine.prepare import refuse_idle
from rankframe.engine.terms import Terms
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source
from rankframe.io.queries import Attributes, Known, read_attributes, refuse_strangers
from rankframe.io.storage import reaching
from rankframe.metrics.names import Metric, MetricLike
from rankframe.stats.bootstrap import hash_ids

# What every tuned fusion has to beat, besides the runs.
PLAIN = Candidate("rrf", None, (("k", 60),))


@reaching
@limiting
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
            Trained methods are trained on other folds than those that choose or value them.
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
    check_progress(progress)
    chosen = one_metric(metric)
    check_folds(folds)
    check_budget(budget)
    shared = SharedPolicies.from_options(options)
    refuse_idle(shared)
    fusing = FusionPolicies.from_options({**options, "k_max": None, "depth": depth})
    comparing, intervals = Comparing.from_options(options), Intervals.from_options(options)
    setup = Setup(None, comparing, intervals)
    setup.check_metrics([chosen])
    named = named_runs(runs)
    families = asked_families(methods, norms, grid, list(named), budget=budget, folds=folds)
    attributes = read_attributes(queries, weight=weight, metrics=[chosen], columns=columns)
    alone = _alone(qrels, named, chosen, shared, attributes, columns, max_memory, progress)
    split = alone.split(folds, intervals.seed)
    methods_tried = [method_of(next(one.candidates()), list(named)) for one in families]
    for method in methods_tried:
        refuse_unscored(method, unscored(alone.opened))
    values = count_values(
        [(f, m.definition.trained) for f, m in zip(families, methods_tried, strict=True)],
        budget,
        folds,
    )
    room = Room.beside(values, len(alone.queries), alone.judgments_need(), chosen, max_memory)
    with load_runs(alone.opened, fusing, room.max_memory) as held:
        trials = Trials(
            alone.bench(held, room.found, progress),
            split,
            Lessons(alone.held.left, alone.opened, fusing, alone.queries, split.folds),
            budget,
            intervals.seed,
        )
        tried = trials.run(families, PLAIN)
    plain = trials.contenders[PLAIN]
    findings = Findings(
        chosen,
        alone.queries,
        split.limited([plain, *(one.contender for one in tried)]),
        tried,
        alone.contenders,
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
        ledger=ledger_of(findings, alone.systems, shared, fusing, folds=folds, seed=intervals.seed),
        metric=chosen,
        best={"method": best.method_like} | ({} if best.norm is None else {"norm": best.norm}),
        names=tuple(named),
        policies=fusing,
        inputs={"qrels": alone.held.left.name}
        | {name: run.name for name, run in alone.opened.items()},
    )


@dataclass(frozen=True, eq=False)
class _Alone:
    """Every run by itself, over the queries that are tuned by."""

    metric: Metric
    policies: Policies
    systems: Mapping[str, System]
    held: Held
    known: Known
    # whether queries that some run lacks are left out
    skip: bool

    @property
    def opened(self) -> dict[str, InputTable]:
        """The runs."""
        return dict(zip(self.systems, self.held.rights, strict=True))

    @property
    def queries(self) -> pl.Series:
        """The same for all, in byte order."""
        return next(iter(self.systems.values())).values[QUERY]

    @cached_property
    def contenders(self) -> dict[str, Contender]:
        """What each run is worth."""
        return {
            name: Contender(Terms.of(self.metric, system.computed, self.known.weights))
            for name, system in self.systems.items()
        }

    def split(self, folds: int, seed: int) -> Split:
        """The queries in folds."""
        has = [(one.values[one.evidence[0]] > 0).to_numpy() for one in self.systems.values()]
        kept = np.logical_and.reduce(has) if self.skip else np.ones(len(self.queries), np.bool_)
        numbers = fold_numbers(hash_ids(self.queries), folds, seed)
        found = Split(numbers, folds, kept).limited(list(self.contenders.values()))
        refuse_more_folds(folds, int(found.complete.sum()))
        return found

    def judgments_need(self) -> int:
        """About how many bytes judgments take."""
        return estimated_need(self.held.left, JudgedMetrics.row_bytes[0])

    def bench(
        self, runs: LoadedRuns | PartitionedRuns, found_bytes: int | None, progress: Report | None
    ) -> Bench:
        """What fusions are evaluated on."""
        plan, qrels = judged_plan([self.metric]), self.held.left
        judgments = read_judgments(qrels, qrels.frame, self.policies.duplicates)
        highest = check_grades(plan.metrics, pl.LazyFrame({RELEVANCE: judgments.grades}))
        judged = JudgedMetrics(plan, self.policies, highest)
        weights = self.known.weights
        return Bench(runs, judgments, self.metric, judged, weights, progress, found_bytes)


def _alone(
    qrels: Source,
    runs: Mapping[str, Source],
    metric: Metric,
    shared: SharedPolicies,
    attributes: Attributes | None,
    columns: Columns | None,
    max_memory: str | int | None,
    progress: Report | None,
) -> _Alone:
    """Evaluate each run, and refuse what cannot be compared."""
    # What is left out is left out for all, once it is known what each run lacks.
    missing = "error" if shared.missing == "error" else "zero"
    policies = replace(shared.each, missing=missing)
    # Where memory is short, what is made of runs is not kept beside them.
    again = max_memory is None
    asked = Runs(qrels, runs, policies, columns, max_memory, progress, again=again)
    systems, held = evaluate_runs(asked, [metric], attributes=attributes)
    if shared.missing == "zero_if_few":
        refuse_unshared(systems)
    queries = next(iter(systems.values())).values[QUERY]
    known = Known() if attributes is None else attributes.of(queries)
    refuse_strangers(known.absent, len(queries), queries)
    if metric.average == "weighted":
        known.refuse_unweighted(len(queries))
    return _Alone(metric, policies, systems, held, known, shared.missing == "skip")
