"""DuckDB: the queries in ../sql, each of which ranks in its own way."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import duckdb

from benchmarks.contenders import METRICS, Values, Way

_SQL = Path(__file__).parent.parent / "sql"


def evaluate(ranking: str, qrels: Path, run: Path) -> Values:
    row = _row(_read(ranking) + _read("metrics"), qrels, run)
    return dict(zip(METRICS, row, strict=True))


def join(qrels: Path, run: Path) -> Values:
    """What nobody can beat: read both files, join them on both keys, and stop."""
    _row(_read("join"), qrels, run)
    return {}


def _row(query: str, qrels: Path, run: Path) -> tuple[float, ...]:
    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = false")
    connection.execute(f"CREATE VIEW qrels AS FROM read_parquet('{qrels}')")
    connection.execute(f"CREATE VIEW run AS FROM read_parquet('{run}')")
    row = connection.execute(query).fetchone()
    assert row is not None
    return row


def _read(name: str) -> str:
    return (_SQL / f"{name}.sql").read_text(encoding="utf-8")


_RANKINGS = sorted(path.stem for path in _SQL.glob("*.sql") if path.stem not in {"join", "metrics"})
WAYS: dict[str, Way] = {
    "join": join,
    **{ranking: partial(evaluate, ranking) for ranking in _RANKINGS},
}
