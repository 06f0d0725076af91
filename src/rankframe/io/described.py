"""Describe queries and documents for display: attributes, weights, texts and titles.

None of it enters a metric. It is read for the few queries and documents that are displayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import polars as pl

from rankframe.core.columns import DOC, QUERY, SYNONYMS, WEIGHT, plain_name
from rankframe.core.errors import MissingColumnError, OptionError
from rankframe.core.messages import Option, shown
from rankframe.io.column_names import Columns, first_called
from rankframe.io.formats.registry import reading
from rankframe.io.input_table import InputTable
from rankframe.io.opening import Source, describe, open_raw, open_table, refuse_pattern
from rankframe.io.queries import Attributes, read_weights

Key: TypeAlias = Literal["query_id", "doc_id"]

# Names of columns with the words of a query or a document, the best first.
_WORDS: Final[dict[Key, tuple[str, ...]]] = {
    QUERY: ("text", "query_text", "query", "title", "keywords", "question"),
    DOC: ("title", "name", "text", "headline", "description", "body", "content"),
}
_IDS: Final = ("id", "_id")
_LONGEST = 2_000  # characters of a text that anybody looks at


@dataclass(frozen=True)
class Texts:
    """Texts by the ids of queries or documents, read when they are needed."""

    key: Key
    name: str
    rows: pl.LazyFrame

    @classmethod
    def from_source(cls, source: Source, key: Key, option: str) -> Texts:
        """Open a mapping from ids to texts, or a table with a column of each."""
        name = describe(source, option)
        if isinstance(source, Mapping) and all(isinstance(value, str) for value in source.values()):
            columns = {key: list(map(str, source)), "text": list(source.values())}
            return cls(key, name, pl.LazyFrame(columns, {key: pl.String, "text": pl.String}))
        raw = open_raw(source, name).frame
        schema = raw.collect_schema()
        own = first_called((key, *SYNONYMS[key], *_IDS), schema)
        columns_left = [column for column in schema if column != own]
        text = first_called(_WORDS[key], columns_left)
        strings = [column for column in columns_left if schema[column] == pl.String]
        if text is None and len(strings) == 1:
            text = strings[0]
        if own is None or text is None:
            what = repr(key) if own is None else f"with texts, such as {_WORDS[key][0]!r}"
            found = ", ".join(map(shown, schema))
            raise OptionError(Option(option), f" has no column {what}: it has {found}.")
        for column in (own, text):
            refuse_pattern(option, column)
        return cls.from_columns(raw, name, key, own, text)

    @classmethod
    def from_columns(cls, raw: pl.LazyFrame, name: str, key: Key, ids: str, text: str) -> Texts:
        """Take ids and texts from these columns."""
        short = pl.col(text).cast(pl.String).str.slice(0, _LONGEST).str.replace_all(r"\s+", " ")
        return cls(
            key, name, raw.select(pl.col(ids).cast(pl.String).alias(key), short.alias("text"))
        )

    def among(self, ids: pl.Series) -> dict[str, str]:
        """Read the texts of these ids."""
        is_listed = pl.col(self.key).is_in(ids.unique().to_list())
        with reading(self.name):
            rows = self.rows.filter(is_listed).drop_nulls().collect()
        once = rows.unique(self.key, keep="first", maintain_order=True)
        return dict(zip(once[self.key], once["text"], strict=True))


@dataclass(frozen=True)
class Described:
    """Hold the sources that describe queries and documents: attributes, weights, texts."""

    queries: InputTable | None = None
    weight: str | None = None
    query_text: Texts | None = None
    titles: Texts | None = None

    @classmethod
    def of(
        cls,
        queries: Source | None = None,
        *,
        weight: str | None = None,
        query_text: Source | None = None,
        titles: Source | None = None,
        columns: Columns | None = None,
    ) -> Described:
        """Open the sources; rows are read later."""
        table = None if queries is None else open_table(queries, "queries", columns)
        if weight is not None and table is None:
            needs = (Option("weight"), " needs ", Option("queries"))
            raise OptionError(*needs, ", a frame with query_id and attributes.")
        if weight is not None and table is not None:
            schema = table.raw.collect_schema()
            if weight not in schema:
                raise MissingColumnError("queries", "weight", list(schema), named=weight)
        texts = None
        if query_text is not None:
            texts = Texts.from_source(query_text, QUERY, "query_text")
        elif table is not None and (text := _text_column(table)) is not None:
            key = table.mapping[QUERY]
            texts = Texts.from_columns(table.raw, table.name, QUERY, key, text)
        documents = None if titles is None else Texts.from_source(titles, DOC, "titles")
        return cls(table, weight, texts, documents)

    def weights(self, queries: pl.Series) -> pl.Series | None:
        """Read the weights of queries, each of which must have one; None without weights."""
        if self.queries is None or self.weight is None:
            return None
        weights = Attributes(read_weights(self.queries, self.weight)).of(queries)
        weights.refuse_unweighted(len(queries))
        return pl.Series(WEIGHT, weights.weights, pl.Float64)

    def attributes(self, queries: pl.Series) -> pl.DataFrame:
        """Read the attributes of queries as text, in the order of the queries."""
        ids = queries.alias(QUERY).to_frame()
        if self.queries is None:
            return ids
        raw, key = self.queries.raw, self.queries.mapping[QUERY]
        own = {key, self.weight, _text_column(self.queries)}
        names = [
            name
            for name, kind in raw.collect_schema().items()
            if name not in own
            and not (kind.is_nested() or kind in (pl.Object, pl.Binary))
            and plain_name(name) not in map(plain_name, (QUERY, WEIGHT))
        ]
        is_listed = pl.col(QUERY).is_in(queries.unique().to_list())
        columns = [pl.col(key).cast(pl.String).alias(QUERY), pl.col(names).cast(pl.String)]
        with self.queries.explained():
            rows = raw.select(columns).filter(is_listed).collect()
        once = rows.unique(QUERY, keep="first", maintain_order=True)
        return ids.join(once, on=QUERY, how="left", maintain_order="left")

    def texts(self, queries: pl.Series) -> dict[str, str]:
        """Read the words of queries."""
        return {} if self.query_text is None else self.query_text.among(queries)

    def titles_of(self, documents: pl.Series) -> dict[str, str]:
        """Read the titles of documents."""
        return {} if self.titles is None else self.titles.among(documents)


def _text_column(queries: InputTable) -> str | None:
    """Return the column of a frame of queries that has their words."""
    columns = [name for name in queries.raw.collect_schema() if name != queries.mapping[QUERY]]
    return first_called(_WORDS[QUERY][:4], columns)
