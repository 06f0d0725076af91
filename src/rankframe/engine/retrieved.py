"""A run read once: what each query is shown, and how often each document is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import Column, FrameColumns
from rankframe.core.errors import DuplicateError, OptionError
from rankframe.core.messages import Option
from rankframe.core.options import Policies
from rankframe.engine.contiguous import Told, take_grouped
from rankframe.engine.document_metrics import check_columns
from rankframe.engine.item_slices import ItemsBy
from rankframe.engine.plan import PerQuery, Plan, compile_plan, per_query_values
from rankframe.engine.shuffled import take_scattered
from rankframe.engine.work import Additive
from rankframe.frames.items import Catalogue
from rankframe.frames.retrieved_columns import SHOWN_FRAME
from rankframe.frames.retrieved_rows import BESIDE, ShownRows
from rankframe.frames.shows import Shows
from rankframe.frames.side_inputs import JUDGED, Sides
from rankframe.io.batches import Batches
from rankframe.io.input_table import InputTable
from rankframe.io.queries import Attributes
from rankframe.io.validate import load_unique
from rankframe.kernel.batch import Batch
from rankframe.kernel.tables import Index
from rankframe.metrics.metric import Metric

# What columns of the shown and the documents frame are made from: an option that must be given.
_FROM = {
    "seen": "train", "popularity": "train", "interactions": "train", "popularity_rank": "train",
    "more_popular": "train", "train_queries": "train", "train_interactions": "train",
    "divergence": "train", "base_rank": "base", "relevance": "qrels", "relevant": "qrels",
    "judged": "qrels",
    "catalogue_size": "items",
}  # fmt: skip


@dataclass(frozen=True)
class ShownCounts(Additive):
    """What was seen of what is shown."""

    beside_rows: int = 0
    run_rows: int = 0
    # lists that show anything, documents shown, and those of them that nobody knows
    lists: int = 0
    shown: int = 0
    unknown: int = 0
    shows: Shows | None = None

    @property
    def rows(self) -> tuple[int, int]:
        """Rows of both sides."""
        return self.beside_rows, self.run_rows


@dataclass(frozen=True)
class Showing:
    """What is computed of what a run shows."""

    plan: Plan
    # metrics over the documents frame
    documents: tuple[Metric, ...]
    policies: Policies
    catalogue: Catalogue
    attributes: Attributes | None = None
    # slices of the items; None: nobody asks
    items_by: ItemsBy | None = None

    @classmethod
    def of(
        cls,
        metrics: Sequence[Metric],
        policies: Policies,
        catalogue: Catalogue,
        *,
        given: Collection[str],
        attributes: Attributes | None = None,
        items_by: ItemsBy | None = None,
    ) -> Showing:
        """Prepare metrics over the shown and the documents frame.

        `given`: which of qrels, train, items, base there are.
        """
        of_documents = tuple(metric for metric in metrics if metric.frame == "documents")
        of_lists = [metric for metric in metrics if metric.frame == "shown"]
        check_columns(of_documents)
        for metric in metrics:
            _refuse_lacking(metric, given, catalogue)
        plan = compile_plan(of_lists, _with_attributes(catalogue))
        if items_by is not None:
            items_by.check(catalogue)
        made = cls(plan, of_documents, policies, catalogue, attributes, items_by)
        made.prepare()
        return made

    def prepare(self) -> None:
        """Make once what all threads look at."""
        catalogue = self.catalogue
        for name in self.plan.columns:
            base, of = SHOWN_FRAME.split(name)
            if of is None or name in catalogue.attributes.columns:
                continue
            if base in ("vector", "vector_pairs", "cosine"):
                catalogue.vectors(of)
            elif base == "has":
                catalogue.values(of.partition("=")[0])
            else:
                catalogue.values(catalogue.cut(of)[0] if base == "divergence" else of)
        for name in self.by_value:
            catalogue.value_sets(name)

    @property
    def asked(self) -> set[float]:
        """Which kinds of rows beside the run are looked at."""
        bases = {SHOWN_FRAME.split(name)[0] for name in self.plan.columns}
        asked = {what for name, what in BESIDE.items() if name in bases}
        return asked | ({JUDGED} if self.items_by is not None and self.items_by.hits else set())

    @property
    def cutoffs(self) -> list[int | None]:
        """Where documents are counted, the whole list last."""
        ks = {metric.params.get("k") for metric in self.documents if metric.definition}
        if any(metric.definition is None for metric in self.documents):
            ks.add(None)
        if self.items_by is not None:
            ks.add(self.items_by.k)
        return [*sorted(k for k in ks if k is not None), *([None] if None in ks else [])]

    @property
    def by_value(self) -> dict[str, int]:
        """Attributes of documents by whose values ranks are counted, and down to which."""
        found: dict[str, int] = {}
        for metric in self.documents:
            if metric.definition is not None and metric.definition.by_value:
                by, k = metric.params["by"], metric.params["k"]
                found[by] = max(k, found.get(by, 0))
        if self.items_by is not None:
            found |= {by: max(self.items_by.k, found.get(by, 0)) for by in self.items_by.names}
        return found

    @property
    def counts_documents(self) -> bool:
        """Whether it matters how often each document is shown."""
        return bool(self.documents) or self.items_by is not None

    @property
    def deepest(self) -> int | None:
        """The last rank that anybody looks at; None: there is no such."""
        ks = [m.params.get("k") for m in (*self.plan.metrics, *self.documents)]
        ks += [] if self.items_by is None else [self.items_by.k]
        known = [k for k in ks if k is not None]
        return max(known) if len(known) == len(ks) else None

    def worked(
        self,
        left: pl.DataFrame,
        run: InputTable,
        told: Told = lambda _: None,
        at_once: int | None = None,
    ) -> tuple[PerQuery, ShownCounts]:
        """Read a run, whatever the order of its rows; `left`: all rows beside it."""
        sides = Sides.of(left, sorted(self.asked), self.policies.ties, self.policies.run_duplicates)
        sides = sides.numbered(self.catalogue, self.plan.columns)
        found = each_chunk(run, lambda: _Taken(of=self, sides=sides), told, at_once)
        counts = replace(found.counts, beside_rows=left.height)
        return PerQuery.joined([self.plan.no_values(), *found.parts], ordered=False), counts


class Taking(Protocol):
    """Takes the chunks of a run, from several threads."""

    def take(self, chunk: Batch) -> bool:
        """Work on one."""
        ...

    def repeats(self) -> bool:
        """Whether a query seems to have come twice."""
        ...


_Taking = TypeVar("_Taking", bound=Taking)


def each_chunk(
    run: InputTable,
    fresh: Callable[[], _Taking],
    told: Told = lambda _: None,
    at_once: int | None = None,
) -> _Taking:
    """Read a run in chunks of whole queries, whatever the order of its rows: whoever took them all.

    `fresh` makes one that took none yet: it begins anew where rows are not as they seemed.
    """
    batches = Batches(run, run.frame, at_once)
    ways: list[Callable[[_Taking], bool]] = [
        lambda taking: take_grouped(batches, taking.take, told, much=True) and not taking.repeats(),
        lambda taking: take_scattered(batches, taking.take, told, much=True),
        # queries with the same hash
        lambda taking: take_grouped(batches.by_name(), taking.take, told, surely=True, much=True),
    ]
    for way in ways:
        taking = fresh()
        try:
            if way(taking):
                return taking
        except DuplicateError:
            # Said of the whole input: how many in all, and which rows of it.
            load_unique(run)
            raise
    raise AssertionError("in order of their names, the rows of a query are together")


@dataclass
class Queries:
    """The queries that came so far."""

    _hashes: list[NDArray[np.uint64]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def repeats(self) -> bool:
        """Whether one seems to have come twice."""
        return bool(self._hashes) and Index(np.concatenate(self._hashes)).repeats


@dataclass(kw_only=True)
class Frames(Queries):
    """The shown frame, as it comes."""

    catalogue: Catalogue
    sides: Sides
    policies: Policies
    columns: Collection[str]
    k: int | None = None
    parts: list[pl.DataFrame] = field(default_factory=list)

    def take(self, chunk: Batch) -> bool:
        """Make it of a chunk."""
        rows = ShownRows.of(chunk, self.sides, self.catalogue, self.policies, self.k)
        part = rows.frame(self.columns)
        with self._lock:
            self._hashes.append(chunk.hashes)
            self.parts.append(part)
        return True


@dataclass
class _Taken(Queries):
    """What was made of the chunks so far."""

    of: Showing = field(kw_only=True)
    sides: Sides = field(kw_only=True)
    parts: list[PerQuery] = field(default_factory=list)
    counts: ShownCounts = field(default_factory=ShownCounts)

    def take(self, chunk: Batch) -> bool:
        """Work on a chunk."""
        of = self.of
        height, hashes = chunk.height, chunk.hashes
        rows = ShownRows.of(chunk, self.sides, of.catalogue, of.policies, of.deepest)
        # Slices of items alone are no reason to speak of queries that nobody judged.
        looked_at = of.plan.metrics or of.documents
        values = per_query_values(of.plan, rows) if len(rows.rows) and looked_at else None  # pyright: ignore[reportArgumentType]
        slices: tuple[NDArray[np.int64], ...] = ()
        if of.documents and of.attributes is not None:
            slices = of.attributes.of(rows.queries).slices
        unknown = int((rows.numbers < 0).sum())
        with self._lock:
            self._hashes.append(hashes)
            if values is not None:
                self.parts.append(values)
            shows = self.counts.shows
            if of.counts_documents:
                hits = of.items_by is not None and of.items_by.hits
                shows = shows or Shows.none(of.cutoffs, of.catalogue, of.by_value, hits=hits)
                shows.add(rows, slices)
            self.counts = ShownCounts(
                0,
                self.counts.run_rows + height,
                self.counts.lists + len(rows.lists),
                self.counts.shown + len(rows.rows),
                self.counts.unknown + unknown,
                shows,
            )
        return True


def _with_attributes(catalogue: Catalogue) -> FrameColumns:
    """The shown frame with the attributes of the items."""
    own = {name: Column(kind, "") for name, kind in catalogue.attributes.schema.items()}
    return replace(SHOWN_FRAME, columns={**SHOWN_FRAME.columns, **own})


def _refuse_lacking(metric: Metric, given: Collection[str], catalogue: Catalogue) -> None:
    """Refuse a metric that needs what was not given."""
    for name in metric.expr().meta.root_names():
        if name in catalogue.attributes.columns:
            continue
        base, of = SHOWN_FRAME.split(name)
        needed = _FROM.get(base)
        if base == "in_catalogue" or needed == "items":
            needed = None if catalogue.given else "items"
        elif of is not None and metric.frame == "shown":
            name_of = catalogue.cut(of)[0] if base == "divergence" else of.partition("=")[0]
            catalogue.attribute(name_of)
        if needed is not None and needed not in given:
            raise OptionError(
                f"{metric.label!r} needs ", Option(needed, bare=True), ": ", _MEANING[needed]
            )


_MEANING = {
    "train": "rows of query_id and doc_id from before, such as what users had bought.",
    "items": "the documents that could be shown, with a column doc_id (or give train).",
    "base": "another run, to which this one is compared.",
    "qrels": "judgments, which were not given.",
}
