"""What people know queries and documents by: attributes, traffic, texts and titles.

Nothing of it enters a metric. It is read for the few queries and documents that are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import polars as pl

from rankframe.core.columns import DOC, QUERY, SYNONYMS, WEIGHT, plain_name
from rankframe.core.errors import MissingColumnError, OptionError
from rankframe.core.messages import Option, shown
from rankframe.io.column_names import first_called
from rankframe.io.formats.registry import READ_ERRORS, unreadable
from rankframe.io.input_table import InputTable
from rankframe.io.opening import Columns, Source, describe, open_raw, open_table, refuse_pattern
from rankframe.io.queries import Attributes
from rankframe.io.validate import load_unique

Key: TypeAlias = Literal["query_id", "doc_id"]

# Columns with the words of a query or a document, the best first.
_WORDS: Final[dict[Key, tuple[str, ...]]] = {
    QUERY: ("text", "query_text", "query", "title", "keywords", "question"),
    DOC: ("title", "name", "text", "headline", "description", "body", "content"),
}
_IDS: Final = ("id", "_id")
_LONGEST = 2_000  # characters of a text that anybody looks at


@dataclass(frozen=True)
class Texts:
    """Texts by the ids of queries or documents, read as they are asked for."""

    key: Key
    name: str
    rows: pl.LazyFrame

    @classmethod
    def of(cls, source: Source, key: Key, option: str) -> Texts:
        """A mapping from ids to texts, or a table with a column of each."""
        name = describe(source, option)
        if isinstance(source, Mapping) and all(isinstance(one, str) for one in source.values()):
            ids = [str(one) for one in source]
            schema = {key: pl.String, "text": pl.String}
            frame = pl.DataFrame({key: ids, "text": list(source.values())}, schema)
            return cls(key, name, frame.lazy())
        raw = open_raw(source, name)
        schema = raw.collect_schema()
        own = first_called((key, *SYNONYMS[key], *_IDS), schema)
        if own is None:
            raise OptionError(
                Option(option), f" has no column {key!r}: it has {', '.join(map(shown, schema))}.",
            )  # fmt: skip
        said = first_called(_WORDS[key], [one for one in schema if one != own])
        others = [one for one, of in schema.items() if one != own and of == pl.String]
        if said is None and len(others) == 1:
            said = others[0]
        if said is None:
            raise OptionError(
                Option(option), f" has no column with texts, such as {_WORDS[key][0]!r}: "
                f"it has {', '.join(map(shown, schema))}.",
            )  # fmt: skip
        for one in (own, said):
            refuse_pattern(option, one)
        text = pl.col(said).cast(pl.String).str.slice(0, _LONGEST).str.replace_all(r"\s+", " ")
        return cls(
            key, name, raw.select(pl.col(own).cast(pl.String).alias(key), text.alias("text"))
        )

    def among(self, ids: pl.Series) -> dict[str, str]:
        """The texts of these, as far as there are any."""
        wanted = pl.col(self.key).is_in(ids.unique().to_list())
        try:
            found = self.rows.filter(wanted).drop_nulls().collect()
        except READ_ERRORS as error:
            raise unreadable(self.name, error) from error
        once = found.unique(self.key, keep="first", maintain_order=True)
        return dict(zip(once[self.key], once["text"], strict=True))


@dataclass(frozen=True)
class Described:
    """What is known of queries and documents besides judgments and rankings."""

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
        """Open what was given; rows are read later."""
        scanned = None if queries is None else open_table(queries, "queries", columns)
        if weight is not None:
            if scanned is None:
                raise OptionError(
                    Option("weight"), " needs ", Option("queries"),
                    ", a frame with query_id and attributes.",
                )  # fmt: skip
            schema = scanned.raw.collect_schema()
            if weight not in schema:
                raise MissingColumnError("queries", "weight", list(schema), asked=weight)
            refuse_pattern("queries", weight)
        texts = None if query_text is None else Texts.of(query_text, QUERY, "query_text")
        if texts is None and scanned is not None:
            texts = _own_words(scanned)
        return cls(
            scanned, weight, texts, None if titles is None else Texts.of(titles, DOC, "titles")
        )

    def weights(self, queries: pl.Series) -> pl.Series | None:
        """The weights of queries, each of which must have one; None where there are none."""
        if self.queries is None or self.weight is None:
            return None
        frame = load_unique(self.queries.with_number(WEIGHT, self.weight))
        known = Attributes(frame).of(queries)
        known.refuse_unweighted(len(queries))
        return pl.Series(WEIGHT, known.weights, pl.Float64)

    def attributes(self, queries: pl.Series) -> pl.DataFrame:
        """query_id and all that is known of these queries as text, in their order."""
        ids = queries.alias(QUERY).to_frame()
        if self.queries is None:
            return ids
        raw, key = self.queries.raw, self.queries.mapping[QUERY]
        own = {key, self.weight, _own_column(self.queries)}
        schema = raw.collect_schema()
        names = [
            name for name, kind in schema.items()
            if name not in own and not (kind.is_nested() or kind in (pl.Object, pl.Binary))
            and plain_name(name) not in map(plain_name, (QUERY, WEIGHT))
        ]  # fmt: skip
        named = pl.col(key).cast(pl.String).alias(QUERY)
        try:
            rows = (
                raw.select(named, *(pl.col(name).cast(pl.String) for name in names))
                .filter(pl.col(QUERY).is_in(queries.unique().to_list()))
                .collect()
            )
        except READ_ERRORS as error:
            raise unreadable(self.queries.name, error) from error
        once = rows.unique(QUERY, keep="first", maintain_order=True)
        return ids.join(once, on=QUERY, how="left", maintain_order="left")

    def texts(self, queries: pl.Series) -> dict[str, str]:
        """The words of queries."""
        return {} if self.query_text is None else self.query_text.among(queries)

    def titles_of(self, documents: pl.Series) -> dict[str, str]:
        """The titles of documents."""
        return {} if self.titles is None else self.titles.among(documents)


def _own_words(queries: InputTable) -> Texts | None:
    """The words that a frame of queries has itself."""
    said = _own_column(queries)
    if said is None:
        return None
    key = pl.col(queries.mapping[QUERY]).cast(pl.String).alias(QUERY)
    text = pl.col(said).cast(pl.String).str.slice(0, _LONGEST).str.replace_all(r"\s+", " ")
    return Texts(QUERY, queries.name, queries.raw.select(key, text.alias("text")))


def _own_column(queries: InputTable) -> str | None:
    schema = queries.raw.collect_schema()
    others = [name for name in schema if name != queries.mapping[QUERY]]
    return first_called(_WORDS[QUERY][:4], others)
