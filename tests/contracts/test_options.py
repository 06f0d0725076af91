"""Functions that take a group of options take all of it, as declared, and say what each means."""

from __future__ import annotations

import inspect
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rankframe as rf
from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.core.option import Options, declared
from rankframe.core.options import Comparing, Intervals, PairPolicies, Policies, SharedPolicies
from rankframe.io.storage import Storage
from rankframe.present.report.report import report
from rankframe.spark import entry as on_spark

ROOT = Path(__file__).parents[2]
TAKERS: list[tuple[str, Callable[..., Any], tuple[type[Options], ...]]] = [
    ("evaluate", rf.evaluate, (Policies, Intervals, Storage)),
    ("compare", rf.compare, (SharedPolicies, Comparing, Intervals, Storage)),
    ("gate", rf.gate, (SharedPolicies, Storage)),
    ("tune", rf.tune, (SharedPolicies, Intervals, Storage)),
    ("diff", rf.diff, (Policies, Storage)),
    ("curve", rf.curve, (Policies, Storage)),
    ("report", report, (SharedPolicies, Comparing, Intervals, Storage)),
    ("spark.evaluate", on_spark.evaluate, (Policies, Intervals)),
    ("agree", rf.agree, (PairPolicies, Intervals, Storage)),
    ("fuse", rf.fuse, (FusionPolicies, Storage)),
    ("spark.agree", on_spark.agree, (PairPolicies, Intervals)),
]


@pytest.mark.parametrize(("name", "function", "groups"), TAKERS, ids=[one[0] for one in TAKERS])
def test_a_function_takes_every_option_of_its_groups(
    name: str, function: Callable[..., Any], groups: tuple[type[Options], ...]
) -> None:
    parameters = inspect.signature(function).parameters
    for group in groups:
        for one, _, _ in declared(group):
            parameter = parameters[one.name]
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, one.name
            assert parameter.default == one.default, one.name
            assert type(parameter.default) is type(one.default), one.name


@pytest.fixture
def signatures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What docs/make_signatures.py has."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return runpy.run_path(str(ROOT / "docs" / "make_signatures.py"))


def test_every_function_that_takes_options_is_written(signatures: dict[str, Any]) -> None:
    takers, source = signatures["TAKERS"], ROOT / "src" / "rankframe"
    written = {
        (taker.module, taker.function)
        for taker in takers
        if not (taker.frame_only or "missing" in taker.without)
    }
    assert written == {
        (
            str(Path(inspect.getfile(inspect.unwrap(function))).relative_to(source)),
            function.__name__,
        )
        for _, function, _ in TAKERS
    }


def test_a_signature_that_is_not_as_declared_is_noticed(signatures: dict[str, Any]) -> None:
    taker = next(one for one in signatures["TAKERS"] if one.function == "evaluate")
    source = (signatures["SOURCE"] / taker.module).read_text(encoding="utf-8")
    for changed in (
        source.replace('= "doc_desc",', '= "doc_asc",', 1),
        source.replace("    k_max: int | None = None,\n", "", 1),
    ):
        assert changed != source
        assert signatures["signed"](taker, changed) == source


# Where a function says more of an option than is declared: ties are ties to a correlation.
OTHERWISE = {(rf.agree, "ties")}


def words(text: str) -> str:
    return " ".join(text.split())


def documented(function: Callable[..., Any], name: str, sentence: str) -> bool:
    """Whether its documentation has the sentence, or leaves it to that of `evaluate`."""
    said = words(inspect.getdoc(function) or "")
    left = re.search(r"(\w+(?:, \w+)*): as in `evaluate`\.", said)
    if left and name in left[1].split(", "):
        return documented(rf.evaluate, name, sentence)
    return f" {name}: {words(sentence)}" in said


@pytest.mark.parametrize(
    ("function", "group"),
    [
        (rf.evaluate, Policies),
        (rf.evaluate, Storage),
        (rf.agree, PairPolicies),
        (rf.fuse, FusionPolicies),
        (rf.compare, Comparing),
    ],
)
def test_the_sentence_of_every_option_is_in_the_documentation(
    function: Callable[..., Any], group: type[Options]
) -> None:
    missing = {
        (function, one.name)
        for one, _, said in declared(group)
        if not documented(function, one.name, said.sentence)
    }
    assert missing == {one for one in OTHERWISE if one[0] is function}


def test_what_comparisons_do_with_missing_queries_is_in_their_documentation() -> None:
    (said,) = [said for one, _, said in declared(SharedPolicies) if one.name == "missing"]
    assert documented(rf.compare, "missing", said.sentence)
    assert SharedPolicies().each == Policies()
    assert SharedPolicies(missing="skip").each == Policies(missing="skip")
