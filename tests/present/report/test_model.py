"""What a report is made from."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from tests.support.report_cases import compared, material


def test_charts_and_movers_are_about_the_first_metric() -> None:
    assert material().first.label == "ndcg@5"
    assert material(compared(metrics=["lag", "ndcg@5"])).first.label == "lag"


def test_it_stays_as_it_was_made() -> None:
    with pytest.raises(FrozenInstanceError):
        material().texts = {}  # pyright: ignore[reportAttributeAccessIssue]
