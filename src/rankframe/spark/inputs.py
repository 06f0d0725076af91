"""Open Spark DataFrames and Parquet paths: find their columns, and cast these for executors.

If documents are in arrays, with one row per query, Spark itself unrolls them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from rankframe.analysis.fusion.options import FusionPolicies
from rankframe.core.columns import (
    DOC,
    QUERY,
    RANK,
    RELEVANCE,
    SCORE,
    SCORE_REST,
    SUBTOPIC,
    SUBTOPIC_WEIGHT,
    TEXTS,
)
from rankframe.core.errors import (
    BadValueError,
    ColumnTypeError,
    DuplicateError,
    EmptyInputError,
    OptionError,
    SparkError,
    UnreadableInputError,
    in_vocabulary,
)
from rankframe.core.messages import Option, listing
from rankframe.core.options import Policies
from rankframe.core.records import record
from rankframe.io.input_table import InputTable, Lists
from rankframe.io.inputs import Columns, Source, open_judgments
from rankframe.io.opening import open_table
from rankframe.spark.session import first_row, is_spark_frame, quoted, settings, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import ArrayType, DataType, StructType

_AS_POLARS: dict[str, Any] = {
    "string": pl.String, "varchar": pl.String, "char": pl.String, "boolean": pl.Boolean,
    "byte": pl.Int64, "short": pl.Int64, "integer": pl.Int64, "long": pl.Int64,
    "float": pl.Float64, "double": pl.Float64, "decimal": pl.Decimal(38, 9), "date": pl.Date,
    "timestamp": pl.Datetime, "timestamp_ntz": pl.Datetime, "binary": pl.Binary,
    "void": pl.Null,
}  # fmt: skip
# Types whose values have the same text in Spark and in polars.
_ID_TYPES = ("string", "varchar", "char", "boolean", "byte", "short", "integer", "long", "date",
             "void")  # fmt: skip
_TEXT = ("string", "varchar", "char")
_WIDE = "decimal(20, 0)"  # holds every 64-bit integer, also after rounding to a float
_SAMPLE = 1_000
_PARTITION_TYPES = "spark.sql.sources.partitionColumnTypeInference.enabled"


@record
class Input:
    """Hold an input: a Spark DataFrame, and the mapping of its columns."""

    frame: DataFrame
    # the input as found by its columns, without rows
    scanned: InputTable
    # the name of the run for errors, if there are several runs
    run: str = ""

    @cached_property
    def canonical(self) -> DataFrame:
        """Select the used columns under rankframe's names: ids as strings, numbers as doubles."""
        columns = self.scanned.mapping
        return self.frame.selectExpr(*(f"{self._expression(name)} as {name}" for name in columns))

    @cached_property
    def types(self) -> dict[str, str]:
        """Return the name of the type of every column of the DataFrame."""
        return {field.name: field.dataType.typeName() for field in self.frame.schema.fields}

    @cached_property
    def rows(self) -> int:
        """Return the number of rows; refuse an input that has none."""
        with spark_errors():
            rows = self.frame.count()
        if not rows:
            raise EmptyInputError(self.scanned.role, self.scanned.name)
        return rows

    def id_lengths(self, sample: int) -> Sequence[float | None]:
        """Return the mean lengths of the ids of some rows, in bytes."""
        mean = "avg(octet_length({}))"
        rows = self.canonical.limit(sample)
        return first_row(rows.selectExpr(mean.format(QUERY), mean.format(DOC)))

    def some_ids(self, key: str, other: Input | None = None) -> list[str]:
        """Return up to three ids; with `other`, only ids of queries that both inputs have."""
        rows = self.canonical.select(QUERY, DOC)
        if other is not None:
            rows = rows.join(other.canonical.select(QUERY), on=QUERY, how="left_semi")
        with spark_errors():
            return sorted({row[0] for row in rows.select(key).limit(_SAMPLE).collect()})[:3]

    def highest(self) -> float:
        """Return the largest finite grade, or 0; later checks refuse invalid grades."""
        finite = (
            f"if(isnan({RELEVANCE}) or abs({RELEVANCE}) = double('Infinity'), null, {RELEVANCE})"
        )
        rows, highest = first_row(self.canonical.selectExpr("count(1)", f"max({finite})"))
        if not rows:
            raise EmptyInputError(self.scanned.role, self.scanned.name)
        return highest or 0.0

    def refuse_text(self) -> None:
        """Refuse text in columns that must hold numbers."""
        for column, source in self.scanned.mapping.items():
            if column in TEXTS or self.types[source] not in _TEXT:
                continue
            name, number = quoted(source), self._expression(column)
            # Java would read 1d and 1f as numbers.
            bad = f"{name} is not null and ({number} is null or trim({name}) rlike '[0-9.][dDfF]$')"
            count, example = first_row(
                self.frame.selectExpr(f"count_if({bad})", f"min(if({bad}, {name}, null))")
            )
            if count:
                raise BadValueError(
                    self.scanned.role,
                    f"a non-numeric {column}",
                    count,
                    repr(example),
                    f"Every {column} must be a number",
                )

    def _expression(self, column: str) -> str:
        """Return the SQL of a column under its canonical name."""
        source = self.scanned.mapping[column]
        name, is_text = quoted(source), self.types[source] in _TEXT
        if column in TEXTS:
            return f"cast({name} as string)"
        number = f"try_cast(trim({name}) as double)" if is_text else f"cast({name} as double)"
        if column == SCORE_REST:  # equals `beyond_float`, or gives the same order
            whole = f"cast(try_cast(trim({name}) as bigint) as {_WIDE})"
            number = (
                f"coalesce(cast({whole} - cast(cast({whole} as double) as {_WIDE}) as double), 0D)"
            )
        is_reversed = self.scanned.distance and column in (SCORE, SCORE_REST)
        return f"(-{number})" if is_reversed else number


