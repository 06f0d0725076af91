"""Evaluation in pieces: the same bits, bounded memory, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf
from rankframe.base.options import Policies
from rankframe.engine.plan import compile_plan
from rankframe.evaluation.evaluate import evaluate_scanned
from rankframe.evaluation.job import Job
from rankframe.evaluation.ledger import Counts
from rankframe.inputs.scan import scan
from rankframe.metrics import names_over
from rankframe.metrics.names import resolve

OWN = (pl.col("rank") <= 2).any().alias("own")
MICRO = "precision(average=micro)@3"
EVERYTHING = [*names_over("judged"), MICRO, "gm_map", OWN]
SHOP = Path(__file__).parents[2] / "data" / "shop"


def shop_like(queries: int = 60, seed: int = 5) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judgments and a run with ties, missing, unjudged and irrelevant queries, and odd grades."""
    rng = np.random.default_rng(seed)
    query = rng.integers(0, queries, queries * 12)
    doc = rng.integers(0, 20, len(query))
    rows = pl.DataFrame({"query_id": query, "doc_id": doc}).unique(maintain_order=True)
    rows = rows.with_columns(number=pl.Series(rng.integers(-1, 4, rows.height).astype(float)))
    qrels = rows.filter(pl.Series(rng.random(rows.height) < 0.5), pl.col("query_id") % 7 != 0)
    run = rows.filter(pl.Series(rng.random(rows.height) < 0.7), pl.col("query_id") % 11 != 0)
    return qrels.rename({"number": "relevance"}), run.rename({"number": "score"})


def in_pieces(
    qrels: object, run: object, pieces: int, metrics: list[str | pl.Expr], **policies: object
) -> rf.Result:
    return evaluate_scanned(
        scan(qrels, "qrels"),
        scan(run, "run"),
        Job(compile_plan(resolve(metrics)), Policies(**policies)),  # pyright: ignore[reportArgumentType]
        pieces=pieces,
    )


def assert_same(one: rf.Result, other: rf.Result) -> None:
    for name in ("per_query", "summary", "ledger"):
        assert getattr(one, name).equals(getattr(other, name)), name


@settings(max_examples=12)
@given(st.integers(2, 40), st.randoms(use_true_random=False))
def test_any_number_of_pieces_and_any_row_order_give_the_same_bits(pieces: int, random) -> None:
    qrels, run = shop_like()
    whole = rf.evaluate(qrels, run, EVERYTHING)
    seed = random.randrange(10**6)
    qrels, run = (f.sample(fraction=1, shuffle=True, seed=seed) for f in (qrels, run))
    assert_same(whole, in_pieces(qrels, run, pieces, EVERYTHING))
    assert_same(whole, rf.evaluate(qrels, run, EVERYTHING))


def test_own_expressions_give_the_same_bits() -> None:
    # Enough queries, of enough rows, for polars to share a plain sum out to its threads.
    rows = 60_000
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {"query_id": rng.integers(0, 1500, rows), "doc_id": np.arange(rows) % 977}
    ).unique(maintain_order=True)
    qrels = table.with_columns(relevance=pl.Series(rng.random(table.height)))
    run = table.with_columns(score=pl.Series(rng.random(table.height)))
    own = (pl.col("relevance") / pl.col("rank")).sum().alias("own")
    whole = rf.evaluate(qrels, run, [own])
    for pieces in (1, 3):
        shuffled = [f.sample(fraction=1, shuffle=True, seed=pieces) for f in (qrels, run)]
        assert_same(whole, in_pieces(shuffled[0], shuffled[1], pieces, [own]))


@pytest.mark.parametrize(
    "policies",
    [
        {"missing": "skip"}, {"no_relevant": "skip"}, {"k_max": 2}, {"judged_only": True},
        {"rel": 2, "k_max": 3, "judged_only": True}, {"ties": "as_given"},
    ],
)  # fmt: skip
def test_policies_hold_in_pieces(policies: dict[str, object]) -> None:
    qrels, run = shop_like()
    whole = rf.evaluate(qrels, run, EVERYTHING, **policies)  # pyright: ignore[reportArgumentType]
    assert_same(whole, in_pieces(qrels, run, 9, EVERYTHING, **policies))


def test_rows_without_score_or_rank_keep_their_order_in_pieces() -> None:
    qrels, run = shop_like()
    run = run.drop("score")
    assert_same(rf.evaluate(qrels, run, "map"), in_pieces(qrels, run, 8, ["map"]))


