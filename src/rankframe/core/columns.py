"""The columns of every frame in rankframe, written down once: names, types, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import polars as pl

# What an input is to be read as.
Role: TypeAlias = Literal["qrels", "run", "queries"]
# What errors call an input, whatever it is read as: one of two rankings, what lies beside a run.
Side: TypeAlias = Literal["ranking a", "ranking b", "train", "reference"]

# What columns of frames have a value for: an attribute of documents and one of its values, how much
# less a subtopic is worth each time that it was seen, a relevance level, RBO's treatment of ties, a
# cutoff.
Parameter: TypeAlias = Literal["attribute", "value", "alpha", "rel", "ties", "k"]
# The α of columns and metrics that name none.
ALPHA: Final = 0.5

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


def plain_name(name: str) -> str:
    """Return the name of a column without case, dashes, underscores and blanks.

    >>> plain_name("Query-ID"), plain_name("query_id"), plain_name(" Query Id")
    ('queryid', 'queryid', 'queryid')
    """
    return _SEPARATORS.sub("", name).lower()


class _Written(NamedTuple):
    """How a parameter is written into the name of a column, and read from it."""

    before: str
    looks: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str

    def pattern(self, parameter: str) -> str:
        """Return a pattern for the end of a name that has the parameter, or has it not."""
        return f"(?:{self.before}(?P<{parameter}>{self.looks}))?"


_SIGNED = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
# In the order in which they follow the name of the column.
_WRITTEN: Final[dict[str, _Written]] = {
    "attribute": _Written("_of_", r".+?", str),
    "value": _Written("=", r".*", str),
    "alpha": _Written("_alpha", _SIGNED, float, lambda alpha: repr(float(alpha))),
    "rel": _Written("_rel", _SIGNED, float, lambda rel: repr(float(rel)).removesuffix(".0")),
    "ties": _Written("_", "[wab]", str),
    "k": _Written("_top", r"[1-9]\d*", int),
}


@dataclass(frozen=True)
class ColumnRequest:
    """A column of a frame with values of its parameters; those left at their defaults are not
    part of its name.

    >>> ColumnRequest("found").name, ColumnRequest("found", rel=2).name
    ('found', 'found_rel2')
    >>> ColumnRequest("ideal_rank", alpha=0.7, rel=2).name
    'ideal_rank_alpha0.7_rel2'
    >>> ColumnRequest("has", attribute="genre", value="drama").name
    'has_of_genre=drama'
    """

    column: str
    attribute: str | None = None
    value: str | None = None
    alpha: float = ALPHA
    rel: float | None = None
    ties: str | None = None
    k: int | None = None

    @property
    def name(self) -> str:
        """Return the name under which frames have the column."""
        parameters = (
            how.before + how.write(getattr(self, parameter))
            for parameter, how in _WRITTEN.items()
            if getattr(self, parameter) != getattr(ColumnRequest, parameter)
        )
        return self.column + "".join(parameters)

    @property
    def expr(self) -> pl.Expr:
        """Return the column as a polars expression."""
        return pl.col(self.name)


class Column(NamedTuple):
    """A column of a frame."""

    type: pl.DataType
    meaning: str
    # it exists for each value of these too: `found_rel2`, `concordant_top10`
    parameters: tuple[Parameter, ...] = ()
    # it depends on all queries, not only on its own
    whole_input: bool = False


@dataclass(frozen=True)
class FrameColumns:
    """The contract of a frame: what a row is, and its columns."""

    kind: str
    row: str
    columns: Mapping[str, Column]

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Return the types of the columns."""
        return {name: column.type for name, column in self.columns.items()}

    def schema_at(
        self, *, rel: Iterable[float] = (), alpha: Iterable[float] = (), ties: Iterable[str] = (),
        k: Iterable[int] = (),
    ) -> dict[str, pl.DataType]:  # fmt: skip
        """Return the types of the columns, also of those with these values of their parameters."""
        schema: dict[str, pl.DataType] = {}
        columns = self.columns.items()
        choices = product((None, *k), (ALPHA, *alpha), (None, *rel), columns, (None, *ties))
        for cutoff, share, level, (name, column), treatment in choices:
            values: dict[str, Any] = {"k": cutoff, "alpha": share, "rel": level, "ties": treatment}
            chosen = {parameter: values[parameter] for parameter in column.parameters}
            schema[ColumnRequest(name, **chosen).name] = column.type
        return schema

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        """Return what the names of each column with parameters look like."""
        patterns = {
            name: "".join(_WRITTEN[parameter].pattern(parameter) for parameter in column.parameters)
            for name, column in self.columns.items()
        }
        return {name: re.compile(name + end, re.DOTALL) for name, end in patterns.items() if end}

    def request(self, name: str) -> ColumnRequest:
        """Read the name of a column, which may have parameters; any other name stands for itself.

        Expressions carry nothing but names, and users write these themselves: all that looks at
        the parameters of a column asks here.

        >>> JUDGED_FRAME.request("found_rel2").rel
        2.0
        """
        for column, pattern in self._patterns.items() if name not in self.columns else ():
            if match := pattern.fullmatch(name):
                texts = match.groupdict().items()
                values: dict[str, Any] = {
                    key: _WRITTEN[key].read(text) for key, text in texts if text
                }
                # An attribute may itself be called `genre_top10`.
                attribute = name.removeprefix(f"{column}_of_")
                if "k" in values and attribute in self.columns:
                    values = {"attribute": attribute}
                return ColumnRequest(column, **values)
        return ColumnRequest(name)

    def find(self, name: str) -> Column | None:
        """Return a column, with a parameter or without; None if there is no such column."""
        return self.columns.get(self.request(name).column)

    def without_parameters(self, names: Iterable[str]) -> set[str]:
        """Return the columns of these names, whatever their parameters."""
        return {self.request(name).column for name in names}

    def of_whole_input(self, name: str) -> bool:
        """Tell whether a column depends on all queries, not only on its own."""
        column = self.find(name)
        return column is not None and column.whole_input


