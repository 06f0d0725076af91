"""What documents are about: stretches of it, groups of queries, and what tells it from others."""

from __future__ import annotations

import polars as pl

from rankframe.frames.judgments import NO_SUBTOPIC, IndexedJudgments, index_judgments, numbered
from rankframe.kernel.batch import hashed, taken

TABLE = pl.DataFrame(
    {
        "query_id": ["p", "q", "q", "q", "p", "q"],
        "doc_id": ["a", "a", "b", "a", "a", "c"],
        "relevance": [1.0, 1.0, 0.0, 2.0, 3.0, 1.0],
        "subtopic": ["x", "y", "y", "x", "y", None],
    }
)


def judged(table: pl.DataFrame) -> IndexedJudgments:
    return index_judgments(hashed(table.lazy()).collect())[0]


def documents(judgments: IndexedJudgments) -> list[tuple[str, str, float]]:
    """List each document with its grade, in order of their ids."""
    rows = zip(ids(judgments), judgments.grades.tolist(), strict=True)
    return sorted((*pair, grade) for pair, grade in rows)


def ids(judgments: IndexedJudgments) -> list[tuple[str, str]]:
    """List the query and the document of each judgment."""
    queries = taken(judgments.queries, judgments.code)
    return list(zip(queries.to_list(), judgments.docs.all().to_list(), strict=True))


def about(judgments: IndexedJudgments) -> list[tuple[str, str, str | None, float]]:
    """Each document with its groups and the grades of these."""
    rows, pairs = judgments.subtopics, ids(judgments)
    assert rows is not None
    found = zip(rows.document.tolist(), rows.group.tolist(), rows.grades.tolist(), strict=True)
    return sorted(
        (
            (*pairs[of], None if at == NO_SUBTOPIC else rows.names[at], grade)
            for of, at, grade in found
        ),
        key=str,
    )


def test_stretches_and_groups() -> None:
    judgments = judged(TABLE)
    rows = judgments.subtopics
    assert rows is not None
    assert rows.count(judgments.starts, judgments.height) == 4
    assert rows.without == 1
    assert documents(judgments) == [("p", "a", 3), ("q", "a", 2), ("q", "b", 0), ("q", "c", 1)]
    assert about(judgments) == sorted(
        TABLE.select("query_id", "doc_id", "subtopic", "relevance").rows(), key=str
    )
    of_q = rows.slice_documents(1, 4)
    assert of_q.document.tolist()[0] == 0
    assert sorted(of_q.grades.tolist()) == [0, 1, 1, 2]


def test_a_document_twice_for_a_group_is_noticed() -> None:
    assert not index_judgments(hashed(TABLE.lazy()).collect())[1]
    assert index_judgments(hashed(pl.concat([TABLE, TABLE.tail(1)]).lazy()).collect())[1]
    assert not index_judgments(hashed(TABLE.clear().lazy()).collect())[1]


def test_the_fingerprint_sees_groups_grades_and_weights_in_any_order() -> None:
    prints = {str(judged(TABLE).fingerprint), str(judged(TABLE.reverse()).fingerprint)}
    parts = [judged(TABLE.filter(query_id=q)).fingerprint for q in ("p", "q")]
    assert prints == {str(parts[0] + parts[1])}
    others = [
        TABLE.with_columns(subtopic=pl.lit("x") + pl.col("subtopic")),
        TABLE.with_columns(subtopic=pl.lit("x")).unique(["query_id", "doc_id"]),
        TABLE.with_columns(relevance=pl.Series([2.0, 1.0, 0.0, 2.0, 3.0, 1.0])),
        TABLE.with_columns(subtopic_weight=pl.Series([2.0, 1.0, 1.0, 1.0, 1.0, 1.0])),
    ]
    assert len(prints | {str(judged(other).fingerprint) for other in others}) == 5


def test_the_fingerprint_sees_the_smallest_grades_but_no_minus_zero() -> None:
    prints = []
    for grade in (0.0, -0.0, 1e-20, 2e-20):
        # the same document has a larger grade for another group
        table = TABLE.with_columns(relevance=pl.Series([1.0, grade, 0.0, 2.0, 3.0, 1.0]))
        prints.append(str(judged(table).fingerprint))
    assert prints[0] == prints[1]
    assert len({*prints}) == 3


def test_keys_that_are_equal_by_chance() -> None:
    # also where only queries differ
    for rows in (TABLE, TABLE.filter(doc_id="a")):
        table = hashed(rows.lazy()).collect().with_columns(_key=pl.lit(7, pl.UInt64))
        found, expected = index_judgments(table)[0], judged(rows)
        assert documents(found) == documents(expected)
        assert about(found) == about(expected)


def test_numbers_of_no_group_at_all() -> None:
    numbers, names = numbered(pl.Series([None, None], dtype=pl.String))
    assert numbers.tolist() == [NO_SUBTOPIC, NO_SUBTOPIC]
    assert names.is_empty()
