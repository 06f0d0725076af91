"""Make random judgments and runs as Parquet files, once for each layout, from a seed.

Documents come from a catalogue of millions, the popular ones far more often. A tenth of the lists
are shorter than the others. Half of a query's judgments are of documents near the top of its list,
half of others; grades are 0 to 3. One judged query in fifty is not in the run, one query of the
run in twenty is not judged.
"""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.layouts import Layout, Order

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from benchmarks.ids import Numbers

# Another number makes all files anew.
_VERSION = 1
_CELLS = 4_000_000  # documents drawn at a time
_SHORT, _MISSING, _UNJUDGED = 0.1, 0.02, 0.05
_POPULAR = 3.5  # documents at the power of uniform numbers: the density falls as rank^-0.71
_GRADES = (0.3, 0.4, 0.2, 0.1)


class Files(NamedTuple):
    """Hold the paths of judgments and a run, and their numbers of rows."""

    qrels: Path
    run: Path
    facts: dict[str, int]


def make(layout: Layout, folder: Path) -> Files:
    """Return the files of a layout; write them if they do not exist yet.

    In a process of its own: a child inherits the peak memory of the process that starts it.
    """
    told = f"{_VERSION} {layout} {version('polars')} {version('pyarrow')} {version('numpy')}"
    key = hashlib.sha256(told.encode()).hexdigest()[:12]
    stem = f"{layout.name.replace(' ', '-')}-{layout.queries}x{layout.depth}-{key}"
    qrels, run, facts = (folder / f"{stem}{end}" for end in ("-qrels.parquet", ".parquet", ".json"))
    if not facts.exists():  # written last
        folder.mkdir(parents=True, exist_ok=True)
        writer = get_context("spawn").Process(target=_write, args=(layout, qrels, run, facts))
        writer.start()
        writer.join()
        if writer.exitcode:
            raise RuntimeError(f"could not make {layout}")
    return Files(qrels, run, json.loads(facts.read_text(encoding="utf-8")))


def _write(layout: Layout, qrels: Path, run: Path, facts: Path) -> None:
    import numpy as np
    import polars as pl

    from benchmarks.ids import as_ids

    rng = np.random.default_rng(17)
    retrieved, judged = _drawn(layout, rng)
    sizes = {"rows": len(retrieved.query), "judgments": len(judged.query)}

    def write(table: _Table, order: Order, value: str, path: Path) -> None:
        rows = _rows(table, order, rng)
        query, doc, values = (column[rows] for column in table)
        ids = {"query_id": as_ids(query, layout.ids, "q"), "doc_id": as_ids(doc, layout.ids, "d")}
        _write_parquet(pl.DataFrame({**ids, value: values}), path, layout)

    write(retrieved, layout.order, "score", run)
    write(judged, layout.judged_order, "relevance", qrels)
    facts.write_text(json.dumps(sizes), encoding="utf-8")


class _Table(NamedTuple):
    query: Numbers
    doc: Numbers
    value: np.ndarray


def _drawn(layout: Layout, rng: np.random.Generator) -> tuple[_Table, _Table]:
    """Draw a run and judgments with numbers as ids; a query's rows are adjacent, best first."""
    import numpy as np

    numbers = rng.permutation(layout.queries + int(layout.queries * _MISSING))
    size = max(1, _CELLS // layout.depth)
    drawn = [
        _lists(layout, numbers[at : at + size], layout.depth, at, rng)
        for at in range(0, len(numbers), size)
    ]
    if layout.skew:
        others = layout.queries * layout.depth * (1 - _SHORT / 2)
        deep = int(others * layout.skew / (1 - layout.skew))
        drawn.append(_lists(layout, numbers[:1] + len(numbers), deep, 0, rng))
    retrieved, judged = (
        _Table(*map(np.concatenate, zip(*side, strict=True))) for side in zip(*drawn, strict=True)
    )
    return retrieved, judged


def _lists(
    layout: Layout, queries: Numbers, depth: int, first: int, rng: np.random.Generator
) -> tuple[_Table, _Table]:
    """Draw the lists and judgments of some queries; `first` is the number of the first query."""
    import numpy as np

    count, places = len(queries), np.arange(depth)
    at = first + np.arange(count)
    docs = rng.permuted(_distinct(rng, (count, depth), layout.catalogue, _POPULAR), axis=1)
    # About every twentieth row has a neighbour with the same score.
    steps = 20 * depth
    score = -np.sort(-rng.integers(0, steps, docs.shape), axis=1) / steps
    if not layout.tied:
        score = np.broadcast_to((depth - places) / depth, docs.shape)
    short = (rng.random(count) < _SHORT) & (count > 1)
    lengths = np.where(short, rng.integers(1, depth + 1, count), depth)
    kept = (places < lengths[:, None]) & (at < layout.queries)[:, None]
    query = np.broadcast_to(queries[:, None], docs.shape)
    run = _Table(query[kept], _spread(docs[kept], layout), score[kept].astype(np.float32))

    seen = (layout.judgments + 1) // 2
    top = np.take_along_axis(docs, _distinct(rng, (count, seen), depth, 2.0), axis=1)
    others = _distinct(rng, (count, layout.judgments - seen), layout.catalogue, _POPULAR)
    both = np.sort(_spread(np.concatenate([top, others], axis=1), layout), axis=1)
    wanted = (rng.random(count) >= _UNJUDGED) | (at >= layout.queries)
    kept = np.diff(both, axis=1, prepend=-1) > 0
    kept &= wanted[:, None]
    query = np.broadcast_to(queries[:, None], both.shape)[kept]
    return run, _Table(query, both[kept], rng.choice(4, len(query), p=_GRADES))


def _distinct(
    rng: np.random.Generator, shape: tuple[int, int], limit: int, power: float
) -> Numbers:
    """Draw rows of distinct numbers below a limit, small ones more often, in ascending order."""
    import numpy as np

    drawn = (limit * np.sort(rng.random(shape), axis=1) ** power).astype(np.int64)
    place = np.arange(shape[1])
    # What was drawn twice gives way to the next number.
    drawn = np.maximum.accumulate(drawn - place, axis=1) + place
    return np.minimum(drawn, limit - shape[1] + place)


def _spread(docs: Numbers, layout: Layout) -> Numbers:
    """Map documents to other numbers, so that popular ones are anywhere among the ids."""
    return (docs * 7_368_787 + 4_711) % layout.catalogue


def _rows(table: _Table, order: Order, rng: np.random.Generator) -> Numbers:
    """Return the row numbers of a table in the given order."""
    import numpy as np

    from benchmarks.ids import as_ids

    if order == "scattered":
        return rng.permutation(len(table.query))
    places = rng.permutation(table.query.max() + 1)
    if order == "sorted":
        ids = as_ids(np.arange(len(places)), "plain", "q")
        places = ids.rank("ordinal").to_numpy()
    if order == "unordered":
        return np.lexsort([rng.random(len(table.query)), places[table.query]])
    return np.argsort(places[table.query], kind="stable")


def _write_parquet(frame: pl.DataFrame, path: Path, layout: Layout) -> None:
    if layout.writer == "pyarrow":
        from polars import CompatLevel
        from pyarrow import parquet

        parquet.write_table(frame.to_arrow(compat_level=CompatLevel.oldest()), path)
    else:
        frame.write_parquet(path, row_group_size=layout.row_group)
