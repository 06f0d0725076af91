"""The columns of every frame in rankframe, written down once: names, types, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import polars as pl

# What an input is to be read as.
Role: TypeAlias = Literal["qrels", "run", "queries"]
# What errors call an input, whatever it is read as: one of two rankings, what lies beside a run.
Side: TypeAlias = Literal["ranking a", "ranking b", "train", "reference"]

QUERY: Final = "query_id"
DOC: Final = "doc_id"
RELEVANCE: Final = "relevance"
SCORE: Final = "score"
# Read as a score of which less is better: turned round as it is read.
DISTANCE: Final = "distance"
RANK: Final = "rank"
# What a float cannot hold of a score that is a large whole number; never shown.
SCORE_REST: Final = "_score_rest"
WEIGHT: Final = "weight"
# What a judgment is about, where a query has several aspects: a subtopic, an intent, a fact.
GROUP: Final = "group"
GROUP_WEIGHT: Final = "group_weight"
# Columns that are text, whatever they hold; all others are numbers.
TEXTS: Final = (QUERY, DOC, GROUP)

# Other names under which these columns are recognised, compared without case, dashes, underscores.
SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    QUERY: (
        "qid", "q_id", "query", "queryid", "topic", "topic_id", "user_id", "user",
        "userid", "uid", "search_term", "customer_id", "session_id",
    ),
    DOC: (
        "docid", "docno", "doc", "document", "document_id", "did", "item_id", "item", "itemid",
        "iid", "product_id", "sku", "corpus_id", "chunk_id", "passage_id", "article_id",
    ),
    RELEVANCE: ("rel", "grade", "stars", "label", "judgment", "judgement", "rating", "gain"),
    SCORE: (
        "_score", "scores", "sim", "similarity", "cosine_similarity", "prediction", "predictions",
        "pred", "preds", "predicted", "y_pred", "y_score", "probability", "probabilities", "prob",
        "probs", "proba", "logit", "logits", "weight",
    ),
    DISTANCE: ("_distance", "distances", "dist"),
    RANK: ("position", "pos"),
    GROUP: (
        "group_id", "subtopic", "subtopic_id", "nugget", "nugget_id", "intent", "intent_id",
        "aspect", "aspect_id", "fact", "fact_id",
    ),
    # Of groups, a column that is called weight is this one.
    GROUP_WEIGHT: ("subtopic_weight", "nugget_weight", "intent_weight", "aspect_weight",
                   "fact_weight"),
}  # fmt: skip
# Of these, the ones that stand beside others: taken where no other name is there.
LATE_SYNONYMS: Final = frozenset(
    {"search_term", "customer_id", "session_id", "chunk_id", "passage_id", "article_id"}
)
# Names under which columns of lists are recognised, where none of the above is there. Documents:
# first those that say which side they are of, so that one table can have both.
LIST_SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    DOC: (
        "doc_ids", "docids", "docs", "docnos", "documents", "document_ids", "item_ids", "itemids",
        "items", "ids", "product_ids", "products", "skus",
    ),
    RELEVANCE: ("relevances", "rels", "grades", "labels", "judgments", "judgements", "ratings",
                "gains"),
    SCORE: ("similarities", "sims"),
    DISTANCE: ("dists",),
    RANK: ("ranks", "positions"),
}  # fmt: skip
LIST_SYNONYMS_OF: Final[dict[Role, tuple[str, ...]]] = {
    "queries": (),
    "qrels": (
        "relevant", "relevant_docs", "relevant_documents", "relevant_doc_ids", "relevant_items",
        "relevant_item_ids", "relevant_ids", "relevant_products", "positives", "positive_docs",
        "positive_items", "ground_truth", "groundtruth", "truth", "gold", "actual", "liked",
        "liked_items", "purchases", "purchased", "purchased_items", "bought", "clicked",
        "clicked_items",
    ),
    "run": (
        "recommendations", "recs", "recommended", "recommended_items", "recommended_ids",
        "retrieved", "retrieved_docs", "retrieved_documents", "retrieved_ids", "results", "hits",
        "ranking", "ranked", "ranked_list", "ranked_docs", "ranked_items", "top_k", "topk",
        "predicted_items", "candidates", "neighbors", "neighbours",
    ),
}  # fmt: skip
_SEPARATORS = re.compile(r"[-_\s]+")

_TEXT, _WHOLE, _NUMBER, _FLAG = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
_TIES = ("", "_w", "_a", "_b")


def plain_name(name: str) -> str:
    """Return the name of a column without case, dashes, underscores and blanks.

    >>> plain_name("Query-ID"), plain_name("query_id"), plain_name(" Query Id")
    ('queryid', 'queryid', 'queryid')
    """
    return _SEPARATORS.sub("", name).lower()


class Column(NamedTuple):
    """A column of a frame."""

    type: pl.DataType
    meaning: str
    # it exists for a parameter too: `found_rel2`, `concordant_top10`
    parametric: bool = False
    # it depends on all queries, not only on its own
    whole_input: bool = False


@dataclass(frozen=True)
class FrameColumns:
    """The contract of a frame: what a row is, and its columns."""

    kind: str
    row: str
    columns: Mapping[str, Column]
    # what follows the name of a parametric column and "_": a pattern with the parameter in a group
    suffix: str

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Return the types of the columns."""
        return {name: column.type for name, column in self.columns.items()}

    @property
    def parametric(self) -> list[str]:
        """Return the columns that also exist with a parameter."""
        return [name for name, column in self.columns.items() if column.parametric]

    def split(self, name: str) -> tuple[str, str | None]:
        """Split the name of a column and its parameter."""
        found = re.fullmatch(rf"(\w+?)_{self.suffix}", name)
        return (found[1], found[2]) if found and found[1] in self.parametric else (name, None)

    def find(self, name: str) -> Column | None:
        """Return a column, with a parameter or without; None if there is no such column."""
        return self.columns.get(self.split(name)[0])

    def of_whole_input(self, name: str) -> bool:
        """Tell whether a column depends on all queries, not only on its own."""
        column = self.find(name)
        return column is not None and column.whole_input


