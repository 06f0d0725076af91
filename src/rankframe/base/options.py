"""Policies: what to do with what is merely odd. Each is named in the ledger."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Literal, get_args

from rankframe.base.errors import OptionError
from rankframe.frames.rank import Ties
from rankframe.inputs.validate import Duplicates

Missing = Literal["zero", "skip", "error"]
NoRelevant = Literal["zero", "skip"]
NoOverlap = Literal["error", "zero"]

Unshared = Literal["shared", "bottom"]
Lone = Literal["keep", "skip"]

_CHOICES: dict[str, object] = {
    "missing": Missing,
    "no_relevant": NoRelevant,
    "no_overlap": NoOverlap,
    "ties": Ties,
    "duplicates": Duplicates,
}
_PAIR_CHOICES: dict[str, object] = {
    "ties": Ties,
    "duplicates": Duplicates,
    "missing": Unshared,
    "lone": Lone,
}


def is_number(value: object) -> bool:
    """Whether something can be a relevance level."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def is_count(value: object) -> bool:
    """Whether something is a whole number of at least 1."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


@dataclass(frozen=True)
class Policies:
    """The options of `evaluate` that say what counts, checked."""

    rel: float | None = None
    missing: Missing = "zero"
    no_relevant: NoRelevant = "zero"
    no_overlap: NoOverlap = "error"
    ties: Ties = "doc_desc"
    duplicates: Duplicates = "error"
    k_max: int | None = None
    judged_only: bool = False

    def __post_init__(self) -> None:
        _check(self, _CHOICES)
        if self.rel is not None and not is_number(self.rel):
            raise OptionError(f"rel must be a number, not {self.rel!r}.")
        if not isinstance(self.judged_only, bool):
            raise OptionError(f"judged_only must be True or False, not {self.judged_only!r}.")

    def described(self) -> dict[str, object]:
        """As the ledger shows them."""
        return {
            "rel": "any grade above 0" if self.rel is None else f"grade of at least {self.rel:g}",
            "missing": self.missing,
            "no_relevant": self.no_relevant,
            "ties": self.ties,
            "duplicates": self.duplicates,
            "k_max": "the whole list" if self.k_max is None else f"the top {self.k_max}",
            "judged_only": "yes" if self.judged_only else "no",
        }


@dataclass(frozen=True)
class PairPolicies:
    """The options of `agree` that say what is compared, checked."""

    ties: Ties = "doc_desc"
    duplicates: Duplicates = "error"
    missing: Unshared = "shared"
    k_max: int | None = None
    lone: Lone = "keep"

    def __post_init__(self) -> None:
        _check(self, _PAIR_CHOICES)

    def described(self) -> dict[str, object]:
        """As the ledger shows them."""
        return {
            "ties": self.ties,
            "duplicates": self.duplicates,
            "missing": self.missing,
            "k_max": "the whole list" if self.k_max is None else f"the top {self.k_max}",
            "lone": self.lone,
        }


def _check(policies: Policies | PairPolicies, choices: dict[str, object]) -> None:
    for name, kind in choices.items():
        if getattr(policies, name) not in get_args(kind):
            raise OptionError.choice(name, getattr(policies, name), get_args(kind))
    k_max = policies.k_max
    if k_max is not None and not is_count(k_max):
        raise OptionError(f"k_max must be a whole number of at least 1, not {k_max!r}.")


# What `rankframe plot` draws: the names of the charts in `plot`.
ChartKind = Literal[
    "roc", "precision_recall", "metric_at_k", "cumulative_gain", "differences", "distribution",
    "slices", "heatmap", "discounts",
]  # fmt: skip
