"""The sections of a report that go query by query: what moved most, and a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rankframe.base.columns import QUERY
from rankframe.base.messages import number_of
from rankframe.decisions.change import Diff
from rankframe.reporting.material import Material
from rankframe.reporting.page import fold, note, number, search_box, section, table, text, words
from rankframe.stats.resample import hash_ids

_MOST_QUERIES = 500
# What is said of a document's rank in the other list, and where it has none there.
_WHERE = {"rank_b": ("now {}", "gone"), "rank_a": ("was {}", "new")}


def changes(material: Material) -> str:
    """The queries that moved most, with their lists side by side."""
    parts = []
    for name, change in material.moved.items():
        summary = change.summary.to_dicts()[0]
        parts.append(f"<h3>{text(name)} against {text(material.found.baseline)}</h3>")
        parts.append(
            note(
                f"{summary['metric']}: {number_of(summary['wins'], 'query')} better, "
                f"{summary['ties']:,} the same, {summary['losses']:,} worse. "
                f"The {change.movers.height} that moved most:"
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
