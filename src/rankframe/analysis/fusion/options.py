"""Declare the options of fusion: how many documents of each run are used, and how many are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypedDict

from rankframe.core.options import (
    COUNT,
    Duplicates,
    Options,
    Order,
    PairPolicies,
    Policies,
    Ranks,
    StorageOptions,
    Ties,
    Unit,
    UnitRanks,
    option,
    same_option,
)
from rankframe.core.records import record

if TYPE_CHECKING:
    import polars as pl


@record
class FusionPolicies(Options):
    """Decide what counts when runs are fused.

    Args:
        depth: use only the top N documents of each run, after duplicates are dropped.
        k_max: keep only the top N documents of each query in the fused run.
    """

    title: ClassVar[str] = "Policies"

    rel: float | None = same_option(Policies, "rel")
    relevance: float | None = same_option(Policies, "relevance")
    order: Order = same_option(Policies, "order")
    ranks: Ranks = same_option(Policies, "ranks")
    ties: Ties = same_option(PairPolicies, "ties")
    duplicates: Duplicates = same_option(Policies, "duplicates")
    unit: Unit = same_option(Policies, "unit")
    unit_ranks: UnitRanks = same_option(Policies, "unit_ranks")
    depth: int | None = option(
        None,
        "Use only the top N documents of each run.",
        ledger="the top {}",
        unset="the whole lists",
        check=COUNT,
    )
    k_max: int | None = option(
        None,
        "Keep only the top N fused documents of each query.",
        ledger="the top {}",
        unset="all",
        check=COUNT,
    )

    @property
    def run_duplicates(self) -> Duplicates:
        """Return the policy for duplicates in a run; with `unit`, keep the best chunk of a unit."""
        return self.duplicates if self.unit is None else "keep_best"

    @property
    def keeps_chunk_ranks(self) -> bool:
        """Tell whether units have the ranks of their best chunks."""
        return self.unit is not None and self.unit_ranks == "kept" and self.ranks != "kept"

    def cut_kept_ranks(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Drop rows with a rank beyond the depth, if documents keep their ranks."""
        if self.ranks != "kept" or self.depth is None:
            return rows
        # Every command imports this module, even for --help; polars is slow to import.
        import polars as pl  # noqa: PLC0415

        from rankframe.core.columns import RANK  # noqa: PLC0415

        return rows.filter((pl.col(RANK) <= self.depth).fill_null(value=True))


class _EachRunOptions(TypedDict, total=False):
    order: Order
    ranks: Ranks
    ties: Ties
    duplicates: Duplicates
    unit: Unit
    unit_ranks: UnitRanks
    depth: int | None


class StackOptions(_EachRunOptions, StorageOptions, total=False):
    """Name the options of `stack`."""


class SparkFuseOptions(_EachRunOptions, total=False):
    """Name the options of `spark.fuse`."""

    rel: float | None
    relevance: float | None
    k_max: int | None


class FuseOptions(SparkFuseOptions, StorageOptions, total=False):
    """Name the options of `fuse`."""
