"""A verdict from its checks alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from markdown_it import MarkdownIt

import rankframe as rf
from rankframe.analysis.systems import Lack
from rankframe.analysis.verdict import CHECK_SCHEMA, JSON_SCHEMA, Verdict


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


def test_the_headline_says_where_every_judged_document_is_relevant(message) -> None:
    message(verdict(("a", "fail"), every_relevant=True).headline)


def test_without_checks_it_says_that_nothing_was_checked(message) -> None:
    message(verdict().headline)
    message(repr(verdict()))


@pytest.fixture
def sliced() -> Verdict:
    """One that fails in a slice, of a run that lacks queries."""
    row = {"metric": "map", "baseline_value": 0.5, "relative": True, "queries": 20, "value": 0.4}
    checks = [
        {**row, "rule": "map: at least 0.1", "status": "pass", "reason": ""},
        {**row, "rule": "b: no worse than -1% per a|b", "by": "a|b", "slice": "x*", "change": -0.2,
         "bound": -0.3, "status": "fail", "reason": "may be <b>"},
        {**row, "rule": "b: no worse than -1% per a|b", "by": "a|b", "slice": "y", "change": 0.0,
         "bound": 0.0, "status": "pass", "reason": ""},
    ]  # fmt: skip
    found = verdict()
    lacks = [Lack("candidate", 5, 40, "scored 0")]
    return Verdict(pl.DataFrame(checks, schema=CHECK_SCHEMA), found.counted, lacks)


def test_a_comment_has_the_verdict_then_a_table_a_rule_then_what_limits_it(sliced: Verdict) -> None:
    html = (
        MarkdownIt("commonmark")
        .enable("table")
        .render(sliced.named(baseline="ma|n", candidate="new").to_markdown())
    )
    html = html.replace(' style="text-align:right"', "")
    assert html.startswith("<p><strong>FAIL</strong>: 2 passed, 1 failed (")
    assert html.count("<table>") == 2
    assert "<p><strong>b: no worse than -1% per a|b</strong></p>\n<table>" in html
    assert html.count("<th>baseline (ma|n)</th>\n<th>now (new)</th>") == 2
    html = html.replace("<strong>fail</strong>", "fail")
    assert "<td>fail</td>\n<td>a|b: x*</td>\n<td>0.5000</td>\n<td>0.4000</td>\n<td>-20.00%" in html
    *_, warned, reason = html.splitlines()
    assert reason == "<p>fail: b: no worse than -1% per a|b [a|b: x*]: may be &lt;b&gt;</p>"
    assert warned.endswith(": new lacks 5 of 40 judged queries (12.5%): scored 0</p>")
    plain = replace(sliced, checks=sliced.checks.head(1), lacks=())
    assert "fail" not in plain.to_markdown()


def test_names_are_kept_one_by_one(sliced: Verdict, message) -> None:
    found = sliced.named(candidate="new").named(baseline="main")
    assert found.names == ("main", "new")
    message(found.warnings)
    assert sliced.table().titles[3:5] == ["baseline", "now"]
    assert found.status == sliced.status


def test_the_json_is_as_documented(sliced: Verdict) -> None:
    told = json.loads(sliced.named(candidate="new").to_json())
    assert told["schema"] == JSON_SCHEMA
    assert (told["baseline"], told["candidate"]) == ("baseline", "new")
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    section = page.split("### JSON fields")[1].split("\n#")[0]
    documented = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
    checks = [f"checks[].{name}" for name in CHECK_SCHEMA]
    counted = [name for name in documented if name.startswith("counted.")]
    assert documented == [
        part for name in told for part in
        (checks if name == "checks" else counted if name == "counted" else [name])
    ]  # fmt: skip


def test_a_notebook_shows_it_and_harms_nobody() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(40)}
    run = {query: {"a": 1.0} for query in qrels}
    worse = {query: {"u": 2.0, "a": 1.0} for query in qrels}
    stored = rf.evaluate(qrels, run, "mrr")
    rules = ["mrr: no worse than -1%", "mrr: at least 0.4"]
    verdict = rf.gate(qrels, worse, stored, rules).named(candidate="<b>new</b>")
    page = verdict._repr_html_()
    assert page.startswith('<p><b><span style="color:#c9541f">FAIL</span></b>: 1 passed, 1 failed')
    assert '<span style="color:#12875a">pass</span>' in page
    assert "now (&lt;b&gt;new&lt;/b&gt;)" in page
    assert page.count("<tr>") == 3
