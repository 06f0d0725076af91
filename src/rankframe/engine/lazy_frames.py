"""Make lazy frames for users: judged, retrieved, pair, exposure; only used columns are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack, get_args

import polars as pl

from rankframe.core.columns import (
    DOC,
    DOCUMENTS_FRAME,
    JUDGED_FRAME,
    PAIR_FRAME,
    QUERY,
    RANK,
    RELEVANCE,
    RETRIEVED_FRAME,
    SCORE,
    SUBTOPIC,
    SUBTOPIC_FRAME,
    ColumnRequest,
)
from rankframe.core.errors import MissingColumnError, OptionError
from rankframe.core.messages import shown
from rankframe.core.options import (
    COUNT,
    ExposureOptions,
    JudgeOptions,
    PairOptions,
    PairPolicies,
    Policies,
    RetrieveOptions,
    Storage,
    Ties,
    check_list,
    is_count,
    is_listed,
    is_number,
    take_all,
    takes_options,
)
from rankframe.engine.document_metrics import documents_frame
from rankframe.engine.evaluation import refuse_idle
from rankframe.engine.lookup import Lookup
from rankframe.engine.pair_evaluation import Pairing
from rankframe.engine.retrieved_metrics import RetrievedMetrics, SideInputs
from rankframe.frames.catalogue import Catalogue
from rankframe.frames.column_frame import lazy_frame
from rankframe.frames.judged import JudgedFrame
from rankframe.frames.retrieved import SIDE_OF_COLUMN, RetrievedFrame
from rankframe.frames.side_inputs import SideIndexes, combine_sides
from rankframe.frames.subtopics import SubtopicFrame, needs_ids
from rankframe.io.batches import Batches, check_input
from rankframe.io.inputs import (
    Columns,
    Source,
    open_judgments,
    open_ranking,
    open_run,
    refuse_absent_columns,
)
from rankframe.kernel.batch import Batch
from rankframe.kernel.reading import read_batches
from rankframe.metrics.names import resolve


@takes_options(JudgeOptions, Policies, Storage)
def judge(
    qrels: Source,
    run: Source,
    *,
    columns: Columns | None = None,
    levels: Sequence[float] = (),
    subtopics: bool = False,
    alphas: Sequence[float] = (),
    cutoffs: Sequence[int] = (),
    **options: Unpack[JudgeOptions],
) -> pl.LazyFrame:
    """Return the judged frame, for your own expressions: one row per judgment, by query and rank.

    The frame is lazy: inputs are read when it is collected, and only the columns that the query
    uses are computed.

    Args:
        qrels: the judgments, as in `evaluate`.
        run: the ranking, as in `evaluate`.
        columns: names in your data, as in `evaluate`.
        levels: grades to add columns for, which metrics with `rel` need (2 adds `found_rel2`, …).
        subtopics: return the subtopic frame instead: one row per judged document and subtopic, for
            metrics such as `rf.all_of`.
        alphas: with `subtopics`, values of α to add columns of ideal lists for (0.7 adds
            `ideal_rank_alpha0.7`, …).
        cutoffs: with `subtopics`, cutoffs k to add the columns of `rf.ndcg_ia` for (10 adds
            `ideal_dcg_top10`).

    >>> qrels = {"q1": {"a": 2, "b": 0, "c": 1}}
    >>> run = {"q1": {"a": 0.9, "x": 0.8, "c": 0.7}}
    >>> rf.judge(qrels, run).select("doc_id", "relevance", "rank", "found").collect()
    shape: (3, 4)
    ┌────────┬───────────┬──────┬───────┐
    │ doc_id ┆ relevance ┆ rank ┆ found │
    │ ---    ┆ ---       ┆ ---  ┆ ---   │
    │ str    ┆ f64       ┆ i64  ┆ i64   │
    ╞════════╪═══════════╪══════╪═══════╡
    │ a      ┆ 2.0       ┆ 1    ┆ 1     │
    │ c      ┆ 1.0       ┆ 3    ┆ 2     │
    │ b      ┆ 0.0       ┆ null ┆ null  │
    └────────┴───────────┴──────┴───────┘
    >>> rf.judge(qrels, run).group_by("query_id").agg(rf.recall(k=1).alias("recall@1")).collect()
    shape: (1, 2)
    ┌──────────┬──────────┐
    │ query_id ┆ recall@1 │
    │ ---      ┆ ---      │
    │ str      ┆ f64      │
    ╞══════════╪══════════╡
    │ q1       ┆ 0.5      │
    └──────────┴──────────┘
    >>> facts = {"query_id": ["q1"] * 3, "doc_id": ["a", "c", "c"], "fact": ["x", "x", "y"]}
    >>> rows = rf.judge(facts, run, relevance=1, subtopics=True)
    >>> rows.select("doc_id", "subtopic", "rank", "above").collect().rows()
    [('a', 'x', 1, 0), ('c', 'x', 3, 1), ('c', 'y', 3, 0)]
    """
    policies = Policies.from_options(options)
    refuse_idle(policies)
    levels = check_list("levels", levels, "a list of grades")
    alphas = check_list("alphas", alphas, "a list of numbers")
    cutoffs = check_list("cutoffs", cutoffs, "a list of whole numbers")
    if bad := [level for level in levels if not is_number(level)]:
        raise OptionError(f"levels are numbers, not {shown(bad[0])}.")
    frame_columns = SUBTOPIC_FRAME if subtopics else JUDGED_FRAME
    schema = frame_columns.schema_at(rel=levels, alpha=alphas, k=cutoffs)
    scanned_qrels = open_judgments(qrels, columns, relevance=policies.relevance)
    scanned_run = open_run(run, policies, columns)
    refuse_absent_columns(columns, scanned_qrels, scanned_run)
    if subtopics and SUBTOPIC not in scanned_qrels.mapping:
        found = list(scanned_qrels.raw.collect_schema())
        raise MissingColumnError(scanned_qrels.role, SUBTOPIC, found)

    def make(needed: set[str]) -> pl.DataFrame:
        lookup = Lookup.from_inputs(scanned_qrels, scanned_run, policies, needed)
        whole = lookup.found().select()
        absent: set[str] = set()
        if subtopics:
            rows = SubtopicFrame(whole, rel=policies.rel, settle=needs_ids(needed))
        else:
            rows = JudgedFrame(whole, rel=policies.rel, settle=DOC in needed)
            if SCORE not in scanned_run.mapping:
                absent = {name for name in needed if JUDGED_FRAME.of_whole_input(name)}
        frame = rows.frame({QUERY, *needed} - absent).sort(QUERY, maintain_order=True)
        return frame.with_columns(pl.lit(None, schema[name]).alias(name) for name in absent)

    return lazy_frame(schema, make)


# The columns that metrics derive from an attribute: of its values, or of its vectors.
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
    relevance without `qrels`, popularity without `train`, and so on. The frame also has the columns
    of `items`, and for each of them the columns that metrics derive from it, such as
    `new_of_genre`: the number of genres of a document that no document above it has.

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
    _refuse_order_of_grades(policies)
    if k is not None:
        COUNT.refuse("k", k)
    judgments = None
    if qrels is not None:
        judgments = open_judgments(qrels, columns, relevance=policies.relevance)
    documents = open_run(run, policies, columns)
    side_inputs = SideInputs(policies, columns)
    kinds = (judgments, side_inputs.train, side_inputs.reference)
    refuse_absent_columns(columns, documents, *(side for side in kinds if side is not None))
    catalogue = side_inputs.catalogue
    schema = _schema(catalogue, {what for what, side in enumerate(kinds) if side is not None})

    def make(needed: set[str]) -> pl.DataFrame:
        computed = catalogue.frame.without_parameters(needed)
        needed_kinds = {what for name, what in SIDE_OF_COLUMN.items() if name in computed}
        looked_at = [side if what in needed_kinds else None for what, side in enumerate(kinds)]
        for side in (looked_at[0], looked_at[2]):  # interactions were checked as they were counted
            if side is not None:
                check_input(side)
        rows, kinds_in_order = combine_sides(*looked_at).frame, sorted(needed_kinds)
        names = sorted({QUERY, RANK, *needed})

        def new_consumer() -> _FrameParts:
            rows_beside = rows.collect(engine="streaming")
            sides = SideIndexes.from_rows(
                rows_beside, kinds_in_order, policies.ties, policies.run_duplicates
            )
            sides = sides.with_numbers(catalogue, needed)
            return _FrameParts(
                lambda batch: RetrievedFrame(batch, sides, catalogue, policies, k).frame(names)
            )

        parts = read_batches(Batches(documents, documents.frame), new_consumer, heavy=True).parts
        if not parts:
            raise OptionError("the run has no rows.")
        return pl.concat(parts).sort(QUERY, RANK)

    return lazy_frame(schema, make)


class _FrameParts:
    """Collect the frames of the batches of a run, from several threads."""

    def __init__(self, make_frame: Callable[[Batch], pl.DataFrame]) -> None:
        self._make_frame = make_frame
        self.parts: list[pl.DataFrame] = []

    def add(self, batch: Batch) -> None:
        """Make the frame of a batch, and store it."""
        self.parts.append(self._make_frame(batch))


def _refuse_order_of_grades(policies: Policies) -> None:
    """Refuse ties="best" and "worst" in frames whose ranks do not depend on grades."""
    if policies.ties not in get_args(Ties):
        raise OptionError.choice("ties", policies.ties, get_args(Ties))


def _schema(catalogue: Catalogue, there: set[float]) -> dict[str, pl.DataType]:
    """Return names and types of the retrieved frame's columns, as far as inputs allow them."""
    lacking = {name for name, what in SIDE_OF_COLUMN.items() if what not in there}
    if catalogue.train_queries is None:
        lacking |= {"popularity", "interactions", "popularity_rank", "more_popular",
                    "train_queries", "train_interactions"}  # fmt: skip
    if not catalogue.is_listed:
        lacking |= {"in_catalogue", "catalogue_size"}
    schema = {
        name: column.type
        for name, column in RETRIEVED_FRAME.columns.items()
        if name not in lacking and not column.parameters
    }
    for name, kind in catalogue.attributes.schema.items():
        schema[name] = kind
        inner = kind.inner if isinstance(kind, pl.List | pl.Array) else None
        vector = isinstance(inner, pl.DataType) and inner.is_float()
        for column in _OF_VECTORS if vector else _OF_VALUES:
            schema[ColumnRequest(column, attribute=name).name] = RETRIEVED_FRAME.schema[column]
        if "divergence" not in lacking and not vector:
            divergence = ColumnRequest("divergence", attribute=name)
            schema[divergence.name] = RETRIEVED_FRAME.schema["divergence"]
    order = [QUERY, DOC, RANK, RELEVANCE]
    first = {name: schema[name] for name in order if name in schema}
    return first | schema


