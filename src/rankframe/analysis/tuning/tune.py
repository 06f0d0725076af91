"""Tune fusions: try many over the same queries, and estimate the best one's value on others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from rankframe.analysis.compare import SystemInputs
from rankframe.analysis.differences import Setup
from rankframe.analysis.fusion.names import MethodLike
from rankframe.analysis.fusion.names import resolve as resolve_method
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.runs import load_runs, named_runs, unscored
from rankframe.analysis.fusion.training import judge_runs
from rankframe.analysis.judged_shares import find_bounds, find_gaps
from rankframe.analysis.systems import Runs
from rankframe.analysis.tuning.candidates import Candidates, Grid, list_candidates
from rankframe.analysis.tuning.evaluator import Evaluator
from rankframe.analysis.tuning.findings import Findings
from rankframe.analysis.tuning.folds import FOLDS, Folds, QueryValues, deal
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.analysis.tuning.trials import Trials
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, number_of
from rankframe.core.options import (
    COUNT,
    Comparing,
    Intervals,
    Report,
    SharedPolicies,
    Storage,
    TuneOptions,
    takes_options,
)
from rankframe.engine.accumulator import Terms
from rankframe.engine.evaluation import refuse_idle
from rankframe.engine.judged_metrics import JudgedMetrics
from rankframe.io.inputs import Columns, Source
from rankframe.io.memory import estimated_need, for_rows, limit_for, limit_of, size_text
from rankframe.metrics.names import Metric, MetricLike, resolve
from rankframe.stats.bootstrap import hash_ids

# The fusion that a tuned fusion is tested against, besides the runs.
PLAIN_RRF = "rrf(k=60)"
# Peak memory per value in bytes, while intervals are computed: 32 bytes were measured. Averages
# other than the plain mean also keep the numerator and the denominator of each value.
_VALUE, _SIDES = 40, 16
# The minimum shares of the memory for rows: for the runs, and for the ranks of fusions.
_FOR_RUNS, _FOR_RANKS = 0.2, 0.25


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

    Every candidate is a fusion that `rf.fuse` can make; all are evaluated over the same queries. On
    the queries that were used to choose the best of many candidates, the value of this candidate is
    too high. Queries are therefore split into folds by hashes of their ids, and for each fold, the
    candidate that is best on all other folds is chosen. Every query thus has a value *out of fold*:
    from a candidate that was chosen without the query. These values are tested against the best
    single run, which is chosen in the same way, and against plain RRF. If the folds choose
    different best runs, an improvement must also be significant over the run that is best over all
    queries.

    Args:
        qrels: the judgments, as in `evaluate`.
        runs: the runs, by name or as a list, as in `fuse`.
        methods: names of fusions (`rankframe fusions` lists them). Parameters written in the name,
            `"rrf(k=60)"`, are kept fixed. Also expressions over the stacked frame, as `rf.fuse`
            takes them, with a name: `(pl.col("normalised") / pl.col("rank")).sum().alias("own")`.
            Trained methods are trained on folds that are neither used to choose nor to evaluate
            them.
        metric: a name, an expression or an `rf.metric` with a value for each query.
        norms: norms of scores, for methods that use scores.
        grid: the values to try for a parameter: `{"k": [10, 60, 100]}`. For weights, pass the size
            of the steps, `{"weights": 0.05}` (default: 0.1, which gives 66 combinations for three
            runs), or lists of weights.
        folds: the number of folds.
        budget: with more combinations of weights than this, a search tries this many of them:
            random weights first, then hill climbing from the best. The search for a fold uses only
            the other folds.
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
    FOLDS.refuse("folds", folds)
    COUNT.refuse("budget", budget)
    shared = SharedPolicies.from_options(options)
    refuse_idle(shared)
    fusing = FusionPolicies.from_options({**options, "k_max": None, "depth": depth})
    comparing, intervals = Comparing.from_options(options), Intervals.from_options(options)
    setup = Setup(None, comparing, intervals)
    setup.check_metrics([tuned_by])
    setup = setup.with_enough_permutations(3, 1)
    sources = named_runs(runs)
    names = tuple(sources)
    plain_rrf = resolve_method(PLAIN_RRF, names)
    candidates = list_candidates(methods, norms, grid, names, budget=budget, folds=folds)
    # Queries that a run lacks are left out later, when the gaps of all runs are known.
    missing = "error" if shared.missing == "error" else "zero"
    policies = replace(shared.each, missing=missing)
    # If memory is short, the indexes of runs are not kept in addition to the runs.
    again = max_memory is None
    systems = SystemInputs(
        {}, Runs(qrels, sources, policies, columns, max_memory, progress, again=again), [tuned_by],
        unpaired="error", missing=shared.missing, queries=queries, weight=weight, columns=columns,
    ).evaluate()  # fmt: skip
    assert systems.tables is not None  # runs were evaluated
    judgments, inputs = systems.tables.left, dict(zip(names, systems.tables.rights, strict=True))
    ids, weights = systems.queries, systems.attributes.weights
    single_runs = {
        name: QueryValues(Terms.from_values(tuned_by, system.computed, weights))
        for name, system in systems.by_name.items()
    }
    kept = np.ones(len(ids), np.bool_)
    if shared.missing == "skip":
        for system in systems.by_name.values():
            kept &= (system.values[system.evidence[0]] > 0).to_numpy()
    dealt = Folds(deal(hash_ids(ids), folds, intervals.seed), folds, kept)
    dealt = dealt.limit_to(list(single_runs.values()))
    dealt.refuse_empty()
    without_scores = unscored(inputs)
    for candidate in (*candidates.listed, *candidates.searched):
        candidate.refuse_unscored(without_scores)
    run_bytes, rank_bytes = limit_runs(
        count_values(candidates, budget, folds),
        len(ids),
        estimated_need(judgments, JudgedMetrics.row_bytes[0]),
        tuned_by,
        max_memory,
    )
    with load_runs(inputs, fusing, run_bytes) as loaded:
        evaluator = Evaluator(loaded, judgments, tuned_by, policies, weights, progress, rank_bytes)
        judge = cache(partial(judge_runs, judgments, inputs, fusing))
        trials = Trials(names, evaluator, ids, dealt, judge, budget, intervals.seed)
        tried = trials.run(candidates, plain_rrf)
    judged_gaps = find_gaps(systems, combinations(names, 2))
    findings = Findings(
        tuned_by,
        ids,
        dealt.limit_to([trials[plain_rrf], *(trial.values for trial in tried)]),
        tried,
        single_runs,
        (PLAIN_RRF, trials[plain_rrf]),
        setup,
        (judged_gaps, find_bounds(systems, [tuned_by]) if judged_gaps else None),
    )
    best = tried[findings.order[0]].method
    expression = best.definition.expression
    as_options: dict[str, Any] = {"method": best.label if expression is None else expression}
    if best.norm_name is not None:
        as_options["norm"] = best.norm_name
    against = findings.against()
    return Tuning(
        candidates=findings.candidates(),
        against=against,
        folds=findings.by_fold(),
        runs=findings.by_run(),
        per_query=findings.per_query(),
        ledger=findings.ledger(systems, shared, fusing, against),
        metric=tuned_by,
        best=as_options,
        names=names,
        policies=fusing,
        inputs={"qrels": judgments.name} | {name: run.name for name, run in inputs.items()},
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


def count_values(candidates: Candidates, budget: int, folds: int) -> int:
    """Return the maximum number of values per query: one for each fusion.

    A trained fusion has a further value for every fold.
    """
    listed = sum(1 + folds if method.definition.trained else 1 for method in candidates.listed)
    # All searches share the points that they start with, half of the budget.
    searched = (budget // 2 + 1) * (folds + 2) * len(candidates.searched)
    return 1 + listed + searched  # 1: plain RRF


def limit_runs(
    values: int, queries: int, judgment_bytes: int, metric: Metric, max_memory: str | int | None
) -> tuple[int | None, int | None]:
    """Subtract the memory of values and judgments from the limit; refuse too many values.

    Returns the limits for runs, and for the ranks of fusions that are evaluated together; None
    where there is no limit beyond what the machine has.
    """
    limit = limit_of(max_memory)
    room = for_rows(limit)
    size = _VALUE if metric.average in ("macro", "sum") else _VALUE + _SIDES
    need = values * queries * size + judgment_bytes
    left = room - need
    if left < room * _FOR_RUNS:
        enough = size_text(limit_for(math.ceil(need / (1 - _FOR_RUNS))))
        raise OptionError(
            f"the judgments and the values of up to {number_of(values, 'candidate')} for "
            f"{number_of(queries, 'query')} are kept in memory and take about {size_text(need)}, "
            f"too much for the limit of {size_text(limit)}. Pass ",
            Option("max_memory", enough),
            ", or try fewer candidates.",
        )
    if max_memory is None:
        return None, None
    return left + limit - room, int(left * _FOR_RANKS)
