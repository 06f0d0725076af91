"""Before and after: which queries a change helped or hurt, and which documents moved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from rankframe.arrays.keys import Keyed
from rankframe.base import options
from rankframe.base.columns import DOC, QUERY, RELEVANCE
from rankframe.base.errors import MetricParameterError, OptionError
from rankframe.base.messages import did_you_mean
from rankframe.base.options import Intervals, Policies, is_count
from rankframe.base.storage import StorageOptions, reaching
from rankframe.base.wording import naming_the_run
from rankframe.decisions.change import Diff
from rankframe.decisions.lacking import lacks
from rankframe.decisions.systems import System, retrieved_beside
from rankframe.engine.held import hold
from rankframe.engine.plan import PerQuery
from rankframe.evaluation.evaluate import evaluate_scanned
from rankframe.evaluation.job import Job, judged_plan
from rankframe.evaluation.ledger import says_every_relevant
from rankframe.evaluation.result import Result
from rankframe.formats.registry import READ_ERRORS, unreadable
from rankframe.frames.rank import prepare_run
from rankframe.frames.units import one_of_each_unit
from rankframe.inputs.scan import Columns, Scanned, Source, refuse_absent_columns, scan
from rankframe.inputs.units import scan_run
from rankframe.inputs.validate import one_of_each
from rankframe.metrics.names import Metric, MetricLike, resolve
from rankframe.stats.paired import differences

_SIDES: Final = ("a", "b")
_SUMMARY: Final = {
    "metric": pl.String,
    **dict.fromkeys(("mean_a", "mean_b", "difference"), pl.Float64),
    **dict.fromkeys(("wins", "ties", "losses", "undefined", "queries"), pl.Int64),
}
_DEFAULT_K = 10
_COMPARABLE = 10_000  # ids among which a similar one is looked for letter by letter


@reaching
def diff(
    qrels: Source,
    a: Source,
    b: Source,
    metric: MetricLike = "ndcg@10",
    *,
    k: int | None = None,
    most: int = 20,
    only: Sequence[str] | None = None,
    columns: Columns | None = None,
    storage_options: StorageOptions | None = None,
    rel: float | None = None,
    relevance: float | None = None,
    missing: options.Missing = "zero",
    no_relevant: options.NoRelevant = "zero",
    no_overlap: options.NoOverlap = "error",
    order: options.Order = "columns",
    ranks: options.Ranks = "renumbered",
    ties: options.Ties = "doc_desc",
    duplicates: options.Duplicates = "error",
    k_max: int | None = None,
    unit: options.Unit = None,
    gaps: options.Gaps = "closed",
    judged_only: bool = False,
) -> Diff:
    """What changed from run `a` (before) to run `b` (after): queries, and their documents.

    Truth first; `qrels` and the runs are whatever `evaluate` reads.

    metric: one name, or one polars expression over the judged frame, of which more is better unless
        `rf.metric` says otherwise.
    k: how deep to look for documents that moved (default: the metric's own cutoff, else 10).
    most: how many of the queries that changed to show, those with the largest change first.
    only: show these queries alone, as far as they changed. Means and counts are of all queries.
    columns and the policies: as in `evaluate`. A query that these leave out of one run only is
        undefined, not dropped.

    >>> qrels = {"q1": {"x": 1}, "q2": {"y": 1}}
    >>> before = {"q1": {"w": 2.0, "x": 1.0}, "q2": {"y": 1.0}}
    >>> after = {"q1": {"x": 2.0, "z": 1.0}, "q2": {"y": 1.0}}
    >>> change = rf.diff(qrels, before, after, "mrr@2")
    >>> change
    rankframe diff, mrr@2: 0.7500 → 1.0000 (+0.2500)
      2 queries: 1 better in b, 1 the same, 0 worse
      q1  0.5000 → 1.0000  +0.5000  b better
    >>> change.documents
    shape: (3, 6)
    ┌──────────┬────────┬───────────┬────────┬────────┬─────────┐
    │ query_id ┆ doc_id ┆ relevance ┆ rank_a ┆ rank_b ┆ change  │
    │ ---      ┆ ---    ┆ ---       ┆ ---    ┆ ---    ┆ ---     │
    │ str      ┆ str    ┆ f64       ┆ i64    ┆ i64    ┆ str     │
    ╞══════════╪════════╪═══════════╪════════╪════════╪═════════╡
    │ q1       ┆ x      ┆ 1.0       ┆ 2      ┆ 1      ┆ up      │
    │ q1       ┆ z      ┆ null      ┆ null   ┆ 2      ┆ entered │
    │ q1       ┆ w      ┆ null      ┆ 1      ┆ null   ┆ left    │
    └──────────┴────────┴───────────┴────────┴────────┴─────────┘
    """
    chosen = _one_metric(metric)
    depth = int(chosen.params.get("k") or _DEFAULT_K) if k is None else k
    for option, value in (("k", depth), ("most", most)):
        if not is_count(value):
            raise OptionError(f"{option} must be a whole number of at least 1, not {value!r}.")
    if isinstance(only, str) or not isinstance(only, Iterable | None):
        raise OptionError(f"only takes a list of query ids, not {only!r}.")
    policies = Policies.given(locals())
    retrieved = retrieved_beside([chosen])
    job = Job(judged_plan([chosen, retrieved]), policies, intervals=Intervals(None))
    judgments = scan(qrels, "qrels", columns, relevance=relevance)
    runs: list[Scanned] = []
    for side, source in zip(_SIDES, (a, b), strict=True):
        with naming_the_run(side):
            runs.append(scan_run(source, policies, columns))
    refuse_absent_columns(columns, judgments, *runs)
    held = hold(judgments, runs, job.row_bytes, again=True)
    results: list[Result] = []
    for side, run, pieces in zip(_SIDES, held.rights, held.pieces, strict=True):
        with naming_the_run(side):
            results.append(evaluate_scanned(held.left, run, job, pieces=pieces))
    per_query = _side_by_side(chosen, results)
    movers = _movers(per_query, int(most), only)
    documents = _documents(movers[QUERY], held.left, held.rights, policies, int(depth))
    summary = _summary(chosen, results, per_query)
    sides = {
        side: System(PerQuery.of(of.per_query), of.ledger, evidence=[retrieved.label])
        for side, of in zip(_SIDES, results, strict=True)
    }
    return Diff(
        summary, per_query, movers, documents, int(depth), lacks(sides, [chosen]),
        says_every_relevant(results[0].ledger),
    )  # fmt: skip


def _one_metric(metric: MetricLike) -> Metric:
    found = resolve(metric)
    if len(found) > 1:
        raise MetricParameterError(
            f"a diff is of one metric, not of {len(found)}: take {found[0].label!r}, for instance."
        )
    if found[0].average == "weighted":
        raise MetricParameterError(
            f"{found[0].label!r} is averaged by weight, and a diff has no weights. "
            "Leave out average=weighted."
        )
    return found[0]


def _side_by_side(metric: Metric, results: Sequence[Result]) -> pl.DataFrame:
    a, b = (
        pl.DataFrame({QUERY: of.per_query[QUERY], side: of.per_query[metric.label].fill_nan(None)})
        for side, of in zip(_SIDES, results, strict=True)
    )
    higher = metric.higher_is_better
    larger, smaller = ("b", "a") if higher else ("a", "b")
    delta = pl.col("delta")
    better = _named({"same": delta == 0, larger: delta > 0, smaller: delta < 0})
    joined = a.join(b, on=QUERY, how="full", coalesce=True).sort(QUERY)
    before, after = (joined[side].cast(pl.Float64).fill_null(math.nan) for side in _SIDES)
    change = pl.Series("delta", differences(after.to_numpy(), before.to_numpy())).fill_nan(None)
    return joined.with_columns(change).with_columns(better=better)


def _summary(metric: Metric, results: Sequence[Result], per_query: pl.DataFrame) -> pl.DataFrame:
    a, b = (of[metric.label] for of in results)
    difference = None if a is None or b is None else b - a
    better = per_query["better"]
    counts = [(better == outcome).sum() for outcome in ("b", "same", "a")]
    row = (metric.label, a, b, difference, *counts, better.null_count(), len(better))
    return pl.DataFrame([row], schema=_SUMMARY, orient="row")


def _movers(per_query: pl.DataFrame, most: int, only: Sequence[str] | None) -> pl.DataFrame:
    moved = per_query.filter(pl.col("delta") != 0)
    if only is not None:
        moved = moved.filter(pl.col(QUERY).is_in(_known(only, per_query[QUERY])))
    # Queries are in byte order, and stay so where changes are equal.
    return moved.sort(-pl.col("delta").abs(), maintain_order=True).head(most)


def _known(only: Sequence[str], known: pl.Series) -> list[str]:
    """The queries asked for, all of which were evaluated."""
    asked = list(map(str, only))
    if unknown := sorted(set(asked).difference(known.to_list())):
        queries = "query that was" if len(unknown) == 1 else "queries that were"
        examples = ", ".join(map(repr, known.head(3))) or "nothing"
        near = did_you_mean(unknown[0], _alike(unknown[0], known))
        raise OptionError(
            f"only names {len(unknown):,} {queries} not evaluated, e.g. {unknown[0]!r}. "
            f"{near or f'Those evaluated look like {examples}.'}"
        )
    return asked


def _alike(name: str, known: pl.Series) -> list[str]:
    """Few enough ids to compare letter by letter: one slip leaves one half of a name intact."""
    text = name.lower().encode(errors="replace").decode()
    lowered, half = known.str.to_lowercase(), len(text) // 2
    alike = lowered.str.starts_with(text[:half]) | lowered.str.ends_with(text[half:])
    return known.filter(alike).head(_COMPARABLE).to_list()


def _documents(
    queries: pl.Series, qrels: Scanned, runs: Sequence[Scanned], policies: Policies, k: int
) -> pl.DataFrame:
    """What either run has in its top k for these queries, and what became of it."""
    rank_a, rank_b = pl.col("rank_a"), pl.col("rank_b")
    in_a, in_b = ((rank <= k).fill_null(value=False) for rank in (rank_a, rank_b))
    changes = {"entered": ~in_a, "left": ~in_b, "up": rank_b < rank_a, "down": rank_b > rank_a,
               "same": rank_b == rank_a}  # fmt: skip
    grades = one_of_each(_rows_of(queries, qrels), "qrels", policies.duplicates)
    ranked = []
    for side, run in zip(_SIDES, runs, strict=True):
        rows, ranking = one_of_each_unit(_rows_of(queries, run), policies)
        found = prepare_run(rows, grades, ranking)
        rank = pl.Series(f"rank_{side}", found.rank, pl.Int64)
        ranked.append(found.table.frame.select(QUERY, DOC).with_columns(rank))
    return (
        ranked[0]
        .join(ranked[1], on=[QUERY, DOC], how="full", coalesce=True)
        .filter(in_a | in_b)
        .join(grades.frame, on=[QUERY, DOC], how="left")
        .join(queries.to_frame().with_row_index("_place"), on=QUERY)
        .sort("_place", pl.when(in_b).then(rank_b), rank_a, DOC, nulls_last=True)
        .select(QUERY, DOC, RELEVANCE, rank_a, rank_b, change=_named(changes))
    )


def _rows_of(queries: pl.Series, scanned: Scanned) -> Keyed:
    """The rows of some queries, in the order of the input; read as they are needed, not all."""
    try:
        wanted = pl.col(QUERY).is_in(queries.to_list())
        frame = scanned.frame.filter(wanted).collect(engine="in-memory")
    except READ_ERRORS as error:
        raise unreadable(scanned.name, error) from error
    return Keyed(frame)


def _named(cases: Mapping[str, pl.Expr]) -> pl.Expr:
    """The name of the first case that holds, or null."""
    return pl.coalesce(pl.when(holds).then(pl.lit(name)) for name, holds in cases.items())
