"""Write the tables of columns and of file formats in docs/reference."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from generated import DOCS, table, with_sections, write

from rankframe.core import columns
from rankframe.core.columns import SYNONYMS
from rankframe.io.formats.registry import FORMATS

COLUMNS = DOCS / "reference" / "columns.md"
FILES = DOCS / "reference" / "formats.md"
MEANINGS = {
    "query_id": "the query, or the user",
    "doc_id": "the document, or the item",
    "relevance": "the grade of a judgment",
    "score": "the score of a retrieved document; larger is better",
    "distance": "a score; smaller is better",
    "rank": "the place of a retrieved document, from 1",
    "subtopic": "what a judgment is about: a subtopic, an intent, a fact",
    "subtopic_weight": "weight of the subtopic, also read from a column `weight`",
}


def written() -> dict[Path, str]:
    """Return the text of the pages on columns and on file formats, by path."""
    return {
        COLUMNS: with_sections(COLUMNS, {"synonyms": synonyms()}),
        FILES: with_sections(FILES, {"formats": formats()}),
    }


def synonyms() -> str:
    """Return Markdown tables of the names that each column is recognised by."""
    lists = columns.LIST_SYNONYMS
    rows = [
        (f"`{column}`", MEANINGS[column], _names((*names, *lists.get(column, ()))))
        for column, names in SYNONYMS.items()
    ]
    found = table(["column", "meaning", "also recognised"], rows)
    of_a_side = columns.LIST_SYNONYMS_OF
    rows = [(f"`{side}`", _names(names)) for side, names in of_a_side.items() if names]
    said = "For columns that hold lists of documents, rankframe also recognises these names:"
    return f"{found}\n\n{said}\n\n{table(['in', 'names'], rows)}" if rows else found


def _names(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def formats() -> str:
    """Return a Markdown table of the file formats: endings, and what each can hold."""
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