JUDGED_FRAME: Final = FrameColumns(
    "judged",
    "one judgment; by query, then rank, those not retrieved last",
    {
        QUERY: Column(_TEXT, "the query"),
        DOC: Column(_TEXT, "the judged document"),
        RELEVANCE: Column(_NUMBER, "its grade"),
        "relevant": Column(_FLAG, "the grade counts as relevant", parameters=("rel",)),
        RANK: Column(_WHOLE, "place in the run, from 1; null where it was not retrieved"),
        "ideal_rank": Column(
            _WHOLE, "place in the best possible ordering of all judged documents (by grade)"
        ),
        "ideal_rank_retrieved": Column(
            _WHOLE, "the same over retrieved documents only; null where not retrieved"
        ),
        "found": Column(
            _WHOLE, "relevant documents at or above this rank, itself included", parameters=("rel",)
        ),
        "nonrelevant_above": Column(
            _WHOLE,
            "judged non-relevant documents (grade of at least 0, not relevant) above this rank",
            parameters=("rel",),
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
        "relevant_total": Column(_WHOLE, "relevant documents of this query", parameters=("rel",)),
        "nonrelevant_total": Column(
            _WHOLE, "judged non-relevant documents of this query", parameters=("rel",)
        ),
        "max_grade": Column(_NUMBER, "the largest grade in all judgments"),
        "pooled_wins": Column(
            _NUMBER,
            "of the non-relevant documents retrieved for any query, how many score below this one "
            "(ties count half)",
            parameters=("rel",),
            whole_input=True,
        ),
        "pooled_nonrelevant": Column(
            _WHOLE,
            "non-relevant documents retrieved for any query",
            parameters=("rel",),
            whole_input=True,
        ),
    },
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
        "agreement": Column(
            _NUMBER, "share in common at this depth, as RBO's `ties` has it", parameters=("ties",)
        ),
        "unseen": Column(
            _NUMBER,
            "what the shorter ranking's unseen documents add, if as its seen ones did",
            parameters=("ties",),
        ),
        "unseen_most": Column(
            _NUMBER,
            "what unseen documents of either can add at the most",
            parameters=("ties", "k"),
        ),
        **{
            name: Column(kind, meaning, parameters=("k",))
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
)

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
            _FLAG, "the grade counts as relevant, and there is a group", parameters=("rel",)
        ),
        RANK: Column(_WHOLE, "place in the run, from 1; null where it was not retrieved"),
        "above": Column(
            _WHOLE,
            "documents above this rank that are relevant to the same group",
            parameters=("rel",),
        ),
        "first": Column(
            _FLAG,
            "the first relevant document of its group; of several not retrieved, one of them",
            parameters=("rel",),
        ),
        "groups": Column(
            _WHOLE, "groups of this query with a relevant document", parameters=("rel",)
        ),
        "group_relevant": Column(_WHOLE, "relevant documents of this group", parameters=("rel",)),
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
            parameters=("alpha", "rel"),
        ),
        "ideal_above": Column(
            _WHOLE,
            "documents above it in that list that are relevant to the same group",
            parameters=("alpha", "rel"),
        ),
        "ideal_dcg": Column(
            _NUMBER, "the largest DCG that a list can have for this group", parameters=("k",)
        ),
        "ideal_dcg_exp2": Column(_NUMBER, "the same with a gain of 2^grade − 1", parameters=("k",)),
        "retrieved": Column(_WHOLE, "documents that the run returned for this query"),
        "max_grade": Column(_NUMBER, "the largest grade in all judgments"),
    },
)

