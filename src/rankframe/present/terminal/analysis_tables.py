"""Render comparisons, verdicts, diffs, tunings and histories as terminal tables, JSON and CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from rankframe.analysis.comparison import Comparison
from rankframe.analysis.diff import Diff
from rankframe.analysis.tuning.outcome import Tuning
from rankframe.analysis.verdict import Verdict
from rankframe.core.messages import number_of
from rankframe.core.table import Cell, Note, Part, Table, Tone, warning_notes
from rankframe.core.wording import number_text, range_text, signed_text
from rankframe.engine.history import history_caveats
from rankframe.present import tables
from rankframe.present.terminal.render import (
    csv_text,
    frames_as_json,
    hide_columns,
    plain,
    render,
)

_MOVES: Final[dict[str, Tone]] = {
    "entered": "good", "left": "bad", "up": "good", "down": "bad", "same": "muted",
}  # fmt: skip


def comparison_table(comparison: Comparison, width: int) -> RenderableType:
    """Render a table for each metric, a row for each system (and slice).

    The best value is bold, a significant change coloured. Columns that do not fit are hidden.
    """
    pairs, *notes = comparison.parts()
    assert isinstance(pairs, Table)  # the first part is a table
    table, hidden = hide_columns(pairs, width, titles=1)
    return render([*table.split(), *_in_one(notes, hidden)])


def bounds_table(comparison: Comparison) -> RenderableType:
    """Render the bounds of each metric over all possible grades of unjudged documents."""
    word = comparison.vocabulary.render
    table = replace(tables.bounds_table(comparison), title=word("Unjudged documents"))
    note = f"{tables.BOUNDS_NOTE} Over the queries of each system."
    return render([table, Note(word(note))], loose=True)


def ledger_table(ledger: pl.DataFrame) -> RenderableType:
    """Render the counts and policies of the ledger."""
    in_force = ", ".join(f"{name}: {value}" for name, value in tables.policies_of(ledger).items())
    policies = [plain(f"policies: {in_force}")] if in_force else []
    return Group(render([tables.ledger_table(ledger)], loose=True), *policies)


def comparison_text(
    comparison: Comparison, style: Literal["json", "csv", "markdown", "latex"]
) -> str:
    """Return a comparison as text, for other programs or to paste into a document."""
    match style:
        case "markdown":
            return comparison.to_markdown(details=True)
        case "latex":
            return comparison.to_latex()
        case "csv":
            return csv_text(comparison.table)
        case "json":
            caveats = [caveat._asdict() for caveat in comparison.caveats]
            return frames_as_json(comparison, ("table", "systems", "ledger"), caveats=caveats)


def diff_tables(diff: Diff) -> RenderableType:
    """Render the queries that changed most, and the ranks of their documents in both runs."""
    summary = diff.summary.to_dicts()[0]
    a, b, word = *diff.names, diff.vocabulary.render
    head = plain(
        f"{summary['metric']}: {number_text(summary['mean_a'])} ({a}) → "
        f"{number_text(summary['mean_b'])} ({b}), {word(number_of(summary['queries'], 'query'))}: "
        f"{summary['wins']:,} better, {summary['ties']:,} the same, {summary['losses']:,} worse, "
        f"{summary['undefined']:,} undefined"
    )
    notes = [*map(word, map(str, diff.lacks)), *diff.condensed]
    small = [plain(text, "dim") for text in notes]
    warned = [render(warning_notes(diff.caveats))] if diff.caveats else []
    movers = [_mover_table(diff, mover) for mover in diff.movers.to_dicts()]
    moved = render(movers, loose=True) if movers else plain(word("No query moved."))
    return Group(head, Text(""), *small, *warned, moved)


def _mover_table(diff: Diff, mover: Mapping[str, Any]) -> Table:
    """Return the documents of a query with their ranks in both runs."""
    a, b = diff.names
    described = ""
    for name in diff.described:
        if (value := mover[name]) is not None:
            text = f"{value:g}" if isinstance(value, float) and name != "text" else value
            described += f"  {text}" if name == "text" else f"  {name} {text}"
    title = (
        f"{mover['query_id']}  {number_text(mover[a])} → {number_text(mover[b])}  "
        f"({mover['delta']:+.4f}){described}"
    )
    titled = ["title"] if "title" in diff.documents.columns else []
    rows = [
        [
            row["doc_id"],
            *(row[name] or "" for name in titled),
            "-" if row["relevance"] is None else f"{row['relevance']:g}",
            *("-" if row[rank] is None else str(row[rank]) for rank in diff.ranks),
            Cell(row["change"], tone=_MOVES[row["change"]]),
        ]
        for row in diff.documents.filter(pl.col("query_id") == mover["query_id"]).to_dicts()
    ]
    document = diff.vocabulary.render("document")
    return Table.from_texts([document, *titled], ["grade", a, b], rows, title, more_words=[""])


def diff_text(diff: Diff, *, style: Literal["json", "csv"]) -> str:
    """Return a diff as text: CSV has the movers, JSON also their documents."""
    if style == "csv":
        return csv_text(diff.movers)
    runs = dict(zip("ab", diff.names, strict=True))
    return frames_as_json(
        diff,
        ("summary", "movers", "documents"),
        runs=runs,
        caveats=[caveat._asdict() for caveat in diff.caveats],
    )


def verdict_table(verdict: Verdict) -> RenderableType:
    """Render all checks with reasons, and the verdict; with slices, a table for each rule."""
    rules = verdict.rule_tables()
    if not verdict.sliced:
        checks = verdict.table().without("why", "slice")
        rule, status, *rest = range(len(checks.columns))
        rules = [replace(checks, groups=[checks.rows]).take([status, rule, *rest])]
    return render([*rules, *verdict.reasons, *warning_notes(verdict.caveats), verdict.note])


def history_table(points: pl.DataFrame) -> RenderableType:
    """Render a table per metric: a row per result, with its change from the previous result."""
    parts: list[Part] = []
    for (metric,), frame in points.group_by("metric", maintain_order=True):
        changes = frame["value"].diff()
        rows = [
            [
                row["result"],
                "–" if row["date"] is None else f"{row['date']:%Y-%m-%d %H:%M}",
                number_text(row["value"]),
                "" if change is None else signed_text(change),
                range_text(row["ci_low"], row["ci_high"]),
                f"{row['queries']:,}",
            ]
            for row, change in zip(frame.to_dicts(), changes, strict=True)
        ]
        numbers = ["value", "change", "interval", "queries"]
        parts.append(Table.from_texts(["result", "written (UTC)"], numbers, rows, str(metric)))
    return render([*parts, *warning_notes(history_caveats(points))])


def tuning_table(tuning: Tuning, width: int, limit: int) -> RenderableType:
    """Render the best candidates, the runs, and the conclusion with its uncertainty.

    Candidates that do not differ significantly from the best are bold. Columns that do not fit are
    hidden.
    """
    table, hidden = hide_columns(tuning.table(limit), width)
    headline = replace(
        Note.from_headline(f"{tuning.headline}."), tone="good" if tuning.improved else ""
    )
    tests = [plain(f"Out of fold {test}.") for test in tuning.tests]
    more = tuning.candidates.height - limit
    notes = [
        Note("In bold: cannot be told apart from the best"),
        *map(Note, tuning.condensed),
        Note(tuning.overview),
    ]
    if more > 0:
        notes.append(Note(f"Not shown: {more:,} candidates (see --top, --format csv)"))
    return Group(
        render([table, headline]),
        *tests,
        render([*warning_notes(tuning.caveats), *_in_one(notes, hidden)]),
    )


def tuning_text(tuning: Tuning, style: Literal["json", "csv", "markdown"], limit: int) -> str:
    """Write a tuning for other programs, or to paste: CSV has all candidates, JSON all frames."""
    match style:
        case "markdown":
            return tuning.to_markdown(limit)
        case "csv":
            # A CSV cell cannot hold a list.
            weights = pl.col("weights").list.eval(pl.element().cast(pl.String)).list.join(" ")
            return csv_text(tuning.candidates.with_columns(weights))
        case "json":
            frames = ("candidates", "against", "folds", "runs", "ledger")
            return frames_as_json(
                tuning,
                frames,
                headline=tuning.headline,
                improved=tuning.improved,
                caveats=[caveat._asdict() for caveat in tuning.caveats],
            )


def _in_one(parts: Sequence[Part], hidden: Sequence[Note]) -> list[Part]:
    """Join the notes without a lead into one paragraph at the end."""
    apart = [part for part in parts if not isinstance(part, Note) or part.lead]
    small = [f"{part}." for part in parts if part not in apart]
    return [*apart, Note(" ".join([*small, *map(str, hidden)]))]
