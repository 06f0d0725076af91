"""docs/migrating.md: every row of its tables gives the other library's number.

recommenders and RecTools are not installed with the development tools: their numbers stand here as
recommenders 1.2.1 and RecTools 0.19.0 gave them for the same data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from math import log2
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from sklearn import metrics as sklearn

import rankframe as rf
from tests.support.oracles import about

# Compiling ranx takes minutes; as plain Python it needs a second for these few queries.
os.environ["NUMBA_DISABLE_JIT"] = "1"

import ranx

PAGE = Path(__file__).parents[2] / "docs" / "migrating.md"
# u4 has judgments and no list, u5 a list and no judgments. Nothing ties.
GRADES = {
    "u1": {"a": 3, "b": 1, "c": 2, "d": 1},
    "u2": {"b": 1, "e": 2},
    "u3": {"a": 1},
    "u4": {"c": 1},
}
LISTS = {"u1": "axcby", "u2": "xyez", "u3": "bc", "u5": "ab"}
SCORES = {user: {doc: 10.0 - i for i, doc in enumerate(docs)} for user, docs in LISTS.items()}
BOTH = [user for user in GRADES if user in SCORES]
WITH_HITS = ["u1", "u2"]

RECOMMENDERS = {
    "precision_at_k(k=3)": 0.3333333333333333,
    "recall_at_k(k=3)": 0.3333333333333333,
    "map(k=3)": 0.19444444444444442,
    "map_at_k(k=3)": 0.2407407407407407,
    "ndcg_at_k(k=3)": 0.25262292135421593,
    "ndcg_at_k(k=3, score_type='raw')": 0.3050254374329477,
    "ndcg_at_k(k=3, score_type='exp')": 0.32951670860259435,
}
RECTOOLS = {
    "Precision(k=3)": 0.25,
    "Precision(k=3, r_precision=True)": 0.29166666666666663,
    "Recall(k=3)": 0.25,
    "F1Beta(k=3)": 0.24285714285714288,
    "HitRate(k=3)": 0.5,
    "MRR(k=3)": 0.3333333333333333,
    "MAP(k=3)": 0.14583333333333331,
    "MAP(k=3, divide_by_k=True)": 0.16666666666666663,
    "NDCG(k=3)": 0.23463936301137822,
    "NDCG(k=3, divide_by_achievable=True)": 0.25262292135421593,
}


def by_ranx(name: str) -> float:
    """ranx takes only queries that both sides have."""
    qrels = ranx.Qrels({user: GRADES[user] for user in BOTH})
    run = ranx.Run({user: SCORES[user] for user in BOTH})
    value: Any = ranx.evaluate(qrels, run, name)
    return float(value)


def by_ir_measures(name: str) -> float:
    measure = ir_measures.parse_measure(name)
    return float(ir_measures.calc_aggregate([measure], GRADES, SCORES)[measure])


def by_pytrec_eval(name: str) -> float:
    base, _, cutoff = name.rpartition("_")
    asked = f"{base}.{cutoff}" if cutoff.isdigit() else name
    found = pytrec_eval.RelevanceEvaluator(GRADES, {asked}).evaluate(SCORES)
    return float(np.mean([values[name] for values in found.values()]))


def by_sklearn(name: str) -> float:
    """Of the retrieved documents: a row of grades and one of scores for each query with a hit (of
    others it warns, and says 0, 1 or nan).
    """
    call = re.fullmatch(r"(\w+)\(y_true, y_score(?:, k=(\d))?\)", name)
    assert call is not None
    function, options = getattr(sklearn, call[1]), {"k": int(call[2])} if call[2] else {}
    graded = "dcg" in name
    values = []
    for user in WITH_HITS:
        grades = [GRADES[user].get(doc, 0) for doc in SCORES[user]]
        labels = grades if graded else [int(grade > 0) for grade in grades]
        rows = (labels, list(SCORES[user].values()))
        flat = name.startswith(("average", "roc"))
        values.append(function(*(rows if flat else ([row] for row in rows)), **options))
    return float(np.mean(values))


LIBRARIES: dict[str, Callable[[str], float]] = {
    "ranx": by_ranx,
    "ir_measures": by_ir_measures,
    "pytrec_eval": by_pytrec_eval,
    "scikit-learn": by_sklearn,
    "recommenders": RECOMMENDERS.__getitem__,
    "RecTools": RECTOOLS.__getitem__,
}


@cache
def tables() -> dict[str, list[tuple[str, str, str]]]:
    """The rows under each library's heading: its call, our metric, our options."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n### ")[1:]:
        title, _, text = section.partition("\n")
        rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (.*?) ?\|$", text, re.MULTILINE)
        found[title.strip()] = rows
    return found


ROWS = [(library, *row) for library, rows in tables().items() for row in rows]


def ours(metric: str, options: str) -> float | None:
    """The value of a row's metric, a name or an expression, under its options."""
    spelled = re.findall(r'`(\w+)="(\w+)"`', options)
    taken: dict[str, Any] = dict(spelled)
    grades = GRADES
    if "grades of 1" in options:
        grades = {user: dict.fromkeys(docs, 1) for user, docs in GRADES.items()}
    if "with a hit" in options:
        grades = {user: GRADES[user] for user in WITH_HITS}
    asked: Any = metric
    if metric.startswith(("rf.", "(")):
        asked = eval(metric, {"rf": rf, "log2": log2}).alias("value")
    return next(iter(rf.evaluate(grades, SCORES, asked, ci=None, **taken).means.values()))


@pytest.mark.parametrize(("library", "theirs", "metric", "options"), ROWS)
def test_a_row_of_the_tables_holds(library: str, theirs: str, metric: str, options: str) -> None:
    assert ours(metric, options) == about(LIBRARIES[library](theirs))


def test_every_library_has_its_table() -> None:
    assert {library: len(rows) > 3 for library, rows in tables().items()} == dict.fromkeys(
        LIBRARIES, True
    )
    assert {theirs for theirs, *_ in tables()["recommenders"]} == set(RECOMMENDERS)
    assert {theirs for theirs, *_ in tables()["RecTools"]} == set(RECTOOLS)
    text = PAGE.read_text(encoding="utf-8").split("\n### ", 1)[1]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(lines) == len(ROWS)  # none that the pattern passes over
