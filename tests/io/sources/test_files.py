"""Files, folders, globs and pipes: what is opened, and what is refused by its name."""

from __future__ import annotations

import gzip
import io
import os
import threading
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.io.formats import packing
from rankframe.io.opening import open_table
from rankframe.io.raw_table import InputRequest
from rankframe.io.sources.files import open_path, open_stream, trec_texts


def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("q1 0 a 1\n",))
    writer.start()
    assert rf.evaluate(pipe, {"q1": {"a": 1.0}}, "map")["map"] == 1
    writer.join()


def test_an_empty_path_is_refused(refusal) -> None:
    refusal(rf.evaluate, "", {"q1": {"a": 1.0}}, "map")


@pytest.mark.parametrize("pattern", ["*.parquet", "*.csv", "*.jsonl", "*.run", "*"])
def test_a_glob_that_matches_nothing_says_so(qrels, tmp_path, pattern: str, refusal) -> None:
    refusal(rf.evaluate, qrels, f"{tmp_path}/{pattern}", "map")


def test_a_missing_file_is_refused_with_one_that_is_there(qrels, run, tmp_path, refusal) -> None:
    run.write_parquet(tmp_path / "run.parquet")
    refusal(rf.evaluate, qrels, tmp_path / "runs.parquet", "map")
    refusal(rf.evaluate, qrels, tmp_path / "no" / "run.parquet", "map")


@pytest.mark.parametrize("content", [[], ["notes.txt"], ["run.csv"]], ids=str)
def test_a_folder_without_parquet_files_is_refused_as_that(
    qrels: pl.DataFrame, tmp_path: Path, content: list[str], refusal
) -> None:
    for name in content:
        (tmp_path / name).write_text("query_id,doc_id,score\n")
    text = refusal(rf.evaluate, qrels, tmp_path, "map")
    assert "no .parquet file" in text.removeprefix(f"cannot read {tmp_path}: ")


FRAME = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "score": [1.0, 2.0]})


def opened(path: object) -> pl.DataFrame:
    return open_path(str(path), InputRequest("run", "it")).frame.collect()


def test_brackets_in_a_name_are_a_name_where_there_is_such_a_file(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "run[1].parquet")
    FRAME.head(1).write_parquet(tmp_path / "run1.parquet")
    assert opened(tmp_path / "run[1].parquet").height == 2
    (tmp_path / "run[1].parquet").unlink()
    assert opened(tmp_path / "run[1].parquet").height == 1


def test_files_of_a_glob_come_in_order_and_from_folders_below(tmp_path: Path) -> None:
    for name, row in (("b/x.parquet", 1), ("a/deep/x.parquet", 0)):
        (tmp_path / name).parent.mkdir(parents=True)
        FRAME[[row]].write_parquet(tmp_path / name)
    assert opened(tmp_path / "**" / "*.parquet").equals(FRAME)
    assert opened(tmp_path).sort("query_id").equals(FRAME)


def test_a_tilde_is_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    FRAME.write_csv(tmp_path / "run.csv")
    assert opened("~/run.csv").height == 2


def test_values_in_the_names_of_folders_are_text(tmp_path: Path) -> None:
    for name in ("query_id=007/day=1", "query_id=7/day=2"):
        (tmp_path / name).mkdir(parents=True)
        FRAME[["doc_id", "score"]].head(1).write_parquet(tmp_path / name / "0.parquet")
    found = opened(tmp_path).sort("query_id")
    assert found.select("query_id", "day").rows() == [("007", "1"), ("7", "2")]


@pytest.mark.parametrize(
    "hidden",
    ["_temporary/0/part-1.parquet", ".part-0.parquet", "_SUCCESS", ".a.parquet.crc", "_x.parquet"],
)
def test_what_is_hidden_is_no_data(tmp_path: Path, hidden: str) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    (tmp_path / hidden).parent.mkdir(parents=True, exist_ok=True)
    FRAME.write_parquet(tmp_path / hidden)
    assert opened(tmp_path).equals(FRAME)


@pytest.mark.parametrize("name", ["b.PARQUET", "b.pq", "deep/b.Parq", "_x=1/b.parquet"])
def test_parquet_files_are_read_whatever_their_ending(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "_x=1" if "=" in name else tmp_path
    (tmp_path / name).parent.mkdir(exist_ok=True)
    FRAME[[0]].write_parquet(folder / "a.parquet")
    FRAME[[1]].write_parquet(tmp_path / name)
    assert opened(tmp_path).select(FRAME.columns).sort("query_id").equals(FRAME)


@pytest.mark.parametrize("name", ["b.csv", "deep/notes.txt", "b.parquet.tmp"])
def test_files_that_would_not_be_read_are_refused(tmp_path: Path, name: str, refusal) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("query_id,doc_id,score\n")
    refusal(opened, tmp_path)


@pytest.mark.parametrize("pattern", ["", "*.parquet"])
def test_a_part_without_bytes_is_refused(tmp_path: Path, pattern: str, refusal) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").touch()
    refusal(opened, tmp_path / pattern)


def test_a_folder_may_be_called_as_hive_calls_them(tmp_path: Path) -> None:
    for name in ("day=2026-01-01", "score=5"):
        (tmp_path / name).mkdir()
        FRAME.write_parquet(tmp_path / name / "a.parquet")
        assert opened(tmp_path / name).equals(FRAME)
    below = tmp_path / "day=2026-01-01" / "locale=de"
    below.mkdir()
    (below.parent / "a.parquet").rename(below / "a.parquet")
    found = opened(tmp_path / "day=2026-01-01")
    assert found.columns == [*FRAME.columns, "locale"]


def test_a_column_in_a_folder_name_does_not_replace_one_of_the_file(
    tmp_path: Path, refusal
) -> None:
    (tmp_path / "score=5").mkdir()
    FRAME.write_parquet(tmp_path / "score=5" / "a.parquet")
    refusal(opened, tmp_path)
    (tmp_path / "score=5" / "day=1").mkdir()
    FRAME.write_parquet(tmp_path / "score=5" / "day=1" / "a.parquet")
    refusal(opened, tmp_path)


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    FRAME.write_parquet(there / "a.parquet")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "linked").symlink_to(there)
    (folder / "circle").symlink_to(folder)
    assert opened(folder).equals(FRAME)


