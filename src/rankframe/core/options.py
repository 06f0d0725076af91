"""Declare the options of all functions, with choices, default, check, the sentence in the
documentation, the line in the ledger, and the help of the flag.

Each group is a dataclass, which checks its values, and a TypedDict of the same names and types, by
which editors complete the keyword arguments of public functions: `**options: Unpack[SomeOptions]`.
`takes_options` lists the options in the signature and the documentation of a function. A new option
is a field and a line here; functions, commands and documentation follow
(tests/contracts/test_options.py).
"""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cache, wraps
from itertools import islice
from numbers import Integral, Real
from types import MappingProxyType, NoneType
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from rankframe.core.caveats import CAVEATS, collected_caveats, silenced, warn_once
from rankframe.core.errors import OptionError, UnknownOptionError
from rankframe.core.messages import Option, shown
from rankframe.core.records import record

F = TypeVar("F", bound=Callable[..., Any])
_WIDTH = 88
# A sentence on an option in a docstring.
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_LARGEST = (1 << 63) - 1
# Products and sums of grades, gains and weights of at most this size do not overflow.
LARGEST_WEIGHT = 1e100
# The most entries of a list that an option takes, such as a list of queries.
_LONGEST_LIST = 10_000_000
# The longest name of a metric or a rule.
LONGEST_NAME = 1_000


# What options take --------------------------------------------------------------------------------


def is_number(value: object) -> bool:
    """Tell whether a value is a number that a float can hold, and not NaN."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # a whole number that is too large for a float
        return False


def is_whole(value: object) -> bool:
    """Tell whether a value is a whole number, and neither True nor False."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """Tell whether a value is a whole number of at least 1, and of at most 64 bits."""
    return is_whole(value) and 1 <= int(value) <= _LARGEST


class Check(NamedTuple):
    """Test the values of an option; `expected` and `show` are for the error about a wrong value."""

    passes: Callable[[Any], bool]
    expected: str
    show: Callable[[Any], str] = shown

    def refuse(self, name: str, value: Any) -> None:
        """Refuse a value of an option that does not pass."""
        if not self.passes(value):
            problem = f" must be {self.expected}, not {self.show(value)}."
            raise OptionError(Option(name, bare=True), problem)


def _is_settings(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and all(isinstance(name, str) for name in value)
        and all(isinstance(setting, str | int | float) for setting in value.values())
    )


COUNT = Check(is_count, "a whole number of at least 1")
REPLICATES = Check(
    lambda value: is_count(value) and 100 <= value <= 100_000,
    "a whole number from 100 to 100,000",
)
TEXT = Check(lambda value: isinstance(value, str), "a text")
_WHOLE = Check(is_whole, "a whole number")
_CONFIDENCE = Check(
    lambda value: is_number(value) and 0.5 <= value < 1,
    "a number from 0.5 to below 1, such as 0.95",
)
_PROGRESS = Check(
    lambda value: value is None or callable(value),
    "a function that is called with the progress so far, such as print",
)
_SETTINGS = Check(
    _is_settings,
    'a mapping of names to texts or numbers, such as {"aws_region": "eu-west-1"}',
    # values may be secret
    lambda value: "a mapping of other types" if isinstance(value, Mapping) else shown(value),
)
_SPLIT = Check(
    lambda value: (
        isinstance(value, Mapping)
        and all(isinstance(name, str) for name in value)
        and all(mark is None or (isinstance(mark, str) and mark) for mark in value.values())
    ),
    'a mapping of attributes to what separates their values, such as {"genres": "|"}',
)
_CODES = Check(
    lambda value: (
        isinstance(value, str | list | tuple | set | frozenset)
        and all(
            isinstance(code, str) and code in CAVEATS
            for code in ([value] if isinstance(value, str) else value)
        )
    ),
    f"codes of caveats ({', '.join(CAVEATS)})",
)
# "no" would be true
FLAG = Check(lambda value: isinstance(value, bool), "True or False")
_BY_TYPE = {bool: FLAG, float: Check(is_number, "a number")}


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value that is none of an option's choices."""
    if not isinstance(value, str) or value not in choices:
        raise OptionError.choice(name, value, choices)


