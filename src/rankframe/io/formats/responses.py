"""Convert responses of Elasticsearch, OpenSearch and Solr to a table with a row for each hit.

A response is a JSON object, alone or inside another object that names the query. The first few
responses show where the parts of a response are (`shape_of`). polars then decodes only the needed
parts, so that the documents' own fields cost no memory. `ENGINES` has an entry for each engine.

Hits are ranked in the order of the response. Scores are kept only if they give the same ranking: no
score is missing, and each score is below the score of the hit before it. (Engines break ties in
unknown ways, and the hits of a sorted query have no scores.)
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import Any, NoReturn, TypeAlias

import polars as pl

from rankframe.core.columns import DOC, QUERY, RANK, SCORE, SYNONYMS, plain_name
from rankframe.core.errors import EmptyInputError, MalformedLineError, UnreadableInputError
from rankframe.core.messages import Option, listing, number_of, shorten
from rankframe.core.records import record
from rankframe.io.formats.packing import LINE

_AT, _HIT, _RANK, _SEVERAL = "_at", "_hit", "_rank", "_several"
_NO_HITS = "without a list of hits: errors"
Path: TypeAlias = tuple[str, ...]

_QUERIES = frozenset(plain_name(name) for name in (QUERY, *SYNONYMS[QUERY]))
# Names that programs give to a response inside another object.
_WRAPPERS = frozenset(("response", "result", "results", "body", "data", "es", "answer"))
# Levels of nesting that are searched for a response.
_DEEPEST = 3


@record
class Engine:
    """Describe the responses of a search engine."""

    name: str
    # the path of the list of hits in a response
    hits: Path
    # the paths in a hit
    doc: Path
    score: Path
    # how a failure is reported: the path, a pattern of the text on failure, words for the message
    faults: tuple[tuple[Path, str, str], ...] = ()
    # whether this stands for a bare list of hits without a response, recognised by its elements
    bare: bool = False


_TRUE, _NOT_ZERO = "^true$", "^[^0]"
ENGINES = (
    Engine(
        "Elasticsearch",
        ("hits", "hits"),
        ("_id",),
        ("_score",),
        (
            (("timed_out",), _TRUE, "timed out"),
            (("_shards", "failed"), _NOT_ZERO, "with failed shards"),
        ),
    ),
    Engine(
        "Solr",
        ("response", "docs"),
        ("id",),
        ("score",),
        (
            (("responseHeader", "status"), _NOT_ZERO, "with an error status"),
            (("responseHeader", "partialResults"), _TRUE, "partial"),
        ),
    ),
    Engine("Elasticsearch", ("hits",), ("_id",), ("_score",), bare=True),
)


@record
class Shape:
    """Describe where the parts of a response are in each line of a file."""

    engine: Engine
    # the path from a line to the response in it
    outer: Path
    # columns that are fields of the line: name → path
    fields: Mapping[str, Path]
    # columns that are fields of a hit: name → path
    hit_fields: Mapping[str, Path]
    # the paths in a hit whose value is a list of one value
    listed: Collection[Path] = field(default=())

    @property
    def type(self) -> pl.Struct:
        """Return the polars type into which a line is decoded."""
        engine = self.engine
        hit = {path: self._kind(path) for path in self.hit_fields.values()}
        hit |= {engine.doc: pl.String(), engine.score: pl.Float64()}
        line = {path: self._kind(path) for path in self.fields.values()}
        line |= {(*self.outer, *path): pl.String() for path, _, _ in engine.faults}
        return struct_of({**line, (*self.outer, *engine.hits): pl.List(struct_of(hit))})

    def _kind(self, path: Path) -> pl.DataType:
        return pl.List(pl.String()) if path in self.listed else pl.String()


def shape_of(first_values: Sequence[Any], user_names: Collection[str] = ()) -> Shape | None:
    """Find the parts of responses in the first values; return None if these are no responses.

    `user_names`: the user's names of columns: paths with dots, which begin at a line or at a hit.
    """
    places = [(value, place) for value in first_values if (place := _place(value))]
    if not places:
        return None
    engine, outer = places[0][1]
    lines = [value for value, _ in places]
    hits = [
        hit
        for value in lines
        for hit in _at(value, (*outer, *engine.hits)) or ()
        if isinstance(hit, Mapping)
    ]
    fields: dict[str, Path] = {}
    hit_fields: dict[str, Path] = {}
    listed: set[Path] = set()
    places = ((hit_fields, hits), (fields, lines))
    for name in user_names:
        paths = product((tuple(name.split(".")), (name,)), places)
        for path, (into, values) in paths:
            members = (_at(value, path) for value in values)
            member = next((value for value in members if value is not None), None)
            if _is_value(member) and name not in (*fields, *hit_fields):
                into[name] = path
                if isinstance(member, list):
                    listed.add(path)
    for value in lines:
        for name, member in value.items():
            if plain_name(name) in _QUERIES and _is_value(member) and not isinstance(member, list):
                fields.setdefault(name, (name,))
    return Shape(engine, outer, fields, hit_fields, listed)


def is_by_query(value: Mapping[str, Any]) -> bool:
    """Tell whether an object is a dict from query to response."""
    places = [_place(response) for response in value.values()]
    whole = [place is not None and not place[1] for place in places]
    if not any(whole) or (len(value) == 1 and _WRAPPERS & value.keys()):
        return False
    return all(
        is_one or error_in(response) for is_one, response in zip(whole, value.values(), strict=True)
    )


def error_in(value: Any) -> str | None:
    """Return the error of an engine that answers with an error instead of hits, or None."""
    if not isinstance(value, Mapping) or "error" not in value:
        return None
    error = value["error"]
    reasons = [
        part
        for key in ("type", "reason", "msg")
        if isinstance(error, Mapping) and isinstance(part := error.get(key), str)
    ]
    return shorten(": ".join(reasons) or str(error), 120)


def _place(value: Any) -> tuple[Engine, Path] | None:
    """Return the engine and the path of the outermost response in a value."""
    level: list[tuple[Path, Any]] = [((), value)]
    for _ in range(_DEEPEST):
        level = [(path, inner) for path, inner in level if isinstance(inner, Mapping)]
        for (path, inner), engine in product(level, ENGINES):
            hits = _at(inner, engine.hits)
            bare = engine.bare and isinstance(hits, list)
            if isinstance(hits, list) and (
                not bare or any(_at(hit, engine.doc) is not None for hit in hits)
            ):
                return engine, path
        level = [((*path, name), member) for path, inner in level for name, member in inner.items()]
    return None


def _at(value: Any, path: Path) -> Any:
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def _is_value(value: Any) -> bool:
    """Return whether a value is text or a number, or a list of one (Elasticsearch's `fields`)."""
    if isinstance(value, list):
        return len(value) == 1 and isinstance(value[0], str | int | float)
    return isinstance(value, str | int | float)


def struct_of(leaves: Mapping[Path, pl.DataType]) -> pl.Struct:
    """Return a nested struct type with a field at each path in `leaves` (path → type)."""
    fields: dict[str, pl.DataType] = {}
    for name in dict.fromkeys(path[0] for path in leaves):
        inner = {path[1:]: kind for path, kind in leaves.items() if path[0] == name}
        fields[name] = inner[()] if () in inner else struct_of(inner)
    return pl.Struct(fields)


def parse_json(text: str, name: str) -> Any:
    """Parse JSON into Python objects; refuse objects with a repeated name."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        parsed = dict(pairs)
        if len(parsed) < len(pairs):
            names = [key for key, _ in pairs]
            twice = next(key for key in names if names.count(key) > 1)
            raise UnreadableInputError(
                name, f"{shorten(twice)!r} occurs more than once in one of its objects"
            )
        return parsed

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        _refuse_broken(error, text, name)
    except RecursionError as error:
        raise UnreadableInputError(name, "its JSON is nested too deeply") from error


def _refuse_broken(error: json.JSONDecodeError, text: str, name: str) -> NoReturn:
    if error.msg == "Extra data" and text[error.pos :].lstrip().startswith(("{", "[")):
        problem = "it holds JSON values one after the other, each on several lines"
        advice = "Write each on one line (jq -c . does), or all as one array"
        raise UnreadableInputError(name, problem, advice) from error
    cut = error.pos >= len(text.rstrip()) or not text.rstrip().endswith(("}", "]"))
    problem = "its JSON is cut short" if cut else "it is not JSON"
    where = f"line {error.lineno:,}, column {error.colno:,}"
    raise UnreadableInputError(name, f"{problem} ({error.msg.lower()}, {where})") from error


def read_responses(
    texts: pl.LazyFrame,
    shape: Shape,
    name: str,
    queries: Sequence[str] | None = None,
    *,
    inside: Path | None = None,
) -> pl.DataFrame:
    """Decode responses of a search engine into a table with a row for each hit.

    Args:
        texts: JSON texts, in a column `_line`.
        shape: where the parts of a response are.
        name: what errors call the input.
        queries: the names of the queries, in order; None if a field of each response has it.
        inside: the path of an array of responses in each text; None if each text is a response.
    """
    kind: pl.DataType = shape.type
    if inside is not None:
        kind = struct_of({inside: pl.List(kind)}) if inside else pl.List(kind)
    full = texts.filter(pl.col(LINE).str.strip_chars().str.len_bytes() > 0)
    try:
        line = pl.col(LINE).str.json_decode(kind)
        decoded = full.select(_field(line, inside or ()).alias(LINE))
        if inside is not None:
            decoded = decoded.explode(LINE, empty_as_null=False, keep_nulls=True)
        rows = _exploded(decoded, shape).collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        _refuse_undecoded(full.collect()[LINE], kind, name, error)
    return _checked(rows, shape, name, queries)


def _exploded(decoded: pl.LazyFrame, shape: Shape) -> pl.LazyFrame:
    """Turn decoded responses into a row for each hit, and one for a response without hits.

    The column `_at` has the number of the response.
    """
    engine, line, hit = shape.engine, pl.col(LINE), pl.col(_HIT)
    hits = _field(line, (*shape.outer, *engine.hits))
    faults = [
        _field(line, (*shape.outer, *path)).str.contains(sign).fill_null(value=False).alias(fault)
        for path, sign, fault in engine.faults
    ]
    several = [
        _field(hit, p).list.len() > 1 for p in shape.hit_fields.values() if p in shape.listed
    ]
    responses = decoded.with_row_index(_AT).select(
        _AT,
        *faults,
        hits.is_null().alias(_NO_HITS),
        *(_text(line, path, shape).alias(name) for name, path in shape.fields.items()),
        hits.alias(_HIT),
        pl.int_ranges(1, hits.list.len() + 1, dtype=pl.UInt32).alias(_RANK),
    )
    return responses.explode(_HIT, _RANK, empty_as_null=True, keep_nulls=True).select(
        pl.exclude(_HIT, _RANK),
        _field(hit, engine.doc).alias(DOC),
        pl.col(_RANK).alias(RANK),
        _field(hit, engine.score).alias(SCORE),
        *(_text(hit, path, shape).alias(name) for name, path in shape.hit_fields.items()),
        pl.any_horizontal(pl.lit(value=False), *several).fill_null(value=False).alias(_SEVERAL),
    )


def _text(column: pl.Expr, path: Path, shape: Shape) -> pl.Expr:
    text = _field(column, path)
    return text.list.first() if path in shape.listed else text


def _checked(
    rows: pl.DataFrame, shape: Shape, name: str, queries: Sequence[str] | None
) -> pl.DataFrame:
    """Return the rows of hits; refuse incomplete responses, and those without a query."""
    first = rows.filter(pl.col(RANK).is_null() | (pl.col(RANK) == 1))
    faults = [_NO_HITS, *(reasons for _, _, reasons in shape.engine.faults)]
    counted = [(int(first[fault].sum()), fault) for fault in faults]
    if any(count for count, _ in counted):
        bad = first.filter(pl.any_horizontal(faults))
        reasons = ", ".join(f"{count:,} {fault}" for count, fault in counted if count)
        named = next(
            (bad[column][0] for column in shape.fields if bad[column][0] is not None), None
        )
        count = f"{bad.height:,} of its {first.height:,} responses cannot be used ({reasons})"
        whose = f", of {shorten(named)!r}" if named else ""
        problem = f"{count}, e.g. the {_ordinal(bad[_AT][0] + 1)}{whose}"
        advice = "Repeat these searches: otherwise they would count as if nothing was found"
        raise UnreadableInputError(name, problem, advice)
    if rows[_SEVERAL].any():
        bad = rows.filter(_SEVERAL)
        where = f"the {_ordinal(bad[RANK][0])} of the {_ordinal(bad[_AT][0] + 1)} response"
        fields = listing(list(shape.hit_fields))
        hits, has = number_of(bad.height, "hit"), "has" if bad.height == 1 else "have"
        problem = f"{hits} {has} more than one value in {fields}, e.g. {where}"
        raise UnreadableInputError(name, problem, "Name a field with one value")
    if queries is not None:
        rows = rows.with_columns(_named(queries, first.height, name).gather(rows[_AT]))
    else:
        _refuse_unnamed(first, shape, name)
    rows = rows.filter(pl.col(RANK).is_not_null())
    if rows.is_empty():
        raise EmptyInputError("run", name)
    lacking = rows.filter(pl.col(DOC).is_null()).height
    if lacking == rows.height and shape.hit_fields:
        rows = rows.drop(DOC)
    falling = ((pl.col(RANK) == 1) | (pl.col(SCORE) < pl.col(SCORE).shift())).all()
    agrees = rows.select(pl.col(SCORE).is_not_null().all() & falling).item()
    return rows.drop(_AT, _SEVERAL, *faults, *([] if agrees else [SCORE]))


def _refuse_unnamed(first: pl.DataFrame, shape: Shape, name: str) -> None:
    """Refuse responses unless a field says which query each answers."""
    if not shape.fields:
        count, whose = first.height, shape.engine.name
        what = f"a response of {whose}" if count == 1 else f"{count:,} responses of {whose}"
        raise UnreadableInputError(
            name,
            f"it holds {what}, but not the query of each",
            "If a field has the query, name it: ",
            Option("columns", {QUERY: "name.of.field"}),
            "; otherwise pass the queries in order: ",
            'rf.from_responses(source, queries=["q1", …]), rankframe convert --queries FILE',
        )
    ids = first[next(iter(shape.fields))].drop_nulls()
    if len(ids) == first.height > ids.n_unique() and len(shape.fields) == 1:
        twice = ids.filter(ids.is_duplicated())
        example = f"({twice.n_unique():,} of them), e.g. {shorten(str(twice[0]))!r}"
        problem = f"more than one response answers the same query {example}"
        advice = "Give each query one response, with all its hits"
        raise UnreadableInputError(name, problem, advice)


def _named(queries: Sequence[str], count: int, name: str) -> pl.Series:
    names = pl.Series(QUERY, list(map(str, queries)), dtype=pl.String)
    twice, problem = names.filter(names.is_duplicated()), ""
    if len(names) != count:
        problem = f"it holds {number_of(count, 'response')}, and queries has "
        problem += number_of(len(names), "name")
    elif len(twice):
        count_twice = number_of(twice.n_unique(), "name")
        problem = f"queries has {count_twice} more than once, e.g. {twice[0]!r}"
    if problem:
        raise UnreadableInputError(name, problem)
    return names


def _refuse_undecoded(lines: pl.Series, kind: pl.DataType, name: str, error: Exception) -> NoReturn:
    """Find the first line that cannot be decoded, by bisection, and describe its error."""
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            lines[low:middle].str.json_decode(kind)
            low = middle
        except pl.exceptions.PolarsError as failure:
            high, error = middle, failure
    reason = str(error).split("\n", maxsplit=1)[0].removeprefix("error deserializing JSON: ")
    problem = f"this is not a response of a search engine ({shorten(reason.rstrip('.'), 120)})"
    if len(lines) <= 1:
        for line in lines:
            parse_json(line, name)
        raise UnreadableInputError(name, problem) from error
    try:
        json.loads(lines[low])
    except ValueError as wrong:
        problem = f"this is not JSON ({getattr(wrong, 'msg', wrong)})"
    raise MalformedLineError(name, low + 1, lines[low], problem, 1) from error


def _field(column: pl.Expr, path: Path) -> pl.Expr:
    for part in path:
        column = column.struct.field(part)
    return column


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{'th' if number % 100 in (11, 12, 13) else ending}"
