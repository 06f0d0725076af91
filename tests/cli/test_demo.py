"""`rankframe demo`."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

import rankframe as rf
from tests.cli.shell import rankframe


def test_demo_evaluates_the_shipped_data_and_says_what_next() -> None:
    code, out, err = rankframe("demo")
    assert (code, err) == (0, "")
    narrow = rankframe("demo", width=80)[1]
    assert max(map(len, narrow.split("Try next")[0].splitlines())) <= 80
    assert all(name in narrow for name in ("interval", "raw p", "* corrected p below 0.05."))
    assert "Warning: dense: 1.5% of the judged queries" in narrow
    assert all(word in out for word in ("bm25", "dense", "hybrid", "ndcg@10", "Try next", "locale"))


def test_the_demo_of_a_recommender_has_accuracy_and_the_catalogue_side_by_side() -> None:
    code, out, err = rankframe("demo", "movies", width=80)
    assert (code, err) == (0, "")
    told = out.split("Try next")[0].splitlines()
    assert max(map(len, told)) <= 80
    heads = [line.split() for line in told if line.split()[:1] == ["metric"]]
    assert heads == [["metric", "popular", "item_based", "als", "users"]] * 2
    for name in ("ndcg@10", "coverage@10", "long_tail@10", "diversity(by=genres)@10", "p values"):
        assert name in out


def test_what_to_try_next_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(rf.example("movies").folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    drawn: list[str] = []  # which takes long, and is tested elsewhere
    monkeypatch.setattr(
        "rankframe.present.charts.registry.save",
        lambda chart, _: drawn.append(chart.to_dict()["title"]["text"]),
    )
    _, folder, *lines = rankframe("demo", "movies")[1].split("Try next:")[1].splitlines()
    assert folder.split() == ["cd", str(rf.example("movies").folder)]
    for line in lines:
        _, *words = shlex.split(line)
        assert rankframe(*words)[::2] == (0, ""), line
    assert len(drawn) == 3
