"""ROC and precision–recall points: by hand, against scikit-learn, by definition."""

from __future__ import annotations

from fractions import Fraction
from statistics import fmean
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from sklearn.metrics import precision_recall_curve, roc_curve

import rankframe as rf
from rankframe.analysis.curves import score_points
from rankframe.analysis.curves.area import area_under
from rankframe.analysis.curves.curve import curve
from tests.support.curve_cases import CASE, INF, drawn, overlapping
from tests.support.oracles import Case, Table, about, one_list, random_case

ROC = ["threshold", "fpr", "tpr", "fp", "tp"]
PR = ["threshold", "precision", "recall", "tp", "fp"]


def labels(case: Case, query: str, rel: float = 0.5) -> tuple[list[bool], list[float]]:
    """Relevance and score of each document retrieved for a query."""
    docs = case.run.get(query, {})
    return [case.qrels[query].get(doc, 0) >= rel for doc in docs], list(docs.values())


def pooled(case: Case, rel: float = 0.5) -> tuple[list[bool], list[float]]:
    both = [labels(case, query, rel) for query in case.qrels]
    return [x for good, _ in both for x in good], [x for _, scores in both for x in scores]


def test_roc_by_hand() -> None:
    assert drawn(CASE, "roc").rows() == [
        (INF, 0, 0, 0, 0),
        (0.9, 0, 1 / 2, 0, 1),
        (0.7, 1 / 3, 1 / 2, 1, 1),
        (0.5, 2 / 3, 1, 2, 2),
        (0.4, 1, 1, 3, 2),
    ]


def test_precision_recall_by_hand() -> None:
    assert drawn(CASE, "precision_recall").rows() == [
        (INF, 1, 0, 0, 0),
        (0.9, 1, 1 / 4, 1, 0),
        (0.7, 1 / 2, 1 / 4, 1, 1),
        (0.5, 2 / 4, 2 / 4, 2, 2),
        (0.4, 2 / 5, 2 / 4, 2, 3),
    ]
    retrieved = drawn(CASE, "precision_recall", recall_of="retrieved")
    assert retrieved["recall"].to_list() == [0, 1 / 2, 1 / 2, 1, 1]
    per_query = drawn(CASE, "precision_recall", per_query=True)
    assert per_query.rows() == [
        ("judged only", INF, 1, 0, 0, 0),
        ("p", INF, 1, 0, 0, 0),
        ("p", 0.9, 1, 1 / 2, 1, 0),
        ("p", 0.5, 1 / 2, 1 / 2, 1, 1),
        ("p", 0.4, 1 / 3, 1 / 2, 1, 2),
        ("q", INF, 1, 0, 0, 0),
        ("q", 0.7, 0, 0, 0, 1),
        ("q", 0.5, 1 / 2, 1, 1, 1),
    ]


def test_a_score_that_queries_share_is_one_point_of_each() -> None:
    case = Case({"p": {"a": 1}, "q": {"a": 1}}, {q: {"a": 1.0, "x": 1.0} for q in "pq"})
    assert drawn(case, "roc").rows() == [(INF, 0, 0, 0, 0), (1, 1, 1, 2, 2)]
    assert drawn(case, "roc", per_query=True).rows() == [
        (query, *point) for query in "pq" for point in [(INF, 0, 0, 0, 0), (1, 1, 1, 1, 1)]
    ]


def test_policies_say_which_queries_count() -> None:
    def found(**options: Any) -> list[float]:
        return drawn(CASE, "precision_recall", **options)["recall"].to_list()

    assert found(missing="skip") == [0, 1 / 3, 1 / 3, 2 / 3, 2 / 3]
    assert found(rel=2) == [0, 0, 0, 0, 0]
    assert found(rel=2, no_relevant="skip") == [0, 0, 0, 0]
    assert drawn(CASE, "roc", rel=2).is_empty()
    with_none = Case({**CASE.qrels, "none": {"a": 0}}, {**CASE.run, "none": {"a": 0.6}})
    assert drawn(with_none, "roc")["fp"].to_list() == [0, 0, 1, 2, 3, 4]
    assert drawn(with_none, "roc", no_relevant="skip").equals(drawn(CASE, "roc"))


