"""What docstring examples find in scope: `rf`, a small judged `frame` and a `grouped` one."""

import polars as pl
import pytest
from hypothesis import settings

import rankframe as rf

# Nothing is timed in tests. Few examples of many: plain Python is compared with on hundreds more.
settings.register_profile("rankframe", deadline=None, max_examples=20)
settings.load_profile("rankframe")


@pytest.fixture(autouse=True)
def _examples(doctest_namespace: dict[str, object]) -> None:
    qrels = {"q": {"a": 3, "b": 1, "c": 1, "d": 0}}
    run = {"q": {"a": 4.0, "x": 3.0, "c": 2.0, "d": 1.0}}
    about = [("a", "1"), ("c", "2"), ("c", "1"), ("b", "2"), ("e", "2")]
    facts = [{"query_id": "q", "doc_id": doc, "fact": fact} for doc, fact in about]
    listed = {"q": {"a": 4.0, "c": 3.0, "x": 2.0, "b": 1.0}}
    groups = rf.judge(facts, listed, relevance=1, groups=True)
    doctest_namespace.update(
        rf=rf, pl=pl, frame=rf.judge(qrels, run).collect(), grouped=groups.collect()
    )
