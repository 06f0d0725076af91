"""What docstring examples find in scope: `rf`, and small frames of every kind."""

import gc
from functools import cache

import polars as pl
import pytest
from hypothesis import settings

import rankframe as rf

# The fixture `message` and the option --update-messages.
pytest_plugins = ["tests.support.messages"]

# Nothing is timed in tests. Few examples of many: plain Python is compared with on hundreds more.
settings.register_profile("rankframe", deadline=None, max_examples=8)
settings.load_profile("rankframe")

# Collecting makes a million objects that stay. The garbage collector need not look at them, neither
# meanwhile nor again and again during tests: a quarter of the time to collect.
gc.disable()


def pytest_collection_finish() -> None:
    """Hide what was collected from the garbage collector, and call it less often than usual."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_unconfigure() -> None:
    """Let the interpreter free what was hidden: duckdb reports leaks otherwise."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _examples(request: pytest.FixtureRequest, doctest_namespace: dict[str, object]) -> None:
    if not isinstance(request.node, pytest.DoctestItem):
        return
    doctest_namespace.update(rf=rf, pl=pl, frame=_judged())
    if request.node.name.startswith("rankframe.metrics."):
        doctest_namespace.update(subtopic=_groups(), retrieved=_retrieved(), documents=DOCUMENTS)


@cache
def _judged() -> pl.DataFrame:
    """Return a judged query: a, b and c are relevant; a, c and two others are retrieved."""
    qrels = {"q": {"a": 3, "b": 1, "c": 1, "d": 0}}
    run = {"q": {"a": 4.0, "x": 3.0, "c": 2.0, "d": 1.0}}
    return rf.judge(qrels, run).collect()


@cache
def _groups() -> pl.DataFrame:
    """Return a judged query whose documents have facts 1 and 2."""
    about = [("a", "1"), ("c", "2"), ("c", "1"), ("b", "2"), ("e", "2")]
    facts = [{"query_id": "q", "doc_id": doc, "fact": fact} for doc, fact in about]
    listed = {"q": {"a": 4.0, "c": 3.0, "x": 2.0, "b": 1.0}}
    return rf.judge(facts, listed, relevance=1, subtopics=True).collect()


@cache
def _retrieved() -> pl.DataFrame:
    """Return the documents retrieved for a user: two users have a, one has b, none has c."""
    items = pl.DataFrame(
        {
            "doc_id": ["a", "b", "c", "e"],
            "genre": ["comedy", "drama", "comedy", "drama"],
            "vector": [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [1.0, 1.0]],
        }
    )
    train = {"u": ["a"], "v": ["a"], "w": ["b"], "x": ["e"]}
    run = {"u": ["a", "b", "c"]}
    made = rf.retrieved(
        run, {"u": {"b": 1, "c": 1}}, train=train, items=items, reference={"u": ["a", "d"]}
    )
    frame = made.collect()
    # What depends on a value or a cutoff is not in the lazy frame.
    cut = rf.evaluate(None, run, "calibration(by=genre)@2", train=train, items=items)
    return frame.with_columns(
        (pl.col("genre") == "drama").alias("has_of_genre=drama"),
        pl.lit(cut["calibration(by=genre)@2"]).alias("divergence_of_genre_top2"),
    )


# One list of a, b, one of a, d, which is not in the catalogue.
DOCUMENTS = pl.DataFrame(
    {
        "doc_id": ["a", "b", "c", "d", "e"],
        "in_catalogue": [True, True, True, False, True],
        "retrieved_top2": [2, 1, 0, 1, 0],
        "lists_top2": [2] * 5,
    }
)
