"""The sections of a report that are made of numbers, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from rankframe.analysis.comparison import HOLE_COLUMNS, WARNING, Comparison
from rankframe.core.wording import (
    count_text,
    number_text,
    outcomes_text,
    p_text,
    percent_text,
    share_text,
    signed_text,
)
from rankframe.engine.ledger import FINGERPRINT, POLICY
from rankframe.engine.summary import SMALL
from rankframe.metrics.names import Metric, signature
from rankframe.present.report.drawings import svg
from rankframe.present.report.model import Material
from rankframe.present.report.page import (
    Cell,
    escaped,
    figure,
    fold,
    note,
    number,
    section,
    table,
    text,
    words,
)
from rankframe.present.report.provenance import fingerprint_of_qrels

_DIGITS = 12  # of a digest
_EVERY = 1_000  # rows of a table that is short


def details(found: Comparison) -> str:
    """Every comparison with the baseline, of all queries."""
    whole = found.table.filter(pl.col("by").is_null())
    return section(
        "comparison",
        f"Against {found.baseline}",
        _pairs("pairs", found, whole),
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


def holes(material: Material) -> str:
    """How much was judged, and what depends on it."""
    found = material.found
    rows = [
        [
            words(row["metric"]),
            words(row["system"]),
            number(row["judged"], share_text(row["judged"])),
            *(number(row[name]) for name in ("value", *HOLE_COLUMNS)),
        ]
        for row in material.bounded.systems.filter(pl.col("by").is_null()).to_dicts()
    ]
    header = ["metric", "system", "judged", "value"]
    header += [name.replace("_", " ") for name in HOLE_COLUMNS]
    over = "Over each system's own queries"
    if material.sampled:
        some, every = (next(iter(of.per_query.values())).height for of in (material.bounded, found))
        over = f"All of this is of a sample of {some:,} of {every:,} queries"
    return section(
        "holes",
        "Unjudged documents",
        note(
            "Metrics take unjudged documents for non-relevant. Judged: judged@k, k being "
            "the metric's own or else 10. Bounds: the least and the largest value that the metric "
            "could have, whatever the grades of the unjudged documents in its cutoff; – where that "
            "is not known. The last two columns are scenarios, not bounds: none of these documents "
            f"relevant, or all. {over}."
        ),
        table("bounds", header, rows),
    )


def counted(found: Comparison) -> str:
    """The ledger: what was counted, a column a system; what is 0 everywhere is folded away."""
    ledger = found.ledger
    is_policy = pl.col("item").str.starts_with(POLICY)
    counts = ledger.filter(~is_policy, ~pl.col("item").is_in([WARNING, FINGERPRINT]))
    meaning = pl.when(pl.col("value").is_not_null()).then("note").otherwise(pl.lit(""))
    items = (
        counts.unique("item", maintain_order=True)
        .select("item", meaning)
        .rows()  # allowed: items of a ledger
    )  # allowed: a ledger
    values = {(row["system"], row["item"]): row for row in counts.to_dicts()}
    columns = [None, *found.names]
    rows = [
        (
            any(values[one, item]["value"] != 0 for one in columns if (one, item) in values),
            [
                words(item.replace("_", " ")),
                *(_entry(values.get((one, item))) for one in columns),
                words(said),
            ],
        )
        for item, said in items
    ]
    header = ["counted", "all", *found.names, "meaning"]
    something = [row for there, row in rows if there]
    nothing = [row for there, row in rows if not there]
    zeros = fold(
        f"{len(nothing)} counts that are 0 everywhere", table("ledger-zeros", header, nothing),
        kind="plain",
    )  # fmt: skip
    return section(
        "counted",
        "What was counted",
        table("ledger", header, something, page=_EVERY),
        zeros if nothing else "",
    )


def _entry(row: Mapping[str, Any] | None) -> Cell:
    """An entry of the ledger; what has no number is said in words."""
    if row is None:
        return Cell("")
    if row["value"] is None:
        return words(row["note"])
    return number(row["value"], count_text(row["value"]))


def definitions(found: Comparison) -> str:
    """How each metric is defined."""
    parts = []
    for metric in found.metrics:
        definition = metric.definition
        direction = "Higher is better." if metric.higher_is_better else "Lower is better."
        if definition is None:
            said = note(f"{_own(metric)} {direction}")
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


def _own(metric: Metric) -> str:
    """What a metric is that no family defines."""
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
                Cell(escaped(between), low, csv=between),
                number(row["p_corrected"], p_text(row["p_corrected"]) + star),
                number(row["p_value"], p_text(row["p_value"])),
                number(row["effect_size"], _short(row["effect_size"])),
                _outcomes(row),
                number(row["queries"], f"{row['queries']:,}"),
                number(row["judged"], share_text(row["judged"])),
            ]
        )
    header = [
        "metric", *(["slice"] if sliced else []), "system", "value", "difference", "%", "interval",
        "p", "raw p", "effect size", "W/T/L", "queries", "judged",
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


def _outcomes(row: Mapping[str, Any]) -> Cell:
    """In how many queries it is better, the same, and worse."""
    said = outcomes_text(row)
    return Cell(escaped(said), float(row["wins"] or 0), csv=said)


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"


def origin(material: Material) -> str:
    """Of what the page was made: inputs, when and how, and the policies in force."""
    found, made = material.found, material.made
    rows = [
        [
            words(one.role),
            words(one.name),
            Cell("") if one.rows is None else number(one.rows, f"{one.rows:,}"),
            Cell("") if one.size is None else number(one.size, _bytes(one.size)),
            words("" if one.digest is None else one.digest[:_DIGITS]),
        ]
        for one in made.inputs
    ]
    policies = found.ledger.filter(pl.col("item").str.starts_with(POLICY))
    policies = policies.unique(["item", "note"], maintain_order=True)
    in_force = [
        (item.removeprefix(POLICY).replace("_", " "), one)
        for item, one in policies.select("item", "note").rows()  # allowed: a few policies
    ]
    said = {"made": made.date, "with": f"rankframe {made.version}"}
    said |= {} if made.command is None else {"command": made.command}
    if (judgments := fingerprint_of_qrels(found)) is not None:
        said["judgments, whatever their order"] = judgments
    said |= {f"values of {name}": mark for name, mark in (made.values or {}).items()}
    listed = _listed(said.items())
    return section(
        "origin",
        "How this page was made",
        f"<dl>{listed}</dl>",
        table("inputs", ["what", "name", "rows", "size", "SHA-256"], rows),
        note(
            "SHA-256: of the file, its first digits. The same values have the same fingerprint, "
            "wherever they were read from."
        ),
        fold("Policies", f"<dl>{_listed(in_force)}</dl>", kind="plain"),
    )


def _listed(said: Iterable[tuple[str, str]]) -> str:
    return "".join(f"<dt>{text(name)}</dt><dd>{text(one, most=2_000)}</dd>" for name, one in said)


def _bytes(size: int) -> str:
    if size < 1_000:
        return f"{size} B"
    for unit, factor in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if size < 1_000 * factor or unit == "GB":
            return f"{size / factor:.1f} {unit}"
    raise AssertionError
