"""Preferences and judgment groups as trec_eval's own C functions have them, to the last bit."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from rankframe.trec_eval.evaluate import TrecOptions, evaluate_trec
from rankframe.trec_eval.measures import NICKNAMES, RelFormat
from tests.support.group_cases import Rows, random_rows, random_scores, written_rows, written_run
from tests.support.trec_eval_c import by_trec_eval


def assert_same(judgments: Path, run: Path, kind: RelFormat, names: str, **how: Any) -> None:
    measures = [name for name in NICKNAMES[names] if name not in ("runid", "num_q")]
    theirs = by_trec_eval(judgments, run, kind, measures, **how)
    options = TrecOptions(rel_format=kind, **how)
    found = evaluate_trec(str(judgments), str(run), measures, options).values
    assert {row.pop("query_id"): row for row in found.to_dicts()} == theirs


@pytest.mark.parametrize("seed", range(15))
def test_same_values_of_preferences(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    judgments = written_rows(random_rows(chance), tmp_path / "prefs.txt")
    run = written_run(random_scores(chance), tmp_path / "run.txt")
    how = {} if seed % 2 else {"deepest": chance.randint(1, 6)}
    assert_same(judgments, run, "prefs", "all_prefs", **how)


def graded(chance: Random, lowest: int) -> Rows:
    """One line for each document of a group. (Below level 0, trec_eval reads beyond its arrays.)"""
    rows = {(q, g, doc): (q, g, "0", doc, float(chance.randint(lowest, 3)))
            for q, g, _, doc, _ in random_rows(chance)}  # fmt: skip
    return list(rows.values())


@pytest.mark.parametrize("seed", range(10))
def test_same_values_of_qrels_read_as_preferences(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    judgments = written_rows(graded(chance, 0), tmp_path / "qrels.txt", subgroups=False)
    run = written_run(random_scores(chance), tmp_path / "run.txt")
    assert_same(judgments, run, "qrels_prefs", "all_prefs")


@pytest.mark.parametrize("seed", range(15))
def test_same_averages_over_groups(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    judgments = written_rows(graded(chance, -1), tmp_path / "qrels.txt", subgroups=False)
    run = written_run(random_scores(chance), tmp_path / "run.txt")
    how = {"level": chance.randint(0, 2), "judged_only": seed % 3 == 0}
    how |= {} if seed % 2 else {"deepest": chance.randint(1, 6)}
    assert_same(judgments, run, "qrels_jg", "qrels_jg", **how)
