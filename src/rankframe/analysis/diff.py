"""Compare the runs before and after a change: which queries improved, which documents moved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, Unpack

import polars as pl

from rankframe.analysis.judged_shares import (
    CONDENSED,
    describe_gaps,
    find_bounds,
    find_gaps,
    value_of,
)
from rankframe.analysis.systems import (
    Lack,
    Runs,
    align,
    caveats_of_systems,
    depth_of,
    evaluate_runs,
    lacks,
    look_up_attributes,
)
from rankframe.core.caveats import Caveat
from rankframe.core.columns import QUERY, WEIGHT
from rankframe.core.errors import MetricParameterError, OptionError
from rankframe.core.messages import did_you_mean, number_of, shown
from rankframe.core.options import (
    COUNT,
    DiffOptions,
    Policies,
    Storage,
    is_listed,
    takes_options,
)
from rankframe.core.table import Cell, Note, Part, Table, as_html, as_text, warning_notes
from rankframe.core.vocabulary import Vocabulary
from rankframe.core.wording import number_text, plain_text
from rankframe.engine.accumulator import average_values
from rankframe.engine.lists import Lists, named_case
from rankframe.engine.result import Exported
from rankframe.io.inputs import Columns, Source
from rankframe.io.queries import Described, QueryAttributes, read_attributes
from rankframe.metrics.names import Metric, MetricLike, resolve
from rankframe.stats.paired import differences

SIDES: Final = ("a", "b")
# Names of the columns that follow the columns of the two runs.
DELTA, BETTER, WEIGHTED, SAME, TEXT = "delta", "better", "weighted", "same", "text"
_TAKEN: Final = (QUERY, DELTA, BETTER, WEIGHT, WEIGHTED, SAME, TEXT)
_LONGEST = 40  # characters of an id on the screen
_MOST_SHOWN = 5
_MOST_ATTRIBUTES = 4
_SUMMARY: Final = {
    "metric": pl.String,
    **dict.fromkeys(("mean_a", "mean_b", "difference"), pl.Float64),
    **dict.fromkeys(("wins", "ties", "losses", "undefined", "queries"), pl.Int64),
}
# Columns of the summary, for each run, of bounds and condensed values.
_CONDENSED: Final = {"condensed": CONDENSED, "lower": "lower_bound", "upper": "upper_bound"}
_COMPARABLE = 10_000  # ids among which a similar one is looked for letter by letter


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
    """Return the queries and documents that changed from run `a` (before) to run `b` (after).

    If a policy leaves a query out of only one run, the query is kept, with an undefined change.

    Args:
        qrels: the judgments, as in `evaluate`.
        a: the run before.
        b: the run after.
        metric: one name, or one polars expression over the judged frame. Higher values of an
            expression are better, unless `rf.metric` declares otherwise.
        k: the lowest rank at which documents that moved are listed (default: the metric's cutoff,
            else 10).
        most: the number of changed queries to show; the largest changes come first.
        only: show only these queries, if they changed. Means and counts still use all queries.
        worse: show only queries that got worse, the worst first.
        names: names of the runs, ("bm25", "dense"), in columns and tables, instead of a and b.
        queries: attributes of queries, shown for the queries that changed: a table with query_id.
        weight: the column of `queries` with the weight of each query, such as its traffic. Queries
            are then ordered by weighted change, and metrics with average=weighted use the weight.
        query_text: texts of queries to show: a table with query_id and a text, or a mapping.
        titles: texts of documents to show: a table with doc_id and a text, or a mapping.
        columns: names in your data, as in `evaluate`.

    >>> qrels = {"q1": {"x": 1}, "q2": {"y": 1}}
    >>> before = {"q1": {"w": 2.0, "x": 1.0}, "q2": {"y": 1.0}}
    >>> after = {"q1": {"x": 2.0, "z": 1.0}, "q2": {"y": 1.0}}
    >>> change = rf.diff(qrels, before, after, "mrr@2")
    >>> change
    rankframe diff, mrr@2: 0.7500 → 1.0000 (+0.2500)
      2 queries: 1 better in b, 1 the same, 0 worse
      query_id       a       b    delta  better
      q1        0.5000  1.0000  +0.5000  b
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
    renamed = SIDES if names is None else check_names(names)
    depth = depth_of(chosen) if k is None else k
    COUNT.refuse("k", depth)
    COUNT.refuse("most", most)
    if only is not None and not is_listed(only):
        raise OptionError(f"only= (--query) takes a list of query ids, not {shown(only)}.")
    policies = Policies.from_options(options)
    described = Described.from_sources(
        queries, weight=weight, query_text=query_text, titles=titles, columns=columns
    )
    attributes = None
    if chosen.average == "weighted":
        attributes = read_attributes(
            described.queries, weight=weight, metrics=[chosen], columns=columns
        )
    systems, tables = evaluate_runs(
        Runs(qrels, dict(zip(SIDES, (a, b), strict=True)), policies, columns, again=True),
        [chosen],
        attributes=attributes,
        queries=described.queries,
    )
    averages = []
    for system in systems.values():
        looked_up = (
            QueryAttributes() if attributes is None else attributes.look_up(system.values[QUERY])
        )
        averages.append(average_values(chosen, system.computed, looked_up.weights))
    before, after = systems.values()
    per_query = side_by_side(chosen, before.values, after.values, described)
    moved = movers(per_query, int(most), only=only, worse=worse)
    lists = Lists.read(
        moved[QUERY], tables.left, dict(zip(SIDES, tables.rights, strict=True)), policies
    )
    lacking = lacks(systems, [chosen])
    summary = summarise_change(chosen, averages[0], averages[1], per_query)
    weights = None if attributes is None else attributes.weights_alone
    aligned = align(systems, [chosen], "zero")
    aligned = replace(
        aligned, metrics=[chosen], tables=tables,
        runs=dict(zip(SIDES, tables.rights, strict=True)), policies=policies, weights=weights,
        attributes=look_up_attributes(attributes, aligned.queries, [chosen]),
    )  # fmt: skip
    gaps = [gap._replace(baseline=renamed[0], system=renamed[1])
            for gap in find_gaps(aligned, [SIDES])]  # fmt: skip
    named = dict(zip(renamed, systems.values(), strict=True))
    bounds = find_bounds(aligned, [chosen]) if gaps else None
    if bounds is not None:
        summary = summary.with_columns(
            pl.lit(value_of(bounds, side, chosen, column), pl.Float64).alias(f"{name}_{side}")
            for name, column in _CONDENSED.items() for side in SIDES
        )  # fmt: skip
        called = dict(zip(SIDES, renamed, strict=True))
        bounds = bounds.with_columns(pl.col("system").replace(called))
    return Diff(
        summary,
        per_query,
        describe_movers(moved, described),
        lists.documents(moved[QUERY], *SIDES, int(depth), described),
        int(depth),
        lacking,
        [
            *((None, c) for c in describe_gaps(gaps, bounds, named)),
            *caveats_of_systems(systems, lacking),
        ],
        vocabulary=aligned.vocabulary,
    ).named(*renamed)