def is_listed(values: Any) -> bool:
    """Tell whether an object lists values; a text is one value, and an open file holds bytes."""
    if isinstance(values, str | bytes | Mapping) or hasattr(values, "readable"):
        return False
    if hasattr(values, "lazy"):  # frames have columns
        return False
    try:
        iter(values)
    except TypeError:  # an array without dimensions is an Iterable, too
        return False
    return True


def take_all(name: str, values: Iterable[Any], most: int = 1_000_000) -> list[Any]:
    """Return the values that an option lists; refuse more than `most`, as they may never end."""
    taken = list(islice(values, most + 1))
    if len(taken) > most:
        raise OptionError(Option(name, bare=True), f" lists more than {most:,} values.")
    return taken


def check_list(name: str, values: Any, expected: str) -> list[Any]:
    """Return the values of an option as a list; refuse anything that lists no values."""
    if not is_listed(values):
        problem = f" must be {expected}, not {shown(values)}."
        raise OptionError(Option(name, bare=True), problem)
    return take_all(name, values, _LONGEST_LIST)


@record
class OptionInfo:
    """Describe one option of a group."""

    name: str
    type: Any
    default: Any
    sentence: str  # for the documentation of functions
    help: str  # for the flag of commands
    ledger: str | None  # format of its line in the ledger; None: it has none
    unset: str | None  # its line in the ledger where it is None or False
    check: Check | None
    needs: str | None  # the option without which this one has no line in the ledger

    def refuse(self, value: Any) -> None:
        """Refuse a value that the option does not take."""
        kinds, listed = (self.type, *get_args(self.type)), list(choices(self.type))
        if value is None and NoneType in kinds:
            return
        if listed and not (isinstance(value, str) and value in listed):
            listed += ["None"] if NoneType in kinds else []
            raise OptionError.choice(self.name, value, listed)
        if self.check is not None:
            self.check.refuse(self.name, value)


def option(
    default: Any,
    help: str,  # noqa: A002 (as argparse and typer call it)
    *,
    ledger: str | None = "{}",
    unset: str | None = None,
    check: Check | None = None,
    needs: str | None = None,
) -> Any:
    """Declare an option: a dataclass field of a group, whose docstring has a sentence on it."""
    facts = {"help": help, "ledger": ledger, "unset": unset, "check": check, "needs": needs}
    return field(default=default, metadata=facts)


