"""The columns of the grouped frame, which metrics of subtopics, facts and intents look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from rankframe.core.columns import (
    DOC,
    GROUP,
    GROUP_WEIGHT,
    QUERY,
    RANK,
    RELEVANCE,
    Column,
    FrameColumns,
    at_level,
)

# How much less a group is worth each time that it was seen, unless somebody says otherwise.
ALPHA: Final = 0.5
_SIGNED = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_TEXT, _WHOLE, _NUMBER, _FLAG = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
# Of the parametric columns: those that have an α, and those that have a cutoff; others a level.
OF_ALPHA: Final = ("ideal_rank", "ideal_above")
OF_CUTOFF: Final = ("ideal_dcg", "ideal_dcg_exp2")


def at_alpha(column: str, alpha: float, rel: float | None = None) -> str:
    """The name of a grouped column for an α and a relevance level of its own.

    >>> at_alpha("ideal_rank", 0.5), at_alpha("ideal_rank", 0.7, 2)
    ('ideal_rank', 'ideal_rank_alpha0.7_rel2')
    """
    return at_level(column if alpha == ALPHA else f"{column}_alpha{float(alpha)!r}", rel)


def at_cutoff(column: str, k: int | None) -> str:
    """The name of a grouped column for the top k.

    >>> at_cutoff("ideal_dcg", None), at_cutoff("ideal_dcg", 10)
    ('ideal_dcg', 'ideal_dcg_top10')
    """
    return column if k is None else f"{column}_top{k}"


GROUPED_FRAME: Final = FrameColumns(
    "grouped",
    "one judgment of a document for a group (a subtopic, a fact); by query, then rank, those not "
    "retrieved last, then group",
    {
        QUERY: Column(_TEXT, "the query"),
        DOC: Column(_TEXT, "the judged document"),
        GROUP: Column(_TEXT, "what the judgment is about; null where it is about no group"),
        RELEVANCE: Column(_NUMBER, "the document's grade for this group"),
        "relevant": Column(
            _FLAG, "the grade counts as relevant, and there is a group", parametric=True
        ),
        RANK: Column(_WHOLE, "place in the run, from 1; null where it was not retrieved"),
        "above": Column(
            _WHOLE, "documents above this rank that are relevant to the same group", parametric=True
        ),
        "first": Column(
            _FLAG,
            "the first relevant document of its group; of several not retrieved, one of them",
            parametric=True,
        ),
        "groups": Column(_WHOLE, "groups of this query with a relevant document", parametric=True),
        "group_relevant": Column(_WHOLE, "relevant documents of this group", parametric=True),
        GROUP_WEIGHT: Column(_NUMBER, "how much the group counts: as given, else 1"),
        "unsatisfied": Column(
            _NUMBER,
            "how likely a reader who wants this group reads on to here, past the documents above: "
            "the product of 1 − (2^grade − 1)/2^max_grade",
        ),
        "ideal_rank": Column(
            _WHOLE,
            "place in the greedy ideal list, which takes next the document whose groups are worth "
            "most, each (1 − α) times as much whenever it was seen; null where nothing is relevant",
            parametric=True,
        ),
        "ideal_above": Column(
            _WHOLE,
            "documents above it in that list that are relevant to the same group",
            parametric=True,
        ),
        "ideal_dcg": Column(
            _NUMBER, "the largest DCG that a list can have for this group", parametric=True
        ),
        "ideal_dcg_exp2": Column(_NUMBER, "the same with a gain of 2^grade − 1", parametric=True),
        "retrieved": Column(_WHOLE, "documents that the run returned for this query"),
        "max_grade": Column(_NUMBER, "the largest grade in all judgments"),
    },
    rf"(alpha{_SIGNED}(?:_rel{_SIGNED})?|rel{_SIGNED}|top[1-9]\d*)",
)


def grouped_schema(
    levels: Sequence[float] = (), alphas: Sequence[float] = (), cutoffs: Sequence[int] = ()
) -> dict[str, pl.DataType]:
    """The types of the columns, with those of some levels, α and cutoffs among them."""
    types = GROUPED_FRAME.schema
    schema = dict(types)
    by_level = [name for name in GROUPED_FRAME.parametric if name not in OF_CUTOFF]
    schema |= {at_level(name, level): types[name] for level in levels for name in by_level}
    every = (None, *levels)
    for alpha in alphas:
        schema |= {at_alpha(name, alpha, rel): types[name] for rel in every for name in OF_ALPHA}
    return schema | {at_cutoff(name, k): types[name] for k in cutoffs for name in OF_CUTOFF}
