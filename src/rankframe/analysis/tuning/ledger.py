"""The ledger of a tuning: what was counted, under which policies, and what makes it doubtful."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from rankframe.analysis.comparison import WARNING
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.systems import System, lacks
from rankframe.analysis.tuning.findings import Findings
from rankframe.core.messages import number_of
from rankframe.core.options import SharedPolicies
from rankframe.engine.ledger import LEDGER_SCHEMA, POLICY
from rankframe.engine.result import SMALL

# Items of a run's ledger: some are equal for all runs, the others are its own.
_SHARED = ("qrels_rows", "qrels_queries", "queries_without_relevant", "qrels_fingerprint",
           "all_judged_relevant")  # fmt: skip
_OWN = {"run_rows": "rows", "run_queries": "queries", "queries_missing": "queries_missing",
        "run_order": "order"}  # fmt: skip


def make_ledger(
    findings: Findings,
    systems: Mapping[str, System],
    shared: SharedPolicies,
    fusing: FusionPolicies,
    seed: int,
) -> pl.DataFrame:
    """Return the ledger: item, value, note."""
    ledgers = [
        (name, row)
        for name, system in systems.items()
        for row in ([] if system.ledger is None else system.ledger.rows())  # allowed: few
    ]
    first, counted = next(iter(systems)), int(findings.folds.complete.sum())
    items: list[tuple[str, float | None, str]] = [
        row for name, row in ledgers if name == first and row[0] in _SHARED
    ]
    items += [
        (f"{name}_{_OWN[item]}", value, note)
        for name, (item, value, note) in ledgers
        if item in _OWN
    ]
    items += [
        ("candidates", len(findings.trials), "fusions that were tried"),
        ("queries_tuned_by", counted, "queries by which candidates are compared"),
        (
            "queries_undefined",
            len(findings.queries) - counted,
            "left out for all: undefined for some candidate or run, or not in every run",
        ),
    ]
    policies = {
        **shared.described(),
        "depth": fusing.described()["depth"],
        "folds": f"{findings.folds.count}, by hashes of query ids, seed {seed}",
        "best_run": "for each fold the one that is best on all others; where folds do not "
        "agree, also the one that is best over all queries",
        **findings.setup.described(),
    }
    for name in ("baseline", "unpaired"):
        del policies[name]
    items += [(f"{POLICY}{name}", None, str(note)) for name, note in policies.items()]
    items += [(WARNING, None, warning) for warning in _warnings(findings, systems, shared)]
    return pl.DataFrame(items, schema=LEDGER_SCHEMA, orient="row")


def _warnings(
    findings: Findings, systems: Mapping[str, System], shared: SharedPolicies
) -> list[str]:
    done = "left out for all" if shared.missing == "skip" else "scored 0"
    missing = [lack for lack in lacks(systems, [findings.metric]) if lack.many]
    warnings = [str(replace(lack, done=done)) for lack in missing]
    counted = int(findings.folds.complete.sum())
    if counted < SMALL:
        warnings.append(f"{number_of(counted, 'query')} to tune by: too few to say much of others")
    if warning := findings.setup.out_of_reach(2, 1):
        warnings.append(warning)
    return warnings
