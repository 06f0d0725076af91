"""Inputs in any order, split into files: the same bits, and errors about the whole."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.engine.hashed_partitions import HashedPartitions
from rankframe.engine.prepare import evaluate_judged
from rankframe.io.opening import open_table
from rankframe.metrics.names import resolve
from tests.support.pieces import SHOP, assert_same, in_pieces, scattered_run, shop_like


def test_rows_without_score_or_rank_keep_their_order_in_pieces() -> None:
    qrels, run = shop_like()
    run = run.drop("score")
    expected = rf.evaluate(qrels, run, "map", order="rows")
    assert_same(expected, in_pieces(qrels, run, 8, ["map"]))


def test_one_enormous_query_is_one_piece() -> None:
    rows = 200_000
    run = pl.DataFrame({"query_id": "q", "doc_id": pl.int_range(rows, eager=True)})
    run = run.with_columns(score=-pl.col("doc_id").cast(pl.Float64))
    qrels = pl.DataFrame({"query_id": "q", "doc_id": [0, rows - 1], "relevance": 1})
    expected = (1 + 2 / rows) / 2
    assert in_pieces(qrels, run, 50, ["map"])["map"] == expected


def test_what_is_wrong_is_said_of_the_whole_input(refusal: Callable[..., str]) -> None:
    qrels, run = shop_like()
    copies = run[[3, 40, 90]]
    twice = refusal(in_pieces, qrels, pl.concat([run, copies]), 7, ["map"])
    assert twice.startswith("run has 3 duplicate (query_id, doc_id) pairs, e.g. (")
    places = sorted({3, 40, 90})
    assert any(f"at rows {p + 1} and {run.height + i + 1}" in twice for i, p in enumerate(places))
    for frame, bad in ((run, float("nan")), (run, None)):
        broken = frame.with_columns(
            score=pl.when(pl.int_range(pl.len()).is_in([70, 80])).then(bad).otherwise("score")
        )
        text = refusal(in_pieces, qrels, broken, 7, ["map"])
        assert text.startswith("run has 2 rows with a ")
        assert "e.g. row 71 (" in text


def test_text_for_numbers_is_refused_in_pieces(tmp_path: Path, refusal: Callable[..., str]) -> None:
    qrels, run = shop_like()
    path = tmp_path / "run.csv"
    run.with_columns(score=pl.lit("high")).write_csv(path)
    assert "non-numeric score, e.g. 'high' at row 1" in refusal(in_pieces, qrels, path, 3, ["map"])


def test_a_full_disk_is_said_to_be_full_and_nothing_is_left(tmp_path: Path) -> None:
    """A real failure of writing: no file of the process may grow beyond a few bytes."""
    run, scratch = scattered_run(tmp_path), tmp_path / "scratch"
    scratch.mkdir()
    code = (
        "import sys, resource, rankframe as rf\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n    rf.evaluate(*sys.argv[1:], 'map', max_memory='8MB')\n"
        "except rf.RankframeError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, SHOP / "qrels.parquet", run],
        capture_output=True, text=True, check=True, env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    assert "temporary files" in done.stdout
    assert not any(scratch.iterdir())


@pytest.mark.parametrize("pieces", [1, 4, 300])
def test_files_give_the_same_bits_and_count_every_row_once(pieces: int, tmp_path: Path) -> None:
    sides = open_table(shop_like()[0], "qrels"), open_table(shop_like()[1], "run")
    qrels, run = (side.frame.collect() for side in sides)
    evaluation = evaluate_judged(resolve("ndcg@10"), Policies()).with_max_grade(3.0)
    found = list(HashedPartitions(*sides, tmp_path, pieces))
    assert len(found) <= pieces
    assert sum(left.height + right.height for left, right in found) == qrels.height + run.height
    whole = evaluation.empty()
    for partition in found:
        whole.merge(evaluation.evaluate_partition(*partition))
    alone = evaluation.evaluate_partition(qrels, run)
    assert whole.join().values.equals(alone.join().values)
    assert whole.counts == alone.counts
