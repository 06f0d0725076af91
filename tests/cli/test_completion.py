"""What Tab completes, by the protocol of shells."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankframe.cli import completion
from rankframe.cli.completion import CUTOFFS
from rankframe.trec_eval.measures import MEASURES, NICKNAMES
from tests.cli.shell import SHOP, ended

CUT = [f"@{cutoff}" for cutoff in CUTOFFS]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shop's files, and some of other formats."""
    for path in SHOP.glob("*.parquet"):
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "q.csv").write_text('query_id,"the ""kind""",price\n1,2,3\n')
    (tmp_path / "q.tsv.gz").write_bytes(gzip.compress(b"query_id\tplace\n1\t2\n"))
    (tmp_path / "q.jsonl").write_text('{"query_id": 1, "tone": 2}\n')
    (tmp_path / "broken.parquet").write_text("nothing")
    hive = tmp_path / "runs" / "day=1"
    hive.mkdir(parents=True)
    (hive / "x.parquet").symlink_to(SHOP / "bm25.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(typed: str) -> list[str]:
    """A line as bash takes it apart: also at @, = and :."""
    found: list[str] = []
    for word in typed.split(" "):
        part = ""
        for letter in word:
            if part and (letter in "@=:") != (part[-1] in "@=:"):
                found.append(part)
                part = ""
            part += letter
        found.append(part)
    return found


def environment(typed: str) -> dict[str, str]:
    split = words(typed)
    return {
        "_RANKFRAME_COMPLETE": "complete_bash",
        "COMP_WORDS": "\n".join(split),
        "COMP_CWORD": str(len(split) - 1),
    }


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("evaluate -m nd", ["ndcg", "ndcg_ia", "ndcg_rel"]),
        ("evaluate -m mr", ["mrr", *(f"mrr{cut}" for cut in CUT)]),
        ("evaluate -m ndcg@", CUT),
        ("evaluate -m ndcg@1", ["@1", "@10", "@100", "@1000"]),
        ("evaluate -m ndcg@1,2", ["@1,20"]),
        ("evaluate -m bpref@", []),
        ("evaluate -m rb", ["rbp", "rbp_residual"]),
        ("agree -m rb", ["rbd", "rbo", "rbo_ext", "rbo_min", "rbo_res"]),
        ("diff -m nerr@5", ["@5", "@50"]),
        ("plot roc -m set_m", ["set_map"]),
        ("metrics kend", ["kendall_tau", *(f"kendall_tau{cut}" for cut in CUT)]),
        ("trec_eval -m off", ["official"]),
        ("trec_eval -m set_", [n for n in (*NICKNAMES, *MEASURES) if n.startswith("set_")]),
        ("evaluate -c q", ["query_id="]),
        ("evaluate qrels.parquet bm25.parquet -c score=", ["query_id", "doc_id", "relevance",
                                                           "rank", "score"]),
        ("evaluate qrels.parquet new=bm25.parquet -c doc_id=sc", ["score"]),
        ("evaluate qrels.parquet runs -c rank=ra", ["rank"]),
        ("evaluate q.csv broken.parquet none.csv -c doc_id=", ["query_id", 'the "kind"', "price"]),
        ("evaluate q.jsonl -c doc_id=t", ["tone"]),
        ("evaluate qrels.parquet bm25.parquet --queries queries.parquet --by loc", ["locale"]),
        ("evaluate --queries queries.parquet --by locale,", ["locale,text", "locale,device",
                                                             "locale,traffic"]),
        ("evaluate --queries q.tsv.gz --by ", ["place"]),
        ("evaluate --queries queries.parquet --weight tr", ["traffic"]),
        ("compare qrels.parquet old=bm25.parquet new=dense.parquet -b o", ["old"]),
        ("compare --stored results/main results/new --baseline ", ["main", "new"]),
        ("report qrels.parquet bm25.parquet dense.parquet -b b", ["bm25"]),
        ("ev", ["evaluate"]),
        ("diff --judged", ["--judged-only"]),
        ("evaluate --missing s", ["skip"]),
        ("agree --ci n", ["none"]),
        ("evaluate --format=m", ["markdown"]),
        ("gate --format j", ["json"]),
        ("plot heat", ["heatmap"]),
        ("convert --kind q", ["qrels"]),
    ],
)  # fmt: skip
def test_tab_completes(
    typed: str, offered: list[str], capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(f"rankframe {typed}").items():
        monkeypatch.setenv(name, value)
    assert ended(monkeypatch) == 0
    out, err = capsys.readouterr()
    assert (out.split("\n")[:-1] if offered else out.split(), err) == (offered, "")


def test_other_shells_have_whole_words(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_RANKFRAME_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "rankframe evaluate -m ndcg@1")
    assert ended(monkeypatch) == 0
    assert '"ndcg@10"' in capsys.readouterr().out


@pytest.mark.parametrize("typed", ["ev", "evaluate --missing s"])
def test_nothing_heavy_is_imported_for_it(typed: str) -> None:
    code = (
        "import sys; sys.argv = ['rankframe']; from rankframe.cli import main\n"
        "try:\n    main()\nfinally:\n"
        "    print({'polars', 'numpy', 'pyarrow'} & {*sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment(f"rankframe {typed}")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout
    assert done.stderr == "set()\n"


def test_what_goes_wrong_offers_nothing(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "runs_by_name", None)
    for name, value in environment("rankframe compare q.csv a.csv -b a").items():
        monkeypatch.setenv(name, value)
    assert ended(monkeypatch) == 0
    assert capsys.readouterr().out.strip() == ""
