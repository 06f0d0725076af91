"""Every exception of rankframe. Each keeps the facts and words itself from them: what is wrong, how
much of it, an example, what to do; in Python's words, or in the shell's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankframe.core.messages import (
    Option,
    Part,
    Role,
    did_you_mean,
    listing,
    masked,
    nearest,
    number_of,
    sentences,
    shorten,
    shown,
    why_unlike,
)


class RankframeError(ValueError):
    """Bad input or usage. Catch this one to catch them all."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts
        # which of several runs it speaks of
        self.run = ""
        super().__init__(self.said())

    def said(self, *, flags: bool = False) -> str:
        """The message: options as arguments of a function, or as flags; never with a password."""
        return masked("".join(self._word(part, flags=flags) for part in self.parts))

    def _word(self, part: Part, *, flags: bool) -> str:
        if isinstance(part, Role):
            return part.said(self.run)
        return part.said(flags=flags) if isinstance(part, Option) else part

    def __str__(self) -> str:
        return self.said()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.parts, vars(self))


def _restored(
    kind: type[RankframeError], parts: tuple[Part, ...], facts: dict[str, Any]
) -> RankframeError:
    """An error that travelled between processes."""
    error = kind.__new__(kind)
    RankframeError.__init__(error, *parts)
    vars(error).update(facts)
    return error


class UnreadableInputError(RankframeError):
    """A source that cannot be read as what it claims to be."""

    def __init__(self, source: str, problem: str, *advice: Part) -> None:
        ours, _, kind = source.partition("the run ")
        named = ("the ", Role("run"), f" {kind}") if kind and not ours else (source,)
        super().__init__(*sentences(("cannot read ", *named, f": {problem}"), advice))


class MalformedLineError(RankframeError):
    """A line of a text file that is not as it should be."""

    def __init__(self, source: str, line: int, text: str, problem: str, count: int) -> None:
        more = f" ({count:,} such lines in all)" if count > 1 else ""
        super().__init__(f"{source}, line {line}: {problem}, in {shorten(text)!r}{more}.")
        self.source, self.line, self.text = source, line, text
        self.problem, self.count = problem, count

    def below(self, lines: int) -> MalformedLineError:
        """The same of a text that stands below so many lines."""
        return MalformedLineError(
            self.source, self.line + lines, self.text, self.problem, self.count
        )

    def and_also(self, count: int) -> MalformedLineError:
        """The same with so many more of such lines."""
        return MalformedLineError(
            self.source, self.line, self.text, self.problem, self.count + count
        )


class MissingColumnError(RankframeError):
    """A column that is needed and not there.

    `asked`: by which name it was asked for; `shared`: of whichever side has it.
    """

    def __init__(
        self,
        role: str,
        column: str,
        found: Sequence[str],
        *,
        asked: str | None = None,
        shared: bool = False,
    ) -> None:
        what = f"column {asked!r} (asked for as {column})" if asked else f"{column} column"
        near = nearest(asked or column, found)
        hint: tuple[Part, ...] = (f"Did you mean {near[0]!r}?",) if near else ()
        if column == "relevance" and not asked and {"score", "scores"} & set(found):
            hint = ("Is this the run? The judgments come first",)
        elif column == "relevance" and not asked:
            pairs = ("; if every row is a relevant pair, pass ", Option("relevance", 1.0))
            hint = hint or ("Name it: ", _of_side(role, column, "your_column"), *pairs)
        elif not asked or shared:
            hint = hint or ("Name it: ", _of_side(role, column, "your_column"))
        if not asked and any(name.strip("+-.")[:1].isdigit() for name in found):
            # Names that are numbers, or begin like one, are more likely to be values.
            hint = ("If its first line is no header, name columns by their numbers: ",
                    _of_side(role, column, "column_1"))  # fmt: skip
        said = (Role(role), f" has no {what}; it has {listing(found)}")
        super().__init__(*sentences(said, hint))

    @classmethod
    def everywhere(
        cls, column: str, asked: str, sides: Mapping[str, Sequence[str]]
    ) -> MissingColumnError:
        """A column that none of the inputs has: what they are called, and their columns."""
        near = nearest(asked, [name for found in sides.values() for name in found])
        said: list[Part] = [f"there is no column {asked!r} (asked for as {column})"]
        for at, (role, found) in enumerate(sides.items()):
            said += ["; " if at else ": ", Role(role), f" has {listing(found)}"]
        error = cls.__new__(cls)
        RankframeError.__init__(
            error, *sentences(said, (f"Did you mean {near[0]!r}?",) if near else ())
        )
        return error


