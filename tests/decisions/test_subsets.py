"""All queries, and every slice of them, by their places."""

from __future__ import annotations

import numpy as np
import polars as pl

from rankframe.decisions.subsets import everything, slices_of
from rankframe.inputs.queries import Known, read_attributes

QUERIES = pl.Series("query_id", ["a", "b", "c", "d"])
ATTRIBUTES = pl.DataFrame(
    {"query_id": ["d", "a", "b"], "locale": ["de", "en", "de"], "size": [10, 2, 2]}
)


def test_everything_is_called_so() -> None:
    whole = everything(QUERIES)
    assert (whole.by, whole.name, whole.title) == (None, None, "all queries")
    assert whole.rows.tolist() == [0, 1, 2, 3]


def test_each_query_is_in_one_slice_of_each_way() -> None:
    attributes = read_attributes(ATTRIBUTES, by=["locale", ("locale", "size")])
    assert attributes is not None
    found = slices_of(attributes, attributes.of(QUERIES))
    assert [(some.title, some.rows.tolist()) for some in found] == [
        ("locale: de", [1, 3]),
        ("locale: en", [0]),
        ("locale: (none)", [2]),
        ("locale × size: de × 2", [1]),
        ("locale × size: de × 10", [3]),
        ("locale × size: en × 2", [0]),
        ("locale × size: (none) × (none)", [2]),
    ]
    for way in ("locale", "locale × size"):
        rows = np.concatenate([some.rows for some in found if some.by == way])
        assert sorted(rows.tolist()) == [0, 1, 2, 3]


def test_nothing_is_sliced_where_nothing_is_known() -> None:
    assert slices_of(None, Known()) == []