@pytest.mark.parametrize("rel", [None, 2])
@pytest.mark.parametrize("seed", range(5))
def test_scikit_learn_draws_the_same(seed: int, rel: float | None) -> None:
    case = random_case(seed)
    good, scores = pooled(case, rel or 0.5)
    points = drawn(case, "roc", rel=rel)
    assert points.columns == ROC
    fpr, tpr, threshold = roc_curve(good, scores, drop_intermediate=False)
    assert points["threshold"].to_list() == threshold.tolist()
    assert points["fpr"].to_list() == about(fpr.tolist())
    assert points["tpr"].to_list() == about(tpr.tolist())

    points = drawn(case, "precision_recall", recall_of="retrieved", rel=rel)
    assert points.columns == PR
    precision, recall, threshold = precision_recall_curve(good, scores, drop_intermediate=False)
    assert points["threshold"].to_list() == [INF, *threshold[::-1].tolist()]
    assert points["precision"].to_list() == about(precision[::-1].tolist())
    assert points["recall"].to_list() == about(recall[::-1].tolist())


@pytest.mark.parametrize("seed", range(3))
def test_scikit_learn_draws_the_same_for_each_query(seed: int) -> None:
    case = random_case(seed, queries=60)
    roc_points = drawn(case, "roc", per_query=True)
    pr_points = drawn(case, "precision_recall", per_query=True, recall_of="retrieved")
    assert roc_points.columns == ["query_id", *ROC]
    assert pr_points.columns == ["query_id", *PR]
    with_roc, with_pr = [], []
    for query in sorted(case.qrels, key=str.encode):
        good, scores = labels(case, query)
        if any(good) and not all(good):
            with_roc.append(query)
            own = roc_points.filter(query_id=query)
            fpr, tpr, threshold = roc_curve(good, scores, drop_intermediate=False)
            assert own["threshold"].to_list() == threshold.tolist()
            assert own["fpr"].to_list() == about(fpr.tolist())
            assert own["tpr"].to_list() == about(tpr.tolist())
        if any(good):
            with_pr.append(query)
            own = pr_points.filter(query_id=query)
            precision, recall, _ = precision_recall_curve(good, scores)
            assert own["precision"].to_list() == about(precision[::-1].tolist())
            assert own["recall"].to_list() == about(recall[::-1].tolist())
    assert roc_points["query_id"].unique(maintain_order=True).to_list() == with_roc
    assert pr_points["query_id"].unique(maintain_order=True).to_list() == with_pr
    assert 0 < len(with_roc) < len(case.qrels)


def plain_points(good: list[bool], scores: list[float]) -> list[tuple[float, int, int]]:
    """Threshold, false and true positives."""
    taken = [(t, [g for g, s in zip(good, scores, strict=True) if s >= t]) for t in set(scores)]
    points = [(t, some.count(False), some.count(True)) for t, some in taken]
    return [(INF, 0, 0), *sorted(points, reverse=True)]


@given(overlapping())
def test_any_case_by_definition(case: Case) -> None:
    good, scores = pooled(case)
    points = drawn(case, "roc")
    if any(good) and not all(good):
        assert points.select("threshold", "fp", "tp").rows() == plain_points(good, scores)
        assert points.select(pl.col("fpr", "tpr").last()).row(0) == (1, 1)
    else:
        assert points.is_empty()
    total = sum(grade > 0 for docs in case.qrels.values() for grade in docs.values())
    points = drawn(case, "precision_recall")
    expected = plain_points(good, scores) if total else []
    assert points.select("threshold", "fp", "tp").rows() == expected
    assert points["recall"].to_list() == [tp / total for *_, tp in expected]
    assert points["precision"].to_list() == [
        tp / (tp + fp) if tp + fp else 1 for _, fp, tp in expected
    ]


