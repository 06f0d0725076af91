"""Train, items, catalogue, base, units and queries are read, and refused, as judgments and runs."""

from __future__ import annotations

import gzip
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.errors import RankframeError, UnreadableInputError
from rankframe.frames.catalogue import Catalogue
from rankframe.io.formats.packing import by_name
from rankframe.io.inputs import units_of
from rankframe.io.queries import read_attributes
from tests.cli.shell import rankframe

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}
RUN = {"q1": {"a": 0.5, "b": 0.7}, "q2": {"c": 0.4, "a": 0.2}}
# Each side input as CSV, and an evaluation that reads it.
SIDES: dict[str, tuple[str, dict[str, Any]]] = {
    "train": ("query_id,doc_id,count\nq1,a,3\nq2,b,1\n", {"metrics": "novelty@2"}),
    "reference": ("query_id,doc_id,score\nq1,a,3\nq2,b,1\n", {"metrics": "unexpectedness@2"}),
    "items": ("doc_id,genre\na,x\nb,y\nc,x\n", {"metrics": "coverage@2"}),
    "catalogue": ("doc_id\na\nb\nc\n", {"metrics": "coverage@2"}),
    "unit": ("doc_id,unit\na,a\nb,a\nc,c\n", {"metrics": "ndcg@2"}),
    "queries": (
        "query_id,device,weight\nq1,x,3\nq2,y,1\n",
        {"metrics": "ndcg(average=weighted)@2", "weight": "weight", "by": "device"},
    ),
}


def evaluate(side: str, path: Path) -> rf.Result:
    return rf.evaluate(QRELS, RUN, **{side: str(path)}, **SIDES[side][1])


@pytest.mark.parametrize("side", SIDES)
def test_a_side_input_that_cannot_be_decoded_is_refused(side: str, tmp_path: Path) -> None:
    text, path = SIDES[side][0], tmp_path / "side.csv"
    path.write_bytes(text.replace("a", "\xe9", 1).encode("latin-1") + b"\xe9,\xe9,\xe9\n")
    with pytest.raises(RankframeError):
        evaluate(side, path)
    path.write_bytes(gzip.compress(text.encode())[:-12])
    with pytest.raises(UnreadableInputError):
        evaluate(side, path)


def spoil(side: str, kind: str, folder: Path) -> Path:
    """Write a side input that cannot be read, or that has a bad value of a million characters."""
    text = SIDES[side][0]
    header, row, *_ = text.splitlines()
    table, path = pl.read_csv(text.encode()), folder / kind
    lines = {
        "latin.csv": text.replace("a", "\xe9", 1) + "\xe9,\xe9,\xe9\n",
        "number.csv": text.replace("3", "1_000"),
        "long_number.csv": text.replace("3", "9x" * 500_000),
        "long_id.csv": "\n".join(
            [header, *2 * [f"{'q' * 1_000_000}{row}", f"{'q' * 10**6}{row}x"]]
        ),
    }
    if kind in lines:
        path.write_text(lines[kind], encoding="latin-1" if kind == "latin.csv" else "utf-8")
    elif kind.startswith("delta"):
        table.write_delta(path)
        (file,) = path.glob("*.parquet")
        file.unlink() if kind == "delta_gone" else file.write_bytes(file.read_bytes()[:-9])
    else:
        table.write_parquet(path)
        content = path.read_bytes()
        damaged = content[: len(content) // 2], content[:40] + bytes(60) + content[100:]
        path.write_bytes(damaged[kind == "damaged.parquet"])
    return path


KINDS = (
    "latin.csv", "number.csv", "long_number.csv", "long_id.csv", "cut.parquet", "damaged.parquet",
    "delta_gone", "delta_cut",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", SIDES)
def test_a_spoilt_side_input_is_refused_in_one_short_line(
    side: str, kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = spoil(side, kind, tmp_path)
    try:
        evaluate(side, path)
        refusal = ""
    except RankframeError as error:
        refusal = str(error)
    assert len(refusal) < 600
    numbered = side in ("train", "reference", "queries")
    assert refusal or (not numbered and "number" in kind) or kind == "long_id.csv"
    qrels, run = tmp_path / "q.parquet", tmp_path / "r.parquet"
    frames = ((QRELS, qrels, "relevance"), (RUN, run, "score"))
    for source, target, value in frames:
        rows = [(query, doc, n) for query, docs in source.items() for doc, n in docs.items()]
        pl.DataFrame(rows, ["query_id", "doc_id", value], orient="row").write_parquet(target)
    flags = [(f"--{name.removesuffix('s')}", value) for name, value in SIDES[side][1].items()]
    code, _, err = rankframe("evaluate", qrels, run, f"--{side}", path, *sum(flags, ()))
    assert code == (2 if refusal else 0)
    assert err.count("\n") == 1 if refusal else "Traceback" not in err
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("limit", [None, "300MB"])
def test_rows_that_polars_panics_over_are_not_left_out(tmp_path: Path, limit: str | None) -> None:
    for query, docs in RUN.items():
        rows = {"query_id": query, "doc_id": list(docs), "score": list(docs.values())}
        pl.DataFrame(rows).write_delta(tmp_path / "run", mode="append")
    whole = pl.scan_delta(tmp_path / "run")
    assert (rf.evaluate(QRELS, whole, "ndcg@2", max_memory=limit)["ndcg@2"] or 0) > 0
    file = next((tmp_path / "run").glob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(RankframeError, match="damaged"):
        rf.evaluate(QRELS, pl.scan_delta(tmp_path / "run"), "ndcg@2", max_memory=limit)


@pytest.mark.parametrize("side", SIDES)
def test_a_damaged_parquet_file_is_refused(side: str, tmp_path: Path) -> None:
    path = tmp_path / "side.parquet"
    pl.read_csv(SIDES[side][0].encode()).write_parquet(path)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], content[:40] + bytes(60) + content[100:]):
        path.write_bytes(damaged)
        with pytest.raises(RankframeError):
            evaluate(side, path)


@pytest.mark.parametrize("side", ["train", "reference", "queries"])
def test_text_in_a_column_of_numbers_is_quoted(side: str, tmp_path: Path, refusal) -> None:
    path = tmp_path / "side.csv"
    path.write_text(SIDES[side][0].replace("3", "1_000"))
    refusal(evaluate, side, path)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "jsonl"])
