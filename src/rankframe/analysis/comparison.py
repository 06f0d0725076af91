"""Define `Comparison`, the result of comparing systems, with its display, files and markup."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, permutations
from pathlib import Path
from string import ascii_lowercase
from typing import Any, ClassVar, cast

import polars as pl

from rankframe.analysis.systems import Lack
from rankframe.core.caveats import Caveat, caveats_of
from rankframe.core.messages import number_of
from rankframe.core.options import StorageSettings, check_choice, takes_options
from rankframe.core.table import (
    Cell,
    Column,
    Note,
    Part,
    Table,
    Tone,
    as_html,
    as_latex,
    as_markdown,
    as_text,
    warning_notes,
)
from rankframe.core.vocabulary import Vocabulary
from rankframe.core.wording import (
    best_of,
    number_text,
    outcomes_text,
    p_text,
    percent_text,
    range_text,
    share_text,
    signed_text,
)
from rankframe.engine.result import Exported, about_frame
from rankframe.io.output_paths import place
from rankframe.io.outputs import fresh_folder, write_parquet
from rankframe.metrics.names import Metric

_TEXT, _NUMBER, _COUNT = pl.String, pl.Float64, pl.Int64
PAIR_SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("metric", "by", "slice", "baseline", "system"), _TEXT),
    **dict.fromkeys(("baseline_value", "value", "difference", "relative"), _NUMBER),
    **dict.fromkeys(("ci_low", "ci_high", "p_value", "p_corrected"), _NUMBER),
    "significant": pl.Boolean,
    "effect_size": _NUMBER,
    **dict.fromkeys(("wins", "ties", "losses", "queries", "undefined"), _COUNT),
    **dict.fromkeys(("judged_baseline", "judged"), _NUMBER),
    "small": pl.Boolean,
}
SYSTEM_SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("metric", "by", "slice", "system"), _TEXT),
    **dict.fromkeys(("value", "ci_low", "ci_high"), _NUMBER),
    "queries": _COUNT,
    "judged": _NUMBER,
    "small": pl.Boolean,
}
# Further columns of `systems`, with `bounds`.
HOLE_COLUMNS = ("lower_bound", "upper_bound", "if_none_relevant", "if_all_relevant")
LEDGER_SCHEMA: dict[str, type[pl.DataType]] = {
    "system": _TEXT, "item": _TEXT, "value": _NUMBER, "note": _TEXT,
}  # fmt: skip
COMPARISON_FILES = ("table.parquet", "systems.parquet", "ledger.parquet")

_PAIR_TITLES = ("diff", "%", "interval", "p", "raw p", "W/T/L", "judged")


class Outcome(Exported):
    """Define what results of analyses have in common: a ledger, caveats, and writing to files."""

    # the files that `write` writes, one per frame
    FILES: ClassVar[tuple[str, ...]]

    ledger: pl.DataFrame

    @takes_options()
    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        storage_options: StorageSettings | None = None,  # noqa: ARG002 (by `takes_options`)
    ) -> Path:
        """Write the frames as Parquet into a folder: all of them, or nothing."""
        with fresh_folder(folder, self.FILES, overwrite=overwrite) as fresh:
            for file in self.FILES:
                name = file.removesuffix(".parquet")
                write_parquet(getattr(self, name), fresh / file, self._about(name))
        return cast("Path", place(folder))  # as of a result

    def _about(self, frame: str) -> dict[str, Any]:
        """Return the metadata of the Parquet file that holds the frame called `frame`."""
        raise NotImplementedError

    def _entries(self, item: str) -> pl.DataFrame:
        """Return the rows of the ledger about an item, without rows about a single system."""
        rows = self.ledger.filter(pl.lit(isinstance(item, str)) & (pl.col("item") == str(item)))
        return rows.filter(pl.col("system").is_null()) if "system" in rows.columns else rows

    def count(self, item: str) -> float | None:
        """Return the value of an item of the ledger; None if the ledger lacks it."""
        values = self._entries(item)["value"]
        return values[0] if len(values) else None

    def note(self, item: str) -> str:
        """Return the note of an item of the ledger; "" if the ledger lacks it."""
        notes = self._entries(item)["note"]
        return notes[0] if len(notes) else ""

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the words for queries and documents, from the names of the judgments' columns."""
        return Vocabulary.from_ledger(self.ledger)

    @property
    def caveats(self) -> list[Caveat]:
        """Return the caveats, each with code, value and text: facts that can mislead a reader."""
        return caveats_of(self.ledger)


