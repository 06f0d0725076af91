"""A few sampled queries show what is not judged, and whether judgments are of the run's queries."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.frames.sample import Example, Sample

QUERIES, DOCUMENTS, DEPTH, JUDGED = 40, 400, 40, 16


def system(truth: np.ndarray, noise: float, seed: int) -> pl.DataFrame:
    scores = truth + noise * np.random.default_rng(seed).normal(size=truth.shape)
    best = np.argsort(-scores, axis=1)[:, :DEPTH]
    return pl.DataFrame(
        {
            "query_id": np.repeat([f"q{n}" for n in range(len(truth))], DEPTH),
            "doc_id": [f"d{number}" for number in best.ravel()],
            "score": np.take_along_axis(scores, best, axis=1).ravel(),
        }
    )


@pytest.fixture(scope="module")
def search() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judgments of the best documents, and a run that finds half of them."""
    truth = np.random.default_rng(1).normal(size=(QUERIES, DOCUMENTS))
    qrels = system(truth, 0.5, 2).group_by("query_id", maintain_order=True).head(JUDGED)
    grades = (pl.int_range(pl.len()) % JUDGED < JUDGED // 2).cast(pl.Int64)
    return qrels.select("query_id", "doc_id", relevance=grades), system(truth, 1.0, 3)


def exchanged(qrels: pl.DataFrame) -> pl.DataFrame:
    names = qrels["query_id"].unique(maintain_order=True)
    others = np.random.default_rng(4).permutation(names.to_numpy())
    return qrels.with_columns(pl.col("query_id").replace_strict(names, others))


def codes(found: rf.Result) -> list[str]:
    return [caveat.code for caveat in found.caveats]


def test_judgments_of_other_queries_are_noticed(search: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    qrels, run = search
    assert not rf.evaluate(qrels, run, "ndcg@10").caveats
    with pytest.warns(rf.RankframeWarning, match="Are the query ids right"):
        found = rf.evaluate(exchanged(qrels), run, "ndcg@10")
    assert "judgments_of_others" in codes(found)


def test_a_ranking_that_is_the_same_for_all_says_nothing_of_ids(
    search: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    qrels, run = search
    popular = run.head(DEPTH).drop("query_id").join(run.select("query_id").unique(), how="cross")
    assert "judgments_of_others" not in codes(rf.evaluate(exchanged(qrels), popular, "ndcg@10"))


def test_ids_of_another_form_are_shown(search: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    qrels, run = search
    prefixed = run.with_columns(
        doc_id=pl.when(pl.int_range(pl.len()) % 10 < 6)
        .then("shop:" + pl.col("doc_id"))
        .otherwise("doc_id")
    )
    found = rf.compare(qrels, {"a": run, "b": prefixed}, "ndcg@10", ci=None)
    (text,) = (caveat.text for caveat in found.caveats if caveat.code == "judged_differ")
    unjudged, judged = text.split("Documents without a judgment: ")[1].split("; with one: ")
    assert "'shop:d" in unjudged
    assert "shop:" not in judged
    assert "Documents without a judgment: 'shop:d" in str(
        rf.evaluate(
            qrels, run.with_columns(doc_id="shop:" + pl.col("doc_id")), no_overlap="zero"
        ).caveats
    )


def test_samples_of_parts_merge_to_the_sample_of_the_whole() -> None:
    rng = np.random.default_rng(5)
    pairs = rng.integers(0, 2**63, (100, 2)).astype(np.uint64)
    queries = np.unique(pairs[:, 0])
    lowest = pairs[pairs[:, 0] <= queries[31]]
    whole = Sample(queries[:32], lowest, lowest)
    parts = [Sample(np.sort(p[:, 0])[:32], p, p) for p in (pairs[:30], pairs[30:], pairs[:0])]
    assert parts[0].merge(parts[1]).merge(parts[2]) == whole
    assert parts[1].merge(parts[2].merge(parts[0])) == whole
    assert whole != parts[0]


def test_a_merged_sample_has_examples_of_its_own_queries_only() -> None:
    """A part samples 32 queries of its own; most of them are not in the sample of the whole."""
    none = np.empty((0, 2), np.uint64)
    low, high = (np.arange(first, first + 32, dtype=np.uint64) for first in (0, 100))
    last = Sample(high, none, none, (Example(100, "u", "j"),))
    assert Sample(low, none, none).merge(last).examples == ()
    first = Sample(low, none, none, (Example(31, "u", "j"),))
    assert first.merge(last).examples == last.merge(first).examples == first.examples
