"""Make random calls of rankframe: a command, with inputs of random formats and types."""

from __future__ import annotations

import bz2
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa

from tests.support.brute_force import How, Row
from tests.support.small_inputs import ODD, Small, small

COMMANDS = ["evaluate", "compare", "diff", "gate", "agree", "convert", "trec_eval"]
FILES = [
    "parquet", "feather", "csv", "tsv", "jsonl", "json", "trec", "csv.gz", "tsv.gz", "jsonl.gz",
    "trec.gz", "csv.zst", "jsonl.bz2", "trec.zst", "trec.bz2", "json.zst", "object.json",
    "answers.jsonl", "answers.json.bz2",
]  # fmt: skip
OBJECTS = ["frame", "lazy", "arrow", "pandas", "dict"]
# What is wrong with an input, if anything: it must be refused.
SPOILT = [
    "NaN",
    "null id",
    "no order",
    "no metric",
    "no depth",
    "no file",
    "empty",
    "cut",
    "garbage",
]
# Types that a column of ids or of numbers may have.
TYPES = {
    "text": [pl.String],
    "category": [pl.Categorical, pl.Categorical, pl.String],
    "whole": [pl.Int64, pl.Int32, pl.UInt64, pl.UInt16, pl.String],
}
NUMBERS = [pl.Float64, pl.Float64, pl.Float32, pl.Int64, pl.Int16, pl.UInt8]
HOSTILE = [
    "", "\x00", "a\tb", "a\nb", "a\r\nb", "\r", "\x1b[31m", "\u2028", '"', '""', "'", ",", "\\",
    "#", "</script>", "-0", "0.0", "1e400", "9" * 25, "x" * 5000, "Q0", "all", "query_id",
    "\ud7ff", "\uffff",
]  # fmt: skip
NAMES = {
    "query_id": ["query_id", "qid"],
    "doc_id": ["doc_id", "docid"],
    "relevance": ["relevance", "grade"],
    "score": ["score", "_score"],
    "rank": ["rank"],
}


@dataclass
class Case:
    """Hold a random call: command, inputs, formats, types, and what is wrong with the input."""

    seed: int
    command: str
    shell: bool
    given: Small
    other: list[Row]  # another run of the same queries
    forms: tuple[str, str]  # of the judgments, and of runs
    ids: str  # text, whole numbers or categories
    spoilt: str | None

    @property
    def how(self) -> How:
        return self.given.how


def numbered(given: Small) -> Small:
    """Return the input with whole numbers as ids, some of which sort differently as text."""
    queries = sorted({*given.qrels, *given.weights, *(row[0] for row in given.rows)})
    docs = sorted({*(d for one in given.qrels.values() for d in one), *(r[1] for r in given.rows)})
    query = {one: str(7 * i) for i, one in enumerate(queries)}
    doc = {one: str(3 * i + 1) for i, one in enumerate(docs)}
    return Small(
        {query[q]: {doc[d]: g for d, g in of.items()} for q, of in given.qrels.items()},
        [(query[q], doc[d], x) for q, d, x in given.rows],
        {query[q]: w for q, w in given.weights.items()},
        given.how,
    )


def renamed(given: Small, chance: Random) -> Small:
    """Return the input with hostile names for some queries and documents."""
    every = [{q for q, _, _ in given.rows} | given.qrels.keys(), {d for _, d, _ in given.rows}]
    ways: list[dict[str, str]] = []
    for names in every:
        free = [one for one in HOSTILE if one not in names]
        some = chance.sample(sorted(names), min(chance.randint(0, 3), len(names)))
        ways.append(dict(zip(some, chance.sample(free, len(some)), strict=True)))
    query, doc = ways
    return Small(
        {
            query.get(q, q): {doc.get(d, d): g for d, g in docs.items()}
            for q, docs in given.qrels.items()
        },
        [(query.get(q, q), doc.get(d, d), x) for q, d, x in given.rows],
        given.weights,
        given.how,
    )


