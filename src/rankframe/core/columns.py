"""Declare the columns of every frame, once: names, types and meanings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from itertools import product
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import polars as pl

from rankframe.core.records import record

# The kinds of inputs.
Role: TypeAlias = Literal["qrels", "run", "queries"]
# Names of inputs in errors, where they differ from the kind.
Side: TypeAlias = Literal["ranking a", "ranking b", "train", "reference"]

# Parameters of columns: an attribute of documents and one of its values, the discount of a subtopic
# each time that it repeats, a relevance level, RBO's treatment of ties, and a cutoff.
Parameter: TypeAlias = Literal["attribute", "value", "alpha", "rel", "ties", "k"]
# The default of `alpha`, for columns and metrics whose names do not contain it.
ALPHA: Final = 0.5

QUERY: Final = "query_id"
DOC: Final = "doc_id"
RELEVANCE: Final = "relevance"
SCORE: Final = "score"
# A score where lower is better: it is negated as it is read.
DISTANCE: Final = "distance"
RANK: Final = "rank"
# The rounding error of a score that is a large whole number; never shown.
SCORE_REST: Final = "_score_rest"
WEIGHT: Final = "weight"
# What a judgment is about, where a query has several aspects: a subtopic, an intent, a fact.
SUBTOPIC: Final = "subtopic"
SUBTOPIC_WEIGHT: Final = "subtopic_weight"
# Columns that are read as text, whatever their type; all others are numbers.
TEXTS: Final = (QUERY, DOC, SUBTOPIC)

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
    SUBTOPIC: (
        "subtopic_id", "group", "group_id", "nugget", "nugget_id", "intent", "intent_id",
        "aspect", "aspect_id", "fact", "fact_id",
    ),
    # In judgments with subtopics, a column named `weight` is read as this one.
    SUBTOPIC_WEIGHT: ("group_weight", "nugget_weight", "intent_weight", "aspect_weight",
                   "fact_weight"),
}  # fmt: skip
# Synonyms that are used only if no column has another synonym.
LATE_SYNONYMS: Final = frozenset(
    {"search_term", "customer_id", "session_id", "chunk_id", "passage_id", "article_id"}
)
# Names under which columns of lists are recognised, if no column has a name above. For documents,
# `LIST_SYNONYMS_OF` is tried first, so that one table can have the lists of judgments and run.
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


def plain_name(name: str) -> str:
    """Return the name of a column without case, dashes, underscores and blanks.

    >>> plain_name("Query-ID"), plain_name("query_id"), plain_name(" Query Id")
    ('queryid', 'queryid', 'queryid')
    """
    return _SEPARATORS.sub("", name).lower()


def is_pattern(name: str) -> bool:
    """Tell whether polars reads a column name as a pattern: `*`, or a regular expression in ^…$."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


class _Written(NamedTuple):
    """Describe how a parameter is written in the name of a column, and how it is parsed."""

    before: str
    looks: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str

    def pattern(self, parameter: str) -> str:
        """Return a regular expression for the optional parameter at the end of a column name."""
        return f"(?:{self.before}(?P<{parameter}>{self.looks}))?"


_SIGNED = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
# Ordered as the parameters follow the column in its name.
_WRITTEN: Final[dict[str, _Written]] = {
    "attribute": _Written("_of_", r".+?", str),
    "value": _Written("=", r".*", str),
    "alpha": _Written("_alpha", _SIGNED, float, lambda alpha: repr(float(alpha))),
    "rel": _Written("_rel", _SIGNED, float, lambda rel: repr(float(rel)).removesuffix(".0")),
    "ties": _Written("_", "[wab]", str),
    "k": _Written("_top", r"[1-9]\d*", int),
}


@record
class ColumnRequest:
    """Request a column of a frame, with values of its parameters.

    Its name has the parameters that differ from their defaults.

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
        """Return the name of the column in frames, with its parameters."""
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
    """Describe a column of a frame."""

    type: pl.DataType
    meaning: str
    # the parameters that the column takes; each value is a column: `found_rel2`, `concordant_top10`
    parameters: tuple[Parameter, ...] = ()
    # whether a value depends on all queries, not only on the query of its row
    whole_input: bool = False


_text, _whole = partial(Column, pl.String()), partial(Column, pl.Int64())
_number, _flag = partial(Column, pl.Float64()), partial(Column, pl.Boolean())
_REL: Final = ("rel",)
_K: Final = ("k",)
_ATTRIBUTE: Final = ("attribute",)


@record
class FrameColumns:
    """Describe the rows and columns of a frame."""

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
        """Return the types of all columns, at default parameters and at the given values."""
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
        """Return a regular expression for the names of each column that has parameters."""
        patterns = {
            name: "".join(_WRITTEN[parameter].pattern(parameter) for parameter in column.parameters)
            for name, column in self.columns.items()
        }
        return {name: re.compile(name + end, re.DOTALL) for name, end in patterns.items() if end}

    def request(self, name: str) -> ColumnRequest:
        """Split the name of a column into the column and its parameters.

        An unknown name is returned as a column without parameters. Expressions, also users' own,
        refer to columns by name, so all names of columns are parsed here.

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
        """Return the description of a column, whose name may have parameters; None if unknown."""
        return self.columns.get(self.request(name).column)

    def without_parameters(self, names: Iterable[str]) -> set[str]:
        """Return the given names of columns without their parameters."""
        return {self.request(name).column for name in names}

    def of_whole_input(self, name: str) -> bool:
        """Tell whether a column depends on all queries, not only on the query of each row."""
        column = self.columns.get(self.request(name).column)
        return column is not None and column.whole_input