SHOWN_FRAME: Final = FrameColumns(
    "shown",
    "one document that was shown: retrieved, judged or not; by query, then rank. Attributes of "
    "`items` are columns too (one that is called like these: `items.score`)",
    {
        QUERY: Column(_TEXT, "the query"),
        DOC: Column(_TEXT, "the document"),
        RANK: Column(_WHOLE, "place in the run, from 1"),
        SCORE: Column(_NUMBER, "score in the run; null where it has none"),
        "retrieved": Column(_WHOLE, "documents that the run returned for this query"),
        RELEVANCE: Column(_NUMBER, "its grade; null where it was not judged"),
        "relevant": Column(_FLAG, "the grade counts as relevant"),
        "judged": Column(_FLAG, "the query has judgments"),
        "seen": Column(_FLAG, "the query has the document in `train`"),
        "popularity": Column(_WHOLE, "queries that have the document in `train`"),
        "interactions": Column(_NUMBER, "how often it is there, counts added up"),
        "popularity_rank": Column(_WHOLE, "place by popularity, equal ones alike; null: nobody's"),
        "more_popular": Column(_NUMBER, "share of interactions that more popular ones have, or 1"),
        "train_queries": Column(_WHOLE, "queries in `train`"),
        "train_interactions": Column(_NUMBER, "interactions in `train`"),
        "in_catalogue": Column(_FLAG, "the document is in the catalogue"),
        "catalogue_size": Column(_WHOLE, "documents in the catalogue"),
        "reference_rank": Column(_WHOLE, "place in the run `reference`; null where it lacks it"),
        "has": Column(
            _FLAG,
            "the attribute has this value",
            parameters=("attribute", "value"),
        ),
        **{
            name: Column(kind, meaning, parameters=("attribute",))
            for name, kind, meaning in (
                ("values", _WHOLE, "how many values the attribute has"),
                ("new", _WHOLE, "how many of them no document above has"),
                ("crowd", _NUMBER, "Σ of (c + 1)·log2(c + 1) − c·log2 c, c above with a value"),
                ("pairs", _WHOLE, "documents above with a value, where it has one itself"),
                ("unlike", _NUMBER, "Σ over these of the Jaccard distance of the values"),
                ("vector", _WHOLE, "1 where the attribute is a vector, else 0"),
                ("vector_pairs", _WHOLE, "documents above with a vector, where it has one"),
                ("cosine", _NUMBER, "Σ over these of the cosine of the vectors"),
            )
        },
        "divergence": Column(
            _NUMBER, "of the query's list from its rows in `train`", parameters=("attribute", "k")
        ),
    },
)  # fmt: skip

DOCUMENTS_FRAME: Final = FrameColumns(
    "documents",
    "one document that is known or was shown, over all queries; in order of the ids",
    {
        DOC: Column(_TEXT, "the document"),
        "in_catalogue": Column(_FLAG, "it is in the catalogue"),
        "popularity": Column(_WHOLE, "queries that have it in `train`"),
        "interactions": Column(_NUMBER, "how often it is there, counts added up"),
        "shown": Column(_WHOLE, "lists that show it in their top k", parameters=("k",)),
        "lists": Column(_WHOLE, "lists that show anything in their top k", parameters=("k",)),
    },
)

VALUES_FRAME: Final = FrameColumns(
    "values", "one value of an attribute of documents; those with several count in equal parts", {
        "value": Column(_TEXT, "the value"),
        "documents": Column(_NUMBER, "documents in the catalogue that have it"),
        "interactions": Column(_NUMBER, "interactions in `train` of documents that have it"),
        "exposure": Column(_NUMBER, "Σ 1 / log2(rank + 1) of these over all lists, in the top k"),
    },
)  # fmt: skip
