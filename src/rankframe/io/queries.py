"""Read weights, slices, attributes and texts of queries, and titles of documents.

Averages use weights, and summaries use slices. Attributes, texts and titles do not enter metrics:
they are read for the few queries and documents that are displayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, Literal, Protocol, TypeAlias, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankframe.core.columns import DOC, QUERY, SYNONYMS, WEIGHT, plain_name
from rankframe.core.errors import ColumnTypeError, MissingColumnError, OptionError
from rankframe.core.messages import Option, number_of, shown
from rankframe.core.options import LARGEST_WEIGHT, Average
from rankframe.core.records import record
from rankframe.io.batches import check_rows
from rankframe.io.column_names import Columns, first_called
from rankframe.io.formats.registry import reading
from rankframe.io.input_table import InputTable
from rankframe.io.opening import Source, describe, open_raw, open_table, read_whole, refuse_pattern
from rankframe.kernel.duplicates import deduplicate

# An attribute, or several attributes: each combination of their values is a slice.
By: TypeAlias = str | tuple[str, ...]

NO_VALUE = "(none)"
_JOIN = " × "
_MOST_SLICES = 1_000
Key: TypeAlias = Literal["query_id", "doc_id"]
# Names of columns with the text of a query or the title of a document, the best name first.
_WORDS: Final[dict[Key, tuple[str, ...]]] = {
    QUERY: ("text", "query_text", "query", "title", "keywords", "question"),
    DOC: ("title", "name", "text", "headline", "description", "body", "content"),
}
_IDS: Final = ("id", "_id")
_LONGEST = 2_000  # characters of a text that are displayed; the rest is cut off


class Averaged(Protocol):
    """Describe the part of a metric that this module uses: its name and its kind of average."""

    @property
    def label(self) -> str:
        """Return the name of the metric."""
        ...

    @property
    def average(self) -> Average:
        """Return the kind of average."""
        ...


@record
class Attributes:
    """Hold weights and slices of queries, by their ids."""

    # query_id, weight where queries are weighted, and a number for each way of slicing
    frame: pl.DataFrame
    # for each way of slicing: its name, and the names of its slices
    slices: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # for names in `columns=` for no side in particular: our column → whether this frame has it
    shared_columns: Mapping[str, bool] = field(default_factory=dict)

    def look_up(self, queries: pl.Series) -> QueryAttributes:
        """Return the weight and the slices of each of these queries, in their order."""
        joined = queries.to_frame().join(
            self.frame.with_columns(_here=pl.lit(value=True)),
            on=QUERY,
            how="left",
            maintain_order="left",
        )
        absent = joined["_here"].null_count()
        numbers = []
        for number, (by, names) in enumerate(self.slices):
            nothing = _no_value(by)
            last = names.index(nothing) if nothing in names else len(names)
            numbers.append(joined[f"_{number}"].fill_null(last).to_numpy())
        if WEIGHT not in joined.columns:
            return QueryAttributes(None, tuple(numbers), absent)
        weight = joined[WEIGHT]
        proper = ((weight >= 0) & (weight <= LARGEST_WEIGHT)).fill_null(value=False)
        improper = queries.filter(~proper)
        first = cast("str | None", improper.min())
        weights = weight.set(~proper, 0.0).to_numpy()
        return QueryAttributes(
            weights, tuple(numbers), absent, len(improper), None if first is None else str(first)
        )

    @property
    def weights_alone(self) -> Attributes:
        """Return the weights without the slices."""
        return Attributes(self.frame)

    def name(self, way: int, number: int) -> tuple[str, str]:
        """Return the attribute and the value of slice `number` in the `way`-th slicing."""
        by, names = self.slices[way]
        return by, names[number] if number < len(names) else _no_value(by)


@record
class QueryAttributes:
    """Hold weights and slices of some queries, in their order."""

    # 0 for a query without a valid weight
    weights: NDArray[np.float64] | None = None
    # for each way of slicing, the number of each query's slice
    slices: tuple[NDArray[np.int64], ...] = ()
    # the number of queries that are not in the frame of queries
    absent: int = 0
    # the number of queries without a valid weight, and the first of these queries
    unweighted: int = 0
    example: str | None = None

    def refuse_unweighted(self, queries: int) -> None:
        """Refuse queries without a weight; `queries` is the number of queries."""
        if self.unweighted:
            raise unweighted_error(self.unweighted, queries, self.example)


def refuse_unknown_queries(absent: int, queries: int, ids: pl.Series) -> None:
    """Refuse a frame of queries if it has none of the evaluated queries: `absent == queries`.

    `ids`: a few ids of evaluated queries, for the message.
    """
    if queries and absent == queries:
        example = f", e.g. query_id {ids[0]!r}" if len(ids) else ""
        raise OptionError(
            f"the frame of queries has none of the {number_of(queries, 'evaluated query')}"
            f"{example}. Are its ids written alike?"
        )


def unweighted_error(count: int, queries: int, example: str | None) -> OptionError:
    """Return the error for queries without a weight."""
    return OptionError(
        f"{count:,} of {number_of(queries, 'evaluated query')} "
        f"{'has' if count == 1 else 'have'} no valid weight, e.g. query_id {example!r}. Give every "
        f"judged query a weight from 0 to {LARGEST_WEIGHT:g}."
    )


def read_attributes(
    queries: Source | None,
    *,
    by: By | Sequence[By] | None = None,
    weight: str | None = None,
    metrics: Sequence[Averaged] = (),
    columns: Columns | None = None,
    limit: int | None = None,
) -> Attributes | None:
    """Read weights and slices of queries; return None if neither is needed."""
    ways = slicings(by)
    _check_options(queries, ways, weight, metrics)
    if queries is None:
        return None
    table = open_table(queries, "queries", columns, limit=limit)
    schema = table.raw.collect_schema()
    for name in {name: None for way in ways for name in way}:
        if name not in schema:
            raise MissingColumnError("queries", "by", list(schema), named=name)
        if schema[name].is_nested() or schema[name] == pl.Object:
            raise ColumnTypeError("queries", name, str(schema[name]), "text, numbers or dates")
        refuse_pattern("queries", name)
    weights = None if weight is None else read_weights(table, weight)
    frame = _with_slices(table, ways, weights) if ways else weights
    assert frame is not None  # `_check_options` checks this
    slices = []
    for number, way in enumerate(ways):
        names = _names_in_order(table, way)
        codes = pl.col(f"_{number}").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
        frame = frame.with_columns(codes)
        slices.append((_JOIN.join(way), tuple(names)))
    return Attributes(frame, tuple(slices), table.shared_columns)


def read_weights(queries: InputTable, weight: str) -> pl.DataFrame:
    """Read the weights of queries, as query_id and weight; refuse a query that occurs twice.

    `weight`: the name of the column of weights.
    """
    schema = queries.raw.collect_schema()
    if weight not in schema:
        raise MissingColumnError("queries", "weight", list(schema), named=weight)
    refuse_pattern("queries", weight)
    table = replace(queries, mapping={**queries.mapping, WEIGHT: weight})
    return _read_unique(table, table.frame)


def _read_unique(queries: InputTable, rows: pl.LazyFrame) -> pl.DataFrame:
    """Read `rows`, selected from the frame of queries; refuse a query that occurs twice."""
    with queries.explained():
        frame = read_whole(rows, queries.name, queries.limit)
    check_rows(frame.lazy(), "queries", queries.name)
    return deduplicate(frame, "queries", "error")


def _names_in_order(queries: InputTable, way: tuple[str, ...]) -> list[str]:
    """Return the names of all slices by the attributes `way`, ordered by value; null comes last."""
    by = _JOIN.join(way)
    with queries.explained():
        values = queries.raw.select(way).unique().collect(engine="streaming")
    values = values.sort(map(_sort_key, values.select(way)), nulls_last=True)
    names = values.select(_name_of(way, values.schema)).to_series()
    if len(names) > _MOST_SLICES:
        raise OptionError(
            f"by={by!r} makes {len(names):,} slices, e.g. {names[0]!r}; "
            f"at most {_MOST_SLICES:,} are allowed. Group its values first."
        )
    if names.is_duplicated().any():
        twice = f"{names.filter(names.is_duplicated()).min()!r} ({NO_VALUE!r} stands for null)"
        problem = f"by={by!r}: different values make slices of the same name, {twice}."
        raise OptionError(f"{problem} Rename one of them.")
    return names.to_list()


def _sort_key(values: pl.Series) -> pl.Series:
    """Return the sort keys of slices: numbers if all values are numbers, else the values.

    In text files, numbers are text.
    """
    if values.dtype != pl.String:
        return values
    numbers = values.str.strip_chars().cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == values.null_count() else values


def _name_of(way: Sequence[str], schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """Return the expression for the name of a slice; -0.0 and 0.0 have the same name."""
    values = (
        pl.when(pl.col(name) == 0).then(0.0).otherwise(pl.col(name))
        if schema[name].is_float()
        else pl.col(name)
        for name in way
    )
    texts = [value.cast(pl.String).fill_null(NO_VALUE) for value in values]
    return pl.concat_str(texts, separator=_JOIN)


def _no_value(by: str) -> str:
    """Return the name of the slice of queries that are not in the frame of queries."""
    return _JOIN.join([NO_VALUE] * len(by.split(_JOIN)))


def _check_options(
    queries: Source | None,
    ways: Sequence[tuple[str, ...]],
    weight: str | None,
    metrics: Sequence[Averaged],
) -> None:
    """Refuse options that exclude each other, and options that have no effect."""
    weighted = [metric.label for metric in metrics if metric.average == "weighted"]
    if weighted and (queries is None or weight is None):
        raise OptionError(
            f"{weighted[0]!r} is averaged by weight: pass ",
            Option("queries"),
            " (a frame with query_id) and ",
            Option("weight"),
            " (the name of its column of weights).",
        )
    if queries is None and (ways or weight is not None):
        option = "by" if ways else "weight"
        raise OptionError(
            Option(option), " needs ", Option("queries"), ", a frame with query_id and attributes."
        )
    if weight is not None and not weighted:
        raise OptionError(
            Option("weight"),
            " has no effect: no metric is averaged by weight. Add average=weighted to a metric, as "
            "in 'ndcg(average=weighted)@10', or leave ",
            Option("weight"),
            " out.",
        )
    if queries is not None and not ways and weight is None:
        raise OptionError(
            Option("queries"),
            " is read for slices or weights: pass ",
            Option("by"),
            " or ",
            Option("weight"),
            ", the names of its columns.",
        )


def slicings(by: By | Sequence[By] | None) -> list[tuple[str, ...]]:
    """Parse the option `by` into a list of slicings, each a tuple of the attributes it combines.

    >>> slicings(["locale", ("locale", "device")])
    [('locale',), ('locale', 'device')]
    >>> slicings(("locale", "device"))
    [('locale', 'device')]
    """
    if by is None:
        return []
    choices: list[Any] = list(by) if isinstance(by, Sequence) and not isinstance(by, str) else [by]
    if isinstance(by, tuple) and all(isinstance(name, str) for name in by):
        choices = [by]
    ways = [tuple(way) if isinstance(way, tuple | list) else (way,) for way in choices]
    for way in ways:
        problem = ""
        if not way or not all(isinstance(name, str) and name for name in way):
            problem = f" takes names of attributes, or tuples of them, not {shown(by)}."
        elif ways.count(way) > 1 or len(set(way)) < len(way):
            problem = f" names {_JOIN.join(way)!r} more than once."
        if problem:
            raise OptionError(Option("by"), problem)
    return ways


def _with_slices(
    queries: InputTable, ways: Sequence[tuple[str, ...]], weights: pl.DataFrame | None
) -> pl.DataFrame:
    """Add the name of each query's slice, in columns `_0`, `_1`, …, to the weights."""
    schema = queries.raw.collect_schema()
    names = [_name_of(way, schema).alias(f"_{number}") for number, way in enumerate(ways)]
    key = pl.col(queries.mapping[QUERY]).cast(pl.String).alias(QUERY)
    frame = _read_unique(queries, queries.raw.select(key, *names))
    if weights is None:
        return frame
    return weights.join(frame, on=QUERY, how="left", maintain_order="left")


