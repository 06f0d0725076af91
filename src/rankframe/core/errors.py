"""Define the errors of rankframe.

An error stores the parts of its message: what is wrong, how often, an example, and what to do. The
message writes options as arguments of a function, or as flags of a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rankframe.core.messages import (
    Option,
    Part,
    Role,
    did_you_mean,
    listing,
    masked,
    number_of,
    sentences,
    shorten,
    shown,
    why_unlike,
)
from rankframe.core.vocabulary import Vocabulary

# Parts of a message that are too long, such as ids: text in quotes, or text without blanks.
_LONG = re.compile(
    r"""'(?:[^'\\]|\\.){1000,}+'?|"(?:[^"\\]|\\.){1000,}+"?|[^\s'"]{1000,}+""", re.DOTALL
)


class RankframeError(ValueError):
    """Raised for bad input or usage; the base class of all errors of rankframe."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts
        # the name of the run, if there are several
        self.run = ""
        # the words for queries and documents, if the inputs are known
        self.vocabulary = Vocabulary()
        super().__init__(self.message())

    def message(self, *, flags: bool = False) -> str:
        """Return the error message; with `flags`, options are written as on a command line.

        Passwords are masked.
        """
        words = masked("".join(self._word(part, flags=flags) for part in self.parts))
        short = _LONG.sub(lambda long: shorten(long[0]), words)
        # Names may hold surrogates, which no stream can write.
        return short.encode("utf-8", "backslashreplace").decode()

    def _word(self, part: Part, *, flags: bool) -> str:
        if isinstance(part, Role):
            return part.text(self.run)
        return part.text(flags=flags) if isinstance(part, Option) else self.vocabulary.render(part)

    def __str__(self) -> str:
        return self.message()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.parts, vars(self))


def _restored(
    kind: type[RankframeError], parts: tuple[Part, ...], facts: dict[str, Any]
) -> RankframeError:
    """Recreate an error that was pickled."""
    error = kind.__new__(kind)
    RankframeError.__init__(error, *parts)
    vars(error).update(facts)
    return error


@contextmanager
def naming_the_run(name: str) -> Iterator[None]:
    """Name the run in errors raised inside the `with` block: "run b has 14 duplicate …"."""
    try:
        yield
    except RankframeError as error:
        error.run = name
        raise


@contextmanager
def in_vocabulary(vocabulary: Vocabulary) -> Iterator[None]:
    """Write errors raised inside the `with` block in the words of `vocabulary`, such as "user"."""
    try:
        yield
    except RankframeError as error:
        error.vocabulary = vocabulary
        raise


class UnreadableInputError(RankframeError):
    """Raised if a source cannot be read in its format."""

    def __init__(self, source: str, problem: str, *advice: Part) -> None:
        before, _, kind = source.partition("the run ")
        named = ("the ", Role("run"), f" {kind}") if kind and not before else (source,)
        super().__init__(*sentences(("cannot read ", *named, f": {problem}"), advice))


class MalformedLineError(RankframeError):
    """Raised if a text file has a malformed line."""

    def __init__(self, source: str, line: int, text: str, problem: str, count: int) -> None:
        more = f" ({count:,} such lines in all)" if count > 1 else ""
        super().__init__(f"{source}, line {line}: {problem}, in {shorten(text)!r}{more}.")
        self.source, self.line, self.text = source, line, text
        self.problem, self.count = problem, count


def _use_of(column: str) -> str:
    """Return what a column is used for, to follow "to": "use as query_id", "slice by"."""
    return "slice by" if column == "by" else f"use as {column}"


class MissingColumnError(RankframeError):
    """Raised if an input lacks a required column.

    `named`: the name that `columns=` gives it; `shared`: `columns=` names it for several inputs.
    """

    def __init__(
        self,
        role: str,
        column: str,
        columns: Sequence[str],
        *,
        named: str | None = None,
        shared: bool = False,
    ) -> None:
        what = f"column {named!r} to {_use_of(column)}" if named else f"{column} column"
        near = did_you_mean(named or column, columns)
        naming: tuple[Part, ...] = ("Name it: ", _of_side(role, column, "your_column"))
        if column == "relevance" and not named:
            naming += ("; if every row is a relevant pair, pass ", Option("relevance", 1.0))
        hint = (near,) if near else naming if shared or not named else ()
        if column == "relevance" and not named and {"score", "scores"} & set(columns):
            hint = ("Is this the run? The judgments come first",)
        if not named and any(name.strip("+-.")[:1].isdigit() for name in columns):
            # Names that are numbers, or begin like one, are more likely to be values.
            header = "If its first line is not a header, name columns by their numbers: "
            hint = (header, _of_side(role, column, "column_1"))
        problem = (Role(role), f" has no {what}; it has {listing(columns)}")
        super().__init__(*sentences(problem, hint))

    @classmethod
    def everywhere(
        cls, column: str, named: str, sides: Mapping[str, Sequence[str]]
    ) -> MissingColumnError:
        """Return the error for a column that no input has; `sides`: columns by role of input."""
        near = did_you_mean(named, [name for columns in sides.values() for name in columns])
        problem: list[Part] = [f"there is no column {named!r} to {_use_of(column)}"]
        for number, (role, columns) in enumerate(sides.items()):
            problem += ["; " if number else ": ", Role(role), f" has {listing(columns)}"]
        error = cls.__new__(cls)
        RankframeError.__init__(error, *sentences(problem, (near,)))
        return error


class AmbiguousColumnError(RankframeError):
    """Raised if several columns could be the required one."""

    def __init__(self, role: str, column: str, candidates: Sequence[str]) -> None:
        super().__init__(
            Role(role),
            f" has {len(candidates)} columns that may be {column}: {listing(candidates)}. "
            "Say which: ",
            _of_side(role, column, candidates[0]),
            ".",
        )


def _of_side(role: str, column: str, name: str) -> Option:
    """Return the option that names a column of one input."""
    return Option("columns", {role.removeprefix("ranking "): {column: name}})


class UnorderedRunError(RankframeError):
    """Raised if no column of a run orders its documents."""

    def __init__(self, role: str, columns: Sequence[str], numeric: Sequence[str]) -> None:
        problem = f" has neither a score nor a rank column; it has {listing(columns)}"
        may_be, advice = "", ("Give it one",)
        if numeric:
            may_be = f"These could be scores: {listing(numeric)}"
            advice = ("Say which: ", Option("columns", {"score": numeric[0]}))
        rows = (
            ", or pass ",
            Option("order", "rows"),
            " if its rows are in the order of the ranking",
        )
        super().__init__(*sentences((Role(role), problem), (may_be,), (*advice, *rows)))


class ColumnMappingError(RankframeError):
    """Raised if a `columns=` mapping has an unknown key."""

    def __init__(self, unknown: str, columns: Sequence[str], sides: Sequence[str] = ()) -> None:
        problem = (Option("columns"), f" names {unknown!r}, which rankframe does not know")
        near = did_you_mean(unknown, [*columns, *sides])
        advice = f"Map any of {listing(columns)} to the name of a column in your data"
        alone: tuple[Part, ...] = ()
        if sides:
            example = _of_side(sides[0], columns[0], "your_column")
            alone = (f"For one input only ({listing(sides)}): ", example)
        super().__init__(*sentences(problem, (near,), (advice,), alone))

    @classmethod
    def kind(cls, value: object) -> RankframeError:
        """Return the error for a `columns=` that is not a mapping."""
        example = Option("columns", {"query_id": "user_id"})
        return OptionError(
            Option("columns"),
            " takes a mapping of names, as in ",
            example,
            f", not {shown(value)}.",
        )


class ColumnTypeError(RankframeError):
    """Raised if the type of a column cannot be an id, a score or a grade."""

    def __init__(self, role: str, column: str, dtype: str, expected: str) -> None:
        super().__init__(
            Role(role), f" column {column!r} has type {dtype}; it must hold {expected}."
        )


class BadValueError(RankframeError):
    """Raised if rows have an invalid value."""

    def __init__(self, role: str, problem: str, count: int, example: str, advice: str) -> None:
        rows = "row" if count == 1 else "rows"
        text = (Role(role), f" has {count:,} {rows} with {problem}, e.g. {example}")
        super().__init__(*sentences(text, (advice,)))


class DuplicateError(RankframeError):
    """Raised if a query has a document more than once.

    `resolvable`: whether there is an option to keep only the best row of each document.
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
            resolvable = role in ("qrels", "run", "reference", "ranking a", "ranking b")
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
    """Raised if an input has no rows."""

    def __init__(self, role: str, source: str, advice: str = "") -> None:
        super().__init__(*sentences((Role(role), f" is empty: {source} has no rows"), (advice,)))


