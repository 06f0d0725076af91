"""Tables and queries of DuckDB, SQLite and a real PostgreSQL; connections that somebody opened."""

from __future__ import annotations

import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import rankframe as rf
from rankframe.cli.inputs import runs_by_name
from rankframe.io.sources import databases
from rankframe.io.sources.databases import is_query, open_database

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"d": 1}}
RUN = pl.DataFrame(
    {"query_id": ["q1", "q1", "q1", "q2"], "doc_id": ["a", "x", "b", "d"],
     "score": [0.5, 0.9, 0.1, 7.0]}
)  # fmt: skip


def values(run: Any, **options: Any) -> list[tuple[Any, ...]]:
    return rf.evaluate(QRELS, run, ["ndcg@10", "map"], **options).per_query.rows()


@pytest.fixture(scope="module")
def wanted() -> list[tuple[Any, ...]]:
    return values(RUN)


@pytest.fixture(scope="module")
def duck(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A DuckDB file with runs."""
    path = tmp_path_factory.mktemp("duck") / "a shop.db"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", RUN.to_arrow())
        for table in ("runs", '"order"', "many"):
            connection.execute(f"create table {table} as select *, uuid() as id from given")
        connection.execute("create schema old")
        connection.execute("create table old.runs as select *, score + 1 as other from given")
    return f"duckdb:{path}"


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lite") / "shop.db"
    connection = sqlite3.connect(path)
    connection.execute("create table runs (query_id text, doc_id text, score real)")
    connection.executemany("insert into runs values (?, ?, ?)", RUN.rows())
    connection.commit()
    connection.close()
    return path


@pytest.fixture(scope="module")
def server(postgres: str) -> str:
    """The address of a PostgreSQL with runs."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("runs", RUN.to_arrow(), mode="replace")
        cursor.execute("drop table if exists typed")
        cursor.execute(
            "create table typed as select query_id::varchar(9), doc_id::name, score::numeric, "
            "gen_random_uuid() as id, now() as at, '{}'::jsonb as other from runs"
        )
        connection.commit()
    return postgres


def password_of(address: str) -> str:
    return address.split("://")[1].split(":", 1)[1].rsplit("@", 1)[0]


ASKED = ("runs", "select * from runs", "select * from runs; ", "select * from runs -- all of it")


@pytest.mark.parametrize("asked", [*ASKED, "order", "old.runs", "from runs", "main.runs"])
def test_duckdb(asked: str, duck: str, wanted: Any) -> None:
    assert values(f"{duck}#{asked}") == wanted


@pytest.mark.parametrize("asked", ASKED)
def test_sqlite(asked: str, lite: Path, wanted: Any) -> None:
    assert values(f"sqlite:{lite}#{asked}") == wanted


@pytest.mark.parametrize("asked", [*ASKED, "public.runs", "typed"])
def test_postgresql(asked: str, server: str, wanted: Any) -> None:
    assert values(f"{server}#{asked}") == wanted
    if asked == "runs":
        assert values(f"{server.replace('postgresql', 'postgres', 1)}#runs") == wanted


def test_what_is_not_small_streams_and_only_what_is_needed(
    duck: str, server: str, wanted: Any, monkeypatch
) -> None:
    monkeypatch.setattr(databases, "_FEW_ROWS", 2)
    asked: list[str] = []
    select = databases._select

    def noted(*args: Any) -> str:
        asked.append(select(*args))
        return asked[-1]

    monkeypatch.setattr(databases, "_select", noted)
    for address in (f"{duck}#runs", f"{server}#typed"):
        asked.clear()
        assert values(address) == wanted
        first, *others = asked
        assert first.startswith("select * from")
        assert others
        assert not any('"id"' in query or "*" in query for query in others)
    opened = open_database("duckdb", duck.removeprefix("duckdb:"), "runs", "it")
    assert not opened.seekable
    assert opened.frame.select("score").head(2).collect().height == 2
    assert opened.frame.filter(pl.col("doc_id") == "d").collect().height == 1


def test_it_is_opened_for_reading_only(duck: str, refusal) -> None:
    for asked in ("delete from runs", "select * from runs; drop table runs"):
        refusal(values, f"{duck}#{asked}")


@pytest.mark.parametrize(
    "asked",
    [
        "rusn",
        "basket",
        "selec 1",
        "",
        "select 1 as x",
        "select error('boom') as query_id",
    ],
)
def test_what_duckdb_cannot_answer(asked: str, duck: str, refusal) -> None:
    refusal(values, f"{duck}#{asked}")


def test_what_is_no_database(tmp_path: Path, duck: str, lite: Path, refusal) -> None:
    (tmp_path / "text.db").write_text("not a database " * 500)
    refusal(values, "duckdb:none.db#runs")
    refusal(values, "sqlite:none.db#runs")
    for kind in ("duckdb", "sqlite"):
        refusal(values, f"{kind}:{tmp_path}/text.db#runs")
    refusal(values, f"sqlite:{lite}#run")
    refusal(values, f"sqlite:{lite}")
    with duckdb.connect(duck.removeprefix("duckdb:")):
        refusal(values, f"{duck}#runs")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("$", "#rusn"),
        ("$", "#selec x"),
        ("$", "#delete from runs returning *"),
        ("$", ""),
        (r"/\w+$", "/none#runs"),
        (r":[^:/]+@(.*)$", r":other@\1#runs"),
        (r"@[^:]+(.*)$", r"@nowhere.invalid\1#runs"),
        (r":\d+/(\w+)$", r":1/\1#runs"),
    ],
)
def test_what_postgresql_cannot_answer_is_said_without_the_password(
    old: str, new: str, server: str, refusal
) -> None:
    address = re.sub(old, new, server)
    found = refusal(values, address)
    assert "@" not in found
    assert password_of(address) not in found


