"""The documents frame for users: how often each document is shown, beside how popular it is."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from rankframe.core.columns import DOCUMENTS_FRAME, ColumnRequest
from rankframe.core.options import COUNT, ExposureOptions, Policies, Storage, takes_options
from rankframe.engine.document_metrics import documents_frame
from rankframe.engine.retrieved import RetrievedMetrics
from rankframe.frames.catalogue import Catalogue, Trained
from rankframe.frames.lazy_frame import lazy_frame
from rankframe.frames.side_inputs import beside
from rankframe.io.batches import Batches
from rankframe.io.inputs import Columns, Source, open_run, open_train, refuse_absent_columns
from rankframe.kernel.reading import read_batches
from rankframe.metrics.names import resolve

# What is known only where there is a table of it.
_OF_TRAIN = ("popularity", "interactions")
_OF_CATALOGUE = "in_catalogue"


@takes_options(ExposureOptions, Policies, Storage)
def exposure(
    run: Source,
    *,
    k: int | None = None,
    columns: Columns | None = None,
    **options: Unpack[ExposureOptions],
) -> pl.LazyFrame:
    """Return the exposure of each document: in how many lists it is, beside its popularity.

    One row per document of the run or the catalogue, ordered by doc_id. The frame is lazy: inputs
    are read when it is collected. `shown` counts the lists that have the document, `lists` the
    lists that have any. `popularity` and `interactions` are null without `train`, `in_catalogue`
    without `items` and `catalogue`. Metrics over documents are expressions over this frame, and
    `rf.plot.exposure` and `rf.plot.popularity` draw it.

    Args:
        run: the ranking, as in `evaluate`.
        k: count the top k of each list (default: the whole list). The columns are also there under
            the names that metrics with this cutoff look for, such as `shown_top10`.
        columns: names in your data, as in `evaluate`.

    >>> run = {"u1": {"a": 2.0, "b": 1.0}, "u2": {"a": 3.0, "c": 1.0}}
    >>> counted = rf.exposure(run, k=1, items=["a", "b", "c", "d"])
    >>> counted.select("doc_id", "in_catalogue", "shown", "lists").collect()
    shape: (4, 4)
    ┌────────┬──────────────┬───────┬───────┐
    │ doc_id ┆ in_catalogue ┆ shown ┆ lists │
    │ ---    ┆ ---          ┆ ---   ┆ ---   │
    │ str    ┆ bool         ┆ i64   ┆ i64   │
    ╞════════╪══════════════╪═══════╪═══════╡
    │ a      ┆ true         ┆ 2     ┆ 2     │
    │ b      ┆ true         ┆ 0     ┆ 2     │
    │ c      ┆ true         ┆ 0     ┆ 2     │
    │ d      ┆ true         ┆ 0     ┆ 2     │
    └────────┴──────────────┴───────┴───────┘
    >>> counted.select(rf.coverage(k=1), gini=rf.gini(k=1)).collect().row(0)
    (0.25, 0.75)
    """
    if k is not None:
        COUNT.refuse("k", k)
    policies = Policies.from_options(options)
    scanned = open_run(run, policies, columns)
    trained = None if policies.train is None else open_train(policies.train, columns)
    refuse_absent_columns(columns, scanned, *([] if trained is None else [trained]))
    schema = DOCUMENTS_FRAME.schema_at(k=() if k is None else (k,))

    def make(needed: set[str]) -> pl.DataFrame:  # noqa: ARG001 (all of it is one count)
        popular = None if trained is None else Trained.of(trained)
        catalogue = Catalogue.of(popular, policies.items, policies.catalogue, columns)
        depth = "" if k is None else f"@{k}"
        metrics = RetrievedMetrics.from_metrics(
            resolve(f"coverage(count=true){depth}", "documents"), policies, catalogue, inputs=()
        )
        nothing = beside(None, None, None).frame.collect()
        exposure = read_batches(
            Batches(scanned, scanned.frame), metrics.start(nothing), heavy=True
        ).exposure
        frame = documents_frame(exposure or metrics.no_exposure(), catalogue)
        frame = frame.with_columns(
            ColumnRequest(name, k=k).expr.alias(name) for name in ("shown", "lists")
        )
        unknown = [] if trained is not None else list(_OF_TRAIN)
        unknown += [] if catalogue.given else [_OF_CATALOGUE]
        return frame.with_columns(pl.lit(None, schema[name]).alias(name) for name in unknown)

    return lazy_frame(schema, make)
