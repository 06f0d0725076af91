"""What a fused run says of itself, read again; and which runs it was made of."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import rankframe as rf
from rankframe.analysis.fusion.fuse import recorded

A = {"q": {"a": 2.0, "b": 1.0}}
B = {"q": {"b": 2.0, "c": 1.0}}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    rf.fuse({"a": A, "b": B}, "wsum", weights=[1, 2], norm="zmuv", depth=5, output=target)
    for source in (target, str(target)):
        found = recorded(source)
        assert found is not None
        assert (found.name, found.label, found.norm) == ("wsum", "wsum", "zmuv")
        assert (found.weights, found.depth, list(found.runs)) == ((1.0, 2.0), 5, ["a", "b"])
    rf.fuse({"a": A, "b": B}, "rrf(k=9)", output=target, overwrite=True)
    found = recorded(target)
    assert found is not None
    assert (found.name, found.label, found.weights) == ("rrf", "rrf(k=9)", None)


def test_what_is_no_fusion_says_nothing(tmp_path: Path) -> None:
    own, plain = tmp_path / "own.parquet", tmp_path / "plain.parquet"
    rf.fuse({"a": A, "b": B}, pl.col("rank").sum(), output=own)
    rf.fuse({"a": A, "b": B}, output=tmp_path / "x.csv")
    pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]}).write_parquet(plain)
    frame = rf.fuse({"a": A, "b": B})
    for source in (own, plain, tmp_path / "x.csv", tmp_path, "none", "a\0b", frame, A):
        assert recorded(source) is None


def test_its_runs_are_known_by_name_or_by_file(tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.parquet" for name in ("one", "two")}
    for path in files.values():
        pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]}).write_parquet(path)
    target = tmp_path / "fused.parquet"
    rf.fuse(list(files.values()), output=target)
    found = recorded(target)
    assert found is not None
    assert found.parts({"two": B, "other": A, "one": A}) == ("one", "two")
    assert found.parts({"new": files["two"], "old": str(files["one"])}) == ("old", "new")
    assert found.parts({"one": A, "other": B}) is None
    # one file under two names is not two runs
    assert found.parts({"one": A, "other": files["one"]}) is None
