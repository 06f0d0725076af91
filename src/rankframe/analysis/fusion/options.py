"""The options of fusion: what is read of each run, and how much of the fused one is kept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from rankframe.core.option import Options, declared, option
from rankframe.core.options import Duplicates, Gaps, Order, Policies, Ranks, Ties, Unit, check_count


def _as_in_evaluate(name: str, *, of_training: bool = False) -> Any:
    """The same option; `of_training`: it says nothing of the stacked frame."""
    one, _, said = next(option for option in declared(Policies) if option[0].name == name)
    return field(default=one.default, metadata={"said": replace(said, of_averages=of_training)})


@dataclass(frozen=True)
class FusionPolicies(Options):
    """What counts when runs are fused."""

    rel: float | None = _as_in_evaluate("rel", of_training=True)
    relevance: float | None = _as_in_evaluate("relevance", of_training=True)
    order: Order = _as_in_evaluate("order")  # noqa: RUF009
    ranks: Ranks = _as_in_evaluate("ranks")  # noqa: RUF009
    ties: Ties = _as_in_evaluate("ties")  # noqa: RUF009
    duplicates: Duplicates = _as_in_evaluate("duplicates")  # noqa: RUF009
    unit: Unit = _as_in_evaluate("unit")  # noqa: RUF009
    gaps: Gaps = _as_in_evaluate("gaps")  # noqa: RUF009
    depth: int | None = option(
        None,
        "look at the top so many documents of each run only, counted after duplicates are dropped.",
        "Look at the top so many of each run only.",
        ledger=lambda depth: "the whole lists" if depth is None else f"the top {depth}",
        check=check_count,
    )
    k_max: int | None = option(
        None,
        "keep the top so many documents of each query in the fused run.",
        "Keep the top so many fused documents of each query.",
        ledger=lambda k: "all" if k is None else f"the top {k}",
        check=check_count,
        of_averages=True,
    )

    @property
    def run_duplicates(self) -> Duplicates:
        """Of the documents of a unit, the best is kept, whatever else there is twice."""
        return self.duplicates if self.unit is None else "keep_best"

    @property
    def keeps_gaps(self) -> bool:
        """Whether units keep the ranks of their best documents."""
        return self.unit is not None and self.gaps == "kept"

    def described(self) -> dict[str, str]:
        """As the ledger shows them: of gaps only where there may be any."""
        lines = super().described()
        return lines if self.unit is not None else {k: v for k, v in lines.items() if k != "gaps"}
