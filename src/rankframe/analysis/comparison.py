"""`Comparison`: what comparing systems gives, and how it is shown, stored and pasted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import polars as pl

from rankframe.analysis.missing_queries import Lack
from rankframe.analysis.tables import (
    Contents,
    as_latex,
    as_markdown,
    lines_as_html,
    rows_as_markdown,
)
from rankframe.core.checks import check_flag
from rankframe.core.messages import number_of
from rankframe.core.options import StorageSettings
from rankframe.core.wording import (
    best_of,
    number_text,
    outcomes_text,
    p_text,
    percent_text,
    share_text,
    signed_text,
)
from rankframe.engine.about import about_frame
from rankframe.engine.exported import Exported
from rankframe.engine.ledger import EVERY_RELEVANT, says_every_relevant
from rankframe.io.output_paths import place
from rankframe.io.outputs import fresh_folder
from rankframe.io.sources.writers import write_parquet
from rankframe.io.storage import reaching
from rankframe.metrics.names import Metric

_OF = {"metric": pl.String, "by": pl.String, "slice": pl.String}
PAIR_SCHEMA: dict[str, type[pl.DataType]] = {
    **_OF,
    "baseline": pl.String,
    "system": pl.String,
    "baseline_value": pl.Float64,
    "value": pl.Float64,
    "difference": pl.Float64,
    "relative": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "p_value": pl.Float64,
    "p_corrected": pl.Float64,
    "significant": pl.Boolean,
    "effect_size": pl.Float64,
    "wins": pl.Int64,
    "ties": pl.Int64,
    "losses": pl.Int64,
    "queries": pl.Int64,
    "undefined": pl.Int64,
    "judged_baseline": pl.Float64,
    "judged": pl.Float64,
    "small": pl.Boolean,
}
SYSTEM_SCHEMA: dict[str, type[pl.DataType]] = {
    **_OF,
    "system": pl.String,
    "value": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "queries": pl.Int64,
    "judged": pl.Float64,
    "small": pl.Boolean,
}
# Of systems too, with `bounds`.
HOLE_COLUMNS = ("lower_bound", "upper_bound", "if_none_relevant", "if_all_relevant")
LEDGER_SCHEMA: dict[str, type[pl.DataType]] = {
    "system": pl.String, "item": pl.String, "value": pl.Float64, "note": pl.String,
}  # fmt: skip
COMPARISON_FILES = ("table.parquet", "systems.parquet", "ledger.parquet")

WARNING = "warning"  # the item of the ledger that holds one

HEADER = ("metric", "slice", "system", "value", "diff", "%", "interval", "p", "raw p", "W/T/L",
          "judged")  # fmt: skip


@dataclass(frozen=True)
class Comparison(Exported):
    """The outcome of a comparison.

    table: a row for each metric, slice and pair of systems: both values, their difference (absolute
        and relative) with its interval, p values, effect size (Cohen's d of the differences),
        in how many queries the system wins, ties and loses, how many were compared, for how many
        the metric is undefined, and judged@k of both, k being the metric's own or else 10. `by` and
        `slice` are null in rows about all queries.
    systems: a row for each metric, slice and system: its value with its interval; with `bounds`,
        also lower_bound and upper_bound (null where they are not known), and two
        scenarios, if_none_relevant and if_all_relevant.
    ledger: system (null: of the comparison), item, value, note.
    per_query: by name, the values that were compared.

    `to_arrow()` and `to_pandas()` give the table, or another of these frames by its name; of the
    values of queries one frame, with a column `system` in front.
    """

    FRAMES = ("table", "systems", "per_query", "ledger")

    table: pl.DataFrame
    systems: pl.DataFrame
    ledger: pl.DataFrame
    metrics: tuple[Metric, ...]
    names: tuple[str, ...]
    # query_id and a column a metric, of each system; the same queries in the same order
    per_query: Mapping[str, pl.DataFrame]
    baseline: str | None = None
    # judged queries that runs lack
    lacks: Sequence[Lack] = ()
    # of each system what was evaluated, as far as it is known
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @reaching
    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        storage_options: StorageSettings | None = None,  # noqa: ARG002 (read by `reaching`)
    ) -> Path:
        """Write the frames as Parquet into a folder: all of them, or nothing."""
        check_flag("overwrite", overwrite)
        with fresh_folder(folder, COMPARISON_FILES, overwrite=overwrite) as fresh:
            for file in COMPARISON_FILES:
                name = file.removesuffix(".parquet")
                write_parquet(getattr(self, name), fresh / file, self._about(name))
        return cast("Path", place(folder))  # as of a result

    def _about(self, frame: str) -> dict[str, Any]:
        """What a file with a frame of it says of itself."""
        labels = [metric.label for metric in self.metrics]
        # What holds for all runs is said of each; of stored values nothing may be.
        whole, own = pl.col("system").is_null(), pl.col("system") == self.names[0]
        policies = pl.concat([self.ledger.filter(own), self.ledger.filter(whole)])
        inputs = {}
        for name, named in self.inputs.items():
            counted = self.ledger.filter(pl.col("system") == name)
            inputs[name] = about_frame(frame, (), counted, named)["inputs"]
        about = about_frame(frame, labels, policies, {})
        return about | {"baseline": self.baseline, "inputs": inputs}

    def _frame(self, name: str) -> pl.DataFrame:
        if name != "per_query":
            return super()._frame(name)
        return pl.concat(
            frame.select(pl.lit(system).alias("system"), pl.all())
            for system, frame in self.per_query.items()
        )

    def to_markdown(self, *, details: bool = False) -> str:
        """Systems down, metrics across: the best in bold, what differs significantly marked.

        `details`: instead a row for each metric and system with its difference, interval and p
        values, what is significant in bold; for a comment on a pull request.
        """
        check_flag("details", details)
        if not details:
            return as_markdown(self._contents)
        notes = [said for said in (self.legend, self.caveat) if said]
        return rows_as_markdown(self.header, list(self.lines()), notes, self.warnings)

    def to_latex(self) -> str:
        """The same as a LaTeX table for booktabs."""
        return as_latex(self._contents)

    @property
    def _contents(self) -> Contents:
        decided = (
            f"{self.note('policy_significant')}; test: {self.note('policy_test')}; "
            f"correction: {self.note('policy_correction')}"
        )
        return Contents(
            self.metrics, self.names, self.baseline, self.systems, self.table, self.sliced, decided,
            self.warnings,
        )  # fmt: skip

    def metric(self, label: str) -> Metric:
        """The metric of that label."""
        return next(metric for metric in self.metrics if metric.label == label)

    @property
    def sliced(self) -> bool:
        """Whether it speaks of slices."""
        return self.systems["by"].null_count() < self.systems.height

    def note(self, item: str) -> str:
        """What the ledger notes of the comparison as a whole."""
        found = self.ledger.filter(pl.col("system").is_null(), pl.col("item") == item)["note"]
        return found[0] if len(found) else ""

    @property
    def caveat(self) -> str:
        """The ledger in a few words: what a reader of the numbers should know."""
        counts = self.ledger.filter(pl.col("system").is_null(), pl.col("value") > 0)
        values = dict(zip(counts["item"], counts["value"], strict=True))
        said = [f"{number_of(values.get('queries_compared', 0), 'query')} compared"]
        if unpaired := values.get("queries_unpaired"):
            said.append(f"{unpaired:,.0f} {self.note('queries_unpaired')}")
        said += [str(lack) for lack in self.lacks if not lack.many]
        said += [EVERY_RELEVANT] if self.every_relevant else []
        said.append(f"test: {self.note('policy_test')}")
        said.append(self._corrected)
        said.append(f"interval: {self.note('policy_ci')}")
        return ", ".join(said)

    @property
    def _corrected(self) -> str:
        """How p values were corrected, and over how many of them."""
        how = self.note("policy_correction")
        if how == "none":
            return "p values not corrected"
        families = self.table.group_by("by", maintain_order=True).agg(pl.col("p_value").count())
        counts = [
            f"{count:,}" if by is None else f"by {by} {count:,}"
            for by, count in families.rows()  # allowed: one row a way of slicing
        ]
        return f"p values corrected ({how}{' over ' if counts else ''}{', '.join(counts)})"

    @property
    def legend(self) -> str:
        """What the star means; nothing where nothing is compared."""
        if self.table.is_empty():
            return ""
        level, fewest = self.note("policy_significant"), self.note("policy_fewest_queries")
        least = fewest.split(":")[0]
        few = self.table.filter(pl.col("queries") < int(least)).height
        return f"* {level}" + (f" of {least} queries or more" if few else "")

    @property
    def every_relevant(self) -> bool:
        """Whether all judged documents count as relevant, of several grades, and nobody said so."""
        return says_every_relevant(self.ledger)

    @property
    def warnings(self) -> list[str]:
        """What makes the numbers doubtful."""
        own = pl.col("system").is_null() & (pl.col("item") == WARNING)
        return self.ledger.filter(own)["note"].to_list()

    @property
    def header(self) -> tuple[str, ...]:
        """What stands above the cells of `lines`: the way of slicing by name, if there is one."""
        ways = self.systems["by"].drop_nulls().unique()
        return (HEADER[0], ways[0], *HEADER[2:]) if len(ways) == 1 else HEADER

    def lines(self) -> Iterator[tuple[tuple[str, ...], bool]]:
        """What people read: cells under `header`, and whether the difference is significant.

        Each system by itself where all are compared with a baseline; else a row for each pair.
        """
        before = None
        for row in self.table.to_dicts():
            of = (row["metric"], row["by"], row["slice"])
            if of != before and self.baseline is not None:
                first = {**row, "value": row["baseline_value"], "judged": row["judged_baseline"]}
                yield (*self._of(first), row["baseline"], self._number(first),
                       "", "", "", "", "", "", share_text(first["judged"])), False  # fmt: skip
            repeat = of == before or self.baseline is not None
            yield self._line(row, repeat=repeat), bool(row["significant"])
            before = of

    def _line(self, row: dict, *, repeat: bool) -> tuple[str, ...]:
        name = row["system"] if self.baseline is not None else (
            f"{row['system']} − {row['baseline']}"
        )  # fmt: skip
        metric = self.metric(row["metric"])
        return (
            *(("", "") if repeat else self._of(row)),
            name,
            self._number(row),
            signed_text(row["difference"], metric),
            percent_text(row["relative"]),
            "" if row["ci_low"] is None else (
                f"{signed_text(row['ci_low'], metric)} to {signed_text(row['ci_high'], metric)}"
            ),
            p_text(row["p_corrected"]) + ("*" if row["significant"] else ""),
            "" if self.note("policy_correction") == "none" else p_text(row["p_value"]),
            outcomes_text(row),
            share_text(row["judged"]),
        )  # fmt: skip

    def _of(self, row: dict) -> tuple[str, str]:
        if row["by"] is None:
            return row["metric"], "all" if self.sliced else ""
        small = " (few)" if row["small"] else ""
        way = "" if self.header[1] == row["by"] else f"{row['by']}: "
        return row["metric"], f"{way}{row['slice']}{small}"

    def _number(self, row: dict) -> str:
        return number_text(row["value"], self.metric(row["metric"]))

    def __repr__(self) -> str:
        rows = [self.header, *(cells for cells, _ in self.lines())]
        widths = [max(len(row[at]) for row in rows) for at in range(len(HEADER))]
        shown = [at for at in range(len(HEADER)) if any(row[at] for row in rows[1:])]
        lines = [
            "  " + "  ".join(
                f"{row[at]:<{widths[at]}}" if at < 3 else f"{row[at]:>{widths[at]}}" for at in shown
            ).rstrip()
            for row in rows
        ]  # fmt: skip
        warned = [f"  Warning: {warning}" for warning in self.warnings]
        legend = [f"  {self.legend}"] if self.legend else []
        return "\n".join(["rankframe comparison", *lines, *warned, *legend, f"  {self.caveat}"])

    def _repr_html_(self) -> str:
        said = ". ".join(filter(None, (self.legend, self.caveat)))
        lines = [cells for cells, _ in self.lines()]
        return lines_as_html(self.header, lines, list(self._marks()), self.warnings, said)

    def _marks(self) -> Iterator[tuple[bool, bool | None]]:
        """Of each of the `lines`: whether its value is the best, and whether it is better (True) or
        worse (False) beyond chance.
        """
        values: dict[tuple[str, ...], list[float | None]] = {}
        for row in self.systems.to_dicts():
            values.setdefault((row["metric"], row["by"], row["slice"]), []).append(row["value"])
        before = None
        for row in self.table.to_dicts():
            metric, of = self.metric(row["metric"]), (row["metric"], row["by"], row["slice"])
            best = best_of(metric, values[of])
            if of != before and self.baseline is not None:
                yield best is not None and row["baseline_value"] == best, None
            better = (row["difference"] or 0) > 0
            good = better == metric.higher_is_better if row["significant"] else None
            yield best is not None and row["value"] == best, good
            before = of