CUTS = [{"k_max": 1}, {"k_max": 5}, {"judged_only": True}, {"k_max": 7, "judged_only": True}]


@pytest.mark.parametrize("policies", CUTS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_what_the_list_is_cut_to_is_what_the_curve_is_of(
    seed: int, policies: dict[str, Any]
) -> None:
    case = random_case(seed)
    left = case.cut(**policies)
    assert left.run != case.run
    good, scores = pooled(left)
    expected = plain_points(good, scores)
    points = drawn(case, "roc", **policies)
    assert points.select("threshold", "fp", "tp").rows() == expected
    assert points["fpr"].to_list() == [fp / good.count(False) for _, fp, _ in expected]
    assert points["tpr"].to_list() == [tp / good.count(True) for *_, tp in expected]
    # recall is of all relevant documents, whatever was cut off
    total = sum(grade > 0 for docs in case.qrels.values() for grade in docs.values())
    points = drawn(case, "precision_recall", **policies)
    assert points.select("threshold", "fp", "tp").rows() == expected
    assert points["recall"].to_list() == [tp / total for *_, tp in expected]
    own = drawn(case, "precision_recall", per_query=True, **policies)
    for query, docs in case.qrels.items():
        relevant = sum(grade > 0 for grade in docs.values())
        of = plain_points(*labels(left, query)) if relevant else []
        mine = own.filter(query_id=query)
        assert mine.select("threshold", "fp", "tp").rows() == of
        assert mine["recall"].to_list() == [tp / relevant for *_, tp in of]


def test_the_nearest_are_the_top_of_distances() -> None:
    case = random_case(1, tied=False)
    far = Case(case.qrels, {q: {d: -s for d, s in docs.items()} for q, docs in case.run.items()})
    points = drawn(far, "roc", scores="distance", k_max=3)
    assert points.with_columns(-pl.col("threshold")).equals(drawn(case, "roc", k_max=3))


def test_at_the_cut_equal_scores_are_placed_by_the_rule() -> None:
    case = Case({"q": {"a": 1, "b": 0}}, {"q": {"b": 1.0, "a": 1.0, "x": 0.5}})
    for ties, tp in (("doc_desc", 0), ("doc_asc", 1)):
        points = drawn(case, "precision_recall", k_max=1, ties=ties)
        assert points.select("threshold", "tp", "fp").rows() == [(INF, 0, 0), (1.0, tp, 1 - tp)]


def test_without_scores_the_threshold_is_the_rank_in_the_list_as_it_is_cut() -> None:
    ordered = pl.DataFrame({"query_id": list("qqqq"), "doc_id": list("xaby")})
    points = curve({"q": {"a": 1, "b": 0}}, ordered, "roc", judged_only=True, order="rows")
    assert points.rows() == [(-INF, 0, 0, 0, 0), (1, 0, 1, 0, 1), (2, 1, 1, 1, 1)]
    cut = curve({"q": {"a": 1, "b": 0}}, ordered, "roc", k_max=2, order="rows")
    assert cut.rows() == [(-INF, 0, 0, 0, 0), (1, 1, 0, 1, 0), (2, 1, 1, 1, 1)]


@pytest.mark.parametrize("kind", ["roc", "precision_recall"])
def test_a_query_whose_documents_were_all_cut_is_not_missing(kind: str) -> None:
    case = Case({"p": {"a": 1}, "q": {"b": 1}}, {"p": {"a": 1.0, "y": 0.5}, "q": {"x": 2.0}})
    points = drawn(case, kind, judged_only=True, missing="error")
    assert points.equals(drawn(case, kind, judged_only=True))
    if kind == "precision_recall":
        assert points["recall"].to_list() == [0, 1 / 2]


def test_a_run_without_a_judged_document_is_refused_or_takes_none(refusal) -> None:
    case = Case({"q": {"a": 1, "b": 1}}, {"q": {"x": 2.0, "y": 1.0}})
    for kind in ("roc", "precision_recall"):
        refusal(drawn, case, kind)
    assert drawn(case, "roc", no_overlap="zero").is_empty()
    assert drawn(case, "precision_recall", no_overlap="zero").rows() == [
        (INF, 1, 0, 0, 0), (2.0, 0, 0, 0, 1), (1.0, 0, 0, 0, 2),
    ]  # fmt: skip
    # what is cut off is no mistake of keys
    shared = Case(case.qrels, {"q": {"x": 2.0, "a": 1.0}})
    assert drawn(shared, "precision_recall", k_max=1)["tp"].to_list() == [0, 0]


def plain_vertical(case: Case) -> tuple[list[float], int]:
    """Mean tpr at each hundredth of fpr: by fractions, one query and step at a time."""
    curves = []
    for query in case.qrels:
        good, scores = labels(case, query)
        if any(good) and not all(good):
            points = plain_points(good, scores)
            _, all_fp, all_tp = points[-1]
            curves.append([(Fraction(fp, all_fp), Fraction(tp, all_tp)) for _, fp, tp in points])

    def height(points: list[tuple[Fraction, Fraction]], x: Fraction) -> Fraction:
        x0, y0 = max(point for point in points if point[0] <= x)
        if x0 == x:
            return y0
        x1, y1 = min(point for point in points if point[0] > x)
        return y0 + (y1 - y0) * (x - x0) / (x1 - x0)

    steps = [Fraction(step, 100) for step in range(101)] if curves else []
    means = [float(sum(height(points, x) for points in curves) / len(curves)) for x in steps]
    return means, len(curves)


@pytest.mark.parametrize("at_once", [1 << 14, 7])
@pytest.mark.parametrize("seed", range(2))
def test_vertical_averages(seed: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_points, "_AT_ONCE", at_once)
    case = random_case(seed)
    points = drawn(case, "roc", average="vertical")
    assert points.columns == ["fpr", "tpr", "queries"]
    means, queries = plain_vertical(case)
    assert points["fpr"].to_list() == [step / 100 for step in range(101)]
    assert points["tpr"].to_list() == about(means)
    assert set(points["queries"]) == {queries}


@given(overlapping())
def test_vertical_averages_of_any_case(case: Case) -> None:
    assert drawn(case, "roc", average="vertical")["tpr"].to_list() == about(plain_vertical(case)[0])


def test_a_step_that_falls_on_a_point_is_at_its_upper_end() -> None:
    # fpr 0.29 is 29 of 100 others; 0.29 * 100 is less than 29
    case = one_list([*[0] * 29, 1, *[0] * 71])
    points = drawn(case, "roc", average="vertical")
    assert points["tpr"].to_list() == [0.0] * 29 + [1.0] * 72


@pytest.mark.parametrize(
    ("kind", "options"),
    [("roc", {}), ("roc", {"per_query": True}), ("precision_recall", {})],
    ids=str,
)
def test_distances_are_mirrored_similarities(kind: str, options: dict[str, Any]) -> None:
    case = random_case(1)
    far = Case(case.qrels, {q: {d: -s for d, s in docs.items()} for q, docs in case.run.items()})
    points = drawn(far, kind, scores="distance", **options)
    assert points.with_columns(-pl.col("threshold")).equals(drawn(case, kind, **options))
    one = points.filter(query_id="q9") if options else points
    assert one["threshold"].is_sorted()
    assert one["threshold"][0] == -INF


def test_of_duplicates_the_nearest_is_kept() -> None:
    run = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["a", "x", "a"], "score": [0.9, 0.5, 0.1]})
    options: dict[str, Any] = {"duplicates": "keep_best"}
    assert curve({"q": {"a": 1}}, run, "roc", **options)["threshold"].to_list() == [INF, 0.9, 0.5]
    near = curve({"q": {"a": 1}}, run, "roc", scores="distance", **options)
    assert near.rows() == [(-INF, 0, 0, 0, 0), (0.1, 0, 1, 0, 1), (0.5, 1, 1, 1, 1)]


