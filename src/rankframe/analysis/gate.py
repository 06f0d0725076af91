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

from rankframe.analysis.align import Column
from rankframe.analysis.comparison_inputs import Opened, Subset, open_systems
from rankframe.analysis.contrast import Contrast, Setup
from rankframe.analysis.directions import Names, refuse_unknown
from rankframe.analysis.document_comparison import Gaps, document_check
from rankframe.analysis.gate_rules import Demands, Rule, read_demands
from rankframe.analysis.missing_queries import MANY
from rankframe.analysis.stored import read_systems
from rankframe.analysis.systems import Runs, System
from rankframe.analysis.verdict import BASELINE, CANDIDATE, CHECK_SCHEMA, Verdict
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, number_of
from rankframe.core.option import takes_options
from rankframe.core.options import (
    Comparing,
    GateOptions,
    Intervals,
    SharedPolicies,
    Storage,
    Unpaired,
)
from rankframe.core.progress import Report, check_progress
from rankframe.engine.combined import RUN_FRAMES
from rankframe.engine.ledger import says_every_relevant
from rankframe.engine.memory import limiting
from rankframe.io.inputs import Columns, Source
from rankframe.io.storage import reaching
from rankframe.metrics.names import Metric, Metrics, resolve
from rankframe.stats.exact import exact_sum
from rankframe.stats.significance import against_margin

# With fewer queries that differ, a pass is marked: Student's t knows nothing of what was not seen.
_FEW = 10
_NAMED = 3  # queries that are undefined for one side only, in a reason


@reaching
@limiting
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
    check_progress(progress)
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
    wanted = [own.get(name, name) for name in dict.fromkeys(rule.metric for rule in demands.rules)]
    opening = open_systems(
        stored, runs, wanted,
        unpaired=unpaired, missing=shared.missing, queries=queries, by=by, weight=weight,
        columns=columns, lower_is_better=lower, higher_is_better=higher,
    )  # fmt: skip
    changing = {rule.metric for rule in demands.rules if rule.against_baseline}
    asked = [metric for metric in opening.metrics if metric.label in changing]
    refuse_unknown(asked, lower=lower, higher=higher)
    return _decide(opening.side_by_side(demands.min_judged), demands, opening.metrics, unpaired)


def verdict_on(
    opened: Opened,
    names: tuple[str, str],
    demands: Demands,
    metrics: Sequence[Metric],
    unpaired: Unpaired = "error",
) -> Verdict:
    """The verdict on one of several systems that were opened: the second, beside the first."""
    called = dict(zip(names, (BASELINE, CANDIDATE), strict=True))
    beside = {role: opened.aligned.systems[name] for name, role in called.items()}
    lacks = [
        replace(lack, system=called[lack.system]) for lack in opened.lacks if lack.system in called
    ]
    pair = replace(
        opened,
        systems={role: opened.systems[name] for name, role in called.items()},
        aligned=replace(opened.aligned, systems=beside),
        lacks=lacks,
    )
    return _decide(pair, demands, metrics, unpaired).named(baseline=names[0], candidate=names[1])


def _decide(
    opened: Opened, demands: Demands, metrics: Sequence[Metric], unpaired: Unpaired
) -> Verdict:
    """What the rules say of two systems side by side."""
    judge = _Judge(demands, opened, {metric.label: metric for metric in metrics})
    checks = [check for rule in demands.rules for check in judge.checks(rule)]
    return Verdict(
        pl.DataFrame(checks, schema=CHECK_SCHEMA),
        {
            "queries": len(opened.aligned.queries),
            "unpaired": opened.aligned.unpaired,
            "unpaired_policy": unpaired,
            "unpaired_done": opened.aligned.done,
            "missing": {lack.system: lack.queries for lack in opened.lacks},
            "without_attributes": opened.known.absent,
            "every_relevant": any(says_every_relevant(s.ledger) for s in opened.systems.values()),
            "min_queries": demands.min_queries,
            **{f"min_judged@{depth}": share for depth, share in demands.min_judged.items()},
        },
        opened.lacks,
    )


def _one(source: Source, name: str) -> System:
    systems = read_systems({name: source})
    if len(systems) != 1:
        raise OptionError(
            f"the {name} holds {len(systems)} runs: {', '.join(systems)}. Give one of them."
        )
    return next(iter(systems.values()))