def case(seed: int) -> Case:
    """Make a random call from a seed."""
    chance = Random(f"call {seed}")
    command, shell = chance.choice(COMMANDS), chance.random() < 0.5
    given = small(seed)
    ids = chance.choice(["text", "text", "text", "whole", "category"])
    given = numbered(given) if ids == "whole" else given
    if ids != "whole" and chance.random() < 0.3:
        given = renamed(given, chance)
    if command == "trec_eval":
        given, shell = for_trec_eval(given, chance), True
    files = command == "convert" or shell
    values = [row[2] for row in given.rows]
    chance.shuffle(values)
    other = [(q, d, x) for (q, d, _), x in zip(given.rows, values, strict=True)]
    if given.how.by == "rank":
        other = given.rows
    forms = [chance.choice(FILES if files else [*FILES, *OBJECTS]) for _ in range(2)]
    forms = [
        form if fits(form, given, of_run=bool(i)) else "parquet" for i, form in enumerate(forms)
    ]
    if command == "trec_eval":
        forms = [chance.choice(["trec", "trec.gz", "trec.zst", "trec.bz2"])] * 2
    spoilt = chance.choice(SPOILT) if chance.random() < 0.15 and command != "convert" else None
    if spoilt in ("NaN", "no order") and given.how.order == "rows":
        spoilt = "no metric"
    if spoilt in ("NaN", "null id", "no order"):
        forms[1] = "parquet" if command != "trec_eval" else "trec"
        spoilt = spoilt if command != "trec_eval" else "garbage"
    if spoilt in ("empty", "cut", "garbage", "no file") and forms[1] in OBJECTS:
        spoilt = "no metric"
    if spoilt == "cut" and not forms[1].endswith((".gz", ".zst", ".bz2", "parquet", "feather")):
        spoilt = "empty"
    return Case(seed, command, shell, given, other, (forms[0], forms[1]), ids, spoilt)


def for_trec_eval(given: Small, chance: Random) -> Small:
    """Return the input in a form that TREC text can hold, under policies that trec_eval has."""
    odd = {one: f"x{i}" for i, one in enumerate([*ODD, *HOSTILE])}
    how = How(rel=chance.choice([None, 1, 2]), k_max=given.how.k_max)
    rows = {(odd.get(q, q), odd.get(d, d)): float(x) for q, d, x in given.rows}
    qrels = {
        odd.get(q, q): {odd.get(d, d): float(round(g)) for d, g in docs.items()}
        for q, docs in given.qrels.items()
    }
    return Small(qrels, [(q, d, x) for (q, d), x in rows.items()], {}, how)


def fits(form: str, given: Small, *, of_run: bool) -> bool:
    """Return whether a format can hold an input."""
    every = {part for row in given.rows for part in row[:2]}
    every |= given.qrels.keys() | {doc for docs in given.qrels.values() for doc in docs}
    values = [x for _, _, x in given.rows]
    if not of_run:
        values = [grade for docs in given.qrels.values() for grade in docs.values()]
    if form.startswith("trec"):
        # An id of nothing but # would begin a comment.
        plain = all(one.split() == [one] and one != "#" for one in every)
        return plain and (given.how.by == "score" if of_run else all(x == int(x) for x in values))
    if form.startswith("answers"):
        return of_run and in_answers(given)
    if form in ("dict", "object.json"):
        pairs = {row[:2] for row in given.rows}
        return given.how.by == "score" and len(pairs) == len(given.rows)
    return True


def table(case: Case, rows: list[Row], value: str) -> pl.DataFrame:
    """Return rows as a frame with the column types and names of a case."""
    chance = Random(f"columns {case.seed} {value}")
    made = pl.DataFrame(
        rows, {"query_id": pl.String, "doc_id": pl.String, value: pl.Float64}, orient="row"
    )
    kinds = {name: chance.choice(TYPES[case.ids]) for name in ("query_id", "doc_id")}
    made = made.with_columns(pl.col(name).cast(kind) for name, kind in kinds.items())
    kinds = [pl.Int64] if value == "rank" else NUMBERS
    fitting = [kind for kind in kinds if holds(made[value], kind)]
    made = made.with_columns(pl.col(value).cast(chance.choice(fitting)))
    return made.rename({name: chance.choice(NAMES[name]) for name in made.columns})


def holds(values: pl.Series, kind: Any) -> bool:
    """Return whether a type can hold all these numbers unchanged, regardless of the sign of 0."""
    return values.cast(kind, strict=False).cast(pl.Float64).eq_missing(values).all()


