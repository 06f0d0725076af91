"""Read the inputs of charts from files: judgments, runs, results, and frames computed from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any

import polars as pl

from rankframe.analysis.compare import compare
from rankframe.analysis.comparison import Comparison
from rankframe.analysis.curves.curve import Kind, curve
from rankframe.analysis.diff import Diff, diff
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.analysis.tuning.tune import tune
from rankframe.core.columns import DOC, QUERY, RANK
from rankframe.core.errors import OptionError, RankframeError
from rankframe.core.messages import Option, shown
from rankframe.core.options import JudgedOptions
from rankframe.core.records import record
from rankframe.core.vocabulary import Vocabulary
from rankframe.engine.agree import agree
from rankframe.engine.evaluate import evaluate
from rankframe.engine.history import history
from rankframe.engine.lazy_frames import exposure, judge, pair
from rankframe.engine.result import Result
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source
from rankframe.io.opening import open_table
from rankframe.io.queries import By
from rankframe.present.charts.canvas import Look
from rankframe.present.charts.chart_inputs import unknown

# Default metrics of agreement.
AGREEMENT = ("kendall_tau", "spearman", "tau_ap", "rbo")
# Policies that apply to a single ranking.
_RANKED = ("order", "ties", "duplicates", "k_max", "storage_options")
# Policies of exposure, in addition to the policies of a single ranking.
_SHOWN = ("ranks", "unit", "unit_ranks", "train", "exclude_seen", "items", "catalogue")
# Default metrics of a trade-off: accuracy, and how much of the catalogue is retrieved.
TRADED = ("ndcg@10", "coverage@10")


@record
class ChartSource:
    """Hold judgments and runs by name, and options that some charts use."""

    qrels: Source | None = None
    runs: Mapping[str, Source] = field(default_factory=dict)
    metric: str = "ndcg@10"
    k: int = 20
    distance: bool = False
    queries: Source | None = None
    by: list[By] | list[tuple[str, ...]] | None = None
    columns: Columns | None = None
    # policy → value, as `evaluate` takes them
    policies: Mapping[str, Any] = field(default_factory=dict)
    # the metrics to draw, for charts that draw several; empty: only `metric`
    metrics: Sequence[str] = ()
    # the name of the judgments, or of the reference ranking
    reference: str = "the reference"
    # grades in rank order, which the user passed instead of files
    grades: Sequence[float | None] | None = None
    # the query to draw, for charts of one query; None: the first query
    query: str | None = None
    # stored results, by name
    folders: Mapping[str, Any] = field(default_factory=dict)
    # the largest tolerated drop from the first stored result
    margin: str | None = None
    look: Look = field(default_factory=Look)

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the words that texts use for queries and documents, from the first file."""
        first = next(iter(self.runs.values()), None) if self.qrels is None else self.qrels
        if isinstance(first, str | os.PathLike | InputTable):  # a stream is read only once
            with suppress(RankframeError):
                return open_table(first, None, self.columns).vocabulary
        return Vocabulary()

    @property
    def family(self) -> str:
        """Return the metric without its cutoff."""
        return self.metric.split("@", maxsplit=1)[0]

    @property
    def ks(self) -> range:
        """Return the cutoffs 1, 2, …, `k`."""
        return range(1, self.k + 1)

    @property
    def several(self) -> list[str]:
        """Return the metrics for a chart that draws several metrics."""
        return list(self.metrics) or [self.metric]

    def curves(self, kind: Kind, **options: Any) -> dict[str, pl.DataFrame]:
        """Compute the curve `kind` for each run; return the points by name of the run."""
        return self._of_each_run(curve, kind, **options)

    def evaluated(self, metrics: str | Sequence[str], **options: Any) -> dict[str, Result]:
        """Evaluate each run with `metrics`; return the results by name."""
        return self._of_each_run(evaluate, metrics, **options)

    def sliced(self, metrics: Sequence[str]) -> dict[str, Result]:
        """Evaluate each run by slices of queries; return the results by name."""
        if not self.by or self.queries is None:
            needed = (Option("queries"), " (a table of queries) and ", Option("by"))
            raise OptionError("slices need ", *needed, " (an attribute).")
        return self.evaluated(metrics, by=self.by, queries=self.queries)

    def difference(self) -> Diff:
        """Return the `Diff` from the first run to the second."""
        return self._call(diff, self.qrels, *self.runs.values(), self.metric)

    def tuned(self) -> Tuning:
        """Tune the weights of a fusion of the two runs; return the `Tuning`."""
        return self._call(tune, self.qrels, self.runs, "wsum", self.metric)

    def compared(self, *, pairs: bool = False) -> Comparison:
        """Compare the runs with the first run or, with `pairs`, each run with each other run."""
        if pairs:
            return self._call(compare, self.qrels, self.runs, [self.metric])
        options: dict[str, Any] = {"baseline": next(iter(self.runs))}
        if self.by and self.queries is not None:
            options |= {"by": self.by, "queries": self.queries}
        return self._call(compare, self.qrels, self.runs, self.several, **options)

    def judged(self) -> dict[str, pl.LazyFrame]:
        """Return the judged frame of each run."""
        return self._of_each_run(judge, policies=JudgedOptions.__annotations__)

    def queries_judged(self) -> int:
        """Count the judged queries over which the run is averaged."""
        (result,) = self.evaluated("num_relevant", ci=None).values()  # of every judged query
        return result.per_query.height

    def pairs(self) -> dict[str, pl.LazyFrame]:
        """Return the pair frame of the judgments and each run, which has grades and scores."""
        return self._of_each_run(pair, policies=_RANKED)

    def agreements(self) -> dict[str, Result]:
        """Compute how each ranking agrees with the reference."""
        return self._of_each_run(agree, list(self.metrics) or list(AGREEMENT), policies=_RANKED)

    def rankings(self) -> dict[str, list[str]]:
        """Return the top documents of one query, in the reference and in each run, by name."""
        frames = self.pairs()
        first = next(iter(frames.values()))
        query = self._query(first, "rank_a")
        sides = [(self.reference, first, "rank_a")]
        sides += [(name, frame, "rank_b") for name, frame in frames.items()]
        chosen = pl.col(QUERY) == query
        return {
            name: frame.filter(chosen, pl.col(rank) <= self.k).select(DOC, rank).collect()
            .sort(rank)[DOC].to_list()
            for name, frame, rank in sides
        }  # fmt: skip

    def lists(self) -> list[float | None] | dict[str, list[float | None]]:
        """Return grades in rank order: the user's list, or the grades of a query in each run."""
        if self.grades is not None:
            return list(self.grades)
        frames = self.judged()
        query = self._query(next(iter(frames.values())), RANK)
        found: dict[str, list[float | None]] = {}
        for name, judged in frames.items():
            rows = judged.filter(pl.col(QUERY) == query).select(RANK, "relevance", "retrieved")
            rows = rows.collect()
            length = min(self.k, *rows["retrieved"].head(1))
            graded = dict(rows.drop_nulls(RANK).select(RANK, "relevance").rows())  # allowed: one
            found[f"{name}, query {query}"] = [graded.get(rank) for rank in range(1, length + 1)]
        return found

    def documents(self) -> dict[str, pl.LazyFrame]:
        """Return the exposure frame of each run: how often it retrieves each document."""
        return {
            name: self._call(exposure, run, k=self.k, policies=(*_RANKED, *_SHOWN))
            for name, run in self.runs.items()
        }

    @property
    def two_metrics(self) -> tuple[str, str]:
        """Return the two metrics to draw against each other: vertical, horizontal."""
        metrics = self.several
        if len(metrics) > 2:
            raise OptionError(f"two metrics are drawn against each other, not {len(metrics)}.")
        defaults = [metric for metric in reversed(TRADED) if metric not in metrics]
        vertical, horizontal = [*metrics, *defaults][:2]
        return vertical, horizontal

    def history(self) -> pl.DataFrame:
        """Read the stored results, the oldest first."""
        return history(self.folders, self.metrics or None)

    def _query(self, frame: pl.LazyFrame, rank: str) -> str:
        """Return the query to draw: the user's, or the first that has documents."""
        ids = (
            frame.filter(pl.col(rank).is_not_null()).select(QUERY).unique().collect()[QUERY].sort()
        )
        if self.query is None and len(ids):
            return ids[0]
        if self.query not in ids:
            problem = f"no run has documents for the query {shown(self.query)}."
            raise unknown(problem, self.query, ids.head(10_000).to_list())
        return str(self.query)

    def _of_each_run(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call a function with the judgments and each run, and return its results by name."""
        return {
            name: self._call(function, self.qrels, run, *args, **options)
            for name, run in self.runs.items()
        }

    def _call(
        self, function: Callable[..., Any], *args: Any,
        policies: Iterable[str] | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Call a function of the library with the user's columns and policies.

        policies: the names of the policies to pass; None: every policy.
        """
        names = self.policies if policies is None else policies
        taken = {name: self.policies[name] for name in names if name in self.policies}
        return function(*args, columns=self.columns, **taken, **options)