def test_empty_files_are_empty_whatever_their_ending(tmp_path: Path, refusal) -> None:
    for name in ("x.parquet", "x.csv", "x"):
        (tmp_path / name).touch()
        refusal(open_path, str(tmp_path / name), InputRequest("run", "it"))
    refusal(open_path, f"{tmp_path}/x*", InputRequest(None, "all"))


def test_what_looks_like_nothing_is_refused_with_what_is_read(tmp_path: Path, refusal) -> None:
    (tmp_path / "x.doc").write_bytes(b"one word\n")
    refusal(open_path, str(tmp_path / "x.doc"), InputRequest("run", "it"))


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_is_read_by_its_beginning(packed: bool, refusal) -> None:
    content = FRAME.write_csv().encode()
    file = io.BytesIO(gzip.compress(content) if packed else content)
    assert (
        open_stream(file, InputRequest("run", "it")).frame.select("query_id").collect().height == 2
    )
    refusal(open_stream, io.BytesIO(b" \n"), InputRequest("run", "it"))
    closed = io.BytesIO()
    closed.close()
    refusal(open_stream, closed, InputRequest("run", "it"))
    # what looks like nothing is TREC text with a line that is wrong
    refusal(open_stream, io.BytesIO(b"one word\n"), InputRequest("run", "it"))


def test_trec_text_is_found_whatever_holds_it(tmp_path: Path) -> None:
    text = b"q1 0 a 1\n"
    for name in ("1.tsv", "2.tsv"):
        (tmp_path / name).write_bytes(text)
    both = [str(tmp_path / name) for name in ("1.tsv", "2.tsv")]
    assert trec_texts(tmp_path / "1.tsv") == both[:1]
    assert trec_texts(str(tmp_path / "*.tsv")) == both
    for content in (text, gzip.compress(text)):
        found = trec_texts(io.BytesIO(content)) or []
        assert [isinstance(held, io.BytesIO) and held.getvalue() for held in found] == [text]


def test_what_is_no_trec_text_is_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("query_id,doc_id,relevance\nq,a,1\n")
    nothing = (tmp_path / "x.csv", tmp_path / "none", tmp_path, "s3://bucket/x.run", {}, "")
    assert [trec_texts(source) for source in nothing] == [None] * len(nothing)
    for content in (b"", b"\n", b"query_id,doc_id\n", gzip.compress(b"q 0 a 1\n")[:-5]):
        assert trec_texts(io.BytesIO(content)) is None


def test_a_packed_pipe_that_does_not_end_is_refused(
    refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_MOST_UNPACKED", 1 << 20)
    line = b"q1 Q0 a 1 0.5 tag\n"
    bomb, plenty, large = (
        gzip.compress(line * (1 << 19)),
        gzip.compress(line * (1 << 15)),  # as many times as large, but not large
        gzip.compress(b"".join(b"q1 Q0 %d 1 0.5 tag\n" % n for n in range(1 << 16))),
    )
    refusal(open_stream, io.BytesIO(bomb), InputRequest("run", "the run on stdin"))
    refusal(trec_texts, io.BytesIO(bomb))
    assert (
        open_stream(io.BytesIO(plenty), InputRequest("run", "r")).frame.collect().height == 1 << 15
    )
    assert (
        open_stream(io.BytesIO(large), InputRequest("run", "r")).frame.collect().height == 1 << 16
    )


def test_what_holds_nothing_but_blanks_is_empty(refusal) -> None:
    for content in (b"", b" \n" * 5, gzip.compress(b"\n" * (5 << 20)), b"\n" * (5 << 20)):
        refusal(open_stream, io.BytesIO(content), InputRequest("run", "r"))
        assert trec_texts(io.BytesIO(content)) is None


def test_a_column_of_any_file_is_not_replaced_by_the_name_of_its_folder(
    tmp_path: Path, refusal
) -> None:
    for day, frame in (("1", FRAME.drop("score")), ("2", FRAME)):
        (tmp_path / f"score={day}").mkdir()
        frame.write_parquet(tmp_path / f"score={day}" / "a.parquet")
    refusal(opened, tmp_path)


def test_a_folder_of_many_files_is_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its files, not each of them for each of them."""
    for number in range(30):
        FRAME.write_parquet(tmp_path / f"{number}.parquet")
    asked: list[Path] = []
    hashed = Path.__hash__
    monkeypatch.setattr(Path, "__hash__", lambda self: asked.append(self) or hashed(self))
    assert opened(tmp_path).height == 30 * FRAME.height
    assert len(asked) < 300


@pytest.mark.parametrize("name", ["r\udcff.csv", "folder\udcff", "r\ud800.parquet"])
def test_a_name_that_is_no_text_is_refused(name: str, tmp_path: Path, refusal) -> None:
    if name.startswith("r\udcff"):
        Path(tmp_path / name).write_text("query_id,doc_id,score\n1,2,3\n")
    refusal(open_table, str(tmp_path / name), "run")
