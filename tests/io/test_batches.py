"""An input in batches: all rows in order, and what is wrong with one said of the whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankframe as rf
from rankframe.core.columns import SCORE_REST
from rankframe.io.batches import Batches, load
from rankframe.io.input_table import comparable, part_of
from rankframe.io.opening import open_table
from rankframe.kernel.batch import HASHES, KEY, QUERY_HASH
from tests.support.counted import Changing
from tests.support.looked_up import layouts

Refusal = Callable[..., str]
ROWS = 400
RUN = pl.DataFrame(
    {
        "query_id": (np.arange(ROWS) // 10).astype(str),
        "doc_id": (np.arange(ROWS) % 10).astype(str),
        "score": np.arange(ROWS)[::-1] / 4,
    }
)
QRELS = RUN[::7].select("query_id", "doc_id", relevance=pl.lit(1.0))


def batches(source: Any, role: Any = "run") -> Batches:
    scanned = open_table(source, role)
    return Batches(scanned, comparable(scanned)[0])


@pytest.mark.parametrize("rows", [1, 7, 399, 400, 10_000])
def test_all_rows_come_in_order(rows: int, tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    RUN.write_parquet(path, row_group_size=30)
    for source in (RUN, path, RUN.lazy().filter(pl.col("score") >= 0)):
        table = pl.concat(batches(source).read(rows))
        assert table.drop(QUERY_HASH, KEY).equals(RUN)
        assert table[QUERY_HASH].n_unique() == 40
    assert batches(RUN).whole().equals(table)


def test_rows_stay_in_order_whatever_the_heights_of_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A source may yield a few rows and then many: the few must come first."""
    rows = pl.DataFrame({"query_id": ["q"] * 60, "doc_id": [f"d{n}" for n in range(60)]})
    rows = rows.with_columns(score=-pl.int_range(60).cast(pl.Float64))
    heights = [3, 9, 2, 2, 8, 1, 20, 4, 3, 3, 5]
    ends = np.cumsum(heights)
    source = batches(rows)
    tables = [rows[int(end - height) : int(end)] for height, end in zip(heights, ends, strict=True)]
    monkeypatch.setattr(source, "_tables", lambda _threads: iter(tables))
    read = list(source.read(10))
    assert pl.concat(read).equals(rows)
    assert max(table.height for table in read) <= 10
    assert [table.height for table in read[:3]] == [3, 9, 4]


def test_columns_and_types_are_settled() -> None:
    odd = RUN.cast({"doc_id": pl.Int8, "score": pl.String}).rename({"doc_id": "docid"})
    table = batches(odd).whole().drop(HASHES, strict=False)
    assert not table[SCORE_REST].to_numpy().any()  # of text, which may hold large whole numbers
    assert table.drop(SCORE_REST).equals(RUN.cast({"doc_id": pl.Int64}))


@pytest.mark.parametrize("dtype", [pl.String, pl.Int64, pl.Categorical])
def test_the_same_in_order_of_their_names(dtype: Any) -> None:
    mixed = layouts(RUN)["scattered"].cast({"query_id": dtype})
    table = pl.concat(batches(mixed).by_name().read(50))
    expected = mixed.sort(pl.col("query_id").cast(pl.String), maintain_order=True)
    assert table.drop(HASHES, strict=False).equals(expected)


def test_nothing_is_refused_unless_it_is_a_part(refusal: Refusal) -> None:
    for read in (lambda: list(batches(RUN.head(0)).read(9)), batches(RUN.head(0)).whole):
        refusal(read)
    part = part_of(RUN.head(0), "run")
    some = Batches(part, part.frame)
    assert sum(batch.height for batch in some.read(9)) == 0
    assert some.whole().height == 0


FAULTS = {
    "null query": {"query_id": [None]},
    "empty query": {"query_id": [""]},
    "null doc": {"doc_id": [None]},
    "empty doc": {"doc_id": [""]},
    "null score": {"score": [None]},
    "NaN": {"score": [float("nan")]},
    "infinity": {"score": [float("inf")]},
    "several": {"score": [float("nan"), None, 3.0], "doc_id": ["x", "y", ""]},
    "in several": {"score": [float("nan"), 1.0, float("-inf")], "query_id": ["50", None, "51"]},
}
# Their sum is no number, of which numpy warns.
OPPOSITES = {"score": [float("inf"), float("-inf")]}


def with_faults(values: dict[str, list[Any]], *, at: int = 370) -> pl.DataFrame:
    columns = RUN.to_dict(as_series=False)
    for name, bad in values.items():
        columns[name][at : at + len(bad)] = bad
    return pl.DataFrame(columns, schema=RUN.schema)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("layout", ["sorted", "scattered"])