class AmbiguousColumnError(RankframeError):
    """Two columns that could each be the one that is needed."""

    def __init__(self, role: str, column: str, candidates: Sequence[str]) -> None:
        super().__init__(
            Role(role),
            f" has {len(candidates)} columns that may be {column}: {listing(candidates)}. "
            "Say which: ",
            _of_side(role, column, candidates[0]),
            ".",
        )


def _of_side(role: str, column: str, name: str) -> Option:
    """How to say what a column is called, on one side."""
    return Option("columns", {role.removeprefix("ranking "): {column: name}})


class UnorderedRunError(RankframeError):
    """A run with nothing that says in which order its documents are."""

    def __init__(self, role: str, found: Sequence[str], numeric: Sequence[str]) -> None:
        may_be, advice = "", ("Give it one",)
        if numeric:
            may_be = f"These could be scores: {listing(numeric)}"
            advice = ("Say which: ", Option("columns", {"score": numeric[0]}))
        super().__init__(
            *sentences(
                (Role(role), f" has neither a score nor a rank column; it has {listing(found)}"),
                (may_be,),
                (*advice, ", or pass ", Option("order", "rows"),
                 " if its rows are in the order of the ranking"),
            )
        )  # fmt: skip


class ColumnMappingError(RankframeError):
    """A `columns=` mapping with a key that rankframe does not know."""

    def __init__(self, unknown: str, known: Sequence[str], sides: Sequence[str] = ()) -> None:
        alone: tuple[Part, ...] = ()
        if sides:
            alone = (f"Of one side ({listing(sides)}): ", _of_side(sides[0], known[0], "yours"))
        super().__init__(
            *sentences(
                (
                    Option("columns"),
                    f" names {unknown!r}, which is not a column of rankframe",
                ),
                (did_you_mean(unknown, [*known, *sides]),),
                (f"It takes {listing(known)}, each mapped to a name in your data",),
                alone,
            )
        )

    @classmethod
    def kind(cls, given: object) -> RankframeError:
        """A `columns=` that is no mapping at all."""
        return OptionError(
            Option("columns"),
            f' takes a mapping such as {{"query_id": "user_id"}}, not {shown(given)}.',
        )


class ColumnTypeError(RankframeError):
    """A column of a type that cannot be an id, a score or a grade."""

    def __init__(self, role: str, column: str, dtype: str, wanted: str) -> None:
        super().__init__(Role(role), f" column {column!r} has type {dtype}; it must hold {wanted}.")


class BadValueError(RankframeError):
    """Rows with a value that no ranking or judgment may have."""

    def __init__(self, role: str, problem: str, count: int, example: str, advice: str) -> None:
        rows = "row" if count == 1 else "rows"
        said = (Role(role), f" has {count:,} {rows} with {problem}, e.g. {example}")
        super().__init__(*sentences(said, (advice,)))


class DuplicateError(RankframeError):
    """The same document twice for the same query.

    `resolvable`: the best of them can be kept instead.
    """

    def __init__(
        self,
        role: str,
        count: int,
        example: dict[str, str],
        rows: Sequence[int],
        *,
        resolvable: bool | None = None,
    ) -> None:
        self.role, self.count, self.example, self.rows = role, count, example, rows
        keys, values = ", ".join(example), ", ".join(map(repr, example.values()))
        what = {1: keys, 2: f"({keys}) pair"}.get(len(example), f"({keys}) triple")
        if resolvable is None:
            resolvable = role in ("qrels", "run", "base", "ranking a", "ranking b")
        places = " at rows " + " and ".join(f"{row:,}" for row in rows[:2]) if rows else ""
        keep = (", or pass ", Option("duplicates", "keep_best")) if resolvable else ()
        super().__init__(
            Role(role),
            f" has {count:,} duplicate {what}{'' if count == 1 else 's'}, "
            f"e.g. ({values}){places}. Keep one of each",
            *keep,
            ".",
        )


