"""Declare the caveats: facts that can mislead a reader of numbers, each with a threshold.

A caveat is a row of the ledger, so it stands wherever a ledger goes: in results, comparisons,
verdicts, reports, JSON and stored files. Functions that return such an object also raise a
`RankframeWarning` for each of its caveats; commands print it on stderr. `silence=` leaves caveats
out by their codes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import polars as pl

PREFIX: Final = "caveat_"
# Tests that draw permutations draw as many as their correction needs, up to this number.
MOST_PERMUTATIONS: Final = 100_000
_silenced: ContextVar[frozenset[str]] = ContextVar("silenced", default=frozenset())
# Caveats of nested public functions, collected for the outer public function that is running;
# None: no public function is running.
_collected: ContextVar[list[Caveat] | None] = ContextVar("collected", default=None)


class RankframeWarning(UserWarning):
    """Warn that a number may mislead; `code` names the caveat (see docs/caveats.md)."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[RankframeWarning], tuple[str, str]]:
        return type(self), (str(self), self.code)


class CaveatInfo(NamedTuple):
    """Describe one kind of caveat."""

    threshold: float  # the caveat applies to values above it
    value: str  # what the value measures, for the documentation
    sentence: str  # a format string with the fields `value` and other facts
    advice: str  # what to do, for the documentation


class Caveat(NamedTuple):
    """Hold a fact that can mislead a reader of numbers: its code, its value and a sentence."""

    code: str
    value: float
    text: str

    def __str__(self) -> str:
        return f"{self.text} [{self.code}]"

    def about(self, system: str | None) -> Caveat:
        """Return this caveat with the name of its system in front; None: it is about all."""
        return self if system is None else self._replace(text=f"{system}: {self.text}")


CAVEATS: Final[Mapping[str, CaveatInfo]] = {
    "ties": CaveatInfo(
        0.02,
        "how far the order of documents with equal scores moves a metric: best minus worst value, "
        "as a share of the value",
        "ties: documents with equal scores are ordered by id. By their order, {metric} is between "
        "{low:.4f} and {high:.4f}",
        'If the run has ranks that say the order, pass `ties="rank"`. Otherwise compare systems by '
        'their worst case, `ties="worst"`, or store scores with more digits.',
    ),
    "ranks_contradict_scores": CaveatInfo(
        0.1,
        "the share of queries in which a document has a better rank than one with a higher score",
        "in {value:.0%} of the queries, ranks contradict scores. Scores were used",
        "Find out which of the two is right. Drop the other column, or name the right one with "
        '`columns=`. A score that falls with relevance is a distance: `columns={"distance": …}`. '
        "Above 50%, rankframe refuses the run.",
    ),
    "stored_worst_first": CaveatInfo(
        0.9,
        "the share of rows with a better score (or else rank) than the row stored before them, of "
        "the same query, in a run that does not have both",
        "the run seems to be upside down: its {column!r} {moves} from row to row, in {value:.0%} "
        "of the rows, and ranked lists are stored best first. If {good} numbers are good, it "
        "is a {other}: rename the column, or pass {option}",
        'Is the score a distance? `columns={"distance": …}` says so. If the order of the rows '
        'means nothing, `order="score"` says that the scores are right. Spark, where rows have no '
        "order, never says it.",
    ),
    "few_judged": CaveatInfo(
        0.95,
        "the share of the top 10 without a judgment",
        "only {judged:.1%} of the top 10 are judged. Unjudged documents count as not relevant"
        "{examples}",
        "Do ids match? If so, judge more documents, or look at the judged ones alone with "
        "`judged_only=True`; `compare(…, bounds=True)` says how far values could change.",
    ),
    "lengths_differ": CaveatInfo(
        2,
        "how many documents fewer the lists of a system have in their top 10, on average, than "
        "those of the system with the longest lists",
        "its top 10 have {length:.1f} documents on average, and those of another system "
        "{most:.1f}. Empty places count as not relevant",
        "Was the run cut off? Compare both at the depth of the shorter one: `k_max=3`, or a "
        "metric such as ndcg@3. If the system finds no more, its values are right.",
    ),
    "judgments_of_others": CaveatInfo(
        0.45,
        "relevant documents found in the top 10 of other queries, as a share of these and of those "
        "found in the top 10 of their own query, where lists of different queries differ (a sample "
        "of 32 queries)",
        "in a sample of {queries} queries, the top 10 have {own} relevant documents of their own "
        "query, and would have about {other:.0f} if each query had the judgments of another one. "
        "Are these the right query ids?",
        "Were judgments and run made from the same file of queries, with the same ids? A ranking "
        "that does not depend on the query looks the same.",
    ),
    "judged_differ": CaveatInfo(
        0.1,
        "how far the judged shares of the top k of two systems lie apart, in the queries that both "
        "have",
        "judgments favour {better}: of the top {k}, {high:.0%} are judged for {better} and "
        "{low:.0%} for {worse}, and unjudged documents count as not relevant. {condensed}",
        "The judgments were probably made from the results of one system, for example from clicks. "
        "Judge what both systems retrieved, or decide by `judged_only=True` and by the bounds.",
    ),
    "queries_missing": CaveatInfo(
        0.01,
        "the share of judged queries that the run lacks",
        "{value:.1%} of the judged queries are not in the run. They {done}",
        'Is this the right file, and was the job complete? `missing="skip"` leaves them out.',
    ),
    "undefined_differ": CaveatInfo(
        0.01,
        "the share of queries in which a metric is undefined for some of the compared systems only",
        "{metric} is undefined for some systems only in {value:.1%} of the queries. They are left "
        "out for all",
        "See `undefined` in the table. A system that lost its answers may look no worse on the "
        "rest: compare a metric that is defined in every query, too.",
    ),
    "few_queries": CaveatInfo(
        0,
        "how many queries `tune` lacks to have 30",
        "{queries} to tune by: too few to say much of others",
        "Judge more queries.",
    ),
    "median_test": CaveatInfo(
        99,
        'the number of queries, with `test="wilcoxon"` or `"sign"`',
        "the {test} test does not test the mean that is shown, but {hypothesis}. With "
        "{value:,.0f} queries it finds a difference in shape alone",
        'Use `test="t"` or `"randomisation"`, whose hypothesis is equal means '
        "([simulated](statistics.md#tests-between-distributions-of-different-shapes)).",
    ),
    "test_contradicts_interval": CaveatInfo(
        0,
        "the number of significant differences whose interval contains 0",
        "{value:,.0f} significant by the {test} test, whose intervals contain 0, such as {metric} "
        "of {system} against {baseline}: test and interval are about different things",
        "Do not call such a difference an improvement of the mean: the interval is about the mean, "
        "the test about its own hypothesis, which the output names.",
    ),
    "too_few_permutations": CaveatInfo(
        MOST_PERMUTATIONS,
        "how many permutations a test that draws them needs before anything can be significant "
        "after correction",
        "nothing can be significant: {tests:,} tests, corrected together ({correction}), need "
        "{value:,.0f} permutations, and rankframe draws at most {most:,}",
        'Use `test="t"`, which draws nothing, or `correction="bh"`. Or make fewer tests: name a '
        "`baseline`, or compare fewer systems, metrics or slices.",
    ),
    "judgments_changed": CaveatInfo(
        0,
        "the number of results in a history whose judgments differ from those of the result before",
        "judgments changed between results: values are no trend",
        "Evaluate the older runs again, with the new judgments.",
    ),
    "unknown_documents": CaveatInfo(
        0.5,
        "the share of retrieved documents in neither train, items nor the catalogue",
        "{value:.0%} of the retrieved documents are in neither train, items nor the catalogue",
        "Do the ids of `train=` and `items=` match those of the run?",
    ),
    "seen_documents": CaveatInfo(
        0.0,
        "the share of retrieved documents that their query has in train",
        "{value:.1%} of the retrieved documents are in train for their query. They fill places, "
        "and cannot be relevant if the judgments exclude them",
        "`exclude_seen=True` removes them before ranking.",
    ),
    "all_relevant": CaveatInfo(
        0.0,
        "the number of judgments, if all count as relevant though their grades differ",
        "every judged document counts as relevant, whatever its grade. `rel` sets the threshold",
        "With ratings of 1 to 5 stars, pass `rel=4`. Graded metrics (nDCG) use the grades anyway.",
    ),
}