@dataclass(frozen=True)
class Comparison(Outcome):
    """Hold the outcome of a comparison.

    table: a row for each metric, slice and pair of systems: both values, their difference (absolute
        and relative) with its interval, p values, effect size (Cohen's d of the differences), the
        numbers of queries that the system wins, ties and loses, that were compared, and in which
        the metric is undefined, and judged@k of both systems (k is the metric's cutoff, or 10).
        `by` and `slice` are null in rows about all queries.
    systems: a row for each metric, slice and system: its value with its interval; with `bounds`,
        also lower_bound and upper_bound (null if unknown), and the values of two scenarios,
        if_none_relevant and if_all_relevant.
    ledger: system (null for the comparison as a whole), item, value, note.
    per_query: the values that were compared: a frame for each system, by name.

    `to_arrow()` and `to_pandas()` return the table, or another of these frames by its name. For
    per_query, they return one frame of all systems, with a column `system` in front.
    """

    FRAMES = ("table", "systems", "per_query", "ledger")
    FILES = COMPARISON_FILES

    table: pl.DataFrame
    systems: pl.DataFrame
    ledger: pl.DataFrame
    metrics: tuple[Metric, ...]
    names: tuple[str, ...]
    # by system: query_id and a column per metric; all have the same queries in the same order
    per_query: Mapping[str, pl.DataFrame]
    baseline: str | None = None
    # judged queries that runs lack
    lacks: Sequence[Lack] = ()
    # by system: the names of its inputs, where they are known
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def _about(self, frame: str) -> dict[str, Any]:
        labels = [metric.label for metric in self.metrics]
        ledgers = {name: self.ledger.filter(system=name) for name in self.names}
        # Facts about all runs are repeated for each run; stored values may have none.
        whole = self.ledger.filter(pl.col("system").is_null())
        about = about_frame(frame, labels, pl.concat([ledgers[self.names[0]], whole]), {})
        inputs = {
            name: about_frame(frame, (), ledgers[name], named)["inputs"]
            for name, named in self.inputs.items()
        }
        return about | {"baseline": self.baseline, "inputs": inputs}

    def _frame(self, name: str) -> pl.DataFrame:
        if name != "per_query":
            return super()._frame(name)
        return pl.concat(
            frame.select(pl.lit(system).alias("system"), pl.all())
            for system, frame in self.per_query.items()
        )

    @takes_options()
    def to_markdown(self, *, details: bool = False) -> str:
        """Write a Markdown table of systems and metrics: best values bold, significance marked.

        `details`: instead a row for each metric and system with its difference, interval and p
        values, what is significant in bold; for a comment on a pull request.
        """
        if details:
            return as_markdown(self.parts())
        return as_markdown([self._matrix(), Note(self._caption)])

    def to_latex(self) -> str:
        """Write the comparison as a LaTeX table for booktabs."""
        matrix = self._matrix()
        return as_latex(matrix.split() if self.sliced else [matrix], self._caption)

    def parts(self) -> list[Part]:
        """Return the tables and notes to display: pairs of systems, warnings, and notes."""
        notes = [Note(text) for text in (self.legend, self.overview) if text]
        return [self._pairs(), *self._condensed(), *warning_notes(self.caveats), *notes]

    def _condensed(self) -> list[Part]:
        """Return tables of condensed values and bounds, if judged shares differ too much."""
        if "condensed_value" not in self.systems.columns:
            return []
        changes = self.table.filter(pl.col("by").is_null())
        columns = ("difference", "condensed_difference")
        by_pair = {
            (row["metric"], row["system"]): [row[name] for name in columns]
            for row in (changes.to_dicts() if self.baseline is not None else ())
        }
        rows = []
        for row in self.systems.filter(pl.col("by").is_null()).to_dicts():
            metric = self.metric(row["metric"])
            change, condensed = by_pair.get((row["metric"], row["system"]), (None, None))
            rows.append(
                [
                    row["metric"],
                    row["system"],
                    share_text(row["judged"]),
                    number_text(row["value"], metric),
                    "" if change is None else signed_text(change, metric),
                    number_text(row["condensed_value"], metric),
                    "" if condensed is None else signed_text(condensed, metric),
                    range_text(row["lower_bound"], row["upper_bound"], metric),
                ]
            )
        numbers = ["judged", "value", "diff", "judged only", "its diff", "bounds"]
        title = "Over judged documents alone, and whatever the unjudged ones are (bounds)"
        title = self.vocabulary.render(title)
        return [Table.from_texts(["metric", "system"], numbers, rows, title)]

    @property
    def _caption(self) -> str:
        marks = "letters name the systems that it differs from"
        if self.baseline is not None:
            marks = f"† differs from {self.baseline}"
        warned = "".join(f" {caveat}." for caveat in self.caveats)
        return (
            f"Best in bold; {marks} ({self.note('policy_significant')}; test: "
            f"{self.note('policy_test')}; correction: {self.note('policy_correction')}).{warned}"
        )

    def _matrix(self) -> Table:
        """Return a table with a row per system and a column per metric, in a group per slice."""
        names = sorted(self.names, key=lambda name: name != self.baseline)
        pairs = self.baseline is None
        letters = dict(zip(names, ascii_lowercase, strict=False)) if pairs else {}
        marks: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for row in self.table.filter("significant").to_dicts():
            for name, other in permutations((row["system"], row["baseline"])):
                mark = letters.get(other, "") if pairs else "†"
                marks[row["by"], row["slice"], row["metric"], name].append(mark)
        groups: dict[tuple[str, str], dict[str, list[Cell]]] = {}
        every = self.vocabulary.render("all queries")
        for key, rows in self._values().items():
            by, slice_, label = key
            metric = self.metric(label)
            best = best_of(metric, [row["value"] for row in rows.values()])
            few = " (few)" if any(row["small"] for row in rows.values()) else ""
            heading = every if by is None else f"{by}: {slice_}{few}"
            group = groups.setdefault((by, slice_), {})
            for name in names:
                letter = f"({letters[name]}) " if name in letters else ""
                line = group.setdefault(name, [Cell(heading), Cell(f"{letter}{name}")])
                value = rows[name]["value"]
                cell = Cell("–") if value is None else _value_cell(value, metric, best)
                marked = "" if name == self.baseline else "".join(sorted(marks[*key, name]))
                line.append(replace(cell, mark=marked))
        columns = [Column("slice", numeric=False), Column("system", numeric=False),
                   *(Column(metric.label) for metric in self.metrics)]  # fmt: skip
        table = Table(columns, [list(group.values()) for group in groups.values()])
        return table if self.sliced else table.without("slice")

    def _values(self) -> dict[tuple[str, str, str], dict[str, dict[str, Any]]]:
        """Return the rows of `systems` by attribute, slice and metric, then by system."""
        values: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
        for row in self.systems.to_dicts():
            values[row["by"], row["slice"], row["metric"]][row["system"]] = row
        return values

    def metric(self, label: str) -> Metric:
        """Return the compared metric with the label `label`."""
        labels = [metric.label for metric in self.metrics]
        check_choice("label", label, labels)
        return self.metrics[labels.index(label)]

    @property
    def sliced(self) -> bool:
        """Return whether the comparison has values of slices."""
        return self.systems["by"].null_count() < self.systems.height

    @property
    def overview(self) -> str:
        """Return the most important counts of the ledger in one line."""
        parts = [f"{number_of(self.count('queries_compared') or 0, 'query')} compared"]
        if unpaired := self.count("queries_unpaired"):
            parts.append(f"{unpaired:,.0f} {self.note('queries_unpaired')}")
        parts += map(str, self.lacks)
        parts += [f"test: {self.note('policy_test')}", self._corrected]
        parts.append(f"interval: {self.note('policy_ci')}")
        return self.vocabulary.render(", ".join(parts))

    @property
    def _corrected(self) -> str:
        """Describe how p values were corrected, and over how many of them."""
        how = self.note("policy_correction")
        if how == "none":
            return "p values not corrected"
        if how.startswith("over pairs"):
            return f"p values corrected {how}"
        families = self.table.group_by("by", maintain_order=True).agg(pl.col("p_value").count())
        counts = [
            f"{count:,}" if by is None else f"by {by} {count:,}"
            for by, count in families.rows()  # allowed: one row a way of slicing
        ]
        return f"p values corrected ({how}{' over ' if counts else ''}{', '.join(counts)})"

    @property
    def legend(self) -> str:
        """Return the line that explains the star; "" if no systems are compared."""
        if self.table.is_empty():
            return ""
        level, fewest = self.note("policy_significant"), self.note("policy_fewest_queries")
        minimum = fewest.split(":")[0]
        few = self.table.filter(pl.col("queries") < int(minimum)).height
        more = self.vocabulary.render(f" of {minimum} queries or more")
        return f"* {level}{more if few else ''}"

    def _pairs(self) -> Table:
        """Return a table with a row per system, or per pair of systems without a baseline."""
        ways = self.systems["by"].drop_nulls().unique()
        by = ways[0] if len(ways) == 1 else "slice"
        titles = ["metric", by, "system", "value", *_PAIR_TITLES]
        values = self._values()
        groups = [
            self._group(list(rows), values[by_, slice_, label], by)
            for (label, by_, slice_), rows in groupby(
                self.table.to_dicts(), lambda row: (row["metric"], row["by"], row["slice"])
            )
        ]
        columns = [Column(title, numeric=index > 2) for index, title in enumerate(titles)]
        return Table(columns, groups, dispensable=("W/T/L", "raw p", "judged", "%", "interval"))

    def _group(
        self, pairs: list[dict[str, Any]], systems: Mapping[str, Mapping[str, Any]], by: str
    ) -> list[list[Cell]]:
        """Return the display rows of one metric and slice; the baseline, if any, comes first."""
        first, metric = pairs[0], self.metric(pairs[0]["metric"])
        best = best_of(metric, [row["value"] for row in systems.values()])
        rows: list[list[Cell]] = []
        if self.baseline is not None:
            value = _value_cell(first["baseline_value"], metric, best)
            judged = Cell(share_text(first["judged_baseline"]))
            rows = [[Cell(self.baseline), value, *([Cell("")] * 6), judged]]
        for row in pairs:
            cells, name = self.pair_cells(row), row["system"]
            name = name if self.baseline is not None else f"{name} − {row['baseline']}"
            value = _value_cell(row["value"], metric, best)
            rows.append([Cell(name), value, *(cells[title] for title in _PAIR_TITLES)])
        slice_ = "all" if self.sliced else ""
        if first["by"] is not None:
            way = "" if by == first["by"] else f"{first['by']}: "
            slice_ = f"{way}{first['slice']}{' (few)' if first['small'] else ''}"
        heads = [[Cell(first["metric"]), Cell(slice_)], *([[Cell(""), Cell("")]] * len(pairs))]
        return [head + row for head, row in zip(heads, rows, strict=False)]

    def pair_cells(self, row: Mapping[str, Any]) -> dict[str, Cell]:
        """Return the cells of a row of `table`, by the titles of their columns."""
        metric, raw = self.metric(row["metric"]), self.note("policy_correction") != "none"
        better = ((row["difference"] or 0) > 0) == metric.higher_is_better
        tone: Tone = "" if not row["significant"] else "good" if better else "bad"
        star = "*" if row["significant"] else ""
        effect = row["effect_size"]
        texts = {
            "value": (number_text(row["value"], metric), row["value"]),
            "diff": (signed_text(row["difference"], metric), row["difference"]),
            "%": (percent_text(row["relative"]), row["relative"]),
            "interval": (range_text(row["ci_low"], row["ci_high"], metric, signed=True),
                         row["ci_low"]),
            "p": (p_text(row["p_corrected"]) + star, row["p_corrected"]),
            "raw p": (p_text(row["p_value"]) if raw else "", row["p_value"]),
            "effect size": ("–" if effect is None else f"{effect:+.2f}", effect),
            "W/T/L": (outcomes_text(row), row["wins"]),
            "queries": (f"{row['queries']:,}", row["queries"]),
            "judged": (share_text(row["judged"]), row["judged"]),
        }  # fmt: skip
        toned: dict[str, Tone] = {"diff": tone, "%": tone}
        return {
            name: Cell(text, value=value, tone=toned.get(name, ""))
            for name, (text, value) in texts.items()
        }

    def __repr__(self) -> str:
        return as_text("rankframe comparison", self.parts())

    def _repr_html_(self) -> str:
        return as_html(self.parts())


def _value_cell(value: float | None, metric: Metric, best: float | None) -> Cell:
    """Return the cell of a value, bold if it is the best."""
    return Cell(number_text(value, metric), bold=value is not None and value == best)