class Options:
    """Hold the values of a group of options, which are checked on creation."""

    # heads its section in the documentation of functions
    title: ClassVar[str] = "Options"

    def __post_init__(self) -> None:
        for info in declared(type(self)):
            if (value := getattr(self, info.name)) is not info.default:
                info.refuse(value)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Make the group from keyword arguments, ignoring options of other groups."""
        names = vars(cls)["__dataclass_fields__"].keys() & options.keys()
        return cls(**{name: options[name] for name in names})

    def described(self) -> dict[str, str]:
        """Return what the ledger says about each option, by name."""
        lines: dict[str, str] = {}
        for info in declared(type(self)):
            if info.needs and getattr(self, info.needs) is None:
                continue
            value = getattr(self, info.name)
            line = info.unset if value is None or value is False else info.ledger
            value = float(value) if isinstance(value, Fraction) else value
            if line is not None:
                lines[info.name] = line.format(value)
        return lines


@cache
def declared(group: type[Options]) -> list[OptionInfo]:
    """List the options of a group."""
    types = get_type_hints(group)
    infos: list[OptionInfo] = []
    for item in fields(group):  # pyright: ignore[reportArgumentType]
        kind, facts = types[item.name], dict(item.metadata)
        by_type = (_BY_TYPE[part] for part in (kind, *get_args(kind)) if part in _BY_TYPE)
        facts["check"] = facts["check"] or next(by_type, None)
        sentence = _sentences(facts.pop("same_as", group)).get(item.name, "")
        infos.append(OptionInfo(item.name, kind, item.default, sentence, **facts))
    return infos


@cache
def _sentences(group: type[Options]) -> dict[str, str]:
    """Return the sentences on options in the docstrings of a group and its base classes."""
    sentences: dict[str, str] = {}
    for owner in reversed(group.__mro__):
        found = _ENTRY.findall(inspect.cleandoc(owner.__doc__ or ""))
        sentences |= {name: " ".join(text.split()) for name, text in found}
    return sentences


def same_option(group: type[Options], name: str) -> Any:
    """Declare an option with the same properties as in another group."""
    original = vars(group)["__dataclass_fields__"][name]
    return field(default=original.default, metadata={**original.metadata, "same_as": group})


def choices(kind: Any) -> Iterator[str]:
    """Yield the values of the `Literal`s in a type."""
    for part in (kind, *get_args(kind)):
        if get_origin(part) is Literal:
            yield from get_args(part)


# Progress -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Progress:
    """Describe the current stage of the work, and how many of its rows are done."""

    stage: str
    rows: int
    total_rows: int
    queries: int
    # what is counted, if not rows of the inputs
    unit: str = "rows"


Report = Callable[[Progress], None]


# Functions that take options ----------------------------------------------------------------------


def takes_options(
    keywords: type | None = None, *groups: type[Options], **defaults: object
) -> Callable[[F], F]:
    """Let a public function take declared options as its `**options: Unpack[keywords]`.

    Args:
        keywords: the TypedDict that names the options; None if the function has none.
        groups: where they are declared. An option belongs to the first group that has its name.
        defaults: defaults of this function that differ from the declared ones.

    The function's signature and documentation then list every option, and a name that is none of
    its arguments is refused, as is a `progress` that cannot be called and a flag that is neither
    True nor False. While the function is at work, its `storage_options` and `silence` hold, and
    with a `max_memory`, what is freed goes back to the system at once. The function warns of the
    caveats of what it returns.
    """

    def decorate(function: F) -> F:
        sections = _sections(keywords, groups)
        infos = {info.name: info for section in sections.values() for info in section}
        signature = inspect.signature(function)
        main = {
            name: parameter
            for name, parameter in signature.parameters.items()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        }
        checks = {
            name: FLAG for name, parameter in main.items() if parameter.annotation == "bool"
        } | {"progress": _PROGRESS}
        keyword_only = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name, info.default),
                annotation=info.type,
            )
            for name, info in infos.items()
        ]
        names = main.keys() | infos.keys()

        @wraps(function)
        def called(*args: Any, **arguments: Any) -> Any:
            for name, value in arguments.items():
                if name not in names:
                    raise UnknownOptionError(function.__name__, name, sorted(names))
                if name in checks:
                    checks[name].refuse(name, value)
            with ExitStack() as stack:
                if arguments.get("storage_options") is not None:
                    stack.enter_context(reached_with(arguments["storage_options"]))
                if arguments.get("max_memory") is not None:
                    from rankframe.core.allocators import freed_at_once  # noqa: PLC0415 (rare)

                    stack.enter_context(freed_at_once())
                if arguments.get("silence") is not None:
                    _CODES.refuse("silence", arguments["silence"])
                    stack.enter_context(silenced(arguments["silence"]))
                inner = stack.enter_context(collected_caveats())
                result = function(*args, **{**defaults, **arguments})
            warn_once(getattr(result, "caveats", ()), inner)
            return result

        called.option_groups = groups  # pyright: ignore[reportAttributeAccessIssue]
        called.__signature__ = signature.replace(parameters=[*main.values(), *keyword_only])  # pyright: ignore[reportAttributeAccessIssue]
        called.__doc__ = _documented(function.__doc__ or "", sections)
        return called  # pyright: ignore[reportReturnType]

    return decorate


def _sections(
    keywords: type | None, groups: tuple[type[Options], ...]
) -> dict[str, list[OptionInfo]]:
    """Return the options that a TypedDict names, by the title of the group that declares them."""
    undeclared = set(inspect.get_annotations(keywords)) if keywords else set()
    sections: dict[str, list[OptionInfo]] = {}
    for group in groups:
        sections[group.title] = [info for info in declared(group) if info.name in undeclared]
        undeclared -= {info.name for info in sections[group.title]}
    if undeclared:
        raise TypeError(f"{keywords} names {sorted(undeclared)}, which no group declares.")
    return sections


def _documented(docstring: str, sections: Mapping[str, list[OptionInfo]]) -> str:
    """Add a section for each group to a docstring, before its examples."""
    text, prompt, examples = inspect.cleandoc(docstring).partition("\n>>> ")
    wrapper = textwrap.TextWrapper(
        _WIDTH,
        initial_indent=" " * 4,
        subsequent_indent=" " * 8,
        break_long_words=False,
        break_on_hyphens=False,
    )
    parts = [text.rstrip()]
    for title, infos in sections.items():
        entries = [wrapper.fill(f"{info.name}: {info.sentence}") for info in infos]
        parts.append("\n".join([f"{title}:", *entries]))
    return "\n\n".join(parts) + f"\n{prompt}{examples}\n"


# Choices ----------------------------------------------------------------------------------------

Order: TypeAlias = Literal["columns", "rows", "score", "rank"]
Ranks: TypeAlias = Literal["renumbered", "kept"]
Ties: TypeAlias = Literal["doc_desc", "doc_asc", "as_given", "rank"]
# Orders of ties where judgments tell the grades of the documents.
JudgedTies: TypeAlias = Literal["doc_desc", "doc_asc", "as_given", "rank", "best", "worst"]
Duplicates: TypeAlias = Literal["error", "keep_best"]
# The units that documents are part of: a table, its file, a mapping, or an expression over doc_id.
Unit: TypeAlias = Any
UnitRanks: TypeAlias = Literal["renumbered", "kept"]
# Attributes of documents and what separates their values; None: nothing does.
SplitBy: TypeAlias = Mapping[str, str | None]
# A table in any form that can be read.
Table: TypeAlias = Any
Missing: TypeAlias = Literal["zero", "skip", "error"]
MissingAmong: TypeAlias = Literal["zero_if_few", "zero", "skip", "error"]
NoRelevant: TypeAlias = Literal["zero", "skip"]
NoOverlap: TypeAlias = Literal["error", "zero"]
Unshared: TypeAlias = Literal["shared", "bottom"]
UnmatchedQueries: TypeAlias = Literal["keep", "skip"]
Unpaired: TypeAlias = Literal["error", "skip", "zero"]
Method: TypeAlias = Literal["bootstrap", "t"]
Test: TypeAlias = Literal["t", "wilcoxon", "sign", "randomisation", "tukey"]
Correction: TypeAlias = Literal["holm", "bonferroni", "bh", "none"]
# What `rankframe plot` draws: the names of the charts in `plot`.
ChartTheme: TypeAlias = Literal["light", "dark"]
# The largest less the least of several means, or the mean difference of two of them.
GapKind: TypeAlias = Literal["range", "mean"]
Average: TypeAlias = Literal[
    "macro", "micro", "geometric", "weighted", "sum", "median", "min", "quantile",
]  # fmt: skip
# {"aws_region": "eu-central-1"}: under the names that polars has.
StorageSettings: TypeAlias = Mapping[str, str | int | float | bool]


# Policies -----------------------------------------------------------------------------------------

# Options that only metrics of what was retrieved look at.
_TABLES = ("train", "items", "catalogue", "reference")


@record
class Policies(Options):
    """Decide what counts when a run is evaluated against judgments.

    Args:
        rel: the lowest grade that counts as relevant (default: any grade above 0). Graded metrics,
            such as ndcg, use the grades themselves.
        relevance: the grade of every judged pair, for judgments without grades. It is an error if
            the judgments have grades.
        missing: a judged query that the run lacks scores 0 ("zero"), is left out ("skip") or is an
            "error".
        no_relevant: a query without relevant documents scores 0 ("zero") or is left out ("skip").
        no_overlap: a run in which no document is judged is an "error", or scores 0 ("zero").
        order: what orders the documents of a query: the scores or, without scores, the distances
            or, without both, the ranks ("columns"); only the scores ("score"); only the ranks
            ("rank"); or the order of the rows ("rows"). A run without any such column is an error,
            unless it has lists of documents. With "columns", it is also an error if ranks
            contradict scores in most queries.
        ranks: with "renumbered", ranks in the run only order its documents, which are then numbered
            from 1. With "kept", documents keep their ranks in the run, whatever their scores, and
            gaps count as unjudged documents.
        ties: documents with equal scores are ordered by doc_id, descending ("doc_desc", as in
            trec_eval) or ascending ("doc_asc"), by their ranks in the run, then by doc_id ("rank"),
            or stay in the order of the rows ("as_given"). "best" and "worst" order them by their
            grades, for the largest and the smallest value that a metric can have.
        duplicates: several rows of a query for the same document are an "error", or only the best
            row is kept ("keep_best").
        k_max: keep only the top N documents of each query. This follows the removal of duplicates
            and precedes the removal of unjudged documents.
        unit: the judged document, called a unit, that each retrieved chunk belongs to: a frame or
            file with doc_id and unit, a dict, or an expression over doc_id such as
            pl.col("doc_id").str.split("#").list.first(). A unit has the best rank and score of its
            chunks; units with equal scores are ordered by name.
        unit_ranks: with `unit`, units are numbered from 1 ("renumbered"), or have the rank of their
            best chunk ("kept").
        train: earlier interactions (query_id, doc_id and optionally count). Metrics such as novelty
            compare the retrieved documents with them.
        exclude_seen: remove documents that the query already has in `train`, before ranking.
        items: the documents that can be retrieved, with attributes: a frame with doc_id and any
            other columns.
        split: text attributes of `items` that list several values, with the separator of the
            values: {"genres": "|"}. If a metric uses an attribute whose texts look like lists, the
            attribute must be named here; {"genres": None} treats each text as one value.
        catalogue: the documents that can be retrieved (default: the documents in `items`, else the
            documents in `train`).
        reference: another run, which `unexpectedness` compares with.
        silence: codes of caveats that are left out, such as "ties" (see docs/caveats.md).
        judged_only: remove unjudged documents, and documents with a negative grade, from the run
            after it is cut at `k_max`, and rank the others without gaps.
    """

    title: ClassVar[str] = "Policies"

    rel: float | None = option(
        None,
        "Lowest grade that counts as relevant (default: any above 0).",
        ledger="grade of at least {:g}",
        unset="any grade above 0",
    )
    relevance: float | None = option(
        None,
        "Grade of every judged pair, for judgments without grades.",
        ledger="{:g} for every pair",
    )
    missing: Missing = option(
        "zero", "Judged queries that the run lacks: score 0, leave out, or fail."
    )
    no_relevant: NoRelevant = option(
        "zero", "Queries without relevant documents: score 0 or leave out."
    )
    no_overlap: NoOverlap = option(
        "error", "A run in which no document is judged: fail or score 0.", ledger=None
    )
    order: Order = option(
        "columns",
        "Order documents by the first column of score, distance and rank, by one of these, or in "
        "the order of the rows.",
        ledger=None,  # the ledger has the column itself
    )
    ranks: Ranks = option(
        "renumbered",
        "Ranks in the run: only order documents by them, or keep them and their gaps.",
    )
    ties: JudgedTies = option("doc_desc", "Order of documents with equal scores.")
    duplicates: Duplicates = option(
        "error", "A document that a query has twice: fail or keep the best."
    )
    k_max: int | None = option(
        None,
        "Keep only the top N of each list (after removing duplicates, before unjudged documents).",
        ledger="the top {}",
        unset="the whole list",
        check=COUNT,
    )
    unit: Unit = option(
        None,
        "Map chunks to documents: a file with doc_id and unit.",
        ledger="documents are rolled up to units",
    )
    unit_ranks: UnitRanks = option(
        "renumbered",
        "With --unit: number units from 1, or by the rank of their best chunk.",
        needs="unit",
    )
    train: Table = option(
        None, "Earlier interactions: a file with query_id and doc_id.", ledger="given"
    )
    exclude_seen: bool = option(
        False,  # noqa: FBT003 (a default)
        "Remove documents that the query already has in --train before ranking.",
        ledger="yes",
    )
    items: Table = option(
        None,
        "Documents that can be retrieved: a file with doc_id and attributes.",
        ledger="given",
    )
    split: SplitBy | None = option(
        None,
        "Split a text attribute of --items that lists values, e.g. genres=| (repeat).",
        check=_SPLIT,
        needs="items",
    )
    catalogue: Table = option(
        None, "The catalogue (default: the documents in --items).", ledger="given"
    )
    reference: Table = option(
        None, "Another run, which unexpectedness compares with.", ledger="given"
    )
    silence: Sequence[str] | None = option(
        None,
        "Leave out a caveat of docs/caveats.md, by code (repeatable).",
        ledger=None,  # it changes no number
        check=_CODES,
    )
    judged_only: bool = option(
        False,  # noqa: FBT003 (a default)
        "Remove unjudged documents, and documents with a negative grade, after --k-max.",
        ledger="yes",
        unset="no",
    )

    @property
    def run_duplicates(self) -> Duplicates:
        """Return what to do with duplicates in a run: of a unit's chunks, the best is kept."""
        return self.duplicates if self.unit is None else "keep_best"

    @property
    def shows(self) -> bool:
        """Tell whether `train`, `items`, `catalogue` or `reference` was passed."""
        return any(getattr(self, name) is not None for name in _TABLES)

    @property
    def judging(self) -> Policies:
        """Return a copy for metrics of judgments alone, over a run that is already opened."""
        return Policies(**{**vars(self), **dict.fromkeys(_TABLES), "exclude_seen": False})

    @property
    def keeps_chunk_ranks(self) -> bool:
        """Tell whether a unit is given the rank of its best chunk."""
        return self.unit is not None and self.unit_ranks == "kept" and self.ranks != "kept"


