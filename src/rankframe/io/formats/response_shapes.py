"""Where the parts of a search engine's responses are, seen by some of them: a row of `ENGINES` for
each engine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import polars as pl

from rankframe.core.columns import QUERY, SYNONYMS, plain_name
from rankframe.core.messages import shorten

Path: TypeAlias = tuple[str, ...]

_QUERIES = frozenset(plain_name(name) for name in (QUERY, *SYNONYMS[QUERY]))
# What programs call a response that they keep beside other things.
_WRAPPERS = frozenset(("response", "result", "results", "body", "data", "es", "answer"))
# How far inside a line a response may lie.
_DEEPEST = 3


@dataclass(frozen=True)
class Engine:
    """What the responses of a search engine look like."""

    name: str
    # where its list of hits lies
    hits: Path
    # in a hit
    doc: Path
    score: Path
    # where it says that something went wrong: what then stands there as text, and how that is said
    faults: tuple[tuple[Path, str, str], ...] = ()
    # no response but its list of hits alone, known by what is in them
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


@dataclass(frozen=True)
class Shape:
    """Where in each line, or element, the parts of a response are."""

    engine: Engine
    # from the outside to the response
    outer: Path
    # of the line: columns by their names
    fields: Mapping[str, Path]
    # of a hit, likewise
    hit_fields: Mapping[str, Path]
    # those of them that are lists of one value
    listed: Collection[Path] = field(default=())

    @property
    def type(self) -> pl.Struct:
        """What is decoded of a line."""
        text = {path: self._kind(path) for path in self.fields.values()}
        faults = {(*self.outer, *path): pl.String() for path, _, _ in self.engine.faults}
        hit: dict[Path, pl.DataType] = {
            self.engine.doc: pl.String(),
            self.engine.score: pl.Float64(),
        }
        hit |= {path: self._kind(path) for path in self.hit_fields.values() if path not in hit}
        return struct_of(
            {**text, **faults, (*self.outer, *self.engine.hits): pl.List(struct_of(hit))}
        )

    def _kind(self, path: Path) -> pl.DataType:
        return pl.List(pl.String()) if path in self.listed else pl.String()


def shape_of(some: Sequence[Any], asked: Collection[str] = ()) -> Shape | None:
    """How responses lie in values like these; None if they are no responses.

    `asked`: names that the user gave to columns: paths with dots, from the line or from a hit on.
    """
    found = [(value, *place) for value in some if (place := _place(value))]
    if not found:
        return None
    _, engine, outer = found[0]
    lines = [value for value, *_ in found]
    hits = [
        hit
        for value in lines
        for hit in _at(value, (*outer, *engine.hits)) or ()
        if isinstance(hit, Mapping)
    ]
    fields: dict[str, Path] = {}
    hit_fields: dict[str, Path] = {}
    listed: set[Path] = set()
    for name in asked:
        for path in (tuple(name.split(".")), (name,)):
            for into, values in ((hit_fields, hits), (fields, lines)):
                held = next(
                    (one for one in (_at(v, path) for v in values) if one is not None), None
                )
                if held is not None and name not in (*fields, *hit_fields) and _is_value(held):
                    into[name] = path
                    if isinstance(held, list):
                        listed.add(path)
    for value in lines:
        for name, held in value.items():
            if plain_name(name) in _QUERIES and _is_value(held) and not isinstance(held, list):
                fields.setdefault(name, (name,))
    return Shape(engine, outer, fields, hit_fields, listed)


def is_by_query(value: Mapping[str, Any]) -> bool:
    """Whether an object holds responses, each under its query, and nothing else."""
    places = [_place(held) for held in value.values()]
    whole = [place is not None and not place[1] for place in places]
    if not any(whole) or (len(value) == 1 and _WRAPPERS & value.keys()):
        return False
    return all(is_one or error_in(held) for is_one, held in zip(whole, value.values(), strict=True))


def error_in(value: Any) -> str | None:
    """What an engine says that it answers with an error instead of hits; None if it does not."""
    if not isinstance(value, Mapping) or "error" not in value:
        return None
    error = value["error"]
    said = [
        part
        for key in ("type", "reason", "msg")
        if isinstance(error, Mapping) and isinstance(part := error.get(key), str)
    ]
    return shorten(": ".join(said) or str(error), 120)


def _place(value: Any) -> tuple[Engine, Path] | None:
    """Whose response lies in a value, and where; the outermost."""
    if not isinstance(value, Mapping):
        return None
    level: list[tuple[Path, Any]] = [((), value)]
    for _ in range(_DEEPEST):
        for path, held in level:
            for engine in ENGINES:
                if _has_hits(held, engine):
                    return engine, path
        level = list(_inside(level))
    return None


def _has_hits(value: Any, engine: Engine) -> bool:
    hits = _at(value, engine.hits)
    if not isinstance(hits, list):
        return False
    return not engine.bare or any(_at(hit, engine.doc) is not None for hit in hits)


def _inside(level: Sequence[tuple[Path, Any]]) -> Iterator[tuple[Path, Any]]:
    for path, held in level:
        for name, inner in held.items():
            if isinstance(inner, Mapping):
                yield (*path, name), inner


def _at(value: Any, path: Path) -> Any:
    for part in path:
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def _is_value(value: Any) -> bool:
    """Text or a number, or a list of one, as Elasticsearch gives `fields`."""
    if isinstance(value, list):
        return len(value) == 1 and isinstance(value[0], str | int | float)
    return isinstance(value, str | int | float)


def struct_of(leaves: Mapping[Path, pl.DataType]) -> pl.Struct:
    """A type that has these fields, and no others, at these places."""
    fields: dict[str, pl.DataType] = {}
    for name in dict.fromkeys(path[0] for path in leaves):
        inner = {path[1:]: kind for path, kind in leaves.items() if path[0] == name}
        fields[name] = inner[()] if () in inner else struct_of(inner)
    return pl.Struct(fields)
