"""What a report is made from."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankframe.core.table import as_cell
from rankframe.present.report.model import date_text, fingerprint_of_values, input_row
from tests.support.report_cases import compared, material


def test_charts_and_movers_are_about_the_first_metric() -> None:
    assert material().first.label == "ndcg@5"
    assert material(compared(metrics=["lag", "ndcg@5"])).first.label == "lag"


def test_the_date_is_given_or_that_of_the_build_or_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767323040")
    assert date_text(None) == "2026-01-02 03:04 UTC"
    assert date_text("yesterday") == "yesterday"
    east = datetime(2026, 1, 2, 4, 4, tzinfo=timezone(timedelta(hours=1)))
    assert date_text(east) == "2026-01-02 03:04 UTC"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert date_text(None)[:10] in {f"{datetime.now(UTC):%Y-%m-%d}", date_text(None)[:10]}


@pytest.mark.parametrize("wrong", ["soon", "9" * 40])
def test_a_wrong_date_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch, refusal) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
    refusal(date_text, None)
    refusal(date_text, 5)


def texts(*described: Any) -> list[str]:
    return [as_cell(cell).text for cell in input_row(*described)]


def test_files_have_a_name_a_size_and_a_digest(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    path.write_bytes(b"abc")
    assert texts("run", path, str(path), 1_234) == [
        "run", "run.parquet", "1,234", "3 B", hashlib.sha256(b"abc").hexdigest()[:12],
    ]  # fmt: skip
    path.write_bytes(b"abc" * 20_000)
    assert texts("run", path, str(path))[2:4] == ["", "60.0 kB"]
    assert texts("run", tmp_path, str(tmp_path))[1:] == [tmp_path.name, "", "", ""]
    _, secret, *_ = texts("run", "postgresql://ann:s3cret@db/shop#runs", "")
    assert secret == "postgresql://db/shop#runs"
    assert texts("run", {"q": {}}, "the run dict")[1] == "the run dict"


def test_values_are_known_again_and_others_are_not() -> None:
    values = pl.DataFrame({"query_id": ["a", "b"], "map": [0.5, None]})
    assert fingerprint_of_values(values) == fingerprint_of_values(values.clone())
    others = (
        values.with_columns(map=pl.Series([0.5, 0.0])),
        values.with_columns(query_id=pl.Series(["a", "c"])),
        values.rename({"map": "mrr"}),
    )
    assert len({fingerprint_of_values(one) for one in (values, *others)}) == 4