@takes_options(PairOptions, PairPolicies, Storage)
def pair(
    a: Source,
    b: Source,
    *,
    columns: Columns | None = None,
    cutoffs: Sequence[int] = (),
    **options: Unpack[PairOptions],
) -> pl.LazyFrame:
    """Return the pair frame of two rankings, for your own expressions: one row per document.

    There is a row for each document that either ranking has. The frame is lazy, as in `judge`.

    Args:
        a: the first ranking, the reference, as in `agree`.
        b: the second ranking.
        columns: names in your data, for both or as {"a": {...}, "b": {...}}.
        cutoffs: cutoffs k to add columns for that compare only the top k (10 adds
            `concordant_top10`, …).

    >>> a = {"q1": {"x": 3.0, "y": 2.0, "z": 1.0}}
    >>> b = {"q1": {"y": 3.0, "x": 2.0, "w": 1.0}}
    >>> rf.pair(a, b).select("doc_id", "rank_a", "rank_b", "depth", "overlap").collect()
    shape: (4, 5)
    ┌────────┬────────┬────────┬───────┬─────────┐
    │ doc_id ┆ rank_a ┆ rank_b ┆ depth ┆ overlap │
    │ ---    ┆ ---    ┆ ---    ┆ ---   ┆ ---     │
    │ str    ┆ i64    ┆ i64    ┆ i64   ┆ i64     │
    ╞════════╪════════╪════════╪═══════╪═════════╡
    │ x      ┆ 1      ┆ 2      ┆ 1     ┆ 0       │
    │ y      ┆ 2      ┆ 1      ┆ 2     ┆ 2       │
    │ z      ┆ 3      ┆ null   ┆ 3     ┆ 2       │
    │ w      ┆ null   ┆ 3      ┆ 4     ┆ 2       │
    └────────┴────────┴────────┴───────┴─────────┘
    """
    policies = PairPolicies.from_options(options)
    listed: list[Any] = take_all("cutoffs", cutoffs) if is_listed(cutoffs) else [cutoffs]
    if wrong := [k for k in listed if not is_count(k)]:
        raise OptionError(f"cutoffs are whole numbers of at least 1, not {shown(wrong[0])}.")
    sides = (
        open_ranking(a, "a", columns, order=policies.order),
        open_ranking(b, "b", columns, order=policies.order),
    )
    refuse_absent_columns(columns, *sides)

    def make(needed: set[str]) -> pl.DataFrame:
        names = {QUERY, *needed}
        frames = Pairing.from_rankings(*sides, policies).each(lambda pairs: pairs.frame(names))
        return pl.concat(frames).sort(QUERY, maintain_order=True)

    return lazy_frame(PAIR_FRAME.schema_at(ties="wab", k=listed), make)


