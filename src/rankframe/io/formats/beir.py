"""Collections in the layout of BEIR and MTEB: a folder with `corpus.jsonl`, `queries.jsonl`, and
judgments in `qrels/`, a file for each split, in which the grade is called score.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rankframe.core.columns import DOC, QUERY, RELEVANCE, SCORE, SYNONYMS, Role, plain_name
from rankframe.core.errors import UnreadableInputError
from rankframe.core.messages import listing
from rankframe.io.formats.packing import bare_name

_TEXTS = ("corpus", "queries")
_TABLES = (".tsv", ".jsonl", ".csv", ".parquet", ".json", ".txt")
_GRADES = frozenset(plain_name(name) for name in (RELEVANCE, *SYNONYMS[RELEVANCE]))
# Names of a query and of a document: what rows of judgments and runs have.
KEYS = tuple(
    frozenset(plain_name(name) for name in (column, *SYNONYMS[column])) for column in (QUERY, DOC)
)
_OF_TEXTS = {"_id", "text"}
_DOC = plain_name("corpus-id")


def judgments_in(folder: Path, role: Role | None, name: str) -> str | None:
    """Return the file with the judgments of a collection; None for any other place."""
    qrels = folder if folder.name == "qrels" else folder / "qrels"
    if not qrels.is_dir():
        return None
    files = sorted(path for path in qrels.iterdir() if path.is_file() and _is_table(path))
    parted = [path.name for path in files if path.suffix != ".parquet"]
    is_collection = qrels != folder and any(
        bare_name(path).startswith(_TEXTS) for path in folder.iterdir()
    )
    if not files or not (parted or is_collection):
        return None
    if role in ("run", "queries"):
        raise UnreadableInputError(
            name,
            "this is the folder of a collection, with judgments and texts",
            f"Judgments come first, e.g. {str(files[0])!r}; then the run, which is not in there",
        )
    if len(files) > 1:
        raise UnreadableInputError(
            name,
            f"it has the judgments of {len(files):,} splits",
            f"Give one of {', '.join(repr(str(path)) for path in files)}",
        )
    return str(files[0])


def with_grades(table: pl.LazyFrame, *, alone: bool = False) -> pl.LazyFrame:
    """Use the scores of BEIR's judgments as grades.

    `alone`: without the score, so that they are recognised as judgments.
    """
    names = {plain_name(name): name for name in table.collect_schema()}
    if _DOC not in names or SCORE not in names or _GRADES & names.keys():
        return table
    if alone:
        return table.rename({names[SCORE]: RELEVANCE})
    return table.with_columns(pl.col(names[SCORE]).alias(RELEVANCE))


def refuse_texts(value: Any, role: Role | None, name: str) -> None:
    """Refuse the corpus or the queries of a collection.

    `value`: the first row.
    """
    if role == "queries" or not isinstance(value, Mapping) or not value.keys() >= _OF_TEXTS:
        return
    names = {plain_name(key) for key in value}
    if not any(names & known_names for known_names in KEYS):
        raise UnreadableInputError(
            name,
            f"it holds texts with their ids ({listing(list(value), 6)}), such as the corpus or the "
            "queries of a collection: neither judgments nor a run",
            "The judgments of BEIR's collections are in qrels/test.tsv",
        )


def _is_table(path: Path) -> bool:
    return Path(bare_name(path).lower()).suffix in _TABLES and not path.name.startswith((".", "_"))