@record
class Texts:
    """Look up texts by the ids of queries or documents; texts are read when needed."""

    key: Key
    name: str
    rows: pl.LazyFrame

    @classmethod
    def from_source(cls, source: Source, key: Key, option: str) -> Texts:
        """Open a dict from ids to texts, or a table with a column of ids and one of texts."""
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
            columns_text = ", ".join(map(shown, schema))
            raise OptionError(Option(option), f" has no column {what}: it has {columns_text}.")
        for column in (own, text):
            refuse_pattern(option, column)
        return cls.from_columns(raw, name, key, own, text)

    @classmethod
    def from_columns(cls, raw: pl.LazyFrame, name: str, key: Key, ids: str, text: str) -> Texts:
        """Take ids and texts from the columns `ids` and `text` of a table."""
        short = pl.col(text).cast(pl.String).str.slice(0, _LONGEST).str.replace_all(r"\s+", " ")
        return cls(
            key, name, raw.select(pl.col(ids).cast(pl.String).alias(key), short.alias("text"))
        )

    def among(self, ids: pl.Series) -> dict[str, str]:
        """Return the text of each of these ids that has a text."""
        is_listed = pl.col(self.key).is_in(ids.unique().to_list())
        with reading(self.name):
            rows = self.rows.filter(is_listed).drop_nulls().collect()
        once = rows.unique(self.key, keep="first", maintain_order=True)
        return dict(zip(once[self.key], once["text"], strict=True))


@record
class Described:
    """Hold the sources that describe queries and documents: attributes, weights, texts."""

    queries: InputTable | None = None
    weight: str | None = None
    query_text: Texts | None = None
    titles: Texts | None = None

    @classmethod
    def from_sources(
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
        """Read the weights of queries, or return None without weights; refuse a missing weight."""
        if self.queries is None or self.weight is None:
            return None
        weights = Attributes(read_weights(self.queries, self.weight)).look_up(queries)
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
        """Read the texts of queries, by query."""
        return {} if self.query_text is None else self.query_text.among(queries)

    def titles_of(self, documents: pl.Series) -> dict[str, str]:
        """Read the titles of documents, by document."""
        return {} if self.titles is None else self.titles.among(documents)


def _text_column(queries: InputTable) -> str | None:
    """Return the column with the text of queries in a frame of queries, or None."""
    columns = [name for name in queries.raw.collect_schema() if name != queries.mapping[QUERY]]
    return first_called(_WORDS[QUERY][:4], columns)
