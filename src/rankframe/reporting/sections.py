"""The sections of a report, as HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from rankframe.base.columns import QUERY
from rankframe.base.wording import (
    best_of,
    count_text,
    number_text,
    p_text,
    percent_text,
    share_text,
    signed_text,
)
from rankframe.decisions.change import Diff
from rankframe.decisions.comparison import Comparison
from rankframe.evaluation.ledger import POLICY
from rankframe.metrics.names import signature
from rankframe.plot.canvas import GREY
from rankframe.reporting.page import (
    Cell,
    figure,
    fold,
    note,
    number,
    search_box,
    section,
    table,
    text,
    words,
)
from rankframe.stats.resample import hash_ids

if TYPE_CHECKING:
    from rankframe.reporting.report import Material

_MOST_QUERIES = 500
_INNER = re.compile(r'id="([^"]+)"')
# What is said of a document's rank in the other list, and where it has none there.
_WHERE = {"rank_b": ("now {}", "gone"), "rank_a": ("was {}", "new")}


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
    return section("comparison", f"Against {found.baseline}", _pairs("pairs", found, whole))


def slices(found: Comparison, drawings: Mapping[str, Any]) -> str:
    """The same for every slice."""
    sliced = found.table.filter(pl.col("by").is_not_null())
    drawn = drawings.get("slices")
    label = found.metrics[0].label
    picture = (
        "" if drawn is None else figure(_svg(drawn, "slices"), f"{label} by slice, with intervals")
    )
    rows = (
        _pairs("slice-pairs", found, sliced, search="Find a slice")
        if sliced.height
        else _alone("slice-values", found)
    )
    return section("slices", "Slices", picture, rows)


def charts(drawings: Mapping[str, Any]) -> str:
    """The drawings, but for those that stand elsewhere."""
    shown = [
        figure(_svg(drawn, f"chart{at}"), what)
        for at, (what, drawn) in enumerate(drawings.items())
        if what != "slices"
    ]
    return section("charts", "Charts", f'<div class="charts">{"".join(shown)}</div>')


def changes(material: Material) -> str:
    """The queries that moved most, with their lists side by side."""
    parts = []
    for name, change in material.moved.items():
        summary = change.summary.to_dicts()[0]
        parts.append(f"<h3>{text(name)} against {text(material.found.baseline)}</h3>")
        parts.append(
            note(
                f"{summary['metric']}: {summary['wins']:,} queries better, {summary['ties']:,} the "
                f"same, {summary['losses']:,} worse. The {change.movers.height} that moved most:"
            )
        )
        parts += [
            _mover(row, change, str(material.found.baseline), name, material.texts)
            for row in change.movers.to_dicts()
        ]
    box = search_box("movers", "Find a query or document", "details.mover")
    return section("changes", "What moved most", box, *parts)


def sample(material: Material) -> str:
    """Queries one by one: all, or a sample that is always the same."""
    found, first = material.found, material.first
    frames = list(found.per_query.values())
    queries = frames[0][QUERY]
    kept = pl.DataFrame({QUERY: queries, "_hash": hash_ids(queries)}).with_row_index("at")
    kept = kept.sort("_hash").head(_MOST_QUERIES).sort("at")["at"]
    ids = queries.gather(kept).to_list()
    columns = [frame[first.label].gather(kept).to_list() for frame in frames]
    described = bool(material.texts)
    rows = []
    for place, query in enumerate(ids):
        values = [column[place] for column in columns]
        more = [words(material.texts.get(query, ""))] if described else []
        rows.append([words(query), *more, *(number(value) for value in values)])
    said = f"{first.label} of every query."
    if len(queries) > _MOST_QUERIES:
        said = f"{first.label} of a sample: {len(ids):,} of {len(queries):,} queries."
    header = ["query", *(["text"] if described else []), *found.names]
    return section(
        "queries", "Queries", note(said), table("sample", header, rows, search="Find a query")
    )


def holes(found: Comparison) -> str:
    """How much was judged, and what depends on it."""
    rows = [
        [
            words(row["metric"]),
            words(row["system"]),
            number(row["judged"], share_text(row["judged"])),
            *(number(row[name]) for name in ("value", "if_nonrelevant", "if_relevant")),
        ]
        for row in found.systems.filter(pl.col("by").is_null()).to_dicts()
    ]
    header = ["metric", "system", "judged", "value", "if non-relevant", "if relevant"]
    return section(
        "holes",
        "Unjudged documents",
        note(
            "Metrics take unjudged documents for non-relevant. Judged: the share of the top k that "
            "was. The last two columns: what the metric would be if every unjudged document in its "
            "cutoff had been judged so, over each system's own queries."
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
        if definition is None:
            parts.append(
                fold(f"<code>{text(metric.label)}</code>", note("An expression of yours."))
            )
            continue
        direction = "Higher is better." if definition.higher_is_better else "Lower is better."
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
                Cell(escape(between), low),
                number(row["p_corrected"], p_text(row["p_corrected"]) + star),
                number(row["effect_size"], _short(row["effect_size"])),
                number(row["wins"], f"{row['wins']:,} / {row['ties']:,} / {row['losses']:,}"),
                number(row["queries"], f"{row['queries']:,}"),
                number(row["judged"], share_text(row["judged"])),
            ]
        )
    header = [
        "metric", *(["slice"] if sliced else []), "system", "value", "difference", "%", "interval",
        "p", "effect size", "W / T / L", "queries", "judged",
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


def _mover(
    row: Mapping[str, Any], change: Diff, base: str, name: str, texts: Mapping[str, str]
) -> str:
    query = row[QUERY]
    documents = change.documents.filter(pl.col(QUERY) == query).to_dicts()
    top: Any = change.documents["relevance"].max() or 0
    lists = "".join(
        _ranking(title, [d for d in documents if d[rank] is not None and d[rank] <= change.k],
                 rank, other, top)
        for title, rank, other in ((base, "rank_a", "rank_b"), (name, "rank_b", "rank_a"))
    )  # fmt: skip
    style = {"b": "up", "a": "down"}.get(row["better"], "")
    said = f" <i>{text(texts[query])}</i>" if query in texts else ""
    summary = (
        f"<b>{text(query)}</b>{said} {row['a']:.4f} → {row['b']:.4f} "
        f'<span class="{style}">{row["delta"]:+.4f}</span>'
    )
    return fold(summary, f'<div class="lists">{lists}</div>', kind="mover")


def _ranking(
    title: str, documents: Sequence[Mapping[str, Any]], rank: str, other: str, top: float
) -> str:
    """One system's list of a query: rank, grade, document, and its rank in the other list."""
    items = []
    for document in sorted(documents, key=lambda d: d[rank]):
        grade = document["relevance"]
        level = "none" if grade is None else f"g{_level(grade, top)}"
        shown = "?" if grade is None else f"{grade:g}"
        hint = "not judged" if grade is None else f"grade {shown}"
        there = document[other]
        where = _WHERE[other][there is None].format(there)
        items.append(
            f'<li><span class="rank">{document[rank]}</span>'
            f'<span class="grade {level}" title="{hint}">{shown}</span>'
            f'<span class="doc">{text(document["doc_id"])}</span>'
            f'<span class="move">{where}</span></li>'
        )
    return f"<div><h4>{text(title)}</h4><ol>{''.join(items)}</ol></div>"


def _level(grade: float, top: float) -> int:
    """A shade for a grade: 0 for non-relevant, up to 3 for the highest one."""
    if grade <= 0 or top <= 0:
        return 0
    return max(1, round(3 * grade / top))


def _svg(chart: Any, name: str) -> str:
    """A chart as a drawing in the page, whose greys follow the colours of the page."""
    import vl_convert  # noqa: PLC0415 (an optional part)

    spec = chart.to_dict()
    spec["config"]["background"] = "transparent"
    drawn = vl_convert.vegalite_to_svg(spec).replace(GREY, "currentColor")
    # Names inside a drawing count on, from drawing to drawing: on one page each needs its own.
    for at, inner in enumerate(dict.fromkeys(_INNER.findall(drawn))):
        drawn = re.sub(rf'(id="|url\(#){re.escape(inner)}(?=["\)])', rf"\1{name}-{at}", drawn)
    return drawn


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"