@contextmanager
def silenced(codes: str | Iterable[str]) -> Iterator[None]:
    """Leave caveats with these codes out of every ledger that is made inside the block."""
    names = [codes] if isinstance(codes, str) else codes
    before = _silenced.set(_silenced.get() | frozenset(names))
    try:
        yield
    finally:
        _silenced.reset(before)


def find_caveat(code: str, value: float | None, **facts: object) -> Iterator[Caveat]:
    """Yield the caveat with this code if its value exceeds the threshold.

    Args:
        code: a key of `CAVEATS`.
        value: the measured value; None if it is unknown, which yields nothing.
        facts: the other fields of the caveat's sentence.
    """
    info = CAVEATS[code]
    if value is not None and value > info.threshold and code not in _silenced.get():
        yield Caveat(code, value, info.sentence.format(value=value, **facts))


def caveats_of(ledger: pl.DataFrame) -> list[Caveat]:
    """Return the caveats that a ledger lists, in order, with the name of the system in front."""
    found = []
    for place, item in enumerate(ledger["item"]):
        if not item.startswith(PREFIX):
            continue
        row = ledger.row(place, named=True)
        caveat = Caveat(item.removeprefix(PREFIX), row["value"], row["note"])
        found.append(caveat.about(row.get("system")))
    return found


def without_silenced(caveats: Iterable[Caveat]) -> list[Caveat]:
    """Return the caveats that are not silenced; stored results may list silenced ones."""
    return [caveat for caveat in caveats if caveat.code not in _silenced.get()]


@contextmanager
def collected_caveats() -> Iterator[list[Caveat]]:
    """Collect the caveats of public functions that are called inside the block, to warn once."""
    inner: list[Caveat] = []
    token = _collected.set(inner)
    try:
        yield inner
    finally:
        _collected.reset(token)


def warn_once(caveats: Iterable[Caveat], inner: Iterable[Caveat]) -> None:
    """Warn of each caveat of a public function, or pass them to the public function that called it.

    Args:
        caveats: the caveats of the object that the function returns.
        inner: the caveats of the public functions that it called. One whose code is also in
            `caveats` is dropped, because `caveats` also names the system.
    """
    own = list(caveats)
    codes = {caveat.code for caveat in own}
    own += [caveat for caveat in dict.fromkeys(inner) if caveat.code not in codes]
    outer = _collected.get()
    if outer is None:
        warn_of(own)
    else:
        outer += own


def warn_of(caveats: Iterable[Caveat]) -> None:
    """Warn of each caveat; the warning names the line outside of rankframe that made the call."""
    caller, level = sys._getframe(1), 2
    while caller is not None and caller.f_globals.get("__name__", "").startswith("rankframe."):
        caller, level = caller.f_back, level + 1
    for caveat in caveats:
        warnings.warn(RankframeWarning(str(caveat), caveat.code), stacklevel=level)
