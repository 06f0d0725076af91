"""Compute the tables of a tuning from values per query: intervals, choices by fold, tests.

The ledger of a tuning holds counts, policies and caveats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankframe.analysis.compare import correct_rows
from rankframe.analysis.comparison import HOLE_COLUMNS, PAIR_SCHEMA
from rankframe.analysis.differences import AlignedValues, Row, Setup, draw_replicates
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.judged_shares import CONDENSED, JudgedGap, describe_gaps
from rankframe.analysis.systems import Systems, caveats_of_systems
from rankframe.analysis.tuning.candidates import WEIGHTS
from rankframe.analysis.tuning.choice import draw_errors
from rankframe.analysis.tuning.folds import Folds, QueryValues, best_of, goodness
from rankframe.analysis.tuning.trials import Trial
from rankframe.core.arrays import Floats
from rankframe.core.caveats import PREFIX, find_caveat
from rankframe.core.columns import QUERY
from rankframe.core.messages import number_of
from rankframe.core.options import SharedPolicies
from rankframe.engine.accumulator import Terms
from rankframe.engine.ledger import LEDGER_SCHEMA, POLICY
from rankframe.engine.result import SMALL
from rankframe.metrics.names import Metric
from rankframe.stats.bootstrap import Hashes, hash_ids
from rankframe.stats.intervals import around, finish_average, t_interval

# The types of columns, beside those of comparisons; all other columns are Float64.
_TYPES: dict[str, Any] = {
    **PAIR_SCHEMA,
    **dict.fromkeys(("fusion", "norm", "method", "run"), pl.String),
    **dict.fromkeys(("fold", "folds"), pl.Int64),
    "single": pl.Boolean,
    "weights": pl.List(pl.Float64),
}
AGAINST_COLUMNS = (
    "baseline", "single", "baseline_value", "value", "difference", "relative", "ci_low", "ci_high",
    "p_value", "p_corrected", "significant", "improved", "effect_size", "wins", "ties", "losses",
    "queries",
)  # fmt: skip
# Systems that are tested: the tuned fusion and the best run, chosen without each query, plain RRF.
TUNED, BEST_RUN, RRF = "tuned", "best_run", "rrf"
HINDSIGHT = "best_run_of_all"
# Items of a run's ledger: items that are equal for all runs, then items of each run.
_SHARED = ("qrels_rows", "qrels_queries", "queries_without_relevant", "qrels_fingerprint",
           )  # fmt: skip
_OWN = {"run_rows": "rows", "run_queries": "queries", "queries_missing": "queries_missing",
        "run_order": "order"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Findings:
    """Make the tables of a tuning from the values of candidates, runs and plain RRF by query."""

    metric: Metric
    queries: pl.Series
    # a query is complete if all trials, runs and plain RRF are defined for it
    folds: Folds
    trials: Sequence[Trial]
    runs: Mapping[str, QueryValues]
    rrf: tuple[str, QueryValues]
    setup: Setup
    # gaps between the judged shares of runs, and the runs' condensed values and bounds
    judged: tuple[Sequence[JudgedGap], pl.DataFrame | None] = ((), None)

    @cached_property
    def _averages(self) -> list[list[float]]:
        """Return for each candidate its averages without each fold, then its average over all."""
        return [self.folds.averages(trial.values) for trial in self.trials]

    @cached_property
    def _run_averages(self) -> list[list[float]]:
        return [self.folds.averages(values) for values in self.runs.values()]

    def _best(self, averages: Sequence[float]) -> int:
        return best_of(averages, higher=self.metric.higher_is_better)

    @cached_property
    def _allowed(self) -> list[list[int]]:
        """Return for each fold the indexes of the candidates that may be chosen."""
        return [
            [i for i, trial in enumerate(self.trials) if fold in trial.folds]
            for fold in range(self.folds.count)
        ]

    @cached_property
    def chosen(self) -> list[int]:
        """Return for each fold the index of the candidate that is best on all other folds."""
        return [
            allowed[self._best([self._averages[i][fold] for i in allowed])]
            for fold, allowed in enumerate(self._allowed)
        ]

    @cached_property
    def chosen_runs(self) -> list[int]:
        """Return for each fold the index of the run that is best on all other folds."""
        *by_fold, _ = zip(*self._run_averages, strict=True)
        return [self._best(averages) for averages in by_fold]

    @cached_property
    def order(self) -> list[int]:
        """Return the indexes of the candidates, best over all queries first; the sort is stable."""
        averages = [averages[-1] for averages in self._averages]
        best, higher = self._best(averages), self.metric.higher_is_better
        worse = [-goodness(average, higher=higher) for average in averages]
        return sorted(range(len(worse)), key=lambda i: (i != best, worse[i]))

    @cached_property
    def _tested(self) -> dict[str, Terms]:
        runs = list(self.runs.values())
        return {
            TUNED: self.folds.join([self.trials[i].values.terms for i in self.chosen]),
            BEST_RUN: self.folds.join([runs[i].terms for i in self.chosen_runs]),
            RRF: self.rrf[1].terms,
        }

    def candidates(self) -> pl.DataFrame:
        """Return a row for each candidate, the best first."""
        values = self._align({str(i): t.values.terms for i, t in enumerate(self.trials)})
        rows: list[Row] = []
        for i in self.order:
            method = self.trials[i].method
            difference = values.pair_row(self.order[0], i, self.setup.intervals)
            rows.append(
                {
                    "fusion": method.label,
                    "norm": method.norm_name,
                    "method": method.definition.name,
                    "weights": method.params.get(WEIGHTS),
                    **self._value_row(values, i),
                    "difference": difference["difference"],
                    "difference_low": difference["ci_low"],
                    "difference_high": difference["ci_high"],
                }
            )
        best = pl.int_range(pl.len()) == 0
        return _table(rows).with_columns(
            as_good=best | ((pl.col("difference_low") <= 0) & (pl.col("difference_high") >= 0)),
            folds=pl.Series([self.chosen.count(i) for i in self.order], dtype=pl.Int64),
        )

    def by_run(self) -> pl.DataFrame:
        """Return a row for each unfused run."""
        values = self._align({name: run.terms for name, run in self.runs.items()})
        rows: list[Row] = []
        for i, name in enumerate(self.runs):
            folds = self.chosen_runs.count(i)
            rows.append({"run": name, **self._value_row(values, i), "folds": folds})
        table, bounds = _table(rows), self.judged[1]
        if bounds is None:
            return table
        columns = bounds.select(pl.col("system").alias("run"), CONDENSED, *HOLE_COLUMNS)
        return table.join(columns, on="run", how="left", maintain_order="left")

    def against(self) -> pl.DataFrame:
        """Test the tuned fusion, out of fold, against the best single run and plain RRF.

        If folds do not agree on the best run, the tuned fusion is also tested against the run that
        is best over all queries. That run is chosen in hindsight, which favours the run.
        """
        names = list(self.runs)
        single = " or ".join(dict.fromkeys(names[i] for i in sorted(self.chosen_runs)))
        systems, baselines = {**self._tested}, {BEST_RUN: single, RRF: self.rrf[0]}
        if len(set(self.chosen_runs)) > 1:
            best = names[self._best([averages[-1] for averages in self._run_averages])]
            systems[HINDSIGHT] = self.runs[best].terms
            baselines[HINDSIGHT] = f"{best}, best over all queries"
        pairs = [(i, 0) for i in range(1, len(systems))]
        values = self._align(systems)
        (p_values,) = self.setup.p_values([values], pairs, self._hashes)
        rows: list[Row] = [
            {
                "metric": self.metric.label,
                "by": None,
                "slice": None,
                "baseline": baselines[system],
                "single": system != RRF,
                **values.pair_row(*pair, self.setup.intervals, p_value),
                **self._interval(values, pair, system, systems[system]),
            }
            for system, pair, p_value in zip(baselines, pairs, p_values, strict=True)
        ]
        gain = pl.col("difference") * (1 if self.metric.higher_is_better else -1)
        contains_0 = (pl.col("ci_low") <= 0) & (pl.col("ci_high") >= 0)
        improved = (
            pl.col("significant") & (gain > 0) & ~contains_0.fill_null(value=False)
        ).fill_null(value=False)
        table = correct_rows(_table(rows), self.setup)
        return table.with_columns(improved=improved).select(AGAINST_COLUMNS)

    def _value_row(self, values: AlignedValues, place: int) -> Row:
        """Return the columns value, ci_low and ci_high of a candidate or a run."""
        row = values.system_row(place, self.setup.intervals)
        return {name: row[name] for name in ("value", "ci_low", "ci_high")}

    def _interval(
        self, values: AlignedValues, pair: tuple[int, int], system: str, reference: Terms
    ) -> Row:
        """Return the interval of an out-of-fold difference, including the error of the choices."""
        difference, intervals = values.difference(*pair), self.setup.intervals
        if difference is None or intervals.ci is None:
            return {}
        runs = [run.terms for run in self.runs.values()]
        options = runs if system == BEST_RUN else [reference]
        everything = [list(range(len(options)))] * self.folds.count
        errors = values.slope(pair[1]) * self._tuned_errors
        errors = errors - values.slope(pair[0]) * self._draw_errors(options, everything)
        bounds = t_interval(
            difference, float(errors.std(ddof=1)), int(self.folds.complete.sum()),
            intervals.confidence,
        )  # fmt: skip
        low, high = around(difference, None if np.isnan(errors).any() else bounds)
        return {"ci_low": low, "ci_high": high}

    @cached_property
    def _tuned_errors(self) -> Floats:
        return self._draw_errors([trial.values.terms for trial in self.trials], self._allowed)

    def _draw_errors(self, options: Sequence[Terms], allowed: Sequence[Sequence[int]]) -> Floats:
        higher = self.metric.higher_is_better
        return draw_errors(
            options, allowed, self.folds, self._hashes, self.setup.intervals, higher=higher
        )

    def by_fold(self) -> pl.DataFrame:
        """Return a row for each fold: the candidate chosen on the other folds, and its value."""
        rows: list[Row] = []
        runs, total = list(self.runs.items()), sum(self.folds.sizes)
        for fold, size in enumerate(self.folds.sizes):
            chosen, (run, run_values) = self.chosen[fold], runs[self.chosen_runs[fold]]
            trial = self.trials[chosen]
            average_in, elsewhere = self.folds.average_in, self._averages[chosen][fold]
            rows.append(
                {
                    "fold": fold + 1,
                    "queries": size,
                    "fusion": trial.method.label,
                    "norm": trial.method.norm_name,
                    "value_on_others": self._finish(elsewhere, total - size),
                    "value": self._finish(average_in(fold, trial.values), size),
                    "run": run,
                    "run_value": self._finish(average_in(fold, run_values), size),
                }
            )
        return _table(rows)

    def per_query(self) -> pl.DataFrame:
        """Return a row for each query: its fold, and the values that were tested."""
        complete = pl.Series(self.folds.complete)
        values = {
            name: pl.select(pl.when(complete).then(pl.Series(terms.values))).to_series()
            for name, terms in self._tested.items()
        }
        return pl.DataFrame({QUERY: self.queries, "fold": self.folds.numbers + 1, **values})

    def ledger(
        self,
        systems: Systems,
        shared: SharedPolicies,
        fusing: FusionPolicies,
        against: pl.DataFrame,
    ) -> pl.DataFrame:
        """Return the ledger: item, value, note. `against`: the table of tests."""
        ledgers = {
            name: [] if system.ledger is None else system.ledger.rows()  # allowed: few
            for name, system in systems.by_name.items()
        }
        counted = int(self.folds.complete.sum())
        first = next(iter(ledgers.values()))
        items: list[tuple[str, float | None, str]] = [row for row in first if row[0] in _SHARED]
        items += [
            (f"{name}_{_OWN[item]}", value, note)
            for name, rows in ledgers.items()
            for item, value, note in rows
            if item in _OWN
        ]
        items += [
            ("candidates", len(self.trials), "fusions that were tried"),
            ("queries_tuned_by", counted, "queries by which candidates are compared"),
            (
                "queries_undefined",
                len(self.queries) - counted,
                "left out for all: undefined for some candidate or run, or not in every run",
            ),
        ]
        policies = {
            **shared.described(),
            "depth": fusing.described()["depth"],
            "folds": f"{self.folds.count}, by hashes of query ids, seed "
            f"{self.setup.intervals.seed}",
            "best_run": "for each fold the one that is best on all others; where folds do not "
            "agree, also the one that is best over all queries",
            **self.setup.described(),
        }
        for name in ("baseline", "unpaired"):
            del policies[name]
        done = "left out for all" if shared.missing == "skip" else "scored 0"
        lacking = [replace(lack, done=done) for lack in systems.lacks]
        caveats = [
            *describe_gaps(*self.judged, systems.by_name),
            *find_caveat("few_queries", SMALL - counted, queries=number_of(counted, "query")),
            *self.setup.find_caveats(3, 1, counted),
            *self.setup.find_contradictions(against),
            *(caveat.about(name) for name, caveat in caveats_of_systems(systems.by_name, lacking)),
        ]
        words = systems.vocabulary
        items = [(item, value, words.render(note)) for item, value, note in items]
        policies |= words.described()
        items += [(f"{POLICY}{name}", None, str(note)) for name, note in policies.items()]
        items += [(f"{PREFIX}{code}", value, words.render(text)) for code, value, text in caveats]
        return pl.DataFrame(items, schema=LEDGER_SCHEMA, orient="row")

    @cached_property
    def _hashes(self) -> Hashes:
        return hash_ids(self.queries)

    def _align(self, systems: Mapping[str, Terms]) -> AlignedValues:
        """Align values over the complete queries, and draw bootstrap replicates."""
        complete = self.folds.complete
        terms = {name: replace(terms, defined=complete) for name, terms in systems.items()}
        aligned = AlignedValues.from_terms(self.metric, terms)
        return draw_replicates([aligned], self._hashes, self.setup.intervals)[0]

    def _finish(self, ratio: float, queries: int) -> float | None:
        if np.isnan(ratio):
            return None
        return float(finish_average(self.metric.average, np.array(ratio), queries))


def _table(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, {name: _TYPES.get(name, pl.Float64) for name in rows[0]})
