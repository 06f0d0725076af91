"""Sample judged queries for examples of unjudged documents, and to see if judgments fit the run.

The sample depends only on the ids of the queries, so the samples of partitions can be merged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from rankframe.core.arrays import Floats, Ints, Keys
from rankframe.core.columns import QUERY
from rankframe.core.messages import listing
from rankframe.core.options import JudgedTies
from rankframe.core.records import record
from rankframe.frames.judgments import SAMPLED, IndexedJudgments
from rankframe.kernel.batch import Batch, Ids, as_text, taken, text_hashes
from rankframe.kernel.ranking import RankedBatch
from rankframe.kernel.tables import Index

_TOP: Final = 10
_EXAMPLES: Final = 3
# Too few lists, or lists that are too much alike, say nothing of the queries they are for.
_FEWEST_LISTS: Final = 10
_FEWEST_HITS: Final = 5
_ALIKE: Final = 0.3


class Example(NamedTuple):
    """Hold the id of an unjudged document and the id of a judged one, of the same query."""

    query: int  # a hash
    unjudged: str
    judged: str


class Fit(NamedTuple):
    """Count relevant documents in lists, by judgments of the same query and of other queries."""

    queries: int
    # relevant documents of the own query in the top 10 of all these queries
    own: int
    # the same number that is expected if each query had the judgments of another query
    other: float

    @property
    def share(self) -> float:
        """Return `other` as a share of `own` + `other`: about a half if judgments do not fit."""
        return self.other / (self.own + self.other)


@record
class Sample:
    """Hold the top 10 and the relevant documents of a few sampled queries, as hashes of ids."""

    # the hashes of the sampled queries, ascending, whether the run has them or not
    queries: Keys
    # a query and one of its documents in each row
    retrieved: Keys
    relevant: Keys
    # the best documents without a judgment, of the first queries that have any
    examples: tuple[Example, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sample) and self._content == other._content

    __hash__ = None  # pyright: ignore[reportAssignmentType] (arrays have no hash)

    @property
    def _content(self) -> tuple[object, ...]:
        """Return the sample as a tuple that does not depend on the order of rows, to compare."""
        pairs = (sorted(map(tuple, rows.tolist())) for rows in (self.retrieved, self.relevant))
        return (self.queries.tolist(), *pairs, self.examples)

    def merge(self, other: Sample) -> Sample:
        """Merge the samples of two partitions into the sample of the queries of both."""
        queries = np.union1d(self.queries, other.queries)[:SAMPLED]
        last = queries.max(initial=0)
        pairs = [
            np.concatenate([own, added])
            for own, added in ((self.retrieved, other.retrieved), (self.relevant, other.relevant))
        ]
        examples = sorted(self.examples + other.examples)
        examples = tuple(example for example in examples if example.query <= last)[:_EXAMPLES]
        retrieved, relevant = (rows[rows[:, 0] <= last] for rows in pairs)
        return Sample(queries, retrieved, relevant, examples)

    def describe_examples(self) -> str:
        """Return a text with example ids of unjudged and judged documents, or ""."""
        if not self.examples:
            return ""
        unjudged = [example.unjudged for example in self.examples]
        judged = [example.judged for example in self.examples]
        return f"Documents without a judgment: {listing(unjudged)}; with one: {listing(judged)}"

    def fit(self) -> Fit | None:
        """Compare how judgments fit lists of their own and of other queries; None if unclear."""
        lists, lengths = np.unique(self.retrieved[:, 0], return_counts=True)
        documents, found = np.unique(self.retrieved[:, 1], return_counts=True)
        if len(lists) < _FEWEST_LISTS:
            return None
        # how many of the lists have the same document, on average over all rows
        alike = float((found * found).sum()) / float(lengths.sum())
        place = Index(documents).find(self.relevant[:, 1])
        retrieved = np.flatnonzero(place >= 0)  # by the list of any query
        relevant, place = self.relevant[retrieved], place[retrieved]
        has_list = np.isin(relevant[:, 0], lists)
        hits = int(found[place[has_list]].sum())
        own = len(np.intersect1d(_packed(self.retrieved), _packed(relevant)))
        other = (hits - own) / (len(lists) - 1)
        if other < _FEWEST_HITS or alike > _ALIKE * len(lists):
            return None
        return Fit(len(lists), own, other)


def _packed(pairs: Keys) -> Keys:
    """Combine the hashes of a query and a document in each row into a single hash."""
    return pairs[:, 0] ^ pairs[:, 1]


class Sampler:
    """Collect the lists of the sampled queries from the batches of a run."""

    def __init__(self, judgments: IndexedJudgments) -> None:
        self._judgments = judgments
        self._sampled = judgments.sampled
        self._parts: list[_Part] = []

    def add(self, batch: Batch, numbers: Ints) -> None:
        """Add the lists of the sampled queries in a batch.

        `numbers` has the number of each query of the batch in the judgments; -1: not judged.
        """
        chosen = np.flatnonzero(self._sampled[numbers])
        if not len(chosen):
            return
        rows = batch.rows_of_queries(chosen)
        # Only string concatenation copies ids: others would keep those of the whole batch.
        docs = as_text(batch.docs.take(rows)) + ""
        values = {name: column[rows] for name, column in batch.numbers.items()}
        lengths, key = batch.lengths[chosen], batch.key[rows]
        documents = key ^ np.repeat(batch.hashes[chosen], lengths)
        self._parts.append(_Part(numbers[chosen], lengths, documents, docs, values))

    def finish(self, ties: JudgedTies) -> Sample:
        """Return the `Sample` of all batches; `ties`: how equal scores are ordered."""
        judgments = self._judgments
        numbers = np.flatnonzero(self._sampled)
        queries = text_hashes(QUERY, taken(judgments.queries, numbers))
        rows, lengths = judgments.rows_of_queries(numbers), judgments.lengths[numbers]
        owners = np.repeat(queries, lengths)
        judged = np.stack(
            [owners, judgments.key[rows] ^ np.repeat(judgments.hashes[numbers], lengths)], axis=1
        )
        relevant = judged[judgments.grades[rows] > 0]
        whole = Sample(np.sort(queries), judged[:0], relevant)
        return self._add_lists(whole, judged, ties) if self._parts else whole

    def _add_lists(self, whole: Sample, judged: Keys, ties: JudgedTies) -> Sample:
        """Add the top 10 of the sampled queries to `whole`; `judged`: their judged documents."""
        numbers, lengths, documents, docs, values = zip(*self._parts, strict=True)
        queries = taken(self._judgments.queries, np.concatenate(numbers))
        hashes, lengths = text_hashes(QUERY, queries), np.concatenate(lengths)
        lists = Batch(
            key=np.concatenate(documents),
            starts=np.cumsum(lengths) - lengths,
            queries=queries,
            hashes=hashes,
            docs=Ids(pl.concat(docs)),
            numbers={name: np.concatenate([v[name] for v in values]) for name in values[0]},
        )
        top = RankedBatch.from_batch(lists, ties, _TOP)
        rows = np.arange(lists.height) if top.rows is None else top.rows
        code = lists.code[rows]
        retrieved = np.stack([hashes[code], lists.key[rows]], axis=1)
        packed = _packed(retrieved)
        judged_rows = Index(packed).find(_packed(judged))
        unjudged = np.flatnonzero(~np.isin(packed, packed[judged_rows[judged_rows >= 0]]))
        owners, firsts = np.unique(code[unjudged], return_index=True)
        shown = np.argsort(hashes[owners])[:_EXAMPLES]
        best = lists.docs.take(rows[unjudged[firsts[shown]]])
        examples = tuple(
            Example(int(hashes[owner]), id_, self._least_judged(int(number)))
            for owner, number, id_ in zip(
                owners[shown], np.concatenate(numbers)[owners[shown]], best, strict=True
            )
        )
        return replace(whole, retrieved=retrieved, examples=examples)

    def _least_judged(self, number: int) -> str:
        """Return the first id, in byte order, among the judged documents of a query."""
        rows = self._judgments.rows_of_queries(np.array([number]))
        return str(as_text(self._judgments.docs.take(rows)).min())


class _Part(NamedTuple):
    """Hold the rows of the sampled queries of a batch."""

    # for each query: its number in the judgments, and how many documents it has
    numbers: Ints
    lengths: Ints
    # for each document: the hash of its id, the id, and the numeric columns
    documents: Keys
    docs: pl.Series
    values: dict[str, Floats]
