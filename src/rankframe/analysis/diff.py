"""Before and after: which queries a change helped or hurt, and which documents moved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, Unpack

import polars as pl

from rankframe.analysis.change import (
    BETTER,
    DELTA,
    SAME,
    SIDES,
    TEXT,
    WEIGHTED,
    Diff,
    check_names,
)
from rankframe.analysis.missing_queries import lacks
from rankframe.analysis.systems import System, retrieved_beside
from rankframe.core.checks import check_flag
from rankframe.core.columns import QUERY
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import Option, did_you_mean
from rankframe.core.option import takes_options
from rankframe.core.options import DiffOptions, Intervals, Policies, Storage, is_count
from rankframe.core.wording import naming_the_run
from rankframe.engine.combined import job_for
from rankframe.engine.evaluate import evaluate_scanned
from rankframe.engine.input_cache import hold
from rankframe.engine.ledger import says_every_relevant
from rankframe.engine.lists import Lists, named_case
from rankframe.engine.plan import PerQuery
from rankframe.engine.result import Result
from rankframe.io.described import Described
from rankframe.io.input_table import InputTable
from rankframe.io.inputs import Columns, Source, open_judgments, open_run, refuse_absent_columns
from rankframe.io.queries import read_attributes
from rankframe.io.storage import reaching
from rankframe.metrics.names import Metric, MetricLike, resolve
from rankframe.stats.paired import differences

_SUMMARY: Final = {
    "metric": pl.String,
    **dict.fromkeys(("mean_a", "mean_b", "difference"), pl.Float64),
    **dict.fromkeys(("wins", "ties", "losses", "undefined", "queries"), pl.Int64),
}
_DEFAULT_K = 10
_COMPARABLE = 10_000  # ids among which a similar one is looked for letter by letter


@reaching
@takes_options(DiffOptions, Policies, Storage)
def diff(
    qrels: Source,
    a: Source,
    b: Source,
    metric: MetricLike = "ndcg@10",
    *,
    k: int | None = None,
    most: int = 20,
    only: Sequence[str] | None = None,
    worse: bool = False,
    names: Sequence[str] | None = None,
    queries: Source | None = None,
    weight: str | None = None,
    query_text: Source | None = None,
    titles: Source | None = None,
    columns: Columns | None = None,
    **options: Unpack[DiffOptions],
) -> Diff:
    """Return what changed from run `a` (before) to run `b` (after): queries, and their documents.

    A query that policies leave out of one run only is undefined, not dropped.

    Args:
        qrels: the judgments, as in `evaluate`.
        a: the run before.
        b: the run after.
        metric: one name, or one polars expression over the judged frame, of which more is better
            unless `rf.metric` says otherwise.
        k: how deep to look for documents that moved (default: the metric's cutoff, else 10).
        most: the number of changed queries to show, those with the largest change first.
        only: show only these queries, as far as they changed. Means and counts are of all queries.
        worse: show only queries that got worse, the worst first.
        names: names of the runs, ("bm25", "dense"), in columns and tables, instead of a and b.
        queries: attributes of queries, shown of queries that moved: a table with query_id.
        weight: its column with the weight of each query, such as its traffic: queries are then
            ordered by weighted change. Metrics with average=weighted are averaged by it, too.
        query_text: texts of queries, to be shown: a table with query_id and a text, or a mapping.
        titles: texts of documents, to be shown: a table with doc_id and a text, or a mapping.
        columns: names in your data, as in `evaluate`.

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
    chosen = _one_metric(metric, weighted=weight is not None)
    check_flag("worse", worse)
    called = None if names is None else check_names(names)
    depth = int(chosen.params.get("k") or _DEFAULT_K) if k is None else k
    for option, value in (("k", depth), ("most", most)):
        if not is_count(value):
            raise OptionError(f"{option} must be a whole number of at least 1, not {value!r}.")
    if isinstance(only, str) or not isinstance(only, Iterable | None):
        raise OptionError(f"only takes a list of query ids, not {only!r}.")
    policies = Policies.from_options(options)
    retrieved = retrieved_beside([chosen])
    told = Described.of(
        queries, weight=weight, query_text=query_text, titles=titles, columns=columns
    )
    attributes = None
    if chosen.average == "weighted":
        attributes = read_attributes(told.queries, weight=weight, metrics=[chosen], columns=columns)
    job = job_for(
        [chosen, retrieved], policies, columns=columns, attributes=attributes,
        intervals=Intervals(None),
    )  # fmt: skip
    judgments = open_judgments(qrels, columns, relevance=policies.relevance)
    runs: list[InputTable] = []
    for side, source in zip(SIDES, (a, b), strict=True):
        with naming_the_run(side):
            runs.append(open_run(source, policies, columns))
    asked = None if told.queries is None else told.queries.asked
    refuse_absent_columns(columns, judgments, *runs, *job.others, queries=asked)
    held = hold(judgments, runs, job.row_bytes, again=True)
    results: list[Result] = []
    for side, run, pieces in zip(SIDES, held.rights, held.pieces, strict=True):
        with naming_the_run(side):
            results.append(evaluate_scanned(held.left, run, job, pieces=pieces))
    before, after = results
    per_query = side_by_side(chosen, before.per_query, after.per_query, told)
    moved = movers(per_query, int(most), only=only, worse=worse)
    lists = Lists.read(
        moved[QUERY], held.left, dict(zip(SIDES, held.rights, strict=True)), policies
    )
    documents = lists.documents(moved[QUERY], *SIDES, int(depth), told)
    summary = summed_up(chosen, before[chosen.label], after[chosen.label], per_query)
    sides = {
        side: System(PerQuery.of(of.per_query), of.ledger, evidence=[retrieved.label])
        for side, of in zip(SIDES, results, strict=True)
    }
    found = Diff(
        summary, per_query, described(moved, told), documents, int(depth), lacks(sides, [chosen]),
        says_every_relevant(results[0].ledger),
    )  # fmt: skip
    return found if called is None else found.named(*called)


def _one_metric(metric: MetricLike, *, weighted: bool) -> Metric:
    found = resolve(metric, "judged", "grouped", "shown")
    if len(found) > 1:
        raise MetricParameterError(
            f"a diff is of one metric, not of {len(found)}: take {found[0].label!r}, for instance."
        )
    if found[0].average == "weighted" and not weighted:
        raise MetricParameterError(
            f"{found[0].label!r} is averaged by weight, and there are no weights. Pass ",
            Option("queries"),
            " and ",
            Option("weight"),
            ", or leave out average=weighted.",
        )
    return found[0]


def side_by_side(
    metric: Metric, a: pl.DataFrame, b: pl.DataFrame, told: Described | None = None
) -> pl.DataFrame:
    """The values of two runs, their change, and which is better; with weights, the weighted one.

    Both have query_id in byte order, and a column of the metric.
    """
    before, after = (
        frame.select(QUERY, pl.col(metric.label).fill_nan(None).cast(pl.Float64).alias(side))
        for side, frame in zip(SIDES, (a, b), strict=True)
    )
    if before[QUERY].equals(after[QUERY]):
        joined = before.with_columns(after[SIDES[1]])
    else:
        joined = before.join(after, on=QUERY, how="full", coalesce=True).sort(QUERY)
    larger, smaller = ("b", "a") if metric.higher_is_better else ("a", "b")
    delta = pl.col(DELTA)
    better = named_case({SAME: delta == 0, larger: delta > 0, smaller: delta < 0})
    values = (joined[side].fill_null(math.nan).to_numpy() for side in reversed(SIDES))
    change = pl.Series(DELTA, differences(*values)).fill_nan(None)
    found = joined.with_columns(change).with_columns(better.alias(BETTER))
    weights = None if told is None else told.weights(found[QUERY])
    if weights is None:
        return found
    return found.with_columns(weights, (delta * weights).alias(WEIGHTED))


def summed_up(
    metric: Metric, a: float | None, b: float | None, per_query: pl.DataFrame
) -> pl.DataFrame:
    """The row of a summary: averages, and how many queries are better, the same, and worse."""
    difference = None if a is None or b is None else b - a
    better = per_query[BETTER]
    counts = [(better == outcome).sum() for outcome in ("b", SAME, "a")]
    row = (metric.label, a, b, difference, *counts, better.null_count(), len(better))
    return pl.DataFrame([row], schema=_SUMMARY, orient="row")


def movers(
    per_query: pl.DataFrame,
    most: int,
    *,
    only: Sequence[str] | None = None,
    worse: bool = False,
) -> pl.DataFrame:
    """The queries that changed most, by their weight if they have one; or that got worse most."""
    moved = per_query.filter(pl.col(DELTA) != 0)
    if worse:
        moved = moved.filter(pl.col(BETTER) == "a")
    if only is not None:
        moved = moved.filter(pl.col(QUERY).is_in(_known(only, per_query[QUERY])))
    by = [WEIGHTED, DELTA] if WEIGHTED in moved.columns else [DELTA]
    # Queries are in byte order, and stay so where changes are equal.
    return moved.sort([-pl.col(one).abs() for one in by], maintain_order=True).head(most)


def described(moved: pl.DataFrame, told: Described) -> pl.DataFrame:
    """The same with what is known of these queries: their text, and attributes."""
    queries = moved[QUERY]
    if told.query_text is not None:
        said = told.texts(queries)
        moved = moved.with_columns(pl.Series(TEXT, [said.get(one) for one in queries], pl.String))
    known = told.attributes(queries).drop(QUERY)
    return moved.with_columns(
        known[name].alias(name if name not in moved.columns else f"queries.{name}")
        for name in known.columns
    )


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