def open_input(
    source: Source, spark: SparkSession, find: Callable[[pl.LazyFrame], InputTable], role: str
) -> Input:
    """Open a Spark DataFrame or a path to Parquet, and unroll lists of documents.

    Args:
        source: the DataFrame or the path.
        spark: the session.
        find: called with an empty frame of the same columns; returns the input with its columns.
        role: the name of the input in the error for a source of another kind.
    """
    frame = source if is_spark_frame(source) else _parquet(source, spark, role)
    with spark_errors():
        types = {field.name: _as_polars(field.dataType) for field in frame.schema.fields}
    scanned = find(pl.LazyFrame(schema=types))
    name = f"the {scanned.role} DataFrame" if is_spark_frame(source) else os.fspath(source)
    scanned = replace(scanned, name=name)
    if scanned.lists is not None:
        with in_vocabulary(scanned.vocabulary):
            frame, scanned = _unroll(frame, scanned, scanned.lists)
    elif scanned.grade is not None:
        column = quoted(scanned.mapping[RELEVANCE])
        frame = frame.selectExpr("*", f"double('{scanned.grade!r}') as {column}")
    opened = Input(frame, scanned)
    for canonical, column in scanned.mapping.items():
        if canonical in TEXTS and opened.types[column] not in _ID_TYPES:
            raise ColumnTypeError(
                scanned.role,
                column,
                opened.types[column],
                "ids that every program writes alike (text, whole numbers, dates): "
                "cast it to string in Spark, as you cast it on the other side",
            )
    return opened


def open_qrels(
    source: Source, spark: SparkSession, columns: Columns | None, relevance: float | None
) -> Input:
    """Open judgments, with columns and grades as in `open_judgments`."""
    return open_input(
        source, spark, lambda frame: open_judgments(frame, columns, relevance=relevance), "qrels"
    )


def open_run(
    source: Source,
    spark: SparkSession,
    columns: Columns | None,
    policies: Policies | FusionPolicies,
) -> Input:
    """Open a run; refuse a run without a column that orders it."""
    # A run without a column that orders it is refused later, with a message about Spark.
    order = policies.order if policies.order in (SCORE, RANK) else None

    def find(frame: pl.LazyFrame) -> InputTable:
        return open_table(frame, "run", columns, order=order, ranks=policies.ranks)

    run = open_input(source, spark, find, "run")
    refuse_row_order(run, policies.ties, policies.order)
    return run


def _as_polars(kind: DataType) -> pl.DataType:
    """Simplify a Spark type to the distinctions that column checks need."""
    name = kind.typeName()
    if name == "array":
        return pl.List(_as_polars(cast("ArrayType", kind).elementType))
    if name == "struct":
        fields = cast("StructType", kind).fields
        return pl.Struct({field.name: _as_polars(field.dataType) for field in fields})
    return _AS_POLARS.get(name, pl.Struct([]))


def refuse_row_order(input_: Input, ties: str, order: str) -> None:
    """Refuse an input without a column that orders it: rows have no order on Spark."""
    for name, value, refused, advice in (
        ("order", order, "rows", "give them a rank"),
        ("ties", ties, "as_given", "use 'doc_desc' or 'doc_asc'"),
    ):
        if value == refused:
            problem = f" has no meaning on Spark, whose rows have no order: {advice}."
            raise OptionError(Option(name, refused), problem)
    if not {SCORE, RANK} & set(input_.scanned.mapping):
        raise OptionError(
            f"{input_.scanned.role} has neither a score nor a rank column, and rows have no order "
            f"on Spark. It has {listing(input_.frame.columns)}."
        )


