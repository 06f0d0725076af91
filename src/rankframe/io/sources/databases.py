"""Read tables and queries of databases: `duckdb:shop.db#runs`, `postgresql://ann@host/shop#…`.

DuckDB (opened for reading only) and PostgreSQL (through ADBC) return Arrow batches. A small result
is held in memory. A large result is streamed: the query runs again for each pass over its rows.
The rows of SQLite, and of connections that a user opened, are read once and held in memory: such a
connection may be used only in its own thread.
A query must be one `select` that changes nothing: DuckDB and PostgreSQL run in read-only mode, and
DuckDB can neither open other files nor load extensions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import polars as pl

from rankframe.core.errors import MissingExtraError, RankframeError, UnreadableInputError
from rankframe.core.messages import did_you_mean, listing, shorten, without_user
from rankframe.core.threads import size_of
from rankframe.io.raw_table import RawTable, lazy_table

# A query → its Arrow batches; the connection ends with the context.
Ask: TypeAlias = Callable[[str], AbstractContextManager[Any]]

_ROWS = 1 << 17  # rows of a batch, if the library has a setting for it
_FEW_ROWS, _FEW_BYTES = 1 << 18, 1 << 26  # up to which a result is held in memory
# Settings with which a query, or a view in an untrusted file, can read nothing but that file.
_SEALED: Final[dict[str, Any]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "lock_configuration": True,
}
_PATIENCE = 10  # seconds for a server to answer, and of a file until its lock is released
# The name of a table, which may have parts separated by full stops. A text with a blank is a query.
_TABLE = re.compile(r"""[^\s()"';]+""")
_TABLES = (
    "select case when table_schema in ('main', 'public') then table_name "
    "else table_schema || '.' || table_name end as name from information_schema.tables "
    "where table_schema not in ('information_schema', 'pg_catalog') order by 1"
)
# Prefixes of errors that name the library or the step, which do not help the user.
_PREFIX = re.compile(
    r"^(?:[A-Z_]+: +|\[libpq\] |Failed to \w+(?: query)?: |"
    r"(?:Catalog|Parser|Binder|IO|Permission) Error: )+"
)


def open_database(kind: str, place: str, selection: str | None, name: str) -> RawTable:
    """Open a table or a query of a database: of a file, or at the address of a server."""
    if kind == "sqlite":
        return RawTable(_held(Path(place).expanduser(), selection, name).lazy())
    ask = _duckdb(place, name) if kind == "duckdb" else _postgresql(place)
    with _explained(name, lambda: _tables(ask)):
        query = _query(selection, name, lambda: _tables(ask))
        with ask(_select(query)) as batches:
            empty = pl.DataFrame(batches.schema.empty_table())
            # Types unknown to polars, or read as bytes: uuid, numeric and json of PostgreSQL.
            odd = [
                column
                for column, kind in empty.schema.items()
                if kind == pl.Binary
                or isinstance(kind, pl.BaseExtension)
                or type(kind).__name__ == "Extension"
            ]
            tables, rows, size = [empty], 0, 0
            for batch in () if odd else batches:
                tables.append(pl.DataFrame(batch))
                rows, size = rows + tables[-1].height, size + size_of(tables[-1])
                if rows > _FEW_ROWS or size > _FEW_BYTES:
                    break
            else:
                if not odd:
                    return RawTable(pl.concat(tables, rechunk=True).lazy())
    types = {
        column: pl.String() if column in odd else kind for column, kind in empty.schema.items()
    }
    return RawTable(_streamed(ask, query, types, odd, name), seekable=False)


def is_query(source: object) -> bool:
    """Return whether a source is a connection with a query."""
    if not (isinstance(source, tuple) and len(source) == 2 and isinstance(source[1], str)):
        return False
    return any(hasattr(source[0], name) for name in ("cursor", "execute", "connect"))


def open_query(connection: Any, query: str, *, name: str) -> RawTable:
    """Read the result of a query, or a table by its name, from an open connection.

    `connection`: of DuckDB, ADBC, SQLAlchemy or any other DB-API library.
    """
    name = name.replace(" tuple", " query")
    query = _select(_quoted(query)) if _TABLE.fullmatch(query) else query
    try:
        frame = pl.read_database(query, connection, infer_schema_length=None)
    except RankframeError:
        raise
    except Exception as error:  # whatever the library of the connection raises
        raise UnreadableInputError(name, _said(error)) from error
    return RawTable(frame.lazy())


