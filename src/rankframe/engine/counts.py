"""Counts for the ledger: what was read, matched, left out; counts of different queries merge."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.frames.judged import Judgments
from rankframe.frames.judgments import Fingerprint
from rankframe.frames.matches import Found
from rankframe.frames.pair import Pairs
from rankframe.frames.shows import Shows
from rankframe.io.queries import Known
from rankframe.stats.exact import Exact, exact_sum

TOP = 10
_NOTHING = Exact()


def _sum(count: Any, other: Any) -> Any:
    """Add two counts; None was not counted."""
    if count is None or other is None:
        return other if count is None else count
    return count + other


def _least(example: str | None, other: str | None) -> str | None:
    """Return the first of two examples in byte order."""
    return min((text for text in (example, other) if text is not None), default=None)


def first() -> Any:
    """Declare a field that names one of what was counted: of several, the first is kept."""
    return field(default=None, metadata={"merge": _least})


class Counts:
    """Hold counts as the fields of a dataclass; fields are added up unless they say otherwise."""

    @property
    @abstractmethod
    def rows(self) -> tuple[int, int]:
        """Return how many rows of each side were read."""

    def with_queries(self, queries: int, attributes: Known) -> Self:  # noqa: ARG002 (of runs alone)
        """Return the counts with the numbers of queries evaluated, absent and without weight."""
        return self

    def merge(self, other: Self) -> Self:
        """Return the sum of these counts and the counts of other queries."""
        return type(self)(
            **{
                f.name: f.metadata.get("merge", _sum)(getattr(self, f.name), getattr(other, f.name))
                for f in fields(cast("Any", self))
            }
        )


@dataclass(frozen=True)
class RunCounts(Counts):
    """Count what an evaluation of a run saw in the run and in what lies beside it."""

    # rows beside the run: judgments, interactions, another run
    left_rows: int = 0
    run_rows: int = 0
    # queries with values, how many the frame of queries lacks, and how many have no proper weight
    evaluated: int = 0
    absent: int = 0
    unweighted: int = 0
    weightless: str | None = first()

    # the run against the judgments
    qrels_rows: int = 0
    qrels_queries: int = 0
    run_queries: int = 0
    judged_evaluated: int = 0
    missing: int = 0
    lacking: str | None = first()  # a judged query that the run lacks
    without_relevant: int = 0
    judged_retrieved: int = 0
    judged_shares: Exact = _NOTHING  # judged@10 of the evaluated queries, added up
    tied: int = 0
    # None: the run does not have both a score and a rank
    disagreeing: int | None = None
    # judged documents in the run, before it is cut at `k_max` or condensed
    overlap: int = 0
    # judged documents that are not relevant, and those graded below the best of all
    nonrelevant: int = 0
    below_best: int = 0
    # queries whose ranks are not 1, 2, 3, …; None: ranks do not say the order
    renumbered: int | None = None
    # rows of documents of which a better one was kept; None: duplicates are refused
    qrels_dropped: int | None = None
    run_dropped: int | None = None
    # what the documents of a run were rolled up to; None: they were not
    run_units: int | None = None
    # where judgments are about subtopics: how many these are, of how many documents, and how many
    # judgments are about none; None: they are not
    subtopics: int | None = None
    documents: int | None = None
    without_subtopic: int | None = None
    fingerprint: Fingerprint | None = None  # of the judgments that counted

    # what was retrieved: queries with any documents, documents, and those not in the catalogue
    lists: int = 0
    retrieved: int = 0
    unknown: int = 0
    exposure: Shows | None = None

    @property
    def rows(self) -> tuple[int, int]:
        """Return how many rows beside the run, and of the run, were read."""
        return self.left_rows, self.run_rows

    def with_queries(self, queries: int, attributes: Known) -> RunCounts:
        """Return the counts with the numbers of queries evaluated, absent and without weight."""
        return replace(
            self,
            evaluated=queries,
            absent=attributes.absent,
            unweighted=attributes.unweighted,
            weightless=attributes.example,
        )

    @classmethod
    def from_run(cls, found: Found) -> RunCounts:
        """Count what was read: the judgments, and the run that was looked up in them."""
        judgments, matches = found.judgments, found.seen
        groups = judgments.groups
        best, units = found.policies.duplicates == "keep_best", found.policies.unit is not None
        return cls(
            left_rows=judgments.read,
            qrels_rows=judgments.read,
            run_rows=matches.rows,
            run_queries=matches.queries,
            tied=matches.tied,
            disagreeing=matches.disagreeing,
            overlap=matches.overlap,
            renumbered=matches.anew,
            qrels_dropped=judgments.dropped if best else None,
            run_dropped=matches.dropped if best or units else None,
            run_units=matches.rows - matches.dropped if units else None,
            subtopics=None if groups is None else groups.count(judgments.starts, judgments.height),
            documents=None if groups is None else judgments.height,
            without_subtopic=None if groups is None else groups.without,
            fingerprint=judgments.fingerprint,
        )

    @classmethod
    def from_judged(
        cls, judged: Judgments, *, evaluated: NDArray[np.bool_], relevant: NDArray[np.bool_]
    ) -> RunCounts:
        """Count judged queries and their documents.

        `evaluated`: which of them are; `relevant`: which of their judged documents are.
        """
        has_relevant = np.logical_or.reduceat(relevant, judged.starts)
        return cls(
            qrels_queries=len(judged.queries),
            judged_evaluated=int(evaluated.sum()),
            missing=int(judged.missing.sum()),
            lacking=cast("str | None", judged.queries.filter(pl.Series(judged.missing)).min()),
            without_relevant=int((~has_relevant).sum()),
            judged_retrieved=judged.matched,
            judged_shares=exact_sum(judged.judged_shares(TOP)[evaluated]),
            nonrelevant=int(np.count_nonzero(~relevant)),
            below_best=int(np.count_nonzero(judged.grade < judged.max_grade)),
        )


@dataclass(frozen=True)
class PairCounts(Counts):
    """Count what the comparison of two rankings saw in both."""

    a_rows: int = 0
    a_queries: int = 0
    b_rows: int = 0
    b_queries: int = 0
    compared: int = 0
    shared_queries: int = 0
    documents: int = 0
    shared: int = 0
    tied_a: int = 0
    tied_b: int = 0
    # queries whose ranks are not 1, 2, 3, …; None: ranks do not say the order
    renumbered_a: int | None = None
    renumbered_b: int | None = None
    # rows of documents of which a better one was kept; None: duplicates are refused
    dropped_a: int | None = None
    dropped_b: int | None = None

    @property
    def rows(self) -> tuple[int, int]:
        """Return how many documents of each ranking were read."""
        return self.a_rows, self.b_rows

    @classmethod
    def from_pairs(cls, pairs: Pairs, *, compared: int, drops: bool) -> PairCounts:
        """Count the queries and documents of two rankings.

        `compared`: how many queries have values; `drops`: whether only the best row of a document
        is kept.
        """
        in_a, in_b = pairs.a.length > 0, pairs.b.length > 0
        a, b = pairs.ranked
        return cls(
            a_rows=pairs.read[0],
            a_queries=int(np.count_nonzero(in_a)),
            b_rows=pairs.read[1],
            b_queries=int(np.count_nonzero(in_b)),
            compared=compared,
            shared_queries=int(np.count_nonzero(in_a & in_b)),
            documents=pairs.rows,
            shared=pairs.matched,
            tied_a=a.tied,
            tied_b=b.tied,
            renumbered_a=a.renumbered,
            renumbered_b=b.renumbered,
            dropped_a=pairs.read[0] - a.batch.height if drops else None,
            dropped_b=pairs.read[1] - b.batch.height if drops else None,
        )
