"""Areas against scikit-learn, and thinned curves against the whole ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from rankframe.analysis.curves.area import area_under, downsample_curve
from rankframe.analysis.curves.curve import curve
from tests.support.oracles import SCORES, about

Floats = NDArray[np.float64]


def list_of(good: Any, scores: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judgments and a run of one query."""
    ids = pl.DataFrame({"doc_id": pl.int_range(len(scores), eager=True)}).select(
        pl.lit("q").alias("query_id"), "doc_id"
    )
    judged = ids.with_columns(relevance=pl.Series(np.asarray(good, np.float64)))
    return judged, ids.with_columns(score=pl.Series(np.asarray(scores, np.float64)))


def random_list(seed: int, rows: int, decimals: int | None = None) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    good = random.random(rows) < 0.3
    scores = random.normal(size=rows) + good
    return good, scores if decimals is None else scores.round(decimals)


@pytest.mark.parametrize("decimals", [1, None])
@pytest.mark.parametrize("seed", range(3))
def test_areas_as_scikit_learn_has_them(seed: int, decimals: int | None) -> None:
    good, scores = random_list(seed, 500, decimals)
    qrels, run = list_of(good, scores)
    points = curve(qrels, run, "roc")
    assert area_under(points) == about(roc_auc_score(good, scores))
    for max_fpr in (0.001, 0.1, 0.37, 1 / 3, 0.999, 1, 1.0):
        expected = roc_auc_score(good, scores, max_fpr=max_fpr)
        assert area_under(points, max_fpr=max_fpr) == about(expected)
    points = curve(qrels, run, "precision_recall", recall_of="retrieved")
    assert area_under(points) == about(average_precision_score(good, scores))


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from(SCORES)), min_size=2, max_size=40),
    st.floats(0.01, 1),
)
def test_areas_of_any_list(rows: list[tuple[bool, float]], max_fpr: float) -> None:
    good, scores = map(list, zip(*rows, strict=True))
    assume(any(good) and not all(good))
    qrels, run = list_of(good, scores)
    points = curve(qrels, run, "roc")
    assert area_under(points) == about(roc_auc_score(good, scores))
    expected = roc_auc_score(good, scores, max_fpr=max_fpr)
    assert area_under(points, max_fpr=max_fpr) == about(expected)
    points = curve(qrels, run, "precision_recall")
    assert area_under(points) == about(average_precision_score(good, scores))


def test_areas_by_hand() -> None:
    diagonal = pl.DataFrame({"fpr": [0.0, 1.0], "tpr": [0.0, 1.0]})
    assert area_under(diagonal) == 0.5
    assert area_under(diagonal, max_fpr=0.25) == 0.5
    perfect = pl.DataFrame({"fpr": [0.0, 0.0, 1.0], "tpr": [0.0, 1.0, 1.0]})
    assert area_under(perfect) == area_under(perfect, max_fpr=0.1) == 1
    halves = pl.DataFrame({"recall": [0.0, 0.5, 1.0], "precision": [1.0, 1.0, 0.5]})
    assert area_under(halves) == 0.75
    assert area_under(halves[1:]) == 0.75


def test_one_curve_of_many() -> None:
    qrels = {"p": {"a": 1}, "q": {"b": 1}}
    run = {"p": {"a": 2.0, "x": 1.0}, "q": {"b": 1.0, "x": 2.0}}
    each = curve(qrels, run, "roc", per_query=True)
    assert area_under(each.filter(query_id="p")) == 1
    assert area_under(each.filter(query_id="q")) == 0
    known = pl.DataFrame({"query_id": ["p", "q"], "kind": ["text", "voice"]})
    sliced = curve(qrels, run, "roc", by="kind", queries=known)
    assert area_under(sliced.filter(slice="voice")) == 0
    vertical = curve(qrels, run, "roc", average="vertical")
    assert area_under(vertical) == 0.5 + 0.5 * 0.01 / 2  # at fpr 1 the curve of q goes straight up


def test_what_has_no_area_is_refused(refusal: Callable[..., str]) -> None:
    qrels, run = {"p": {"a": 1}, "q": {"b": 1}}, {"p": {"a": 2.0, "x": 1.0}, "q": {"b": 1.0}}
    each = curve(qrels, run, "precision_recall", per_query=True)
    refusal(area_under, each)
    none = curve({"q": {"a": 1}}, {"q": {"a": 1.0}}, "roc")
    refusal(area_under, none)
    at_k = curve(qrels, run, "metric_at_k")
    refusal(area_under, at_k)
    eleven = curve(qrels, run, "precision_recall", interpolated=True)
    refusal(area_under, eleven)
    points = curve(qrels, run, "precision_recall")
    refusal(area_under, points, max_fpr=0.1)
    refusal(area_under, points.reverse())
    roc = curve(qrels, run, "roc")
    refusal(area_under, roc[:2])
    for max_fpr in (0, -1, 1.5, "half", float("nan")):
        refusal(area_under, roc, max_fpr=max_fpr)
    holed = roc.with_columns(tpr=pl.when(pl.col("fp") < 1).then("tpr"))
    refusal(area_under, holed)


