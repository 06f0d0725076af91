"""`rankframe trec_eval`: the command. Its lines and measures: tests/trec_eval."""

from __future__ import annotations

from pathlib import Path

import rankframe as rf
from tests.cli.shell import BM25, DENSE, QRELS, rankframe


def test_it_prints_as_trec_eval_does() -> None:
    expected = rf.evaluate(QRELS, BM25, "map")["map"]
    assert rankframe("trec_eval", "-c", "-m", "map", QRELS, BM25) == (
        0,
        f"map                   \tall\t{expected:.4f}\n",
        "",
    )


def test_it_says_which_queries_it_left_out(message) -> None:
    code, _, err = rankframe("trec_eval", "-m", "map", QRELS, DENSE)
    assert code == 0
    message(err)


def test_lines_that_differ_are_its_exit_code(tmp_path: Path) -> None:
    old = tmp_path / "old.txt"
    old.write_text(rankframe("trec_eval", "-c", "-m", "map", QRELS, BM25)[1])
    assert rankframe("trec_eval", "-c", QRELS, BM25, "--check", old)[0] == 0
    assert rankframe("trec_eval", "-c", QRELS, DENSE, "--check", old)[0] == 1
