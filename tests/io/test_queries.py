"""Slices of queries: the same numbers as of those queries alone, and nothing dropped unsaid."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.core.options import Intervals, Policies
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.finish import evaluate_inputs
from rankframe.io.opening import open_table
from rankframe.io.queries import read_attributes, slicings
from rankframe.metrics.names import resolve
from tests.support.oracles import random_case

CASE = random_case(21, queries=60)
QUERIES = list(CASE.qrels)
WEIGHTED = "ndcg(average=weighted)@5"
METRICS = ["ndcg@10", "lag", "gm_map", "num_retrieved", "recall(average=micro)@5", WEIGHTED]


def attributes(seed: int = 1) -> pl.DataFrame:
    """Three attributes, in no order, the first with nulls; and weights."""
    rng = np.random.default_rng(seed)
    count = len(QUERIES)
    locale = rng.choice(np.array(["de", "en", "fr", None], object), count)
    return pl.DataFrame(
        {
            "query_id": QUERIES,
            "locale": locale.tolist(),
            "device": rng.choice(["phone", "desk"], count),
            "head": rng.random(count) < 0.3,
            "w": rng.integers(1, 9, count),
        },
        schema_overrides={"locale": pl.String},
    ).sample(fraction=1, shuffle=True, seed=seed)


def sliced(by: Any, queries: Any = None, metrics: Any = "ndcg@10", **options: Any) -> pl.DataFrame:
    return evaluated(by, queries, metrics, **options).slices


def evaluated(by: Any, queries: Any = None, metrics: Any = "ndcg@10", **options: Any) -> rf.Result:
    known = attributes() if queries is None else queries
    options = {"replicates": 100, "queries": known, "by": by} | options
    return rf.evaluate(CASE.qrels, CASE.run, metrics, **options)


def names(slices: pl.DataFrame) -> list[str]:
    return slices["slice"].unique(maintain_order=True).to_list()


@pytest.mark.parametrize("method", ["bootstrap", "t", None])
@pytest.mark.parametrize("by", ["locale", ("device", "head"), ("locale", "device")], ids=str)
def test_a_slice_is_what_its_queries_alone_give(by: Any, method: Any) -> None:
    known = attributes()
    way = [by] if isinstance(by, str) else list(by)
    found = sliced([by], metrics=METRICS, weight="w", ci=method)
    text = known.select("query_id", *(pl.col(n).cast(pl.String).fill_null("(none)") for n in way))
    parts = {
        " × ".join(key): part["query_id"].to_list()  # pyright: ignore[reportArgumentType]
        for key, part in text.partition_by(way, as_dict=True).items()
    }
    assert names(found) == sorted(
        parts, key=lambda name: [(part == "(none)", part) for part in name.split(" × ")]
    )
    assert found["by"].unique().to_list() == [" × ".join(way)]
    for name, queries in parts.items():
        alone = rf.evaluate(
            {q: CASE.qrels[q] for q in queries},
            CASE.run,
            METRICS,
            queries=known,
            weight="w",
            ci=method,
            replicates=100,
        ).summary
        here = found.filter(pl.col("slice") == name).drop("by", "slice", "small")
        assert here.equals(alone), name


def test_all_queries_are_summarised_as_without_slices() -> None:
    plain = rf.evaluate(CASE.qrels, CASE.run, "ndcg@10", replicates=100)
    assert evaluated("locale").summary.equals(plain.summary)
    assert plain.slices.is_empty()
    assert plain.slices.columns == sliced("locale").columns


def test_several_ways_of_slicing_come_one_after_another() -> None:
    both = sliced(["device", ("locale", "device"), "locale"])
    assert both["by"].unique(maintain_order=True).to_list() == [
        "device", "locale × device", "locale",
    ]  # fmt: skip
    for by in ("device", "locale"):
        assert both.filter(pl.col("by") == by).equals(sliced(by))
    for part in both.partition_by("by"):
        assert part["queries"].sum() == len(QUERIES)


def test_queries_without_a_value_are_a_slice() -> None:
    known = attributes()
    nulls = known.filter(pl.col("locale").is_null())
    found = sliced("locale", known)
    assert names(found) == ["de", "en", "fr", "(none)"]
    assert found["queries"][-1] == nulls.height


def test_queries_that_the_frame_lacks_are_counted_and_a_slice() -> None:
    known = attributes().filter(pl.col("locale").is_not_null())
    result = evaluated("locale", known)
    absent = len(QUERIES) - known.height
    assert absent > 1
    assert result.count("queries_without_attributes") == absent
    assert names(result.slices) == ["de", "en", "fr", "(none)"]
    assert result.slices["queries"][-1] == absent
    # together with those whose value is null
    some = attributes().filter(pl.col("locale").is_not_null() | pl.col("head"))
    result = evaluated("locale", some)
    assert result.slices.filter(pl.col("slice") == "(none)")["queries"].to_list() == [absent]
    assert result.count("queries_without_attributes") == len(QUERIES) - some.height
    with pytest.raises(KeyError):
        evaluated("locale").count("queries_without_attributes")


def test_attributes_of_queries_that_are_not_evaluated_do_not_show() -> None:
    more = pl.DataFrame({"query_id": ["elsewhere"], "locale": ["xx"]})
    known = attributes().select("query_id", "locale")
    assert sliced("locale", pl.concat([known, more])).equals(sliced("locale", known))


def test_slices_of_few_queries_are_marked() -> None:
    known = pl.DataFrame({"query_id": QUERIES, "a": ["x"] * 29 + ["y"] * (len(QUERIES) - 29)})
    assert sliced("a", known).select("slice", "queries", "small").rows() == [
        ("x", 29, True), ("y", len(QUERIES) - 29, False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([10, 2, None], ["2", "10", "(none)"]),
        ([date(2024, 1, 2), date(2023, 12, 31), None], ["2023-12-31", "2024-01-02", "(none)"]),
        ([True, False, None], ["false", "true", "(none)"]),
        ([1.5, -2.0, 1.5], ["-2.0", "1.5"]),
        (["ü", "", " "], ["", " ", "ü"]),
    ],
    ids=["whole numbers", "dates", "booleans", "numbers", "odd text"],
)
def test_attributes_of_any_plain_type(values: list, expected: list[str]) -> None:
    column = [values[i % 3] for i in range(len(QUERIES))]
    assert names(sliced("a", pl.DataFrame({"query_id": QUERIES, "a": column}))) == expected


@pytest.mark.parametrize(
    "values",
    [
        {"x": ["a × b", "a"], "y": ["c", "b × c"]},
        {"x": [None, "(none)"]},
    ],
)
def test_slices_of_the_same_name_are_refused(values: Any, refusal) -> None:
    known = pl.DataFrame({name: (of * len(QUERIES))[: len(QUERIES)] for name, of in values.items()})
    known = known.with_columns(query_id=pl.Series(QUERIES))
    refusal(sliced, tuple(values), known)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(pl.Categorical(), ["a", "z", "(none)"]), (pl.Enum(["z", "a"]), ["z", "a", "(none)"])],
    ids=str,
)
def test_categories_are_their_names(kind: Any, expected: list[str]) -> None:
    column = pl.Series("a", ["z", "a", None] * (len(QUERIES) // 3 + 1), kind)[: len(QUERIES)]
    found = sliced("a", pl.DataFrame({"query_id": QUERIES, "a": column}))
    assert names(found) == expected


def test_attributes_come_from_files_too(tmp_path: Path) -> None:
    expected = sliced(["locale", "head"])
    known = attributes().rename({"query_id": "qid"})
    known.write_parquet(tmp_path / "known.parquet")
    known.write_csv(tmp_path / "known.csv")
    for name in ("known.parquet", "known.csv"):
        assert sliced(["locale", "head"], tmp_path / name).equals(expected), name


def test_a_result_keeps_its_slices(tmp_path: Path) -> None:
    result = evaluated(["locale", ("locale", "head")])
    result.write(tmp_path / "written")
    evaluated(["locale", ("locale", "head")], output=tmp_path / "put out")
    for folder in ("written", "put out"):
        assert rf.Result.read(tmp_path / folder).slices.equals(result.slices)
    plain = rf.evaluate(CASE.qrels, CASE.run, "map", replicates=100)
    plain.write(tmp_path / "plain")
    assert rf.Result.read(tmp_path / "plain").slices.equals(plain.slices)


@pytest.mark.parametrize("method", ["bootstrap", "t"])
@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_slices_are_the_same_in_pieces(pieces: int, method: Any) -> None:
    by, known = ["locale", ("device", "head")], attributes().head(len(QUERIES) - 5)
    metrics = [m for m in METRICS if m != WEIGHTED]
    whole = evaluated(by, known, metrics, ci=method)
    evaluation = prepare_evaluation(
        resolve(metrics),
        Policies(),
        attributes=read_attributes(known, by=by),
        intervals=Intervals(method, replicates=100),
    )
    sides = open_table(CASE.qrels, "qrels"), open_table(CASE.run, "run")
    found = evaluate_inputs(evaluation, *sides, partitions=pieces)
    for name in ("slices", "summary", "ledger", "per_query"):
        assert getattr(found, name).equals(getattr(whole, name)), name


def test_ways_of_slicing() -> None:
    assert slicings(None) == []
    assert slicings("a") == [("a",)]
    assert slicings(["a", ("a", "b"), ["b", "a"]]) == [("a",), ("a", "b"), ("b", "a")]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "by",
    [
        "local",
        [("locale", "devices")],
        ["locale", "locale"],
        [("head", "head")],
        [("head", "w"), ["head", "w"]],
        [()],
        [""],
        [("head", 3)],
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_sliced_by_is_refused(by: Any, refusal) -> None:
    known = attributes()
    refusal(rf.evaluate, CASE.qrels, CASE.run, "map", queries=known, by=by)


def test_too_many_slices_are_refused(refusal) -> None:
    known = pl.DataFrame({"query_id": range(1_001), "a": range(1_001), "b": [0] * 1_001})
    call = (rf.evaluate, CASE.qrels, CASE.run, "map")
    refusal(*call, queries=known, by="a")
    refusal(*call, queries=known, by=["b", ("b", "a")])
    known = known.with_columns(query_id=pl.Series([QUERIES[0], *map(str, range(1_000))]))
    most = evaluated("a", known.head(1_000))
    assert names(most.slices) == ["0", "(none)"]  # no other query was judged


def test_a_frame_of_other_queries_is_refused(refusal) -> None:
    known = attributes().with_columns(pl.col("query_id").str.to_uppercase() + "?")
    both = CASE.qrels, CASE.run
    refusal(rf.evaluate, *both, "map", queries=known, by="locale")
    refusal(rf.curve, *both, "roc", queries=known, by="locale")
    two = {"a": CASE.run, "b": CASE.run}
    refusal(rf.compare, CASE.qrels, two, "map", queries=known, by="locale")
    before = rf.evaluate(*both, "map")
    rule = "map: no worse than -1% per locale"
    refusal(rf.gate, *both, before, rule, queries=known)
    verdict = rf.gate(*both, before, rule, queries=attributes().head(40))
    assert f"{len(QUERIES) - 40} not in the frame of queries" in verdict.headline


@pytest.mark.parametrize(
    "values",
    [[[1], [2]], [{"x": 1}, {"x": 2}]],
)
def test_nested_attributes_are_refused(values: list, refusal) -> None:
    known = pl.DataFrame({"query_id": ["q1", "q2"], "a": values})
    refusal(rf.evaluate, CASE.qrels, CASE.run, "map", queries=known, by="a")


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_query_twice_is_refused(weight: str | None, refusal) -> None:
    known = pl.DataFrame({"query_id": ["q1", "q2", "q1"], "a": ["x", "y", "x"], "w": [1, 1, 1]})
    refusal(
        rf.evaluate,
        CASE.qrels,
        CASE.run,
        WEIGHTED if weight else "map",
        queries=known,
        by="a",
        weight=weight,
    )


@pytest.mark.parametrize(
    "ids",
    [["q1", None], ["q1", ""], []],
)
def test_rows_without_a_query_are_refused(ids: list, refusal) -> None:
    known = pl.DataFrame({"query_id": ids, "a": ["x"] * len(ids)}, schema_overrides={
        "query_id": pl.String, "a": pl.String})  # fmt: skip
    refusal(rf.evaluate, CASE.qrels, CASE.run, "map", queries=known, by="a")


@pytest.mark.parametrize(
    "options",
    [
        {"by": "locale"},
        {"weight": "w"},
        {"queries": attributes()},
        {"queries": attributes(), "weight": "W2", "metrics": WEIGHTED},
        {"queries": attributes(), "by": "locale", "metrics": WEIGHTED},
        {"queries": attributes(), "weight": "locale"},
    ],
    ids=["by", "weight", "queries", "unknown weight", "weighted", "text"],
)  # fmt: skip
def test_options_that_need_each_other(options: dict, refusal) -> None:
    given = {"qrels": CASE.qrels, "run": CASE.run, "metrics": "map", **options}
    refusal(rf.evaluate, **given)


def test_weights_and_slices_go_together() -> None:
    known = attributes()
    found = sliced("device", known, [WEIGHTED, "ndcg@5"], weight="w", ci=None)
    values = rf.evaluate(CASE.qrels, CASE.run, "ndcg@5", ci=None).per_query.join(
        known, on="query_id"
    )
    for device in ("desk", "phone"):
        some = values.filter(pl.col("device") == device)
        weighted, plain = found.filter(pl.col("slice") == device)["value"]
        assert weighted == pytest.approx(np.average(some["ndcg@5"], weights=some["w"]), abs=1e-12)
        assert plain == pytest.approx(some["ndcg@5"].mean(), abs=1e-12)


@pytest.mark.parametrize("bad", [None, -1.0, float("nan"), float("inf")])
def test_a_query_without_a_proper_weight_is_refused_with_slices_too(bad: Any, refusal) -> None:
    known = attributes().with_columns(
        w=pl.when(pl.col("query_id") == "q7").then(pl.lit(bad)).otherwise(pl.col("w"))
    )
    refusal(rf.evaluate, CASE.qrels, CASE.run, WEIGHTED, queries=known, by="head",
                   weight="w")  # fmt: skip


def test_minus_zero_is_zero_as_a_slice_too() -> None:
    queries = pl.DataFrame({"query_id": ["a", "b", "c"], "x": [0.0, -0.0, 2.5]})
    run = {query: {"d": 1.0} for query in "abc"}
    qrels = {query: {"d": 1} for query in "abc"}
    slices = rf.evaluate(qrels, run, "map", queries=queries, by="x").slices
    assert slices.select("slice", "queries").rows() == [("0.0", 2), ("2.5", 1)]


@pytest.mark.parametrize("by", [[5], [("a", 5)], [None], 5, [b"x"]], ids=str)
def test_attributes_are_named_by_text(by: Any, refusal) -> None:
    queries = pl.DataFrame({"query_id": ["q"], "x": [1]})
    refusal(rf.evaluate, {"q": {"d": 1}}, {"q": {"d": 1.0}}, "map", queries=queries, by=by)


def test_weights_that_would_overflow_are_refused(refusal) -> None:
    queries = pl.DataFrame({"query_id": ["q"], "w": [1e308]})
    refusal(
        rf.evaluate, {"q": {"d": 1}}, {"q": {"d": 1.0}}, "map(average=weighted)",
        queries=queries, weight="w",
    )  # fmt: skip