class EmptyInputError(RankframeError):
    """An input without rows."""

    def __init__(self, role: str, source: str, advice: str = "") -> None:
        super().__init__(*sentences((Role(role), f" is empty: {source} has no rows"), (advice,)))


class NoOverlapError(RankframeError):
    """Run and judgments that have nothing in common."""

    def __init__(self, key: str, run_ids: Sequence[str], qrels_ids: Sequence[str]) -> None:
        super().__init__(
            f"no {'query' if key == 'query_id' else 'document'} in the ",
            Role("run"),
            f" matches any judgment: run {key}s look like {listing(run_ids)}, qrels {key}s like "
            f"{listing(qrels_ids)}. {why_unlike(run_ids, qrels_ids)} If this is no mistake, pass ",
            Option("no_overlap", "zero"),
            ".",
        )


class NoSharedQueryError(RankframeError):
    """Two rankings without a query in common."""

    def __init__(self, ids_a: Sequence[str], ids_b: Sequence[str]) -> None:
        super().__init__(
            f"the two rankings have no query in common: those of the first look like "
            f"{listing(ids_a)}, of the second like {listing(ids_b)}. Is the key column right?"
        )


class MissingQueriesError(RankframeError):
    """Judged queries that the run lacks, where the caller said that none may be missing."""

    def __init__(self, count: int, judged: int, example: str) -> None:
        super().__init__(
            "the ",
            Role("run"),
            f" lacks {count:,} of {number_of(judged, 'judged query')}, e.g. {example!r}. Pass ",
            Option("missing", "zero"),
            " to score them 0, or ",
            Option("missing", "skip"),
            " to leave them out.",
        )


class UnknownMetricError(RankframeError):
    """A metric name that means nothing."""

    def __init__(self, name: str, suggestions: Sequence[str], problem: str = "") -> None:
        hint = f"Did you mean {' or '.join(repr(s) for s in suggestions)}?" if suggestions else ""
        said = problem or f"unknown metric {shorten(name)!r}"
        super().__init__(*sentences((said,), (hint,), ("See `rankframe metrics`",)))


class MetricParameterError(RankframeError):
    """A metric with a parameter that it lacks, or a value that it cannot take."""


class OptionError(RankframeError):
    """An option with a value that it does not take, or options that do not go together."""

    @classmethod
    def choice(cls, option: str, value: object, choices: Sequence[str]) -> OptionError:
        """An option whose value is none of its choices."""
        said = f"{option}={shown(value)} is not one of {listing(choices)}"
        return cls(*sentences((said,), (did_you_mean(str(value), choices),)))


class UnknownOptionError(OptionError, TypeError):
    """An option that a function does not take."""

    def __init__(self, function: str, name: str, known: Sequence[str]) -> None:
        super().__init__(
            *sentences((f"{function}() has no option {name!r}",), (did_you_mean(name, known),))
        )


class OutputError(RankframeError):
    """A place that cannot be written to."""


class ForkedError(RankframeError):
    """A process forked from one in which polars was at work."""

    def __init__(self) -> None:
        super().__init__(
            "this process was forked from one that had used polars, whose threads do not come "
            "along: the work would never end. Start processes with "
            'multiprocessing.get_context("spawn") or "forkserver", or use threads.'
        )


class SparkError(RankframeError):
    """Spark cannot start, cannot read an input, or gave up on the work."""


class MissingExtraError(RankframeError, ImportError):
    """A feature whose optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional part: pip install 'rankframe[{extra}]'.")

    @classmethod
    def package(cls, feature: str, package: str) -> MissingExtraError:
        """The same of a package that is in no extra: whoever wants it has it."""
        error = cls.__new__(cls)
        RankframeError.__init__(error, f"{feature} needs {package}: pip install {package}.")
        return error
