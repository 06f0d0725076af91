"""`rf.fuse`: what it gives and writes; the same bits whatever the order, threads and pieces."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.fusion.methods import METHODS
from rankframe.core.errors import OptionError, OutputError, RankframeError
from rankframe.core.options import Progress
from tests.support.fusing import QRELS, random_runs

ROOT = Path(__file__).parents[3]
A = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 1.0}}
B = {"q1": {"c": 0.9, "d": 0.5}, "q0": {"z": 1.0}}


def test_a_run_by_query_and_rank() -> None:
    found = rf.fuse({"a": A, "b": B}, "rrf(k=0)").collect()
    assert found.schema == {
        "query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64, "score": pl.Float64,
    }  # fmt: skip
    assert found.rows() == [
        ("q0", "z", 1, 1.0),
        ("q1", "c", 1, 1 / 3 + 1),
        ("q1", "a", 2, 1.0),
        # equal: doc_id descending
        ("q1", "d", 3, 0.5),
        ("q1", "b", 4, 0.5),
        ("q2", "a", 1, 1.0),
    ]


def test_how_much_is_read_and_kept() -> None:
    found = rf.fuse([A, B], "rrf", depth=1).collect()
    assert found["doc_id"].to_list() == ["z", "c", "a", "a"]
    kept = rf.fuse([A, B], "rrf", k_max=2).collect()
    assert kept["doc_id"].to_list() == ["z", "c", "a", "a"]
    assert kept["rank"].to_list() == [1, 1, 2, 1]


def test_it_is_lazy() -> None:
    lazy = rf.fuse([A, B])
    assert lazy.select("doc_id").head(1).collect().to_dict(as_series=False) == {"doc_id": ["z"]}
    assert lazy.filter(pl.col("rank") == 1).collect().height == 3


def test_whole_numbers_as_ids_are_matched_as_such_and_given_as_text() -> None:
    runs = [
        pl.DataFrame({"query_id": [2, 2, 10], "doc_id": [7, 11, 7], "score": [2.0, 1.0, 1.0]}),
        pl.DataFrame({"query_id": [2, 10], "doc_id": [11, 9], "score": [2.0, 1.0]}),
    ]
    found = rf.fuse(runs, "rrf(k=0)").collect()
    assert found.select("query_id", "doc_id").rows() == [
        ("10", "9"), ("10", "7"), ("2", "11"), ("2", "7"),
    ]  # fmt: skip
    texts = [run.cast({"query_id": pl.String, "doc_id": pl.String}) for run in runs]
    assert rf.fuse(texts, "rrf(k=0)").collect().equals(found)
    assert rf.fuse([runs[0], texts[1]], "rrf(k=0)").collect().equals(found)


def test_runs_with_ranks_alone(message) -> None:
    lists = {"q": ["a", "b", "c"]}
    assert rf.fuse([lists, A], "rrf").collect().height == 7
    assert rf.fuse([lists, A], "sum", norm="rank").collect().height == 7
    for norm in (None, "none"):
        with pytest.raises(OptionError) as found:
            rf.fuse({"lists": lists, "a": A}, "sum", norm=norm)
        message(str(found.value))


def test_judgments_for_trained_methods_and_no_others(message) -> None:
    with pytest.raises(OptionError) as found:
        rf.fuse([A, B], "mapfuse")
    message(str(found.value))
    with pytest.raises(OptionError) as found:
        rf.fuse([A, B], "rrf", qrels=QRELS)
    message(str(found.value))


@pytest.mark.parametrize(
    "how", [{"depth": 0}, {"k_max": 1.5}, {"ties": "x"}, {"order": "row"}, {"columns": {"x": "y"}}]
)
def test_options_are_checked(how: dict[str, object]) -> None:
    with pytest.raises(RankframeError):
        rf.fuse([A, B], **how)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("ending", ["parquet", "csv", "trec", "jsonl", "tsv.gz"])
def test_outputs_in_any_format(ending: str, tmp_path: Path, message) -> None:
    target = tmp_path / f"hybrid.{ending}"
    expected = rf.fuse([A, B]).collect()
    found = rf.fuse([A, B], output=target).collect()
    assert found.select("query_id", "doc_id", "score").equals(
        expected.select("query_id", "doc_id", "score")
    )
    again = rf.evaluate({"q1": {"c": 1}}, target, "mrr")
    assert again["mrr"] == 1.0
    with pytest.raises(OutputError) as refused:
        rf.fuse([A, B], output=target)
    message(str(refused.value))
    rf.fuse([A, B], "sum", output=target, overwrite=True)


def test_an_output_says_what_it_is(tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    rf.fuse({"a": A, "b": B}, "wsum", weights=[1, 2], output=target)
    about = json.loads(pl.read_parquet_metadata(target)["rankframe"])
    assert about["fusion"] == {
        "name": "wsum", "method": "wsum", "norm": "min_max",
        "parameters": {"weights": [1.0, 2.0]}, "depth": None,
    }  # fmt: skip
    assert list(about["inputs"]) == ["a", "b"]
    rf.fuse({"a": A, "b": B}, pl.col("rank").sum(), output=tmp_path / "y.parquet")


def test_an_output_is_no_input_and_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    run = tmp_path / "a.parquet"
    pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]}).write_parquet(run)
    with pytest.raises(OutputError) as found:
        rf.fuse([run, A], output=run, overwrite=True)
    assert "is also an input" in str(found.value)
    with pytest.raises(RankframeError):
        rf.fuse([run, {"q": {"a": float("nan")}}], output=tmp_path / "x.parquet")
    with pytest.raises(OutputError):
        rf.fuse([run, A], output=tmp_path / "x.png")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.parquet"]


def test_progress_is_told() -> None:
    told: list[Progress] = []
    rf.fuse(random_runs(1, 2), progress=told.append).collect()
    assert told[0].stage == "reading"
    assert told[-1].stage == "fusing"
    assert told[-1].rows == told[-1].total_rows > 0


METHODS_BITS = {
    "rrf": {}, "sum": {}, "mnz": {"norm": "zmuv"}, "anz": {"norm": "sum"}, "med": {},
    "wsum": {"weights": [0.1, 0.2, 0.7]}, "mixed": {"weights": [0.1, 0.2, 0.7], "norm": "borda"},
    "condorcet": {}, "w_condorcet": {"weights": [0.1, 0.2, 0.3]}, "rbc(phi=.9)": {},
    "bordafuse": {}, "logn_isr": {}, "gmnz(gamma=.3)": {}, "segfuse": {"qrels": QRELS},
    "slidefuse(window=2)": {"qrels": QRELS}, "probfuse(segments=3)": {"qrels": QRELS},
    "mapfuse": {"qrels": QRELS}, "bayesfuse": {"qrels": QRELS},
}  # fmt: skip


def everything(runs: dict[str, pl.DataFrame], **how: object) -> dict[str, str]:
    """A hash of the bits of many methods."""
    found: dict[str, str] = {}
    for method, params in METHODS_BITS.items():
        frame = rf.fuse(runs, method, **params, **how).collect()  # pyright: ignore[reportArgumentType]
        told = hashlib.sha256(frame["score"].to_numpy().tobytes())
        told.update("|".join([*frame["query_id"], *frame["doc_id"]]).encode())
        found[method] = told.hexdigest()
    return found


def test_units_keep_the_ranks_of_their_best_chunks_if_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unit = pl.col("doc_id").str.split("#").list.first()
    a = {"q": {"x#1": 5.0, "x#2": 4.0, "y#1": 3.0, "z#1": 3.0}, "p": {"z#1": 1.0}}
    b = {"q": {"y#2": 9.0, "y#3": 8.0, "w#1": 7.0, "x#9": 6.0}}
    ranks: dict[Any, Any] = {
        "renumbered": ({"x": 1, "z": 2, "y": 3}, {"y": 1, "w": 2, "x": 3}),
        "kept": ({"x": 1, "z": 3, "y": 4}, {"y": 1, "w": 3, "x": 4}),
    }
    for gaps, (one, other) in ranks.items():
        expected = {}
        for doc in "wxyz":
            expected[doc] = sum(1 / (60 + side[doc]) for side in (one, other) if doc in side)
        for pieces in (1, 3):
            monkeypatch.setattr(
                "rankframe.analysis.fusion.runs.count_partitions", lambda *_, n=pieces: n
            )
            found = rf.fuse({"a": a, "b": b}, unit=unit, unit_ranks=gaps).collect()
            of = dict(found.filter(query_id="q").select("doc_id", "score").rows())
            assert of == expected, gaps
    # A depth is one of chunks then.
    found = rf.stack({"a": a, "b": b}, unit=unit, unit_ranks="kept", depth=3).collect()
    assert found.filter(query_id="q").select("run", "doc_id", "rank", "score").rows() == [
        ("a", "x", 1, 5.0), ("a", "z", 3, 3.0), ("b", "y", 1, 9.0), ("b", "w", 3, 7.0),
    ]  # fmt: skip
    table = {doc: doc[0] for run in (a, b) for docs in run.values() for doc in docs}
    qrels = {"q": {"z": 1, "w": 1}, "p": {"z": 1}}
    for method in ("posfuse", "mapfuse"):
        options = {"unit": table, "unit_ranks": "kept", "qrels": qrels}
        rf.fuse({"a": a, "b": b}, method, **options).collect()


def test_same_bits_in_any_order_of_rows_and_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = random_runs(7, 3)
    expected = everything(runs)
    own = (pl.col("normalised") / pl.col("rank")).sum()
    by_own = rf.fuse(runs, own).collect()
    shuffled = {n: run.sample(fraction=1, shuffle=True, seed=3) for n, run in runs.items()}
    assert everything(shuffled) == expected
    assert rf.fuse(shuffled, own).collect().equals(by_own)
    monkeypatch.setattr("rankframe.analysis.fusion.runs._LARGEST_BLOCK", 40)
    assert everything(runs) == expected
    for pieces in (2, 7):
        monkeypatch.setattr(
            "rankframe.analysis.fusion.runs.count_partitions", lambda *_, n=pieces: n
        )
        assert everything(shuffled) == expected
        assert rf.fuse(shuffled, own).collect().equals(by_own)


@pytest.mark.parametrize("threads", [1, 3])
def test_same_bits_on_any_number_of_threads(threads: int) -> None:
    code = (
        "import json; from tests.analysis.fusion.test_fuse import everything, random_runs;"
        "print(json.dumps(everything(random_runs(7, 3))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "POLARS_MAX_THREADS": str(threads)},
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == everything(random_runs(7, 3))


def test_every_family_is_among_those_whose_bits_are_compared() -> None:
    names = {name.partition("(")[0] for name in METHODS_BITS}
    assert {METHODS[name].family for name in names} == {one.family for one in METHODS.values()}