def test_the_password_is_nowhere_in_what_is_made(server: str, tmp_path: Path) -> None:
    password = password_of(server)
    address = f"{server}#runs"
    result = rf.evaluate(QRELS, address, "ndcg@10", output=tmp_path / "out")
    compared = rf.compare(QRELS, {**runs_by_name([address]), "b": RUN})
    pytest.importorskip("altair", reason="altair is not installed")
    rf.report(QRELS, {"a": address, "b": RUN}, output=tmp_path / "page.html")
    compared.write(tmp_path / "compared")
    made = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(made) >= 7
    assert not any(password.encode() in content for content in made)
    assert password not in repr(result) + str(result.ledger.rows()) + str(compared.ledger.rows())


@pytest.mark.parametrize(
    "query",
    [
        "select * from runs) as x; copy runs to '{target}'; select * from (select 1",
        "copy runs to '{target}'",
        "select * from read_csv('{target}')",
        "hostile",  # a view over another file
    ],
)
def test_duckdb_reads_its_file_and_nothing_else(query: str, tmp_path: Path, refusal) -> None:
    target = tmp_path / "other.csv"
    shop = tmp_path / "shop.db"
    RUN.write_csv(target)
    before = target.read_bytes()
    with duckdb.connect(str(shop)) as connection:
        connection.execute("create table runs as select 'q1' as query_id")
        connection.execute(f"create view hostile as select * from read_csv('{target}')")
    refusal(values, f"duckdb:{shop}#{query.format(target=target)}")
    assert target.read_bytes() == before


def test_postgresql_changes_nothing(server: str, refusal) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute("create sequence if not exists numbers")
        connection.commit()
    drop = "select * from runs) as x; drop table runs; select * from (select 1"
    refusal(values, f"{server}#{drop}")
    number = "select 'q1' as query_id, 'a' as doc_id, nextval('numbers')::float as score"
    refusal(values, f"{server}#{number}")
    assert values(f"{server}#runs")


def test_names_of_runs_have_no_passwords() -> None:
    address = "postgresql://ann:word@host/shop"
    assert list(runs_by_name([f"{address}#runs", f"{address}#old.best"])) == ["runs", "best"]
    assert next(iter(runs_by_name([f"{address}#runs", f"{address}/x#runs"]))) == (
        "postgresql://host/shop#runs"
    )
    assert list(runs_by_name(["duckdb:a/shop.db#bm25", "runs/dense.parquet"])) == ["bm25", "dense"]


def test_connections_that_are_open(duck: str, lite: Path, wanted: Any, refusal) -> None:
    with duckdb.connect(duck.removeprefix("duckdb:"), read_only=True) as connection:
        for asked in ("runs", "select * from runs"):
            assert values((connection, asked)) == wanted
        assert values(connection.table("runs")) == wanted
        refusal(values, (connection, "select * from no"))
    connection = sqlite3.connect(lite)
    assert values((connection, "select * from runs")) == wanted
    refusal(values, (connection, "no"))
    connection.close()
    assert is_query((connection, "x"))
    assert not is_query(([1], "x"))
    assert not is_query((connection, "x", "y"))


def test_connections_of_sqlalchemy_and_adbc(lite: Path, server: str, wanted: Any) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    from adbc_driver_postgresql import dbapi

    engine = sqlalchemy.create_engine(f"sqlite:///{lite}")
    assert values((engine, "select * from runs")) == wanted
    with engine.connect() as connection:
        assert values((connection, "select * from runs")) == wanted
    engine.dispose()
    with dbapi.connect(server) as connection:
        assert values((connection, "select * from runs")) == wanted


@pytest.mark.parametrize(
    ("package", "address"),
    [
        ("duckdb", "duckdb:x.db#runs"),
        ("adbc_driver_postgresql", "postgresql://ann@host/shop#runs"),
    ],
)
def test_what_is_not_installed_is_named(package: str, address: str, refusal, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    refusal(values, address)
