"""The sections of a report that are made of numbers, as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from rankframe.base.wording import (
    best_of,
    count_text,
    number_text,
    p_text,
    percent_text,
    share_text,
    signed_text,
)
from rankframe.decisions.comparison import HOLE_COLUMNS, Comparison
from rankframe.evaluation.ledger import POLICY
from rankframe.metrics.names import signature
from rankframe.reporting.drawings import svg
from rankframe.reporting.page import (
    Cell,
    escaped,
    figure,
    fold,
    note,
    number,
    section,
    table,
    text,
    warnings,
    words,
)


def headline(found: Comparison) -> str:
    """Metrics down, systems across: values, intervals, and what differs from the baseline."""
    whole = found.systems.filter(pl.col("by").is_null())
    rows = []
    for metric in found.metrics:
        here = {
            row["system"]: row for row in whole.filter(pl.col("metric") == metric.label).to_dicts()
        }
        best = best_of(metric, [row["value"] for row in here.values()])
        different = found.table.filter(
            pl.col("metric") == metric.label, pl.col("by").is_null(), pl.col("significant")
        )["system"].to_list()
        cells = [words(metric.label)]
        for name in found.names:
            row = here[name]
            mark = "<sup>†</sup>" if name in different else ""
            shown = number_text(row["value"], metric)
            style = ' class="best"' if row["value"] is not None and row["value"] == best else ""
            bounds = ""
            if row["ci_low"] is not None:
                low, high = (number_text(row[side], metric) for side in ("ci_low", "ci_high"))
                bounds = f'<br><span class="ci">{low} to {high}</span>'
            cells.append(Cell(f"<span{style}>{shown}{mark}</span>{bounds}", row["value"]))
        queries = max(row["queries"] for row in here.values())
        cells.append(number(queries, f"{queries:,}"))
        rows.append(cells)
    return section(
        "summary",
        "Summary",
        table("headline", ["metric", *found.names, "queries"], rows),
        warnings(found.warnings),
        note(
            (
                f"The best in bold. † differs from {found.baseline} "
                f"({found.note('policy_significant')}, {found.note('policy_correction')}; test: "
                f"{found.note('policy_test')}). "
                if found.table.height
                else ""
            )
            + f"Small: interval, {found.note('policy_ci')}."
        ),
    )


def details(found: Comparison) -> str:
    """Every comparison with the baseline, of all queries."""
    whole = found.table.filter(pl.col("by").is_null())
    return section(
        "comparison",
        f"Against {found.baseline}",
        _pairs("pairs", found, whole),
        warnings(found.warnings),
        note(f"{found.legend}. {found.caveat}."),
    )


def slices(found: Comparison, drawings: Mapping[str, Any]) -> str:
    """The same for every slice."""
    sliced = found.table.filter(pl.col("by").is_not_null())
    drawn = drawings.get("slices")
    label = found.metrics[0].label
    picture = (
        "" if drawn is None else figure(svg(drawn, "slices"), f"{label} by slice, with intervals")
    )
    rows = (
        _pairs("slice-pairs", found, sliced, search="Find a slice")
        if sliced.height
        else _alone("slice-values", found)
    )
    said = note(f"{found.legend}. {found.caveat}.") if sliced.height else ""
    return section("slices", "Slices", picture, rows, said)


def holes(found: Comparison) -> str:
    """How much was judged, and what depends on it."""
    rows = [
        [
            words(row["metric"]),
            words(row["system"]),
            number(row["judged"], share_text(row["judged"])),
            *(number(row[name]) for name in ("value", *HOLE_COLUMNS)),
        ]
        for row in found.systems.filter(pl.col("by").is_null()).to_dicts()
    ]
    header = ["metric", "system", "judged", "value"]
    header += [name.replace("_", " ") for name in HOLE_COLUMNS]
    return section(
        "holes",
        "Unjudged documents",
        note(
            "Metrics take unjudged documents for non-relevant. Judged: judged@k, k being "
            "the metric's own or else 10. Bounds: the least and the largest value that the metric "
            "could have, whatever the grades of the unjudged documents in its cutoff; – where that "
            "is not known. The last two columns are scenarios, not bounds: none of these documents "
            "relevant, or all. Over each system's own queries."
        ),
        table("bounds", header, rows),
    )


def counted(found: Comparison) -> str:
    """The ledger: what was counted, and the policies in force."""
    ledger = found.ledger
    is_policy = pl.col("item").str.starts_with(POLICY)
    rows = [
        [
            words(row["system"] or "all"),
            words(row["item"].replace("_", " ")),
            number(row["value"], count_text(row["value"])),
            words(row["note"]),
        ]
        for row in ledger.filter(~is_policy).to_dicts()
    ]
    policies = ledger.filter(is_policy).unique(["item", "note"], maintain_order=True)
    listed = "".join(
        f"<dt>{text(item.removeprefix(POLICY).replace('_', ' '))}</dt><dd>{text(said)}</dd>"
        for item, said in policies.select("item", "note").iter_rows()  # allowed: a few policies
    )
    return section(
        "counted",
        "What was counted",
        table("ledger", ["system", "counted", "value", "meaning"], rows, search="Find a count"),
        f"<h3>Policies</h3><dl>{listed}</dl>",
    )


def definitions(found: Comparison) -> str:
    """How each metric is defined."""
    parts = []
    for metric in found.metrics:
        definition = metric.definition
        direction = "Higher is better." if metric.higher_is_better else "Lower is better."
        if definition is None:
            said = note(f"An expression of yours. {direction}")
            parts.append(fold(f"<code>{text(metric.label)}</code>", said))
            continue
        parts.append(
            fold(
                f"<code>{text(metric.label)}</code>: {text(definition.summary, most=400)}",
                f"<dl><dt>formula</dt><dd><code>{text(definition.formula, most=400)}</code></dd>"
                f"<dt>written</dt><dd><code>{text(signature(definition))}</code></dd>"
                f"<dt>average</dt><dd>{text(metric.average)}</dd>"
                f"<dt>direction</dt><dd>{direction}</dd></dl>"
                f"<p>{text(' '.join(definition.notes.split()), most=2_000)}</p>",
            )
        )
    return section("metrics", "How metrics are defined", *parts)


def _pairs(name: str, found: Comparison, rows: pl.DataFrame, search: str | None = None) -> str:
    sliced = search is not None
    cells = []
    for row in rows.to_dicts():
        metric = found.metric(row["metric"])
        good = (row["difference"] or 0) * (1 if metric.higher_is_better else -1)
        style = "" if not row["significant"] else "up" if good > 0 else "down"
        few = ' <span class="few">few</span>' if row["small"] else ""
        of = [Cell(f"{text(row['by'])}: {text(row['slice'])}{few}", is_text=True)] if sliced else []
        low, high = row["ci_low"], row["ci_high"]
        between = (
            "" if low is None else f"{signed_text(low, metric)} to {signed_text(high, metric)}"
        )
        star = "*" if row["significant"] else ""
        cells.append(
            [
                words(row["metric"]),
                *of,
                words(row["system"]),
                number(row["value"], number_text(row["value"], metric)),
                number(row["difference"], signed_text(row["difference"], metric), style=style),
                number(row["relative"], percent_text(row["relative"])),
                Cell(escaped(between), low),
                number(row["p_corrected"], p_text(row["p_corrected"]) + star),
                number(row["p_value"], p_text(row["p_value"])),
                number(row["effect_size"], _short(row["effect_size"])),
                number(row["wins"], f"{row['wins']:,} / {row['ties']:,} / {row['losses']:,}"),
                number(row["queries"], f"{row['queries']:,}"),
                number(row["judged"], share_text(row["judged"])),
            ]
        )
    header = [
        "metric", *(["slice"] if sliced else []), "system", "value", "difference", "%", "interval",
        "p", "raw p", "effect size", "W / T / L", "queries", "judged",
    ]  # fmt: skip
    return table(name, header, cells, search=search)


def _alone(name: str, found: Comparison) -> str:
    """The slices of a system that is compared with none."""
    cells = [
        [
            words(row["metric"]),
            words(f"{row['by']}: {row['slice']}{' (few)' if row['small'] else ''}"),
            number(row["value"], number_text(row["value"], found.metric(row["metric"]))),
            *(number(row[side]) for side in ("ci_low", "ci_high")),
            number(row["queries"], f"{row['queries']:,}"),
        ]
        for row in found.systems.filter(pl.col("by").is_not_null()).to_dicts()
    ]
    header = ["metric", "slice", "value", "from", "to", "queries"]
    return table(name, header, cells, search="Find a slice")


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"
