"""Text that goes through temporary files is read as if it had been read whole."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankframe.core.errors import RankframeError
from rankframe.io.formats import packing
from rankframe.io.raw_table import InputRequest, RawTable
from rankframe.io.sources import spool
from rankframe.io.sources.files import open_path, open_stream

LINES = [f"q{n // 7} Q0 d{n} {n % 7 + 1} {n / 8} tag" for n in range(300)]
GRADES = [f"q{n // 7} 0 d{n} {n % 3}" for n in range(300)]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch, set_scratch, tmp_path: Path) -> None:
    """All texts are large, and cut into blocks of a few lines."""
    monkeypatch.setattr(packing, "_SMALL", 0)
    monkeypatch.setattr(spool, "_BLOCKS", (300, 300))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    set_scratch(scratch)


def changed(lines: list[str], changes: dict[int, str]) -> str:
    return "\n".join(changes.get(n, line) for n, line in enumerate(lines)) + "\n"


def json_lines(**late: Any) -> str:
    """Rows of which one in the middle is another."""
    rows = [f'{{"query_id": "q{n}", "doc_id": {n}, "score": {n}.5}}' for n in range(200)]
    other = ", ".join(f'"{name}": {value}' for name, value in late.items())
    rows[150] = f'{{"query_id": "x", {other}}}'
    return "\n".join(rows)


TEXTS = {
    "run.trec": changed(LINES, {}),
    "tabs.trec": changed(LINES, {}).replace(" ", "\t"),
    "uneven.trec": changed(LINES, {0: "# a comment", 9: "", 200: "  q9\tQ0 x 1  2.5 t and more"}),
    "mark.trec": "\ufeff" + changed(LINES, {150: "#q 0 d 1 2 t"}),
    "ranks.trec": changed(LINES, {250: "q90 Q0 x first 2.5 tag"}),
    "early_ranks.trec": changed(LINES, {0: "q90 Q0 x first 2.5 tag"}),
    "whole.trec": changed(LINES, {250: "q90 Q0 x 1 9007199254740993 tag", 3: "q Q0 y 1 1e22 t"}),
    "comments_first.trec": "# such a long comment\n" * 40 + changed(LINES, {}),
    "last.trec": changed(LINES, {}).rstrip("\n"),
    "run.csv": "query_id,doc_id,score\n" + "".join(f"q{n},d{n},{n}.50\n" for n in range(300)),
    "semicolons.csv": "query_id;doc_id;score\n" + "".join(f"q{n};d{n};1\n" for n in range(300)),
    "run.tsv": "query_id\tdoc_id\tscore\n" + "".join(f"q{n}\td{n}\t{n}\n" for n in range(300)),
    "quotes.csv": "query_id,doc_id,score\r\n"
    + "".join(f'"q\n{n}","say ""{n}"", twice\n\n",{n}\r\n' for n in range(200)),
    "gaps.csv": "query_id,doc_id,score\n" + "".join(f"q{n},d{n}\n\n" for n in range(300)),
    "run.jsonl": json_lines(doc_id=7, score=1.5),
    "text.jsonl": json_lines(doc_id='"seven"', score=1.5),
    "floats.jsonl": json_lines(doc_id="1e3", score=2),
    "texts_of_floats.jsonl": json_lines(doc_id=1, score='"1.50"'),
    "more.jsonl": json_lines(doc_id=1, score="null", other='{"a": [1, 2]}'),
}


def is_spooled(opened: RawTable) -> bool:
    return opened.files is not None


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", TEXTS)
def test_the_same_table_as_whole(name: str, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / (f"{name}.gz" if packed else name)
    content = TEXTS[name].encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    whole = open_path(str(path), InputRequest("run", name)).frame.collect()
    large = open_path(str(path), InputRequest("run", name, limit=1))
    assert is_spooled(large)
    assert large.seekable
    assert large.frame.collect().equals(whole)
    assert large.frame.collect_schema() == whole.schema
    assert large.frame.slice(100, 20).collect().equals(whole[100:120])


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", ["run.trec", "quotes.csv", "text.jsonl", "run.parquet"])
def test_a_pipe_is_saved_first(name: str, packed: bool) -> None:
    if name == "run.parquet":
        frame, held = pl.DataFrame({"query_id": ["q"] * 99}), io.BytesIO()
        frame.write_parquet(held)
        content, packed = held.getvalue(), False
    else:
        content = TEXTS[name].encode()
    pipe = _Pipe(gzip.compress(content) if packed else content)
    whole = open_stream(io.BytesIO(content), InputRequest("run", name)).frame.collect()
    large = open_stream(pipe, InputRequest("run", name, limit=1))
    assert is_spooled(large)
    assert large.frame.collect().equals(whole)


class _Pipe(io.BytesIO):
    """Gives less than it is asked for."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size, 100) if size and size > 0 else size)


def test_files_of_text_are_one_table(tmp_path: Path) -> None:
    for number, name in enumerate(("run.trec", "ranks.trec", "whole.trec")):
        (tmp_path / f"{number}.trec").write_text(TEXTS[name])
    for number in range(2):
        (tmp_path / f"{number}.csv").write_text(TEXTS["run.csv"])
    for pattern in ("*.trec", "*.csv"):
        whole = open_path(str(tmp_path / pattern), InputRequest("run", "runs")).frame.collect()
        large = open_path(str(tmp_path / pattern), InputRequest("run", "runs", limit=1))
        assert is_spooled(large)
        assert large.frame.collect().equals(whole)