def test_a_column_of_distances_is_known_as_such() -> None:
    qrels = {"q": {"b": 1}}
    far = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": list("abc"), "sim": [0.5, 0.1, 0.1]})
    expected = curve(qrels, far, "roc", scores="distance")
    near = far.rename({"sim": "distance"})
    assert expected["threshold"].to_list() == [-INF, 0.1, 0.5]
    assert curve(qrels, near, "roc").equals(expected)
    assert curve(qrels, near, "roc", scores="distance").equals(expected)


def test_without_scores_the_threshold_is_a_rank() -> None:
    qrels = {"p": {"a": 1}, "q": {"b": 1}}
    ordered = pl.DataFrame({"query_id": list("ppqqq"), "doc_id": list("axyzb")})
    expected = [(-INF, 0, 0, 0, 0), (1, 1 / 3, 1 / 2, 1, 1), (2, 1, 1 / 2, 3, 1), (3, 1, 1, 3, 2)]
    assert curve(qrels, ordered, "roc", order="rows").rows() == expected
    ranked = ordered.with_columns(rank=pl.Series([1, 2, 1, 2, 3])).sample(5, shuffle=True, seed=1)
    assert curve(qrels, ranked, "roc").rows() == expected
    tied = ranked.with_columns(rank=pl.lit(1))
    assert curve(qrels, tied, "roc")["threshold"].to_list() == [-INF, 1]


