"""The sections of a report that go query by query: what got worse and better, and a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rankframe.analysis.diff import BETTER, DELTA, TEXT, WEIGHTED, Diff
from rankframe.core.columns import QUERY, WEIGHT
from rankframe.core.messages import number_of
from rankframe.core.table import Table
from rankframe.present.report.model import Material, Moved
from rankframe.present.report.page import (
    fold,
    note,
    number,
    render_table,
    search_box,
    section,
    text,
)
from rankframe.stats.bootstrap import hash_ids

MOST_QUERIES = 500
_MOST_KNOWN = 6  # attributes of a query
# Labels of a document's rank in the other list, and of one that is not there.
_WHERE = {"rank_b": ("now {}", "gone"), "rank_a": ("was {}", "new")}


def changes(material: Material) -> str:
    """Render the queries that lost most, with their lists side by side, then the gains."""
    base = str(material.found.baseline)
    parts = [
        fold(
            f"<b>{text(name)}</b> against {text(base)}: {_counted(moved.worse)}",
            *_of_system(moved, base, name, material.weight),
            kind="system",
            is_open=index == 0,
        )
        for index, (name, moved) in enumerate(material.moved.items())
    ]
    candidates = len(material.found.names) - 1
    few = f"Of {candidates} systems, the {len(parts)} with the best {material.first.label}."
    remark = note(few) if len(parts) < candidates else ""
    box = search_box("movers", "Find a query or document", "details.mover")
    return section("changes", "What got worse, and what better", remark, box, *parts)


def sample(material: Material) -> str:
    """Render a table of queries: all, or a sample that is always the same."""
    found, first = material.found, material.first
    frames = list(found.per_query.values())
    total, label = frames[0].height, first.label
    chosen = material.queries
    chosen = sampled(frames[0][QUERY], MOST_QUERIES) if chosen is None else chosen
    ids = chosen.to_list()
    if len(ids) < total:
        in_sample = frames[0].select(pl.col(QUERY).is_in(chosen.implode())).to_series()
        frames = [frame.filter(in_sample) for frame in frames]
    columns = [frame[label].to_list() for frame in frames]
    described = bool(material.texts)
    rows = []
    for place, query in enumerate(ids):
        values = [column[place] for column in columns]
        more = [material.texts.get(query, "")] if described else []
        rows.append([query, *more, *map(number, values)])
    remark = f"{first.label} of every query."
    if total > len(ids):
        remark = f"{first.label} of a sample: {len(ids):,} of {total:,} queries."
    words = ["query", *(["text"] if described else [])]
    table = Table.from_texts(words, found.names, rows)
    shown = render_table("sample", table, search="Find a query")
    return section("queries", "Queries", note(remark), shown)


def sampled(queries: pl.Series, limit: int) -> pl.Series:
    """Sample queries by their hashes, in their order; a smaller sample is part of a larger one."""
    if len(queries) <= limit:
        return queries
    kept = pl.DataFrame({"hash": hash_ids(queries)}).with_row_index("at")
    return queries.gather(kept.bottom_k(limit, by="hash").sort("at")["at"])


def _of_system(moved: Moved, base: str, name: str, weight: str | None) -> list[str]:
    """Render what got worse, and folded below what got better."""
    by = "" if weight is None else f" by change × {weight}"
    worse, better = moved.worse, moved.better
    parts = [note("No query got worse.")]
    if worse.movers.height:
        parts = [
            note(f"The {worse.movers.height} that got worst{by}:"),
            *(_mover(row, worse, base, name, weight) for row in worse.movers.to_dicts()),
        ]
    if better.movers.height:
        rows = [_mover(row, better, base, name, weight) for row in better.movers.to_dicts()]
        parts.append(fold(f"The {len(rows)} that gained most{text(by)}", *rows, kind="gained"))
    return parts


def _counted(change: Diff) -> str:
    summary = change.summary.to_dicts()[0]
    remark = (
        f"{number_of(summary['losses'], 'query')} worse, {summary['ties']:,} the same, "
        f"{summary['wins']:,} better"
    )
    if summary["undefined"]:
        remark += f", {summary['undefined']:,} undefined"
    return f"{remark} by {text(summary['metric'])}"


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
        f"<b>{text(query)}</b>{f' <i>{text(remark)}</i>' if remark else ''} "
        f"{row['a']:.4f} → {row['b']:.4f} "
        f'<span class="delta {style}">{row[DELTA]:+.4f}</span>{_known(row, change, weight)}'
    )
    return fold(summary, f'<div class="lists">{lists}</div>', kind="mover")


def _known(row: Mapping[str, Any], change: Diff, weight: str | None) -> str:
    """Render the weight and attributes of a query."""
    chips = []
    if WEIGHTED in row:
        chips.append(f"{weight} {row[WEIGHT]:g}, weighted {row[WEIGHTED]:+.4g}")
    names = [name for name in change.described if name not in (TEXT, WEIGHT)]
    chips += [f"{name}: {row[name]}" for name in names[:_MOST_KNOWN] if row[name] is not None]
    shown = "".join(f'<span class="chip">{text(chip, most=60)}</span>' for chip in chips)
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
        called = text(document["doc_id"])
        if document.get("title"):
            called = f'{text(document["title"])} <span class="id">{called}</span>'
        items.append(
            f'<li><span class="rank">{document[rank]}</span>'
            f'<span class="grade {level}" title="{hint}">{shown}</span>'
            f'<span class="doc">{called}</span>'
            f'<span class="move">{where}</span></li>'
        )
    return f"<div><h4>{text(title)}</h4><ol>{''.join(items)}</ol></div>"


def _level(grade: float, top: float) -> int:
    """Return the shade of a grade: 0 for non-relevant, up to 3 for the highest one."""
    if grade <= 0 or top <= 0:
        return 0
    return max(1, round(3 * grade / top))
