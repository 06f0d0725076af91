"""trec_eval's measures by name: what -m may say, and how a label leads back to it."""

from __future__ import annotations

import pytest

import rankframe as rf
from rankframe.trec_eval.measures import (
    DEFAULTS,
    MEASURES,
    NICKNAMES,
    format_measure,
    make_lines,
    parse_measures,
    refuse_other_judgments,
)


def test_every_label_leads_back_to_its_measure() -> None:
    asked = [name for name in MEASURES if name != "relstring"]
    lines = make_lines(parse_measures([*asked, "relstring.3"]))
    again = [written for line in lines if (written := format_measure(line.label))]
    assert len(again) == len(lines)
    labels = [line.label for line in make_lines(parse_measures(again))]
    assert labels == [line.label for line in lines]


def test_nicknames_name_measures() -> None:
    for names in NICKNAMES.values():
        assert set(names) <= set(MEASURES)
    assert all(m.metric is None or hasattr(rf, m.metric) for m in MEASURES.values())


def test_measures_look_at_judgments_of_their_kind(refusal) -> None:
    for given, unasked in DEFAULTS.items():
        refuse_other_judgments(parse_measures(unasked), given)
    refusal(refuse_other_judgments, ["P_avgjg"], "qrels")
    assert {*NICKNAMES["prefs"]} < {*NICKNAMES["all_prefs"]}


@pytest.mark.parametrize(
    "measure",
    [
        "mapp",
        "P_10",
        "Official",
        "zzzz",
        "map.",
        "P.",
    ],
)
def test_what_is_no_measure_is_refused(measure: str, refusal) -> None:
    refusal(parse_measures, [measure])


def test_what_was_asked_for_by_measure() -> None:
    assert parse_measures(["P.5,10", " map ", "P.5,10", "P.3", "P"]) == {
        "P": ["5,10", "3"],
        "map": [],
    }
    assert list(parse_measures(["set"])) == list(NICKNAMES["set"])
    assert parse_measures(["rbp.p=0.8", "official"])["rbp"] == ["p=0.8"]
    assert parse_measures([]) == {}


def test_parameters_of_measures_that_take_none_are_passed_over() -> None:
    assert parse_measures(["map.5", "set.5"]) == parse_measures(["map", "set"])


@pytest.mark.parametrize(
    ("label", "written"),
    [
        ("ndcg_cut_10", "ndcg_cut.10"),
        ("ndcg_rel", "ndcg_rel"),
        ("iprec_at_recall_0.10", "iprec_at_recall.0.10"),
        ("Rprec_mult_0.20", "Rprec_mult.0.20"),
        # of several names that it begins with, the longest
        ("set_recall", "set_recall"),
        ("map_5", None),
        ("num_q_1", None),
        ("nothing", None),
    ],
)
def test_a_label_leads_back_to_what_asks_for_it(label: str, written: str | None) -> None:
    assert format_measure(label) == written
