"""The README keeps its word: its Python examples run, and the demo data is what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from rankframe.metrics import names_over

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_examples_run(tmp_path: Path) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    (tmp_path / "data").symlink_to(ROOT / "data")
    code += "\nprint(round(result['ndcg@10'], 4), by_locale.height)"
    done = subprocess.run(
        # The demo data has caveats of its own.
        [sys.executable, "-W", "ignore::UserWarning", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0.5752 4"


def test_demo_data_regenerates_the_same(tmp_path: Path) -> None:
    import polars as pl

    subprocess.run(
        [sys.executable, ROOT / "data" / "make_demo.py", "--out", tmp_path],
        check=True,
        capture_output=True,
    )
    shipped = sorted((ROOT / "data").rglob("*.parquet"))
    assert shipped
    for path in shipped:
        made = pl.read_parquet(tmp_path / path.relative_to(ROOT / "data"))
        assert made.equals(pl.read_parquet(path)), path.name


def test_every_metric_evaluates_in_one_call_over_the_demo_data() -> None:
    import rankframe as rf

    shop = ROOT / "data" / "shop"
    result = rf.evaluate(shop / "qrels.parquet", shop / "hybrid.parquet", names_over("judged"))
    assert result.summary.height == len(names_over("judged"))
    assert result.summary["value"].null_count() == 0