def test_counts_of_train_are_the_same_in_all_formats(ending: str, tmp_path: Path) -> None:
    train = pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "count": [3, 1]})
    path = tmp_path / f"train.{ending}"
    if ending == "parquet":
        train.write_parquet(path)
    elif ending == "jsonl":
        train.write_ndjson(path)
    else:
        text = train.write_csv(separator="\t" if ending == "tsv" else ",").encode()
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    metrics = ["efd@2", "long_tail@2", "novelty@2"]
    expected = rf.evaluate(QRELS, RUN, metrics, train=train).means
    assert rf.evaluate(QRELS, RUN, metrics, train=str(path)).means == expected
    ignored = rf.evaluate(QRELS, RUN, metrics, train=train.drop("count")).means
    assert ignored != expected


def test_what_is_held_as_a_whole_is_bounded(tmp_path: Path, refusal) -> None:
    rows = 200_000
    ids = [f"document-{number:012}" for number in range(rows)]
    items = pl.DataFrame({"doc_id": ids, "unit": ids, "title": "x" * 100})
    path = tmp_path / "items.csv.gz"
    path.write_bytes(gzip.compress(items.write_csv().encode()))
    limit = 1 << 24
    refusal(Catalogue.from_inputs, None, str(path), None, limit=limit)
    refusal(units_of, str(path), limit // 4)
    queries = items.rename({"doc_id": "query_id"})
    refusal(read_attributes, queries.lazy(), by="title", limit=limit)
    assert units_of(str(path), 1 << 30).height == rows


@pytest.mark.parametrize(
    ("side", "ending"),
    [
        *((side, ".json.gz") for side in ("run", "qrels", "items", "unit", "train", "queries")),
        *(("run", ending) for ending in (".json", ".json.zst", ".json.bz2", ".txt.gz")),
    ],
)
def test_a_json_document_that_is_large_for_the_limit_is_refused(
    side: str, ending: str, tmp_path: Path, refusal
) -> None:
    row = b'{"query_id": "q1", "doc_id": "a", "unit": "u", "score": 1, "device": "x"}'
    text, path = b"[" + b", ".join([row] * 175_000) + b"]", tmp_path / f"large{ending}"
    with path.open("wb") as file:
        packing = by_name(path)
        with packing.write(file) if packing else nullcontext(file) as packed:
            packed.write(text)
    options = {"qrels": QRELS, "run": RUN, **SIDES.get(side, ("", {"metrics": "ndcg@2"}))[1]}
    if side == "queries":
        options = {**options, "metrics": "ndcg@2", "by": "device", "weight": None}
    said = refusal(rf.evaluate, **{**options, side: str(path)}, max_memory="200MB")
    assert "must be read as a whole" in said
    assert "JSON Lines" in said


def test_texts_are_measured_whole(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("doc_id,unit\n" + "d,x\n" * 300_000)
    with pytest.raises(UnreadableInputError, match="max_memory"):
        units_of(str(path), 1 << 25)


def test_a_long_id_is_shortened(refusal) -> None:
    run = {"q1": {"a" * 1_000_000: 1.0}}
    said = refusal(rf.evaluate, QRELS, run, "ndcg", unit={"b": "x"})
    assert len(said) < 500
