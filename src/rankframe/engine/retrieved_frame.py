"""The shown frame for users: lazy, and no more of it than is used."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SHOWN_FRAME, ColumnRequest
from rankframe.core.errors import OptionError
from rankframe.core.options import COUNT, Policies, RetrieveOptions, Storage, takes_options
from rankframe.engine.retrieved import Frames
from rankframe.frames.catalogue import Catalogue, Trained
from rankframe.frames.lazy_frame import lazy_frame
from rankframe.frames.retrieved import BESIDE
from rankframe.frames.side_inputs import TRAINED, Sides, beside
from rankframe.io.batches import Batches
from rankframe.io.inputs import (
    Columns,
    Source,
    open_judgments,
    open_run,
    open_train,
    refuse_absent_columns,
)
from rankframe.io.opening import open_table
from rankframe.io.validate import check_input
from rankframe.kernel.reading import read_batches

# Of an attribute: what metrics look at.
_OF_VALUES = ("values", "new", "crowd", "pairs", "unlike")
_OF_VECTORS = ("vector", "vector_pairs", "cosine")


@takes_options(RetrieveOptions, Policies, Storage)
def retrieved(
    run: Source,
    qrels: Source | None = None,
    *,
    k: int | None = None,
    columns: Columns | None = None,
    **options: Unpack[RetrieveOptions],
) -> pl.LazyFrame:
    """Return the retrieved frame, for your own expressions: one row per retrieved document.

    Rows are ordered by query and rank. The frame is lazy: inputs are read when it is collected, and
    only the columns that the query uses are computed. Columns without a source are left out:
    relevance without `qrels`, popularity without `train`, and so on. The columns of `items` are
    columns here, each with what metrics make of it (`new_of_genre`: how many of its values no
    document above has).

    Args:
        run: the ranking, as in `evaluate`.
        qrels: the judgments, as in `evaluate`.
        k: keep the top k documents of each query (default: all).
        columns: names in your data, as in `evaluate`.

    >>> run = {"u1": {"a": 0.9, "b": 0.8}, "u2": {"a": 0.7}}
    >>> items = pl.DataFrame({"doc_id": ["a", "b"], "price": [3.0, 5.0]})
    >>> train = {"u1": ["b"], "u3": ["b", "a"]}
    >>> rf.retrieved(run, train=train, items=items).select(
    ...     "query_id", "doc_id", "rank", "seen", "popularity", "price"
    ... ).collect()
    shape: (3, 6)
    ┌──────────┬────────┬──────┬───────┬────────────┬───────┐
    │ query_id ┆ doc_id ┆ rank ┆ seen  ┆ popularity ┆ price │
    │ ---      ┆ ---    ┆ ---  ┆ ---   ┆ ---        ┆ ---   │
    │ str      ┆ str    ┆ i64  ┆ bool  ┆ i64        ┆ f64   │
    ╞══════════╪════════╪══════╪═══════╪════════════╪═══════╡
    │ u1       ┆ a      ┆ 1    ┆ false ┆ 1          ┆ 3.0   │
    │ u1       ┆ b      ┆ 2    ┆ true  ┆ 2          ┆ 5.0   │
    │ u2       ┆ a      ┆ 1    ┆ false ┆ 1          ┆ 3.0   │
    └──────────┴────────┴──────┴───────┴────────────┴───────┘
    """
    policies = Policies.from_options(options)
    if k is not None:
        COUNT.refuse("k", k)
    judgments = None
    if qrels is not None:
        judgments = open_judgments(qrels, columns, relevance=policies.relevance)
    documents = open_run(run, policies, columns)
    trained = None if policies.train is None else open_train(policies.train, columns)
    other = None
    if policies.reference is not None:
        other = open_table(
            policies.reference,
            "run",
            columns,
            order=policies.order,
            ranks=policies.ranks,
            called="reference",
        )
    sides = [side for side in (judgments, documents, trained, other) if side is not None]
    refuse_absent_columns(columns, *sides)
    catalogue = Catalogue.of(
        None if trained is None else Trained.of(trained),
        policies.items,
        policies.catalogue,
        columns,
    )
    kinds = dict(zip((0.0, 1.0, 2.0), (judgments, trained, other), strict=True))
    schema = _schema(catalogue, {what for what, side in kinds.items() if side is not None})

    def make(needed: set[str]) -> pl.DataFrame:
        computed = catalogue.frame.without_parameters(needed)
        computed_kinds = sorted({what for name, what in BESIDE.items() if name in computed})
        for side in (kinds[what] for what in computed_kinds if what != TRAINED):
            if side is not None:  # interactions were looked at as they were counted
                check_input(side)
        rows = beside(*(kinds[what] if what in computed_kinds else None for what in sorted(kinds)))
        found = read_batches(
            Batches(documents, documents.frame),
            lambda: Frames(
                catalogue=catalogue,
                sides=Sides.of(
                    rows.frame.collect(engine="streaming"),
                    computed_kinds,
                    policies.ties,
                    policies.run_duplicates,
                ).numbered(catalogue, needed),
                policies=policies,
                columns=sorted({QUERY, RANK, *needed}),
                k=k,
            ),
            heavy=True,
        )
        if not found.parts:
            raise OptionError("the run has no rows.")
        return pl.concat(found.parts).sort(QUERY, RANK)

    return lazy_frame(schema, make)


def _schema(catalogue: Catalogue, there: set[float]) -> dict[str, pl.DataType]:
    """Return the columns, with types, that the passed inputs allow to compute."""
    lacking = {name for name, what in BESIDE.items() if what not in there}
    if catalogue.train_queries is None:
        lacking |= {"popularity", "interactions", "popularity_rank", "more_popular",
                    "train_queries", "train_interactions"}  # fmt: skip
    if not catalogue.given:
        lacking |= {"in_catalogue", "catalogue_size"}
    schema = {
        name: column.type
        for name, column in SHOWN_FRAME.columns.items()
        if name not in lacking and not column.parameters
    }
    for name, kind in catalogue.attributes.schema.items():
        schema[name] = kind
        inner = kind.inner if isinstance(kind, pl.List | pl.Array) else None
        vector = isinstance(inner, pl.DataType) and inner.is_float()
        for column in _OF_VECTORS if vector else _OF_VALUES:
            schema[ColumnRequest(column, attribute=name).name] = SHOWN_FRAME.schema[column]
        if "divergence" not in lacking and not vector:
            divergence = ColumnRequest("divergence", attribute=name)
            schema[divergence.name] = SHOWN_FRAME.schema["divergence"]
    order = [QUERY, DOC, RANK, RELEVANCE]
    first = {name: schema[name] for name in order if name in schema}
    return first | schema
