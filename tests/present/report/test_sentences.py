"""Sentences say what the numbers say, and no more."""

from __future__ import annotations

from typing import Any

import polars as pl

import rankframe as rf
from rankframe.present.report.summary import caveats, leader, sentences

IDS = [f"q{n:03}" for n in range(200)]
KNOWN = pl.DataFrame({"query_id": IDS, "kind": ["x", "y"] * 100})


def stored(shift: list[float], **more: list[float]) -> pl.DataFrame:
    """Values that differ a little from query to query, and by this much in either kind."""
    noise = [(n * 37 % 11) / 100 for n in range(200)]
    moved = [noise[(n * 7) % 200] / 4 for n in range(200)]
    values = [0.4 + noise[n] + shift[n % 2] + (moved[n] if any(shift) else 0) for n in range(200)]
    return pl.DataFrame({"query_id": IDS, "map": values, **more})


def compared(systems: dict[str, Any], **options: Any) -> rf.Comparison:
    fast: dict[str, Any] = {"baseline": next(iter(systems)), "replicates": 200}
    return rf.compare(None, systems, **(fast | options))


def test_better_worse_and_where_otherwise() -> None:
    found = compared(
        {"old": stored([0, 0]), "up": stored([0.1, 0.1]), "mixed": stored([0.2, -0.1])},
        queries=KNOWN, by="kind",
    )  # fmt: skip
    up, mixed = sentences(found)
    assert (up.system, up.mark) == ("up", "up")
    assert up.text.startswith("is better than old: map +0.1")
    assert "%), 95% +0.1" in up.text
    assert up.text.endswith("; not significantly worse in any of 2 slices.")
    assert mixed.mark == "up"
    assert "; but worse in kind y -" in mixed.text
    assert leader(found).startswith("up has the best map of 3 systems: 0.5")


def test_what_cannot_be_told_apart_is_not_called_better(message) -> None:
    noisy = stored([0, 0]).with_columns(
        pl.col("map") + pl.Series([0.1 if n % 2 else -0.1 for n in range(200)])
    )
    found = compared({"old": stored([0, 0]), "noisy": noisy, "same": stored([0, 0])})
    noisy_said, same = sentences(found)
    assert noisy_said.mark == same.mark == "same"
    assert noisy_said.text.startswith("cannot be told apart from old: map ")
    message(same.text)


def test_other_metrics_that_say_otherwise_are_named() -> None:
    worse = [0.3 + (n % 5) / 50 for n in range(200)]
    old = stored([0, 0], mrr=[0.6 + (n % 7) / 100 for n in range(200)])
    found = compared({"old": old, "new": stored([0.1, 0.1], mrr=worse)})
    (said,) = sentences(found)
    assert "; but worse by mrr -" in said.text


def test_one_system_alone_is_not_compared() -> None:
    found = compared({"only": stored([0, 0.2])}, queries=KNOWN, by="kind")
    (said,) = sentences(found)
    assert said.mark == "same"
    assert said.text.startswith("map 0.5")
    assert "over 200 queries; worst in kind x (0.4" in said.text


def test_limits_are_said(message) -> None:
    qrels = {query: {"a": 1} for query in IDS[:20]}
    run = {query: {"a": 2.0, "b": 1.0} for query in IDS[:20]}
    other = {query: ({"b": 2.0, "a": 1.0} if query == IDS[0] else docs)
             for query, docs in run.items() if query != IDS[1]}  # fmt: skip
    found = rf.compare(qrels, {"old": run, "new": other}, "mrr", baseline="old", replicates=100)
    said = caveats(found)
    assert any(one.startswith("new lacks 1 of 20 judged queries (5.0%)") for one in said)
    message(said)
    assert not caveats(compared({"old": stored([0, 0]), "new": stored([0.1, 0.1])}))