@dataclass(frozen=True)
class _Judge:
    """Looks at one rule after the other."""

    demands: Demands
    opened: Opened
    metrics: Mapping[str, Metric]

    def checks(self, rule: Rule) -> list[dict[str, object]]:
        """A rule, for all queries or for each slice that it speaks of."""
        by = None if rule.by is None else " × ".join(rule.by)
        metric = self.metrics[rule.metric]
        # A rule that finds no slice cannot be decided: nothing says that it holds.
        nothing = Subset(None, None, np.empty(0, np.int64))
        chosen = [some for some in self.opened.subsets if some.by == by] or [nothing]
        if metric.frame == "documents":
            least = self.demands.min_queries
            return [document_check(rule, metric, self.opened, some, least) for some in chosen]
        if metric.gap is not None:
            return [self._gap_check(rule, metric, metric.gap.of)]
        column = Column.of(metric, self.opened.aligned, weights=self.opened.known.weights)
        return [self._check(rule, column, some) for some in chosen]

    def _gap_check(self, rule: Rule, metric: Metric, inner: Metric) -> dict[str, object]:
        """A rule of a gap between slices, if its metric is known of enough queries."""
        if rule.by is not None:
            raise OptionError(
                f"rule {rule.text!r}: a gap is one between slices of all queries. Leave out "
                f"'per {', '.join(rule.by)}'."
            )
        column = Column.of(inner, self.opened.aligned, weights=self.opened.known.weights)
        any_value = replace(rule, kind="at most", number=math.inf, relative=False)
        known = self._check(any_value, column, self.opened.subsets[0])
        gaps = Gaps.of(metric, column, self.opened, Intervals())
        said = str(known["reason"])
        found = gaps.check(rule, said if known["status"] == "undecided" else "")
        if found["status"] == "pass" and rule.against_baseline and gaps.differing < _FEW:
            found["reason"] = _few_differ(gaps.differing, gaps.queries)
        if said not in str(found["reason"]):
            found["reason"] = f"{found['reason']}{'; ' if found['reason'] else ''}{said}"
        return {**known, **found}

    def _check(self, rule: Rule, column: Column, subset: Subset) -> dict[str, object]:
        here = column.taken(subset.rows)
        no_draws = np.empty(0, np.uint64)
        contrast = Contrast(here, no_draws, None, Setup(intervals=Intervals(None)))
        before, after = contrast.averages
        n = contrast.paired.queries
        alone = here.defined & ~here.defined[::-1]  # for this side, and not for the other one
        lone, known = alone.sum(axis=1).tolist(), int(here.defined.any(axis=0).sum())
        one_sided = self._one_sided(rule, subset, alone)
        too_many = not rule.where_both and sum(lone) > MANY * known
        status, reason = "pass", ""
        change = bound = p_value = differing = None
        if known >= self.demands.min_queries and too_many:
            status, reason = "undecided", one_sided
        elif n < self.demands.min_queries:
            status = "undecided" if subset.by is None else "skipped"
            reason = f"{number_of(n, 'query')}, fewer than {self.demands.min_queries:,}"
            if rule.by is not None and subset.by is None:
                reason = f"there is no slice per {', '.join(rule.by)} to check"
        elif shortage := self._unjudged(subset):
            status, reason = "undecided", shortage
        elif after is None or (rule.against_baseline and before is None):
            status, reason = "undecided", f"{rule.metric} is undefined"
        elif not rule.against_baseline:
            change = after
            status, reason = rule.holds(after)
        elif rule.relative and not before:
            status, reason = "undecided", "the baseline is 0, of which nothing is a percentage"
        else:
            change, error, differing = contrast.improvement(relative=rule.relative)
            bound, p_value = against_margin(
                change, error, n, margin=rule.number, confidence=rule.confidence
            )
            status, reason = rule.decided(change, bound)
            if status == "pass" and differing < _FEW:
                reason = _few_differ(differing, n)
        if one_sided not in reason:
            reason = f"{reason}{'; ' if reason else ''}{one_sided}"
        return {
            "rule": rule.text,
            "metric": rule.metric,
            "by": subset.by,
            "slice": subset.name,
            "baseline_value": before,
            "value": after,
            "change": change if rule.against_baseline else None,
            "bound": bound,
            "margin": rule.number,
            "relative": rule.relative,
            "confidence": rule.confidence if rule.against_baseline else None,
            "p_value": p_value,
            "queries": n,
            "undefined_baseline": lone[1],
            "undefined_candidate": lone[0],
            "differing": differing,
            "status": status,
            "reason": reason,
        }

    def _one_sided(self, rule: Rule, subset: Subset, alone: NDArray[np.bool_]) -> str:
        """Which queries are left out because the metric is defined on one side only."""
        if not alone.any():
            return ""
        ids = self.opened.aligned.queries.gather(subset.rows)
        said = []
        for side, places in ((CANDIDATE, alone[0]), (BASELINE, alone[1])):
            if count := int(places.sum()):
                example = ids.gather(np.flatnonzero(places)[:_NAMED]).to_list()
                said.append(f"the {side} alone in {count:,} ({', '.join(map(repr, example))}"
                            f"{', …' if count > _NAMED else ''})")  # fmt: skip
        total = alone.shape[1]
        of = f"of {number_of(total, 'query')}, {rule.metric}"
        return f"{of} is undefined for {' and for '.join(said)}"

    def _unjudged(self, subset: Subset) -> str:
        """What to say where too little of the candidate was judged."""
        candidate = self.opened.aligned.systems[CANDIDATE]
        for depth, least in self.demands.min_judged.items():
            if depth not in candidate.judged:
                raise MetricParameterError(
                    f"min_judged@{depth} needs values of judged@{depth}, which the candidate lacks."
                )
            judged = candidate.values[candidate.judged[depth]]
            shares = judged.gather(subset.rows).drop_nulls().to_numpy()
            share = float(exact_sum(shares)) / max(len(shares), 1)
            if share < least:
                return f"{share:.1%} of the top {depth} judged, less than {least:.1%}"
        return ""


def _few_differ(differing: int, queries: int) -> str:
    return f"{differing} of {number_of(queries, 'query')} differ, too few to trust the bound"