@takes_options(ExposureOptions, Policies, Storage)
def exposure(
    run: Source,
    *,
    k: int | None = None,
    columns: Columns | None = None,
    **options: Unpack[ExposureOptions],
) -> pl.LazyFrame:
    """Return the exposure of each document: the number of lists that have it, and its popularity.

    One row per document of the run or the catalogue, ordered by doc_id. The frame is lazy: inputs
    are read when it is collected. `retrieved` counts the lists that have the document, `lists` the
    lists that have any. `popularity` and `interactions` are null without `train`, `in_catalogue`
    without `items` and `catalogue`. Metrics over documents are expressions over this frame, and
    `rf.plot.exposure` and `rf.plot.popularity` draw it.

    Args:
        run: the ranking, as in `evaluate`.
        k: count the top k of each list (default: the whole list). The columns are also there under
            the names that metrics with this cutoff look for, such as `retrieved_top10`.
        columns: names in your data, as in `evaluate`.

    >>> run = {"u1": {"a": 2.0, "b": 1.0}, "u2": {"a": 3.0, "c": 1.0}}
    >>> counted = rf.exposure(run, k=1, items=["a", "b", "c", "d"])
    >>> counted.select("doc_id", "in_catalogue", "retrieved", "lists").collect()
    shape: (4, 4)
    ┌────────┬──────────────┬───────────┬───────┐
    │ doc_id ┆ in_catalogue ┆ retrieved ┆ lists │
    │ ---    ┆ ---          ┆ ---       ┆ ---   │
    │ str    ┆ bool         ┆ i64       ┆ i64   │
    ╞════════╪══════════════╪═══════════╪═══════╡
    │ a      ┆ true         ┆ 2         ┆ 2     │
    │ b      ┆ true         ┆ 0         ┆ 2     │
    │ c      ┆ true         ┆ 0         ┆ 2     │
    │ d      ┆ true         ┆ 0         ┆ 2     │
    └────────┴──────────────┴───────────┴───────┘
    >>> counted.select(rf.coverage(k=1), gini=rf.gini(k=1)).collect().row(0)
    (0.25, 0.75)
    """
    if k is not None:
        COUNT.refuse("k", k)
    policies = Policies.from_options(options)
    _refuse_order_of_grades(policies)
    scanned = open_run(run, policies, columns)
    side_inputs = SideInputs(policies, columns)
    trained = side_inputs.train
    refuse_absent_columns(columns, scanned, *([] if trained is None else [trained]))
    schema = DOCUMENTS_FRAME.schema_at(k=() if k is None else (k,))

    def make(needed: set[str]) -> pl.DataFrame:  # noqa: ARG001 (all of it is one count)
        catalogue = side_inputs.catalogue
        depth = "" if k is None else f"@{k}"
        metrics = RetrievedMetrics.from_metrics(
            resolve(f"coverage(count=true){depth}", "documents"), policies, catalogue, inputs=()
        )
        nothing = combine_sides(None, None, None).frame.collect()
        exposure = read_batches(
            Batches(scanned, scanned.frame), metrics.start(nothing), heavy=True
        ).exposure
        frame = documents_frame(exposure or metrics.no_exposure(), catalogue)
        frame = frame.with_columns(
            ColumnRequest(name, k=k).expr.alias(name) for name in ("retrieved", "lists")
        )
        unknown = ["popularity", "interactions"] if trained is None else []
        unknown += [] if catalogue.is_listed else ["in_catalogue"]
        return frame.with_columns(pl.lit(None, schema[name]).alias(name) for name in unknown)

    return lazy_frame(schema, make)
