"""Check the rows of an input against named rules, in one pass.

A clean input costs a few scans and one hash per row. Only a broken rule pays for its example.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn

import polars as pl

from rankframe.core.columns import DOC, GROUP, GROUP_WEIGHT, QUERY, RANK, RELEVANCE, SCORE
from rankframe.core.errors import BadValueError, EmptyInputError, NoOverlapError
from rankframe.core.options import LARGEST_WEIGHT, Duplicates
from rankframe.io.input_table import InputTable
from rankframe.kernel.duplicates import deduplicate

_SAMPLE = 1_000


@dataclass(frozen=True)
class Rule:
    """A problem, and the expression that finds rows with it."""

    column: str
    problem: str
    broken: pl.Expr
    advice: str


@dataclass(frozen=True)
class Broken:
    """A broken rule, its position among the rules, and the number of rows that break it."""

    place: int
    rule: Rule
    rows: int


def _rules(columns: list[str]) -> list[Rule]:
    rules = []
    for key in [c for c in (QUERY, DOC) if c in columns]:
        column = pl.col(key)
        rules += [
            Rule(key, f"a null {key}", column.is_null(), "Remove them, or give them an id"),
            Rule(key, f"an empty {key}", column.str.len_bytes() == 0, "Give them an id"),
        ]
    numbers = {
        SCORE: "Give every document a finite score",
        RANK: "Give every document a rank",
        RELEVANCE: "Give every judgment a finite grade",
    }
    for name, advice in numbers.items():
        if name in columns:
            column = pl.col(name)
            rules += [
                Rule(name, f"a null {name}", column.is_null(), advice),
                Rule(name, f"a NaN {name}", column.is_nan(), advice),
                Rule(name, f"an infinite {name}", column.is_infinite(), advice),
            ]
    if RELEVANCE in columns:
        large = pl.col(RELEVANCE).abs() > LARGEST_WEIGHT
        problem = f"a {RELEVANCE} beyond {LARGEST_WEIGHT:g}"
        rules.append(Rule(RELEVANCE, problem, large, "Scale the grades"))
    if GROUP_WEIGHT in columns:
        weight, advice = pl.col(GROUP_WEIGHT), "Leave out groups that are not to count"
        proper = weight.is_finite() & (weight > 0) & (weight <= LARGEST_WEIGHT)
        problem = f"a {GROUP_WEIGHT} that is no number above 0, up to {LARGEST_WEIGHT:g}"
        broken = pl.col(GROUP).is_not_null() & ~proper.fill_null(value=False)
        rules.append(Rule(GROUP_WEIGHT, problem, broken, advice))
    return rules


def load(table: InputTable) -> pl.DataFrame:
    """Read the rows of an input; refuse it if a row breaks a rule."""
    with table.explained():
        frame = table.frame.collect(engine="in-memory")
    check_rows(frame.lazy(), table.role, table.name, numbered=table.numbered)
    return frame


def check_input(table: InputTable) -> None:
    """Refuse an input that has no rows, or one that cannot be read or breaks a rule."""
    with table.explained():
        check_rows(table.frame, table.role, table.name, engine="streaming", numbered=table.numbered)


def count_rows(table: InputTable) -> int:
    """Count the rows of an input; refuse one that has none."""
    with table.explained():
        rows = table.count()
    if not rows and not table.part:
        raise EmptyInputError(table.role, table.name)
    return rows


def load_unique(table: InputTable, *, duplicates: Duplicates = "error") -> pl.DataFrame:
    """Read the rows of an input; refuse duplicates, or keep the best of them."""
    return deduplicate(load(table), table.role, duplicates, numbered=table.numbered)


def check_rows(
    frame: pl.LazyFrame,
    role: str,
    name: str,
    *,
    engine: Literal["in-memory", "streaming"] = "in-memory",
    numbered: bool = True,
) -> None:
    """Refuse a frame without rows, or with a row that breaks a rule.

    `numbered`: whether row numbers mean something to the owner of the input.
    """
    rows, broken = first_broken(frame, engine=engine)
    if not rows:
        raise EmptyInputError(role, name)
    if broken is not None:
        rule, count = broken.rule, broken.rows
        bad = frame.with_row_index("_row").filter(rule.broken).head(1).collect(engine=engine)
        where = _quote(bad.row(0, named=True), rule.column, numbered=numbered)
        raise BadValueError(role, rule.problem, count, where, rule.advice)


def first_broken(
    frame: pl.LazyFrame, *, engine: Literal["in-memory", "streaming"] = "in-memory"
) -> tuple[int, Broken | None]:
    """Count the rows of a frame, and find the first rule that a row breaks."""
    rules = _rules(frame.collect_schema().names())
    broken = [r.broken.sum().alias(str(i)) for i, r in enumerate(rules)]
    rows, *counts = frame.select(pl.len(), *broken).collect(engine=engine).row(0)
    number = next((number for number, count in enumerate(counts) if count), None)
    return rows, None if number is None else Broken(number, rules[number], counts[number])


def refuse_no_overlap(qrels: InputTable, run: InputTable, *, shared_queries: bool) -> NoReturn:
    """Refuse inputs without a common id, with examples of the ids of each."""
    if shared_queries:
        raise NoOverlapError(DOC, some_ids(run, DOC, qrels), some_ids(qrels, DOC, run))
    raise NoOverlapError(QUERY, some_ids(run, QUERY), some_ids(qrels, QUERY))


def some_ids(side: InputTable, key: str, other: InputTable | None = None) -> list[str]:
    """Return a few ids of an input, of queries that the other input has too."""
    rows = side.frame
    if other is not None:
        rows = rows.join(other.frame, on=QUERY, how="semi", maintain_order="left")
    ids = rows.select(key).head(_SAMPLE).collect(engine="streaming")[key]
    return ids.unique(maintain_order=True).head(3).to_list()


def _quote(row: dict[str, object], column: str, *, numbered: bool) -> str:
    ids = quoted_keys(row, column)
    if ids and not numbered:
        return ", ".join(ids)
    where = f" ({', '.join(ids)})" if ids else ""
    return f"row {int(str(row['_row'])) + 1:,}{where}"


def quoted_keys(row: Mapping[str, object], column: str) -> list[str]:
    """Return the ids of a row in quotes, except the one with the problem."""
    return [f"{key} {row[key]!r}" for key in (QUERY, DOC) if key in row and key != column]