class NoOverlapError(RankframeError):
    """Raised if a run and judgments have no query or document in common."""

    def __init__(self, key: str, run_ids: Sequence[str], qrels_ids: Sequence[str]) -> None:
        super().__init__(
            f"no {'query' if key == 'query_id' else 'document'} in the ",
            Role("run"),
            f" matches any judgment: run {key}s look like {listing(run_ids)}, qrels {key}s like "
            f"{listing(qrels_ids)}. {why_unlike(run_ids, qrels_ids)} If this is no mistake, pass ",
            Option("no_overlap", "zero"),
            ".",
        )


class ConstantScoreError(RankframeError):
    """Raised if a run gives all documents of a query the same score, and has ranks beside it."""

    def __init__(self, queries: int) -> None:
        super().__init__(
            "the ", Role("run"), f" gives all documents of a query the same score, in all of its "
            f"{number_of(queries, 'query')}, so only document ids would decide the order. To use "
            "the ranks of the run, pass ", Option("ties", "rank"), " or ", Option("order", "rank"),
            "; to ignore the ranks, ", Option("order", "score"), ".",
        )  # fmt: skip
        self.queries = queries


class ContradictingRanksError(RankframeError):
    """Raised if the ranks of a run contradict its scores in most queries."""

    def __init__(self, count: int, queries: int) -> None:
        super().__init__(
            "in ", Role("run"), f", ranks contradict scores in {count:,} of "
            f"{number_of(queries, 'query')}: a document has a better rank than one with a higher "
            "score. If small scores are good, the score is a distance: pass ",
            Option("columns", {"distance": "score"}), ". Otherwise choose which to use: ",
            Option("order", "rank"), " or ", Option("order", "score"), ".",
        )  # fmt: skip
        self.count, self.queries = count, queries


