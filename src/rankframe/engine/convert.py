"""Convert judgments and runs from one file format to another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rankframe.core.columns import QUERY, RANK, RELEVANCE, SCORE
from rankframe.core.errors import OptionError, OutputError
from rankframe.core.messages import Option
from rankframe.core.options import Duplicates, Order
from rankframe.io.batches import load_unique
from rankframe.io.formats.numbers import whole_again
from rankframe.io.formats.trec_format import Kind
from rankframe.io.inputs import Columns, Source, refuse_absent_columns
from rankframe.io.opening import open_table
from rankframe.io.outputs import check_target, write_as
from rankframe.io.responses import from_responses
from rankframe.kernel.batch import Batch
from rankframe.kernel.ranking import rank_documents


def convert_file(
    source: Source,
    target: Path,
    kind: Kind | None = None,
    *,
    columns: Columns | None = None,
    duplicates: Duplicates = "error",
    order: Order = "columns",
    relevance: float | None = None,
    overwrite: bool = False,
    queries: Sequence[str] | None = None,
) -> tuple[Kind, int]:
    """Write a source in the format of the target's ending; return its kind and number of rows.

    Without `kind`, a source with a grade and neither score nor rank is qrels; any other source is a
    run. A run in the order of its rows or lists gets a column of ranks. With `relevance`, the
    source is qrels without grades, and every row gets this grade. An existing file is replaced only
    with `overwrite`. `queries` has the query ids of a search engine's responses, in order.
    """
    if relevance is not None and kind == "run":
        raise OptionError(Option("relevance"), " is a grade of judgments, and this is a run.")
    form, _ = check_target(target, [source], overwrite=overwrite)
    if queries is not None:
        source, columns = from_responses(source, queries, columns=columns), None
    kind = kind if relevance is None else "qrels"
    scanned = open_table(source, kind, columns, order=order, relevance=relevance)
    refuse_absent_columns(columns, scanned)
    found: Kind = "qrels" if scanned.role == "qrels" else "run"
    frame = load_unique(scanned, duplicates=duplicates)
    frame = frame.with_columns(_whole_numbers(frame))
    ordered = SCORE in frame.columns or RANK in frame.columns
    if found == "run" and not (ordered and form.any_table):
        frame = frame.sort(QUERY, maintain_order=True)
        ranked = rank_documents(Batch.from_table(frame), ties="doc_desc")
        frame = frame.with_columns(pl.Series(RANK, ranked.rank)).sort(QUERY, RANK)
    try:
        frame = whole_again(frame)
    except OverflowError:
        raise OutputError(
            "its scores are whole numbers too large for a float, beside others that are not whole "
            "or have more than 64 bits: no format would keep their order. Give it ranks, or scale "
            "the scores."
        ) from None
    about = {"frame": found, "inputs": {found: {"name": scanned.name, "rows": frame.height}}}
    write_as(form, frame, target, about)
    return found, frame.height


def _whole_numbers(frame: pl.DataFrame) -> list[pl.Expr]:
    """Return expressions that cast grades and ranks to integers, if all values fit."""
    named = [pl.col(name) for name in (RELEVANCE, RANK) if name in frame.columns]
    whole = [(column, column.cast(pl.Int64, strict=False)) for column in named]
    return [
        integers
        for column, integers in whole
        if frame.select(column.eq_missing(integers).all()).item()
    ]
