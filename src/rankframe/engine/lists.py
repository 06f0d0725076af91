"""The lists that runs have for some queries, side by side: what entered, left, went up or down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from rankframe.core.columns import DOC, GROUP, QUERY, RANK, RELEVANCE
from rankframe.core.options import Policies
from rankframe.frames.units import one_of_each_unit
from rankframe.io.described import Described
from rankframe.io.formats.registry import READ_ERRORS, unreadable
from rankframe.io.input_table import InputTable
from rankframe.io.validate import one_of_each
from rankframe.kernel.keys import Keyed
from rankframe.kernel.rank import prepare_run

_SIDES = ("a", "b")


@dataclass(frozen=True)
class Lists:
    """The lists of some queries in several runs, and the grades of their documents."""

    grades: Keyed
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
        """Read what the inputs have of these queries."""
        grades = one_of_each(_rows_of(queries, qrels), "qrels", policies.duplicates)
        if GROUP in grades.frame.columns:
            best = pl.col(RELEVANCE).max()
            grades = Keyed(grades.frame.group_by(QUERY, DOC, maintain_order=True).agg(best))
        ranked = {}
        for name, run in runs.items():
            rows, ranking = one_of_each_unit(_rows_of(queries, run), policies)
            found = prepare_run(rows, grades, ranking)
            rank = pl.Series(RANK, found.rank, pl.Int64)
            ranked[name] = found.table.frame.select(QUERY, DOC).with_columns(rank)
        return cls(grades, ranked)

    def documents(
        self, queries: pl.Series, a: str, b: str, k: int, told: Described
    ) -> pl.DataFrame:
        """What either of two runs has in its top k for these queries, and what became of it."""
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
            .join(self.grades.frame, on=[QUERY, DOC], how="left")
            .join(queries.to_frame().with_row_index("_place"), on=QUERY)
            .sort("_place", pl.when(in_b).then(rank_b), rank_a, DOC, nulls_last=True)
            .select(QUERY, DOC, RELEVANCE, rank_a, rank_b, change=named_case(changes))
        )
        if told.titles is None:
            return found
        titles = told.titles_of(found[DOC])
        return found.with_columns(
            pl.Series("title", [titles.get(one) for one in found[DOC]], pl.String)
        )


def _rows_of(queries: pl.Series, scanned: InputTable) -> Keyed:
    """The rows of some queries, in the order of the input; read as they are needed, not all."""
    try:
        wanted = pl.col(QUERY).is_in(queries.to_list())
        frame = scanned.frame.filter(wanted).collect(engine="in-memory")
    except READ_ERRORS as error:
        raise unreadable(scanned.name, error) from error
    return Keyed(frame)


def named_case(cases: Mapping[str, pl.Expr]) -> pl.Expr:
    """The name of the first case that holds, or null."""
    return pl.coalesce(pl.when(holds).then(pl.lit(name)) for name, holds in cases.items())
