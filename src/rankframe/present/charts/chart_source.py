"""Files that charts are drawn from: judgments, runs, results, and what is computed of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rankframe.analysis.compare import compare
from rankframe.analysis.comparison import Comparison
from rankframe.analysis.curves.curve import Kind, curve
from rankframe.analysis.diff import Diff, diff
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.analysis.tuning.tune import tune
from rankframe.core.columns import DOC, QUERY, RANK
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option, did_you_mean, shown
from rankframe.core.options import JudgedOptions
from rankframe.engine.agree import agree
from rankframe.engine.evaluate import evaluate
from rankframe.engine.history import history
from rankframe.engine.lazy_frames import exposure, judge, pair
from rankframe.engine.result import Result
from rankframe.io.inputs import Columns, Source
from rankframe.io.queries import By
from rankframe.present.charts.canvas import Look

# Default metrics of agreement.
AGREEMENT = ("kendall_tau", "spearman", "tau_ap", "rbo")
# Policies that apply to a single ranking.
_RANKED = ("order", "ties", "duplicates", "k_max", "storage_options")
# Policies of exposure, in addition to these.
_SHOWN = ("ranks", "unit", "unit_ranks", "train", "exclude_seen", "items", "catalogue")
# Default metrics of a trade-off: accuracy, and how much of the catalogue is retrieved.
TRADED = ("ndcg@10", "coverage@10")
_EVERY = "num_relevant"  # defined for every judged query


@dataclass(frozen=True)
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
    # by name, as `evaluate` takes them
    policies: Mapping[str, Any] = field(default_factory=dict)
    # all metrics that were asked for, of charts that draw several; none: `metric`
    metrics: Sequence[str] = ()
    # what the judgments, or the ranking that others are compared with, are called
    reference: str = "the reference"
    # grades in rank order, instead of files
    grades: Sequence[float | None] | None = None
    # one query, where one is drawn; none: the first
    query: str | None = None
    # stored results, by name
    folders: Mapping[str, Any] = field(default_factory=dict)
    # how much worse than the first of them is still good enough
    margin: str | None = None
    look: Look = field(default_factory=Look)

    @property
    def family(self) -> str:
        """Return the metric without its cutoff."""
        return self.metric.split("@", maxsplit=1)[0]

    @property
    def ks(self) -> range:
        """Return all cutoffs."""
        return range(1, self.k + 1)

    @property
    def several(self) -> list[str]:
        """Return the metrics of charts that draw several."""
        return list(self.metrics) or [self.metric]

    def curves(self, kind: Kind, **options: Any) -> dict[str, pl.DataFrame]:
        """Compute a curve for each run."""
        return {
            name: curve(self.qrels, run, kind, **options, columns=self.columns, **self.policies)
            for name, run in self.runs.items()
        }

    def per_query(self) -> dict[str, pl.DataFrame]:
        """Evaluate each run and return its values per query."""
        return {name: result.per_query for name, result in self._evaluated(self.metric).items()}

    def slices(self) -> dict[str, pl.DataFrame]:
        """Evaluate each run and return its slices."""
        return {name: result.slices for name, result in self.sliced([self.metric]).items()}

    def sliced(self, metrics: Sequence[str] | None = None) -> dict[str, Result]:
        """Evaluate each run with slices."""
        if not self.by or self.queries is None:
            raise OptionError(
                "slices need ",
                Option("queries"),
                " (a table of queries) and ",
                Option("by"),
                " (an attribute).",
            )
        return self._evaluated(metrics or self.several, by=self.by, queries=self.queries)

    def difference(self) -> Diff:
        """Compute what changed from the first run to the second."""
        a, b = self.runs.values()
        return diff(self.qrels, a, b, self.metric, columns=self.columns, **self.policies)

    def tuned(self) -> Tuning:
        """Tune the weights of two runs."""
        return tune(
            self.qrels, self.runs, "wsum", self.metric, columns=self.columns, **self.policies
        )

    def compared(self, *, pairs: bool = False) -> Comparison:
        """Compare the runs with the first of them, or all pairs."""
        options: dict[str, Any] = {}
        if self.by and self.queries is not None and not pairs:
            options = {"by": self.by, "queries": self.queries}
        if not pairs:
            options["baseline"] = next(iter(self.runs))
        metrics = [self.metric] if pairs else self.several
        return compare(
            self.qrels, self.runs, metrics, columns=self.columns, **self.policies, **options
        )

    def judged(self) -> pl.LazyFrame:
        """Return the judged frame of a single run."""
        (run,) = self.runs.values()
        return judge(self.qrels, run, columns=self.columns, **self._of_frame())

    def queries_judged(self) -> int:
        """Count the queries that are evaluated."""
        (result,) = self._evaluated(_EVERY, ci=None).values()
        return result.per_query.height

    def pairs(self) -> dict[str, pl.LazyFrame]:
        """Pair the judgments with each run, for their scores."""
        return {name: self._paired(run) for name, run in self.runs.items()}

    def agreements(self) -> dict[str, Result]:
        """Compute how each ranking agrees with the reference."""
        policies = self._shared()
        metrics = list(self.metrics) or list(AGREEMENT)
        return {
            name: agree(self.qrels, run, metrics, columns=self.columns, **policies)
            for name, run in self.runs.items()
        }  # fmt: skip

    def rankings(self) -> dict[str, list[str]]:
        """Return the first documents of a query, in the reference and in each run."""
        frames = {name: self._paired(run) for name, run in self.runs.items()}
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
        """Return grades in rank order: those passed by the user, or of one query in each run."""
        if self.grades is not None:
            return list(self.grades)
        frames = {
            name: judge(self.qrels, run, columns=self.columns, **self._of_frame())
            for name, run in self.runs.items()
        }
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
        """Count how often each run retrieves each document."""
        named = (*_RANKED, *_SHOWN)
        policies = {name: self.policies[name] for name in named if name in self.policies}
        return {
            name: exposure(run, k=self.k, columns=self.columns, **policies)
            for name, run in self.runs.items()
        }

    @property
    def two_metrics(self) -> tuple[str, str]:
        """Return the two metrics to draw against each other: vertical, horizontal."""
        metrics = self.several
        if len(metrics) > 2:
            raise OptionError(f"two metrics are drawn against each other, not {len(metrics)}.")
        defaults = [metric for metric in reversed(TRADED) if metric not in metrics]
        up, across = [*metrics, *defaults][:2]
        return up, across

    def traded(self) -> dict[str, Result]:
        """Evaluate both metrics for each run."""
        return self._evaluated(list(self.two_metrics))

    def history(self) -> pl.DataFrame:
        """Read the stored results, the oldest first."""
        return history(self.folders, self.metrics or None)

    def _paired(self, run: Source) -> pl.LazyFrame:
        return pair(self.qrels, run, columns=self.columns, **self._shared())

    def _query(self, frame: pl.LazyFrame, rank: str) -> str:
        """Return the query to draw: the user's, or the first that has documents."""
        ids = (
            frame.filter(pl.col(rank).is_not_null()).select(QUERY).unique().collect()[QUERY].sort()
        )
        if self.query is None and len(ids):
            return ids[0]
        if self.query not in ids:
            hint = did_you_mean(str(self.query), ids.head(10_000).to_list())
            raise OptionError(
                f"no run has documents for the query {shown(self.query)}. {hint}".rstrip()
            )
        return str(self.query)

    def _of_frame(self) -> dict[str, Any]:
        """Return the policies that decide what the judged frame holds."""
        names = JudgedOptions.__annotations__
        return {name: self.policies[name] for name in names if name in self.policies}

    def _shared(self) -> dict[str, Any]:
        """Return the policies that apply to two rankings as well."""
        return {name: self.policies[name] for name in _RANKED if name in self.policies}

    def _evaluated(self, metrics: Any, **options: Any) -> dict[str, Result]:
        return {
            name: evaluate(
                self.qrels, run, metrics, columns=self.columns, **self.policies, **options
            )
            for name, run in self.runs.items()
        }