@pytest.mark.parametrize("header", ["query_id,doc_id,other", "doc_id,query_id,score"])
def test_tables_with_other_columns_are_left_to_who_reads_them_whole(
    header: str, tmp_path: Path
) -> None:
    (tmp_path / "1.csv").write_text(TEXTS["run.csv"])
    (tmp_path / "2.csv").write_text(TEXTS["run.csv"].replace("query_id,doc_id,score", header))
    assert not is_spooled(open_path(str(tmp_path / "*.csv"), InputRequest("run", "runs", limit=1)))


@pytest.mark.parametrize("header", ['query_id,"doc\nid",score\n', ""])
def test_tables_without_a_header_on_one_line_are_read_whole(header: str, tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text(header + "".join(f"{n // 3},{n},{n % 3 + 1}\n" for n in range(300)))
    assert not is_spooled(open_path(str(path), InputRequest("run", "run.csv", limit=1)))


MISTAKES = {
    "fields.trec": changed(LINES, {200: "q90 Q0 x", 280: "q91"}),
    "number_then_fields.trec": changed(LINES, {20: "q Q0 x 1 high t", 280: "q91 Q0 x"}),
    "numbers.trec": changed(LINES, {20: "q Q0 x 1 high t", 200: "q Q0 x 1 low t"}),
    "blank_in_id.trec": changed(LINES, {100: "q 90 Q0 x 1 2.5 t"}),
    "qrels.trec": changed(GRADES, {}),
    "nothing.trec": "# only a comment\n" * 100,
    "cut.jsonl": TEXTS["run.jsonl"] + '\n{"query_id": "q"',
    "twice.jsonl": TEXTS["run.jsonl"] + '\n{"query_id": "q", "query_id": "r"}' * 30,
    "ragged.csv": TEXTS["run.csv"] + "q,d,1,2,3\n",
    "not_text.trec": changed(LINES, {200: "q\udcff Q0 d 1 2 t"}),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_said_of_the_whole(
    name: str, tmp_path: Path, refusal: Callable[..., str]
) -> None:
    path = tmp_path / name
    path.write_bytes(MISTAKES[name].encode(errors="surrogateescape"))

    def read(limit: int | None = None) -> pl.DataFrame:
        try:
            return open_path(str(path), InputRequest("run", name, limit=limit)).frame.collect()
        except pl.exceptions.PolarsError as error:
            raise RankframeError(type(error).__name__) from error

    assert refusal(read, 1) == refusal(read)
    assert not any((tmp_path / "scratch").iterdir())


def test_the_first_line_says_what_it_is_where_nobody_does(tmp_path: Path) -> None:
    (tmp_path / "q.trec").write_text("# judged by hand\n" * 50 + changed(GRADES, {}))
    whole = open_path(str(tmp_path / "q.trec"), InputRequest(None, "q")).frame.collect()
    assert whole.columns == ["query_id", "doc_id", "relevance"]
    large = open_path(str(tmp_path / "q.trec"), InputRequest(None, "q", limit=1))
    assert large.frame.collect().equals(whole)


def test_random_blanks_and_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(5)
    for seed in range(8):
        lines = [line.replace(" ", draw.choice([" ", "\t", "  "])) for line in LINES]
        lines = [line if draw.random() > 0.1 else "" for line in lines]
        path = tmp_path / f"{seed}.trec"
        path.write_text("\n".join(lines))
        size = draw.randrange(1, 500)
        monkeypatch.setattr(spool, "_BLOCKS", (size, size))
        whole = open_path(str(path), InputRequest("run", "run")).frame.collect()
        assert (
            open_path(str(path), InputRequest("run", "run", limit=1)).frame.collect().equals(whole)
        )


def test_files_go_with_the_last_who_holds_them(tmp_path: Path) -> None:
    (tmp_path / "run.trec").write_text(TEXTS["run.trec"])
    scratch = tmp_path / "scratch"
    large = open_path(str(tmp_path / "run.trec"), InputRequest("run", "run", limit=1))
    assert any(scratch.iterdir())
    del large
    assert not any(scratch.iterdir())


def test_what_is_small_beside_the_limit_is_held(tmp_path: Path) -> None:
    for name in ("run.trec", "run.csv", "run.jsonl"):
        path = tmp_path / f"{name}.gz"
        path.write_bytes(gzip.compress(TEXTS[name].encode()))
        assert not is_spooled(open_path(str(path), InputRequest("run", name, limit=1 << 30)))
        assert not is_spooled(
            open_stream(io.BytesIO(path.read_bytes()), InputRequest("run", "r", limit=1 << 30))
        )


@pytest.mark.parametrize("believed", [False, True])
def test_how_much_a_file_unpacks_to(believed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_LOOKED_AT", 0 if believed else 1 << 40)
    packed = gzip.compress(b"q1 Q0 d1 1 2.5 tag\n" * 10_000)
    assert spool.is_large([io.BytesIO(packed)], 8 * 189_000)
    assert not spool.is_large([io.BytesIO(packed)], 8 * 191_000)
    # Of several in one file, the last says how large it is itself.
    twice = spool.is_large([io.BytesIO(packed * 2)], 8 * 300_000)
    assert twice is not believed


def test_a_line_without_end_is_refused(
    tmp_path: Path, refusal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "_LONGEST", 2_000)
    (tmp_path / "run.csv").write_text('query_id,doc_id,score\n"q1,d1,1\n' + "q2,d2,2\n" * 1000)
    refusal(open_path, str(tmp_path / "run.csv"), InputRequest("run", "run.csv", limit=1))


def test_a_full_disk_is_said_to_be_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool, "_write", full)
    (tmp_path / "run.trec").write_text(TEXTS["run.trec"])
    refusal(open_path, str(tmp_path / "run.trec"), InputRequest("run", "run", limit=1))
    assert not any((tmp_path / "scratch").iterdir())