JUDGED_FRAME: Final = FrameColumns(
    "judged",
    "one judgment; by query, then rank, documents that were not retrieved last",
    {
        QUERY: _text("the query"),
        DOC: _text("the judged document"),
        RELEVANCE: _number("its grade"),
        "relevant": _flag("the grade counts as relevant", _REL),
        RANK: _whole("rank in the run, from 1; null if it was not retrieved"),
        "ideal_rank": _whole("rank in the best ordering of all judged documents (by grade)"),
        "ideal_rank_retrieved": _whole(
            "rank in the best ordering of the retrieved judged documents; null if not retrieved"
        ),
        "found": _whole("relevant documents at this rank or above", _REL),
        "nonrelevant_above": _whole(
            "judged non-relevant documents (grade of at least 0, not relevant) above this rank",
            _REL,
        ),
        "judged_above": _whole("judged documents of any grade above this rank"),
        "judged_by_ideal_rank": _whole("judged documents retrieved at rank `ideal_rank` or above"),
        "tied_rank": _number("mean rank of the query's documents with the same score"),
        "retrieved": _whole("documents that the run returned for this query"),
        "relevant_total": _whole("relevant documents of this query", _REL),
        "nonrelevant_total": _whole("judged non-relevant documents of this query", _REL),
        "max_grade": _number("the largest grade in all judgments"),
        "pooled_wins": _number(
            "non-relevant documents, retrieved for any query, with a lower score (ties count half)",
            _REL,
            whole_input=True,
        ),
        "pooled_nonrelevant": _whole(
            "non-relevant documents retrieved for any query", _REL, whole_input=True
        ),
    },
)

# With missing="shared", the documents that are compared are the ones that both rankings have.
PAIR_FRAME: Final = FrameColumns(
    "pair",
    "one document that either of two rankings has; by query, as the first ranks them, then the "
    "second; the n-th row of a query also stands for depth n",
    {
        QUERY: _text("the query"),
        DOC: _text("the document"),
        "rank_a": _whole("rank in the first ranking, from 1; null if absent"),
        "rank_b": _whole("rank in the second ranking, from 1; null if absent"),
        "score_a": _number("score in the first ranking; null if there is none"),
        "score_b": _number("score in the second ranking; null if there is none"),
        "n_a": _whole("documents of this query in the first ranking"),
        "n_b": _whole("documents of this query in the second ranking"),
        "n_shared": _whole("documents of this query in both rankings"),
        "depth": _whole("number of the row within its query, from 1"),
        "overlap": _whole("documents in the top `depth` of both rankings"),
        "agreement": _number("agreement at this depth, with RBO's treatment of ties", ("ties",)),
        "unseen": _number(
            "agreement added by the shorter ranking's unseen documents if they are like its others",
            ("ties",),
        ),
        "unseen_most": _number(
            "largest agreement that unseen documents of either ranking can add", ("ties", "k")
        ),
        "compared": _flag("the document is compared", _K),
        "concordant": _whole("compared documents above it in both rankings", _K),
        "discordant": _whole("compared documents above it in the first, below in the second", _K),
        "tied_in_b": _whole("compared documents above it in the first, tied in the second", _K),
        "tied_in_a": _whole("compared documents tied in the first, above it in the second", _K),
        "distinct_a": _flag("first compared document with its score in the first ranking", _K),
        "distinct_b": _flag("first compared document with its score in the second ranking", _K),
        "mean_rank_a": _number("rank among compared documents in the first, mean over ties", _K),
        "mean_rank_b": _number("rank among compared documents in the second, mean over ties", _K),
        "above_in_b": _whole("compared documents above it in the second ranking", _K),
        "above_in_both": _whole("compared documents above it in both rankings by rank", _K),
        "deviation_a": _number("score less the mean of the compared, scaled; null if unscored", _K),
        "deviation_b": _number("score less the mean of the compared, scaled; in the second", _K),
    },
)

STACKED_FRAME: Final = FrameColumns(
    "stacked",
    "one document of one of several runs; by query, then in the order of the runs, then by rank",
    {
        QUERY: _text("the query"),
        DOC: _text("the document"),
        "run": _text("the name of the run"),
        RANK: _whole("rank in that run, from 1"),
        SCORE: _number("score in that run; null if there is none"),
        "normalised": _number("the score after normalisation"),
        "length": _whole("documents that the run has for this query"),
        "runs_with": _whole("runs that have the document for this query"),
        "candidates": _whole("distinct documents that any run has for this query"),
    },
)

