"""Rules as people write them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rankframe.analysis.gate_rules import parse_rule, read_demands


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@10: no worse than -0.5% at 95%",
         ("ndcg@10", "no worse than", -0.005, True, 0.95, None)),
        ("map:no worse than −1 % at 90 %", ("map", "no worse than", -0.01, True, 0.9, None)),
        ("lag: NO WORSE THAN -0.25", ("lag", "no worse than", -0.25, False, 0.95, None)),
        ("mrr: no worse than 0%", ("mrr", "no worse than", 0.0, True, 0.95, None)),
        ("mrr: better than 1% at 99.5%", ("mrr", "better than", 0.01, True, 0.995, None)),
        ("mrr: at least .4", ("mrr", "at least", 0.4, False, 0.95, None)),
        ("lag: at most 1e2 per locale", ("lag", "at most", 100.0, False, 0.95, ("locale",))),
        ("p@5: no worse than -2% at 95% per locale, device",
         ("p@5", "no worse than", -0.02, True, 0.95, ("locale", "device"))),
        ("dcg(gain={1: 3, 2: 9})@5: at least 1",
         ("dcg(gain={1: 3, 2: 9})@5", "at least", 1.0, False, 0.95, None)),
    ],
)  # fmt: skip
def test_a_rule_is_read(text: str, expected: tuple[object, ...]) -> None:
    rule = parse_rule(text)
    found = rule.metric, rule.kind, rule.number, rule.relative, rule.confidence, rule.by
    assert found == expected
    assert rule.text == text


@pytest.mark.parametrize(
    "text",
    ["lag: no worse than -1%", "lag: no worse than -1% at 90%", "lag: at most 3"],
)
@pytest.mark.parametrize("per", ["", " per locale"])
def test_a_rule_may_be_of_what_both_have(text: str, per: str) -> None:
    plain, both = parse_rule(text + per), parse_rule(f"{text} where both are defined{per}")
    assert (plain.where_both, both.where_both) == (False, True)
    assert replace(both, text=plain.text, where_both=False) == plain


def test_directions_come_from_the_file_and_beside_it(refusal) -> None:
    table = {"rules": ["latency: at most 3"], "lower_is_better": ["latency"]}
    found = read_demands(table, lower_is_better="cost", higher_is_better=["clicks"])
    assert found.lower_is_better == ("latency", "cost")
    assert found.higher_is_better == ("clicks",)
    refusal(read_demands, {**table, "lower_is_better": [3]})
    refusal(read_demands, {**table, "lower_are_better": []})


@pytest.mark.parametrize(
    "text",
    [
        "ndcg@10 > 0.5",
        "ndcg@10: no worse than -0.5% at 101%",
        "ndcg@10: no worse than 1%",
        "ndcg@10: at least 5%",
        "ndcg@10: no worse than",
        "",
    ],
)
def test_what_is_no_rule_is_refused(text: str, refusal) -> None:
    refusal(parse_rule, text)


def test_rules_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(
        'min_queries = 100\n"min_judged@10" = 0.5\n'
        'rules = ["map: at least 0.2", "map: no worse than -1%"]\n'
    )
    for source in (file, str(file)):
        demands = read_demands(source)
        assert [rule.kind for rule in demands.rules] == ["at least", "no worse than"]
        assert (demands.min_queries, demands.min_judged) == (100, {10: 0.5})
    over = read_demands(file, min_queries=7, min_judged={10: 0.1, 5: 1})
    assert (over.min_queries, over.min_judged) == (7, {10: 0.1, 5: 1})


@pytest.mark.parametrize(
    "content",
    [
        "rules = [",
        "",
        'rule = ["map: at least 1"]',
        "rules = [1]",
        'rules = "map: at least 1"',
        'rules = ["map: at least 1", "map: at least 1"]',
        'rules = ["map: at least 1"]\nmin_queries = 1',
        'rules = ["map: at least 1"]\n"min_judged@10" = 2',
    ],
)
def test_bad_files_are_refused(content: str, tmp_path: Path, refusal) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(content)
    refusal(read_demands, file)


def test_a_file_that_is_not_there_is_said(refusal) -> None:
    refusal(read_demands, "nowhere.toml")
    refusal(read_demands, "nowhere.yaml")


def test_a_floor_takes_no_confidence(refusal) -> None:
    refusal(parse_rule, "map: at least 0.4 at 95%")


@pytest.mark.parametrize(
    "rule", ["map: at least " + "1" * 16_000, "m" * 20_000, "map: at least 1 per " + "a, " * 9_000]
)
def test_a_rule_that_nobody_meant_is_refused_at_once(rule: str, refusal) -> None:
    for given in (rule, [rule]):
        refusal(read_demands, given)


def test_numbers_of_rules_are_finite(refusal) -> None:
    refusal(read_demands, "map: at least 1e999")


@pytest.mark.parametrize(
    "text",
    [
        "rules = " + "[" * 5000 + "]" * 5000,
        "min_queries = " + "1" * 5000,
        "'min_judged@" + "1" * 5000 + "' = 1",
    ],
    ids=["deep", "digits", "depth"],
)
def test_files_of_rules_that_nobody_wrote_are_refused(text: str, tmp_path: Path, refusal) -> None:
    (tmp_path / "rules.toml").write_text(text)
    refusal(read_demands, tmp_path / "rules.toml")


@pytest.mark.parametrize("rules", [None, 5])
def test_what_are_no_rules_is_refused(rules: Any, refusal: Any) -> None:
    refusal(read_demands, rules)


def test_digits_of_other_scripts_are_no_numbers(refusal: Any) -> None:
    refusal(read_demands, ["map: at least ０.４"])
