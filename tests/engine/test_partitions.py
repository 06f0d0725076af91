"""Evaluation in partitions: the same bits, bounded memory, nothing left behind."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf
from rankframe.core.options import Policies
from rankframe.engine.evaluation import prepare_evaluation
from rankframe.engine.finish import evaluate_inputs
from rankframe.engine.partitions import HashedPartitions, SortedPartitions
from rankframe.engine.plan import metric_values
from rankframe.io.opening import open_table
from rankframe.metrics.names import resolve
from tests.support.looked_up import layouts
from tests.support.pieces import EVERYTHING, SHOP, assert_same, in_pieces, scattered_run, shop_like


@settings(max_examples=5)
@given(st.integers(2, 40), st.randoms(use_true_random=False))
def test_any_number_of_pieces_and_any_row_order_give_the_same_bits(pieces: int, random) -> None:
    qrels, run = shop_like()
    whole = rf.evaluate(qrels, run, EVERYTHING)
    seed = random.randrange(10**6)
    qrels, run = (f.sample(fraction=1, shuffle=True, seed=seed) for f in (qrels, run))
    assert_same(whole, in_pieces(qrels, run, pieces, EVERYTHING))
    assert_same(whole, rf.evaluate(qrels, run, EVERYTHING))


@pytest.mark.parametrize(
    "policies",
    [
        {"missing": "skip"}, {"no_relevant": "skip"}, {"k_max": 2}, {"judged_only": True},
        {"rel": 2, "k_max": 3, "judged_only": True}, {"ties": "as_given"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("layout", ["sorted", "grouped", "scattered"])
def test_policies_hold_in_pieces(layout: str, policies: dict[str, object]) -> None:
    qrels, run = shop_like()
    whole = rf.evaluate(qrels, run, EVERYTHING, **policies)  # pyright: ignore[reportArgumentType]
    judged, run = (layouts(side)[layout] for side in (qrels, run))
    assert_same(whole, rf.evaluate(judged, run, EVERYTHING, **policies))  # pyright: ignore[reportArgumentType]
    assert_same(whole, in_pieces(judged, run, 3, EVERYTHING, **policies))


def grouped_run(rows: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Few judgments beside a long run, grouped by query in no order."""
    query = pl.int_range(rows, eager=True) // 10 * 7919 % 10_007
    run = pl.DataFrame({"query_id": query, "doc_id": pl.int_range(rows, eager=True) % 10})
    run = run.with_columns(score=pl.col("doc_id") * 0.5)
    return run[:: rows // 50].select("query_id", "doc_id", relevance=pl.lit(1)), run


def test_a_grouped_run_is_read_in_one_pass_beside_few_judgments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_batch_rows
) -> None:
    qrels, run = grouped_run(20_000)
    scattered = layouts(run)["scattered"]
    whole = rf.evaluate(qrels, run, ["map", "ndcg@3"])
    assert_same(whole, in_pieces(qrels, scattered, 5, ["map", "ndcg@3"]))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("split though grouped")

    monkeypatch.setattr("rankframe.engine.evaluation.evaluate_partitions", refuse)
    set_batch_rows(700)
    assert_same(whole, in_pieces(qrels, run, 5, ["map", "ndcg@3"]))
    options = {"max_memory": "500kB", "output": tmp_path / "out"}
    assert_same(whole, rf.evaluate(qrels, run, ["map", "ndcg@3"], **options))  # pyright: ignore[reportArgumentType]
    with pytest.raises(AssertionError, match="split"):
        in_pieces(qrels, scattered, 5, ["map"])


def test_a_small_limit_means_pieces_and_the_same_result() -> None:
    seen: list[object] = []
    paths = SHOP / "qrels.parquet", SHOP / "hybrid.parquet"
    limited = rf.evaluate(*paths, ["ndcg@10", "map"], max_memory="8MB", progress=seen.append)
    assert_same(rf.evaluate(*paths, ["ndcg@10", "map"]), limited)
    assert len(seen) > 2
    last = seen[-1]
    assert (last.rows, last.queries) == (last.total_rows, 1960)  # pyright: ignore[reportAttributeAccessIssue]


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
    limited = {"max_memory": "60kB", "progress": seen.append}
    refusal(rf.evaluate, qrels, run, "mrr", output=tmp_path / "out", **limited)
    assert not seen
    rf.evaluate(qrels, run, "mrr", output=tmp_path / "out", overwrite=True, **limited)
    assert list(rf.Result.read(tmp_path / "out").means) == ["mrr"]


