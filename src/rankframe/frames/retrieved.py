"""The shown frame of a chunk of a run: a row for each document shown; columns on demand."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.arrays import Codes, Flags, Floats, Ints
from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE, SHOWN_FRAME, ColumnRequest
from rankframe.core.options import Policies
from rankframe.frames.attributes import Mix, cosines, divergence, rows_above
from rankframe.frames.catalogue import Catalogue, document_hashes
from rankframe.frames.side_inputs import BASE, JUDGED, TRAINED, Sides
from rankframe.kernel.batch import Batch, as_text, taken
from rankframe.kernel.duplicates import deduplicate_batch
from rankframe.kernel.matching import match_documents
from rankframe.kernel.ranking import rank_documents
from rankframe.kernel.segments import number_segments, segment_starts, sort_order

# The rows beside a run that columns are made from.
BESIDE = {
    RELEVANCE: JUDGED, "relevant": JUDGED, "judged": JUDGED, "seen": TRAINED,
    "reference_rank": BASE,
    "divergence": TRAINED,
}  # fmt: skip


def shown_places(chunk: Batch, policies: Policies) -> tuple[Batch, Ints]:
    """A chunk in which no document is there twice for a query, and the rank of each row."""
    ranks = policies.ranks
    if chunk.may_repeat():
        chunk, ranks, _ = deduplicate_batch(chunk, policies)
    return chunk, rank_documents(chunk, ties=policies.ties, ranks=ranks).rank


@dataclass(frozen=True)
class ShownRows:
    """The documents of some lists, by list and rank."""

    chunk: Batch
    # the row of the chunk, and its rank
    rows: Ints
    rank: Ints
    sides: Sides
    catalogue: Catalogue
    rel: float | None
    k_max: int | None

    @classmethod
    def of(
        cls,
        chunk: Batch,
        sides: Sides,
        catalogue: Catalogue,
        policies: Policies,
        deepest: int | None,
    ) -> ShownRows:
        """The documents of a chunk down to a rank."""
        chunk, rank = shown_places(chunk, policies)
        limits = [limit for limit in (deepest, policies.k_max) if limit is not None]
        rows = np.flatnonzero(rank <= min(limits)) if limits else np.arange(chunk.height)
        rows = rows[sort_order(chunk.code[rows], rank[rows])]
        return cls(chunk, rows, rank[rows], sides, catalogue, policies.rel, policies.k_max)

    @cached_property
    def starts(self) -> Ints:
        """The first row of each list."""
        return segment_starts(self.chunk.code[self.rows])

    @cached_property
    def code(self) -> Codes:
        """The number of each row's list."""
        return number_segments(self.starts, len(self.rows))

    @cached_property
    def lists(self) -> Ints:
        """The lists, as the chunk numbers its queries."""
        return self.chunk.code[self.rows[self.starts]].astype(np.int64)

    @cached_property
    def queries(self) -> pl.Series:
        """Their queries."""
        return as_text(taken(self.chunk.queries, self.lists)).alias(QUERY)

    @cached_property
    def docs(self) -> pl.Series:
        """The documents."""
        return as_text(self.chunk.docs.take(self.rows)).alias(DOC)

    @cached_property
    def numbers(self) -> Ints:
        """The documents, as the catalogue numbers them; -1 for those that it does not know."""
        return self.catalogue.find(document_hashes(self.chunk, self.rows), self.docs)

    def frame(self, columns: Collection[str]) -> pl.DataFrame:
        """It, with these columns."""
        return pl.DataFrame({name: self._column(name) for name in columns})

    def _column(self, name: str) -> pl.Series:
        if name in self.catalogue.attributes.columns:
            return self._attribute(self.catalogue.attributes[name])
        catalogue = self.catalogue
        request = catalogue.frame.request(name)
        kind = SHOWN_FRAME.columns[request.column].type
        if request.attribute is not None:
            values = self._of_attribute(request, request.attribute)
            return pl.Series(name, values, dtype=kind)
        makers: dict[str, Callable[[], NDArray[Any] | pl.Series]] = {
            QUERY: lambda: taken(self.queries, self.code),
            DOC: lambda: self.docs,
            RANK: lambda: self.rank,
            SCORE: self._scores,
            "retrieved": self._retrieved,
            RELEVANCE: lambda: _or_null(self._grades),
            "relevant": lambda: self.relevant,
            "judged": self._judged,
            "seen": lambda: self._there(self.sides.trained),
            "popularity": partial(self._known, catalogue.popularity),
            "interactions": partial(self._known, catalogue.interactions),
            "popularity_rank": self._popularity_rank,
            "more_popular": partial(self._known, catalogue.more_popular, otherwise=1.0),
            "train_queries": lambda: self._constant(catalogue.train_queries or 0),
            "train_interactions": lambda: self._constant(catalogue.train_interactions),
            "in_catalogue": lambda: self._known(catalogue.inside, otherwise=False),
            "catalogue_size": lambda: self._constant(catalogue.size),
            "reference_rank": self._reference_rank,
        }
        return pl.Series(name, makers[request.column](), dtype=kind)

    def _constant(self, value: float) -> NDArray[Any]:
        return np.full(len(self.rows), value)

    def _known(self, of_documents: NDArray[Any], *, otherwise: Any = 0) -> NDArray[Any]:
        """What is known of each row's document."""
        if not len(of_documents):
            return np.full(len(self.rows), otherwise)
        return np.where(self.numbers >= 0, of_documents[self.numbers], otherwise)

    def _attribute(self, values: pl.Series) -> pl.Series:
        numbers = pl.Series(self.numbers)
        return values.gather(pl.select(pl.when(numbers >= 0).then(numbers)).to_series())

    def _scores(self) -> pl.Series:
        if SCORE not in self.chunk.numbers:
            return pl.repeat(None, len(self.rows), dtype=pl.Float64, eager=True)
        return pl.Series(self.chunk.numbers[SCORE][self.rows])

    def _retrieved(self) -> Ints:
        lengths = self.chunk.lengths
        lengths = lengths if self.k_max is None else np.minimum(lengths, self.k_max)
        return lengths[self.chunk.code[self.rows]]

    @cached_property
    def _grades(self) -> Floats:
        """NaN where a document was not judged."""
        return self._beside(self.sides.judged)

    def _beside(self, indexed: Any) -> Floats:
        """What the row beside says of each row; NaN where there is none."""
        found = np.full(self.chunk.height, np.nan)
        matches = match_documents(self.chunk, indexed)
        assert matches is not None  # each document of the batch is there once
        found[matches.batch_rows] = indexed.numbers[RELEVANCE][matches.index_rows]
        return found[self.rows]

    def _there(self, indexed: Any) -> Flags:
        return ~np.isnan(self._beside(indexed))

    @property
    def relevant(self) -> Flags:
        """Which documents are relevant, where judgments are at hand."""
        with np.errstate(invalid="ignore"):
            return self._grades > 0 if self.rel is None else self._grades >= self.rel

    def _judged(self) -> Flags:
        assert self.sides.judged is not None  # whoever asks for the column has it read
        return (self.sides.judged.find(self.chunk) >= 0)[self.chunk.code[self.rows]]

    def _popularity_rank(self) -> pl.Series:
        place = self._known(self.catalogue.popularity_rank)
        return pl.Series(np.where(place > 0, place, np.nan)).fill_nan(None).cast(pl.Int64)

    def _reference_rank(self) -> pl.Series:
        return _or_null(self._beside(self.sides.base)).cast(pl.Int64)

    def _of_attribute(self, request: ColumnRequest, attribute: str) -> NDArray[Any]:
        """Compute a column that is about an attribute."""
        code, base = self.code.astype(np.int64), request.column
        if base == "divergence":
            return self._divergence(attribute, request.k)
        if base == "has":
            having = self.catalogue.values(attribute).with_value(request.value or "")
            return self._known(having, otherwise=False)
        if base in ("vector", "vector_pairs", "cosine"):
            vectors = self.catalogue.vectors(attribute)
            known = vectors.of_rows(self.numbers)
            if base == "cosine":
                return cosines(vectors, known, code, self.numbers)
            return known.astype(np.int64) if base == "vector" else rows_above(known, code)
        mix = self._mix(attribute)
        return {
            "values": lambda: mix.counts,
            "new": mix.new,
            "crowd": mix.crowd,
            "pairs": mix.pairs,
            "unlike": mix.unlike,
        }[base]()

    @cached_property
    def _mixes(self) -> dict[str, Mix]:
        return {}

    def _mix(self, name: str) -> Mix:
        if name not in self._mixes:
            values = self.catalogue.values(name)
            self._mixes[name] = Mix(values, self.code.astype(np.int64), self.numbers)
        return self._mixes[name]

    def _divergence(self, attribute: str, k: int | None) -> Floats:
        values, code = self.catalogue.values(attribute), self.code.astype(np.int64)
        inside = np.flatnonzero(self.rank <= k) if k is not None else np.arange(len(self.rank))
        trained = self.sides.trained
        assert trained is not None  # whoever asks for the column has it read
        numbers = trained.find(self.chunk)[self.lists]
        known = np.flatnonzero(numbers >= 0)
        there = trained.rows_of_queries(numbers[known])
        owner = np.repeat(known, trained.lengths[numbers[known]])
        docs = self.sides.trained_docs
        assert docs is not None  # and its documents numbered
        found = divergence(
            values,
            (code[inside], self.numbers[inside]),
            (owner, docs[there], trained.numbers[RELEVANCE][there]),
            len(self.lists),
        )
        return found[code]


def _or_null(values: Floats) -> pl.Series:
    return pl.Series(values).fill_nan(None)