class NoSharedQueryError(RankframeError):
    """Raised if two rankings have no query in common."""

    def __init__(self, ids_a: Sequence[str], ids_b: Sequence[str]) -> None:
        super().__init__(
            f"the two rankings have no query in common: the first has ids like "
            f"{listing(ids_a)}, the second like {listing(ids_b)}. Is the key column right?"
        )


class MissingQueriesError(RankframeError):
    """Raised if the run lacks judged queries, with missing="error"."""

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
    """Raised if a metric is unknown."""

    def __init__(self, name: str, suggestions: Sequence[str], problem: str = "") -> None:
        hint = f"Did you mean {' or '.join(repr(s) for s in suggestions)}?" if suggestions else ""
        text = problem or f"unknown metric {shown(name)}"
        super().__init__(*sentences((text,), (hint,), ("See `rankframe metrics`",)))


class MetricParameterError(RankframeError):
    """Raised if a metric lacks a parameter, or does not accept its value."""


class OptionError(RankframeError):
    """Raised if an option does not accept a value, or two options exclude each other."""

    @classmethod
    def choice(cls, option: str, value: object, choices: Sequence[str]) -> OptionError:
        """Return the error for a value that is none of an option's choices."""
        problem = f"{option}={shown(value)} is not one of {listing(choices)}"
        return cls(*sentences((problem,), (did_you_mean(value, choices),)))


class UnknownOptionError(OptionError, TypeError):
    """Raised if a function has no such option."""

    def __init__(self, function: str, name: str, options: Sequence[str]) -> None:
        super().__init__(
            *sentences((f"{function}() has no option {name!r}",), (did_you_mean(name, options),))
        )


class OutputError(RankframeError):
    """Raised if an output cannot be written."""


class ForkedError(RankframeError):
    """Raised in a process that was forked after polars had started threads in its parent."""

    def __init__(self) -> None:
        super().__init__(
            "this process was forked after polars had started its threads. A fork has no copy of "
            "these threads, so the work would never end. Start processes with "
            'multiprocessing.get_context("spawn") or "forkserver", or use threads.'
        )


class SparkError(RankframeError):
    """Raised if Spark cannot start, cannot read an input, or gives up on the work."""


class MissingExtraError(RankframeError, ImportError):
    """Raised if the optional dependency of a feature is not installed."""

    def __init__(self, feature: str, extra: str = "", package: str = "") -> None:
        """Take the package, or the extra of rankframe, that the feature needs."""
        needed = package or "an optional part"
        installed = package or f"'rankframe[{extra}]'"
        super().__init__(f"{feature} needs {needed}: pip install {installed}.")
