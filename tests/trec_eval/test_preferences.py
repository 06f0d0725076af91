"""Preferences between documents: by hand, and by definition; `against/test_trec_groups.py` has
trec_eval itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from rankframe.trec_eval import groups
from rankframe.trec_eval.evaluate import TrecOptions, evaluate_trec
from tests.support.group_cases import (
    PREFS,
    RUN,
    Values,
    defined,
    random_rows,
    random_scores,
    written_rows,
    written_run,
)
from tests.support.oracles import about
from tests.support.trec_cases import Output

# q1: a > b is fulfilled, a > c and b > c are implied (c was not retrieved); u2's b > a is not.
# prefs_pair: 1/2 of the pair a, b, and 1 of the other two. prefs_avgjg: (3/3 + 0/1) / 2.
# Rnonrel: u1 has two relevant documents (R), both retrieved, and one that is not relevant; one more
# would be 2 preferences, both fulfilled: 5/5. u2 has R = 2 and none, so 2·2 more: (0 + 4)/(1 + 4).
# Of the retrieved, u1 has R = 2 and none: (1 + 4)/(1 + 4).
Q1 = {
    "prefs_num_prefs_poss": 4, "prefs_num_prefs_ful": 3, "prefs_num_prefs_ful_ret": 1,
    "prefs_simp": 3 / 4, "prefs_pair": 2.5 / 3, "prefs_avgjg": 1 / 2,
    "prefs_avgjg_Rnonrel": (1 + 0.8) / 2, "prefs_simp_ret": 1 / 2, "prefs_pair_ret": 1 / 2,
    "prefs_avgjg_ret": 1 / 2, "prefs_avgjg_Rnonrel_ret": (1 + 0.8) / 2, "prefs_simp_imp": 3 / 4,
    "prefs_pair_imp": 2.5 / 3, "prefs_avgjg_imp": 1 / 2,
}  # fmt: skip
# q2: c, b are retrieved, a is not. None of a > b, b > c, a > c is fulfilled.
# Rnonrel: R = 3, 2 of them retrieved, and none is not relevant: (0 + 2·3)/(3 + 3·3).
# Of the retrieved, R = 2: (0 + 2·2)/(1 + 3·2).
Q2 = dict.fromkeys(Q1, 0.0) | {
    "prefs_num_prefs_poss": 3,
    "prefs_avgjg_Rnonrel": 6 / 12,
    "prefs_avgjg_Rnonrel_ret": 4 / 7,
}
# q3: a stands above b and c, d is not retrieved: a > b, a > c, a > d are fulfilled.
# Rnonrel: R = 1, so of b, c, d only the first, b, counts: a > b. The C program also compares b, c
# and d with b, and none of them stands above it: 1/(1 + 3). Of the retrieved, b and c: 1/(1 + 2).
Q3 = dict.fromkeys(Q1, 1.0) | {
    "prefs_num_prefs_poss": 3,
    "prefs_num_prefs_ful": 3,
    "prefs_num_prefs_ful_ret": 2,
    "prefs_avgjg_Rnonrel": 1 / 4,
    "prefs_avgjg_Rnonrel_ret": 1 / 3,
}
# q4: the same with a second subgroup, where it does not do so.
Q4 = Q3 | {"prefs_avgjg_Rnonrel": 1.0, "prefs_avgjg_Rnonrel_ret": 1.0}
BY_HAND = {"q1": Q1, "q2": Q2, "q3": Q3, "q4": Q4}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    judgments, run = tmp_path / "prefs.txt", tmp_path / "run.txt"
    judgments.write_text(PREFS)
    run.write_text(RUN)
    return judgments, run


def values(judgments: Path, run: Path, **options: object) -> dict[str, Values]:
    given = TrecOptions(rel_format="prefs", **options)  # type: ignore[arg-type]
    found = evaluate_trec(str(judgments), str(run), ["all_prefs"], given).values
    return {row.pop("query_id"): row for row in found.to_dicts()}


def test_values_by_hand(files: tuple[Path, Path]) -> None:
    found = values(*files)
    assert found.keys() == BY_HAND.keys()
    for query, expected in BY_HAND.items():
        assert found[query] == about(expected)


def test_lines_are_those_of_trec_eval(
    files: tuple[Path, Path], trec_eval: Callable[..., Output], message
) -> None:
    code, out, err = trec_eval("-R", "prefs", "-q", "-m", "all_prefs", *files)
    counts = ("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret")
    expected = [
        f"{label:<22}\t{query}\t{int(value) if label in counts else f'{value:.4f}'}"
        for query, of in BY_HAND.items()
        for label, value in of.items()
    ]
    lines = out.splitlines()
    assert code == 0
    assert lines[:56] == expected
    assert lines[56:62] == [
        "runid                 \tall\tdemo",
        "num_q                 \tall\t4",
        "prefs_num_prefs_poss  \tall\t13",
        "prefs_num_prefs_ful   \tall\t9",
        "prefs_num_prefs_ful_ret\tall\t5",
        "prefs_simp            \tall\t0.6875",
    ]
    message(err)


def test_unasked_the_measures_of_preferences_are_printed(
    files: tuple[Path, Path], trec_eval: Callable[..., Output]
) -> None:
    code, out, _ = trec_eval("-R", "prefs", "-c", *files)
    assert code == 0
    # q5 has one preference, none of which is fulfilled.
    assert out.splitlines()[1:6] == [
        "num_q                 \tall\t5",
        "prefs_num_prefs_poss  \tall\t14",
        "prefs_num_prefs_ful   \tall\t9",
        "prefs_num_prefs_ful_ret\tall\t5",
        "prefs_simp            \tall\t0.5500",
    ]
    old = files[0].parent / "old.txt"
    old.write_text(out)
    code, out, _ = trec_eval("-R", "prefs", "-c", *files, "--check", old)
    assert (code, out) == (0, "8 of 8 lines agree.\n")


def test_the_example_of_the_original(tmp_path: Path) -> None:
    # d4 is preferred to 5 others, d1 to 4, d2 and d6 to 2 each: 13 preferences.
    levels = {"d1": 3, "d2": 2, "d3": 0, "d4": 6, "d5": 0, "d6": 2}
    rows = [("q", "u", "s", doc, float(level)) for doc, level in levels.items()]
    best = {"q": {doc: float(level) for doc, level in levels.items()}}
    run = written_run(best, tmp_path / "run.txt")
    found = values(written_rows(rows, tmp_path / "prefs.txt"), run)["q"]
    assert (found["prefs_num_prefs_poss"], found["prefs_simp"]) == (13, 1)


@pytest.mark.parametrize("seed", range(12))
def test_values_by_definition(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    rows, scores = random_rows(chance), random_scores(chance)
    depth = chance.choice([None, None, 1, 3])
    judgments = written_rows(rows, tmp_path / "prefs.txt")
    found = values(judgments, written_run(scores, tmp_path / "run.txt"), deepest=depth)
    expected = dict(defined(rows, scores, depth))
    assert found.keys() == expected.keys()
    for query, of in expected.items():
        assert found[query] == about(of)


def test_pieces_say_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chance = Random(7)
    rows = [(f"{q}{n}", *rest) for n in range(9) for q, *rest in random_rows(chance)]
    scores = {f"{q}{n}": of for n in range(9) for q, of in random_scores(chance).items()}
    judgments = written_rows(rows, tmp_path / "prefs.txt")  # type: ignore[arg-type]
    run = written_run(scores, tmp_path / "run.txt")
    whole = values(judgments, run)
    monkeypatch.setattr(groups, "_PAIRS_AT_ONCE", 50)
    assert values(judgments, run) == whole


def test_long_chains_are_followed_to_their_ends(tmp_path: Path) -> None:
    # One pair a subgroup: d0 > d1 > … > d40, of which all 41·40/2 pairs follow.
    rows = [
        ("q", "u", f"s{i}", f"d{j:02}", float(2 - j + i)) for i in range(40) for j in (i, i + 1)
    ]
    scores = {"q": {f"d{j:02}": float(-j) for j in range(41)}}
    run = written_run(scores, tmp_path / "run.txt")
    found = values(written_rows(rows, tmp_path / "prefs.txt"), run)["q"]
    assert found["prefs_num_prefs_ful"] == found["prefs_num_prefs_poss"] == 41 * 40 / 2


def test_without_any_documents_nothing_is_fulfilled(files: tuple[Path, Path]) -> None:
    found = values(*files, deepest=0)["q3"]
    assert found.pop("prefs_num_prefs_poss") == 3
    assert set(found.values()) == {0}


def test_equal_scores_stand_in_order_of_ids(tmp_path: Path) -> None:
    rows = [("q", "u", "s", "a", 1.0), ("q", "u", "s", "b", 0.0)]
    run = written_run({"q": {"a": 1.0, "b": 1.0}}, tmp_path / "run.txt")
    assert values(written_rows(rows, tmp_path / "prefs.txt"), run)["q"]["prefs_simp"] == 1


def test_runs_are_refused_as_they_are_elsewhere(
    files: tuple[Path, Path], refused: Callable[..., str]
) -> None:
    judgments, run = files
    run.write_text("q1 Q0 a 1 2 demo\nq1 Q0 a 2 1 demo\n")
    refused("-R", "prefs", judgments, run, code=4)
    run.write_text("other Q0 a 1 2 demo\n")
    refused("-R", "prefs", judgments, run, code=7)


@pytest.mark.parametrize(
    "lines",
    [
        "q u s1 a 1\nq u s2 a 0\n",
        "q u s0 x 1\nq u s1 a 2\nq u s1 b 1\nq u s2 b 2\nq u s2 c 1\nq u s3 c 2\nq u s3 a 1\n",
    ],
)
def test_groups_that_contradict_themselves_are_refused(lines: str, tmp_path: Path, refusal) -> None:
    judgments = tmp_path / "prefs.txt"
    judgments.write_text(lines)
    run = written_run({"q": {"a": 1.0}}, tmp_path / "run.txt")
    refusal(values, judgments, run)
