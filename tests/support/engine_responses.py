"""Make responses in the formats of Elasticsearch and Solr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any


def elastic(
    docs: Sequence[str], scores: Sequence[float | None] | None = None, **beside: Any
) -> dict[str, Any]:
    """Return a response of Elasticsearch with these hits; without scores, as of a sorted query."""
    given = scores if scores is not None else [None] * len(docs)
    hits = [
        {
            "_index": "shop",
            "_id": doc,
            "_score": score,
            "_source": {"sku": f"sku-{doc}", "name": 'a "name"', "tags": ["x", "y"]},
            "fields": {"number": [f"n{doc}"], "tags": ["x", "y"]},
        }
        for doc, score in zip(docs, given, strict=True)
    ]
    return {
        "took": 3,
        "timed_out": False,
        "_shards": {"total": 2, "successful": 2, "skipped": 0, "failed": 0},
        "hits": {"total": {"value": len(docs), "relation": "eq"}, "max_score": None, "hits": hits},
        **beside,
    }


def solr(docs: Sequence[str], query: str) -> dict[str, Any]:
    """Return a response of Solr with these documents, with falling scores."""
    found = [{"id": doc, "score": 9.5 - at} for at, doc in enumerate(docs)]
    return {
        "responseHeader": {"status": 0, "QTime": 2, "params": {"q": query, "fl": "id,score"}},
        "response": {"numFound": len(docs), "start": 0, "docs": found},
    }


def lines(responses: Iterable[Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in responses)
