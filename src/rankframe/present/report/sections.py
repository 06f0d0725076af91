"""The sections of a report that are tables and definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from rankframe.analysis.comparison import HOLE_COLUMNS, WARNING, Comparison
from rankframe.core.table import Cell, Column, Table
from rankframe.core.wording import count_text, number_text, share_text
from rankframe.engine.ledger import FINGERPRINT, POLICY
from rankframe.engine.result import SMALL
from rankframe.metrics.names import Metric, signature
from rankframe.present.report.drawings import svg
from rankframe.present.report.model import Material
from rankframe.present.report.page import (
    figure,
    fold,
    note,
    number,
    render_table,
    section,
    text,
)
from rankframe.present.report.provenance import fingerprint_of_qrels

_DIGITS = 12  # of a digest
_EVERY = 1_000  # rows of a table that is short
_NUMBERS = ("value", "diff", "%", "interval", "p", "raw p", "effect size", "W/T/L", "queries",
            "judged")  # fmt: skip


def details(found: Comparison) -> str:
    """Render every comparison with the baseline, of all queries."""
    whole = found.table.filter(pl.col("by").is_null())
    remark = note(f"{found.legend}. {found.caveat}.")
    pairs = render_table("pairs", _pairs(found, whole).without("slice"))
    return section("comparison", f"Against {found.baseline}", pairs, remark)


def slices(found: Comparison, drawings: Mapping[str, Any]) -> str:
    """Render every comparison by slice; for a single system, its values."""
    label, drawn = found.metrics[0].label, drawings.get("slices")
    picture = (
        "" if drawn is None else figure(svg(drawn, "slices"), f"{label} by slice, with intervals")
    )
    sliced = found.table.filter(pl.col("by").is_not_null())
    if sliced.is_empty():
        rows = render_table("slice-values", _slice_values(found), search="Find a slice")
        return section("slices", "Slices", picture, rows)
    rows = render_table("slice-pairs", _pairs(found, sliced), search="Find a slice")
    remark = note(f"{found.legend}. {found.caveat}.")
    return section("slices", "Slices", picture, rows, remark)


def _pairs(found: Comparison, rows: pl.DataFrame) -> Table:
    lines = []
    for row in rows.to_dicts():
        cells = found.pair_cells(row)
        few = "few" if row["small"] else ""
        slice_ = Cell(f"{row['by']}: {row['slice']}", mark=few, tone="doubtful")
        lines.append([row["metric"], slice_, row["system"], *(cells[name] for name in _NUMBERS)])
    numbers = ["difference" if name == "diff" else name for name in _NUMBERS]
    return Table.from_texts(["metric", "slice", "system"], numbers, lines)


def _slice_values(found: Comparison) -> Table:
    """Return the slices of a system that is compared with none."""
    rows = [
        [
            row["metric"],
            f"{row['by']}: {row['slice']}{' (few)' if row['small'] else ''}",
            number(row["value"], number_text(row["value"], found.metric(row["metric"]))),
            *(number(row[side]) for side in ("ci_low", "ci_high")),
            number(row["queries"], f"{row['queries']:,}"),
        ]
        for row in found.systems.filter(pl.col("by").is_not_null()).to_dicts()
    ]
    return Table.from_texts(["metric", "slice"], ["value", "from", "to", "queries"], rows)


def unjudged(material: Material) -> str:
    """Render how much was judged, and what depends on it."""
    found = material.found
    rows = [
        [
            row["metric"],
            row["system"],
            number(row["judged"], share_text(row["judged"])),
            *(number(row[name]) for name in ("value", *HOLE_COLUMNS)),
        ]
        for row in material.bounded.systems.filter(pl.col("by").is_null()).to_dicts()
    ]
    numbers = ["judged", "value", *(name.replace("_", " ") for name in HOLE_COLUMNS)]
    over = "Over each system's own queries"
    if material.sampled:
        bounded, total = (
            next(iter(comparison.per_query.values())).height
            for comparison in (material.bounded, found)
        )
        over = f"All of this is of a sample of {bounded:,} of {total:,} queries"
    remark = note(
        "Metrics take unjudged documents for non-relevant. Judged: judged@k, k being "
        "the metric's own or else 10. Bounds: the least and the largest value that the metric "
        "could have, whatever the grades of the unjudged documents in its cutoff; – where that "
        "is not known. The last two columns are scenarios, not bounds: none of these documents "
        f"relevant, or all. {over}."
    )
    table = Table.from_texts(["metric", "system"], numbers, rows)
    return section("unjudged", "Unjudged documents", remark, render_table("bounds", table))


def data_summary(found: Comparison) -> str:
    """Render the ledger, a column per system; counts that are 0 everywhere are folded away."""
    is_policy = pl.col("item").str.starts_with(POLICY)
    counts = found.ledger.filter(~is_policy, ~pl.col("item").is_in([WARNING, FINGERPRINT]))
    entries = {(row["system"], row["item"]): row for row in counts.to_dicts()}
    systems = [None, *found.names]
    something, nothing = [], []
    for row in counts.unique("item", maintain_order=True).to_dicts():
        item = row["item"]
        own = [entries.get((system, item)) for system in systems]
        meaning = "" if row["value"] is None else row["note"]
        cells = [item.replace("_", " "), *map(_entry, own), meaning]
        there = any(entry is not None and entry["value"] != 0 for entry in own)
        (something if there else nothing).append(cells)
    columns = [Column("counted", numeric=False), *map(Column, ("all", *found.names)),
               Column("meaning", numeric=False)]  # fmt: skip

    def ledger(name: str, rows: list[list[str | Cell]], page: int) -> str:
        groups = Table.from_texts([], [], rows).groups
        return render_table(name, Table(columns, groups), page=page)

    zeros = fold(
        f"{len(nothing)} counts that are 0 everywhere", ledger("ledger-zeros", nothing, 20),
        kind="plain",
    )  # fmt: skip
    return section(
        "data", "Data summary", ledger("ledger", something, _EVERY), zeros if nothing else ""
    )


def _entry(row: Mapping[str, Any] | None) -> Cell:
    """Return an entry of the ledger; its note where it has no number."""
    if row is None:
        return Cell("")
    if row["value"] is None:
        return Cell(row["note"])
    return number(row["value"], count_text(row["value"]))


def definitions(found: Comparison) -> str:
    """Render how each metric is defined."""
    return section("metrics", "How metrics are defined", *map(_definition, found.metrics))


def _definition(metric: Metric) -> str:
    definition = metric.definition
    direction = "Higher is better." if metric.higher_is_better else "Lower is better."
    label = f"<code>{text(metric.label)}</code>"
    if definition is None:
        return fold(label, note(f"{_own(metric)} {direction}"))
    return fold(
        f"{label}: {text(definition.summary, most=400)}",
        f"<dl><dt>formula</dt><dd><code>{text(definition.formula, most=400)}</code></dd>"
        f"<dt>written</dt><dd><code>{text(signature(definition))}</code></dd>"
        f"<dt>average</dt><dd>{text(metric.average)}</dd>"
        f"<dt>direction</dt><dd>{direction}</dd></dl>"
        f"<p>{text(' '.join(definition.notes.split()), most=2_000)}</p>",
    )


def _own(metric: Metric) -> str:
    """Return what a metric is that no family defines."""
    if metric.gap is None:
        return "An expression of yours."
    apart = {
        "range": "the largest less the least",
        "mean": "the mean difference of two",
    }[metric.gap.kind]
    return (
        f"How far the averages of {metric.gap.of.label} over slices by {metric.gap.by} are apart: "
        f"{apart}. Slices of fewer than {SMALL} queries are left out."
    )


def provenance(material: Material) -> str:
    """Render what the page was made from: inputs, when and how, and the policies in force."""
    found, origin = material.found, material.provenance
    rows = [
        [
            source.role,
            source.name,
            Cell("") if source.rows is None else number(source.rows, f"{source.rows:,}"),
            Cell("") if source.size is None else number(source.size, _bytes(source.size)),
            Cell("" if source.digest is None else source.digest[:_DIGITS]),
        ]
        for source in origin.inputs
    ]
    columns = [Column("what", numeric=False), Column("name", numeric=False), Column("rows"),
               Column("size"), Column("SHA-256", numeric=False)]  # fmt: skip
    inputs = Table(columns, Table.from_texts([], [], rows).groups)
    policies = found.ledger.filter(pl.col("item").str.starts_with(POLICY))
    policies = policies.unique(["item", "note"], maintain_order=True)
    in_force = [
        (item.removeprefix(POLICY).replace("_", " "), value)
        for item, value in policies.select("item", "note").rows()  # allowed: a few policies
    ]
    facts = {"made": origin.date, "with": f"rankframe {origin.version}"}
    facts |= {} if origin.command is None else {"command": origin.command}
    if (judgments := fingerprint_of_qrels(found)) is not None:
        facts["judgments, whatever their order"] = judgments
    facts |= {f"values of {name}": mark for name, mark in (origin.values or {}).items()}
    remark = note(
        "SHA-256: of the file, its first digits. The same values have the same fingerprint, "
        "wherever they were read from."
    )
    force = fold("Policies", f"<dl>{_listed(in_force)}</dl>", kind="plain")
    listed = f"<dl>{_listed(facts.items())}</dl>"
    return section(
        "provenance", "Provenance", listed, render_table("inputs", inputs), remark, force
    )


def _listed(facts: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"<dt>{text(name)}</dt><dd>{text(value, most=2_000)}</dd>" for name, value in facts
    )


def _bytes(size: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
