"""Compare the lists of two runs, query by query: which documents entered, left or moved."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SUBTOPIC
from rankframe.core.options import Policies
from rankframe.core.records import record
from rankframe.io.formats.registry import reading
from rankframe.io.input_table import InputTable
from rankframe.io.queries import Described
from rankframe.kernel.batch import Batch
from rankframe.kernel.duplicates import deduplicate, deduplicate_batch
from rankframe.kernel.ranking import rank_documents

_SIDES = ("a", "b")


@record
class Lists:
    """Hold the ranked lists of some queries in several runs, and the grades of their documents."""

    # query_id, doc_id, relevance
    grades: pl.DataFrame
    # query_id, doc_id, rank
    ranked: Mapping[str, pl.DataFrame]

    @classmethod
    def read(
        cls,
        queries: pl.Series,
        qrels: InputTable,
        runs: Mapping[str, InputTable],
        policies: Policies,
    ) -> Lists:
        """Read the judgments of `queries` and their lists in all runs, and rank the lists."""
        grades = deduplicate(_read(queries, qrels), "qrels", policies.duplicates)
        if SUBTOPIC in grades.columns:
            best = pl.col(RELEVANCE).max()
            grades = grades.group_by(QUERY, DOC, maintain_order=True).agg(best)
        ranked = {
            name: _ranked(_read(queries, run), grades, policies) for name, run in runs.items()
        }
        return cls(grades, ranked)

    def documents(
        self, queries: pl.Series, a: str, b: str, k: int, described: Described
    ) -> pl.DataFrame:
        """Return the documents in the top k of either run for these queries, and how they moved."""
        rank_a, rank_b = pl.col("rank_a"), pl.col("rank_b")
        in_a, in_b = ((rank <= k).fill_null(value=False) for rank in (rank_a, rank_b))
        changes = {"entered": ~in_a, "left": ~in_b, "up": rank_b < rank_a, "down": rank_b > rank_a,
                   "same": rank_b == rank_a}  # fmt: skip
        before, after = (
            self.ranked[name].rename({RANK: f"rank_{side}"})
            for side, name in zip(_SIDES, (a, b), strict=True)
        )
        found = (
            before.join(after, on=[QUERY, DOC], how="full", coalesce=True)
            .filter(in_a | in_b)
            .join(self.grades, on=[QUERY, DOC], how="left")
            .join(queries.to_frame().with_row_index("_place"), on=QUERY)
            .sort("_place", pl.when(in_b).then(rank_b), rank_a, DOC, nulls_last=True)
            .select(QUERY, DOC, RELEVANCE, rank_a, rank_b, change=named_case(changes))
        )
        if described.titles is None:
            return found
        titles = described.titles_of(found[DOC])
        return found.with_columns(
            pl.Series("title", [titles.get(document) for document in found[DOC]], pl.String)
        )


def _ranked(run: pl.DataFrame, grades: pl.DataFrame, policies: Policies) -> pl.DataFrame:
    """Rank the rows of a run, cut lists at `k_max`, then drop unjudged documents if `judged_only`.

    The order is that of trec_eval's -M and -J. Ranks are then counted without gaps.
    """
    batch, ranks, _ = deduplicate_batch(Batch.from_table(run), policies)
    rank = pl.Series(RANK, rank_documents(batch, ties=policies.ties, ranks=ranks).rank)
    rows = batch.frame().select(QUERY, DOC).with_columns(rank)
    if policies.k_max is not None:
        rows = rows.filter(pl.col(RANK) <= policies.k_max)
    if not policies.judged_only:
        return rows
    # As in trec_eval, a negative grade says "in the pool, but not judged".
    judged = grades.filter(pl.col(RELEVANCE) >= 0)
    place = pl.col(RANK).rank("ordinal").over(QUERY).cast(pl.Int64)
    return rows.join(judged, on=[QUERY, DOC], how="semi").with_columns(place)


def _read(queries: pl.Series, scanned: InputTable) -> pl.DataFrame:
    """Read the rows of the given queries from an input, sorted by query."""
    with reading(scanned.name):
        chosen = pl.col(QUERY).is_in(queries.to_list())
        frame = scanned.frame.filter(chosen).collect(engine="in-memory")
    return frame.sort(QUERY, maintain_order=True)


def named_case(cases: Mapping[str, pl.Expr]) -> pl.Expr:
    """Return an expression for the name of the first case that holds in a row, or null."""
    return pl.coalesce(pl.when(holds).then(pl.lit(name)) for name, holds in cases.items())