def _streamed(
    ask: Ask, query: str, types: Mapping[str, Any], odd: Sequence[str], name: str
) -> pl.LazyFrame:
    """Return a lazy table that runs the query in every pass, for the needed columns only.

    Columns of odd types are cast to text.
    """

    def read(columns: list[str], rows: int | None) -> Iterator[pl.DataFrame]:
        quoted = [_quoted(column, whole=True) for column in columns]
        chosen = ", ".join(
            f"cast({text} as varchar) as {text}" if column in odd else text
            for column, text in zip(columns, quoted, strict=True)
        )
        with _explained(name, list), ask(_select(query, chosen, rows)) as batches:
            for batch in batches:
                yield pl.DataFrame(batch).cast({column: types[column] for column in columns})

    return lazy_table(types, read)


def _query(selection: str | None, name: str, tables: Callable[[], list[str]]) -> str:
    """Return the name of a table, or a query in parentheses, for the `from` of a query."""
    if not selection:
        raise UnreadableInputError(
            name, "a table or a query is needed after a #", f"Its tables: {listing(tables())}"
        )
    if _TABLE.fullmatch(selection):
        return _quoted(selection)
    return f"(\n{selection.strip().rstrip(';')}\n) as given"


def _select(query: str, columns: str = "*", rows: int | None = None) -> str:
    limit = "" if rows is None else f" limit {rows}"
    return f"select {columns} from {query}{limit}"  # noqa: S608 (it is the user's own)


def _quoted(name: str, *, whole: bool = False) -> str:
    """Quote a name for a query, even if it is a word of SQL."""
    parts = [name] if whole else name.split(".")
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _tables(ask: Ask) -> list[str]:
    with ask(_TABLES) as batches:
        return [str(name) for batch in batches for name in pl.DataFrame(batch)["name"]]


def _duckdb(place: str, name: str) -> Ask:
    try:
        import duckdb  # noqa: PLC0415 (an optional part)
    except ImportError as error:
        raise MissingExtraError("reading a DuckDB file", "duckdb") from error
    path = Path(place).expanduser()
    if not path.is_file():
        raise UnreadableInputError(name, f"there is no file {place!r}")

    @contextmanager
    def ask(query: str) -> Iterator[Any]:
        with duckdb.connect(str(path), read_only=True, config=_SEALED) as connection:
            statements = connection.extract_statements(query)
            if [statement.type.name for statement in statements] != ["SELECT"]:
                raise UnreadableInputError(name, "a query must be a single select")
            relation = connection.sql(query)
            # This function has another name before DuckDB 1.5.
            reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            yield reader(_ROWS)

    return ask


def _postgresql(place: str) -> Ask:
    try:
        from adbc_driver_postgresql import dbapi  # noqa: PLC0415 (an optional part)
    except ImportError as error:
        raise MissingExtraError("reading from PostgreSQL", "postgres") from error
    address = f"postgresql://{place}"
    if "connect_timeout" not in place:
        address += f"{'&' if '?' in place else '?'}connect_timeout={_PATIENCE}"

    @contextmanager
    def ask(query: str) -> Iterator[Any]:
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute("set transaction read only")
            cursor.execute(query)
            yield cursor.fetch_record_batch()

    return ask


def _held(path: Path, selection: str | None, name: str) -> pl.DataFrame:
    """Read a table or a query of a SQLite file."""
    if not path.is_file():
        raise UnreadableInputError(name, f"there is no file {str(path)!r}")
    import sqlite3  # noqa: PLC0415 (only where it is used)

    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", _PATIENCE, uri=True)
    try:

        def tables() -> list[str]:
            names_query = (
                "select name from sqlite_master where type in ('table', 'view') order by 1"
            )
            return [name for (name,) in connection.execute(names_query)]

        with _explained(name, tables):
            query = _select(_query(selection, name, tables))
            return pl.read_database(query, connection, infer_schema_length=None)
    finally:
        connection.close()


@contextmanager
def _explained(name: str, tables: Callable[[], list[str]]) -> Iterator[None]:
    """Turn an error of a database into an error of one line, with similar table names."""
    try:
        yield
    except (RankframeError, GeneratorExit):
        raise
    except Exception as error:  # each library has its own
        reason = _said(error)
        unknown = re.search(r"(?:relation|[Tt]able with name|no such table:) \"?([\w.]+)", reason)
        near = ""
        if unknown:
            try:
                names = tables()
            except Exception:  # noqa: BLE001 (the table names only serve as a hint)
                names = []
            near = did_you_mean(unknown[1], names) or (f"It has {listing(names)}" if names else "")
        elif "different configuration" in reason or "Could not set lock" in reason:
            near = "It is open for writing: close it, or give the connection itself, with a query"
        raise UnreadableInputError(name, reason, near) from error


def _said(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = _PREFIX.sub("", lines[0]) if lines else type(error).__name__
    return shorten(without_user(first.rstrip(" .;")), 200)