def apart(points: pl.DataFrame, fewer: pl.DataFrame) -> float:
    """How far a point lies above or below the line through fewer of them, at the most."""
    x, y = points["fpr"].to_numpy(), points["tpr"].to_numpy()
    line_x, line_y = fewer["fpr"].to_numpy(), fewer["tpr"].to_numpy()
    # Where the line goes straight up, it is at every height in between.
    corners, first = np.unique(line_x, return_index=True)
    last = np.append(first[1:], len(line_x)) - 1
    at = np.searchsorted(corners, x, side="right") - 1
    beyond = np.minimum(at + 1, len(corners) - 1)
    width = corners[beyond] - corners[at]
    share = np.divide(x - corners[at], width, out=np.zeros(len(x)), where=width > 0)
    high = line_y[last[at]] + share * (line_y[first[beyond]] - line_y[last[at]])
    low = np.where(x == corners[at], line_y[first[at]], high)
    return float(np.maximum(low - y, y - high).max())


# By how much the relevant score better; with 4, the curve starts almost straight up.
@pytest.mark.parametrize(("shift", "bound"), [(0.0, 2), (1.0, 2), (4.0, 4)])
def test_a_thinned_roc_curve_looks_the_same(shift: float, bound: float) -> None:
    random = np.random.default_rng(3)
    good = random.random(1_000_000) < 0.5
    points = curve(*list_of(good, random.normal(size=len(good)) + shift * good), "roc")
    assert points.height > 999_000
    for most in (200, 2_000):
        fewer = downsample_curve(points, most)
        assert most / 2 < fewer.height <= most
        assert apart(points, fewer) < bound / most
        assert abs(area_under(fewer) - area_under(points)) < 1e-3
        assert fewer[[0, -1]].equals(points[[0, -1]])
        assert fewer.join(points, on=points.columns, how="anti").is_empty()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=11, max_size=200),
    st.integers(10, 40),
)
def test_any_thinned_roc_curve(steps: list[tuple[int, int]], most: int) -> None:
    fp, tp = np.cumsum([(0, 0), *steps], axis=0).T
    points = pl.DataFrame({"fpr": fp / max(fp[-1], 1), "tpr": tp / max(tp[-1], 1)})
    fewer = downsample_curve(points, most)
    assert fewer.height <= most
    assert apart(points, fewer) <= 2 / (most // 2) + 1e-9


def test_a_thinned_precision_recall_curve_keeps_its_peaks() -> None:
    points = curve(*list_of(*random_list(1, 100_000)), "precision_recall")
    fewer = downsample_curve(points, 400)
    assert 200 < fewer.height <= 400
    assert fewer[[0, -1]].equals(points[[0, -1]])
    tenth = (pl.col("recall") * 100).clip(upper_bound=99).floor()
    extremes = [pl.col("precision").min().alias("low"), pl.col("precision").max().alias("high")]
    by_bin = [frame.group_by(tenth).agg(extremes).sort("recall") for frame in (points, fewer)]
    assert by_bin[0].equals(by_bin[1])


def test_a_thinned_curve_of_cutoffs() -> None:
    k = np.arange(1, 10_001)
    wave = pl.DataFrame({"k": k, "value": np.sin(k / 700)})
    fewer = downsample_curve(wave, 100)
    assert fewer.height <= 100
    assert fewer["value"].max() == wave["value"].max()
    assert fewer["value"].min() == wave["value"].min()
    gains = pl.DataFrame({"k": k, "cg": k, "dcg": -np.cos(k / 700), "ideal_dcg": np.sin(k / 700)})
    fewer = downsample_curve(gains, 100)
    assert fewer.height <= 100
    assert fewer.select(pl.all().max(), pl.all().min().name.suffix("_min")).equals(
        gains.select(pl.all().max(), pl.all().min().name.suffix("_min"))
    )


def test_short_curves_stay_as_they_are() -> None:
    points = curve(*list_of(*random_list(2, 99)), "roc")
    assert points.height == 100
    assert downsample_curve(points) is points
    assert downsample_curve(points, 100) is points
    assert downsample_curve(points, 99).height < 100
    assert downsample_curve(points[:0]).is_empty()


def test_a_curve_that_stands_still() -> None:
    flat = pl.DataFrame({"recall": [0.5] * 50, "precision": [0.1, *[0.2] * 24, 0.9, *[0.3] * 24]})
    assert downsample_curve(flat, 10).rows() == [(0.5, 0.1), (0.5, 0.9), (0.5, 0.3)]


def test_what_cannot_be_thinned_is_refused(refusal: Callable[..., str]) -> None:
    points = curve(*list_of(*random_list(3, 99)), "roc")
    for most in (9, 0, 10.5, "all"):
        refusal(downsample_curve, points, most)
    refusal(downsample_curve, points.reverse(), 10)
    falling = points.with_columns(pl.col("tpr").reverse())
    refusal(downsample_curve, falling, 10)
    two = pl.concat([points, points]).with_columns(
        by=pl.lit("kind"), slice=pl.Series(list("ab") * 100)
    )
    refusal(downsample_curve, two, 10)
    refusal(downsample_curve, points.select("fpr"), 10)
