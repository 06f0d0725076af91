"""What the lines of TREC text have, and what is wrong with those that have it not.

Mistakes of parts of a text add up to those of the whole: what is said is the same, however it was
read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, NoReturn

import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE
from rankframe.core.errors import EmptyInputError, MalformedLineError, UnreadableInputError

Kind = Literal["qrels", "run"]

# What stands before the document of a judgment: nothing that matters, or its subtopic.
ITERATION: Final = "iteration"
FIELDS: dict[Kind, tuple[str, ...]] = {
    "qrels": (QUERY, ITERATION, DOC, RELEVANCE),
    "run": (QUERY, "q0", DOC, RANK, SCORE, "tag"),
}
NUMERIC: dict[Kind, str] = {"qrels": RELEVANCE, "run": SCORE}
# Of a table of lines.
LINE, NUMBER = "_line", "_number"


@dataclass(frozen=True)
class Bad:
    """How many lines have some mistake; of the first, its number (from 0) and what it says."""

    count: int = 0
    number: int = 0
    text: str = ""

    @classmethod
    def of(cls, lines: pl.DataFrame) -> Bad:
        """All of these lines."""
        return cls(lines.height, *lines.select(NUMBER, LINE).row(0)) if lines.height else cls()

    def and_then(self, other: Bad, above: int) -> Bad:
        """With those of the text that follows this one, which has so many lines."""
        first = self if self.count else replace(other, number=other.number + above)
        return replace(first, count=self.count + other.count)


@dataclass(frozen=True)
class Mistakes:
    """What is wrong with a text of so many lines that say something."""

    kind: Kind = "run"
    lines: int = 0
    fields: Bad = Bad()
    numbers: Bad = Bad()

    def and_then(self, other: Mistakes, above: int) -> Mistakes:
        """With those of the text that follows this one, which has so many lines."""
        return Mistakes(
            self.kind if self.lines else other.kind,
            self.lines + other.lines,
            self.fields.and_then(other.fields, above),
            self.numbers.and_then(other.numbers, above),
        )

    def refuse(self, role: Kind | None, name: str) -> None:
        """Refuse a text that has any, or no lines."""
        if not self.lines:
            raise EmptyInputError(role or "input", name)
        _refuse_field_count(self, name)
        if self.numbers.count:
            _refuse(self.numbers, name, f"the {NUMERIC[self.kind]} is not a number")


def _refuse_field_count(found: Mistakes, name: str) -> None:
    role, wrong = found.kind, found.fields
    if not wrong.count:
        return
    wanted, has = len(FIELDS[role]), len(wrong.text.split(" "))
    if wrong.count == found.lines and has == len(FIELDS["run" if role == "qrels" else "qrels"]):
        looks, needed = ("a run", "qrels") if role == "qrels" else ("qrels", "a run")
        raise UnreadableInputError(
            name,
            f"it looks like {looks}, where {needed} should be",
            "The judgments come first, then the run",
        )
    problem = f"{has} {'field' if has == 1 else 'fields'} where {role} lines have {wanted}"
    if role == "run" and has > wanted:
        problem += " (more may follow if the rank is a number, the tag not)"
    _refuse(wrong, name, problem)


def _refuse(bad: Bad, name: str, problem: str) -> NoReturn:
    raise MalformedLineError(name, bad.number + 1, bad.text, problem, bad.count)
