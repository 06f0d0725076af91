"""Build the retrieved frame of a batch: one row per retrieved document, by query and rank."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import Codes, Flags, Floats, Ints
from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE, ColumnRequest
from rankframe.core.options import Policies
from rankframe.frames.attributes import ListedValues, cosines, divergence, rows_above
from rankframe.frames.catalogue import Catalogue
from rankframe.frames.column_frame import ColumnFrame
from rankframe.frames.side_inputs import BASE, JUDGED, TRAINED, SideIndexes
from rankframe.kernel.batch import Batch, as_text, taken
from rankframe.kernel.duplicates import deduplicate_batch
from rankframe.kernel.matching import QueryIndex, match_documents
from rankframe.kernel.ranking import rank_documents
from rankframe.kernel.segments import number_segments, segment_starts, sort_order

# The side input that a column is computed from.
SIDE_OF_COLUMN = {
    RELEVANCE: JUDGED, "relevant": JUDGED, "judged": JUDGED, "seen": TRAINED,
    "reference_rank": BASE,
    "divergence": TRAINED,
}  # fmt: skip


class RetrievedFrame(ColumnFrame):
    """Hold the retrieved frame of a batch: one row per document, by query and rank."""

    def __init__(
        self,
        batch: Batch,
        sides: SideIndexes,
        catalogue: Catalogue,
        policies: Policies,
        deepest: int | None,
    ) -> None:
        """Rank the documents of a batch, and keep those down to the rank `deepest`."""
        ranks = policies.ranks
        if batch.may_repeat():
            batch, ranks, _ = deduplicate_batch(batch, policies)
        self.ranks = rank_documents(batch, ties=policies.ties, ranks=ranks)
        rank = self.ranks.rank
        limits = [limit for limit in (deepest, policies.k_max) if limit is not None]
        rows = np.flatnonzero(rank <= min(limits)) if limits else np.arange(batch.height)
        rows = rows[sort_order(batch.code[rows], rank[rows])]
        self.batch, self.sides, self.catalogue = batch, sides, catalogue
        self.columns, self._rel, self._k_max = catalogue.frame, policies.rel, policies.k_max
        # the row of the batch, and its rank
        self.rows, self.rank = rows, rank[rows]
        # the first row of each list, and the number of its query in the batch
        self.starts = segment_starts(batch.code[rows])
        self.lists = batch.code[rows[self.starts]].astype(np.int64)
        self._listed_values: dict[str, ListedValues] = {}

    @cached_property
    def code(self) -> Codes:
        """Return, for each row, the index of its list."""
        return number_segments(self.starts, len(self.rows))

    @cached_property
    def queries(self) -> pl.Series:
        """Return the query id of each list."""
        return as_text(taken(self.batch.queries, self.lists)).alias(QUERY)

    @cached_property
    def docs(self) -> pl.Series:
        """Return the document id of each row."""
        return as_text(self.batch.docs.take(self.rows)).alias(DOC)

    @cached_property
    def numbers(self) -> Ints:
        """Return, for each row, the index of its document in the catalogue; -1 if unknown."""
        # A key is the XOR of query hash and document hash: recover the document hash.
        hashes = self.batch.key[self.rows] ^ self.batch.hashes[self.batch.code[self.rows]]
        return self.catalogue.find(hashes, self.docs)

    @property
    def seen(self) -> Flags:
        """Flag the rows whose query has the document in `train`."""
        return ~np.isnan(self._values_of(self.sides.trained))

    def column(self, name: str) -> pl.Series:
        """Return a column by its name, which may be an attribute of documents."""
        if name not in self.catalogue.attributes.columns:
            return super().column(name)
        numbers = pl.Series(self.numbers)
        numbers = pl.select(pl.when(numbers >= 0).then(numbers)).to_series()
        return self.catalogue.attributes[name].gather(numbers)

    def _compute(self, request: ColumnRequest) -> NDArray[Any] | pl.Series:
        if request.attribute is not None:
            return self._compute_about(request.attribute, request)
        catalogue = self.catalogue
        makers: dict[str, Callable[[], NDArray[Any] | pl.Series]] = {
            QUERY: lambda: taken(self.queries, self.code),
            DOC: lambda: self.docs,
            RANK: lambda: self.rank,
            SCORE: self._scores,
            "retrieved": self._retrieved,
            RELEVANCE: lambda: pl.Series(self._grades).fill_nan(None),
            "relevant": lambda: self.relevant,
            "judged": self._judged,
            "seen": lambda: self.seen,
            "popularity": partial(self._of_documents, catalogue.popularity),
            "interactions": partial(self._of_documents, catalogue.interactions),
            "popularity_rank": self._popularity_rank,
            "more_popular": lambda: self._of_documents(catalogue.more_popular, unknown=1.0),
            "train_queries": lambda: np.full(len(self.rows), catalogue.train_queries or 0),
            "train_interactions": lambda: np.full(len(self.rows), catalogue.train_interactions),
            "in_catalogue": lambda: self._of_documents(catalogue.inside, unknown=False),
            "catalogue_size": lambda: np.full(len(self.rows), catalogue.size),
            "reference_rank": lambda: (
                pl.Series(self._values_of(self.sides.base)).fill_nan(None).cast(pl.Int64)
            ),
        }
        return makers[request.column]()

    def _of_documents(self, values: NDArray[Any], *, unknown: Any = 0) -> NDArray[Any]:
        """Return, for each row, the value of its document, given one per catalogue document."""
        if not len(values):
            return np.full(len(self.rows), unknown)
        return np.where(self.numbers >= 0, values[self.numbers], unknown)

    def _scores(self) -> pl.Series:
        if SCORE not in self.batch.numbers:
            return pl.repeat(None, len(self.rows), dtype=pl.Float64, eager=True)
        return pl.Series(self.batch.numbers[SCORE][self.rows])

    def _retrieved(self) -> Ints:
        lengths = self.batch.lengths
        lengths = lengths if self._k_max is None else np.minimum(lengths, self._k_max)
        return lengths[self.batch.code[self.rows]]

    @cached_property
    def _grades(self) -> Floats:
        """Return the grade of each row's document; NaN if unjudged."""
        return self._values_of(self.sides.judged)

    def _values_of(self, side: QueryIndex | None) -> Floats:
        """Return, for each row, its grade, count or rank in the input `side`; NaN if not there."""
        assert side is not None  # indexed if a column needs it
        values = np.full(self.batch.height, np.nan)
        matches = match_documents(self.batch, side)
        assert matches is not None  # the batch has no duplicates
        values[matches.batch_rows] = side.numbers[RELEVANCE][matches.index_rows]
        return values[self.rows]

    @property
    def relevant(self) -> Flags:
        """Flag the rows whose document is relevant to the query, by the judgments."""
        with np.errstate(invalid="ignore"):
            return self._grades > 0 if self._rel is None else self._grades >= self._rel

    def _judged(self) -> Flags:
        assert self.sides.judged is not None  # indexed if a column needs it
        return (self.sides.judged.find(self.batch) >= 0)[self.batch.code[self.rows]]

    def _popularity_rank(self) -> pl.Series:
        rank = self._of_documents(self.catalogue.popularity_rank)
        return pl.Series(np.where(rank > 0, rank, np.nan)).fill_nan(None).cast(pl.Int64)

    def _compute_about(self, attribute: str, request: ColumnRequest) -> NDArray[Any] | pl.Series:
        """Compute a column that is derived from an attribute of documents."""
        code, column = self.code.astype(np.int64), request.column
        if column == "divergence":
            return self._divergence(attribute, request.k)
        if column == "has":
            having = self.catalogue.values(attribute).with_value(request.value or "")
            if not having.any():
                return pl.repeat(None, len(self.numbers), dtype=pl.Boolean, eager=True)
            return self._of_documents(having, unknown=False)
        if column in ("vector", "vector_pairs", "cosine"):
            vectors = self.catalogue.vectors(attribute)
            present = vectors.look_up(self.numbers)
            if column == "cosine":
                return cosines(vectors, present, code, self.numbers)
            return present.astype(np.int64) if column == "vector" else rows_above(present, code)
        if attribute not in self._listed_values:
            values = self.catalogue.values(attribute)
            self._listed_values[attribute] = ListedValues(values, code, self.numbers)
        listed = self._listed_values[attribute]
        return {
            "values": lambda: listed.counts,
            "new": listed.new,
            "crowd": listed.crowd,
            "pairs": listed.pairs,
            "unlike": listed.unlike,
        }[column]()

    def _divergence(self, attribute: str, k: int | None) -> Floats:
        values, code = self.catalogue.values(attribute), self.code.astype(np.int64)
        inside = np.flatnonzero(self.rank <= k) if k is not None else np.arange(len(self.rank))
        trained, docs = self.sides.trained, self.sides.trained_docs
        assert trained is not None  # indexed and numbered if a metric needs the column
        assert docs is not None
        numbers = trained.find(self.batch)[self.lists]
        lists = np.flatnonzero(numbers >= 0)
        rows = trained.rows_of_queries(numbers[lists])
        owners = np.repeat(lists, trained.lengths[numbers[lists]])
        per_list = divergence(
            values,
            (code[inside], self.numbers[inside]),
            (owners, docs[rows], trained.numbers[RELEVANCE][rows]),
            len(self.lists),
        )
        return per_list[code]
