"""`rankframe metrics`."""

from __future__ import annotations

from tests.cli.shell import rankframe


def test_metrics_lists_all_and_explains_one_in_any_spelling(refused) -> None:
    _, out, _ = rankframe("metrics")
    assert all(name in out for name in ("ndcg@k", "average_precision@k", "r_score"))
    _, page, _ = rankframe("metrics", "nDCG@10")
    assert "dcg@k ÷ dcg@k of the ideal list" in page
    refused("metrics", "ndgc")