@record
class SharedPolicies(Policies):
    """Decide what counts when several runs are evaluated to be compared.

    Args:
        missing: a judged query that a run lacks scores 0 ("zero"), is left out ("skip") or is an
            "error". "zero_if_few" is "zero" while any two systems share at least half of their
            queries, and otherwise an error.
    """

    missing: MissingAmong = option(  # pyright: ignore[reportIncompatibleVariableOverride]
        "zero_if_few",
        "Judged queries that a run lacks. zero_if_few: score 0 if systems share half or more.",
    )

    @property
    def each(self) -> Policies:
        """Return the policies for the evaluation of each run."""
        missing: Missing = "zero" if self.missing == "zero_if_few" else self.missing
        return Policies(**{**vars(self), "missing": missing})


@record
class PairPolicies(Options):
    """Decide what counts when two rankings are compared with each other.

    Args:
        ties: documents with equal scores are ordered by doc_id, descending ("doc_desc", as in
            trec_eval) or ascending ("doc_asc"), by their ranks in the run, then by doc_id ("rank"),
            or stay in the order of the rows ("as_given").
        missing: correlations compare only documents that both rankings have ("shared"), or all
            documents, where each ranking has the documents that it lacks at its end ("bottom").
        unmatched_queries: a query that only one ranking has is kept, with nothing in common
            ("keep"), or left out ("skip").
    """

    title: ClassVar[str] = "Policies"

    order: Order = same_option(Policies, "order")
    ties: Ties = option("doc_desc", "Order of documents with equal scores.")
    duplicates: Duplicates = same_option(Policies, "duplicates")
    missing: Unshared = option(
        "shared", "Correlations: shared documents only, or missing ones at the bottom."
    )
    k_max: int | None = same_option(Policies, "k_max")
    unmatched_queries: UnmatchedQueries = option(
        "keep", "Queries that only one ranking has: keep or leave out."
    )


