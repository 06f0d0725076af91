"""Check that column names mean one thing each, and that requests are read back from them."""

from __future__ import annotations

from collections import Counter

import pytest

from rankframe.core.columns import (
    DOCUMENTS_FRAME,
    JUDGED_FRAME,
    LIST_SYNONYMS,
    LIST_SYNONYMS_OF,
    PAIR_FRAME,
    RETRIEVED_FRAME,
    SUBTOPIC_FRAME,
    SYNONYMS,
    ColumnRequest,
    FrameColumns,
    Role,
)

LEVELS = (0, 1, 2.5, -1, 1e-7, 1e30)
FRAMES = pytest.mark.parametrize(
    "frame", [JUDGED_FRAME, SUBTOPIC_FRAME, PAIR_FRAME], ids=lambda f: f.kind
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


READ_BACK = [
    *((JUDGED_FRAME, ColumnRequest("nonrelevant_above", rel=rel)) for rel in LEVELS),
    *((SUBTOPIC_FRAME, ColumnRequest("above", rel=rel)) for rel in LEVELS),
    (SUBTOPIC_FRAME, ColumnRequest("ideal_rank")),
    (SUBTOPIC_FRAME, ColumnRequest("ideal_rank", alpha=0)),
    (SUBTOPIC_FRAME, ColumnRequest("ideal_above", alpha=1e-7, rel=2.5)),
    (SUBTOPIC_FRAME, ColumnRequest("ideal_dcg_exp2", k=10)),
    (PAIR_FRAME, ColumnRequest("tied_in_a", k=10)),
    (PAIR_FRAME, ColumnRequest("agreement", ties="b")),
    (PAIR_FRAME, ColumnRequest("unseen_most", ties="a", k=2)),
    (DOCUMENTS_FRAME, ColumnRequest("retrieved", k=3)),
    (RETRIEVED_FRAME, ColumnRequest("new", attribute="genre")),
    (RETRIEVED_FRAME, ColumnRequest("vector_pairs", attribute="text_of_title")),
    (RETRIEVED_FRAME, ColumnRequest("has", attribute="genre", value="a = b\n_top2")),
    (RETRIEVED_FRAME, ColumnRequest("values", attribute="genre_top10")),
    (RETRIEVED_FRAME, ColumnRequest("divergence", attribute="genre")),
    (RETRIEVED_FRAME, ColumnRequest("divergence", attribute="a_top1", k=20)),
]


@pytest.mark.parametrize(
    ("frame", "request_"), READ_BACK, ids=lambda one: getattr(one, "name", None) or one.kind
)
def test_a_request_is_read_back_from_its_name(frame: FrameColumns, request_: ColumnRequest) -> None:
    assert frame.request(request_.name) == request_
    assert request_.expr.meta.root_names() == [request_.name]
    assert frame.find(request_.name) == frame.columns[request_.column]


def test_names_stay_as_users_write_them() -> None:
    assert ColumnRequest("found", rel=2).name == "found_rel2"
    assert ColumnRequest("ideal_rank", alpha=1, rel=0.5).name == "ideal_rank_alpha1.0_rel0.5"
    assert ColumnRequest("divergence", attribute="genre", k=5).name == "divergence_of_genre_top5"
    assert JUDGED_FRAME.request("found_rel2.0") == ColumnRequest("found", rel=2)
    assert SUBTOPIC_FRAME.request("ideal_rank_alpha0.5") == ColumnRequest("ideal_rank")


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        *((JUDGED_FRAME, f"found_{end}") for end in ("rel", "relx", "top3", "rel2_rel3")),
        *((JUDGED_FRAME, name) for name in ("rank_rel2", "rel2", "my_found_rel2")),
        *((PAIR_FRAME, f"concordant_{end}") for end in ("top0", "top03", "rel2")),
        (PAIR_FRAME, "overlap_top3"),
        *((SUBTOPIC_FRAME, name) for name in ("above_alpha0.7", "ideal_dcg_rel2", "above_top3")),
        *((SUBTOPIC_FRAME, name) for name in ("ideal_dcg_top0", "ideal_rank_rel2_alpha0.7")),
        (RETRIEVED_FRAME, "rank_of_genre"),
        (DOCUMENTS_FRAME, "retrieved_top0"),
    ],
)
def test_what_only_looks_like_a_parameter_is_no_column(frame: FrameColumns, name: str) -> None:
    assert frame.request(name) == ColumnRequest(name)
    assert frame.find(name) is None


@FRAMES
def test_every_column_has_a_type_and_stands_for_itself(frame: FrameColumns) -> None:
    for name, column in frame.columns.items():
        assert frame.find(name) == column
        assert frame.schema[name] == column.type
        assert frame.request(name) == ColumnRequest(name)
        assert column.meaning


def test_what_depends_on_all_queries_does_so_at_every_level() -> None:
    for name in JUDGED_FRAME.columns:
        assert JUDGED_FRAME.of_whole_input(name) == name.startswith("pooled_")
    assert JUDGED_FRAME.of_whole_input("pooled_wins_rel2")
    assert not JUDGED_FRAME.of_whole_input("found_rel2")


def test_the_schema_has_columns_at_values_of_their_parameters() -> None:
    assert SUBTOPIC_FRAME.schema_at() == SUBTOPIC_FRAME.schema
    more = SUBTOPIC_FRAME.schema_at(rel=[2], alpha=[0.7], k=[10])
    assert [name for name in more if name not in SUBTOPIC_FRAME.columns] == [
        *(f"{name}_rel2" for name, column in SUBTOPIC_FRAME.columns.items()
          if "rel" in column.parameters),
        "ideal_rank_alpha0.7", "ideal_above_alpha0.7",
        "ideal_rank_alpha0.7_rel2", "ideal_above_alpha0.7_rel2",
        "ideal_dcg_top10", "ideal_dcg_exp2_top10",
    ]  # fmt: skip
    assert all(SUBTOPIC_FRAME.find(name) is not None for name in more)