def _one_metric(metric: MetricLike) -> Metric:
    first, *rest = resolve(metric, "judged", "subtopic", "retrieved")
    if rest:
        raise MetricParameterError(
            f"a diff takes one metric, such as {first.label!r}, not {1 + len(rest)}."
        )
    return first


def side_by_side(
    metric: Metric, a: pl.DataFrame, b: pl.DataFrame, described: Described | None = None
) -> pl.DataFrame:
    """Join the values of two runs per query: values, change, weight of the query, better run.

    Both frames have query_id in byte order, and a column of the metric.
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
    joined = joined.with_columns(change).with_columns(better.alias(BETTER))
    weights = None if described is None else described.weights(joined[QUERY])
    if weights is None:
        return joined
    return joined.with_columns(weights, (delta * weights).alias(WEIGHTED))


def summarise_change(
    metric: Metric, a: float | None, b: float | None, per_query: pl.DataFrame
) -> pl.DataFrame:
    """Return one row: both averages, and how many queries are better, the same, and worse."""
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
    """Return the queries with the largest change (or loss), weighted if queries have weights."""
    moved = per_query.filter(pl.col(DELTA) != 0)
    if worse:
        moved = moved.filter(pl.col(BETTER) == "a")
    if only is not None:
        moved = moved.filter(pl.col(QUERY).is_in(_check_only(only, per_query[QUERY])))
    by = [WEIGHTED, DELTA] if WEIGHTED in moved.columns else [DELTA]
    # Queries with equal changes stay in byte order.
    return moved.sort([-pl.col(name).abs() for name in by], maintain_order=True).head(most)


def describe_movers(moved: pl.DataFrame, described: Described) -> pl.DataFrame:
    """Add columns with the text and the attributes of each query."""
    queries = moved[QUERY]
    if described.query_text is not None:
        texts = described.texts(queries)
        moved = moved.with_columns(
            pl.Series(TEXT, [texts.get(query) for query in queries], pl.String)
        )
    attributes = described.attributes(queries).drop(QUERY)
    return moved.with_columns(
        attributes[name].alias(name if name not in moved.columns else f"queries.{name}")
        for name in attributes.columns
    )


def _check_only(only: Sequence[str], queries: pl.Series) -> list[str]:
    """Return the query ids of the option `only`; refuse ids that were not evaluated."""
    ids = list(map(str, only))
    if unknown := sorted(set(ids).difference(queries.to_list())):
        count = "query that was" if len(unknown) == 1 else "queries that were"
        examples = ", ".join(map(repr, queries.head(3))) or "nothing"
        near = did_you_mean(unknown[0], _alike(unknown[0], queries))
        raise OptionError(
            f"only= (--query) names {len(unknown):,} {count} not evaluated, e.g. {unknown[0]!r}. "
            f"{near or f'Evaluated queries look like {examples}.'}"
        )
    return ids


def _alike(name: str, queries: pl.Series) -> list[str]:
    """Return ids that share their first or last half with a name; a typo leaves one half intact."""
    text = name.lower().encode(errors="replace").decode()
    lowered, half = queries.str.to_lowercase(), len(text) // 2
    alike = lowered.str.starts_with(text[:half]) | lowered.str.ends_with(text[half:])
    return queries.filter(alike).head(_COMPARABLE).to_list()


@dataclass(frozen=True, repr=False, eq=False)
class Diff(Exported):
    """Hold what changed between run a (before) and run b (after), for one metric.

    summary: one row: metric, mean_a, mean_b (as `evaluate` averages each run), difference
        (mean_b − mean_a), and numbers of queries: wins (b is better), ties, losses (a is better),
        undefined (no value in run a, run b or both) and queries (all). If the judged shares of the
        runs differ by more than 10 percentage points, also both means over judged documents alone
        (condensed_a, condensed_b) and bounds (lower_a, …).
    per_query: query_id, a, b, delta (b − a) and better ("b", "a", "same", or null if undefined), in
        byte order of query_id; with weights also weight and weighted (delta × weight).
    movers: the rows of per_query with the largest change (with weights, the largest weighted
        change), largest first, with the text and the attributes of each query.
    documents: for the movers, every document in the top k of either run: query_id, doc_id,
        relevance (null: unjudged), rank_a, rank_b (null: not retrieved) and change: "entered" or
        "left" the top k, or "up", "down" or "same" within it. Sorted by rank_b; documents that left
        come last. With titles also title.
    k: the lowest rank of the listed documents.
    lacks: how many judged queries each run lacks, and how these queries were treated.
    caveats: facts that can mislead a reader.
    names: the names of the runs. Other names than a and b replace these letters in the columns of
        per_query and movers, in the values of better, and in the ranks of documents ("rank_bm25").

    `to_arrow()` and `to_pandas()` return the summary, or another of these frames by its name.
    """

    FRAMES = ("summary", "per_query", "movers", "documents")

    summary: pl.DataFrame
    per_query: pl.DataFrame
    movers: pl.DataFrame
    documents: pl.DataFrame
    k: int
    lacks: Sequence[Lack] = ()
    # caveats with the run that each is about ("a" or "b"); None: both
    by_side: Sequence[tuple[str | None, Caveat]] = ()
    names: tuple[str, str] = SIDES
    # what texts call queries and documents
    vocabulary: Vocabulary = Vocabulary()  # noqa: RUF009 (frozen)

    def named(self, a: str, b: str) -> Self:
        """Return this diff with other names for the two runs.

        >>> qrels, run = {"q": {"x": 1}}, {"q": {"x": 1.0}}
        >>> rf.diff(qrels, run, run, "mrr").named("old", "new").per_query.columns
        ['query_id', 'old', 'new', 'delta', 'better']
        """
        if isinstance(a, str) and isinstance(b, str) and (a, b) == self.names:
            return self
        new = check_names((a, b), [name for name in self.movers.columns if name not in self.names])
        called = dict(zip(self.names, new, strict=True))
        better = pl.col(BETTER).replace(called)
        ranks = {f"rank_{old}": f"rank_{name}" for old, name in called.items()}
        return replace(
            self,
            per_query=self.per_query.with_columns(better).rename(called),
            movers=self.movers.with_columns(better).rename(called),
            documents=self.documents.rename(ranks),
            lacks=[replace(lack, system=called[lack.system]) for lack in self.lacks],
            names=new,
        )

    @property
    def caveats(self) -> list[Caveat]:
        """Return the caveats, each with code, value and text: facts that can mislead a reader."""
        called: dict[str, str] = dict(zip(SIDES, self.names, strict=True))
        return [
            caveat._replace(text=self.vocabulary.render(caveat.text)).about(side and called[side])
            for side, caveat in self.by_side
        ]

    @property
    def ranks(self) -> tuple[str, str]:
        """Return the columns of documents with their ranks in both runs."""
        a, b = self.names
        return f"rank_{a}", f"rank_{b}"

    @property
    def described(self) -> list[str]:
        """Return the columns of `movers` that describe a query: its text, weight and attributes."""
        own = {QUERY, *self.names, DELTA, BETTER, WEIGHTED}
        return [name for name in self.movers.columns if name not in own]

    def __repr__(self) -> str:
        return as_text(f"rankframe diff, {self._headline}", self.parts())

    def _repr_html_(self) -> str:
        return as_html([Note.from_headline(self._headline), *self.parts()])

    def parts(self) -> list[Part]:
        """Return the tables and notes to display: counts, warnings, and the top movers."""
        attributes, rows = self.described[:_MOST_ATTRIBUTES], []
        for row in self.movers.head(_MOST_SHOWN).to_dicts():
            tone = "good" if row[BETTER] == self.names[1] else "bad"
            rows.append(
                [
                    plain_text(row[QUERY], _LONGEST),
                    *(number_text(row[name]) for name in self.names),
                    Cell(f"{row[DELTA]:+.4f}", tone=tone),
                    *(_attribute_text(row[name]) for name in (BETTER, *attributes)),
                ]
            )
        words = [plain_text(name, _LONGEST) for name in (BETTER, *attributes)]
        numbers = [plain_text(name, _LONGEST) for name in (*self.names, DELTA)]
        table = Table.from_texts([self.vocabulary.render(QUERY)], numbers, rows, more_words=words)
        lacking = [self.vocabulary.render(str(lack)) for lack in self.lacks]
        notes = [self._counted, *lacking, *self.condensed]
        return [*map(Note, notes), *warning_notes(self.caveats), *([table] if rows else [])]

    @property
    def condensed(self) -> list[str]:
        """Describe both means over judged documents alone, and bounds, if judged shares differ."""
        if "condensed_a" not in self.summary.columns:
            return []
        (row,) = self.summary.to_dicts()
        alone, low, high = (
            [number_text(row[f"{name}_{side}"]) for side in SIDES] for name in _CONDENSED
        )
        known = [row[f"{name}_{side}"] is not None for name in _CONDENSED for side in SIDES]
        over = self.vocabulary.render("over judged documents alone")
        told = [f"{over}: {' → '.join(alone)}"]
        return (
            told
            if not all(known)
            else [
                *told,
                f"whatever the unjudged ones are: {low[0]} to {high[0]} → {low[1]} to {high[1]}",
            ]
        )

    @property
    def _headline(self) -> str:
        metric, *means, difference = self.summary.row(0)[:4]
        texts = [number_text(mean) for mean in means]
        if self.names != SIDES:
            texts = [
                f"{text} ({plain_text(name, _LONGEST)})"
                for text, name in zip(texts, self.names, strict=True)
            ]
        change = "" if difference is None else f" ({difference:+.4f})"
        return f"{metric}: {' → '.join(texts)}{change}"

    @property
    def _counted(self) -> str:
        wins, ties, losses, undefined, queries = self.summary.row(0)[4:9]
        name = plain_text(self.names[1], _LONGEST)
        text = (
            f"{number_of(queries, 'query')}: {wins:,} better in {name}, "
            f"{ties:,} the same, {losses:,} worse"
        )
        if undefined:
            text += f", {undefined:,} undefined (each mean is over the queries that its run has)"
        return self.vocabulary.render(text)


def check_names(names: Any, taken: Sequence[str] = ()) -> tuple[str, str]:
    """Return the two names of runs; refuse names that columns cannot have."""
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != 2:
        raise OptionError(f'names= takes two names, ("before", "after"), not {shown(names)}.')
    a, b = names
    if not all(isinstance(name, str) and name for name in names) or a == b:
        raise OptionError(f"names= takes two different texts, not {shown(a)} and {shown(b)}.")
    for name in names:
        if name in (*_TAKEN, *taken):
            raise OptionError(
                f"a run cannot be named {name!r}, which is the name of another column. Give it "
                f"another name, such as {'run ' + name!r}."
            )
    return a, b


def _attribute_text(value: object) -> str:
    """Write an attribute on one line, shortened if it is long."""
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else plain_text(str(value), _LONGEST)