SUBTOPIC_FRAME: Final = FrameColumns(
    "subtopic",
    "one judgment of a document for a subtopic (or a fact); by query, then rank, documents that "
    "were not retrieved last, then subtopic",
    {
        QUERY: _text("the query"),
        DOC: _text("the judged document"),
        SUBTOPIC: _text("the subtopic; null if the judgment has none"),
        RELEVANCE: _number("the document's grade for this subtopic"),
        "relevant": _flag("the grade counts as relevant, and there is a subtopic", _REL),
        RANK: _whole("rank in the run, from 1; null if it was not retrieved"),
        "above": _whole("documents above this rank that are relevant to the subtopic", _REL),
        "first": _flag("first relevant document of its subtopic, or one if none is ranked", _REL),
        "subtopics": _whole("subtopics of this query with a relevant document", _REL),
        "subtopic_relevant": _whole("relevant documents of this subtopic", _REL),
        SUBTOPIC_WEIGHT: _number("the weight of the subtopic (default: 1)"),
        "unsatisfied": _number(
            "probability that the documents above do not satisfy a reader who wants this subtopic: "
            "the product of 1 − (2^grade − 1)/2^max_grade"
        ),
        "ideal_rank": _whole(
            "rank in the greedy ideal list, whose next document is always the one with the most "
            "valuable subtopics, each worth (1 − α) times as much whenever it was seen; null if "
            "nothing is relevant",
            ("alpha", "rel"),
        ),
        "ideal_above": _whole(
            "documents above it in the ideal list that are relevant to the subtopic",
            ("alpha", "rel"),
        ),
        "ideal_dcg": _number("largest possible DCG for this subtopic", _K),
        "ideal_dcg_exp2": _number("largest possible DCG for this subtopic, gain 2^grade − 1", _K),
        "retrieved": _whole("documents that the run returned for this query"),
        "max_grade": _number("the largest grade in all judgments"),
    },
)

RETRIEVED_FRAME: Final = FrameColumns(
    "retrieved",
    "one retrieved document, judged or not; by query, then rank. Attributes of "
    "`items` are columns too (with the prefix `items.` if the name is taken: `items.score`)",
    {
        QUERY: _text("the query"),
        DOC: _text("the document"),
        RANK: _whole("rank in the run, from 1"),
        SCORE: _number("score in the run; null if there is none"),
        "retrieved": _whole("documents that the run returned for this query"),
        RELEVANCE: _number("its grade; null if it was not judged"),
        "relevant": _flag("the grade counts as relevant"),
        "judged": _flag("the query has judgments"),
        "seen": _flag("the query has the document in `train`"),
        "popularity": _whole("queries that have the document in `train`"),
        "interactions": _number("interactions with the document in `train`"),
        "popularity_rank": _whole("rank by popularity, shared by ties; null if nobody has it"),
        "more_popular": _number("share of interactions with more popular documents; 1 if unknown"),
        "train_queries": _whole("queries in `train`"),
        "train_interactions": _number("interactions in `train`"),
        "in_catalogue": _flag("the document is in the catalogue"),
        "catalogue_size": _whole("documents in the catalogue"),
        "reference_rank": _whole("rank in the run `reference`; null if absent"),
        "has": _flag(
            "the attribute has this value; null if no document has it", ("attribute", "value")
        ),
        "values": _whole("number of values that the attribute has", _ATTRIBUTE),
        "new": _whole("number of these values that no document above has", _ATTRIBUTE),
        "crowd": _number("Σ of (c + 1)·log2(c + 1) − c·log2 c, c above with a value", _ATTRIBUTE),
        "pairs": _whole("documents above with a value, if it has a value itself", _ATTRIBUTE),
        "unlike": _number("Σ of Jaccard distances to documents above with a value", _ATTRIBUTE),
        "vector": _whole("1 if the attribute is a vector, else 0", _ATTRIBUTE),
        "vector_pairs": _whole("documents above with a vector, if it has one itself", _ATTRIBUTE),
        "cosine": _number("Σ of cosines to documents above with a vector", _ATTRIBUTE),
        "divergence": _number("divergence of the query's list from `train`", ("attribute", "k")),
    },
)

DOCUMENTS_FRAME: Final = FrameColumns(
    "documents",
    "one document of the catalogue, of `train` or of any list; by id",
    {
        DOC: _text("the document"),
        "in_catalogue": _flag("the document is in the catalogue"),
        "popularity": _whole("queries that have the document in `train`"),
        "interactions": _number("interactions with the document in `train`"),
        "retrieved": _whole("lists that have it in their top k", _K),
        "lists": _whole("lists that have any document in their top k", _K),
    },
)

VALUES_FRAME: Final = FrameColumns(
    "values",
    "one value of an attribute of documents; a document with several values counts in equal parts",
    {
        "value": _text("the value"),
        "documents": _number("documents in the catalogue that have the value"),
        "interactions": _number("interactions in `train` with documents that have the value"),
        "exposure": _number("Σ 1 / log2(rank + 1) of these documents over the top k of all lists"),
    },
)
