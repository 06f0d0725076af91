"""How far work has come, as whoever asks is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest

import rankframe as rf
from rankframe.core.options import Progress


def test_rows_are_counted_unless_it_says_otherwise() -> None:
    assert Progress("reading", 0, 10, 0).unit == "rows"
    assert Progress("comparing", 1, 2, 3, "queries").unit == "queries"
    with pytest.raises(FrozenInstanceError):
        Progress("reading", 0, 10, 0).rows = 5  # pyright: ignore[reportAttributeAccessIssue]


def test_it_only_goes_forward_and_ends_with_everything() -> None:
    qrels = {f"q{n:03}": {"a": 1} for n in range(200)}
    run = {query: {"a": 1.0, "b": 2.0} for query in qrels}
    seen: list[Progress] = []
    rf.evaluate(qrels, run, "map", max_memory="1kB", progress=seen.append)
    assert [one.stage for one in seen[:2]] == ["reading", "evaluating"]
    assert {one.total_rows for one in seen} == {600}
    for one in ("rows", "queries"):
        counts = [getattr(done, one) for done in seen]
        assert counts == sorted(counts)
    assert (seen[-1].rows, seen[-1].queries) == (600, 200)


QRELS, RUN = {"q": {"a": 1}}, {"q": {"a": 1.0}}


@pytest.mark.parametrize(
    "call",
    [
        lambda progress: rf.evaluate(QRELS, RUN, "map", progress=progress),
        lambda progress: rf.agree(RUN, RUN, "rbo(p=0.9)", progress=progress),
        lambda progress: rf.compare(QRELS, {"a": RUN, "b": RUN}, "map", progress=progress),
        lambda progress: rf.gate(QRELS, RUN, RUN, ["map"], progress=progress),
        lambda progress: rf.fuse([RUN, RUN], progress=progress),
        lambda progress: rf.tune(QRELS, [RUN, RUN], "rrf", "map", progress=progress),
        lambda progress: rf.report(QRELS, {"a": RUN}, "map", output="x.html", progress=progress),
    ],
)
def test_what_cannot_be_called_is_refused(call: Callable[[object], object], refusal) -> None:
    refusal(call, 1)
