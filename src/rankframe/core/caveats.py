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
        """Return this caveat with the name of its system in front; None: all systems."""
        return self if system is None else self._replace(text=f"{system}: {self.text}")


CAVEATS: Final[Mapping[str, CaveatInfo]] = {
    "ties": CaveatInfo(
        0.02,
        "how far the order of documents with equal scores moves a metric: best minus worst value, "
        "as a share of the value",
        "ties: documents with equal scores are ordered by id. Depending on the order of these "
        "documents, {metric} is between {low:.4f} and {high:.4f}",
        'If the run has ranks that break the ties, pass `ties="rank"`. Otherwise compare systems '
        'by their worst case, `ties="worst"`, or store scores with more digits.',
    ),
    "ranks_contradict_scores": CaveatInfo(
        0.1,
        "the share of queries in which a document has a better rank than one with a higher score",
        "in {value:.0%} of the queries, ranks contradict scores. Scores were used",
        "Find out which column is right. Drop the wrong column, or name the right one with "
        "`columns=`. If smaller scores are better, the column is a distance: "
        '`columns={"distance": …}`. Above 50%, rankframe refuses the run.',
    ),
    "stored_worst_first": CaveatInfo(
        0.9,
        "the share of rows whose score is better than that of the row before, of the same query. "
        "If there are only ranks, they take the place of scores. Runs with both are not examined",
        "the run seems to be stored worst first: in {value:.0%} of the rows, {column!r} {moves} "
        "from the row before, but ranked lists are usually stored best first. If {good} numbers "
        "are better, the column is a {other}: rename it, or pass {option}",
        'If smaller scores are better, name the column: `columns={"distance": …}`. If the order of '
        'the rows means nothing and the scores are right, pass `order="score"`. This caveat never '
        "appears on Spark, where rows have no order.",
    ),
    "few_judged": CaveatInfo(
        0.95,
        "the share of the top 10 without a judgment",
        "only {judged:.1%} of the top 10 are judged. Unjudged documents count as not relevant"
        "{examples}",
        "Do the ids of run and judgments match? If so, judge more documents, or evaluate only "
        "judged documents with `judged_only=True`. `compare(…, bounds=True)` computes how much the "
        "unjudged documents could change the values.",
    ),
    "lengths_differ": CaveatInfo(
        2,
        "how many documents fewer the top 10 of a system have, on average, than those of the "
        "system with the longest lists",
        "the top 10 have {length:.1f} documents on average, and those of another system "
        "{most:.1f}. Empty ranks count as not relevant",
        "Was the run cut off? Compare both systems at the depth of the shorter lists: `k_max=3`, "
        "or a metric such as ndcg@3. If the system finds no more documents, the values are right.",
    ),
    "judgments_of_others": CaveatInfo(
        0.45,
        "other / (other + own). Own: the number of relevant documents in the top 10 by the query's "
        "own judgments. Other: the same by the judgments of another query, on average. Measured in "
        "a sample of 32 queries, if lists differ between queries",
        "in a sample of {queries} queries, the top 10 have {own} relevant documents. With the "
        "judgments of another query, they would have about {other:.0f}. Are the query ids right?",
        "Were judgments and run made from the same file of queries, with the same ids? A ranking "
        "that does not depend on the query has this caveat, too.",
    ),
    "judged_differ": CaveatInfo(
        0.1,
        "the difference between the judged shares of the top k of two systems, over the queries "
        "that both have",
        "judgments favour {better}: of the top {k}, {high:.0%} are judged for {better} and "
        "{low:.0%} for {worse}, and unjudged documents count as not relevant. {condensed}",
        "The judgments were probably made from the results of one system, for example from clicks. "
        "Judge the documents that both systems retrieved, or decide by the values with "
        "`judged_only=True` and the bounds.",
    ),
    "queries_missing": CaveatInfo(
        0.01,
        "the share of judged queries that the run lacks",
        "{value:.1%} of the judged queries are not in the run. They {done}",
        "Is this the right file, and did the job that wrote it finish? "
        '`missing="skip"` leaves these queries out.',
    ),
    "undefined_differ": CaveatInfo(
        0.01,
        "the share of queries in which a metric is undefined for some, but not all, of the "
        "compared systems",
        "in {value:.1%} of the queries, {metric} is undefined for some, but not all, of the "
        "systems. These queries are left out for all systems",
        "See `undefined` in the table. If a system finds nothing for some queries, these "
        "queries are left out, and its failure does not show in the value. Also compare a metric "
        "that is defined for every query.",
    ),
    "few_queries": CaveatInfo(
        0,
        "30 minus the number of queries, in `tune`",
        "only {queries} to tune with: too few to predict values on other queries",
        "Judge more queries.",
    ),
    "median_test": CaveatInfo(
        99,
        'the number of queries, with `test="wilcoxon"` or `"sign"`',
        "the {test} test does not test the mean that is shown, but {hypothesis}. With "
        "{value:,.0f} queries it may be significant although the means are equal",
        'Use `test="t"` or `"randomisation"`, whose hypothesis is equal means '
        "([simulated](statistics.md#tests-between-distributions-of-different-shapes)).",
    ),
    "test_contradicts_interval": CaveatInfo(
        0,
        "the number of significant differences whose interval contains 0",
        "{value:,.0f} of the differences, such as {metric} of {system} against {baseline}, are "
        "significant by the {test} test although their interval contains 0. The interval is of the "
        "difference of the means, and the test's hypothesis is {hypothesis}",
        "Do not call such a difference an improvement of the mean, which the interval describes. "
        'The test has another hypothesis, which the output names, or (with `ci="t"`) other '
        "assumptions than the interval.",
    ),
    "too_few_permutations": CaveatInfo(
        MOST_PERMUTATIONS,
        "the number of permutations that a permutation test needs to find anything significant "
        "after correction",
        "nothing can be significant: {tests:,} tests, corrected together ({correction}), need "
        "{value:,.0f} permutations, and rankframe draws at most {most:,}",
        'Use `test="t"`, which needs no permutations, or `correction="bh"`. Or run fewer tests: '
        "name a `baseline`, or compare fewer systems, metrics or slices.",
    ),
    "judgments_changed": CaveatInfo(
        0,
        "the number of results in a history whose judgments differ from the previous result's",
        "judgments changed between results: the values do not show a trend",
        "Evaluate the older runs again, with the new judgments.",
    ),
    "unknown_documents": CaveatInfo(
        0.5,
        "the share of retrieved documents in none of `train`, `items` and `catalogue`",
        "{value:.0%} of the retrieved documents are in none of `train`, `items` and `catalogue`",
        "Do the ids of `train=`, `items=` and `catalogue=` match those of the run?",
    ),
    "seen_documents": CaveatInfo(
        0.0,
        "the share of retrieved documents that train contains for the same query",
        "{value:.1%} of the retrieved documents are in train for their query. They take up ranks, "
        "and cannot be relevant if the judgments exclude them",
        "`exclude_seen=True` removes them before ranking.",
    ),
    "all_relevant": CaveatInfo(
        0.0,
        "the number of judgments, if all count as relevant although their grades differ",
        "every judged document counts as relevant, whatever its grade. `rel` sets the threshold",
        "With ratings of 1 to 5 stars, pass `rel=4`. Graded metrics (nDCG) use the grades anyway.",
    ),
}


@contextmanager
def silenced(codes: str | Iterable[str]) -> Iterator[None]:
    """Leave caveats with the given codes out of ledgers that are made inside the `with` block."""
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
    """Collect the caveats of public functions called inside the `with` block, to warn once."""
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
