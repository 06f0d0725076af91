"""`rankframe demo`."""

from __future__ import annotations

from tests.cli.shell import rankframe


def test_demo_evaluates_the_shipped_data_and_says_what_next() -> None:
    code, out, err = rankframe("demo")
    assert (code, err) == (0, "")
    narrow = rankframe("demo", width=80)[1]
    assert max(map(len, narrow.split("Try next")[0].splitlines())) <= 80
    assert all(name in narrow for name in ("interval", "raw p", "* corrected p below 0.05."))
    assert "Warning: dense lacks 30 of 1,960 judged queries (1.5%): scored 0." in narrow
    assert all(word in out for word in ("bm25", "dense", "hybrid", "ndcg@10", "Try next", "locale"))
