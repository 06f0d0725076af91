"""The sections of a report: what changed query by query, tables, definitions and provenance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from rankframe.analysis.comparison import HOLE_COLUMNS, WARNING, Comparison
from rankframe.analysis.diff import BETTER, DELTA, TEXT, WEIGHTED, Diff
from rankframe.core.columns import QUERY, WEIGHT
from rankframe.core.messages import number_of
from rankframe.core.table import Cell, Table
from rankframe.core.wording import count_text, number_text, share_text
from rankframe.engine.ledger import FINGERPRINT, POLICY
from rankframe.engine.result import SMALL
from rankframe.metrics.names import Metric, signature
from rankframe.present.report import html, model
from rankframe.present.report.drawings import svg
from rankframe.present.report.model import Material, Moved, of_all_queries, of_slices
from rankframe.stats.bootstrap import hash_ids

_DIGITS = 12  # of a digest
_EVERY = 1_000  # rows of a table that is short
_NUMBERS = ("value", "diff", "%", "interval", "p", "raw p", "effect size", "W/T/L", "queries",
            "judged")  # fmt: skip
MOST_QUERIES = 500
_MOST_KNOWN = 6  # attributes of a query
# Labels of a document's rank in the other list, and of one that is not there.
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
    box = html.search_box("movers", "Find a query or document", "details.mover")
    return html.section("changes", "What got worse, and what better", remark, box, *parts)


def sample(material: Material) -> str:
    """Render a table of queries: all, or a sample that is always the same."""
    found, label = material.found, material.first.label
    queries, chosen = model.queries_of(found), material.queries
    chosen = sampled(queries, MOST_QUERIES) if chosen is None else chosen
    in_sample = queries.is_in(chosen.implode())
    columns = [
        map(html.number, frame[label].filter(in_sample)) for frame in found.per_query.values()
    ]
    words = {"query": chosen.to_list()}
    if material.texts:
        words["text"] = [material.texts.get(query, "") for query in chosen]
    remark = f"{label} of every query."
    if len(queries) > len(chosen):
        remark = f"{label} of a sample: {len(chosen):,} of {len(queries):,} queries."
    rows = zip(*words.values(), *columns, strict=True)
    table = html.table(
        "sample", Table.from_texts(list(words), found.names, rows), search="Find a query"
    )
    return html.section("queries", "Queries", html.note(remark), table)


def sampled(queries: pl.Series, limit: int) -> pl.Series:
    """Sample queries by their hashes, in their order; a smaller sample is part of a larger one."""
    if len(queries) <= limit:
        return queries
    kept = pl.DataFrame({"hash": hash_ids(queries)}).with_row_index("at")
    return queries.gather(kept.bottom_k(limit, by="hash").sort("at")["at"])


def _of_system(moved: Moved, base: str, name: str, weight: str | None) -> list[str]:
    """Render what got worse, and folded below what got better."""
    by = "" if weight is None else f" by change × {weight}"
    worse, better = (
        [_mover(row, change, base, name, weight) for row in change.movers.to_dicts()]
        for change in (moved.worse, moved.better)
    )
    remark = f"The {len(worse)} that got worst{by}:" if worse else "No query got worse."
    gained = f"The {len(better)} that gained most{html.text(by)}"
    return [
        html.note(remark),
        *worse,
        *([html.fold(gained, *better, kind="gained")] if better else []),
    ]


def _counted(change: Diff) -> str:
    summary = change.summary.to_dicts()[0]
    remark = (
        f"{number_of(summary['losses'], 'query')} worse, {summary['ties']:,} the same, "
        f"{summary['wins']:,} better"
    )
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
    shown = "".join(f'<span class="chip">{html.text(chip, most=60)}</span>' for chip in chips)
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
    remark = html.note(f"{found.legend}. {found.caveat}.")
    pairs = html.table("pairs", _pairs(found, whole).without("slice"))
    return html.section("comparison", f"Against {found.baseline}", pairs, remark)


def slices(found: Comparison, drawings: Mapping[str, Any]) -> str:
    """Render every comparison by slice; for a single system, its values."""
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
    remark = html.note(f"{found.legend}. {found.caveat}.")
    return html.section("slices", "Slices", picture, rows, remark)


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
            html.number(row["value"], number_text(row["value"], found.metric(row["metric"]))),
            *(html.number(row[side]) for side in ("ci_low", "ci_high")),
            html.number(row["queries"], f"{row['queries']:,}"),
        ]
        for row in of_slices(found.systems).to_dicts()
    ]
    return Table.from_texts(["metric", "slice"], ["value", "from", "to", "queries"], rows)


def unjudged(material: Material) -> str:
    """Render how much was judged, and what depends on it."""
    found = material.found
    rows = [
        [
            row["metric"],
            row["system"],
            html.number(row["judged"], share_text(row["judged"])),
            *(html.number(row[name]) for name in ("value", *HOLE_COLUMNS)),
        ]
        for row in of_all_queries(material.bounded.systems).to_dicts()
    ]
    numbers = ["judged", "value", *(name.replace("_", " ") for name in HOLE_COLUMNS)]
    over = "Over each system's own queries"
    if material.sampled:
        bounded, total = (len(model.queries_of(each)) for each in (material.bounded, found))
        over = f"All of this is of a sample of {bounded:,} of {total:,} queries"
    remark = html.note(
        "Metrics take unjudged documents for non-relevant. Judged: judged@k, k being "
        "the metric's own or else 10. Bounds: the least and the largest value that the metric "
        "could have, whatever the grades of the unjudged documents in its cutoff; – where that "
        "is not known. The last two columns are scenarios, not bounds: none of these documents "
        f"relevant, or all. {over}."
    )
    table = Table.from_texts(["metric", "system"], numbers, rows)
    return html.section("unjudged", "Unjudged documents", remark, html.table("bounds", table))


def data_summary(found: Comparison) -> str:
    """Render the ledger, a column per system; counts that are 0 everywhere are folded away."""
    is_policy = pl.col("item").str.starts_with(POLICY)
    counts = found.ledger.filter(~is_policy, ~pl.col("item").is_in([WARNING, FINGERPRINT]))
    entries = {(row["system"], row["item"]): row for row in counts.to_dicts()}
    something, nothing = [], []
    for row in counts.unique("item", maintain_order=True).to_dicts():
        own = [entries.get((system, row["item"])) for system in (None, *found.names)]
        meaning = "" if row["value"] is None else row["note"]
        counted = any(entry is not None and entry["value"] != 0 for entry in own)
        cells = [row["item"].replace("_", " "), *map(_entry, own), meaning]
        (something if counted else nothing).append(cells)

    def ledger(name: str, rows: list[list[str | Cell]], page: int) -> str:
        columns = ("all", *found.names)
        table = Table.from_texts(["counted"], columns, rows, more_words=["meaning"])
        return html.table(name, table, page=page)

    summary = f"{len(nothing)} counts that are 0 everywhere"
    zeros = html.fold(summary, ledger("ledger-zeros", nothing, 20), kind="plain") if nothing else ""
    return html.section("data", "Data summary", ledger("ledger", something, _EVERY), zeros)


def _entry(row: Mapping[str, Any] | None) -> Cell:
    """Return an entry of the ledger; its note where it has no number."""
    if row is None:
        return Cell("")
    if row["value"] is None:
        return Cell(row["note"])
    return html.number(row["value"], count_text(row["value"]))


def definitions(found: Comparison) -> str:
    """Render how each metric is defined."""
    return html.section("metrics", "How metrics are defined", *map(_definition, found.metrics))


def _definition(metric: Metric) -> str:
    definition = metric.definition
    direction = "Higher is better." if metric.higher_is_better else "Lower is better."
    label = f"<code>{html.text(metric.label)}</code>"
    if definition is None:
        return html.fold(label, html.note(f"{_own(metric)} {direction}"))
    return html.fold(
        f"{label}: {html.text(definition.summary, most=400)}",
        f"<dl><dt>formula</dt><dd><code>{html.text(definition.formula, most=400)}</code></dd>"
        f"<dt>written</dt><dd><code>{html.text(signature(definition))}</code></dd>"
        f"<dt>average</dt><dd>{html.text(metric.average)}</dd>"
        f"<dt>direction</dt><dd>{direction}</dd></dl>"
        f"<p>{html.text(' '.join(definition.notes.split()), most=2_000)}</p>",
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
        f"How far the averages of {metric.gap.metric.label} over slices by {metric.gap.by} are "
        f"apart: {apart}. Slices of fewer than {SMALL} queries are left out."
    )


def provenance(material: Material) -> str:
    """Render what the page was made from: inputs, when and how, and the policies in force."""
    found, origin = material.found, material.provenance
    rows = [
        [
            source.role,
            source.name,
            "" if source.rows is None else html.number(source.rows, f"{source.rows:,}"),
            "" if source.size is None else html.number(source.size, _bytes(source.size)),
            (source.digest or "")[:_DIGITS],
        ]
        for source in origin.inputs
    ]
    inputs = Table.from_texts(["what", "name"], ["rows", "size"], rows, more_words=["SHA-256"])
    policies = found.ledger.filter(pl.col("item").str.starts_with(POLICY))
    policies = policies.unique(["item", "note"], maintain_order=True)
    in_force = [
        (item.removeprefix(POLICY).replace("_", " "), value)
        for item, value in policies.select("item", "note").rows()  # allowed: a few policies
    ]
    facts = {"made": origin.date, "with": f"rankframe {origin.version}"}
    facts |= {} if origin.command is None else {"command": origin.command}
    if (judgments := model.fingerprint_of_qrels(found)) is not None:
        facts["judgments, whatever their order"] = judgments
    facts |= {f"values of {name}": mark for name, mark in (origin.values or {}).items()}
    remark = html.note(
        "SHA-256: of the file, its first digits. The same values have the same fingerprint, "
        "wherever they were read from."
    )
    force = html.fold("Policies", f"<dl>{_listed(in_force)}</dl>", kind="plain")
    listed = f"<dl>{_listed(facts.items())}</dl>"
    return html.section(
        "provenance", "Provenance", listed, html.table("inputs", inputs), remark, force
    )


def _listed(facts: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"<dt>{html.text(name)}</dt><dd>{html.text(value, most=2_000)}</dd>"
        for name, value in facts
    )


def _bytes(size: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
