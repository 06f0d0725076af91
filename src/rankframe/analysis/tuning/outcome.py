"""Define `Tuning`, the result of tuning fusions, with its display, files and use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rankframe.analysis.comparison import Outcome
from rankframe.analysis.fusion.fuse import fuse
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.analysis.fusion.runs import named_runs
from rankframe.core.errors import OptionError
from rankframe.core.messages import listing, number_of
from rankframe.core.options import COUNT
from rankframe.core.table import (
    Cell,
    Note,
    Part,
    Table,
    as_html,
    as_markdown,
    as_text,
    warning_notes,
)
from rankframe.core.wording import number_text, outcomes_text, p_text, range_text, signed_text
from rankframe.engine.result import about_frame
from rankframe.io.inputs import Source
from rankframe.metrics.names import Metric

_SHOWN = 5  # candidates on the screen of a notebook


@dataclass(frozen=True, repr=False, eq=False)
class Tuning(Outcome):
    """Hold the result of tuning fusions.

    candidates: a row for each fusion, the best first: its value over all queries with an interval,
        its difference from the best candidate with a paired interval, whether this interval
        contains 0 (`as_good`), and for how many folds the fusion was chosen. The values of trained
        fusions come from training without the fold of each query.
    against: paired tests of the tuned fusion, out of fold, against the best single run and against
        plain RRF. If the folds choose different best runs, also against the run that is best over
        all queries.
    folds: for each fold, the candidate that is best on all other folds, its value there and in the
        fold, and the single run that is best on all other folds.
    runs: the value of each single run.
    per_query: the values that were tested.
    ledger: item, value, note.
    best: the best fusion over all queries: `rf.fuse(runs, **tuning.best)`, or `tuning.fuse(runs)`.

    `to_arrow()` and `to_pandas()` return the candidates, or another of these frames by its name.
    """

    FRAMES = ("candidates", "against", "folds", "runs", "per_query", "ledger")
    FILES = tuple(f"{name}.parquet" for name in FRAMES)

    candidates: pl.DataFrame
    against: pl.DataFrame
    folds: pl.DataFrame
    runs: pl.DataFrame
    per_query: pl.DataFrame
    ledger: pl.DataFrame
    metric: Metric
    best: Mapping[str, Any]
    # the runs, in the order of weights
    names: tuple[str, ...]
    # the policies of the fusions
    policies: FusionPolicies
    # the names of the inputs
    inputs: Mapping[str, str]

    def fuse(
        self, runs: Mapping[str, Source] | Sequence[Source], *, qrels: Source | None = None
    ) -> pl.LazyFrame:
        """Fuse other runs of the same systems, by the best method and the policies of the tuning.

        Args:
            runs: runs by the names of the tuned runs, or a list in the same order.
            qrels: judgments to train on, if the best method is trained.
        """
        named = named_runs(runs)
        if isinstance(runs, Mapping) and set(named) == set(self.names):
            named = {name: named[name] for name in self.names}
        elif len(named) != len(self.names) or isinstance(runs, Mapping):
            raise OptionError(
                f"the tuning has the runs {listing(self.names)}, but runs= has "
                f"{listing(list(named))}."
            )
        return fuse(named, **self.best, qrels=qrels, **vars(self.policies))

    @property
    def value(self) -> float | None:
        """Return the metric's average out of fold: each query's fusion was chosen without the
        query.
        """
        return self.against["value"][0]

    @property
    def in_sample(self) -> float | None:
        """Return the metric of the best fusion over the queries that it was chosen by."""
        return self.candidates["value"][0]

    @property
    def improved(self) -> bool:
        """Tell whether the tuned fusion is significantly better than the best single run."""
        return bool(self.against.filter(pl.col("single"))["improved"].all())

    @property
    def as_good(self) -> pl.DataFrame:
        """Return the best candidate, then all that do not differ significantly from it."""
        return self.candidates.filter(pl.col("as_good"))

    @property
    def best_run(self) -> str:
        """Return the best single run, or several of them if folds do not agree on it."""
        return " or ".join(self.runs.filter(pl.col("folds") > 0)["run"])

    @property
    def headline(self) -> str:
        """Return the result in one sentence."""
        metric, single = self.metric, self.against.filter(pl.col("single"))
        # If several runs are tested, report the smallest gain.
        gains = single.sort("difference", descending=not metric.higher_is_better, nulls_last=True)
        row = gains.row(0, named=True)
        name, norm = self.candidates["fusion"][0], self.candidates["norm"][0]
        sentence = (
            f"{name}{f' with {norm}' if norm else ''}: {metric.label} "
            f"{number_text(self.value, metric)} out of fold "
            f"({number_text(self.in_sample, metric)} in sample), "
        )
        difference = signed_text(row["difference"], metric)
        if self.improved:
            sentence += f"{difference} over the best single run ({row['baseline']})"
        else:
            sentence += f"no improvement over {row['baseline']} can be claimed ({difference}"
        return sentence + self._interval(row) + ("" if self.improved else ")")

    def _interval(self, row: Mapping[str, Any]) -> str:
        """Return the interval of a difference as text; an empty text if there is no interval."""
        bounds = range_text(row["ci_low"], row["ci_high"], self.metric, signed=True)
        return bounds and f", {self.note('policy_ci').split(',')[0]} {bounds}"

    @property
    def tests(self) -> list[str]:
        """Return a line for each test."""
        lines = []
        for row in self.against.to_dicts():
            star = "*" if row["significant"] else ""
            lines.append(
                f"over {row['baseline']} ({number_text(row['baseline_value'], self.metric)}): "
                f"{signed_text(row['difference'], self.metric)}{self._interval(row)}, "
                f"p {p_text(row['p_corrected'])}{star}, "
                f"W/T/L {outcomes_text(row)}"
            )
        return lines

    @property
    def overview(self) -> str:
        """Return the most important counts of the ledger in one line."""
        tried, good = number_of(self.candidates.height, "candidate"), self.as_good.height
        queries = number_of(self.count("queries_tuned_by") or 0, "query")
        parts = [
            f"{tried}, of which {good:,} cannot be told apart from the best",
            f"{queries} in {number_of(self.folds.height, 'fold')}",
        ]
        if undefined := self.count("queries_undefined"):
            parts.append(f"{number_of(undefined, 'query')} undefined: left out")
        parts.append(f"test: {self.note('policy_test')}")
        if self.note("policy_correction") != "none":
            parts.append(f"p values corrected ({self.note('policy_correction')})")
        parts.append(f"interval: {self.note('policy_ci')}")
        return self.vocabulary.render(", ".join(parts))

    @property
    def condensed(self) -> list[str]:
        """Describe the runs over judged documents alone, if their judged shares differ too much."""
        if "condensed_value" not in self.runs.columns:
            return []
        rows = [
            f"{row['run']} {number_text(row['condensed_value'], self.metric)} "
            f"(bounds {range_text(row['lower_bound'], row['upper_bound'], self.metric) or '–'})"
            for row in self.runs.to_dicts()
        ]
        over = self.vocabulary.render("over judged documents alone")
        return [f"{over}, whatever the unjudged ones are: {', '.join(rows)}"]

    def _about(self, frame: str) -> dict[str, Any]:
        return about_frame(frame, [self.metric.label], self.ledger, self.inputs)

    def parts(self, limit: int | None = None) -> list[Part]:
        """Return the tables and notes to display: headline, candidates, runs and tests."""
        headline = Note.from_headline(self.headline, "good" if self.improved else "")
        notes = [Note(text) for text in (*self.tests, *self.condensed, self.overview)]
        return [headline, self.table(limit), *warning_notes(self.caveats), *notes]

    def table(self, limit: int | None = None) -> Table:
        """Return the best candidates (all, or up to a limit), then the runs.

        Candidates that cannot be told apart from the best are bold.
        """
        metric = self.metric

        def line(
            row: Mapping[str, Any], fusion: str | Cell, norm: str = "", gain: str = "", by: str = ""
        ) -> tuple[str | Cell, ...]:
            interval = range_text(row["ci_low"], row["ci_high"], metric)
            folds = f"{row['folds']:,}" if row["folds"] else ""
            return fusion, norm, number_text(row["value"], metric), interval, gain, by, folds

        if limit is not None:
            COUNT.refuse("limit", limit)
        candidates = [
            line(
                row,
                Cell(row["fusion"], bold=row["as_good"]),
                row["norm"] or "",
                signed_text(row["difference"], metric),
                range_text(row["difference_low"], row["difference_high"], metric, signed=True),
            )
            for row in self.candidates[:limit].to_dicts()
        ]
        runs = [line(row, f"{row['run']} by itself") for row in self.runs.to_dicts()]
        names = [metric.label, "interval", "from best", "its interval", "folds"]
        tables = [Table.from_texts(["fusion", "norm"], names, rows) for rows in (candidates, runs)]
        groups = [group for table in tables for group in table.groups]
        hidden_first = ("its interval", "folds", "interval", "from best")
        return Table(tables[0].columns, groups, dispensable=hidden_first)

    def to_markdown(self, limit: int | None = 10) -> str:
        """Return the result as Markdown, with a table of up to `limit` candidates and the runs.

        Candidates that cannot be told apart from the best are bold.
        """
        return as_markdown(self.parts(limit))

    def __repr__(self) -> str:
        return as_text("rankframe tuning", self.parts(_SHOWN))

    def _repr_html_(self) -> str:
        return as_html(self.parts(_SHOWN))
