"""`rankframe demo`."""

from __future__ import annotations

from tests.cli.shell import rankframe


def test_demo_evaluates_the_shipped_data_and_says_what_next() -> None:
    code, out, err = rankframe("demo")
    assert (code, err) == (0, "")
    assert all(word in out for word in ("bm25", "dense", "hybrid", "ndcg@10", "Try next", "locale"))
