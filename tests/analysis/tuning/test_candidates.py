"""What candidates are called."""

from __future__ import annotations

import pytest

import rankframe as rf
from rankframe.analysis.tuning.candidates import Candidate


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        (Candidate("isr"), "isr"),
        (Candidate("rrf", None, (("k", 60),)), "rrf(k=60)"),
        (Candidate("wsum", "zmuv", weights=(0.1, 0.9)), "wsum(weights=[0.1, 0.9])"),
        (Candidate("gmnz", "min_max", (("gamma", 0.5),)), "gmnz(gamma=0.5)"),
    ],
)
def test_a_name_is_what_fuse_reads(candidate: Candidate, name: str) -> None:
    assert candidate.name == name
    runs = {"a": {"q": {"x": 1.0}}, "b": {"q": {"x": 2.0, "y": 1.0}}}
    assert rf.fuse(runs, name, norm=candidate.norm).collect().height == 2