def test_areas_are_the_metrics() -> None:
    for seed in range(5):
        case = random_case(seed)
        values = rf.evaluate(case.qrels, case.run, ["auc(pool=true)", "auc"], ci=None)
        assert area_under(drawn(case, "roc")) == about(values["auc(pool=true)"])
        each = drawn(case, "roc", per_query=True).partition_by("query_id")
        areas = {own["query_id"][0]: area_under(own) for own in each}
        known = values.per_query.drop_nulls("auc").select("query_id", "auc").rows()
        assert areas == about(dict(known))
        assert fmean(areas.values()) == about(values["auc"])


def test_the_area_of_a_query_without_ties_is_its_average_precision() -> None:
    case = random_case(2, tied=False)
    each = drawn(case, "precision_recall", per_query=True).partition_by("query_id")
    values = case.values("map")
    assert {own["query_id"][0]: area_under(own) for own in each} == about(
        {query: row["map"] for query, row in values.items()}
    )


ODD: dict[str, tuple[Table, Table]] = {
    "nothing relevant": ({"q": {"a": 0}}, {"q": {"a": 1.0, "b": 2.0}}),
    "all relevant": ({"q": {"a": 1, "b": 1}}, {"q": {"a": 1.0, "b": 2.0}}),
    "a single row": ({"q": {"a": 1}}, {"q": {"a": 1.0}}),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("options", [{}, {"per_query": True}, {"average": "vertical"}], ids=str)
def test_no_roc_curve_without_both(odd: str, options: dict[str, Any]) -> None:
    points = curve(*ODD[odd], "roc", **options)
    assert points.is_empty()
    assert points.schema == drawn(CASE, "roc", **options).schema


def test_odd_precision_recall_curves() -> None:
    nothing, everything, single = (curve(*ODD[odd], "precision_recall") for odd in ODD)
    assert nothing.is_empty()
    assert nothing.schema == single.schema
    assert everything.rows() == [(INF, 1, 0, 0, 0), (2, 1, 1 / 2, 1, 0), (1, 1, 1, 2, 0)]
    assert single.rows() == [(INF, 1, 0, 0, 0), (1, 1, 1, 1, 0)]
    skipped = curve(*ODD["nothing relevant"], "precision_recall", no_relevant="skip")
    assert skipped.is_empty()


def test_huge_and_tiny_scores() -> None:
    scores = {"a": 1e308, "b": -1e308, "c": 5e-324, "d": 0.0, "e": -5e-324}
    points = curve({"q": {"c": 1}}, {"q": scores}, "roc")
    assert points["threshold"].to_list() == [INF, 1e308, 5e-324, 0.0, -5e-324, -1e308]
    assert points["tp"].to_list() == [0, 0, 1, 1, 1, 1]
