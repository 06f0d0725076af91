"""Open judgments, runs and rankings: whatever people have → a lazy table under our column names.

Columns are found and their types checked here. Rows are read later, and checked as they are read
(`batches.py`, `validate.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from rankframe.core.columns import GROUP, GROUP_WEIGHT, RELEVANCE, SCORE, Side
from rankframe.core.errors import MissingColumnError, OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Order, Policies
from rankframe.io.column_names import Columns
from rankframe.io.formats.numbers import with_rest
from rankframe.io.input_table import InputTable
from rankframe.io.opening import Source, describe, open_table, order_run
from rankframe.io.python_objects import ranking_by_query
from rankframe.io.roll_up import in_units
from rankframe.io.train import open_train, without_seen


def open_judgments(
    source: Source,
    columns: Columns | None = None,
    *,
    relevance: float | None = None,
    limit: int | None = None,
) -> InputTable:
    """Open judgments.

    Args:
        source: a frame, a path, an address, a dict, or anything else that `open_table` reads.
        columns: the names of its columns.
        relevance: the grade of judgments that have none.
        limit: how many bytes may be in memory at once.
    """
    return open_table(source, "qrels", columns, relevance=relevance, limit=limit)


def open_run(
    source: Source, policies: Policies, columns: Columns | None = None, *, limit: int | None = None
) -> InputTable:
    """Open a run as the policies say: its order, its roll-up, and without seen documents."""
    run = open_table(
        source, "run", columns, order=policies.order, ranks=policies.ranks, limit=limit
    )
    if policies.unit is not None:
        run = in_units(run, policies.unit)
    if not policies.exclude_seen or run.excluded is not None:
        return run
    if policies.train is None:
        option = Option("exclude_seen", value=True)
        raise OptionError(option, " needs ", Option("train", bare=True), ".")
    return without_seen(run, open_train(policies.train, columns, limit=limit))


def open_ranking(
    source: Source,
    side: Literal["a", "b"],
    columns: Columns | None = None,
    *,
    order: Order | None = None,
    limit: int | None = None,
) -> InputTable:
    """Open one of two rankings: a run, or judgments, whose grades are then its scores.

    `columns` names the columns of both, or of each: `{"a": {...}, "b": {...}}`.
    """
    called: Side = "ranking a" if side == "a" else "ranking b"
    source = ranking_by_query(source, describe(source, called))
    table = open_table(source, None, columns, order=order, called=called, limit=limit)
    if RELEVANCE not in table.mapping:
        return table
    # A ranking has no subtopics: a document that has several is there twice.
    mapping = {
        SCORE if column == RELEVANCE else column: name
        for column, name in table.mapping.items()
        if column not in (GROUP, GROUP_WEIGHT)
    }
    mapping = with_rest(mapping, table.raw.collect_schema())
    return order_run(replace(table, mapping=mapping), order)


def refuse_absent_columns(
    columns: Columns | None, *inputs: InputTable, queries: Mapping[str, bool] | None = None
) -> None:
    """Refuse columns that were named for no input in particular and that no input has.

    Call this when all inputs are open. `queries`: which of the columns the frame of queries has.
    """
    for column, name in (columns or {}).items():
        lacking = {t.role: list(t.raw.collect_schema()) for t in inputs if column in t.asked}
        present = [t.asked[column] for t in inputs if column in t.asked]
        present += [queries[column]] if queries and column in queries else []
        if not present or any(present):
            continue
        if len(lacking) == 1:
            ((called, found),) = lacking.items()
            raise MissingColumnError(called, column, found, asked=str(name))
        raise MissingColumnError.everywhere(column, str(name), lacking)