class OrderOptions(TypedDict, total=False):
    """Declare the keyword options that apply to any ranking."""

    order: Order
    duplicates: Duplicates
    k_max: int | None


class RunOptions(OrderOptions, total=False):
    """Declare the keyword options for a run, with or without judgments."""

    ties: JudgedTies
    ranks: Ranks
    unit: Unit
    unit_ranks: UnitRanks
    train: Table
    exclude_seen: bool


class CatalogueOptions(TypedDict, total=False):
    """Declare the keyword options for catalogue and training data."""

    items: Table
    split: SplitBy | None
    catalogue: Table


class RetrievedOptions(RunOptions, CatalogueOptions, total=False):
    """Name the policies that decide what the retrieved frame holds."""

    rel: float | None
    relevance: float | None
    reference: Table


class JudgedOptions(RunOptions, total=False):
    """Name the policies that decide what the judged frame holds."""

    rel: float | None
    relevance: float | None
    judged_only: bool


class _MostPolicyOptions(RetrievedOptions, total=False):
    no_relevant: NoRelevant
    no_overlap: NoOverlap
    judged_only: bool
    silence: Sequence[str] | None


class PolicyOptions(_MostPolicyOptions, total=False):
    """Declare the keyword options of `Policies`."""

    missing: Missing


class SharedPolicyOptions(_MostPolicyOptions, total=False):
    """Declare the keyword options of `SharedPolicies`."""

    missing: MissingAmong


