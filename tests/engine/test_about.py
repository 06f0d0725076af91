"""What files say of themselves."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rankframe.engine.about import about_frame, names_in_file
from rankframe.io.outputs import write_parquet

LEDGER = pl.DataFrame(
    {
        "item": ["qrels_rows", "run_rows", "policy_rel"],
        "value": [3.0, 7.0, None],
        "note": ["", "", "any grade above 0"],
    }
)


def test_a_frame_says_of_what_it_was_made(tmp_path: Path) -> None:
    names = {"qrels": "q.parquet", "run": "r.parquet"}
    about = about_frame("summary", ["map"], LEDGER, names)
    assert about == {
        "frame": "summary",
        "metrics": ["map"],
        "policies": {"rel": "any grade above 0"},
        "inputs": {
            "qrels": {"name": "q.parquet", "rows": 3},
            "run": {"name": "r.parquet", "rows": 7},
        },
    }
    write_parquet(LEDGER, tmp_path / "ledger.parquet", about)
    assert names_in_file(tmp_path / "ledger.parquet") == names


def test_what_says_nothing_has_no_names(tmp_path: Path) -> None:
    LEDGER.write_parquet(tmp_path / "ledger.parquet")
    assert names_in_file(tmp_path / "ledger.parquet") == {}
    assert names_in_file(tmp_path / "none.parquet") == {}
