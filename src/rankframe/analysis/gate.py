"""Decide whether to ship a run: check it against a stored baseline under rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

from rankframe.analysis.compare import SystemInputs
from rankframe.analysis.differences import Row
from rankframe.analysis.document_comparison import list_exposures
from rankframe.analysis.gap_comparison import AlignedGaps
from rankframe.analysis.gate_rules import Demands, Measured, Rule, read_demands
from rankframe.analysis.judged_shares import (
    CONDENSED,
    JudgedGap,
    JudgedShares,
    describe_gaps,
    find_bounds,
    find_gaps,
    value_of,
)
from rankframe.analysis.stored import Names, read_systems, refuse_unknown
from rankframe.analysis.systems import Runs, Subset, System, Systems
from rankframe.analysis.unjudged import has_bounds
from rankframe.analysis.verdict import BASELINE, CANDIDATE, CHECK_SCHEMA, Verdict
from rankframe.core.arrays import Flags
from rankframe.core.caveats import CAVEATS
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, number_of
from rankframe.core.options import (
    Comparing,
    GateOptions,
    Intervals,
    Report,
    SharedPolicies,
    Storage,
    Unpaired,
    takes_options,
)
from rankframe.engine.evaluation import RUN_FRAMES
from rankframe.io.inputs import Columns, Source
from rankframe.metrics.names import Metric, Metrics, resolve
from rankframe.stats.gaps import too_many
from rankframe.stats.significance import against_margin

_NAMED = 3  # how many queries, undefined for one side only, a reason names


@takes_options(GateOptions, SharedPolicies, Comparing, Storage)
def gate(
    qrels: Source | None,
    run: Source,
    baseline: Source,
    rules: str | Path | Mapping[str, Any] | Iterable[str],
    *,
    metrics: Metrics | None = None,
    min_queries: int | None = None,
    min_judged: Mapping[int, float] | None = None,
    lower_is_better: Names = (),
    higher_is_better: Names = (),
    queries: Source | None = None,
    weight: str | None = None,
    columns: Columns | None = None,
    max_memory: str | int | None = None,
    progress: Report | None = None,
    **options: Unpack[GateOptions],
) -> Verdict:
    """Decide whether a run is good enough, against a stored baseline and rules.

    The verdict is pass if every rule passes. No correction for multiple testing is needed, because
    more rules never make it easier to pass.

    Args:
        qrels: the judgments to evaluate the run against, as in `evaluate`. Without them, `run` must
            be a stored result, too.
        run: the ranking, as in `evaluate`.
        baseline: a stored result: a result, its folder, or a table with query_id and a column per
            metric.
        rules: texts such as "ndcg@10: no worse than -0.5% at 95%", a TOML file with rules, or the
            content of such a file. "no worse than" is a test of non-inferiority: it passes if the
            one-sided lower confidence bound of the change (paired Student's t over queries) is at
            or above the margin. A minus means worse, even if lower values are better. "better than"
            requires a larger improvement than the margin; "at least" and "at most" limit the value
            itself. "per locale" checks the rule in every slice. A rule on
            "gap(ndcg@10, by=group)" limits the gap between slices; smaller gaps are better. A rule
            is undecided if more than 1% of the queries have a value for only one of the two runs,
            unless it ends in "where both are defined". A rule is also undecided if the judged
            shares of the two runs differ by more than 10 percentage points, and the grades of
            unjudged documents could change whether the rule holds.
        metrics: your own metrics that rules may name: expressions with a name, or metrics that
            `rf.metric` returns, which also declares the direction that is better.
        min_queries: rules are undecided with fewer queries (default: 30); smaller slices are
            skipped.
        min_judged: {10: 0.5} leaves rules undecided if judged@10 of the candidate is below 0.5.
        lower_is_better: your own stored columns of which lower values are better.
        higher_is_better: your own stored columns of which higher values are better. A rule about a
            change of a column in neither list is an error.
        queries: attributes of queries, as in `evaluate`.
        weight: the attribute that weights queries, as in `evaluate`.
        columns: names in your data, as in `evaluate`.
        max_memory: the approximate memory limit, as in `evaluate`.
        progress: a function called with a `Progress` on the way.

    >>> qrels = {f"q{n}": {"a": 1} for n in range(50)}
    >>> run = {query: {"a": 1.0} for query in qrels}
    >>> before = rf.evaluate(qrels, run, "mrr")
    >>> rf.gate(qrels, run, before, "mrr: no worse than -1%").status
    'pass'
    """
    shared = SharedPolicies.from_options(options)
    policies = shared.each
    unpaired = Comparing.from_options(options).unpaired
    demands = read_demands(
        rules,
        min_queries=min_queries,
        min_judged=min_judged,
        lower_is_better=lower_is_better,
        higher_is_better=higher_is_better,
    )
    lower, higher = demands.lower_is_better, demands.higher_is_better
    by = list(dict.fromkeys(rule.by for rule in demands.rules if rule.by is not None))
    if by and queries is None:
        raise OptionError(
            f"a rule asks for slices, per {', '.join(by[0])}: pass ",
            Option("queries"),
            ", a frame with query_id and attributes.",
        )
    stored, runs = {BASELINE: _read_system(baseline, BASELINE)}, None
    if qrels is None and not policies.shows:
        stored[CANDIDATE] = _read_system(run, CANDIDATE)
    else:
        runs = Runs(qrels, {CANDIDATE: run}, policies, columns, max_memory, progress)
    own = {} if metrics is None else {m.label: m for m in resolve(metrics, *RUN_FRAMES, "gap")}
    requested = dict.fromkeys(rule.metric for rule in demands.rules)
    inputs = SystemInputs(
        stored, runs, [own.get(name, name) for name in requested],
        unpaired=unpaired, missing=shared.missing, queries=queries, by=by, weight=weight,
        columns=columns, lower_is_better=lower, higher_is_better=higher,
    )  # fmt: skip
    changing = {rule.metric for rule in demands.rules if rule.against_baseline}
    tested = [metric for metric in inputs.metrics if metric.label in changing]
    refuse_unknown(tested, lower=lower, higher=higher)
    return _decide(inputs.evaluate(demands.min_judged), demands, unpaired)


def decide_pair(
    systems: Systems, names: tuple[str, str], demands: Demands, unpaired: Unpaired = "error"
) -> Verdict:
    """Return the verdict on the evaluated system `names[1]`, with `names[0]` as its baseline."""
    roles = dict(zip(names, (BASELINE, CANDIDATE), strict=True))
    lacks = [replace(lack, system=roles[lack.system]) for lack in systems.lacks
             if lack.system in roles]  # fmt: skip
    by_name = {role: systems.by_name[name] for name, role in roles.items()}
    runs = {role: systems.runs[name] for name, role in roles.items()}
    caveats = [(roles.get(name or ""), caveat) for name, caveat in systems.caveats
               if name is None or name in roles]  # fmt: skip
    pair = replace(systems, by_name=by_name, runs=runs, lacks=lacks, caveats=caveats)
    verdict = _decide(pair, demands, unpaired)
    return verdict.named(baseline=names[0], candidate=names[1])


def _decide(systems: Systems, demands: Demands, unpaired: Unpaired) -> Verdict:
    """Check every rule on a baseline and a candidate; return the verdict."""
    checks = [check for rule in demands.rules for check in _check_rule(rule, systems, demands)]
    caveats, bounds = [], None
    if judged_gaps := find_gaps(systems, [(BASELINE, CANDIDATE)]):
        bounds = find_bounds(systems, [gap.metric for gap in judged_gaps])
        checks = [_check_judged(check, systems, demands, bounds) for check in checks]
    by_judgments = describe_gaps(judged_gaps, bounds, systems.by_name)
    caveats = [*((None, caveat) for caveat in by_judgments), *systems.caveats]
    words = systems.vocabulary
    checks = [check | {"reason": words.render(str(check["reason"]))} for check in checks]
    return Verdict(
        pl.DataFrame(checks, schema=CHECK_SCHEMA),
        {
            "queries": len(systems.queries),
            "unpaired": systems.unpaired,
            "unpaired_policy": unpaired,
            "unpaired_done": systems.unpaired_note,
            "missing": {lack.system: lack.queries for lack in systems.lacks},
            "without_attributes": systems.attributes.absent,
            "min_queries": demands.min_queries,
            **{f"min_judged@{depth}": share for depth, share in demands.min_judged.items()},
        },
        systems.lacks,
        caveats,
        vocabulary=words,
    )


def _read_system(source: Source, role: str) -> System:
    systems = read_systems({role: source})
    if len(systems) != 1:
        raise OptionError(
            f"the {role} holds {len(systems)} runs: {', '.join(systems)}. Give one of them."
        )
    return next(iter(systems.values()))


def _check_rule(rule: Rule, systems: Systems, demands: Demands) -> list[Row]:
    """Check a rule for all queries, or for each slice; return a row per check."""
    by = None if rule.by is None else " × ".join(rule.by)
    metric = next(metric for metric in systems.metrics if metric.label == rule.metric)
    # A rule per slice is undecided if there are no slices: nothing shows that it holds.
    no_slice = Subset(None, None, np.empty(0, np.int64))
    subsets = [subset for subset in systems.subsets if subset.by == by] or [no_slice]
    if metric.gap is not None:
        return [_check_gap(rule, metric, systems, demands)]
    check = _check_documents if metric.frame == "documents" else _check_subset
    return [check(rule, metric, subset, systems, demands) for subset in subsets]


def _check_gap(rule: Rule, metric: Metric, systems: Systems, demands: Demands) -> Row:
    """Check a rule about a gap between slices; undecided with too few queries."""
    assert metric.gap is not None  # the caller sees to it
    if rule.by is not None:
        raise OptionError(
            f"rule {rule.text!r}: a gap already compares slices of all queries. Leave out "
            f"'per {', '.join(rule.by)}'."
        )
    any_value = replace(rule, kind="at most", number=math.inf, relative=False)
    whole = _check_subset(any_value, metric.gap.metric, systems.subsets[0], systems, demands)
    limits = str(whole["reason"])
    gaps = AlignedGaps.draw(metric, systems, Intervals())
    doubt = (limits if whole["status"] == "undecided" else "") or gaps.shortage
    before, after = (None, None) if gaps.shortage else gaps.values

    def measure() -> Measured | str:
        larger = gaps.change(0, 1, relative=rule.confidence if rule.relative else None)
        if larger is None:
            return (
                too_many(len(gaps.slices), gaps.gap.kind)
                or "the baseline's gap may be 0, of which nothing is a percentage"
            )
        differing = sum(sum(values.count_wins(0, 1)) for values in gaps.slices)
        # A smaller gap is better.
        change, bound = 0.0 - larger.value, 0.0 - larger.most(rule.confidence)
        return change, bound, larger.p_below(-rule.number), differing

    check = rule.check(before, after, gaps.queries, doubt, measure)
    return whole | check | {"reason": _join(str(check["reason"]), limits)}


def _check_documents(
    rule: Rule, metric: Metric, subset: Subset, systems: Systems, demands: Demands
) -> Row:
    """Check a rule about a metric over documents, on the value of the candidate."""
    if rule.against_baseline:
        raise MetricParameterError(
            f"rule {rule.text!r}: a change of {metric.label!r} cannot be tested, because a stored "
            "baseline does not contain its counts of documents. Write a rule about its value: "
            f"'{rule.metric}: at least …' or 'at most …'."
        )
    exposure = systems.by_name[CANDIDATE].over_documents
    if exposure is None:
        exposure = list_exposures(systems, metric)[-1]
    (aggregate,) = exposure.aggregate([metric], subset.key)
    doubt = ""
    if aggregate.lists < demands.min_queries or aggregate.value is None:
        doubt = f"{number_of(aggregate.lists, 'list')}, fewer than {demands.min_queries:,}"
    check = rule.check(None, aggregate.value, aggregate.lists, doubt, too_few=subset.by is not None)
    undefined = dict.fromkeys(("undefined_baseline", "undefined_candidate"), 0)
    return {**check, **subset.heading(metric), **undefined}


def _check_subset(
    rule: Rule, metric: Metric, subset: Subset, systems: Systems, demands: Demands
) -> Row:
    """Check a rule about averages over all queries, or a slice."""
    inside = systems.values(metric).take(subset.rows)
    queries = inside.paired.queries
    alone = inside.defined & ~inside.defined[::-1]  # defined for this system only
    lone_baseline, lone_candidate = alone.sum(axis=1).tolist()
    anywhere = int(inside.defined.any(axis=0).sum())
    one_sided = _describe_one_sided(rule, systems.queries.gather(subset.rows), alone)
    too_few, doubt = False, ""
    if (
        anywhere >= demands.min_queries
        and not rule.where_both
        and lone_baseline + lone_candidate > CAVEATS["undefined_differ"].threshold * anywhere
    ):
        doubt = one_sided
    elif queries < demands.min_queries:
        too_few = subset.by is not None
        doubt = f"{number_of(queries, 'query')}, fewer than {demands.min_queries:,}"
        if rule.by is not None and not too_few:
            doubt = f"there are no slices per {', '.join(rule.by)} to check"
    else:
        doubt = _judged_too_little(systems, subset, demands.min_judged)

    def measure() -> Measured | str:
        if rule.relative and not inside.averages[0]:
            return "the baseline is 0, of which nothing is a percentage"
        change, error = inside.improvement(relative=rule.relative)
        bound, p_value = against_margin(
            change, error, queries, margin=rule.number, confidence=rule.confidence
        )
        return change, bound, p_value, sum(inside.count_wins(0, 1))

    before, after = inside.averages
    check = rule.check(before, after, queries, doubt, measure, too_few=too_few)
    return {
        **check,
        **subset.heading(metric),
        "undefined_baseline": lone_candidate,
        "undefined_candidate": lone_baseline,
        "reason": _join(str(check["reason"]), one_sided),
    }


def _check_judged(
    check: dict[str, Any], systems: Systems, demands: Demands, bounds: pl.DataFrame | None
) -> dict[str, Any]:
    """Return the check, undecided if grades of unjudged documents could reverse its status."""
    rule = next(rule for rule in demands.rules if rule.text == check["rule"])
    metric = next(metric for metric in systems.metrics if metric.label == check["metric"])
    rows = next(
        (s.rows for s in systems.subsets if (s.by, s.name) == (check["by"], check["slice"])), None
    )
    gaps = find_gaps(replace(systems, metrics=[metric]), [(BASELINE, CANDIDATE)], rows)
    if not gaps or not rule.against_baseline or check["change"] is None:
        return check
    gap = gaps[0]
    check = check | {"judged_baseline": gap.judged_baseline, "judged": gap.judged}
    if check["status"] not in ("pass", "fail"):
        return check
    passed = check["status"] == "pass"
    if bounds is None or check["by"] is not None:
        # Without bounds, only a status against the bias of the judgments is kept: a pass if they
        # favour the baseline, a fail if they favour the candidate.
        turned = has_bounds(metric) and passed != gap.favours_baseline
        where = "the stored run is not at hand" if bounds is None else "in slices this is not known"
        changes = f"{where}, so that nobody can say what they would change"
    else:
        check |= {
            name: value_of(bounds, CANDIDATE, metric, name)
            for name in (CONDENSED, "lower_bound", "upper_bound")
        }
        if check["lower_bound"] is None:
            return check
        low, high = _bound_change(check, rule, metric, gap, bounds)
        needed = rule.number + check["change"] - check["bound"]
        turned = low < needed if passed else high >= needed
        digits = "+.1%" if rule.relative else "+.4f"
        least = f"{low:{digits}}" if math.isfinite(low) else "an unknown loss"
        changes = f"whatever they are, the change is from {least} to {high:{digits}}"
    if not turned:
        return check
    reason = f"judgments favour one side: {gap.shares}. Unjudged documents count as not relevant; "
    measured = f"{check['change']:{'+.1%' if rule.relative else '+.4f'}} measured"
    return check | {"status": "undecided", "reason": f"{reason}{changes} ({measured})"}


def _bound_change(
    check: dict[str, Any], rule: Rule, metric: Metric, gap: JudgedGap, bounds: pl.DataFrame
) -> tuple[float, float]:
    """Return the least and the largest change, whatever the grades of unjudged documents.

    The bounds of a stored baseline are unknown. If the judgments favour the candidate, the possible
    gain of the baseline is unlimited. If they favour the baseline, its possible gain is ignored.
    """
    before = [value_of(bounds, BASELINE, metric, name) for name in ("lower_bound", "upper_bound")]
    known = [value for value in before if value is not None] or [check["baseline_value"]]
    after = [check["lower_bound"], check["upper_bound"]]
    sign = 1.0 if metric.higher_is_better else -1.0
    changes = [
        sign * (value - base) / (abs(base) if rule.relative else 1.0)
        for value, base in product(after, known)
        if base or not rule.relative
    ]
    unknown = None in before and not gap.favours_baseline
    return -math.inf if unknown else min(changes), max(changes)


def _describe_one_sided(rule: Rule, queries: pl.Series, alone: Flags) -> str:
    """Describe the queries that are left out because they are undefined for one side only."""
    sides = []
    for side, only in ((CANDIDATE, alone[0]), (BASELINE, alone[1])):
        if count := int(only.sum()):
            examples = queries.gather(np.flatnonzero(only)[:_NAMED])
            listed = ", ".join([*map(repr, examples), *(["…"] if count > _NAMED else [])])
            sides.append(f"the {side} alone in {count:,} ({listed})")
    if not sides:
        return ""
    total = number_of(len(queries), "query")
    return f"of {total}, {rule.metric} is undefined for {' and for '.join(sides)}"


def _judged_too_little(systems: Systems, subset: Subset, min_judged: Mapping[int, float]) -> str:
    """Return a reason if too little of the candidate's ranking was judged; "" if enough was."""
    for depth, minimum in min_judged.items():
        if depth not in systems.by_name[CANDIDATE].judged:
            raise MetricParameterError(
                f"min_judged@{depth} needs values of judged@{depth}, which the candidate lacks."
            )
        share = JudgedShares(systems, depth, subset.rows).share(CANDIDATE) or 0.0
        if share < minimum:
            return f"{share:.1%} of the top {depth} judged, less than {minimum:.1%}"
    return ""


def _join(reason: str, more: str) -> str:
    """Join two reasons, unless the first contains the second."""
    return reason if more in reason else f"{reason}{'; ' if reason else ''}{more}"
