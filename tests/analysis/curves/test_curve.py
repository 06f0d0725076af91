"""What holds of every curve: slices, row order, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankframe as rf
from rankframe.analysis.curves import curve as curves
from rankframe.analysis.curves.curve import Curve, curve
from rankframe.io.batches import load
from rankframe.io.opening import open_table
from tests.support.curve_cases import CASE, INF, drawn, overlapping
from tests.support.oracles import Case, about, random_case
from tests.support.page_text import read_page

# Every kind and variant, for what holds of all of them.
KINDS = {
    "roc": {},
    "roc per query": {"per_query": True},
    "roc by distance": {"scores": "distance"},
    "roc vertical": {"average": "vertical"},
    "roc sliced": {"by": "half"},
    "roc vertical sliced": {"average": "vertical", "by": ["half", ("half", "third")]},
    "precision_recall": {},
    "precision_recall per query": {"per_query": True},
    "precision_recall of retrieved": {"recall_of": "retrieved", "by": "third"},
    "precision_recall interpolated": {"interpolated": True, "ci": "bootstrap", "by": "half"},
    "precision_recall interpolated per query": {"interpolated": True, "per_query": True},
    "metric_at_k": {"metric": "precision", "ks": [1, 3], "ci": "t"},
    "metric_at_k per query": {"per_query": True},
    "cumulative_gain": {"by": "third"},
    "cumulative_gain per query": {"per_query": True},
}


def kind_of(variant: str) -> Any:
    return variant.partition(" ")[0]


def attributes(case: Case) -> pl.DataFrame:
    queries = list(case.qrels)
    return pl.DataFrame({"query_id": queries}).with_columns(
        half=pl.Series([("one", "other")[at % 2] for at in range(len(queries))]),
        third=pl.Series([at % 3 for at in range(len(queries))]),
    )


def only(case: Case, queries: list[str]) -> Case:
    return Case(
        {query: case.qrels[query] for query in queries},
        {query: docs for query, docs in case.run.items() if query in queries},
    )


def of_slice(frame: pl.DataFrame, by: str, name: str) -> pl.DataFrame:
    return frame.filter(by=by, slice=name).drop("by", "slice")


@pytest.mark.parametrize("variant", [name for name, options in KINDS.items() if "by" in options])
def test_a_slice_is_the_curve_of_its_queries(variant: str) -> None:
    case, options = random_case(7), dict(KINDS[variant])
    known, by = attributes(case), options.pop("by")
    kind = kind_of(variant)
    sliced = drawn(case, kind, by=by, queries=known, **options)
    assert sliced.columns[:2] == ["by", "slice"]
    ways = [by] if isinstance(by, str) else by
    named = known.select(
        "query_id",
        *(
            pl.concat_str(way if isinstance(way, tuple) else [way], separator=" × ").alias(
                way if isinstance(way, str) else " × ".join(way)
            )
            for way in ways
        ),
    )
    found = []
    for way in named.columns[1:]:
        for name, queries in sorted(named.group_by(way).agg("query_id").rows()):
            found.append((way, name))
            expected = drawn(only(case, queries), kind, **options)
            assert of_slice(sliced, way, name).equals(expected)
    assert sliced.select("by", "slice").unique(maintain_order=True).rows() == found


def test_queries_without_attributes_are_a_slice_too() -> None:
    known = pl.DataFrame({"query_id": ["p"], "kind": ["text"]})
    sliced = drawn(CASE, "roc", by="kind", queries=known)
    assert of_slice(sliced, "kind", "(none)").equals(drawn(only(CASE, ["q"]), "roc"))
    assert of_slice(sliced, "kind", "text").equals(drawn(only(CASE, ["p"]), "roc"))


@pytest.mark.parametrize("known_kinds", [["text"], ["text", None]])
def test_slices_are_called_as_in_an_evaluation(known_kinds: list[str | None]) -> None:
    # q is absent; a query whose attributes are all null is in the same slice as it
    known = pl.DataFrame({"query_id": ["p", "z"][: len(known_kinds)], "kind": known_kinds,
                          "device": known_kinds})  # fmt: skip
    by: Any = [("kind", "device"), "kind"]
    evaluated = rf.evaluate(CASE.qrels, CASE.run, "map", by=by, queries=known).slices
    names = evaluated.select("by", "slice").rows()
    assert ("kind × device", "(none) × (none)") in names
    for kind in ("roc", "precision_recall", "metric_at_k"):
        sliced = drawn(CASE, kind, by=by, queries=known)
        assert sliced.select("by", "slice").unique(maintain_order=True).rows() == names


def test_a_slice_without_a_curve_has_no_rows() -> None:
    known = pl.DataFrame({"query_id": ["p", "q", "judged only"], "kind": ["a", "a", "b"]})
    assert drawn(CASE, "roc", by="kind", queries=known)["slice"].unique().to_list() == ["a"]
    both = drawn(CASE, "precision_recall", by="kind", queries=known)
    assert of_slice(both, "kind", "b").rows() == [(INF, 1, 0, 0, 0)]
    for average in ("pooled", "vertical"):
        some = drawn(CASE, "roc", by="kind", queries=known, average=average)
        none = drawn(CASE, "roc", by="kind", queries=known, average=average, rel=5)
        assert none.is_empty()
        assert none.schema == some.schema


@pytest.mark.parametrize("variant", KINDS)
def test_row_order_does_not_show(variant: str) -> None:
    case, options = random_case(8), KINDS[variant]
    case.run["q5"]["d0"], case.run["q6"]["d0"] = 0.0, -0.0
    known = attributes(case) if "by" in options else None
    kind: Any = kind_of(variant)
    qrels, run = load(open_table(case.qrels, "qrels")), load(open_table(case.run, "run"))
    once = curve(qrels, run, kind, queries=known, **options)
    assert not once.is_empty()
    for seed in range(3):
        qrels, run = (f.sample(fraction=1, shuffle=True, seed=seed) for f in (qrels, run))
        again = curve(qrels, run, kind, queries=known, **options)
        assert again.equals(once)
        assert str(again.to_dicts()) == str(once.to_dicts())  # 0.0 equals -0.0


def test_other_column_names() -> None:
    qrels = pl.DataFrame({"shopper": [7], "article": [1], "rating": [5]})
    run = pl.DataFrame({"shopper": [7, 7], "article": [1, 2], "score": [0.1, 0.2]})
    named = {"query_id": "shopper", "doc_id": "article"}
    assert curve(qrels, run, "roc", columns=named)["tp"].to_list() == [0, 0, 1]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("rocs", {}),
        ("roc", {"average": "mean"}),
        ("roc", {"scores": "distances"}),
        ("precision_recall", {"recall_of": "found"}),
        ("roc", {"ks": [1]}),
        ("roc", {"ks": np.arange(3)}),
        ("roc", {"metric": "map"}),
        ("roc", {"interpolated": True}),
        ("roc", {"recall_of": "retrieved"}),
        ("roc", {"ci": "t"}),
        ("precision_recall", {"ci": "t"}),
        ("precision_recall", {"average": "vertical"}),
        ("precision_recall", {"interpolated": True, "scores": "distance"}),
        ("precision_recall", {"interpolated": True, "recall_of": "retrieved"}),
        ("metric_at_k", {"scores": "distance"}),
        ("cumulative_gain", {"metric": "dcg"}),
        ("cumulative_gain", {"ci": "bootstrap"}),
        ("roc", {"average": "vertical", "per_query": True}),
        ("metric_at_k", {"ci": "t", "per_query": True}),
        ("metric_at_k", {"ci": "z"}),
        ("metric_at_k", {"ks": 10}),
        ("metric_at_k", {"ks": "10"}),
        ("metric_at_k", {"ks": []}),
        ("metric_at_k", {"ks": [1, 0]}),
        ("cumulative_gain", {"ks": [2.5]}),
        ("metric_at_k", {"ks": [3, 1, 3]}),
        ("metric_at_k", {"metric": "ndcg@10"}),
        ("metric_at_k", {"metric": "P_5,10"}),
        ("metric_at_k", {"metric": "iprec"}),
        ("metric_at_k", {"metric": "ndgc"}),
        ("metric_at_k", {"metric": pl.len().alias("n")}),
        ("metric_at_k", {"metric": "ndcg(average=weighted)"}),
        ("metric_at_k", {"metric": "overlap"}),
        ("roc", {"by": "kind"}),
        ("roc", {"queries": {"p": {}}}),
        ("roc", {"by": "kind", "per_query": True}),
        ("roc", {"missing": "error"}),
        ("metric_at_k", {"missing": "error"}),
        ("roc", {"ties": "up"}),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    kind: str, options: dict[str, Any], refusal: Callable[..., str]
) -> None:
    refusal(drawn, CASE, kind, **options)


def test_bad_input_is_refused(refusal: Callable[..., str]) -> None:
    refusal(curve, {"q": {"a": 1}}, {"q": {"x": 1.0}}, "roc")
    refusal(curve, {"p": {"a": 1}}, {"q": {"a": 1.0}}, "precision_recall")
    ranked = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "rank": [1]})
    refusal(curve, {"q": {"a": 1}}, ranked, "roc", scores="distance")
    twice = pl.concat([ranked, ranked])
    refusal(curve, {"q": {"a": 1}}, twice, "roc")


QRELS = {f"q{n}": {"a": 1, "b": 2} for n in range(12)}
RUN = {query: {"b": 3.0 + n, "x": 2.0, "a": 1.0 + n / 9} for n, query in enumerate(QRELS)}
KNOWN = pl.DataFrame({"query_id": list(QRELS), "kind": ["<b>", "y"] * 6})


@pytest.mark.parametrize(
    ("kind", "options", "lines"),
    [
        ("roc", {}, 1),
        ("roc", {"average": "vertical"}, 1),
        ("precision_recall", {}, 1),
        ("precision_recall", {"interpolated": True}, 1),
        ("metric_at_k", {"by": "kind", "queries": KNOWN}, 2),
        ("cumulative_gain", {}, 2),
        ("roc", {"per_query": True}, 0),
    ],
)
def test_every_kind_of_curve_is_drawn_unless_there_are_too_many(
    kind: Any, options: dict[str, Any], lines: int
) -> None:
    points = rf.curve(QRELS, RUN, kind, **options)
    assert isinstance(points, pl.DataFrame)
    html = points._repr_html_()
    assert html.count("<polyline") == lines
    assert "<b>" not in html
    assert points.filter(pl.lit(value=True)).equals(points)
    drawing = html.split("</svg>")[0] + "</svg>"
    if lines:
        read_page(drawing)


def corners(points: Curve) -> list[float]:
    """Return where the drawing of a curve begins and ends, across and down."""
    (line,) = re.findall(r'<polyline points="([^"]+)"', points._repr_html_())
    across, down = np.array([pair.split(",") for pair in line.split()], np.float64).T
    return [across.min(), across.max(), down.min(), down.max()]


def test_a_curve_over_cutoffs_fills_its_drawing() -> None:
    shares = Curve.from_points(pl.DataFrame({"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]}))
    cutoffs = Curve.from_points(pl.DataFrame({"k": [2, 3, 5], "value": [0.5, 0.3, 0.7]}))
    assert corners(cutoffs) == corners(shares)


def test_no_points_are_no_drawing() -> None:
    assert "<svg" not in Curve.from_points(pl.DataFrame({"fpr": [], "tpr": []}))._repr_html_()
    assert "<svg" not in Curve.from_points(pl.DataFrame({"x": [1]}))._repr_html_()
    level = Curve.from_points(pl.DataFrame({"k": [1, 2], "value": [0.5, 0.5]}))
    assert "<polyline" in level._repr_html_()


@pytest.mark.parametrize("options", [{}, {"missing": "skip", "rel": 2}, {"no_relevant": "skip"}])
def test_eleven_points(options: dict[str, Any]) -> None:
    case = random_case(4)
    points = drawn(case, "precision_recall", interpolated=True, **options)
    assert points.columns == ["recall", "precision", "ci_low", "ci_high", "queries"]
    assert points["recall"].to_list() == [tenths / 10 for tenths in range(11)]
    names = [f"iprec(recall={recall})" for recall in points["recall"]]
    summary = rf.evaluate(case.qrels, case.run, names, ci="t", **options).summary
    assert points["precision"].to_list() == summary["value"].to_list()
    whole = rf.evaluate(case.qrels, case.run, "eleven_point", ci=None, **options)
    assert points["precision"].mean() == about(whole["eleven_point"])
    assert points["ci_low"].null_count() == 11
    sure = drawn(case, "precision_recall", interpolated=True, ci="t", **options)
    assert sure.drop("recall").rows() == summary.drop("metric", "std").rows()

    each = drawn(case, "precision_recall", interpolated=True, per_query=True, **options)
    assert each.columns == ["query_id", "recall", "precision"]
    means = each.group_by("query_id", maintain_order=True).agg(pl.col("precision").mean())
    assert means["precision"].to_list() == about(whole.per_query["eleven_point"].to_list())
    assert means["query_id"].to_list() == whole.per_query["query_id"].to_list()


@pytest.mark.parametrize(
    ("metric", "at"),
    [
        ("ndcg", "ndcg@{}"),
        ("ndcg(gain=exp2)", "ndcg(gain=exp2)@{}"),
        ("P", "precision@{}"),
        ("recall-l2", "recall(rel=2)@{}"),
        ("map_cut", "map@{}"),
        ("precision(average=micro)", "precision(average=micro)@{}"),
    ],
)
def test_a_metric_at_k_is_that_metric(metric: str, at: str) -> None:
    case, ks = random_case(5), [1, 2, 5, 30]
    options: dict[str, Any] = {"ties": "doc_asc", "missing": "skip"}
    points = drawn(case, "metric_at_k", metric=metric, ks=reversed(ks), ci="bootstrap", **options)
    assert points.columns == ["k", "value", "ci_low", "ci_high", "queries"]
    assert points["k"].to_list() == ks
    each = drawn(case, "metric_at_k", metric=metric, ks=iter(ks), per_query=True, **options)
    assert each.columns == ["query_id", "k", "value"]
    for k in ks:
        one = rf.evaluate(case.qrels, case.run, at.format(k), **options)
        expected = one.summary.select("value", "ci_low", "ci_high", "queries").row(0)
        assert points.filter(k=k).drop("k").row(0) == expected
        assert each.filter(k=k).select("query_id", "value").rows() == one.per_query.rows()
    assert each["k"].to_list() == ks * (each.height // 4)


def test_cumulative_gain() -> None:
    case = random_case(6)
    points = drawn(case, "cumulative_gain")
    assert points.columns == ["k", "cg", "dcg", "ideal_dcg"]
    assert points["k"].to_list() == list(range(1, 21))
    each = drawn(case, "cumulative_gain", per_query=True)
    for name in ("cg", "dcg", "ideal_dcg"):
        at_k = rf.evaluate(case.qrels, case.run, f"{name}@{','.join(map(str, range(1, 21)))}")
        assert points[name].to_list() == at_k.summary["value"].to_list()
        for k in (1, 20):
            own = each.filter(k=k).select("query_id", name)
            assert own.rows() == at_k.per_query.select("query_id", f"{name}@{k}").rows()


@pytest.mark.parametrize("kind", ["metric_at_k", "cumulative_gain", "precision_recall"])
def test_all_cutoffs_are_evaluated_at_once(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counting(qrels: Any, run: Any, metrics: Any, **options: Any) -> rf.Result:
        asked.append(len(metrics))
        return evaluate(qrels, run, metrics, **options)

    evaluate = curves.evaluate
    monkeypatch.setattr(curves, "evaluate", counting)
    drawn(CASE, kind, interpolated=kind == "precision_recall")
    assert asked == [{"metric_at_k": 20, "cumulative_gain": 60, "precision_recall": 11}[kind]]


@given(overlapping(), st.integers(1, 5))
def test_the_last_k_of_recall_is_where_the_ranks_end(case: Case, k: int) -> None:
    points = drawn(case, "metric_at_k", metric="recall", ks=[k, 1000])
    assert points["value"].is_sorted()
    ends = drawn(case, "precision_recall", per_query=True).group_by("query_id")
    reached = ends.agg(pl.col("recall").last())["recall"].sum()
    assert points["value"][1] * len(case.qrels) == about(reached)