def source(  # noqa: PLR0911 (a way for each form)
    case: Case, rows: list[Row], value: str, folder: Path, name: str
) -> Any:
    """Return an input in the format of the case: an object, or the path of a written file."""
    form = case.forms[value != "relevance"]
    if form.startswith("trec"):
        lines = [
            f"{q} 0 {d} {int(x)}\n" if value == "relevance" else f"{q} Q0 {d} 1 {x!r} tag\n"
            for q, d, x in rows
        ]
        return stored("".join(lines).encode(), folder / f"{name}.{form}")
    made = table(case, rows, value)
    if form in ("dict", "object.json"):
        result: dict[str, dict[str, float]] = {}
        for query, doc, x in rows:
            result.setdefault(query, {})[doc] = x
        if form == "dict":
            return result
        return stored(json.dumps(result).encode(), folder / f"{name}.json")
    if form.startswith("answers"):
        answers = "\n".join(map(json.dumps, answered(rows)))
        array = f"[{answers.replace(chr(10), ',')}]" if "json." in form else answers
        return stored(array.encode(), folder / f"{name}.{form}")
    if form in OBJECTS:
        ways = {"lazy": made.lazy, "arrow": made.to_arrow, "pandas": made.to_pandas}
        return ways[form]() if form in ways else made
    path = folder / f"{name}.{form}"
    if form in ("parquet", "feather"):
        (made.write_parquet if form == "parquet" else made.write_ipc)(path)
        return path
    plain = made.with_columns(pl.col(pl.Categorical).cast(pl.String))
    if form.startswith("json") and not form.startswith("jsonl"):
        return stored(json.dumps(plain.to_dicts()).encode(), path)
    if form.startswith("jsonl"):
        return stored("".join(json.dumps(row) + "\n" for row in plain.to_dicts()).encode(), path)
    return stored(plain.write_csv(separator="," if form[0] == "c" else "\t").encode(), path)


def in_answers(given: Small) -> bool:
    """Return whether a search engine could return this run: all scores must differ."""
    values = {x for _, _, x in given.rows}
    scored = given.how.by == "score" and given.how.order != "rows" and given.how.ranks != "kept"
    return scored and len(values) == len(given.rows)


def answered(rows: list[Row]) -> list[dict[str, Any]]:
    """Return rows as responses of Elasticsearch."""
    hits: dict[str, list[dict[str, Any]]] = {}
    for query, doc, x in sorted(rows, key=lambda row: -row[2]):
        hits.setdefault(query, []).append({"_id": doc, "_score": x, "_source": {"query_id": 1}})
    return [
        {"query_id": query, "timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": of}}
        for query, of in hits.items()
    ]


def stored(content: bytes, path: Path) -> Path:
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstd}.get(path.suffix, bytes)
    path.write_bytes(pack(content))
    return path


def zstd(content: bytes) -> bytes:
    return pa.compress(content, codec="zstd", asbytes=True)


def spoil(case: Case, run: Any) -> Any:
    """Damage the file of a run in the way that the case names, and return the run."""
    if case.spoilt in ("NaN", "null id", "no order"):
        frame = pl.read_parquet(run)
        value = frame.columns[2]
        if case.spoilt == "no order":
            frame = frame.drop(value)
        elif case.spoilt == "NaN":
            frame = frame.with_columns(pl.lit(float("nan")).alias(value))
        else:
            frame = frame.with_columns(
                pl.lit(None, frame.schema[frame.columns[1]]).alias(frame.columns[1])
            )
        frame.write_parquet(run)
    elif case.spoilt == "no file":
        return Path(run).with_name("nowhere.parquet")
    elif case.spoilt in ("empty", "cut", "garbage"):
        content = Path(run).read_bytes()
        kept = {"empty": b"", "cut": content[: len(content) // 2], "garbage": b"\x00\xff\x93" * 50}
        Path(run).write_bytes(kept[case.spoilt])
    return run


def options(how: How, names: list[str]) -> dict[str, Any]:
    """Return the policies that differ from their defaults, as keyword arguments."""
    usual = How()
    return {
        name: getattr(how, name) for name in names if getattr(how, name) != getattr(usual, name)
    }


def flags(given: dict[str, Any]) -> list[str]:
    """Return keyword arguments as flags of the command line."""
    result: list[str] = []
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        result += [flag] if value is True else [flag, str(value)]
    return result