def test_a_failed_evaluation_leaves_the_output_alone(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    qrels, run = shop_like()
    before = rf.evaluate(qrels, run, "map", output=tmp_path / "out")
    broken = run.with_columns(score=float("nan"))
    limited = {"output": tmp_path / "out", "overwrite": True, "max_memory": "60kB"}
    refusal(rf.evaluate, qrels, broken, "map", **limited)
    assert_same(before, rf.Result.read(tmp_path / "out"))
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_missing_queries_are_counted_over_all_pieces(refusal: Callable[..., str]) -> None:
    qrels, run = shop_like()
    whole = refusal(rf.evaluate, qrels, run, "map", missing="error")
    assert refusal(in_pieces, qrels, run, 7, ["map"], missing="error") == whole


def test_no_overlap_is_seen_over_all_pieces(refusal: Callable[..., str]) -> None:
    qrels, run = shop_like()
    run = run.with_columns(doc_id=pl.col("doc_id") + 1000)
    refusal(in_pieces, qrels, run, 7, ["map"])


def test_a_metric_over_the_whole_input_is_refused_in_pieces(refusal: Callable[..., str]) -> None:
    refusal(in_pieces, *shop_like(), 3, ["auc(pool=true)"])


@pytest.mark.parametrize("side", [0, 1])
def test_an_empty_side_is_refused_in_pieces(side: int, refusal: Callable[..., str]) -> None:
    frames = list(shop_like())
    frames[side] = frames[side].head(0)
    refusal(in_pieces, *frames, 3, ["map"])


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_behind_when_interrupted(
    error: type[BaseException], tmp_path: Path, set_scratch
) -> None:
    set_scratch(tmp_path)

    def interrupt(progress: object) -> None:
        if getattr(progress, "rows", 0):
            assert any(tmp_path.iterdir())
            raise error

    with pytest.raises(error):
        rf.evaluate(*shop_like(), "map", max_memory="60kB", progress=interrupt)
    assert not any(tmp_path.iterdir())


_KILLED = """
import sys, time
import rankframe as rf
def wait(progress):
    if progress.rows:
        print("working", flush=True)
        time.sleep(60)
result = rf.evaluate(sys.argv[1], sys.argv[2], "map", max_memory="20MB", progress=wait)
result.write(sys.argv[3])
"""


@pytest.mark.slow
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


def test_an_input_that_vanishes_is_refused(tmp_path: Path, refusal: Callable[..., str]) -> None:
    qrels, run = shop_like()
    path = tmp_path / "run.parquet"
    run.write_parquet(path)
    opened = open_table(qrels, "qrels"), open_table(path, "run")
    path.unlink()
    for pieces in (1, 3):
        refusal(
            evaluate_inputs,
            prepare_evaluation(resolve("map"), Policies()),
            *opened,
            partitions=pieces,
        )


def test_folders_of_users_are_left_alone(tmp_path: Path, set_scratch) -> None:
    set_scratch(tmp_path)
    for name in ("rankframe-2026-results", "rankframe-999999999-abcd", "rankframe-notes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.parquet").touch()
    rf.evaluate(*shop_like(), "map", max_memory="60kB")
    assert len(list(tmp_path.glob("*/summary.parquet"))) == 3


def lose(tmp_path: Path, pattern: str) -> Callable[[object], None]:
    """Somebody who removes temporary files as soon as rows were read."""

    def look(progress: object) -> None:
        if getattr(progress, "rows", 0):
            for path in tmp_path.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    return look


@pytest.mark.parametrize("pattern", ["rankframe-*", "rankframe-*/run", "rankframe-*/qrels/*"])
def test_pieces_that_vanish_are_an_error(
    pattern: str, tmp_path: Path, set_scratch, refusal: Callable[..., str]
) -> None:
    set_scratch(tmp_path)
    qrels, run = (layouts(side)["scattered"] for side in shop_like())
    look = lose(tmp_path, pattern)
    refusal(rf.evaluate, qrels, run, "map", max_memory="60kB", progress=look)


@pytest.mark.parametrize("layout", ["sorted", "scattered"])
def test_values_that_vanish_are_an_error(
    layout: str, tmp_path: Path, set_scratch, refusal: Callable[..., str]
) -> None:
    set_scratch(tmp_path)
    qrels, run = (layouts(side)[layout] for side in shop_like())
    options = {"max_memory": "60kB", "progress": lose(tmp_path, "rankframe-*/values-*")}
    refusal(rf.evaluate, qrels, run, "map", output=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


EVALUATION = prepare_evaluation(resolve(EVERYTHING), Policies())


def sorted_shop() -> tuple[pl.DataFrame, pl.DataFrame]:
    qrels, run = (f.cast({"query_id": pl.String}).sort("query_id") for f in shop_like())
    return qrels, run


def partitions(qrels: pl.DataFrame, run: pl.DataFrame, rows: int) -> SortedPartitions:
    return SortedPartitions(open_table(qrels, "qrels"), open_table(run, "run"), rows)


def evaluated(qrels: pl.DataFrame, run: pl.DataFrame, rows: int) -> pl.DataFrame:
    evaluation = EVALUATION.with_max_grade(float(qrels["relevance"].to_numpy().max()))
    whole, read, parts = evaluation.empty(), 0, partitions(qrels, run, rows)
    for left, right in parts:
        whole.merge(evaluation.evaluate_partition(left, right))
        read += left.height + right.height
    assert parts.complete
    assert read == qrels.height + run.height
    return metric_values(whole.join())


@settings(max_examples=5, deadline=None)
@given(st.integers(15, 400))
def test_any_length_of_stretches_gives_the_same_bits(rows: int) -> None:
    qrels, run = sorted_shop()
    whole = rf.evaluate(qrels, run, EVERYTHING).per_query
    assert evaluated(qrels, run, rows).equals(whole)
    # also where the judgments are the longer side, and where one side ends early
    few = run.filter(pl.col("query_id") < "3")
    assert evaluated(qrels, few, rows).equals(rf.evaluate(qrels, few, EVERYTHING).per_query)


@pytest.fixture
def no_split(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("split though sorted")

    monkeypatch.setattr("rankframe.engine.partitions.HashedInput.write", refuse)
    monkeypatch.setattr("rankframe.engine.partitions._LEAST_ROWS", 20)


@pytest.mark.usefixtures("no_split")
def test_sorted_inputs_are_not_split(tmp_path: Path) -> None:
    qrels, run = sorted_shop()
    whole = rf.evaluate(qrels, run, EVERYTHING)
    qrels.write_parquet(tmp_path / "qrels.parquet")
    run.write_parquet(tmp_path / "run.parquet", row_group_size=50)
    paths = tmp_path / "qrels.parquet", tmp_path / "run.parquet"
    assert_same(whole, rf.evaluate(*paths, EVERYTHING, max_memory="8kB"))
    assert_same(
        whole, rf.evaluate(*paths, EVERYTHING, max_memory="8kB", output=tmp_path / "result")
    )
    swapped = rf.agree(run, qrels, ["rbo", "fcp"], max_memory="8kB")
    assert_same(swapped, rf.agree(run, qrels, ["rbo", "fcp"]))


def test_rows_out_of_order_between_the_probes_are_noticed() -> None:
    qrels, run = sorted_shop()
    mixed = pl.concat([run[:100], run[200:210], run[100:200], run[210:]])
    found = partitions(qrels, mixed, 30)
    assert len(list(found)) < mixed.height // 30
    assert not found.complete
    whole = rf.evaluate(qrels, run, EVERYTHING)
    assert_same(whole, rf.evaluate(qrels, mixed, EVERYTHING, max_memory="8kB"))


def test_one_query_longer_than_a_stretch() -> None:
    run = pl.DataFrame({"query_id": "q", "doc_id": pl.int_range(500, eager=True)}).vstack(
        pl.DataFrame({"query_id": "r", "doc_id": pl.int_range(3, eager=True)})
    )
    run = run.with_columns(score=-pl.col("doc_id").cast(pl.Float64))
    qrels = run.filter(pl.col("doc_id") < 2).select("query_id", "doc_id", relevance=pl.lit(1.0))
    assert evaluated(qrels, run, 7).equals(rf.evaluate(qrels, run, EVERYTHING).per_query)


def test_what_can_be_read_from_anywhere(tmp_path: Path) -> None:
    _, run = sorted_shop()
    run.write_parquet(tmp_path / "run.parquet")
    run.write_csv(tmp_path / "run.csv")
    assert open_table(tmp_path / "run.parquet", "run").seekable
    assert open_table(run, "run").seekable
    assert not open_table(tmp_path / "run.csv", "run").seekable
    assert not open_table(run.lazy().filter(pl.col("score") > 0), "run").seekable


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
    places = sorted({3, 40, 90})
    assert any(f"at rows {p + 1} and {run.height + i + 1}" in twice for i, p in enumerate(places))
    for frame, bad in ((run, float("nan")), (run, None)):
        broken = frame.with_columns(
            score=pl.when(pl.int_range(pl.len()).is_in([70, 80])).then(bad).otherwise("score")
        )
        refusal(in_pieces, qrels, broken, 7, ["map"])


def test_text_for_numbers_is_refused_in_pieces(tmp_path: Path, refusal: Callable[..., str]) -> None:
    qrels, run = shop_like()
    path = tmp_path / "run.csv"
    run.with_columns(score=pl.lit("high")).write_csv(path)
    refusal(in_pieces, qrels, path, 3, ["map"])


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
    evaluation = prepare_evaluation(resolve("ndcg@10"), Policies()).with_max_grade(3.0)
    found = list(HashedPartitions(*sides, tmp_path, pieces))
    assert len(found) <= pieces
    assert sum(left.height + right.height for left, right in found) == qrels.height + run.height
    whole = evaluation.empty()
    for partition in found:
        whole.merge(evaluation.evaluate_partition(*partition))
    alone = evaluation.evaluate_partition(qrels, run)
    assert whole.join().equals(alone.join())
    assert whole.counts == alone.counts