class PairedOptions(OrderOptions, total=False):
    """Name the policies that decide what the pair frame holds."""

    ties: Ties
    missing: Unshared


class PairPolicyOptions(PairedOptions, total=False):
    """Declare the keyword options of `PairPolicies`."""

    unmatched_queries: UnmatchedQueries


# Intervals and comparisons ------------------------------------------------------------------------


@record
class Intervals(Options):
    """Decide how confidence intervals of averages are computed.

    Args:
        ci: confidence intervals of the averages, by "bootstrap" over queries, by Student's "t", or
            None. The bootstrap draws from hashes of query ids, so that a seed gives equal intervals
            on every machine.
        confidence: the confidence level of the intervals.
        replicates: the number of bootstrap replicates.
        seed: the seed of all random draws.
    """

    title: ClassVar[str] = "Intervals"

    ci: Method | None = option("bootstrap", "Method of the confidence intervals.")
    confidence: float = option(0.95, "Confidence level of the intervals.", check=_CONFIDENCE)
    replicates: int = option(1_000, "Number of bootstrap replicates.", check=REPLICATES)
    seed: int = option(0, "Random seed for bootstrap and randomisation tests.", check=_WHOLE)

    def described(self) -> dict[str, str]:
        """Return what the ledger says about intervals: their level and method."""
        if self.ci is None:
            return {"ci": "none"}
        how = "Student's t"
        if self.ci == "bootstrap":
            how = f"bootstrap, {self.replicates:,} replicates, seed {self.seed}"
        return {"ci": f"{100 * self.confidence:g}%, {how}"}


