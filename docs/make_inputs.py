"""Columns and formats in docs/reference: from base/columns.py and sources/formats.py."""

from __future__ import annotations

from pathlib import Path

from generated import DOCS, table, with_sections, write

from rankframe.base.columns import SYNONYMS
from rankframe.sources.formats import FORMATS

COLUMNS = DOCS / "reference" / "columns.md"
FILES = DOCS / "reference" / "formats.md"
MEANINGS = {
    "query_id": "the query, or the user",
    "doc_id": "the document, or the item",
    "relevance": "the grade of a judgment",
    "score": "of a retrieved document; more is better",
    "distance": "a score of which less is better",
    "rank": "the place of a retrieved document, from 1",
}


def written() -> dict[Path, str]:
    """What the pages should hold."""
    return {
        COLUMNS: with_sections(COLUMNS, {"synonyms": synonyms()}),
        FILES: with_sections(FILES, {"formats": formats()}),
    }


def synonyms() -> str:
    """Which other names are recognised."""
    rows = [
        (f"`{column}`", MEANINGS[column], " ".join(f"`{name}`" for name in names))
        for column, names in SYNONYMS.items()
    ]
    return table(["column", "meaning", "also recognised"], rows)


def formats() -> str:
    """What is read and written."""
    rows = [
        (
            one.name,
            " ".join(f"`{ending}`" for ending in (*one.endings, *one.also)),
            "any table" if one.any_table else "judgments and runs",
        )
        for one in FORMATS
    ]
    return table(["format", "endings", "holds"], rows)


if __name__ == "__main__":
    write(written())
