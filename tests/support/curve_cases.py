"""Provide the data that the tests of curves draw."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import strategies as st

from rankframe.analysis.curves.curve import curve
from tests.support.oracles import SCORES, Case, cases

INF = float("inf")
CASE = Case(
    {"p": {"a": 1, "b": 0, "m": 2}, "q": {"c": 1}, "judged only": {"a": 1}},
    {
        "p": {"a": 0.9, "b": 0.5, "x": 0.4},
        "q": {"y": 0.7, "c": 0.5},
        "retrieved only": {"a": 3.0, "c": 0.1},
    },
)


@st.composite
def overlapping(draw: st.DrawFn) -> Case:
    """Draw a case in which at least one document is both judged and retrieved. Any other case would
    be refused.
    """
    case = draw(cases())
    qrels, run = {"d": draw(st.integers(-1, 1))}, {"d": draw(st.sampled_from(SCORES))}
    return Case({**case.qrels, "shared": qrels}, {**case.run, "shared": run})


def drawn(case: Case, kind: Any, **options: Any) -> pl.DataFrame:
    return curve(case.qrels, case.run, kind, **options)