@record
class Comparing(Options):
    """Decide how systems are compared.

    Args:
        test: the paired test: "t"; "wilcoxon" (signed rank); "sign"; "randomisation" (Fisher's);
            "tukey" (honest significant difference of all systems at once, by randomisation).
        correction: the correction of p values for multiple testing: "holm", "bonferroni", "bh"
            (Benjamini–Hochberg) or "none". Tests over all queries are one family (metrics × pairs),
            each slicing attribute another (metrics × pairs × slices). Tukey's p values are
            corrected over pairs already.
        unpaired: a query that one of the systems lacks is an "error", is left out ("skip") or
            scores 0 ("zero"; undefined for metrics of which lower is better). The ledger counts
            such queries.
        permutations: the number of permutations of randomisation tests.
    """

    title: ClassVar[str] = "Comparison"

    test: Test = option("t", "The paired significance test.")
    correction: Correction = option(
        "holm", "Multiple-testing correction, applied separately per slicing attribute."
    )
    unpaired: Unpaired = option(
        "error", "Queries that not every system has: fail, leave out, or score 0."
    )
    permutations: int = option(
        10_000, "Number of permutations of randomisation tests.", check=REPLICATES
    )


class IntervalOptions(TypedDict, total=False):
    """Declare the keyword options of `Intervals`."""

    ci: Method | None
    confidence: float
    replicates: int
    seed: int


