"""What a value may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rankframe as rf
from rankframe.core.columns import is_pattern
from rankframe.core.options import is_count, is_number

QRELS, RUN = {"q": {"a": 1}}, {"q": {"a": 1.0}}


@pytest.mark.parametrize("large", [10**400, -(10**400), 10**5000], ids=["400", "-400", "5000"])
def test_what_no_float_can_hold_is_no_number(large: int) -> None:
    assert not is_number(large)
    assert not is_count(large)


def test_a_count_has_64_bits() -> None:
    assert is_count(2**63 - 1)
    assert not is_count(2**63)


@pytest.mark.parametrize(
    ("name", "value"),
    [("rel", 10**400), ("rel", 10**5000), ("k_max", 10**30), ("confidence", 10**400)],
    ids=["400", "5000", "30", "a share"],
)
def test_options_take_no_numbers_that_cannot_be_computed_with(
    name: str, value: int, refusal
) -> None:
    said = refusal(rf.evaluate, QRELS, RUN, "map", **{name: value})
    assert len(said) < 200


@pytest.mark.parametrize("value", ["no", 0, None, "False"])
def test_overwrite_is_true_or_false(value: Any, tmp_path: Path, refusal) -> None:
    result = rf.evaluate(QRELS, RUN, "map", output=tmp_path / "out")
    options: dict[str, Any] = {"output": tmp_path / "out", "overwrite": value}
    refusal(rf.evaluate, QRELS, RUN, "mrr", **options)
    refusal(rf.agree, RUN, RUN, **options)
    refusal(result.write, tmp_path / "out", overwrite=value)
    assert rf.Result.read(tmp_path / "out").means == {"map": 1.0}


@pytest.mark.parametrize("name", ["*", "^s.*$", "^x$"])
def test_names_that_polars_takes_for_others_are_refused(name: str, refusal) -> None:
    assert is_pattern(name)
    run = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "s1": [1.0], name: [2.0]})
    columns = {"run": {"score": name}}
    refusal(rf.evaluate, QRELS, run, "map", columns=columns)
    refusal(rf.evaluate, QRELS, RUN, pl.col("rank").min().alias(name))
    for option in ("by", "weight"):
        queries = pl.DataFrame({"query_id": ["q"], "x": [1], name: [1]})
        metrics = "map(average=weighted)" if option == "weight" else "map"
        refusal(rf.evaluate, QRELS, RUN, metrics, queries=queries, **{option: name})


def test_other_names_are_no_patterns() -> None:
    assert not any(map(is_pattern, ["^", "$", "a*", "^a", "a$", ""]))