def _parquet(source: Source, spark: SparkSession, role: str) -> DataFrame:
    """Open a path to Parquet on Spark; refuse anything else."""
    if not isinstance(source, str | os.PathLike):
        raise UnreadableInputError(
            f"the {role} {type(source).__name__}",
            "Spark takes its DataFrames and Parquet paths",
            "For anything else there is rankframe.evaluate",
        )
    path = os.path.expanduser(os.fspath(source))  # noqa: PTH111 (as elsewhere)
    if not path:
        raise UnreadableInputError("''", "the path is empty")
    try:
        # Ids in folder names stay text: 007 is not 7. The schema is passed explicitly, since Spark
        # Connect would infer it again later.
        with spark_errors(), settings(spark, {_PARTITION_TYPES: "false"}):
            schema = spark.read.parquet(path).schema
        with spark_errors():
            return spark.read.schema(schema).parquet(path)
    except SparkError as error:
        message = str(error)
        if "PATH_NOT_FOUND" in message:
            message = "Spark finds no such file"
        elif "not a Parquet file" in message or "UNABLE_TO_INFER_SCHEMA" in message:
            message = f"on Spark it must be Parquet. {message}"
        raise UnreadableInputError(path, message.rstrip(".")) from None


# Arrays of documents ------------------------------------------------------------------------------


def _unroll(frame: DataFrame, scanned: InputTable, lists: Lists) -> tuple[DataFrame, InputTable]:
    """Unroll lists into a row for each document, and return the input with its new columns.

    If lists are in the order of the ranking, positions become ranks: rows have no order on Spark.
    """
    found = list(dict.fromkeys(map(lists.flat.found_as, lists.columns)))
    parts = {name: f"l{number}" for number, name in enumerate(found)}
    # The query, and other columns with one value for all documents of a list.
    kept = {"q": lists.query}
    for number, column in enumerate((SUBTOPIC, SUBTOPIC_WEIGHT)):
        name = scanned.mapping.get(column)
        if name is not None and name not in lists.columns:
            kept[f"s{number}"] = name
    named = [*kept.items(), *((part, name) for name, part in parts.items())]
    packed = frame.selectExpr(*(f"{quoted(name)} as {part}" for part, name in named))
    _refuse_unequal(packed, parts, lists)
    if lists.ordered:
        _refuse_repeated(packed, lists)
    exploded = f"posexplode(arrays_zip({', '.join(parts.values())})) as (at, one)"
    rows = packed.selectExpr(*kept, exploded)
    columns = [f"{part} as {quoted(name)}" for part, name in kept.items()]
    for name in lists.columns:
        part = f"one.{parts[lists.flat.found_as(name)]}"
        inside = f".{quoted(name)}" if name in lists.flat.fields else ""
        columns.append(f"{part}{inside} as {quoted(name)}")
    mapping = dict(scanned.mapping)
    if lists.ordered:
        columns.append(f"at + 1 as {RANK}")
        mapping[RANK] = RANK
    elif mapping.get(RELEVANCE) not in (None, *lists.columns):  # all are relevant
        grade = 1.0 if scanned.grade is None else scanned.grade
        columns.append(f"double('{grade!r}') as {quoted(mapping[RELEVANCE])}")
    return rows.selectExpr(*columns), replace(scanned, mapping=mapping)


def _refuse_unequal(packed: DataFrame, parts: Mapping[str, str], lists: Lists) -> None:
    """Refuse rows whose lists, which are unrolled together, have different lengths.

    `parts`: the columns of lists in the input, and their names in the packed frame.
    """
    sizes = [f"if({part} is null, 0, size({part}))" for part in parts.values()]
    if len(sizes) == 1:
        return
    bad = " or ".join(f"{sizes[0]} <> {size}" for size in sizes[1:])
    example = f"min(if({bad}, struct(cast(q as string), {', '.join(sizes)}), null))"
    count, first = first_row(packed.selectExpr(f"count_if({bad})", example))
    if count:
        query, *numbers = first
        lengths = ", ".join(f"{n:,} in {name!r}" for n, name in zip(numbers, parts, strict=True))
        raise BadValueError(
            lists.role,
            "lists of different lengths",
            count,
            f"query_id {query!r}: {lengths}",
            "Give each document one number",
        )


def _refuse_repeated(packed: DataFrame, lists: Lists) -> None:
    """Refuse two lists of the same query: each has an order of its own."""
    with spark_errors():
        counted = packed.where("q is not null").groupBy("q").count().where("count > 1")
    count, first = first_row(counted.selectExpr("count(1)", "min(cast(q as string))"))
    if count:
        raise DuplicateError(lists.role, count, {QUERY: first}, [], resolvable=False)
