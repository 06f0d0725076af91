"""From values per query to what is said of candidates: intervals, choices, tests out of fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankframe.analysis.aligned_values import AlignedValues
from rankframe.analysis.differences import (
    Setup,
    draw_replicates,
    p_values,
    pair_row,
    system_row,
)
from rankframe.analysis.tuning.candidates import Candidate
from rankframe.analysis.tuning.choosing import Contender, Split, best_of, goodness
from rankframe.core.columns import QUERY
from rankframe.engine.terms import Terms
from rankframe.metrics.names import Metric
from rankframe.stats.bootstrap import Hashes, hash_ids
from rankframe.stats.corrections import correct_p_values
from rankframe.stats.intervals import finish_average

_VALUE: dict[str, Any] = {
    "value": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
}
CANDIDATE_SCHEMA: dict[str, Any] = {
    "fusion": pl.String,
    "norm": pl.String,
    "method": pl.String,
    "weights": pl.List(pl.Float64),
    **_VALUE,
    "difference": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
    "as_good": pl.Boolean,
    "folds": pl.Int64,
}
RUN_SCHEMA: dict[str, Any] = {"run": pl.String, **_VALUE, "folds": pl.Int64}
AGAINST_SCHEMA: dict[str, Any] = {
    "baseline": pl.String,
    "single": pl.Boolean,
    "baseline_value": pl.Float64,
    "value": pl.Float64,
    "difference": pl.Float64,
    "relative": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "p_value": pl.Float64,
    "p_corrected": pl.Float64,
    "significant": pl.Boolean,
    "improved": pl.Boolean,
    "effect_size": pl.Float64,
    "wins": pl.Int64,
    "ties": pl.Int64,
    "losses": pl.Int64,
    "queries": pl.Int64,
}
FOLD_SCHEMA: dict[str, Any] = {
    "fold": pl.Int64,
    "queries": pl.Int64,
    "fusion": pl.String,
    "norm": pl.String,
    "value_on_others": pl.Float64,
    "value": pl.Float64,
    "run": pl.String,
    "run_value": pl.Float64,
}
# Of queries: what was chosen without each of them, and what it is worth.
TUNED, BEST_RUN, RRF = "tuned", "best_run", "rrf"
HINDSIGHT = "best_run_of_all"


@dataclass(frozen=True)
class Tried:
    """A candidate, what it is worth, and in which folds it may be chosen: those whose choice it was
    found for without looking at them.
    """

    candidate: Candidate
    contender: Contender
    folds: frozenset[int]


@dataclass(frozen=True, eq=False)
class Findings:
    """Candidates, runs and plain RRF over the same queries."""

    metric: Metric
    queries: pl.Series
    # of the queries for which all are defined
    split: Split
    tried: Sequence[Tried]
    runs: Mapping[str, Contender]
    rrf: tuple[str, Contender]
    setup: Setup

    @cached_property
    def _averages(self) -> list[list[float]]:
        """Of each candidate, without each fold and over all."""
        return [self.split.averages(one.contender) for one in self.tried]

    @cached_property
    def _run_averages(self) -> list[list[float]]:
        return [self.split.averages(one) for one in self.runs.values()]

    @cached_property
    def chosen(self) -> list[int]:
        """For each fold, the candidate that is best on all others."""
        found = []
        for fold in range(self.split.count):
            seen = [at for at, one in enumerate(self.tried) if fold in one.folds]
            averages = [self._averages[at][fold] for at in seen]
            found.append(seen[best_of(averages, higher=self.metric.higher_is_better)])
        return found

    @cached_property
    def chosen_runs(self) -> list[int]:
        """The same of the runs by themselves."""
        return [
            best_of([one[fold] for one in self._run_averages], higher=self.metric.higher_is_better)
            for fold in range(self.split.count)
        ]

    @cached_property
    def order(self) -> list[int]:
        """The candidates, the best over all queries first; equal ones as they came."""
        higher = self.metric.higher_is_better
        averages = [one[-1] for one in self._averages]
        best = best_of(averages, higher=higher)
        worth = [-goodness(average, higher=higher) for average in averages]
        return sorted(range(len(worth)), key=lambda at: (at != best, worth[at]))

    @cached_property
    def _tested(self) -> dict[str, Terms]:
        runs = list(self.runs.values())
        return {
            TUNED: self.split.joined([self.tried[at].contender.terms for at in self.chosen]),
            BEST_RUN: self.split.joined([runs[at].terms for at in self.chosen_runs]),
            RRF: self.rrf[1].terms,
        }

    def candidates(self) -> pl.DataFrame:
        """A row for each candidate, the best first."""
        values = self._values({str(at): one.contender.terms for at, one in enumerate(self.tried)})
        intervals = self.setup.intervals
        rows, best = [], self.order[0]
        for at in self.order:
            candidate, single = self.tried[at].candidate, system_row(values, intervals, at)
            apart = pair_row(values, intervals, {}, best, at)
            low, high = apart["ci_low"], apart["ci_high"]
            as_good = None if low is None else low <= 0 <= high  # pyright: ignore[reportOperatorIssue]
            rows.append(
                {
                    "fusion": candidate.name,
                    "norm": candidate.norm,
                    "method": candidate.method,
                    "weights": candidate.weights,
                    **{name: single[name] for name in ("value", "ci_low", "ci_high")},
                    "difference": apart["difference"],
                    "difference_low": low,
                    "difference_high": high,
                    "as_good": True if at == best else as_good,
                    "folds": self.chosen.count(at),
                }
            )
        return pl.DataFrame(rows, schema=CANDIDATE_SCHEMA)

    def by_run(self) -> pl.DataFrame:
        """A row for each run by itself."""
        values = self._values({name: one.terms for name, one in self.runs.items()})
        singles = [system_row(values, self.setup.intervals, at) for at in range(len(self.runs))]
        rows = [
            {
                "run": name,
                **{key: singles[at][key] for key in ("value", "ci_low", "ci_high")},
                "folds": self.chosen_runs.count(at),
            }
            for at, name in enumerate(self.runs)
        ]
        return pl.DataFrame(rows, schema=RUN_SCHEMA)

    def against(self) -> pl.DataFrame:
        """The tuned fusion, out of fold, against the best single run and plain RRF; where folds do
        not agree on the best run, also against the one that is best over all queries: chosen in
        hindsight, which favours it.
        """
        names = list(self.runs)
        single = " or ".join(dict.fromkeys(names[at] for at in sorted(self.chosen_runs)))
        systems = {**self._tested}
        baselines = {BEST_RUN: single, RRF: self.rrf[0]}
        if len(set(self.chosen_runs)) > 1:
            overall = [averages[-1] for averages in self._run_averages]
            best = names[best_of(overall, higher=self.metric.higher_is_better)]
            systems[HINDSIGHT] = self.runs[best].terms
            baselines[HINDSIGHT] = f"{best}, best over all queries"
        values, setup = self._values(systems), self.setup
        pairs = [(at, 0) for at in range(1, len(systems))]
        (raw,) = p_values([values], pairs, self._hashes, setup)
        families = 1 if setup.significance.over_pairs else None
        after = correct_p_values(raw, setup.comparing.correction, families=families)
        rows = []
        for of, pair, p, p_after in zip(baselines, pairs, raw, after, strict=True):
            row = pair_row(values, setup.intervals, {}, *pair)
            sure = p_after is not None and p_after < setup.level
            sure = sure and values.paired.queries >= setup.fewest
            gain = row["difference"] or 0.0
            better = gain > 0 if self.metric.higher_is_better else gain < 0  # pyright: ignore[reportOperatorIssue]
            said = {"p_value": p, "p_corrected": p_after, "significant": sure}
            row = {
                "baseline": baselines[of],
                "single": of != RRF,
                **row,
                **said,
                "improved": sure and better,
            }
            rows.append({name: row[name] for name in AGAINST_SCHEMA})
        return pl.DataFrame(rows, schema=AGAINST_SCHEMA)

    def by_fold(self) -> pl.DataFrame:
        """A row for each fold: what was chosen without it."""
        rows, names, contenders = [], list(self.runs), list(self.runs.values())
        total = sum(self.split.sizes)
        for fold, (at, run) in enumerate(zip(self.chosen, self.chosen_runs, strict=True)):
            one, size = self.tried[at], self.split.sizes[fold]
            applied = self.split.applied(one.contender)[fold]
            rows.append(
                {
                    "fold": fold + 1,
                    "queries": size,
                    "fusion": one.candidate.name,
                    "norm": one.candidate.norm,
                    "value_on_others": self._finished(self._averages[at][fold], total - size),
                    "value": self._finished(applied, size),
                    "run": names[run],
                    "run_value": self._finished(self.split.applied(contenders[run])[fold], size),
                }
            )
        return pl.DataFrame(rows, schema=FOLD_SCHEMA)

    def per_query(self) -> pl.DataFrame:
        """A row for each query: its fold, and the values that were tested."""
        complete = pl.Series(self.split.complete)
        values = {
            name: pl.select(pl.when(complete).then(pl.Series(terms.values))).to_series()
            for name, terms in self._tested.items()
        }
        return pl.DataFrame({QUERY: self.queries, "fold": self.split.folds + 1, **values})

    @cached_property
    def _hashes(self) -> Hashes:
        return hash_ids(self.queries)

    def _values(self, systems: Mapping[str, Terms]) -> AlignedValues:
        complete = self.split.complete
        terms = {name: replace(some, defined=complete) for name, some in systems.items()}
        values = AlignedValues.from_terms(self.metric, terms)
        return draw_replicates([values], self._hashes, self.setup.intervals)[0]

    def _finished(self, ratio: float, queries: int) -> float | None:
        if np.isnan(ratio):
            return None
        return float(finish_average(self.metric.average, np.array(ratio), queries))
