"""Whole numbers that no float is: ranked as they are, wherever they come from."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.core.errors import ContradictingRanksError
from rankframe.engine.convert import convert_file
from rankframe.io.formats.numbers import (
    beyond_float,
    given_numbers,
    whole_again,
)
from rankframe.io.opening import open_table
from tests.support.pieces import in_pieces, shop_like

# A nanosecond timestamp. Floats are 256 apart there.
LARGE = 1_763_424_000_000_000_000
METRICS = ["ndcg@10", "map", "auc", "precision(k=3)", "bpref"]
QRELS, SMALL = shop_like()
# The same order, the same ties: every score one of a few that are the same float.
RUN = SMALL.with_columns((pl.col("score").cast(pl.Int64) + LARGE).alias("score"))
EXPECTED = rf.evaluate(QRELS, SMALL, METRICS)
WIDE: list[Any] = [pl.Int64, pl.UInt64, pl.Int128, pl.Decimal(38, 0), pl.String]


def assert_as_expected(found: rf.Result, expected: rf.Result = EXPECTED) -> None:
    assert found.per_query.equals(expected.per_query)
    assert found.count("tied_documents") == expected.count("tied_documents")


def _texts(write: Callable[[pl.DataFrame, Path], object], name: str) -> Callable[[Path], Path]:
    def path(folder: Path) -> Path:
        write(RUN, folder / name)
        return folder / name

    return path


def _trec(frame: pl.DataFrame, path: Path) -> None:
    lines = frame.select(pl.format("{} Q0 {} 1 {} t", "query_id", "doc_id", "score")).to_series()
    path.write_text("\n".join(lines.to_list()))


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_large_whole_scores_are_ranked_as_whole_numbers(dtype: Any) -> None:
    run = RUN.cast({"score": dtype})
    assert_as_expected(rf.evaluate(QRELS, run, METRICS))
    assert_as_expected(rf.evaluate(QRELS, run.sample(fraction=1, shuffle=True, seed=3), METRICS))


@pytest.mark.parametrize(
    "written",
    [
        _texts(pl.DataFrame.write_parquet, "run.parquet"),
        _texts(pl.DataFrame.write_csv, "run.csv"),
        _texts(pl.DataFrame.write_ndjson, "run.jsonl"),
        _texts(_trec, "run.trec"),
    ],
    ids=["Parquet", "CSV", "JSON Lines", "TREC"],
)
def test_so_they_are_from_every_format(written: Callable[[Path], Path], tmp_path: Path) -> None:
    assert_as_expected(rf.evaluate(QRELS, written(tmp_path), METRICS))


def test_so_they_are_in_pieces_and_stretches(tmp_path: Path) -> None:
    qrels, run = (side.sort(pl.col("query_id").cast(pl.String)) for side in (QRELS, RUN))
    qrels.write_parquet(tmp_path / "qrels.parquet")
    run.write_parquet(tmp_path / "run.parquet")
    run.sample(fraction=1, shuffle=True, seed=1).write_parquet(tmp_path / "scattered.parquet")
    for name in ("run", "scattered"):
        paths = tmp_path / "qrels.parquet", tmp_path / f"{name}.parquet"
        assert_as_expected(in_pieces(*paths, 3, [*METRICS]))


@pytest.mark.parametrize(
    "options",
    [
        {"ties": "doc_asc"},
        {"k_max": 3},
        {"judged_only": True},
        {"columns": {"run": {"distance": "score"}}},
    ],
    ids=str,
)
def test_so_they_are_under_every_policy(options: dict[str, Any]) -> None:
    expected = rf.evaluate(QRELS, SMALL, METRICS, **options)
    assert_as_expected(rf.evaluate(QRELS, RUN, METRICS, **options), expected)


def test_the_best_of_several_is_the_best_as_a_whole_number() -> None:
    run = pl.DataFrame(
        {"query_id": "q", "doc_id": ["a", "b", "a"], "score": [LARGE, LARGE + 1, LARGE + 2]}
    )
    assert rf.evaluate({"q": {"a": 1}}, run, "mrr", duplicates="keep_best")["mrr"] == 1
    # one that is not the largest float, and comes later, is kept as well
    lower = run.with_columns(score=pl.Series([LARGE + 2, LARGE + 1, LARGE]))
    assert rf.evaluate({"q": {"a": 1}}, lower, "mrr", duplicates="keep_best")["mrr"] == 1


def test_ranks_that_contradict_large_scores_are_noticed() -> None:
    run = pl.DataFrame(
        {"query_id": "q", "doc_id": ["a", "b"], "score": [LARGE, LARGE + 1], "rank": [1, 2]}
    )
    with pytest.raises(ContradictingRanksError):
        rf.evaluate({"q": {"b": 1}}, run, "mrr")
    assert rf.evaluate({"q": {"b": 1}}, run, "mrr", order="score")["mrr"] == 1
    assert rf.evaluate({"q": {"b": 1}}, run, "mrr", ranks="kept")["mrr"] == 0.5


def test_two_rankings_and_their_judgments_too() -> None:
    other = SMALL.with_columns(pl.col("score").shift(1).fill_null(0))
    theirs = other.with_columns(pl.col("score").cast(pl.Int64) + LARGE)
    names = ["kendall_tau", "rbo", "spearman", "overlap@2"]
    expected = rf.agree(SMALL, other, names)
    assert rf.agree(RUN, theirs, names).per_query.equals(expected.per_query)
    grades = [side.rename({"score": "relevance"}) for side in (RUN, theirs)]
    found = rf.agree(grades[0], grades[1], names)
    assert found.per_query.equals(expected.per_query)
    # what computes with scores takes the floats
    pair = rf.pair(RUN, theirs).collect()
    assert pair["score_a"].dtype == pl.Float64
    assert not [name for name in pair.columns if name.startswith("_")]


def test_holes_are_filled_in_the_same_ranking() -> None:
    qrels, run = QRELS.sort("query_id"), RUN
    expected = rf.compare(qrels, {"a": SMALL, "b": SMALL}, "ndcg@3", bounds=True)
    found = rf.compare(qrels, {"a": run, "b": run}, "ndcg@3", bounds=True)
    assert found.systems.equals(expected.systems)


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.jsonl", "out.trec"])
@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt64, pl.String], ids=str)
def test_convert_keeps_them(name: str, dtype: Any, tmp_path: Path) -> None:
    convert_file(RUN.cast({"score": dtype}), tmp_path / name)
    again = open_table(tmp_path / name, "run")
    keys = ["query_id", "doc_id"]
    written = again.raw.select(*keys, pl.col("score").cast(pl.Int64)).collect()
    assert written.cast(pl.String).sort(keys).equals(RUN.cast(pl.String).sort(keys))
    assert_as_expected(rf.evaluate(QRELS, tmp_path / name, METRICS))


def test_dicts_and_lists_hold_them() -> None:
    run = {"q": {"a": LARGE, "b": LARGE + 1, "c": LARGE + 2}}
    assert rf.evaluate({"q": {"c": 1}}, run, "mrr")["mrr"] == 1
    lists = rf.from_lists([["a", "b", "c"]], [{"c"}], scores=[[LARGE, LARGE + 1, LARGE + 2]])
    assert rf.evaluate(*lists, "mrr")["mrr"] == 1
    nearest = rf.from_lists(
        [["a", "b"]], [{"a"}], scores=[[LARGE, LARGE + 1]], smaller_is_better=True
    )
    assert rf.evaluate(*nearest, "mrr")["mrr"] == 1


@pytest.mark.parametrize(
    ("values", "dtype", "rest"),
    [
        ([5, -7, 2**53], pl.Int64, [0, 0, 0]),
        ([2**53 + 1, -(2**53) - 1, 2**60 + 100], pl.Int64, [1, -1, 100]),
        ([2**63 - 1, 2**63 - 512, -(2**63)], pl.Int64, [-1, -512, 0]),
        ([2**64 - 1, 2**63 + 1], pl.UInt64, [-1, 1]),
        ([2**127 - 1, -(2**127), 5], pl.Int128, [-1, 0, 0]),
        ([str(2**64 - 1), str(-(2**63) - 1), "1.0"], pl.String, [-1, -1, 0]),
        ([" 9007199254740993 ", "1.5", "1e3", "nan", None], pl.String, [1, 0, 0, 0, 0]),
        ([0.5, -1.0], pl.Float64, [0.5, -1.0]),
    ],
)
def test_what_a_float_cannot_hold(values: list[Any], dtype: Any, rest: list[float]) -> None:
    frame = pl.DataFrame({"x": pl.Series(values, dtype=dtype)})
    assert frame.select(beyond_float("x", dtype())).to_series().to_list() == rest


def test_only_what_may_be_large_has_a_rest() -> None:
    for kind, wide in (
        *((kind, False) for kind in (pl.Float64, pl.Int32, pl.Decimal(20, 3))),
        *((kind, True) for kind in (pl.Int64, pl.String, pl.Decimal(20, 0))),
    ):
        run = pl.LazyFrame(schema={"query_id": pl.String, "doc_id": pl.String, "score": kind})
        assert ("_score_rest" in open_table(run, "run").mapping) is wide


def test_floats_stay_floats_unless_they_are_among_large_numbers() -> None:
    frame = pl.DataFrame({"score": [1.5, float(2**60)], "_score_rest": [0.0, 0.0]})
    assert whole_again(frame)["score"].to_list() == [1.5, float(2**60)]
    with pytest.raises(OverflowError):
        whole_again(frame.with_columns(_score_rest=pl.Series([0.0, 1.0])))
    assert whole_again(frame.drop("_score_rest")).equals(frame.drop("_score_rest"))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2.5, True], pl.Float64),
        ([LARGE, 1], pl.Int64),
        ([LARGE, 1.0], pl.Float64),
        ([2**64 - 1], pl.UInt64),
        ([2**70, -1], pl.Int128),
        ([np.float32(1), np.int64(3)], pl.Float64),
        ([], pl.Float64),
    ],
)
def test_numbers_of_python_are_floats_unless_too_large(values: list[Any], dtype: Any) -> None:
    found = given_numbers(values)
    assert found.dtype == dtype
    assert found.to_list() == [float(v) if dtype == pl.Float64 else v for v in values]


@pytest.mark.parametrize(
    "bad",
    [
        1 + 2j,
        np.complex128(1),
        np.datetime64("2026-01-01"),
        np.timedelta64(1, "D"),
        date(2026, 1, 1),
        "high",
        10**400,
    ],
    ids=str,
)
def test_what_is_no_number_is_refused(bad: Any, refusal) -> None:
    with pytest.raises(ValueError, match=r"."):
        given_numbers([1.0, bad])
    refusal(rf.evaluate, {"q": {"a": 1}}, {"q": {"a": bad}}, "map")
    refusal(rf.from_lists, [["a"]], [{"a"}], scores=[[bad]])


def test_a_stream_of_text_holds_them() -> None:
    rows = "\n".join(f"q,{doc},{LARGE + at}" for at, doc in enumerate("abc"))
    text = io.BytesIO(f"query_id,doc_id,score\n{rows}\n".encode())
    assert rf.evaluate({"q": {"c": 1}}, text, "mrr")["mrr"] == 1


EXTREMES: dict[str, tuple[Any, list[int]]] = {
    "Int64": (pl.Int64, [(1 << 63) - 2, (1 << 63) - 1, -(1 << 63) + 1, -(1 << 63)]),
    "UInt64": (pl.UInt64, [(1 << 64) - 2, (1 << 64) - 1, 1 << 63, (1 << 63) + 1]),
    "Int128": (pl.Int128, [(1 << 127) - 2, (1 << 127) - 1, (1 << 90) + 1, 1 << 90]),
    "text": (pl.String, [(1 << 64) - 2, (1 << 64) - 1, 1 << 63, (1 << 63) + 1]),
}


def ranked(run: Any, docs: list[str]) -> list[str]:
    frame = rf.judge({"q": dict.fromkeys(docs, 1)}, run).collect()
    return frame.sort("rank")["doc_id"].to_list()


@pytest.mark.parametrize("kind", EXTREMES)
def test_the_largest_that_a_type_holds_are_ranked_too(kind: str, tmp_path: Path, refusal) -> None:
    dtype, values = EXTREMES[kind]
    docs = ["d", "a", "c", "b"]
    scores = pl.Series([str(v) if kind == "text" else v for v in values], dtype=dtype)
    run = pl.DataFrame({"query_id": "q", "doc_id": docs, "score": scores})
    expected = [doc for _, doc in sorted(zip(values, docs, strict=True), reverse=True)]
    assert ranked(run, docs) == expected
    if kind == "Int128":
        refusal(convert_file, run, tmp_path / "run.csv")
        return
    for name in ("run.parquet", "run.csv", "run.jsonl", "run.trec"):
        convert_file(run, tmp_path / name)
        assert ranked(tmp_path / name, docs) == expected, name
        again = open_table(tmp_path / name, "run").raw.select("doc_id", "score").collect()
        written = dict(again.select("doc_id", pl.col("score").cast(pl.Int128)).iter_rows())
        assert written == dict(zip(docs, values, strict=True)), name


def test_large_ones_beside_fractions_are_not_converted(tmp_path: Path, refusal) -> None:
    """Ranked they are; but a column that holds both would lose what the large ones are."""
    run = pl.DataFrame(
        {"query_id": "q", "doc_id": ["b", "a", "c"], "score": [str(LARGE), str(LARGE + 1), "0.5"]}
    )
    assert ranked(run, ["a", "b", "c"]) == ["a", "b", "c"]
    refusal(convert_file, run, tmp_path / "run.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("grade", [1e20, -1e20, 2.0**63])
def test_grades_beyond_whole_numbers_are_converted_as_they_are(
    grade: float, tmp_path: Path
) -> None:
    qrels = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": [grade, 1.0]})
    for name in ("qrels.parquet", "qrels.csv", "qrels.trec"):
        convert_file(qrels, tmp_path / name, "qrels")
        assert open_table(tmp_path / name, "qrels").frame.collect()["relevance"].to_list() == [
            grade,
            1,
        ]