def at_level(column: str, rel: float | None) -> str:
    """Name a judged column with a relevance level of its own.

    >>> at_level("found", None), at_level("found", 2)
    ('found', 'found_rel2')
    """
    return column if rel is None else f"{column}_rel{repr(float(rel)).removesuffix('.0')}"


JUDGED_FRAME: Final = FrameColumns(
    "judged",
    "one judgment; by query, then rank, those not retrieved last",
    {
        QUERY: Column(_TEXT, "the query"),
        DOC: Column(_TEXT, "the judged document"),
        RELEVANCE: Column(_NUMBER, "its grade"),
        "relevant": Column(_FLAG, "the grade counts as relevant", parametric=True),
        RANK: Column(_WHOLE, "place in the run, from 1; null where it was not retrieved"),
        "ideal_rank": Column(
            _WHOLE, "place in the best possible ordering of all judged documents (by grade)"
        ),
        "ideal_rank_retrieved": Column(
            _WHOLE, "the same over retrieved documents only; null where not retrieved"
        ),
        "found": Column(
            _WHOLE, "relevant documents at or above this rank, itself included", parametric=True
        ),
        "nonrelevant_above": Column(
            _WHOLE,
            "judged non-relevant documents (grade of at least 0, not relevant) above this rank",
            parametric=True,
        ),
        "judged_above": Column(_WHOLE, "judged documents of any grade above this rank"),
        "judged_by_ideal_rank": Column(
            _WHOLE, "judged documents that were retrieved at or above the rank `ideal_rank`"
        ),
        "tied_rank": Column(
            _NUMBER,
            "mean rank of the query's documents with this score (the rank itself where none ties)",
        ),
        "retrieved": Column(_WHOLE, "documents that the run returned for this query"),
        "relevant_total": Column(_WHOLE, "relevant documents of this query", parametric=True),
        "nonrelevant_total": Column(
            _WHOLE, "judged non-relevant documents of this query", parametric=True
        ),
        "max_grade": Column(_NUMBER, "the largest grade in all judgments"),
        "pooled_wins": Column(
            _NUMBER,
            "of the non-relevant documents retrieved for any query, how many score below this one "
            "(ties count half)",
            parametric=True,
            whole_input=True,
        ),
        "pooled_nonrelevant": Column(
            _WHOLE,
            "non-relevant documents retrieved for any query",
            parametric=True,
            whole_input=True,
        ),
    },
    r"rel(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)",
)

