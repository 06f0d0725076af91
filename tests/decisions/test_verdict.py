"""A verdict from its checks alone."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

from rankframe.decisions.verdict import CHECK_SCHEMA, Verdict


def verdict(*checks: tuple[str, str], every_relevant: bool = False) -> Verdict:
    """One of (rule, status) checks."""
    rows = [{"rule": rule, "status": status, "reason": ""} for rule, status in checks]
    counted = {"queries": 40, "unpaired": 0, "unpaired_policy": "error", "without_attributes": 0}
    counted["every_relevant"] = every_relevant
    return Verdict(pl.DataFrame(rows, schema=CHECK_SCHEMA), counted)


@pytest.mark.parametrize(
    ("checks", "status", "code"),
    [
        ([("a", "pass")], "pass", 0),
        ([("a", "pass"), ("a", "skipped")], "pass", 0),
        ([("a", "pass"), ("b", "skipped")], "undecided", 2),
        ([("a", "pass"), ("b", "undecided")], "undecided", 2),
        ([("a", "fail"), ("b", "undecided")], "fail", 1),
        ([], "undecided", 2),
    ],
)
def test_what_checks_amount_to(checks: Sequence[tuple[str, str]], status: str, code: int) -> None:
    found = verdict(*checks)
    assert (found.status, found.exit_code) == (status, code)


def test_the_headline_says_where_every_judged_document_is_relevant() -> None:
    assert verdict(("a", "fail"), every_relevant=True).headline == (
        "FAIL: 1 failed (0 of 40 queries tested, "
        "every judged document counts as relevant, whatever its grade)"
    )


def test_without_checks_it_says_that_nothing_was_checked() -> None:
    assert verdict().headline == "UNDECIDED: nothing was checked (40 queries)"
    assert repr(verdict()) == "rankframe gate: UNDECIDED: nothing was checked (40 queries)"
