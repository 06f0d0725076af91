"""RBO of untied rankings beside the `rbo` package, which wants an older numpy than rankframe does:
`pip install --no-deps rbo`.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankframe as rf

rbo = pytest.importorskip("rbo")

orders = st.permutations(list("abcdefghijkl")).flatmap(
    lambda docs: st.integers(1, len(docs)).map(lambda length: docs[:length])
)


@settings(max_examples=10)
@given(orders, orders, st.sampled_from([0.5, 0.8, 0.9, 0.98]))
def test_extrapolated_and_truncated(x: list[str], y: list[str], p: float) -> None:
    a, b = ({"q": {doc: -i for i, doc in enumerate(docs)}} for docs in (x, y))
    oracle = rbo.RankingSimilarity(x, y)
    assert rf.agree(a, b, f"rbo(p={p})").means.popitem()[1] == pytest.approx(
        oracle.rbo_ext(p=p), abs=1e-12
    )
    k = min(len(x), len(y))
    assert rf.agree(a, b, f"rbo(p={p})@{k}").means.popitem()[1] == pytest.approx(
        oracle.rbo(k=k, p=p), abs=1e-12
    )
    # from depth k, whatever the lists hold below it
    prefixes = rbo.RankingSimilarity(x[:k], y[:k])
    assert rf.agree(a, b, f"rbo_ext(p={p})@{k}").means.popitem()[1] == pytest.approx(
        prefixes.rbo_ext(p=p), abs=1e-12
    )
