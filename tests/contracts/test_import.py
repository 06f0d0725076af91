"""`import rankframe` brings nothing; its names bring what they need, and are all there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import rankframe as rf
from rankframe.metrics import REGISTRY

LIGHT = ["polars", "numpy"]
HEAVY = ["scipy", "pandas", "altair", "pyspark", "typer", "rich", "pyarrow", "sklearn"]
SRC = Path(rf.__file__).parent
# What a plain evaluation does not need.
UNNEEDED = [
    *HEAVY, "difflib", "html", "http", "rankframe.analysis", "rankframe.cli", "rankframe.present",
    "rankframe.frames.pair", "rankframe.stats.significance", "shlex", "ssl", "statistics",
]  # fmt: skip


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.strip()


def imported(code: str, names: list[str]) -> str:
    return python(f"{code}; import sys; print([name for name in {names} if name in sys.modules])")


def test_import_brings_no_package() -> None:
    assert imported("import rankframe; rankframe.__version__", LIGHT + HEAVY) == "[]"


def test_a_name_brings_what_it_needs() -> None:
    assert imported("from rankframe import evaluate, ndcg", LIGHT) == str(LIGHT)


def test_no_name_brings_a_heavy_package() -> None:
    assert imported("import rankframe; [getattr(rankframe, n) for n in dir(rankframe)]", HEAVY) == (
        "[]"
    )


def test_an_evaluation_brings_nothing_else(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.parquet", tmp_path / "run.parquet"
    pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "relevance": [1]}).write_parquet(qrels)
    pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [1.0]}).write_parquet(run)
    # What polars and numpy bring differs by version.
    code = (
        "import sys, numpy, polars; before = {*sys.modules}; import rankframe as rf\n"
        "rf.evaluate({'q': {'d': 1}}, {'q': {'d': 1.0}}, ['ndcg@10'])\n"
        f"rf.evaluate({str(qrels)!r}, {str(run)!r}, ['ndcg@10'])\n"
        f"print({{*sys.modules}} - before & {{*{UNNEEDED}}} or 'nothing')"
    )
    assert python(code) == "nothing"


def test_the_public_names_are_the_api_and_nothing_else() -> None:
    others = {
        "Comparison", "DEFAULT_METRICS", "Diff", "RankframeError", "RankframeWarning",
        "Result", "Verdict", "agree", "area_under", "compare", "curve", "diff", "exposure",
        "evaluate", "example", "from_lists",
        "from_relevance", "from_responses", "from_topk", "fuse", "gate", "history", "judge",
        "metric", "pair", "plot", "rbo_p", "rbo_weight", "report", "retrieved", "spark", "stack",
        "downsample_curve", "tune", "Tuning", "map", "mrr", "success", "__version__",
    }  # fmt: skip
    assert dir(rf) == sorted({*REGISTRY, *others})
    assert all(hasattr(rf, name) for name in dir(rf))


def test_rooms_do_not_show_once_they_are_imported() -> None:
    rooms = [path.name for path in SRC.iterdir() if (path / "__init__.py").exists()]
    assert len(rooms) > 10
    assert set(rooms) & set(dir(rf)) == {"spark"}


def test_everything_is_there_with_a_star_but_hides_no_builtin() -> None:
    code = (
        "before = map\nfrom rankframe import *\nprint(map is before, ndcg.__name__, plot.__name__)"
    )
    assert python(code) == "True ndcg rankframe.present.charts"
    assert {*dir(rf)} - {*rf.__all__} == {"__version__", "map"}


def test_a_name_is_found_once_and_stays_the_same() -> None:
    assert rf.evaluate is rf.evaluate
    assert rf.map is rf.average_precision
    assert rf.mrr is rf.reciprocal_rank
    assert rf.success is rf.hit_rate
    assert rf.plot is sys.modules["rankframe.present.charts"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ndgc", "module 'rankframe' has no attribute 'ndgc'. Did you mean 'ndcg'?"),
        ("evalute", "module 'rankframe' has no attribute 'evalute'. Did you mean 'evaluate'?"),
        ("nonsense", "module 'rankframe' has no attribute 'nonsense'."),
        ("_private", "module 'rankframe' has no attribute '_private'."),
    ],
)
def test_another_name_is_refused_with_the_nearest_one(name: str, said: str) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(rf, name)
    assert str(refused.value) == said


def test_the_package_runs_as_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rankframe", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"rankframe {rf.__version__}\n"


def test_the_version_is_written_as_it_is_built() -> None:
    text = (SRC / "__init__.py").read_text(encoding="utf-8")
    assert f'\n__version__ = "{rf.__version__}"\n' in text
