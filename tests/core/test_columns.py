"""Column names: each means one thing, and a parametric one is told from its parameter."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from rankframe.core.columns import (
    JUDGED_FRAME,
    LIST_SYNONYMS,
    LIST_SYNONYMS_OF,
    PAIR_FRAME,
    SYNONYMS,
    FrameColumns,
    Role,
    at_level,
)
from rankframe.metrics.subtopic_columns import GROUPED_FRAME

FRAMES = pytest.mark.parametrize(
    "frame", [JUDGED_FRAME, GROUPED_FRAME, PAIR_FRAME], ids=lambda f: f.kind
)


@pytest.mark.parametrize("role", LIST_SYNONYMS_OF)
def test_no_name_of_lists_means_two_columns(role: Role) -> None:
    of_lists = [*LIST_SYNONYMS_OF[role], *(name for of in LIST_SYNONYMS.values() for name in of)]
    names = Counter([*of_lists, *SYNONYMS, *(name for of in SYNONYMS.values() for name in of)])
    assert max(names.values()) == 1
    assert all(name == name.lower() for name in names)
    assert set(LIST_SYNONYMS) <= set(SYNONYMS)


def test_no_synonym_means_two_columns() -> None:
    names = Counter(name for names in SYNONYMS.values() for name in names)
    assert max(names.values()) == 1
    assert not set(names) & set(SYNONYMS)
    assert all(name == name.lower() for name in names)


@pytest.mark.parametrize("level", [0, 1, 2.5, -1, 1e-7, 1e30])
def test_a_level_is_read_back_from_the_name_of_its_column(level: float) -> None:
    base, found = JUDGED_FRAME.split(at_level("nonrelevant_above", level))
    assert base == "nonrelevant_above"
    assert found is not None
    assert float(found) == level
    assert JUDGED_FRAME.split("found") == ("found", None)


@pytest.mark.parametrize("name", ["rank_rel2", "found_rel", "found_relx", "found_top3", "rel2"])
def test_what_only_looks_like_a_level_is_no_column(name: str) -> None:
    assert JUDGED_FRAME.split(name) == (name, None)
    assert JUDGED_FRAME.find(name) is None


def test_cutoffs_of_the_pair_frame() -> None:
    assert PAIR_FRAME.split("tied_in_a_top10") == ("tied_in_a", "10")
    column = PAIR_FRAME.find("mean_rank_b_top3")
    assert column is not None
    assert column.type == pl.Float64()
    for name in ("concordant_top0", "concordant_top03", "overlap_top3", "concordant_rel2"):
        assert PAIR_FRAME.find(name) is None


@FRAMES
def test_every_column_has_a_type_and_stands_for_itself(frame: FrameColumns) -> None:
    for name, column in frame.columns.items():
        assert frame.find(name) == column
        assert frame.schema[name] == column.type
        assert frame.split(name) == (name, None)
        assert column.meaning
        assert (name in frame.parametric) == column.parametric


def test_what_depends_on_all_queries_does_so_at_every_level() -> None:
    for name in JUDGED_FRAME.columns:
        assert JUDGED_FRAME.of_whole_input(name) == name.startswith("pooled_")
    assert JUDGED_FRAME.of_whole_input("pooled_wins_rel2")
    assert not JUDGED_FRAME.of_whole_input("found_rel2")
