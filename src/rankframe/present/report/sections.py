"""Render the sections of a report: changes by query, tables, definitions and provenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rankframe.analysis.comparison import Comparison
from rankframe.analysis.diff import BETTER, DELTA, TEXT, WEIGHTED, Diff
from rankframe.core.columns import QUERY, WEIGHT
from rankframe.core.messages import number_of
from rankframe.core.table import Cell, Table
from rankframe.core.wording import number_text
from rankframe.engine.ledger import FINGERPRINT
from rankframe.engine.result import SMALL
from rankframe.metrics.names import Metric, signature
from rankframe.present import tables
from rankframe.present.report import html, model
from rankframe.present.report.drawings import svg
from rankframe.present.report.model import Material, Moved, of_all_queries, of_slices
from rankframe.stats.bootstrap import hash_ids

_EVERY = 1_000  # page size for tables that are short
_NUMBERS = ("value", "diff", "%", "interval", "p", "raw p", "effect size", "W/T/L", "queries",
            "judged")  # fmt: skip
MOST_QUERIES = 500
_MOST_KNOWN = 6  # attributes of a query
# Labels of a document's rank in the other list, and of a document that is not in that list.
_WHERE = {"rank_b": ("now {}", "gone"), "rank_a": ("was {}", "new")}


def changes(material: Material) -> str:
    """Render the queries that lost most, with their lists side by side, then the gains."""
    base = str(material.found.baseline)
    parts = [
        html.fold(
            f"<b>{html.text(name)}</b> against {html.text(base)}: {_counted(moved.worse)}",
            *_of_system(moved, base, name, material.weight),
            kind="system",
            is_open=index == 0,
        )
        for index, (name, moved) in enumerate(material.moved.items())
    ]
    candidates = len(material.found.names) - 1
    few = f"Of {candidates} systems, the {len(parts)} with the best {material.first.label}."
    remark = html.note(few) if len(parts) < candidates else ""
    find = material.word("Find a query or document")
    box = html.search_box("movers", find, "details.mover")
    return html.section("changes", "What got worse, and what better", remark, box, *parts)


def sample(material: Material) -> str:
    """Render a table of queries: all queries, or a deterministic sample."""
    found, label = material.found, material.first.label
    queries = model.queries_of(found)
    chosen = sampled(queries, MOST_QUERIES)
    in_sample = queries.is_in(chosen.implode())
    columns = [
        map(tables.number_cell, frame[label].filter(in_sample))
        for frame in found.per_query.values()
    ]
    word = material.word
    words = {word("query"): chosen.to_list()}
    if material.texts:
        words["text"] = [material.texts.get(query, "") for query in chosen]
    remark = f"{label} of every query."
    if len(queries) > len(chosen):
        remark = f"{label} of a sample: {len(chosen):,} of {len(queries):,} queries."
    find = word("Find a query")
    rows = zip(*words.values(), *columns, strict=True)
    table = html.table("sample", Table.from_texts(list(words), found.names, rows), search=find)
    return html.section("queries", word("Queries"), html.note(word(remark)), table)


def sampled(queries: pl.Series, limit: int) -> pl.Series:
    """Sample queries by their hashes, in their order; a smaller sample is part of a larger one."""
    if len(queries) <= limit:
        return queries
    kept = pl.DataFrame({"hash": hash_ids(queries)}).with_row_index("at")
    return queries.gather(kept.bottom_k(limit, by="hash").sort("at")["at"])


def _of_system(moved: Moved, base: str, name: str, weight: str | None) -> list[str]:
    """Render the queries that got worse in a system and, folded below, those that got better."""
    by = "" if weight is None else f" by change × {weight}"
    worse, better = (
        [_mover(row, change, base, name, weight) for row in change.movers.to_dicts()]
        for change in (moved.worse, moved.better)
    )
    none = moved.worse.vocabulary.render("No query got worse.")
    remark = f"The {len(worse)} that got worst{by}:" if worse else none
    gained = f"The {len(better)} that gained most{html.text(by)}"
    return [
        html.note(remark),
        *worse,
        *([html.fold(gained, *better, kind="gained")] if better else []),
    ]


def _counted(change: Diff) -> str:
    summary = change.summary.to_dicts()[0]
    lost = change.vocabulary.render(number_of(summary["losses"], "query"))
    remark = f"{lost} worse, {summary['ties']:,} the same, {summary['wins']:,} better"
    if summary["undefined"]:
        remark += f", {summary['undefined']:,} undefined"
    return f"{remark} by {html.text(summary['metric'])}"


def _mover(row: Mapping[str, Any], change: Diff, base: str, name: str, weight: str | None) -> str:
    query = row[QUERY]
    documents = change.documents.filter(pl.col(QUERY) == query).to_dicts()
    top: Any = change.documents["relevance"].max() or 0
    lists = "".join(
        _ranking(title, [d for d in documents if d[rank] is not None and d[rank] <= change.k],
                 rank, other, top)
        for title, rank, other in ((base, "rank_a", "rank_b"), (name, "rank_b", "rank_a"))
    )  # fmt: skip
    style = {"b": "up", "a": "down"}.get(row[BETTER], "")
    remark = row.get(TEXT)
    summary = (
        f"<b>{html.text(query)}</b>{f' <i>{html.text(remark)}</i>' if remark else ''} "
        f"{row['a']:.4f} → {row['b']:.4f} "
        f'<span class="delta {style}">{row[DELTA]:+.4f}</span>{_known(row, change, weight)}'
    )
    return html.fold(summary, f'<div class="lists">{lists}</div>', kind="mover")


def _known(row: Mapping[str, Any], change: Diff, weight: str | None) -> str:
    """Render the weight and attributes of a query."""
    chips = []
    if WEIGHTED in row:
        chips.append(f"{weight} {row[WEIGHT]:g}, weighted {row[WEIGHTED]:+.4g}")
    names = [name for name in change.described if name not in (TEXT, WEIGHT)]
    chips += [f"{name}: {row[name]}" for name in names[:_MOST_KNOWN] if row[name] is not None]
    shown = "".join(f'<span class="chip">{html.text(chip, limit=60)}</span>' for chip in chips)
    return f'<br><span class="known">{shown}</span>' if shown else ""


def _ranking(
    title: str, documents: Sequence[Mapping[str, Any]], rank: str, other: str, top: float
) -> str:
    """Render one system's list of a query, with each document's rank in the other list."""
    items = []
    for document in sorted(documents, key=lambda d: d[rank]):
        grade = document["relevance"]
        level = "none" if grade is None else f"g{_level(grade, top)}"
        shown = "?" if grade is None else f"{grade:g}"
        hint = "not judged" if grade is None else f"grade {shown}"
        there = document[other]
        where = _WHERE[other][there is None].format(there)
        called = html.text(document["doc_id"])
        if document.get("title"):
            called = f'{html.text(document["title"])} <span class="id">{called}</span>'
        items.append(
            f'<li><span class="rank">{document[rank]}</span>'
            f'<span class="grade {level}" title="{hint}">{shown}</span>'
            f'<span class="doc">{called}</span>'
            f'<span class="move">{where}</span></li>'
        )
    return f"<div><h4>{html.text(title)}</h4><ol>{''.join(items)}</ol></div>"


def _level(grade: float, top: float) -> int:
    """Return the shade of a grade: 0 for non-relevant, up to 3 for the highest one."""
    if grade <= 0 or top <= 0:
        return 0
    return max(1, round(3 * grade / top))


def details(found: Comparison) -> str:
    """Render every comparison with the baseline, of all queries."""
    whole = of_all_queries(found.table)
    remark = html.note(f"{found.legend}. {found.overview}.")
    pairs = html.table("pairs", _pairs(found, whole).without("slice"))
    return html.section("comparison", f"Against {found.baseline}", pairs, remark)


def slices(found: Comparison, drawings: Mapping[str, Any]) -> str:
    """Render the section on slices: every comparison or, for a single system, its values."""
    label, drawn = found.metrics[0].label, drawings.get("slices")
    picture = (
        ""
        if drawn is None
        else html.figure(svg(drawn, "slices"), f"{label} by slice, with intervals")
    )
    sliced = of_slices(found.table)
    if sliced.is_empty():
        rows = html.table("slice-values", _slice_values(found), search="Find a slice")
        return html.section("slices", "Slices", picture, rows)
    rows = html.table("slice-pairs", _pairs(found, sliced), search="Find a slice")
    remark = html.note(f"{found.legend}. {found.overview}.")
    return html.section("slices", "Slices", picture, rows, remark)


def _pairs(found: Comparison, rows: pl.DataFrame) -> Table:
    lines = []
    for row in rows.to_dicts():
        cells = found.pair_cells(row)
        few = "few" if row["small"] else ""
        slice_ = Cell(f"{row['by']}: {row['slice']}", mark=few, tone="doubtful")
        lines.append([row["metric"], slice_, row["system"], *(cells[name] for name in _NUMBERS)])
    titles = {"diff": "difference", "queries": found.vocabulary.render("queries")}
    numbers = [titles.get(name, name) for name in _NUMBERS]
    return Table.from_texts(["metric", "slice", "system"], numbers, lines)


def _slice_values(found: Comparison) -> Table:
    """Return the table of slices of a single system, without a comparison."""
    rows = [
        [
            row["metric"],
            f"{row['by']}: {row['slice']}{' (few)' if row['small'] else ''}",
            tables.number_cell(
                row["value"], number_text(row["value"], found.metric(row["metric"]))
            ),
            *(tables.number_cell(row[side]) for side in ("ci_low", "ci_high")),
            tables.number_cell(row["queries"], f"{row['queries']:,}"),
        ]
        for row in of_slices(found.systems).to_dicts()
    ]
    numbers = ["value", "from", "to", found.vocabulary.render("queries")]
    return Table.from_texts(["metric", "slice"], numbers, rows)


def unjudged(material: Material) -> str:
    """Render the bounds of metrics over all possible grades of unjudged documents."""
    over = "Over the queries of each system"
    if material.sampled:
        found = (material.bounded, material.found)
        bounded, total = (len(model.queries_of(each)) for each in found)
        over = f"All of this is of a sample of {bounded:,} of {total:,} queries"
    remark = html.note(material.word(f"{tables.BOUNDS_NOTE} {over}."))
    table = html.table("bounds", tables.bounds_table(material.bounded))
    return html.section("unjudged", material.word("Unjudged documents"), remark, table)


def data_summary(found: Comparison) -> str:
    """Render the ledger, a column per system; counts that are 0 everywhere are folded away."""
    whole = tables.ledger_table(found.ledger.filter(pl.col("item") != FINGERPRINT))
    something, nothing = [], []
    for row in whole.rows:
        counted = any(cell.text not in ("", "0") for cell in row[1:-1])
        (something if counted else nothing).append(row)
    parts = [html.table("ledger", replace(whole, groups=[something]), page=_EVERY)]
    if nothing:
        zeros = html.table("ledger-zeros", replace(whole, groups=[nothing]))
        summary = f"{len(nothing)} counts that are 0 everywhere"
        parts.append(html.fold(summary, zeros, kind="plain"))
    return html.section("data", "Data summary", *parts)


def definitions(found: Comparison) -> str:
    """Render how each metric is defined."""
    render = found.vocabulary.render
    defined = [_definition(metric, render) for metric in found.metrics]
    return html.section("metrics", "How metrics are defined", *defined)


def _definition(metric: Metric, word: Callable[[str], str]) -> str:
    definition = metric.definition
    direction = "Higher is better." if metric.higher_is_better else "Lower is better."
    label = f"<code>{html.text(metric.label)}</code>"
    if definition is None:
        return html.fold(label, html.note(word(f"{_own(metric)} {direction}")))
    facts = {
        "formula": definition.formula,
        "written": signature(definition),
        "average": metric.average,
        "direction": direction,
    }
    return html.fold(
        f"{label}: {html.text(word(definition.summary), limit=400)}",
        _listed(facts),
        f"<p>{html.text(word(' '.join(definition.notes.split())), limit=2_000)}</p>",
    )


def _own(metric: Metric) -> str:
    """Return the definition of a user's own metric, which is in no family."""
    if metric.gap is None:
        return "An expression of yours."
    apart = {
        "range": "the largest less the least",
        "mean": "the mean difference of two",
    }[metric.gap.kind]
    return (
        f"How far the averages of {metric.gap.metric.label} over slices by {metric.gap.by} are "
        f"apart: {apart}. Slices of fewer than {SMALL} queries are left out."
    )


def provenance(material: Material) -> str:
    """Render the provenance of the page: inputs, date, command and policies."""
    remark = html.note(
        "SHA-256: the first digits of that of the file. The same values have the same fingerprint, "
        "wherever they were read from."
    )
    policies = _listed(tables.policies_of(material.found.ledger))
    return html.section(
        "provenance",
        "Provenance",
        _listed(material.facts),
        html.table("inputs", material.inputs),
        remark,
        html.fold("Policies", policies, kind="plain"),
    )


def _listed(facts: Mapping[str, str]) -> str:
    """Render facts as a list of name and value."""
    items = [
        f"<dt>{html.text(name.replace('_', ' '))}</dt><dd>{html.text(fact, limit=2_000)}</dd>"
        for name, fact in facts.items()
    ]
    return f"<dl>{''.join(items)}</dl>"
