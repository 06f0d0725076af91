"""The columns of the frames of what is shown: names, types, and what they mean."""

from __future__ import annotations

from typing import Final

import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, RELEVANCE, SCORE, Column, FrameColumns

_TEXT, _WHOLE, _NUMBER, _FLAG = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()

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
        "base_rank": Column(_WHOLE, "place in the run `reference`; null where it lacks it"),
        **{
            name: Column(kind, meaning, parametric=True)
            for name, kind, meaning in (
                ("has", _FLAG, "the attribute has this value: `has_of_genre=drama`"),
                ("values", _WHOLE, "how many values the attribute has"),
                ("new", _WHOLE, "how many of them no document above has"),
                ("crowd", _NUMBER, "Σ of (c + 1)·log2(c + 1) − c·log2 c, c above with a value"),
                ("pairs", _WHOLE, "documents above with a value, where it has one itself"),
                ("unlike", _NUMBER, "Σ over these of the Jaccard distance of the values"),
                ("vector", _WHOLE, "1 where the attribute is a vector, else 0"),
                ("vector_pairs", _WHOLE, "documents above with a vector, where it has one"),
                ("cosine", _NUMBER, "Σ over these of the cosine of the vectors"),
                ("divergence", _NUMBER, "of the query's list from its rows in `train`"),
            )
        },
    },
    r"of_(.+)",
)  # fmt: skip

DOCUMENTS_FRAME: Final = FrameColumns(
    "documents",
    "one document that is known or was shown, over all queries; in order of the ids",
    {
        DOC: Column(_TEXT, "the document"),
        "in_catalogue": Column(_FLAG, "it is in the catalogue"),
        "popularity": Column(_WHOLE, "queries that have it in `train`"),
        "interactions": Column(_NUMBER, "how often it is there, counts added up"),
        "shown": Column(_WHOLE, "lists that show it in their top k", parametric=True),
        "lists": Column(_WHOLE, "lists that show anything in their top k", parametric=True),
    },
    r"top([1-9]\d*)",
)

VALUES_FRAME: Final = FrameColumns(
    "values", "one value of an attribute of documents; those with several count in equal parts", {
        "value": Column(_TEXT, "the value"),
        "documents": Column(_NUMBER, "documents in the catalogue that have it"),
        "interactions": Column(_NUMBER, "interactions in `train` of documents that have it"),
        "exposure": Column(_NUMBER, "Σ 1 / log2(rank + 1) of these over all lists, in the top k"),
    }, r"(?!)",
)  # fmt: skip
