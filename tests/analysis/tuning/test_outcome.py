"""A tuning as people see it, as it is stored, and as it is used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

import rankframe as rf
from rankframe.io.outputs import read_about

QRELS = {f"q{n}": {"a": 1} for n in range(8)}
ONE = {q: {"x": 1.0, "a": 0.9, "y": 0.0} for q in QRELS}
OTHER = {q: {"z": 1.0, "a": 0.9, "y": 0.0} for q in QRELS}
RUNS = {"one": ONE, "other": OTHER}


def tuned(**options: Any) -> rf.Tuning:
    asked = {"grid": {"weights": 0.5}, "folds": 2, "ci": "t", **options}
    return rf.tune(QRELS, RUNS, "wsum", "mrr", **asked)


def test_what_people_see() -> None:
    assert (
        repr(tuned())
        == """\
rankframe tuning
  wsum(weights=[0.5, 0.5]) with min_max: mrr 1.0000 out of fold (1.0000 in sample), +0.5000 over the best single run (one), 95% +0.5000 to +0.5000
  fusion                    norm        mrr          interval  from best        its interval  folds
  wsum(weights=[0.5, 0.5])  min_max  1.0000  1.0000 to 1.0000    +0.0000  +0.0000 to +0.0000      2
  wsum(weights=[0.0, 1.0])  min_max  0.5000  0.5000 to 0.5000    -0.5000  -0.5000 to -0.5000
  wsum(weights=[1.0, 0.0])  min_max  0.5000  0.5000 to 0.5000    -0.5000  -0.5000 to -0.5000
  one by itself                      0.5000  0.5000 to 0.5000                                     2
  other by itself                    0.5000  0.5000 to 0.5000
  Warning: only 8 queries to tune with: too few to predict values on other queries [few_queries]
  over one (0.5000): +0.5000, 95% +0.5000 to +0.5000, p 0.0156*, W/T/L 8/0/0
  over rrf(k=60) (1.0000): +0.0000, 95% +0.0000 to +0.0000, p 1.0000, W/T/L 0/8/0
  3 candidates, of which 1 cannot be told apart from the best, 8 queries in 2 folds, test: t, hypothesis: equal means, p values corrected (holm), interval: 95%, Student's t"""  # noqa: E501
    )


def test_a_notebook_shows_the_same() -> None:
    shown = tuned()._repr_html_()
    assert "<b>wsum(weights=[0.5, 0.5])</b>" in shown
    assert "<b>wsum(weights=[0.0, 1.0])</b>" not in shown
    assert "only 8 queries to tune with" in shown
    named = rf.tune(QRELS, {"<i>": ONE, "b": OTHER}, "rrf", "mrr", folds=2)._repr_html_()
    assert "<i>" not in named


def test_where_nothing_is_gained_that_is_said() -> None:
    found = rf.tune(QRELS, {"a": ONE, "b": ONE}, "wsum", "mrr", folds=2)
    assert not found.improved
    assert found.headline == (
        "wsum(weights=[0.0, 1.0]) with min_max: mrr 0.5000 out of fold (0.5000 in sample), no "
        "improvement over a can be claimed (+0.0000, 95% +0.0000 to +0.0000)"
    )
    assert found.as_good.height == found.candidates.height
    assert "can be claimed (+0.0000)" in tuned(ci=None, grid={"weights": [[1, 0]]}).headline


def test_a_run_without_a_difference_does_not_make_the_headline() -> None:
    found = tuned()
    row = found.against.filter("single")
    unknown = row.with_columns(baseline=pl.lit("nothing"), difference=pl.lit(None, pl.Float64))
    both = replace(found, against=pl.concat([found.against, unknown]))
    assert both.headline == found.headline


def test_several_best_runs_are_named() -> None:
    qrels = {f"q{n}": {"a": 1, "b": 1} for n in range(2)}
    good, bad = {"a": 2.0, "b": 1.0}, {"x": 3.0, "y": 2.0, "a": 1.0}
    runs = {"one": {"q0": good, "q1": bad}, "other": {"q0": bad, "q1": good}}
    found = rf.tune(qrels, runs, "rrf", "map", folds=2)
    assert found.best_run == "one or other"
    assert found.against["baseline"].to_list() == [
        "one or other", "rrf(k=60)", "one, best over all queries",
    ]  # fmt: skip
    assert found.against["single"].to_list() == [True, False, True]
    # Chosen without its queries, each run is the worse one: only hindsight is not fooled.
    assert found.against["difference"][0] > found.against["difference"][2]
    assert not found.improved
    assert "no improvement over one, best over all queries can be claimed" in found.headline
    assert sorted(found.folds["run"]) == ["one", "other"]


def test_it_is_written_whole(tmp_path: Path, refusal) -> None:
    found = tuned()
    folder = found.write(tmp_path / "found")
    assert sorted(path.name for path in folder.iterdir()) == sorted(rf.Tuning.FILES)
    for file in rf.Tuning.FILES:
        name = file.removesuffix(".parquet")
        assert pl.read_parquet(folder / file).equals(getattr(found, name))
    about = read_about(folder / "candidates.parquet")
    assert about["metrics"] == ["mrr"]
    assert about["policies"]["folds"] == "2, by hashes of query ids, seed 0"
    assert about["inputs"]["one"]["rows"] == 24
    refusal(found.write, folder)
    found.write(folder, overwrite=True)


def test_frames_of_other_libraries(refusal) -> None:
    found = tuned()
    assert found.to_arrow().column_names == found.candidates.columns
    assert found.to_pandas("against")["baseline"].tolist() == ["one", "rrf(k=60)"]
    refusal(found.to_arrow, "other")


def test_markdown_has_what_was_found() -> None:
    text = tuned().to_markdown(1)
    assert text.startswith("**wsum(weights=\\[0.5, 0.5\\]) with min_max**: mrr 1.0000 out of fold")
    assert "| **wsum(weights=\\[0.5, 0.5\\])** | min_max | 1.0000 |" in text
    assert "weights=\\[0.0, 1.0\\]" not in text
    assert "- over one (0.5000): +0.5000" in text


def test_other_runs_are_fused_by_what_was_found(refusal) -> None:
    found = tuned(depth=2)
    new = {"r": {"a": 2.0, "b": 1.0, "c": 0.5}}
    fused = found.fuse({"other": new, "one": new}).collect()
    assert fused["doc_id"].to_list() == ["a", "b"]  # the top two
    assert fused.equals(found.fuse([new, new]).collect())
    for wrong in ({"one": new, "third": new}, [new, new, new]):
        refusal(found.fuse, wrong)


def test_what_is_trained_is_fused_with_judgments(refusal) -> None:
    found = rf.tune(QRELS, RUNS, "mapfuse", "mrr", folds=3)
    assert found.best == {"method": "mapfuse"}
    assert found.fuse(RUNS, qrels=QRELS).collect().height == 4 * len(QRELS)
    refusal(found.fuse, RUNS)


def test_the_ledger_has_what_was_counted() -> None:
    found = tuned(missing="skip")
    assert found.count("queries_tuned_by") == 8
    assert found.count("candidates") == 3
    assert found.count("one_rows") == 24
    assert found.count("nothing") is None
    assert found.note("policy_missing") == "skip"
    assert found.note("policy_depth") == "the whole lists"
    assert found.note("nothing") == ""
