"""A comparison as people see it, and as it is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.analysis.comparison import COMPARISON_FILES, PAIR_SCHEMA, SYSTEM_SCHEMA, p_text
from rankframe.core.table import Table
from rankframe.io.outputs import read_about
from tests.core.test_table import ATTRIBUTES, QUERIES, SYSTEMS, compared


def test_what_people_see_against_a_baseline() -> None:
    assert (
        repr(compared(baseline="bm25_v1", ci="t"))
        == """\
rankframe comparison
  metric  system    value     diff       %            interval         p    raw p  W/T/L
  map     bm25_v1  0.3750
          A & 50%  0.6354  +0.2604  +69.4%  +0.2336 to +0.2872  <0.0001*  <0.0001  6/0/0
          x|{y}    0.3750  +0.0000   +0.0%  -0.0830 to +0.0830    1.0000   1.0000  1/4/1
  lag     bm25_v1  5.5000
          A & 50%  6.5833  +1.0833  +19.7%  +0.8691 to +1.2975   0.0001*  <0.0001  0/0/6
          x|{y}    5.5000  +0.0000   +0.0%  +0.0000 to +0.0000    1.0000   1.0000  0/6/0
  * corrected p below 0.05
  6 queries compared, test: t, hypothesis: equal means, p values corrected (holm over 4), interval: 95%, Student's t"""  # noqa: E501
    )


def test_what_people_see_of_every_pair_and_slice() -> None:
    text = repr(compared(queries=ATTRIBUTES, by="g")).splitlines()
    assert [line[2:] for line in text[1:6]] == [
        "metric  g          system              value     diff        %         p    raw p  W/T/L",
        "map     all        A & 50% − bm25_v1  0.6354  +0.2604   +69.4%  <0.0001*  <0.0001  6/0/0",
        "                   x|{y} − bm25_v1    0.3750  +0.0000    +0.0%    1.0000   1.0000  1/4/1",
        "                   x|{y} − A & 50%    0.3750  -0.2604   -41.0%   0.0018*   0.0006  0/0/6",
        "map     u (few)    A & 50% − bm25_v1  0.5000  +0.2500  +100.0%    1.0000   0.2500  3/0/0",
    ]
    assert text[-2:] == [
        "  * corrected p below 0.05 of 6 queries or more",
        "  6 queries compared, test: t, hypothesis: equal means, p values corrected (holm over 6, by g 12), interval: none",  # noqa: E501
    ]
    ways = compared(queries=ATTRIBUTES.with_columns(h=pl.col("g")), by=["g", "h"])
    table = ways.parts()[0]
    assert isinstance(table, Table)
    slices = [row[1].text for row in table.rows if row[1].text]
    assert slices[:3] == ["all", "g: u (few)", "g: v_1 (few)"]


def test_without_a_correction_there_is_one_p() -> None:
    text = repr(compared(baseline="bm25_v1", correction="none"))
    assert "raw p" not in text
    assert "  * p below 0.05\n" in text
    assert "p values not corrected" in text


def test_how_much_was_judged_is_a_share() -> None:
    systems = {n: f.with_columns(**{"judged@10": pl.lit(0.754)}) for n, f in SYSTEMS.items()}
    text = repr(compared(systems, metrics=["map"], baseline="bm25_v1")).splitlines()
    assert text[1].endswith("W/T/L  judged")
    assert text[2].endswith("   75%")
    assert text[3].endswith("6/0/0     75%")


def test_whole_numbers_are_shown_as_such() -> None:
    frame = pl.DataFrame({"query_id": QUERIES, "num_retrieved": [1_000.0] * 6})
    more = frame.with_columns(num_retrieved=pl.lit(1_500.0))
    text = repr(compared({"a": frame, "b": more}))
    assert "b − a   9,000  +3,000  +50.0%" in text


def test_html_is_escaped() -> None:
    systems = {"<script>": SYSTEMS["bm25_v1"], "a & b": SYSTEMS["A & 50%"]}
    text = compared(systems, baseline="<script>")._repr_html_()
    assert "<script>" not in text
    assert "<td style='text-align:left'>&lt;script&gt;</td>" in text
    assert "<td style='text-align:left'>a &amp; b</td>" in text
    assert "<td style='text-align:right'>&lt;0.0001*</td>" in text
    # Bold is what is best, and nothing else; the colour says better or worse, and so does the sign.
    assert text.count("<b>") == len(compared(systems, baseline="<script>").metrics)
    assert '<span style="color:#' in text
    assert text.endswith("interval: none</small></p>")


