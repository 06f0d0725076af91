"""The column names of every frame in rankframe, written down once."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import polars as pl

# What an input is to be read as.
Role: TypeAlias = Literal["qrels", "run", "queries"]
# One of two rankings; what it was read as no longer matters.
Side: TypeAlias = Literal["ranking a", "ranking b"]

QUERY: Final = "query_id"
DOC: Final = "doc_id"
RELEVANCE: Final = "relevance"
SCORE: Final = "score"
RANK: Final = "rank"
WEIGHT: Final = "weight"

# Other names under which these columns are recognised, compared without case.
SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    QUERY: (
        "qid", "q_id", "query", "queryid", "topic", "topic_id", "user_id", "user", "userid", "uid",
    ),
    DOC: (
        "docid", "docno", "doc", "document", "document_id", "did", "item_id", "item", "itemid",
        "iid", "product_id", "sku",
    ),
    RELEVANCE: ("rel", "grade", "label", "judgment", "judgement", "rating", "gain"),
    SCORE: ("sim", "similarity", "prediction", "pred", "predicted", "weight"),
    RANK: ("position", "pos"),
}  # fmt: skip

# The judged frame: one row per judgment, sorted by query_id, then rank (unretrieved last).
JUDGED: Final[dict[str, pl.DataType]] = {
    QUERY: pl.String(),
    DOC: pl.String(),
    RELEVANCE: pl.Float64(),
    # the grade counts as relevant
    "relevant": pl.Boolean(),
    # place in the run, from 1; null where the run did not retrieve the document
    RANK: pl.Int64(),
    # place in the best possible ordering of all judged documents (grade descending)
    "ideal_rank": pl.Int64(),
    # the same over the retrieved documents only; null where not retrieved
    "ideal_rank_retrieved": pl.Int64(),
    # relevant documents at or above this rank, itself included
    "found": pl.Int64(),
    # judged non-relevant documents (0 <= grade, not relevant) above this rank
    "nonrelevant_above": pl.Int64(),
    # judged documents of any grade above this rank
    "judged_above": pl.Int64(),
    # judged documents that were retrieved at or above the rank `ideal_rank`
    "judged_by_ideal_rank": pl.Int64(),
    # mean rank of the documents with this score in this query (the rank itself where no score ties)
    "tied_rank": pl.Float64(),
    # documents that the run returned for this query
    "retrieved": pl.Int64(),
    # relevant and judged non-relevant documents of this query
    "relevant_total": pl.Int64(),
    "nonrelevant_total": pl.Int64(),
    # the largest grade in all judgments
    "max_grade": pl.Float64(),
    # of the non-relevant documents retrieved for any query: how many score below this one
    # (ties count half)
    "pooled_wins": pl.Float64(),
    # non-relevant documents retrieved for any query
    "pooled_nonrelevant": pl.Int64(),
}

# The columns that depend on which grades count as relevant.
LEVELLED: Final = (
    "relevant",
    "found",
    "nonrelevant_above",
    "relevant_total",
    "nonrelevant_total",
    "pooled_wins",
    "pooled_nonrelevant",
)

# The columns that compare documents of all queries with each other, by their scores.
WHOLE_INPUT: Final = ("pooled_wins", "pooled_nonrelevant")


def at_level(column: str, rel: float | None) -> str:
    """The name of a judged column for a relevance level of its own.

    >>> at_level("found", None), at_level("found", 2)
    ('found', 'found_rel2')
    """
    return column if rel is None else f"{column}_rel{repr(float(rel)).removesuffix('.0')}"


@dataclass(frozen=True)
class FrameColumns:
    """The columns of a frame, some of which exist for a parameter too (`found_rel2`)."""

    kind: str
    columns: Mapping[str, pl.DataType]
    parametric: Collection[str]
    # what follows the name of a parametric column and "_": a pattern with the parameter in a group
    suffix: str
    # those that can be computed of the input as a whole only
    whole_input: Collection[str] = ()

    def split(self, name: str) -> tuple[str, str | None]:
        """A column's own name, and its parameter."""
        found = re.fullmatch(rf"(\w+?)_{self.suffix}", name)
        return (found[1], found[2]) if found and found[1] in self.parametric else (name, None)

    def type_of(self, name: str) -> pl.DataType | None:
        """The type of a column; None if there is no such column."""
        return self.columns.get(self.split(name)[0])

    def of_whole_input(self, name: str) -> bool:
        """Whether a column depends on all queries, not only on its own."""
        return self.split(name)[0] in self.whole_input


JUDGED_FRAME: Final = FrameColumns(
    "judged", JUDGED, LEVELLED, r"rel(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)", WHOLE_INPUT
)

# The pair frame: one row per document that either of two rankings has. One meaning each.
# Those of COMPARED speak of the documents that are compared (with
# missing="shared": the ones that both rankings have), and exist for a cutoff too: concordant_top10.
PAIR: Final[dict[str, pl.DataType]] = {
    QUERY: pl.String(),
    DOC: pl.String(),
    # place in each ranking, from 1; null where the ranking lacks the document
    "rank_a": pl.Int64(),
    "rank_b": pl.Int64(),
    "score_a": pl.Float64(),
    "score_b": pl.Float64(),
    # of the query: how many documents each ranking has, and how many both have
    "n_a": pl.Int64(),
    "n_b": pl.Int64(),
    "n_shared": pl.Int64(),
    # the row's number within its query; and how many documents both have down to this depth
    "depth": pl.Int64(),
    "overlap": pl.Int64(),
    # the share of documents in common at this depth, as RBO's treatments of ties see it ...
    **{f"agreement{ties}": pl.Float64() for ties in ("", "_w", "_a", "_b")},
    # ... and what the unseen documents of a shorter ranking can add: as its seen ones did, at most
    **{f"unseen{ties}": pl.Float64() for ties in ("", "_w", "_a", "_b")},
    **{f"unseen_most{ties}": pl.Float64() for ties in ("", "_w", "_a", "_b")},
}
COMPARED: Final[dict[str, pl.DataType]] = {
    # the document is compared
    "compared": pl.Boolean(),
    # how many compared documents the first ranking puts above this one, by what the second says
    "concordant": pl.Int64(),
    "discordant": pl.Int64(),
    "tied_in_b": pl.Int64(),
    # how many are tied with it in the first ranking, and above it in the second
    "tied_in_a": pl.Int64(),
    # no compared document before it has the same score
    "distinct_a": pl.Boolean(),
    "distinct_b": pl.Boolean(),
    # place among the compared, equal scores sharing the mean of theirs
    "mean_rank_a": pl.Float64(),
    "mean_rank_b": pl.Float64(),
    # how many compared documents stand above it in the second ranking, and in both
    "above_in_b": pl.Int64(),
    "above_in_both": pl.Int64(),
    # score less the mean of the compared, times a power of 2 of the query's own; null unless both
    # rankings have the document, and scores
    "deviation_a": pl.Float64(),
    "deviation_b": pl.Float64(),
}
PAIR_FRAME: Final = FrameColumns("pair", PAIR | COMPARED, COMPARED, r"top([1-9]\d*)")
