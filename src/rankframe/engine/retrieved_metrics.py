"""Compute metrics over retrieved documents, by query and over all queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOCUMENTS_FRAME
from rankframe.core.errors import OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Policies
from rankframe.core.records import record
from rankframe.engine.document_metrics import ItemsBy, is_by_value
from rankframe.engine.judged_metrics import deepest_rank
from rankframe.engine.ledger import RunCounts
from rankframe.engine.plan import (
    Plan,
    check_columns,
    compile_plan,
    compute_values,
    concat_values,
    empty_values,
)
from rankframe.frames.catalogue import Catalogue, Trained
from rankframe.frames.exposure import Exposure
from rankframe.frames.retrieved import SIDE_OF_COLUMN, RetrievedFrame
from rankframe.frames.side_inputs import JUDGED, TRAINED, SideIndexes
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, open_table, open_train
from rankframe.io.queries import Attributes
from rankframe.kernel.batch import Batch
from rankframe.metrics.metric import Metric

# The option that each column of the retrieved and the documents frame requires.
_FROM = {
    "seen": "train", "popularity": "train", "interactions": "train", "popularity_rank": "train",
    "more_popular": "train", "train_queries": "train", "train_interactions": "train",
    "divergence": "train", "reference_rank": "reference", "relevance": "qrels", "relevant": "qrels",
    "judged": "qrels",
    "catalogue_size": "items",
}  # fmt: skip


@record
class SideInputs:
    """Open `train`, `reference` and the catalogue, each at its first use."""

    policies: Policies
    columns: Columns | None = None
    limit: int | None = None

    @cached_property
    def train(self) -> InputTable | None:
        """Return the training interactions, or None if none were passed."""
        source = self.policies.train
        return None if source is None else open_train(source, self.columns, limit=self.limit)

    @cached_property
    def reference(self) -> InputTable | None:
        """Return the reference run, or None if none was passed."""
        policies = self.policies
        if policies.reference is None:
            return None
        return open_table(
            policies.reference, "run", self.columns, order=policies.order, ranks=policies.ranks,
            called="reference", limit=self.limit,
        )  # fmt: skip

    @cached_property
    def catalogue(self) -> Catalogue:
        """Return the catalogue: the documents that could be retrieved, and their popularity."""
        trained = None if self.train is None else Trained.from_train(self.train)
        policies = self.policies
        return Catalogue.from_inputs(
            trained,
            policies.items,
            policies.catalogue,
            self.columns,
            split=policies.split,
            limit=self.limit,
        )


@record
class RetrievedMetrics:
    """Compute metrics over the retrieved frame, and the counts for metrics over documents."""

    plan: Plan
    # metrics over documents: how often each was retrieved
    documents: tuple[Metric, ...]
    policies: Policies
    catalogue: Catalogue
    attributes: Attributes | None = None
    # slices of the items, if there are to be any
    items_by: ItemsBy | None = None
    # whether to count retrieved documents that their query has in train
    counts_seen: bool = False
    # bytes that a row of each side takes at the peak, ids of up to 12 bytes included (measured)
    row_bytes: ClassVar[tuple[int, int]] = (160, 260)

    @classmethod
    def from_metrics(
        cls,
        metrics: Sequence[Metric],
        policies: Policies,
        catalogue: Catalogue,
        *,
        inputs: Collection[str],
        attributes: Attributes | None = None,
        items_by: ItemsBy | None = None,
    ) -> RetrievedMetrics:
        """Compile metrics over the retrieved frame, and over documents.

        Args:
            metrics: the metrics, over either of these frames.
            policies: the policies of the evaluation.
            catalogue: the documents that could be retrieved.
            inputs: which of qrels, train, items and reference were passed.
            attributes: slices of queries, for metrics over documents.
            items_by: slices of the items.
        """
        over_documents = tuple(metric for metric in metrics if metric.frame == "documents")
        over_lists = [metric for metric in metrics if metric.frame == "retrieved"]
        by_document = [metric for metric in over_documents if not is_by_value(metric)]
        check_columns({metric.label: metric.expr() for metric in by_document}, DOCUMENTS_FRAME)
        for metric in metrics:
            _refuse_without_inputs(metric, inputs, catalogue)
        plan = compile_plan(over_lists, catalogue.frame)
        if items_by is not None:
            items_by.check(catalogue)
        counts_seen = "train" in inputs and not policies.exclude_seen
        retrieved = cls(
            plan, over_documents, policies, catalogue, attributes, items_by, counts_seen
        )
        retrieved._prepare()
        return retrieved

    def _prepare(self) -> None:
        """Encode the attributes that metrics use, before several threads need them."""
        catalogue = self.catalogue
        for name in self.plan.columns:
            request = catalogue.frame.request(name)
            if request.attribute is None:
                continue
            if request.column in ("vector", "vector_pairs", "cosine"):
                catalogue.vectors(request.attribute)
            else:
                catalogue.values(request.attribute)
        for name in self.by_value:
            catalogue.value_sets(name)

    @property
    def needed(self) -> set[float]:
        """Return which of judgments, `train` and `reference` the metrics use."""
        columns = self.catalogue.frame.without_parameters(self.plan.columns)
        needed = {what for name, what in SIDE_OF_COLUMN.items() if name in columns}
        if self.items_by is not None and self.items_by.hits:
            needed.add(JUDGED)
        return needed | ({TRAINED} if self.counts_seen else set())

    @property
    def cutoffs(self) -> list[int | None]:
        """Return the cutoffs at which documents are counted, with the whole list last."""
        ks = {metric.params.get("k") for metric in self.documents if metric.definition}
        if any(metric.definition is None for metric in self.documents):
            ks.add(None)
        if self.items_by is not None:
            ks.add(self.items_by.k)
        return [*sorted(k for k in ks if k is not None), *([None] if None in ks else [])]

    @property
    def by_value(self) -> dict[str, int]:
        """Return the attributes whose values are counted by rank, and the last ranks."""
        found: dict[str, int] = {}
        for metric in self.documents:
            if metric.definition is not None and metric.definition.by_value:
                by, k = metric.params["by"], metric.params["k"]
                found[by] = max(k, found.get(by, 0))
        if self.items_by is not None:
            found |= {by: max(self.items_by.k, found.get(by, 0)) for by in self.items_by.names}
        return found

    def no_exposure(self) -> Exposure:
        """Return exposure counts of 0, to which batches are added."""
        hits = self.items_by is not None and self.items_by.hits
        return Exposure.empty(self.cutoffs, self.catalogue, self.by_value, hits=hits)

    @property
    def deepest(self) -> int | None:
        """Return the deepest rank that metrics look at, or None for the whole list."""
        depths = [] if self.items_by is None else [self.items_by.k]
        return deepest_rank((*self.plan.metrics, *self.documents), *depths)

    def start(self, left: pl.DataFrame) -> Callable[[], RetrievedValues]:
        """Index the inputs besides the run; return a factory of accumulators for its batches."""
        policies = self.policies
        sides = SideIndexes.from_rows(
            left, sorted(self.needed), policies.ties, policies.run_duplicates
        )
        sides = sides.with_numbers(self.catalogue, self.plan.columns)
        return lambda: RetrievedValues(metrics=self, sides=sides)


@dataclass(kw_only=True)
class RetrievedValues:
    """Accumulate values and counts of retrieved documents, batch by batch, on many threads."""

    metrics: RetrievedMetrics
    sides: SideIndexes
    parts: list[pl.DataFrame] = field(default_factory=list)
    counts: RunCounts = field(default_factory=RunCounts)
    exposure: Exposure | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, batch: Batch) -> None:
        """Compute the values and counts of a batch, and accumulate both."""
        metrics = self.metrics
        rows = RetrievedFrame(
            batch, self.sides, metrics.catalogue, metrics.policies, metrics.deepest
        )
        # Slices of items alone are no reason to list queries that nobody judged.
        looked_at = metrics.plan.metrics or metrics.documents
        values = None
        if len(rows.rows) and looked_at:
            values = compute_values(metrics.plan, rows)  # pyright: ignore[reportArgumentType]
        slices: tuple[NDArray[np.int64], ...] = ()
        if metrics.documents and metrics.attributes is not None:
            slices = metrics.attributes.look_up(rows.queries).slices
        counts = RunCounts(
            right_rows=batch.height,
            lists=len(rows.lists),
            retrieved=len(rows.rows),
            unknown=int((rows.numbers < 0).sum()),
            seen=int(np.count_nonzero(rows.seen)) if metrics.counts_seen else None,
            run_queries=len(batch.starts),
            tied=rows.ranks.tied,
            disagreeing=rows.ranks.contradicting,
            rising=rows.ranks.rising,
        )
        with self._lock:
            self.counts = self.counts.merge(counts)
            if values is not None:
                self.parts.append(values)
            if metrics.documents or metrics.items_by is not None:
                self.exposure = self.exposure or metrics.no_exposure()
                self.exposure.add(rows, slices)

    def finish(self) -> tuple[pl.DataFrame, RunCounts]:
        """Return the values of all queries in byte order of their ids, and the counts."""
        parts = [empty_values(self.metrics.plan.metrics), *self.parts]
        return concat_values(parts), replace(self.counts, exposure=self.exposure)


def _refuse_without_inputs(metric: Metric, inputs: Collection[str], catalogue: Catalogue) -> None:
    """Refuse a metric if an input that it needs is missing."""
    for name in metric.expr().meta.root_names():
        if name in catalogue.attributes.columns:
            continue
        request = catalogue.frame.request(name)
        needed = _FROM.get(request.column)
        if request.column == "in_catalogue" or needed == "items":
            needed = None if catalogue.is_listed else "items"
        elif request.attribute is not None and metric.frame == "retrieved":
            catalogue.attribute(request.attribute)
        if needed is not None and needed not in inputs:
            raise OptionError(
                f"{metric.label!r} needs ", Option(needed, bare=True), ": ", _MEANING[needed]
            )


_MEANING = {
    "train": "earlier interactions (query_id and doc_id), such as purchases.",
    "items": "the documents that could be retrieved, with a column doc_id (or give train).",
    "reference": "another run, to compare this run with.",
    "qrels": "judgments, which were not given.",
}
