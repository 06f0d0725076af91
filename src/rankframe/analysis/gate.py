"""Ship it or not: a run against a stored baseline, under rules, with a verdict to act on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.analysis.aligned_systems import Subset, Systems, open_systems
from rankframe.analysis.differences import AlignedValues
from rankframe.analysis.document_comparison import check_document_rule
from rankframe.analysis.gap_comparison import AlignedGaps
from rankframe.analysis.gate_rules import Demands, Rule, read_demands
from rankframe.analysis.stored import Names, read_systems, refuse_unknown
from rankframe.analysis.systems import MANY, Runs, System
from rankframe.analysis.verdict import BASELINE, CANDIDATE, CHECK_SCHEMA, Verdict
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, number_of
from rankframe.core.options import (
    Comparing,
    GateOptions,
    Intervals,
    SharedPolicies,
    Storage,
    Unpaired,
    takes_options,
)
from rankframe.core.progress import Report
from rankframe.engine.ledger import says_every_relevant
from rankframe.engine.prepare import RUN_FRAMES
from rankframe.io.inputs import Columns, Source
from rankframe.metrics.names import Metric, Metrics, resolve
from rankframe.stats.exact import exact_sum
from rankframe.stats.significance import against_margin

# With fewer queries that differ, a pass is marked: Student's t knows nothing of what was not seen.
_FEW = 10
_NAMED = 3  # queries that are undefined for one side only, in a reason


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

    The verdict passes if every rule does. No correction for multiple testing is needed: each
    further rule is one more way to fail, none one more way to pass.

    Args:
        qrels: the judgments, against which the run is evaluated, as in `evaluate`. Without them,
            `run` is a stored result too.
        run: the ranking, as in `evaluate`.
        baseline: a stored result: a result, its folder, or a table with query_id and a column per
            metric.
        rules: texts such as "ndcg@10: no worse than -0.5% at 95%", a TOML file with them, or the
            contents of such a file. "no worse than" is a test of non-inferiority: it passes if the
            one-sided lower confidence bound of the change (paired Student's t over queries) is at
            or above the margin. A minus means worse, also where lower is better. "better than" asks
            for more than a change; "at least" and "at most" look at the value itself. "per locale"
            asks it of every slice. "gap(ndcg@10, by=group): …" is about a gap between slices, of
            which less is better. Where more than 1% of queries are undefined for one side only,
            nothing is decided, unless the rule says "where both are defined".
        metrics: your own metrics that rules may name: expressions with a name, or what `rf.metric`
            makes of one, which says in which direction it is better.
        min_queries: with fewer queries nothing is decided (default: 30; such a slice is skipped).
        min_judged: {10: 0.5}: with a judged@10 below 0.5 nothing is decided.
        lower_is_better: stored columns, under names of your own, where less is better.
        higher_is_better: stored columns where more is better. A change of a column in neither list
            is not decided on.
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
    stored, runs = {BASELINE: _one(baseline, BASELINE)}, None
    if qrels is None and not policies.shows:
        stored[CANDIDATE] = _one(run, CANDIDATE)
    else:
        runs = Runs(qrels, {CANDIDATE: run}, policies, columns, max_memory, progress)
    own = (
        {}
        if metrics is None
        else {metric.label: metric for metric in resolve(metrics, *RUN_FRAMES, "gap")}
    )
    requested = [
        own.get(name, name) for name in dict.fromkeys(rule.metric for rule in demands.rules)
    ]
    inputs = open_systems(
        stored, runs, requested,
        unpaired=unpaired, missing=shared.missing, queries=queries, by=by, weight=weight,
        columns=columns, lower_is_better=lower, higher_is_better=higher,
    )  # fmt: skip
    changing = {rule.metric for rule in demands.rules if rule.against_baseline}
    tested = [metric for metric in inputs.metrics if metric.label in changing]
    refuse_unknown(tested, lower=lower, higher=higher)
    return _decide(inputs.evaluate(demands.min_judged), demands, inputs.metrics, unpaired)


def decide_pair(
    systems: Systems,
    names: tuple[str, str],
    demands: Demands,
    metrics: Sequence[Metric],
    unpaired: Unpaired = "error",
) -> Verdict:
    """Decide on one of several evaluated systems, the second of `names`, against the first."""
    roles = dict(zip(names, (BASELINE, CANDIDATE), strict=True))
    pair = replace(
        systems,
        by_name={role: systems.by_name[name] for name, role in roles.items()},
        lacks=[
            replace(lack, system=roles[lack.system])
            for lack in systems.lacks
            if lack.system in roles
        ],
    )
    return _decide(pair, demands, metrics, unpaired).named(baseline=names[0], candidate=names[1])


def _decide(
    systems: Systems, demands: Demands, metrics: Sequence[Metric], unpaired: Unpaired
) -> Verdict:
    """Check every rule on a baseline and a candidate."""
    gate = _Gate(demands, systems, {metric.label: metric for metric in metrics})
    checks = [check for rule in demands.rules for check in gate.check(rule)]
    return Verdict(
        pl.DataFrame(checks, schema=CHECK_SCHEMA),
        {
            "queries": len(systems.queries),
            "unpaired": systems.unpaired,
            "unpaired_policy": unpaired,
            "unpaired_done": systems.unpaired_note,
            "missing": {lack.system: lack.queries for lack in systems.lacks},
            "without_attributes": systems.attributes.absent,
            "every_relevant": any(says_every_relevant(s.ledger) for s in systems.by_name.values()),
            "min_queries": demands.min_queries,
            **{f"min_judged@{depth}": share for depth, share in demands.min_judged.items()},
        },
        systems.lacks,
    )


def _one(source: Source, name: str) -> System:
    systems = read_systems({name: source})
    if len(systems) != 1:
        raise OptionError(
            f"the {name} holds {len(systems)} runs: {', '.join(systems)}. Give one of them."
        )
    return next(iter(systems.values()))


@dataclass(frozen=True)
class _Gate:
    """Check rules on the values of a baseline and a candidate."""

    demands: Demands
    systems: Systems
    metrics: Mapping[str, Metric]

    def check(self, rule: Rule) -> list[dict[str, object]]:
        """Check a rule for all queries, or for each slice that it names."""
        by = None if rule.by is None else " × ".join(rule.by)
        metric = self.metrics[rule.metric]
        # A rule without any slice cannot be decided: nothing shows that it holds.
        no_slice = Subset(None, None, np.empty(0, np.int64))
        subsets = [subset for subset in self.systems.subsets if subset.by == by] or [no_slice]
        if metric.frame == "documents":
            min_queries = self.demands.min_queries
            return [
                check_document_rule(rule, metric, self.systems, subset, min_queries)
                for subset in subsets
            ]
        if metric.gap is not None:
            return [self._check_gap(rule, metric, metric.gap.of)]
        values = self.systems.values(metric)
        return [self._check_subset(rule, values, subset) for subset in subsets]

    def _check_gap(self, rule: Rule, metric: Metric, inner: Metric) -> dict[str, object]:
        """Check a rule about a gap between slices, if its metric has enough queries."""
        if rule.by is not None:
            raise OptionError(
                f"rule {rule.text!r}: a gap is one between slices of all queries. Leave out "
                f"'per {', '.join(rule.by)}'."
            )
        values = self.systems.values(inner)
        any_value = replace(rule, kind="at most", number=math.inf, relative=False)
        whole = self._check_subset(any_value, values, self.systems.subsets[0])
        gaps = AlignedGaps.draw(metric, values, self.systems, Intervals())
        doubt = str(whole["reason"])
        check = gaps.check(rule, doubt if whole["status"] == "undecided" else "")
        if check["status"] == "pass" and rule.against_baseline and gaps.differing < _FEW:
            check["reason"] = _few_differ(gaps.differing, gaps.queries)
        check["reason"] = _join(str(check["reason"]), doubt)
        return {**whole, **check}

    def _check_subset(self, rule: Rule, values: AlignedValues, subset: Subset) -> dict[str, object]:
        inside = values.take(subset.rows)
        before, after = inside.averages
        n = inside.paired.queries
        alone = inside.defined & ~inside.defined[::-1]  # defined for this system only
        lone_baseline, lone_candidate = alone.sum(axis=1).tolist()
        anywhere = int(inside.defined.any(axis=0).sum())
        one_sided = self._one_sided(rule, subset, alone)
        too_many = not rule.where_both and lone_baseline + lone_candidate > MANY * anywhere
        status, reason = "pass", ""
        change = bound = p_value = differing = None
        if anywhere >= self.demands.min_queries and too_many:
            status, reason = "undecided", one_sided
        elif n < self.demands.min_queries:
            status = "undecided" if subset.by is None else "skipped"
            reason = f"{number_of(n, 'query')}, fewer than {self.demands.min_queries:,}"
            if rule.by is not None and subset.by is None:
                reason = f"there is no slice per {', '.join(rule.by)} to check"
        elif shortage := self._judged_too_little(subset):
            status, reason = "undecided", shortage
        elif after is None or (rule.against_baseline and before is None):
            status, reason = "undecided", f"{rule.metric} is undefined"
        elif not rule.against_baseline:
            status, reason = rule.check_value(after)
        elif rule.relative and not before:
            status, reason = "undecided", "the baseline is 0, of which nothing is a percentage"
        else:
            change, error = inside.improvement(relative=rule.relative)
            bound, p_value = against_margin(
                change, error, n, margin=rule.number, confidence=rule.confidence
            )
            status, reason = rule.check_change(change, bound)
            differing = sum(inside.count_wins(0, 1))
            if status == "pass" and differing < _FEW:
                reason = _few_differ(differing, n)
        return rule.check_row(
            status,
            _join(reason, one_sided),
            by=subset.by,
            slice=subset.name,
            baseline_value=before,
            value=after,
            change=change,
            bound=bound,
            p_value=p_value,
            queries=n,
            undefined_baseline=lone_candidate,
            undefined_candidate=lone_baseline,
            differing=differing,
        )

    def _one_sided(self, rule: Rule, subset: Subset, alone: NDArray[np.bool_]) -> str:
        """Name the queries that are left out because they are undefined for one side only."""
        if not alone.any():
            return ""
        ids = self.systems.queries.gather(subset.rows)
        sides = []
        for side, queries in ((CANDIDATE, alone[0]), (BASELINE, alone[1])):
            if count := int(queries.sum()):
                examples = ids.gather(np.flatnonzero(queries)[:_NAMED]).to_list()
                more = ", …" if count > _NAMED else ""
                listed = f"{', '.join(map(repr, examples))}{more}"
                sides.append(f"the {side} alone in {count:,} ({listed})")
        total = number_of(alone.shape[1], "query")
        return f"of {total}, {rule.metric} is undefined for {' and for '.join(sides)}"

    def _judged_too_little(self, subset: Subset) -> str:
        """Explain that too little of the candidate's ranking was judged; "" if enough was."""
        candidate = self.systems.by_name[CANDIDATE]
        for depth, minimum in self.demands.min_judged.items():
            if depth not in candidate.judged:
                raise MetricParameterError(
                    f"min_judged@{depth} needs values of judged@{depth}, which the candidate lacks."
                )
            judged = candidate.values[candidate.judged[depth]]
            shares = judged.gather(subset.rows).drop_nulls().to_numpy()
            share = float(exact_sum(shares)) / max(len(shares), 1)
            if share < minimum:
                return f"{share:.1%} of the top {depth} judged, less than {minimum:.1%}"
        return ""


def _join(reason: str, more: str) -> str:
    """Add what else limits a check, unless the reason contains it."""
    if more in reason:
        return reason
    return f"{reason}{'; ' if reason else ''}{more}"


def _few_differ(differing: int, queries: int) -> str:
    return f"{differing} of {number_of(queries, 'query')} differ, too few to trust the bound"
