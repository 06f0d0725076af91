"""The ledger of a tuning: what was counted, under which policies, what makes it doubtful."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.missing_queries import Lack, lacks
from rankframe.analysis.systems import System
from rankframe.analysis.tuning.findings import Findings
from rankframe.analysis.tuning.outcome import WARNING
from rankframe.core.messages import number_of
from rankframe.core.options import SharedPolicies
from rankframe.engine.ledger import POLICY, SCHEMA
from rankframe.engine.summary import SMALL

Item = tuple[str, float | None, str]
# Of the ledger of a run: what is the same for all runs, and what is its own.
_SHARED = ("qrels_rows", "qrels_queries", "queries_without_relevant", "qrels_fingerprint",
           "all_judged_relevant")  # fmt: skip
_OWN = {"run_rows": "rows", "run_queries": "queries", "queries_missing": "queries_missing",
        "run_order": "order"}  # fmt: skip


def ledger_of(
    findings: Findings,
    systems: Mapping[str, System],
    shared: SharedPolicies,
    fusing: FusionPolicies,
    *,
    folds: int,
    seed: int,
) -> pl.DataFrame:
    """item, value, note."""
    counted = int(findings.split.complete.sum())
    items: list[Item] = []
    for at, (name, system) in enumerate(systems.items()):
        rows = [] if system.ledger is None else system.ledger.rows()  # allowed: few
        items += [row for row in rows if row[0] in _SHARED and not at]
        items += [
            (f"{name}_{_OWN[item]}", value, note) for item, value, note in rows if item in _OWN
        ]
    items += [
        ("candidates", len(findings.tried), "fusions that were tried"),
        ("queries_tuned_by", counted, "queries by which candidates are compared"),
        (
            "queries_undefined",
            len(findings.queries) - counted,
            "left out for all: undefined for some candidate or run, or not in every run",
        ),
    ]
    how = {
        **shared.described(),
        "depth": fusing.described()["depth"],
        "folds": f"{folds}, by hashes of query ids, seed {seed}",
        "best_run": "for each fold the one that is best on all others; where folds do not "
        "agree, also the one that is best over all queries",
        **findings.setup.described(),
    }
    for name in ("baseline", "unpaired"):
        del how[name]
    items += [(f"{POLICY}{name}", None, str(note)) for name, note in how.items()]
    items += [(WARNING, None, said) for said in _warnings(findings, systems, shared)]
    return pl.DataFrame(items, schema=SCHEMA, orient="row")


def _warnings(
    findings: Findings, systems: Mapping[str, System], shared: SharedPolicies
) -> list[str]:
    done = "left out for all" if shared.missing == "skip" else "scored 0"
    found = [
        str(Lack(one.system, one.queries, one.judged, done))
        for one in lacks(systems, [findings.metric])
        if one.many
    ]
    counted = int(findings.split.complete.sum())
    if counted < SMALL:
        found.append(f"{number_of(counted, 'query')} to tune by: too few to say much of others")
    if said := findings.setup.out_of_reach(2, 1):
        found.append(said)
    return found
