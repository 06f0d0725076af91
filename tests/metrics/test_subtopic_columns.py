"""The columns of the grouped frame, and what follows their names."""

from __future__ import annotations

from rankframe.metrics.subtopic_columns import (
    GROUPED_FRAME,
    OF_ALPHA,
    OF_CUTOFF,
    at_alpha,
    at_cutoff,
    grouped_schema,
)


def test_a_parameter_is_read_back_from_the_name_of_its_column() -> None:
    split = GROUPED_FRAME.split
    assert split(at_alpha("ideal_rank", 0.5)) == ("ideal_rank", None)
    assert split(at_alpha("ideal_above", 1e-7, 2.5)) == ("ideal_above", "alpha1e-07_rel2.5")
    assert split("above_rel-1") == ("above", "rel-1")
    assert split(at_cutoff("ideal_dcg_exp2", 10)) == ("ideal_dcg_exp2", "top10")
    for name in ("rank_rel2", "above_rel", "ideal_dcg_top0", "ideal_rank_beta2"):
        assert GROUPED_FRAME.find(name) is None


def test_columns_that_were_asked_for_are_in_the_schema() -> None:
    plain = grouped_schema()
    assert plain == GROUPED_FRAME.schema
    more = grouped_schema([2], [0.7], [10])
    assert set(more) - set(plain) == {
        *(f"{name}_rel2" for name in GROUPED_FRAME.parametric if name not in OF_CUTOFF),
        *(f"{name}_alpha0.7{level}" for name in OF_ALPHA for level in ("", "_rel2")),
        *(f"{name}_top10" for name in OF_CUTOFF),
    }
    assert all(GROUPED_FRAME.find(name) is not None for name in more)