# With missing="shared", the documents that are compared are the ones that both rankings have.
PAIR_FRAME: Final = FrameColumns(
    "pair",
    "one document that either of two rankings has; by query, as the first ranks them, then the "
    "second; the n-th row of a query also stands for depth n",
    {
        QUERY: Column(_TEXT, "the query"),
        DOC: Column(_TEXT, "the document"),
        "rank_a": Column(_WHOLE, "place in the first ranking, from 1; null where it lacks it"),
        "rank_b": Column(_WHOLE, "place in the second ranking, likewise"),
        "score_a": Column(_NUMBER, "score in the first ranking; null where there is none"),
        "score_b": Column(_NUMBER, "score in the second ranking, likewise"),
        "n_a": Column(_WHOLE, "documents that the first ranking has for this query"),
        "n_b": Column(_WHOLE, "documents that the second ranking has for this query"),
        "n_shared": Column(_WHOLE, "documents that both have for this query"),
        "depth": Column(_WHOLE, "the row's number within its query"),
        "overlap": Column(_WHOLE, "documents that both have down to this depth"),
        **{
            f"agreement{ties}": Column(_NUMBER, f"share in common at this depth{said}")
            for ties, said in zip(
                _TIES, ("", *(f", as RBO's ties={t!r} sees it" for t in "wab")), strict=True
            )
        },
        **{
            f"unseen{ties}": Column(
                _NUMBER, "what unseen documents of the shorter ranking add, if as its seen ones did"
            )
            for ties in _TIES
        },
        **{
            f"unseen_most{ties}": Column(
                _NUMBER, "what unseen documents of either can add at the most", parametric=True
            )
            for ties in _TIES
        },
        **{
            name: Column(kind, meaning, parametric=True)
            for name, kind, meaning in (
                ("compared", _FLAG, "the document is compared"),
                ("concordant", _WHOLE, "compared documents that both rankings put above it"),
                ("discordant", _WHOLE, "those that the first puts above it, the second below"),
                ("tied_in_b", _WHOLE, "those that the first puts above it, the second beside it"),
                ("tied_in_a", _WHOLE, "those tied with it in the first, above it in the second"),
                ("distinct_a", _FLAG, "no compared document before it has its score in the first"),
                ("distinct_b", _FLAG, "the same of the second ranking"),
                ("mean_rank_a", _NUMBER, "place among the compared in the first; ties share it"),
                ("mean_rank_b", _NUMBER, "the same of the second ranking"),
                ("above_in_b", _WHOLE, "compared documents above it in the second ranking"),
                ("above_in_both", _WHOLE, "compared documents above it in both"),
                (
                    "deviation_a",
                    _NUMBER,
                    "score less the mean of the compared, scaled; null if unscored",
                ),
                ("deviation_b", _NUMBER, "the same of the second ranking"),
            )
        },
    },
    r"top([1-9]\d*)",
)

STACKED_FRAME: Final = FrameColumns(
    "stacked",
    "one document of one of several runs; by query, then as the runs are given, then by rank",
    {
        QUERY: Column(_TEXT, "the query"),
        DOC: Column(_TEXT, "the document"),
        "run": Column(_TEXT, "the run that has it, by its name"),
        RANK: Column(_WHOLE, "place in that run, from 1"),
        SCORE: Column(_NUMBER, "score in that run; null where it has none"),
        "normalised": Column(_NUMBER, "the score after normalisation"),
        "length": Column(_WHOLE, "documents that the run has for this query"),
        "runs_with": Column(_WHOLE, "runs that have the document for this query"),
        "candidates": Column(_WHOLE, "distinct documents that any run has for this query"),
    },
    r"(?!)",  # none has a parameter
)