def test_a_small_limit_means_pieces_and_the_same_result() -> None:
    seen: list[object] = []
    paths = SHOP / "qrels.parquet", SHOP / "hybrid.parquet"
    limited = rf.evaluate(*paths, ["ndcg@10", "map"], max_memory="8MB", progress=seen.append)
    assert_same(rf.evaluate(*paths, ["ndcg@10", "map"]), limited)
    assert len(seen) > 2
    last = seen[-1]
    assert (last.rows, last.queries) == (last.total_rows, 1960)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("order", ["sorted", "together", "scattered"])
@pytest.mark.parametrize("rows", [1, 7, 50, 100])
def test_slices_of_tables_give_the_same_bits(
    rows: int, order: str, monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    qrels, run = (f.cast({"query_id": pl.String}) for f in shop_like())
    if order != "scattered":
        by = pl.col("query_id") if order == "sorted" else pl.col("query_id").str.reverse()
        qrels, run = qrels.sort(by), run.sort(by)
    whole = rf.evaluate(qrels, run, EVERYTHING)
    twice = pl.concat([run, run[[40]]])
    twice = twice.sort("query_id", maintain_order=True) if order == "sorted" else twice
    said = refusal(rf.evaluate, qrels, twice, "map")
    monkeypatch.setattr("rankframe.engine.chunks.CHUNK_ROWS", rows)
    assert_same(whole, rf.evaluate(qrels, run, EVERYTHING))
    assert refusal(rf.evaluate, qrels, twice, "map") == said
    assert rf.evaluate(qrels, run, "auc(pool=true)").summary["queries"][0] > 0


@pytest.mark.parametrize("scattered", [True, False])
def test_values_go_to_the_output_as_they_come(scattered: bool, tmp_path: Path) -> None:
    folder = tmp_path / "input"
    folder.mkdir()
    paths = SHOP / "qrels.parquet", scattered_run(folder) if scattered else SHOP / "bm25.parquet"
    metrics = ["ndcg@10", "precision(average=micro)@5"]
    whole = rf.evaluate(*paths, metrics)
    stored = rf.evaluate(*paths, metrics, max_memory="8MB", output=tmp_path / "pieces")
    assert_same(whole, stored)
    assert_same(whole, rf.Result.read(tmp_path / "pieces"))
    assert_same(whole, rf.evaluate(*paths, metrics, output=tmp_path / "whole"))
    assert stored.scan_per_query().select("ndcg@10").head(1).collect().item() >= 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["input", "pieces", "whole"]


def test_the_number_of_pieces_has_a_limit() -> None:
    qrels, run = shop_like()
    assert (
        rf.evaluate(qrels, run, "map", max_memory=1).means == rf.evaluate(qrels, run, "map").means
    )


def test_an_output_that_is_taken_is_refused_before_any_work(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    qrels, run = shop_like()
    rf.evaluate(qrels, run, "map", output=tmp_path / "out")
    seen: list[object] = []
    limited = {"max_memory": "1kB", "progress": seen.append}
    said = refusal(rf.evaluate, qrels, run, "mrr", output=tmp_path / "out", **limited)
    assert "holds a result already" in said
    assert not seen
    rf.evaluate(qrels, run, "mrr", output=tmp_path / "out", overwrite=True, **limited)
    assert list(rf.Result.read(tmp_path / "out").means) == ["mrr"]


def test_a_failed_evaluation_leaves_the_output_alone(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    qrels, run = shop_like()
    before = rf.evaluate(qrels, run, "map", output=tmp_path / "out")
    broken = run.with_columns(score=float("nan"))
    refusal(
        rf.evaluate, qrels, broken, "map", output=tmp_path / "out", overwrite=True, max_memory="1kB"
    )
    assert_same(before, rf.Result.read(tmp_path / "out"))
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


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


def test_missing_queries_are_counted_over_all_pieces(refusal: Callable[..., str]) -> None:
    qrels, run = shop_like()
    whole = refusal(rf.evaluate, qrels, run, "map", missing="error")
    assert refusal(in_pieces, qrels, run, 7, ["map"], missing="error") == whole


def test_no_overlap_is_seen_over_all_pieces(refusal: Callable[..., str]) -> None:
    qrels, run = shop_like()
    run = run.with_columns(doc_id=pl.col("doc_id") + 1000)
    assert "no document in the run matches" in refusal(in_pieces, qrels, run, 7, ["map"])


def test_a_metric_over_the_whole_input_is_refused_in_pieces(refusal: Callable[..., str]) -> None:
    assert "needs the whole input in memory" in refusal(
        in_pieces, *shop_like(), 3, ["auc(pool=true)"]
    )


@pytest.mark.parametrize("side", [0, 1])
def test_an_empty_side_is_refused_in_pieces(side: int, refusal: Callable[..., str]) -> None:
    frames = list(shop_like())
    frames[side] = frames[side].head(0)
    assert "is empty" in refusal(in_pieces, *frames, 3, ["map"])


def test_text_for_numbers_is_refused_in_pieces(tmp_path: Path, refusal: Callable[..., str]) -> None:
    qrels, run = shop_like()
    path = tmp_path / "run.csv"
    run.with_columns(score=pl.lit("high")).write_csv(path)
    assert "non-numeric score, e.g. 'high' at row 1" in refusal(in_pieces, qrels, path, 3, ["map"])


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_behind_when_interrupted(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def interrupt(progress: object) -> None:
        if getattr(progress, "rows", 0):
            assert any(tmp_path.iterdir())
            raise error

    with pytest.raises(error):
        rf.evaluate(*shop_like(), "map", max_memory="1kB", progress=interrupt)
    assert not any(tmp_path.iterdir())


_KILLED = """
import sys, time
import rankframe as rf
def wait(progress):
    if progress.rows:
        print("working", flush=True)
        time.sleep(60)
result = rf.evaluate(sys.argv[1], sys.argv[2], "map", max_memory="1MB", progress=wait)
result.write(sys.argv[3])
"""


def scattered_run(folder: Path) -> Path:
    """A run that cannot be read in order of its queries, so that it is split into files."""
    run = pl.read_parquet(SHOP / "bm25.parquet").sample(fraction=1, shuffle=True, seed=1)
    run.write_parquet(folder / "scattered.parquet")
    return folder / "scattered.parquet"


@pytest.mark.parametrize("scattered", [True, False])
def test_a_killed_evaluation_leaves_no_output_and_the_next_one_cleans_up(
    scattered: bool, tmp_path: Path
) -> None:
    scratch, out = tmp_path / "scratch", tmp_path / "out"
    scratch.mkdir()
    run = scattered_run(tmp_path) if scattered else SHOP / "bm25.parquet"
    paths = [str(SHOP / "qrels.parquet"), str(run), str(out)]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(
        [sys.executable, "-c", _KILLED, *paths], stdout=subprocess.PIPE, env=environment
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"working\n"
        child.send_signal(signal.SIGKILL)
    assert not out.exists()
    assert any(scratch.iterdir())
    again = _KILLED.replace("time.sleep(60)", "pass")
    subprocess.run(
        [sys.executable, "-c", again, *paths], check=True, capture_output=True, env=environment
    )
    assert rf.Result.read(out).per_query.height == 1960
    assert not any(scratch.iterdir())


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


def test_an_input_that_vanishes_is_refused(tmp_path: Path, refusal: Callable[..., str]) -> None:
    qrels, run = shop_like()
    path = tmp_path / "run.parquet"
    run.write_parquet(path)
    opened = scan(qrels, "qrels"), scan(path, "run")
    path.unlink()
    for pieces in (1, 3):
        assert "no such file" in refusal(
            evaluate_scanned, *opened, Job(compile_plan(resolve("map")), Policies()), pieces=pieces
        )


def test_a_scratch_folder_of_a_living_process_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mine = tmp_path / f"rankframe-{os.getpid()}-abcd"
    dead = tmp_path / "rankframe-999999999-abcd"
    strange = tmp_path / "rankframe-notes"
    for folder in (mine, dead, strange):
        folder.mkdir()
    rf.evaluate(*shop_like(), "map", max_memory="1kB")
    assert sorted(tmp_path.iterdir()) == sorted([mine, strange])


def test_duplicates_are_refused_in_a_piece_without_judgments(refusal) -> None:
    job = Job(compile_plan(resolve("map")), Policies())
    qrels = scan({"q": {"a": 1}}, "qrels").frame.collect()
    run = scan({"p": {"b": 1.0}}, "run").frame.collect()
    twice = pl.concat([run, run])
    assert "run has 1 duplicate" in refusal(job.piece, qrels.head(0), twice)
    best = Job(job.plan, Policies(duplicates="keep_best"))
    counts = best.piece(qrels.head(0), twice).counts
    assert counts == best.piece(qrels.head(0), run).counts + _rows(1)


def _rows(count: int) -> Counts:
    return Counts(0, 0, count, 0, 0, 0, 0, 0, 0, 0, 0, None)