def test_what_is_wrong_late_is_said_of_the_whole(
    fault: str, layout: str, tmp_path: Path, refusal: Refusal, set_batch_rows
) -> None:
    bad = with_faults(FAULTS[fault])
    bad = bad if layout == "sorted" else bad[np.random.default_rng(1).permutation(ROWS)]
    expected = refusal(load, open_table(bad, "run"))
    assert refusal(rf.evaluate, QRELS, bad, "map") == expected
    set_batch_rows(40)
    bad.write_parquet(tmp_path / "run.parquet", row_group_size=25)
    for source in (bad, tmp_path / "run.parquet", bad.lazy()):
        assert refusal(rf.evaluate, QRELS, source, "map") == expected
    assert refusal(rf.evaluate, QRELS, bad, "map", max_memory="20kB") == expected


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if "score" not in FAULTS[fault]])
@pytest.mark.parametrize("dtype", [pl.String(), pl.Categorical()], ids=str)
def test_what_is_wrong_with_judgments_is_said_of_the_whole(
    fault: str, dtype: pl.DataType, refusal: Refusal
) -> None:
    bad = with_faults(FAULTS[fault]).rename({"score": "relevance"})
    expected = refusal(load, open_table(bad, "qrels"))
    ids = {"query_id": dtype, "doc_id": dtype}
    assert refusal(rf.evaluate, bad.cast(ids), RUN.cast(ids), "map") == expected  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("dtype", [pl.Int64(), pl.Categorical(), pl.Date()], ids=str)
@pytest.mark.parametrize("column", ["query_id", "doc_id"])
def test_nulls_in_ids_of_other_types(column: str, dtype: pl.DataType, refusal: Refusal) -> None:
    text = pl.col(column).cast(pl.Int32) if dtype == pl.Date() else pl.col(column)
    given = pl.int_range(pl.len()) != 380
    qrels = QRELS.with_columns(text.cast(dtype))
    refusal(rf.evaluate, qrels, RUN.with_columns(pl.when(given).then(text.cast(dtype))), "map")


@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum(["", *map(str, range(99))])], ids=str)
@pytest.mark.parametrize("column", ["query_id", "doc_id"])
def test_empty_categories_are_refused(column: str, dtype: pl.DataType, refusal: Refusal) -> None:
    bad = with_faults({column: [""]}).with_columns(pl.col(column).cast(dtype))
    qrels = QRELS.with_columns(pl.col(column).cast(dtype))
    refusal(rf.evaluate, qrels, bad, "map")


def test_a_hash_like_that_of_an_empty_id_is_no_fault(set_hash) -> None:
    set_hash(lambda *_: pl.lit(0, pl.UInt64))
    assert batches(RUN).whole().height == ROWS


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_whose_sum_is_not_finite_are_fine(sign: float) -> None:
    run = RUN.with_columns(score=sign * (1.7e308 - pl.col("score") * 1e300))
    assert rf.evaluate(QRELS, run, "map").per_query.height == 40


def test_opposite_infinities_are_counted_together(refusal: Refusal) -> None:
    refusal(rf.evaluate, QRELS, with_faults(OPPOSITES), "map")


@pytest.mark.parametrize("batch_rows", [40, 1 << 16])
def test_text_where_scores_should_be(
    batch_rows: int, tmp_path: Path, refusal: Refusal, set_batch_rows
) -> None:
    set_batch_rows(batch_rows)
    bad = RUN.with_columns(
        score=pl.when(pl.int_range(pl.len()) == 388).then(pl.lit("high")).otherwise(pl.lit("1"))
    )
    bad.write_parquet(tmp_path / "run.parquet", row_group_size=25)
    for source in (bad, tmp_path / "run.parquet"):
        refusal(rf.evaluate, QRELS, source, "map")


def checked(*turns: pl.DataFrame | Exception, bad: pl.DataFrame) -> None:
    """Check rows of an input that is read again, to say it of the whole, and is another by then."""
    changing = open_table(Changing(*turns, schema=RUN.schema).frame, "run")
    hashed = pl.concat(batches(bad).read(1 << 16))
    Batches(changing, changing.frame).check(hashed)


NAN = with_faults({"score": [float("nan")]})


def test_an_input_that_is_clean_by_now_was_not(refusal: Refusal) -> None:
    refusal(checked, RUN, bad=NAN)


def test_an_input_that_becomes_clean_while_it_is_quoted(refusal: Refusal) -> None:
    refusal(checked, NAN, RUN, bad=NAN)


@pytest.mark.parametrize(
    "turns", [[OSError("gone")], [NAN, OSError("gone")]], ids=["at once", "then"]
)
def test_an_input_that_is_gone_by_now(turns: list[Any], refusal: Refusal) -> None:
    assert refusal(checked, *turns, bad=NAN)


def test_text_late_beside_a_fault_early(refusal: Refusal) -> None:
    text = pl.Series(["nan", *["1"] * (ROWS - 2), "high"])
    changing = open_table(RUN.with_columns(score=text), "run")
    early = next(iter(batches(with_faults({"score": [float("nan")]}, at=0)).read(1 << 16)))
    assert refusal(Batches(changing, changing.frame).check, early)