@pytest.mark.parametrize(
    ("p", "expected"),
    [(None, "–"), (0.0, "<0.0001"), (0.0001, "0.0001"), (0.05, "0.0500"), (1.0, "1.0000")],
)
def test_p_values_as_people_write_them(p: float | None, expected: str) -> None:
    assert p_text(p) == expected


def test_schemas_do_not_depend_on_the_data() -> None:
    for options in ({}, {"queries": ATTRIBUTES, "by": "g"}, {"ci": "t", "baseline": "x|{y}"}):
        found = compared(**options)
        assert found.table.schema == pl.Schema(PAIR_SCHEMA)
        assert found.systems.schema == pl.Schema(SYSTEM_SCHEMA)
        assert found.sliced == ("by" in options)


def test_write_writes_every_frame(tmp_path: Path) -> None:
    found = compared()
    folder = found.write(tmp_path / "deep" / "comparison")
    assert sorted(p.name for p in folder.iterdir()) == sorted(COMPARISON_FILES)
    for name in ("table", "systems", "ledger"):
        assert pl.read_parquet(folder / f"{name}.parquet").equals(getattr(found, name))


def test_write_replaces_a_comparison_only_if_asked(tmp_path: Path, refusal) -> None:
    folder = compared().write(tmp_path / "x")
    other = compared(baseline="bm25_v1")
    refusal(other.write, folder)
    assert pl.read_parquet(folder / "table.parquet").equals(compared().table)
    other.write(folder, overwrite=True)
    assert pl.read_parquet(folder / "table.parquet").equals(other.table)
    (folder / "mine.txt").write_text("precious")
    refusal(other.write, folder, overwrite=True)
    rf.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "map").write(tmp_path / "result")
    refusal(other.write, tmp_path / "result", overwrite=True)


def test_write_writes_all_or_nothing(tmp_path: Path, monkeypatch, refusal) -> None:
    found, folder = compared(), tmp_path / "deep" / "comparison"
    plain = pl.LazyFrame.sink_parquet

    def full(frame: pl.LazyFrame, path: Any, **options: Any) -> None:
        if "ledger" in str(path):
            raise OSError(28, "No space left on device")
        plain(frame, path, **options)

    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", full)
    refusal(found.write, folder)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    found.write(folder)
    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", full)
    refusal(compared(baseline="bm25_v1").write, folder, overwrite=True)
    assert pl.read_parquet(folder / "table.parquet").equals(found.table)
    assert [p.name for p in folder.parent.iterdir()] == ["comparison"]


def test_files_say_what_was_compared_and_how(tmp_path: Path) -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(7)}
    run = {query: {"a": 1.0} for query in qrels}
    stored = rf.evaluate(qrels, run, "map")
    for name, found in {
        "live": rf.compare(qrels, {"x": run, "y": run}, "map", baseline="x", rel=1),
        "stored": rf.compare(None, {"x": stored, "y": stored}, baseline="x"),
    }.items():
        found.write(tmp_path / name)
        for file in (tmp_path / name).iterdir():
            about = read_about(file)
            assert (about["frame"], about["metrics"]) == (file.stem, ["map"])
            assert about["baseline"] == "x"
            assert about["policies"]["test"] == "t, hypothesis: equal means"
            assert "rel" in about["policies"]
            assert about["inputs"]["y"] == {
                "qrels": {"name": "the qrels dict", "rows": 7},
                "run": {"name": "the run dict", "rows": 7},
            }


def test_where_every_judged_document_is_relevant_that_is_said() -> None:
    qrels, runs = {"q": {"a": 1, "b": 5}}, {"x": {"q": {"a": 1.0}}, "y": {"q": {"b": 1.0}}}
    said = "every judged document counts as relevant, whatever its grade"
    found = rf.compare(qrels, runs, "mrr")
    assert said in repr(found)
    assert found.ledger.filter(item="caveat_all_relevant")["system"].to_list() == [None]
    assert said not in repr(rf.compare(qrels, runs, "mrr", rel=4))
