"""Every exception of rankframe. Each builds its own message from the facts:
what is wrong, how much of it, an example, what to do.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager


class RankframeError(ValueError):
    """Bad input or usage. Catch this one to catch them all."""


class UnreadableInputError(RankframeError):
    """A source that cannot be read as what it claims to be."""

    def __init__(self, source: str, problem: str, advice: str = "") -> None:
        super().__init__(_sentences(f"cannot read {source}: {problem}", advice))


class MalformedLineError(RankframeError):
    """A line of a TREC file with the wrong number of fields, or a field of the wrong kind."""

    def __init__(self, source: str, line: int, text: str, problem: str, count: int) -> None:
        more = f" ({count:,} such lines in all)" if count > 1 else ""
        super().__init__(f"{source}, line {line}: {problem}, in {_shorten(text)!r}{more}.")


class MissingColumnError(RankframeError):
    """A column that is needed and not there."""

    def __init__(
        self, role: str, column: str, found: Sequence[str], *, asked: str | None = None
    ) -> None:
        what = f"column {asked!r} (asked for as {column})" if asked else f"{column} column"
        near = nearest(asked or column, found)
        hint = f"Did you mean {near[0]!r}?" if near else ""
        if column == "relevance" and not asked and "score" in found:
            hint = "Is this the run? The judgments come first"
        elif column == "relevance" and not asked:
            hint = hint or "If every row is a relevant pair, add one that is 1 everywhere"
        elif not asked:
            hint = hint or f'Name it: columns={{"{column}": "your_column"}}'
        super().__init__(_sentences(f"{role} has no {what}; it has {_listing(found)}", hint))


class AmbiguousColumnError(RankframeError):
    """Two columns that could each be the one that is needed."""

    def __init__(self, role: str, column: str, candidates: Sequence[str]) -> None:
        super().__init__(
            f"{role} has {len(candidates)} columns that may be {column}: {_listing(candidates)}. "
            f'Say which: columns={{"{column}": "{candidates[0]}"}}.'
        )


class ColumnMappingError(RankframeError):
    """A `columns=` mapping with a key that rankframe does not know."""

    def __init__(self, unknown: str, known: Sequence[str]) -> None:
        super().__init__(
            _sentences(
                f"columns= names {unknown!r}, which is not a column of rankframe",
                did_you_mean(unknown, known),
                f"It takes {_listing(known)}, each mapped to a name in your data",
            )
        )

    @classmethod
    def kind(cls, given: object) -> RankframeError:
        """A `columns=` that is no mapping at all."""
        return OptionError(
            f'columns= takes a mapping such as {{"query_id": "user_id"}}, not {given!r}.'
        )


class ColumnTypeError(RankframeError):
    """A column of a type that cannot be an id, a score or a grade."""

    def __init__(self, role: str, column: str, dtype: str, wanted: str) -> None:
        super().__init__(f"{role} column {column!r} has type {dtype}; it must hold {wanted}.")


class BadValueError(RankframeError):
    """Rows with a value that no ranking or judgment may have."""

    def __init__(self, role: str, problem: str, count: int, example: str, advice: str) -> None:
        rows = "row" if count == 1 else "rows"
        super().__init__(
            _sentences(f"{role} has {count:,} {rows} with {problem}, e.g. {example}", advice)
        )


class DuplicateError(RankframeError):
    """The same document twice for the same query."""

    def __init__(self, role: str, count: int, example: dict[str, str], rows: Sequence[int]) -> None:
        keys, values = ", ".join(example), ", ".join(map(repr, example.values()))
        what = f"({keys}) pair" if len(example) > 1 else keys
        advice = (
            'Keep one of each, or pass duplicates="keep_best".'
            if role in ("qrels", "run", "ranking a", "ranking b")
            else "Keep one of each."
        )
        places = " at rows " + " and ".join(f"{row:,}" for row in rows[:2]) if rows else ""
        self.role, self.count, self.example = role, count, example
        super().__init__(
            f"{role} has {count:,} duplicate {what}{'' if count == 1 else 's'}, "
            f"e.g. ({values}){places}. {advice}"
        )


class EmptyInputError(RankframeError):
    """An input without rows."""

    def __init__(self, role: str, source: str) -> None:
        super().__init__(f"{role} is empty: {source} has no rows.")


class NoOverlapError(RankframeError):
    """Run and judgments that have nothing in common."""

    def __init__(self, key: str, run_ids: Sequence[str], qrels_ids: Sequence[str]) -> None:
        what = {"query_id": "query", "doc_id": "document"}[key]
        super().__init__(
            f"no {what} in the run matches any judgment: run {key}s look like "
            f"{_listing(run_ids)}, qrels {key}s like {_listing(qrels_ids)}. "
            'Is the key column right? If this is no mistake, pass no_overlap="zero".'
        )


class NoSharedQueryError(RankframeError):
    """Two rankings without a query in common."""

    def __init__(self, ids_a: Sequence[str], ids_b: Sequence[str]) -> None:
        super().__init__(
            f"the two rankings have no query in common: those of the first look like "
            f"{_listing(ids_a)}, of the second like {_listing(ids_b)}. Is the key column right?"
        )


class MissingQueriesError(RankframeError):
    """Judged queries that the run lacks, where the caller said that none may be missing."""

    def __init__(self, count: int, judged: int, example: str) -> None:
        super().__init__(
            f"the run lacks {count:,} of {judged:,} judged queries, e.g. {example!r}. "
            'Pass missing="zero" to score them 0, or "skip" to leave them out.'
        )


class UnknownMetricError(RankframeError):
    """A metric name that means nothing."""

    def __init__(self, name: str, suggestions: Sequence[str], problem: str = "") -> None:
        hint = f"Did you mean {' or '.join(repr(s) for s in suggestions)}?" if suggestions else ""
        super().__init__(
            _sentences(problem or f"unknown metric {name!r}", hint, "See `rankframe metrics`")
        )


class MetricParameterError(RankframeError):
    """A metric with a parameter that it lacks, or a value that it cannot take."""


class OptionError(RankframeError):
    """An option with a value that it does not take, or options that do not go together."""

    @classmethod
    def choice(cls, option: str, value: object, choices: Sequence[str]) -> OptionError:
        """An option whose value is none of its choices."""
        text = str(value)
        return cls(
            _sentences(
                f"{option}={value!r} is not one of {_listing(choices)}",
                did_you_mean(text, choices),
            )
        )


class OutputError(RankframeError):
    """A place that cannot be written to."""


class SparkError(RankframeError):
    """Spark cannot start, cannot read an input, or gave up on the work."""


class MissingExtraError(RankframeError, ImportError):
    """A feature whose optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional part: pip install 'rankframe[{extra}]'.")


# How a message that speaks of the run begins; which of several it is goes after the word.
_OF_THE_RUN = re.compile(r"\A((?:cannot read |no \w+ in )?the )?run\b")


@contextmanager
def naming_the_run(name: str) -> Iterator[None]:
    """Errors that speak of the run say which one: "run b has 14 duplicate …"."""
    try:
        yield
    except RankframeError as error:
        error.args = (_OF_THE_RUN.sub(lambda found: f"{found[0]} {name}".rstrip(), str(error), 1),)
        raise


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that look most like this one, without regard to case."""
    by_lower = {k.lower(): k for k in known}
    return [
        by_lower[m] for m in difflib.get_close_matches(name.lower(), by_lower, n=most, cutoff=0.7)
    ]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest known name, or nothing."""
    near = nearest(name, known)
    return f"Did you mean {near[0]!r}?" if near else ""


def _sentences(*parts: str) -> str:
    return " ".join(p if p.endswith((".", "?", "!")) else p + "." for p in parts if p)


def _listing(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(_shorten(name)) for name in names[:most])
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return (shown + more) or "nothing"


def _shorten(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