class SignificanceOptions(TypedDict, total=False):
    """Declare the keyword options of a significance test."""

    test: Test
    correction: Correction
    permutations: int


class UnpairedOptions(TypedDict, total=False):
    """Name the option of systems that may have different queries."""

    unpaired: Unpaired


# Storage ------------------------------------------------------------------------------------------


@record
class Storage(Options):
    """Decide how remote storage is reached.

    Args:
        storage_options: settings of remote storage (`s3://…`), such as `endpoint_url`,
            `aws_region` and keys, under the names that polars has (default: environment variables
            such as `AWS_ENDPOINT_URL`).
    """

    title: ClassVar[str] = "Storage"

    storage_options: StorageSettings | None = option(
        None,
        "Setting of remote storage (S3, GCS, …), e.g. aws_region=eu-central-1 (repeatable).",
        ledger=None,  # there are keys among them
        check=_SETTINGS,
    )


class StorageOptions(TypedDict, total=False):
    """Declare the keyword options of `Storage`."""

    storage_options: StorageSettings | None


_NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})
_storage_options: ContextVar[Mapping[str, Any]] = ContextVar("storage", default=_NO_SETTINGS)


def storage_options() -> Mapping[str, Any]:
    """Return the settings of remote storage that are in force."""
    return _storage_options.get()


@contextmanager
def reached_with(settings: Mapping[str, Any] | None) -> Iterator[None]:
    """Use the given settings of remote storage for all files inside the `with` block.

    None keeps the current settings. Settings never appear in a ledger or a file.
    """
    checked = Storage(settings).storage_options
    if checked is None:
        yield
        return
    before = _storage_options.set(MappingProxyType(dict(checked)))
    try:
        yield
    finally:
        _storage_options.reset(before)


# What public functions take -----------------------------------------------------------------------


class SparkEvaluateOptions(PolicyOptions, IntervalOptions, total=False):
    """Declare the keyword options of `spark.evaluate`."""


class EvaluateOptions(SparkEvaluateOptions, StorageOptions, total=False):
    """Declare the keyword options of `evaluate` and `curve`."""


class SparkAgreeOptions(PairPolicyOptions, IntervalOptions, total=False):
    """Declare the keyword options of `spark.agree`."""


class AgreeOptions(SparkAgreeOptions, StorageOptions, total=False):
    """Declare the keyword options of `agree`."""


class GateOptions(SharedPolicyOptions, UnpairedOptions, StorageOptions, total=False):
    """Declare the keyword options of `gate`."""


class TuneOptions(
    SharedPolicyOptions, SignificanceOptions, IntervalOptions, StorageOptions, total=False
):
    """Declare the keyword options of `tune`."""


class CompareOptions(TuneOptions, UnpairedOptions, total=False):
    """Declare the keyword options of `compare` and `report`."""


class DiffOptions(PolicyOptions, StorageOptions, total=False):
    """Declare the keyword options of `diff`."""


class JudgeOptions(JudgedOptions, StorageOptions, total=False):
    """Declare the keyword options of `judge`."""


class RetrieveOptions(RetrievedOptions, StorageOptions, total=False):
    """Declare the keyword options of `retrieved`."""


class ExposureOptions(RunOptions, CatalogueOptions, StorageOptions, total=False):
    """Declare the keyword options of `exposure`."""


class PairOptions(PairedOptions, StorageOptions, total=False):
    """Declare the keyword options of `pair`."""
